"""Names of what notebooks leave in a figures folder.

``fig05-large-files.svg`` is the study's figure 5, ``tab03-bill-of-materials.csv`` its table 3, ``summit-s6-tuned.svg``
a figure S6, and ``extra-scorecard.csv`` something that only this project has. Its caption is in ``<name>.json``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from glusterlab.errors import UsageError
from glusterlab.spec.studies import NO_STUDY, PREFIX_FORM

PICTURES = ("svg", "png")
NARROW = "narrow"  # the folder of pictures for phones, beside the others
COMMON_PREFIXES = {"F": "fig", "T": "tab"}  # by the letters of labels, in notebooks that run on any study

_NAME = re.compile(
    rf"(?:extra|(?!(?:fig|tab)\d-)(?P<kind>{PREFIX_FORM})(?P<number>\d{{1,3}}))-(?P<slug>[a-z0-9.+()-]+)"
)


@dataclass(frozen=True, slots=True)
class OutputName:
    """A name without its suffix, parsed: ``extra`` or a study's prefix; without a letter it is the project's own."""

    kind: str
    letter: str
    number: int
    slug: str

    @classmethod
    def parse(cls, name: str, outputs: Mapping[str, str] = COMMON_PREFIXES) -> Self | None:
        """A name parsed, None when it is not of this form; `outputs` are the study's prefixes by their letters."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        kind = match["kind"] or "extra"
        letter = next((letter for letter, prefix in outputs.items() if prefix == kind), "")
        return cls(kind, letter, int(match["number"] or 0), match["slug"])

    @classmethod
    def require(cls, name: str, outputs: Mapping[str, str], study_file: Path, *kinds: str) -> Self:
        """A name parsed; UsageError when it is of none of the kinds, nor has one of the study's own prefixes."""
        kinds = (*kinds, *(prefix for prefix in outputs.values() if "-" in prefix))
        found = cls.parse(name, outputs)
        if found is None or found.kind not in kinds:
            forms = " or ".join("extra-<slug>" if kind == "extra" else f"{kind}NN-<slug>" for kind in kinds)
            other = f"other beginnings are listed in the key outputs of {study_file}"
            if study_file.parent.name == NO_STUDY:
                other = "other beginnings are those of a study, which campaign.yaml names in the key study"
            raise UsageError(f"expected a name such as {forms}, in small letters, found {name!r}; {other}")
        return found

    @property
    def label(self) -> str:
        """``F5`` or ``T3``; empty where it is the project's own."""
        return f"{self.letter}{self.number}" if self.letter else ""

    def titled(self, title: str, between: str = "  ") -> str:
        """A title after the label: ``F5  4 GB files``."""
        return f"{self.label}{between}{title}" if self.label else title


def output_files(folder: Path) -> list[Path]:
    """The files of figures and tables in a figures folder, by name; nothing where there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if OutputName.parse(path.stem) and path.is_file())
