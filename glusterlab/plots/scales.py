"""Values of scale models on an axis: as measured, with a second axis times the scale, or all times their own scale."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter

from glusterlab.analysis.series import split_values
from glusterlab.plots.style import scale_words


@dataclass(frozen=True, slots=True)
class Comparable:
    """A table whose values may stand on one axis.

    Attributes
    ----------
    table : pandas.DataFrame
    scales : list of float
        Of the second axis: one, or 1 where there is none.
    words : str
        Behind the unit of the axis.
    note : list of str
        A line for the subtitle, where values are not those that were measured.
    """

    table: pd.DataFrame
    scales: list[float]
    words: str
    note: list[str]

    @property
    def two_axes(self) -> bool:
        """Whether the figure has a second axis, on which published numbers stand."""
        return self.scales != [1.0]


def comparable(table: pd.DataFrame) -> Comparable:
    """What can be drawn on one axis: measured values of one scale as they are, those of several times their scales.

    Parameters
    ----------
    table : pandas.DataFrame
        From `summarise` or `efficiency`, with ``scale``.
    """
    scales = sorted({float(scale) for scale in table["scale"]})
    if len(scales) < 2:
        return Comparable(table, scales or [1.0], "measured", [])
    note = f"From scale models of {scale_words(scales)}: each value is times its own scale, as a full-size pool."
    return Comparable(full_size(table), [1.0], "× scale", [note])


def full_size(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose values are those of a full-size pool: each times the scale of its own model, which is then 1.

    Parameters
    ----------
    table : pandas.DataFrame
        From `summarise` or `efficiency`; with ``limit``, that is scaled as well.
    """
    scale = table["scale"].astype(float)
    names = [name for name in ("mean", "low", "high", "limit") if name in table]
    values = [
        ";".join(f"{value * by:.9g}" for value in split_values(str(joined)))
        for joined, by in zip(table["values"], scale, strict=True)
    ]
    return table.assign(**{name: table[name].astype(float) * scale for name in names}, values=values, scale=1.0)


def scale_axis(axes: Axes, scales: Iterable[float], which: Literal["x", "y"], unit: str) -> None:
    """A second axis with the values times the scale: labelled as what a full-size pool would show.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    scales : iterable of float
        One scale, from `comparable`; 1 has no second axis.
    which : {"x", "y"}
    unit : str

    Raises
    ------
    ValueError
        With several scales: one axis cannot hold them.
    """
    (scale,) = {float(scale) for scale in scales}
    if scale == 1:
        return
    functions = (lambda value: value * scale, lambda value: value / scale)
    if which == "y":
        second = axes.secondary_yaxis("right", functions=functions)
        second.set_ylabel(f"× {scale:g}: as the full-size\npool would show, {unit}")
        second.spines["right"].set_visible(True)
        axis: Axis = second.yaxis
    else:
        second = axes.secondary_xaxis("bottom", functions=functions)
        second.spines["bottom"].set_position(("outward", 38))
        second.set_xlabel(f"{unit}, × {scale:g}: as the full-size pool would show")
        axis = second.xaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
