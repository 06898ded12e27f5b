"""What a campaign's raw files say of its hosts beside the cluster file, for the judgement of subsystems.

CPUs of each host and which counters its hosts share are in environment.json. Operations per second that a scale model
leaves each disk are in the throttle.json of a sample: they are assumed by the model, and no baseline measures them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.rawfiles import read_json

if TYPE_CHECKING:
    import pandas as pd

_DEVICE = {"raid6": "array", "raid0": "array", "raid10": "array"}
"""Which limit of a scale model the bricks of a kind of backing have; that of one disk where no other is named."""


@dataclass(frozen=True, slots=True)
class Operations:
    """What one brick can do, operations per second."""

    read: float
    write: float


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """Facts of the hosts of a campaign.

    Attributes
    ----------
    cpus : mapping of str to int
        By host; none of a host whose facts are not recorded. On a testbed those of its machine.
    memory : mapping of str to float
        Bytes by host, as above.
    shared : frozenset of str
        Counters that all hosts of a testbed share, as environment.json names them.
    operations : mapping of str to Operations
        By ``cell_id``: of one brick, where a scale model limits its operations.
    """

    cpus: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    operations: Mapping[str, Operations] = field(default_factory=dict)


def pool_facts(raw: Path, samples: pd.DataFrame) -> PoolFacts:
    """Read the facts of a campaign; what it does not say is absent.

    Parameters
    ----------
    raw : pathlib.Path
        The campaign's folder.
    samples : pandas.DataFrame
        Rows of the samples table; the operations of their cells are looked up.

    Raises
    ------
    RawStoreError
        When environment.json is there and damaged.
    """
    path = raw / "environment.json"
    environment = read_json(path) if path.is_file() else {}
    shared = environment.get("shared_counters")
    return PoolFacts(
        {host: int(count) for host, count in _numbers(environment.get("hosts"), "cpus").items()},
        _numbers(environment.get("hosts"), "memory_bytes"),
        frozenset(str(name) for name in shared) if isinstance(shared, list) else frozenset(),
        _operations(raw, samples),
    )


def _numbers(hosts: object, name: str) -> dict[str, float]:
    """A fact by host, of the hosts that have it as a number above 0.

    Examples
    --------
    >>> _numbers({"s1": {"cpus": 2}, "s2": {"cpus": "two"}, "s3": None, "s4": {"cpus": 0}}, "cpus")
    {'s1': 2}
    """
    facts = hosts if isinstance(hosts, dict) else {}
    found = {str(host): of.get(name) for host, of in facts.items() if isinstance(of, dict)}
    return {
        host: value
        for host, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    }


def _operations(raw: Path, samples: pd.DataFrame) -> dict[str, Operations]:
    found: dict[str, Operations] = {}
    limited = samples[samples["operations_limited"].astype(bool)]
    for row in limited.to_dict("records"):
        cell = str(row["cell_id"])
        if cell in found:
            continue
        file = raw / "cells" / cell / f"sample-{int(row['sample']):02d}" / "workload" / "throttle.json"
        limits = _limits(file, _DEVICE.get(str(row["kind"]), "disk"))
        if limits is not None:
            found[cell] = limits
    return found


def _limits(file: Path, device: str) -> Operations | None:
    """Operations of one kind of device; None where the file does not have them: a judgement then goes without."""
    try:
        rates = json.loads(file.read_bytes())[device]
        found = Operations(float(rates["riops"]), float(rates["wiops"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if found.read > 0 and found.write > 0 else None
