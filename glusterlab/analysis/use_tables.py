"""Use of resources for figures: by resource over the repeats of a cell, and over the time of one sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from glusterlab.analysis.measured_part import measured_parts
from glusterlab.analysis.resources import Capacity, levels, over, tracks
from glusterlab.analysis.saturation import IDLE
from glusterlab.analysis.series import IDENTITY, POINT
from glusterlab.analysis.thresholds import Thresholds
from glusterlab.analysis.timeline import timelines

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESOURCE = ["family", "subsystem", "role", "host", "device"]
"""Columns that say which resource a row is of."""

OVER_TIME = [
    "cell_id",
    "sample",
    "subsystem",
    "host",
    "device",
    "time_s",
    "seconds",
    "used",
    "evened",
    "full",
    "inside",
    "threshold",
]
"""Columns of `use_over_time`."""


def use_by_resource(use: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Use of each resource of each cell: means over its samples.

    Parameters
    ----------
    use : pandas.DataFrame
        `glusterlab.analysis.subsystems.Judgement.use`.
    samples : pandas.DataFrame
        Rows of the samples table to show, with ``series``.

    Returns
    -------
    pandas.DataFrame
        `POINT`, `IDENTITY`, `RESOURCE`, ``n`` (samples), and ``mean``, ``peak``, ``over`` and ``threshold`` (shares).
        Resources that carried less than 2 % of the fullest one of their subsystem are left out.
    """
    described = list(dict.fromkeys(["sample", *POINT, *IDENTITY]))
    rows = samples.assign(cell_id=samples["cell_id"].astype(str))[described].merge(use, on=["cell_id", "sample"])
    rows = rows.astype(dict.fromkeys(RESOURCE, str))
    keys = ["cell_id", *RESOURCE]
    groups = rows.groupby(keys, sort=False)
    table = groups[["mean", "peak", "over", "threshold"]].mean().assign(n=groups["sample"].nunique()).reset_index()
    fullest = table.groupby(["cell_id", "subsystem"])["mean"].transform("max")
    table = table[table["mean"] > IDLE * fullest]
    of_cell = rows.drop_duplicates("cell_id")[[name for name in described if name != "sample"]]
    return of_cell.merge(table, on="cell_id").reset_index(drop=True)


def use_over_time(
    telemetry: pd.DataFrame,
    samples: pd.DataFrame,
    capacity: Mapping[str, Capacity],
    thresholds: Thresholds | None = None,
) -> pd.DataFrame:
    """Use of each resource over the time of samples: what a look into one of them draws.

    Parameters
    ----------
    telemetry, samples, capacity, thresholds
        As `glusterlab.analysis.subsystems.judge` takes them; best one sample, for it is a row per resource and step.

    Returns
    -------
    pandas.DataFrame
        Columns `OVER_TIME`: ``time_s`` is the epoch at the end of a step, ``seconds`` that since the start of the
        command; ``used`` and ``threshold`` are shares of what the resource can do, ``evened`` is ``used`` over as
        long as the resource is looked at (`glusterlab.analysis.resources.Track`), both NaN where it has no telemetry;
        ``full`` says that it was over the
        threshold, and ``inside`` that the step lies in the measured part.
    """
    chosen = thresholds or Thresholds()
    starts = {
        (str(cell), int(sample)): float(start)
        for cell, sample, start in samples[["cell_id", "sample", "start_s"]].itertuples(index=False, name=None)
    }
    parts = []
    for cell, sample, timeline in timelines(telemetry, samples, measured_parts(telemetry, samples)):
        steps = len(timeline.ends)
        for track in tracks(timeline, capacity.get(cell, Capacity())):
            resources = len(track.hosts)
            columns: dict[str, Any] = {
                "cell_id": cell,
                "sample": sample,
                "subsystem": track.subsystem,
                "host": np.repeat(np.array(track.hosts, dtype=object), steps),
                "device": np.repeat(np.array(track.devices, dtype=object), steps),
                "time_s": np.tile(timeline.ends, resources),
                "seconds": np.tile(timeline.ends - starts[cell, sample], resources),
                "used": track.used.ravel(),
                "evened": evened(track.used, timeline.steps(track.stretch_s) if track.stretch_s else 1).ravel(),
                "full": over(track, timeline, chosen).ravel(),
                "inside": np.tile(timeline.inside, resources),
                "threshold": np.repeat(levels(track, chosen), steps),
            }
            parts.append(pd.DataFrame(columns)[OVER_TIME])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=OVER_TIME)


OF_SUBSYSTEM = ["cell_id", "sample", "subsystem", "resources", "seconds", "mean", "fullest", "inside", "threshold"]
"""Columns of `subsystems_over_time`."""


def subsystems_over_time(table: pd.DataFrame) -> pd.DataFrame:
    """Use of each subsystem over the time of samples: the mean of its hosts or disks, and the fullest of them.

    Parameters
    ----------
    table : pandas.DataFrame
        From `use_over_time`.

    Returns
    -------
    pandas.DataFrame
        Columns `OF_SUBSYSTEM`: ``resources`` (how many carried anything: over 2 % of the fullest one's mean), and over
        them the ``mean`` and the ``fullest`` of what `use_over_time` calls ``evened``; the least ``threshold``.
    """
    sample = ["cell_id", "sample", "subsystem"]
    each = [*sample, "host", "device"]
    means = table.groupby(each, sort=False)["evened"].transform("mean")
    most = means.groupby([table[name] for name in sample], sort=False).transform("max")
    carried = table[(means > IDLE * most) | (most <= 0)]
    resources = carried.drop_duplicates(each).groupby(sample, sort=False).size().rename("resources")
    steps = carried.groupby([*sample, "seconds"], sort=False)
    found = steps.agg(
        mean=("evened", "mean"), fullest=("evened", "max"), inside=("inside", "first"), threshold=("threshold", "min")
    )
    return found.reset_index().merge(resources.reset_index(), on=sample)[OF_SUBSYSTEM]


def evened(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Means of what is known over so many steps around each; of fewer at either end. NaN where nothing is known.

    Examples
    --------
    >>> evened(np.array([[0.0, 3.0, 0.0, 3.0]]), 3).tolist()
    [[1.5, 1.0, 2.0, 1.5]]
    >>> evened(np.array([[1.0, math.nan, 3.0]]), 1).tolist()
    [[1.0, nan, 3.0]]
    """
    known = np.isfinite(values)
    kernel = np.ones(min(steps, values.shape[1]))
    sums = np.array([np.convolve(row, kernel, mode="same") for row in np.nan_to_num(values)])
    counts = np.array([np.convolve(row, kernel, mode="same") for row in known.astype(float)])
    return np.where(known, sums / np.maximum(counts, 1.0), math.nan)
