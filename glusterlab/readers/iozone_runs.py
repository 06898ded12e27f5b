"""What one run of IOzone printed, in its own words and units, before anything is judged or converted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from glusterlab.errors import ParseError
from glusterlab.readers.iozone_options import Options, parse_options
from glusterlab.readers.iozone_tables import ExcelReports, Header, Row
from glusterlab.readers.records import Operation

LABELS: dict[str, Operation] = {
    "initial writers": "write",
    "rewriters": "rewrite",
    "readers": "read",
    "re-readers": "reread",
    "reverse readers": "reverse-read",
    "stride readers": "stride-read",
    "random readers": "random-read",
    "mixed workload": "mixed",
    "random writers": "random-write",
    "pwrite writers": "pwrite",
    "pread readers": "pread",
    "fwriters": "fwrite",
    "freaders": "fread",
    "initial readers": "read",
    "pwritev writers": "pwrite",
    "preadv readers": "pread",
}
"""The tests of throughput mode as its reports name them."""


@dataclass(frozen=True)
class Child:
    """One worker's line, as printed: `xfer` in kB of 1,024 bytes or operations, `throughput` in those per second."""

    number: int
    xfer: float
    throughput: float
    line: int = 0
    wall_s: float | None = None
    cpu_s: float | None = None


@dataclass
class Section:
    """The report of one test, as printed: rates in `unit`, transfers in kB of 1,024 bytes or operations.

    Attributes
    ----------
    test : str
        IOzone's label, such as ``initial writers``.
    count : int
        Workers that the label speaks of.
    children : float or None
        Sum over the workers; None where only the parent's line is there.
    unit : {"kB/s", "ops/s"}
    line : int
    block : int
        A run with several numbers of workers has a block of sections for each of them.
    parent : float or None
        None in cluster mode, where IOzone does not print it.
    minimum, maximum, average, min_xfer : float or None
    cpu : tuple of float or None
        With ``-+u``: wall time and CPU time in seconds, and CPU time in percent of wall time.
    worker : str or None
        ``process`` or ``thread``.
    workers : list of Child
        Only with ``-C``.
    errors : list of str
        Lines before it that tell of errors.
    """

    test: str
    count: int
    children: float | None
    unit: str
    line: int = 0
    block: int = 0
    parent: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    average: float | None = None
    min_xfer: float | None = None
    cpu: tuple[float, float, float] | None = None
    worker: str | None = None
    workers: list[Child] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass
class Run:
    """One run of IOzone, as printed.

    Attributes
    ----------
    line : int
        Where it starts.
    prefix : str or None
        What stood in front of its lines with a colon: a host, as parallel shells print, or a file, as grep does.
    banner : bool
        IOzone's first line is there.
    version, command_line, began, unit : str or None
        As the banner says.
    typed : str or None
        The command before the run, as a person typed it.
    cluster : bool
        Network distribution mode.
    processes : int or None
        From the line ``Throughput test with ...``; of several numbers it is the largest.
    processes_min, processes_max : int or None
        From ``Min process =`` and ``Max process =``.
    file_size_kb, record_size_kb : int or None
        In kB of 1,024 bytes.
    blocks : int
        How often a block of sections was announced.
    complete, interrupted : bool
        Its last line was printed; a signal or an error ended it.
    warning : str or None
        IOzone's own word that measurements are, or may be, invalid in the mode that was asked for.
    poor_below_kb : int or None
        IOzone's own word that records of up to this size were timed badly.
    sections : list of Section
        Of throughput mode, in their order.
    header : Header or None
    rows : list of Row
        Of automatic and single mode.
    quick : set of int
        Lines of the rows of which IOzone says that they ran too quickly.
    excel : ExcelReports
    complaints : list of str
        Lines that look like errors, wherever they stand.
    early_errors, late_errors : list of str
        Those before the run's first line, and those after its last report.
    """

    line: int = 0
    prefix: str | None = None
    banner: bool = False
    version: str | None = None
    command_line: str | None = None
    began: str | None = None
    unit: str | None = None
    typed: str | None = None
    cluster: bool = False
    processes: int | None = None
    processes_min: int | None = None
    processes_max: int | None = None
    file_size_kb: int | None = None
    record_size_kb: int | None = None
    blocks: int = 0
    complete: bool = False
    interrupted: bool = False
    warning: str | None = None
    poor_below_kb: int | None = None
    sections: list[Section] = field(default_factory=list)
    header: Header | None = None
    rows: list[Row] = field(default_factory=list)
    quick: set[int] = field(default_factory=set)
    excel: ExcelReports = field(default_factory=ExcelReports)
    complaints: list[str] = field(default_factory=list)
    early_errors: list[str] = field(default_factory=list)
    late_errors: list[str] = field(default_factory=list)

    @property
    def host(self) -> str | None:
        """The host in front of the lines; a file's name is none."""
        is_file = self.prefix is not None and ("/" in self.prefix or self.prefix.endswith((".txt", ".log", ".out")))
        return None if is_file else self.prefix

    @property
    def has_results(self) -> bool:
        """Whether it printed any."""
        return bool(self.sections or self.rows or self.excel)

    @cached_property
    def options(self) -> Options | None:
        """What it was asked for, None when no command line says it; ask only when the run has been read."""
        command = self.command_line or self.typed
        return None if command is None else parse_options(command)

    def section(self, test: str) -> Section | None:
        """The only section of that label, None when there is none.

        Raises
        ------
        ParseError
            When there are several.
        """
        found = [section for section in self.sections if section.test == test]
        if len(found) > 1:
            raise ParseError(f"expected one report of {test}, found {len(found)}")
        return found[0] if found else None


@dataclass
class Log:
    """The runs of a file, in their order, and what in it is damaged, by line."""

    runs: list[Run]
    damage: list[tuple[int, str]] = field(default_factory=list)

    @cached_property
    def has_transfers(self) -> bool:
        """Whether any report ends in its line ``Min xfer``; ask only when the file has been read."""
        return any(section.min_xfer is not None for run in self.runs for section in run.sections)
