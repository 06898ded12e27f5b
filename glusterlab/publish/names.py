"""What is called what in the copy: hosts and addresses of the campaign, and what else turns up in its files."""

from __future__ import annotations

import ipaddress
import itertools
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glusterlab.errors import UsageError
from glusterlab.publish import words
from glusterlab.raw import RawStore
from glusterlab.rawfiles import read_json
from glusterlab.spec.load import load_cluster, load_yaml

DOMAIN = "example.net"
_DOCUMENTATION = [ipaddress.ip_network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
_FALLBACK = ipaddress.ip_network("198.18.0.0/15")
"""For benchmarks, by RFC 2544: taken when the nets for documentation are full."""
_LEFT_ALONE = ("localhost", "localhost.localdomain", "unknown", "none")


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
    given : frozenset of str
        Those of `aliases` that the user gave: replaced wherever they stand.
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
    given: frozenset[str] = frozenset()
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
            old: new for old, new in self.aliases.items() if old in self.given or not words.is_common(old, self.common)
        }

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
        """A hardware address of the range for documentation."""
        if set(text) <= set("0:-") or set(text.lower()) <= set("f:-"):
            return text
        return _numbered(self.macs, text, lambda n: f"00:00:5e:00:{0x53 + n // 256:02x}:{n % 256:02x}")

    def uuid(self, text: str) -> str:
        """A UUID of the copy; the empty one stays."""
        if set(text) <= set("0-"):
            return text
        return _numbered(self.uuids, text, lambda n: f"00000000-0000-4000-8000-{n:012x}")

    def device(self, text: str) -> str:
        """A name for what identifies one device: a serial number, a world-wide name."""
        return _numbered(self.devices, text, lambda n: f"device{n:04d}")

    def user(self, text: str) -> str:
        """A user's name."""
        return "root" if text == "root" else _numbered(self.users, text, lambda n: "user" if n == 1 else f"user{n}")

    @property
    def mapping(self) -> dict[str, str]:
        """All that was renamed, for the file that leads back."""
        every = {
            **self.aliases, **self.addresses, **self.macs, **self.uuids, **self.devices, **self.users,
        }  # fmt: skip
        return {old: new for old, new in sorted(every.items()) if old != new}


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


def read_names(path: Path) -> dict[str, str]:
    """A file of names: a mapping of what is to be replaced to what replaces it.

    Raises
    ------
    SpecError
        When it cannot be read.
    UsageError
        When it is no such mapping.
    """
    data, _ = load_yaml(path)
    fit = isinstance(data, dict) and all(isinstance(text, str) and text for pair in data.items() for text in pair)
    if not fit:
        raise UsageError(f"{path}: expected lines 'name: neutral name', both quoted where they are numbers")
    return dict(data)


def collect(raw: Path, given: Mapping[str, str], *, keep_host_names: bool = False) -> Names:
    """The names of a campaign's hosts, and neutral ones for them.

    Parameters
    ----------
    raw : pathlib.Path
    given : mapping of str to str
        What the user wants to be called what: hosts, addresses, any word.
    keep_host_names : bool

    Raises
    ------
    UsageError
        When two hosts would have one name.
    """
    names = Names(hosts_kept=keep_host_names)
    _take_given(names, given)
    hosts = list(_hosts(raw))
    if not keep_host_names:
        for role in ("server", "client"):
            group = [host for host in hosts if host.role == role]
            width = max(2, len(str(len(group))))
            for number, host in enumerate(group, start=1):
                _name_host(names, host, f"{role}{number:0{width}d}")
        controller = platform.node()
        for name in (controller, controller.partition(".")[0]):
            if name and name.lower() not in _LEFT_ALONE:
                names.aliases.setdefault(name.lower(), "controller")
    renamed = [names.host(host.name) for host in hosts]
    twice = sorted({name for name in renamed if renamed.count(name) > 1})
    if twice:
        raise UsageError(f"expected a name of its own for each host, found '{twice[0]}' for two of them")
    names.keep = tuple(_kept(raw))
    names.common = _common(raw)
    return names


def _take_given(names: Names, given: Mapping[str, str]) -> None:
    for old, new in given.items():
        word = old.lower()
        if is_address(old):
            names.addresses[word] = new
        elif re.fullmatch(r"(?:[0-9a-f]{2}[:-]){5,}[0-9a-f]{2}", word):
            names.macs[word] = new
        elif re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", word):
            names.uuids[word] = new
        elif re.fullmatch(r"device\d+", new):
            names.devices[word] = new
        elif re.fullmatch(r"user\d*", new):
            names.users[word] = new
        else:
            names.aliases[word] = new
    # a host of a common name that an earlier copy's file leads back to is no word to be replaced everywhere
    neutral = re.compile(r"(server|client)\d+(-net)?|controller")
    names.given = frozenset(old for old, new in names.aliases.items() if not neutral.fullmatch(new))


def _name_host(names: Names, host: HostNames, neutral: str) -> None:
    neutral = names.aliases.setdefault(host.name.lower(), neutral)
    for other in (*host.others, *(_short(name) for name in (host.name, *host.others))):
        if other.lower() not in _LEFT_ALONE and not is_address(other):
            names.aliases.setdefault(other.lower(), neutral)
    if is_address(host.address):
        names.address(host.address)
    elif host.address != host.name:
        same = _short(host.address).lower() == _short(host.name).lower()
        names.aliases.setdefault(host.address.lower(), neutral if same else f"{neutral}-net")
    for name in (host.name, host.address, *host.others):
        domain = "" if is_address(name) else name.partition(".")[2].lower()
        if "." in domain or (domain and not words.is_common(domain)):
            names.aliases.setdefault(domain, DOMAIN)


def _short(name: str) -> str:
    return name if is_address(name) else name.partition(".")[0]


def _hosts(raw: Path) -> Iterator[HostNames]:
    """Every host that the campaign's own files name: the cluster's first, in its order."""
    facts = read_json(raw / "environment.json").get("hosts") or {}
    selves = {name: str(found.get("hostname") or "") for name, found in facts.items() if isinstance(found, dict)}
    seen: set[str] = set()
    if (raw / "cluster.yaml").is_file():
        cluster = load_cluster(raw / "cluster.yaml")
        for host in cluster.hosts:
            seen.add(host.name)
            own = selves.get(host.name, "")
            yield HostNames(cluster.role(host.name), host.name, host.address, (own,) if own else ())
    others: dict[str, str] = {}
    for name, found in facts.items():
        others.setdefault(name, str(found.get("role", "server")) if isinstance(found, dict) else "server")
    for sample in RawStore(raw).samples():
        for role, group in (("server", sample.servers), ("client", sample.clients)):
            for name in group:
                others.setdefault(name, role)
    for path in raw.glob("cells/*/sample-*/import.json"):
        for name, role in _imported_hosts(read_json(path)):
            others.setdefault(name, role)
    for name, role in others.items():
        if name not in seen and not is_address(name):
            yield HostNames("client" if role == "client" else "server", name, name)


def _imported_hosts(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    host = (record.get("result") or {}).get("host")
    if host:
        yield str(host), "client"
    for attached in record.get("telemetry") or ():
        if attached.get("host"):
            yield str(attached["host"]), str(attached.get("role") or "server")


def _kept(raw: Path) -> Iterable[str]:
    """What the measured values are filed under: it stays, also when a host's name is a part of it."""
    store = RawStore(raw)
    found = {raw.resolve().name}
    for cell_id, cell in store.cells().items():
        found |= {cell_id, cell.layout.name}
        if cell.dataset:
            found.add(cell.dataset)
    return sorted(found, key=len, reverse=True)


def _common(raw: Path) -> frozenset[str]:
    environment = read_json(raw / "environment.json")
    text = [(raw / "campaign.yaml").read_text(encoding="utf-8", errors="replace")]
    keys = ("os", "kernel", "machine", "cpu_model", "tools", "interface", "disks", "filesystems")
    text += [str(facts.get(key, "")) for facts in (environment.get("hosts") or {}).values() for key in keys]
    return frozenset().union(*map(words.tokens, text))
