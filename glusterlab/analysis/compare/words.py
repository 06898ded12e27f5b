"""A comparison of releases in words, for the terminal, a pull request and the notebook; takes its tables."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from glusterlab.analysis.compare.cells import EQUIVALENT, FASTER, SLOWER, VERDICTS, Rule
from glusterlab.stats import INSUFFICIENT, TWO_GROUPS, least_n

SHORT = {EQUIVALENT: "equivalent"}  # verdicts as a narrow table has them; others as they are

CORRECTIONS = {"holm": "Holm", "fdr": "Benjamini and Hochberg"}


def change_text(ratio: float) -> str:
    """A ratio as a change in per cent.

    >>> change_text(1.1834), change_text(0.9511), change_text(2.5), change_text(1.0)
    ('+18.3 %', '-4.9 %', '+150 %', '0.0 %')
    """
    if math.isnan(ratio):
        return "unknown"
    change = 100 * (ratio - 1)
    digits = 0 if abs(change) >= 99.95 else 1
    text = f"{change:+.{digits}f} %"
    return f"{0:.{digits}f} %" if float(text[:-2]) == 0 else text


def interval_text(low: float, high: float) -> str:
    """An interval of ratios as one of changes.

    >>> interval_text(1.1201, 1.2399), interval_text(float("nan"), float("nan"))
    ('+12.0 % to +24.0 %', 'none')
    """
    return "none" if math.isnan(low) else f"{change_text(low)} to {change_text(high)}"


def p_text(p: float) -> str:
    """A p value with one or two digits that count.

    >>> p_text(0.0312), p_text(0.5), p_text(0.00021), p_text(float("nan"))
    ('0.031', '0.50', '< 0.001', 'none')
    """
    if math.isnan(p):
        return "none"
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def n_text(row: Mapping[Any, Any] | pd.Series) -> str:
    """Samples behind a ratio: ``10, 9``, or one number where both are the same."""
    return ", ".join(dict.fromkeys((str(row["n_reference"]), str(row["n_other"]))))


def counts(table: pd.DataFrame) -> dict[str, int]:
    """How many cells have each verdict, in the order of `VERDICTS`; verdicts of none are left out."""
    found = table["verdict"].astype(str).value_counts()
    return {verdict: int(found[verdict]) for verdict in VERDICTS if verdict in found}


def verdict_line(table: pd.DataFrame, reference: str, other: str) -> str:
    """What a campaign shows against the reference, in one line."""
    rows = table[table["other"].astype(str) == other]
    if rows.empty:
        return f"{other} against {reference}: they have no cell in common that can be compared"
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts(rows).items())
    return f"{other} against {reference}: {_cells(len(rows))}, {verdicts}"


def rule_line(rule: Rule, table: pd.DataFrame) -> str:
    """By what rule, over how many cells of each campaign.

    >>> rule_line(Rule(), pd.DataFrame({"other": ["b", "b", "b"], "least_n": [0, 0, 9]}))
    'margin ± 5 %, p corrected over 2 cells (Holm)'
    """
    tested = (table["least_n"] == 0).groupby(table["other"], sort=False).sum().tolist()
    over = ", ".join(str(int(number)) for number in dict.fromkeys(tested)) or "0"
    words = f"{over} {'cell' if over == '1' else 'cells'}" + (" of each campaign" if len(tested) > 1 else "")
    return f"margin ± {100 * rule.margin:g} %, p corrected over {words} ({CORRECTIONS[rule.correction]})"


def _cells(count: int) -> str:
    return f"{count} {'cell' if count == 1 else 'cells'}"


def least_lines(table: pd.DataFrame, rule: Rule) -> list[str]:
    """How many samples the cells lack that have too few, and how many lie in two groups, by campaign; else none."""
    found = []
    for other, whole in table.groupby("other", observed=True, sort=False):
        short = whole[whole["verdict"].astype(str) == INSUFFICIENT]
        apart = short["interval"] == TWO_GROUPS
        if number := int(apart.sum()):
            found.append(f"{other}: insufficient n, {_cells(number)} with {TWO_GROUPS}: no ratio stands for them")
        short = short[~apart]
        if short.empty:
            continue
        have = short[["n_reference", "n_other"]].min(axis=1)
        sizes = " to ".join(str(int(n)) for n in dict.fromkeys((have.min(), have.max())))
        count = f"{len(short)} {'cell has' if len(short) == 1 else 'cells have'} n = {sizes}"
        least = int(short["least_n"].max())
        rounds = max(least, least_n(["signed-rank"] * len(whole), [], rule.correction) or 0)
        needed = f"{least} repeats of each campaign, or {rounds} rounds in turns,"
        if (short["rounds"] > 0).any():
            needed = f"{least} rounds"
        need = f"with {_cells(len(whole))} at least {needed} are needed before any difference could be shown"
        found.append(f"{other}: insufficient n, {count}; {need}")
    return found


def timing_warnings(table: pd.DataFrame) -> list[str]:
    """What of the times at which cells were measured may be the reason of a finding."""
    found = []
    for other, rows in table.groupby("other", observed=True, sort=False):
        if apart := int((rows["rounds"] == 0).sum()):
            found.append(
                f"{other}: {_which(apart, len(rows))} not in interleaved rounds with the reference, as far as repeats "
                "and their times tell, so that a drift of the machine cannot be told from the release"
            )
        if first := int(rows["one_sided"].astype(bool).sum()):
            found.append(
                f"{other}: in {_which(first, len(rows))} the same campaign went first in nearly every round, so that a "
                "drift within a round is in the ratio: change the order from round to round"
            )
    return found


def _which(count: int, of: int) -> str:
    return "all cells" if count == of else f"{count} of {of} cells"


def spoiled_warnings(samples: Mapping[str, pd.DataFrame]) -> list[str]:
    """Repeats that never came out valid: a comparison of those that did is one of survivors."""
    found = []
    for name, rows in samples.items():
        counted = rows[~rows["warmup"].astype(bool)]
        valid = counted["status"].astype(str) == "valid"
        came_out = valid.groupby([counted["cell_id"], counted["repeat"]], observed=True).any()
        if spoiled := int((~came_out).sum()):
            better = "so that what is compared may be its better part (glusterlab status has the reasons)"
            repeats = f"{spoiled} of {len(came_out)} repeats"
            found.append(f"{name}: {repeats} never came out valid and do not count, {better}")
    return found


def timing_notes(table: pd.DataFrame) -> list[str]:
    """How cells were compared, and what of the rounds is to be known."""
    found = []
    for other, rows in table.groupby("other", observed=True, sort=False):
        paired = rows["rounds"] > 0
        if not paired.all():
            found.append(f"{other}: rank-sum test of Mann and Whitney, with the interval that inverts it")
        if paired.any():
            found.append(f"{other}: signed-rank test of the ratios within rounds, with the interval that inverts it")
        if by_time := int((rows["paired_by"] == "time").sum()):
            why = "because the numbers of the repeats are not in step"
            found.append(f"{other}: in {_which(by_time, len(rows))} rounds are neighbours in time, {why}")
        if left := int(rows["left_out"].sum()):
            found.append(f"{other}: {left} valid samples belong to no round, or have no value above 0: left out")
    return found


def changed(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that are faster or slower: slower ones first, each by the size of the change."""
    rows = table[table["verdict"].astype(str).isin((FASTER, SLOWER))]
    size = -rows["ratio"].astype(float).map(math.log).abs()
    order = rows.assign(_slower=rows["verdict"].astype(str) != SLOWER, _size=size)
    return rows.loc[order.sort_values(["_slower", "_size"], kind="stable").index]


def average_sentences(averages: pd.DataFrame) -> list[str]:
    """What a campaign does on average over cells of one kind."""
    several, found = averages["other"].nunique() > 1, []
    for row in averages.to_dict("records"):
        interval = f"{INSUFFICIENT}, {row['n']}"
        if not math.isnan(row["low"]):
            interval = f"{interval_text(row['low'], row['high'])}, n = {row['n']}"
        change = f"{change_text(row['ratio'])} on average of {row['cells']} cells ({interval})"
        found.append((f"{row['other']}, " if several else "") + f"{row['group']}: {change}")
    return found


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    """A comparison as people read it, a row per cell: its campaign where there are several, and as text the rest."""
    found = pd.DataFrame(
        {
            "cell": table["cell"],
            "n": [n_text(row) for row in table.to_dict("records")],
            "ratio": table["ratio"].map(change_text),
            "interval": [interval_text(*ends) for ends in zip(table["low"], table["high"], strict=True)],
            "p": table["p_corrected"].map(p_text),
            "verdict": table["verdict"].replace(SHORT),
        }
    )
    if table["other"].nunique() > 1:
        found.insert(0, "other", table["other"])
    return found


def listed(sentences: list[str], most: int = 3) -> list[str]:
    """The first of many sentences, and how many more there are.

    >>> listed(["a", "b", "c", "d", "e"])
    ['a', 'b', 'c', 'and 2 more']
    """
    if len(sentences) <= most + 1:
        return list(sentences)
    return [*sentences[:most], f"and {len(sentences) - most} more"]
