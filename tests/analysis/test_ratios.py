"""Standard against dense servers, reads against writes: known ratios, their counterparts, and what is stated."""

import math

import pandas as pd
import pytest

from glusterlab.analysis import efficiency, family, on_servers, read_write_gap, server_advantage, stated_ratios
from glusterlab.spec import published
from glusterlab.spec.claims import Claims
from tests.guide_pools import GUIDE, LARGE, SERIES, SERVERS, chosen, pools

NUMBERS = published.load(GUIDE)


def large(samples: pd.DataFrame | None = None) -> pd.DataFrame:
    rows = chosen(pools() if samples is None else samples)
    return efficiency(rows, "throughput_bytes_per_s", NUMBERS)


def test_the_advantage_is_that_of_the_disks(claims: Claims) -> None:
    table = server_advantage(family(large(), "disperse", "jbod"), SERVERS, stated_ratios(claims, "F8"))
    assert table["server_model"].tolist() == ["standard", "dense"] * 2
    assert table["operation"].tolist() == ["write"] * 2 + ["read"] * 2
    standard = table[table["server_model"] == "standard"].set_index("operation")
    assert standard["ratio"].to_dict() == pytest.approx({"write": 83.68 / 46, "read": 108 / 64.7})
    assert ((standard["ratio_low"] < standard["ratio"]) & (standard["ratio"] < standard["ratio_high"])).all()
    assert standard[["ratio_to", "ratio_n"]].values.tolist() == [[SERIES["disperse-dense"], 3]] * 2
    assert standard["published_ratio"].to_dict() == {"write": 1.82, "read": 1.67}
    assert table[table["server_model"] == "dense"][["ratio", "published_ratio"]].isna().all(axis=None)


def test_the_guides_ratios_are_of_their_figure_and_family(claims: Claims) -> None:
    nine = server_advantage(family(large(), "replicate", "raid6"), SERVERS, stated_ratios(claims, "F9"))
    stated = nine.dropna(subset="published_ratio").set_index("operation")["published_ratio"]
    assert stated.to_dict() == {"write": 1.6, "read": 1.21}
    other = server_advantage(family(large(), "disperse", "raid6"), SERVERS, stated_ratios(claims, "F9"))
    assert (other["ratio"].notna().sum(), other["published_ratio"].notna().sum()) == (2, 0)
    assert stated_ratios(claims, "F18").empty


def test_an_operation_that_one_kind_lacks_stays_without_a_ratio() -> None:
    samples = pools()
    samples = samples[~((samples["server_model"] == "dense") & (samples["operation"] == "read"))]
    table = server_advantage(family(large(samples), "disperse", "jbod"), SERVERS)
    assert table["ratio"].notna().sum() == 1
    row = table.set_index(["operation", "server_model"]).loc[("read", "standard")]
    assert (math.isnan(row["ratio"]), row["ratio_to"]) == (True, "")


def test_accesses_are_compared_each_with_its_own() -> None:
    native = pools()
    nfs = native.assign(
        access="nfs",
        cell_id=native["cell_id"] + "-nfs",
        throughput_bytes_per_s=native["throughput_bytes_per_s"].where(native["server_model"] == "dense", 1e6),
    )
    table = server_advantage(family(large(pd.concat([native, nfs], ignore_index=True)), "disperse", "jbod"), SERVERS)
    standard = table[(table["server_model"] == "standard") & (table["operation"] == "write")].set_index("access")
    assert standard.loc["native", "ratio"] == pytest.approx(83.68 / 46)
    assert standard.loc["nfs", "ratio"] == pytest.approx((1e6 / 72) / (46e6 / 200), rel=1e-3)


def test_standard_servers_are_those_of_that_name() -> None:
    samples = pools()
    assert set(on_servers(samples, SERVERS, "standard")["server_model"]) == {"standard"}
    assert on_servers(samples[samples["server_model"] == "dense"], SERVERS, "standard").empty
    # a cluster that knows neither kind keeps all its servers
    assert len(on_servers(samples.assign(server_model="box"), SERVERS, "standard")) == len(samples)


def test_the_gap_is_of_reads_to_writes_of_the_same_size() -> None:
    values = {"create": {"replicate": 5.0, "disperse": 8.0}, "read": {"replicate": 20.0, "disperse": 8.0}}
    files = pools(values, tool="smallfile", nominal=4 << 20, scale=120)
    table = pd.concat([efficiency(chosen(files, "smallfile"), "files_per_s", NUMBERS), large()], ignore_index=True)
    assert read_write_gap(table[table["operation"] == "read"]).empty
    gap = read_write_gap(table).set_index(["series", "nominal_file_size_bytes"])
    assert gap.loc[(SERIES["replicate"], 4 << 20), "ratio"] == pytest.approx(4.0)
    disperse = gap.loc[(SERIES["disperse"], 4 << 20)]
    assert disperse["ratio"] == pytest.approx(1.0)
    assert disperse["ratio_low"] < 1 < disperse["ratio_high"]
    expected = LARGE["read"]["replicate"] / LARGE["write"]["replicate"]
    assert gap.loc[(SERIES["replicate"], 4 << 30), "ratio"] == pytest.approx(expected)
    # what follows from the guide's numbers: writes of 4 MB are 5.44 for any layout
    stated = gap["published_ratio"]
    assert stated[SERIES["replicate"], 4 << 20] == pytest.approx(13.54 / 5.44)
    assert stated[SERIES["disperse"], 4 << 20] == pytest.approx(7.5 / 5.44)
    assert stated[SERIES["disperse"], 4 << 30] == pytest.approx(108.07 / 83.68)
    assert stated.notna().sum() == 3
