"""Analysis of measured tables: pure functions from DataFrame to DataFrame, which read no file and draw nothing."""

from __future__ import annotations

from glusterlab.analysis.efficiency import (
    best_workers,
    compare_rows,
    efficiency,
    per_disk,
    saturation_points,
    with_full_size,
    with_published,
)
from glusterlab.analysis.intervals import Estimate, mean_interval, median_interval, ratio_interval
from glusterlab.analysis.limits import pool_limits, volume_bounds, with_limits
from glusterlab.analysis.saturation import Limits, saturation, telemetry_by_sample, use_of_limits
from glusterlab.analysis.series import (
    layout_label,
    nearest_size,
    select,
    select_nearest,
    summarise,
    valid_samples,
    with_series,
)

__all__ = [
    "Estimate",
    "Limits",
    "best_workers",
    "compare_rows",
    "efficiency",
    "layout_label",
    "mean_interval",
    "median_interval",
    "nearest_size",
    "per_disk",
    "pool_limits",
    "ratio_interval",
    "saturation",
    "saturation_points",
    "select",
    "select_nearest",
    "summarise",
    "telemetry_by_sample",
    "use_of_limits",
    "valid_samples",
    "volume_bounds",
    "with_full_size",
    "with_limits",
    "with_published",
    "with_series",
]
