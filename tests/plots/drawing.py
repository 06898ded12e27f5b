"""What the tests of figures share: a figure drawn and finished, and what stands on it."""

import itertools
import math
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from glusterlab.analysis.limits import CURVE
from glusterlab.plots import draw_workers_and_limits
from glusterlab.plots.style import Frame, Provenance, house_style
from glusterlab.spec import published

TESTBED = Provenance("synthetic", "10.3", "0123456789abcdef", testbed=True)
REAL = Provenance("night", "11.1", "f" * 64, testbed=False)
MB = {"unit": "MB/s", "factor": 1e-6}
NUMBERS = published.load(Path(__file__).parents[2] / "raw" / "published" / "supermicro-2017")


NOTES: weakref.WeakKeyDictionary[Figure, list[str]] = weakref.WeakKeyDictionary()


def drawn(
    draw: Callable[..., None],
    table: pd.DataFrame,
    *arguments: Any,
    provenance: Provenance = TESTBED,
    footer: str = "",
    **settings: Any,
) -> Figure:
    """What a function draws on a frame, with all that is around it, as a section of a notebook has it: on the page."""
    with house_style():
        frame = Frame("F1  A title")
        draw(frame, table, *arguments, **settings)
        figure = frame.finish(footer or provenance.footer(table if frame.rows is None else frame.rows))
        assert_inside_page(figure)
        NOTES[figure] = frame.notes
        return figure


def assert_says(figure: Figure, *parts: str, never: Iterable[str] = ()) -> None:
    """Words that stand on a figure, and those that do not."""
    shown = words(figure)
    assert not [part for part in parts if part not in shown]
    assert not [part for part in never if part in shown]


def draw_by_workers(
    frame: Frame,
    table: pd.DataFrame,
    *,
    curves: pd.DataFrame | None = None,
    fits: pd.DataFrame | None = None,
    **more: Any,
) -> None:
    """`draw_workers_and_limits` of a summary that may lack limits, published levels, and fits."""
    absent = {"limit": math.nan, "limit_part": "", "limit_source": "", "published": math.nan, "above_limit": ""}
    table = table.assign(**{name: value for name, value in absent.items() if name not in table})
    curves = pd.DataFrame(columns=CURVE) if curves is None else curves
    draw_workers_and_limits(
        frame, table, curves=curves, fits=pd.DataFrame(columns=[*CURVE, "fitted"]) if fits is None else fits, **more
    )


def texts(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def words(figure: Figure) -> str:
    """What stands on a figure, and how to read it, which stands in its caption."""
    return "\n".join([*(text.get_text() for text in texts(figure)), *NOTES.get(figure, ())])


def assert_inside_page(figure: Figure) -> None:
    """No text of the figure is cut off by its edge."""
    figure.canvas.draw()
    page = figure.bbox
    shown = [text for axes in figure.axes for text in (axes.xaxis.label, axes.yaxis.label, axes.title, *axes.texts)]
    for text in (text for text in (*shown, *figure.texts) if text.get_text()):
        box = text.get_window_extent()
        assert page.x0 - 1 <= box.x0 <= box.x1 <= page.x1 + 1, text.get_text()
        assert page.y0 - 1 <= box.y0 <= box.y1 <= page.y1 + 1, text.get_text()


def assert_apart(figure: Figure, shown: Iterable[Text], *, repeated: bool = False) -> None:
    """No text leaves the page at its sides, and none lies over another, but over a `repeated` one."""
    figure.canvas.draw()
    page = figure.bbox
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown if text.get_text() and text.get_visible()]
    for text, box in boxes:
        assert page.x0 - 1 <= box.x0 <= box.x1 <= page.x1 + 1, text
    for (text, box), (other, other_box) in itertools.combinations([each for each in boxes if each[1].width > 0], 2):
        assert (repeated and text == other) or not box.overlaps(other_box), f"{text!r} lies over {other!r}"


def marked(axes: Axes, marker: str, size: float | None = None) -> list[tuple[float, float]]:
    """First points of the lines with a marker, and of a size where it is given, in the order of drawing."""
    lines = [line for line in axes.get_lines() if line.get_marker() == marker and size in (None, line.get_markersize())]
    return [(float(np.asarray(line.get_xdata())[0]), float(np.asarray(line.get_ydata())[0])) for line in lines]


def titled(figure: Figure) -> dict[str, Axes]:
    return {title: axes for axes in figure.axes if (title := axes.get_title(loc="left"))}


def assert_stacked(axes: Axes, count: int) -> None:
    """So many texts of a panel, none over another."""
    axes.figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
    assert len(boxes) == count
    assert all(lower.y1 <= upper.y0 + 1 for lower, upper in itertools.pairwise(boxes))
    assert boxes[0].y0 >= axes.get_window_extent().y0 - 2


def lines_of(axes: Axes, label: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for line in axes.get_lines():
        if line.get_label() == label:
            yield np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
