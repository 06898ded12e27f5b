"""dd's command line, as a prompt or a script shows it: what it reads and writes, and in which sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glusterlab.readers.records import Operation

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


@dataclass(frozen=True)
class Command:
    """One dd; what the line does not say, or says by a variable of the shell, is None.

    Attributes
    ----------
    text : str
        As printed.
    source, target : str or None
    input_size, output_size, count : int or None
        Bytes of a record; records.
    flags : tuple of str
        ``conv=fsync``, ``oflag=direct``, ...
    converts : bool
        As many records need not be written as are read.
    placed : bool
        It does not begin at the start of a file.
    looped : bool
        The line runs it more than once.
    """

    text: str
    source: str | None = None
    target: str | None = None
    input_size: int | None = None
    output_size: int | None = None
    count: int | None = None
    flags: tuple[str, ...] = ()
    converts: bool = False
    placed: bool = False
    looped: bool = False

    @property
    def generated(self) -> bool:
        """Whether its input has no end."""
        return self.source in _SOURCES

    @property
    def operation(self) -> Operation:
        """``write`` from a source without content, ``read`` into nothing, else ``copy``."""
        if self.generated and self.target != "/dev/null":
            return "write"
        return "read" if self.target == "/dev/null" and not self.generated else "copy"


def commands(line: str) -> list[Command]:
    """The dd in a line that print statistics; in a pipe nobody knows which statistics belong to which.

    Parameters
    ----------
    line : str
        With one blank where there were several.

    Examples
    --------
    >>> [found] = commands("# time dd if=/dev/zero of=/mnt/f bs=64k count=16")
    >>> found.operation, found.output_size, found.count
    ('write', 65536, 16)
    """
    if "dd " not in line or _SILENT.search(line) is not None:
        return []
    matches = list(_COMMAND.finditer(line))
    if len(matches) > 1 and re.search(r"(?<!\|)\|(?!\|)", line[matches[0].end() : matches[-1].start()]):
        return [Command(text=line[:200])]
    looped = _LOOP.search(line) is not None
    found = [_command(match["operands"], looped) for match in matches]
    return [command for command in found if "status=none" not in command.text]


def _command(operands: str, looped: bool) -> Command:
    given = {name: value.strip("\"'") for name, value in _OPERAND.findall(operands)}
    both = size_of(given.get("bs"))
    flags = tuple(f"{name}={given[name]}" for name in ("conv", "iflag", "oflag") if name in given)
    words = {word for flag in flags for word in flag.partition("=")[2].split(",")}
    converts = not words.isdisjoint({"sync", "block", "unblock", "sparse"}) or "cbs" in given
    return Command(
        text=f"dd{operands}"[:200],
        source=given.get("if"),
        target=given.get("of"),
        input_size=both if "bs" in given else size_of(given.get("ibs")),
        output_size=both if "bs" in given else size_of(given.get("obs")),
        count=None if "count_bytes" in words else size_of(given.get("count")),
        flags=flags,
        converts=converts or ("bs" not in given and ("ibs" in given or "obs" in given)),
        placed=not {"seek", "skip", "oseek", "iseek"}.isdisjoint(given) or "append" in words,
        looped=looped,
    )


def size_of(text: str | None) -> int | None:
    """Bytes in a size as dd takes it; None for a variable of the shell, and for what is none.

    Examples
    --------
    >>> size_of("1M"), size_of("4kB"), size_of("2x512"), size_of("$BS"), size_of("8KiB")
    (1048576, 4000, 1024, None, 8192)
    """
    product = 1
    for part in (text or "").split("x")[:4]:
        match = _FACTOR.fullmatch(part)
        if match is None or match[2] not in _UNITS:
            return None
        product *= int(match[1]) * _UNITS[match[2]]
    return product if 0 < product < 1 << 63 else None
