"""What differs between campaigns besides the release: hosts, tools, cluster, campaign, and the suite itself.

A comparison of releases is one only where nothing else differs. Each difference has a weight: *release* is what is
compared; *comes with it* is what the distribution of the hosts brings along, and cannot be told from the release;
*minor* should not matter; *warning* may be the reason of whatever the comparison finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from glusterlab.tools import volume_tools

Weight = Literal["release", "comes with it", "minor", "warning"]

WEIGHTS: tuple[Weight, ...] = ("warning", "comes with it", "release", "minor")
"""In the order in which they are shown."""

DIFFERENCES = ["where", "what", "weight"]
"""Columns of a table of differences, followed by one for each campaign."""

NOT_RECORDED = "not recorded"

_MOST_VALUES = 4
_GIB = 2**30
_REVISION = 12
"""Characters of a commit that tell it from others."""

_FACTS_LEFT_OUT = frozenset(
    {"hostname", "role", "interface", "interface_operstate", "work_dir_free_bytes", "tools", "sysctls", "disks"}
    | {"filesystems"}
)
"""Names and states of a host, which change without a reason, and what is looked at for itself."""

_FACTS: Mapping[str, str] = {
    "os": "operating system",
    "cpu_model": "CPU",
    "cpus": "CPUs",
    "memory_bytes": "memory",
    "interface_speed_bytes_per_s": "speed of the interface",
    "interface_mtu": "MTU of the interface",
    "tuned_profile": "tuned profile",
    "proc_is_lxcfs": "/proc by lxcfs",
}

_CLUSTER_LEFT_OUT = frozenset({"schema_version", "name", "description", "ssh", "servers", "clients", "smallfile"})
_CLUSTER_LEFT_OUT |= {"testbed", "scale_models"}
"""Names and addresses, and the scales, which are in the cells' ids."""
_CAMPAIGN_LEFT_OUT = frozenset({"schema_version", "name", "title", "description", "study", "layouts", "workloads"})
_CAMPAIGN_LEFT_OUT |= {"workers", "access", "exclude", "origin", "baseline"}
"""Cells are paired by an id that has all of these in it: what of them differs is not compared at all."""

_OPERATING_SYSTEM = "operating system"
_GLUSTER = "tool gluster"
_SMALLFILE_IN = "tool python3"


def _measuring() -> frozenset[str]:
    """Programs that measure by themselves: another release of one is a warning, unless no sample is of it."""
    tools = volume_tools()
    return frozenset(f"tool {each.name}" for name in tools for each in tools[name].programs if each.name == name)


@dataclass(frozen=True)
class Conditions:
    """Under what a campaign was measured: environment.json and the resolved specifications, each empty if not known.

    `name` is its label, `release` the GlusterFS version of its samples (several joined by ``", "``, empty where it is
    not known), `tools` the versions that tools reported in them, `backings` those that they lay on.
    """

    name: str
    release: str
    environment: Mapping[str, Any]
    cluster: Mapping[str, Any]
    campaign: Mapping[str, Any]
    tools: Mapping[str, str]
    backings: frozenset[str] = frozenset()

    @property
    def is_known(self) -> bool:
        """Whether facts of hosts were recorded: an import has none."""
        return bool(self.environment.get("hosts"))

    def recorded(self, where: str) -> bool:
        """Whether anything of that was recorded at all."""
        if where == "cluster":
            return bool(self.cluster)
        return self.is_known or where in ("campaign", "samples")


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not the same in all campaigns, with the `values` of each.

    `where`: servers, clients, controller, cluster, campaign or samples.
    """

    where: str
    what: str
    values: tuple[str, ...]
    weight: Weight

    @property
    def sentence(self) -> str:
        """In one line.

        >>> Difference("servers", "kernel", ("6.1", "6.12"), "warning").sentence
        'servers: kernel 6.1, then 6.12'
        """
        return f"{self.where}: {self.what} {', then '.join(self.values)}"


def _text(name: str, value: object) -> str:
    if value is None:
        return NOT_RECORDED
    if name.endswith("_revision"):
        return str(value)[:_REVISION] + ("-dirty" if str(value).endswith("-dirty") else "")
    if name == "memory_bytes" and isinstance(value, (int, float)):
        return f"{value / _GIB:.1f} GiB"
    if name.endswith("_bytes") and isinstance(value, (int, float)):
        return f"{value:,.0f} B"
    if name.endswith("_bytes_per_s") and isinstance(value, (int, float)):
        return f"{value * 8 / 1e9:g} Gbit/s"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def values_text(values: Iterable[str]) -> str:
    """Values of many hosts or disks, each once with its number.

    >>> values_text(["a", "a"]), values_text(["b", "a", "b"])
    ('a', 'b (2), a (1)')
    """
    counts = sorted(Counter(values).items(), key=lambda each: (-each[1], each[0]))
    if not counts:
        return NOT_RECORDED
    if len(counts) == 1:
        return counts[0][0]
    shown = [f"{value} ({count})" for value, count in counts[:_MOST_VALUES]]
    return ", ".join(shown) + (f" and {len(counts) - _MOST_VALUES} more" if len(counts) > _MOST_VALUES else "")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _host_facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a host says, each with its name; of disks and file systems once per piece."""
    for name, value in facts.items():
        if name not in _FACTS_LEFT_OUT and not isinstance(value, (Mapping, list)):
            yield _FACTS.get(name, name.replace("_", " ")), _text(name, value)
    for name, version in _mapping(facts.get("tools")).items():
        yield f"tool {name}", str(version)
    for name, value in _mapping(facts.get("sysctls")).items():
        yield f"sysctl {name}", str(value)
    disks = _mapping(facts.get("disks"))
    yield "number of disks", str(len(disks))
    for disk in disks.values():
        for name in ("model", "size_bytes", "rotational", "scheduler", "read_ahead_kib"):
            yield f"disk {name.removesuffix('_bytes').replace('_', ' ')}", _text(name, _mapping(disk).get(name))
    for system in _mapping(facts.get("filesystems")).values():
        for name in ("type", "options", "size_bytes"):
            yield f"file system {name.removesuffix('_bytes')}", _text(name, _mapping(system).get(name))


def _hosts(environment: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], list[str]] = {}
    hosts = _mapping(environment.get("hosts"))
    for facts in hosts.values():
        where = f"{_mapping(facts).get('role', 'host')}s"
        found.setdefault((where, "number"), []).append("host")
        for what, value in _host_facts(_mapping(facts)):
            found.setdefault((where, what), []).append(value)
    return {key: str(len(values)) if key[1] == "number" else values_text(values) for key, values in found.items()}


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, (list, tuple)):
        texts = [str(each) for each in value] or ["none"]
        yield path, ", ".join(texts) if len(texts) <= _MOST_VALUES else f"{len(texts)}: {', '.join(texts[:2])}, ..."
    elif value is not None:
        yield path, str(value)


def _facts(of: Conditions) -> dict[tuple[str, str], str]:
    found = _hosts(of.environment)
    for name, value in _mapping(of.environment.get("controller")).items():
        found["controller", name.replace("_", " ")] = _text(name, value)
    cluster = {name: value for name, value in of.cluster.items() if name not in _CLUSTER_LEFT_OUT}
    backings = {name: value for name, value in _mapping(cluster.get("backings")).items() if name in of.backings}
    models = {str(_mapping(backing).get("server_model")) for backing in backings.values()}
    described = {name: value for name, value in _mapping(cluster.get("server_models")).items() if name in models}
    cluster |= {"backings": backings, "server_models": described}
    found |= {("cluster", what): text for what, text in _flat(cluster)}
    if of.cluster:
        found["cluster", "testbed"] = "yes" if of.cluster.get("testbed") else "no"
    campaign = {name: value for name, value in of.campaign.items() if name not in _CAMPAIGN_LEFT_OUT}
    found |= {("campaign", what): text for what, text in _flat(campaign)}
    found |= {("samples", f"version of {tool}"): version for tool, version in of.tools.items()}
    if of.release:
        found["samples", "GlusterFS"] = of.release
    return found


def _weight(where: str, what: str, other_system: bool) -> Weight:
    if what in (_GLUSTER, "GlusterFS"):
        return "release"
    if where in ("servers", "clients"):
        brought = what.startswith(("tool ", "file system ")) and what not in _measuring()
        return "comes with it" if other_system and (brought or what == _OPERATING_SYSTEM) else "warning"
    if (where == "controller" and what in ("kernel", "python")) or (where == "campaign" and what != "warmup"):
        return "minor"
    return "warning"


def differences(campaigns: Sequence[Conditions]) -> list[Difference]:
    """What is not the same in all campaigns, warnings first."""
    facts = [{key: text for key, text in _facts(each).items() if each.recorded(key[0])} for each in campaigns]
    found = []
    for where, what in sorted(set().union(*facts)):
        known = [each for each, campaign in zip(facts, campaigns, strict=True) if campaign.recorded(where)]
        if len({each.get((where, what), NOT_RECORDED) for each in known}) < 2:
            continue
        values = tuple(each.get((where, what), NOT_RECORDED) for each in facts)
        weight = _weight(where, what, len({each.get((where, _OPERATING_SYSTEM), "") for each in known}) > 1)
        if weight == "warning" and what.startswith(("tool ", "version of ")) and NOT_RECORDED in values:
            # a tool that one campaign did not need, did not ask for, or that does not tell its version
            weight = "minor"
        if what in _measuring() and not any(what.removeprefix("tool ") in each.tools for each in campaigns):
            # on the hosts, but nothing was measured by it
            weight = "minor"
        found.append(Difference(where, what, values, weight))
    return sorted(found, key=lambda each: (WEIGHTS.index(each.weight), each.where, each.what))


def differences_table(found: Sequence[Difference], names: Sequence[str]) -> pd.DataFrame:
    """Differences as a table."""
    rows = [[each.where, each.what, each.weight, *each.values] for each in found]
    return pd.DataFrame(rows, columns=[*DIFFERENCES, *names])


def warnings_of(campaigns: Sequence[Conditions], found: Sequence[Difference]) -> list[str]:
    """What else than the release differs, or is not known to be the same; none where only the release differs."""
    warnings = []
    for each in (each for each in campaigns if not each.is_known):
        imported = each.environment.get("origin") == "imported"
        why = "it is an import" if imported else "environment.json has no hosts"
        sentence = f"its conditions were not recorded ({why}), so that what else differs is not known"
        warnings.append(f"{each.name}: {sentence}")
    warnings += [
        f"{each.name}: its samples were measured on several GlusterFS versions, {each.release}"
        for each in campaigns
        if ", " in each.release
    ]
    return warnings + [f"not only the release differs: {each.sentence}" for each in found if each.weight == "warning"]


def notes_of(campaigns: Sequence[Conditions], found: Sequence[Difference]) -> list[str]:
    """What is to be known about the difference that is meant."""
    notes = []
    releases = {each.release for each in campaigns}
    if len(releases) == 1 and (release := next(iter(releases))):
        notes.append(f"all campaigns ran GlusterFS {release}: this is a release against itself")
    brought = [each for each in found if each.weight == "comes with it"]
    systems = [each for each in brought if each.what == _OPERATING_SYSTEM]
    if systems:
        tools = sorted({each.what.removeprefix("tool ") for each in brought if each.what.startswith("tool ")})
        listed = f" ({', '.join(tools)})" if tools else ""
        notes.append(
            f"the hosts' system differs: {', then '.join(systems[0].values)}. What it brings along cannot be told "
            f"from the release: its tools{listed}, what its XFS tools make by default, and libraries that are not "
            "recorded (libc, OpenSSL, liburcu)"
        )
    if any(each.what == _SMALLFILE_IN and each.where == "clients" for each in brought) and any(
        "smallfile" in each.tools for each in campaigns
    ):
        notes.append(
            "smallfile runs in the clients' Python, whose version differs: a part of what it measures is that Python's"
        )
    return notes
