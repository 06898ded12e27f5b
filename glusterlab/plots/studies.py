"""The figures of one study of the guide's appendix B, as what `glusterlab.section.Section.show` takes."""

from __future__ import annotations

from typing import Any

import pandas as pd

from glusterlab.analysis.scaling_table import scaling_curves, scaling_words
from glusterlab.analysis.studies import Measured
from glusterlab.analysis.use_tables import use_by_resource
from glusterlab.plots.by_workers_limits import workers_and_limits_figure
from glusterlab.plots.saturation import (
    DISKS,
    NETWORK,
    Panel,
    cpu_panels,
    memory_panels,
    panel_rows,
    saturation_figure,
)
from glusterlab.plots.subsystems import use_figure

_APART = "Mean over hosts and the measured part of each sample, servers and clients apart."
_ADDED_UP = "CPU: the use of all hosts added up, a lower bound."


def study_figures(measured: Measured, use: pd.DataFrame, *, testbed: bool) -> list[dict[str, Any]]:
    """The five figures of a study by workers, and one of the use of every host and disk where the curves end.

    Parameters
    ----------
    measured : Measured
    use : pandas.DataFrame
        `glusterlab.analysis.subsystems.Judgement.use`, of its samples or of more.
    testbed : bool
        All hosts share one machine.

    Returns
    -------
    list of dict
        Arguments of `glusterlab.section.Section.show`.
    """
    chosen = measured.chosen
    study, note = chosen.study, chosen.note
    # F40, F45 and F50 have the curves that the others explain
    parts: list[tuple[str, str, tuple[Panel, ...], str]] = [
        ("network", "Network", NETWORK, ""),
        ("cpu-and-load", "CPU and load", cpu_panels(testbed=testbed), _ADDED_UP if testbed else ""),
        ("memory-and-blocked", "Memory and blocked processes", memory_panels(testbed=testbed), ""),
        ("disks", "Server disks", DISKS, ""),
    ]
    figures = [_throughput(measured)]
    figures += [
        {
            "name": f"fig{study.first + number}-{study.slug}-{slug}",
            "table": panel_rows(measured.subsystems, panels),
            "draw": saturation_figure,
            "title": f"{title}, {chosen.words}",
            "caption": _joined(f"{title} by workers.", _APART, more, note),
            "missing": chosen.missing or f"The campaign has no telemetry of it in the measured part, {chosen.words}.",
            "panels": panels,
            "limits": dict(measured.limits),
            "note": note,
        }
        for number, (slug, title, panels, more) in enumerate(parts, start=1)
    ]
    most = chosen.rows.groupby(["operation", "series"], observed=True)["workers"].transform("max")
    rows = chosen.rows[chosen.rows["workers"] == most]
    figures.append(
        {
            "name": f"extra-use-{study.slug}",
            "table": use_by_resource(use, rows),
            "draw": use_figure,
            "title": f"Use of every host and disk, {chosen.words}",
            "caption": _joined("At the most workers that were measured, over the measured part.", note),
            "missing": chosen.missing or f"No limit is known of what telemetry shows, {chosen.words}.",
            "note": note,
        }
    )
    return figures


def _joined(*parts: str) -> str:
    return " ".join(" ".join(part.splitlines()) for part in parts if part)


def _throughput(measured: Measured) -> dict[str, Any]:
    chosen = measured.chosen
    study = chosen.study
    law = scaling_words(measured.fits, study.factor, study.unit)
    return {
        "name": f"fig{study.first}-{study.slug}-throughput",
        "table": measured.throughput,
        "draw": workers_and_limits_figure,
        "title": f"Throughput by workers, {chosen.words}",
        "caption": _joined("Throughput of all workers together, and what links and disks allow.", law, chosen.note),
        "missing": chosen.missing,
        "note": chosen.note,
        "curves": measured.bounds,
        "fits": scaling_curves(measured.fits),
        "unit": study.unit,
        "factor": study.factor,
    }


def disk_groups(studies: list[Measured]) -> list[tuple[str, str, pd.DataFrame]]:
    """Samples that use the same disks, for figures of disks.

    Parameters
    ----------
    studies : list of Measured

    Returns
    -------
    list of (str, str, pandas.DataFrame)
        Slug and backing of the first study on these disks, and the samples of all studies on them.
    """
    rows = pd.concat([study.chosen.rows for study in studies], ignore_index=True)
    found = []
    seen: set[str] = set()
    for study in studies:
        for backing in study.chosen.rows["backing"].astype(str).unique():
            if backing not in seen:
                seen.add(backing)
                found.append((study.chosen.study.slug, backing, rows[rows["backing"].astype(str) == backing]))
    return found
