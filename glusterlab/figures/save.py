"""Files of figures: pictures and numbers whose bytes repeat, captions, and what a notebook shows of them."""

import io
import sys
import warnings
from collections.abc import Iterable
from html import escape
from itertools import combinations
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from glusterlab.errors import UsageError
from glusterlab.figures.names import NARROW
from glusterlab.figures.tables import to_csv
from glusterlab.plots.style import PNG_DPI, house_style
from glusterlab.store.files import dump_json, file_digest, write_atomically

FORMATS = ("svg", "png", "csv")
CSV_DIGEST = "csv_sha256"
_LEAST_SHARE = 0.3  # of a narrow picture's width, that a panel has at least


class SavedFigure:
    """A figure as it was saved, its name without suffix; a notebook shows its PNG, its name as text, its caption."""

    def __init__(self, name: str, files: tuple[Path, ...], rows: int, png: bytes, caption: str = "") -> None:
        self.name, self.files, self.rows, self.caption = name, files, rows, Caption(caption)
        self._png = png

    def __repr__(self) -> str:
        return f"<{self.name}: {self.rows} values drawn>"

    def _repr_png_(self) -> bytes:
        return self._png


class Caption(str):
    """What stands below a figure; a notebook shows it as prose."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<p style="max-width:56em">{escape(self)}</p>'


def show(output: object) -> None:
    """Show an output, with the caption that it has, below the cell of a notebook; elsewhere nothing."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        ipython.display.display(*filter(None, [output, getattr(output, "caption", None)]))


def parse_formats(formats: str) -> tuple[str, ...]:
    """The formats in a comma-separated list; UsageError when one is not in `FORMATS`."""
    chosen = tuple(part.strip() for part in formats.split(",") if part.strip())
    unknown = sorted(set(chosen) - set(FORMATS))
    if unknown or not chosen:
        raise UsageError(f"expected figure formats among {', '.join(FORMATS)}, found {formats!r}")
    return chosen


def save(
    figure: Figure, folder: Path, name: str, table: pd.DataFrame, formats: Iterable[str] = FORMATS, caption: str = ""
) -> SavedFigure:
    """Write a figure and the `table` of numbers that it draws; the same input gives the same bytes."""
    with house_style():
        _settle(figure)
        data = {"png": _png(figure), "csv": to_csv(table).encode()}
        if "svg" in formats:
            vector = io.BytesIO()
            figure.savefig(vector, format="svg", metadata={"Date": None})
            data["svg"] = vector.getvalue()
    folder.mkdir(parents=True, exist_ok=True)
    files = tuple(folder / f"{name}.{suffix}" for suffix in FORMATS if suffix in formats)
    for path in files:
        write_atomically(path, data[path.suffix[1:]], durable=False)
    return SavedFigure(name, files, len(table), data["png"], caption)


def save_narrow(figure: Figure, folder: Path, name: str) -> None:
    """Write `Frame.narrow` of a figure below ``narrow/`` for the report on phones; none where words leave no room."""
    path = folder / NARROW / f"{name}.png"
    with house_style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "constrained_layout not applied")  # then there is no room, either
        _settle(figure)
        image = _png(figure)
        if not _has_room(figure):
            path.unlink(missing_ok=True)
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, image, durable=False)


def _png(figure: Figure) -> bytes:
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return image.getvalue()


def _has_room(figure: Figure) -> bool:
    """Whether the panels of a drawn figure are wide enough, and words in them within it and beside each other."""
    boxes = [
        words.get_window_extent().padded(-1.5)
        for axes in figure.axes
        for words in (*axes.texts, *_labels(axes))
        if words.get_visible() and words.get_text()
    ]
    within = all(figure.bbox.containsx(end) for box in boxes for end in (box.x0, box.x1))
    wide = all(axes.get_position().width >= _LEAST_SHARE for axes in figure.axes)
    return wide and within and not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def _labels(axes: Axes) -> list[Text]:
    """Labels of the horizontal axis; those of ticks beyond its ends are there, too, and not drawn."""
    ticks = axes.xaxis.get_major_ticks()
    return [tick.label1 for tick in ticks if axes.viewLim.containsx(tick.get_loc())]


def _settle(figure: Figure) -> None:
    """Find the places of everything once, for all pictures: to find them takes as long as to draw."""
    figure.set_dpi(PNG_DPI)
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    # not "none", with which each picture would be drawn twice
    figure.set_layout_engine(None)
    # the solver's last bits hang on addresses in memory, and names in an SVG file are made from them
    for axes in figure.axes:
        axes.set_position(tuple(round(place, 6) for place in axes.get_position(original=True).bounds))


def write_caption(folder: Path, name: str, numbers: Path | None = None, **text: str) -> None:
    """Write ``<name>.json``: title, caption and alt, or title and reason; and the digest of `numbers`, to see edits."""
    if numbers is not None:
        text[CSV_DIGEST] = file_digest(numbers)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / f"{name}.json", dump_json(text), durable=False)
