"""Figures: pure functions from a table of analysis to a matplotlib figure, one module per family."""

from __future__ import annotations

from glusterlab.plots.by_file_size import by_file_size_figure
from glusterlab.plots.by_workers_limits import workers_and_limits_figure
from glusterlab.plots.file_sizes import file_sizes_figure
from glusterlab.plots.per_disk import per_disk_figure
from glusterlab.plots.ratios import gap_figure, server_advantage_figure
from glusterlab.plots.saturation import (
    DISKS,
    NETWORK,
    cpu_panels,
    memory_panels,
    panel_rows,
    saturation_figure,
)
from glusterlab.plots.saving import SavedFigure, save
from glusterlab.plots.shares import shares_figure
from glusterlab.plots.style import Provenance, layout_style

__all__ = [
    "DISKS",
    "NETWORK",
    "Provenance",
    "SavedFigure",
    "by_file_size_figure",
    "cpu_panels",
    "file_sizes_figure",
    "gap_figure",
    "layout_style",
    "memory_panels",
    "panel_rows",
    "per_disk_figure",
    "saturation_figure",
    "save",
    "server_advantage_figure",
    "shares_figure",
    "workers_and_limits_figure",
]
