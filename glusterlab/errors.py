"""Every error that glusterlab raises on purpose, with the exit code that the command line gives it.

An error ends a command before it has an answer, so it is 3 where nothing else is said: 1 is an answer.

The tree::

    GlusterlabError            exit 3, base of all
    ├── SpecError              exit 2, a specification file is wrong: file, line, key, what was expected
    ├── UsageError             exit 2, a command cannot do what it was asked
    ├── HostError              exit 3, a host could not be reached or is unfit: host
    │   ├── CommandError       exit 3, a command failed on a host: command, exit code, end of stderr
    │   └── VolumeError        exit 1, the pool or a volume of it is not what it should be
    │       └── RefusedError   exit 1, the pool's release has not what a layout asks for
    ├── TestbedError           exit 3, the testbed cannot be started or taken down
    ├── WorkloadError          exit 3, a workload cannot be started as specified
    ├── ParseError             exit 1, a raw file is not what it should be: file, line, expected, found
    ├── RawStoreError          exit 3, the raw store is damaged, locked or full: path; 2 where there is none
    ├── LockLostError          exit 3, another run took the hosts over
    ├── StoppedError           exit 130, a run was asked to stop while hosts were at work
    ├── DataError              exit 3, a table lacks what an analysis or a figure needs
    └── ReproduceError         exit 3, a notebook failed: notebook, cell

Errors cross process borders, so each of them pickles.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from glusterlab.secrets import redact


class GlusterlabError(Exception):
    """Base of all errors: `message` says what was expected, found and to do, without secrets; `details` are kept.

    They are attributes; `exit_code` among them is that of one error.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, **details: Any) -> None:
        self.message = redact(message)
        super().__init__(self.message)
        self.details = details
        for name, value in details.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self.details), (self.message,)

    def __str__(self) -> str:
        return self.message


def _place(file: Path | None, line: int | None) -> str:
    return ("" if file is None else str(file)) + ("" if line is None else f":{line}")


class SpecError(GlusterlabError):
    """A specification file is wrong, at a dotted key such as ``workloads.0.record_size``; lines count from 1."""

    exit_code = 2
    file: Path | None = None
    line: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (_place(self.file, self.line), self.key, self.message) if part)


class UsageError(GlusterlabError):
    """A command cannot do what it was asked to do."""

    exit_code = 2


class HostError(GlusterlabError):
    """A host could not be reached, or is unfit for what was asked of it."""

    host: str | None = None

    def __str__(self) -> str:
        return self.message if self.host is None else f"{self.host}: {self.message}"


def in_words(failed: Mapping[str, HostError]) -> str:
    """What is wrong with hosts, each message once with the hosts that have it: one cause may be that of all.

    >>> in_words({f"c{n}": HostError("no route") for n in range(5)})
    'c0, c1, c2 and 2 more: no route'
    """
    by_message: dict[str, list[str]] = {}
    for name, error in sorted(failed.items()):
        by_message.setdefault(error.message, []).append(name)
    return "; ".join(
        f"{some(names) if len(names) > 4 else joined(names)}: {message}" for message, names in by_message.items()
    )


def some(names: Sequence[str], most: int = 3, between: str = ", ") -> str:
    """The first of many, and how many more there are.

    >>> some(["a", "b", "c"], 2), some(["a"])
    ('a, b and 1 more', 'a')
    """
    return between.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def joined(parts: Iterable[object]) -> str:
    """Numbers or words in a sentence.

    >>> joined([1, 12, 24]), joined(["a", "b"]), joined([48])
    ('1, 12 and 24', 'a and b', '48')
    """
    *first, last = map(str, parts)
    return f"{', '.join(first)} and {last}" if first else last


class CommandError(HostError):
    """A command failed on a host; without a return code it passed its deadline."""

    command: str = ""
    returncode: int | None = None
    stderr: str = ""


class VolumeError(HostError):
    """The pool answers, but a volume of it is not what it should be."""

    exit_code = 1
    reasons: tuple[Any, ...] = ()


class RefusedError(VolumeError):
    """GlusterFS refuses what a layout asks for, and would in any further attempt: its release has it not."""


class TestbedError(GlusterlabError):
    """The testbed cannot be started, taken down or looked at."""

    __test__ = False  # pytest would collect a class of this name


class WorkloadError(GlusterlabError):
    """A workload cannot be started as it is specified."""


class ParseError(GlusterlabError):
    """A raw file is not what it should be; lines count from 1."""

    exit_code = 1
    file: Path | None = None
    line: int | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (_place(self.file, self.line), self.message) if part)


class RawStoreError(GlusterlabError):
    """The raw store is damaged, locked by another run, or cannot be written."""


class LockLostError(GlusterlabError):
    """Another run took the hosts over: whatever is done there now would disturb it."""


class StoppedError(GlusterlabError):
    """The run was asked to stop (Ctrl-C, SIGTERM) while hosts were at work."""

    exit_code = 130


ENDS_A_RUN = (StoppedError, RawStoreError, LockLostError)
"""What is no failure of a sample, but ends its run."""


class DataError(GlusterlabError):
    """A table lacks what an analysis or a figure needs."""


class ReproduceError(GlusterlabError):
    """A notebook failed, or is not one that can be reproduced."""
