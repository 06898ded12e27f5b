"""A real GlusterFS pool on one Linux machine: hosts in namespaces, disks on loop devices, both slowed to scale."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .lifecycle import HostStatus, down, instructions, status, up
    from .options import TestbedOptions
    from .state import State, default_cluster_file, running

_HOMES = {
    "HostStatus": "lifecycle",
    "State": "state",
    "TestbedOptions": "options",
    "default_cluster_file": "state",
    "down": "lifecycle",
    "instructions": "lifecycle",
    "running": "state",
    "status": "lifecycle",
    "up": "lifecycle",
}
__all__ = [
    "HostStatus",
    "State",
    "TestbedOptions",
    "default_cluster_file",
    "down",
    "instructions",
    "running",
    "status",
    "up",
]


def __getattr__(name: str) -> Any:
    # on first use, because every command imports this package and only its own need the parts
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
