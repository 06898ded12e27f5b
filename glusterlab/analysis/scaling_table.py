"""Fits of the Universal Scalability Law as tables, curves for figures, and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glusterlab.analysis.efficiency import GROUP
from glusterlab.analysis.intervals import INSUFFICIENT, Estimate
from glusterlab.analysis.scaling import NOT_TOLD, Scaling
from glusterlab.analysis.series import operation_rank
from glusterlab.units import format_size

Fits = Mapping[tuple[str, ...], Scaling]

FITTED = [
    "fitted",
    "fitted_low",
    "fitted_high",
    "contention",
    "contention_low",
    "contention_high",
    "coherency",
    "coherency_low",
    "coherency_high",
    "peak_workers",
    "peak_workers_low",
    "peak_workers_high",
    "peak",
    "peak_low",
    "peak_high",
    "knee",
    "knee_low",
    "knee_high",
    "misfit",
    "refusal",
    "peak_note",
]
"""Columns that `with_scaling` adds: the law at the row's workers, and what is the same along a curve."""

DRAWN = ["fitted", "knee", "peak_workers", "peak", "refusal"]
"""Those of them that `with_fit` adds."""

POINTS = 120
"""Points of a drawn curve."""

_NAMES = ("contention", "coherency", "peak_workers", "peak", "knee")


def _key(names: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in names)


def with_scaling(summary: pd.DataFrame, fits: Fits) -> pd.DataFrame:
    """A summary with the law fitted to each of its curves.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `glusterlab.analysis.series.summarise`, of the quantity that was fitted.
    fits : mapping of tuple to Scaling
        `glusterlab.analysis.scaling.scaling_fits` of the same samples.

    Returns
    -------
    pandas.DataFrame
        With the columns `FITTED`; NaN where a fit or a part of it is refused, and the reason.
    """
    rows = []
    for record in summary.to_dict("records"):
        fit = fits.get(_key(record[name] for name in GROUP))
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
    words = ["refusal", "peak_note"]
    numbers = [name for name in FITTED if name not in words]
    return summary.join(added.astype(dict.fromkeys(numbers, float) | dict.fromkeys(words, str)))


def with_fit(summary: pd.DataFrame, fits: Fits) -> pd.DataFrame:
    """A summary with what a figure by workers draws and tells of the law: the columns `DRAWN`.

    Parameters
    ----------
    summary, fits
        As `with_scaling` takes them.
    """
    return with_scaling(summary, fits)[[*summary.columns, *DRAWN]]


def scaling_curves(fits: Fits, points: int = POINTS) -> pd.DataFrame:
    """The fitted curves from the least to the most workers that were measured, for figures by workers.

    Parameters
    ----------
    fits : mapping of tuple to Scaling
    points : int
        Of each curve, evenly on a logarithmic axis.

    Returns
    -------
    pandas.DataFrame
        Columns `GROUP` (``nominal_file_size_bytes`` as text), ``workers``, ``fitted``, ``fitted_low`` and
        ``fitted_high``. No rows of refused fits.
    """
    parts = [
        fit.curve(np.geomspace(fit.counts[0], fit.counts[-1], points)).assign(**dict(zip(GROUP, names, strict=True)))
        for names, fit in fits.items()
        if not fit.refusal
    ]
    columns = [*GROUP, "workers", "fitted", "fitted_low", "fitted_high"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def scaling_table(fits: Fits, factor: float = 1.0, unit: str = "") -> pd.DataFrame:
    """The parameters of each fit with their intervals, or why there are none, as text for people.

    Parameters
    ----------
    fits : mapping of tuple to Scaling
    factor : float
        From the unit of the throughput to the one shown.
    unit : str
        Such as ``MB/s``.
    """
    records = []
    for names, fit in fits.items():
        series, _, operation, size = names
        record = {
            "operation": operation,
            "files": format_size(int(size)),
            "layout": series,
            "n": fit.n,
            "contention": _text(fit.contention),
            "coherency": _coherency(fit),
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

    Examples
    --------
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


def _coherency(fit: Scaling) -> str:
    if fit.coherency.method != NOT_TOLD:
        return _text(fit.coherency)
    return f"{NOT_TOLD}, at most {fit.coherency.high:.3g}" if fit.coherency.has_interval else NOT_TOLD


def _knee_and_peak(fit: Scaling, factor: float, unit: str) -> str:
    """Of a fit with a peak."""
    peak = f"peak of {_text(fit.peak, factor)} {unit} at {_text(fit.peak_workers)} workers"
    knee = _text(fit.knee)
    return f"knee at {knee} workers, {peak}" if knee else peak


def scaling_words(fits: Fits, factor: float = 1.0, unit: str = "") -> str:
    """Knees and peaks of the fits in few words, for the caption of a figure that draws them; empty where none is drawn.

    A fit without a peak is counted and not named: why it has none stands in the tables.

    Parameters
    ----------
    fits, factor, unit
        As `scaling_table` takes them.
    """
    drawn = {names: fit for names, fit in fits.items() if not fit.refusal}
    if not drawn:
        return ""
    told = [
        f"{names[2]}, {names[0]}: {_knee_and_peak(fit, factor, unit)}"
        for names, fit in sorted(drawn.items(), key=lambda item: (operation_rank(item[0][2]), item[0]))
        if not fit.peak_note
    ]
    flat = len(drawn) - len(told)
    if flat:
        told.append(f"no knee and no peak are shown for {flat} of {len(drawn)} fits" if told else "no peak is shown")
    without = len(fits) - len(drawn)
    refused = f" No fit for {without} of {len(fits)} curves." if without else ""
    return f"Dash-dotted: the scaling law that was fitted; {'; '.join(told)}.{refused}"


def scaling_sentences(fits: Fits, factor: float = 1.0, unit: str = "") -> list[str]:
    """What each fit says, or why it says nothing.

    Parameters
    ----------
    fits, factor, unit
        As `scaling_table` takes them.
    """
    found = []
    for names, fit in fits.items():
        series, _, operation, size = names
        head = f"{operation}, {format_size(int(size))}, {series}"
        if fit.refusal:
            found.append(f"{head}: no fit, {fit.refusal}.")
            continue
        words = [f"contention {_text(fit.contention)}", f"coherency {_coherency(fit)}"]
        words.append(fit.peak_note or _knee_and_peak(fit, factor, unit))
        found.append(f"{head}: {'; '.join(words)}.")
    return found
