"""What of a campaign is given a neutral name: its hosts, addresses, users and controllers, and what a person names."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from glusterlab.errors import UsageError
from glusterlab.publish import words
from glusterlab.publish.names import DOMAIN, HostNames, Names, is_address, with_colons
from glusterlab.raw import RawStore
from glusterlab.rawfiles import read_json
from glusterlab.spec.cluster import HOST_FORM
from glusterlab.spec.fields import NAME_FORM
from glusterlab.spec.load import load_campaign, load_cluster, load_yaml

_LEFT_ALONE = ("localhost", "localhost.localdomain", "unknown", "none")
_LONGEST_NAME = 60
_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5,19}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WORD = re.compile(r"[A-Za-z0-9](?:[\w.+-]*[A-Za-z0-9])?")


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


def collect(
    raw: Path, given: Mapping[str, str], *, keep_host_names: bool = False, campaign: str | None = None
) -> Names:
    """The names of a campaign's hosts, and neutral ones for them.

    Parameters
    ----------
    raw : pathlib.Path
    given : mapping of str to str
        What the user wants to be called what: hosts, addresses, any word.
    keep_host_names : bool
    campaign : str, optional
        What the campaign is to be called.

    Raises
    ------
    UsageError
        When two hosts would have one name, or a name that was given is none.
    """
    names = Names(hosts_kept=keep_host_names)
    hosts = list(_hosts(raw))
    names.hosts = frozenset(
        name.lower() for host in hosts for name in (host.name, host.address, *host.others) if not is_address(name)
    )
    _take_given(names, given)
    if not keep_host_names:
        for role in ("server", "client"):
            group = [host for host in hosts if host.role == role]
            width = max(2, len(str(len(group))))
            for number, host in enumerate(group, start=1):
                _name_host(names, host, f"{role}{number:0{width}d}")
        own = set()
        for controller in _controllers(raw):
            for name in (controller.lower(), controller.lower().partition(".")[0]):
                if name and name not in _LEFT_ALONE and not is_address(name):
                    names.aliases.setdefault(name, "controller")
                    own.add(name)
        names.own = frozenset(own - names.hosts)
    renamed = [names.host(host.name) for host in hosts]
    twice = sorted({name for name in renamed if renamed.count(name) > 1})
    if twice:
        raise UsageError(f"expected a name of its own for each host, found '{twice[0]}' for two of them")
    names.common = _common(raw)
    _name_cluster(names, raw)
    kept = set(_kept(raw))
    if campaign is not None:
        old = load_campaign(raw / "campaign.yaml").name
        if not re.fullmatch(NAME_FORM, campaign) or len(campaign) > _LONGEST_NAME:
            raise UsageError(f"--name {campaign[:80]!r}: expected small letters, digits and hyphens, such as night-2")
        names.campaign = (old, campaign)
        names.aliases.setdefault(old.lower(), campaign)
        names.own |= {old.lower()}
        kept -= {old, raw.resolve().name}
    names.keep = tuple(sorted(kept, key=len, reverse=True))
    return names


def _name_cluster(names: Names, raw: Path) -> None:
    """Its name and its user; a testbed's name tells nothing."""
    if not (raw / "cluster.yaml").is_file():
        return
    cluster = load_cluster(raw / "cluster.yaml")
    if not cluster.is_testbed:
        names.aliases.setdefault(cluster.name.lower(), "cluster")
        names.own |= {cluster.name.lower()}
    names.user(cluster.ssh.user)


def _controllers(raw: Path) -> Iterator[str]:
    """Machines that ran the campaign, as far as its files tell, and this one, which publishes it."""
    yield platform.node()
    controller = read_json(raw / "environment.json").get("controller") or {}
    for key in ("hostname", "host", "name"):
        if isinstance(controller, dict) and isinstance(controller.get(key), str):
            yield controller[key]
    with suppress(OSError, ValueError):
        state = json.loads((raw / "now.json").read_text(encoding="utf-8"))
        if isinstance(state, dict) and isinstance(state.get("host"), str):
            yield state["host"]
    for name in (".lock", "log.txt", "events.jsonl"):
        with suppress(OSError):
            text = (raw / name).read_text(encoding="utf-8", errors="replace")
            yield from sorted(set(re.findall(r"\bprocess \d+ on ([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)", text)))


_NEUTRAL = re.compile(r"(server|client)\d+(-net)?|controller")


def _take_given(names: Names, given: Mapping[str, str]) -> None:
    for old, new in given.items():
        word = old.lower()
        kind, known = _kind_of(names, word, new)
        wrong = _why_unfit(kind, word, new, known)
        if wrong:
            raise UsageError(f"names for the copy: {old[:80]!r}: {new[:80]!r}: {wrong}")
        known[with_colons(word) if kind == "hardware address" else word] = new
    # a host of a common name that an earlier copy's file leads back to is no word to be replaced everywhere
    names.given = frozenset(old for old, new in names.aliases.items() if not _NEUTRAL.fullmatch(new))


def _kind_of(names: Names, word: str, new: str) -> tuple[str, dict[str, str]]:
    if is_address(word):
        return "address", names.addresses
    if word not in names.hosts:
        if _MAC.fullmatch(word):
            return "hardware address", names.macs
        if _UUID.fullmatch(word):
            return "UUID", names.uuids
        if re.fullmatch(r"device\d+", new):
            return "device", names.devices
        if re.fullmatch(r"user\d*", new):
            return "user", names.users
    return "host" if word in names.hosts else "word", names.aliases


def _why_unfit(kind: str, word: str, new: str, known: Mapping[str, str]) -> str:
    """Why a name that was given cannot be taken, or nothing."""
    fit = {
        "address": is_address(new) and "%" not in new,
        "hardware address": bool(_MAC.fullmatch(new.lower())) and new.count(":") == 5,
        "UUID": bool(_UUID.fullmatch(new)),
        "host": bool(re.fullmatch(HOST_FORM, new)),
    }.get(kind, bool(_WORD.fullmatch(new)) and len(new) <= _LONGEST_NAME)
    if not fit:
        return {
            "address": "expected another IP address",
            "hardware address": "expected another hardware address, such as 00:00:5e:00:53:01",
            "UUID": "expected another UUID",
            "host": "expected the name of a host, of letters, digits, dots and hyphens",
        }.get(kind, "expected a word of letters, digits and . _ + -")
    if (with_colons(word) if kind == "hardware address" else word) in known:
        return "expected each name once, whether small or capital letters"
    if kind in ("address", "hardware address", "UUID") and new in known.values():
        return f"expected {kind}es that differ, found one for two" if kind != "UUID" else "expected UUIDs that differ"
    if kind == "word" and words.is_number(word) and not _NEUTRAL.fullmatch(new):
        return "a number cannot be renamed, since what was measured is numbers"
    return ""


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
