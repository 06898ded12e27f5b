"""A real GlusterFS pool on one Linux machine: hosts in namespaces, disks on loop devices, both slowed to scale."""

from __future__ import annotations

from glusterlab.hosts.testbed.lifecycle import HostStatus, down, instructions, status, up
from glusterlab.hosts.testbed.options import TestbedOptions
from glusterlab.hosts.testbed.state import State, default_cluster_file, running

__all__ = ["HostStatus", "State", "TestbedOptions", "default_cluster_file", "down", "instructions", "running", "status", "up"]
