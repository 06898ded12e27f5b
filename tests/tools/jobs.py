"""Contract data of the tools, and cells and jobs of those that are run against a volume."""

import json
from pathlib import Path
from typing import Any

from glusterlab.spec.cell import Cell, Layout
from glusterlab.spec.cluster import REAL_HARDWARE, Host
from glusterlab.tools.base import Job

CONTRACT = Path(__file__).parents[1] / "data" / "contract"


def contract(tool: str) -> dict[str, Any]:
    """Cell and workload files of a tool's ``valid`` and ``failed`` run."""
    path = CONTRACT / f"{tool}.json"
    assert path.is_file(), f"expected {path} with a valid and a failed run of {tool}: see tests/data/README.md"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def make_cell(tool: str, operation: str, **changed: Any) -> Cell:
    """A cell of a tool, by default that of its valid run."""
    base = contract(tool)["valid"]["cell"]
    layout = Layout(name="m", type="replicate", subvolumes=3, replica=2, backing="raid6")
    own = {"layout": layout, "access": "native", "tool": tool, "model": REAL_HARDWARE}
    facts = {"nominal_file_size_bytes": base["file_size_bytes"], **own, **base, "operation": operation}
    return Cell(**(facts | changed))


def make_job(cell: Cell, clients: int = 3, **changed: Any) -> Job:
    hosts = tuple(Host(name=f"client{n:02d}") for n in range(1, clients + 1))
    places = {"mount_point": "/mnt/gl/vol", "dataset_dir": "/mnt/gl/vol/d", "work_dir": "/var/tmp/gl"}
    return Job(cell=cell, clients=hosts, driver=hosts[0], deadline_s=600, **(places | changed))
