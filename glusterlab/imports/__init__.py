"""Results that others measured become a campaign: a mapping says which part of the matrix each of their files is."""

from __future__ import annotations

from glusterlab.imports.sample import judge, read_sample

__all__ = ["judge", "read_sample"]
