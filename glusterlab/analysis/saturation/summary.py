"""Verdicts and use by cell, and use over the time of one sample: what figures and tables show."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation.resources import IDLE, Capacity, levels, over, tracks
from glusterlab.analysis.saturation.thresholds import USUAL, Thresholds
from glusterlab.analysis.saturation.timeline import evened, timelines
from glusterlab.analysis.saturation.verdict import THEN
from glusterlab.analysis.select import IDENTITY, POINT, by_operation
from glusterlab.stats import SHARE, mean_interval

BINDING = [
    *("quantity", "n", "state", "binding", "binds", "agree", "mean", "low", "high"),
    *("where", "hosts", "reason", "not_judged", "typical"),
]
"""Columns of `binding_by_cell` beside those that describe the cell: the verdict of most of its ``n`` samples, how
many ``agree``, and over these the ``mean`` share of the measured part with its 95 % interval; ``binds`` is the verdict
in a few words. The texts are those of the sample in the middle, whose number is ``typical``."""

_QUANTITY = "share of the measured part"
NO_MAJORITY = "no majority"  # state and words of a cell of which no verdict has more than half of the repeats

RESOURCE = ["family", "subsystem", "role", "host", "device"]  # columns that say which resource a row is of

OVER_TIME = [
    *("cell_id", "sample", "subsystem", "host", "device", "time_s", "seconds", "used", "evened", "full", "inside"),
    "threshold",
]
"""Columns of `use_over_time`: ``time_s`` is the epoch at the end of a step, ``seconds`` that since the start of the
command; ``used`` and ``threshold`` are shares of what the resource can do, ``evened`` is ``used`` over as long as the
resource is judged; ``inside``: the step lies in the measured part."""

OF_SUBSYSTEM = ["cell_id", "sample", "subsystem", "resources", "seconds", "mean", "fullest", "inside", "threshold"]
"""Columns of `subsystems_over_time`: how many ``resources`` carried anything (over 2 % of the fullest one's mean), and
over them the ``mean`` and the ``fullest`` of what `use_over_time` calls ``evened``; the least ``threshold``."""


def binding_by_cell(verdicts: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """The verdict of most of a cell's samples, whatever the order of subsystems: `POINT`, `IDENTITY`, `BINDING`."""
    judged = samples.assign(cell_id=samples["cell_id"].astype(str)).merge(verdicts, on=["cell_id", "sample"])
    described = list(dict.fromkeys(POINT + IDENTITY))
    records = [rows.iloc[0][described].to_dict() | _together(rows) for _, rows in judged.groupby("cell_id", sort=True)]
    table = pd.DataFrame.from_records(records, columns=[*described, *BINDING])
    return by_operation(table, "nominal_file_size_bytes", "series", "workers")


def _together(rows: pd.DataFrame) -> dict[str, object]:
    pairs = list(zip(rows["state"].astype(str), rows["binding"].astype(str), strict=True))
    votes = [(state, frozenset(binding.split(THEN))) for state, binding in pairs]
    most = max(votes, key=votes.count)
    agree = votes.count(most)
    counts: dict[str, object] = {"quantity": _QUANTITY, "n": len(rows), "agree": agree}
    if 2 * agree <= len(votes):
        words = Counter(short_verdict(*pair) for pair in pairs)
        return counts | {
            **dict.fromkeys(("state", "binding", "binds"), NO_MAJORITY),
            **dict.fromkeys(("mean", "low", "high"), math.nan),
            **dict.fromkeys(("where", "hosts"), ""),
            "reason": "; ".join(f"{number} of {len(rows)}: {word}" for word, number in sorted(words.items())),
            "not_judged": "; ".join(dict.fromkeys(filter(None, "; ".join(rows["not_judged"]).split("; ")))),
        }
    same = rows[[vote == most for vote in votes]]
    share = mean_interval(same["share"].astype(float), within=SHARE)
    middle = same.sort_values(["share", "sample"], kind="stable").iloc[(len(same) - 1) // 2]
    orders = Counter(pair for pair, vote in zip(pairs, votes, strict=True) if vote == most)
    state, binding = max(sorted(orders), key=lambda pair: orders[pair])
    return counts | {
        "state": state,
        "binding": binding,
        "binds": short_verdict(state, binding),
        "mean": share.centre,
        "low": share.low,
        "high": share.high,
        **middle[["where", "hosts", "reason", "not_judged"]],
        "typical": int(middle["sample"]),
    }


def short_verdict(state: str, binding: str) -> str:
    """A verdict in a few words, for a cell of a table.

    >>> short_verdict("binds", "network, then disks"), short_verdict("partly", "disks")
    ('network, then disks', 'part of the disks')
    >>> short_verdict("at times", "disks"), short_verdict("none", "none of them: look at the software")
    ('disks at times', 'none')
    """
    if state == "partly":
        return f"part of the {binding}"
    if state == "at times":
        return f"{binding} at times"
    return state if state in ("none", "unknown") else binding


def use_by_resource(use: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Means over a cell's samples for each resource but idle ones, from the table ``use`` of a judgement."""
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
    telemetry: pd.DataFrame, samples: pd.DataFrame, capacity: Mapping[str, Capacity], thresholds: Thresholds = USUAL
) -> pd.DataFrame:
    """Use of each resource over the time of samples, columns `OVER_TIME`: a row per resource and step."""
    starts = {(str(row["cell_id"]), int(row["sample"])): float(row["start_s"]) for row in samples.to_dict("records")}
    parts = []
    for cell, sample, timeline in timelines(telemetry, samples):
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
                "evened": evened(track.used, track.steps(timeline)).ravel(),
                "full": over(track, timeline, thresholds).ravel(),
                "inside": np.tile(timeline.inside, resources),
                "threshold": np.repeat(levels(track, thresholds), steps),
            }
            parts.append(pd.DataFrame(columns)[OVER_TIME])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=OVER_TIME)


def subsystems_over_time(table: pd.DataFrame) -> pd.DataFrame:
    """Use of each subsystem over the time of samples, columns `OF_SUBSYSTEM`, from `use_over_time`."""
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
