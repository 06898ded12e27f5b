"""What is called what in the copy: hosts and addresses of the campaign, and what else turns up in its files."""

from __future__ import annotations

import ipaddress
import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from glusterlab.publish import words

DOMAIN = "example.net"
_DOCUMENTATION = [ipaddress.ip_network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
_FALLBACK = ipaddress.ip_network("198.18.0.0/15")
"""For benchmarks, by RFC 2544: taken when the nets for documentation are full."""
_NO_SERIAL = frozenset({"unknown", "none", "null", "empty", "true", "false"})
_PUBLIC_USERS = ("root", "git")
_PUBLIC_DOMAINS = re.compile(
    r"(?:.*\.)?(?:openssh\.com|libssh\.org|gnu\.org|gluster\.org|github\.com)"
    r"|.*\.(?:service|socket|slice|scope|mount|timer|target|device)"
)
"""What stands behind an ``@`` of programs and units, and tells nothing of who measured."""


@dataclass(frozen=True)
class HostNames:
    """All that one host is called.

    Attributes
    ----------
    role : str
        ``server`` or ``client``.
    name : str
        In the cluster file.
    address : str
    others : tuple of str
        What it calls itself.
    """

    role: str
    name: str
    address: str
    others: tuple[str, ...] = ()


@dataclass
class Names:
    """Names of the original and those of the copy.

    Attributes
    ----------
    aliases : dict of str to str
        In lower case: hosts, host names as addresses, domains, and the words that the user gave.
    hosts : frozenset of str
        Those of `aliases` that are hosts: where one is a common word it is replaced only where a host must stand.
    given : frozenset of str
        Those of `aliases` that the user gave: replaced wherever they stand, unless they are such hosts.
    own : frozenset of str
        Those of `aliases` that the campaign's own files name: its cluster, its controllers.
    campaign : tuple of str, optional
        The campaign's name, and that of the copy.
    addresses, macs, uuids, devices, users : dict of str to str
        What turned up so far.
    keep : tuple of str
        Stands as it is: ids of cells, names of layouts.
    common : frozenset of str
        Words of the campaign and of what its hosts are: no names in free text.
    hosts_kept : bool
        Names and addresses of hosts are left as they are.
    """

    aliases: dict[str, str] = field(default_factory=dict)
    hosts: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    campaign: tuple[str, str] | None = None
    addresses: dict[str, str] = field(default_factory=dict)
    macs: dict[str, str] = field(default_factory=dict)
    uuids: dict[str, str] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    common: frozenset[str] = frozenset()
    hosts_kept: bool = False

    @property
    def distinctive(self) -> dict[str, str]:
        """Aliases that are replaced wherever they stand alone."""
        return {
            old: new
            for old, new in self.aliases.items()
            if not words.is_common(old, self.common)
            or (old in self.own and not words.is_common(old))
            or (old in self.given and old not in self.hosts)
        }

    @property
    def known(self) -> dict[str, str]:
        """What turned up in some place and is told from other words by itself: replaced wherever it stands."""
        found = {
            old: new
            for old, new in (*self.devices.items(), *self.users.items())
            if len(old) > 2
            and old != new
            and not words.is_common(old, self.common)
            and not old.replace("-", "").isdigit()
        }
        for old, new in self.addresses.items():
            if old != new:
                found[old] = new
                if "." in old and "." in new:
                    found[old.replace(".", "-")] = new.replace(".", "-")
        return found

    def host(self, name: str) -> str:
        """What a value that can only be a host is called in the copy."""
        if name.lower() in self.aliases:
            return self.aliases[name.lower()]
        return self.address(name) if is_address(name) else name

    def address(self, text: str) -> str:
        """The address in the copy of one that turned up; loopback and the like stay."""
        known = self.addresses.get(text.lower())
        if known is None:
            known = text if self.hosts_kept or not _is_private_matter(text) else self._next_address(text)
            self.addresses[text.lower()] = known
        return known

    def _next_address(self, text: str) -> str:
        taken = set(self.addresses.values())
        if ipaddress.ip_address(text.partition("%")[0]).version == 6:
            return next(name for n in itertools.count(1) if (name := f"2001:db8::{n:x}") not in taken)
        every = itertools.chain.from_iterable(net.hosts() for net in (*_DOCUMENTATION, _FALLBACK))
        return next(str(address) for address in every if str(address) not in taken)

    def mac(self, text: str) -> str:
        """A hardware address of the range for documentation, written as the original is."""
        key = with_colons(text)
        if set(key) <= set("0:") or set(key) <= set("f:") or key in self.macs.values():
            return text
        found = _numbered(self.macs, key, lambda n: f"00:00:5e:00:{0x53 + n // 256:02x}:{n % 256:02x}")
        if ":" in text:
            return found
        if "." in text:
            digits = found.replace(":", "")
            return ".".join(digits[n : n + 4] for n in range(0, 12, 4))
        return found.replace(":", "-" if "-" in text else "")

    def uuid(self, text: str) -> str:
        """A UUID of the copy; the empty one stays."""
        if set(text) <= set("0-"):
            return text
        return _numbered(self.uuids, text, lambda n: f"00000000-0000-4000-8000-{n:012x}")

    def device(self, text: str) -> str:
        """A name for what identifies one device: a serial number, a world-wide name."""
        if text.lower() in _NO_SERIAL or text in self.devices.values():
            return text
        return _numbered(self.devices, text, lambda n: f"device{n:04d}")

    def user(self, text: str) -> str:
        """A user's name."""
        if text == "root" or text in self.users.values():
            return text
        return _numbered(self.users, text, lambda n: "user" if n == 1 else f"user{n}")

    def mail(self, text: str) -> str:
        """A mail address, or a user at a host; what programs and units of systemd write like that stays."""
        user, _, domain = text.rpartition("@")
        if _PUBLIC_DOMAINS.fullmatch(domain.lower()):
            return text
        if domain.lower() in self.aliases or is_address(domain):
            domain = self.host(domain)
        elif not self.hosts_kept and domain not in self.aliases.values():
            domain = DOMAIN
        public = user in _PUBLIC_USERS or re.fullmatch(r"user\d*", user)
        return f"{user if public else self.user(user)}@{domain}"

    @property
    def mapping(self) -> dict[str, str]:
        """All that was renamed, for the file that leads back."""
        every = {
            **self.aliases, **self.addresses, **self.macs, **self.uuids, **self.devices, **self.users,
        }  # fmt: skip
        return {old: new for old, new in sorted(every.items()) if old != new}


def with_colons(mac: str) -> str:
    """A hardware address in the form that Linux prints."""
    digits = re.sub(r"[^0-9a-f]", "", mac.lower())
    return ":".join(digits[n : n + 2] for n in range(0, len(digits), 2))


def _numbered(known: dict[str, str], text: str, make: Any) -> str:
    found = known.get(text.lower())
    if found is None:
        taken = set(known.values())
        found = next(name for n in itertools.count(1) if (name := str(make(n))) not in taken)
        known[text.lower()] = found
    return found


def is_address(text: str) -> bool:
    """Whether a text is an IP address.

    Examples
    --------
    >>> is_address("10.0.0.1"), is_address("fe80::1%eth0"), is_address("gl-s01"), is_address("10")
    (True, True, False, False)
    """
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_private_matter(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mask = address.version == 4 and str(address).startswith(("255.", "0."))
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or mask)
