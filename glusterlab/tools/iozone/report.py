"""From the lines of a file to the runs of IOzone that it holds.

A log may hold several runs, lines of several hosts in any order, quotes of a mail, and text of other programs. A run
starts at the banner, at a second command line, and at a report that the run has already.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.tools.iozone.runs import LABELS, Child, Log, Run, Section, wants_value
from glusterlab.tools.iozone.tables import COLUMNS, Header, begins_row, fits, is_excel_title, read_header, read_row

_VALUE = r"(\S{1,60}?)"
_UNIT = r"([kK]B(?:ytes)?/sec|ops/sec)"
SECTION = re.compile(
    rf"(Children|Parent) sees? throughput for ([0-9]{{1,9}}) ([a-z][a-z -]{{2,40}}?) ?= ?{_VALUE} ?{_UNIT}"
)
EXTREME = re.compile(rf"(Min|Max|Avg) throughput per (process|thread) ?= ?{_VALUE} ?{_UNIT}")
MIN_XFER = re.compile(rf"Min xfer ?= ?{_VALUE} ?([kK]B|ops)\b")
CHILD = re.compile(
    rf"Child\[([0-9]{{1,9}})\] xfer count ?= ?{_VALUE} ?([kK]B|ops), ?Throughput ?= ?{_VALUE} ?{_UNIT}"
    r"(?:, wall= ?(\S{1,60}), cpu= ?(\S{1,60}), %=)?"
)
CPU = re.compile(
    r"CPU [Uu]tilization: Wall time (\S{1,60}) CPU time (\S{1,60}) CPU utilization (\S{1,60}?) ?%", re.ASCII
)
"""Lines of the report of a test in throughput mode; blanks are single."""

BEGINNING = re.compile(
    r"(?:Children|Parent) sees? throughput(?: for)?(?: [0-9]|$)|(?:Min|Max|Avg) throughput(?: per)?$"
    r"|(?:Min|Max|Avg) throughput per (?:process|thread) ?(?:=|$)|Min xfer ?(?:=|$)"
    r"|Child\[[0-9]+\] xfer(?: count ?(?:=|$)|$)"
)
"""How such a line begins, whether or not it goes on as one."""

_STRERROR = (
    r"(?:No space left on device|Input/output error|No such file or directory|Permission denied|Disk quota exceeded"
    r"|Stale (?:NFS )?file handle|Transport endpoint is not connected|Read-only file system|Cannot allocate memory"
    r"|Invalid argument|Connection (?:refused|timed out|reset by peer)|File too large|Too many open files"
    r"|Operation not (?:permitted|supported)|No route to host|Is a directory|Not a directory|Bad file descriptor)"
)
ERROR = re.compile(
    rf"No space left on device|Input/output error|Disk quota exceeded|Transport endpoint is not connected"
    rf"|^[^:]{{1,200}}: {_STRERROR}$|^Can not (?:open|create|fdopen|mix|run)\b|^Unable to (?:open|get|write)\b"
    r"|Error (?:[fp]?writing|[fp]?reading) block|^Error (?:in|reading)\b|^Error: |I/O error during read"
    r"|^Client # \S+ reporting an error|not running the same version of Iozone|Unknown Iozone children"
    r"|^(?:Master|Child): .{0,60}(?:failed|error)|^(?:Memory allocation|Malloc|Fork|Mapping|Sanity check) failed"
    r"|^(?:Thread create|Read|Read unlock|Write unlock|Unlock) failed|^Can not do both|not supported in"
)
"""What IOzone and the C library say when something fails."""
LOOSE_ERROR = re.compile(r"\b[Ee]rror\b|\b[Ff]ailed\b|Segmentation fault|core dumped|^Killed$|^Terminated$|^Aborted$")
"""What any program says when something fails: IOzone's own word only between its banner and its end."""

TEXTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("version", re.compile(r"Version \$Revision: ([0-9][0-9.]{0,20}) ?\$")),
    ("began", re.compile(r"Run began: (.{1,60})")),
    ("command_line", re.compile(r"Command line used: (.{1,10000})")),
    ("warning", re.compile(r"(Performance measurements (?:are|may be) invalid in this.{0,40})")),
)
"""Lines of the banner that say a text, by the attribute of a run that keeps it."""
COUNTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("file_size_kb", re.compile(r"File size set to ([0-9]{1,15}) [kK]B")),
    ("record_size_kb", re.compile(r"Record Size ([0-9]{1,15}) [kK]B")),
    ("processes", re.compile(r"Throughput test with ([0-9]{1,9}) (?:process|thread)")),
    ("processes_min", re.compile(r"Min (?:process|thread) ?= ?([0-9]{1,9})$")),
    ("processes_max", re.compile(r"Max (?:process|thread) ?= ?([0-9]{1,9})$")),
    (
        "poor_below_kb",
        re.compile(r"reported inaccurate results\. Sizes ([0-9]{1,15}) [kK]bytes and below", re.IGNORECASE),
    ),
)
"""Lines that say a number, by the attribute of a run that keeps it."""
EACH = re.compile(
    r"Each (?:process|thread) writes an? ([0-9]{1,15}) [kK]bytes? file in ([0-9]{1,15}) [kK]bytes? records",
    re.IGNORECASE,
)
"""The line that announces a block of sections of throughput mode, with its sizes."""

UNITS = (
    *(("ops mode.", "ops/s"), ("output is in operations", "ops/s"), ("output is in ops", "ops/s")),
    *(("microseconds/op mode.", "us/op"), ("output is in microseconds", "us/op"), ("output is in kbytes/sec", "kB/s")),
)
"""How lines that say the unit of all results begin, in small letters, and the unit."""


_MARK = re.compile(
    r"(?:Children|Parent) sees? throughput|(?:Min|Max|Avg) throughput per|Min xfer|Child\[[0-9]+\] xfer"
    r"|[kK][bB][ \t]+reclen|Iozone: Performance Test|iozone test complete"
)
_MARK_WORDS = ("throughput", "xfer", "reclen", "Iozone:", "iozone test")
_PREFIX = re.compile(r"[\w.@/+-]{1,200}")
_LOG_WORDS = frozenset({"info", "debug", "warning", "error", "notice", "stdout", "stderr", "output", "out", "result"})
_GREP_LINE = re.compile(r"[0-9]{1,9}:")
_TAGS = re.compile(r"</?(?:br|p|pre|code|div|span|tt|samp|b|td|tr)\b[^<>]{0,100}>", re.IGNORECASE)


def bodies(lines: list[str]) -> Iterator[tuple[int, str | None, str]]:
    """Number, prefix and rest of each line that is not blank, without quotes and markup."""
    cleaned = [_clean(line) for line in lines]
    prefixes = {name for body in cleaned if (name := _prefix(body)) is not None}
    for number, body in enumerate(cleaned, start=1):
        if not body:
            continue
        prefix = None
        if prefixes:
            name, colon, rest = body.partition(":")
            if colon and name in prefixes:
                prefix, body = name, _GREP_LINE.sub("", rest, count=1).strip()
        if body:
            yield number, prefix, _without_stamp(body)


def _clean(line: str) -> str:
    if "&" in line:
        line = html.unescape(line)
    if "<" in line:
        line = _TAGS.sub("", line)
    return line.strip(" \t>").rstrip()


def _marked(body: str) -> int:
    """Where a line of a report begins in a line, -1 when there is none."""
    if not any(word in body for word in _MARK_WORDS):
        return -1
    mark = _MARK.search(body)
    return -1 if mark is None else mark.start()


def _prefix(body: str) -> str | None:
    if (start := _marked(body)) <= 0:
        return None
    name, colon, rest = body[:start].rstrip().partition(":")
    whole = bool(colon) and (not rest or _GREP_LINE.fullmatch(rest) is not None)
    if not whole or name.lower() in _LOG_WORDS or not _PREFIX.fullmatch(name):
        return None
    return name


def _without_stamp(body: str) -> str:
    """Without what a logger put before a line of a report: a time, a level, a bracket."""
    start = _marked(body)
    before = body[:start].rstrip() if start > 0 else ""
    return body[start:] if before and (before[-1] in ":]>|)" or before[-1].isdigit()) else body


_UPPER = frozenset({"random", "bkwd", "record", "stride"})
_NAMES = frozenset(column.word for column in COLUMNS)
_BARE = re.compile(r"[0-9]+(?:\.[0-9]+)?(?: [0-9]+(?:\.[0-9]+)?)*")
_OPENS = re.compile(
    r"(?:Children|Parent) sees? throughput\b|(?:Min|Max|Avg) throughput\b|Min xfer\b|Child\[[0-9]+\] xfer\b"
    r"|CPU [Uu]tilization\b|Command line used:"
)
_FIRST_LETTERS = "CPMA"
_WHOLE = re.compile(
    r"= ?\S{1,60} ?(?:[kK]B(?:ytes)?|ops)/sec$|^Min xfer ?= ?\S{1,60} ?(?:[kK]B|ops)$|[0-9] ?%$|%= ?[0-9.]{1,30}$"
)
_MAX_LINES = 3


def is_bare(line: str) -> bool:
    """Whether a line whose blanks are single has nothing but numbers."""
    return _BARE.fullmatch(line) is not None


def names_columns(line: str) -> bool:
    """Whether a line has nothing but names of columns, as the rest of a header has."""
    words = line.split()
    return _NAMES.issuperset(words) or (not _UPPER.isdisjoint(words) and (_NAMES | _UPPER).issuperset(words))


def is_upper(line: str) -> bool:
    """Whether a line has nothing but words of a header's first line."""
    return _UPPER.issuperset(line.split())


def is_rest(line: str) -> bool:
    """Whether a line can only be the rest of another one."""
    return line.startswith("=") or is_bare(" ".join(line.split())) or names_columns(line)


def is_rest_of_row(header: Header, row: str, line: str, asked: int | None) -> bool:
    """Whether a line of bare numbers is the rest of the `row` above it, and no row of its own."""
    have, numbers = len(row.split()) - 2, line.split()
    if have >= header.width or have == asked:
        return False
    if len(numbers) == 1 or "." in line or int(numbers[1][:30]) > int(numbers[0][:30]):
        return True
    if len(numbers) - 2 == have or fits(header, line):
        return False
    return have + len(numbers) <= header.width


class Broken:
    """Holds a line of a report that stops in its middle until the lines below it have made it whole."""

    def __init__(self) -> None:
        self._held: list[tuple[int, str]] = []
        self._text = ""

    def take(self, body: str, number: int) -> list[tuple[int, str]]:
        """The lines that are to be read now, with the number of their first one."""
        line = " ".join(body.split())
        if not self._held:
            if not _may_go_on(line):
                return [(number, body)]
            self._held, self._text = [(number, body)], line
            return []
        first = self._held[0][0]
        command = self._text.startswith("Command line used:")
        if _opens(line) or (command and not _is_option(line) and not wants_value(self._text)):
            return [*self.flush(), *self.take(body, number)]
        self._text = f"{self._text} {line}"
        if command:
            self._held = [(first, self._text)]
            return []
        self._held.append((number, body))
        if not _may_go_on(self._text):
            self._held = []
            return [(first, self._text)]
        return self.flush() if len(self._held) >= _MAX_LINES else []

    def flush(self) -> list[tuple[int, str]]:
        """The lines that are held, one by one: no rest of them came."""
        found, self._held = self._held, []
        return found


def _is_option(line: str) -> bool:
    return len(line) > 1 and line[0] == "-" and (line[1].isalpha() or line[1] == "+")


def _opens(line: str) -> bool:
    return line[:1] in _FIRST_LETTERS and _OPENS.match(line) is not None


def _may_go_on(line: str) -> bool:
    """Whether a line is the beginning of a report's line, without its end."""
    return _opens(line) and _WHOLE.search(line) is None


_TYPED = re.compile(r"iozone[0-9.]{0,6} -\S")
_PROMPT_ENDS = "$#%>`:;&|"
_BEFORE_COMMAND = frozenset({"sudo", "time", "nohup", "exec"})
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
_MAX_COMPLAINTS = 20


def scan(lines: list[str]) -> Log:
    """The runs in the lines of a file, and its damage."""
    streams: dict[str | None, _Stream] = {}
    damage: list[tuple[int, str]] = []
    last: tuple[int, str | None] = (0, None)
    for number, prefix, body in bodies(lines):
        if prefix is None and last[1] is not None and number == last[0] + 1 and is_rest(body):
            # what was broken off a line has lost the name in front of it
            prefix = last[1]
        last = (number, prefix)
        if prefix not in streams:
            streams[prefix] = _Stream(prefix, damage)
        streams[prefix].take(body, number)
    for stream in streams.values():
        stream.close()
    runs = sorted((run for stream in streams.values() for run in stream.runs), key=lambda run: run.line)
    return Log(runs, sorted(damage))


class _Stream:
    """The runs of the lines that have the same prefix."""

    def __init__(self, prefix: str | None, damage: list[tuple[int, str]]) -> None:
        self.prefix = prefix
        self.runs: list[Run] = []
        self._number = 0
        self._damage = damage
        self._run: Run | None = None
        self._section: Section | None = None
        self._typed: str | None = None
        self._errors: list[str] = []
        self._seen: set[tuple[object, ...]] = set()
        self._broken = Broken()
        self._header: str | None = None
        self._row: tuple[int, int, str] | None = None
        self._below_table = False
        self._words: dict[str, Callable[[str], bool]] = {
            "Children": self._take_section,
            "Parent": self._take_section,
            "Min": self._take_extreme,
            "Max": self._take_extreme,
            "Avg": self._take_extreme,
            "CPU": self._take_cpu,
            "Iozone:": self._take_title,
            "iozone": self._take_end,
            "iozone:": self._take_end,
            "Each": self._take_block,
        }

    def take(self, body: str, number: int) -> None:
        """Read one line, or several that were one."""
        for first, whole in self._broken.take(body, number):
            self._take_whole(whole, first)

    def _take_whole(self, body: str, number: int) -> None:
        line = " ".join(body.split())
        self._number = number
        if self._below_table:
            if self._guarded(self._take_rest, body, line):
                return
            self._guarded(self._end_table)
            self._number = number
        if not self._guarded(self._take_known, body, line):
            self._take_text(line)

    def _guarded(self, action: Callable[..., bool], *arguments: str) -> bool:
        """Whether an action took its line; damage is noted, and taken."""
        try:
            return action(*arguments)
        except ParseError as error:
            self._damage.append((self._number, error.message))
            return True

    def close(self) -> None:
        """At the end of the file: errors that no report followed belong to the last run."""
        for first, whole in self._broken.flush():
            self._take_whole(whole, first)
        self._guarded(self._end_table)
        if self.runs:
            self.runs[-1].late_errors += self._errors

    def _take_known(self, body: str, line: str) -> bool:
        word = line.partition(" ")[0]
        if word[0].isdigit():
            return self._take_row(body) or (is_bare(line) and self._take_excel(line))
        if word in self._words:
            return self._words[word](line) or self._take_banner(line)
        if word.startswith("Child["):
            return self._take_child(line)
        if word in {"kB", "KB", "Kb"} and line[2:9] == " reclen":
            return self._take_header(body)
        if line[0] == '"' or line.endswith(("report", 'report"')):
            return self._take_excel(line)
        return self._take_banner(line) or self._take_typed(line)

    # --- runs

    def _start(self) -> Run:
        self._leave()
        run = Run(line=self._number, prefix=self.prefix, typed=self._typed)
        run.early_errors, self._errors, self._typed = self._errors, [], None
        run.complaints += run.early_errors
        self.runs.append(run)
        self._run, self._section, self._seen = run, None, set()
        return run

    def _leave(self) -> None:
        """Errors since the last report of a run that did not end are its own; after its end they are the next one's."""
        if self._run is not None and not self._run.complete:
            self._run.late_errors += self._errors
            self._errors = []

    def _run_for_results(self) -> Run:
        run = self._run
        return self._start() if run is None or run.complete else run

    # --- throughput mode

    def _take_section(self, line: str) -> bool:
        if (match := SECTION.match(line)) is None:
            self._refuse(line)
            return False
        who, count, test, text, unit = match.groups()
        test = test.strip()
        unit = "ops/s" if unit == "ops/sec" else "kB/s"
        last = self._section
        own = last is not None and (last.test, last.count, last.unit) == (test, int(count), unit)
        if who == "Parent" and last is not None and own and last.parent is None:
            last.parent = _number(text)
            return True
        run = self._run_for_results()
        if test not in LABELS:
            raise ParseError(f"expected a test of IOzone, found {test!r}")
        keys = self._keys(run, test, int(count))
        if run.rows or keys[0] in self._seen:
            run = self._start()
            keys = self._keys(run, test, int(count))
        self._seen.update(keys)
        section = Section(test, int(count), None, unit, line=self._number, block=run.blocks)
        section.errors, self._errors, self._section = self._errors, [], None
        if who == "Children":
            section.children = _number(text)
        else:
            section.parent = _number(text)
        run.sections.append(section)
        self._section = section
        return True

    @staticmethod
    def _keys(run: Run, test: str, count: int) -> list[tuple[object, ...]]:
        """What a run has once only; when the first of them is there already, the report is another run's."""
        low, high = run.processes_min, run.processes_max
        several = low is not None and high is not None and low <= count <= high
        keys: list[tuple[object, ...]] = [(test, run.blocks), (test, run.blocks, count)]
        return keys[::-1] if several else keys

    def _of_section(self, what: str, unit: str) -> Section:
        if self._section is None:
            raise ParseError(f"expected 'Children see throughput for' before '{what}', found none")
        if ("ops" in unit) != (self._section.unit == "ops/s"):
            raise ParseError(f"expected {self._section.unit} as in the lines before, found {unit}")
        return self._section

    def _take_extreme(self, line: str) -> bool:
        if match := EXTREME.match(line):
            section = self._of_section(f"{match[1]} throughput", match[4])
            section.worker = match[2]
            name = {"Min": "minimum", "Max": "maximum", "Avg": "average"}[match[1]]
            self._set(section, name, match[3])
        elif match := MIN_XFER.match(line):
            self._set(self._of_section("Min xfer", match[2]), "min_xfer", match[1])
        else:
            self._refuse(line)
            return False
        return True

    def _set(self, section: Section, name: str, text: str) -> None:
        if getattr(section, name) is not None:
            raise ParseError(f"expected one {name.replace('_', ' ')} in the report of {section.test}, found another")
        try:
            setattr(section, name, _number(text))
        except ParseError:
            self._drop(section)
            raise

    def _refuse(self, line: str) -> None:
        """A line that begins as one of a report and does not go on as one damages it."""
        if BEGINNING.match(line):
            if self._section is not None and not line.startswith(("Children", "Parent")):
                self._drop(self._section)
            self._section = None
            raise ParseError(f"expected a number and its unit, found {line[:100]!r}")

    def _drop(self, section: Section) -> None:
        """A report with a damaged number is none."""
        if self._run is not None and self._run.sections and self._run.sections[-1] is section:
            self._run.sections.pop()
        self._section = None

    def _take_child(self, line: str) -> bool:
        if (match := CHILD.match(line)) is None:
            self._refuse(line)
            return False
        child, xfer, _, rate, unit, wall, cpu = match.groups()
        section = self._of_section("Child[", unit)
        try:
            values = Child(int(child), _number(xfer), _number(rate), self._number, _maybe(wall), _maybe(cpu))
        except ParseError:
            self._drop(section)
            raise
        section.workers.append(values)
        return True

    def _take_cpu(self, line: str) -> bool:
        match = CPU.match(line)
        if match is not None and self._section is not None:
            wall, cpu, percent = (_maybe(text) for text in match.groups())
            if wall is not None and cpu is not None and percent is not None:
                self._section.cpu = (wall, cpu, percent)
        return match is not None

    def _take_block(self, line: str) -> bool:
        if (match := EACH.match(line)) is None:
            return False
        run = self._run_for_results()
        run.file_size_kb, run.record_size_kb = int(match[1]), int(match[2])
        run.blocks += 1
        self._section = None
        return True

    # --- tables

    def _take_header(self, body: str) -> bool:
        run = self._run_for_results()
        if run.has_results or run.header is not None:
            run = self._start()
        run.header = read_header(body)
        self._header, self._below_table = body, True
        return True

    def _take_row(self, body: str) -> bool:
        """Begin a row, which may go on in the lines below it."""
        run = self._run
        if run is None or run.header is None or run.complete:
            return False
        if not begins_row(body):
            return False
        self._row, self._below_table = (self._number, self._number, body), True
        return True

    def _take_rest(self, body: str, line: str) -> bool:
        """Take what is the rest of the header or of the row above it.

        `ParseError` when it is neither a rest nor a line of its own: numbers and names in a table are never noise.
        """
        if names_columns(line) and (self._row is None or not is_upper(line)):
            return self._take_names(line)
        if not is_bare(line):
            return False
        run, asked = self._run, None
        if run is not None and run.header is not None and self._row is not None:
            first, _, row = self._row
            asked = _asked_columns(run)
            if is_rest_of_row(run.header, row, body, None if asked is None else len(asked)):
                self._row = (first, self._number, " ".join([*row.split(), line]))
                return True
        number = self._number
        self._guarded(self._end_table)
        self._number = number
        if not self._take_row(body):
            raise ParseError(f"expected a row of the table, found {line[:100]!r}")
        return True

    def _take_names(self, line: str) -> bool:
        if self._header is None or self._row is not None or self._run is None:
            raise ParseError(f"expected a row of the table, found {line[:100]!r}")
        # where the lines of a header are broken, its names do not stand above their values
        self._header = " ".join([*self._header.split(), line])
        self._run.header, self._below_table = None, False
        self._run.header = read_header(self._header)
        self._below_table = True
        return True

    def _end_table(self) -> bool:
        """Nothing more belongs to the header or to the row above; tell whether there was a row."""
        (self._header, self._below_table), row, run = (None, False), self._row, self._run
        self._row = None
        if row is None or run is None or run.header is None:
            return False
        self._number = row[0]
        found = read_row(run.header, row[2], (row[0], row[1]), _asked_columns(run))
        if (found.file_kb, found.record_kb) in self._seen:
            header, run = run.header, self._start()
            run.header = header
        self._seen.add((found.file_kb, found.record_kb))
        run.rows.append(found)
        return True

    def _take_excel(self, line: str) -> bool:
        run = self._run
        if run is None or run.excel.repeats(line):
            if not is_excel_title(line):
                return False
            run = self._start()
        try:
            return run.excel.take(line, self._number)
        except ParseError:
            # what repeats a table or a section is not read
            if run.rows or run.sections:
                return True
            raise

    # --- the rest

    def _take_title(self, line: str) -> bool:
        if not line.startswith("Iozone: Performance Test of File I/O"):
            return False
        self._start().banner = True
        return True

    def _take_end(self, line: str) -> bool:
        if line.startswith("iozone test complete."):
            run = self._run_for_results()
            (run.late_errors if self._section is None else self._section.errors).extend(self._errors)
            run.complete, self._errors, self._section = True, [], None
            return True
        if line.startswith("iozone: interrupted"):
            if self._run is not None:
                self._run.interrupted = True
            return True
        return self._take_typed(line)

    def _take_banner(self, line: str) -> bool:
        for name, pattern in (*TEXTS, *COUNTS):
            if match := pattern.match(line):
                value: Any = match[1] if any(name == text for text, _ in TEXTS) else int(match[1])
                self._set_banner(name, value)
                return True
        if line.startswith("Network distribution mode enabled"):
            self._run_for_banner().cluster = True
            return True
        if line.startswith("The test completed too quickly") and self._run is not None and self._run.rows:
            self._run.quick.add(self._run.rows[-1].line)
            return True
        unit = next((unit for words, unit in UNITS if line.lower().startswith(words)), None)
        if unit is not None:
            self._run_for_banner().unit = unit
        return unit is not None

    def _set_banner(self, name: str, value: Any) -> None:
        if name == "poor_below_kb":
            if self.runs:
                self.runs[-1].poor_below_kb = value
            return
        run = self._run_for_banner()
        if name in {"command_line", "began", "version"} and getattr(run, name) is not None:
            run = self._start()
        setattr(run, name, value)

    def _run_for_banner(self) -> Run:
        run = self._run_for_results()
        return self._start() if run.has_results or run.header is not None else run

    def _take_typed(self, line: str) -> bool:
        if "iozone" not in line or (match := _TYPED.search(line)) is None:
            return False
        rest, _, path = line[: match.start()].rpartition(" ")
        before = rest.split()[-1:] or [""]
        if not (path.strip(_PROMPT_ENDS) == "" or path.endswith("/")):
            return False
        if before[0] and before[0] not in _BEFORE_COMMAND and before[0][-1] not in _PROMPT_ENDS:
            return False
        if self._run is not None and self._run.has_results:
            self._leave()
            self._run = self._section = None
        self._typed = line[match.start() - len(path) :].strip(_PROMPT_ENDS + " ")
        return True

    def _take_text(self, line: str) -> None:
        run = self._run
        inside = run is not None and run.banner and not run.complete
        if not ERROR.search(line[:1000]) and not (inside and LOOSE_ERROR.search(line[:1000])):
            return
        if len(self._errors) < _MAX_COMPLAINTS:
            self._errors.append(line[:200])
        if run is not None and not run.complete and len(run.complaints) < _MAX_COMPLAINTS:
            run.complaints.append(line[:200])


def _asked_columns(run: Run) -> tuple[int, ...] | None:
    if run.options is None or run.options.tests is None:
        return None
    return tuple(place for place, column in enumerate(COLUMNS) if column.test in run.options.tests)


def _number(text: str) -> float:
    """A rate or a size as printed; `ParseError` when it is not a number, not finite, or negative."""
    if not _NUMBER.fullmatch(text):
        raise ParseError(f"expected a number of at least 0, found {text}")
    return float(text)


def _maybe(text: str | None) -> float | None:
    return float(text) if text is not None and _NUMBER.fullmatch(text) else None
