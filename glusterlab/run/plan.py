"""The plan: which cells run, in which order, what cannot run and why, and what it will cost."""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from glusterlab.errors import UsageError, some
from glusterlab.hosts.access import AVAILABLE_ACCESS, lacking, volume_of
from glusterlab.run.baseline import expand_baseline, expected_s
from glusterlab.spec.campaign import BaselineSpec, Campaign, Repeats, expand, most_of, unknown
from glusterlab.spec.cell import Cell, Layout, event_problem, layout_problem, work_differences
from glusterlab.spec.cluster import REAL_HARDWARE, Cluster
from glusterlab.spec.fields import problem
from glusterlab.tools import host_tools, runnable, volume_tools
from glusterlab.tools.base import PoolRates, VolumeTool

STANDS_FOR_TOLERANCE = 0.05


@dataclass(frozen=True)
class PlannedSample:
    """One execution that is to be made; rounds of the warm-up come before and end with 0, `order` counts over all."""

    cell: Cell
    repeat: int
    round: int
    order: int
    warmup: bool = False


@dataclass(frozen=True)
class Plan:
    """What a campaign comes to: cells in the order of the file, samples in the order in which they run.

    `repeats` are the campaign's bounds, `own` the repeats of cells that have others, by id. Cells are `not_runnable` by
    what suite and cluster can do, `excluded` by the campaign's own rules.
    """

    cells: tuple[Cell, ...]
    samples: tuple[PlannedSample, ...]
    not_runnable: tuple[tuple[Cell, str], ...] = ()
    excluded: tuple[tuple[Cell, str], ...] = ()
    repeats: Repeats | None = None
    own: Mapping[str, Repeats | int] = field(default_factory=dict)

    def rule(self, cell_id: str) -> Repeats | None:
        """Bounds of a cell's repeats; None where they are a number."""
        found = self.own.get(cell_id, self.repeats)
        return found if isinstance(found, Repeats) else None

    @property
    def rules(self) -> Counter[Repeats]:
        """All bounds, with how many cells each has."""
        return Counter(rule for cell in self.cells if (rule := self.rule(cell.id)) is not None)

    @property
    def warmup(self) -> tuple[PlannedSample, ...]:
        return tuple(planned for planned in self.samples if planned.warmup)

    @property
    def counted(self) -> tuple[PlannedSample, ...]:
        return tuple(planned for planned in self.samples if not planned.warmup)

    @property
    def fewest(self) -> tuple[PlannedSample, ...]:
        least = {cell.id: rule.least for cell in self.cells if (rule := self.rule(cell.id)) is not None}
        return tuple(
            planned
            for planned in self.samples
            if planned.warmup or planned.repeat <= least.get(planned.cell.id, planned.repeat)
        )


class CellEstimate(NamedTuple):
    """Rough cost of one sample of a cell: seconds, and bytes of its files on bricks."""

    seconds: float
    bytes: int


@dataclass(frozen=True)
class Estimate:
    """Rough cost of a plan, each sample at its first attempt; `brick_bytes`: at most at a time."""

    cells: dict[str, CellEstimate] = field(default_factory=dict)
    seconds: float = 0.0
    fewest_seconds: float = 0.0
    brick_bytes: int = 0
    raw_bytes: int = 0


def check_campaign(campaign: Campaign) -> None:
    """Refuse tools, operations and options that there are not, with their place in the file."""
    known = volume_tools()
    for n, workload in enumerate(campaign.workloads):
        for tool in workload.tool:
            if tool not in known:
                raise problem(unknown("tool", tool, known), "workloads", n, "tool")
            refused = known[tool].refused(workload.options)
            if refused is not None:
                raise problem(refused[1], "workloads", n, "options", refused[0])
        operations = {name for tool in known.values() for name in tool.by_operation}
        for operation in workload.operations:
            if operation not in operations:
                raise problem(unknown("operation", operation, operations), "workloads", n, "operations")


def build_plan(
    campaign: Campaign,
    cluster: Cluster | None,
    *,
    ready: Collection[str] = (),
    refused: Mapping[Layout, str] = MappingProxyType({}),
) -> Plan:
    """Cells and samples of a campaign; without a cluster what only that can tell is left open, as of `ready` tools.

    `refused`: layouts that the pool itself has been found to refuse, and why.
    """
    if campaign.origin == "imported":
        raise UsageError(
            f"campaign '{campaign.name}' was imported: its cells are those of the files, and nothing in it can be"
            " planned or run; write a campaign.yaml of your own to measure"
        )
    if campaign.origin == "baseline":
        if cluster is None:
            raise UsageError(f"campaign '{campaign.name}' is a baseline: name its cluster, it follows from that")
        own = expand_baseline(cluster, campaign.baseline or BaselineSpec())
        return Plan(tuple(own), tuple(order_samples(own, campaign.seed, most_of(campaign.repeats))))
    cells: list[Cell] = []
    not_runnable: list[tuple[Cell, str]] = []
    excluded: list[tuple[Cell, str]] = []
    others: dict[str, Repeats | int] = {}
    for cell, exclusion, length, repeats in expand(campaign, cluster):
        if exclusion is not None:
            excluded.append((cell, exclusion))
            continue
        reason = _why_not(cell, cluster, ready) or _length_problem(cell, length, cluster) or refused.get(cell.layout)
        if reason is None:
            cells.append(cell)
            others |= {cell.id: repeats} if repeats != campaign.repeats else {}
        else:
            not_runnable.append((cell, reason))
    most = {cell_id: most_of(rule) for cell_id, rule in others.items()}
    ordered = order_samples(cells, campaign.seed, most_of(campaign.repeats), campaign.warmup, most)
    return Plan(
        cells=tuple(cells),
        samples=tuple(ordered),
        not_runnable=tuple(not_runnable),
        excluded=tuple(excluded),
        repeats=campaign.repeats if isinstance(campaign.repeats, Repeats) else None,
        own=others,
    )


def without(plan: Plan, cluster: Cluster, hosts: Mapping[str, Mapping[str, Any]]) -> Plan:
    """A plan without the cells whose access or tool hosts cannot do, by their facts in environment.json."""

    def lacks(cell: Cell) -> str | None:
        found = lacking(cluster, hosts, cell.layout.options).get(cell.access)
        return found or _tool_lacks(cell, cluster, hosts)

    left_out = {cell.id: (cell, why) for cell in plan.cells if (why := lacks(cell)) is not None}
    return replace(
        plan,
        cells=tuple(cell for cell in plan.cells if cell.id not in left_out),
        samples=tuple(planned for planned in plan.samples if planned.cell.id not in left_out),
        not_runnable=(*plan.not_runnable, *left_out.values()),
    )


def _tool_lacks(cell: Cell, cluster: Cluster, hosts: Mapping[str, Mapping[str, Any]]) -> str | None:
    tool = volume_tools().get(cell.tool)
    for program in () if tool is None else tool.programs:
        if "client" in program.roles and program.serves in ("", f"access {cell.access}"):
            names = [client.name for client in cluster.clients[: cell.clients]]
            if bare := [name for name in names if not hosts[name]["tools"].get(program.name)]:
                have = "has" if len(bare) == 1 else "have"
                return f"tool {cell.tool!r}: {some(bare)} {have} no {program.name} (package {program.package})"
    return None


def _needs_files(cell: Cell) -> bool:
    return runnable()[cell.tool].needs_files(cell.operation)


def _why_not(cell: Cell, cluster: Cluster | None, ready: Collection[str]) -> str | None:
    tool = volume_tools().get(cell.tool)
    if tool is None:
        return unknown("tool", cell.tool, volume_tools())
    if cell.operation not in tool.by_operation:
        return f"{cell.tool} has no operation {cell.operation!r}, it has {', '.join(tool.by_operation)}"
    refused = tool.refused(cell.options)
    if refused is not None:
        return refused[1]
    if cell.runtime_s is not None and not tool.takes_runtime:
        return f"{cell.tool} ends when its files are done: leave 'runtime' out"
    operation = tool.by_operation[cell.operation]
    if cell.caches == "hot" and (not operation.needs_files or operation.spends):
        return f"{cell.operation} has no files that a first pass could read: caches are cold"
    if cell.rate_bytes_per_s is not None and not tool.takes_rate:
        return f"{cell.tool} keeps to no rate: leave 'rate' out"
    found = _access_problem(cell, tool, cluster) or _event_problem(cell, tool)
    if found is not None or cluster is None:
        return found
    there = len(cluster.clients)
    return (
        (None if cell.tool in ready else tool.not_ready(cluster))
        or (None if cell.access == "existing" else layout_problem(cell.layout_after, cluster))
        or _model_problem(cell, cluster)
        or (f"it needs {cell.clients} clients, and the cluster has {there}" if (cell.clients or 0) > there else None)
        or tool.not_runnable(cell, cell.clients or there)
    )


def _event_problem(cell: Cell, tool: VolumeTool) -> str | None:
    if cell.event is None:
        return None
    if cell.access not in ("native", "gfapi"):
        return f"an event needs access native or gfapi, and the cell's is {cell.access!r}: leave 'event' out"
    if tool.most_probes(cell) > 1:
        return f"{cell.tool} takes several commands, and an event lies beside one: leave 'event' out"
    if cell.event.at_s is None and not tool.needs_files(cell.operation):
        return f"before {cell.operation} there are no files to move or to heal: state 'at', by when there are some"
    return event_problem(cell)


def _access_problem(cell: Cell, tool: VolumeTool, cluster: Cluster | None) -> str | None:
    if cell.access not in AVAILABLE_ACCESS:
        return (
            f"access {cell.access!r} is not available in this release of glusterlab, only {', '.join(AVAILABLE_ACCESS)}"
        )
    if cell.access == "gfapi" and not tool.takes_gfapi:
        able = ", ".join(name for name, each in volume_tools().items() if each.takes_gfapi)
        return f"{cell.tool} works on files of a mounted volume, and gfapi has no mount: of the tools {able} can do it"
    if cell.access != "native" and cell.mounts > 1:
        return (
            f"only access native has several mounts per client, and the cell's is {cell.access!r}: leave 'mounts' out"
        )
    if (cell.access == "existing") != (cell.layout.type == "other"):
        return f"access 'existing' and layout type 'other' go together, found {cell.access} and {cell.layout.type}"
    if cluster is None:
        return None
    clients = cell.clients or len(cluster.clients)
    if cell.workers < cell.mounts * clients and cell.mounts > 1:
        there = f"{cell.mounts} mounts on each of {clients} clients"
        return f"{there} need {cell.mounts * clients} workers at least, and the cell has {cell.workers}"
    if cell.access == "existing" and cluster.existing is None:
        return f"{cluster.name} names no directory for access 'existing': set 'existing: {{path: ...}}' in its file"
    return None


def _model_problem(cell: Cell, cluster: Cluster) -> str | None:
    model = cell.model
    if not cluster.is_testbed and model.name != REAL_HARDWARE.name:
        return f"scale model {model.name!r} needs a testbed, and {cluster.name} is real hardware: leave 'model' out"
    known = ", ".join(cluster.scale_models) or "none"
    if cluster.is_testbed and model.name == REAL_HARDWARE.name:
        return f"{cluster.name} is a testbed: name one of its scale models by 'model' ({known})"
    if cluster.is_testbed and model.name not in cluster.scale_models:
        return f"{cluster.name} has no scale model {model.name!r}, it has {known}"
    return None


def _length_problem(cell: Cell, length: float, cluster: Cluster | None) -> str | None:
    if cluster is None or cell.nominal_file_size_bytes == cell.file_size_bytes:
        return None
    ratio = cell.file_size_bytes * cell.model.scale / cell.nominal_file_size_bytes
    if abs(ratio / length - 1) <= STANDS_FOR_TOLERANCE:
        return None
    return (
        f"file_size x scale {cell.model.scale:g} is {ratio:.3g} of stands_for: expected {length:g} within "
        f"{STANDS_FOR_TOLERANCE:.0%}, change file_size or stands_for, or state 'length: {ratio:.3g}'"
    )


def unequal_work(cells: Iterable[Cell]) -> list[tuple[Cell, Cell, str]]:
    """Pairs of cells that differ in their layout or access, and do work that may not be compared; and in what.

    One pair for each tool, operation, size, number of workers and other side that has no cell of equal work.
    """
    groups: dict[tuple[object, ...], dict[tuple[object, ...], list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        key = (cell.tool, cell.operation, cell.nominal_file_size_bytes, cell.workers, cell.model, cell.options)
        groups[key][cell.layout, cell.access].append(cell)
    found = []
    for sides in groups.values():
        first, *others = sides.values()
        for other in others:
            differences = [(one, each, work_differences(one, each)) for one in first for each in other]
            if all(what for *_, what in differences):
                one, each, what = differences[0]
                found.append((one, each, "; ".join(what.values())))
    return found


def order_samples(
    cells: Iterable[Cell], seed: int, repeats: int, warmup: int = 0, own: Mapping[str, int] | None = None
) -> list[PlannedSample]:
    """Samples in interleaved rounds, so that drift over the night does not look like an effect.

    Layouts are shuffled in a round, accesses in a layout, datasets in an access; those of disks with heads come last,
    because it takes a restart of the volume to put disks behind them. In a dataset what makes the files comes first.
    The order within a round follows from the seed, the cells' ids and the round's number alone: more repeats do not
    change it. Cells with an event come last: each has a volume of its own.
    `own`: repeats of some cells by id.
    """
    most = own or {}
    layouts: dict[str, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    every = sorted(cells, key=lambda cell: cell.id)
    events = [cell for cell in every if cell.event is not None]
    for cell in (cell for cell in every if cell.event is None):
        layouts[cell.layout.model_dump_json(exclude={"name"})][runnable()[cell.tool].dataset(cell)].append(cell)
    samples: list[PlannedSample] = []
    for number in range(1 - warmup, max([repeats, *most.values()]) + 1):
        shuffler = random.Random(f"{seed}:{number}")
        blocks = sorted(layouts)
        shuffler.shuffle(blocks)
        turns: list[Cell] = []
        for block in blocks:
            datasets = sorted(layouts[block])
            shuffler.shuffle(datasets)
            accesses = sorted({layouts[block][dataset][0].access for dataset in datasets})
            if len(accesses) > 1:
                shuffler.shuffle(accesses)
                datasets.sort(key=lambda dataset: accesses.index(layouts[block][dataset][0].access))
            datasets.sort(key=lambda dataset: layouts[block][dataset][0].model.heads)
            for dataset in datasets:
                group = list(layouts[block][dataset])
                shuffler.shuffle(group)
                turns += sorted(group, key=_needs_files)
        last = list(events)
        shuffler.shuffle(last)
        turns += sorted(last, key=lambda cell: cell.model.heads)
        repeat = number if number > 0 else number + warmup
        for cell in (cell for cell in turns if number <= most.get(cell.id, repeats)):
            place = {"repeat": repeat, "round": number, "order": len(samples) + 1}
            samples.append(PlannedSample(cell, **place, warmup=number < 1))
    return samples


_WRITE_SHARE, _READ_SHARE = 0.7, 0.6
_FILES_PER_S_PER_DISK = 10.0
_RANDOM_PER_S_PER_DISK = 100.0
_SAMPLE_S, _BASELINE_SAMPLE_S, _LAYOUT_S = 4.0, 12.0, 30.0
_RAW_SAMPLE_BYTES, _RAW_HOST_BYTES, _RAW_ROW_BYTES = 12_000, 1_000, 60


def estimate(plan: Plan, cluster: Cluster) -> Estimate:
    """Rough time and space of a plan; an order of magnitude to choose sizes by, not a prediction.

    The pool moves data at a share (0.7 writing, 0.6 reading: the rule of thumb of the summit-2017 study) of the slowest
    of clients' links, servers' links and disks, divided by the scale.
    """
    cells = {cell.id: _estimate_cell(cell, cluster) for cell in plan.cells}
    rows = sum(cells[sample.cell.id].seconds for sample in plan.samples) / cluster.telemetry.interval
    raw: float = len(plan.samples) * (_RAW_SAMPLE_BYTES + len(cluster.hosts) * _RAW_HOST_BYTES)
    raw += len(cluster.hosts) * _RAW_ROW_BYTES * rows
    return Estimate(
        cells=cells,
        seconds=_seconds(plan.samples, cells),
        fewest_seconds=_seconds(plan.fewest, cells),
        brick_bytes=max((cost.bytes for cost in cells.values()), default=0),
        raw_bytes=round(raw),
    )


def _seconds(samples: Sequence[PlannedSample], cells: Mapping[str, CellEstimate]) -> float:
    changes = sum(1 for _ in groupby(samples, key=lambda sample: sample.cell.layout))
    return sum(cells[sample.cell.id].seconds for sample in samples) + changes * _LAYOUT_S


def _estimate_cell(cell: Cell, cluster: Cluster) -> CellEstimate:
    if cell.access == "none":
        written = 0 if host_tools()[cell.tool].of_links else cell.bytes_written
        return CellEstimate(_BASELINE_SAMPLE_S + expected_s(cell, cluster), written)
    hardware, layout = cluster.hardware, cell.layout
    backing = cluster.backings.get(layout.backing)
    writes = not _needs_files(cell)
    slowest = min(cell.workers, cell.clients or len(cluster.clients)) * hardware.client_link
    if backing is not None:
        slowest = min(
            slowest,
            min(layout.bricks, len(cluster.servers)) * hardware.server_link,
            layout.bricks * hardware.brick_rate(backing, "write" if writes else "read"),
        )
    share = _WRITE_SHARE / layout.stored_per_byte if writes else _READ_SHARE
    rate = slowest * share / cell.model.scale
    # of what the operator mounted nothing is known: as much as one server of the cluster
    disks = hardware.disks_per_server if backing is None else layout.bricks * backing.disks_per_brick
    files_rate = disks * _FILES_PER_S_PER_DISK / (cell.model.scale if cell.model.operations or cell.model.heads else 1)
    tool = volume_tools()[cell.tool]
    pool = PoolRates(rate, files_rate, disks * _RANDOM_PER_S_PER_DISK)
    seconds = _SAMPLE_S + tool.startup_s(cell.workers) + tool.work_s(cell, pool)
    if cell.event is not None:
        # a volume is made and filled, and the event is taken to last twice as long as the workload
        seconds = _LAYOUT_S + 3 * seconds
    elif not writes and (settles_s := volume_of(cell, cluster).settles_s):
        # each sample has a volume of its own; files are taken to move for as long as they then lie still
        seconds = _LAYOUT_S + 2 * seconds + 2 * settles_s
    return CellEstimate(seconds=seconds, bytes=round(cell.bytes_written * layout.stored_per_byte))
