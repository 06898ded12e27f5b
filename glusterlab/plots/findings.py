"""What a figure's data support, for its title: nothing where intervals meet, or the two views of a rate differ."""

import math
from collections.abc import Callable, Iterable

import pandas as pd

from glusterlab.analysis.efficiency import SATURATION_GAIN, saturation_points
from glusterlab.analysis.select import operations_of
from glusterlab.analysis.words import joined, worker_count


def leader(rows: pd.DataFrame) -> str:
    """The series whose interval lies above all others, and its rate over the whole time, too; empty without one.

    `rows` has one row per series, with ``mean``, ``low`` and ``high``, and ``whole_mean`` where it is known.
    """
    rows = rows.reset_index(drop=True)
    mean, low, high = (rows[name].astype(float) for name in ("mean", "low", "high"))
    if len(rows) < 2 or rows["series"].duplicated().any() or low.isna().any():
        return ""
    first = int(mean.to_numpy().argmax())
    views = [(low, high)]
    if "whole_mean" in rows:
        whole = rows["whole_mean"].astype(float)
        views += [(whole, whole)] if whole.notna().all() else []
    above = all(least[first] > most.drop(first).max() for least, most in views)
    return str(rows["series"][first]) if above else ""


def leads(parts: Iterable[tuple[str, pd.DataFrame]]) -> str:
    """Who leads where: ``disperse 12x(4+2), JBOD leads in write and read``; `parts` are places with their rows."""
    found: dict[str, list[str]] = {}
    for place, rows in parts:
        if name := leader(rows):
            found.setdefault(name, []).append(place)
    return "; ".join(f"{name} leads {joined(places)}" for name, places in found.items())


def by_operation(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Rows by operation, each with its place in a sentence."""
    return [(f"in {name}", table[table["operation"].astype(str) == name]) for name in operations_of(table)]


def advantage(ratios: pd.DataFrame, words: Callable[[str, str], str]) -> str:
    """Ratios that differ from 1 by both views (`server_advantage`); `words` make a phrase of number and operation."""
    parts = []
    for row in ratios.to_dict("records"):
        ratio, low, high, whole = (float(row[name]) for name in ("ratio", "ratio_low", "ratio_high", "ratio_whole"))
        apart = (low > 1 and not whole <= 1) or (high < 1 and not whole >= 1)
        if apart and not math.isnan(ratio):
            parts.append(words(f"{ratio:.2f}", str(row["operation"])))
    return joined(parts) if parts and ratios["operation"].is_unique else ""


def saturates(table: pd.DataFrame) -> str:
    """Beyond how many workers the only layout of each operation gains little; empty where there are several."""
    if table["series"].nunique() != 1:
        return ""
    parts = []
    for name in operations_of(table):
        rows = table[table["operation"].astype(str) == name]
        point = float(saturation_points(rows)["saturation_workers"].iloc[0])
        if not math.isnan(point):
            parts.append(f"{name} gains at most {SATURATION_GAIN:.0%} beyond {worker_count(point)}")
    return ", ".join(parts).replace("%", " %")
