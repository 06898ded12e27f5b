"""Views of a rate, of samples whose truth is known: amounts, ends and what the disks took."""

import math

import pandas as pd
import pytest

from glusterlab.analysis import select, summarise
from glusterlab.analysis.counting import COUNTING, counting_views, over_the_whole_time, payload_rates
from glusterlab.analysis.efficiency import per_disk
from glusterlab.analysis.limits import POOL_LIMITS, with_limits
from glusterlab.analysis.select import VIEWS
from tests.conftest import build_samples

THROUGHPUT = "throughput_bytes_per_s"
CELL = ("disperse", "write", 12)


def _samples(whole: float = 60e6, **changed: object) -> pd.DataFrame:
    """The tool adds up 90 MB/s; over the whole time it is less."""
    facts = {"throughput_whole_bytes_per_s": whole, "files_whole_per_s": math.nan, "operations_whole_per_s": math.nan}
    return build_samples({CELL: [89e6, 90e6, 91e6]}, start_s=1000.0, end_s=1040.0, **{**facts, **changed})


def _telemetry(samples: pd.DataFrame, rate: float, step: float = 1.0) -> pd.DataFrame:
    """Disks of two servers that write at a rate from second 5 to second 35; clients send all along it."""
    rows = []
    for row in samples.to_dict("records"):
        for n in range(1, int(40 / step) + 1):
            busy = 5 < n * step <= 35
            for host, role, activity, metric in (
                ("s1", "server", "disk", "write_bytes_per_s"),
                ("s2", "server", "disk", "write_bytes_per_s"),
                ("c1", "client", "network", "transmit_bytes_per_s"),
            ):
                where = {"host": host, "role": role, "activity": activity, "device": "x", "metric": metric}
                value = rate * busy if role == "server" else 1e8 * busy
                rows.append(
                    {**{k: row[k] for k in ("cell_id", "sample")}, **where, "time_s": 1000 + n * step}
                    | {"value": value}
                )
    return pd.DataFrame(rows)


def test_payload_is_what_disks_took_over_what_the_layout_stores() -> None:
    samples = _samples(elapsed_s=30.0)
    # two servers at 45 MB/s; 4+2 stores 1.5 bytes for each
    found = payload_rates(_telemetry(samples, 45e6), samples)
    assert found["payload_bytes_per_s"].tolist() == pytest.approx([60e6] * 3, rel=0.01)
    # records of 4 s: seven in the measured part are too few to say it
    assert payload_rates(_telemetry(samples, 45e6, step=4.0), samples).empty


def test_a_cell_tells_which_views_disagree() -> None:
    samples = _samples(elapsed_s=30.0)
    row = counting_views(samples, payload_rates(_telemetry(samples, 45e6), samples)).iloc[0]
    assert row["tool_over_whole"] == pytest.approx(1.5, rel=0.001)
    assert row["tool_over_payload"] == pytest.approx(1.5, rel=0.01)
    assert row["tool_over_whole_low"] < 1.5 < row["tool_over_whole_high"]
    assert row["disagree"] == "whole, payload"
    alike = _samples(whole=88e6)
    table = counting_views(alike, payload_rates(_telemetry(alike, 45e6).iloc[:0], alike))
    assert list(table.columns) == COUNTING
    assert table["disagree"].tolist() == [""]
    assert table["tool_over_payload"].isna().all()


def test_old_tables_do_not_have_the_view() -> None:
    old = build_samples({CELL: [89e6, 90e6, 91e6]})
    assert over_the_whole_time(old)[THROUGHPUT].isna().all()
    assert counting_views(old, payload_rates(_telemetry(old, 1.0).iloc[:0], old)).iloc[0]["disagree"] == ""
    assert summarise(select(old, tool="iozone"), THROUGHPUT)["whole_mean"].isna().all()


def test_a_summary_has_both_views_per_disk_too() -> None:
    row = per_disk(summarise(select(_samples(), tool="iozone"), THROUGHPUT)).iloc[0]
    assert (row["mean"], row["whole_mean"]) == (pytest.approx(90e6 / 72), pytest.approx(60e6 / 72))
    # not of a part of the samples
    some = _samples()
    some.loc[0, "throughput_whole_bytes_per_s"] = math.nan
    assert summarise(select(some, tool="iozone"), THROUGHPUT)["whole_mean"].isna().all()


@pytest.mark.parametrize(
    ("bound", "above"),
    [(95e6, ""), (90e6, ""), (80e6, VIEWS[0]), (50e6, "; ".join(VIEWS)), (math.nan, "")],
)
def test_a_rate_above_its_limit_is_flagged_by_view(bound: float, above: str) -> None:
    summary = summarise(select(_samples(), tool="iozone"), THROUGHPUT)
    limit = {"cell_id": summary["cell_id"].iloc[0], "part": "disks", "bound_bytes_per_s": bound, "binds": True}
    bounds = pd.DataFrame([limit | {"source": ""}])[POOL_LIMITS]
    assert with_limits(summary, bounds)["above_limit"].tolist() == [above]
