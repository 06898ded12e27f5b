"""What an IOzone command line asks for: its tests, workers and sizes, as IOzone's own getopt reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_WITH_VALUE = frozenset("JjkVrtsfFdluUSLHPibXYgnyq")
_PLUS_WITH_VALUE = frozenset("mhpwyCA")
_SIZE = re.compile(r"([0-9]{1,15})([kKmMgG]?)")
_KB = {"": 1, "k": 1, "m": 1 << 10, "g": 1 << 20}

AUTO_SIZES_KB = (64, 512 << 10)
"""The smallest and the largest file of ``-a``, when neither ``-n``, ``-g`` nor ``-s`` is given."""

AUTO_RECORDS_KB = (4, 16 << 10)
"""The smallest and the largest record of ``-a``, when neither ``-y``, ``-q`` nor ``-r`` is given."""

SINGLE_KB = (512, 4)
"""File and record size when nothing is given."""


@dataclass(frozen=True)
class Options:
    """The options of a command line, as far as they say what its report must hold.

    Attributes
    ----------
    flags : frozenset of str
        Options without a value: ``a``, ``C``, ``O``; ``+n`` for ``-+n``.
    values : dict of str to list of str
        The values of the others, in their order.
    """

    flags: frozenset[str] = frozenset()
    values: dict[str, list[str]] = field(default_factory=dict)

    @property
    def tests(self) -> frozenset[int] | None:
        """The numbers given by ``-i``; None stands for all tests."""
        numbers = [int(text) for text in self.values.get("i", []) if re.fullmatch("[0-9]{1,3}", text)]
        if "A" in self.flags:
            numbers += [0, 1]
        return frozenset(numbers) or None

    @property
    def counts(self) -> tuple[int, ...]:
        """How many workers, in their order: by ``-t``, or from ``-l`` to ``-u``; empty outside throughput mode."""
        times = [int(text) for text in self.values.get("t", []) if re.fullmatch("[0-9]{1,4}", text)]
        if times:
            return tuple(times)
        low, high = (
            next((int(text) for text in reversed(self.values.get(name, [])) if re.fullmatch("[0-9]{1,4}", text)), None)
            for name in "lu"
        )
        if low is None and high is None:
            return ()
        return tuple(range(low or 1, (high or low or 1) + 1))

    @property
    def auto(self) -> bool:
        """Automatic mode: many file and record sizes."""
        return bool({"a", "A"} & self.flags)

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
        if not self.auto:
            return (files[-1] if files else SINGLE_KB[0], records[-1] if records else SINGLE_KB[1])
        file = max(files) if files else _last(AUTO_SIZES_KB, self.sizes_kb("n"), self.sizes_kb("g"))
        if records:
            return file, max((size for size in records if size <= file), default=min(records))
        low, high = self.sizes_kb("y"), self.sizes_kb("q")
        return file, _last(AUTO_RECORDS_KB, low, [min([*high, AUTO_RECORDS_KB[1]][0], file)])


def _last(default: tuple[int, int], low: list[int], high: list[int]) -> int:
    """The last size of a row that doubles from `low` and does not pass `high`."""
    size, end = low[-1] if low else default[0], high[-1] if high else default[1]
    while size * 2 <= end:
        size *= 2
    return size


def parse_options(command: str) -> Options:
    """The options of a command line as IOzone prints it, or as a person typed it.

    Examples
    --------
    >>> options = parse_options("./iozone -ceIT -i0 -i 1 -+n -s1g -r 64k -l 2 -u 4 -F /mnt/-i")
    >>> sorted(options.flags), sorted(options.tests), options.counts, options.sizes_kb("s")
    (['+n', 'I', 'T', 'c', 'e'], [0, 1], (2, 3, 4), [1048576])
    """
    flags: set[str] = set()
    values: dict[str, list[str]] = {}
    words = iter(command.split()[1:])
    for word in words:
        if word.startswith("-+"):
            flags.add(word[1:3])
        elif word.startswith("-") and len(word) > 1:
            _letters(word[1:], words, flags, values)
    return Options(frozenset(flags), values)


def wants_value(command: str) -> bool:
    """Whether the last option of a command line lacks its value.

    Examples
    --------
    >>> wants_value("iozone -a -b"), wants_value("iozone -ab x"), wants_value("iozone -i0"), wants_value("iozone -+m")
    (True, False, False, True)
    """
    last = command.rpartition(" ")[2]
    if last.startswith("-+"):
        return len(last) == len("-+m") and last[2] in _PLUS_WITH_VALUE
    place = next((place for place, letter in enumerate(last) if letter in _WITH_VALUE), None)
    return last.startswith("-") and place == len(last) - 1


def _letters(word: str, words: Iterator[str], flags: set[str], values: dict[str, list[str]]) -> None:
    for place, letter in enumerate(word):
        if letter in _WITH_VALUE:
            values.setdefault(letter, []).append(word[place + 1 :] or next(words, ""))
            return
        flags.add(letter)
