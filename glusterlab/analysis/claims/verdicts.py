"""The rule behind each verdict: a claim allows a band of ratios, a campaign has a ratio with its 95 % interval.

"Not significant" is never "equal": equality has to be shown within a margin (two one-sided tests: Schuirmann, J.
Pharmacokinet. Biopharm. 15 (1987) 657). The best of m noisy means is a little too high: where m worker counts may be
the best, a direction and an equality are tested at 1 - 0.05 / m. Of k comparisons "all" have to hold at 95 % each (an
intersection-union test: Berger, Technometrics 24 (1982) 295), and one contradicts at 1 - 0.05 / (k m). So a true claim
is contradicted in less than 5 % of campaigns; tests simulate it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from glusterlab.spec.claims import Claim
from glusterlab.stats import Estimate

Verdict = Literal["reproduced", "same direction, different size", "contradicted", "insufficient n", "not measured"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""All verdicts, in the order in which they are listed."""

TOLERANCE = 1.10
"""Factor up to which a number counts as the published one, and two things as the same."""
WIDE_TOLERANCE = 1.25
"""The same for "about" and "similar"."""
SLIGHT = 1.15
"""Where "slight" ends and "notable" begins."""
LARGE = 1.5
"""From which "by far" begins."""
RESOLUTION = 1.25
"""Widest factor from centre to end of an interval that still tells a size."""
MAGNITUDE = 2.0
"""Factor beyond which an absolute value is contradicted."""

_NOT_STRICT = "but not at the level that several comparisons or worker counts ask for"


@dataclass(frozen=True, slots=True)
class Band:
    """The ratios that a claim allows; ``high`` may be infinite, ``anchor`` (the published one) NaN.

    ``directed``: the claim says that the ratio is above 1.
    """

    low: float
    high: float
    directed: bool
    anchor: float = math.nan

    def holds(self, ratio: float) -> bool:
        """Whether a ratio lies in the band."""
        return self.low <= ratio <= self.high

    def apart(self, estimate: Estimate) -> bool:
        """Whether an interval has no point in common with it."""
        return estimate.high < self.low or estimate.low > self.high

    def contains(self, estimate: Estimate) -> bool:
        """Whether a whole interval lies in it."""
        return self.low <= estimate.low and estimate.high <= self.high


def band_of(claim: Claim) -> Band:
    """The ratios that a claim allows; of a value, of measured / published, around 1.

    "notably" and "far more" are the words that a study uses for 18 % and for 67 %. Raises `ValueError` when the claim
    compares nothing.
    """
    relation, published = claim.published.relation, claim.published.value
    tolerance, wide = claim.tolerance or TOLERANCE, claim.tolerance or WIDE_TOLERANCE
    if claim.kind in ("value", "ratio") and isinstance(published, float):
        ratio, high = published if claim.kind == "ratio" else 1.0, claim.published.high or math.inf
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
    band: Band,
    estimate: Estimate,
    strict: Estimate | None = None,
    selected: Estimate | None = None,
    *,
    value: bool = False,
) -> tuple[Verdict, str]:
    """Verdict and reason for one ratio, whose interval needs three samples on each side.

    A directed claim is contradicted where the interval is below 1, or within 10 % of 1 and outside a band that begins
    beyond. An equality is reproduced by an interval within its band, contradicted by one apart from it. A value
    (against the published one) has no direction: beyond a factor of 2 it is contradicted.

    ``strict`` has the interval that contradicts, ``selected`` the one that shows a direction or that two are alike,
    where there are several comparisons or worker counts; by default `estimate`.
    """
    against, shows = strict or estimate, selected or estimate
    if not estimate.has_interval:
        return "insufficient n", f"n = {estimate.n}: an interval needs 3 samples on each side"
    if value:
        if against.high < 1 / MAGNITUDE or against.low > MAGNITUDE:
            return "contradicted", "the value is off by more than a factor of 2"
        return _decide_size(band, estimate)
    if not band.directed:
        return _decide_equality(band, estimate, against, shows)
    little = "; the ratio is less than 10 % away from 1" if _ALIKE.holds(estimate.centre) else ""
    if against.high < 1:
        return "contradicted", f"the interval lies on the other side of 1{little}"
    if band.low > TOLERANCE and _ALIKE.contains(against) and band.apart(against):
        return "contradicted", "there is no difference of more than 10 %"
    if estimate.high < 1:
        return "insufficient n", f"the interval lies on the other side of 1, {_NOT_STRICT}"
    if estimate.low <= 1:
        size = "the published size is excluded, but " if band.apart(estimate) else ""
        return "insufficient n", f"{size}the interval does not lie above 1: these samples do not show the direction"
    if shows.low <= 1:
        return "insufficient n", f"the interval lies above 1, {_NOT_STRICT}"
    verdict, why = _decide_size(band, estimate)
    return verdict, why if verdict == "insufficient n" else f"{why}{little}"


_ALIKE = Band(1 / TOLERANCE, TOLERANCE, directed=False)


def _decide_size(band: Band, estimate: Estimate) -> tuple[Verdict, str]:
    if band.apart(estimate):
        smaller = "smaller" if estimate.high < band.low else "larger"
        return "same direction, different size", f"the size is {smaller} than the published one"
    if band.contains(estimate):
        return "reproduced", "the whole interval lies within what is claimed"
    if not band.holds(estimate.centre):
        return (
            "insufficient n",
            "the size is inconclusive: it lies outside what is claimed, but its interval reaches in",
        )
    if math.sqrt(estimate.high / estimate.low) > RESOLUTION:
        return "insufficient n", "the interval is too wide to tell the size"
    if math.isnan(band.anchor):
        return "reproduced", "the size is what its words say"
    return "reproduced", "the size is the published one, within the tolerance"


def _decide_equality(band: Band, estimate: Estimate, against: Estimate, shows: Estimate) -> tuple[Verdict, str]:
    if band.contains(shows):
        return "reproduced", "the whole interval lies within the margin"
    if band.apart(against):
        return "contradicted", "the whole interval lies outside the margin"
    within, outside = band.contains(estimate), band.apart(estimate)
    if within or outside:
        return "insufficient n", f"the interval lies {'within' if within else 'outside'} the margin, {_NOT_STRICT}"
    return "insufficient n", "the interval is wider than the margin, or reaches over its edge"
