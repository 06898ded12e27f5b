"""What else differs between campaigns: found, weighed and said; what must differ or does not matter is no warning."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from glusterlab.analysis.compare.conditions import Conditions, differences, notes_of, warnings_of
from glusterlab.tools.fio import FIO

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
    "disks": {
        "loop1": {"size_bytes": 4 << 30, "rotational": True, "scheduler": "none", "read_ahead_kib": 128, "model": None}
    },
    "filesystems": {
        "/bricks/d01": {
            "device": "/dev/loop1",
            "type": "xfs",
            "options": "rw,noatime",
            "size_bytes": 4 << 30,
            "free_bytes": 5,
        }
    },
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


REVISION = "b" * 40 + "-dirty"


def conditions(name: str = "10.3", release: str = "10.3", **changed: Any) -> Conditions:
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
        **changed,
    )


def found(*campaigns: Conditions) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
    """Weight and values by where and what."""
    table = differences(campaigns).itertuples(index=False, name=None)
    return {(where, what): (weight, tuple(values)) for where, what, weight, *values in table}


def test_only_the_release_differs() -> None:
    pair = [conditions(), conditions("11.1", "11.1")]
    told = differences(pair)
    assert set(zip(told["where"], told["what"], strict=True)) == {
        ("servers", "tool gluster"),
        ("clients", "tool gluster"),
        ("samples", "GlusterFS"),
    }
    assert set(told["weight"]) == {"release"}
    assert warnings_of(pair, told) == []
    assert notes_of(pair, told) == []


def test_a_release_against_itself_is_said() -> None:
    pair = [conditions(), conditions("again")]
    assert differences(pair).empty
    assert notes_of(pair, differences(pair)) == ["all campaigns ran GlusterFS 10.3: this is a release against itself"]


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
        (
            "hosts server01 filesystems /bricks/d01 options",
            "rw",
            "servers",
            "file system options",
            ("rw,noatime", "rw"),
        ),
        ("controller glusterlab_version", "0.2.0", "controller", "glusterlab version", ("0.1.0", "0.2.0")),
        (
            "controller glusterlab_revision",
            REVISION,
            "controller",
            "glusterlab revision",
            ("a" * 12, "b" * 12 + "-dirty"),
        ),
    ],
)
def test_what_else_differs_is_a_warning(
    path: str, value: object, where: str, what: str, values: tuple[str, ...]
) -> None:
    one, other = conditions(), conditions("11.1", "11.1")
    place: Any = other.environment
    *outer, last = path.split()
    for name in outer:
        place = place[name]
    place[last] = value
    assert found(one, other)[where, what] == ("warning", values)
    sentence = f"not only the release differs: {where}: {what} {values[0]}, then {values[1]}"
    assert sentence in warnings_of([one, other], differences([one, other]))


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("mount_options", ["entry-timeout=10"], "mount_options"),
        ("hardware", {"disks_per_server": 12, "disk_write": 100e6}, "hardware.disk_write"),
        (
            "backings",
            {"raid6": {"bricks": ["/bricks/a01"], "kind": "raid6", "stripe_unit": 4}},
            "backings.raid6.stripe_unit",
        ),
        ("testbed", None, "testbed"),
    ],
)
def test_another_cluster_is_a_warning(key: str, value: object, what: str) -> None:
    one, other = conditions(), conditions("11.1", "11.1")
    told = found(one, replace(other, cluster={**other.cluster, key: value}))
    assert told["cluster", what][0] == "warning"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "testbed-newer"),
        ("servers", [{"name": "server01", "address": "10.79.0.11"}]),
        ("testbed", {"name": "newer", "state": "/elsewhere"}),
        # cells of two scales are different cells
        ("scale_models", {"small-file": {"scale": 34}}),
        # no compared cell lies on it
        ("backings", {**CLUSTER["backings"], "jbod": {"bricks": ["/x"], "kind": "jbod"}}),  # type: ignore[dict-item]
    ],
)
def test_names_and_what_no_cell_uses_do_not_differ(key: str, value: object) -> None:
    one, other = conditions(), conditions("again")
    assert differences([one, replace(other, cluster={**other.cluster, key: value})]).empty


def test_host_names_free_space_and_device_names_do_not_differ() -> None:
    one, other = conditions(), conditions("again")
    hosts: Any = other.environment["hosts"]
    hosts["s9"] = hosts.pop("server01")
    hosts["s9"] |= {"hostname": "s9", "work_dir_free_bytes": 99}
    hosts["s9"]["disks"] = {"loop7": hosts["s9"]["disks"]["loop1"]}
    hosts["s9"]["filesystems"]["/bricks/d01"] |= {"device": "/dev/loop7", "free_bytes": 77}
    assert differences([one, other]).empty


def test_another_number_of_hosts_is_a_warning_and_one_odd_host_is_counted() -> None:
    one, other = conditions(), conditions("11.1", "11.1")
    other.environment["hosts"]["server02"] = {**copy.deepcopy(SERVER), "kernel": "6.12"}
    told = found(one, other)
    assert told["servers", "number"][1] == ("1", "2")
    assert told["servers", "kernel"][1] == ("6.1.0-18", "6.1.0-18 (1), 6.12 (1)")


def test_what_debian_brings_along_is_said_and_no_warning() -> None:
    pair = [conditions(), conditions("11.1", "11.1")]
    for host in pair[1].environment["hosts"].values():
        host["os"] = "Debian GNU/Linux 13 (trixie)"
        host["tools"] |= {"sysstat": "12.7.5", "python3": "3.13.5"}
    pair[1].environment["hosts"]["server01"]["filesystems"]["/bricks/d01"]["size_bytes"] = 4 << 29
    told = differences(pair)
    assert set(told["weight"]) == {"release", "comes with it"}
    assert warnings_of(pair, told) == []
    debian, python = notes_of(pair, told)
    assert "bookworm" in debian
    assert "trixie" in debian
    assert "(python3, sysstat)" in debian
    assert "XFS" in debian
    assert "cannot be told from the release" in debian
    assert python.startswith("smallfile runs in the clients' Python")


def test_the_load_generator_is_a_warning_whatever_the_system() -> None:
    pair = [conditions(), conditions("11.1", "11.1")]
    client = pair[1].environment["hosts"]["client01"]
    client["os"] = "Debian GNU/Linux 13 (trixie)"
    client["tools"]["iozone"] = "3.506"
    assert found(*pair)["clients", "tool iozone"][0] == "warning"
    changed = replace(pair[1], tools={"smallfile": "3.3", "iozone": "3.489"})
    assert found(pair[0], changed)["samples", "version of smallfile"][0] == "warning"


def test_another_iozone_is_only_told_where_nothing_was_measured_by_it() -> None:
    pair = [replace(each, tools={"smallfile": "3.2"}) for each in (conditions(), conditions("11.1", "11.1"))]
    for host in pair[1].environment["hosts"].values():
        host["tools"]["iozone"] = "3.506"
    told = found(*pair)
    assert told["clients", "tool iozone"][0] == told["servers", "tool iozone"][0] == "minor"
    assert warnings_of(pair, differences(pair)) == []


@pytest.mark.parametrize(("measured", "weight"), [("load", "warning"), ("iozone", "minor")])
def test_a_tool_is_known_by_the_programs_that_it_declares(
    monkeypatch: pytest.MonkeyPatch, measured: str, weight: str
) -> None:
    monkeypatch.setattr("glusterlab.analysis.compare.conditions.runnable", lambda: {"load": replace(FIO, name="load")})
    pair = [replace(each, tools={measured: "3"}) for each in (conditions(), conditions("11.1", "11.1"))]
    for each, version in zip(pair, ("3.33", "3.40"), strict=True):
        each.environment["hosts"]["client01"]["tools"]["fio"] = version
    pair[1].environment["hosts"]["client01"]["os"] = "Debian GNU/Linux 13 (trixie)"
    assert found(*pair)["clients", "tool fio"][0] == weight


def test_a_tool_that_one_campaign_did_not_ask_for_is_only_told() -> None:
    one, other = conditions(), conditions("11.1", "11.1")
    other.environment["hosts"]["client01"]["tools"]["iperf3"] = "3.12"
    assert found(one, other)["clients", "tool iperf3"][0] == "minor"


def test_the_order_and_the_number_of_repeats_are_told_a_warm_up_warns() -> None:
    one, other = conditions(), conditions("again")
    told = found(one, replace(other, campaign={**other.campaign, "seed": 2, "repeats": 12, "warmup": 1}))
    assert {what: weight for (_, what), (weight, _) in told.items()} == {
        "seed": "minor",
        "repeats": "minor",
        "warmup": "warning",
    }


def test_an_import_has_unknown_conditions_and_is_not_held_against_known_ones() -> None:
    one = conditions()
    other = replace(conditions("theirs"), environment={"origin": "imported"}, cluster={})
    told = differences([one, other])
    assert told.empty
    (warning,) = warnings_of([one, other], told)
    assert warning.startswith("theirs: its conditions were not recorded (it is an import)")


def test_an_import_does_not_hide_what_differs_between_the_others() -> None:
    trio = [conditions(), conditions("11.1", "11.1"), replace(conditions("theirs"), environment={}, cluster={})]
    trio[1].environment["hosts"]["server01"]["kernel"] = "6.12"
    told = found(*trio)
    assert told["servers", "kernel"][1] == ("6.1.0-18", "6.12", "not recorded")
    assert any("kernel 6.1.0-18, then 6.12" in warning for warning in warnings_of(trio, differences(trio)))
    assert ("cluster", "mount_options") not in told


@pytest.mark.parametrize(
    "damage", [{"hosts": []}, {"hosts": {"a": None}}, {"hosts": {"a": {"tools": 3}}}, {"hosts": 7}]
)
def test_an_environment_of_another_form_is_no_traceback(damage: dict[str, Any]) -> None:
    pair = [conditions(), replace(conditions("11.1", "11.1"), environment=damage)]
    warnings_of(pair, differences(pair))


def test_several_releases_in_one_campaign_warn() -> None:
    pair = [conditions(), conditions("mixed", "10.3, 11.1")]
    assert "several GlusterFS versions" in warnings_of(pair, differences(pair))[0]


def test_warnings_come_first_and_the_table_has_a_column_for_each() -> None:
    one, other = conditions(), conditions("11.1", "11.1")
    other.environment["hosts"]["server01"]["kernel"] = "6.12"
    table = differences([one, other])
    assert list(table.columns) == ["where", "what", "weight", "10.3", "11.1"]
    assert table.iloc[0].tolist() == ["servers", "kernel", "warning", "6.1.0-18", "6.12"]
