"""The scorecard of a campaign as tables: a row per claim, totals per verdict, and where a study contradicts itself."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from glusterlab.analysis.claims.judge import CLASSES, EVIDENCE, Judgement
from glusterlab.analysis.claims.verdicts import VERDICTS, Band, band_of
from glusterlab.spec.claims import Claim, Claims
from glusterlab.stats import LEVEL, Estimate
from glusterlab.units import short_number


def _ratio(judgement: Judgement, end: str) -> float:
    """What was measured as a ratio; of a value, measured / published; NaN of arithmetic."""
    value = judgement.claim.published.value if judgement.claim.kind == "value" else 1.0
    return math.nan if judgement.band is None else float(getattr(judgement.measured, end)) / float(value or math.nan)


def _whole(judgement: Judgement, end: str) -> float:
    """The same of rates over the whole time, of the comparison that `ratio` is of."""
    if judgement.other is None or judgement.decisive is None:
        return math.nan
    return float(getattr(judgement.other.comparisons[judgement.decisive].estimate, end))


def _band(judgement: Judgement) -> Band:
    return Band(math.nan, math.nan, directed=False) if judgement.band is None else band_of(judgement.claim)


def _cells(judgement: Judgement) -> str:
    if judgement.decisive is None:
        return ""
    return ";".join(side.cell_id for side in judgement.comparisons[judgement.decisive].sides)


COLUMNS: Mapping[str, tuple[str, Callable[[Judgement], object]]] = {
    "id": ("str", lambda of: of.claim.id),  # of the claim
    "chapter": ("str", lambda of: of.claim.chapter),  # of the study
    "section": ("str", lambda of: of.claim.section),  # chapter and section
    "figure": ("str", lambda of: " ".join(of.claim.figure)),  # figures and tables that the sentence names
    "kind": ("str", lambda of: of.claim.kind),  # what is stated: `glusterlab.spec.claims.Kind`
    "class": ("str", lambda of: of.claim_class),  # what is compared: `glusterlab.analysis.claims.judge.CLASSES`
    "says": ("str", lambda of: of.claim.paraphrase),  # the claim in this project's words
    "published": ("str", lambda of: published_text(of.claim)),  # what the study states, in numbers
    "words": ("str", lambda of: of.claim.published.words),  # the study's own words for the size
    "measured": ("float64", lambda of: of.measured.centre),  # in `unit`; NaN where nothing was compared
    "low": ("float64", lambda of: of.measured.low),  # lower end of its interval; NaN where there is none
    "high": ("float64", lambda of: of.measured.high),  # upper end
    "level": ("float64", lambda of: of.level),  # of the interval: 0.95, and more for the largest of several ratios
    "unit": ("str", lambda of: of.claim.unit),  # of the three; empty for a ratio
    "n": ("int64", lambda of: of.measured.n),  # samples on the side with fewest of them; 0 where nothing was compared
    "comparisons": ("int64", lambda of: len(of.comparisons)),  # how many the claim makes
    "verdict": ("str", lambda of: of.verdict),  # `glusterlab.analysis.claims.verdicts.VERDICTS`
    "why": ("str", lambda of: of.why),  # of the verdict
    "reason": ("str", lambda of: of.reason),  # why nothing can tell it, in words that many claims share; else empty
    "repeats": ("float64", lambda of: of.repeats),  # samples per side that would decide it; NaN: decided, or not known
    "ratio": ("float64", lambda of: _ratio(of, "centre")),  # measured; of a value, measured / published
    "ratio_low": ("float64", lambda of: _ratio(of, "low")),  # lower end of its interval, of that level
    "ratio_high": ("float64", lambda of: _ratio(of, "high")),  # upper end
    "ratio_whole": ("float64", lambda of: _whole(of, "centre")),  # over the whole time; NaN where not known
    "ratio_whole_low": ("float64", lambda of: _whole(of, "low")),  # lower end of its interval
    "ratio_whole_high": ("float64", lambda of: _whole(of, "high")),  # upper end
    "verdict_whole": ("str", lambda of: of.other.verdict if of.other else ""),  # over the whole time, where known
    "ratio_published": ("float64", lambda of: _band(of).anchor),  # NaN where only an order is stated
    "band_low": ("float64", lambda of: _band(of).low),  # lower end of what the claim allows, as a ratio
    "band_high": ("float64", lambda of: _band(of).high),  # upper end; infinite where it has none
    "cells": ("str", _cells),  # ids of the cells behind `measured`, separated by ;
    "evidence": ("str", lambda of: of.evidence),  # what was measured: claims with one and the same are one finding
}  # pandas dtype, and what they hold of a judgement


def scorecard(claims: Claims, judgements: Sequence[Judgement]) -> pd.DataFrame:
    """One row per claim: `COLUMNS`, and ``contradicts``, the ids of claims that contradict it, separated by blanks."""
    others = contradictions_of(claims)
    columns = {name: pd.Series([get(of) for of in judgements], dtype=dtype) for name, (dtype, get) in COLUMNS.items()}
    contradicts = [" ".join(others.get(each.claim.id, ())) for each in judgements]
    return pd.DataFrame(columns | {"contradicts": pd.Series(contradicts, dtype="str")})


def contradictions_of(claims: Claims) -> dict[str, tuple[str, ...]]:
    """For each claim the ids of those that contradict it, whichever of the two says so."""
    found: dict[str, list[str]] = {}
    for one, other, _ in claims.contradictions():
        found.setdefault(one.id, []).append(other.id)
        found.setdefault(other.id, []).append(one.id)
    return {name: tuple(dict.fromkeys(ids)) for name, ids in found.items()}


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


def repeats_text(row: pd.Series) -> str:
    """Samples per side that would decide a row of the scorecard; empty where it is decided, or that is not known."""
    if row["verdict"] not in ("insufficient n", "compatible") or math.isnan(row["measured"]):
        return ""
    return "> 200" if math.isnan(row["repeats"]) else f"{row['repeats']:.0f}"


def totals(table: pd.DataFrame) -> pd.DataFrame:
    """Claims of each class by verdict, and the independent measured ratios behind them; ``evidence`` without facts."""
    classes = table["class"].astype(str)
    groups = [(str(name), table[classes == name]) for name in CLASSES if (classes == name).any()]
    place = sum(name in EVIDENCE for name, _ in groups)
    groups.insert(place, ("evidence", table[classes.isin(EVIDENCE)]))
    records = []
    for n, (name, rows) in enumerate(groups):
        records.append({"class": name, "of": "claims", **rows["verdict"].value_counts(), "all": len(rows)})
        if n <= place:
            found = rows[rows["evidence"] != ""]
            ratios = found.groupby("verdict")["evidence"].nunique()
            records.append({"class": name, "of": "measured ratios", **ratios, "all": found["evidence"].nunique()})
    columns = ["class", "of", *VERDICTS, "all"]
    counts = pd.DataFrame.from_records(records, columns=columns).fillna(0)
    return counts.astype(dict.fromkeys([*VERDICTS, "all"], "int64"))


def headline(table: pd.DataFrame) -> str:
    """What a campaign tells in one sentence: claims by verdict, and the independent measured ratios behind them."""
    rows = totals(table)
    claims, ratios = rows[rows["class"] == "evidence"].to_dict("records")
    told = [f"{claims[name]} {name} ({ratios[name]})" for name in VERDICTS if claims[name]]
    return f"Of {claims['all']} claims that a campaign can tell (independent measured ratios): {', '.join(told)}."


def claim_data(judgement: Judgement, contradicts: Sequence[str]) -> dict[str, Any]:
    """A judged claim as JSON data: what is stated, measured and decided, and each comparison with its cells."""
    claim, band, other = judgement.claim, judgement.band, judgement.other
    return {
        **claim.model_dump(mode="json", exclude_none=True, exclude={"contradicts"}),
        "class": judgement.claim_class,
        "published_text": published_text(claim),
        "allowed": None if band is None else {"low": band.low, "high": band.high},
        "measured": _estimate_data(judgement.measured),
        **{name: getattr(judgement, name) for name in ("level", "verdict", "why", "repeats", "evidence")},
        "over_the_whole_time": other
        and {"measured": _estimate_data(other.measured), "verdict": other.verdict, "why": other.why},
        "comparisons": [
            {
                "label": comparison.label,
                "notes": comparison.notes,
                "missing": comparison.missing or None,
                "ratio": _estimate_data(comparison.estimate),
                "cells": [
                    {
                        **{name: getattr(side, name) for name in _OF_A_SIDE},
                        "cell_id": side.cell_id.removeprefix(f"{side.campaign}/"),
                        "divides": not side.above,
                        "samples": [int(number) for number in side.samples.split(";")],
                    }
                    for side in comparison.sides
                ],
            }
            for comparison in judgement.comparisons
        ],
        "contradicts": contradicts,
    }


_OF_A_SIDE = ("campaign", "workers", "scale", "length", "files_per_worker", "unit", "values")


def _estimate_data(estimate: Estimate) -> dict[str, Any] | None:
    if math.isnan(estimate.centre):
        return None
    return {"low": estimate.low, "high": estimate.high, "n": estimate.n, "value": estimate.centre}
