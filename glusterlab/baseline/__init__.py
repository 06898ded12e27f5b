"""A baseline: what disks, arrays and links can do without GlusterFS, measured as appendix A of the guide did.

It is a campaign like any other, with ``origin: baseline``: its samples lie in the raw store, are judged, resumed and
verified. `plan` says what is measured, `sample` measures it, `results` reads it, `limits` serves figures with it.
"""

from __future__ import annotations

from glusterlab.baseline.limits import Baseline, find_baseline
from glusterlab.baseline.plan import baseline_campaign, baseline_name
from glusterlab.baseline.results import Rates, read_results

__all__ = ["Baseline", "Rates", "baseline_campaign", "baseline_name", "find_baseline", "read_results"]
