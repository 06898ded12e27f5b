"""Figures: functions that draw a tidy table on Axes, or on the panels of a `Frame`; one module per family."""

from glusterlab.plots.by_file_size import draw_by_file_size as draw_by_file_size
from glusterlab.plots.by_workers import draw_workers_and_limits as draw_workers_and_limits
from glusterlab.plots.per_disk import draw_per_disk as draw_per_disk
from glusterlab.plots.ratios import draw_gap as draw_gap
from glusterlab.plots.ratios import draw_server_advantage as draw_server_advantage
from glusterlab.plots.small import draw_capacity as draw_capacity
from glusterlab.plots.small import draw_file_sizes as draw_file_sizes
from glusterlab.plots.small import draw_shares as draw_shares
