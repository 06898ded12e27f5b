"""Published against measured: each claim of a study gets its verdict from a campaign's samples."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, get_args

import pandas as pd

from glusterlab.analysis.claims.cells import Campaign, Comparison
from glusterlab.analysis.claims.verdicts import VERDICTS, Band, Verdict, band_of, decide, repeats_needed
from glusterlab.analysis.select import VIEWS
from glusterlab.spec.claims import NEEDS, QUANTITIES, Claim, Claims, Quantity
from glusterlab.stats import INSUFFICIENT, LEVEL, TWO_GROUPS, Estimate, two_groups
from glusterlab.tools.records import WHOLE

ClaimClass = Literal["ratio", "ordering", "absolute", "absolute on a scale model", "arithmetic", "fact"]
CLASSES: tuple[ClaimClass, ...] = get_args(ClaimClass)  # what is compared; no benchmark measures facts
EVIDENCE: tuple[ClaimClass, ...] = CLASSES[:4]  # what campaigns tell: none changes a document's arithmetic

_LOWER_BOUND = "still rising at the most workers: a lower bound"

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Judgement:
    """What a campaign says of one claim."""

    claim: Claim
    verdict: Verdict
    why: str
    claim_class: ClaimClass
    measured: Estimate  # the ratio that decides; of a value in the published unit, of arithmetic the number alone
    band: Band | None = None  # what the claim allows, in the same unit
    comparisons: tuple[Comparison, ...] = ()
    decisive: int | None = None  # number of the comparison that `measured` is of
    reason: str = ""  # why not measured, or why the model cannot tell, in a few words that many claims share
    level: float = LEVEL  # confidence level of the interval
    repeats: int | None = None  # samples per side that would decide it, where that is known
    evidence: str = ""  # cells of the ratio, or curves of the telemetry, that decide: with the same, one finding
    other: "Judgement | None" = None  # the same by rates over the whole time, where these are known and decide it


@dataclass(frozen=True, slots=True)
class TelemetryVerdict:
    """A verdict that the samples table cannot give."""

    verdict: Verdict
    why: str
    n: int
    reason: str = ""  # why more than ``n`` samples would not decide it
    evidence: str = ""  # the curves that it is of


_NOTHING = Estimate(math.nan, math.nan, math.nan, 0, "")


def judge(
    claims: Claims,
    samples: pd.DataFrame,
    by_telemetry: Mapping[str, TelemetryVerdict] | None = None,
    columns: Mapping[Quantity, str] | None = None,
) -> list[Judgement]:
    """The verdict of each claim on a campaign, in their order; ``columns`` has quantities by another view of rates."""
    campaign = Campaign(samples, claims.layouts, claims.servers, columns)
    # what a table of samples cannot show is not met
    met = {"nfs"} if samples["access"].astype(str).str.startswith("nfs").any() else set()
    scaled = bool((samples["scale"].astype(float) != 1).any() or ("heads" in samples and samples["heads"].any()))
    found = []
    for claim in claims.claims:
        lacking = [NEEDS[need] for need in claim.needs if need not in met]
        if (one := (by_telemetry or {}).get(claim.id)) is not None:
            n, why = (0, one.why if one.n else one.reason) if one.verdict == "not measured" else (one.n, one.why)
            judgement = Judgement(claim, one.verdict, why, _class_of(claim, scaled), replace(_NOTHING, n=n))
            found.append(replace(judgement, reason=one.reason, evidence=one.evidence))
        elif claim.kind == "arithmetic":
            found.append(_judge_arithmetic(claim))
        elif lacking or (claim.cells is None and claim.of is None):
            lacking = lacking or ["the table of samples does not tell it"]
            named = _class_of(claim, scaled)
            found.append(Judgement(claim, "not measured", "; ".join(lacking), named, _NOTHING, reason=lacking[0]))
        else:
            found.append(_judge(claim, tuple(campaign.comparisons(claim)), scaled))
    return found


def judge_both_views(
    claims: Claims, samples: pd.DataFrame, by_telemetry: Mapping[str, TelemetryVerdict] | None = None
) -> list[Judgement]:
    """`judge` by the tool's own rates, where those over the whole time give no other verdict."""
    judged = judge(claims, samples, by_telemetry)
    columns = {name: WHOLE[of.column] for name, of in QUANTITIES.items() if of.column in WHOLE}
    if not {*columns.values()} <= {*samples}:
        return judged
    return across_views(judged, judge(claims, samples, by_telemetry, columns), VIEWS)


def across_views(judged: Sequence[Judgement], others: Sequence[Judgement], views: tuple[str, str]) -> list[Judgement]:
    """What `judge` says by one view of rates; where another one gives another verdict, it depends on counting."""
    found = []
    for one, other in zip(judged, others, strict=True):
        if other.decisive is not None and not math.isnan(other.measured.centre):
            one = replace(one, other=other)
        # what decides has to be told by both views; samples in two groups have no ratio
        decides = [of.comparisons[n] for of in (one, other) for n in [one.decisive] if n is not None]
        known = not any(of.missing or of.limit or math.isnan(of.estimate.centre) for of in decides)
        if one.verdict != other.verdict and decides and known:
            both = zip(views, (one, other), decides, strict=True)
            why = "; ".join(f"{view}: {each.verdict} ({of.estimate.centre:.3g})" for view, each, of in both)
            one = replace(one, verdict="depends on counting", why=why, repeats=None)
        found.append(one)
    return found


def one_by_one(judged: Iterable[Judgement], figure: str) -> list[Judgement]:
    """Each comparison that has a ratio, of the claims of a figure, as if its claim made that one alone."""
    found = [
        replace(_judge(of.claim, (one,), False), other=of.other and _judge(of.claim, (of.other.comparisons[n],), False))
        for of in judged
        if figure in of.claim.figure
        for n, one in enumerate(of.comparisons)
    ]
    return [each for each in found if not math.isnan(each.measured.centre)]


def _modelled(cell: Mapping[str, Any]) -> bool:
    # disks of a model are a model at full speed, too
    return float(cell["scale"]) != 1 or bool(cell.get("heads", False))


def _class_of(claim: Claim, scaled: bool) -> ClaimClass:
    if claim.kind == "value":
        return "absolute on a scale model" if scaled else "absolute"
    return "ratio" if claim.kind == "equality" else claim.kind


def _judge(claim: Claim, found: tuple[Comparison, ...], scaled: bool) -> Judgement:
    band = band_of(claim)
    modelled = [_modelled(side.cell) for comparison in found for side in comparison.sides]
    named = _class_of(claim, any(modelled) if modelled else scaled)
    verdict, why = combine(claim, found)
    decisive, estimate, level = _decisive(claim, band, found, verdict)
    reason, repeats = "", None
    if verdict == "not measured":
        reason = next((comparison.lacks for comparison in found if comparison.lacks), _LOWER_BOUND)
    elif verdict == "model cannot tell":
        reason = next(comparison.limit for comparison in found if comparison.limit)
    if decisive is not None and verdict != "not measured":
        why = "; ".join((why, *found[decisive].notes))
        if verdict in ("insufficient n", "compatible"):
            # among how many comparisons the largest is sought
            among = len(found) if claim.quantifier == "largest" else 1
            repeats = _repeats(band, found[decisive], among)
    unit = claim.published.value if claim.kind == "value" and isinstance(claim.published.value, float) else 1.0
    low, centre, high = (end * unit for end in (estimate.low, estimate.centre, estimate.high))
    measured = replace(estimate, centre=centre, low=low, high=high)
    allowed = Band(band.low * unit, band.high * unit, band.directed, band.anchor * unit)
    evidence = "" if decisive is None or verdict == "not measured" else found[decisive].cells
    return Judgement(claim, verdict, why, named, measured, allowed, found, decisive, reason, level, repeats, evidence)


def _repeats(band: Band, comparison: Comparison, among: int) -> int | None:
    """Samples per side that would decide a comparison at the level that its worker counts ask for."""
    sides = comparison.sides
    contenders = max(math.prod(side.contenders for side in sides if side.above == up) for up in (True, False))
    level = 1 - (1 - LEVEL) / (contenders * among)
    return repeats_needed(band, comparison.estimate.centre, [side.values for side in sides], level)


def _decide(claim: Claim, comparison: Comparison) -> tuple[Verdict, str]:
    if comparison.missing:
        return "not measured", comparison.missing
    if comparison.limit:
        return "model cannot tell", comparison.limit
    if comparison.estimate.method == TWO_GROUPS:
        sides = [side.label for side in comparison.sides if two_groups(side.values)]
        return "insufficient n", f"{TWO_GROUPS}: {' / '.join(sides)}"
    band = band_of(claim)
    verdict, why = decide(band, comparison.estimate, comparison.strict, comparison.selected)
    below = claim.kind == "value" and comparison.estimate.high < band.low
    if below and any(side.rising for side in comparison.sides) and verdict != "insufficient n":
        return "not measured", f"it is smaller than the published value, but {_LOWER_BOUND}"
    return verdict, why


def _cases(found: Sequence[Comparison], members: Iterable[int]) -> list[list[int]]:
    return [list(case) for _, case in groupby(members, key=lambda n: found[n].case)]


def combine(claim: Claim, found: Sequence[Comparison]) -> tuple[Verdict, str]:
    """The verdict of a claim from its comparisons, of which there is at least one, and the reason."""
    missing = [comparison.missing for comparison in found if comparison.missing]
    lacking = f"{len(missing)} of {len(found)} comparisons are missing: " if len(found) > 1 else ""
    lacking = lacking + missing[0] if missing else ""
    if claim.quantifier == "largest":
        return _combine_largest(band_of(claim), lacking, found)
    decided = [_decide(claim, comparison) for comparison in found]
    if claim.quantifier == "most":
        cases = _cases(found, range(len(found)))
        return _combine_most([_combine_all([decided[n] for n in case])[0] for case in cases], lacking)
    worst, why = _combine_all(decided)
    return worst, lacking if worst == "not measured" and missing else why


def _combine_largest(band: Band, missing: str, found: Sequence[Comparison]) -> tuple[Verdict, str]:
    known = [comparison for comparison in found if comparison.strict.has_interval and not comparison.limit]
    if known and len(known) < len(found) and math.isinf(band.high):
        # those that are missing can only make the largest larger
        low = max(comparison.strict.low for comparison in known)
        if low >= band.low:
            return "reproduced", f"{len(known)} of {len(found)} comparisons decide it: they lie within what is claimed"
    if limit := next((comparison.limit for comparison in found if comparison.limit), ""):
        return "model cannot tell", limit
    if missing:
        return "not measured", missing
    strict = _largest([one.strict for one in found])
    return decide(band, _largest([one.corrected for one in found]), strict, strict)


_WORST_FIRST: tuple[Verdict, ...] = (
    "contradicted", "model cannot tell", "not measured", "insufficient n", "compatible", "reproduced",
)  # fmt: skip


def _combine_all(decided: Sequence[tuple[Verdict, str]]) -> tuple[Verdict, str]:
    worst = min((verdict for verdict, _ in decided), key=_WORST_FIRST.index)
    reasons = [why for verdict, why in decided if verdict == worst]
    if len(decided) == 1:
        return worst, reasons[0]
    number = "all" if len(reasons) == len(decided) else f"{len(reasons)} of {len(decided)}"
    return worst, f"{number} comparisons: {reasons[0]}"


def _combine_most(cases: Sequence[Verdict], missing: str) -> tuple[Verdict, str]:
    counts, total = Counter(cases), len(cases)
    listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    if counts["reproduced"] * 2 > total:
        return "reproduced", f"most of {total} cases: {listed}"
    if (counts["reproduced"] + counts["compatible"]) * 2 > total:
        return "compatible", f"most of {total} cases: {listed}"
    if counts["contradicted"] * 2 >= total:
        return "contradicted", f"not most of {total} cases: {listed}"
    if (counts["reproduced"] + counts["compatible"] + counts["insufficient n"] + counts["not measured"]) * 2 <= total:
        return "model cannot tell", f"of {total} cases: {listed}"
    return ("not measured", missing) if missing else ("insufficient n", f"of {total} cases: {listed}")


def _largest(estimates: Sequence[Estimate]) -> Estimate:
    """The largest ratio; its interval holds the largest true one where each interval holds its own."""
    whole = all(estimate.has_interval for estimate in estimates)
    low, high = (max(getattr(each, end) for each in estimates) if whole else math.nan for end in ("low", "high"))
    apart = any(one.method == TWO_GROUPS for one in estimates)
    method = "largest ratio, log t" if whole else TWO_GROUPS if apart else INSUFFICIENT
    return Estimate(max(one.centre for one in estimates), low, high, min(one.n for one in estimates), method)


def _decisive(
    claim: Claim, band: Band, found: Sequence[Comparison], verdict: Verdict
) -> tuple[int | None, Estimate, float]:
    """The comparison that a claim stands or falls with, its ratio, and the level of that interval.

    Of "all" it is a worst one, the farthest from what is claimed; of "most" the middle one of the cases' worst.
    """
    measured = [n for n, comparison in enumerate(found) if not math.isnan(comparison.estimate.centre)]
    if not measured:
        return None, _NOTHING, LEVEL

    def centre(n: int) -> float:
        return found[n].estimate.centre

    def worst(members: Sequence[int]) -> int:
        ranks = {n: _WORST_FIRST.index(_decide(claim, found[n])[0]) for n in members}
        ordered = sorted((n for n in members if ranks[n] == min(ranks.values())), key=centre)
        if band.directed or math.isinf(band.high):
            return ordered[0]
        return ordered[-1] if band.low == 0 else max(ordered, key=lambda n: abs(math.log(centre(n))))

    if claim.quantifier == "largest":
        if verdict == "reproduced":
            measured = [n for n in measured if found[n].corrected.has_interval and not found[n].limit]
        chosen = max(measured, key=centre)
        if verdict in ("not measured", "model cannot tell"):
            return chosen, found[chosen].estimate, LEVEL
        return chosen, _largest([found[n].corrected for n in measured]), 1 - (1 - LEVEL) / len(found)
    if claim.quantifier == "most":
        ordered = sorted(map(worst, _cases(found, measured)), key=centre)
        chosen = ordered[(len(ordered) - 1) // 2]
    else:
        chosen = worst(measured)
    return chosen, found[chosen].estimate, LEVEL


def _judge_arithmetic(claim: Claim) -> Judgement:
    published, values = claim.published.value, claim.computed()
    assert isinstance(published, float), claim.id
    decimals = len(f"{published:.10f}".rstrip("0").partition(".")[2])

    def holds(value: float) -> bool:
        if claim.published.relation in ("over", "under"):
            return value > published if claim.published.relation == "over" else value < published
        if claim.tolerance is None:
            return abs(value - published) <= 0.5 * 10.0**-decimals + _ROUNDING
        size = abs(published)
        return size / claim.tolerance - _ROUNDING <= abs(value) <= size * claim.tolerance + _ROUNDING

    off = [value for value in values if not holds(value)]
    shown = (off or values)[0]
    estimate = Estimate(shown, math.nan, math.nan, 0, "arithmetic")
    who = "the formula gives" if len(values) == 1 else f"{len(off) or len(values)} of {len(values)} formulas give"
    why = f"{who} {shown:.6g} {claim.published.unit}".rstrip()
    if off:
        than = {"over": "more than ", "under": "less than "}.get(claim.published.relation, "")
        return Judgement(claim, "contradicted", f"{why}, not {than}{published:g}", "arithmetic", estimate)
    return Judgement(claim, "reproduced", why, "arithmetic", estimate)
