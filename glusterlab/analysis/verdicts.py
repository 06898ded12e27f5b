"""The rule behind each verdict of the scorecard: what a claim allows, and what a measured interval makes of it.

A claim is turned into a **band**: the ratios that it allows. The campaign gives a **ratio with its 95 % interval**
(`glusterlab.analysis.claims_cells`): of two groups of cells, or of a measured value to the published one. Values are
per disk, times the scale.

**Cells.** Of several worker counts each side stands at its best, the one with the highest mean among those with three
samples or more. Where the sides differ in file size, operation or tool, only worker counts that all of them have come
into question: a size that was measured with few workers only would else look slow. Where two sides were measured at a
common scale, or within one campaign of several, only these cells count. Files may be shorter or longer than the scale
asks: sides whose lengths differ by more than a factor of 2 are not compared.

**Bands.** R is the published ratio, T = 1.10 the tolerance for "the same number" unless the claim has its own:

======================== =============================== ======================================================
relation                 band                            words of the study
======================== =============================== ======================================================
equals, up to            R / T to R x T                  "67 % advantage", "up to 89 %"
about                    R / 1.25 to R x 1.25            "approaching 25 %"
nearly                   R / T to R                      "nearly 95 %"
over                     R and more                      "over 310 %"
between                  the two numbers                 "30-50 %"
more                     above 1                         "better", "an advantage"
slightly more            above 1, to 1.15                "slight": the guide calls 30 % modest
notably more             1.15 and more                   "significant": its word for 18 %
far more                 1.5 and more                    "by far", "dramatically": its words for 67 % and more
no less, no more         1 / 1.10 and more; to 1.10      "or on par"; "lost its advantage"
same                     1 / 1.10 to 1.10                "the same", "statistically even"
similar                  1 / 1.25 to 1.25                "similar", "roughly on par", "closely matched"
======================== =============================== ======================================================

A published value has the band of its relation around 1, for measured / published.

**Verdicts of one ratio**, with the 95 % interval from l to h around c:

- n below 3 on any side: *insufficient n*. No amount of scatter changes that.
- A claim with a direction (a ratio, or one of the words with "more"), in this order:

  1. *contradicted* if h < 1, or if the band begins beyond 1.10 and the interval lies wholly within 1 / 1.10 to 1.10 and
     outside the band: then there is no difference worth a word;
  2. *insufficient n* if l <= 1: the direction is not shown, even where the size is excluded;
  3. *same direction, different size* if the interval and the band have no point in common;
  4. *reproduced* if the whole interval lies in the band; or if c lies in the band, and the interval is no wider than a
     factor of 1.25 to either side;
  5. *insufficient n* else: these samples do not tell the size.

  A plain order is a matter of direction alone, however small the difference; the reason says where it is below 10 %.

- A claim of equality, "no less" or "no more": *reproduced* if the whole interval lies in the band, *contradicted* if it
  lies wholly outside, else *insufficient n*. So "not significant" is never "equal": equality has to be shown within a
  margin (as by two one-sided tests: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657; a 95 % interval is stricter
  than the 90 % one that these need).
- An absolute value has no direction. In its place stands the order of magnitude: *contradicted* if the interval lies
  wholly beyond a factor of 2, then steps 3 to 5. A value whose curve still rises at the most workers is a lower bound:
  where it is smaller than the published one the claim is *not measured*.

The best of several noisy means is a little too high. So steps 1 and 2, and a claim of equality, ask at a higher level
than 95 %: 1 - 0.05 / m, where m worker counts may be the best ones of a side by their samples (Bonferroni). With one
contender on each side this is 95 %.

**Several comparisons.** k is their number. "All": *reproduced* if each one is, at 1 - 0.05 / m each (an
intersection-union test: Berger, Technometrics 24 (1982) 295); *contradicted* if one is at 1 - 0.05 / (k x m), so that
many comparisons do not make a contradiction by chance. "Most": more than half of the cases, each of which may have
several comparisons that all have to hold. "Up to", "for some": the largest ratio; its interval goes from the largest
lower end to the largest upper end, at 1 - 0.05 / k, and its direction is asked at 1 - 0.05 / (k x m). A comparison
whose cells are missing leaves the claim *not measured*, unless the others have decided it: the largest ratio can only
be larger, which decides a claim whose band has no upper end.

**How far apart, whichever leads.** Two ratios of which the study says that one is the larger difference are each taken
the way round in which they are 1 or more, by their centre.

**Arithmetic** of the study's own numbers has no interval: *reproduced* if the formula gives the published number as it
is rounded there, or within the claim's own tolerance, else *contradicted*.

**Not measured** says why: a condition is not met, there are no such cells, or none of their samples is valid.

A verdict is about one campaign. *Contradicted* can mean that the hardware, the release or the scale model differs in
what matters. With a true claim it comes up in less than 5 % of campaigns, and so does a shown direction where there is
none (tests simulate both), if the repeats of a cell scatter as those of a log-normal distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from glusterlab.analysis.intervals import Estimate
from glusterlab.spec.claims import Claim

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
    """The ratios that a claim allows.

    Attributes
    ----------
    low, high : float
        Both belong to it; `high` may be infinite.
    directed : bool
        Whether the claim says on which side of 1 the ratio lies: above it.
    anchor : float
        The published ratio; NaN where only an order is stated.
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
    """The ratios that a claim allows, as the module's table says; of a value, of measured / published.

    Raises
    ------
    ValueError
        When the claim compares nothing.
    """
    relation, given = claim.published.relation, claim.tolerance
    if claim.kind == "value":
        tolerance = given or (WIDE_TOLERANCE if relation == "about" else TOLERANCE)
        return Band(1 / tolerance, tolerance, directed=False, anchor=1.0)
    tolerance = given or TOLERANCE
    wide = given or WIDE_TOLERANCE
    if claim.kind == "ratio" and isinstance(claim.published.value, float):
        ratio, high = claim.published.value, claim.published.high or math.inf
        bounds = {
            "equals": (ratio / tolerance, ratio * tolerance),
            "up to": (ratio / tolerance, ratio * tolerance),
            "about": (ratio / wide, ratio * wide),
            "nearly": (ratio / tolerance, ratio),
            "over": (ratio, math.inf),
            "between": (ratio, high),
        }
        anchor = math.sqrt(ratio * high) if relation == "between" else ratio
        return Band(*bounds[relation], directed=True, anchor=anchor)
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
    """Verdict and reason for one ratio.

    Parameters
    ----------
    band : Band
    estimate : Estimate
        With its 95 % interval.
    strict : Estimate, optional
        With the interval that contradicts, where there are several comparisons or worker counts; by default `estimate`.
    selected : Estimate, optional
        With the interval that shows a direction or that two are alike, where there are several worker counts; by
        default `estimate`.
    value : bool
        Whether the ratio is that of an absolute value to the published one.

    Examples
    --------
    >>> decide(Band(1.5, 1.84, True, 1.67), Estimate(1.62, 1.55, 1.7, 5, ""))
    ('reproduced', 'the whole interval lies within what is claimed')
    >>> decide(Band(1.0, math.inf, True), Estimate(1.1, 0.8, 1.5, 3, ""))[0]
    'insufficient n'
    """
    against, shows = strict or estimate, selected or estimate
    if not estimate.has_interval:
        return "insufficient n", f"n = {estimate.n}: an interval needs 3 samples on each side"
    if value:
        return _decide_value(band, estimate, against)
    if not band.directed:
        return _decide_equality(band, estimate, against, shows)
    return _decide_direction(band, estimate, against, shows)


_ALIKE = Band(1 / TOLERANCE, TOLERANCE, directed=False)


def _decide_direction(band: Band, estimate: Estimate, against: Estimate, shows: Estimate) -> tuple[Verdict, str]:
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


def _decide_size(band: Band, estimate: Estimate) -> tuple[Verdict, str]:
    if band.apart(estimate):
        smaller = "smaller" if estimate.high < band.low else "larger"
        return "same direction, different size", f"the size is {smaller} than the published one"
    if band.contains(estimate):
        return "reproduced", "the whole interval lies within what is claimed"
    if not band.holds(estimate.centre):
        return "insufficient n", "the size is not told: it lies outside what is claimed, but its interval reaches in"
    if math.sqrt(estimate.high / estimate.low) > RESOLUTION:
        return "insufficient n", "the interval is too wide to tell the size"
    if math.isnan(band.anchor):
        return "reproduced", "the size is what its words say"
    return "reproduced", "the size is the published one, within the tolerance"


def _decide_value(band: Band, estimate: Estimate, against: Estimate) -> tuple[Verdict, str]:
    if against.high < 1 / MAGNITUDE or against.low > MAGNITUDE:
        return "contradicted", "the value is off by more than a factor of 2"
    return _decide_size(band, estimate)


def _decide_equality(band: Band, estimate: Estimate, against: Estimate, shows: Estimate) -> tuple[Verdict, str]:
    if band.contains(shows):
        return "reproduced", "the whole interval lies within the margin"
    if band.apart(against):
        return "contradicted", "the whole interval lies outside the margin"
    if band.contains(estimate):
        return "insufficient n", f"the interval lies within the margin, {_NOT_STRICT}"
    if band.apart(estimate):
        return "insufficient n", f"the interval lies outside the margin, {_NOT_STRICT}"
    return "insufficient n", "the interval is wider than the margin, or reaches over its edge"
