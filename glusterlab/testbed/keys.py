"""SSH keys and configuration of a testbed, for the controller and for the hosts among themselves."""

from __future__ import annotations

import shutil
from pathlib import Path

from glusterlab.testbed.local import run
from glusterlab.testbed.state import State

_HOST_KEY = "ssh_host_ed25519_key"


def make(state: State) -> None:
    """Make one key pair for the operator and the hosts, a host key for all hosts, and the configuration.

    Every host presents the same host key: a testbed lives on one machine, and is known by one line each.
    """
    folder, options = state.folder, state.options
    for name, comment in (("id_ed25519", "operator"), (_HOST_KEY, "hosts")):
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"glusterlab testbed {comment}", "-f", folder / name])
    public = " ".join((folder / f"{_HOST_KEY}.pub").read_text(encoding="ascii").split()[:2])
    addresses = {host: options.address(host) for host in options.host_names}
    known = "".join(f"{host},{address} {public}\n" for host, address in addresses.items())
    (folder / "known_hosts").write_text(known, encoding="ascii")
    (folder / "ssh_config").write_text(_config(addresses, folder), encoding="utf-8")
    for host in addresses:
        _install(state, host)


def _config(addresses: dict[str, str], folder: Path) -> str:
    blocks = [f"Host {host}\n    HostName {address}\n" for host, address in addresses.items()]
    common = (
        f"Host {' '.join(addresses)}\n"
        "    User root\n"
        f"    IdentityFile {folder}/id_ed25519\n"
        "    IdentitiesOnly yes\n"
        f"    UserKnownHostsFile {folder}/known_hosts\n"
        "    StrictHostKeyChecking yes\n"
    )
    return "\n".join([*blocks, common])


def _install(state: State, host: str) -> None:
    etc = state.host_folder(host) / "upper/etc/ssh"
    home = state.host_folder(host) / "upper/root/.ssh"
    etc.mkdir(parents=True)
    home.mkdir(parents=True, mode=0o700)
    home.parent.chmod(0o700)
    for name in (_HOST_KEY, f"{_HOST_KEY}.pub"):
        shutil.copy(state.folder / name, etc / name)
    (etc / "sshd_config").write_text(
        f"HostKey /etc/ssh/{_HOST_KEY}\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n"
        "UsePAM no\nUseDNS no\nPrintMotd no\nMaxSessions 64\nMaxStartups 128:30:256\n"
        "Subsystem sftp internal-sftp\n",
        encoding="ascii",
    )
    for name in ("id_ed25519", "known_hosts"):
        shutil.copy(state.folder / name, home / name)
    shutil.copy(state.folder / "id_ed25519.pub", home / "authorized_keys")
    for path in home.iterdir():
        path.chmod(0o600)
