"""A real sshd on loopback for the tests of the transport: own keys, own port, own configuration."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@dataclass
class LoopbackSshd:
    """One sshd and the files with which a client reaches it."""

    folder: Path
    ssh_config: Path
    port: int
    process: subprocess.Popen[bytes]

    def drop_connections(self) -> None:
        """Kill the processes that serve connections, as a reboot or a firewall would cut them."""
        for child in _children(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def stop(self) -> None:
        self.drop_connections()
        self.process.terminate()
        self.process.wait(10)


def start(folder: Path, address: str = "127.0.0.1", *through: str, options: str = "") -> LoopbackSshd:
    """On an address, by a command that starts it elsewhere, with other host keys (`options` of sshd_config)."""
    assert SSHD is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    for name in {"host_key", "user_key"} - {path.name for path in folder.iterdir()}:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "authorized_keys").write_bytes((folder / "user_key.pub").read_bytes())
    public = (folder / "host_key.pub").read_text().split()
    (folder / "known_hosts").write_text(f"[{address}]:{port} {public[0]} {public[1]}\n")
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress {address}\nPidFile {folder}/sshd.pid\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n"
        f"PasswordAuthentication no\nMaxStartups 100\nSubsystem sftp internal-sftp\n"
        + (options or f"HostKey {folder}/host_key\n")
    )
    (folder / "ssh_config").write_text(
        f"Host alpha beta\n  HostName {address}\n  Port {port}\n  IdentityFile {folder}/user_key\n"
        f"  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([*through, SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=log)
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex((address, port)) == 0:
                # where another took the port in between, this one ends
                if process.poll() is None:
                    return LoopbackSshd(folder, folder / "ssh_config", port, process)
                return start(folder, address, *through, options=options)
        time.sleep(0.05)
    raise RuntimeError((folder / "sshd.log").read_text())


def _children(pid: int) -> list[int]:
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(stat.parent.name)
            # Parents first: a command that ends before its connection would count as failed, not as lost.
            children += [child, *_children(child)]
    return children
