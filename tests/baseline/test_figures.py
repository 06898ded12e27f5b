"""Figures take their limits from a baseline, where there is one, and say so."""

from pathlib import Path

import pandas as pd
import pytest

from glusterlab.analysis import select
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.analysis.saturation.usage import telemetry_by_cell
from glusterlab.plots.saturation import DISKS, draw_usage, memory_panels, panel_rows
from glusterlab.plots.style import Provenance
from glusterlab.sections.baseline import Baseline
from glusterlab.sections.section import Section
from tests.baseline.bench import make_cluster
from tests.conftest import build_samples, build_telemetry
from tests.plots.drawing import drawn, words

MEASURED = Limits(300e6, 200e6, 90e6, 95e6, source="pool-baseline")


class OneModel(Baseline):
    """Knows the limits under one scale model."""

    def limits(self, backing: str, scale: float, *, operations_limited: bool) -> Limits | None:
        return MEASURED if (backing, scale, operations_limited) == ("raid6", 200.0, False) else None


def test_what_was_measured_goes_before_what_the_cluster_file_states(tmp_path: Path) -> None:
    section = Section(
        tables=None,  # type: ignore[arg-type]  # nothing here reads them
        published=pd.DataFrame(),
        cluster=make_cluster(),
        provenance=Provenance(campaign="synthetic", release="10.3", digest="0" * 64, testbed=False),
        folder=tmp_path,
        formats=("csv",),
        baseline=OneModel(tmp_path / "pool-baseline"),
    )
    rows = build_samples({(type_, "write", 12): [18e6, 19e6, 20e6] for type_ in ("replicate", "disperse")})
    found = section.limits(rows)
    backing = rows.drop_duplicates("cell_id").set_index("cell_id")["backing"]
    assert {found[cell].source for cell in backing[backing == "raid6"].index} == {"pool-baseline"}
    stated = [found[cell] for cell in backing[backing == "jbod"].index]
    assert stated == [Limits(2.5e9 / 200, 1.25e9 / 200, 2 * 205e6 / 200, 2 * 212e6 / 200)]
    other_model = section.limits(rows.assign(scale=100))
    assert {limits.source for limits in other_model.values()} == {""}


@pytest.mark.parametrize("source", ["pool-baseline", ""])
def test_a_figure_with_limits_says_which_they_are(source: str) -> None:
    rows = select(build_samples({("replicate", "write", 12): [18e6, 19e6, 20e6]}), tool="iozone")
    summary = telemetry_by_cell(build_telemetry(rows), rows)
    limits = dict.fromkeys(rows["cell_id"], Limits(300e6, 200e6, 90e6, 95e6, source=source))
    sentence = "Limits as measured by the baseline pool-baseline, links at least as cluster.yaml states them."
    for panels, limited in ((DISKS, True), (memory_panels(testbed=False), False)):
        figure = drawn(draw_usage, panel_rows(summary, panels), panels, limits)
        assert (sentence in words(figure)) == (limited and bool(source))
