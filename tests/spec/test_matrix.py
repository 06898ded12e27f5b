"""Cells, their identity, the order of samples, and where bricks lie."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from ruamel.yaml import YAML

from glusterlab.errors import SpecError
from glusterlab.run.plan import build_plan, estimate, order_samples, unequal_work, without
from glusterlab.spec import Campaign, Cell, Cluster, Layout, Repeats, ScaleModel, dump_yaml, load_campaign, load_cluster
from glusterlab.spec.campaign import expand, expand_layouts
from glusterlab.spec.cell import parse_geometry, place_bricks, release_problem, work_differences
from glusterlab.spec.cluster import Host
from glusterlab.tools import volume_tools
from tests.pools import campaign_data, pool_data
from tests.spec.conftest import CAMPAIGN, CLUSTER, Write


def _dataset(cell: Cell) -> str:
    return volume_tools()[cell.tool].dataset(cell)


TOOLS = {"iozone": ("write", "read"), "smallfile": ("create", "read")}


def layout(kind: str = "disperse", geometry: str = "12x(4+2)", backing: str = "jbod", name: str = "l") -> Layout:
    return Layout(name=name, type=kind, backing=backing, **parse_geometry(kind, geometry))  # type: ignore[arg-type]


LAYOUTS = st.builds(
    layout,
    kind=st.just("replicate"),
    geometry=st.sampled_from(["3x2", "6x2", "2x3"]),
    backing=st.sampled_from(["jbod", "raid6"]),
    name=st.sampled_from(["a", "b"]),
)


@st.composite
def cells(draw: st.DrawFn) -> Cell:
    tool = draw(st.sampled_from(sorted(TOOLS)))
    size = draw(st.sampled_from([4096, 32768, 20 << 20]))
    return Cell(
        layout=draw(LAYOUTS),
        access="native",
        tool=tool,
        operation=draw(st.sampled_from(TOOLS[tool])),
        file_size_bytes=size,
        nominal_file_size_bytes=size * draw(st.sampled_from([1, 200])),
        record_size_bytes=draw(st.sampled_from([None, 4096])),
        files_per_worker=draw(st.integers(1, 3)),
        workers=draw(st.integers(1, 4)),
        model=ScaleModel(name=draw(st.sampled_from(["x", "y"])), scale=draw(st.sampled_from([1, 200]))),
    )


def without_labels(cell: Cell) -> str:
    named = cell.layout.model_copy(update={"name": "same"})
    model = cell.model.model_copy(update={"name": "same"})
    return cell.model_copy(update={"layout": named, "model": model}).model_dump_json()


@settings(deadline=None)
@given(st.lists(cells(), max_size=30), st.integers(0, 2**32), st.integers(1, 4), st.randoms(use_true_random=False))
def test_order_of_samples(found: list[Cell], seed: int, repeats: int, shuffler: object) -> None:
    unique = {cell.id: cell for cell in found}
    samples = order_samples(unique.values(), seed=seed, repeats=repeats)
    assert samples == order_samples(list(unique.values())[::-1], seed=seed, repeats=repeats)
    assert Counter((s.cell.id, s.repeat) for s in samples) == {(i, r): 1 for i in unique for r in range(1, repeats + 1)}
    assert [s.order for s in samples] == list(range(1, len(samples) + 1))
    assert all(s.round == s.repeat for s in samples)
    assert [s.round for s in samples] == sorted(s.round for s in samples)
    for number in range(1, repeats + 1):
        ordered = [s.cell for s in samples if s.round == number]
        blocks = [cell.layout.model_dump_json(exclude={"name"}) for cell in ordered]
        assert_contiguous(blocks)
        assert_contiguous([_dataset(cell) for cell in ordered])
        for dataset in {_dataset(cell) for cell in ordered}:
            reads = [cell.operation == "read" for cell in ordered if _dataset(cell) == dataset]
            assert reads == sorted(reads)


@settings(deadline=None)
@given(st.lists(cells(), max_size=12), st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3))
def test_a_warmup_comes_first_and_leaves_the_order_of_the_rounds_as_it_was(
    found: list[Cell], seed: int, repeats: int, warmup: int
) -> None:
    unique = {cell.id: cell for cell in found}.values()
    samples = order_samples(unique, seed=seed, repeats=repeats, warmup=warmup)
    first, rest = samples[: warmup * len(unique)], samples[warmup * len(unique) :]
    assert [s.order for s in samples] == list(range(1, len(samples) + 1))
    assert Counter((s.cell.id, s.repeat) for s in first) == {(c.id, r): 1 for c in unique for r in range(1, warmup + 1)}
    assert all(s.warmup and s.round == s.repeat - warmup for s in first)
    assert not any(s.warmup for s in rest)
    plain = order_samples(unique, seed=seed, repeats=repeats)
    assert [(s.cell, s.repeat, s.round) for s in rest] == [(s.cell, s.repeat, s.round) for s in plain]


def assert_contiguous(keys: list[str]) -> None:
    changes = sum(one != other for one, other in itertools.pairwise(keys))
    assert changes == max(len(set(keys)) - 1, 0)


@given(cells(), cells())
def test_ids_are_distinct_for_distinct_cells_and_know_no_labels(one: Cell, other: Cell) -> None:
    assert (one.id == other.id) == (without_labels(one) == without_labels(other))


@given(cells())
def test_a_cell_reads_back_from_json(cell: Cell) -> None:
    again = Cell.model_validate_json(cell.model_dump_json())
    assert again == cell
    assert again.id == cell.id


def test_another_seed_gives_another_order(campaign: Campaign, cluster: Cluster) -> None:
    plan = build_plan(campaign, cluster, ready={"smallfile"})
    other = build_plan(campaign.model_copy(update={"seed": 1}), cluster, ready={"smallfile"})
    assert [s.cell.id for s in plan.samples] != [s.cell.id for s in other.samples]
    assert {s.cell.id for s in plan.samples} == {s.cell.id for s in other.samples}


def test_the_id_is_stable(campaign: Campaign, cluster: Cluster) -> None:
    ids = {cell.slug: cell.id for cell, *_ in expand(campaign, cluster)}
    slug = "iozone-write-4gib-disperse-12x4+2-jbod-native-w4"
    assert ids[slug] == f"{slug}-7c54e0e4"


RAID = "geometry: 3x2, backing: raid6"


def test_features_are_part_of_the_cell_and_layouts_without_are_as_before(write: Write, cluster: Cluster) -> None:
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN, {RAID: f"{RAID}, features: [quota, bitrot]"}))
    assert Campaign.model_validate(campaign.model_dump(mode="json")) == campaign
    cell = expand(campaign, cluster)[0].cell
    assert cell.layout.features == ("bitrot", "quota")
    assert cell.slug == "iozone-write-4gib-replicate-3x2-raid6-bitrot-quota-native-w2"
    assert cell.layout.words == "replicate 3x2 on raid6, with bitrot and quota"
    plain = cell.layout.model_copy(update={"features": ()})
    assert "features" not in plain.model_dump(mode="json")
    assert "features" not in plain.model_dump()
    assert "features" not in dump_yaml(load_campaign(write("plain.yaml", CAMPAIGN)))
    one = {RAID: f"{RAID}, features: quota"}
    assert expand(load_campaign(write("one.yaml", CAMPAIGN, one)), cluster)[0].cell.layout.features == ("quota",)
    assert [release_problem(cell.layout, each) is None for each in ("3.6.9", "3.7.0", "10.3")] == [False, True, True]
    with pytest.raises(SpecError, match=r"features: expected one of bitrot, quota, found 'tiering'"):
        load_campaign(write("wrong.yaml", CAMPAIGN, {RAID: f"{RAID}, features: tiering"}))


def test_a_hot_tier_is_part_of_the_cell_and_its_bricks_come_last(write: Write, cluster: Cluster) -> None:
    changed = {RAID: f"{RAID}, hot: {{geometry: 6x2, backing: jbod}}"}
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN, changed))
    assert Campaign.model_validate(campaign.model_dump(mode="json")) == campaign
    cell = expand(campaign, cluster)[0].cell
    assert cell.slug == "iozone-write-4gib-replicate-3x2-raid6-hot-6x2-jbod-native-w2"
    assert cell.layout.words == "replicate 3x2 on raid6 + hot 6x2 on jbod"
    roots = [root for _, root in place_bricks(cell.layout, cluster)]
    assert roots == ["/bricks/raid6/a01"] * 6 + ["/bricks/jbod/d01"] * 6 + ["/bricks/jbod/d02"] * 6
    assert (cell.layout.bricks, cell.layout.all_bricks) == (6, 18)
    plain = cell.layout.model_copy(update={"hot": None})
    assert "hot" not in plain.model_dump()
    releases = {
        "3.6.9": True,
        "3.7.0": False,
        "3.12.15": False,
        "5.13": False,
        "6.0": True,
        "10.3": True,
        "2.0git": True,
    }
    assert {each: release_problem(cell.layout, each) is not None for each in releases} == releases
    assert release_problem(plain, "10.3") is release_problem(cell.layout, "of unknown release") is None
    with pytest.raises(SpecError, match="geometry such as '3x2' for replicate"):
        load_campaign(write("campaign.yaml", CAMPAIGN, {RAID: f"{RAID}, hot: {{geometry: 1x(4+2), backing: jbod}}"}))


def test_repeats_of_some_cells_change_neither_ids_nor_the_order_of_others(campaign: Campaign, cluster: Cluster) -> None:
    before = build_plan(campaign, cluster, ready={"smallfile"})
    own = [{"where": {"tool": "iozone", "workers": 4}, "repeats": {"min": 6, "max": 8, "half_width": "5%"}}]
    more = Campaign.model_validate(campaign.model_dump(mode="json") | {"repeats_for": own})
    plan = build_plan(more, cluster, ready={"smallfile"})
    assert plan.cells == before.cells
    chosen = {cell.id for cell in plan.cells if cell.tool == "iozone" and cell.workers == 4}
    counts, fewest = (Counter(planned.cell.id for planned in samples) for samples in (plan.samples, plan.fewest))
    assert {(cell in chosen, counts[cell], fewest[cell]) for cell in counts} == {(True, 8, 6), (False, 3, 3)}
    assert list(plan.rules.values()) == [len(chosen)]
    first = [planned.cell.id for planned in plan.samples if planned.repeat <= 3]
    assert first == [planned.cell.id for planned in before.samples]
    assert "repeats_for" not in campaign.model_dump()
    assert more.half_width == 0.05


def test_a_dataset_is_shared_by_write_and_read_alone(campaign: Campaign, cluster: Cluster) -> None:
    plan = build_plan(campaign, cluster, ready={"smallfile"})
    groups = Counter(_dataset(cell) for cell in plan.cells)
    assert set(groups.values()) == {2}
    assert all("/" not in _dataset(cell) for cell in plan.cells)


def test_lists_are_axes(write: Write, cluster: Cluster) -> None:
    changes = {
        "geometry: 3x2, backing: raid6": "geometry: [3x2, 6x2], backing: jbod",
        "lookup-optimize: on": "lookup-optimize: [on, off]",
        "record_size: 512 KiB": "record_size: [512 KiB, 1 MiB]",
        "file_size: 20 MiB": "file_size: [20 MiB, 640 KiB]",
        "stands_for: 4 GiB": "stands_for: [4 GiB, 128 MiB]",
    }
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN, changes))
    names = [found.name for _, found in expand_layouts(campaign)]
    assert names[:2] == ["mirror-3x2-lookup-optimize-on", "mirror-3x2-lookup-optimize-off"]
    assert len(set(names)) == len(names) == 5
    found = [cell for cell, *_ in expand(campaign, cluster)]
    assert len({cell.id for cell in found}) == len(found) == 5 * (2 * 2 * 2 * 2 + 4)
    sizes = {(cell.file_size_bytes, cell.nominal_file_size_bytes) for cell in found if cell.tool == "iozone"}
    assert sizes == {(20 << 20, 4 << 30), (640 << 10, 128 << 20)}


def test_overlapping_workloads_are_merged(write: Write, campaign: Campaign, cluster: Cluster) -> None:
    workload = "{tool: iozone, operations: write, file_size: 20 MiB, stands_for: 4 GiB, record_size: 512 KiB, "
    change = {"workers: [2, 4]": f"  - {workload}model: large-file}}\nworkers: [2, 4]"}
    doubled = load_campaign(write("campaign.yaml", CAMPAIGN, change))
    assert len(expand(doubled, cluster)) == len(expand(campaign, cluster))


def test_a_matrix_without_bound_is_refused(write: Write) -> None:
    many = ", ".join(str(n) for n in range(1, 20_000))
    with pytest.raises(SpecError, match="at most 100,000 cells"):
        load_campaign(write("campaign.yaml", CAMPAIGN, {"workers: [2, 4]": f"workers: [{many}]"}))


def test_workers_may_run_on_some_of_the_clients(write: Write, cluster: Cluster) -> None:
    before = {cell.id for cell, *_ in expand(load_campaign(write("campaign.yaml", CAMPAIGN)), cluster)}
    added = {
        "512 KiB": "512 KiB\n    clients: [1, 9]",
        "reason: too slow}": "reason: x}\n  - {where: {clients: 9}, reason: y}",
    }
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN, added))
    found = [each for each in expand(campaign, cluster) if each.cell.clients is not None]
    assert {(each.cell.clients, each.exclusion) for each in found} == {(1, None), (9, "y")}
    assert not {each.cell.id for each in found} & before
    assert all(each.cell.slug.endswith(f"-c{each.cell.clients}") for each in found)
    unbounded = campaign.model_copy(update={"exclude": ()})
    reasons = {cell.clients: why for cell, why in build_plan(unbounded, cluster, ready=volume_tools()).not_runnable}
    assert reasons[9] == f"it needs 9 clients, and the cluster has {len(cluster.clients)}"


def test_mounts_are_an_axis_that_leaves_other_cells_and_the_files_as_they_are(write: Write, cluster: Cluster) -> None:
    change = {
        "512 KiB": "512 KiB\n    mounts: [1, 2]",
        "reason: too slow}": "reason: x}\n  - {where: {mounts: 1}, reason: y}",
    }
    changed = load_campaign(write("campaign.yaml", CAMPAIGN, change))
    before = {cell.id for cell, *_ in expand(load_campaign(write("campaign.yaml", CAMPAIGN)), cluster)}
    found = expand(changed, cluster)
    assert {cell.id for cell, *_ in found if cell.mounts == 1} == before
    two = [cell for cell, *_ in found if cell.mounts == 2]
    assert [cell.slug.rpartition("-w")[2] for cell in two if cell.operation == "read"] == ["2-m2", "4-m2"] * 2
    assert not {cell.id for cell in two} & before
    assert {volume_tools()[cell.tool].dataset(cell) for cell in two} <= {
        volume_tools()[cell.tool].dataset(cell) for cell, *_ in found if cell.mounts == 1
    }
    assert {cell.mounts for cell, exclusion, *_ in found if exclusion == "y"} == {1}


def test_exclusions_keep_their_reason(campaign: Campaign, cluster: Cluster) -> None:
    plan = build_plan(campaign, cluster, ready={"smallfile"})
    assert {(cell.layout.name, cell.tool, cell.workers, reason) for cell, reason in plan.excluded} == {
        ("ec", "smallfile", 4, "too slow")
    }
    assert len(plan.cells) + len(plan.excluded) == len(expand(campaign, cluster))
    assert not plan.not_runnable


@pytest.mark.parametrize(
    ("campaign_change", "cluster_change", "smallfile", "reason"),
    [
        ({}, {}, False, "git clone https://github.com/distributed-system-analysis/smallfile"),
        ({"workers: [2, 4]": "access: nfs\nworkers: [2, 4]"}, {}, True, "access 'nfs' is not available"),
        (
            {"workers: [2, 4]": "access: gfapi\nworkers: [2, 4]"},
            {},
            True,
            "gfapi has no mount: of the tools fio can do it",
        ),
        (
            {"workers: [2, 4]": "access: gfapi\nworkers: [2, 4]", "tool: iozone": "tool: fio\n    mounts: 2"},
            {},
            True,
            "only access native has several mounts per client",
        ),
        ({"512 KiB": "512 KiB\n    mounts: 2"}, {}, True, "2 mounts on each of 2 clients need 4 workers at least"),
        ({"[write, read]": "[create]"}, {}, True, "iozone has no operation 'create', it has write, read"),
        ({"geometry: 3x2": "geometry: 4x2"}, {}, True, "4x2 needs 8 bricks, backing 'raid6' has 6 servers x 1"),
        ({"geometry: 12x(4+2)": "geometry: 2x(8+2)"}, {}, True, "needs 10 distinct servers, pool has 6"),
        ({"geometry: 3x2, backing: raid6": "geometry: 3x2, backing: nvme"}, {}, True, "no backing 'nvme'"),
        ({RAID: f"{RAID}, hot: {{geometry: 3x2, backing: nvme}}"}, {}, True, "no backing 'nvme', it has"),
        ({RAID: f"{RAID}, hot: {{geometry: 80, backing: jbod}}"}, {}, True, "80 needs 80 bricks, backing 'jbod' has"),
        ({RAID: f"{RAID}, hot: {{geometry: 1x2, backing: raid6}}"}, {}, True, "needs a backing of its own"),
        ({"    model: large-file\n": ""}, {}, True, "name one of its scale models"),
        ({}, {"large-file": "huge-file"}, True, "no scale model 'large-file', it has huge-file, small-file"),
        ({"stands_for: 4 GiB": "stands_for: 1 GiB"}, {}, True, "file_size x scale 200 is 3.91 of stands_for"),
        ({}, {CLUSTER[CLUSTER.index("scale_models") :]: ""}, True, "needs a testbed, and pool is real hardware"),
    ],
)
def test_what_cannot_run_is_listed_with_its_reason(
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    campaign_change: dict[str, str],
    cluster_change: dict[str, str],
    smallfile: bool,
    reason: str,
) -> None:
    monkeypatch.delenv("GLUSTERLAB_SMALLFILE", raising=False)
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN, campaign_change))
    cluster = load_cluster(write("cluster.yaml", CLUSTER, cluster_change))
    plan = build_plan(campaign, cluster, ready={"smallfile"} if smallfile else ())
    assert plan.not_runnable
    assert any(reason in why for _, why in plan.not_runnable), {why for _, why in plan.not_runnable}
    runs = {cell.id for cell in plan.cells}
    assert not runs & {cell.id for cell, _ in plan.not_runnable}
    assert len(runs) + len(plan.not_runnable) + len(plan.excluded) == len(expand(campaign, cluster))


@pytest.mark.parametrize(("length", "runs"), [(3.9, True), (3.8, True), (1, False), (0.25, False), (4.2, False)])
def test_a_file_may_be_longer_or_shorter_than_the_scale_asks_where_that_is_stated(
    write: Write, cluster: Cluster, length: float, runs: bool
) -> None:
    change = {"stands_for: 4 GiB": f"stands_for: 1 GiB\n    length: {length}"}
    plan = build_plan(load_campaign(write("campaign.yaml", CAMPAIGN, change)), cluster, ready={"smallfile"})
    iozone = [cell for cell in plan.cells if cell.tool == "iozone"]
    assert bool(iozone) == runs
    refused = {why for cell, why in plan.not_runnable if cell.tool == "iozone"}
    assert refused == set() if runs else all("state 'length: 3.91'" in why for why in refused)


def hosts(count: int) -> tuple[Host, ...]:
    return tuple(Host(name=f"s{n}", address=f"10.0.0.{n}") for n in range(count))


@given(*[st.integers(1, most) for most in (8, 6, 5, 3, 12, 3)])
def test_bricks_are_placed_or_refused(
    servers: int, roots: int, data: int, redundancy: int, subvolumes: int, several: int
) -> None:
    if data <= redundancy:
        return
    jbod = SMALL.backings["jbod"].model_copy(update={"bricks": tuple(f"/b/{n}" for n in range(roots))})
    cluster = SMALL.model_copy(update={"servers": hosts(servers), "backings": {"jbod": jbod}})
    wanted = layout(geometry=f"{subvolumes}x({data}+{redundancy})").model_copy(update={"bricks_per_server": several})
    if wanted.subvolume_size > servers * several or wanted.bricks > servers * roots:
        with pytest.raises(SpecError, match="layout 'l': "):
            place_bricks(wanted, cluster)
        return
    places = place_bricks(wanted, cluster)
    size = wanted.subvolume_size
    for n in range(0, len(places), size):
        assert max(Counter(host.name for host, _ in places[n : n + size]).values()) <= several


SMALL = Cluster.model_validate(YAML(typ="safe", pure=True).load(CLUSTER))


def test_an_estimate_has_every_cell_and_is_of_the_right_order(campaign: Campaign, cluster: Cluster) -> None:
    plan = build_plan(campaign, cluster, ready={"smallfile"})
    cost = estimate(plan, cluster)
    assert set(cost.cells) == {cell.id for cell in plan.cells}
    assert cost.seconds > sum(cost.cells[sample.cell.id].seconds for sample in plan.samples)
    assert cost.brick_bytes == max(cell.bytes for cell in cost.cells.values()) > 0
    assert cost.raw_bytes > 0
    empty = build_plan(campaign.model_copy(update={"repeats": 0}), cluster, ready={"smallfile"})
    assert estimate(empty, cluster).seconds == 0


def test_small_files_take_longer_where_operations_or_heads_are_slowed(campaign: Campaign) -> None:
    def seconds(**model: bool) -> float:
        models = {"large-file": {"scale": 200}, "small-file": {"scale": 20, **model}}
        pool = Cluster.model_validate({**YAML(typ="safe", pure=True).load(CLUSTER), "scale_models": models})
        return estimate(build_plan(campaign, pool, ready={"smallfile"}), pool).seconds

    assert seconds(heads=True) == seconds(operations=True) > 1.1 * seconds()


def test_an_estimate_has_bounds_when_cells_may_end_early(campaign: Campaign, cluster: Cluster) -> None:
    rule = Repeats(min=3, max=9, half_width=0.05)
    plan = build_plan(campaign.model_copy(update={"repeats": rule, "warmup": 1}), cluster, ready={"smallfile"})
    cells = len(plan.cells)
    assert (len(plan.warmup), len(plan.fewest), len(plan.counted)) == (cells, 4 * cells, 9 * cells)
    cost = estimate(plan, cluster)
    assert 2 * cost.fewest_seconds < cost.seconds < 3 * cost.fewest_seconds
    plain = build_plan(campaign.model_copy(update={"warmup": 1}), cluster, ready={"smallfile"})
    assert plain.fewest == plain.samples
    assert estimate(plain, cluster).fewest_seconds == estimate(plain, cluster).seconds == cost.fewest_seconds


def test_the_cluster_answers_for_its_hosts(cluster: Cluster) -> None:
    assert (cluster.role("s1"), cluster.role("c2")) == ("server", "client")
    assert cluster.clients[1].address == "c2"
    assert cluster.scale_model("large-file") == ScaleModel(name="large-file", scale=200)
    with pytest.raises(KeyError):
        cluster.role("nobody")


def test_smallfile_is_found_by_the_file_or_the_environment(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "smallfile"
    assert cluster.smallfile_checkout({"GLUSTERLAB_SMALLFILE": str(folder)}) is None
    folder.mkdir()
    (folder / "smallfile_cli.py").touch()
    assert cluster.smallfile_checkout({"GLUSTERLAB_SMALLFILE": str(folder)}) == folder
    assert cluster.smallfile_checkout({}) is None


WORK = {"file_size_bytes": 20 << 20, "nominal_file_size_bytes": 4 << 30, "record_size_bytes": 512 << 10}
WORK |= {"files_per_worker": 1, "runtime_s": float("nan"), "scale": 200.0}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, {}),
        ({"scale": 400.0, "file_size_bytes": 10 << 20, "record_size_bytes": 256 << 10}, {}),
        ({"nominal_file_size_bytes": 4 * 10**9}, {}),
        ({"nominal_file_size_bytes": 2 << 30, "scale": 100.0}, {"file_size": "4 GiB and 2 GiB of each file"}),
        ({"file_size_bytes": 10 << 20, "record_size_bytes": 256 << 10}, {"length": "0.977 and 0.488 times the length"}),
        ({"files_per_worker": 3}, {"files_per_worker": "1 and 3 files per worker"}),
        ({"record_size_bytes": float("nan")}, {"records": "40 and no stated records per file"}),
        ({"runtime_s": 20.0}, {"runtime": "no stated and 20 seconds"}),
        ({"rate_bytes_per_s": 161e3}, {"rate": "no stated and "}),
    ],
)
def test_equal_work_is_of_equal_files(changed: dict[str, float], expected: dict[str, str]) -> None:
    found = work_differences(WORK, WORK | changed)
    assert found.keys() == expected.keys()
    assert all(found[name].startswith(text) for name, text in expected.items())


def test_the_plan_finds_layouts_that_do_unequal_work(write: Write) -> None:
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN, {"files_per_worker: 100": "files_per_worker: [100, 40]"}))
    made = [cell for cell, *_ in expand(campaign, None)]
    assert not unequal_work(made)
    few = [cell for cell in made if cell.files_per_worker != (40 if cell.layout.name == "ec" else 100)]
    found = unequal_work(few)
    assert {(one.workers, one.operation) for one, *_ in found} == {(w, o) for w in (2, 4) for o in ("create", "read")}
    assert {what for *_, what in found} == {"40 and 100 files per worker"}


def test_what_an_access_needs_is_told_by_the_plan_and_accesses_are_measured_in_blocks() -> None:
    other = {"name": "own", "type": "other", "geometry": "1", "backing": "anything"}
    with pytest.raises(ValidationError, match="the suite makes no volume of type 'other'"):
        Campaign.model_validate(campaign_data(layouts=[{**other, "options": {"a.b": "on"}}], access=["existing"]))
    volume = {"name": "plain", "type": "distribute", "geometry": "1", "backing": "jbod"}
    access = ["native", "smb", "nfs3", "existing"]
    campaign = Campaign.model_validate(campaign_data(layouts=[volume, other], access=access, workers=[1, 2]))
    cluster = Cluster.model_validate(pool_data())
    plan = build_plan(campaign, cluster)
    assert {(cell.layout.name, cell.access) for cell in plan.cells} == {("plain", name) for name in access[:3]}
    reasons = {(cell.layout.name, cell.access): why for cell, why in plan.not_runnable}
    assert "names no directory" in reasons["own", "existing"]
    assert all("go together" in why for cell, why in reasons.items() if cell != ("own", "existing"))
    blocks = [name for name, _ in itertools.groupby(planned.cell.access for planned in plan.samples)]
    assert sorted(blocks) == ["native", "nfs3", "smb"]

    tool = campaign.workloads[0].tool[0]
    can = {"access_server": "ganesha.nfsd smbd", "access_client": "nfs cifs", "tools": {tool: "3"}}
    facts: dict[str, dict[str, Any]] = {host.name: {**can} for host in cluster.hosts}
    assert without(plan, cluster, facts) == plan
    facts[cluster.clients[0].name]["access_client"] = "nfs"
    lacking = without(plan, cluster, facts)
    assert {planned.cell.access for planned in lacking.samples} == {cell.access for cell in lacking.cells}
    assert {cell.access for cell in lacking.cells} == {"native", "nfs3"}
    reasons = {(cell.layout.name, cell.access): why for cell, why in lacking.not_runnable}
    assert reasons["plain", "smb"].startswith(f"access 'smb': {cluster.clients[0].name} has no SMB client")
    facts[cluster.clients[-1].name]["tools"] = {}
    bare = without(plan, cluster, facts)
    assert not bare.samples
    reasons = {(cell.layout.name, cell.access): why for cell, why in bare.not_runnable}
    assert reasons["plain", "native"].startswith(f"tool {tool!r}: {cluster.clients[-1].name} has no {tool} (package ")

    appliance = pool_data(servers=[], backings={}, existing={"path": "/mnt/x"})
    alone = build_plan(campaign, Cluster.model_validate(appliance))
    assert {cell.access for cell in alone.cells} == {"existing"}
    assert estimate(alone, Cluster.model_validate(appliance)).seconds > 0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"servers": []}, "expected at least one"),
        ({"backings": {}}, "expected at least one"),
        ({"servers": [], "existing": {"path": "/mnt/x"}}, "expected at least one"),
        ({"existing": {"path": "/mnt/glusterlab/x"}}, "apart from mount_root"),
        ({"access": {"smb": {"addresses": {"s9": "10.0.0.9"}}}}, "found 's9'"),
        ({"access": {"smb": {"options": ["vers=3 -o x"]}}}, "access.smb.options"),
    ],
)
def test_a_cluster_file_says_what_is_wrong_with_its_accesses(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Cluster.model_validate(pool_data(**changed))
