"""The tools that can be run: one module each, that builds the command and reads the output."""

from __future__ import annotations

from glusterlab.workloads.base import (
    HostCommand,
    Job,
    LocalJob,
    LocalStep,
    LocalTool,
    Tool,
    WorkerResult,
    Workload,
    WorkloadResult,
)
from glusterlab.workloads.iozone import Iozone
from glusterlab.workloads.iozone_local import IozoneLocal
from glusterlab.workloads.iperf3 import Iperf3
from glusterlab.workloads.smallfile import Smallfile

__all__ = [
    "LOCAL_TOOLS",
    "TOOLS",
    "WORKLOADS",
    "HostCommand",
    "Job",
    "LocalJob",
    "LocalStep",
    "LocalTool",
    "Tool",
    "WorkerResult",
    "Workload",
    "WorkloadResult",
]

WORKLOADS: dict[str, Workload] = {"iozone": Iozone(), "smallfile": Smallfile()}
"""Tools that are run against a volume, by the name that a campaign file uses."""

LOCAL_TOOLS: dict[str, LocalTool] = {"iozone-local": IozoneLocal(), "iperf3": Iperf3()}
"""Tools of a baseline: they measure the hosts themselves."""

TOOLS: dict[str, Tool] = {**WORKLOADS, **LOCAL_TOOLS}
"""Every tool whose samples can be read."""
