"""Analysis of measured tables: pure functions from DataFrame to DataFrame, which read no file and draw nothing."""

from __future__ import annotations

from glusterlab.analysis.efficiency import (
    all_sizes,
    best_workers,
    compare_rows,
    efficiency,
    per_disk,
    saturation_points,
    with_full_size,
    with_published,
    with_published_totals,
)
from glusterlab.analysis.file_sizes import file_sizes_table, written_sizes
from glusterlab.analysis.intervals import Estimate, mean_interval, median_interval, ratio_interval
from glusterlab.analysis.limits import limit_curves, pool_limits, volume_bounds, with_limits
from glusterlab.analysis.ratios import family, read_write_gap, server_advantage, standard_servers, stated_ratios
from glusterlab.analysis.saturation import Limits, saturation, telemetry_by_sample
from glusterlab.analysis.series import (
    guide_layouts,
    layout_label,
    nearest_size,
    select,
    select_nearest,
    size_note,
    summarise,
    valid_samples,
    with_series,
)

__all__ = [
    "Estimate",
    "Limits",
    "all_sizes",
    "best_workers",
    "compare_rows",
    "efficiency",
    "family",
    "file_sizes_table",
    "guide_layouts",
    "layout_label",
    "limit_curves",
    "mean_interval",
    "median_interval",
    "nearest_size",
    "per_disk",
    "pool_limits",
    "ratio_interval",
    "read_write_gap",
    "saturation",
    "saturation_points",
    "select",
    "select_nearest",
    "server_advantage",
    "size_note",
    "standard_servers",
    "stated_ratios",
    "summarise",
    "telemetry_by_sample",
    "valid_samples",
    "volume_bounds",
    "with_full_size",
    "with_limits",
    "with_published",
    "with_published_totals",
    "with_series",
    "written_sizes",
]
