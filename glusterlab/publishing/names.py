"""Neutral names for what tells whose a campaign is: known names, and what has the form of something private."""

import ipaddress
import itertools
import json
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from glusterlab import secrets
from glusterlab.errors import UsageError
from glusterlab.rawfile import read_raw
from glusterlab.spec.cluster import HOST_FORM
from glusterlab.spec.fields import NAME_FORM
from glusterlab.spec.yaml import load_campaign, load_cluster, load_yaml
from glusterlab.store.campaign import RawStore
from glusterlab.store.files import read_json
from glusterlab.tools import tools, volume_tools

DOMAIN = "example.net"
_NETS = [ipaddress.ip_network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15")]
"""For documentation (RFC 5737) and, when these are full, for benchmarks (RFC 2544)."""
_PUBLIC_DOMAINS = re.compile(
    r"(?:.*\.)?(?:openssh\.com|libssh\.org|gnu\.org|gluster\.org|github\.com)"
    r"|.*\.(?:service|socket|slice|scope|mount|timer|target|device)"
)
_PUBLIC_USERS = frozenset({"root", "git"})
_ORDINARY = frozenset(  # words that tools print: no name of a host or user can be told from them
    (  # noqa: SIM905  to be read as words
        "admin brick bricks campaign cell cells client clients cluster command controller data default disk disks "
        "elapsed file files glusterfs glusterlab host hosts lab local localhost localhost.localdomain machine mount "
        "network node none option options peer peers pool process read root run sample samples server servers status "
        "storage system test tests time unknown user volume volumes worker workers write"
    ).split()
).union(tools())

_STARTS, _ENDS = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_HEX2 = "[0-9a-fA-F]{2}"
_FORMS = {  # what identifies a machine or a person, by its form
    "digest": r"\b[0-9a-f]{40,64}\b",
    "uuid": rf"{_STARTS}[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}{_ENDS}",
    "mac": (
        rf"(?<![0-9A-Za-z:.-])(?:(?:{_HEX2}:){{5,19}}{_HEX2}|(?=[\d.-]*[a-fA-F])(?:(?:{_HEX2}-){{5}}{_HEX2}"
        r"|(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}))(?![0-9A-Za-z:-]|\.\w)"
    ),
    "mail": r"(?<![\w.+@/-])[A-Za-z0-9][\w.+-]*@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,24}(?![\w.-]*[\w@])",
    "address6": r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:%\w+)?(?![\w:]|\.\d)",
    "address": r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)",
    "device": (
        r"(?:\b(?:wwn-0x|naa\.|eui\.)[0-9a-f]{16,32}|\b0x5[0-9a-f]{15}\b|(?<=/dev/disk/by-id/)[^\s'\"/,;]+"
        r"|(?<=LU WWN Device Id: )[0-9a-f] [0-9a-f]{6} [0-9a-f]{9}|\biqn\.\d{4}-\d{2}\.[\w.-]+(?::[\w.:-]*\w)?)"
    ),
    "serial": (
        r"(?i:(?:serial(?:[ _-]?(?:number|no|short))?|(?:asset|service)_?tag)['\"]?[ \t]*[:=][ \t]*['\"]?)"
        r"[\w-]{4,40}(?!\w)"
    ),
    "user": r"(?:(?<=/home/)|(?<=/Users/))[A-Za-z0-9_][\w.-]*",
}
_SERIAL = re.compile(r"^[^:=]*[:=][ \t]*['\"]?")
_SHOWN_KINDS = {
    "known": "name", "host": "name", "serial": "device", "mac": "hardware address", "knownmac": "hardware address",
    "knownip": "address", "address6": "address",
}  # fmt: skip
_NO_SERIAL = frozenset({"unknown", "none", "null", "empty", "true", "false"})
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9](?:[\w.+-]{0,58}[A-Za-z0-9])?")
_MAC = re.compile(rf"(?:{_HEX2}[:-]){{5,19}}{_HEX2}|(?:[0-9a-f]{{4}}\.){{2}}[0-9a-f]{{4}}", re.IGNORECASE)
_NEUTRAL: dict[str, Callable[[int], str]] = {  # the n-th neutral name of a kind
    "address6": lambda n: f"2001:db8::{n:x}",
    "mac": lambda n: f"00:00:5e:00:{0x53 + n // 256:02x}:{n % 256:02x}",
    "uuid": lambda n: f"00000000-0000-4000-8000-{n:012x}",
    "device": lambda n: f"device{n:04d}",
    "user": lambda n: "user" if n == 1 else f"user{n}",
}


@dataclass(frozen=True)
class Left:
    """Something that should not be in a copy: its kind, the file below the copy's folder, and what it is."""

    kind: str
    path: str
    found: str


class Names:
    """Names of the original (in lower case) and those of the copy; what turns up in its texts is added by `collect`.

    `kept` stays as it is (ids of cells, names of layouts), `by_user` are words that the user named.
    """

    def __init__(self, *, kept: Iterable[str] = (), hosts_kept: bool = False) -> None:
        self.known: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self.by_user: set[str] = set()
        self.kept = sorted(kept, key=len, reverse=True)
        self.hosts_kept = hosts_kept
        self.redacted = 0
        self._forms = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS.items()))

    @property
    def mapping(self) -> dict[str, str]:
        """All that was renamed, for the file that leads back."""
        return {old: new for old, new in sorted(self.known.items()) if old != new}

    def add(self, kind: str, original: str, neutral: str) -> str:
        """Call something so in the copy, unless it has a name there already; the name is returned."""
        key = with_colons(original) if kind == "mac" else original.lower()
        self.kinds.setdefault(key, kind)
        self.__dict__.pop("_pattern", None)
        return self.known.setdefault(key, neutral)

    def collect(self, text: str) -> None:
        for match in self._forms.finditer(text):
            self.by_form(str(match.lastgroup), match[0])

    def text(self, text: str) -> str:
        """A text with the names of the copy and without secrets."""
        clean = secrets.redact(text)
        self.redacted += clean != text
        return self._pattern.sub(self._replace, clean)

    def strings(self, text: str) -> str:
        """JSON or text around it, each of whose strings gets the names of the copy; all else stays byte for byte."""

        def renamed(match: re.Match[str]) -> str:
            try:
                value = json.loads(match[0], strict=False)
            except ValueError:
                return self.text(match[0])
            changed = self.text(value)
            # half of a pair of escapes is no character that a file can hold
            escaped = "\\ud" in match[0].lower() or match[0].isascii()
            return match[0] if changed == value else json.dumps(changed, ensure_ascii=escaped)

        return _STRING.sub(renamed, secrets.redact(text))

    def left(self, text: str, path: str) -> Iterator[Left]:
        """What is left of the names, or has a private form, in a text of the copy."""
        neutral = {new.lower() for new in self.known.values()} | {new.replace(".", "-") for new in self.known.values()}
        for match in self._pattern.finditer(text):
            kind, found = str(match.lastgroup), match[0]
            if kind == "keep":
                yield from (
                    Left("name", path, word)
                    for word in self.by_user
                    if self.known[word] != word and re.search(f"{_STARTS}{re.escape(word)}{_ENDS}", found.lower())
                )
            elif found.lower() not in neutral and self._replace(match) != found:
                kind = self.kinds.get(found.lower(), kind)
                yield Left(_SHOWN_KINDS.get(kind, kind), path, found[:60])
        yield from (Left("secret", path, kind) for kind in secrets.find(text))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """What is kept, then what is known, longest first, then the forms."""
        known = [old for old, new in self.known.items() if old != new and not _is_common(old)]
        addresses = {old for old in known if is_address(old)}
        dashed = {old.replace(".", "-") for old in addresses if "." in old}
        macs = [old.replace(":", "[:.-]?") for old in known if self.kinds[old] == "mac"]
        words = [old for old in known if self.kinds[old] != "mac" and old not in addresses]
        parts = [
            ("keep", rf"(?<![\w+-])(?:{_any_of(self.kept)})(?:-[0-9a-f]{{6}})?(?![\w+])", self.kept),
            ("mail", _FORMS["mail"], True),
            ("knownip", rf"(?<![0-9])(?i:{_any_of(addresses | dashed)})(?![0-9])", addresses),
            ("knownmac", rf"(?<![0-9A-Fa-f])(?i:{'|'.join(macs)})(?![0-9A-Fa-f])", macs),
            ("known", rf"{_STARTS}(?i:{_any_of(words)}){_ENDS}", words),
            *((kind, form, kind != "mail") for kind, form in _FORMS.items()),
        ]
        return re.compile("|".join(f"(?P<{kind}>{form})" for kind, form, has_any in parts if has_any))

    def _replace(self, match: re.Match[str]) -> str:
        kind, found = str(match.lastgroup), match[0]
        if kind in ("keep", "digest"):
            return found
        if kind in ("known", "knownip"):
            plain = self.known.get(found.lower())
            return self.known[found.replace("-", ".")].replace(".", "-") if plain is None else plain
        return self.by_form("mac" if kind == "knownmac" else kind, found)

    def by_form(self, kind: str, found: str) -> str:
        """What something of a private form is called in the copy; what is public stays."""
        if found.lower() in self.known.values() or kind == "digest":
            return found
        if kind == "serial":
            value = _SERIAL.sub("", found)
            public = value.lower() in _NO_SERIAL or value in self.known.values()
            return found if public else found.removesuffix(value) + self.next("device", value)
        if kind in ("mac", "mail"):
            return self._mac(found) if kind == "mac" else self._mail(found)
        if kind in ("address", "address6"):
            public = not is_address(found) or self.hosts_kept or not _is_private(found)
            return found if public else self.next("address", found)
        public = (kind == "uuid" and set(found) <= set("0-")) or (kind == "user" and found in _PUBLIC_USERS)
        return found if public else self.next(kind, found)

    def _mac(self, found: str) -> str:
        key = with_colons(found)
        if set(key) <= set("0:") or set(key) <= set("f:") or key in self.known.values():
            return found
        neutral = self.next("mac", key)
        if "." in found:
            digits = neutral.replace(":", "")
            return ".".join(digits[n : n + 4] for n in range(0, 12, 4))
        return neutral.replace(":", ":" if ":" in found else "-" if "-" in found else "")

    def _mail(self, found: str) -> str:
        user, _, domain = found.rpartition("@")
        if _PUBLIC_DOMAINS.fullmatch(domain.lower()):
            return found
        if not self.hosts_kept and domain not in self.known.values():
            domain = self.known.get(domain.lower(), DOMAIN)
        public = user in _PUBLIC_USERS or user in self.known.values()
        return f"{user if public else self.next('user', user)}@{domain}"

    def next(self, kind: str, original: str) -> str:
        """The next free name of a kind, for what has none yet."""
        key = with_colons(original) if kind == "mac" else original.lower()
        if key in self.known:
            return self.known[key]
        if kind == "address" and ":" not in original:
            names: Iterable[str] = (str(address) for net in _NETS for address in net.hosts())
        else:
            names = map(_NEUTRAL["address6" if kind == "address" else kind], itertools.count(1))
        taken = set(self.known.values())
        return self.add(kind, original, next(name for name in names if name not in taken))


def read_names(path: Path) -> dict[str, str]:
    """A file of names: what is to be replaced, and what replaces it."""
    data, _ = load_yaml(path)
    if not isinstance(data, dict) or not all(isinstance(text, str) and text for pair in data.items() for text in pair):
        raise UsageError(f"{path}: expected lines 'name: neutral name', both quoted where they are numbers")
    return dict(data)


def collect_names(
    raw: Path, new_names: Mapping[str, str], *, hosts_kept: bool = False, campaign: str | None = None
) -> Names:
    """Names of a campaign's hosts, user, cluster and controllers, and neutral ones for them.

    Raises `UsageError` when a wanted name is unfit, or a host's name cannot be told from words that tools print.
    """
    hosts = _hosts(raw)
    old = load_campaign(raw / "campaign.yaml").name
    names = Names(kept=_kept(raw, without=() if campaign is None else (old, raw.resolve().name)), hosts_kept=hosts_kept)
    if campaign is not None:
        if not re.fullmatch(NAME_FORM, campaign) or len(campaign) > 60:
            raise UsageError(f"--name {campaign[:80]!r}: expected small letters, digits and hyphens, such as night-2")
        new_names = {**new_names, old: campaign}
    _take_names(names, new_names, {host.lower() for host in hosts})
    if not hosts_kept:
        _name_hosts(names, hosts, raw)
    renamed = Counter(names.known.get(host.lower(), host) for host in hosts)
    if twice := sorted(name for name, number in renamed.items() if number > 1):
        raise UsageError(f"expected a name of its own for each host, found '{twice[0]}' for two of them")
    if (raw / "cluster.yaml").is_file():
        cluster = load_cluster(raw / "cluster.yaml")
        if not cluster.is_testbed and not _is_common(cluster.name.lower()):
            names.add("name", cluster.name, "cluster")
        if cluster.ssh.user not in _ORDINARY:
            names.next("user", cluster.ssh.user)
    return names


def _take_names(names: Names, new_names: Mapping[str, str], hosts: set[str]) -> None:
    for old, new in new_names.items():
        mac = bool(_MAC.fullmatch(old))
        word = with_colons(old) if mac else old.lower()
        if is_address(word):
            kind, fit, form = "address", is_address(new) and "%" not in new, "another IP address"
        elif mac:
            kind, fit, form = "mac", bool(_MAC.fullmatch(new)) and new.count(":") == 5, "another hardware address"
        else:
            fit = bool(re.fullmatch(HOST_FORM if word in hosts else _WORD, new))
            kind, form = "name", "a word of letters, digits and . _ + -"
        where = f"names for the copy: {old[:80]!r}: {new[:80]!r}"
        if not fit:
            raise UsageError(f"{where}: expected {form}")
        if word in names.known:
            raise UsageError(f"{where}: expected each name once, whether small or capital letters")
        if kind != "name" and new in names.known.values():
            raise UsageError(f"{where}: expected addresses that differ, found one for two")
        if is_number(word) and old != new:
            raise UsageError(f"{where}: a number cannot be renamed, since what was measured is numbers")
        names.add(kind, old, new)
        names.by_user.add(word)


Hosts = dict[str, tuple[str, tuple[str, ...]]]  # role, and other names and addresses, of each host


def _name_hosts(names: Names, hosts: Hosts, raw: Path) -> None:
    for role in ("server", "client"):
        group = [host for host, (its, _) in hosts.items() if its == role]
        digits = max(2, len(str(len(group))))
        for number, host in enumerate(group, start=1):
            _name_host(names, host, hosts[host][1], f"{role}{number:0{digits}d}")
    for controller in _controllers(raw):
        for name in (controller, controller.partition(".")[0]):
            if not _is_common(name.lower()):
                names.add("name", name, "controller")


def _name_host(names: Names, host: str, others: Iterable[str], neutral: str) -> None:
    if host.lower() not in names.known and host.lower() != neutral and _is_common(host.lower()):
        raise UsageError(
            f"host {host!r}: is a number, very short or a word that tools print, and cannot be told from these; leave"
            f" it as it is by a line '{host}: {host}' in a file for --names, or all hosts by --keep-host-names"
        )
    neutral = names.add("host", host, neutral)
    for other in (host, *others):
        if is_address(other):
            names.by_form("address", other)
            continue
        short, _, domain = other.lower().partition(".")
        same = short == host.lower().partition(".")[0]
        for name in (other, short):
            if not _is_common(name.lower()):
                names.add("host", name, neutral if same else f"{neutral}-net")
        if "." in domain and not _is_common(domain):
            names.add("name", domain, DOMAIN)


def _hosts(raw: Path) -> Hosts:
    """Every host that the campaign's own files name; the cluster's first."""
    facts = read_json(raw / "environment.json").get("hosts") or {}
    found: Hosts = {}
    if (raw / "cluster.yaml").is_file():
        cluster = load_cluster(raw / "cluster.yaml")
        for host in cluster.hosts:
            own = (facts.get(host.name) or {}).get("hostname")
            vips = (each.addresses.get(host.name) for each in cluster.access.values())
            own_names = (host.address, *([str(own)] if own else []), *dict.fromkeys(vip for vip in vips if vip))
            found[host.name] = cluster.role(host.name), own_names
    others = [(name, str(each.get("role")) if isinstance(each, dict) else "") for name, each in facts.items()]
    for sample in RawStore(raw).samples():
        others += [*((name, "server") for name in sample.servers), *((name, "client") for name in sample.clients)]
    for path in raw.glob("cells/*/sample-*/import.json"):
        record = read_json(path)
        telemetry: Iterable[dict[str, Any]] = record.get("telemetry") or ()
        others += [(str(each["host"]), str(each.get("role"))) for each in telemetry if each.get("host")]
        if measured := (record.get("result") or {}).get("host"):
            others.append((str(measured), "client"))
    for name, role in others:
        if not is_address(name):
            found.setdefault(name, ("client" if role == "client" else "server", ()))
    return found


def _controllers(raw: Path) -> Iterator[str]:
    """Machines that ran the campaign, as far as its files tell, and this one, which publishes it."""
    yield platform.node()
    controller = read_json(raw / "environment.json").get("controller") or {}
    with suppress(OSError, ValueError):
        controller["now"] = json.loads(read_raw(raw / "now.json")).get("host")
    for key in ("hostname", "host", "name", "now"):
        if isinstance(controller.get(key), str):
            yield controller[key]
    for name in (".lock", "log.txt", "events.jsonl"):
        with suppress(OSError):
            text = read_raw(raw / name, 1 << 30).decode("utf-8", errors="replace")
            yield from sorted(set(re.findall(r"\bprocess \d+ on ([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)", text)))


def _kept(raw: Path, without: Iterable[str]) -> set[str]:
    found = {raw.resolve().name}
    for cell_id, cell in RawStore(raw).cells().items():
        tool = volume_tools().get(cell.tool)
        found |= {cell_id, cell.layout.name, *([] if tool is None else [tool.dataset(cell)])}
    return found - set(without)


def with_colons(mac: str) -> str:
    """A hardware address in the form that Linux prints."""
    digits = re.sub(r"[^0-9a-f]", "", mac.lower())
    return ":".join(digits[n : n + 2] for n in range(0, len(digits), 2))


def is_address(text: str) -> bool:
    """Whether a text is an IP address, and not words of a program with colons between them.

    >>> [is_address(text) for text in ("10.0.0.1", "fe80::1%eth0", "gl-s01", "10", "a::b")]
    [True, True, False, False, False]
    """
    address, groups = text.partition("%")[0], [group for group in text.partition("%")[0].split(":") if group]
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return ":" not in address or len(groups) >= 3 or address.lower().startswith(("fe80:", "fc", "fd", "2"))


def is_number(text: str) -> bool:
    """Whether a text reads as a number, as a measured value does.

    >>> [text for text in ("37", "0.00", "1e6", "4k", "12:30", "nan", "node37", "10.77.0.11") if is_number(text)]
    ['37', '0.00', '1e6', '4k', '12:30', 'nan']
    """
    with suppress(ValueError):
        float(text)
        return True
    form = r"[0-9]+(\.[0-9]+)*[a-z]{0,4}|0x[0-9a-f]+|[\d.,:%+-]+"
    return not is_address(text) and bool(re.fullmatch(form, text.lower()))


def _is_private(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mask = address.version == 4 and str(address).startswith(("255.", "0."))
    return not (address.is_loopback or address.is_unspecified or address.is_multicast or mask)


def _is_common(name: str) -> bool:
    return not is_address(name) and (len(name) <= 2 or name in _ORDINARY or is_number(name))


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
