"""Is a cluster fit to measure? Every host is looked at, and what is found is said with what to do about it.

What is asked of the hosts (`ask`) stands apart from what is thought of the answers (`hosts`, `disks`, `pool`):
`findings_of` is a pure function. `CODES` has every code of a finding.
"""

from __future__ import annotations

from glusterlab.hosts.check.ask import HostReport, PoolReport
from glusterlab.hosts.check.examine import check, findings_of
from glusterlab.hosts.check.finding import CODES, POOL_CODES, Code, Finding, Level

__all__ = ["CODES", "POOL_CODES", "Code", "Finding", "HostReport", "Level", "PoolReport", "check", "findings_of"]
