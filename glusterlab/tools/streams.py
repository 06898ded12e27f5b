"""Video streams: how many a pool holds at once, each at a fixed rate.

"VDA-like", and not SPEC SFS 2014 VDA, which is licensed. Table 2 of the Supermicro guide says what a stream of that is:
4.5 MB/s in 10 calls/s, thus 450 KB a call. Which share of VDA's calls reads is not in the guide; `mixed` takes 10 %.

A job of fio for each stream, one fio on each client, all at once; `rate_process=linear`, because `poisson` scatters
more than the criterion allows. Streams begin at random within the time of one call: cameras do not film in step. All
files are laid out before, and written again from their begin, as a recorder does whose disks are full. Calls bypass the
caches (``--direct=1``), which takes two options of the volume as well: without them the page cache hides the disks.

A stream holds with `HOLDS` of its rate, a load with `HOLDS` of its streams. A sample is a search: each load is a
command, a probe, with a folder of its own in ``workload/``. The sample's numbers, its command and so its measured part
are those of the largest load that held; where none did, 0 streams are held, and they are of the least load.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.spec.cell import Cell
from glusterlab.spec.cluster import SERVED
from glusterlab.tools.base import HostCommand, Job, Measurement, Operation, PoolRates
from glusterlab.tools.fio.command import FIO as _FIO
from glusterlab.tools.fio.command import Fio, measurement_of
from glusterlab.tools.records import incomplete

HOLDS = 0.95

FIRST = 1 / 4  # the first load, as a share of the most streams that may be tried
RESOLUTION = 0.05  # the search ends when the least load that broke is at most by this share above the largest that held
LEAST_CALLS = 40  # of each stream in a probe: with fewer, one call more or less decides whether it holds
ONE_LOAD = "--one-load"  # the option of a cell that tries all of its workers at once, and searches nothing

NEEDED_OPTIONS = {"performance.strict-o-direct": ("on",), "network.remote-dio": ("disable", "off")}
"""Without them a volume does not pass on to its bricks that calls bypass the caches."""

_READS = 0.1
_FOLDER = re.compile(r"probe-[0-9]{2,3}-([1-9][0-9]{0,6})-streams")


class Load(NamedTuple):
    """How many streams were tried at once, and whether they held."""

    streams: int
    holds: bool


def next_load(loads: Sequence[Load], most: int) -> int | None:
    """The number of streams to try next: doubled until a load breaks, or `most` hold, then halfway; None at the end.

    >>> next_load([], 96), next_load([Load(24, True)], 96), next_load([Load(24, True), Load(48, False)], 96)
    (24, 48, 36)
    >>> next_load([Load(24, False)], 96), next_load([Load(60, True), Load(63, False)], 96)
    (12, None)
    """
    held = max((load.streams for load in loads if load.holds), default=0)
    broken = min((load.streams for load in loads if not load.holds), default=None)
    if broken is None:
        return None if held >= most else min(most, 2 * held or math.ceil(FIRST * most))
    return None if broken - held <= max(1.0, RESOLUTION * held) else (held + broken) // 2


def most_loads(most: int) -> int:
    """How many loads a search tries at most."""
    halves = math.ceil(math.log2(1 / RESOLUTION))
    doubled, below = math.ceil(math.log2(1 / FIRST)), math.ceil(math.log2(math.ceil(FIRST * most)))
    return 1 + max(doubled + halves, below)


class Streams(Fio):
    """fio with a rate, as often as the search takes; without a result of fio there is none of the search."""

    def not_runnable(self, cell: Cell, clients: int) -> str | None:
        if (found := super().not_runnable(cell, clients)) is not None:
            return found
        rate, runtime, record = cell.rate_bytes_per_s, cell.runtime_s, cell.record_size_bytes
        if cell.access in SERVED:
            return f"{cell.access} does not tell bricks to bypass their caches, which then hide the disks"
        if rate is None or runtime is None or record is None:
            return "streams need a rate, such as 4.6 MB/s, and a runtime of each load"
        if rate * runtime < LEAST_CALLS * record:
            calls = rate * runtime / record
            return f"each stream needs {LEAST_CALLS} calls in the runtime to tell its rate, and makes {calls:.0f}"
        if rate * runtime > cell.file_size_bytes:
            return f"the file of a stream needs room for what it moves in the runtime, {rate * runtime:.0f} bytes"
        options = dict(cell.layout.options)
        missing = [f"{name}: {values[0]}" for name, values in NEEDED_OPTIONS.items() if options.get(name) not in values]
        if missing and cell.layout.type != "other":
            return f"without the volume's options {' and '.join(missing)} the page cache hides the disks"
        return None

    def most_probes(self, cell: Cell) -> int:
        return 1 if ONE_LOAD in cell.options else most_loads(cell.workers)

    def work_s(self, cell: Cell, pool: PoolRates) -> float:
        each = self.startup_s(cell.workers) + (cell.runtime_s or 0.0)
        # files are laid out before a testbed is under its model
        return cell.bytes_written / (pool.bytes_per_s * cell.model.scale) + self.most_probes(cell) * each

    def prepare(self, job: Job) -> list[HostCommand]:
        """Lay out the files of all streams that may be tried, unless they are there."""
        plain = job.cell.model_copy(update={"operation": "write", "runtime_s": None, "options": ()})
        (found,), (made,) = (job.made_or_checked(self.files(job), needs_files) for needs_files in (True, False))
        written = super().command(replace(job, cell=plain))
        # fio's exit code does not tell of all errors
        written_and_found = f"(\n{written.script}\n) && (\n{found.script}\n)"
        script = f"( {found.script}\n) 2>/dev/null || {{ {made.script} && {written_and_found} }}"
        return [replace(found, script=script)]

    def command(self, job: Job) -> HostCommand:
        cell = job.cell
        rate, record = cell.rate_bytes_per_s or 0.0, cell.record_size_bytes or 0
        rates = (_READS * rate, (1 - _READS) * rate) if cell.operation == "mixed" else (rate,)
        words = (
            # without randrepeat=0 the first streams of all clients begin at one moment, and so on
            *("--direct=1", "--allow_file_create=0", "--rate_process=linear", "--randrepeat=0"),
            *(f"--rate={','.join(f'{each:.0f}' for each in rates)}", f"--startdelay=0-{1000 * record / rate:.0f}ms"),
            *((f"--rwmixread={100 * _READS:.0f}",) if cell.operation == "mixed" else ()),
        )
        return super().command(replace(job, cell=cell.model_copy(update={"options": words})))

    def probes(self, cell: Cell, folder: Path) -> Iterator[tuple[str, Cell]]:
        """The loads of the search; it ends early where a report does not prove a result."""
        loads: list[Load] = []
        while (streams := self._next(loads, cell)) is not None:
            name = f"probe-{len(loads) + 1:02d}-{streams}-streams"
            probe = cell.model_copy(update={"workers": streams})
            yield name, probe
            try:
                result = measurement_of(folder / name, probe)
            except ParseError:
                return
            if result.problems:
                return
            loads.append(load_of(result, probe))

    def _next(self, loads: Sequence[Load], cell: Cell) -> int | None:
        if ONE_LOAD in cell.options:
            return None if [load.streams for load in loads] == [cell.workers] else cell.workers
        return next_load(loads, cell.workers)

    def parse(self, folder: Path, cell: Cell) -> Measurement:
        """The load that held most, and of all of them what is wrong."""
        names = (match for path in sorted(folder.glob("probe-*")) if (match := _FOLDER.fullmatch(path.name)))
        cells = {name[0]: cell.model_copy(update={"workers": int(name[1])}) for name in names}
        if not cells:
            raise ParseError("expected the folder of a probe, such as probe-01-12-streams, found none", file=folder)
        results = {name: measurement_of(folder / name, probe) for name, probe in cells.items()}
        loads = {name: load_of(result, cells[name]) for name, result in results.items()}
        problems: list[Reason] = []
        for name, result in results.items():
            problems += [one.model_copy(update={"message": f"{name}: {one.message}"}) for one in result.problems]
        problems = problems or list(self._misfits(loads, cell))
        held = [name for name, load in loads.items() if load.holds]
        streams = max((loads[name].streams for name in held), default=0)
        name = next((name for name in held if loads[name].streams == streams), min(loads, key=loads.__getitem__))
        if ONE_LOAD in cell.options:
            # one load finds no breaking point: it has streams that kept their rate, and others
            streams = held_of(results[name], cell)
        record = replace(
            results[name].record, tool=self.name, streams_held=streams, valid=not problems, reasons=tuple(problems)
        )
        return Measurement(record, results[name].workers, tuple(problems), probe=name)

    def _misfits(self, loads: Mapping[str, Load], cell: Cell) -> Iterator[Reason]:
        """What shows that probes are missing, or that the search did not find its end; however it got there."""
        tried = list(loads.values())
        if [int(name.split("-")[1]) for name in loads] != list(range(1, len(loads) + 1)):
            yield incomplete(f"expected probes from 1 on without a gap, found {', '.join(loads)}")
        elif (streams := self._next(tried, cell)) is not None:
            yield incomplete(f"the search did not end: expected a probe of {streams} streams after {list(loads)[-1]}")
        elif ONE_LOAD not in cell.options and all(load.holds for load in tried):
            yield incomplete(f"all {cell.workers} streams that may be tried were held: raise 'workers'")


def held_of(result: Measurement, cell: Cell) -> int:
    """How many streams of a probe kept their rate."""
    rate = HOLDS * (cell.rate_bytes_per_s or math.inf)
    return sum((worker.throughput_bytes_per_s or 0.0) >= rate for worker in result.workers)


def load_of(result: Measurement, cell: Cell) -> Load:
    """Whether the streams of a probe held, by the rates of its workers."""
    held = held_of(result, cell)
    return Load(cell.workers, held >= HOLDS * cell.workers)


STREAMS = Streams(
    name="streams",
    startup=(3.0, 0.01),
    operations=tuple(Operation(each, each, metric="streams_held") for each in ("write", "read", "mixed")),
    options={ONE_LOAD: None},
    programs=tuple(program for program in _FIO.programs if program.name == "fio"),
    processes=_FIO.processes,
    measured_part="onset",
    keyed_by=(),
    takes_runtime=True,
    takes_rate=True,
)
