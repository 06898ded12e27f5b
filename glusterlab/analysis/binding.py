"""What binds by cell: verdicts of the repeats together, whether they agree, and how it changes with the workers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from glusterlab.analysis.intervals import INSUFFICIENT, MIN_SAMPLES, mean_interval
from glusterlab.analysis.series import IDENTITY, POINT, operation_rank
from glusterlab.analysis.verdict_rule import THEN, WHOLE
from glusterlab.units import format_size

BINDING = [
    "quantity",
    "n",
    "state",
    "binding",
    "agree",
    "mean",
    "low",
    "high",
    "where",
    "hosts",
    "evidence",
    "not_judged",
]
"""Columns of `binding_by_cell` beside those that describe the cell: the verdict of most of its ``n`` samples, how
many of them ``agree``, and over these the ``mean`` share of the measured part in which it was full, with its 95 %
interval."""

_QUANTITY = "share of the measured part"
NO_MAJORITY = "no majority"
"""State and words of a cell of which no verdict has more than half of the repeats."""


def binding_by_cell(verdicts: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """One verdict per cell: that of most of its samples.

    Parameters
    ----------
    verdicts : pandas.DataFrame
        `glusterlab.analysis.subsystems.Judgement.verdicts`.
    samples : pandas.DataFrame
        The rows of the samples table that were judged, with ``series``.

    Returns
    -------
    pandas.DataFrame
        `POINT`, `IDENTITY` and `BINDING`, sorted by operation, size, series and workers. Samples agree that have the
        same kind of verdict on the same subsystems; the order in which these took turns is that of most of them. Where
        no more than half of the samples agree, state and binding are `NO_MAJORITY`, and the evidence is each verdict.
    """
    judged = samples.assign(cell_id=samples["cell_id"].astype(str)).merge(verdicts, on=["cell_id", "sample"])
    records = [
        {name: rows[name].iloc[0] for name in dict.fromkeys(POINT + IDENTITY)} | _together(rows)
        for _, rows in judged.groupby("cell_id", sort=True)
    ]
    table = pd.DataFrame.from_records(records, columns=[*dict.fromkeys(POINT + IDENTITY), *BINDING])
    order = table["operation"].map(operation_rank)
    return (
        table.assign(_order=order)
        .sort_values(["_order", "nominal_file_size_bytes", "series", "workers"], kind="stable")
        .drop(columns="_order")
        .reset_index(drop=True)
    )


def _together(rows: pd.DataFrame) -> dict[str, object]:
    pairs = list(zip(rows["state"].astype(str), rows["binding"].astype(str), strict=True))
    votes = [("binds" if state in WHOLE else state, frozenset(binding.split(THEN))) for state, binding in pairs]
    most = max(votes, key=votes.count)
    agree = votes.count(most)
    if 2 * agree <= len(votes):
        words = Counter(short_verdict(*pair) for pair in pairs)
        found = {"state": NO_MAJORITY, "binding": NO_MAJORITY, "mean": math.nan, "low": math.nan, "high": math.nan}
        told = "; ".join(f"{number} of {len(rows)}: {word}" for word, number in sorted(words.items()))
        missing = "; ".join(dict.fromkeys(word for word in rows["not_judged"] if word))
        texts = {"where": "", "hosts": "", "evidence": told, "not_judged": missing}
        return {"quantity": _QUANTITY, "n": len(rows), "agree": agree} | found | texts
    same = rows[[vote == most for vote in votes]]
    share = mean_interval(same["share"].astype(float))
    # the sample in the middle stands for the others
    ordered = same.sort_values(["share", "sample"], kind="stable")
    middle = ordered.iloc[(len(same) - 1) // 2]
    orders = Counter(pair for pair, vote in zip(pairs, votes, strict=True) if vote == most)
    state, binding = max(sorted(orders), key=lambda pair: orders[pair])
    return {
        "quantity": _QUANTITY,
        "n": len(rows),
        "state": state,
        "binding": binding,
        "agree": agree,
        "mean": share.centre,
        "low": share.low,
        "high": share.high,
        **{name: middle[name] for name in ("where", "hosts", "evidence", "not_judged")},
    }


def short_verdict(state: str, binding: str) -> str:
    """A verdict in a few words, for a cell of a table.

    Examples
    --------
    >>> short_verdict("binds", "disks"), short_verdict("in turn", "network, then disks")
    ('disks', 'network, then disks')
    >>> short_verdict("partly", "disks"), short_verdict("at times", "disks"), short_verdict("unknown", "unknown")
    ('part of the disks', 'disks at times', 'unknown')
    >>> short_verdict("none", "none of them: look at the software")
    'none'
    """
    if state == "partly":
        return f"part of the {binding}"
    if state == "at times":
        return f"{binding} at times"
    return state if state in ("none", "unknown") else binding


def binding_sentences(table: pd.DataFrame) -> list[str]:
    """What binds along each curve over workers, a sentence for each.

    Parameters
    ----------
    table : pandas.DataFrame
        From `binding_by_cell`.
    """
    found = []
    for (operation, _, series), rows in table.groupby(
        ["operation", "nominal_file_size_bytes", "series"], observed=True, sort=False
    ):
        curve = rows.sort_values("workers")
        words = [
            short_verdict(str(state), str(binding))
            for state, binding in zip(curve["state"], curve["binding"], strict=True)
        ]
        runs = _runs([int(count) for count in curve["workers"]], words)
        disagreeing = curve[curve["agree"] < curve["n"]]
        few = "" if int(curve["n"].min()) >= MIN_SAMPLES else f" Insufficient n ({int(curve['n'].min())})."
        apart = ""
        if len(disagreeing):
            apart = f" Not all repeats agree at {_counts([int(count) for count in disagreeing['workers']])}."
        files = format_size(int(curve["nominal_file_size_bytes"].iloc[0]))
        found.append(f"{operation}, {files}, {series}: {'; '.join(runs)}.{apart}{few}")
    return found


def verdict_sentences(table: pd.DataFrame) -> list[str]:
    """What binds where each curve over workers ends: which subsystem, on which hosts, for how long; or none.

    Parameters
    ----------
    table : pandas.DataFrame
        From `binding_by_cell`.
    """
    found = []
    for (operation, _, series), rows in table.groupby(
        ["operation", "nominal_file_size_bytes", "series"], observed=True, sort=False
    ):
        row = rows.sort_values("workers").iloc[-1]
        files = format_size(int(row["nominal_file_size_bytes"]))
        what = f"{operation}, {files} files, {series}, {_counts([int(row['workers'])])}"
        found.append(f"{what}: {_verdict_words(row)}.")
    return found


def _verdict_words(row: pd.Series) -> str:
    n, agree = int(row["n"]), int(row["agree"])
    repeats = f"{agree} of {n} repeats" if n >= MIN_SAMPLES else f"{INSUFFICIENT}, {n}"
    state, binding = str(row["state"]), str(row["binding"])
    if state == "unknown":
        return f"not known, for {row['evidence']} ({repeats})"
    if state == "none":
        known = str(row["not_judged"])
        return f"{binding}{f'; not judged: {known}' if known else ''} ({repeats})"
    if state == NO_MAJORITY:
        return f"the repeats disagree: {row['evidence']}"
    names = " and then the ".join(binding.split(THEN))
    full = f"full for {100 * float(row['mean']):.0f} % of the measured part"
    hosts = f": {row['hosts']}" if str(row["hosts"]) else ""
    if state == "at times":
        return f"nothing held it for most of the time; the {names}, {full}{hosts} ({repeats})"
    part = "a part of the " if state == "partly" else "the "
    return f"{part}{names} held it, {full}{hosts} ({repeats})"


def _runs(workers: Sequence[int], words: Sequence[str]) -> list[str]:
    """Neighbouring worker counts with the same verdict.

    Examples
    --------
    >>> _runs([1, 6, 12], ["none", "none", "disks"])
    ['none at 1 and 6 workers', 'disks at 12 workers']
    """
    runs: list[tuple[str, list[int]]] = []
    for count, word in zip(workers, words, strict=True):
        if runs and runs[-1][0] == word:
            runs[-1][1].append(count)
        else:
            runs.append((word, [count]))
    return [f"{word} at {_counts(counts)}" for word, counts in runs]


def _counts(counts: Sequence[int]) -> str:
    """Worker counts in words.

    Examples
    --------
    >>> _counts([1]), _counts([6, 12]), _counts([6, 12, 24])
    ('1 worker', '6 and 12 workers', '6, 12 and 24 workers')
    """
    *most, last = [str(count) for count in counts]
    joined = f"{', '.join(most)} and {last}" if most else last
    return f"{joined} worker{'s' if list(counts) != [1] else ''}"


def evidence_table(table: pd.DataFrame) -> pd.DataFrame:
    """Verdicts by cell as a table for people: who, what, on which hosts, and the numbers behind it.

    Parameters
    ----------
    table : pandas.DataFrame
        From `binding_by_cell`.
    """
    return pd.DataFrame(
        {
            "operation": table["operation"].astype(str),
            "files": [format_size(int(size)) for size in table["nominal_file_size_bytes"]],
            "layout": table["series"].astype(str),
            "workers": table["workers"].astype(int),
            "binds": [
                short_verdict(str(state), str(binding))
                for state, binding in zip(table["state"], table["binding"], strict=True)
            ],
            "repeats that agree": [f"{agree} of {n}" for agree, n in zip(table["agree"], table["n"], strict=True)],
            "full, % of the measured part": [
                "" if math.isnan(float(share)) else f"{100 * float(share):.0f}" for share in table["mean"]
            ],
            "hosts": table["hosts"].astype(str),
            "evidence": table["evidence"].astype(str),
            "not judged": table["not_judged"].astype(str),
        }
    )
