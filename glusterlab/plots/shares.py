"""The measured share of the physical bound by layout and by workers, as a table of colours."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from glusterlab.analysis.reading import percent
from glusterlab.analysis.series import operation_rank
from glusterlab.plots.style import INK, Provenance, house_style, interval_words, new_figure

CELL_HEIGHT_IN = 0.36
_FITS = 9
"""Characters of a line that a cell holds in the larger type; 101 to 108 has more."""
_DARKEST = 1.35
"""Share that the darkest colour stands for: above 1, so that numbers can be read on the colours of most shares."""


def _cell_text(row: pd.Series) -> str:
    share = f"{percent(float(row['share']))} %"
    if math.isnan(float(row["share_low"])):
        return f"{share}\nn = {row['n']}"
    return f"{share}\n{percent(float(row['share_low']))} to {percent(float(row['share_high']))}"


def shares_figure(summary: pd.DataFrame, provenance: Provenance, *, title: str) -> Figure:
    """Share of the bound by layout and workers, one panel per operation.

    Parameters
    ----------
    summary : pandas.DataFrame
        With the columns of `glusterlab.analysis.limits.with_limits`; at least one row with a limit.
    provenance : Provenance
    title : str
    """
    import seaborn as sns  # a third of a second that only this figure needs

    known = summary[summary["limit"].notna()]
    operations = sorted(known["operation"].astype(str).unique(), key=operation_rank)
    series = sorted(known["series"].astype(str).unique())
    workers = sorted({int(count) for count in known["workers"]})
    shown = known.assign(low=known["share_low"])
    subtitle = [
        "Throughput as a share of what links and disks allow with the traffic of copies; dark: near to the bound.",
        f"Small: {interval_words(shown)}. Empty: not measured.",
    ]
    with house_style():
        figure, grid = new_figure(
            title,
            subtitle,
            provenance.footer(known),
            panels_height=CELL_HEIGHT_IN * len(series) + 0.75,
            columns=len(operations),
            share_y=True,
        )
        for axes, operation in zip(grid[0], operations, strict=True):
            rows = known[known["operation"].astype(str) == operation]
            shares = np.full((len(series), len(workers)), math.nan)
            texts = np.full(shares.shape, "", dtype=object)
            for _, row in rows.iterrows():
                at = series.index(str(row["series"])), workers.index(int(row["workers"]))
                shares[at], texts[at] = float(row["share"]), _cell_text(row)
            longest = max(len(line) for text in texts.flat for line in text.split("\n"))
            sns.heatmap(
                pd.DataFrame(shares, index=series, columns=workers),
                ax=axes,
                annot=texts,
                fmt="",
                vmin=0,
                vmax=_DARKEST,
                cmap="Blues",
                cbar=False,
                linewidths=1.2,
                linecolor="white",
                annot_kws={"fontsize": 6.3 if longest <= _FITS else 5.4, "linespacing": 1.1},
            )
            axes.set_title(operation)
            axes.set_xlabel("workers in total")
            axes.tick_params(axis="both", length=0, labelcolor=INK)
            axes.tick_params(axis="y", rotation=0)
    return figure
