"""The one place where a value becomes part of a shell command."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath


def quote(value: str | PathLike[str] | int | float) -> str:
    """One word of a POSIX shell command, whatever is in it; ValueError for a NUL, which no command line can carry."""
    text = str(value) if isinstance(value, (int, float)) else fspath(value)
    if "\0" in text:
        raise ValueError(f"expected a value without NUL characters, found {text!r}")
    return shlex.quote(text)


def join(argv: Iterable[str | PathLike[str] | int | float], env: Mapping[str, str] | None = None) -> str:
    """A shell command of these words, with these environment variables set for it.

    Raises ValueError when a name in `env` is no shell identifier, or a value holds a NUL character.

    >>> join(["iozone", "-+m", "/tmp/a b"], {"RSH": "ssh -x"})
    "RSH='ssh -x' iozone -+m '/tmp/a b'"
    """
    words = [quote(word) for word in argv]
    for name, value in sorted((env or {}).items(), reverse=True):
        if not (name.isidentifier() and name.isascii()):
            raise ValueError(f"expected the name of an environment variable, found {name!r}")
        words.insert(0, f"{name}={quote(value)}")
    return " ".join(words)


@dataclass(frozen=True)
class HostCommand:
    """One command for one host: either a program with arguments, or a POSIX shell script whose values are quoted."""

    host: str
    argv: tuple[str, ...] = ()
    script: str = ""
    deadline_s: float = 60.0
    env: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if bool(self.argv) == bool(self.script):
            raise ValueError(f"expected either argv or a script for {self.host}, found both or neither")

    @property
    def shell(self) -> str:
        """The command as one line for a remote POSIX shell, quoted."""
        return join(self.words, self.env)

    @property
    def words(self) -> tuple[str, ...]:
        return self.argv or ("sh", "-c", self.script)
