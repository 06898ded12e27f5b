"""A small campaign of real tool output, to be damaged by tests."""

import json
import lzma
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from glusterlab.run.validity import judge
from glusterlab.spec.cell import Cell, Layout
from glusterlab.spec.cluster import ScaleModel
from glusterlab.store.campaign import RawStore, Sample, SampleWriter, Window
from glusterlab.store.files import dump_json, file_digest
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.store.records import BrickHealth, CommandRecord, DropCaches, Health
from tests.packed import make_plain

DATA = Path(__file__).parents[1] / "data"
SERVERS = ("server01", "server02")
CLIENTS = ("client01", "client02", "client03")
START = 1_795_170_000.0
END = START + 20


def make_cell(operation: str = "write", workers: int = 6, tool: str = "iozone") -> Cell:
    iozone = tool == "iozone"
    layout = Layout(name="mirror", type="replicate", subvolumes=1, replica=2, backing="raid6")
    return Cell(
        layout=layout,
        access="native",
        tool=tool,
        operation=operation,
        file_size_bytes=2 << 20 if iozone else 32 << 10,
        nominal_file_size_bytes=400 << 20 if iozone else 32 << 10,
        record_size_bytes=512 << 10 if iozone else None,
        files_per_worker=1 if iozone else 200,
        workers=workers,
        model=ScaleModel(name="large-file", scale=200),
    )


def make_health(moment: str = "before") -> Health:
    hosts = (*SERVERS, *CLIENTS)
    dropped = dict.fromkeys(hosts, DropCaches(before=4, after=6)) if moment == "before" else {}
    return Health(
        peers=dict.fromkeys(SERVERS, True),
        bricks=[BrickHealth(host=server, path="/bricks/b1", online=True) for server in SERVERS],
        heal_pending=0,
        rebalance=False,
        clock_offset_s=dict.fromkeys(hosts, 0.01),
        drop_caches=dropped,
    )


def sadf_text(host: str, start: float = START, end: float = END) -> str:
    """What sadf prints for records of 2 s over a window, with constant values."""
    blocks = {
        "CPU;%user;%nice;%system;%iowait;%steal;%idle": "-1;10.00;0.00;5.00;1.00;0.00;84.00",
        "runq-sz;plist-sz;ldavg-1;ldavg-5;ldavg-15;blocked": "2;99;1.50;1.00;0.50;3",
        "kbmemfree;kbavail;kbmemused;%memused;kbbuffers;kbcached;kbdirty": "100;200;300;60.0;10;20;5",
        "IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s;%ifutil": "eth0;10.00;20.00;1000.00;2000.00;12.50",
    }
    lines = []
    for header, values in blocks.items():
        lines.append(f"# hostname;interval;timestamp;{header}")
        lines += [f"{host};2;{time};{values}" for time in range(int(start), int(end) + 1, 2)]
    return "\n".join(lines) + "\n"


def began(writer: SampleWriter) -> float:
    """When a sample was measured: after all that its campaign has."""
    return START + 100 * len(list(writer.folder.parents[1].glob("*/sample-*")))


def fill(writer: SampleWriter, cell: Cell) -> None:
    # no two results are the same to the byte
    blank = b"\n" * writer.number
    if cell.tool == "iozone":
        report = (DATA / "iozone" / f"cluster-{cell.operation}.txt").read_bytes() + blank
        lines = [f"{CLIENTS[n % 3]} /mnt/v/d/w{n + 1:02d} iozone\n" for n in range(cell.workers)]
        fill_around(writer, cell, {"stdout.txt": report, "clients": "".join(lines)})
    else:
        folder = DATA / "smallfile" / cell.operation
        files = {name: (folder / name).read_bytes() + blank for name in ("stdout.txt", "output.json")}
        fill_around(writer, cell, files)


def fill_around(writer: SampleWriter, cell: Cell, workload: Mapping[str, str | bytes]) -> None:
    """What a tool wrote, and evidence around it that holds nothing against the sample."""
    start = began(writer)
    end = start + END - START
    record = CommandRecord(argv=[cell.tool], host="client01", start=start, end=end, exit_code=0, deadline_s=600)
    writer.write("workload/command.json", dump_json(record.model_dump(mode="json")))
    for name, data in workload.items():
        writer.write(f"workload/{name}", data)
    writer.write("workload/stderr.txt", "")
    for host in (*SERVERS, *CLIENTS):
        writer.write(f"telemetry/{host}.csv.xz", lzma.compress(sadf_text(host, start, end).encode()))
    for moment in ("before", "after"):
        writer.write(f"gluster/{moment}/health.json", dump_json(make_health(moment).model_dump(mode="json")))
    writer.log("client01", cell.tool, start, end, 0)


def finish(writer: SampleWriter, cell: Cell) -> Sample:
    verdict = judge(writer.folder, cell, SERVERS, CLIENTS)
    return writer.finish(
        verdict.reasons,
        window=Window(start=began(writer), end=began(writer) + END - START),
        phases={"workload": END - START},
        exit_code=0,
        disks=24,
        servers=SERVERS,
        clients=CLIENTS,
    )


def add_sample(store: RawStore, cell: Cell, repeat: int | None = None, *, warmup: bool = False) -> Sample:
    """Store a valid sample: the next repeat of its cell, unless one is named."""
    if repeat is None:
        repeat = 1 + sum(sample.warmup == warmup for sample in store.samples(cell.id))
    place = {"repeat": repeat, "round": 0 if warmup else repeat, "order": repeat, "attempt": 1}
    with store.begin_sample(cell, **place, warmup=warmup) as writer:
        fill(writer, cell)
        return finish(writer, cell)


CLUSTER_YAML = """\
schema_version: 1
name: small
servers: [{name: server01}, {name: server02}]
clients: [{name: client01}]
hardware:
  {disks_per_server: 12, disk_write: 200 MB/s, disk_read: 200 MB/s, server_link: 20 Gbit/s, client_link: 10 Gbit/s}
server_models: {standard: {model: A server, disks: 12}}
backings: {raid6: {kind: raid6, disks_per_brick: 12, bricks: [/bricks/a01], server_model: standard}}
"""


def make_store(path: Path) -> RawStore:
    facts = {name: {"tools": {"gluster": "10.3"}} for name in SERVERS}
    return RawStore.create(
        path, campaign_yaml="schema_version: 1\n", cluster_yaml=CLUSTER_YAML, environment={"hosts": facts}
    )


def edit_json(path: Path, **values: object) -> None:
    path.write_text(dump_json({**json.loads(path.read_text()), **values}))


def relist(root: Path, name: str) -> None:
    """What someone does who edits a file and its line in the manifest."""
    digests = Manifest.read(root).digests
    (root / MANIFEST).write_text(Manifest({**digests, name: file_digest(root / name)}).text)


def begin(store: RawStore) -> SampleWriter:
    """A sample that is being written."""
    return store.begin_sample(make_cell(), repeat=1, round=1, order=1, attempt=1)


def files(folder: Path) -> dict[str, bytes]:
    """All but locks and what was not finished."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in found.items() if not re.search(r"(^|/)\.", str(name))}


@pytest.fixture(scope="session")
def _measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("measured") / "raw" / "small"
    path.parent.mkdir()
    store = make_store(path)
    for cell in (make_cell("write"), make_cell("read"), make_cell("create", 2, "smallfile")):
        for repeat in (1, 2):
            add_sample(store, cell, repeat)
    return path


@pytest.fixture
def campaign(_measured: Path, tmp_path: Path) -> Path:
    """A copy of a campaign of three cells with two samples each, none of them packed: tests change their files."""
    path = Path(shutil.copytree(_measured, tmp_path / "raw" / "small"))
    make_plain(path)
    return path


@pytest.fixture
def packed(_measured: Path, tmp_path: Path) -> Path:
    """The same campaign with packed evidence, as it is measured today."""
    return Path(shutil.copytree(_measured, tmp_path / "packed" / "small"))


@pytest.fixture
def new_store(tmp_path: Path) -> RawStore:
    (tmp_path / "raw").mkdir()
    return make_store(tmp_path / "raw" / "small")
