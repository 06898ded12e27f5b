"""Page, dentry and inode caches of a host: written out, dropped, and seen to have been dropped.

The kernel counts each drop in /proc/vmstat (drop_pagecache and drop_slab), so a drop that did not happen cannot pass
for one: a redirection that no shell performed has fooled other tools for years.
"""

from __future__ import annotations

from glusterlab.errors import HostError
from glusterlab.evidence import DropCaches
from glusterlab.hosts import script

DROP = script.part("drop", "gl_drop_caches")
"""The line of a script that drops the caches and reports what the kernel counted."""


def read_drop(report: script.Part, host: str) -> DropCaches:
    """What the kernel counted around a drop.

    Raises
    ------
    HostError
        When the report is no such count.

    Examples
    --------
    >>> read_drop(script.Part(0, b"drop 4 6"), "gl-s01")
    DropCaches(before=4, after=6)
    """
    words = report.text.split()
    if len(words) != 3 or words[0] != "drop" or not (words[1] + words[2]).isdecimal():
        raise HostError(f"expected 'drop BEFORE AFTER' from /proc/vmstat, found {report.text[:80]!r}", host=host)
    return DropCaches(before=int(words[1]), after=int(words[2]))
