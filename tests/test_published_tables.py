"""The guide's four tables, as copied: rows, quantities and totals that a slip of the pen would break."""

from __future__ import annotations

from pathlib import Path

import pytest

from glusterlab import published
from glusterlab.errors import DataError

FOLDER = Path(__file__).parents[1] / "raw" / "published" / "supermicro-2017"


@pytest.mark.parametrize(("number", "rows"), [(1, 6), (2, 10), (3, 11), (4, 9)])
def test_every_row_is_there_and_has_its_source(number: int, rows: int) -> None:
    table = published.load_table(FOLDER, number)
    assert len(table) == rows
    assert set(table["study"]) == {"supermicro-2017"}
    assert set(table["table"]) == {str(number)}
    assert table["source"].is_unique
    assert table["source"].str.contains(f"Table {number}, row").all()


def test_pools_of_table_1() -> None:
    table = published.load_table(FOLDER, 1)
    assert table["pool_size_bytes"].astype(int).unique().tolist() == [250 * 10**12, 10**15]
    assert table.groupby("category", sort=False).size().tolist() == [2, 2, 2]
    assert table["servers"].value_counts().to_dict() == {"standard": 5, "dense": 1}
    assert table["volumes"].value_counts().to_dict() == {"replicate": 3, "disperse": 3}
    for row in table.to_dict("records"):
        # what was taken apart stands in the entry, unless the text has none
        assert (row["entry"] == "") == (row["reading"] != "")
        if row["entry"]:
            assert row["servers"] in row["entry"].lower()
            assert {"replicate": "2 x replicated", "disperse": "dispersed"}[row["volumes"]] in row["entry"].lower()
            assert {"raid6": "RAID 6 bricks", "jbod": "JBOD bricks"}[row["bricks"]] in row["entry"]
            assert (row["tier"] == "1 x NVMe") == ("1 x NVMe hot tier" in row["entry"])
        assert (row["volumes"] == "replicate") == (row["bricks"] == "raid6") == (row["tier"] != "")


def test_streams_of_table_2() -> None:
    table = published.load_table(FOLDER, 2)
    streams = table["streams"].astype(int)
    latency, rate, speed = (
        table[name].astype(float) for name in ("latency_ms", "operations_per_s", "throughput_mb_per_s")
    )
    assert streams.tolist() == list(range(100, 1001, 100))
    for column in (latency, rate, speed):
        assert column.is_monotonic_increasing
    # a stream asks for ten operations and 4.5 MB a second: the last row is the first that falls short of it
    assert (rate / streams).to_numpy()[:-1] == pytest.approx(10, rel=1e-3)
    assert rate.iloc[-1] / 1000 == pytest.approx(9.927)
    assert (speed / streams).to_numpy() == pytest.approx(4.5, rel=0.01)
    # what the text says of the peak, and of streams per disk
    assert speed.iloc[-1] == pytest.approx(4469, abs=0.5)
    assert streams.iloc[-1] / 144 == pytest.approx(6.9, abs=0.05)
    # the sums of all ten rows, added by hand from the text
    assert latency.sum() == pytest.approx(250.02)
    assert rate.sum() == pytest.approx(54947.71)
    assert speed.sum() == pytest.approx(24756.97)


@pytest.mark.parametrize(
    ("number", "server", "disks", "processors", "memory_modules", "pieces"),
    [(3, "SSG-6028R-E1CR12H", 12, 2, 4, 27), (4, "SSG-6028R-E1CR24N", 24, 2, 8, 42)],
)
def test_bills_of_materials(
    number: int, server: str, disks: int, processors: int, memory_modules: int, pieces: int
) -> None:
    table = published.load_table(FOLDER, number)
    assert table["part_number"].is_unique
    quantity = dict(zip(table["part_number"], table["quantity"].astype(int), strict=True))
    assert quantity[server] == 1
    assert quantity["HDD"] == disks
    assert quantity["MEM-DR416L-SL02-ER24"] == memory_modules
    assert sum(count for part, count in quantity.items() if part.startswith("P4X-")) == processors
    assert sum(quantity.values()) == pieces
    assert [name for name in table["category"] if name] == ["Gluster", "CV", "Performance", "OS"]
    assert table["description"].str.len().min() > 0


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected the study's table 5"):
        published.load_table(tmp_path, 5)
