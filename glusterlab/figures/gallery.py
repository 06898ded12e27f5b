"""The page figures/<campaign>/index.html, a section per notebook: figures, tables, what was not measured; no date."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import jinja2

from glusterlab.errors import GlusterlabError
from glusterlab.figures.names import COMMON_PREFIXES, PICTURES, OutputName, output_files
from glusterlab.figures.tables import Table
from glusterlab.spec.studies import NO_STUDY, load_study, no_study, study_folder
from glusterlab.spec.yaml import load_yaml

TEMPLATES = Path(__file__).parent / "templates"


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
    files: tuple[str, ...]
    table: Table
    notebook: str
    earlier: bool = False  # of an earlier run


@dataclass(frozen=True)
class NotMeasured:
    """A figure or table that the campaign does not have, and why."""

    label: str
    title: str
    reason: str
    notebook: str = ""


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
    shown: Mapping[str, tuple[str, bool]] = MappingProxyType({}),
    outputs: Mapping[str, str] = COMMON_PREFIXES,
) -> tuple[list[Figure], list[NotMeasured]]:
    """Figures and tables of a folder, and those that were not measured; `made_by` and `shown` have their notebooks."""
    figures: list[Figure] = []
    missing: list[NotMeasured] = []
    for name in sorted({path.stem for path in output_files(folder)}, key=_place):
        output = OutputName.parse(name, outputs)
        assert output is not None
        label = label_in_words(output.label)
        caption = _caption(folder / f"{name}.json")
        title = str(caption.get("title") or output.slug.replace("-", " ").capitalize())
        if caption.get("reason"):
            before, _ = shown.get(": ".join(part for part in (label, title) if part), ("", False))
            missing.append(NotMeasured(label, title, str(caption["reason"]), made_by.get(f"{name}.json", before)))
            continue
        pictures = [f"{name}.{suffix}" for suffix in PICTURES if (folder / f"{name}.{suffix}").is_file()]
        numbers = folder / f"{name}.csv"
        is_table = not pictures and (output.kind == "tab" or caption.get("kind") == "table")
        if not pictures and not (is_table and numbers.is_file()):
            continue
        files = (*pictures, *([numbers.name] if numbers.is_file() else []))
        text = _text(numbers)
        known = made_by.get(files[0])
        before, noted = shown.get(name, ("", True)) if known is None else (known, True)
        figures.append(
            Figure(
                name=name,
                label=label,
                short=output.label,
                title=title,
                caption=str(caption.get("caption") or ""),
                alt=str(caption.get("alt") or f"{label}: {title}".removeprefix(": ")),
                picture="" if is_table else pictures[0],
                files=files,
                table=Table.whole(text) if is_table else Table.numbers(text),
                notebook=before,
                earlier=noted and files[0] in earlier,
            )
        )
    # of the project's own, what is drawn goes before what is told
    return sorted(figures, key=lambda figure: not figure.label and not figure.picture), missing


_PARTS = re.compile(r'<section id="(.*?)"|<article id="(.*?)"(.*?)</article>|<dt>(.*?)</dt>', re.DOTALL)


def shown_in(page: Path, notebooks: Path) -> dict[str, tuple[str, bool]]:
    """The notebook under which a page has a figure, or words of one not measured; and whether as an earlier one."""
    found, chapter = {}, ""
    for section, figure, article, words in _PARTS.findall(_text(page)):
        chapter = section or chapter
        if (name := figure or unescape(words)) and (notebooks / f"{chapter}.ipynb").is_file():
            found[name] = chapter, 'class="note"' in article
    return found


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


def _count(figures: Collection[Figure]) -> str:
    found = Counter(
        (noun, "of the study" if figure.label else "of the project's own")
        for figure in figures
        for noun in [_WORDS.get(figure.short[:1], "Figure" if figure.picture else "Table").lower()]
    )
    kinds = itertools.product(("of the study", "of the project's own"), ("figure", "table"))
    words = [f"{n} {noun}{'s' * (n > 1)} {whose}" for whose, noun in kinds if (n := found[noun, whose])]
    return ", ".join(words) or "no figures"


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


def write_index(
    raw: Path,
    folder: Path,
    *,
    digest: str,
    made_by: Mapping[str, str],
    failed: Collection[str] = (),
    earlier: Collection[str] = (),
    sources: Path = Path(),
) -> Path:
    """Write ``index.html`` into the figures folder of ``raw/<campaign>``, and return its path.

    `digest` is that of the manifest; `made_by` has the notebook of a file; files in `earlier` are of an earlier run.
    What nobody is known to have made stays under the notebook, of those in `sources`, under which the page had it.
    """
    path = folder / "index.html"
    campaign = _specification(raw / "campaign.yaml")
    try:
        study = load_study(study_folder(str(campaign.get("study") or NO_STUDY), raw))
    except GlusterlabError:
        # the notebooks that need it say why it cannot be read
        study = no_study()
    figures, missing = collect(folder, made_by, earlier, shown_in(path, sources), study.outputs)
    # what no notebook makes here, with the reason that study.yaml gives
    labels = {entry.label for entry in figures} | {entry.label for entry in missing}
    reasons = {label_in_words(label): reason for label, reason in study.missing.items()}
    missing += [NotMeasured(label, "", reason) for label, reason in reasons.items() if label not in labels]
    makers = {entry.notebook for entry in figures} | {entry.notebook for entry in missing}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["url"] = quote
    page = environment.get_template("index.html.j2").render(
        campaign=raw.name,
        title=campaign.get("title") or raw.name,
        study=campaign.get("study") or "",
        description=campaign.get("description") or "",
        imported=campaign.get("origin") == "imported",
        testbed=bool(_specification(raw / "cluster.yaml").get("testbed")),
        digest=digest[:12],
        chapters=chapters(folder, figures, missing, sources),
        count=_count(figures),
        notebooks=sorted({*made_by.values(), *(makers - {""})}),
        failed=sorted(failed),
    )
    partial = folder / ".index.html.partial"
    partial.write_text(page, encoding="utf-8")
    return partial.replace(path)


def _specification(path: Path) -> dict[str, Any]:
    try:
        data, _ = load_yaml(path)
    except GlusterlabError:
        return {}
    return data if isinstance(data, dict) else {}
