"""What in one sample contradicts itself: forms of one result, the order of its commands, and what its clients sent."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glusterlab.errors import ParseError
from glusterlab.parse import parse, tools
from glusterlab.rawfile import read_raw
from glusterlab.telemetry.columns import NotRegular
from glusterlab.telemetry.reader import read
from glusterlab.telemetry.sadf import regular_blocks
from glusterlab.tools.document import read_text
from glusterlab.tools.records import WorkloadRecord
from glusterlab.units import short_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from glusterlab.spec.cell import Cell
    from glusterlab.store.sample import Sample, Window

NO_RESULT = frozenset({"command.json", "heads.json", "throttle.json", "clients", "stderr.txt"})
"""What lies beside a tool's results."""

CLOCK_S = 1.0
"""So far may times of one clock be off."""

SAME_SHARE = 0.02
"""So far may forms of one result be apart, which are rounded."""

SENT_SHARE, READ_SHARE = 0.75, 0.2
"""So much of what a result claims must have gone over its clients' links, in the time that it claims and a little.

On the testbed it was 0.95 and more of what was written, and 0.28 and more of what IOzone read: clients keep a part.
"""

TRAFFIC_S = 8.0
"""For a shorter result records of some seconds are too coarse."""

_RATES = ("throughput_bytes_per_s", "files_per_s", "elapsed_s")


def forms_differ(workload: Path, record: WorkloadRecord) -> Iterator[tuple[str, str]]:
    """Files in which a tool wrote the result that was read in another form, with another number."""
    results = [path for path in workload.iterdir() if path.is_file() and path.name not in NO_RESULT]
    if len(results) != 2 or record.tool not in tools():
        return  # one form, or parts of one result
    for path in sorted(results):
        found = []
        # the validity of a sample hangs on the form that is read
        with suppress(ParseError):
            found = [each for each in parse(path, tool=record.tool) if isinstance(each, WorkloadRecord)]
        for name in _RATES if len(found) == 1 else ():
            one, other = getattr(record, name), getattr(found[0], name)
            if one and other and not math.isclose(one, other, rel_tol=SAME_SHARE):
                yield path.name, f"{name} is {short_number(other)} here, and {short_number(one)} in another form"


def out_of_order(log: Path, window: Window, beside: Sequence[tuple[float, float]] = ()) -> Iterator[str]:
    """Commands of a sample's log that another clock than that of its measurement has timed, or another order.

    `beside`: begin and end of commands in a thread of their own, which have no place in that order.
    """
    last = -math.inf
    with suppress(OSError, ValueError, KeyError, TypeError):
        for line in read_raw(log).decode().splitlines():
            entry = json.loads(line)
            start, end = float(entry["start"]), float(entry["end"])
            if any(begin <= start <= end <= over for begin, over in beside):
                continue
            apart = end <= window.start + CLOCK_S or start >= window.end - CLOCK_S
            measured = abs(start - window.start) <= CLOCK_S and abs(end - window.end) <= CLOCK_S
            if end < start or start < last - CLOCK_S or not (apart or measured):
                yield f"a command on {entry['host']} is logged from {start:.0f} to {end:.0f}, out of its order"
                return
            if apart and start >= window.end - CLOCK_S:
                last = window.end


def too_fast(folder: Path, sample: Sample, cell: Cell, record: WorkloadRecord) -> float | None:
    """What the clients' links carried as a share of what a result claims, where that is by far too little.

    Counted is the busiest time that is as long as the result claims, and two records longer.
    """
    rate = record.throughput_bytes_per_s
    payload = cell.file_size_bytes * cell.files_per_worker * cell.workers
    # what is mounted at a directory of the operator's may be a disk of the client
    local = cell.access in ("none", "existing")
    if not rate or local or cell.runtime_s or payload / rate < TRAFFIC_S:
        return None
    carried, interval = np.zeros(0), 0.0
    for client in sample.clients:
        try:
            mine, step = _carried(folder / "telemetry" / f"{client}.csv.xz", sample.window)
        except ParseError:
            return None
        interval = max(interval, step)
        size = max(len(mine), len(carried))
        carried = np.pad(carried, (0, size - len(carried))) + np.pad(mine, (0, size - len(mine)))
    if not interval:
        return None
    width = math.ceil(payload / rate + 2 * interval)
    sums = np.concatenate([[0.0], np.cumsum(carried)])
    most = float(np.max(sums[width:] - sums[:-width])) if len(sums) > width else float(sums[-1])
    reads = "read" in cell.operation
    share = most / (payload * (1.0 if reads or cell.access != "native" else cell.layout.stored_per_byte))
    return share if share < (READ_SHARE if reads else SENT_SHARE) else None


def _carried(file: Path, window: Window | None) -> tuple[NDArray[np.float64], float]:
    """Bytes that a host's links carried in each second from a minute before a window on, and the interval.

    `ParseError` where its telemetry does not tell.
    """
    try:
        blocks = regular_blocks(read_text(file).encode(), "network")
    except NotRegular:
        blocks = [block for block in read(file) if block.activity == "network"]
    found = [np.zeros((0, 2))]
    for block in blocks:
        if not block.utc:
            raise ParseError("expected epoch seconds, found local time", file=file)
        links = np.array([name != "lo" for name in block.device or ()])
        rates = (block.metrics["rxkB/s"] + block.metrics["txkB/s"]) * 1024
        found.append(np.column_stack([block.time, rates])[links])
    rows = np.concatenate(found)
    times, at = np.unique(rows[:, 0], return_inverse=True)
    if len(times) < 2:
        raise ParseError("expected two records of the links or more", file=file)
    # whole seconds: a record may seem to be a second longer than it is
    interval = float(np.median(np.diff(times)))
    ends = times - (0.0 if window is None else math.floor(window.start) - 60)
    seconds = np.zeros(int(max(ends[-1], 0.0)) + 1)
    for time, rate in zip(ends, np.bincount(at.ravel(), rows[:, 1]), strict=True):
        if time >= interval:
            seconds[int(time - interval) : int(time)] += rate
    return seconds, interval
