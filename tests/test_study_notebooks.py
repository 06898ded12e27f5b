"""Notebooks of studies on made-up samples of what their runbooks plan: no pool measured them, by a plain rule."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pandas as pd
import pytest

from glusterlab.analysis.select import DIRECTIONS
from glusterlab.figures.names import OutputName
from glusterlab.run.plan import build_plan
from glusterlab.spec import load_campaign, load_cluster
from glusterlab.spec.cell import Cell
from glusterlab.spec.cluster import Cluster
from glusterlab.spec.studies import load_study
from glusterlab.tables import build as tables
from glusterlab.tables.schema import SCHEMAS, as_schema
from glusterlab.tools import volume_tools
from tests.conftest import build_telemetry
from tests.test_studies import PROJECT, PUBLISHED, made_by_notebooks

MODELS = """
testbed: {name: made-up, state: /var/lib/made-up}
scale_models: {large-file: {scale: 200}, small-file: {scale: 34, operations: true}}
"""
RUNS = {
    "summit-2017": [("testbed", "cluster"), ("testbed-four", "cluster-four")],
    "rhgs-3.1": [("testbed", "cluster"), ("testbed-raid6", "cluster-nfs"), ("campaign", "cluster")],
}
SCHEMA, SPREAD = SCHEMAS["samples"], (0.98, 1.01, 1.02, 0.99, 1.0, 1.03)


def row_of(cell: Cell, cluster: Cluster) -> dict[str, Any]:
    """What the samples table says of a cell; its rate grows with workers, up to what a link of each server carries."""
    layout, backing, model = cell.layout, cluster.backings[cell.layout.backing], cell.model
    full = len(cluster.servers) * cluster.hardware.server_link * 0.6 * (1 + 0.02 * len(layout.options))
    full /= layout.stored_per_byte if DIRECTIONS.get(cell.operation) == "write" else 1.0
    full *= (2 if cell.caches == "hot" else 1) * (0.01 if "random" in cell.operation else 1.0)
    rate = full * (1.0 if cell.access == "native" else 0.8) * cell.workers / (cell.workers + 8) / model.scale
    files = rate / 5e5 if cell.tool == "smallfile" else math.nan
    known = {name: getattr(of, name) for of in (layout, cell) for name in SCHEMA if hasattr(of, name)}
    return (
        known
        | {"cell_id": cell.id, "layout": layout.name, "status": "valid", "gluster_version": "10.3", "warmup": False}
        | {"options": "; ".join(f"{name}={value}" for name, value in layout.options), "hot": "", "elapsed_s": 30.0}
        | {"features": "; ".join(layout.features), "event": ""}
        | {"kind": backing.kind, "server_model": backing.server_model or "", "scale": model.scale, "heads": model.heads}
        | {"files_per_worker": cell.files_per_worker or 1, "disks": layout.bricks * backing.disks_per_brick}
        | {"clients": cell.clients or len(cluster.clients), "servers": len(cluster.servers)}
        | {"throughput_bytes_per_s": math.nan if files > 0 else rate, "files_per_s": files}
        | {"operations_per_s": rate / (cell.record_size_bytes or 1), "operations_limited": model.operations}
        | {"streams_held": rate / (cell.rate_bytes_per_s or 1)}
    )


def planned_samples(campaign: Path, cluster: Path) -> pd.DataFrame:
    """The samples table of a campaign as if all of its plan had been run."""
    pool, rows = load_cluster(cluster), []
    for place, planned in enumerate(build_plan(load_campaign(campaign), pool, ready=volume_tools()).samples):
        row, by = row_of(planned.cell, pool), SPREAD[(planned.repeat + place) % len(SPREAD)]
        rates = {name: row[name] * by for name in ("throughput_bytes_per_s", "files_per_s", "streams_held")}
        times = {
            f"{part}{end}_s": 100.0 * place + s for part in ("", "part_") for end, s in (("start", 0), ("end", 30))
        }
        rows.append(row | rates | times | {"sample": planned.repeat})
    empty = {name: "" if kind == "str" else 1 for name, (kind, _) in SCHEMA.items() if kind in ("str", "int64")}
    return as_schema(pd.DataFrame([empty | row for row in rows]), "samples")


def run_on(notebook: Path, campaign: Path, cluster: Path, folder: Path, formats: str = "csv") -> Path:
    """Run a notebook's code on the made-up samples of a runbook's campaign; returns the folder with its figures."""
    raw, figures = folder / "raw", folder / "figures"
    raw.mkdir(exist_ok=True, parents=True)
    (raw / "campaign.yaml").write_text(campaign.read_text())
    (raw / "cluster.yaml").write_text(cluster.read_text() + MODELS * campaign.stem.startswith("testbed"))
    (raw / "MANIFEST.sha256").write_text("")
    (raw / "environment.json").write_text('{"schema_version": 1, "hosts": {}}')
    samples = planned_samples(campaign, raw / "cluster.yaml")

    def telemetry_of(cell_id: list[str], **_: object) -> pd.DataFrame:
        found = build_telemetry(samples[samples["cell_id"].isin([*cell_id, samples["cell_id"][0]])])
        return found[found["cell_id"].isin(cell_id)]

    def of(tools: tuple[str, ...]) -> SimpleNamespace:
        return SimpleNamespace(samples=samples[samples["tool"].isin(tools)], telemetry_of=telemetry_of)

    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "load", lambda *_: SimpleNamespace(of=of))
        patched.chdir(PROJECT)
        for cell in nbformat.read(notebook, as_version=4).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, cell.id, "exec"), names)
                if "parameters" in cell.metadata.get("tags", []):
                    names |= {"campaign": str(raw), "figures": str(figures), "format": formats}
    return figures


@pytest.mark.parametrize("study", RUNS)
def test_figures_of_a_study_are_drawn_of_some_campaign_of_its_runbook(study: str, tmp_path: Path) -> None:
    runbook, known, found = PROJECT / "runbooks" / study, load_study(PUBLISHED / study), {}
    for campaign, cluster in RUNS[study]:
        for name in known.notebooks:
            files = (PROJECT / "notebooks" / f"{name}.ipynb", runbook / f"{campaign}.yaml", runbook / f"{cluster}.yaml")
            found |= {path.stem: path for path in run_on(*files, tmp_path / campaign).glob("*.csv")}
    assert {OutputName.parse(name, known.outputs).label for name in found} - {""} == made_by_notebooks(known)
    if study == "summit-2017":
        rule = pd.read_csv(found["summit-s15-rule-of-thumb"]).set_index("operation")["published"]
        assert rule.to_dict() == pytest.approx({"write": 1224e6 / 2 * 0.7, "read": 1107e6 * 0.6})  # by its arrays
        gains = pd.read_csv(found["extra-summit-small-files-gain-of-tuning"]).query("workers == 32")
        assert set(gains["panel"]) == {"ls-l, 32 workers"}
        return
    rates = pd.read_csv(found["rhgs31-r6-ec-replica-sequential"]).query("type == 'replicate'").set_index("operation")
    assert set(rates.loc["write", "published_any"]) == {400e6}
    assert (set(rates.loc["read", "published"]), rates.loc["write", "published"].notna().any()) == ({1e9}, False)
    ratios = pd.read_csv(found["rhgs31-r6-ec-replica-sequential-ratios"]).set_index(["panel", "name"])
    writes = ratios.loc[("write", "EC8+4 / Replica 3, 2 mounts"), ["ratio", "stated_low", "stated_high"]]
    assert writes.tolist() == pytest.approx([2, 1.02, 2.01], rel=0.05)
