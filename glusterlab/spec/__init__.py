"""What to run, and on what: validated models of ``cluster.yaml`` and ``campaign.yaml``, and the matrix of cells."""

from glusterlab.spec.campaign import Campaign, Repeats
from glusterlab.spec.cell import Cell, Layout
from glusterlab.spec.cluster import Cluster, ScaleModel
from glusterlab.spec.yaml import dump_yaml, load_campaign, load_cluster, load_yaml

__all__ = [
    "Campaign",
    "Cell",
    "Cluster",
    "Layout",
    "Repeats",
    "ScaleModel",
    "dump_yaml",
    "load_campaign",
    "load_cluster",
    "load_yaml",
]
