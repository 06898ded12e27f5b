"""Published against measured: each claim of a study gets its verdict from a campaign's samples.

`glusterlab.analysis.verdicts` has the rule: what a claim's words allow in numbers, and what an interval makes of it.
`glusterlab.analysis.claims_cells` finds the cells that a claim compares. Here both come together: what is to be tested
at all, several comparisons, and the arithmetic of the study's own numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from glusterlab.analysis.claims_cells import Campaign, Comparison
from glusterlab.analysis.intervals import INSUFFICIENT, Estimate
from glusterlab.analysis.verdicts import VERDICTS, Band, Verdict, band_of, decide
from glusterlab.spec.claims import NEEDS, Claim, Claims

ClaimClass = Literal["ratio", "ordering", "absolute", "absolute on a scale model", "arithmetic", "fact"]
CLASSES: tuple[ClaimClass, ...] = get_args(ClaimClass)
"""What is compared: ratios (and equality), orders, absolute values at scale 1, absolute values times the scale, the
study's own arithmetic, and facts that no benchmark measures."""

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Judgement:
    """What a campaign says of one claim.

    Attributes
    ----------
    claim : Claim
    verdict : str
        One of `VERDICTS`.
    why : str
        One sentence.
    reason : str
        Of "not measured", in a few words that many claims share; empty for other verdicts.
    claim_class : str
        One of `CLASSES`.
    measured : Estimate
        The ratio that decides, with its interval; of a value in the published unit; of arithmetic the number alone.
    band : Band or None
        What the claim allows, in the same unit; None where nothing was compared.
    comparisons : tuple of Comparison
    decisive : int or None
        The comparison that `measured` is of; None where it is of none.
    """

    claim: Claim
    verdict: Verdict
    why: str
    claim_class: ClaimClass
    measured: Estimate
    band: Band | None = None
    comparisons: tuple[Comparison, ...] = ()
    decisive: int | None = None
    reason: str = ""


_NOTHING = Estimate(math.nan, math.nan, math.nan, 0, "")


def judge(claims: Claims, samples: pd.DataFrame) -> list[Judgement]:
    """The verdict of each claim on a campaign.

    Parameters
    ----------
    claims : Claims
    samples : pandas.DataFrame
        The samples table, of every status.

    Returns
    -------
    list of Judgement
        In the order of the claims.
    """
    campaign = Campaign(samples, claims.layouts)
    met = conditions_met(samples)
    scaled = bool((samples["scale"].astype(float) != 1).any())
    return [_judge(claim, campaign, met, scaled) for claim in claims.claims]


def conditions_met(samples: pd.DataFrame) -> frozenset[str]:
    """Which of the conditions in `glusterlab.spec.claims.NEEDS` a campaign's samples meet.

    The others cannot be seen in a table of samples, and count as not met.
    """
    met = set()
    if len(samples) and bool((samples["scale"].astype(float) == 1).all()):
        met.add("full scale")
    if samples["access"].astype(str).str.startswith("nfs").any():
        met.add("nfs")
    releases = samples["gluster_version"].astype(str)
    if len(samples) and bool(releases.str.startswith("3.").all()):
        met.add("release 3.x")
    return frozenset(met)


def _class_of(claim: Claim, scaled: bool) -> ClaimClass:
    if claim.kind == "value":
        return "absolute on a scale model" if scaled else "absolute"
    if claim.kind == "equality":
        return "ratio"
    return claim.kind


def _judge(claim: Claim, campaign: Campaign, met: frozenset[str], scaled: bool) -> Judgement:
    if claim.kind == "arithmetic":
        return _judge_arithmetic(claim)
    lacking = [need for need in claim.needs if need not in met]
    if lacking:
        why = "; ".join(NEEDS[need] for need in lacking)
        return Judgement(claim, "not measured", why, _class_of(claim, scaled), _NOTHING, reason=NEEDS[lacking[0]])
    if claim.cells is None and claim.of is None:
        why = "the table of samples does not tell it"
        return Judgement(claim, "not measured", why, _class_of(claim, scaled), _NOTHING, reason=why)
    band, found = band_of(claim), tuple(campaign.comparisons(claim))
    scales = {side.scale for comparison in found for side in comparison.sides}
    claim_class = _class_of(claim, scales != {1.0} if scales else scaled)
    verdict, why = combine(claim, found)
    decisive, estimate = _decisive(claim, band, found)
    unit = claim.published.value if claim.kind == "value" and isinstance(claim.published.value, float) else 1.0
    lacks = [comparison.lacks for comparison in found if comparison.lacks] if verdict == "not measured" else []
    reason = lacks[0] if lacks else ""
    measured, allowed = _times(estimate, unit), _band_times(band, unit)
    return Judgement(claim, verdict, why, claim_class, measured, allowed, found, decisive, reason)


def _times(estimate: Estimate, unit: float) -> Estimate:
    return Estimate(estimate.centre * unit, estimate.low * unit, estimate.high * unit, estimate.n, estimate.method)


def _band_times(band: Band, unit: float) -> Band:
    return Band(band.low * unit, band.high * unit, band.directed, band.anchor * unit)


def _decide(claim: Claim, band: Band, comparison: Comparison) -> tuple[Verdict, str]:
    if comparison.missing:
        return "not measured", comparison.missing
    return decide(band, comparison.estimate, comparison.strict, value=claim.kind == "value")


def combine(claim: Claim, found: Sequence[Comparison]) -> tuple[Verdict, str]:
    """The verdict of a claim from its comparisons, and the reason.

    Parameters
    ----------
    claim : Claim
        One that compares something.
    found : sequence of Comparison
        At least one.
    """
    band = band_of(claim)
    missing = [comparison.missing for comparison in found if comparison.missing]
    if claim.quantifier == "largest":
        if missing:
            return "not measured", _missing_words(missing, found)
        return decide(band, _largest([one.corrected for one in found]), _largest([one.strict for one in found]))
    decided = [_decide(claim, band, comparison) for comparison in found]
    if claim.quantifier == "all":
        return _all(decided, missing, found)
    cases = [
        _all([verdict for verdict, comparison in zip(decided, found, strict=True) if comparison.case == case], [], ())
        for case in sorted({comparison.case for comparison in found})
    ]
    return _most(cases, missing, found)


def _missing_words(missing: Sequence[str], found: Sequence[Comparison]) -> str:
    if len(found) == 1:
        return missing[0]
    return f"{len(missing)} of {len(found)} comparisons are missing: {missing[0]}"


_WORST_FIRST: tuple[Verdict, ...] = (
    "contradicted",
    "not measured",
    "insufficient n",
    "same direction, different size",
    "reproduced",
)


def _all(
    decided: Sequence[tuple[Verdict, str]], missing: Sequence[str], found: Sequence[Comparison]
) -> tuple[Verdict, str]:
    """The worst of them."""
    worst = min((verdict for verdict, _ in decided), key=_WORST_FIRST.index)
    reasons = [why for verdict, why in decided if verdict == worst]
    if worst == "not measured" and missing:
        return worst, _missing_words(missing, found)
    if len(decided) == 1 or not found:
        return worst, reasons[0]
    number = "all" if len(reasons) == len(decided) else f"{len(reasons)} of {len(decided)}"
    return worst, f"{number} comparisons: {reasons[0]}"


def _most(
    cases: Sequence[tuple[Verdict, str]], missing: Sequence[str], found: Sequence[Comparison]
) -> tuple[Verdict, str]:
    counts = Counter(verdict for verdict, _ in cases)
    total = len(cases)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    shown = counts["reproduced"] + counts["same direction, different size"]
    if counts["reproduced"] * 2 > total:
        return "reproduced", f"most of {total} cases: {told}"
    if shown * 2 > total:
        return "same direction, different size", f"most of {total} cases: {told}"
    if counts["contradicted"] * 2 >= total:
        return "contradicted", f"not most of {total} cases: {told}"
    if missing:
        return "not measured", _missing_words(missing, found)
    return "insufficient n", f"of {total} cases: {told}"


def _largest(estimates: Sequence[Estimate]) -> Estimate:
    """The largest ratio; its interval holds the largest true one where each interval holds its own."""
    n = min(estimate.n for estimate in estimates)
    centre = max(estimate.centre for estimate in estimates)
    if not all(estimate.has_interval for estimate in estimates):
        return Estimate(centre, math.nan, math.nan, n, INSUFFICIENT)
    low, high = max(estimate.low for estimate in estimates), max(estimate.high for estimate in estimates)
    return Estimate(centre, low, high, n, "largest ratio, log t")


def _decisive(claim: Claim, band: Band, found: Sequence[Comparison]) -> tuple[int | None, Estimate]:
    """The comparison that a claim stands or falls with, and its ratio.

    Of "all" it is one with the worst verdict, the farthest from what is claimed; of "most" the one in the middle.
    """
    measured = [n for n, comparison in enumerate(found) if not math.isnan(comparison.estimate.centre)]
    if not measured:
        return None, _NOTHING
    if claim.quantifier == "all":
        verdicts = {n: _decide(claim, band, found[n])[0] for n in measured}
        worst = min(verdicts.values(), key=_WORST_FIRST.index)
        measured = [n for n in measured if verdicts[n] == worst]

    def centre(n: int) -> float:
        return found[n].estimate.centre

    if claim.quantifier == "largest":
        largest = max(measured, key=centre)
        whole = len(measured) == len(found)
        return largest, _largest([one.corrected for one in found]) if whole else found[largest].estimate
    ordered = sorted(measured, key=centre)
    if claim.quantifier == "most":
        chosen = ordered[(len(ordered) - 1) // 2]
    elif band.directed or math.isinf(band.high):
        chosen = ordered[0]
    elif band.low == 0:
        chosen = ordered[-1]
    else:
        chosen = max(measured, key=lambda n: abs(math.log(centre(n))))
    return chosen, found[chosen].estimate


def _judge_arithmetic(claim: Claim) -> Judgement:
    published = claim.published.value
    values = claim.computed()
    assert isinstance(published, float), claim.id
    relation = claim.published.relation
    if relation == "over":
        off = [value for value in values if value <= published]
        wanted = f"more than {published:g}"
    elif relation == "under":
        off = [value for value in values if value >= published]
        wanted = f"less than {published:g}"
    else:
        off = [value for value in values if not _is_rounded(value, published, claim.tolerance)]
        wanted = f"{published:g}"
    shown = (off or values)[0]
    estimate = Estimate(shown, math.nan, math.nan, 0, "arithmetic")
    given = f"{shown:.6g} {claim.published.unit}".rstrip()
    who = "the formula gives" if len(values) == 1 else f"{len(off) or len(values)} of {len(values)} formulas give"
    if off:
        return Judgement(claim, "contradicted", f"{who} {given}, not {wanted}", "arithmetic", estimate)
    return Judgement(claim, "reproduced", f"{who} {given}", "arithmetic", estimate)


def _is_rounded(value: float, published: float, tolerance: float | None) -> bool:
    if tolerance is not None:
        return abs(published) / tolerance - _ROUNDING <= abs(value) <= abs(published) * tolerance + _ROUNDING
    decimals = len(f"{published:.10f}".rstrip("0").partition(".")[2])
    return abs(value - published) <= 0.5 * 10.0**-decimals + _ROUNDING
