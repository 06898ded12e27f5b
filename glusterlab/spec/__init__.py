"""What to run, and on what: validated models of ``cluster.yaml`` and ``campaign.yaml``, and the matrix of cells."""

from __future__ import annotations

from glusterlab.spec.campaign import (
    Campaign,
    Exclusion,
    LayoutSpec,
    Repeats,
    Where,
    WorkloadSpec,
    expand,
    expand_layouts,
)
from glusterlab.spec.cell import Cell, Layout, parse_geometry
from glusterlab.spec.cluster import Backing, Cluster, Hardware, Host, ScaleModel, Ssh
from glusterlab.spec.yaml import dump_yaml, load_campaign, load_cluster, load_yaml, validate

__all__ = [
    "Backing",
    "Campaign",
    "Cell",
    "Cluster",
    "Exclusion",
    "Hardware",
    "Host",
    "Layout",
    "LayoutSpec",
    "Repeats",
    "ScaleModel",
    "Ssh",
    "Where",
    "WorkloadSpec",
    "dump_yaml",
    "expand",
    "expand_layouts",
    "load_campaign",
    "load_cluster",
    "load_yaml",
    "parse_geometry",
    "validate",
]
