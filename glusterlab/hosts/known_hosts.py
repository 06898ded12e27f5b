"""Whether a host's key is one that known_hosts vouches for, as ssh decides it: keys, authorities, revocations."""

import binascii
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import SSHCertificate, SSHCertificateType, ssh
from paramiko import HostKeys, MissingHostKeyPolicy, PKey, Transport
from paramiko.ssh_exception import SSHException

_HASHED = re.compile(r"\|1\|[A-Za-z0-9+/]{27}=\|[A-Za-z0-9+/]{27}=")
_AUTHORITY, _REVOKED = "@cert-authority", "@revoked"
_CERTIFICATE = "-cert-v01@openssh.com"
_KRL = b"SSHKRL\n\0"


class HostKeyError(SSHException):
    """A host's key is not vouched for."""


@dataclass(frozen=True)
class Line:
    """A line of a known_hosts file; `key` is None where it cannot be read, and `problem` says why."""

    place: str
    marker: str
    names: str
    kind: str = ""
    key: bytes | None = None
    problem: str = ""

    def is_of(self, name: str) -> bool:
        if self.names.startswith("|"):
            return HostKeys.hash_host(name, self.names) == self.names if _HASHED.fullmatch(self.names) else False
        patterns = self.names.lower().split(",")
        negated = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
        return _any_fits(patterns, name) and not _any_fits(negated, name)


def read_lines(file: Path, *, revoked: bool = False) -> tuple[Line, ...]:
    """The lines of a file of known hosts, or of keys which ssh_config's RevokedHostKeys revokes; no error."""
    marker = _REVOKED if revoked else ""
    try:
        data = file.read_bytes()
    except OSError as error:
        return (Line(str(file), marker, "*", problem=error.strerror or "no file"),)
    if revoked and data.startswith(_KRL):
        return (Line(str(file), marker, "*", problem="a revocation list: name a text file of keys instead"),)
    texts = enumerate(data.decode("utf-8", "surrogateescape").splitlines(), start=1)
    lines = ((f"{file} line {number}", text.split()) for number, text in texts)
    prefix = [marker, "*"] if revoked else []
    return tuple(_line(place, prefix + words) for place, words in lines if words and not words[0].startswith("#"))


def unread(lines: Iterable[Line]) -> list[str]:
    """Where lines are that cannot be read, and why not."""
    return [f"{line.place} ({line.problem})" for line in lines if line.problem]


def _line(place: str, words: list[str]) -> Line:
    marker = words.pop(0) if words[0].startswith("@") else ""
    names, kind, text = [*words, "", "", ""][:3]
    try:
        key = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return Line(place, marker, names, problem="its key is damaged")
    if marker not in ("", _AUTHORITY, _REVOKED):
        return Line(place, marker, names, problem=f"{marker} is no marker")
    if len(key) < 16 or key[4 : 4 + int.from_bytes(key[:4])] != kind.encode("utf-8", "surrogateescape"):
        return Line(place, marker, names, problem="expected names, a kind of key and a key of that kind")
    if names.startswith("|") and not _HASHED.fullmatch(names):
        return Line(place, marker, "*" if marker else names, problem="its hashed name is damaged")
    return Line(place, marker, names, kind, key)


class KnownKeys(MissingHostKeyPolicy):
    """What all lines say of one host, under its alias or its address and port; takes or refuses the key it presents.

    As ssh does it: a revocation wins; a certificate that does not hold is as good as the plain key in it; and a line
    without a port is good for a host on another port, which no line names with it.
    """

    def __init__(self, host: str, port: int, alias: str | None, lines: Iterable[Line]) -> None:
        self._where = f"{host} port {port}"
        self._principal = (alias or host).lower()
        names = [f"[{host}]:{port}", host] if alias is None and port != 22 else [alias or host]
        every = list(lines)
        self._lines = [[line for line in every if line.is_of(name.lower())] for name in names]
        self._unread = unread(every)

    def missing_host_key(self, client: Any, hostname: str, key: PKey) -> None:  # noqa: ARG002
        """Return where the key is vouched for; HostKeyError says why it is not."""
        plain, blob = key.asbytes(), key.public_blob.key_blob if key.public_blob else None
        certificate = _certificate_of(blob) if blob else None
        signed_by = _blob_of(certificate.signature_key()) if certificate else None
        self._refuse_revoked({plain, signed_by})
        problem = self._problem_of(certificate, signed_by, blob, plain)
        if problem == "":
            return
        for lines in self._lines:
            known = [line for line in lines if not line.marker and line.key is not None]
            if any(line.key == plain for line in known):
                return
            if known:
                raise self._error(
                    f"is not the one in known_hosts ({known[0].place}; found {key.fingerprint}): was it installed anew?"
                    " Then remove its old line with ssh-keygen -R; else it is another host"
                )
        if problem:
            raise self._error(problem)
        others = f"; not read: {', '.join(self._unread[:5])}" if self._unread else ""
        raise self._error(
            "is not in known_hosts: connect once by hand with ssh and compare it, or set ssh.check_host_keys to false"
            f" in the cluster file{others}"
        )

    def preferred(self, kinds: Sequence[str]) -> tuple[str, ...]:
        """Kinds of keys in the order in which the host is to be asked for them: those that are known come first."""
        lines = [line for each in self._lines for line in each]
        known = {line.kind for line in lines if not line.marker}
        known |= {"rsa-sha2-512", "rsa-sha2-256"} if "ssh-rsa" in known else set()
        if any(line.marker == _AUTHORITY for line in lines):
            known |= {kind for kind in kinds if kind.endswith(_CERTIFICATE)}
        return tuple(sorted(kinds, key=lambda kind: 2 if kind not in known else not kind.endswith(_CERTIFICATE)))

    def transport(self, sock: Any, **options: Any) -> Transport:
        """A connection, not yet begun, that asks the host for what is known of it."""
        made = _Asking(sock, **options)
        made.known = self
        return made

    def _error(self, message: str) -> HostKeyError:
        return HostKeyError(f"the host key of {self._where} {message}")

    def _refuse_revoked(self, keys: set[bytes | None]) -> None:
        for line in (line for lines in self._lines for line in lines if line.marker == _REVOKED):
            if line.problem:
                raise self._error(f"may be revoked: {line.place} cannot be read ({line.problem})")
            if line.key in keys:
                raise self._error(f"is revoked by {line.place}: do not trust it, the host needs another")

    def _problem_of(
        self, certificate: SSHCertificate | None, signed_by: bytes | None, blob: bytes | None, plain: bytes
    ) -> str | None:
        """What an authority that is known for the host says against its key; "" is nothing, None is no authority."""
        authorities = [line for lines in self._lines for line in lines if line.marker == _AUTHORITY and line.key]
        if not authorities:
            return None
        place = authorities[0].place
        if blob is None:
            return (
                f"is a plain one, and known_hosts has only a certificate authority for it ({place}): let its sshd"
                " present a certificate (HostCertificate), or connect once by hand with ssh, compare the key and add it"
            )
        place = next((line.place for line in authorities if line.key == signed_by), "")
        if certificate is None:
            why = "cannot be read here"
        elif not place:
            place, why = authorities[0].place, "is signed by another authority"
        else:
            why = _fault(certificate, blob, plain, self._principal)
        return why and f"has a certificate which {why} (authority: {place}): have it signed anew (ssh-keygen -s)"


class _Asking(Transport):
    """A connection that asks for the kinds of host keys which are known; else a host may present another it has."""

    known: KnownKeys

    @property
    def preferred_keys(self) -> tuple[str, ...]:
        return self.known.preferred(super().preferred_keys)


def _any_fits(patterns: Iterable[str], name: str) -> bool:
    return any(pattern == name or fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)


def _fault(certificate: SSHCertificate, blob: bytes, plain: bytes, name: str) -> str:
    """Why a certificate does not hold for a host of a name; "" where it does."""
    authority = certificate.signature_key()
    try:
        certificate.verify_cert_signature()
    except InvalidSignature:
        return "its authority did not sign"
    # the signature, whose kind stands before it, is the end of a certificate
    if isinstance(authority, RSAPublicKey) and b"\0\0\0\7ssh-rsa" in blob[-(authority.key_size // 8 + 16) :]:
        return "is signed with SHA-1"
    if certificate.type is not SSHCertificateType.HOST:
        return "is for users, not for hosts"
    if _blob_of(certificate.public_key()) != plain:
        return "is of another key"
    if certificate.critical_options:
        return "has an unknown critical option"
    if not certificate.valid_after <= time.time() < certificate.valid_before:
        return f"is valid from {_day(certificate.valid_after)} to {_day(certificate.valid_before)}"
    principals = [principal.decode("utf-8", "replace") for principal in certificate.valid_principals]
    if principals and not _any_fits(principals, name):
        return f"is for {', '.join(principals)}, not for {name}"
    return ""


def _certificate_of(blob: bytes) -> SSHCertificate | None:
    kind = blob[4 : 4 + int.from_bytes(blob[:4])]
    try:
        found = ssh.load_ssh_public_identity(kind + b" " + b64encode(blob))
        if isinstance(found, SSHCertificate):
            found.signature_key()
            return found
    except (ValueError, UnsupportedAlgorithm):
        pass  # such as an authority in a security key
    return None


def _blob_of(key: Any) -> bytes:
    return b64decode(ssh.serialize_ssh_public_key(key).split()[1])


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds < 1 << 40 else "ever"
