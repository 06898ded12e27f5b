"""Analysis of measured tables: pure functions from DataFrame to DataFrame, which read no file and draw nothing.

The names here are those that notebooks take.
"""

from glusterlab.analysis.describe import file_sizes_table, written_sizes
from glusterlab.analysis.efficiency import all_sizes, efficiency, saturation_points, with_published_totals
from glusterlab.analysis.limits import limit_curves, pool_limits, with_limits
from glusterlab.analysis.ratios import (
    family,
    layout_advantage,
    on_servers,
    read_write_gap,
    server_advantage,
    stated_ratios,
)
from glusterlab.analysis.select import select, summarise, valid_samples

__all__ = [
    "all_sizes",
    "efficiency",
    "family",
    "file_sizes_table",
    "layout_advantage",
    "limit_curves",
    "on_servers",
    "pool_limits",
    "read_write_gap",
    "saturation_points",
    "select",
    "server_advantage",
    "stated_ratios",
    "summarise",
    "valid_samples",
    "with_limits",
    "with_published_totals",
    "written_sizes",
]
