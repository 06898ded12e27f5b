"""What to run, and on what: validated models of ``cluster.yaml`` and ``campaign.yaml``, and the matrix of cells."""

from __future__ import annotations

from .campaign import Campaign, Exclusion, LayoutSpec, Repeats, Where, WorkloadSpec
from .cell import Cell, Layout, parse_geometry
from .cluster import Backing, Cluster, Hardware, Host, ScaleModel, Ssh
from .load import dump_yaml, load_campaign, load_cluster, load_yaml, validate
from .matrix import expand, expand_layouts
from .plan import Estimate, Plan, PlannedSample, build_plan, estimate, place_bricks
from .schema import json_schema

__all__ = [
    "Backing",
    "Campaign",
    "Cell",
    "Cluster",
    "Estimate",
    "Exclusion",
    "Hardware",
    "Host",
    "Layout",
    "LayoutSpec",
    "Plan",
    "PlannedSample",
    "Repeats",
    "ScaleModel",
    "Ssh",
    "Where",
    "WorkloadSpec",
    "build_plan",
    "dump_yaml",
    "estimate",
    "expand",
    "expand_layouts",
    "json_schema",
    "load_campaign",
    "load_cluster",
    "load_yaml",
    "parse_geometry",
    "place_bricks",
    "validate",
]
