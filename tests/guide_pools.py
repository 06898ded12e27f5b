"""Synthetic samples of the guide's six layouts, with numbers that are known, of no pool that was measured."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from glusterlab.analysis import select
from glusterlab.analysis.saturation.studies import studies_of
from glusterlab.analysis.select import layout_label
from glusterlab.spec import published
from glusterlab.spec.studies import load_study
from tests.conftest import GIB, build_samples

LAYOUTS = {
    "replicate": ("replicate-3x2-raid6", "replicate", "3x2", "raid6", "raid6", "standard", 72),
    "replicate-dense": ("replicate-6x2-raid6-dense", "replicate", "6x2", "raid6-dense", "raid6", "dense", 144),
    "disperse": ("disperse-12x6-jbod", "disperse", "12x(4+2)", "jbod", "jbod", "standard", 72),
    "disperse-dense": ("disperse-24x6-jbod-dense", "disperse", "24x(4+2)", "jbod-dense", "jbod", "dense", 144),
    "disperse-raid6": ("disperse-1x6-raid6", "disperse", "1x(4+2)", "raid6", "raid6", "standard", 72),
    "disperse-raid6-dense": ("disperse-2x6-raid6-dense", "disperse", "2x(4+2)", "raid6-dense", "raid6", "dense", 144),
}
SERIES = {name: layout_label(type_, geometry, kind) for name, (_, type_, geometry, _, kind, *_) in LAYOUTS.items()}
GUIDE = Path(__file__).parents[1] / "raw" / "published" / "supermicro-2017"
RUNBOOK = Path(__file__).parents[1] / "runbooks" / "supermicro-2017"
STUDY = load_study(GUIDE)
STUDIES = studies_of(STUDY)
SERVERS = tuple(STUDY.servers)
SPREAD = (0.98, 1.0, 1.02)
COLUMNS = ("layout", "type", "geometry", "backing", "kind", "server_model", "disks")

LARGE = {
    "write": {
        "replicate": 44e6,
        "replicate-dense": 27.5e6,
        "disperse": 83.68e6,
        "disperse-dense": 46e6,
        "disperse-raid6": 60e6,
        "disperse-raid6-dense": 35e6,
    },
    "read": {
        "replicate": 100e6,
        "replicate-dense": 82e6,
        "disperse": 108e6,
        "disperse-dense": 64.7e6,
        "disperse-raid6": 90e6,
        "disperse-raid6-dense": 55e6,
    },
}
"""MB/s per disk at full size, 4 GB files: where the guide states a number or an advantage, near it."""

NUMBERS = pd.DataFrame(columns=published.COLUMNS)
"""Published numbers of no study: the columns alone."""


def pools(
    per_disk: Mapping[str, Mapping[str, float]] = LARGE,
    *,
    tool: str = "iozone",
    nominal: int = 4 * GIB,
    scale: int = 200,
    workers: int = 48,
    spread: Sequence[float] = SPREAD,
) -> pd.DataFrame:
    """Samples of some of `LAYOUTS` on six servers, from full-size values per disk by operation and layout."""
    frames = []
    for operation, values in per_disk.items():
        for name, value in values.items():
            shape = dict(zip(COLUMNS, LAYOUTS[name], strict=True))
            total = value * int(str(shape["disks"])) / scale
            frames.append(
                build_samples(
                    {("replicate", operation, workers): [total * part for part in spread]},
                    tool=tool,
                    nominal=nominal,
                    scale=scale,
                    servers=6,
                    clients=12,
                    cell_id=f"{tool}-{operation}-{nominal}-{name}-w{workers}",
                    **shape,
                )
            )
    return pd.concat(frames, ignore_index=True)


def chosen(samples: pd.DataFrame, tool: str = "iozone") -> pd.DataFrame:
    """The samples with their series."""
    return select(samples, tool=tool)
