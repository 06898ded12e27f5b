"""Sentences and small tables that a notebook prints under a figure: every number in them comes from the samples.

A sentence states what the samples support and no more: without enough samples it says "insufficient n", and an interval
that holds 1 is called so.
"""

from __future__ import annotations

import math

import pandas as pd

from glusterlab.analysis.efficiency import GROUP, compare_rows, saturation_points
from glusterlab.analysis.intervals import INSUFFICIENT, MIN_SAMPLES, Estimate
from glusterlab.units import format_size, short_number


def worker_count(count: float) -> str:
    """A number of workers in words.

    Examples
    --------
    >>> worker_count(1), worker_count(24.0)
    ('1 worker', '24 workers')
    """
    return f"{count:.0f} worker{'' if count == 1 else 's'}"


def best_count(table: pd.DataFrame) -> str:
    """At how many workers the values of a figure were measured, for its subtitle and caption.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.efficiency.efficiency`, with ``points``.

    Examples
    --------
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

    Examples
    --------
    >>> interval_text(1.234, 2.0), interval_text(float("nan"), float("nan"))
    ('1.23 to 2.00', 'insufficient n')
    """
    return INSUFFICIENT if math.isnan(low) else f"{short_number(low)} to {short_number(high)}"


def rounded_table(summary: pd.DataFrame, unit: str, factor: float) -> pd.DataFrame:
    """A summary for people: three significant digits as text, so that a check of its text has no rounding noise.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `summarise`, `per_disk` or `efficiency`.
    unit : str
        Such as ``MB/s per disk``.
    factor : float
        From the summary's SI unit to it.

    Returns
    -------
    pandas.DataFrame
        One row per cell, indexed by operation, file size, layout and workers, all text; the column ``× scale`` only on
        a scale model, ``guide`` only where the study states a number, ``limit`` and the share of it only where
        `glusterlab.analysis.limits.with_limits` knows one.
    """
    scale = summary["scale"].astype(float)
    table = pd.DataFrame(
        {
            "operation": summary["operation"].astype(str),
            "file size": [format_size(int(size)) for size in summary["nominal_file_size_bytes"]],
            "layout": summary["series"].astype(str),
            "workers": summary["workers"].astype(int).astype(str),
            "n": summary["n"].astype(int).astype(str),
            f"mean, {unit}": [short_number(value * factor) for value in summary["mean"]],
            "95 % interval": [
                interval_text(low * factor, high * factor)
                for low, high in zip(summary["low"], summary["high"], strict=True)
            ],
            "median": [short_number(value * factor) for value in summary["median"]],
        }
    )
    if (scale != 1).any():
        table["× scale"] = [
            f"× {by:g}: {short_number(mean * by * factor)}" for mean, by in zip(summary["mean"], scale, strict=True)
        ]
    if "published" in summary and summary["published"].notna().any():
        table["guide"] = [
            "" if math.isnan(value) else short_number(value * factor) for value in summary["published"].astype(float)
        ]
    if "limit" in summary and summary["limit"].notna().any():
        table[f"limit, {unit}"] = [
            "" if math.isnan(limit) else f"{short_number(limit * factor)} ({part})"
            for limit, part in zip(summary["limit"], summary["limit_part"], strict=True)
        ]
        table["share of it"] = [share_text(*row) for row in summary[["share", "share_low", "share_high"]].to_numpy()]
    return table.set_index(["operation", "file size", "layout", "workers"])


def share_text(share: float, low: float, high: float) -> str:
    """A share with its interval, in per cent.

    Examples
    --------
    >>> share_text(0.574, 0.551, 0.6), share_text(0.574, float("nan"), float("nan"))
    ('57 % (55 to 60)', '57 % (insufficient n)')
    >>> share_text(float("nan"), float("nan"), float("nan"))
    ''
    """
    if math.isnan(share):
        return ""
    interval = INSUFFICIENT if math.isnan(low) else f"{percent(low)} to {percent(high)}"
    return f"{percent(share)} % ({interval})"


def percent(share: float) -> str:
    """A share in per cent, with two digits.

    Examples
    --------
    >>> percent(1.0), percent(0.574), percent(0.0034), percent(-0.001)
    ('100', '57', '0.34', '-0.10')
    """
    value = 100 * share
    if round(abs(value), 1) >= 10 or value == 0:
        return f"{value:.0f}"
    return f"{value:.1f}" if round(abs(value), 2) >= 1 else f"{value:.2f}"


def workers_table(summary: pd.DataFrame, factor: float) -> pd.DataFrame:
    """Means by workers for people: a row per curve, a column per worker count, as text.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `summarise`; with the columns of `glusterlab.analysis.limits.with_limits` the share of the limit stands
        behind each mean.
    factor : float
        From the summary's SI unit to that of the table.

    Returns
    -------
    pandas.DataFrame
        Indexed by operation, file size and layout, and by scale where there are several: values of different scales do
        not compare. The columns are worker counts. Empty where nothing was measured. Cells of fewer than `MIN_SAMPLES`
        samples say how many they have.
    """
    cells = []
    for row in summary.to_dict("records"):
        text = short_number(float(row["mean"]) * factor)
        if not math.isnan(float(row.get("share", math.nan))):
            text += f", {percent(float(row['share']))} %"
        if int(row["n"]) < MIN_SAMPLES:
            text += f" (n = {row['n']})"
        cells.append(text)
    table = pd.DataFrame(
        {
            "operation": summary["operation"].astype(str),
            "file size": [format_size(int(size)) for size in summary["nominal_file_size_bytes"]],
            "scale": [f"1:{scale:g}" for scale in summary["scale"].astype(float)],
            "layout": summary["series"].astype(str),
            "workers": summary["workers"].astype(int),
            "cell": cells,
        }
    )
    curves = ["operation", "file size", *(["scale"] if table["scale"].nunique() > 1 else []), "layout"]
    order = table[curves].drop_duplicates()
    wide = table.pivot(index=curves, columns="workers", values="cell").fillna("")
    return wide.reindex(pd.MultiIndex.from_frame(order))


def _cell(row: pd.Series) -> str:
    return f"{row['operation']}, {format_size(int(row['nominal_file_size_bytes']))}"


def _ratio_text(ratio: Estimate) -> str:
    text = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
    return f"{text}, which holds 1: not told apart" if ratio.low <= 1 <= ratio.high else text


def layout_sentences(summary: pd.DataFrame) -> list[str]:
    """Each layout against the replicated one, operation by operation and file size by file size.

    Below `MIN_SAMPLES` samples on either side no ratio is told.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `efficiency`: one row per series, operation and file size.
    """
    sentences = []
    for _, rows in summary.groupby(["operation", "nominal_file_size_bytes"], observed=True, sort=False):
        ordered = rows.assign(_other=rows["type"].astype(str) != "replicate").sort_values(["_other", "series"])
        first = ordered.iloc[0]
        what = _cell(first)
        measure = "files per second and disk" if str(first["quantity"]).startswith("files") else "throughput per disk"
        if len(ordered) == 1:
            sentences.append(f"{what}: only {first['series']} is measured, there is nothing to compare it with.")
        for _, row in ordered.iloc[1:].iterrows():
            ratio = compare_rows(row, first)
            counts = f"n = {row['n']} and {first['n']}, at {row['workers']} and {first['workers']} workers"
            if ratio.has_interval:
                sentences.append(
                    f"{what}: {row['series']} has {ratio.centre:.2f} times the {measure} of {first['series']} "
                    f"({_ratio_text(ratio)}; {counts})."
                )
            else:
                sentences.append(f"{what}: {row['series']} against {first['series']}: {INSUFFICIENT} ({counts}).")
    return sentences


def saturation_sentences(summary: pd.DataFrame) -> list[str]:
    """Where each curve over workers stops rising by its means, or that it does not, or that the samples are too few.

    Where the number of files per worker changes along a curve, the sentence says so.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `summarise`.
    """
    sentences = []
    curves = [rows for _, rows in summary.groupby(GROUP, observed=True, sort=False)]
    for (_, row), rows in zip(saturation_points(summary).iterrows(), curves, strict=True):
        if row["points"] < 2:
            text = f"measured at {worker_count(row['most_workers'])} only, so there is no curve"
        elif row["n"] < MIN_SAMPLES:
            text = f"{INSUFFICIENT} for a saturation point, n = {row['n']} at its weakest point"
        elif row["still_rising"]:
            text = f"by the means, still rising at {worker_count(row['most_workers'])}, the most that were measured"
        else:
            text = (
                f"by the means, saturated at {worker_count(row['saturation_workers'])}; the highest mean is at "
                f"{row['best_workers']}"
            )
        files = files_per_worker(rows)
        differ = f" (files per worker differ along this curve: {files})" if "," in files else ""
        sentences.append(f"{_cell(row)}, {row['series']}: {text}{differ}.")
    return sentences


def files_per_worker(table: pd.DataFrame) -> str:
    """The numbers of files per worker, from few workers to many: several where they change along a curve.

    Parameters
    ----------
    table : pandas.DataFrame
        Samples, or a summary of them, with ``workers`` and ``files_per_worker``.

    Examples
    --------
    >>> files_per_worker(pd.DataFrame({"workers": [24, 1, 6, 12], "files_per_worker": [24, 160, 80, 80]}))
    '160, 80, 24'
    """
    ordered = table.sort_values("workers", kind="stable")["files_per_worker"]
    return ", ".join(dict.fromkeys(str(int(count)) for count in ordered))


def files_note(rows: pd.DataFrame) -> str:
    """What a caption says of the files per worker, where their number changes along a curve; else nothing.

    Parameters
    ----------
    rows : pandas.DataFrame
        Samples of one file size with ``series``, ``workers`` and ``files_per_worker``.

    Examples
    --------
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


def published_sentences(summary: pd.DataFrame, unit: str, factor: float) -> list[str]:
    """Measured values, times the scale on a model, against what the study states for the same layout.

    Below `MIN_SAMPLES` samples no ratio is told. Where the curve still rises at its right end, the value is a lower
    bound. A number that the study states for no layout that it tested stands beside every layout without one.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `efficiency`.
    """
    sentences = []
    stated = summary["published"].where(summary["published"].notna(), summary["published_any"])
    for _, row in summary.assign(_stated=stated)[stated.notna()].iterrows():
        guide, scale = float(row["_stated"]), float(row["scale"])
        whose = "the guide, for any layout," if math.isnan(row["published"]) else "the guide"
        times = "" if scale == 1 else f" times {scale:g}"
        full = float(row["full_size_mean"])
        if int(row["n"]) < MIN_SAMPLES:
            ratio = f"{INSUFFICIENT} for a ratio (n = {row['n']})"
        else:
            low, high = float(row["full_size_low"]) / guide, float(row["full_size_high"]) / guide
            ratio = f"ratio {full / guide:.2f} (95 % interval {low:.2f} to {high:.2f})"
        rising = f"; still rising at {worker_count(row['workers'])}: a lower bound" if row["still_rising"] else ""
        sentences.append(
            f"{_cell(row)}, {row['series']}: measured{times} {short_number(full * factor)} {unit}, {whose} "
            f"{short_number(guide * factor)}: {ratio}{rising}."
        )
    return sentences or ["The guide states no number for these cells."]


def advantage_sentences(table: pd.DataFrame) -> list[str]:
    """Standard against dense servers, operation by operation, beside what the study states.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.ratios.server_advantage`.
    """
    sentences = []
    for _, row in table[table["ratio"].notna()].iterrows():
        measure = "files per second" if str(row["quantity"]).startswith("files") else "throughput"
        ratio = Estimate(row["ratio"], row["ratio_low"], row["ratio_high"], int(row["ratio_n"]), "")
        workers = f"at {row['workers']} and {row['ratio_to_workers']:.0f} workers"
        if ratio.has_interval:
            found = f"{ratio.centre:.2f} times the {measure} ({_ratio_text(ratio)}; n = {ratio.n}, {workers})"
        else:
            found = f"{INSUFFICIENT} (n = {ratio.n}, {workers})"
        stated = "" if math.isnan(row["published_ratio"]) else f"; the guide: {row['published_ratio']:.2f}"
        sentences.append(f"{_cell(row)}, a disk of {row['series']} against one of {row['ratio_to']}: {found}{stated}.")
    return sentences


def gap_sentences(table: pd.DataFrame) -> list[str]:
    """How many times as fast each layout reads as it writes, size by size.

    Parameters
    ----------
    table : pandas.DataFrame
        From `glusterlab.analysis.ratios.read_write_gap`.
    """
    sentences = []
    for series, rows in table.groupby("series", sort=True, observed=True):
        parts = []
        for _, row in rows.sort_values("nominal_file_size_bytes").iterrows():
            size = format_size(int(row["nominal_file_size_bytes"]))
            if math.isnan(row["ratio_low"]):
                told = f"{size} {INSUFFICIENT} (n = {row['ratio_n']:.0f})"
            else:
                told = f"{size} {row['ratio']:.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
            stated = float(row["published_ratio"])
            parts.append(told if math.isnan(stated) else f"{told}, by the guide's numbers {stated:.2f}")
        sentences.append(f"{series}, read / write with its 95 % interval: {'; '.join(parts)}.")
    return sentences


def bound_sentences(summary: pd.DataFrame) -> list[str]:
    """How near each layout came to what links and disks allow, where it came nearest.

    Only worker counts with at least `MIN_SAMPLES` samples are spoken of.

    Parameters
    ----------
    summary : pandas.DataFrame
        With the columns of `glusterlab.analysis.limits.with_limits`.
    """
    sentences = []
    known = summary[summary["limit"].notna()]
    for _, rows in known.groupby(GROUP, observed=True, sort=False):
        enough = rows[rows["n"] >= MIN_SAMPLES]
        if enough.empty:
            sentences.append(f"{_cell(rows.iloc[0])}, {rows['series'].iloc[0]}: {INSUFFICIENT} for a share.")
            continue
        many = enough[enough["workers"] == enough["workers"].max()].iloc[0]
        best = enough.sort_values("share", kind="stable").iloc[-1]
        text = f"{share_text(*many[['share', 'share_low', 'share_high']])} of what its {many['limit_part']} allow"
        if best["workers"] != many["workers"]:
            most = share_text(*best[["share", "share_low", "share_high"]])
            text += f"; the most, {most} of its {best['limit_part']}, at {worker_count(best['workers'])}"
        sentences.append(f"{_cell(many)}, {many['series']}, {worker_count(many['workers'])}: {text}.")
    return sentences
