"""glusterlab measures GlusterFS pools, keeps every raw byte and regenerates every figure from those bytes."""

from __future__ import annotations

__version__ = "0.1.0"
