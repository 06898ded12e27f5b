"""Figures: functions that draw a tidy table on Axes, or on the panels of a `Frame`; one module per family."""

from glusterlab.plots.by_file_size import draw_by_file_size
from glusterlab.plots.by_workers import draw_workers_and_limits
from glusterlab.plots.per_disk import draw_per_disk
from glusterlab.plots.ratios import draw_gap, draw_server_advantage
from glusterlab.plots.small import draw_capacity, draw_file_sizes, draw_shares

__all__ = [
    "draw_by_file_size",
    "draw_capacity",
    "draw_file_sizes",
    "draw_gap",
    "draw_per_disk",
    "draw_server_advantage",
    "draw_shares",
    "draw_workers_and_limits",
]
