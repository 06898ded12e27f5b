"""The specifications in runbooks/ are valid, and say what their study says."""

from pathlib import Path

import pytest

from glusterlab.run.plan import build_plan, check_campaign
from glusterlab.spec import load_campaign, load_cluster

RUNBOOKS = Path(__file__).parents[1] / "runbooks"
SUPERMICRO = RUNBOOKS / "supermicro-2017"


CAMPAIGNS = [path for path in sorted(RUNBOOKS.glob("*/*.yaml")) if "\nrepeats:" in path.read_text()]


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_campaign_is_valid(path: Path) -> None:
    assert load_campaign(path, check_campaign).study


@pytest.mark.parametrize(
    "path", sorted(RUNBOOKS.glob("*/cluster*.yaml")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_cluster_is_valid_and_no_address_is_a_real_one(path: Path) -> None:
    assert all(host.address.startswith("192.0.2.") for host in load_cluster(path).hosts)


@pytest.mark.parametrize("folder", [path for path in sorted(RUNBOOKS.iterdir()) if path.is_dir()], ids=lambda p: p.name)
def test_every_runbook_says_how(folder: Path) -> None:
    assert (folder / "README.md").read_text().startswith("# Runbook: " + folder.name)


STANDARD = {("replicate", "3x2", "raid6"), ("disperse", "1x(4+2)", "raid6"), ("disperse", "12x(4+2)", "jbod")}
DENSE = {("replicate", "6x2", "raid6"), ("disperse", "2x(4+2)", "raid6"), ("disperse", "24x(4+2)", "jbod")}


@pytest.mark.parametrize(
    ("suffix", "model", "disks", "layouts"), [("", "standard", 12, STANDARD), ("-dense", "dense", 24, DENSE)]
)
def test_supermicro_plan_is_the_guide_s_matrix(
    suffix: str, model: str, disks: int, layouts: set[tuple[str, str, str]]
) -> None:
    cluster = load_cluster(SUPERMICRO / f"cluster{suffix}.yaml")
    plan = build_plan(load_campaign(SUPERMICRO / f"campaign{suffix}.yaml"), cluster, ready={"smallfile"})
    assert not plan.not_runnable
    assert not plan.excluded
    assert (len(cluster.servers), len(cluster.clients), cluster.hardware.disks_per_server) == (6, 12, disks)
    found = {
        (cell.layout.type, cell.layout.geometry, cluster.backings[cell.layout.backing].kind) for cell in plan.cells
    }
    assert found == layouts
    for backing in cluster.backings.values():
        assert backing.server_model == model
        # every disk of every server is under a brick: what efficiency is divided by
        assert len(backing.bricks) * backing.disks_per_brick == disks
    assert cluster.server_models[model].disks == cluster.hardware.disks_per_server
    for cell in plan.cells:
        assert cell.layout.bricks == len(cluster.servers) * len(cluster.backings[cell.layout.backing].bricks)
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
