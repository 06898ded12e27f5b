"""Notebooks that wait for campaigns, on samples made up of what runbooks plan: no pool gave them, none is published."""

import json
import math
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pandas as pd
import pytest
from matplotlib.figure import Figure

from glusterlab.analysis.baselines import Rates
from glusterlab.analysis.claims import judge
from glusterlab.analysis.select import DIRECTIONS
from glusterlab.figures import save
from glusterlab.plots import marks
from glusterlab.run.plan import build_plan
from glusterlab.sections.baseline import Baseline
from glusterlab.spec import load_campaign, load_cluster
from glusterlab.spec import yaml as spec_files
from glusterlab.spec.cell import Cell
from glusterlab.spec.cluster import Cluster
from glusterlab.spec.studies import load_study
from glusterlab.tables import build as tables
from glusterlab.tables.schema import SCHEMAS, as_schema
from glusterlab.testbed.disks import Disk
from glusterlab.testbed.options import TestbedOptions
from glusterlab.testbed.state import State, cluster_specification, local_specification
from glusterlab.tools import volume_tools
from glusterlab.tools.records import WHOLE
from tests.conftest import build_telemetry
from tests.test_studies import PROJECT, PUBLISHED, made_by_notebooks, outputs_of

RUNBOOKS = PROJECT / "runbooks"
TESTBEDS: dict[str, dict[str, Any]] = {
    "azure/testbed": {"hardware": "cluster", "servers": 4, "clients": 4, "disks": 0, "medium_file_scale": 20}
    | {"more_models": (("full-speed", 1, False),), "heads": ("full-speed", "medium-file")},
    "azure/testbed-native": {"hardware": "cluster", "servers": 1, "clients": 1, "disks": 0}
    | {"more_models": (("full-speed", 1, False),), "heads": ("full-speed", "medium-file")},
    "glusterfs-2.0/testbed": {"hardware": "cluster", "servers": 5, "clients": 3, "disks": 0, "scale": 20}
    | {"medium_file_scale": 20},
    "glusterfs-2.0/testbed-local": {"hardware": "cluster", "servers": 5, "clients": 3, "disks": 0, "scale": 20}
    | {"medium_file_scale": 20},
    "glusterfs-2.0/testbed-sata": {"hardware": "cluster", "servers": 1, "clients": 1, "disks": 1, "arrays": 0}
    | {"scale": 20, "medium_file_scale": 20},
    "rhgs-3.1/testbed-features": {"clients": 4, "disks": 0, "small_file_scale": 10, "heads": ("small-file",)},
    "rhgs-3.1/testbed-nfs": {"hardware": "cluster-nfs", "servers": 4, "clients": 6, "kernel_clients": 6, "disks": 0},
    "rhgs-3.1/testbed-raid6": {"hardware": "cluster-raid6", "servers": 4, "clients": 4, "kernel_clients": 4}
    | {"disks": 0},
    "rhgs-3.1/testbed-servers": {"hardware": "cluster-raid6", "servers": 4, "clients": 4, "kernel_clients": 4}
    | {"disks": 0},
    "summit-2017/testbed": {"small_file_scale": 102, "heads": ("small-file",)},
    "summit-2017/testbed-four": {"hardware": "cluster-four", "servers": 4, "clients": 4, "disks": 0},
    "testbed/heal": {"disks": 0},
    "testbed/streams": {"scale": 1200},
    "testbed/tiering": {"disks": 0, "nvme": 1},
    "testbed/nfs": {"kernel_clients": 12, "small_file_scale": 34, "medium_file_scale": 120}
    | {"heads": ("small-file", "medium-file")},
}
"""Options of `glusterlab testbed up` as the runbooks state them; other campaigns are planned on a runbook's cluster."""
SERVERS = {"nfs3": "gnfs", "nfs4": "ganesha.nfsd", "smb": "smbd"}
COLUMNS, SPREAD = SCHEMAS["samples"], (0.99, 1.0, 1.01, 0.98, 1.02, 1.0)
EMPTY = {name: {"str": "", "int64": 1, "float64": math.nan, "bool": False}[kind] for name, (kind, _) in COLUMNS.items()}
Made = Callable[[Cell, Cluster], dict[str, float]]


def made_up(cell: Cell, cluster: Cluster) -> dict[str, float]:
    """Rates by a plain rule: they grow with workers, up to a share of what a link of each server carries."""
    layout, scale = cell.layout, cell.model.scale
    full = len(cluster.servers) * cluster.hardware.server_link * 0.6 * (1 + 0.02 * len(layout.options)) / scale
    full /= layout.stored_per_byte if DIRECTIONS.get(cell.operation) == "write" else 1.0
    full *= (2 if cell.caches == "hot" or layout.hot else 1) * (0.01 if "random" in cell.operation else 1.0)
    rate = full * (1.0 if cell.access == "native" else 0.8) * cell.workers / (cell.workers + 8)
    rate, record = min(rate, cell.workers * (cell.rate_bytes_per_s or rate)), cell.record_size_bytes or 1
    of_files = {"files_per_s": rate / (5e5 + cell.file_size_bytes)}
    latencies = {f"latency_{name}_s": n * record * cell.workers / full for name, n in (("mean", 1), ("p95", 3))}
    rate *= (0.9 if cell.event else 1.0) * (0.55 if "bitrot" in layout.features and "random" in cell.operation else 1.0)
    rates = {"throughput_bytes_per_s": rate, "operations_per_s": rate / record, **latencies}
    streams = {"streams_held": round(rate / cell.rate_bytes_per_s)} if cell.rate_bytes_per_s else {}
    return of_files if cell.tool in ("smallfile", "file-loop") else rates | streams


def samples_of(raw: Path, made: Made) -> pd.DataFrame:
    """The samples table of a campaign as if all of its plan had been run."""
    pool, rows = load_cluster(raw / "cluster.yaml"), list[dict[str, Any]]()
    for planned in build_plan(load_campaign(raw / "campaign.yaml"), pool, ready=volume_tools()).samples:
        cell, layout, model = planned.cell, planned.cell.layout, planned.cell.model
        backing, hot = pool.backings.get(layout.backing), layout.hot
        known = {n: getattr(of, n, None) for n in COLUMNS for of in (planned, cell, layout) if hasattr(of, n)}
        row = EMPTY | {name: value for name, value in known.items() if value is not None} | {"sample": planned.repeat}
        row |= {"cell_id": cell.id, "layout": layout.name, "status": "valid", "gluster_version": "10.3"}
        row |= {"options": "; ".join(f"{name}={value}" for name, value in layout.options), "scale": model.scale}
        row |= {"features": "; ".join(layout.features), "event": "", "served_by": SERVERS.get(cell.access, "")}
        if ("nfs.disable", "on") in layout.options:
            row |= {"served_by": "ganesha.nfsd"}
        if event := cell.event:
            row |= {"event": event.do, "event_throttle": event.throttle * bool(event.to), "event_s": 30.0}
            row |= {"event_files": 5.0}
        row |= {"heads": model.heads, "operations_limited": model.operations, "elapsed_s": 30.0}
        row |= {"kind": backing.kind if backing else layout.backing, "servers": len(pool.servers)}
        row |= {"server_model": (backing and backing.server_model) or "", "clients": cell.clients or len(pool.clients)}
        row |= {"disks": layout.bricks * backing.disks_per_brick if backing else 0, "hot": hot.geometry if hot else ""}
        row |= {"hot_kind": hot.backing, "promoted_files": 50.0 * (layout.name == "promoted")} if hot else {}
        row |= {f"{of}{end}_s": 100.0 * len(rows) + s for of in ("", "part_") for end, s in (("start", 0), ("end", 30))}
        found = {name: value * SPREAD[(planned.repeat - 1) % len(SPREAD)] for name, value in made(cell, pool).items()}
        rows.append(row | found | {WHOLE[name]: found[name] for name in WHOLE.keys() & found})
    return as_schema(pd.DataFrame(rows), "samples")


def make(folder: Path, name: str) -> Path:
    """A folder as of a campaign of a runbook, without its samples."""
    runbook, _, campaign = name.partition("/")
    (raw := folder / campaign).mkdir()
    options = TESTBEDS.get(name, {"hardware": f"cluster{'-native' * ('native' in name)}"})
    stated = RUNBOOKS / runbook / f"{options.get('hardware')}.yaml"
    if name in TESTBEDS:
        hardware = load_cluster(stated).hardware.model_dump(mode="json") if "hardware" in options else None
        state = State(raw, TestbedOptions(**options | {"hardware": hardware}))
        state.disks = [Disk("server01", "array", "/dev/loop0", "7:0", "/bricks/raid6/a01")]
        specification = (local_specification if name.endswith(("native", "local", "sata")) else cluster_specification)(
            state
        )
        (raw / "ssh_config").touch()
    (raw / "cluster.yaml").write_text(json.dumps(specification) if name in TESTBEDS else stated.read_text())
    (raw / "campaign.yaml").write_text((RUNBOOKS / f"{name}.yaml").read_text())
    (raw / "MANIFEST.sha256").touch()
    (raw / "environment.json").write_text('{"schema_version": 1, "hosts": {}}')
    return raw


def run(folder: Path, notebooks: str, *campaigns: str, made: Made = made_up, formats: str = "csv") -> dict[str, Path]:
    """Run notebooks on campaigns by their names in runbooks/, the first or all together; CSV files by their names."""
    raws = [make(folder, name) for name in campaigns]
    samples = {raw.name: samples_of(raw, made) for raw in raws}
    figures = folder / "figures" / raws[0].name

    def of(raw: Path, tools: tuple[str, ...]) -> SimpleNamespace:
        every = samples[raw.name]

        def telemetry_of(cell_id: list[str], **_: object) -> pd.DataFrame:
            found = build_telemetry(every[every["cell_id"].isin([*cell_id, every["cell_id"][0]])])
            return found[found["cell_id"].isin(cell_id)]

        return SimpleNamespace(samples=every[every["tool"].isin(tools)], telemetry_of=telemetry_of)

    given = {"campaign": str(raws[0]), "campaigns": ", ".join(map(str, raws)), "figures": str(figures)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "load", lambda raw, *_: SimpleNamespace(of=partial(of, Path(raw))))
        patched.chdir(PROJECT)
        for notebook in notebooks.split():
            names: dict[str, object] = {}
            for cell in nbformat.read(PROJECT / "notebooks" / f"{notebook}.ipynb", as_version=4).cells:
                if cell.cell_type == "code":
                    exec(compile(cell.source, cell.id, "exec"), names)
                    names |= given | {"format": formats} if "parameters" in cell.metadata.get("tags", []) else {}
    return {path.stem: path for path in figures.glob("*.csv")}


@pytest.fixture(autouse=True, scope="module")
def cheap() -> Iterator[None]:
    """No pictures, each YAML file read once, claims judged by one of two views that are alike: most of the time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spec_files, "load_yaml", cache(spec_files.load_yaml))
        patched.setattr(judge, "judge_both_views", judge.judge)
        patched.setattr(save, "_settle", lambda _: None)
        patched.setattr(Figure, "savefig", lambda *_, **__: None)
        yield


def check(found: dict[str, Path], name: str, *notebooks: str, but: Collection[str] = ()) -> None:
    """All that notebooks name, `but` these, has rows; those of a study make all of its figures."""
    study = load_study(PUBLISHED / name)
    known = [outputs_of(PROJECT / "notebooks" / f"{each}.ipynb", study) for each in notebooks or study.notebooks]
    assert sorted({name for names in known for name in names} - found.keys()) == sorted(but)
    assert all(path.read_text().count("\n") > 1 for path in found.values())
    if not notebooks:
        assert {label for names in known for label in names.values()} - {""} == made_by_notebooks(study)


def loops(cell: Cell, _: Cluster) -> dict[str, float]:
    return {"throughput_bytes_per_s": 120 * 2**20 / cell.model.scale, "files_per_s": 120 / cell.model.scale}


def test_glusterfs_20_as_printed_and_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[float] = []
    monkeypatch.setattr(marks, "stated", lambda _axes, x, _y, **_: ticks.append(x))
    found = run(tmp_path, "91-glusterfs-20", "glusterfs-2.0/testbed", made=loops)
    # rates; by 2^20 bytes cut off, neither, rounded; by 10^6 neither
    assert pd.read_csv(found["extra-glusterfs20-megabytes"]).iloc[:, 1:6].sum().tolist() == [67, 6, 1, 60, 67]
    created = pd.read_csv(found["glusterfs20-g5-files-created-as-printed"])
    assert created["Unified GlusterFS"][0] == "19,122 files (31.9MB/s), printed 31.2"
    # at a twentieth of what is published, first the local disk's first test
    assert ticks[0] == pytest.approx(1024e6 / 6.390 / 2**20 / 20)
    assert pd.read_csv(found["glusterfs20-g2-write-64kb"])["n"].tolist() == [0, 0, 0, 3, 3]
    row = pd.read_csv(found["extra-glusterfs20-today"]).iloc[11]
    assert (row["n"], row["ratio"], row["share_published"]) == pytest.approx((3, 7.0665, 0.14246), rel=1e-4)
    assert "no scale slows" in (tmp_path / "figures/testbed/glusterfs20-g1-write-1kb.json").read_text()
    stress = pd.read_csv(found["extra-glusterfs20-stress-today"])
    assert stress[["workers", "load", "samples", "passed"]].to_numpy().tolist() == [
        [70, "--writers 10 --apart --no-sync", 2, 2],
        [75, "--writers 15 --no-sync", 2, 2],
    ]
    (tmp_path / "local").mkdir()
    campaigns = [f"glusterfs-2.0/testbed{which}" for which in ("", "-local", "-sata")]
    local = run(tmp_path / "local", "91-glusterfs-20", *campaigns, made=loops)
    assert pd.read_csv(local["glusterfs20-g2-write-64kb"])["n"].tolist() == [0, 3, 0, 3, 3]
    assert pd.read_csv(local["glusterfs20-g4-read-64kb"])["n"].tolist() == [3, 3, 0, 3, 3]
    # campaigns of other systems are drawn together
    together = run(tmp_path, "91-glusterfs-20", "glusterfs-2.0/campaign", "glusterfs-2.0/campaign-nfs", made=loops)
    drawn = pd.read_csv(together["glusterfs20-g1-write-1kb"])
    assert drawn["n"].tolist() == [0, 0, 3, 3, 3]
    assert drawn["campaign"].tolist()[2:] == ["campaign-nfs", "campaign", "campaign"]
    check(found | together, "glusterfs-2.0")


def test_azure_crosses_where_intervals_do_and_has_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(cell: Cell, _: Cluster) -> dict[str, float]:
        many = {"replicate": 9.0, "distribute": 3.0, "other": 4.0}[cell.layout.type]
        files = min(many, many if cell.layout.type == "other" or cell.workers > 8 else 2.0)
        return {"files_per_s": files, "operations_per_s": 31.0 * cell.workers, "latency_mean_s": 1 / 31}

    together = run(tmp_path, "97-azure", "azure/campaign", "azure/campaign-native", made=made)
    creates = (tmp_path / "figures/campaign/azure-a2-creates-by-threads.json").read_text()
    assert "eplicate 2x2, RAID 0 passes the native file system between 8 and 12 threads" in creates
    assert "istribute 4, RAID 0 passes" not in creates
    assert set(pd.read_csv(together["azure-a1-random-reads"])["campaign"]) == {"campaign-native"}
    rates = Rates("medium-file", 20, False, "link", "client", "send", 3, {"client01 to server01": 4e6})
    baseline = SimpleNamespace(name="base", results=(rates,), limits=lambda *_, **__: None)
    monkeypatch.setattr(Baseline, "of", lambda *_: baseline)
    found = run(tmp_path, "97-azure", "azure/testbed", made=lambda *_: {"files_per_s": 0.1})
    assert pd.read_csv(found["azure-a3-link"])["mbit_per_s"].tolist() == [600, 700, 650, 640, 640, 640]
    assert "no valid samples of random reads" in (tmp_path / "figures/testbed/azure-a1-random-reads.json").read_text()
    assert pd.read_csv(found["extra-azure-growth"])["share_of_line"].min() == 1 / 16
    modelled = run(tmp_path, "97-azure", "azure/testbed-native", made=made)
    assert set(pd.read_csv(modelled["azure-a1-random-reads"])["scale"]) == {1}
    check(found | together, "azure")


def test_summit_2017_has_each_figure_of_some_campaign_of_its_runbook(tmp_path: Path) -> None:
    notebooks, found = "93-summit-small-files 94-summit-large-files", dict[str, Path]()
    for campaign in ("campaign", "campaign-streams", "testbed", "testbed-four"):
        found |= run(tmp_path, notebooks, f"summit-2017/{campaign}")
    check(found, "summit-2017")
    rule = pd.read_csv(found["summit-s15-rule-of-thumb"]).set_index("operation")["published"]
    assert rule.to_dict() == pytest.approx({"write": 1224e6 / 2 * 0.7, "read": 1107e6 * 0.6})  # by its arrays
    gains = pd.read_csv(found["extra-summit-small-files-gain-of-tuning"]).query("workers == 32")
    assert set(gains["panel"]) == {"ls-l, 32 workers"}


def test_rhgs_31_has_each_figure_of_some_campaign_of_its_runbook(tmp_path: Path) -> None:
    notebooks, found = "95-rhgs-small-files 96-rhgs-large-files", dict[str, Path]()
    for campaign in ("testbed-raid6", "testbed-nfs", "testbed-features", "campaign"):
        found |= run(tmp_path, notebooks, f"rhgs-3.1/{campaign}")
    # with a feature and without, and beside a rebalance and without, at one and the same work
    cost = pd.read_csv(found["rhgs31-r16-bitrot-ratios"]).set_index("panel")["ratio"]
    assert cost.to_dict() == pytest.approx({"random-read": 1 / 0.55, "write": 1.0, "read": 1.0})
    assert set(pd.read_csv(found["rhgs31-r19-quota-ratios"])["name"]) == {"plain / quota"}
    (slower,) = pd.read_csv(found["rhgs31-r18-rebalance-ratios"]).to_dict("records")
    assert (slower["name"], slower["ratio"]) == ("plain / rebalance, normal", pytest.approx(1 / 0.9))
    assert pd.read_csv(found["rhgs31-r17-rebalance-time"])[["series", "mean"]].values.tolist() == [
        ["throttle normal, fio", 30]
    ]
    assert set(pd.read_csv(found["rhgs31-r2-large-files"])["layout"]) == {"replicate-2x2"}
    both = run(tmp_path, notebooks, "rhgs-3.1/testbed-servers")
    for name in ("rhgs31-r12-large-files-by-access", "rhgs31-r15-untar"):
        assert set(pd.read_csv(both[name])["series"]) == {"nfs3 by gnfs", "nfs3 by ganesha.nfsd"}
    ways = pd.read_csv(both["rhgs31-r12-large-files-by-access-ratios"])
    assert set(zip(ways["panel"], ways["name"], strict=True)) == {
        (operation, "ganesha.nfsd / gnfs") for operation in ("write", "read")
    }
    # fio by SMB is in the plan of campaign-raid6 alone
    check(found, "rhgs-3.1", but={"rhgs31-r20-smb-random"})
    sequential = pd.read_csv(found["rhgs31-r6-ec-replica-sequential"]).query("type == 'replicate'")
    rates: Any = sequential.set_index("operation")
    assert set(rates.loc["write", "published_any"]) == {400e6}
    assert (set(rates.loc["read", "published"]), rates.loc["write", "published"].notna().any()) == ({1e9}, False)
    ratios: Any = pd.read_csv(found["rhgs31-r6-ec-replica-sequential-ratios"]).set_index(["panel", "name"])
    writes = ratios.loc[("write", "EC8+4 / Replica 3, 2 mounts"), ["ratio", "stated_low", "stated_high"]]
    assert writes.tolist() == pytest.approx([2, 1.02, 2.01], rel=0.05)


@pytest.mark.parametrize("campaign", ["streams", "tiering", "nfs", "heal"])
def test_campaigns_of_the_testbed_have_each_figure_of_their_notebook(tmp_path: Path, campaign: str) -> None:
    *_, notebook = load_campaign(RUNBOOKS / f"testbed/{campaign}.yaml").notebooks or ()
    check(found := run(tmp_path, notebook, f"testbed/{campaign}"), "supermicro-2017", notebook)
    if campaign == "tiering":  # nothing is published of a volume with a hot tier
        rates = pd.read_csv(found["fig30-4mb-hot-tier"]).query("published > 0 or published_any > 0")
        assert set(rates["layout"]) == {"no-tier"}
