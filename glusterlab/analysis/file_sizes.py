"""The file sizes of a study, and what a campaign writes for each of them (F4)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from glusterlab.analysis.series import same_size
from glusterlab.units import format_size

if TYPE_CHECKING:
    from glusterlab.spec.campaign import Campaign
    from glusterlab.spec.cluster import Cluster

WRITTEN = ["tool", "nominal_file_size_bytes", "file_size_bytes", "record_size_bytes", "scale", "length"]
"""What tells two ways to write a file size apart."""

FILE_SIZES_TABLE = [
    *("nominal_file_size_bytes", "label", "use_case", "on_line"),
    *("tool", "file_size_bytes", "record_size_bytes", "scale", "length", "workers", "files_per_worker"),
]
"""Columns of `file_sizes_table`."""


def _range(values: Iterable[int]) -> str:
    """Whole numbers in words.

    Examples
    --------
    >>> _range([48, 1, 12]), _range([48]), _range([])
    ('1 to 48', '48', '')
    """
    found = sorted(set(values))
    return "" if not found else str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def written_sizes(campaign: Campaign, cluster: Cluster | None) -> pd.DataFrame:
    """What the workloads of a campaign write, as its specification says.

    Parameters
    ----------
    campaign : Campaign
    cluster : Cluster or None
        For its scale models.

    Returns
    -------
    pandas.DataFrame
        `WRITTEN`, ``workers`` and ``files_per_worker`` (str, such as ``1 to 96``). Sizes in bytes;
        ``record_size_bytes`` is NaN where it is left to the tool. ``length`` is by how much files are longer or
        shorter than the scale asks for: 1 where they are not, or where the model keeps the size.
    """
    scales = {} if cluster is None else {name: model.scale for name, model in cluster.scale_models.items()}
    workers: dict[tuple[object, ...], set[int]] = {}
    files: dict[tuple[object, ...], set[int]] = {}
    for spec in campaign.workloads:
        for tool in spec.tool:
            for size, nominal in zip(spec.file_size, spec.stands_for or spec.file_size, strict=True):
                for record in spec.record_size or (None,):
                    for model in spec.model or (None,):
                        scale = 1.0 if model is None else float(scales.get(model, math.nan))
                        record_size = None if record is None else float(record)
                        key = (tool, nominal, size, record_size, scale, spec.length if size != nominal else 1.0)
                        workers.setdefault(key, set()).update(spec.workers or campaign.workers)
                        files.setdefault(key, set()).update(spec.files_per_worker or (1,))
    rows = [
        dict(zip(WRITTEN, key, strict=True)) | {"workers": _range(workers[key]), "files_per_worker": _range(files[key])}
        for key in workers
    ]
    table = pd.DataFrame.from_records(rows, columns=[*WRITTEN, "workers", "files_per_worker"])
    return table.astype({"record_size_bytes": float, "scale": float, "length": float})


def file_sizes_table(published: pd.DataFrame, written: pd.DataFrame) -> pd.DataFrame:
    """The file sizes of a study beside what a campaign writes for them.

    Parameters
    ----------
    published : pandas.DataFrame
        From `glusterlab.published.load_file_sizes`.
    written : pandas.DataFrame
        From `written_sizes`.

    Returns
    -------
    pandas.DataFrame
        Columns `FILE_SIZES_TABLE`: each size of the study, and those that only the campaign has (``use_case`` empty),
        with a row for each way in which it is written. ``tool`` is empty and numbers are NaN where the campaign does
        not write it.
    """
    rows: list[dict[str, object]] = []
    known = pd.Series(data=False, index=written.index)
    for size in published.to_dict("records"):
        named = {name: size[name] for name in ("nominal_file_size_bytes", "label", "use_case", "on_line")}
        same = same_size(written["nominal_file_size_bytes"], float(size["nominal_file_size_bytes"]))
        known |= same
        rows += [
            named | {name: row[name] for name in FILE_SIZES_TABLE[4:]} for row in written[same].to_dict("records")
        ] or [named | {"tool": "", "workers": "", "files_per_worker": ""}]
    for row in written[~known].sort_values("nominal_file_size_bytes").to_dict("records"):
        label = format_size(int(row["nominal_file_size_bytes"]))
        rows.append({str(name): row[name] for name in row} | {"label": label, "use_case": "", "on_line": False})
    return pd.DataFrame.from_records(rows, columns=FILE_SIZES_TABLE)
