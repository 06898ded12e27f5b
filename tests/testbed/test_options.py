"""Options, addresses and limits of a testbed, and that its cluster file is one that the suite reads."""

import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.errors import TestbedError, UsageError
from glusterlab.spec import Cluster, load_cluster
from glusterlab.testbed import disks, local, network, state, throttle, tree
from glusterlab.testbed.lifecycle import HostStatus
from glusterlab.testbed.options import ARRAY_DISKS, Device, Model, TestbedOptions, parse_model, parse_slow_disk
from glusterlab.tools import runnable


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"name": "Big One"}, "Big One"),
        ({"servers": 0}, "--servers"),
        ({"disks": 0, "arrays": 0}, "--disks"),
        ({"scale": 0.5}, "--scale"),
        ({"small_file_scale": 1e9}, "--small-file-scale"),
        ({"more_models": (("large-file", 400.0, False),)}, "a name of its own"),
        ({"more_models": (("slow", 4e9, False),)}, "--model slow="),
        ({"more_models": (("slow", 4.0, False), ("slow", 5.0, True))}, "each name once"),
        ({"slow_disks": (("server07", "d01", 6.0),)}, "--slow-disk server07:d01"),
        ({"slow_disks": (("server01", "d13", 6.0),)}, "d01 to a01"),
        ({"slow_disks": (("server01", "d01", 0.5),)}, "--slow-disk server01:d01=0.5"),
        ({"heads": ("huge-file",)}, "--heads huge-file"),
        ({"kernel_clients": 13}, "--kernel-clients 13: expected 0 to 12"),
        ({"release": "sarge"}, "sarge"),
        ({"tree": "trees/3.8.4"}, "--tree trees/3.8.4"),
        ({"tree": "/trees/a,b"}, "--tree /trees/a,b"),
        ({"tree": "/trees/a:b"}, "--tree /trees/a:b"),
        ({"subnet": "8.8.8.0/24"}, "8.8.8.0/24"),
        ({"subnet": "10.0.0.0/30"}, "10.0.0.0/30"),
        ({"subnet": "ten"}, "ten"),
        ({"disk_size_bytes": 1 << 20}, "--disk-size"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changed: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError, match=r"expected|must be|at least|appear|does not") as caught:
        TestbedOptions(**changed)  # type: ignore[arg-type]
    assert named in str(caught.value)


def test_addresses_are_distinct_and_names_of_interfaces_fit_in_what_linux_takes() -> None:
    options = TestbedOptions(servers=99, clients=99)
    hosts = options.server_names + options.client_names
    addresses = {options.address(host) for host in hosts} | {options.gateway}
    assert len(addresses) == len(hosts) + 1
    assert all(address.startswith("10.77.0.") for address in addresses)
    ports = {network.port(name, host) for name in ("a" * 20, "b" * 20) for host in hosts}
    assert len(ports) == 2 * len(hosts)
    assert max(map(len, ports)) <= 15


def test_limits_are_hardware_over_scale() -> None:
    device = Device(1107e6, 1224e6, 2040, 1000)
    assert throttle.disk_limits(device, Model(100, operations=False)) == {"rbps": 11_070_000, "wbps": 12_240_000}
    assert throttle.disk_limits(device, Model(20, operations=True))["riops"] == 102
    assert throttle.disk_limits(device, Model(10_000, operations=True))["wiops"] == 1


def _state(folder: Path, **changed: object) -> state.State:
    options = TestbedOptions(**changed)  # type: ignore[arg-type]
    points = [(kind, point) for kind, found in disks.mount_points(options).items() for point in found]
    places = [(host, *place) for host in options.server_names for place in points]
    made = [disks.Disk(host, kind, f"/dev/loop{n}", "7:1", point) for n, (host, kind, point) in enumerate(places)]
    return state.State(folder, options, made)


def test_cluster_file_is_one_that_the_suite_reads(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    with path.open("w", encoding="utf-8") as stream:
        YAML().dump(state.cluster_specification(_state(tmp_path)), stream)
    (tmp_path / "ssh_config").touch()
    cluster = load_cluster(path)
    assert cluster.is_testbed
    assert (len(cluster.servers), len(cluster.clients)) == (6, 12)
    assert (len(cluster.servers[0].devices), cluster.hardware.disks_per_server) == (13, 12)
    assert cluster.backings["raid6"].disks_per_brick == ARRAY_DISKS
    assert cluster.scale_model("small-file").operations


def test_a_testbed_stands_for_the_hardware_of_a_cluster_file(tmp_path: Path) -> None:
    stated = {"disks_per_server": 6, "disk_read": "150 MB/s", "disk_write": "140 MB/s", "disk_operations": 140}
    stated |= {"server_link": "10 Gbit/s", "client_link": "1 Gbit/s", "server_model": "R710"}
    arrays = {"array_read": "700 MB/s", "array_write": "600 MB/s"}
    made = _state(tmp_path, disks=12, arrays=1, hardware=stated | arrays)
    made.save()
    assert state.State.load(tmp_path) == made
    cluster = Cluster.model_validate(state.cluster_specification(made))
    assert (cluster.hardware.disk_write, cluster.hardware.array_read) == (140e6, 700e6)
    assert (cluster.hardware.server_link, cluster.hardware.client_link) == (1.25e9, 1.25e8)
    assert {name: len(cluster.backings[name].bricks) for name in ("jbod", "jbod-dense", "raid6")} == {
        "jbod": 6,
        "jbod-dense": 12,
        "raid6": 1,
    }
    assert (cluster.server_models["standard"].model, cluster.server_models["dense"].disks) == ("R710", 12)
    limits = throttle.disk_limits(made.options.devices["array"], Model(20, operations=True))
    assert limits == {"rbps": 35_000_000, "wbps": 30_000_000, "riops": 42, "wiops": 21}
    stripes = {"disks_per_server": 3, "array_kind": "raid0"}
    striped = _state(tmp_path, disks=0, arrays=1, hardware=stated | arrays | stripes)
    assert striped.options.devices["array"].write_operations_per_s == 3 * 140
    backing = Cluster.model_validate(state.cluster_specification(striped)).backings["raid0"]
    assert (backing.kind, backing.disks_per_brick, backing.server_model) == ("raid0", 3, "standard")
    with pytest.raises(UsageError, match="states no array_read and array_write"):
        TestbedOptions(hardware=stated)
    with pytest.raises(UsageError, match="--hardware and --heads: it states no disk_latency"):
        TestbedOptions(hardware=stated, arrays=0, heads=("small-file",))


def test_disks_of_stated_latency_stand_where_the_guides_have_heads(tmp_path: Path) -> None:
    loaded = load_cluster(Path("runbooks/azure/cluster.yaml")).hardware.model_dump(mode="json")
    made = _state(tmp_path, disks=0, arrays=1, hardware=loaded, heads=("medium-file",))
    made.save()
    assert state.State.load(tmp_path).options.latencies["array"] == {
        "latency_s": 0.031,
        **{f"{what}_bytes_per_s": 240e6 for what in ("read", "write")},
        **{f"{what}_operations_per_s": 2000 for what in ("read", "write")},
    }
    assert made.options.models["medium-file"].heads
    stated = Cluster.model_validate(state.cluster_specification(made)).hardware
    assert (stated.disk_latency, stated.disk_operations) == (0.031, 500)
    with pytest.raises(UsageError, match="and no disk_operations"):
        TestbedOptions(hardware=loaded | {"disk_operations": None}, disks=0, heads=("medium-file",))


def test_the_local_file_system_of_a_server_is_a_cluster_of_its_own(tmp_path: Path) -> None:
    local_file_system = Cluster.model_validate(state.local_specification(_state(tmp_path, disks=0, arrays=1)))
    assert local_file_system.existing is not None
    assert (local_file_system.servers, local_file_system.existing.path) == ((), "/bricks/raid6/a01")
    assert [client.name for client in local_file_system.clients] == ["server01"]
    assert local_file_system.is_testbed


def test_nvme_drives_are_beside_the_disks_and_never_behind_heads(tmp_path: Path) -> None:
    made = _state(tmp_path, arrays=1, disks=0, nvme=1, heads=("small-file",), slow_disks=(("server01", "n01", 2.0),))
    cluster = Cluster.model_validate(state.cluster_specification(made))
    assert (cluster.backings["nvme"].kind, cluster.backings["nvme"].bricks) == ("nvme", ("/bricks/nvme/n01",))
    assert (cluster.hardware.nvme_read, cluster.hardware.nvme_write) == (2800e6, 1900e6)
    assert cluster.server_models["standard"].nvme == "1 x Intel SSD DC P3700 800 GB"
    rates = [cluster.hardware.brick_rate(cluster.backings[name], "write") for name in ("raid6", "nvme")]
    assert rates == [1224e6, 1900e6]
    assert [disk.spins for disk in made.disks_of("server01")] == [True, False]
    with pytest.raises(UsageError, match="--nvme 5: expected 0 to 4"):
        TestbedOptions(nvme=5)


@pytest.mark.parametrize(
    ("parse", "form", "text"),
    [
        *((parse_model, "NAME=SCALE", text) for text in ("", "slow", "=4", "slow=4,ops", "slow=-4")),
        *(
            (parse_slow_disk, "SERVER:DISK=TIMES", text)
            for text in ("", "server01:d01", "server01=6", "server01:d01=x")
        ),
    ],
)
def test_a_model_or_slow_disk_that_is_none_is_refused(parse: Callable[[str], object], form: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"expected {form}"):
        parse(text)


def test_further_models_are_offered_and_kept(tmp_path: Path) -> None:
    made = _state(tmp_path, disks=2, arrays=0, more_models=(("slow", 400.0, False), ("small-fast", 10.0, True)))
    made.save()
    assert state.State.load(tmp_path) == made
    models = {"small-fast": {"scale": 10.0, "operations": True}, "slow": {"scale": 400.0, "operations": False}}
    models["small-fast"]["mount_options"] = ["attribute-timeout=10", "entry-timeout=10"]
    assert models.items() <= state.cluster_specification(made)["scale_models"].items()


def test_time_is_stretched_where_files_keep_their_size() -> None:
    own = (("slow", 400.0, False), ("files", 60.0, False))
    models = TestbedOptions(more_models=own, heads=("large-file", "medium-file", "files")).models
    stretched = {name: model.stretched for name, model in models.items()}
    assert stretched == {"large-file": False, "medium-file": True, "small-file": True, "slow": False, "files": True}
    assert {name for name, model in models.items() if model.heads} == {"large-file", "medium-file", "files"}


def test_one_disk_is_slower_than_its_like_and_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _state(tmp_path, servers=2, disks=2, arrays=1, slow_disks=(("server02", "d01", 4.0),))
    made.save()
    assert state.State.load(tmp_path) == made
    limits: list[dict[str, int]] = []
    ahead: list[str] = []
    monkeypatch.setattr(throttle, "_lines", lambda _testbed, _host, _number, found: limits.append(found) or [])
    monkeypatch.setattr(throttle, "_limit_links", lambda *_: None)
    monkeypatch.setattr(throttle, "_limit_unwritten", lambda *_: None)
    monkeypatch.setattr(throttle, "_set_timers", lambda *_: None)
    monkeypatch.setattr(throttle, "settle", lambda *_: None)
    monkeypatch.setattr(throttle, "set_queue", lambda *words: ahead.append(words[2]))
    in_effect = throttle.apply(tmp_path, "small-file")
    whole, slow = in_effect["disk"], in_effect["slow_disks"]
    assert slow == {"server02:/bricks/jbod/d01": {name: round(whole[name] / 4) for name in whole}}
    assert whole["riops"] == 8
    assert [found == whole for found in limits] == [True, True, False, False, True, False]
    assert limits[3] == slow["server02:/bricks/jbod/d01"]
    # without a scale model nothing is limited, nor slower
    assert "slow_disks" not in throttle.apply(tmp_path, None)


def test_disks_with_heads_are_limited_by_them_and_not_by_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _state(tmp_path, servers=1, disks=2, arrays=0, heads=("small-file",), slow_disks=(("server01", "d02", 4.0),))
    made.save()
    assert state.State.load(tmp_path) == made
    models = state.cluster_specification(made)["scale_models"]
    assert models["small-file"].items() >= {"scale": 20.0, "operations": False, "heads": True}.items()
    assert "heads" not in models["medium-file"]
    limits: list[dict[str, int]] = []
    ahead: list[str] = []
    asked: list[tuple[float | None, dict[str, float]]] = []
    monkeypatch.setattr(throttle, "_lines", lambda _testbed, _host, _number, found: limits.append(found) or [])
    monkeypatch.setattr(throttle, "_limit_links", lambda *_: None)
    monkeypatch.setattr(throttle, "_limit_unwritten", lambda *_: None)
    monkeypatch.setattr(throttle, "_set_timers", lambda *_: None)
    monkeypatch.setattr(throttle, "settle", lambda *_: None)
    monkeypatch.setattr(throttle, "set_queue", lambda *words: ahead.append(words[2]))
    behind = {disk.device: True for disk in made.disks}
    monkeypatch.setattr(throttle, "has_head", lambda disk: behind[disk.device])
    monkeypatch.setattr(throttle.headserver, "control", lambda _folder, *words: asked.append(words))
    monkeypatch.setattr(throttle.headserver, "served", lambda _: {"scale": 20.0, "disks": {}})
    effect = throttle.apply(tmp_path, "small-file")
    assert effect["disk"]["outer_bytes_per_s"] == 226e6
    assert effect["enforced_by"][0] == "heads of disks (FUSE)"
    assert "served" not in effect
    with pytest.raises(TestbedError, match="have heads now: 'glusterlab run' puts them as medium-file needs"):
        throttle.apply(tmp_path, "medium-file")
    behind = dict.fromkeys(behind, False)
    assert throttle.apply(tmp_path, "medium-file")["disk"] == {"rbps": 883333, "wbps": 854167}
    assert throttle.apply(tmp_path, None)["served"] == {"scale": 20.0, "disks": {}}
    assert asked == [(20.0, {"server01/d02.img": 4.0}), (None, {}), (None, {})]
    assert [bool(found) for found in limits] == [False, False, True, True, False, False]
    assert throttle.apply(tmp_path, "large-file")["read_ahead_bytes"] == 20972
    assert ahead == ["4096"] * 6 + ["20"] * 2


def test_dense_servers_stand_for_standard_ones_too(tmp_path: Path) -> None:
    found = state.cluster_specification(_state(tmp_path, disks=24, arrays=2, small_file_scale=34))
    shapes = {name: (len(b["bricks"]), b["server_model"]) for name, b in found["backings"].items()}
    standard = {"jbod": (12, "standard"), "raid6": (1, "standard")}
    assert shapes == standard | {"jbod-dense": (24, "dense"), "raid6-dense": (2, "dense")}
    assert found["backings"]["jbod"]["bricks"] == found["backings"]["jbod-dense"]["bricks"][:12]
    assert {name: model["disks"] for name, model in found["server_models"].items()} == {"standard": 12, "dense": 24}
    # time is true where files shrink, and there clients trust what they have looked up as long as anywhere
    options = {name: model.get("mount_options", [])[:1] for name, model in found["scale_models"].items()}
    stretched = {"medium-file": ["attribute-timeout=240"], "small-file": ["attribute-timeout=34"]}
    assert options == stretched | {"large-file": []}
    assert "mount_options" not in found


DAMAGED = ("", "{", "[]", "{}", '{"schema_version": 1, "options": {"x": 1}, "disks": []}')


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *((text, r"state\.json is damaged, or of another glusterlab .*testbed down") for text in DAMAGED),
        ('{"schema_version": 99}', "newer glusterlab"),
        (None, "glusterlab testbed up"),
        ("a folder", r"state\.json cannot be read: Is a directory; is this the user who started it"),
    ],
)
def test_state_that_is_damaged_newer_or_not_there_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    if content == "a folder":
        (tmp_path / "state.json").mkdir()
    elif content is not None:
        (tmp_path / "state.json").write_text(content)
    with pytest.raises(TestbedError, match=said):
        state.State.load(tmp_path)


def test_default_cluster_is_that_of_the_only_testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path))
    files = [tmp_path / name / "cluster.yaml" for name in ("one", "two")]
    for file in files:
        file.parent.mkdir()
    found = [state.default_cluster_file()]
    for file in files:
        file.touch()
        found.append(state.default_cluster_file())
    assert found == [None, files[0], None]
    assert state.running() == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sources.list", "# deb http://old.example/debian x main\ndeb [arch=amd64] http://a.example/debian/ x main\n"),
        ("sources.list.d/d.sources", "Types: deb\nURIs: http://a.example/debian\nSuites: x\n"),
    ],
)
def test_mirror_is_the_one_that_apt_uses(tmp_path: Path, name: str, text: str) -> None:
    assert tree.machine_mirror(tmp_path) is None
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "deb http://a.example/debian-security x main\n")
    assert tree.machine_mirror(tmp_path) == "http://a.example/debian"


def test_tree_changes_with_its_packages() -> None:
    assert {program.package for tool in runnable().values() for program in tool.programs} <= {*tree.PACKAGES}
    assert tree.tree_path("bookworm", (*tree.PACKAGES, "strace")) != tree.tree_path("bookworm")


def test_missing_parts_get_a_sentence_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.platform, "system", lambda: "Darwin")
    assert [problem.endswith("; this is Darwin") for problem in local.problems()] == [True]
    monkeypatch.setattr(local.platform, "system", lambda: "Linux")
    monkeypatch.setattr(local.os, "geteuid", lambda: 1000)
    assert "needs root" in local.problems()[0]
    monkeypatch.setattr(local.os, "geteuid", lambda: 0)
    monkeypatch.setattr(local.shutil, "which", lambda _: None)
    monkeypatch.setattr(local.Path, "exists", lambda _: False)
    found = " ".join(local.problems())
    assert [what for what in ("losetup", "lxcfs", "/dev/fuse", "/dev/loop-control") if what not in found] == []
    with pytest.raises(TestbedError, match="lxcfs"):
        local.require()


def test_no_debootstrap_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tree.shutil, "which", lambda _: None)
    with pytest.raises(TestbedError, match="apt install debootstrap"):
        tree.ensure_tree("bookworm", None, lambda _: None)


Run = Callable[..., Any]


@pytest.fixture
def testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command on a machine that has all that a testbed needs, of which `taken` names what is not free."""
    homes = tmp_path / "testbeds"
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(homes))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*words: str, taken: str = "") -> Any:
        routes = '[{"dev": "eth7"}]' if taken == "subnet" else "[]"
        links = f'[{{"ifname": "{network.port("small", "server01")}"}}]' if taken == "interfaces" else "[]"
        monkeypatch.setattr(local, "problems", lambda: ["it needs root"] * (taken == "root"))
        monkeypatch.setattr(network, "run", lambda argv, **_: routes if "route" in argv else links)
        monkeypatch.setattr(network, "namespaces", lambda name: [f"glusterlab-{name}-x"] * (taken == "namespaces"))
        missing = [tmp_path / "cpu"] if taken == "control groups" else []
        monkeypatch.setattr("glusterlab.testbed.cgroups.missing", lambda: missing, raising=False)
        monkeypatch.setattr(tree.shutil, "which", lambda name: None if taken == name else f"/bin/{name}")
        free = 1 << 20 if taken == "space" else 1 << 40
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
        monkeypatch.setattr("glusterlab.testbed.lifecycle.ensure_tree", lambda *_: pytest.fail("a tree was made"))
        return CliRunner().invoke(app, ["testbed", *words])

    return call


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        ("root", "it needs root"),
        ("subnet", "10.77.0.0/24 is in use on this machine (by eth7): give another with --subnet"),
        ("namespaces", "testbed down --name small"),
        ("interfaces", "testbed down --name small"),
        ("debootstrap", "apt install debootstrap"),
        ("control groups", "no control group at"),
        ("space", "has 1 MB free, and 6070 MB are needed"),
    ],
)
def test_all_is_looked_at_before_a_tree_is_made(testbed: Run, tmp_path: Path, taken: str, said: str) -> None:
    refused = testbed("up", "--name", "small", taken=taken)
    assert (refused.exit_code, said in refused.stderr) == (3, True), refused.output
    lock = {tmp_path / "testbeds", tmp_path / "testbeds" / "small.lock"} if taken != "root" else set()
    assert {*tmp_path.rglob("*")} == lock


def test_to_take_down_what_is_not_there_leaves_nothing(testbed: Run, tmp_path: Path) -> None:
    refused = testbed("down", "--name", "nonesuch")
    assert (refused.exit_code, "there is no testbed 'nonesuch': none is up" in refused.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "testbeds" / "one").mkdir(parents=True)
    (tmp_path / "testbeds" / "one" / "cluster.yaml").touch()
    assert "expected one of: one" in testbed("down", "--name", "nonesuch").stderr
    assert [path.name for path in (tmp_path / "testbeds").iterdir()] == ["one"]


@pytest.mark.parametrize(
    ("lacks", "processes", "shown_as"), [((), 3, "up"), (("sshd", "glusterd"), 0, "down"), (("sshd",), 1, "no sshd")]
)
def test_status_tells_scripts_the_cluster_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: tuple[str, ...], processes: int, shown_as: str
) -> None:
    up = not lacks
    found = HostStatus("server01", "10.0.0.1", up, processes, lacks)
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path))
    monkeypatch.setattr("glusterlab.testbed.lifecycle.status", lambda _: [found])
    (tmp_path / "older").mkdir()
    state.State(tmp_path / "older", TestbedOptions(tree="/trees/old"), gluster="3.8.4").save()
    command, file = ["testbed", "status", "--name", "older"], str(tmp_path / "older" / "cluster.yaml")
    shown = CliRunner().invoke(app, [*command, "--json"])
    assert shown.exit_code == (0 if up else 1)
    host = {"name": "server01", "address": "10.0.0.1", "running": up, "processes": processes, "lacks": [*lacks]}
    facts = {"cluster": file, "hosts": [host], "gluster": "3.8.4", "tree": "/trees/old"}
    assert json.loads(shown.stdout).items() >= facts.items()
    plain = CliRunner().invoke(app, command)
    assert (file in plain.stderr, "GlusterFS 3.8.4 (/trees/old)" in plain.stderr) == (True, True)
    assert " ".join(plain.stdout.split()).endswith(f"server01 10.0.0.1 {shown_as} {processes}")


def test_what_may_wait_to_be_written_is_limited_by_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(200.0, operations=False)
    # a fifth of 64 GiB for an array, a twelfth of that for a disk, two hundred times smaller
    assert throttle.unwritten_bytes("array", model) == 68719477
    assert throttle.unwritten_bytes("disk", model) == 5726623
    assert throttle.unwritten_bytes("disk", Model(20.0, operations=True, stretched=True)) is None
    assert throttle.unwritten_bytes("array", Model(1.0, operations=False)) is None
    monkeypatch.setattr(throttle, "BDI", tmp_path)
    throttle._limit_unwritten("7:0", 5726623)
    assert not list(tmp_path.iterdir()), "an older kernel has no such limit"
    (tmp_path / "7:0").mkdir()
    (tmp_path / "7:0/strict_limit").write_text("0")
    throttle._limit_unwritten("7:0", 5726623)
    assert [(tmp_path / "7:0" / name).read_text() for name in ("strict_limit", "max_bytes")] == ["1", "5726623"]
    throttle._limit_unwritten("7:0", None)
    assert [(tmp_path / "7:0" / name).read_text() for name in ("strict_limit", "max_ratio")] == ["0", "100"]


def test_the_machines_own_timers_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vm = tmp_path / "vm"
    vm.mkdir()
    (vm / "dirty_expire_centisecs").write_text("3000")
    monkeypatch.setattr(throttle, "VM", vm)
    stretched = throttle.timers(Model(20.0, operations=True, stretched=True))
    assert stretched["dirty_expire_centisecs"] == stretched["../fs/xfs/xfssyncd_centisecs"] == 60_000
    assert throttle.timers(Model(200.0, operations=False)) == throttle.timers(None) == {}
    throttle._set_timers(stretched, tmp_path)
    throttle._set_timers(stretched | {"dirty_expire_centisecs": 90_000}, tmp_path)
    assert (vm / "dirty_expire_centisecs").read_text() == "90000"
    throttle._set_timers({}, tmp_path)
    assert (vm / "dirty_expire_centisecs").read_text() == "3000"
    assert not (tmp_path / "machine.json").exists()
    throttle._set_timers({}, tmp_path)


@pytest.mark.parametrize(("number", "refuses"), [(None, False), (None, True), ("7:999", False)])
def test_only_a_testbeds_own_disk_is_frozen_and_it_is_let_go_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str | None, refuses: bool
) -> None:
    device = tmp_path.stat().st_dev
    made = _state(tmp_path, servers=1, disks=1, arrays=0)
    own = f"{os.major(device)}:{os.minor(device)}"
    made.disks = [replace(made.disks[0], device="/dev/none", number=number or own, mount_point=str(tmp_path))]
    calls: list[int] = []

    def ioctl(_folder: int, request: int, _argument: int) -> None:
        calls.append(request)
        if refuses and request == throttle.FREEZE:
            raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(throttle.fcntl, "ioctl", ioctl)
    monkeypatch.setattr(throttle.network, "pids", lambda _: [os.getpid()])
    expected = "is not mounted at" if number else "cannot be written out: Device or resource busy"
    with pytest.raises(TestbedError, match=expected) if number or refuses else nullcontext():
        throttle.settle(made, 4096, {})
    trimmed = [] if refuses else [throttle.TRIM]
    assert calls == ([] if number else [throttle.THAW, throttle.FREEZE, throttle.THAW, *trimmed])
    calls.clear()
    throttle.thaw(made)
    assert calls == [throttle.THAW]


def test_a_loop_device_that_another_took_is_not_detached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "_BLOCK", tmp_path / "block")
    (tmp_path / "block/loop5/loop").mkdir(parents=True)
    (tmp_path / "block/loop5/loop/backing_file").write_text("/home/someone/precious.img\n")
    done: list[list[str]] = []
    monkeypatch.setattr(disks, "run", lambda words, **_: done.append([str(word) for word in words]) or "")
    disk = disks.Disk("server01", "disk", "/dev/loop5", "7:5", "/bricks/jbod/d01")
    folder = tmp_path / "home/default/disks"
    folder.mkdir(parents=True)
    with pytest.raises(TestbedError, match=r"/dev/loop5 of server01 was taken for /home/someone/precious\.img"):
        disks.move([disk], folder, {"server01": 1}, heads=True, direct=True)
    assert [words[0] for words in done] == ["nsenter"]
    (tmp_path / "block/loop5/loop/backing_file").write_text(f"{folder}/server01/d01.img\n")
    assert disks.has_head(disk) is False
    (tmp_path / "block/loop5/loop/backing_file").write_text(f"{folder}/heads/server01/d01.img\n")
    assert disks.has_head(disk) is True
    (tmp_path / "block/loop5/loop/backing_file").unlink()
    assert disks.has_head(disk) is None
