"""dd's output: GNU's, BSD's and busybox', old and new, in any language, with the command where it is shown.

Any language has two counts such as ``1024+0`` one after the other, then a number of bytes that ends in a rate. That is
rounded, and in powers of 1,024 with busybox: the throughput is bytes by seconds.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from glusterlab.errors import ParseError
from glusterlab.reasons import Reason
from glusterlab.tools.document import Document, by_host, by_marks, number, unwrapped, whole
from glusterlab.tools.records import Operation, WorkloadRecord, failed, incomplete, unjudged, verdict, without_none

_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s;|&)<>`"']+)"""
_COMMAND = re.compile(rf"(?<![\w.=-])dd(?P<operands>(?: [a-z]{{2,8}}={_VALUE})+)")
_OPERAND = re.compile(rf"([a-z]{{2,8}})=({_VALUE})")
_SILENT = re.compile(r"(?:2|&)>{1,2} ?/dev/null|>& ?/dev/null")
_LOOP = re.compile(r"\b(?:for|while|until|do|xargs|parallel|seq)\b")
_FACTOR = re.compile(r"(\d{1,18})([a-zA-Z]{0,3})")
_UNITS = {"": 1, "c": 1, "w": 2, "b": 512, "k": 1 << 10, "B": 1}
for _power, _letter in enumerate("KMGTPE", start=1):
    _UNITS |= {_letter: 1 << 10 * _power, f"{_letter}iB": 1 << 10 * _power, f"{_letter}B": 1000**_power}
    _UNITS |= {_letter.lower(): 1 << 10 * _power, f"{_letter.lower()}B": 1000**_power}
_SOURCES = ("/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")


class Command:
    """One dd; sizes are bytes of a record, `count` is of records. None: not said, or by a variable of the shell."""

    def __init__(self, operands: str, looped: bool = False) -> None:
        values = {name: value.strip("\"'") for name, value in _OPERAND.findall(operands)}
        sizes = ("bs", "bs") if "bs" in values else ("ibs", "obs")
        self.text, self.looped = f"dd{operands}"[:200], looped
        self.source, self.target = values.get("if"), values.get("of")
        self.input_size, self.output_size = (size_of(values.get(name)) for name in sizes)
        self.flags = tuple(f"{name}={values[name]}" for name in ("conv", "iflag", "oflag") if name in values)
        words = {word for flag in self.flags for word in flag.partition("=")[2].split(",")}
        self.count = None if "count_bytes" in words else size_of(values.get("count"))
        # as many records need not be written as are read
        self.converts = not words.isdisjoint({"sync", "block", "unblock", "sparse"}) or "cbs" in values
        self.converts = self.converts or ("bs" not in values and ("ibs" in values or "obs" in values))
        # it does not begin at the start of a file
        self.placed = not {"seek", "skip", "oseek", "iseek"}.isdisjoint(values) or "append" in words

    @property
    def generated(self) -> bool:
        return self.source in _SOURCES

    @property
    def operation(self) -> Operation:
        """``write`` from a source without content, ``read`` into nothing, else ``copy``."""
        if self.generated is (self.target == "/dev/null"):
            return "copy"
        return "write" if self.generated else "read"


def commands(line: str) -> list[Command]:
    """The dd in a line, with single blanks, that print statistics; in a pipe nobody knows whose they are."""
    if "dd " not in line or _SILENT.search(line) is not None:
        return []
    matches = list(_COMMAND.finditer(line))
    if len(matches) > 1 and re.search(r"(?<!\|)\|(?!\|)", line[matches[0].end() : matches[-1].start()]):
        command = Command("")
        command.text = line[:200]
        return [command]
    looped = _LOOP.search(line) is not None
    return [Command(match["operands"], looped) for match in matches if "status=none" not in match["operands"]]


def size_of(text: str | None) -> int | None:
    """Bytes in a size as dd takes it, such as ``2x512``; None for a variable of the shell, and for what is none."""
    product = 1
    for part in (text or "").split("x")[:4]:
        match = _FACTOR.fullmatch(part)
        if match is None or match[2] not in _UNITS:
            return None
        product *= int(match[1]) * _UNITS[match[2]]
    return product if 0 < product < 1 << 63 else None


_WORD = r"[^\W\d_]"
_NUMBER = r"[0-9][0-9.,]*(?:[eE][-+]?[0-9]{1,3})?"
_IN = re.compile(r"(?:\^C)?([0-9]{1,18})\+([0-9]{1,18}) records? in$")
_OUT = re.compile(r"([0-9]{1,18})\+([0-9]{1,18}) records? out$")
_COUNTS = re.compile(r"(?:\^C)?[^0-9+:=/]{0,24}([0-9]{1,18})\+([0-9]{1,18}) ?[^0-9+:=/]{0,40}$")
_BYTES = re.compile(rf"(?:\^C)?(?P<bytes>[0-9]{{1,18}}) ?{_WORD}{{1,12}}(?!{_WORD})(?P<rest>.*)$")
_SIZES = re.compile(r"^ ?[(（][^()（）]{1,60}[)）]")
_RATE = re.compile(
    rf"^[^0-9]{{0,60}}(?<![.,+-])(?P<seconds>{_NUMBER}) ?{_WORD}{{1,16}}[.,;，、]? ?"
    rf"(?P<open>[(]?)(?P<rate>(?:{_NUMBER}|Infinity|inf) ?{_WORD}{{0,9}} ?/ ?{_WORD}{{1,4}})(?P<shut>[)]?)$"
)
_COPIED_LINE = re.compile(r"(?:\^C)?[0-9]{1,18} bytes?\b[^\n]{0,80}\b(?:copied|transferred)\b[^\n]{0,60}/ ?s")
_OTHERS = re.compile(r"bytes?\b(?!.*\b(?:[ck]op|trans))", re.IGNORECASE)
_ERROR = re.compile(r"(?:\S{0,200}/)?dd: (?P<message>.+)$")
_WARNING = re.compile(r"warning|Warnung|avertissement|attention|aviso|advertencia|предупреждение|警告", re.IGNORECASE)
_FATAL = re.compile(r"(?:failed to open|opening|can't open|unrecognized|invalid|unknown|missing)\b")
_AFTER = re.compile(r".{0,20}\b(?:clos|fsync|fdatasync)")
_REAL = re.compile(r"real ?(?:(?P<minutes>[0-9]{1,9})m ?)?(?P<seconds>[0-9]{1,9}(?:[.,][0-9]{1,9})?)s?$")
_MARK = re.compile(rf"{_IN.pattern}|{_OUT.pattern}|{_COPIED_LINE.pattern}")
_MAX_LINE = 400
_MAX_COMMANDS = 100


@dataclass
class Copy:
    """One run of dd; what is not printed is None. `read` and `written` are whole and partial records."""

    line: int
    command: Command | None = None
    misfit: bool = False  # a command was shown whose sizes are not those of this run
    read: tuple[int, int] | None = None
    written: tuple[int, int] | None = None
    bytes: int | None = None
    seconds: float | None = None
    time: str | None = None
    rate: str | None = None
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False
    real_s: float | None = None  # by the shell's ``time``


class _Reader:
    def __init__(self) -> None:
        self.done: list[Copy] = []
        self.loose: list[Copy] = []
        self.progress: list[Copy] = []
        self.open: Copy | None = None
        self.queue: list[Command] = []
        self.used = self.break_seen = False
        self.damage: list[tuple[int, str]] = []

    def line(self, place: int, line: str, following: str) -> None:
        """Take one line; `following` is the next one that is not empty."""
        awaits_out = self.open is not None and self.open.read is not None and self.open.written is None
        if found := commands(line):
            self._end()
            self.queue = [*([] if self.used else self.queue), *found][-_MAX_COMMANDS:]
            self.used = False
        elif len(line) > _MAX_LINE:
            return
        elif (match := _ERROR.match(line)) is not None:
            self._complaint(place, match["message"])
        elif (match := _OUT.match(line)) is not None or (awaits_out and (match := _COUNTS.match(line))):
            copy = self.open if self.open is not None and self.open.written is None else self._new(place)
            copy.written = int(match[1]), int(match[2])
        elif (match := _IN.match(line)) is not None or (_COUNTS.match(following) and (match := _COUNTS.match(line))):
            self._in(place, (int(match[1]), int(match[2])), line)
        elif (match := _REAL.match(line)) is not None and self.open is not None:
            self.open.real_s = 60 * float(match["minutes"] or 0) + float(match["seconds"].replace(",", "."))
        elif line == "^C":
            self.break_seen = True
        else:
            self._bytes(place, line, following)

    def _new(self, place: int) -> Copy:
        self._end()
        self.open = Copy(place)
        return self.open

    def _complaint(self, place: int, message: str) -> None:
        if (copy := self.open) is None or (copy.written is not None and _AFTER.match(message) is None):
            copy = self._new(place)
        (copy.warnings if _WARNING.match(message) else copy.errors).append(message[:200])
        if _FATAL.match(message) is not None:
            self._end()

    def _in(self, place: int, counts: tuple[int, int], line: str) -> None:
        copy = self.open
        progress, self.loose = self.loose, []
        if copy is None or copy.read is not None or copy.written is not None:
            copy = self._new(place)
        self.progress = progress
        copy.read = counts
        copy.interrupted = self.break_seen or line.startswith("^C")
        self.break_seen = False

    def _bytes(self, place: int, line: str, following: str) -> None:
        if (match := _BYTES.match(line)) is None:
            return
        rest, sized = _SIZES.subn("", match["rest"])
        # a mail client may have broken the line
        rate = _rate(rest) or (_rate(f"{rest} {following}") if len(following) <= _MAX_LINE else None)
        copy = self.open
        alone = copy is None or copy.written is None or copy.bytes is not None
        if rate is None:
            if alone and sized:
                self.damage.append((place, f"expected bytes, seconds and a rate of dd, found {line[:100]!r}"))
            return
        if copy is None or alone:
            if not sized and _OTHERS.match(line[match.end("bytes") :].lstrip()) is not None:
                return
            copy = Copy(place)
            self.loose.append(copy)
        copy.bytes, copy.seconds = whole(match["bytes"]), number(rate["seconds"])
        copy.time, copy.rate = rate["seconds"], rate["rate"]

    def _end(self) -> None:
        """No more lines belong to the open run, or to lines of bytes alone."""
        ended = self.loose
        if self.open is not None:
            # lines of bytes before the records are what dd printed while it ran, unless it did less afterwards
            ended = [*(one for one in self.progress if not _is_before(one, self.open, True)), self.open, *ended]
        self.loose, self.progress, self.open = [], [], None
        for copy in ended:
            command = next((command for command in self.queue if _fits(command, copy)), None)
            copy.command, copy.misfit = command, bool(self.queue) and command is None
            self.used = True
            if command is not None and len(self.queue) > 1:
                self.queue = self.queue[self.queue.index(command) + 1 :] or [command]
            # a statistic that was printed on a signal is the same run at an earlier time
            before = self.done[-1] if self.done and command is not None and self.done[-1].command is command else None
            once = command is not None and command.count is not None and not command.looped
            if before is not None and once and not before.errors and _is_before(before, copy, False):
                self.done.pop()
            self.done.append(copy)

    def finish(self, document: Document, lines: list[tuple[int, str]], ends: bool) -> None:
        copy, waiting = self.open, self.loose
        place, text = lines[-1]
        whole = [one.line for one in (*self.done, *waiting)] + [place if copy is not None and copy.bytes else 0]
        if copy is not None and (copy.read if copy.written is None else copy.bytes is None and not ends):
            self.open = None
            self.damage.append((place, "expected all of dd's lines of records and bytes, found the end of the file"))
            return
        if not ends and text[0].isdigit() and place not in whole:
            self.damage.append((place, "expected a whole line of dd, found the end of the file"))
        elif waiting and re.search(rb"\r(?!\n)", document.data):
            self.loose = []
            self.damage.append((waiting[-1].line, "expected dd's lines of records after its progress, found the end"))
        self._end()


def _rate(rest: str) -> re.Match[str] | None:
    found = _RATE.match(rest)
    return found if found is not None and bool(found["open"]) == bool(found["shut"]) else None


def _fits(command: Command, copy: Copy) -> bool:
    if copy.written is None or copy.read is None or copy.bytes is None:
        return True
    if command.count is not None and sum(copy.read) > command.count:
        return False
    size = command.output_size
    return size is None or copy.written[1] > 0 or copy.bytes == size * copy.written[0]


def _is_before(one: Copy, copy: Copy, may_be: bool) -> bool:
    """Whether bytes and seconds are of a run at an earlier time, or `may_be`."""
    pairs = ((one.bytes, copy.bytes), (one.seconds, copy.seconds))
    return all(may_be if a is None or b is None else a < b or (may_be and a == b) for a, b in pairs)


_PREFIX = r"(?m)^(?:\[?[\w.-]{1,254}\]?: )?"
_COUNTS_LINE = r"[^0-9+:=/\n]{0,24}[0-9]{1,18}\+[0-9]{1,18} ?[^0-9+:=/\n]{1,40}\n"
_MARKS = {  # lines of records in, of bytes copied, and the shape of either in any language, each with how sure it is
    _PREFIX + _IN.pattern: 0.95,
    _PREFIX + _COPIED_LINE.pattern: 0.9,
    rf"(?m)^{_COUNTS_LINE}{_COUNTS_LINE}[0-9]{{1,18}} ?[^\W\d_].{{1,80}}/ ?[^\W\d_]": 0.85,
    r"(?m)^[0-9]{1,18} ?[^\W\d_]{1,12} ?[(（][0-9.,]{1,9} ?[kMGTPE]i?B[^()（）\n]{0,20}[)）]"
    r"[^0-9\n]{1,60}[0-9][0-9.,e-]{0,30} ?[^\W\d_]": 0.85,
}

_PRINTED = re.compile(r"([0-9.,]+(?:[eE][-+]?[0-9]{1,3})?) ?([kKMGTPE]?)")


def read(document: Document) -> Iterator[WorkloadRecord]:
    """Each run of dd, by its start; `ParseError` when the last of a host is cut off, or there is none."""
    found: list[tuple[str | None, Copy]] = []
    errors: list[ParseError] = []
    for host, lines in by_host(document.lines, _MARK).items():
        reader = _Reader()
        kept = [(place, line) for place, raw in lines if (line := unwrapped(raw))]
        for (place, line), (_, following) in zip(kept, [*kept[1:], (0, "")], strict=False):
            reader.line(place, line, following)
        if kept:
            reader.finish(document, kept, document.ends_in_a_line or kept[-1][0] < len(document.lines))
        errors += [document.error(message, place) for place, message in reader.damage]
        found += [(host, copy) for copy in reader.done]
    runs: Counter[str | None] = Counter()
    for host, copy in sorted(found, key=lambda pair: pair[1].line):
        runs[host] += 1
        yield _record(document, host, copy, runs[host])
    if errors:
        raise min(errors, key=lambda error: error.line or 0)
    if not runs:
        raise document.error("expected dd's lines of records and bytes, found none", 1)


def _record(document: Document, host: str | None, copy: Copy, run: int) -> WorkloadRecord:
    command, gaps = copy.command, "; ".join(_gaps(copy))
    read, written = copy.read or (None, None), copy.written or (None, None)
    size = None if command is None else command.output_size
    if size is None and copy.bytes and written[0] and not written[1] and copy.bytes % written[0] == 0:
        size = copy.bytes // written[0]
    details = {
        "bytes": copy.bytes,
        "records_in_full": read[0],
        "records_in_partial": read[1],
        "records_out_full": written[0],
        "records_out_partial": written[1],
        "printed_rate": copy.rate,
        "input": command and command.source,
        "output": command and command.target,
        "flags": list(command.flags) if command is not None and command.flags else None,
        "real_s": copy.real_s,
        "warnings": copy.warnings or None,
    }
    return WorkloadRecord(
        tool="dd",
        source=document.source(copy.line),
        run=run,
        host=host,
        operation="copy" if command is None else command.operation,
        label="dd" if command is None else command.text,
        workers=1,
        file_size_bytes=_file_size(copy),
        record_size_bytes=size,
        throughput_bytes_per_s=copy.bytes / copy.seconds if copy.bytes and copy.seconds else None,
        elapsed_s=copy.seconds or None,
        **verdict(_faults(copy), [unjudged(gaps)] if gaps else ()),
        details=without_none(details),
    )


def _file_size(copy: Copy) -> int | None:
    command = copy.command
    if command is None or command.placed or command.operation == "copy":
        return None
    if command.count is None:
        return copy.bytes or None
    return command.count * command.input_size if command.generated and command.input_size is not None else None


def _faults(copy: Copy) -> Iterator[Reason]:
    for message in copy.errors:
        yield failed(f"dd said: {message}")
    if copy.interrupted:
        yield incomplete("dd was interrupted from the keyboard")
    if copy.bytes == 0 or (copy.written is not None and sum(copy.written) == 0):
        yield incomplete("nothing was copied")
    command = copy.command
    if command is not None and copy.read is not None:
        if copy.written is not None and not command.converts and sum(copy.read) > sum(copy.written):
            yield incomplete(f"{sum(copy.read)} records were read, {sum(copy.written)} written")
        if command.generated and command.count is not None and sum(copy.read) < command.count:
            yield incomplete(f"expected {command.count} records, found {sum(copy.read)}")
    full, partial = copy.written or (0, 0)
    if copy.bytes and full and not partial and copy.bytes % full and not (command is not None and command.converts):
        yield incomplete(f"{copy.bytes} bytes are not {full} records of one size")
    if copy.bytes and copy.seconds and not _fits_its_rate(copy.bytes / copy.seconds, copy.seconds, copy):
        yield incomplete(f"{copy.bytes} bytes in {copy.time} s are not {copy.rate}")


def _fits_its_rate(rate: float, seconds: float, copy: Copy) -> bool:
    """Whether bytes by seconds is the printed rate, in powers of 1,000 or 1,024, as far as both are rounded."""
    match = _PRINTED.match(copy.rate or "")
    if match is None or (value := number(match[1])) is None or copy.time is None:
        return False
    power = " KMGTPE".index(match[2].upper() or " ")
    # few decimals are not rounded ones: GNU drops zeros at the end
    rounding = _last_place(copy.time) / seconds if _last_place(copy.time) < 0.01 else 1e-3
    slack, units = 1.5 * _last_place(match[1]), (1000.0**power, 1024.0**power)
    return any(abs(rate - value * unit) <= slack * unit + rounding * rate for unit in units)


def _last_place(text: str) -> float:
    """What the last digit of a number counts: 0.1 in 9,5."""
    mantissa, _, exponent = text.lower().replace(",", ".").partition("e")
    return float(f"1e{int(exponent or 0) - len(mantissa.partition('.')[2])}")


def _gaps(copy: Copy) -> Iterator[str]:
    if copy.seconds is None or copy.bytes is None:
        yield "dd printed no time"
    elif copy.seconds == 0:
        yield "dd ended too quickly for its clock"
    if copy.read is None or copy.written is None:
        yield "the lines of records are not in the file"
    elif copy.command is None and sum(copy.read) > sum(copy.written):
        yield "more records were read than written, and no command says why"
    if copy.misfit:
        yield "the command that is shown has other sizes"


recognise = by_marks(_MARKS, lambda head: "\n".join(map(unwrapped, head.splitlines())))
