"""Skew: a host that always carries more is named, and placement is not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.skew import host_skew, modified_z, skew_sentences, skewed_hosts

from ..busy_pool import DISK, LINK, SERVERS, Pool

Make = Callable[..., pd.DataFrame]


def samples_of(make_samples: Make, pools: list[Pool]) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = make_samples({("disperse", "write", 48): [1.0] * len(pools)}, elapsed_s=30.0)
    rows = rows.assign(end_s=rows["start_s"] + 120)
    tables = [pool.table(row) for pool, (_, row) in zip(pools, rows.iterrows(), strict=True)]
    return pd.concat(tables, ignore_index=True), rows


def test_a_server_that_always_carries_more_is_named_and_placement_is_not(make_samples: Make) -> None:
    pools = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pool = Pool(120.0)
        for server in SERVERS:
            pool.links("transmit", rng.uniform(0.9, 1.1) * (0.8 if server == "server02" else 0.3) * LINK, server)
            # acknowledgements are no load, however uneven
            pool.links("receive", rng.uniform(0.001, 0.02) * LINK, server)
        # one disk server of six, another each time
        pool.disk("write_bytes_per_s", 0.2 * DISK).disk("write_bytes_per_s", 0.5 * DISK, [SERVERS[seed]])
        pools.append(pool)
    telemetry, rows = samples_of(make_samples, pools)
    skew = host_skew(telemetry, rows)
    found = skewed_hosts(skew)
    assert found[["role", "host", "quantity"]].values.tolist() == [["server", "server02", "sent, bytes/s"]]
    assert found["ratio"].iloc[0] == pytest.approx(0.8 / 0.3, rel=0.15)
    assert found["samples"].iloc[0] == found["of"].iloc[0] == 5
    (sentence,) = skew_sentences(found)
    assert sentence.startswith("server server02: 2.")
    assert sentence.endswith(" times the median of its peers, sent (5 of 5 samples).")
    assert "received, bytes/s" not in set(skew["quantity"])
    disks = skew[skew["quantity"] == "written to disks, bytes/s"]
    assert disks[disks["outlier"]]["host"].tolist() == list(SERVERS[:5])
    even = skewed_hosts(skew[skew["quantity"] != "sent, bytes/s"])
    assert (len(even), list(even)) == (0, list(found))
    assert skewed_hosts(skew.iloc[:0]).empty


def test_the_modified_z_score_knows_equal_values() -> None:
    assert modified_z(np.array([2.0, 2.0, 2.0, 1.0])).tolist() == [0.0, 0.0, 0.0, -math.inf]
    assert modified_z(np.array([5.0])).tolist() == [0.0]
