"""Physical bounds: the brief's numbers, the reach of few files and few clients, and the share that was measured."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glusterlab.analysis import limit_curves, pool_limits, select, summarise, with_limits
from glusterlab.analysis.efficiency import per_disk
from glusterlab.analysis.limits import CURVE, volume_bounds
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.spec.campaign import Campaign, expand
from glusterlab.spec.cluster import Cluster

Make = Callable[..., pd.DataFrame]

BRIEF = {"servers": 6, "clients": 6, "bricks_per_server": 12}
"""Six servers with twelve disks and one 10 GbE port each, six clients: section 3.1 of the RHGS 3.1 brief."""

PORT = Limits(server_link=1200e6, client_link=1200e6, server_disks_write=12e9, server_disks_read=12e9)
"""The brief rounds 10 Gbit/s to 1,200 MB/s and holds throughput against the network alone."""

GUIDE = {"servers": 6, "clients": 12}
JBOD = Limits(2500e6, 1250e6, 12 * 205e6, 12 * 212e6)
ARRAY = Limits(2500e6, 1250e6, 1224e6, 1107e6)


@pytest.mark.parametrize(
    ("type_", "geometry", "operation", "stated"),
    [
        ("disperse", "6x(8+4)", "write", 800e6),
        # unlike the brief says, a read fetches no redundancy
        ("disperse", "6x(8+4)", "read", 1200e6),
        ("replicate", "36x2", "write", 600e6),
        ("replicate", "24x3", "write", 400e6),
        ("replicate", "36x2", "read", 1200e6),
    ],
)
def test_the_limits_of_the_brief(type_: str, geometry: str, operation: str, stated: float) -> None:
    bounds = volume_bounds(type_, geometry, operation, PORT, **BRIEF)
    assert bounds["server links"] / 6 == pytest.approx(stated)
    assert bounds["client links"] / 6 == pytest.approx(stated)


@pytest.mark.parametrize(
    ("type_", "geometry", "operation", "workers", "expected"),
    [
        # one file: two copies leave one client, and lie on two arrays
        ("replicate", "3x2", "write", 1, (625, 2500, 1224)),
        # three subvolumes: six files reach all six arrays
        ("replicate", "3x2", "write", 6, (3750, 7500, 3672)),
        ("replicate", "3x2", "write", 96, (7500, 7500, 3672)),
        ("replicate", "3x2", "read", 1, (1250, 2500, 1107)),
        # one file of 4+2: six fragments of a quarter each are written, four are read
        ("disperse", "12x(4+2)", "write", 1, (1250 / 1.5, 10000, 820)),
        ("disperse", "12x(4+2)", "read", 1, (1250, 10000, 848)),
        ("disperse", "12x(4+2)", "write", 12, (10000, 10000, 9840)),
        ("disperse", "12x(4+2)", "read", 48, (15000, 15000, 15264)),
        ("distribute", "72", "write", 6, (7500, 15000, 6 * 205)),
    ],
)
def test_known_bounds_of_the_guides_pool(
    type_: str, geometry: str, operation: str, workers: int, expected: tuple[float, float, float]
) -> None:
    host, bricks = (ARRAY, 1) if type_ == "replicate" else (JBOD, 12)
    bounds = volume_bounds(type_, geometry, operation, host, bricks_per_server=bricks, workers=workers, **GUIDE)
    assert [bounds["client links"], bounds["server links"], bounds["disks"]] == pytest.approx(
        [value * 1e6 for value in expected]
    )


def test_files_of_one_worker_reach_more_bricks_but_no_more_clients() -> None:
    one = volume_bounds("replicate", "3x2", "write", ARRAY, bricks_per_server=1, workers=1, **GUIDE)
    many = volume_bounds("replicate", "3x2", "write", ARRAY, bricks_per_server=1, workers=1, files_at_once=100, **GUIDE)
    assert many["disks"] == 3 * one["disks"]
    assert many["client links"] == one["client links"]


def test_few_bricks_of_a_server_may_pass_their_share_of_all_at_once() -> None:
    # twelve disks of a server share a controller of 1,200 MB/s; one alone writes 205 MB/s
    shared = Limits(1e12, 1e12, 1200e6, 1200e6, brick_write=205e6, brick_read=212e6)
    pool = {"bricks_per_server": 12, **GUIDE}
    one = volume_bounds("disperse", "12x(4+2)", "write", shared, workers=1, **pool)
    assert one["disks"] == pytest.approx(6 * 205e6 / 1.5)
    assert volume_bounds("disperse", "12x(4+2)", "read", shared, workers=1, **pool)["disks"] == pytest.approx(4 * 212e6)
    every = volume_bounds("disperse", "12x(4+2)", "write", shared, **pool)
    assert every["disks"] == pytest.approx(6 * 1200e6 / 1.5)


def test_reads_that_go_round_reach_all_bricks_of_a_subvolume() -> None:
    pool = {"bricks_per_server": 12, "all_bricks": True, **GUIDE}
    for workers, disks in ((1, 6), (12, 72)):
        bounds = volume_bounds("disperse", "12x(4+2)", "read", JBOD, workers=workers, **pool)
        assert bounds["disks"] == pytest.approx(disks * 212e6)
    both = volume_bounds("replicate", "3x2", "read", ARRAY, workers=1, bricks_per_server=1, all_bricks=True, **GUIDE)
    assert both["disks"] == pytest.approx(2 * 1107e6)


@pytest.mark.parametrize(
    ("geometry", "operation", "message"), [("12x2", "write", "geometry"), ("1x(4+2)", "stat", "expected an operation")]
)
def test_what_is_no_layout_or_no_transfer_is_refused(geometry: str, operation: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        volume_bounds("disperse", geometry, operation, ARRAY, bricks_per_server=1, **GUIDE)


shapes = st.one_of(
    st.builds(lambda n, r: ("replicate", f"{n}x{r}"), st.integers(1, 40), st.integers(2, 4)),
    st.builds(
        lambda n, k, m: ("disperse", f"{n}x({k}+{min(m, k - 1)})"), *[st.integers(1, 40)], *[st.integers(2, 16)] * 2
    ),
    st.builds(lambda n: ("distribute", str(n)), st.integers(1, 200)),
)


@given(shape=shapes, workers=st.integers(1, 200), more=st.integers(0, 200), servers=st.integers(1, 30))
def test_more_workers_never_lower_a_bound_and_writes_never_pass_reads_on_the_network(
    shape: tuple[str, str], workers: int, more: int, servers: int
) -> None:
    pool = {"servers": servers, "clients": 12, "bricks_per_server": 12}
    few = volume_bounds(*shape, "write", JBOD, workers=workers, **pool)
    many = volume_bounds(*shape, "write", JBOD, workers=workers + more, **pool)
    any_number = volume_bounds(*shape, "write", JBOD, **pool)
    assert all(few[part] <= many[part] <= any_number[part] * (1 + 1e-12) for part in few)
    read = volume_bounds(*shape, "read", JBOD, **pool)
    assert any_number["client links"] <= read["client links"]
    assert any_number["server links"] <= read["server links"]


CLUSTER = Cluster.model_validate(
    {
        "schema_version": 1,
        "name": "testbed",
        "servers": [{"name": f"s{n}"} for n in range(6)],
        "clients": [{"name": f"c{n}"} for n in range(12)],
        "hardware": {
            "disks_per_server": 12,
            "disk_write": "205 MB/s",
            "disk_read": "212 MB/s",
            "array_write": "1224 MB/s",
            "array_read": "1107 MB/s",
            "server_link": "20 Gbit/s",
            "client_link": "10 Gbit/s",
        },
        "backings": {
            "jbod": {"kind": "jbod", "bricks": [f"/bricks/d{n}" for n in range(12)]},
            "raid6": {"kind": "raid6", "bricks": ["/bricks/a1"], "disks_per_brick": 12},
        },
    }
)


def scaled(limits: Limits, scale: float) -> Limits:
    return Limits(
        limits.server_link / scale,
        limits.client_link / scale,
        limits.server_disks_write / scale,
        limits.server_disks_read / scale,
        source="baseline",
    )


def hosts_of(samples: pd.DataFrame) -> dict[str, Limits]:
    return {
        str(row["cell_id"]): scaled(JBOD if row["kind"] == "jbod" else ARRAY, float(row["scale"]))
        for row in samples.to_dict("records")
    }


def test_the_table_has_every_part_on_both_scales_and_names_what_binds(large_samples: pd.DataFrame) -> None:
    rows = select(large_samples, tool="iozone")
    table = pool_limits(rows, CLUSTER, hosts_of(rows))
    assert len(table) == 3 * rows["cell_id"].nunique()
    least = table.groupby("cell_id")["bound_bytes_per_s"].transform("min")
    assert (table["binds"] == (table["bound_bytes_per_s"] <= least * 1.000001)).all()
    write = table[(table["type"] == "replicate") & (table["operation"] == "write") & (table["workers"] == 48)]
    disks = write[write["binds"]].iloc[0]
    assert (disks["part"], disks["source"]) == ("disks", "baseline")
    assert disks["bound_bytes_per_s"] == pytest.approx(3672e6 / 200)
    assert set(write["part"]) == {"client links", "server links", "disks"}


def test_shares_are_of_the_binding_limit_with_their_interval(large_samples: pd.DataFrame) -> None:
    rows = select(large_samples, tool="iozone")
    table = with_limits(summarise(rows, "throughput_bytes_per_s"), pool_limits(rows, CLUSTER, hosts_of(rows)))
    row = table[(table["type"] == "replicate") & (table["operation"] == "write") & (table["workers"] == 48)].iloc[0]
    assert row["limit"] == pytest.approx(3672e6 / 200)
    assert (row["limit_part"], row["limit_source"]) == ("disks", "baseline")
    assert row["share"] == pytest.approx(18e6 * 200 / 3672e6)
    assert row["share_high"] == pytest.approx(row["high"] / row["limit"])
    # twelve links of 10 Gbit/s are six of 20 Gbit/s; one worker reads four disks
    read = table[(table["type"] == "disperse") & (table["operation"] == "read")].set_index("workers")
    assert read["limit_part"].to_dict() == {1: "disks", 12: "disks", 48: "links"}
    assert read.loc[48, "limit"] == pytest.approx(15e9 / 200)


def test_the_share_is_the_same_per_disk_and_in_files(make_samples: Make) -> None:
    rows = select(
        make_samples({("disperse", "create", 48): [100.0, 110.0, 120.0]}, tool="smallfile", nominal=4 << 20, scale=60),
        tool="smallfile",
    )
    bounds = pool_limits(rows, CLUSTER, hosts_of(rows))
    in_bytes = with_limits(summarise(rows, "throughput_bytes_per_s"), bounds).iloc[0]
    in_files = with_limits(summarise(rows, "files_per_s"), bounds).iloc[0]
    by_disk = with_limits(per_disk(summarise(rows, "files_per_s")), bounds).iloc[0]
    assert in_bytes["share"] == pytest.approx(110 * (4 << 20) * 60 / 9840e6)
    assert in_files["share"] == pytest.approx(in_bytes["share"])
    assert by_disk["share"] == pytest.approx(in_bytes["share"])
    assert by_disk["limit"] == pytest.approx(in_files["limit"] / 72)
    assert in_files["limit"] == pytest.approx(in_bytes["limit"] / (4 << 20))


def test_what_is_not_known_has_no_bound(large_samples: pd.DataFrame) -> None:
    rows = select(large_samples, tool="iozone")
    for name, unknown in {"access": "nfs", "operation": "stat", "type": "other", "backing": "unknown"}.items():
        assert pool_limits(rows.assign(**{name: unknown}), CLUSTER, hosts_of(large_samples)).empty
    table = with_limits(summarise(rows, "throughput_bytes_per_s"), pool_limits(rows, CLUSTER, {}))
    assert table["limit"].isna().all()
    assert set(table["limit_part"]) == {""}


def one_cell(make: Make, *, release: str = "10.3", options: dict[str, str] | None = None, **workload: object):
    """A campaign of one cell of 12x(4+2) on JBOD, and its samples with the limits of its hosts."""
    campaign = Campaign.model_validate(
        {
            "schema_version": 1,
            "name": "night",
            "study": "supermicro-2017",
            "seed": 1,
            "repeats": 3,
            "layouts": [
                {"name": "ec", "type": "disperse", "geometry": "12x(4+2)", "backing": "jbod", "options": options or {}}
            ],
            "workers": [1],
            "workloads": [{"tool": "smallfile", "operations": "read", "file_size": "4 MiB"} | workload],
        }
    )
    ((cell, _, _),) = expand(campaign, CLUSTER)
    rows = make(
        {("disperse", cell.operation, 1): [1.0, 2.0, 3.0]},
        tool="smallfile",
        nominal=4 << 20,
        scale=1,
        cell_id=cell.id,
        files_per_worker=cell.files_per_worker,
        gluster_version=release,
    )
    return select(rows, tool="smallfile"), campaign


def disks_bound(rows: pd.DataFrame, campaign: Campaign | None) -> float:
    table = pool_limits(rows, CLUSTER, hosts_of(rows), campaign)
    return float(table[table["part"] == "disks"]["bound_bytes_per_s"].item())


def test_creates_that_are_flushed_wait_for_the_disks_one_by_one(make_samples: Make) -> None:
    create = {"operations": "create", "files_per_worker": 40}
    rows, campaign = one_cell(make_samples, **create)
    # not flushed, twelve subvolumes may be at work for one worker
    assert disks_bound(rows, campaign) == pytest.approx(72 * 205e6 / 1.5)
    flushed = campaign.model_copy(
        update={"workloads": (campaign.workloads[0].model_copy(update={"options": ("--fsync", "Y")}),)}
    )
    ((cell, _, _),) = expand(flushed, CLUSTER)
    assert disks_bound(rows.assign(cell_id=cell.id), flushed) == pytest.approx(6 * 205e6 / 1.5)
    # what is not known of a cell must not lower its bound
    assert disks_bound(rows.assign(cell_id=cell.id), None) == pytest.approx(72 * 205e6 / 1.5)


@pytest.mark.parametrize(
    ("release", "options", "bricks"),
    [
        ("10.3", {}, 4),
        ("10.3", {"disperse.read-policy": "round-robin"}, 6),
        ("3.8.4", {}, 6),
        ("3.8.4", {"disperse.read-policy": "gfid-hash"}, 4),
        ("10.3, 4.1.10", {}, 6),
    ],
)
def test_one_read_reaches_the_bricks_that_the_volume_reads_from(
    release: str, options: dict[str, str], bricks: int, make_samples: Make
) -> None:
    # a worker reads one file at a time, however many it has
    rows, campaign = one_cell(make_samples, release=release, options=options, files_per_worker=40)
    assert disks_bound(rows, campaign) == pytest.approx(bricks * 212e6)


def test_where_shards_lie_is_not_known(make_samples: Make) -> None:
    rows, campaign = one_cell(make_samples, options={"features.shard": "on"})
    for bounds in (pool_limits, limit_curves):
        assert bounds(rows, CLUSTER, hosts_of(rows), campaign).empty


def test_curves_have_the_bound_at_every_worker_count(large_samples: pd.DataFrame) -> None:
    rows = select(large_samples, tool="iozone")
    hosts = hosts_of(rows)
    curves = limit_curves(rows, CLUSTER, hosts)
    assert list(curves.columns) == CURVE
    assert curves.groupby(["series", "operation"])["workers"].apply(list).tolist() == [list(range(1, 49))] * 4
    # the same as the table of cells has where it was measured
    table = with_limits(summarise(rows, "throughput_bytes_per_s"), pool_limits(rows, CLUSTER, hosts))
    both = table.merge(curves, on=["series", "operation", "workers"], suffixes=("", "_curve"))
    assert len(both) == len(table)
    assert both["limit_curve"].tolist() == pytest.approx(both["limit"].tolist())
    assert both["limit_part_curve"].tolist() == both["limit_part"].tolist()
    write = curves[(curves["series"].str.startswith("replicate")) & (curves["operation"] == "write")]
    by_workers = write.set_index("workers")["limit"] * 200 / 1e6
    # two files fill two clients' links, three reach all six arrays: no straight line from 1 to 12
    assert by_workers.loc[[1, 2, 5, 6, 12]].tolist() == pytest.approx([625, 1250, 3125, 3672, 3672])
    assert limit_curves(rows, None, {}).empty
