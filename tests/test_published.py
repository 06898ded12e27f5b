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
