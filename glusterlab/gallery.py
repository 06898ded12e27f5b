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
MAX_CHARACTERS = 40
"""Longest value of a column on the page: lists of samples are for the CSV file."""

_NAME = re.compile(r"fig(?P<number>\d{2,3})-(?P<slug>[a-z0-9.+()x-]+)")
_PICTURES = (".svg", ".png")


@dataclass(frozen=True)
class Table:
    """The part of a CSV file that fits on a page.

    Attributes
    ----------
    header : tuple of str
        Columns that differ from row to row and are short.
    rows : tuple of tuple of str
        At most `MAX_ROWS`.
    numeric : tuple of bool
        Whether a column holds numbers only.
    same : tuple of (str, str)
        Columns with one value in all rows, and the value.
    more : int
        Rows that only the CSV file has.
    """

    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    numeric: tuple[bool, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    more: int = 0


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
    table : Table
        Numbers of the CSV, as the page shows them.
    notebook : str
        That made it; empty when not known.
    earlier : bool
        It is of an earlier run: from other raw files, another library or another notebook than those of now.
    """

    name: str
    number: int
    title: str
    caption: str
    alt: str
    picture: str
    files: tuple[str, ...]
    table: Table
    notebook: str
    earlier: bool = False


@dataclass(frozen=True)
class NotMeasured:
    """A figure of the study that the campaign does not have, and why."""

    number: int
    title: str
    reason: str


def collect(
    folder: Path, made_by: Mapping[str, str], earlier: Collection[str] = ()
) -> tuple[list[Figure], list[NotMeasured]]:
    """The figures in a folder, and those that were not measured, by number.

    Parameters
    ----------
    folder : pathlib.Path
    made_by : mapping of str to str
        Notebook that made a file, by the file's name.
    earlier : collection of str
        Names of files that are of an earlier run.
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
        figures.append(
            Figure(
                name=name,
                number=number,
                title=title,
                caption=str(caption.get("caption") or ""),
                alt=str(caption.get("alt") or f"Figure {number}: {title}"),
                picture=pictures[0],
                files=(*pictures, *([numbers.name] if numbers.is_file() else [])),
                table=_table(numbers),
                notebook=made_by.get(pictures[0], str(caption.get("notebook") or "")),
                earlier=pictures[0] in earlier,
            )
        )
    return sorted(figures, key=lambda figure: (figure.number, figure.name)), sorted(missing, key=lambda m: m.number)


def _caption(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _table(path: Path) -> Table:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *lines = list(csv.reader(file))
    except (OSError, ValueError, csv.Error):
        return Table()
    columns = [(name, [line[n] if n < len(line) else "" for line in lines]) for n, name in enumerate(header)]
    columns = [(name, values) for name, values in columns if any(values) and max(map(len, values)) <= MAX_CHARACTERS]
    constant = [name for name, values in columns if len(lines) > 1 and len(set(values)) == 1]
    varying = [(name, values[:MAX_ROWS]) for name, values in columns if name not in constant]
    return Table(
        header=tuple(name for name, _ in varying),
        rows=tuple(zip(*([shown(value) for value in values] for _, values in varying), strict=True)),
        numeric=tuple(all(_is_number(value) for value in values if value) for _, values in varying),
        same=tuple((name, shown(values[0])) for name, values in columns if name in constant),
        more=max(0, len(lines) - MAX_ROWS),
    )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def shown(value: str) -> str:
    """A value of a CSV file as the page shows it: four significant digits, whole numbers from 1,000.

    Examples
    --------
    >>> shown("83684210.5"), shown("0.123456"), shown("12"), shown("3x2"), shown("nan")
    ('83,684,210', '0.1235', '12', '3x2', '')
    """
    if not _is_number(value):
        return value
    number = float(value)
    if number != number:
        return ""
    if abs(number) >= 1000 and abs(number) != float("inf"):
        return f"{number:,.0f}"
    return f"{number:.4g}"


def write_index(
    raw: Path,
    folder: Path,
    *,
    digest: str,
    made_by: Mapping[str, str],
    failed: Collection[str] = (),
    earlier: Collection[str] = (),
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
    earlier : collection of str
        Names of files that are of an earlier run: the page says so beside them.

    Returns
    -------
    pathlib.Path
        The page.
    """
    import jinja2

    figures, missing = collect(folder, made_by, earlier)
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
        imported=campaign.get("origin") == "imported",
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
