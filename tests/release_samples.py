"""Samples of two releases whose difference is known, of no pool that was measured."""

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from tests.conftest import build_samples

KIB, MIB = 2**10, 2**20

SPREAD = (0.99, 1.02, 1.0, 0.985, 1.01, 1.015, 0.995, 0.98, 1.005, 1.012)
"""Ten repeats that scatter by 1.3 %, none of them tied."""


def release(
    values: Mapping[tuple[str, int, int], Iterable[float]],
    *,
    name: str = "older",
    version: str = "10.3",
    offset_s: float = 0.0,
    round_s: float = 1000.0,
    **changed: object,
) -> pd.DataFrame:
    """Samples by (operation, file size, workers): files per second of each repeat, cells in turn within a round."""
    frames = []
    for place, ((operation, size, workers), numbers) in enumerate(values.items()):
        cell = build_samples(
            {("replicate", operation, workers): numbers},
            tool="smallfile",
            nominal=size,
            scale=1.0 if size < MIB else 60.0,  # small files at full speed, where software alone takes time
            campaign=name,
            cell_id=f"smallfile-{operation}-{size}-w{workers}-0a1b2c3d",
            slug=f"smallfile-{operation}-{size // KIB}kib-w{workers}",
            tool_version="3.2",
            record_size_bytes=math.nan,
            files_per_worker=80,
            operations_limited=False,
            heads=False,
            gluster_version=version,
            operations_per_s=math.nan,
            streams_held=math.nan,
        )
        repeat = cell["sample"]
        start = offset_s + round_s * repeat + place
        frames.append(cell.assign(repeat=repeat, round=repeat, start_s=start, end_s=start + 1))
    return pd.concat(frames, ignore_index=True).assign(**changed)


BASE = {
    ("create", 32 * KIB, 12): 400.0,
    ("create", 4 * MIB, 12): 12.0,
    ("read", 32 * KIB, 12): 500.0,
    ("read", 4 * MIB, 12): 16.0,
}


def older(repeats: int = 10, **changed: object) -> pd.DataFrame:
    """The reference."""
    return release({cell: [rate * share for share in SPREAD[:repeats]] for cell, rate in BASE.items()}, **changed)


def newer(effects: Mapping[tuple[str, int], float], repeats: int = 10, **changed: object) -> pd.DataFrame:
    """The same cells times an effect, with the scatter of other repeats, in the middle of the reference's rounds."""
    values = {
        (operation, size, workers): [
            rate * effects.get((operation, size), 1.0) * share for share in SPREAD[:repeats][::-1]
        ]
        for (operation, size, workers), rate in BASE.items()
    }
    settings: dict[str, object] = {"name": "newer", "version": "11.1", "offset_s": 500.0}
    return release(values, **settings | changed)  # type: ignore[arg-type]
