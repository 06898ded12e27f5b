"""The rule behind each verdict: a claim allows a band of ratios, a campaign has a ratio with its 95 % interval.

| verdict | of the band | and |
|---|---|---|
| reproduced | holds the whole interval | that at 1 - 0.05 / m, too |
| contradicted | holds no point of the interval | that at 1 - 0.05 / (k m), too |
| compatible | holds the centre alone | the interval ends within a factor of `RESOLUTION` of it |
| insufficient n | none of these | so many repeats would decide: `repeats_needed` |
| model cannot tell | not asked | a declared limit of the scale model: `glusterlab.spec.models` |
| depends on counting | another verdict by another view of the rate | `glusterlab.analysis.claims.judge.across_views` |

An order is a band as well: "more" begins at 1 and has no end. "Not significant" is never "equal": equality has to be
shown within a margin (two one-sided tests: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657). The best of m noisy
means is a little too high, so where m worker counts may be the best, what is reproduced is so at 1 - 0.05 / m. Of k
comparisons "all" have to hold at 95 % each (an intersection-union test: Berger, Technometrics 24 (1982) 295), and one
contradicts at 1 - 0.05 / (k m). So less than 5 % of true claims are contradicted, and of false ones reproduced.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from glusterlab.spec.claims import Claim
from glusterlab.stats import MIN_SAMPLES, TWO_GROUPS, Estimate, deciding_n

Verdict = Literal[
    "reproduced", "compatible", "contradicted", "insufficient n", "depends on counting", "model cannot tell",
    "not measured",
]  # fmt: skip
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)  # all verdicts, in the order in which they are listed

_DECIDES: dict[str, int] = {"not measured": 0, "model cannot tell": 1, "insufficient n": 2, "depends on counting": 3}

TOLERANCE = 1.10  # factor up to which a number counts as the published one, and two things as the same
WIDE_TOLERANCE = 1.25  # the same for "about" and "similar"
SLIGHT = 1.15  # where "slight" ends and "notable" begins, a study's word for 18 %
LARGE = 1.5  # from which "by far" begins, a study's words for 67 %
RESOLUTION = 1.25  # widest factor from centre to end of an interval that still tells something

_NOT_STRICT = "but not at the level that several comparisons or worker counts ask for"


def decides(verdict: str) -> int:
    """How much a verdict decides, of several on one claim: 0 for "not measured", 4 for what holds or does not."""
    return _DECIDES.get(verdict, 4)


@dataclass(frozen=True, slots=True)
class Band:
    """The ratios that a claim allows."""

    low: float
    high: float  # may be infinite
    directed: bool  # the claim says that the ratio is above 1
    anchor: float = math.nan  # the published ratio

    def holds(self, ratio: float) -> bool:
        return self.low <= ratio <= self.high

    def apart(self, estimate: Estimate) -> bool:
        return estimate.high < self.low or estimate.low > self.high

    def contains(self, estimate: Estimate) -> bool:
        return self.low <= estimate.low and estimate.high <= self.high


def band_of(claim: Claim) -> Band:
    """The ratios that a claim allows (of a value, of measured / published); `ValueError` when it compares nothing."""
    relation, published = claim.published.relation, claim.published.value
    tolerance, wide = claim.tolerance or TOLERANCE, claim.tolerance or WIDE_TOLERANCE
    if claim.kind in ("value", "ratio") and isinstance(published, float):
        unit = 1.0 if claim.kind == "ratio" else published
        ratio, high = published / unit, (claim.published.high or math.inf) / unit
        bounds = {
            "equals": (ratio / tolerance, ratio * tolerance),
            "up to": (ratio / tolerance, ratio * tolerance),
            "about": (ratio / wide, ratio * wide),
            "nearly": (ratio / tolerance, ratio),
            "over": (ratio, math.inf),
            "between": (ratio, high),
        }
        anchor = math.sqrt(ratio * high) if relation == "between" else ratio
        return Band(*bounds[relation], directed=claim.kind == "ratio", anchor=anchor)
    orders = {
        "more": Band(1.0, math.inf, directed=True),
        "slightly more": Band(1.0, SLIGHT, directed=True),
        "notably more": Band(SLIGHT, math.inf, directed=True),
        "far more": Band(LARGE, math.inf, directed=True),
        "no less": Band(1 / tolerance, math.inf, directed=False),
        "no more": Band(0.0, tolerance, directed=False),
        "same": Band(1 / tolerance, tolerance, directed=False),
        "similar": Band(1 / wide, wide, directed=False),
    }
    if relation not in orders:
        raise ValueError(f"{claim.id}: a claim of kind {claim.kind} compares nothing")
    return orders[relation]


def decide(
    band: Band, estimate: Estimate, strict: Estimate | None = None, selected: Estimate | None = None
) -> tuple[Verdict, str]:
    """Verdict and reason for a ratio: ``strict`` is the interval that contradicts, ``selected`` that reproduces."""
    against, shows = strict or estimate, selected or estimate
    if estimate.method == TWO_GROUPS:
        return "insufficient n", TWO_GROUPS
    if not estimate.has_interval:
        return "insufficient n", f"n = {estimate.n}: an interval needs 3 samples on each side"
    little = "; the ratio is less than 10 % away from 1" if band.directed and _ALIKE.holds(estimate.centre) else ""
    if band.contains(shows):
        return "reproduced", f"the whole interval lies within what is claimed{little}"
    if band.apart(against):
        where = "below" if against.high < band.low else "above"
        turned = ", on the other side of 1" if band.directed and against.high < 1 else ""
        turned = turned or (", though the direction holds" if band.directed and against.low > 1 else "")
        return "contradicted", f"the whole interval lies {where} what is claimed{turned}{little}"
    if band.apart(estimate):
        return "insufficient n", f"the interval lies outside what is claimed, {_NOT_STRICT}"
    if not band.holds(estimate.centre):
        return "insufficient n", "the ratio lies outside what is claimed, and its interval reaches in"
    if math.sqrt(estimate.high / estimate.low) > RESOLUTION:
        return "insufficient n", "the interval is too wide to tell anything"
    if band.contains(estimate):
        return "compatible", f"the interval lies within what is claimed, {_NOT_STRICT}{little}"
    return "compatible", f"the ratio lies within what is claimed, but its interval reaches out{little}"


_ALIKE = Band(1 / TOLERANCE, TOLERANCE, directed=False)


def repeats_needed(band: Band, centre: float, groups: Sequence[Sequence[float]], level: float) -> int | None:
    """Samples per side, more than there are, with which an interval lies in the band or apart; None: too many."""
    ends = [math.log(end) for end in (band.low, band.high) if 0 < end < math.inf]
    have = min(map(len, groups), default=0)
    if have < 2:
        return MIN_SAMPLES
    enough = deciding_n(groups, min(abs(math.log(centre) - end) for end in ends), level)
    return enough and max(enough, have + 1)
