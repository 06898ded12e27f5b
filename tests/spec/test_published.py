"""Published numbers and tables: each has its source, and what a slip of the pen would break adds up."""

from pathlib import Path

import pytest

from glusterlab.errors import DataError
from glusterlab.spec import published

FOLDER = Path(__file__).parents[2] / "raw" / "published"
GUIDE = FOLDER / "supermicro-2017"


def test_each_number_is_quoted_in_its_source() -> None:
    table = published.load(FOLDER / "supermicro-2017")
    assert len(table) == 6
    factors = {"MB/s per drive": 1e-6, "files/s per drive": 1.0}
    for row in table.to_dict("records"):
        assert f"{row['value'] * factors[row['unit']]:g}" in row["source"]
        assert row["source"].endswith("the sentence does not name the client")


def test_an_unknown_study_has_no_numbers() -> None:
    table = published.load(FOLDER / "unknown")
    assert table.empty
    assert list(table.columns) == published.COLUMNS


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "figures.csv").write_text("study,figure\nx,1\n")
    with pytest.raises(DataError, match="quantity"):
        published.load(tmp_path / "x")


def test_a_quantity_that_no_table_has_is_named_by_its_line(tmp_path: Path) -> None:
    text = (GUIDE / "figures.csv").read_text()
    (tmp_path / "figures.csv").write_text(text.replace("files_per_s_per_disk", "files_per_s_per_server"))
    assert len(published.load(tmp_path)) == 6
    (tmp_path / "figures.csv").write_text(text.replace("files_per_s_per_disk", "files_per_s_per_drive", 1))
    with pytest.raises(DataError, match=r"figures.csv:4: unknown quantity .* did you mean 'files_per_s_per_"):
        published.load(tmp_path)


def test_baselines_are_those_that_the_guide_states() -> None:
    table = published.load_baselines(GUIDE)
    found = {(row["what"], row["origin"], row["operation"]): row["value"] for row in table.to_dict("records")}
    assert found == {
        ("disk", "data sheet", "write"): 226e6,
        ("disk", "data sheet", "read"): 226e6,
        ("disk", "sister drive", "random-write"): 77.7,
        ("disk", "sister drive", "random-read"): 84.3,
        ("disk", "measured", "write"): 205e6,
        ("disk", "measured", "read"): 212e6,
        ("array", "measured", "write"): 1224e6,
        ("array", "measured", "read"): 1107e6,
    }
    for row in table.to_dict("records"):
        assert f"{row['value'] / 1e6:,.0f}" in row["source"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("study,what\nx,disk\n", "found none of disks, origin"), ("study,disks,value\nx,1,much\n", "expected numbers")],
)
def test_baselines_that_are_damaged_are_named(tmp_path: Path, text: str, said: str) -> None:
    assert published.load_baselines(tmp_path).empty
    (tmp_path / "baselines.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        published.load_baselines(tmp_path)


@pytest.mark.parametrize(("number", "rows"), [(1, 6), (2, 10), (3, 11), (4, 9)])
def test_every_row_is_there_and_has_its_source(number: int, rows: int) -> None:
    table = published.load_table(GUIDE, number)
    assert len(table) == rows
    assert set(table["study"]) == {"supermicro-2017"}
    assert set(table["table"]) == {str(number)}
    assert table["source"].is_unique
    assert table["source"].str.contains(f"Table {number}, row").all()


def test_pools_of_table_1() -> None:
    table = published.load_table(GUIDE, 1)
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
    table = published.load_table(GUIDE, 2)
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


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected the study's table 5"):
        published.load_table(tmp_path, 5)
