"""Notebooks of single studies, run on synthetic samples of every cell of their runbooks: no pool was measured."""

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
import yaml

from glusterlab.analysis.baselines import Rates
from glusterlab.plots import marks
from glusterlab.sections.baseline import Baseline
from glusterlab.spec import load_campaign, load_cluster
from glusterlab.spec.campaign import expand
from glusterlab.spec.cell import Cell
from glusterlab.store.manifest import list_files
from glusterlab.tables import build as tables
from glusterlab.tables.schema import SCHEMAS, as_schema
from glusterlab.tools.records import WHOLE
from tests.waiting import PROJECT

COLUMNS = SCHEMAS["samples"]
EMPTY = {name: {"str": "", "int64": 1, "float64": math.nan, "bool": False}[kind] for name, (kind, _) in COLUMNS.items()}
Metrics = Callable[[Cell], dict[str, float]]


def samples_of(raw: Path, metrics: Metrics) -> pd.DataFrame:
    """Three samples of each cell of a campaign of which `metrics` has some, 1 % apart."""
    cluster, rows = load_cluster(raw / "cluster.yaml"), []
    for cell in [each.cell for each in expand(load_campaign(raw / "campaign.yaml"), cluster) if not each.exclusion]:
        backing = cluster.backings.get(cell.layout.backing)
        every = {name: getattr(cell, name, getattr(cell.layout, name, None)) for name in EMPTY}
        row = EMPTY | {name: value for name, value in every.items() if name != "options" and value is not None}
        row |= {"layout": cell.layout.name, "kind": backing.kind if backing else cell.layout.backing}
        row |= {"cell_id": cell.id, "status": "valid", "scale": cell.model.scale, "gluster_version": "10.3"}
        row |= {"clients": cell.clients or len(cluster.clients), "disks": cell.layout.bricks if backing else 0}
        for number, part in enumerate((0.99, 1.0, 1.01), start=1):
            found = {name: value * part for name, value in metrics(cell).items()}
            rows.append(row | {"sample": number} | found | {WHOLE[name]: found[name] for name in WHOLE.keys() & found})
    return as_schema(pd.DataFrame(rows), "samples")


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notebook: str, metrics: Metrics, *campaigns: str) -> Path:
    """A notebook on campaigns by the names of their files in the study's runbook; returns where its figures are."""
    runbook = PROJECT / "runbooks" / {"91-glusterfs-20": "glusterfs-2.0", "97-azure": "azure"}[notebook]
    made: dict[str, SimpleNamespace] = {}
    monkeypatch.setattr(tables, "load", lambda raw, *_: SimpleNamespace(of=lambda _: made[Path(raw).name]))
    monkeypatch.chdir(PROJECT)
    for name in campaigns:
        (raw := tmp_path / name).mkdir()
        cluster = yaml.safe_load((runbook / f"cluster{'-native' * ('native' in name)}.yaml").read_text())
        if name == "testbed":
            models = {model: {"scale": 20} for model in ("large-file", "medium-file")}
            cluster |= {"testbed": {"name": "t", "state": "/t"}, "scale_models": models}
        (raw / "cluster.yaml").write_text(yaml.safe_dump(cluster))
        (raw / "campaign.yaml").write_text((runbook / f"{name}.yaml").read_text())
        list_files(raw, [raw])
        made[name] = SimpleNamespace(samples=samples_of(raw, metrics))
    raws = [f"{tmp_path}/{name}" for name in campaigns]
    given = {"figures": str(tmp_path), "campaign": raws[0], "campaigns": ", ".join(raws), "format": "csv"}
    names: dict[str, object] = {}
    for cell in nbformat.read(PROJECT / "notebooks" / f"{notebook}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, cell.id, "exec"), names)
            names |= given if "parameters" in cell.metadata.get("tags", []) else {}
    return tmp_path


def loops(cell: Cell) -> dict[str, float]:
    return {"throughput_bytes_per_s": 120 * 2**20 / cell.model.scale, "files_per_s": 120 / cell.model.scale}


def test_tables_come_out_as_printed_and_today_stands_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[float] = []
    monkeypatch.setattr(marks, "stated", lambda _axes, x, _y, **_: ticks.append(x))
    made = run(tmp_path, monkeypatch, "91-glusterfs-20", loops, "testbed")
    # rates; by 2^20 bytes cut off, neither, rounded; by 10^6 neither
    assert pd.read_csv(made / "extra-glusterfs20-megabytes.csv").iloc[:, 1:6].sum().tolist() == [67, 6, 1, 60, 67]
    created = pd.read_csv(made / "glusterfs20-g5-files-created-as-printed.csv")
    assert created["Unified GlusterFS"][0] == "19,122 files (31.9MB/s), printed 31.2"
    # at a twentieth of what is published, first the local disk's first test
    assert ticks[0] == pytest.approx(1024e6 / 6.390 / 2**20 / 20)
    assert pd.read_csv(made / "glusterfs20-g2-write-64kb.csv")["n"].tolist() == [0, 0, 0, 3, 3]
    row = pd.read_csv(made / "extra-glusterfs20-today.csv").iloc[11]
    assert (row["n"], row["ratio"], row["share_published"]) == pytest.approx((3, 7.0665, 0.14246), rel=1e-4)
    assert "no scale slows" in (made / "glusterfs20-g1-write-1kb.json").read_text()


def test_campaigns_of_other_systems_are_drawn_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(tmp_path, monkeypatch, "91-glusterfs-20", loops, "campaign", "campaign-nfs")
    drawn = pd.read_csv(made / "glusterfs20-g1-write-1kb.csv")
    assert drawn["n"].tolist() == [0, 0, 3, 3, 3]
    assert drawn["campaign"].tolist()[2:] == ["campaign-nfs", "campaign", "campaign"]


@pytest.mark.parametrize("many", [9.0, 3.0])
def test_a_crossing_needs_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: float) -> None:
    def metrics(cell: Cell) -> dict[str, float]:
        files = 4.0 if cell.layout.type == "other" else 2.0 if cell.workers <= 8 else many
        return {"files_per_s": files, "operations_per_s": 31.0 * cell.workers}

    made = run(tmp_path, monkeypatch, "97-azure", metrics, "campaign", "campaign-native")
    passes = "replicate 2x2, RAID 0 passes the native file system between 8 and 12 threads"
    assert (passes in (made / "azure-a2-creates-by-threads.json").read_text()) is (many > 4)
    assert set(pd.read_csv(made / "azure-a1-random-reads.csv")["campaign"]) == {"campaign-native"}


def test_a_link_is_held_against_the_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = Rates("medium-file", 20, False, "link", "client", "send", 3, {"client01 to server01": 4e6})
    found = SimpleNamespace(name="base", results=(rates,), limits=lambda *_, **__: None)
    monkeypatch.setattr(Baseline, "of", lambda *_: found)
    made = run(tmp_path, monkeypatch, "97-azure", lambda _: {"files_per_s": 0.1}, "testbed")
    assert pd.read_csv(made / "azure-a3-link.csv")["mbit_per_s"].tolist() == [600, 700, 650, 640, 640, 640]
    assert "waits for no fixed time" in (made / "azure-a1-random-reads.json").read_text()
    assert pd.read_csv(made / "extra-azure-growth.csv")["share_of_line"].min() == 1 / 16
