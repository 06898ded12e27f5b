"""What saturates in a campaign, as its telemetry tells: the curves of its study, judged and measured."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from glusterlab.analysis.claims.telemetry import Evidence
from glusterlab.analysis.saturation.drilldown import inspect_sample
from glusterlab.analysis.saturation.resources import Capacity, Limits, Operations, capacities, with_operations
from glusterlab.analysis.saturation.studies import Chosen, Measured, choose_studies, measure, studies_of
from glusterlab.analysis.saturation.summary import binding_by_cell
from glusterlab.analysis.saturation.thresholds import Thresholds, parse_thresholds
from glusterlab.analysis.saturation.verdict import Judgement, judge
from glusterlab.errors import RawStoreError
from glusterlab.rawfile import read_raw
from glusterlab.sections.section import Section
from glusterlab.store.campaign import RawStore
from glusterlab.store.evidence import opened
from glusterlab.units import parse_size


@dataclass(frozen=True, slots=True)
class SaturationStudy:
    """What saturates in a campaign, by the curves that its study names."""

    chosen: list[Chosen]
    rows: pd.DataFrame  # samples of the curves
    every: pd.DataFrame  # these and the one that is inspected
    inspected: pd.DataFrame  # over time
    telemetry: pd.DataFrame  # of `every`, as are `capacity` (by cell) and `found`
    capacity: Mapping[str, Capacity]
    levels: Thresholds
    found: Judgement
    binding: pd.DataFrame  # of the cells of `rows`
    measured: dict[str, Measured]  # by the slug of the curves
    testbed: bool
    called: str

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.measured, self.binding, self.found.subsystems, self.testbed, self.called)


def study_saturation(
    section: Section, layouts: Sequence[str] = (), sizes: Sequence[str] = (), thresholds: str = "", sample: str = ""
) -> SaturationStudy:
    """Judge and measure saturation; layouts and sizes are one for each of the study's curves (empty: its own)."""
    levels, testbed = parse_thresholds(thresholds), section.provenance.testbed
    nominal = [parse_size(size) if size else None for size in sizes]
    chosen = choose_studies(section.samples, studies_of(section.study), layouts, nominal)
    rows = section.samples.iloc[:0].assign(series="")
    if chosen:
        rows = pd.concat([one.rows for one in chosen], ignore_index=True)
    every, inspected = inspect_sample(section.samples, rows, sample)
    limits, capacity = limits_of(section, every), capacity_of(section, every)
    telemetry = section.telemetry_of(every)
    found = judge(telemetry, every, capacity, levels)
    of = (section.cluster, section.campaign, section.published)
    measured = {one.study.slug: measure(one, telemetry, limits, *of, testbed=testbed) for one in chosen}
    return SaturationStudy(
        chosen=chosen,
        rows=rows,
        every=every,
        inspected=inspected,
        telemetry=telemetry,
        capacity=capacity,
        levels=levels,
        found=found,
        binding=binding_by_cell(found.verdicts, rows),
        measured=measured,
        testbed=testbed,
        called=section.study.called,
    )


def limits_of(section: Section, samples: pd.DataFrame) -> Mapping[str, Limits]:
    """What the hardware under each cell can do, with the operations of a scale model that limits them."""
    operations = operations_by_cell(section.raw, samples)
    return with_operations(section.limits(samples), samples, section.cluster, operations)


def capacity_of(section: Section, samples: pd.DataFrame) -> Mapping[str, Capacity]:
    """What each host of a cell can do, of every subsystem that is judged."""
    operations, limits = operations_by_cell(section.raw, samples), limits_of(section, samples)
    return capacities(samples, section.cluster, limits, memory_by_host(section.raw), operations)


def memory_by_host(raw: Path) -> dict[int, dict[str, float]]:
    """Bytes of memory by the machine that measured, of the hosts whose facts have them as a number above 0."""
    found: dict[int, dict[str, float]] = {}
    for machine, environment in RawStore(raw).environments().items():
        hosts = environment.get("hosts")
        facts = hosts.items() if isinstance(hosts, dict) else ()
        known: dict[str, Any] = {str(host): of.get("memory_bytes") for host, of in facts if isinstance(of, dict)}
        found[machine] = {host: value for host, value in known.items() if type(value) in (int, float) and value > 0}
    return found


def operations_by_cell(raw: Path, samples: pd.DataFrame) -> dict[str, Operations]:
    """Operations of one brick, of cells whose scale model limits them; absent where no file of the cell has them."""
    # kinds of backings whose bricks are arrays, which have a limit of their own in a scale model
    arrays = ("raid6", "raid0", "raid10")
    found: dict[str, Operations] = {}
    for row in samples[samples["operations_limited"].astype(bool)].to_dict("records"):
        cell, device = str(row["cell_id"]), "array" if row["kind"] in arrays else "disk"
        file = raw / "cells" / cell / f"sample-{int(row['sample']):02d}" / "workload" / "throttle.json"
        if cell in found:
            continue
        try:
            with opened(file) as plain:
                rates = json.loads(read_raw(plain))[device]
            operations = Operations(float(rates["riops"]), float(rates["wiops"]))
        except (OSError, RawStoreError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if operations.read > 0 and operations.write > 0:
            found[cell] = operations
    return found
