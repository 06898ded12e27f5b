"""The matrix: a campaign's lists multiplied out into layouts and cells."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

from .campaign import Campaign, Where, WorkloadSpec
from .cell import Cell, Layout, parse_geometry
from .cluster import REAL_HARDWARE, Cluster, ScaleModel


def expand_layouts(campaign: Campaign) -> list[tuple[str, Layout]]:
    """Layouts of a campaign, with the lists in them multiplied out.

    Returns
    -------
    list of (str, Layout)
        The name of the entry in the file, and the layout. What varies within an entry stands in the layout's own
        name: ``mirror-6x2``, ``mirror-6x2-lookup-optimize-on``.
    """
    layouts: list[tuple[str, Layout]] = []
    for spec in campaign.layouts:
        names = sorted(spec.options)
        for geometry, backing, *values in itertools.product(
            spec.geometry, spec.backing, *(spec.options[name] for name in names)
        ):
            parts = [spec.name]
            if len(spec.geometry) > 1:
                parts.append(geometry)
            if len(spec.backing) > 1:
                parts.append(backing)
            for name, value in zip(names, values, strict=True):
                if len(spec.options[name]) > 1:
                    parts.append(f"{name.rpartition('.')[2]}-{value}")
            label = re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join(parts)).strip("-")
            layout = Layout(
                name=label[:60].rstrip("-"),
                type=spec.type,
                **parse_geometry(spec.type, geometry),
                backing=backing,
                options=tuple(zip(names, values, strict=True)),
            )
            layouts.append((spec.name, layout))
    return layouts


def count_points(campaign: Campaign) -> int:
    """Points of the matrix, before duplicates are merged and exclusions taken out."""
    layouts = sum(
        len(spec.geometry) * len(spec.backing) * math.prod(len(values) for values in spec.options.values())
        for spec in campaign.layouts
    )
    workloads = sum(
        math.prod(len(axis) for axis in (spec.tool, spec.operations, spec.file_size))
        * math.prod(len(axis or (None,)) for axis in (spec.record_size, spec.files_per_worker, spec.model))
        * len(spec.workers or campaign.workers)
        for spec in campaign.workloads
    )
    return layouts * len(campaign.access) * workloads


def expand(campaign: Campaign, cluster: Cluster | None = None) -> list[tuple[Cell, str | None, float]]:
    """Cells of a campaign in the order of the file, each once.

    Parameters
    ----------
    campaign : Campaign
    cluster : Cluster, optional
        Gives the scale models their scale. Without it every scale is 1, and ids are not those of a run.

    Returns
    -------
    list of (Cell, str or None, float)
        The cell, the reason of the exclusion that leaves it out, and how long its files are to be, see `WorkloadSpec`.
    """
    found: dict[str, tuple[Cell, str | None, float]] = {}
    for family, layout in expand_layouts(campaign):
        for spec in campaign.workloads:
            for cell in _cells(campaign, layout, spec, cluster):
                found.setdefault(cell.id, (cell, _exclusion(campaign, family, cell), spec.length))
    return list(found.values())


def _cells(campaign: Campaign, layout: Layout, spec: WorkloadSpec, cluster: Cluster | None) -> Iterator[Cell]:
    nominal = spec.stands_for or spec.file_size
    for access, tool, operation, (size, stands_for), record, files, model, workers in itertools.product(
        campaign.access,
        spec.tool,
        spec.operations,
        zip(spec.file_size, nominal, strict=True),
        spec.record_size or (None,),
        spec.files_per_worker or (1,),
        spec.model or (None,),
        spec.workers or campaign.workers,
    ):
        yield Cell(
            layout=layout,
            access=access,
            tool=tool,
            operation=operation,
            file_size_bytes=size,
            nominal_file_size_bytes=stands_for,
            record_size_bytes=record,
            files_per_worker=files,
            workers=workers,
            model=_scale_model(model, cluster),
            options=spec.options,
        )


def _scale_model(name: str | None, cluster: Cluster | None) -> ScaleModel:
    if name is None:
        return REAL_HARDWARE
    if cluster is not None and name in cluster.scale_models:
        return cluster.scale_model(name)
    return ScaleModel(name=name)


def _exclusion(campaign: Campaign, family: str, cell: Cell) -> str | None:
    for exclusion in campaign.exclude:
        if matches(exclusion.where, family, cell):
            return exclusion.reason
    return None


def matches(where: Where, family: str, cell: Cell) -> bool:
    """Whether every key that is given has the cell's value among its own.

    Parameters
    ----------
    family : str
        Name of the entry of ``layouts`` that the cell's layout comes from: ``layout`` may name it or the layout.
    """
    layout = cell.layout
    values: dict[str, set[object]] = {
        "layout": {family, layout.name},
        "type": {layout.type},
        "geometry": {layout.geometry},
        "backing": {layout.backing},
        "access": {cell.access},
        "tool": {cell.tool},
        "operation": {cell.operation},
        "file_size": {cell.file_size_bytes, cell.nominal_file_size_bytes},
        "record_size": {cell.record_size_bytes},
        "files_per_worker": {cell.files_per_worker},
        "workers": {cell.workers},
        "model": {cell.model.name},
    }
    return all(wanted is None or values[key] & set(wanted) for key, wanted in where)
