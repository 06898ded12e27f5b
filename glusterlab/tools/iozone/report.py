"""From the lines of a file to the runs of IOzone that it holds, of several hosts and among other programs' text.

A run starts at the banner, at a second command line, and at a report that the run has already.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator

from glusterlab.errors import ParseError
from glusterlab.tools.document import mended
from glusterlab.tools.iozone.runs import LABELS, Child, Run, Section, wants_value
from glusterlab.tools.iozone.tables import COLUMNS, Header, Row, begins_row, is_excel_title

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
BEGINNING = re.compile(  # how such a line begins, whether or not it goes on as one
    r"(?:Children|Parent) sees? throughput(?: for)?(?: [0-9]|$)|(?:Min|Max|Avg) throughput(?: per)?$"
    r"|(?:Min|Max|Avg) throughput per (?:process|thread) ?(?:=|$)|Min xfer ?(?:=|$)"
    r"|Child\[[0-9]+\] xfer(?: count ?(?:=|$)|$)"
)

_STRERROR = (
    r"(?:No space left on device|Input/output error|No such file or directory|Permission denied|Disk quota exceeded"
    r"|Stale (?:NFS )?file handle|Transport endpoint is not connected|Read-only file system|Cannot allocate memory"
    r"|Invalid argument|Connection (?:refused|timed out|reset by peer)|File too large|Too many open files"
    r"|Operation not (?:permitted|supported)|No route to host|Is a directory|Not a directory|Bad file descriptor)"
)
ERROR = re.compile(  # what IOzone and the C library say when something fails
    rf"No space left on device|Input/output error|Disk quota exceeded|Transport endpoint is not connected"
    rf"|^[^:]{{1,200}}: {_STRERROR}$|^Can not (?:open|create|fdopen|mix|run)\b|^Unable to (?:open|get|write)\b"
    r"|Error (?:[fp]?writing|[fp]?reading) block|^Error (?:in|reading)\b|^Error: |I/O error during read"
    r"|^Client # \S+ reporting an error|not running the same version of Iozone|Unknown Iozone children"
    r"|^(?:Master|Child): .{0,60}(?:failed|error)|^(?:Memory allocation|Malloc|Fork|Mapping|Sanity check) failed"
    r"|^(?:Thread create|Read|Read unlock|Write unlock|Unlock) failed|^Can not do both|not supported in"
)
# what any program says when something fails: IOzone's own word only between its banner and its end
LOOSE_ERROR = re.compile(r"\b[Ee]rror\b|\b[Ff]ailed\b|Segmentation fault|core dumped|^Killed$|^Terminated$|^Aborted$")

_BANNER: tuple[tuple[str, Callable[[str], str | int], re.Pattern[str]], ...] = (  # by the attribute of a run, its line
    ("version", str, re.compile(r"Version \$Revision: ([0-9][0-9.]{0,20}) ?\$")),
    ("began", str, re.compile(r"Run began: (.{1,60})")),
    ("command_line", str, re.compile(r"Command line used: (.{1,10000})")),
    ("warning", str, re.compile(r"(Performance measurements (?:are|may be) invalid in this.{0,40})")),
    ("file_size_kb", int, re.compile(r"File size set to ([0-9]{1,15}) [kK]B")),
    ("record_size_kb", int, re.compile(r"Record Size ([0-9]{1,15}) [kK]B")),
    ("processes_min", int, re.compile(r"Min (?:process|thread) ?= ?([0-9]{1,9})$")),
    ("processes_max", int, re.compile(r"Max (?:process|thread) ?= ?([0-9]{1,9})$")),
)

_POOR_TIMER = re.compile(r"reported inaccurate results\. Sizes ([0-9]{1,15}) [kK]bytes and below", re.IGNORECASE)
_EACH = re.compile(  # the line that announces a block of sections of throughput mode, with its sizes
    r"Each (?:process|thread) writes an? ([0-9]{1,15}) [kK]bytes? file in ([0-9]{1,15}) [kK]bytes? records",
    re.IGNORECASE,
)

_UNITS = {  # how lines that state the unit of all results begin, in small letters, and the unit
    **dict.fromkeys(("ops mode.", "output is in operations", "output is in ops"), "ops/s"),
    **dict.fromkeys(("microseconds/op mode.", "output is in microseconds"), "us/op"),
    "output is in kbytes/sec": "kB/s",
}

_MARK = re.compile(
    r"(?:Children|Parent) sees? throughput|(?:Min|Max|Avg) throughput per|Min xfer|Child\[[0-9]+\] xfer"
    r"|[kK][bB][ \t]+reclen|Iozone: Performance Test|iozone test complete"
)
_MARK_WORDS = ("throughput", "xfer", "reclen", "Iozone:", "iozone test")  # quicker than the pattern, for most lines
_PREFIX = re.compile(r"[\w.@/+-]{1,200}")
_LOG_WORDS = frozenset({"info", "debug", "warning", "error", "notice", "stdout", "stderr", "output", "out", "result"})
_GREP_LINE = re.compile(r"^[0-9]{1,9}:")
_TAGS = re.compile(r"</?(?:br|p|pre|code|div|span|tt|samp|b|td|tr)\b[^<>]{0,100}>", re.IGNORECASE)


def bodies(lines: list[str]) -> Iterator[tuple[int, str | None, str]]:
    """Number, prefix and rest of each line that is not blank, without quotes and markup."""
    cleaned = [_TAGS.sub("", html.unescape(line)).strip(" \t>").rstrip() for line in lines]
    prefixes = {name for body in cleaned if (name := _prefix(body)) is not None}
    for number, body in enumerate(cleaned, start=1):
        prefix = None
        name, colon, rest = body.partition(":")
        if colon and name in prefixes:
            prefix, body = name, _GREP_LINE.sub("", rest, count=1).strip()
        # what a logger put before a line of a report: a time, a level, a bracket
        before = body[: max(start := _marked(body), 0)].rstrip()
        stamped = before and (before[-1] in ":]>|)" or before[-1].isdigit())
        if body:
            yield number, prefix, body[start:] if stamped else body


def _marked(body: str) -> int:
    mark = _MARK.search(body) if any(word in body for word in _MARK_WORDS) else None
    return -1 if mark is None else mark.start()


def _prefix(body: str) -> str | None:
    if (start := _marked(body)) <= 0:
        return None
    name, colon, rest = body[:start].rstrip().partition(":")
    whole = bool(colon) and (not rest or _GREP_LINE.fullmatch(rest) is not None)
    return name if whole and name.lower() not in _LOG_WORDS and _PREFIX.fullmatch(name) else None


_UPPER = frozenset({"random", "bkwd", "record", "stride"})
_NAMES = frozenset(column.word for column in COLUMNS)
_BARE = re.compile(r"[0-9]+(?:\.[0-9]+)?(?: [0-9]+(?:\.[0-9]+)?)*")
_OPENS = re.compile(
    r"(?:Children|Parent) sees? throughput\b|(?:Min|Max|Avg) throughput\b|Min xfer\b|Child\[[0-9]+\] xfer\b"
    r"|CPU [Uu]tilization\b|Command line used:"
)
_WHOLE = re.compile(
    r"= ?\S{1,60} ?(?:[kK]B(?:ytes)?|ops)/sec$|^Min xfer ?= ?\S{1,60} ?(?:[kK]B|ops)$|[0-9] ?%$|%= ?[0-9.]{1,30}$"
)


def _names_columns(line: str) -> bool:
    """Whether a line has nothing but names of columns, as the rest of a header has."""
    words = line.split()
    return _NAMES.issuperset(words) or (not _UPPER.isdisjoint(words) and (_NAMES | _UPPER).issuperset(words))


def _is_rest_of_row(header: Header, row: str, line: str, requested: tuple[int, ...] | None) -> bool:
    """Whether a line of bare numbers is the rest of the `row` above it, and no row of its own."""
    have, numbers = len(row.split()) - 2, line.split()
    if have >= header.width or (requested is not None and have == len(requested)):
        return False
    if len(numbers) == 1 or "." in line or int(numbers[1][:30]) > int(numbers[0][:30]):
        return True
    return len(numbers) - 2 != have and not header.places_of(line) and have + len(numbers) <= header.width


def _is_broken(body: str) -> bool:
    line = " ".join(body.split())
    return _OPENS.match(line) is not None and _WHOLE.search(line) is None


def _goes_on(text: str, body: str) -> bool:
    if text.startswith("Command line used:") and not re.match(r"-[a-zA-Z+]", body) and not wants_value(text):
        return False
    return _OPENS.match(" ".join(body.split())) is None


def _is_whole(text: str) -> bool:
    return text.startswith("Command line used:") or _WHOLE.search(text) is not None


_TYPED = re.compile(r"iozone[0-9.]{0,6} -\S")
_PROMPT_ENDS = "$#%>`:;&|"
_BEFORE_COMMAND = frozenset({"sudo", "time", "nohup", "exec"})
_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?")
_MAX_COMPLAINTS = 20
Damage = list[tuple[int, str]]


def scan(lines: list[str]) -> tuple[list[Run], Damage]:
    """The runs in the lines of a file, in their order, and what in it is damaged, by line."""
    by_prefix: dict[str | None, list[tuple[int, str]]] = {}
    last: tuple[int, str | None] = (0, None)
    for number, prefix, body in bodies(lines):
        if prefix is None and last[1] is not None and number == last[0] + 1:
            # what was broken off a line has lost the name in front of it
            is_rest = body[0] == "=" or _BARE.fullmatch(" ".join(body.split())) or _names_columns(body)
            prefix = last[1] if is_rest else None
        last = (number, prefix)
        by_prefix.setdefault(prefix, []).append((number, body))
    runs: list[Run] = []
    damage: Damage = []
    for prefix, found in by_prefix.items():
        reader = _Reader(prefix, damage)
        reader.read(found)
        runs += reader.runs
    return sorted(runs, key=lambda run: run.line), sorted(damage)


class _Reader:
    def __init__(self, prefix: str | None, damage: Damage) -> None:
        self.runs: list[Run] = []
        self._prefix, self._damage, self._number = prefix, damage, 0
        self._run: Run | None = None
        self._section: Section | None = None
        self._typed: str | None = None
        self._errors: list[str] = []
        self._seen: set[tuple[object, ...]] = set()
        self._header: str | None = None
        self._row: tuple[int, int, str] | None = None
        self._below_table = False
        self._words: dict[str, Callable[[str], bool]] = {
            **dict.fromkeys(("Children", "Parent"), self._take_section),
            **dict.fromkeys(("Min", "Max", "Avg"), self._take_extreme),
            **dict.fromkeys(("iozone", "iozone:"), self._take_end),
        }

    def read(self, lines: Iterable[tuple[int, str]]) -> None:
        for number, body in mended(lines, _is_broken, _goes_on, _is_whole):
            line = " ".join(body.split())
            self._number = number
            if self._below_table:
                if self._noting_damage(self._take_rest, body, line):
                    continue
                self._noting_damage(self._end_table)
                self._number = number
            if not self._noting_damage(self._take_known, body, line):
                self._take_text(line)
        self._noting_damage(self._end_table)
        if self.runs:
            # errors that no report followed
            self.runs[-1].late_errors += self._errors

    def _noting_damage(self, action: Callable[..., bool], *arguments: str) -> bool:
        """Whether an action took its line, as it does a damaged one."""
        try:
            return action(*arguments)
        except ParseError as error:
            self._damage.append((self._number, error.message))
            return True

    def _take_known(self, body: str, line: str) -> bool:
        word = line.partition(" ")[0]
        if word[0].isdigit():
            return self._take_row(body) or (_BARE.fullmatch(line) is not None and self._take_excel(line))
        if word in self._words:
            return self._words[word](line) or self._take_banner(line)
        if word.startswith("Child["):
            return self._take_child(line)
        if word in {"kB", "KB", "Kb"} and line[2:9] == " reclen":
            return self._take_header(body)
        if line[0] == '"' or line.endswith(("report", 'report"')):
            return self._take_excel(line)
        return self._take_banner(line) or self._take_typed(line)

    def _start(self) -> Run:
        self._leave()
        run = Run(self._number, self._prefix, self._typed, early_errors=self._errors, complaints=[*self._errors])
        self.runs.append(run)
        self._errors, self._typed, self._section, self._seen = [], None, None, set()
        self._run = run
        return run

    def _leave(self) -> None:
        # after the end of a run errors are the next one's
        if self._run is not None and not self._run.complete:
            self._run.late_errors += self._errors
            self._errors = []

    def _run_for_results(self) -> Run:
        return self._start() if self._run is None or self._run.complete else self._run

    def _run_for_banner(self) -> Run:
        run = self._run_for_results()
        return self._start() if run.has_results or run.header is not None else run

    def _take_section(self, line: str) -> bool:
        if (match := SECTION.match(line)) is None:
            return self._refuse(line)
        who, digits, test, text, unit = match.groups()
        test, count, unit = test.strip(), int(digits), "ops/s" if unit == "ops/sec" else "kB/s"
        last = self._section
        own = last is not None and (last.test, last.count, last.unit) == (test, count, unit)
        if who == "Parent" and last is not None and own and last.parent is None:
            last.parent = _number(text)
            return True
        run = self._run_for_results()
        if test not in LABELS:
            raise ParseError(f"expected a test of IOzone, found {test!r}")
        keys = self._keys(run, test, count)
        if run.rows or keys[0] in self._seen:
            run = self._start()
            keys = self._keys(run, test, count)
        self._seen.update(keys)
        section = Section(test, count, unit, line=self._number, errors=self._errors)
        self._errors, self._section = [], None
        setattr(section, who.lower(), _number(text))
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
            name, text = {"Min": "minimum", "Max": "maximum", "Avg": "average"}[match[1]], match[3]
        elif match := MIN_XFER.match(line):
            section, name, text = self._of_section("Min xfer", match[2]), "min_xfer", match[1]
        else:
            return self._refuse(line)
        if getattr(section, name) is not None:
            raise ParseError(f"expected one {name.replace('_', ' ')} in the report of {section.test}, found another")
        setattr(section, name, self._value(text))
        return True

    def _take_child(self, line: str) -> bool:
        if (match := CHILD.match(line)) is None:
            return self._refuse(line)
        child, xfer, _, rate, unit, wall, cpu = match.groups()
        section = self._of_section("Child[", unit)
        values = (self._value(xfer), self._value(rate))
        section.workers.append(Child(int(child), *values, self._number, _maybe(wall), _maybe(cpu)))
        return True

    def _refuse(self, line: str) -> bool:
        """A line that begins as one of a report and does not go on as one damages it."""
        if BEGINNING.match(line):
            if not line.startswith(("Children", "Parent")):
                self._drop()
            self._section = None
            raise ParseError(f"expected a number and its unit, found {line[:100]!r}")
        return False

    def _value(self, text: str) -> float:
        """A number of a section; a report with a damaged one is none."""
        try:
            return _number(text)
        except ParseError:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._run is not None and self._run.sections and self._run.sections[-1] is self._section:
            self._run.sections.pop()
        self._section = None

    def _take_header(self, body: str) -> bool:
        run = self._run_for_results()
        if run.has_results or run.header is not None:
            run = self._start()
        run.header = Header(body)
        self._header, self._below_table = body, True
        return True

    def _take_row(self, body: str) -> bool:
        run = self._run
        if run is None or run.header is None or run.complete or not begins_row(body):
            return False
        self._row, self._below_table = (self._number, self._number, body), True
        return True

    def _take_rest(self, body: str, line: str) -> bool:
        """Take what is the rest of the header or of the row above it: numbers and names in a table are never noise."""
        if _names_columns(line) and (self._row is None or not _UPPER.issuperset(line.split())):
            return self._take_names(line)
        if _BARE.fullmatch(line) is None:
            return False
        run = self._run
        if run is not None and run.header is not None and self._row is not None:
            first, _, row = self._row
            if _is_rest_of_row(run.header, row, body, run.options.columns):
                self._row = (first, self._number, " ".join([*row.split(), line]))
                return True
        number = self._number
        self._noting_damage(self._end_table)
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
        self._run.header = Header(self._header)
        self._below_table = True
        return True

    def _end_table(self) -> bool:
        """Nothing more belongs to the header or to the row above; return whether there was a row."""
        (self._header, self._below_table), row, run = (None, False), self._row, self._run
        self._row = None
        if row is None or run is None or run.header is None:
            return False
        self._number = row[0]
        found = Row(run.header, row[2], (row[0], row[1]), run.options.columns)
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

    def _take_end(self, line: str) -> bool:
        if line.startswith("iozone test complete."):
            run = self._run_for_results()
            (run.late_errors if self._section is None else self._section.errors).extend(self._errors)
            run.complete, self._errors, self._section = True, [], None
        elif line.startswith("iozone: interrupted"):
            if self._run is not None:
                self._run.interrupted = True
        else:
            return self._take_typed(line)
        return True

    def _take_banner(self, line: str) -> bool:
        for name, kind, pattern in _BANNER:
            if match := pattern.match(line):
                run = self._run_for_banner()
                if name in {"command_line", "began", "version"} and getattr(run, name) is not None:
                    run = self._start()
                setattr(run, name, kind(match[1]))
                return True
        if match := _EACH.match(line):
            run = self._run_for_results()
            run.file_size_kb, run.record_size_kb = int(match[1]), int(match[2])
            run.blocks, self._section = run.blocks + 1, None
        elif match := CPU.match(line):
            wall, cpu, percent = (_maybe(text) for text in match.groups())
            if self._section is not None and wall is not None and cpu is not None and percent is not None:
                self._section.cpu = (wall, cpu, percent)
        else:
            return self._take_phrase(line)
        return True

    def _take_phrase(self, line: str) -> bool:
        if line.startswith("Iozone: Performance Test of File I/O"):
            self._start().banner = True
        elif match := _POOR_TIMER.match(line):
            if self.runs:
                self.runs[-1].poor_below_kb = int(match[1])
        elif re.match(r"Throughput test with [0-9]{1,9} (?:process|thread)", line):
            self._run_for_banner()
        elif line.startswith("Network distribution mode enabled"):
            self._run_for_banner().cluster = True
        elif line.startswith("The test completed too quickly") and self._run is not None and self._run.rows:
            self._run.quick.add(self._run.rows[-1].line)
        elif unit := next((unit for words, unit in _UNITS.items() if line.lower().startswith(words)), None):
            self._run_for_banner().unit = unit
        else:
            return False
        return True

    def _take_typed(self, line: str) -> bool:
        if "iozone" not in line or (match := _TYPED.search(line)) is None:
            return False
        rest, _, path = line[: match.start()].rpartition(" ")
        before = (rest.split() or [""])[-1]
        if not (path.strip(_PROMPT_ENDS) == "" or path.endswith("/")):
            return False
        if before and before not in _BEFORE_COMMAND and before[-1] not in _PROMPT_ENDS:
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


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ParseError(f"expected a number of at least 0, found {text}")
    return float(text)


def _maybe(text: str | None) -> float | None:
    return float(text) if text is not None and _NUMBER.fullmatch(text) else None
