"""What else differs between campaigns: found, weighed and said; what must differ or does not matter is no warning."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from glusterlab.analysis.compare.conditions import Conditions, differences, notes_of, warnings_of
from glusterlab.tools.fio import FIO

DISK = {"size_bytes": 4 << 30, "rotational": True, "scheduler": "none", "read_ahead_kib": 128, "model": None}
SIZES = {"size_bytes": 4 << 30, "free_bytes": 5}
SERVER: dict[str, Any] = {
    "role": "server",
    "hostname": "server01",
    "kernel": "6.1.0-18",
    "os": "Debian GNU/Linux 12 (bookworm)",
    "cpus": 2,
    "memory_bytes": 25276510208,
    "work_dir_free_bytes": 1,
    "tools": {"gluster": "10.3", "sysstat": "12.6.1", "python3": "3.11.2", "iozone": "3.489"},
    "sysctls": {"vm.dirty_ratio": "20"},
    "disks": {"loop1": DISK},
    "filesystems": {"/bricks/d01": {"device": "/dev/loop1", "type": "xfs", "options": "rw,noatime"} | SIZES},
}
CLIENT = {**SERVER, "role": "client", "hostname": "client01", "disks": {}, "filesystems": {}}
CLUSTER = {
    "name": "testbed-older",
    "servers": [{"name": "server01", "address": "10.77.0.11"}],
    "mount_options": [],
    "hardware": {"disks_per_server": 12, "disk_write": 205e6},
    "backings": {
        "raid6": {"bricks": ["/bricks/a01"], "kind": "raid6"},
        "jbod": {"bricks": ["/bricks/d01"], "kind": "jbod"},
    },
    "scale_models": {"small-file": {"scale": 20}},
    "testbed": {"name": "older", "state": "/somewhere"},
}


BRICK = "hosts server01 filesystems /bricks/d01"
REVISION = "b" * 40 + "-dirty"
REVISIONS = ("a" * 12, "b" * 12 + "-dirty")


def conditions(name: str = "10.3", release: str = "10.3") -> Conditions:
    environment = {
        "hosts": {"server01": copy.deepcopy(SERVER), "client01": copy.deepcopy(CLIENT)},
        "controller": {"glusterlab_version": "0.1.0", "glusterlab_revision": "a" * 40, "python": "3.11.7"},
    }
    for host in environment["hosts"].values():
        host["tools"]["gluster"] = release
    return Conditions(
        name=name,
        release=release,
        environment=environment,
        cluster=copy.deepcopy(CLUSTER),
        campaign={"name": name, "repeats": 10, "attempts": 3, "seed": 1, "warmup": 0},
        tools={"smallfile": "3.2", "iozone": "3.489"},
        backings=frozenset({"raid6"}),
    )


def changed(of: Conditions, path: str, value: object) -> Conditions:
    """With another value at a place in what the campaign recorded."""
    part, *outer, last = path.split()
    place = getattr(of, part)
    for name in outer:
        place = place[name]
    place[last] = value
    return of


@pytest.fixture
def pair() -> tuple[Conditions, Conditions]:
    return conditions(), conditions("11.1", "11.1")


Pair = tuple[Conditions, Conditions]


def found(*campaigns: Conditions) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
    """Weight and values by where and what."""
    table = differences(campaigns).itertuples(index=False, name=None)
    return {(where, what): (weight, tuple(values)) for where, what, weight, *values in table}


def test_only_the_release_differs(pair: Pair) -> None:
    told = differences(pair)
    assert set(zip(told["where"], told["what"], told["weight"], strict=True)) == {
        ("servers", "tool gluster", "release"),
        ("clients", "tool gluster", "release"),
        ("samples", "GlusterFS", "release"),
    }
    assert warnings_of(pair, told) == notes_of(pair, told) == []


@pytest.mark.parametrize(
    ("path", "value", "where", "what", "values"),
    [
        ("hosts server01 kernel", "6.12", "servers", "kernel", ("6.1.0-18", "6.12")),
        ("hosts server01 cpus", 4, "servers", "CPUs", ("2", "4")),
        ("hosts client01 memory_bytes", 8 << 30, "clients", "memory", ("23.5 GiB", "8.0 GiB")),
        ("hosts server01 sysctls vm.dirty_ratio", "40", "servers", "sysctl vm.dirty_ratio", ("20", "40")),
        ("hosts server01 tools sysstat", "12.7.5", "servers", "tool sysstat", ("12.6.1", "12.7.5")),
        ("hosts server01 tuned_profile", "rhgs", "servers", "tuned profile", ("not recorded", "rhgs")),
        ("hosts server01 disks loop1 scheduler", "bfq", "servers", "disk scheduler", ("none", "bfq")),
        (f"{BRICK} options", "rw", "servers", "file system options", ("rw,noatime", "rw")),
        ("controller glusterlab_version", "0.2.0", "controller", "glusterlab version", ("0.1.0", "0.2.0")),
        ("controller glusterlab_revision", REVISION, "controller", "glusterlab revision", REVISIONS),
        ("mount_options", ["entry-timeout=10"], "cluster", "mount_options", ("none", "entry-timeout=10")),
        ("hardware disk_write", 100e6, "cluster", "hardware.disk_write", ("205000000.0", "100000000.0")),
        ("backings raid6 stripe_unit", 4, "cluster", "backings.raid6.stripe_unit", ("not recorded", "4")),
        ("testbed", None, "cluster", "testbed", ("yes", "no")),
        (
            "scale_models small-file",
            {"scale": 20, "heads": True},
            "cluster",
            "disks with heads",
            ("none", "small-file"),
        ),
    ],
)
def test_what_else_differs_is_a_warning(
    pair: Pair, path: str, value: object, where: str, what: str, values: tuple[str, str]
) -> None:
    changed(pair[1], f"{'cluster' if where == 'cluster' else 'environment'} {path}", value)
    assert found(*pair)[where, what] == ("warning", values)
    table = differences(pair)
    assert list(table.columns) == ["where", "what", "weight", "10.3", "11.1"]
    assert table.iloc[0].tolist() == [where, what, "warning", *values]
    sentence = f"not only the release differs: {where}: {what} {values[0]}, then {values[1]}"
    assert sentence in warnings_of(pair, table)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cluster name", "testbed-newer"),
        ("cluster servers", [{"name": "server01", "address": "10.79.0.11"}]),
        ("cluster testbed", {"name": "newer", "state": "/elsewhere"}),
        # cells of two scales are different cells
        ("cluster scale_models", {"small-file": {"scale": 34}}),
        # no compared cell lies on it
        ("cluster backings jbod bricks", ["/x"]),
        ("environment hosts server01 hostname", "s9"),
        ("environment hosts server01 work_dir_free_bytes", 99),
        ("environment hosts server01 disks", {"loop7": DISK}),
        (f"environment {BRICK} device", "/dev/loop7"),
        (f"environment {BRICK} free_bytes", 77),
    ],
)
def test_names_free_space_and_what_no_cell_uses_do_not_differ(path: str, value: object) -> None:
    one, other = conditions(), changed(conditions("again"), path, value)
    other.environment["hosts"]["s9"] = other.environment["hosts"].pop("server01")
    assert differences([one, other]).empty


def test_another_number_of_hosts_is_a_warning_and_one_odd_host_is_counted(pair: Pair) -> None:
    changed(pair[1], "environment hosts server02", SERVER | {"kernel": "6.12"})
    told = found(*pair)
    assert told["servers", "number"][1] == ("1", "2")
    assert told["servers", "kernel"][1] == ("6.1.0-18", "6.1.0-18 (1), 6.12 (1)")


@pytest.mark.parametrize(("release", "weight"), [("10.3", "warning"), ("11.1", "release")])
def test_another_build_is_a_warning_where_the_release_is_the_same(release: str, weight: str) -> None:
    one, other = conditions(), conditions("again", release)
    for each, digest in ((one, "a"), (other, "b")):
        changed(each, "environment hosts server01 gluster_digest", digest)
    assert found(one, other)["servers", "gluster digest"][0] == weight


def test_what_debian_brings_along_is_said_and_no_warning(pair: Pair) -> None:
    for host in pair[1].environment["hosts"].values():
        host["os"] = "Debian GNU/Linux 13 (trixie)"
        host["tools"] |= {"sysstat": "12.7.5", "python3": "3.13.5"}
    changed(pair[1], f"environment {BRICK} size_bytes", 4 << 29)
    told = differences(pair)
    assert set(told["weight"]) == {"release", "comes with it"}
    assert warnings_of(pair, told) == []
    debian, python = notes_of(pair, told)
    for words in ("bookworm", "trixie", "(python3, sysstat)", "XFS", "cannot be told from the release"):
        assert words in debian
    assert python.startswith("smallfile runs in the clients' Python")
    # the load generator is a warning whatever the system
    changed(pair[1], "environment hosts client01 tools iozone", "3.506")
    assert found(*pair)["clients", "tool iozone"][0] == "warning"
    changed(pair[1], "tools smallfile", "3.3")
    assert found(*pair)["samples", "version of smallfile"][0] == "warning"


def test_a_tool_by_which_nothing_was_measured_is_only_told(pair: Pair) -> None:
    for each in pair:
        del each.tools["iozone"]
    for host in pair[1].environment["hosts"].values():
        host["tools"] |= {"iozone": "3.506", "iperf3": "3.12"}
    told = found(*pair)
    tools = [told[where, f"tool {tool}"][0] for where in ("servers", "clients") for tool in ("iozone", "iperf3")]
    assert tools == ["minor"] * 4
    assert warnings_of(pair, differences(pair)) == []


@pytest.mark.parametrize(("measured", "weight"), [("load", "warning"), ("iozone", "minor")])
def test_a_tool_is_known_by_its_programs(monkeypatch: pytest.MonkeyPatch, measured: str, weight: str) -> None:
    monkeypatch.setattr("glusterlab.analysis.compare.conditions.runnable", lambda: {"load": replace(FIO, name="load")})
    pair = [replace(each, tools={measured: "3"}) for each in (conditions(), conditions("11.1", "11.1"))]
    for each, version in zip(pair, ("3.33", "3.40"), strict=True):
        each.environment["hosts"]["client01"]["tools"]["fio"] = version
    pair[1].environment["hosts"]["client01"]["os"] = "Debian GNU/Linux 13 (trixie)"
    assert found(*pair)["clients", "tool fio"][0] == weight


def test_the_order_and_the_number_of_repeats_are_told_a_warm_up_warns() -> None:
    one, other = conditions(), conditions("again")
    told = found(one, replace(other, campaign={**other.campaign, "seed": 2, "repeats": 12, "warmup": 1}))
    assert {what: weight for (_, what), (weight, _) in told.items()} == {
        "seed": "minor",
        "repeats": "minor",
        "warmup": "warning",
    }


def test_an_import_has_unknown_conditions_and_hides_nothing_between_the_others(pair: Pair) -> None:
    theirs = replace(conditions("theirs"), environment={"origin": "imported"}, cluster={})
    told = differences([pair[0], theirs])
    assert told.empty
    (warning,) = warnings_of([pair[0], theirs], told)
    assert warning.startswith("theirs: its conditions were not recorded (it is an import)")
    changed(pair[1], "environment hosts server01 kernel", "6.12")
    trio = [*pair, replace(theirs, environment={})]
    told = differences(trio)
    assert found(*trio)["servers", "kernel"][1] == ("6.1.0-18", "6.12", "not recorded")
    assert any("kernel 6.1.0-18, then 6.12" in warning for warning in warnings_of(trio, told))
    assert "mount_options" not in set(told["what"])


@pytest.mark.parametrize(
    "damage", [{"hosts": []}, {"hosts": {"a": None}}, {"hosts": {"a": {"tools": 3}}}, {"hosts": 7}]
)
def test_an_environment_of_another_form_is_no_traceback(pair: Pair, damage: dict[str, Any]) -> None:
    damaged = [pair[0], replace(pair[1], environment=damage)]
    warnings_of(damaged, differences(damaged))


def test_several_releases_in_one_campaign_warn() -> None:
    pair = [conditions(), conditions("mixed", "10.3, 11.1")]
    assert "several GlusterFS versions" in warnings_of(pair, differences(pair))[0]
