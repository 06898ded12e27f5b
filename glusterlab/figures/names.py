"""Names of what notebooks leave in a figures folder.

``fig05-large-files.svg`` is the study's figure 5, ``tab03-bill-of-materials.csv`` its table 3, and
``extra-scorecard.csv`` something that only this project has. Each has its caption in ``<name>.json``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from glusterlab.errors import UsageError

PICTURES = ("svg", "png")
PAGE = "html"

_NAME = re.compile(r"(?:(?P<kind>fig|tab)(?P<number>\d{2,3})|extra)-(?P<slug>[a-z0-9.+()-]+)")


@dataclass(frozen=True, slots=True)
class OutputName:
    """A name without its suffix, parsed; `number` is of the study's figure or table, None for the project's own."""

    kind: str
    number: int | None
    slug: str

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """A name parsed, None when it is not of this form."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        return cls(match["kind"] or "extra", int(match["number"]) if match["number"] else None, match["slug"])

    @classmethod
    def require(cls, name: str, *kinds: str) -> Self:
        """A name parsed; UsageError when it is of none of the kinds."""
        found = cls.parse(name)
        if found is None or found.kind not in kinds:
            forms = " or ".join("extra-<slug>" if kind == "extra" else f"{kind}NN-<slug>" for kind in kinds)
            raise UsageError(f"expected a name such as {forms}, in small letters, found {name!r}")
        return found

    @property
    def label(self) -> str:
        """``F5`` or ``T3``; empty where it is the project's own."""
        return "" if self.number is None else f"{'F' if self.kind == 'fig' else 'T'}{self.number}"

    def titled(self, title: str, between: str = "  ") -> str:
        """A title after the label: ``F5  4 GB files``."""
        return f"{self.label}{between}{title}" if self.label else title


def output_files(folder: Path) -> list[Path]:
    """The files of figures and tables in a figures folder, by name; nothing where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if OutputName.parse(path.stem) and path.is_file())
