"""Sentences and small tables that a notebook prints under a figure: every number in them comes from the samples."""

from __future__ import annotations

import math

import pandas as pd

from glusterlab.stats import INSUFFICIENT
from glusterlab.units import short_number


def worker_count(count: float) -> str:
    """A number of workers in words.

    >>> worker_count(1), worker_count(24.0)
    ('1 worker', '24 workers')
    """
    return f"{count:.0f} worker{'' if count == 1 else 's'}"


def best_count(table: pd.DataFrame) -> str:
    """At how many workers the values of a figure were measured, from the ``points`` of `efficiency`.

    >>> best_count(pd.DataFrame({"points": [6, 3]})), best_count(pd.DataFrame({"points": [1]}))
    ("at each layout's best worker count", 'at the only worker count that was measured')
    >>> best_count(pd.DataFrame({"points": [6, 1]}))
    "at each layout's best worker count, or the only one that was measured"
    """
    single = table["points"] == 1
    if len(single) and single.all():
        return "at the only worker count that was measured"
    return "at each layout's best worker count" + ", or the only one that was measured" * bool(single.any())


def interval_text(low: float, high: float) -> str:
    """An interval for a table cell.

    >>> interval_text(1.234, 2.0), interval_text(float("nan"), float("nan"))
    ('1.23 to 2.00', 'insufficient n')
    """
    return INSUFFICIENT if math.isnan(low) else f"{short_number(low)} to {short_number(high)}"


def percent(share: float) -> str:
    """A share in per cent, with two digits.

    >>> percent(1.0), percent(0.574), percent(0.0034), percent(-0.001)
    ('100', '57', '0.34', '-0.10')
    """
    value = 100 * share
    if round(abs(value), 1) >= 10 or value == 0:
        return f"{value:.0f}"
    return f"{value:.1f}" if round(abs(value), 2) >= 1 else f"{value:.2f}"


def files_per_worker(table: pd.DataFrame) -> str:
    """The numbers of files per worker, from few workers to many: several where they change along a curve.

    >>> files_per_worker(pd.DataFrame({"workers": [24, 1, 6, 12], "files_per_worker": [24, 160, 80, 80]}))
    '160, 80, 24'
    """
    ordered = table.sort_values("workers", kind="stable")["files_per_worker"]
    return ", ".join(dict.fromkeys(str(int(count)) for count in ordered))


def files_note(rows: pd.DataFrame) -> str:
    """What a caption says of the files per worker, where their number changes along a curve; else nothing.

    >>> curve = {"workers": [1, 12, 1, 12], "files_per_worker": [40, 10, 40, 10], "series": ["a", "a", "b", "b"]}
    >>> files_note(pd.DataFrame(curve))
    ' From few workers to many, a worker has 40, 10 files.'
    >>> files_note(pd.DataFrame(curve | {"files_per_worker": [300, 60, 40, 10]}))
    ' From few workers to many, a worker has 300, 60 files (a); 40, 10 (b).'
    """
    curves: dict[str, list[str]] = {}
    for series, curve in rows.groupby("series", sort=True, observed=True):
        curves.setdefault(files_per_worker(curve), []).append(str(series))
    if not any("," in counts for counts in curves):
        return ""
    told = [
        f"{counts}{'' if number else ' files'}" + (f" ({'; '.join(names)})" if len(curves) > 1 else "")
        for number, (counts, names) in enumerate(curves.items())
    ]
    return f" From few workers to many, a worker has {'; '.join(told)}."
