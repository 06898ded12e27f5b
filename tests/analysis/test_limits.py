"""Physical bounds: the brief's numbers, the reach of few files and few clients, and the share that was measured."""

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glusterlab.analysis import limit_curves, pool_limits, select, summarise, with_limits
from glusterlab.analysis.efficiency import per_disk
from glusterlab.analysis.limits import CURVE, throttle_limits, volume_bounds
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.spec.campaign import Campaign, expand
from glusterlab.spec.cluster import Cluster
from tests.conftest import build_samples
from tests.pools import HARDWARE, pool_data

BRIEF = {"servers": 6, "clients": 6, "bricks_per_server": 12}
"""Six servers with twelve disks and one 10 GbE port each, six clients: section 3.1 of the RHGS 3.1 brief."""

PORT = Limits(server_link=1200e6, client_link=1200e6, server_disks_write=12e9, server_disks_read=12e9)
"""The brief rounds 10 Gbit/s to 1,200 MB/s and holds throughput against the network alone."""

GUIDE = {"servers": 6, "clients": 12}
JBOD = Limits(2500e6, 1250e6, 12 * 205e6, 12 * 212e6)
ARRAY = Limits(2500e6, 1250e6, 1224e6, 1107e6)
# twelve disks of a server share a controller of 1,200 MB/s; one alone writes 205 MB/s
SHARED = Limits(2500e6, 1250e6, 1200e6, 1200e6, brick_write=205e6, brick_read=212e6)


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
    ("type_", "geometry", "operation", "host", "given", "expected"),
    [
        # one file: two copies leave one client, and lie on two arrays
        ("replicate", "3x2", "write", ARRAY, {"workers": 1}, (625, 2500, 1224)),
        # three subvolumes: six files reach all six arrays
        ("replicate", "3x2", "write", ARRAY, {"workers": 6}, (3750, 7500, 3672)),
        ("replicate", "3x2", "write", ARRAY, {"workers": 96}, (7500, 7500, 3672)),
        # files of one worker reach more bricks but no more clients
        ("replicate", "3x2", "write", ARRAY, {"workers": 1, "files_at_once": 100}, (625, 7500, 3672)),
        ("replicate", "3x2", "read", ARRAY, {"workers": 1}, (1250, 2500, 1107)),
        ("replicate", "3x2", "read", ARRAY, {"workers": 1, "all_bricks": True}, (1250, 5000, 2 * 1107)),
        # one file of 4+2: six fragments of a quarter each are written, four are read
        ("disperse", "12x(4+2)", "write", JBOD, {"workers": 1}, (1250 / 1.5, 10000, 820)),
        ("disperse", "12x(4+2)", "read", JBOD, {"workers": 1}, (1250, 10000, 848)),
        ("disperse", "12x(4+2)", "write", JBOD, {"workers": 12}, (10000, 10000, 9840)),
        ("disperse", "12x(4+2)", "read", JBOD, {"workers": 48}, (15000, 15000, 15264)),
        # reads that go round reach all bricks of a subvolume
        ("disperse", "12x(4+2)", "read", JBOD, {"workers": 1, "all_bricks": True}, (1250, 15000, 6 * 212)),
        ("disperse", "12x(4+2)", "read", JBOD, {"workers": 12, "all_bricks": True}, (15000, 15000, 72 * 212)),
        # few bricks of a server may pass their share of all at once
        ("disperse", "12x(4+2)", "write", SHARED, {"workers": 1}, (1250 / 1.5, 10000, 6 * 205 / 1.5)),
        ("disperse", "12x(4+2)", "read", SHARED, {"workers": 1}, (1250, 10000, 4 * 212)),
        ("disperse", "12x(4+2)", "write", SHARED, {}, (10000, 10000, 6 * 1200 / 1.5)),
        ("distribute", "72", "write", JBOD, {"workers": 6}, (7500, 15000, 6 * 205)),
    ],
)
def test_known_bounds_of_the_guides_pool(
    type_: str, geometry: str, operation: str, host: Limits, given: dict[str, Any], expected: tuple[float, ...]
) -> None:
    bricks = 1 if type_ == "replicate" else 12
    bounds = volume_bounds(type_, geometry, operation, host, bricks_per_server=bricks, **given, **GUIDE)
    found = [bounds[part] / 1e6 for part in ("client links", "server links", "disks")]
    assert found == pytest.approx(expected)


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
def test_more_workers_never_lower_a_bound(shape: tuple[str, str], workers: int, more: int, servers: int) -> None:
    pool = {"servers": servers, "clients": 12, "bricks_per_server": 12}
    few = volume_bounds(*shape, "write", JBOD, workers=workers, **pool)
    many = volume_bounds(*shape, "write", JBOD, workers=workers + more, **pool)
    any_number = volume_bounds(*shape, "write", JBOD, **pool)
    assert all(few[part] <= many[part] <= any_number[part] * (1 + 1e-12) for part in few)
    read = volume_bounds(*shape, "read", JBOD, **pool)
    assert any_number["client links"] <= read["client links"]
    assert any_number["server links"] <= read["server links"]


CLUSTER = Cluster.model_validate(
    pool_data(
        6,
        12,
        hardware=HARDWARE | {"disks_per_server": 12, "array_write": "1224 MB/s", "array_read": "1107 MB/s"},
        backings={
            "jbod": {"kind": "jbod", "bricks": [f"/bricks/d{n}" for n in range(12)]},
            "raid6": {"kind": "raid6", "bricks": ["/bricks/a1"], "disks_per_brick": 12},
        },
    )
)


def scaled(limits: Limits, scale: float) -> Limits:
    rates = [limits.server_link, limits.client_link, limits.server_disks_write, limits.server_disks_read]
    return Limits(*(rate / scale for rate in rates), source="baseline")


def hosts_of(samples: pd.DataFrame) -> dict[str, Limits]:
    return {
        str(row["cell_id"]): scaled(JBOD if row["kind"] == "jbod" else ARRAY, float(row["scale"]))
        for row in samples.to_dict("records")
    }


def limited(rows: pd.DataFrame, hosts: dict[str, Limits] | None = None) -> pd.DataFrame:
    """Means of throughput with their limits."""
    bounds = pool_limits(rows, CLUSTER, hosts_of(rows) if hosts is None else hosts)
    return with_limits(summarise(rows, "throughput_bytes_per_s"), bounds)


def test_the_table_has_every_part_on_both_scales_and_names_what_binds(large_rows: pd.DataFrame) -> None:
    table = pool_limits(large_rows, CLUSTER, hosts_of(large_rows))
    assert len(table) == 3 * large_rows["cell_id"].nunique()
    least = table.groupby("cell_id")["bound_bytes_per_s"].transform("min")
    assert (table["binds"] == (table["bound_bytes_per_s"] <= least * 1.000001)).all()
    assert set(table["part"]) == {"client links", "server links", "disks"}


def test_shares_are_of_the_binding_limit_with_their_interval(large_rows: pd.DataFrame) -> None:
    table = limited(large_rows)
    row = table[(table["type"] == "replicate") & (table["operation"] == "write") & (table["workers"] == 48)].iloc[0]
    assert (row["limit_part"], row["limit_source"]) == ("disks", "baseline")
    assert row["limit"] == pytest.approx(3672e6 / 200)
    assert row["share"] == pytest.approx(18e6 * 200 / 3672e6)
    assert row["share_high"] == pytest.approx(row["high"] / row["limit"])
    # twelve links of 10 Gbit/s are six of 20 Gbit/s; one worker reads four disks
    read = table[(table["type"] == "disperse") & (table["operation"] == "read")].set_index("workers")
    assert read["limit_part"].to_dict() == {1: "disks", 12: "disks", 48: "links"}
    assert read.loc[48, "limit"] == pytest.approx(15e9 / 200)


def test_the_share_is_the_same_per_disk_and_in_files() -> None:
    cells = {("disperse", "create", 48): [100.0, 110.0, 120.0]}
    rows = select(build_samples(cells, tool="smallfile", nominal=4 << 20, scale=60), tool="smallfile")
    bounds = pool_limits(rows, CLUSTER, hosts_of(rows))
    files = summarise(rows, "files_per_s")
    in_bytes, in_files, by_disk = (
        with_limits(each, bounds).iloc[0]
        for each in (summarise(rows, "throughput_bytes_per_s"), files, per_disk(files))
    )
    assert in_bytes["share"] == pytest.approx(110 * (4 << 20) * 60 / 9840e6)
    assert (in_files["share"], by_disk["share"]) == pytest.approx((in_bytes["share"], in_bytes["share"]))
    assert by_disk["limit"] == pytest.approx(in_files["limit"] / 72)
    assert in_files["limit"] == pytest.approx(in_bytes["limit"] / (4 << 20))


def test_what_is_not_known_has_no_bound(large_rows: pd.DataFrame) -> None:
    for name, unknown in {"access": "nfs", "operation": "stat", "type": "other", "backing": "unknown"}.items():
        assert pool_limits(large_rows.assign(**{name: unknown}), CLUSTER, hosts_of(large_rows)).empty
    table = limited(large_rows, {})
    assert table["limit"].isna().all()
    assert set(table["limit_part"]) == {""}


def one_cell(*, release: str = "10.3", volume: dict[str, str] | None = None, **workload: object):
    """A campaign of one cell of 12x(4+2) on JBOD, and its samples with the limits of its hosts."""
    layout = {"name": "ec", "type": "disperse", "geometry": "12x(4+2)", "backing": "jbod", "options": volume or {}}
    work = {"tool": "smallfile", "operations": "read", "file_size": "4 MiB"} | workload
    data = {"schema_version": 1, "name": "night", "study": "supermicro-2017", "seed": 1, "repeats": 3}
    campaign = Campaign.model_validate(data | {"layouts": [layout], "workers": [1], "workloads": [work]})
    ((cell, *_),) = expand(campaign, CLUSTER)
    facts = {"cell_id": cell.id, "files_per_worker": cell.files_per_worker, "gluster_version": release}
    rows = build_samples(
        {("disperse", cell.operation, 1): [1.0] * 3}, tool="smallfile", nominal=4 << 20, scale=1, **facts
    )
    return select(rows, tool="smallfile"), campaign


def disks_bound(rows: pd.DataFrame, campaign: Campaign | None) -> float:
    table = pool_limits(rows, CLUSTER, hosts_of(rows), campaign)
    return float(table[table["part"] == "disks"]["bound_bytes_per_s"].item())


def test_creates_that_are_flushed_wait_for_the_disks_one_by_one() -> None:
    create = {"operations": "create", "files_per_worker": 40}
    # not flushed, twelve subvolumes may be at work for one worker
    assert disks_bound(*one_cell(**create)) == pytest.approx(72 * 205e6 / 1.5)
    rows, flushed = one_cell(**create, options=["--fsync", "Y"])
    assert disks_bound(rows, flushed) == pytest.approx(6 * 205e6 / 1.5)
    # what is not known of a cell must not lower its bound
    assert disks_bound(rows, None) == pytest.approx(72 * 205e6 / 1.5)


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
def test_one_read_reaches_the_bricks_that_are_read_from(release: str, options: dict[str, str], bricks: int) -> None:
    # a worker reads one file at a time, however many it has
    rows, campaign = one_cell(release=release, volume=options, files_per_worker=40)
    assert disks_bound(rows, campaign) == pytest.approx(bricks * 212e6)


def test_where_shards_lie_is_not_known() -> None:
    rows, campaign = one_cell(volume={"features.shard": "on"})
    for bounds in (pool_limits, limit_curves):
        assert bounds(rows, CLUSTER, hosts_of(rows), campaign).empty


def test_curves_have_the_bound_at_every_worker_count(large_rows: pd.DataFrame) -> None:
    curves = limit_curves(large_rows, CLUSTER, hosts_of(large_rows))
    assert list(curves.columns) == CURVE
    assert curves.groupby(["series", "operation"])["workers"].apply(list).tolist() == [list(range(1, 49))] * 4
    # the same as the table of cells has where it was measured
    table = limited(large_rows)
    both = table.merge(curves, on=["series", "operation", "workers"], suffixes=("", "_curve"))
    assert len(both) == len(table)
    assert both["limit_curve"].tolist() == pytest.approx(both["limit"].tolist())
    assert both["limit_part_curve"].tolist() == both["limit_part"].tolist()
    write = curves[(curves["series"].str.startswith("replicate")) & (curves["operation"] == "write")]
    by_workers = write.set_index("workers")["limit"] * 200 / 1e6
    # two files fill two clients' links, three reach all six arrays: no straight line from 1 to 12
    assert by_workers.loc[[1, 2, 5, 6, 12]].tolist() == pytest.approx([625, 1250, 3125, 3672, 3672])
    assert limit_curves(large_rows, None, {}).empty


def test_a_throttled_worker_that_flushes_waits_for_link_and_disks_in_turn() -> None:
    rows, flushed = one_cell(operations="create", files_per_worker=40, options=["--fsync", "Y"])
    scaled_rows = rows.assign(scale=240.0)
    (found,) = throttle_limits(scaled_rows, CLUSTER, hosts_of(scaled_rows), flushed).values()
    link, disks = 1250e6 / 1.5, 6 * 205e6 / 1.5
    assert found == pytest.approx(1 / (1 / link + 1 / disks) / 240)
    plain = one_cell(operations="create", files_per_worker=40)[1]
    ids = {cell.id for cell, *_ in expand(plain, CLUSTER)}
    unflushed = throttle_limits(scaled_rows.assign(cell_id=ids.pop()), CLUSTER, hosts_of(scaled_rows), plain)
    assert all(limit > found for limit in unflushed.values())
    # hardware as it is has no throttle, and what disks with heads let through is none of its numbers
    assert not throttle_limits(rows, CLUSTER, hosts_of(rows), flushed)
    assert not throttle_limits(scaled_rows.assign(heads=True), CLUSTER, hosts_of(scaled_rows), flushed)
