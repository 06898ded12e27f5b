"""The Universal Scalability Law beside what was measured: a row per layout, a column per operation."""

import math
import textwrap

import pandas as pd
from matplotlib.axes import Axes

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.scaling import LEAST_COUNTS, MISFIT
from glusterlab.analysis.scaling_table import estimate_text
from glusterlab.analysis.select import operations_of
from glusterlab.plots import marks
from glusterlab.plots.style import GREY, Frame, row_style, top_of
from glusterlab.stats import INSUFFICIENT

_TEXT_SIZE = 6.6
_LONGEST = 58


def draw_fit(axes: Axes, curve: pd.DataFrame, colour: str, factor: float, *, thin: bool = False) -> None:
    """The fitted law of one series and operation, with its band unless it is `thin`, for any figure by workers."""
    if curve.empty:
        return
    rows = curve.sort_values("workers")
    workers = rows["workers"].astype(float).to_numpy()
    fitted, low, high = (rows[f"fitted{end}"].astype(float).to_numpy() * factor for end in ("", "_low", "_high"))
    if not thin and rows["fitted_low"].notna().all():
        axes.fill_between(workers, low, high, color=colour, alpha=0.16, linewidth=0, zorder=1)
    dashes = (0, (7, 1.5, 1, 1.5)) if thin else (0, (5, 2))
    width = 0.8 if thin else 1.0
    axes.plot(workers, fitted, color=colour, linewidth=width, linestyle=dashes, zorder=1.6, label="fitted")


def _words(row: pd.Series) -> str:
    """What stands above a panel: its operation with the parameters, or why there are none."""
    operation = str(row["operation"])
    if str(row["refusal"]):
        return "\n".join(textwrap.wrap(f"{operation}: no fit: {row['refusal']}", _LONGEST))
    # that n is insufficient stands once, at the end
    names = ("contention", "coherency", "knee", "peak_workers")
    text = {name: estimate_text(row, name, digits=2).removesuffix(f" ({INSUFFICIENT})") for name in names}
    first = [f"{operation}: contention {text['contention']}", f"coherency {text['coherency']}"]
    rest = []
    if not math.isnan(float(row["knee"])):
        rest.append(f"knee at {text['knee']} workers")
    if str(row["peak_note"]):
        rest.append(str(row["peak_note"]).split(":")[0].split(",")[0])
    else:
        rest.append(f"peak at {text['peak_workers']} workers")
    if math.isnan(float(row["contention_low"])):
        rest.append(INSUFFICIENT)
    return "\n".join([*first, *textwrap.wrap("; ".join(rest), _LONGEST)])


def draw_scaling(frame: Frame, summary: pd.DataFrame, curves: pd.DataFrame, unit: str, factor: float) -> None:
    """Throughput by workers with the fitted law (`with_scaling`, `scaling_curves`): the line was not measured."""
    operations = operations_of(summary)
    series = sorted(summary["series"].astype(str).unique())
    fitted = summary["fitted_low"].notna().any()
    few = f"fewer than {LEAST_COUNTS} worker counts"
    frame.signs = marks.signs(summary, published=False)
    no_fit = f"no bend, a hard limit, means over {100 * MISFIT:.0f} % off, {few}"
    if curves.empty:
        frame.subtitle.append(f"The Universal Scalability Law fits none of them: {no_fit}.")
    else:
        frame.subtitle += [
            "Dashed: Universal Scalability Law, fitted to the samples"
            + ("; shaded: its 95 % interval (bootstrap of the means)." if fitted else "."),
            "Tick at the axis: the knee, where one worker's rate would meet the ceiling. Ring: the peak.",
            f"Both only if the means fall. No fit: {no_fit}.",
        ]
    height = 1.78 * len(series) + 0.5
    grid = frame.panels_by_workers(len(series), len(operations), summary["workers"], height=height)
    for line, name in zip(grid, series, strict=True):
        of_series = summary[summary["series"].astype(str) == name]
        top = max(top_of(of_series, factor), float(of_series["fitted_high"].fillna(0).max()) * factor * 1.05)
        line[0].set(ylim=(0, top), ylabel=name.replace(", ", ",\n", 1) + f",\n{unit}")
        for axes, operation in zip(line, operations, strict=True):
            rows = of_series[of_series["operation"].astype(str) == operation]
            axes.grid(axis="y")
            if rows.empty:
                axes.set_title(f"{operation}\nnot measured", fontsize=_TEXT_SIZE, color=GREY, linespacing=1.2)
                continue
            first = rows.iloc[0]
            of = curves[(curves[GROUP].astype(str) == first[GROUP].astype(str)).all(axis=1)]
            colour = row_style(first).colour
            # between the points is the law's place
            marks.line(axes, rows, factor).set_linestyle("none")
            draw_fit(axes, of, colour, factor)
            if not math.isnan(knee := float(first["knee"])):
                axes.axvline(knee, ymax=0.16, color=colour, linewidth=1.1)
            if not math.isnan(peak := float(first["peak_workers"])):
                marks.ring(axes, peak, float(first["peak"]) * factor, size=11, colour=colour)
            axes.set_title(_words(first), fontsize=_TEXT_SIZE, linespacing=1.2)
