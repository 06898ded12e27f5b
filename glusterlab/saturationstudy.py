"""What saturates in a campaign, as its telemetry tells: the guide's three studies, judged and measured.

The section on saturation draws it, and the scorecard holds the guide's statements on subsystems against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glusterlab.analysis.binding import binding_by_cell
from glusterlab.analysis.claims_telemetry import Evidence
from glusterlab.analysis.drilldown import look_into
from glusterlab.analysis.resources import Capacity, capacities, with_operations
from glusterlab.analysis.studies import Chosen, Measured, choose_studies, measure, study_rows
from glusterlab.analysis.subsystems import Judgement, judge
from glusterlab.analysis.thresholds import Thresholds, parse_thresholds
from glusterlab.poolfacts import pool_facts
from glusterlab.units import parse_size

if TYPE_CHECKING:
    import pandas as pd

    from glusterlab.section import Section


@dataclass(frozen=True, slots=True)
class SaturationStudy:
    """The guide's three studies on one campaign.

    Attributes
    ----------
    chosen : list of Chosen
        What stands for each of them.
    rows : pandas.DataFrame
        The samples of all three.
    every : pandas.DataFrame
        These and the one that is looked into.
    looked_into : pandas.DataFrame
        That one; empty where there is none.
    telemetry : pandas.DataFrame
        Of `every`.
    capacity : mapping of str to Capacity
        What each cell's hosts can do, by ``cell_id``.
    levels : Thresholds
    found : Judgement
        Verdicts of each sample.
    binding : pandas.DataFrame
        Those of the cells of `rows`.
    measured : dict of str to Measured
        What figures draw, by the study's slug.
    testbed : bool
        All hosts share one machine.
    """

    chosen: list[Chosen]
    rows: pd.DataFrame
    every: pd.DataFrame
    looked_into: pd.DataFrame
    telemetry: pd.DataFrame
    capacity: Mapping[str, Capacity]
    levels: Thresholds
    found: Judgement
    binding: pd.DataFrame
    measured: dict[str, Measured]
    testbed: bool

    @property
    def evidence(self) -> Evidence:
        """What statements on subsystems are held against."""
        return Evidence(self.measured, self.binding, self.found.subsystems, self.testbed)


def study_saturation(
    section: Section,
    layouts: Sequence[str] = ("", "", ""),
    sizes: Sequence[str] = ("", "", ""),
    thresholds: str = "",
    sample: str = "",
) -> SaturationStudy:
    """Judge and measure a campaign's saturation.

    Parameters
    ----------
    section : Section
    layouts : sequence of str
        Name of a layout for each study, as `glusterlab.analysis.studies.choose_studies` takes them.
    sizes : sequence of str
        Nominal size of the files for each study, such as ``4 GiB``; empty: the guide's.
    thresholds : str
        As `glusterlab.analysis.thresholds.parse_thresholds` takes them.
    sample : str
        One to look into, as `glusterlab.analysis.drilldown.look_into` takes it.

    Raises
    ------
    UsageError
        When a threshold, a size or a sample is not understood.
    DataError
        When the campaign has no such layout.
    RawStoreError
        When environment.json is damaged.
    """
    levels = parse_thresholds(thresholds)
    chosen = choose_studies(section.samples, layouts, [parse_size(size) if size else None for size in sizes])
    rows = study_rows(chosen)
    every, looked_into = look_into(section.samples, rows, sample)
    facts = pool_facts(section.raw, every)
    limits = with_operations(section.limits(every), every, section.cluster, facts)
    capacity = capacities(every, section.cluster, limits, facts)
    telemetry = section.telemetry_of(every)
    found = judge(telemetry, every, capacity, levels)
    testbed = section.provenance.testbed
    measured = {
        one.study.slug: measure(
            one,
            telemetry,
            limits,
            cluster=section.cluster,
            campaign=section.campaign,
            published=section.published,
            testbed=testbed,
        )
        for one in chosen
    }
    return SaturationStudy(
        chosen=chosen,
        rows=rows,
        every=every,
        looked_into=looked_into,
        telemetry=telemetry,
        capacity=capacity,
        levels=levels,
        found=found,
        binding=binding_by_cell(found.verdicts, rows),
        measured=measured,
        testbed=testbed,
    )
