"""A rate in two views, as its tool counts it and over the whole time, with the payload on the disks as a third witness.

| view | what it is | where it errs |
|---|---|---|
| tool's own rate | sum of each worker's amount over its own time | counts time twice: too high where ends lie apart |
| over the whole time | all amounts, from first start to last end | too low where workers move more than is counted |
| payload | bytes on disks, over what the layout stores per byte | metadata and journals count, caches do not |

An IOzone writer that is told to stop is measured up to its flush, and then writes the rest of its file while others are
still measured: so of writes that it stops the truth lies between the two views.
"""

from typing import Any

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation.timeline import timelines
from glusterlab.analysis.select import DIRECTIONS, POINT, by_operation, valid_samples, with_series
from glusterlab.spec.cell import layout_of
from glusterlab.stats import contrast_interval
from glusterlab.tables.parts import measured_parts
from glusterlab.tools.records import WHOLE

AGREE = 0.05  # two ways of counting agree where their ratio is no farther from 1; cells that decide claims ought to

LEAST_RECORDS = 10  # of the measured part, for payload: its ends are known to half a record, 5 % of so many

_RATE = "throughput_bytes_per_s"

COUNTING = [
    *POINT,
    *("files_per_worker", "file_size_bytes", "n", "elapsed_s", "tool_bytes_per_s", "whole_bytes_per_s"),
    *("payload_bytes_per_s", "tool_over_whole", "tool_over_whole_low", "tool_over_whole_high"),
    *("tool_over_payload", "tool_over_payload_low", "tool_over_payload_high", "disagree", "cell_id"),
]  # columns of `counting_views`: means of the samples, ratios with their 95 % intervals, and the views that disagree


def over_the_whole_time(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples with their rates over the whole time in place of the tool's own; NaN where these are not known."""
    return samples.assign(**{rate: samples.get(whole, np.nan) for rate, whole in WHOLE.items()})


def payload_rates(telemetry: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """What reached or left the disks of servers in the measured part, in bytes of files per second.

    Bytes on disks are divided by what the layout stores for each byte of a file (a read fetches each once). Columns
    ``cell_id``, ``sample``, ``payload_bytes_per_s``; no row where the telemetry does not tell it (`LEAST_RECORDS`).
    """
    parts = measured_parts(telemetry, samples)
    rows = {(str(row["cell_id"]), int(row["sample"])): row for row in samples.to_dict("records")}
    found: list[tuple[str, int, float]] = []
    within = {(str(cell), sample): (start, end) for cell, sample, start, end in parts.itertuples(index=False)}
    for cell, sample, timeline in timelines(telemetry, samples, parts):
        row, (start, end) = rows[cell, sample], within[cell, sample]
        writes = DIRECTIONS.get(str(row["operation"])) == "write"
        series, values = timeline.of("disk", f"{'write' if writes else 'read'}_bytes_per_s", "server")
        if series.empty or timeline.inside.sum() < LEAST_RECORDS or row["type"] == "other":
            continue
        moved = np.append(0.0, np.nansum(values, axis=0).cumsum() * timeline.step_s)
        moments = np.append(timeline.ends[0] - timeline.step_s, timeline.ends)
        inside = np.diff(np.interp((start, end), moments, moved)).item()
        copies = layout_of(str(row["type"]), str(row["geometry"])).stored_per_byte if writes else 1.0
        found.append((cell, sample, inside / (end - start) / copies))
    return pd.DataFrame.from_records(found, columns=["cell_id", "sample", "payload_bytes_per_s"])


def counting_views(samples: pd.DataFrame, payload: pd.DataFrame) -> pd.DataFrame:
    """How much a cell's bytes/s depend on counting: columns `COUNTING`; `disagree` names what is over `AGREE` away."""
    rows = with_series(valid_samples(samples)).astype({"cell_id": str})
    whole = rows.get(WHOLE[_RATE], pd.Series(np.nan, rows.index))
    rows = rows.assign(tool_bytes_per_s=rows[_RATE], whole_bytes_per_s=whole)
    rows = rows.merge(payload, on=["cell_id", "sample"], how="left")
    means = ("elapsed_s", "tool_bytes_per_s", "whole_bytes_per_s", "payload_bytes_per_s")
    records = []
    for _, cell in rows.groupby("cell_id", sort=False):
        record: dict[Any, Any] = cell.iloc[0].to_dict() | {name: cell[name].mean() for name in means}
        apart: list[str] = []
        for name in ("whole", "payload"):
            # within each sample, over the samples that have it
            ratios = cell["tool_bytes_per_s"] / cell[f"{name}_bytes_per_s"]
            ratio = contrast_interval([[each for each in ratios if np.isfinite(each)]], [])
            ends = {"": ratio.centre, "_low": ratio.low, "_high": ratio.high}
            record |= {f"tool_over_{name}{end}": value for end, value in ends.items()}
            # NaN is not known to differ
            apart += [name] * (ratio.centre > 1 + AGREE or ratio.centre < 1 / (1 + AGREE))
        records.append(record | {"n": len(cell), "disagree": ", ".join(apart)})
    table = pd.DataFrame.from_records(records, columns=COUNTING)
    return by_operation(table, "nominal_file_size_bytes", "series", "workers")
