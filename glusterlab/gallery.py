"""The page figures/<campaign>/index.html: every figure with its caption and numbers, and what was not measured.

Beside ``figNN-<slug>.svg``, ``.png`` and ``.csv`` a notebook may leave ``figNN-<slug>.json`` with ``title``,
``caption`` and ``alt``; without it the file name speaks. With a ``reason`` in it, this is a figure of the study that
the campaign does not measure. The page holds no date: the same files give the same bytes.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from glusterlab.errors import GlusterlabError

TEMPLATES = Path(__file__).parent / "templates"
MAX_ROWS = 40
"""Rows of a table on the page; the CSV file has all."""

_NAME = re.compile(r"fig(?P<number>\d{2,3})-(?P<slug>[a-z0-9.+()x-]+)")
_PICTURES = (".svg", ".png")


@dataclass(frozen=True)
class Figure:
    """One figure of the page.

    Attributes
    ----------
    name : str
        Of its files, without suffix.
    picture : str
        The file shown: SVG, or PNG where there is none.
    files : tuple of str
        Pictures and CSV, as links.
    header, rows : tuple
        Numbers of the CSV, as the page shows them.
    more : int
        Rows that only the CSV has.
    notebook : str
        That made it; empty when not known.
    """

    name: str
    number: int
    title: str
    caption: str
    alt: str
    picture: str
    files: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int
    notebook: str


@dataclass(frozen=True)
class NotMeasured:
    """A figure of the study that the campaign does not have, and why."""

    number: int
    title: str
    reason: str


def collect(folder: Path, made_by: Mapping[str, str]) -> tuple[list[Figure], list[NotMeasured]]:
    """The figures in a folder, and those that were not measured, by number.

    Parameters
    ----------
    folder : pathlib.Path
    made_by : mapping of str to str
        Notebook that made a file, by the file's name.
    """
    figures: list[Figure] = []
    missing: list[NotMeasured] = []
    for name in sorted({path.stem for path in folder.glob("fig*.*") if path.suffix in (*_PICTURES, ".json")}):
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        number, words = int(match["number"]), match["slug"].replace("-", " ")
        caption = _caption(folder / f"{name}.json")
        title = str(caption.get("title") or words.capitalize())
        if caption.get("reason"):
            missing.append(NotMeasured(number, title, str(caption["reason"])))
            continue
        pictures = [f"{name}{suffix}" for suffix in _PICTURES if (folder / f"{name}{suffix}").is_file()]
        if not pictures:
            continue
        numbers = folder / f"{name}.csv"
        header, rows, more = _table(numbers)
        figures.append(
            Figure(
                name=name,
                number=number,
                title=title,
                caption=str(caption.get("caption") or ""),
                alt=str(caption.get("alt") or f"Figure {number}: {title}"),
                picture=pictures[0],
                files=(*pictures, *([numbers.name] if numbers.is_file() else [])),
                header=header,
                rows=rows,
                more=more,
                notebook=made_by.get(pictures[0], str(caption.get("notebook") or "")),
            )
        )
    return sorted(figures, key=lambda figure: (figure.number, figure.name)), sorted(missing, key=lambda m: m.number)


def _caption(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _table(path: Path) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except (OSError, ValueError, csv.Error):
        return (), (), 0
    if not lines:
        return (), (), 0
    rows = tuple(tuple(shown(value) for value in line) for line in lines[1 : MAX_ROWS + 1])
    return tuple(lines[0]), rows, max(0, len(lines) - 1 - MAX_ROWS)


def shown(value: str) -> str:
    """A value of a CSV file as the page shows it: four significant digits, whole numbers from 1,000.

    Examples
    --------
    >>> shown("83684210.5"), shown("0.123456"), shown("12"), shown("3x2"), shown("nan")
    ('83,684,210', '0.1235', '12', '3x2', '')
    """
    try:
        number = float(value)
    except ValueError:
        return value
    if number != number:
        return ""
    if abs(number) >= 1000 and abs(number) != float("inf"):
        return f"{number:,.0f}"
    return f"{number:.4g}"


def write_index(
    raw: Path, folder: Path, *, digest: str, made_by: Mapping[str, str], failed: Collection[str] = ()
) -> Path:
    """Write ``index.html`` into a figures folder.

    Parameters
    ----------
    raw : pathlib.Path
        ``raw/<campaign>``, for the campaign's title and what kind of cluster it ran on.
    folder : pathlib.Path
        ``figures/<campaign>``.
    digest : str
        Of the manifest, hexadecimal.
    made_by : mapping of str to str
        Notebook that made a file, by the file's name.
    failed : collection of str
        Notebooks that failed now: the page says that their figures are of an earlier run.

    Returns
    -------
    pathlib.Path
        The page.
    """
    import jinja2

    figures, missing = collect(folder, made_by)
    campaign = _specification(raw / "campaign.yaml")
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
        testbed=bool(_specification(raw / "cluster.yaml").get("testbed")),
        digest=digest[:12],
        figures=figures,
        missing=missing,
        notebooks=sorted(set(made_by.values())),
        failed=sorted(failed),
    )
    path = folder / "index.html"
    partial = folder / ".index.html.partial"
    partial.write_text(page, encoding="utf-8")
    return partial.replace(path)


def _specification(path: Path) -> dict[str, Any]:
    from glusterlab.spec.load import load_yaml

    try:
        data, _ = load_yaml(path)
    except GlusterlabError:
        return {}
    return data if isinstance(data, dict) else {}
