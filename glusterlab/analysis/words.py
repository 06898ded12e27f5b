"""Sentences and small tables that a notebook prints under a figure: every number in them comes from the samples."""

import math

import pandas as pd

from glusterlab.errors import joined as joined
from glusterlab.stats import INSUFFICIENT
from glusterlab.units import short_number


def worker_count(count: float) -> str:
    """A number of workers in words."""
    return f"{count:.0f} worker{'' if count == 1 else 's'}"


def served(samples: pd.DataFrame) -> pd.Series:
    """The access of each sample, and the program that served it, such as ``nfs3 by ganesha.nfsd``."""
    by = samples["served_by"].astype(str)
    return samples["access"].astype(str) + (" by " + by).where(by != "", "")


def best_count(table: pd.DataFrame) -> str:
    """At how many workers the values of a figure were measured, from the ``points`` of `efficiency`."""
    single = table["points"] == 1
    if len(single) and single.all():
        return "at the only worker count that was measured"
    return "at each layout's best worker count" + ", or the only one that was measured" * bool(single.any())


def interval_text(low: float, high: float) -> str:
    """An interval for a table cell."""
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


def files_note(rows: pd.DataFrame) -> str:
    """What a caption says of the files per worker, where their number changes along a curve; else nothing.

    >>> curve = {"workers": [1, 12, 1, 12], "files_per_worker": [300, 60, 40, 10], "series": ["a", "a", "b", "b"]}
    >>> files_note(pd.DataFrame(curve))
    ' From few workers to many, a worker has 300, 60 files (a); 40, 10 (b).'
    """
    curves: dict[str, list[str]] = {}
    for series, curve in rows.groupby("series", sort=True, observed=True):
        ordered = curve.sort_values("workers", kind="stable")["files_per_worker"]
        curves.setdefault(", ".join(dict.fromkeys(str(int(count)) for count in ordered)), []).append(str(series))
    if not any("," in counts for counts in curves):
        return ""
    words = [
        f"{counts}{'' if number else ' files'}" + (f" ({'; '.join(names)})" if len(curves) > 1 else "")
        for number, (counts, names) in enumerate(curves.items())
    ]
    return f" From few workers to many, a worker has {'; '.join(words)}."
