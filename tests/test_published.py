"""Published numbers: each has its source, and the source holds the number."""

from __future__ import annotations

from pathlib import Path

import pytest

from glusterlab import published
from glusterlab.errors import DataError

FOLDER = Path(__file__).parents[1] / "raw" / "published"


def test_each_number_is_quoted_in_its_source() -> None:
    table = published.load(FOLDER, "supermicro-2017")
    assert len(table) == 6
    factors = {"MB/s per drive": 1e-6, "files/s per drive": 1.0}
    for row in table.to_dict("records"):
        assert f"{row['value'] * factors[row['unit']]:g}" in row["source"]
        assert row["source"].endswith("the sentence does not name the client")


def test_an_unknown_study_has_no_numbers() -> None:
    table = published.load(FOLDER, "unknown")
    assert table.empty
    assert list(table.columns) == published.COLUMNS


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "figures.csv").write_text("study,figure\nx,1\n")
    with pytest.raises(DataError, match="quantity"):
        published.load(tmp_path, "x")


def test_baselines_are_those_that_the_guide_states() -> None:
    table = published.load_baselines(FOLDER / "supermicro-2017")
    found = {(row["what"], row["origin"], row["operation"]): row["value"] for row in table.to_dict("records")}
    assert found == {
        ("disk", "data sheet", "write"): 226e6,
        ("disk", "data sheet", "read"): 226e6,
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
