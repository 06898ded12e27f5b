"""The specifications in runbooks/ are valid, and say what their study says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from glusterlab.cli import app
from glusterlab.run.plan import build_plan, check_campaign
from glusterlab.spec import load_campaign, load_cluster

PROJECT = Path(__file__).parents[1]
RUNBOOKS = PROJECT / "runbooks"
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


@pytest.mark.parametrize(
    "page", [*PROJECT.glob("*.md"), *RUNBOOKS.rglob("*.md")], ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_commands_of_a_page_have_these_options(page: Path) -> None:
    text = page.read_text().replace("\\\n", " ")
    commands = re.findall(r"^(?:    |\$ )(?:\w+=\S+ )*(glusterlab [^|\n]*)", text, re.MULTILINE)
    assert commands or page.name != "README.md"
    for stated in commands:
        name, *arguments = shlex.split(stated, comments=True)
        command, context = typer.main.get_command(app), None
        while command is not None:
            context = command.make_context(name, arguments, parent=context)
            name, command, arguments = _next(command, context)


def _next(command: Any, context: Any) -> tuple[str, Any, list[str]]:
    rest = [*getattr(context, "_protected_args", ()), *context.args]
    return command.resolve_command(context, rest) if hasattr(command, "commands") else ("", None, rest)


MEASURED = {load_campaign(path).name: path for path in PROJECT.glob("raw/*/campaign.yaml")}


def test_what_was_measured_is_the_runbook_s_campaign() -> None:
    stated = {name: load_campaign(path) for path in CAMPAIGNS if (name := load_campaign(path).name) in MEASURED}
    assert stated
    assert {name: load_campaign(MEASURED[name]) for name in stated} == stated


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
