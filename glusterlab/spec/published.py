"""Numbers that studies published, transcribed with their source, to stand beside measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.errors import DataError
from glusterlab.spec.claims import QUANTITIES
from glusterlab.spec.fields import suggest

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    *("study", "figure", "quantity", "type", "geometry", "backing", "server_model", "access", "operation"),
    *("nominal_file_size_bytes", "value", "unit", "source"),
]
"""Columns of ``raw/published/<study>/figures.csv``: ``value`` in SI base units, ``unit`` as the study wrote it.

``quantity`` is a column of the samples table, a rate also with ``_per_disk`` or ``_per_server`` behind it. What the
study does not state of a layout is empty; ``source`` names the section and quotes the number.
"""


def load(folder: Path) -> pd.DataFrame:
    """The published numbers of a study's figures, from its folder: columns `COLUMNS`; no rows without any."""
    types = dict.fromkeys(COLUMNS, "str") | {"value": "float64", "nominal_file_size_bytes": "int64"}
    path = folder / "figures.csv"
    table = _read(path, types)
    known = [of.column + end for of in QUANTITIES.values() for end in ("", "_per_disk", "_per_server")]
    for line, quantity in enumerate(table["quantity"], start=2):
        if quantity not in known:
            raise DataError(f"{path}:{line}: unknown quantity {quantity!r}{suggest(quantity, known)}", path=path)
    return table


def load_table(folder: Path, number: int | str) -> pd.DataFrame:
    """A study's own table, or ``<name>.csv``, as it was copied: all as text, what is printed as nothing as ""."""
    import pandas as pd

    path = folder / (f"{number}.csv" if isinstance(number, str) else f"table{number}.csv")
    if not path.is_file():
        raise DataError(f"{path}: expected the study's table {number}, found no such file", path=path)
    return pd.read_csv(path, dtype="str", keep_default_na=False)


BASELINE_COLUMNS = ["study", "what", "disks", "origin", "operation", "value", "unit", "source"]
"""Columns of ``raw/published/<study>/baselines.csv``.

``what`` is disk or array, of ``disks`` disks; ``origin`` is measured, data sheet, or sister drive (data sheet of one);
``value`` is in bytes per second, of random operations in requests per second, one at a time.
"""


def load_baselines(folder: Path) -> pd.DataFrame:
    """What a study measured of its hardware alone: columns `BASELINE_COLUMNS`; no rows when nothing is transcribed."""
    types = dict.fromkeys(BASELINE_COLUMNS, "str") | {"value": "float64", "disks": "int64"}
    return _read(folder / "baselines.csv", types)


FILE_SIZES = ["nominal_file_size_bytes", "label", "use_case", "tool", "metric", "on_line", "source"]
"""Columns of ``raw/published/<study>/file-sizes.csv``.

``label`` is the size as the study writes it; ``on_line`` whether it lies on the study's logarithmic line.
"""


def load_file_sizes(folder: Path) -> pd.DataFrame:
    """The file sizes that a study tested, and what each stands for: columns `FILE_SIZES`, by size."""
    path = folder / "file-sizes.csv"
    table = _read(path, dict.fromkeys(FILE_SIZES, "str"))
    for line, (size, on_line) in enumerate(table[["nominal_file_size_bytes", "on_line"]].to_numpy(), start=2):
        if not size.isdigit() or on_line not in ("yes", "no"):
            found = f"{size!r} and {on_line!r}"
            raise DataError(f"{path}:{line}: expected a size in bytes, and yes or no for on_line, found {found}")
    table = table.astype({"nominal_file_size_bytes": "int64"}).assign(on_line=table["on_line"] == "yes")
    return table.sort_values("nominal_file_size_bytes", ignore_index=True)


def _read(path: Path, types: dict[str, str]) -> pd.DataFrame:
    """The columns of a CSV, as these types; no rows without such a file."""
    import pandas as pd

    if not path.is_file():
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in types.items()})
    try:
        table = pd.read_csv(path, dtype=types, keep_default_na=False)
    except ValueError as error:
        numbers = ", ".join(name for name, kind in types.items() if kind != "str")
        raise DataError(f"{path}: expected numbers in the columns {numbers}: {error}", path=path) from error
    if missing := [name for name in types if name not in table.columns]:
        message = f"{path}: expected the columns {', '.join(types)}, found none of {', '.join(missing)}"
        raise DataError(message, path=path)
    return table[list(types)]
