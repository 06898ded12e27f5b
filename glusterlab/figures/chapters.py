"""What a figures folder holds, notebook by notebook: figures, tables, what was not measured."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glusterlab.figures.names import COMMON_PREFIXES, NARROW, PICTURES, OutputName, output_files
from glusterlab.figures.tables import Table


@dataclass(frozen=True)
class Figure:
    """One figure or table of the page."""

    name: str
    label: str  # ``Figure 5``, or ``G5``; empty where it is the project's own
    short: str  # ``F5``, or ``G5``
    title: str
    caption: str
    alt: str
    picture: str  # empty for a table
    narrow: str  # the picture for phones; empty where there is none
    files: tuple[str, ...]
    table: Table
    notebook: str
    earlier: bool = False  # of an earlier run


@dataclass(frozen=True)
class NotMeasured:
    """A figure or table that the campaign does not have, and why; in a notebook it stands where that would be."""

    label: str  # ``Figure 5``, in a notebook ``F5``; empty where it is the project's own
    title: str
    reason: str
    notebook: str = ""

    def __repr__(self) -> str:
        return f"{', '.join(filter(None, (self.label, self.title)))}: not measured. {self.reason}"


@dataclass(frozen=True)
class Chapter:
    """What one notebook made; without a name what no known notebook made."""

    name: str
    title: str
    question: str
    figures: tuple[Figure, ...]
    missing: tuple[NotMeasured, ...]


_WORDS = {"F": "Figure", "T": "Table"}


def label_in_words(label: str) -> str:
    """``Figure 5``, ``Table 3``; another, such as ``G1``, as it is."""
    return f"{_WORDS[label[0]]} {label[1:]}" if label[:1] in _WORDS else label


def collect(
    folder: Path,
    made_by: Mapping[str, str],
    earlier: Collection[str] = (),
    outputs: Mapping[str, str] = COMMON_PREFIXES,
) -> tuple[list[Figure], list[NotMeasured]]:
    """Figures and tables of a folder, and those that were not measured; `made_by` has the notebooks of files.

    Files in `earlier` are of an earlier run.
    """
    figures: list[Figure] = []
    missing: list[NotMeasured] = []
    for name in sorted({path.stem for path in output_files(folder)}, key=_place):
        output = OutputName.parse(name, outputs)
        assert output is not None
        label = label_in_words(output.label)
        caption = _caption(folder / f"{name}.json")
        title = str(caption.get("title") or output.slug.replace("-", " ").capitalize())
        if caption.get("reason"):
            missing.append(NotMeasured(label, title, str(caption["reason"]), made_by.get(f"{name}.json", "")))
            continue
        pictures = [f"{name}.{suffix}" for suffix in PICTURES if (folder / f"{name}.{suffix}").is_file()]
        numbers = folder / f"{name}.csv"
        is_table = not pictures and (output.kind == "tab" or caption.get("kind") == "table")
        if not pictures and not (is_table and numbers.is_file()):
            continue
        files = (*pictures, *([numbers.name] if numbers.is_file() else []))
        text = _text(numbers)
        figures.append(
            Figure(
                name=name,
                label=label,
                short=output.label,
                title=title,
                caption=str(caption.get("caption") or ""),
                alt=str(caption.get("alt") or f"{label}: {title}".removeprefix(": ")),
                picture="" if is_table else pictures[0],
                narrow=f"{NARROW}/{name}.png" if (folder / NARROW / f"{name}.png").is_file() and pictures else "",
                files=files,
                table=Table.whole(text) if is_table else Table.numbers(text),
                notebook=made_by.get(files[0], ""),
                earlier=files[0] in earlier,
            )
        )
    # of the project's own, what is drawn goes before what is told
    return sorted(figures, key=lambda figure: not figure.label and not figure.picture), missing


def chapters(
    folder: Path, figures: Collection[Figure], missing: Collection[NotMeasured], sources: Path = Path()
) -> list[Chapter]:
    """Figures and what is missing by notebook (executed, else that of `sources`); what no known one made is last."""
    names = {figure.notebook for figure in figures} | {entry.notebook for entry in missing}
    found = []
    for name in sorted(names, key=lambda name: (not name, name)):
        places = [place / f"{name}.ipynb" for place in (folder / "notebooks", sources) if name]
        title, question = next(filter(any, map(_opening, places)), ("", ""))
        title = title or name.lstrip("0123456789-").replace("-", " ").capitalize() or "Other figures"
        own = tuple(figure for figure in figures if figure.notebook == name)
        found.append(Chapter(name, title, question, own, tuple(entry for entry in missing if entry.notebook == name)))
    return found


def _opening(path: Path) -> tuple[str, str]:
    """The first heading of a notebook and the paragraph after it; empty where there is none."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        first = next(cell for cell in cells if cell["cell_type"] == "markdown")
        heading, *rest = "".join(first["source"]).strip().split("\n\n")
    except (OSError, ValueError, LookupError, TypeError, StopIteration):
        return "", ""
    question = " ".join(rest[0].split()) if rest else ""
    found = heading.removeprefix("# ").strip(), question if question.endswith("?") else ""
    return found if heading.startswith("# ") else ("", "")


def _place(name: str) -> tuple[int, int, str]:
    output = OutputName.parse(name)
    if output is None or not output.number:
        return 2, 0, name
    return int(output.kind == "tab"), output.number, name


def _text(path: Path) -> str:
    """Of a file that may be lacking or damaged."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _caption(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_text(path))
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
