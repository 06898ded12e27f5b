"""Analysis of measured tables: pure functions from DataFrame to DataFrame, which read no file and draw nothing."""

from __future__ import annotations

from glusterlab.analysis.describe import file_sizes_table, written_sizes
from glusterlab.analysis.efficiency import (
    all_sizes,
    best_workers,
    compare_rows,
    efficiency,
    per_disk,
    saturation_points,
    with_published,
    with_published_totals,
)
from glusterlab.analysis.limits import limit_curves, pool_limits, volume_bounds, with_limits
from glusterlab.analysis.ratios import (
    family,
    layout_advantage,
    on_servers,
    read_write_gap,
    server_advantage,
    stated_ratios,
)
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.analysis.saturation.usage import telemetry_by_sample
from glusterlab.analysis.select import (
    guide_layouts,
    nearest_size,
    select,
    select_nearest,
    size_note,
    summarise,
    valid_samples,
)

__all__ = [
    "Limits",
    "all_sizes",
    "best_workers",
    "compare_rows",
    "efficiency",
    "family",
    "file_sizes_table",
    "guide_layouts",
    "layout_advantage",
    "limit_curves",
    "nearest_size",
    "on_servers",
    "per_disk",
    "pool_limits",
    "read_write_gap",
    "saturation_points",
    "select",
    "select_nearest",
    "server_advantage",
    "size_note",
    "stated_ratios",
    "summarise",
    "telemetry_by_sample",
    "valid_samples",
    "volume_bounds",
    "with_limits",
    "with_published",
    "with_published_totals",
    "written_sizes",
]
