"""The tools that can be run against a volume: one module each, that builds the command and reads the output."""

from __future__ import annotations

from glusterlab.workloads.base import HostCommand, Job, WorkerResult, Workload, WorkloadResult
from glusterlab.workloads.iozone import Iozone
from glusterlab.workloads.smallfile import Smallfile

__all__ = ["WORKLOADS", "HostCommand", "Job", "WorkerResult", "Workload", "WorkloadResult"]

WORKLOADS: dict[str, Workload] = {"iozone": Iozone(), "smallfile": Smallfile()}
"""Every tool by the name that a campaign file uses."""
