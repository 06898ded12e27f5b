"""Fits of the Universal Scalability Law as tables, curves for figures, and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.scaling import UNKNOWN, Scaling
from glusterlab.analysis.select import operation_rank
from glusterlab.stats import INSUFFICIENT, Estimate
from glusterlab.units import format_size

Fits = Mapping[tuple[str, ...], Scaling]

_NAMES = ("contention", "coherency", "peak_workers", "peak", "knee")

FITTED = [f"{name}{end}" for name in ("fitted", *_NAMES) for end in ("", "_low", "_high")]
FITTED += ["misfit", "refusal", "peak_note"]
"""Columns that `with_scaling` adds: the law at the row's workers, and what is the same along a curve."""

DRAWN = ["fitted", "knee", "peak_workers", "peak", "refusal"]
"""Those of them that `with_fit` adds."""


def with_scaling(summary: pd.DataFrame, fits: Fits) -> pd.DataFrame:
    """A summary with the law fitted to each of its curves."""
    rows = []
    for record in summary.to_dict("records"):
        fit = fits.get(tuple(str(record[name]) for name in GROUP))
        if fit is None:
            rows.append({"refusal": "not fitted", "peak_note": "not fitted"})
            continue
        at = fit.curve([float(record["workers"])])
        row: dict[str, Any] = {"misfit": fit.misfit, "refusal": fit.refusal, "peak_note": fit.peak_note}
        if len(at):
            row |= {name: float(at[name].iloc[0]) for name in ("fitted", "fitted_low", "fitted_high")}
        for name in _NAMES:
            estimate = getattr(fit, name)
            row |= {name: estimate.centre, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        rows.append(row)
    added = pd.DataFrame(rows, columns=FITTED, index=summary.index)
    return summary.join(added.astype({name: str if name in ("refusal", "peak_note") else float for name in FITTED}))


def with_fit(summary: pd.DataFrame, fits: Fits) -> pd.DataFrame:
    """A summary with what a figure by workers draws and tells of the law: the columns `DRAWN`."""
    return with_scaling(summary, fits)[[*summary.columns, *DRAWN]]


def scaling_curves(fits: Fits, points: int = 120) -> pd.DataFrame:
    """The fitted curves from the least to the most workers that were measured, for figures by workers."""
    parts = [
        fit.curve(np.geomspace(fit.counts[0], fit.counts[-1], points)).assign(**dict(zip(GROUP, names, strict=True)))
        for names, fit in fits.items()
        if not fit.refusal
    ]
    columns = [*GROUP, "workers", "fitted", "fitted_low", "fitted_high"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def scaling_table(fits: Fits, factor: float = 1.0, unit: str = "") -> pd.DataFrame:
    """The parameters of each fit with their intervals, or why there are none, as text for people."""
    records = []
    for (series, _, operation, size), fit in fits.items():
        coherency = _text(fit.coherency)
        if fit.coherency.method == UNKNOWN:
            coherency = UNKNOWN + (f", at most {fit.coherency.high:.3g}" if fit.coherency.has_interval else "")
        record = {
            "operation": operation,
            "files": format_size(int(size)),
            "layout": series,
            "n": fit.n,
            "contention": _text(fit.contention),
            "coherency": coherency,
            f"one worker, {unit}".rstrip(", "): _text(fit.one_worker, factor),
            "knee, workers": _text(fit.knee),
            "peak, workers": _text(fit.peak_workers),
            f"peak, {unit}".rstrip(", "): _text(fit.peak, factor),
            "distance from the means, %": "" if math.isnan(fit.misfit) else f"{100 * fit.misfit:.1f}",
            "note": f"refused: {fit.refusal}" if fit.refusal else fit.peak_note,
        }
        records.append(record)
    return pd.DataFrame(records)


def _text(estimate: Estimate, factor: float = 1.0) -> str:
    """A number with its interval, to three digits.

    >>> _text(Estimate(0.0512, 0.0441, 0.0603, 3, "bootstrap"))
    '0.0512 (0.0441 to 0.0603)'
    >>> _text(Estimate(0.05, math.nan, math.nan, 1, INSUFFICIENT))
    '0.05 (insufficient n)'
    """
    if math.isnan(estimate.centre):
        return ""
    centre = f"{estimate.centre * factor:.3g}"
    if not estimate.has_interval:
        return f"{centre} ({INSUFFICIENT})"
    high = "no end" if math.isinf(estimate.high) else f"{estimate.high * factor:.3g}"
    return f"{centre} ({estimate.low * factor:.3g} to {high})"


def scaling_words(fits: Fits, factor: float = 1.0, unit: str = "") -> str:
    """Knees and peaks of the fits in few words, for the caption of a figure that draws them; empty where none is drawn.

    A fit without a peak is counted and not named: why it has none stands in the tables.
    """
    drawn = {names: fit for names, fit in fits.items() if not fit.refusal}
    if not drawn:
        return ""
    named = []
    for names, fit in sorted(drawn.items(), key=lambda item: (operation_rank(item[0][2]), item[0])):
        if not fit.peak_note:
            knee = "" if math.isnan(fit.knee.centre) else f"knee at {_text(fit.knee)} workers, "
            peak = f"peak of {_text(fit.peak, factor)} {unit} at {_text(fit.peak_workers)} workers"
            named.append(f"{names[2]}, {names[0]}: {knee}{peak}")
    flat = len(drawn) - len(named)
    if flat:
        named.append(f"no knee and no peak are shown for {flat} of {len(drawn)} fits" if named else "no peak is shown")
    without = len(fits) - len(drawn)
    refused = f" No fit for {without} of {len(fits)} curves." if without else ""
    return f"Dash-dotted: the scaling law that was fitted; {'; '.join(named)}.{refused}"
