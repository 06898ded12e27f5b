"""What differs between campaigns besides the release: hosts, tools, cluster, campaign, and the suite itself.

By weight: *release* is compared; *comes with it* is what the hosts' distribution brings along and cannot be told from
the release; *minor* should not matter; *warning* may be the reason of whatever is found.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from glusterlab.errors import some
from glusterlab.tools import runnable
from glusterlab.tools.base import Program

Weight = Literal["release", "comes with it", "minor", "warning"]

WEIGHTS: tuple[Weight, ...] = ("warning", "comes with it", "release", "minor")  # in the order in which they are shown

DIFFERENCES = ["where", "what", "weight"]  # followed by a column for each campaign, by its name

NOT_RECORDED = "not recorded"

_MOST_VALUES = 4
_REVISION = 12  # characters of a commit that tell it from others

_FACTS_LEFT_OUT = frozenset(
    {"hostname", "role", "interface", "interface_operstate", "work_dir_free_bytes", "tools", "sysctls", "disks"}
    | {"filesystems"}
)  # names and states, which change without a reason, and what is looked at for itself

_FACTS: Mapping[str, str] = {
    "os": "operating system", "cpu_model": "CPU", "cpus": "CPUs", "memory_bytes": "memory",
    "interface_speed_bytes_per_s": "speed of the interface", "interface_mtu": "MTU of the interface",
    "proc_is_lxcfs": "/proc by lxcfs",
}  # fmt: skip

_CLUSTER_LEFT_OUT = frozenset({"schema_version", "name", "description", "ssh", "servers", "clients", "smallfile"})
_CLUSTER_LEFT_OUT |= {"testbed", "scale_models"}
"""Names and addresses, and the scales, which are in the cells' ids; which models have heads is said besides."""
_CAMPAIGN_LEFT_OUT = frozenset({"schema_version", "name", "title", "description", "study", "layouts", "workloads"})
_CAMPAIGN_LEFT_OUT |= {"workers", "access", "exclude", "origin", "baseline"}
"""Cells are paired by an id that has all of these in it: what of them differs is not compared at all."""

_OPERATING_SYSTEM = "operating system"
_GLUSTER = "tool gluster"


@dataclass(frozen=True)
class Conditions:
    """Under what a campaign was measured: environment.json and the resolved specifications, each empty if not known."""

    name: str  # its label
    release: str  # GlusterFS version of its samples, several joined by ", ", empty where not known
    environment: Mapping[str, Any]
    cluster: Mapping[str, Any]
    campaign: Mapping[str, Any]
    tools: Mapping[str, str]  # versions that tools reported in them
    backings: frozenset[str] = frozenset()  # those that they lay on

    def recorded(self, where: str) -> bool:
        """Whether anything of that was recorded at all: an import has no facts of hosts."""
        if where == "cluster":
            return bool(self.cluster)
        return bool(self.environment.get("hosts")) or where in ("campaign", "samples")


def _text(name: str, value: object) -> str:
    if value is None:
        return NOT_RECORDED
    if name.endswith("_revision"):
        return str(value)[:_REVISION] + ("-dirty" if str(value).endswith("-dirty") else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if name == "memory_bytes":
            return f"{value / 2**30:.1f} GiB"
        if name.endswith("_bytes"):
            return f"{value:,.0f} B"
        if name.endswith("_bytes_per_s"):
            return f"{value * 8 / 1e9:g} Gbit/s"
    return str(value)


def values_text(values: Iterable[str]) -> str:
    """Values of many hosts or disks, each once with its number.

    >>> values_text(["a", "a"]), values_text(["b", "a", "b"])
    ('a', 'b (2), a (1)')
    """
    counts = sorted(Counter(values).items(), key=lambda each: (-each[1], each[0]))
    if len(counts) < 2:
        return counts[0][0] if counts else NOT_RECORDED
    return some([f"{value} ({count})" for value, count in counts], _MOST_VALUES)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _host_facts(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a host says, each with its name; of disks and file systems once per piece."""
    for name, value in facts.items():
        if name not in _FACTS_LEFT_OUT and not isinstance(value, (Mapping, list)):
            yield _FACTS.get(name, name.replace("_", " ")), _text(name, value)
    for kind in ("tool", "sysctl"):
        for name, value in _mapping(facts.get(f"{kind}s")).items():
            yield f"{kind} {name}", str(value)
    yield "number of disks", str(len(_mapping(facts.get("disks"))))
    for kind, pieces, names in (
        ("disk", "disks", ("model", "size_bytes", "rotational", "scheduler", "read_ahead_kib")),
        ("file system", "filesystems", ("type", "options", "size_bytes")),
    ):
        for piece in _mapping(facts.get(pieces)).values():
            for name in names:
                yield f"{kind} {name.removesuffix('_bytes').replace('_', ' ')}", _text(name, _mapping(piece).get(name))


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
    on_hosts: dict[tuple[str, str], list[str]] = {}
    hosts = [_mapping(facts) for facts in _mapping(of.environment.get("hosts")).values()]
    for facts in hosts:
        for what, value in _host_facts(facts):
            on_hosts.setdefault((f"{facts.get('role', 'host')}s", what), []).append(value)
    found = {key: values_text(values) for key, values in on_hosts.items()}
    numbers = Counter(f"{facts.get('role', 'host')}s" for facts in hosts)
    found |= {(where, "number"): str(number) for where, number in numbers.items()}
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
        scales = _mapping(of.cluster.get("scale_models"))
        headed = [name for name, model in scales.items() if _mapping(model).get("heads")]
        found["cluster", "disks with heads"] = ", ".join(headed) or "none"
    campaign = {name: value for name, value in of.campaign.items() if name not in _CAMPAIGN_LEFT_OUT}
    found |= {("campaign", what): text for what, text in _flat(campaign)}
    found |= {("samples", f"version of {tool}"): version for tool, version in of.tools.items()}
    if of.release:
        found["samples", "GlusterFS"] = of.release
    return {key: text for key, text in found.items() if of.recorded(key[0])}


def _programs(tools: Iterable[str]) -> list[tuple[str, Program]]:
    return [(tool, program) for tool in sorted({*tools} & {*runnable()}) for program in runnable()[tool].programs]


def _weight(where: str, what: str, values: Sequence[str], others: Set[str], used: set[str]) -> Weight:
    # a build of another release is another one; of the same release it is a warning
    if what in (_GLUSTER, "GlusterFS") or (what == "gluster digest" and _GLUSTER in others):
        return "release"
    measuring, known = (
        {f"tool {program.name}" for _, program in _programs(tools) if not program.runs_in}
        for tools in (used, runnable())
    )
    # a tool that is on the hosts, but nothing was measured by it
    if what in known - measuring:
        return "minor"
    if where in ("servers", "clients"):
        brought = what.startswith(("tool ", "file system ")) and what not in measuring
        if _OPERATING_SYSTEM in others and (brought or what == _OPERATING_SYSTEM):
            return "comes with it"
    elif (where == "controller" and what in ("kernel", "python")) or (where == "campaign" and what != "warmup"):
        return "minor"
    # a tool that one campaign did not need, did not ask for, or that does not tell its version
    lacking = what.startswith(("tool ", "version of ")) and NOT_RECORDED in values
    return "minor" if lacking else "warning"


def differences(campaigns: Sequence[Conditions]) -> pd.DataFrame:
    """What is not the same in all campaigns, warnings first: `DIFFERENCES` and a column per campaign."""
    facts = [_facts(each) for each in campaigns]
    used = {tool for each in campaigns for tool in each.tools}
    rows = []
    for where, what in sorted(set().union(*facts)):
        known = [each for each, campaign in zip(facts, campaigns, strict=True) if campaign.recorded(where)]
        if len({each.get((where, what), NOT_RECORDED) for each in known}) > 1:
            values = [each.get((where, what), NOT_RECORDED) for each in facts]
            others = {of for of in (_OPERATING_SYSTEM, _GLUSTER) if len({each.get((where, of)) for each in known}) > 1}
            rows.append((where, what, _weight(where, what, values, others, used), *values))
    rows.sort(key=lambda row: WEIGHTS.index(row[2]))
    return pd.DataFrame(rows, columns=[*DIFFERENCES, *(each.name for each in campaigns)])


def warnings_of(campaigns: Sequence[Conditions], found: pd.DataFrame) -> list[str]:
    """What else than the release differs, or is not known to be the same; none where only the release differs."""
    warnings = []
    for each in campaigns:
        if not each.recorded("servers"):
            why = "it is an import" if each.environment.get("origin") == "imported" else "environment.json has no hosts"
            sentence = f"its conditions were not recorded ({why}), so that what else differs is not known"
            warnings.append(f"{each.name}: {sentence}")
    warnings += [
        f"{each.name}: its samples were measured on several GlusterFS versions, {each.release}"
        for each in campaigns
        if ", " in each.release
    ]
    differing = found[found["weight"] == "warning"].itertuples(index=False, name=None)
    return warnings + [
        f"not only the release differs: {where}: {what} {', then '.join(values)}"
        for where, what, _, *values in differing
    ]


def notes_of(campaigns: Sequence[Conditions], found: pd.DataFrame) -> list[str]:
    """What is to be known about the difference that is meant."""
    notes = []
    releases = {each.release for each in campaigns}
    if len(releases) == 1 and (release := next(iter(releases))):
        notes.append(f"all campaigns ran GlusterFS {release}: this is a release against itself")
    brought = found[found["weight"] == "comes with it"]
    systems = brought[brought["what"] == _OPERATING_SYSTEM].drop(columns=DIFFERENCES)
    if len(systems):
        tools = sorted({what.removeprefix("tool ") for what in brought["what"] if what.startswith("tool ")})
        listed = f" ({', '.join(tools)})" if tools else ""
        notes.append(
            f"the hosts' system differs: {', then '.join(systems.iloc[0])}. What it brings along cannot be told "
            f"from the release: its tools{listed}, what its XFS tools make by default, and libraries that are not "
            "recorded (libc, OpenSSL, liburcu)"
        )
    differing = set(brought.loc[brought["where"] == "clients", "what"])
    return notes + [
        f"{tool} runs in the clients' {each.runs_in}, whose version differs: a part of what it measures is that "
        f"{each.runs_in}'s"
        for tool, each in _programs(tool for each in campaigns for tool in each.tools)
        if each.runs_in and f"tool {each.name}" in differing
    ]
