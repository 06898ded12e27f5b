"""The specifications in runbooks/ are valid, and say what their study says."""

from __future__ import annotations

from pathlib import Path

import pytest

from glusterlab.spec import build_plan, load_campaign, load_cluster

RUNBOOKS = Path(__file__).parents[1] / "runbooks"
SUPERMICRO = RUNBOOKS / "supermicro-2017"


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("*/campaign*.yaml")), ids=lambda path: path.parent.name)
def test_campaign_is_valid(path: Path) -> None:
    assert load_campaign(path).study


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("*/cluster*.yaml")), ids=lambda path: path.parent.name)
def test_cluster_is_valid_and_no_address_is_a_real_one(path: Path) -> None:
    assert all(host.address.startswith("192.0.2.") for host in load_cluster(path).hosts)


@pytest.mark.parametrize("folder", [path for path in sorted(RUNBOOKS.iterdir()) if path.is_dir()], ids=lambda p: p.name)
def test_every_runbook_says_how(folder: Path) -> None:
    assert (folder / "README.md").read_text().startswith("# Runbook: " + folder.name)


def test_supermicro_plan_is_the_guide_s_matrix() -> None:
    cluster = load_cluster(SUPERMICRO / "cluster.yaml")
    plan = build_plan(load_campaign(SUPERMICRO / "campaign.yaml"), cluster, smallfile=True)
    assert not plan.not_runnable
    assert not plan.excluded
    assert (len(cluster.servers), len(cluster.clients), cluster.disks_total) == (6, 12, 72)
    assert {cell.layout.geometry for cell in plan.cells} == {"3x2", "1x(4+2)", "12x(4+2)"}
    assert {cell.workers for cell in plan.cells} == {1, 6, 12, 24, 48, 96}
    sizes = {(cell.tool, cell.file_size_bytes) for cell in plan.cells}
    assert sizes == {
        ("iozone", 128 << 20),
        ("iozone", 4 << 30),
        ("iozone", 128 << 30),
        ("smallfile", 32 << 10),
        ("smallfile", 4 << 20),
    }
    assert {cell.record_size_bytes for cell in plan.cells if cell.tool == "iozone"} == {4 << 20}
    assert len(plan.cells) == 3 * 5 * 2 * 6
