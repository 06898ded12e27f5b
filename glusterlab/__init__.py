"""glusterlab measures GlusterFS pools, keeps every raw byte and regenerates every figure from those bytes.

The public names, for JupyterLab and scripts; what lies behind them is loaded on first use.

>>> import glusterlab
>>> glusterlab.open_campaign("raw/first-light").samples["operation"].nunique()
3
>>> section = glusterlab.open_section("raw/first-light", figures="build/doctest")
>>> len(section.samples) == len(glusterlab.load_tables("raw/first-light").samples)
True
>>> next(glusterlab.parse_file("tests/data/iozone/cluster-write.txt")).tool
'iozone'
>>> glusterlab.mean_interval([9.0, 10.0, 11.0]).centre
10.0
>>> found = glusterlab.compare_campaigns(["raw/gluster-10-3", "raw/gluster-11-1"])
>>> len(found.table)
8
>>> issubclass(glusterlab.errors.ParseError, glusterlab.GlusterlabError)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from glusterlab import errors
from glusterlab.errors import GlusterlabError

if TYPE_CHECKING:
    from glusterlab.parse import parse as parse_file
    from glusterlab.sections.campaign import open_campaign
    from glusterlab.sections.comparison import compare_campaigns
    from glusterlab.sections.section import open_section
    from glusterlab.stats import Estimate, mean_interval, ratio_interval
    from glusterlab.tables.build import load as load_tables

__version__ = "0.1.0"

_HOMES = {
    "Estimate": ("stats", "Estimate"),
    "compare_campaigns": ("sections.comparison", "compare_campaigns"),
    "load_tables": ("tables.build", "load"),
    "mean_interval": ("stats", "mean_interval"),
    "open_campaign": ("sections.campaign", "open_campaign"),
    "open_section": ("sections.section", "open_section"),
    "parse_file": ("parse", "parse"),
    "ratio_interval": ("stats", "ratio_interval"),
}

__all__ = [
    "Estimate", "GlusterlabError", "__version__", "compare_campaigns", "errors", "load_tables", "mean_interval",
    "open_campaign", "open_section", "parse_file", "ratio_interval",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return globals().setdefault(name, getattr(importlib.import_module(f"{__name__}.{module}"), attribute))


def __dir__() -> list[str]:
    return __all__
