"""What is left in a copy that could tell whose it is: looked for in every file and in every path, after it was made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glusterlab import secrets
from glusterlab.publish import content
from glusterlab.publish.names import Names, is_address
from glusterlab.publish.rewrite import FORMS, is_clearly_ipv6

Kind = Literal["name", "address", "hardware address", "user", "device", "secret", "unreadable"]

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
        self._neutral = {
            new.lower()
            for known in (names.aliases, names.addresses, names.macs, names.uuids, names.devices, names.users)
            for new in known.values()
        }
        wanted = [name for name in names.distinctive if name not in self._neutral]
        alternatives = "|".join(re.escape(name) for name in sorted(wanted, key=len, reverse=True))
        self._names = (
            re.compile(rf"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])", re.IGNORECASE) if wanted else None
        )
        forms: dict[Kind, str] = {
            "hardware address": FORMS["mac"],
            "user": FORMS["user"],
            "device": f"{FORMS['device']}|{FORMS['serial']}",
        }
        if not names.hosts_kept:
            forms["address"] = f"{FORMS['address4']}|{FORMS['address6']}"
        self._forms = {kind: re.compile(form) for kind, form in forms.items()}

    def folder(self, folder: Path) -> list[Left]:
        """All that is left below a folder, each once per file."""
        found: set[Left] = set()
        for file in sorted(folder.rglob("*")):
            path = file.relative_to(folder).as_posix()
            found |= set(self.text(path, path))
            if file.is_file():
                text = content.read(file)
                if text is None:
                    found.add(Left("unreadable", path, "no text: what is in it cannot be seen"))
                else:
                    found |= set(self.text(text, path))
        return sorted(found, key=lambda left: (left.path, left.kind, left.found))

    def text(self, text: str, path: str) -> Iterator[Left]:
        """What is left in one text."""
        if self._names is not None:
            for match in self._names.finditer(text):
                yield Left("name", path, match[0])
        for kind, pattern in self._forms.items():
            for match in pattern.finditer(text):
                if self._matters(kind, match[0]):
                    yield Left(kind, path, match[0][:_SHOWN_CHARACTERS])
        for secret in secrets.find(text):
            yield Left("secret", path, secret.kind)

    def _matters(self, kind: Kind, found: str) -> bool:
        if found.lower() in self._neutral or found == "root":
            return False
        if kind == "address":
            if not is_address(found) or (":" in found and not is_clearly_ipv6(found)):
                return False
            return Names().address(found) != found
        if kind == "hardware address":
            return Names().mac(found) != found
        return True
