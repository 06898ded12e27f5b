"""What known_hosts says of a host is what a connection goes by: keys, authorities, revocations, aliases, patterns."""

import os
import re
import subprocess
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import paramiko
import pytest

from glusterlab.hosts import known_hosts
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import FabricTransport
from glusterlab.spec.cluster import Host, Ssh
from tests.hosts import sshd

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(sshd.SSHD is None or os.geteuid() != 0, reason="needs root and OpenSSH's sshd for a loopback"),
]

Connect = Callable[..., str]


def keygen(*words: object) -> None:
    subprocess.run(["ssh-keygen", "-q", *map(str, words)], check=True, stdin=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities, and a host key of each kind."""
    folder = tmp_path_factory.mktemp("keys")
    for name, kind in (("ca", "ed25519"), ("rsa_ca", "rsa"), ("ecdsa_ca", "ecdsa"), ("other_ca", "ed25519")):
        keygen("-t", kind, "-N", "", "-f", folder / name)
    for kind in ("ed25519", "ecdsa", "rsa"):
        keygen("-t", kind, "-N", "", "-f", folder / f"host_{kind}")
    return folder


def public(path: Path) -> str:
    return " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2])


def with_keys(keys: Path, known: str) -> str:
    return re.sub(r"(\w+)\.(?=$|\n)", lambda name: public(keys / name[1].lower()), known)


@pytest.fixture
def connect(keys: Path, tmp_path: Path) -> Iterator[Connect]:
    """What is said of alpha, and nothing where it is connected: an sshd with such keys, and a known_hosts."""
    running: list[sshd.LoopbackSshd] = []

    def connect(known: str, *, sign: str = "", ca: str = "ca", kinds: str = "ed25519", options: str = "") -> str:
        lines = ""
        for kind in kinds.split():
            for suffix in ("", ".pub"):
                (tmp_path / f"{kind}{suffix}").write_bytes((keys / f"host_{kind}{suffix}").read_bytes())
            (tmp_path / kind).chmod(0o600)
            lines += f"HostKey {tmp_path}/{kind}\n"
            if sign:
                keygen("-s", keys / ca, "-I", "alpha", *sign.split(), tmp_path / f"{kind}.pub")
                lines += f"HostCertificate {tmp_path}/{kind}-cert.pub\n"
        running.append(sshd.start(tmp_path, options=lines))
        config = running[-1].ssh_config
        text = config.read_text()
        (tmp_path / "known_hosts").write_text(with_keys(keys, known).replace("PORT", str(running[-1].port)))
        config.write_text(text.replace("\n", f"\n  {options}\n", 1))  # what stands first holds
        pool = Pool([Host(name="alpha")], FabricTransport(Ssh(config=config, user="root", connect_timeout=30)))
        failed = pool.connect()
        pool.close()
        return str(failed.get("alpha", ""))

    yield connect
    for each in running:
        each.stop()


FOR_ME = "-h -n 127.0.0.1"
MINE = "[127.0.0.1]:PORT HOST_ED25519."


@pytest.mark.parametrize(
    "known",
    [
        "@cert-authority *.example.org CA.\n" + MINE,
        "@revoked * OTHER_CA.\n" + MINE,
        "alpha ssh-ed25519 AAAA!\n@what * CA.\nalpha\n\u00e9 \u00e9 \u00e9\n|1|x| ssh-rsa AAAA\n" + MINE,
        "other ssh-rsa AAAA\n" + MINE + "\n",
        "other,[127.0.0.*]:PORT HOST_ED25519.",
        "127.0.0.1 HOST_ED25519.",  # as ssh does where a port is not named
    ],
)
def test_a_line_of_another_kind_or_a_malformed_one_leaves_other_hosts_reachable(connect: Connect, known: str) -> None:
    assert connect(known) == ""


@pytest.mark.parametrize("ca", ["ca", "rsa_ca", "ecdsa_ca"])
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_host_with_a_certificate_of_a_known_authority_is_connected(connect: Connect, ca: str, kind: str) -> None:
    assert connect(f"@cert-authority 127.0.* {ca.upper()}.", sign=FOR_ME, ca=ca, kinds=kind) == ""


@pytest.mark.parametrize(
    ("sign", "ca", "said"),
    [
        ("", "ca", "is a plain one, and known_hosts has only a certificate authority for it"),
        ("-h -n 127.0.0.2", "ca", "is for 127.0.0.2, not for 127.0.0.1"),
        ("-h -n 127.0.0.1 -V 20200101:20200201", "ca", "is valid from 2020-01-01 to 2020-02-01"),
        ("-n 127.0.0.1", "ca", "is for users, not for hosts"),
        ("-h -n 127.0.0.1 -O critical:x", "ca", "has an unknown critical option"),
        (FOR_ME, "other_ca", "is signed by another authority"),
        ("-h -t ssh-rsa -n 127.0.0.1", "rsa_ca", "is signed with SHA-1"),
    ],
)
def test_a_certificate_that_does_not_hold_is_refused_and_says_why(
    connect: Connect, sign: str, ca: str, said: str
) -> None:
    authority = "CA." if ca == "other_ca" else f"{ca.upper()}."
    message = connect(f"# mine\n@cert-authority * {authority}", sign=sign, ca=ca)
    assert message.startswith("alpha: the host key of 127.0.0.1 port ")
    assert said in message
    assert "known_hosts line 2" in message


def test_a_forged_certificate_and_that_of_another_key_are_refused(keys: Path, tmp_path: Path) -> None:
    public_file = tmp_path / "host.pub"
    public_file.write_bytes((keys / "host_ed25519.pub").read_bytes())
    keygen("-s", keys / "ca", "-I", "alpha", "-h", "-n", "node-1", public_file)
    (tmp_path / "known_hosts").write_text(f"@cert-authority node-* {public(keys / 'ca')}\n")
    lines = known_hosts.read_lines(tmp_path / "known_hosts")
    blob = b64decode((tmp_path / "host-cert.pub").read_text().split()[1])

    def presents(name: str, blob: bytes, kind: str = "ed25519") -> None:
        plain = b64decode(public(keys / f"host_{kind}").split()[1])
        key: Any = SimpleNamespace(asbytes=lambda: plain, public_blob=SimpleNamespace(key_blob=blob))
        known_hosts.KnownKeys(name, 22, None, lines).missing_host_key(None, name, key)

    presents("node-1", blob)
    with pytest.raises(known_hosts.HostKeyError, match="its authority did not sign"):
        presents("node-2", blob.replace(b"node-1", b"node-2"))
    with pytest.raises(known_hosts.HostKeyError, match="is of another key"):
        presents("node-1", blob, "rsa")


def presented(keys: Path, tmp_path: Path, known: str, host: str = "node-1", port: int = 22, *, sign: str = "") -> str:
    """What is said of a host that presents its ed25519 key, and nothing where that is vouched for."""
    blob = None
    if sign:
        (tmp_path / "host.pub").write_bytes((keys / "host_ed25519.pub").read_bytes())
        keygen("-s", keys / "ca", "-I", "alpha", *sign.split(), tmp_path / "host.pub")
        blob = b64decode((tmp_path / "host-cert.pub").read_text().split()[1])
    plain = b64decode(public(keys / "host_ed25519").split()[1])
    key: Any = SimpleNamespace(
        asbytes=lambda: plain, public_blob=SimpleNamespace(key_blob=blob) if blob else None, fingerprint="SHA256:x"
    )
    (tmp_path / "known_hosts").write_text(with_keys(keys, known))
    lines = known_hosts.read_lines(tmp_path / "known_hosts")
    try:
        known_hosts.KnownKeys(host, port, None, lines).missing_host_key(None, host, key)
    except known_hosts.HostKeyError as error:
        return str(error)
    return ""


OTHER = "is not the one in known_hosts"
UNKNOWN = "is not in known_hosts"


def test_a_plain_line_is_no_authority(keys: Path, tmp_path: Path) -> None:
    assert OTHER in presented(keys, tmp_path, "node-1 CA.", sign="-h -n node-1")
    assert presented(keys, tmp_path, "@cert-authority node-1 CA.", sign="-h -n node-1") == ""
    # nor is an authority's line a plain one
    assert "is a plain one" in presented(keys, tmp_path, "@cert-authority node-1 HOST_ED25519.")


def test_a_hashed_name_is_of_one_host(keys: Path, tmp_path: Path) -> None:
    line = f"{paramiko.HostKeys.hash_host('node-1')} HOST_ED25519."
    assert presented(keys, tmp_path, line) == ""
    assert UNKNOWN in presented(keys, tmp_path, line, "node-2")


@pytest.mark.parametrize("damaged", ["|1|x", "|1|", "|2|{}|{}", "|1|{}|{}x"])
def test_a_revocation_with_a_damaged_hash_may_be_of_any_host(keys: Path, tmp_path: Path, damaged: str) -> None:
    salt, digest = paramiko.HostKeys.hash_host("node-1").split("|")[2:]
    known = f"node-1 HOST_ED25519.\n@revoked {damaged.format(salt, digest)} HOST_ED25519."
    assert "known_hosts line 2 cannot be read (its hashed name is damaged)" in presented(keys, tmp_path, known)


@pytest.mark.parametrize("kind", ["ssh-rsa", "ecdsa-sha2-nistp256", "ssh-ed25519-cert-v01@openssh.com", "ed25519"])
def test_a_line_whose_key_is_of_another_kind_vouches_for_nothing(keys: Path, tmp_path: Path, kind: str) -> None:
    key = public(keys / "host_ed25519").split()[1]
    message = presented(keys, tmp_path, f"node-1 {kind} {key}")
    assert UNKNOWN in message
    assert "known_hosts line 1 (expected names, a kind of key and a key of that kind)" in message
    assert "cannot be read" in presented(keys, tmp_path, f"node-1 HOST_ED25519.\n@revoked * {kind} {key}")


@pytest.mark.parametrize(
    ("known", "port", "said"),
    [
        ("node-1 HOST_ED25519.", 22, ""),
        ("[node-1]:22 HOST_ED25519.", 22, UNKNOWN),  # ssh writes and looks up no port 22
        ("node-1 HOST_RSA.\n[node-1]:22 HOST_ED25519.", 22, OTHER),
        ("[node-1]:2222 HOST_ED25519.", 22, UNKNOWN),
        ("[node-1]:2222 HOST_ED25519.", 2222, ""),
        ("node-1 HOST_ED25519.", 2222, ""),
        ("[node-1]:2222 HOST_RSA.\nnode-1 HOST_ED25519.", 2222, OTHER),
    ],
)
def test_a_port_is_in_the_name_that_is_looked_up_unless_it_is_22(
    keys: Path, tmp_path: Path, known: str, port: int, said: str
) -> None:
    message = presented(keys, tmp_path, known, port=port)
    assert said in message
    assert (message == "") == (said == "")


def test_a_bad_certificate_of_a_known_key_is_as_good_as_the_key_as_for_ssh(connect: Connect) -> None:
    assert connect(f"@cert-authority * CA.\n{MINE}", sign="-h -n elsewhere") == ""


@pytest.mark.parametrize(
    ("known", "sign"),
    [
        (f"{MINE}\n@revoked * HOST_ED25519.", ""),
        ("@cert-authority * CA.\n@revoked 127.0.0.1 HOST_ED25519.", FOR_ME),
        ("@cert-authority * CA.\n@revoked * CA.", FOR_ME),
    ],
)
def test_a_revoked_key_is_refused_whatever_else_vouches_for_it(connect: Connect, known: str, sign: str) -> None:
    message = connect(known, sign=sign)
    assert "is revoked" in message
    assert "known_hosts line 2" in message


def test_a_revocation_that_cannot_be_read_is_no_acquittal(connect: Connect) -> None:
    message = connect(f"{MINE}\n@revoked * ssh-ed25519 AAAA!")
    assert "known_hosts line 2" in message
    assert "cannot be read" in message


@pytest.mark.parametrize("form", ["text", "krl", "absent"])
def test_revoked_host_keys_of_ssh_config_are_honoured(connect: Connect, keys: Path, tmp_path: Path, form: str) -> None:
    if form == "krl":
        keygen("-k", "-f", tmp_path / "revoked", keys / "host_ed25519.pub")
    elif form == "text":
        (tmp_path / "revoked").write_text(f"# stolen\n{public(keys / 'host_ed25519')} comment\n")
    message = connect(MINE, options=f"RevokedHostKeys {tmp_path}/revoked")
    assert str(tmp_path / "revoked") in message
    assert ("cannot be read" in message) == (form != "text")


@pytest.mark.parametrize("known", ["pool-a HOST_ED25519.", "@cert-authority pool-* CA."])
def test_an_alias_is_the_name_that_is_looked_up(connect: Connect, known: str) -> None:
    sign = "-h -n pool-a" if known.startswith("@") else ""
    assert connect(known, sign=sign, options="HostKeyAlias pool-a") == ""


def test_a_file_is_named_with_blanks_and_tokens_as_for_ssh(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "known hosts").mkdir()
    (tmp_path / "known hosts" / "pool-a%root").symlink_to(tmp_path / "known_hosts")
    named = f'UserKnownHostsFile none "{tmp_path}/known hosts/%k%%%r"'
    assert connect("pool-a HOST_ED25519.", options=f"HostKeyAlias pool-a\n  {named}") == ""


def test_names_are_hashed_negated_and_in_any_case(connect: Connect) -> None:
    hashed = paramiko.HostKeys.hash_host("pool-a")
    assert connect(f"{hashed} HOST_ED25519.", options="HostKeyAlias pool-a") == ""
    assert connect("POOL-? HOST_ED25519.", options="HostKeyAlias pool-a") == ""
    assert "is not in known_hosts" in connect("pool-*,!pool-a HOST_ED25519.", options="HostKeyAlias pool-a")


def test_the_kind_of_key_that_is_known_is_asked_for(connect: Connect) -> None:
    for kind in ("RSA", "ECDSA"):
        assert connect(f"[127.0.0.1]:PORT HOST_{kind}.", kinds="ed25519 ecdsa rsa") == ""


def test_lines_that_are_not_read_are_named_with_the_key_that_is_missed(connect: Connect, tmp_path: Path) -> None:
    message = connect("other CA.\n[127.0.0.1]:PORT ssh-ed25519 AAAA!\n")
    assert "is not in known_hosts" in message
    assert f"{tmp_path}/known_hosts line 2" in message


def test_lines_that_cannot_be_read_are_known_to_a_check(tmp_path: Path) -> None:
    (tmp_path / "known_hosts").write_text("# a comment\n\n@cert-authority * ssh-rsa\n")
    config = tmp_path / "ssh_config"
    files = f"UserKnownHostsFile {tmp_path}/known_hosts\n  GlobalKnownHostsFile none"
    config.write_text(f"Host *\n  HostName 127.0.0.1\n  Port 9\n  {files}\n")
    pool = Pool([Host(name="alpha")], FabricTransport(Ssh(config=config, user="root")))
    assert "not reachable" in str(pool.connect()["alpha"])
    assert [place.partition(" (")[0] for place in pool.transport.unread] == [f"{tmp_path}/known_hosts line 3"]
