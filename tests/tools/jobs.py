"""Cells and jobs of tools that are run against a volume."""

from __future__ import annotations

from typing import Any

from glusterlab.spec.cell import Cell, Layout
from glusterlab.spec.cluster import Host, ScaleModel
from glusterlab.tools.base import Job

BASE: dict[str, dict[str, Any]] = {
    "iozone": {
        "file_size_bytes": 2 << 20,
        "nominal_file_size_bytes": 400 << 20,
        "record_size_bytes": 512 << 10,
        "workers": 6,
        "model": ScaleModel(name="large-file", scale=200),
    },
    "smallfile": {
        "file_size_bytes": 32 << 10,
        "nominal_file_size_bytes": 32 << 10,
        "files_per_worker": 200,
        "workers": 2,
        "model": ScaleModel(name="small-file", scale=20, operations=True),
    },
}


def make_cell(tool: str, operation: str, **changed: Any) -> Cell:
    layout = Layout(name="m", type="replicate", subvolumes=3, replica=2, backing="raid6")
    return Cell(**{"layout": layout, "access": "native", "tool": tool, "operation": operation, **BASE[tool], **changed})


def make_job(cell: Cell, clients: int = 3, **changed: Any) -> Job:
    hosts = tuple(Host(name=f"client{n:02d}") for n in range(1, clients + 1))
    places = {"mount_point": "/mnt/gl/vol", "dataset_dir": "/mnt/gl/vol/d", "work_dir": "/var/tmp/gl"}
    return Job(cell=cell, clients=hosts, driver=hosts[0], deadline_s=600, **(places | changed))
