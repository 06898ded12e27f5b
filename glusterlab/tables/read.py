"""The tables of a campaign as they are kept, read as far as needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from glusterlab.errors import DataError
from glusterlab.tables.schema import arrow_schema, as_schema


@dataclass(frozen=True)
class Tables:
    """The three tables of a campaign, as far as they are of `tools` (None: all); `whole` keeps a temporary folder."""

    folder: Path
    tools: tuple[str, ...] | None = None
    whole: Tables | None = None

    def of(self, tools: tuple[str, ...]) -> Tables:
        return Tables(self.folder, tools, self)

    @cached_property
    def samples(self) -> pd.DataFrame:
        return self._read("samples")

    @cached_property
    def workers(self) -> pd.DataFrame:
        return self._read("workers")

    @cached_property
    def telemetry(self) -> pd.DataFrame:
        """All of it: of a large campaign more than memory holds, see `telemetry_of`."""
        return self.telemetry_of()

    def _read(self, name: Any) -> pd.DataFrame:
        table = pq.read_table(self.folder / f"{name}.parquet", filters=self._rows(name))
        return as_schema(table.to_pandas(), name)

    def _rows(self, name: str) -> Any:
        if self.tools is None:
            return None
        column, values = ("tool", self.tools) if name == "samples" else ("cell_id", self._cells)
        # of no value the type is not known
        return pc.field(column).isin(pa.array(values, pa.string()))

    @cached_property
    def _cells(self) -> list[str]:
        return sorted(set(self.samples["cell_id"].astype(str)))

    def telemetry_of(self, **chosen: Iterable[str | int]) -> pd.DataFrame:
        """Rows of the telemetry table with these values, by column; only these are read, sorted by all but time."""
        names = [path.name for path in sorted((self.folder / "telemetry").glob("*.parquet"))]
        requested = [set(map(str, chosen["cell_id"]))] if "cell_id" in chosen else []
        for cells in [*requested, *([set(self._cells)] if self.tools is not None else [])]:
            # a file is of one cell: those of others are not opened
            names = [name for name in names if name.split(".sample-")[0] in cells]
        paths = [str(self.folder / "telemetry" / name) for name in names]
        schema = arrow_schema("telemetry")
        dataset = ds.dataset(paths, schema=schema, format="parquet")
        filters = [(column, "in", list(values)) for column, values in chosen.items()]
        wanted = pq.filters_to_expression(filters) if filters else None
        try:
            table = dataset.to_table(filter=wanted) if paths else schema.empty_table()
        except (OSError, ValueError) as error:
            message = f"{self.folder}: expected whole Parquet files, found damage: {error}"
            raise DataError(f"{message}; run `glusterlab tables` again") from error
        frame = _sorted(table.unify_dictionaries().to_pandas())
        return as_schema(_with_measured_part(frame, (self.whole or self).samples), "telemetry")


def _with_measured_part(frame: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Telemetry with the column ``measured_part``; the rows of a sample follow each other."""
    cells, numbers, times = frame["cell_id"].cat.codes.to_numpy(), frame["sample"], frame["time_s"].to_numpy()
    first = np.flatnonzero((np.diff(cells, prepend=-1) != 0) | (np.diff(numbers, prepend=-1) != 0))
    parts = samples.set_index(["cell_id", "sample"])[["part_start_s", "part_end_s"]]
    found = parts.reindex(list(frame[["cell_id", "sample"]].iloc[first].itertuples(index=False, name=None)))
    start, end = (np.repeat(found[name].to_numpy(), np.diff(first, append=len(frame))) for name in found)
    return frame.assign(measured_part=(times > start) & (times <= end))


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    key = np.zeros(len(frame), dtype=np.int64)
    for column in ("campaign", "cell_id", "sample", "host", "activity", "device", "metric"):
        if isinstance(frame[column].dtype, pd.CategoricalDtype):
            used = frame[column].cat.remove_unused_categories()
            frame[column] = used.cat.reorder_categories(sorted(used.cat.categories))
            codes, count = frame[column].cat.codes.to_numpy(), len(used.cat.categories)
        else:
            codes, found = pd.factorize(frame[column], sort=True)
            count = len(found)
        key = key * max(count, 1) + codes
    # files are in such order but for their hosts and activities, which a stable sort of runs makes use of
    return frame.take(np.argsort(key, kind="stable")).reset_index(drop=True)
