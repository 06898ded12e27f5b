"""What one run of IOzone printed, in its own words and units, before anything is judged or converted."""

import re
from dataclasses import dataclass, field
from functools import cached_property

from glusterlab.tools.iozone.tables import COLUMNS, ExcelReports, Header, Row
from glusterlab.tools.records import Operation

_WITH_VALUE = frozenset("JjkVrtsfFdluUSLHPibXYgnyq")
_PLUS_WITH_VALUE = frozenset("mhpwyCA")
_SIZE = re.compile(r"([0-9]{1,15})([kKmMgG]?)")
_KB = {"": 1, "k": 1, "m": 1 << 10, "g": 1 << 20}

AUTO_SIZES_KB = (64, 512 << 10)  # the smallest and the largest file of -a, without -n, -g and -s
AUTO_RECORDS_KB = (4, 16 << 10)  # and record, without -y, -q and -r
SINGLE_KB = (512, 4)  # file and record size when nothing is given


class Options:
    """The options of a command: `flags` such as ``C`` and ``+n``, and the `values` of the others, in their order."""

    def __init__(self, command: str) -> None:
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        words = iter(command.split()[1:])
        for word in words:
            if word.startswith("-+"):
                self.flags.add(word[1:3])
            elif word.startswith("-"):
                for place, letter in enumerate(word[1:], start=2):
                    if letter in _WITH_VALUE:
                        self.values.setdefault(letter, []).append(word[place:] or next(words, ""))
                        break
                    self.flags.add(letter)

    def _numbers(self, name: str) -> list[int]:
        return [int(text) for text in self.values.get(name, []) if re.fullmatch("[0-9]{1,4}", text)]

    @property
    def tests(self) -> frozenset[int] | None:
        """The numbers given by ``-i``; None stands for all tests."""
        return frozenset([*self._numbers("i"), *((0, 1) if "A" in self.flags else ())]) or None

    @property
    def columns(self) -> tuple[int, ...] | None:
        """The columns of a table of these tests; None stands for all."""
        tests = self.tests
        return None if tests is None else tuple(n for n, column in enumerate(COLUMNS) if column.test in tests)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many workers, in their order: by ``-t``, or from ``-l`` to ``-u``; empty outside throughput mode."""
        counts, low, high = (self._numbers(name) for name in "tlu")
        if counts or not (low or high):
            return tuple(counts)
        first = (low or [1])[-1] or 1
        return tuple(range(first, ((high or [0])[-1] or first) + 1))

    @property
    def unit(self) -> str:
        """``ops/s``, ``us/op``, or ``kB/s``, which is IOzone's default."""
        return "ops/s" if "O" in self.flags else "us/op" if "N" in self.flags else "kB/s"

    def sizes_kb(self, name: str) -> list[int]:
        """The sizes that an option gives, in kB of 1,024 bytes; what is no size is left out."""
        found = (_SIZE.fullmatch(text) for text in self.values.get(name, []))
        return [int(match[1]) * _KB[match[2].lower()] for match in found if match is not None and int(match[1])]

    def last_row_kb(self) -> tuple[int, int]:
        """The file and record size, in kB, of the last row of a table."""
        files, records = self.sizes_kb("s"), self.sizes_kb("r")
        if self.flags.isdisjoint("aA"):
            return (files[-1] if files else SINGLE_KB[0], records[-1] if records else SINGLE_KB[1])
        file = max(files) if files else _last(AUTO_SIZES_KB, self.sizes_kb("n"), self.sizes_kb("g"))
        if records:
            return file, max((size for size in records if size <= file), default=min(records))
        largest = min([*self.sizes_kb("q"), AUTO_RECORDS_KB[1]][0], file)
        return file, _last(AUTO_RECORDS_KB, self.sizes_kb("y"), [largest])


def _last(default: tuple[int, int], low: list[int], high: list[int]) -> int:
    """The last size of a row that doubles from `low` and does not pass `high`."""
    size, end = low[-1] if low else default[0], high[-1] if high else default[1]
    while size * 2 <= end:
        size *= 2
    return size


def wants_value(command: str) -> bool:
    """Whether the last option of a command line lacks its value."""
    last = command.rpartition(" ")[2]
    if last.startswith("-+"):
        return len(last) == len("-+m") and last[2] in _PLUS_WITH_VALUE
    place = next((place for place, letter in enumerate(last) if letter in _WITH_VALUE), None)
    return last.startswith("-") and place == len(last) - 1


LABELS: dict[str, tuple[Operation, int | None]] = {  # the tests of throughput mode as its reports name them, and for -i
    "initial writers": ("write", 0), "rewriters": ("rewrite", 0), "initial readers": ("read", None),
    "readers": ("read", 1), "re-readers": ("reread", 1), "random readers": ("random-read", 2),
    "random writers": ("random-write", 2), "reverse readers": ("reverse-read", 3), "stride readers": ("stride-read", 5),
    "fwriters": ("fwrite", 6), "freaders": ("fread", 7), "mixed workload": ("mixed", 8),
    "pwrite writers": ("pwrite", 9), "pread readers": ("pread", 10),
    "pwritev writers": ("pwrite", None), "preadv readers": ("pread", None),
}  # fmt: skip


@dataclass(frozen=True)
class Child:
    """One worker's line, as printed: `xfer` in kB of 1,024 bytes or operations, `throughput` in those per second."""

    number: int
    xfer: float
    throughput: float
    line: int = 0
    wall_s: float | None = None
    cpu_s: float | None = None

    @property
    def is_idle(self) -> bool:
        return not self.throughput or not self.xfer


@dataclass
class Section:
    """The report of one test, as printed: rates in `unit`, transfers in kB of 1,024 bytes or operations."""

    test: str  # IOzone's label (``initial writers``)
    count: int  # the workers that it names
    unit: str
    line: int = 0
    errors: list[str] = field(default_factory=list)
    children: float | None = None  # the sum over the workers
    parent: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    average: float | None = None
    min_xfer: float | None = None
    cpu: tuple[float, float, float] | None = None  # wall and CPU time in seconds, and a percentage
    worker: str | None = None
    workers: list[Child] = field(default_factory=list)  # with ``-C``


@dataclass
class Run:
    """One run of IOzone, as printed; sizes in kB of 1,024 bytes."""

    line: int = 0
    prefix: str | None = None  # what stood in front of its lines with a colon: a host, or a file, as grep prints
    typed: str | None = None  # the command as a person typed it
    number: int = 0  # of the file, from 1
    banner: bool = False
    version: str | None = None
    command_line: str | None = None
    began: str | None = None
    unit: str | None = None
    cluster: bool = False
    processes_min: int | None = None
    processes_max: int | None = None
    file_size_kb: int | None = None
    record_size_kb: int | None = None
    blocks: int = 0  # of sections, one for each number of workers
    complete: bool = False
    interrupted: bool = False
    warning: str | None = None
    poor_below_kb: int | None = None  # by IOzone's own words records up to this size were timed badly
    sections: list[Section] = field(default_factory=list)
    header: Header | None = None
    rows: list[Row] = field(default_factory=list)
    quick: set[int] = field(default_factory=set)  # lines of the rows that ran too quickly by IOzone's own words
    excel: ExcelReports = field(default_factory=ExcelReports)
    complaints: list[str] = field(default_factory=list)  # all lines that look like errors
    early_errors: list[str] = field(default_factory=list)  # those before the run
    late_errors: list[str] = field(default_factory=list)  # those after its last report

    @property
    def host(self) -> str | None:
        """The host in front of the lines; a file's name is none."""
        is_file = self.prefix is not None and ("/" in self.prefix or self.prefix.endswith((".txt", ".log", ".out")))
        return None if is_file else self.prefix

    @property
    def has_results(self) -> bool:
        return bool(self.sections or self.rows or self.excel.values)

    @property
    def command(self) -> str | None:
        return self.command_line or self.typed

    @cached_property
    def options(self) -> Options:
        """Those of its command line; use it only when the banner has been read."""
        return Options(self.command or "")

    def has_flag(self, flag: str) -> bool:
        return flag in self.options.flags
