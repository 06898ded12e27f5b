"""Fits of the Universal Scalability Law as tables, curves for figures, and sentences."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.scaling import CURVE, ESTIMATES, FIT, UNKNOWN
from glusterlab.analysis.select import by_operation
from glusterlab.stats import INSUFFICIENT
from glusterlab.units import format_size

FITTED = [name for name in FIT if name not in ("workers", "n") and not name.startswith("one_worker")]
"""Columns that `with_scaling` adds: the law at the row's workers, and what is the same along a curve."""

DRAWN = ["fitted", "knee", "peak_workers", "peak", "refusal"]  # those of them that `with_fit` adds


def with_scaling(summary: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """A summary with the law fitted to each of its curves, from `scaling_fits`."""
    point = [*GROUP, "workers"]
    # the points between, where a curve is drawn alone, are no counts
    at_counts = fits[fits["workers"] % 1 == 0].astype(summary[point].dtypes.to_dict())[[*point, *FITTED]]
    joined = summary.merge(at_counts, on=point, how="left", validate="many_to_one")
    return joined.fillna({"refusal": "not fitted", "peak_note": "not fitted"})


def with_fit(summary: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """A summary with what a figure by workers draws and tells of the law: the columns `DRAWN`."""
    return with_scaling(summary, fits)[[*summary.columns, *DRAWN]]


def scaling_curves(fits: pd.DataFrame) -> pd.DataFrame:
    """The fitted curves from the least to the most workers that were measured, for figures by workers."""
    return fits.loc[fits["refusal"] == "", [*GROUP, *CURVE]].reset_index(drop=True)


def scaling_table(fits: pd.DataFrame, factor: float = 1.0, unit: str = "") -> pd.DataFrame:
    """The parameters of each fit with their intervals, or why there are none, as text for people."""
    one = fits.drop_duplicates(GROUP)
    rows = one.to_dict("records")
    text = {
        name: [estimate_text(row, name, factor if name in ("one_worker", "peak") else 1.0) for row in rows]
        for name in ESTIMATES
    }
    return pd.DataFrame(
        {
            "operation": one["operation"],
            "files": [format_size(int(size)) for size in one["nominal_file_size_bytes"]],
            "layout": one["series"],
            "n": one["n"],
            "contention": text["contention"],
            "coherency": text["coherency"],
            f"one worker, {unit}".rstrip(", "): text["one_worker"],
            "knee, workers": text["knee"],
            "peak, workers": text["peak_workers"],
            f"peak, {unit}".rstrip(", "): text["peak"],
            "distance from the means, %": ["" if math.isnan(far) else f"{100 * far:.1f}" for far in one["misfit"]],
            "note": [f"refused: {row['refusal']}" if row["refusal"] else row["peak_note"] for row in rows],
        }
    ).reset_index(drop=True)


def estimate_text(fit: Mapping[Any, Any] | pd.Series, name: str, factor: float = 1.0, digits: int = 3) -> str:
    """A number of a fit with its interval."""
    centre, low, high = (fit[f"{name}{end}"] * factor for end in ("", "_low", "_high"))
    if math.isnan(centre):
        known = name != "coherency" or fit["refusal"]
        return "" if known else UNKNOWN + (f", at most {high:.{digits}g}" if low == 0 else "")
    if math.isnan(low):
        return f"{centre:.{digits}g} ({INSUFFICIENT})"
    return f"{centre:.{digits}g} ({low:.{digits}g} to {'no end' if math.isinf(high) else f'{high:.{digits}g}'})"


def scaling_words(fits: pd.DataFrame, factor: float = 1.0, unit: str = "") -> str:
    """Knees and peaks of the fits in few words, for the caption of a figure that draws them; else empty."""
    every = fits.drop_duplicates(GROUP)
    drawn = every[every["refusal"] == ""]
    if drawn.empty:
        return ""
    named = []
    for row in by_operation(drawn[drawn["peak_note"] == ""], *GROUP).to_dict("records"):
        knee = "" if math.isnan(row["knee"]) else f"knee at {estimate_text(row, 'knee')} workers, "
        peak = f"peak of {estimate_text(row, 'peak', factor)} {unit} at {estimate_text(row, 'peak_workers')} workers"
        named.append(f"{row['operation']}, {row['series']}: {knee}{peak}")
    flat = len(drawn) - len(named)
    if flat:
        named.append(f"no knee and no peak are shown for {flat} of {len(drawn)} fits" if named else "no peak is shown")
    without = len(every) - len(drawn)
    refused = f" No fit for {without} of {len(every)} curves." if without else ""
    return f"Dash-dotted: the scaling law that was fitted; {'; '.join(named)}.{refused}"
