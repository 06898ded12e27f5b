"""What a baseline measures: each backing's disks alone and together, and the links of all hosts, by scale model."""

import math
import re
from typing import Any

from glusterlab.errors import UsageError
from glusterlab.spec.campaign import BaselineSpec, Campaign, LayoutSpec, WorkloadSpec
from glusterlab.spec.cell import Cell, Layout
from glusterlab.spec.cluster import REAL_HARDWARE, Backing, Cluster, ScaleModel
from glusterlab.tools import host_tools
from glusterlab.tools.iperf3 import BUFFER_BYTES

NETWORK = "network"

RECORD_BYTES = 4 << 20

STREAM_BYTES, STREAM_DEPTHS = 1 << 20, (1, 4)
RANDOM_BYTES, RANDOM_DEPTHS = 4 << 10, (1, 4, 16, 32)

_LEAST_RECORD_BYTES = 64 << 10
_RECORDS = 16

_ROUND_MARGIN_S = 30.0


def baseline_name(cluster: Cluster) -> str:
    """Folder of a cluster's baseline below raw/."""
    words = re.sub(r"[^a-z0-9]+", "-", cluster.name.lower()).strip("-")
    return f"{words[:50].rstrip('-')}-baseline"


def baseline_campaign(cluster: Cluster, spec: BaselineSpec, *, name: str | None = None, repeats: int = 3) -> Campaign:
    """The campaign of a baseline; `UsageError` when there is nothing to measure."""
    cells = expand_baseline(cluster, spec)
    if not cells:
        raise UsageError(f"cluster '{cluster.name}' has nothing that a baseline of this kind could measure")
    models = tuple(dict.fromkeys(cell.model.name for cell in cells)) if cluster.is_testbed else None
    layouts = {cell.layout.name: cell.layout for cell in cells}
    workloads = []
    for tool in dict.fromkeys(cell.tool for cell in cells):
        own = [cell for cell in cells if cell.tool == tool]
        records = sorted({cell.record_size_bytes for cell in own if cell.record_size_bytes})
        workloads.append(
            WorkloadSpec(
                tool=(tool,),
                operations=tuple(dict.fromkeys(cell.operation for cell in own)),
                file_size=tuple(sorted({cell.file_size_bytes for cell in own})),
                record_size=tuple(records),
                model=models,
                workers=tuple(sorted({cell.workers for cell in own})),
            )
        )
    rounds = len(cluster.hosts) - 1 + len(cluster.hosts) % 2
    longest = max(spec.seconds * rounds, max(expected_s(cell, cluster) for cell in cells) * 10)
    return Campaign(
        schema_version=1,
        name=name or baseline_name(cluster),
        origin="baseline",
        study="baseline",
        title=f"Baseline of {cluster.name}",
        seed=1,
        repeats=repeats,
        layouts=tuple(
            LayoutSpec(name=layout.name, type="other", geometry=("1",), backing=(layout.backing,))
            for layout in layouts.values()
        ),
        access=("none",),
        workloads=tuple(workloads),
        workers=tuple(sorted({cell.workers for cell in cells})),
        deadline=math.ceil(longest + rounds * _ROUND_MARGIN_S),
        baseline=spec,
    )


def expand_baseline(cluster: Cluster, spec: BaselineSpec) -> list[Cell]:
    """The cells of a stored or new baseline, in the order in which they are shown."""
    models = [cluster.scale_model(name) for name in cluster.scale_models] if cluster.is_testbed else [REAL_HARDWARE]
    cells = []
    for model in models:
        if spec.disks and not model.heads:
            for name, backing in cluster.backings.items():
                cells += _disk_cells(cluster, spec, model, name, backing)
        if spec.network:
            cells += _link_cells(cluster, spec, model)
    headed = [model for model in models if model.heads]
    if spec.disks and headed:
        # a head is the same in all models; at the smallest scale most requests fit into the time
        cells += _head_cells(cluster, spec, min(headed, key=lambda model: model.scale))
    return cells


def _cell(place: str, size: int, **facts: Any) -> Cell:
    """A cell of bricks or links alone, without a volume: its files and records are of one size unless it says more."""
    sizes = dict.fromkeys(("file_size_bytes", "nominal_file_size_bytes", "record_size_bytes"), size)
    layout = Layout(name=place, type="other", subvolumes=1, backing=place)
    return Cell(layout=layout, access="none", **(sizes | facts))


def _head_cells(cluster: Cluster, spec: BaselineSpec, model: ScaleModel) -> list[Cell]:
    """Requests to one disk and to one array, by their size, order and number at a time.

    Of one server alone where requests are many (streams, a controller's cache): one machine serves all heads.
    """
    spinning = [(name, backing) for name, backing in cluster.backings.items() if backing.kind != "nvme"]
    first = {backing.disks_per_brick > 1: name for name, backing in reversed(spinning)}
    cells = []
    for array, name in sorted(first.items()):
        for operation in ("read", "write", "random-read", "random-write"):
            cached = array and operation == "random-write"
            few = cached or not operation.startswith("random")
            size = RANDOM_BYTES if operation.startswith("random") else STREAM_BYTES
            for depth in (1,) if cached else STREAM_DEPTHS if few else RANDOM_DEPTHS:
                on_medium = ("--sync=dsync",) if operation == "random-write" and not array else ()
                cells.append(
                    _cell(
                        name,
                        size,  # of requests until the time is over: no file is written
                        tool="fio-local",
                        operation=operation,
                        workers=1 if few else len(cluster.servers),
                        model=model,
                        options=(f"--iodepth={depth}", *on_medium),
                        runtime_s=spec.seconds * (1 if few else 2),
                    )
                )
    return cells


def _disk_cells(cluster: Cluster, spec: BaselineSpec, model: ScaleModel, name: str, backing: Backing) -> list[Cell]:
    record, size = _sizes(spec, cluster.hardware.brick_rate(backing, "write") / model.scale)
    return [
        _cell(
            name,
            size,
            tool="iozone-local",
            operation=operation,
            nominal_file_size_bytes=round(size * model.scale),
            record_size_bytes=record,
            workers=len(cluster.servers) * bricks,
            model=model,
        )
        for bricks in sorted({1, len(backing.bricks)})
        for operation in ("write", "read")
    ]


def _sizes(spec: BaselineSpec, rate: float) -> tuple[int, int]:
    """As much as a brick takes in the time, in whole records, of 4 MiB if there are enough."""
    wanted = spec.file_size or spec.seconds * rate
    record = RECORD_BYTES
    while record > _LEAST_RECORD_BYTES and wanted < _RECORDS * record:
        record //= 2
    return record, max(1, round(wanted / record)) * record


def _link_cells(cluster: Cluster, spec: BaselineSpec, model: ScaleModel) -> list[Cell]:
    hosts = len(cluster.hosts)
    return [
        _cell(
            NETWORK,
            BUFFER_BYTES,  # no file is sent, but one buffer over and over
            tool="iperf3",
            operation=operation,
            workers=hosts * (hosts - 1) // 2,
            model=model,
            options=("-t", str(max(1, round(spec.seconds)))),
        )
        for operation in ("send", "receive")
    ]


def expected_s(cell: Cell, cluster: Cluster) -> float:
    """Seconds of the measured part, at the rates that the cluster file states."""
    tool = host_tools()[cell.tool]
    full = 0.0 if tool.of_links else cluster.hardware.brick_rate(cluster.backings[cell.layout.backing], "write")
    return tool.work_s(cell, len(cluster.hosts), full / cell.model.scale)
