"""Analysis of measured tables: pure functions from DataFrame to DataFrame; notebooks take the names here."""

from glusterlab.analysis.describe import file_sizes_table as file_sizes_table
from glusterlab.analysis.describe import written_sizes as written_sizes
from glusterlab.analysis.efficiency import all_sizes as all_sizes
from glusterlab.analysis.efficiency import efficiency as efficiency
from glusterlab.analysis.efficiency import saturation_points as saturation_points
from glusterlab.analysis.efficiency import with_published_totals as with_published_totals
from glusterlab.analysis.limits import limit_curves as limit_curves
from glusterlab.analysis.limits import pool_limits as pool_limits
from glusterlab.analysis.limits import with_limits as with_limits
from glusterlab.analysis.ratios import family as family
from glusterlab.analysis.ratios import layout_advantage as layout_advantage
from glusterlab.analysis.ratios import on_servers as on_servers
from glusterlab.analysis.ratios import read_write_gap as read_write_gap
from glusterlab.analysis.ratios import server_advantage as server_advantage
from glusterlab.analysis.ratios import stated_ratios as stated_ratios
from glusterlab.analysis.select import select as select
from glusterlab.analysis.select import summarise as summarise
from glusterlab.analysis.select import valid_samples as valid_samples
