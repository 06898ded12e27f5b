"""The scorecard of a campaign as tables: a row per claim, totals per verdict, and where a study contradicts itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from glusterlab.analysis.claims.judge import CLASSES, Judgement
from glusterlab.analysis.claims.verdicts import VERDICTS, Band, band_of
from glusterlab.spec.claims import Claim, Claims
from glusterlab.stats import LEVEL, Estimate
from glusterlab.units import short_number

COLUMNS = {
    "id": ("str", "of the claim"),
    "chapter": ("str", "of the study"),
    "section": ("str", "chapter and section"),
    "figure": ("str", "figures and tables that the sentence names, separated by blanks"),
    "kind": ("str", "what is stated: value, ratio, ordering, equality, arithmetic, fact"),
    "class": ("str", "what is compared: `glusterlab.analysis.claims.judge.CLASSES`"),
    "says": ("str", "the claim in this project's words"),
    "published": ("str", "what the study states, in numbers"),
    "words": ("str", "the study's own words for the size"),
    "measured": ("float64", "in `unit`; NaN where nothing was compared"),
    "low": ("float64", "lower end of its interval; NaN where there is none"),
    "high": ("float64", "upper end"),
    "level": ("float64", "confidence level of the interval: 0.95, and more for the largest of several ratios"),
    "unit": ("str", "of the three; empty for a ratio"),
    "n": ("int64", "samples on the side with fewest of them; 0 where nothing was compared"),
    "comparisons": ("int64", "how many the claim makes"),
    "verdict": ("str", "`glusterlab.analysis.claims.verdicts.VERDICTS`"),
    "why": ("str", "of the verdict"),
    "reason": ("str", "of 'not measured' in words that many claims share; else empty"),
    "ratio": ("float64", "measured; of a value, measured / published"),
    "ratio_low": ("float64", "lower end of its interval, of that level"),
    "ratio_high": ("float64", "upper end"),
    "ratio_published": ("float64", "NaN where only an order is stated"),
    "band_low": ("float64", "lower end of what the claim allows, as a ratio"),
    "band_high": ("float64", "upper end; infinite where it has none"),
    "cells": ("str", "ids of the cells behind `measured`, separated by ;"),
    "contradicts": ("str", "ids of claims of the study that contradict it, separated by blanks"),
}
"""Columns of the scorecard: pandas dtype and meaning."""


def scorecard(claims: Claims, judgements: Sequence[Judgement]) -> pd.DataFrame:
    """One row per claim, with columns `COLUMNS`; ``claims`` says who contradicts whom."""
    others = contradictions_of(claims)
    rows = [_row(judgement, others.get(judgement.claim.id, ())) for judgement in judgements]
    table = pd.DataFrame.from_records(rows, columns=list(COLUMNS))
    return table.astype({name: dtype for name, (dtype, _) in COLUMNS.items()})


def contradictions_of(claims: Claims) -> dict[str, tuple[str, ...]]:
    """For each claim the ids of those that contradict it, whichever of the two says so."""
    found: dict[str, list[str]] = {}
    for one, other, _ in claims.contradictions():
        found.setdefault(one.id, []).append(other.id)
        found.setdefault(other.id, []).append(one.id)
    return {name: tuple(dict.fromkeys(ids)) for name, ids in found.items()}


def _row(judgement: Judgement, contradicts: Sequence[str]) -> dict[str, object]:
    claim, measured = judgement.claim, judgement.measured
    ratio, band = _on_ratio_axis(judgement)
    cells: list[str] = []
    if judgement.decisive is not None:
        cells = [side.cell_id for side in judgement.comparisons[judgement.decisive].sides]
    return {
        "id": claim.id,
        "chapter": claim.chapter,
        "section": claim.section,
        "figure": " ".join(claim.figure),
        "kind": claim.kind,
        "class": judgement.claim_class,
        "says": claim.paraphrase,
        "published": published_text(claim),
        "words": claim.published.words,
        "measured": measured.centre,
        "low": measured.low,
        "high": measured.high,
        "level": judgement.level,
        "unit": claim.unit,
        "n": measured.n,
        "comparisons": len(judgement.comparisons),
        "verdict": judgement.verdict,
        "why": judgement.why,
        "reason": judgement.reason,
        "ratio": ratio.centre,
        "ratio_low": ratio.low,
        "ratio_high": ratio.high,
        "ratio_published": band.anchor,
        "band_low": band.low,
        "band_high": band.high,
        "cells": ";".join(cells),
        "contradicts": " ".join(contradicts),
    }


def _on_ratio_axis(judgement: Judgement) -> tuple[Estimate, Band]:
    """What was measured and what is allowed, as ratios; nothing for arithmetic."""
    nothing = Estimate(math.nan, math.nan, math.nan, 0, "")
    if judgement.band is None:
        return nothing, Band(math.nan, math.nan, directed=False)
    measured, value = judgement.measured, judgement.claim.published.value
    if judgement.claim.kind == "value" and isinstance(value, float):
        by = [number / value for number in (measured.centre, measured.low, measured.high)]
        return Estimate(by[0], by[1], by[2], measured.n, measured.method), band_of(judgement.claim)
    return measured, judgement.band


def published_text(claim: Claim) -> str:
    """What a claim states, in a few characters; a relation in words has its ratios behind it."""
    relation, value, unit = claim.published.relation, claim.published.value, claim.published.unit
    if claim.kind == "fact":
        return f"{value:g} {unit}".rstrip() if isinstance(value, float) else f"{value} {unit}".rstrip()
    if isinstance(value, float):
        number = f"{value:,g}" if claim.kind != "ratio" else f"{value:.3g}"
        if claim.published.high is not None:
            number += f" to {claim.published.high:.3g}"
        before = {"equals": "", "between": ""}.get(relation, f"{relation} ")
        return f"{before}{number} {unit}".rstrip()
    if "telemetry" in claim.needs:
        return f'"{claim.published.words}"'
    band = band_of(claim)
    if math.isinf(band.high):
        return f"{relation} (> 1)" if band.low == 1 else f"{relation} (≥ {band.low:.2f})"
    return f"{relation} (≤ {band.high:.2f})" if band.low == 0 else f"{relation} ({band.low:.2f} to {band.high:.2f})"


def measured_text(row: pd.Series) -> str:
    """What a row of the scorecard measured, with its interval; an asterisk is at one of another level than 95 %."""
    if math.isnan(row["measured"]):
        return ""
    text = short_number(row["measured"])
    if not math.isnan(row["low"]):
        text += f" ({short_number(row['low'])} to {short_number(row['high'])})"
        text += "*" if row["level"] > LEVEL else ""
    return text


def totals(table: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each class have each verdict, a column per verdict and ``all``; the last row is all."""
    counts = pd.crosstab(table["class"], table["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    counts = counts.reindex([name for name in CLASSES if name in counts.index])
    counts.loc["all"] = counts.sum()
    counts["all"] = counts.sum(axis=1)
    return counts.astype("int64").rename_axis(index="class", columns=None).reset_index()
