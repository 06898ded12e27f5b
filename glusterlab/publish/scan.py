"""What is left in a copy that could tell whose it is: looked for in every file and in every path, after it was made."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glusterlab import secrets
from glusterlab.publish import content
from glusterlab.publish.names import Names, is_address
from glusterlab.publish.rewrite import (
    FORMS,
    LONG_LINE,
    MANY_LINES,
    is_clearly_ipv6,
    known_literals,
    name_fields,
    serial_value,
)

Kind = Literal["name", "address", "hardware address", "user", "mail", "device", "secret", "unreadable"]
_KINDS: dict[str, Kind] = {
    "mac": "hardware address", "user": "user", "mail": "mail", "device": "device", "serial": "device",
}  # fmt: skip
_KNOWN: dict[str, Kind] = {
    "known4": "address", "known6": "address", "knownmac": "hardware address", "known": "name",
}  # fmt: skip

_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class Left:
    """Something that should not be in a copy.

    Attributes
    ----------
    kind : str
    path : str
        Below the copy's folder.
    found : str
        What it is; of a secret only its kind.
    """

    kind: Kind
    path: str
    found: str


class Scanner:
    """Looks for what `names` was to replace, and for what has the form of an address, a serial number or a secret.

    Parameters
    ----------
    names : Names
        As they are after the copy was made.
    """

    def __init__(self, names: Names) -> None:
        # what is asked here must not become known by that
        self._names = copy.deepcopy(names)
        self._neutral = {
            new.lower()
            for known in (names.aliases, names.addresses, names.macs, names.uuids, names.devices, names.users)
            for new in known.values()
        }
        self._neutral |= {new.replace(".", "-") for new in names.addresses.values()}
        wanted = [name for name in names.distinctive if name not in self._neutral]
        alternatives = "|".join(re.escape(name) for name in sorted(wanted, key=len, reverse=True))
        self._forms: list[tuple[Kind, re.Pattern[str], bool]] = []
        if wanted:
            self._look_for("name", rf"(?<![A-Za-z0-9])(?i:{alternatives})(?![A-Za-z0-9])")
        for kind, form in known_literals(names).items():
            self._look_for(_KNOWN[kind], form, is_known=True)
        for kind in ("mac", "user", "mail", "device", "serial"):
            self._look_for(_KINDS[kind], FORMS[kind])
        if not names.hosts_kept:
            self._look_for("address", f"{FORMS['address4']}|{FORMS['address6']}")
        self._clean: set[str] = set()

    def _look_for(self, kind: Kind, form: str, *, is_known: bool = False) -> None:
        self._forms.append((kind, re.compile(form), is_known))

    def folder(self, folder: Path, progress: Callable[[int, int], None] | None = None) -> list[Left]:
        """All that is left below a folder, each once per file."""
        found: set[Left] = set()
        files = sorted(folder.rglob("*"))
        for number, file in enumerate(files, start=1):
            path = file.relative_to(folder).as_posix()
            found |= set(self.text(path, path))
            if file.is_file():
                found |= set(self._file(file, path))
            if progress is not None:
                progress(number, len(files))
        return sorted(found, key=lambda left: (left.path, left.kind, left.found))

    def _file(self, file: Path, path: str) -> Iterator[Left]:
        try:
            text = content.read(file)
        except content.UnreadableError as error:
            yield Left("unreadable", path, error.message.removeprefix(f"{file}: "))
            return
        if text is None:
            yield Left("unreadable", path, "no text: what is in it cannot be seen")
        elif file.parent.name == "telemetry" and file.name.endswith(".csv.xz"):
            # the rest of it is numbers, and most of a campaign's bytes
            yield from self.text("\n".join(name_fields(text)), path)
        else:
            yield from self.text(text, path)

    def text(self, text: str, path: str) -> Iterator[Left]:
        """What is left in one text."""
        lines = [line for line in dict.fromkeys(text.split("\n")) if line not in self._clean]
        new = "\n".join(lines)
        found = [
            Left(kind, path, match[0][:_SHOWN_CHARACTERS])
            for kind, pattern, is_known in self._forms
            for match in pattern.finditer(new)
            if self._matters(kind, match[0], is_known=is_known)
        ]
        if not found and len(self._clean) < MANY_LINES:
            self._clean.update(line for line in lines if len(line) < LONG_LINE)
        yield from found
        for secret in secrets.find(text):
            yield Left("secret", path, secret.kind)

    def _matters(self, kind: Kind, found: str, *, is_known: bool) -> bool:
        if kind == "device":
            found = serial_value(found)
        if found.lower() in self._neutral or found == "root":
            return False
        if is_known or kind in ("name", "user"):
            return True
        if kind == "address":
            fit = is_address(found) and (":" not in found or is_clearly_ipv6(found))
            return fit and Names().address(found) != found
        same = {"hardware address": self._names.mac, "mail": self._names.mail, "device": self._names.device}
        return same[kind](found) != found
