"""Numbers that studies published, transcribed with their source, to stand beside measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    *("study", "figure", "quantity", "type", "geometry", "backing", "server_model", "access", "operation"),
    *("nominal_file_size_bytes", "value", "unit", "source"),
]
"""Columns of ``raw/published/<study>/figures.csv``.

``quantity`` and ``value`` are in SI base units, named as in the tables (``throughput_bytes_per_s_per_disk``); ``unit``
is the unit that the study wrote. ``type``, ``geometry``, ``backing`` and ``access`` describe the layout as the study
states it, and are empty where it does not; ``server_model`` is one of the study's servers, or empty. ``source`` names
the section and quotes the number.
"""


def load(folder: Path, study: str) -> pd.DataFrame:
    """The published numbers of a study's figures, from ``raw/published``: columns `COLUMNS`; no rows without any."""
    import pandas as pd

    path = folder / study / "figures.csv"
    if not path.is_file():
        return pd.DataFrame({name: pd.Series(dtype="float64" if name == "value" else "str") for name in COLUMNS})
    text = dict.fromkeys(COLUMNS, "str") | {"value": "float64", "nominal_file_size_bytes": "int64"}
    table = pd.read_csv(path, dtype=text, keep_default_na=False)
    _require(table, COLUMNS, path)
    return table[COLUMNS]


def load_table(folder: Path, number: int) -> pd.DataFrame:
    """One of a study's own tables as it was copied: every column as text, what is printed as nothing as ""."""
    import pandas as pd

    path = folder / f"table{number}.csv"
    if not path.is_file():
        raise DataError(f"{path}: expected the study's table {number}, found no such file", path=path)
    return pd.read_csv(path, dtype="str", keep_default_na=False)


BASELINE_COLUMNS = ["study", "what", "disks", "origin", "operation", "value", "unit", "source"]
"""Columns of ``raw/published/<study>/baselines.csv``.

``what`` is disk or array, of ``disks`` disks; ``origin`` is measured or data sheet; ``value`` is in bytes per second.
"""


def load_baselines(folder: Path) -> pd.DataFrame:
    """What a study measured of its hardware alone: columns `BASELINE_COLUMNS`; no rows when nothing is transcribed."""
    import pandas as pd

    path = folder / "baselines.csv"
    types = dict.fromkeys(BASELINE_COLUMNS, "str") | {"value": "float64", "disks": "int64"}
    if not path.is_file():
        return pd.DataFrame({name: pd.Series(dtype=types[name]) for name in BASELINE_COLUMNS})
    try:
        table = pd.read_csv(path, dtype=types, keep_default_na=False)
    except ValueError as error:
        raise DataError(f"{path}: expected numbers in the columns disks and value: {error}", path=path) from error
    _require(table, BASELINE_COLUMNS, path)
    return table[BASELINE_COLUMNS]


def _require(table: pd.DataFrame, columns: list[str], path: Path) -> None:
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise DataError(
            f"{path}: expected the columns {', '.join(columns)}, found none of {', '.join(missing)}", path=path
        )


FILE_SIZES = ["nominal_file_size_bytes", "label", "use_case", "tool", "metric", "on_line", "source"]
"""Columns of ``raw/published/<study>/file-sizes.csv``.

``label`` is the size as the study writes it; ``on_line`` whether it lies on the study's logarithmic line.
"""


def load_file_sizes(folder: Path) -> pd.DataFrame:
    """The file sizes that a study tested, and what each stands for: columns `FILE_SIZES`, by size."""
    import pandas as pd

    path = folder / "file-sizes.csv"
    if not path.is_file():
        return pd.DataFrame(columns=FILE_SIZES)
    table = pd.read_csv(path, dtype="str", keep_default_na=False)
    _require(table, FILE_SIZES, path)
    for line, row in enumerate(table.to_dict("records"), start=2):
        if not str(row["nominal_file_size_bytes"]).isdigit() or row["on_line"] not in ("yes", "no"):
            found = f"{row['nominal_file_size_bytes']!r} and {row['on_line']!r}"
            raise DataError(f"{path}:{line}: expected a size in bytes, and yes or no for on_line, found {found}")
    sizes = table["nominal_file_size_bytes"].astype("int64")
    table = table[FILE_SIZES].assign(nominal_file_size_bytes=sizes, on_line=table["on_line"] == "yes")
    return table.sort_values("nominal_file_size_bytes", ignore_index=True)
