from pathlib import Path

import pytest
from pydantic import ValidationError

from glusterlab.errors import UsageError
from glusterlab.run.baseline import baseline_campaign
from glusterlab.run.plan import build_plan, estimate
from glusterlab.spec import Campaign, dump_yaml, load_campaign
from glusterlab.spec.campaign import BaselineSpec
from glusterlab.tools.iperf3 import tournament
from tests.baseline.bench import ARRAYS, make_cluster

KIB, MIB = 1 << 10, 1 << 20


def test_disks_alone_and_together_arrays_and_links_are_measured_under_every_model() -> None:
    cluster = make_cluster(scale_models={"large-file": {"scale": 200}, "small-file": {"scale": 20, "operations": True}})
    plan = build_plan(baseline_campaign(cluster, BaselineSpec(), repeats=2), cluster)
    found = [(cell.model.name, cell.tool, cell.operation, cell.layout.backing, cell.workers) for cell in plan.cells]
    assert found == [
        (model, *rest)
        for model in ("large-file", "small-file")
        for rest in (
            *(
                ("iozone-local", operation, backing, workers)
                for backing, workers in (("jbod", 2), ("jbod", 4), ("raid6", 2))
                for operation in ("write", "read")
            ),
            ("iperf3", "send", "network", 3),
            ("iperf3", "receive", "network", 3),
        )
    ]
    assert len(plan.samples) == 2 * len(plan.cells)
    assert {cell.access for cell in plan.cells} == {"none"}


def test_files_take_the_time_that_was_asked_for() -> None:
    cluster = make_cluster()
    plan = build_plan(baseline_campaign(cluster, BaselineSpec(seconds=20)), cluster)
    sizes = {(cell.layout.backing, cell.operation): cell for cell in plan.cells if cell.tool == "iozone-local"}
    # 205 MB/s for 20 s, a 200th of it, in whole records of which there are 16 at least
    jbod, array = sizes["jbod", "write"], sizes["raid6", "write"]
    assert (jbod.file_size_bytes, jbod.record_size_bytes) == (20 * MIB, MIB)
    assert (array.file_size_bytes, array.record_size_bytes) == (116 * MIB, 4 * MIB)
    assert jbod.nominal_file_size_bytes == 200 * jbod.file_size_bytes
    seconds = estimate(plan, cluster).cells[jbod.id].seconds
    assert 30 < seconds < 35


def test_real_hardware_has_no_scale() -> None:
    cluster = make_cluster(testbed=None, scale_models={}, hardware={**ARRAYS, "disks_per_server": 12})
    cells = build_plan(baseline_campaign(cluster, BaselineSpec(file_size=MIB)), cluster).cells
    assert {cell.model.scale for cell in cells} == {1.0}
    local = [(cell.file_size_bytes, cell.record_size_bytes) for cell in cells if cell.tool == "iozone-local"]
    assert set(local) == {(MIB, 64 * KIB)}


def test_parts_can_be_left_out() -> None:
    cluster = make_cluster()
    disks = baseline_campaign(cluster, BaselineSpec(network=False))
    links = baseline_campaign(cluster, BaselineSpec(disks=False))
    assert [workload.tool for workload in disks.workloads] == [("iozone-local",)]
    assert [workload.tool for workload in links.workloads] == [("iperf3",)]
    with pytest.raises(ValidationError, match="disks or network"):
        BaselineSpec(disks=False, network=False)


def test_the_stored_file_makes_the_same_plan(tmp_path: Path) -> None:
    cluster = make_cluster()
    campaign = baseline_campaign(cluster, BaselineSpec(seconds=3), repeats=2)
    file = tmp_path / "campaign.yaml"
    file.write_text(dump_yaml(campaign))
    again = load_campaign(file)
    assert again == campaign
    assert build_plan(again, cluster) == build_plan(campaign, cluster)


def test_a_baseline_needs_its_cluster_and_its_settings() -> None:
    cluster = make_cluster()
    campaign = baseline_campaign(cluster, BaselineSpec())
    with pytest.raises(UsageError, match="name its cluster"):
        build_plan(campaign, None)
    with pytest.raises(ValidationError, match="origin baseline and the key 'baseline' together"):
        Campaign.model_validate({**campaign.model_dump(), "baseline": None})


def test_all_hosts_of_a_mesh_have_time_to_meet() -> None:
    clients = [{"name": f"c{n}", "address": f"10.0.1.{n}"} for n in range(1, 127)]
    campaign = baseline_campaign(make_cluster(clients=clients), BaselineSpec(seconds=10))
    assert campaign.deadline > 127 * 10


@pytest.mark.parametrize("players", range(2, 12))
def test_in_a_tournament_everybody_meets_everybody_once(players: int) -> None:
    rounds = tournament(range(players))
    assert len(rounds) == players - 1 + players % 2
    for pairs in rounds:
        at_work = [one for pair in pairs for one in pair]
        assert len(set(at_work)) == len(at_work)
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert len(met) == len(set(met)) == players * (players - 1) // 2


def test_heads_are_measured_by_requests_and_at_the_smallest_scale_alone() -> None:
    models = {"large-file": {"scale": 200}, "medium-file": {"scale": 240, "heads": True}}
    cluster = make_cluster(scale_models={**models, "small-file": {"scale": 20, "heads": True}})
    plan = build_plan(baseline_campaign(cluster, BaselineSpec(network=False), repeats=1), cluster)
    assert {cell.model.name for cell in plan.cells if cell.tool == "iozone-local"} == {"large-file"}
    requests = [cell for cell in plan.cells if cell.tool == "fio-local"]
    assert {cell.model.name for cell in requests} == {"small-file"}
    disk, array = ([cell for cell in requests if cell.layout.backing == name] for name in ("jbod", "raid6"))
    assert [(cell.operation, cell.options, cell.workers, cell.runtime_s) for cell in disk[:5]] == [
        *((operation, (f"--iodepth={depth}",), 1, 20) for operation in ("read", "write") for depth in (1, 4)),
        ("random-read", ("--iodepth=1",), 2, 40),
    ]
    assert {cell.options[1:] for cell in disk if cell.operation == "random-write"} == {("--sync=dsync",)}
    assert (len(disk), len(array)) == (12, 9)
    # no file is written
    assert max(estimate(plan, cluster).cells[cell.id].bytes for cell in requests) < 4 * MIB
