"""dd's lines: records read and written, whole and partial; bytes, seconds and a rate; complaints; in any language.

A language is known by nothing but the shape of its lines: two counts such as ``1024+0`` one after the other, then a
number of bytes that ends in a rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from glusterlab.errors import ParseError
from glusterlab.readers.dd_command import Command, commands
from glusterlab.readers.document import Document
from glusterlab.readers.wrapping import by_host, number, unwrapped, whole

_WORD = r"[^\W\d_]"
_NUMBER = r"[0-9][0-9.,]*(?:[eE][-+]?[0-9]{1,3})?"
IN = re.compile(r"(?:\^C)?([0-9]{1,18})\+([0-9]{1,18}) records? in$")
"""The line of records read, in English."""

_OUT = re.compile(r"([0-9]{1,18})\+([0-9]{1,18}) records? out$")
_COUNTS = re.compile(r"(?:\^C)?[^0-9+:=/]{0,24}([0-9]{1,18})\+([0-9]{1,18}) ?[^0-9+:=/]{0,40}$")
_BYTES = re.compile(rf"(?:\^C)?(?P<bytes>[0-9]{{1,18}}) ?{_WORD}{{1,12}}(?!{_WORD})(?P<rest>.*)$")
_SIZES = re.compile(r"^ ?[(（][^()（）]{1,60}[)）]")
_RATE = re.compile(
    rf"^[^0-9]{{0,60}}(?<![.,+-])(?P<seconds>{_NUMBER}) ?{_WORD}{{1,16}}[.,;，、]? ?"
    rf"(?P<open>[(]?)(?P<rate>(?:{_NUMBER}|Infinity|inf) ?{_WORD}{{0,9}} ?/ ?{_WORD}{{1,4}})(?P<shut>[)]?)$"
)
COPIED = re.compile(r"(?:\^C)?[0-9]{1,18} bytes?\b[^\n]{0,80}\b(?:copied|transferred)\b[^\n]{0,60}/ ?s")
"""The line of bytes, in English."""

_OTHERS = re.compile(r"bytes?\b(?!.*\b(?:[ck]op|trans))", re.IGNORECASE)
"""What other programs, such as ftp, write after a number of bytes."""

_ERROR = re.compile(r"(?:\S{0,200}/)?dd: (?P<said>.+)$")
_WARNING = re.compile(r"warning|Warnung|avertissement|attention|aviso|advertencia|предупреждение|警告", re.IGNORECASE)
_FATAL = re.compile(r"(?:failed to open|opening|can't open|unrecognized|invalid|unknown|missing)\b")
_AFTER = re.compile(r".{0,20}\b(?:clos|fsync|fdatasync)")
_REAL = re.compile(r"real ?(?:(?P<minutes>[0-9]{1,9})m ?)?(?P<seconds>[0-9]{1,9}(?:[.,][0-9]{1,9})?)s?$")
_MARK = re.compile(rf"{IN.pattern}|{_OUT.pattern}|{COPIED.pattern}")
_MAX_LINE = 400
_MAX_COMMANDS = 100


@dataclass
class Copy:
    """One run of dd; what is not printed is None.

    Attributes
    ----------
    line : int
    command : Command or None
        The one that was shown before it.
    misfit : bool
        A command was shown whose sizes are not those of this run.
    read, written : tuple of int and int, or None
        Whole and partial records.
    bytes : int or None
    seconds : float or None
    time, rate : str or None
        As printed.
    errors, warnings : list of str
    interrupted : bool
        From the keyboard.
    real_s : float or None
        What the shell's ``time`` says.
    """

    line: int
    command: Command | None = None
    misfit: bool = False
    read: tuple[int, int] | None = None
    written: tuple[int, int] | None = None
    bytes: int | None = None
    seconds: float | None = None
    time: str | None = None
    rate: str | None = None
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    interrupted: bool = False
    real_s: float | None = None


class _Reader:
    """Reads the lines of one host."""

    def __init__(self) -> None:
        self.done: list[Copy] = []
        self.loose: list[Copy] = []
        self.progress: list[Copy] = []
        self.open: Copy | None = None
        self.queue: list[Command] = []
        self.used = False
        self.break_seen = False
        self.damage: list[tuple[int, str]] = []

    def line(self, place: int, line: str, following: str) -> None:
        """Take one line; `following` is the next one that is not empty."""
        if found := commands(line):
            self._end()
            if self.used:
                self.queue = []
            self.queue.extend(found)
            del self.queue[:-_MAX_COMMANDS]
            self.used = False
        elif len(line) > _MAX_LINE:
            return
        elif (match := _ERROR.match(line)) is not None:
            self._complaint(place, match["said"])
        elif (match := _OUT.match(line)) is not None or (self._awaits_out() and (match := _COUNTS.match(line))):
            self._out(place, (int(match[1]), int(match[2])))
        elif (match := IN.match(line)) is not None or (_COUNTS.match(following) and (match := _COUNTS.match(line))):
            self._in(place, (int(match[1]), int(match[2])), line)
        elif (match := _REAL.match(line)) is not None and self.open is not None:
            self.open.real_s = 60 * float(match["minutes"] or 0) + float(match["seconds"].replace(",", "."))
        elif line == "^C":
            self.break_seen = True
        else:
            self._bytes(place, line, following)

    def _awaits_out(self) -> bool:
        return self.open is not None and self.open.read is not None and self.open.written is None

    def _new(self, place: int) -> Copy:
        self._end()
        self.open = Copy(place)
        return self.open

    def _complaint(self, place: int, said: str) -> None:
        copy = self.open
        late = _AFTER.match(said) is not None
        if copy is None or (copy.written is not None and not late):
            copy = self._new(place)
        (copy.warnings if _WARNING.match(said) else copy.errors).append(said[:200])
        if _FATAL.match(said) is not None:
            self._end()

    def _in(self, place: int, counts: tuple[int, int], line: str) -> None:
        copy, progress = self.open, self.loose
        self.loose = []
        if copy is None or copy.read is not None or copy.written is not None:
            copy = self._new(place)
        self.progress = progress
        copy.read = counts
        copy.interrupted = self.break_seen or line.startswith("^C")
        self.break_seen = False

    def _out(self, place: int, counts: tuple[int, int]) -> None:
        copy = self.open
        if copy is None or copy.written is not None:
            copy = self._new(place)
        copy.written = counts

    def _bytes(self, place: int, line: str, following: str) -> None:
        match = _BYTES.match(line)
        if match is None:
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
        ended = list(self.loose)
        if self.open is not None:
            # lines of bytes before the records are what dd printed while it ran, unless it did less afterwards
            ended = [*(one for one in self.progress if not _led_to(one, self.open)), self.open, *ended]
        self.loose, self.progress, self.open = [], [], None
        for copy in ended:
            self._take_command(copy)
            before = self.done[-1] if self.done else None
            if before is not None and _grew(before, copy):
                self.done.pop()
            self.done.append(copy)

    def _take_command(self, copy: Copy) -> None:
        fitting = next((command for command in self.queue if _fits(command, copy)), None)
        copy.command, copy.misfit = fitting, bool(self.queue) and fitting is None
        self.used = True
        if fitting is not None and len(self.queue) > 1:
            del self.queue[: self.queue.index(fitting) + 1]
            self.queue = self.queue or [fitting]

    def finish(self, document: Document, lines: list[tuple[int, str]], ends: bool) -> None:
        """Take the last run.

        Raises
        ------
        ParseError
            When it is cut off.
        """
        copy, waiting = self.open, self.loose
        if copy is not None and copy.written is None and copy.read is not None:
            self.open = None
            raise document.error("expected dd's line of records out, found the end of the file", lines[-1][0])
        if copy is not None and copy.bytes is None and copy.written is not None and not ends:
            self.open = None
            raise document.error("expected dd's whole line of bytes, found the end of the file", lines[-1][0])
        place, text = lines[-1]
        known = [one.line for one in (*self.done, *waiting)] + [place if copy is not None and copy.bytes else 0]
        if not ends and text[0].isdigit() and place not in known:
            self._end()
            raise document.error("expected a whole line of dd, found the end of the file", place)
        if waiting and re.search(rb"\r(?!\n)", document.data):
            self.loose = []
            self._end()
            raise document.error("expected dd's lines of records after its progress, found the end", waiting[-1].line)
        self._end()


def _rate(rest: str) -> re.Match[str] | None:
    """Seconds and rate at the end of a line of bytes."""
    found = _RATE.match(rest)
    return None if found is None or bool(found["open"]) != bool(found["shut"]) else found


def _fits(command: Command, copy: Copy) -> bool:
    if copy.written is None or copy.read is None or copy.bytes is None:
        return True
    if command.count is not None and sum(copy.read) > command.count:
        return False
    size = command.output_size
    return size is None or copy.written[1] > 0 or copy.bytes == size * copy.written[0]


def _led_to(progress: Copy, copy: Copy) -> bool:
    """Whether a line of bytes may be of a run at an earlier time."""
    pairs = ((progress.bytes, copy.bytes), (progress.seconds, copy.seconds))
    return all(early is None or late is None or early <= late for early, late in pairs)


def _grew(before: Copy, copy: Copy) -> bool:
    """Whether one statistic is the other's run at an earlier time, printed on a signal."""
    command = copy.command
    if command is None or command is not before.command or command.looped or before.errors:
        return False
    earlier = (before.bytes, before.seconds)
    later = (copy.bytes, copy.seconds)
    if None in earlier or None in later or command.count is None:
        return False
    return (before.bytes or 0) < (copy.bytes or 0) and (before.seconds or 0) < (copy.seconds or 0)


def copies(document: Document) -> Iterator[tuple[str | None, Copy]]:
    """The runs in a text, with the host in front of their lines, in the order in which they start.

    Raises
    ------
    ParseError
        When the last run of a host is cut off, after the others.
    """
    found: list[tuple[str | None, Copy]] = []
    errors: list[ParseError] = []
    for host, lines in by_host(document.lines, _MARK).items():
        reader = _Reader()
        kept = [(place, line) for place, raw in lines if (line := unwrapped(raw))]
        for index, (place, line) in enumerate(kept):
            reader.line(place, line, kept[index + 1][1] if index + 1 < len(kept) else "")
        ends = document.ends_in_a_line or not kept or kept[-1][0] < len(document.lines)
        try:
            if kept:
                reader.finish(document, kept, ends)
        except ParseError as error:
            errors.append(error)
        errors += [document.error(message, place) for place, message in reader.damage]
        found += [(host, copy) for copy in reader.done]
    yield from sorted(found, key=lambda pair: pair[1].line)
    if errors:
        raise min(errors, key=lambda error: error.line or 0)
