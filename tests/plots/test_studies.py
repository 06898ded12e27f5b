"""The figures of a study: the guide's numbers, and every one of them can be drawn."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from glusterlab.analysis import Limits
from glusterlab.analysis.studies import Measured, choose_studies, measure
from glusterlab.analysis.subsystems import USE_COLUMNS
from glusterlab.outputs import OutputName
from glusterlab.plots.studies import disk_groups, study_figures
from glusterlab.plots.style import Provenance

from ..guide_pools import NUMBERS, pools
from .test_figures import assert_inside_page, words

Make = Callable[..., pd.DataFrame]
TESTBED = Provenance("synthetic", "10.3", "0123456789abcdef", testbed=True)
COUNTS = (1, 6, 12, 24)
SMALL = {"create": {"replicate": 2.0}, "read": {"replicate": 3.0}}


@pytest.fixture
def studies(make_telemetry: Make) -> list[Measured]:
    rows = [pools(workers=count) for count in COUNTS]
    rows += [pools(SMALL, tool="smallfile", nominal=32 << 10, scale=20, workers=count) for count in COUNTS]
    found = []
    for chosen in choose_studies(pd.concat(rows, ignore_index=True)):
        limits = {
            str(cell): Limits(300.0, 200.0, 125.0, 150.0, "", None, None, 60.0, 90.0) for cell in chosen.rows["cell_id"]
        }
        telemetry = make_telemetry(chosen.rows)
        found.append(measure(chosen, telemetry, limits, cluster=None, campaign=None, published=NUMBERS, testbed=True))
    return found


def use_of(measured: Measured) -> pd.DataFrame:
    """Disks of every sample of a study at half their rate."""
    rows = measured.chosen.rows[["cell_id", "sample"]]
    return rows.assign(
        family="disks",
        subsystem="server disks",
        role="server",
        host="s1",
        device="loop0",
        by="bytes",
        threshold=0.9,
        mean=0.5,
        peak=0.7,
        over=0.1,
    )[USE_COLUMNS]


def test_a_study_has_the_guides_five_figures_and_one_of_use(studies: list[Measured]) -> None:
    numbers = []
    for measured in studies:
        figures = study_figures(measured, use_of(measured), testbed=True)
        parsed = [OutputName.require(figure["name"], "fig", "extra") for figure in figures]
        numbers += [name.number for name in parsed if name.number]
        assert parsed[-1].slug == f"use-{measured.chosen.study.slug}"
    assert numbers == list(range(40, 55))


def test_every_figure_can_be_drawn_and_says_what_stands_for_what(studies: list[Measured]) -> None:
    small = studies[2]
    for given in study_figures(small, use_of(small), testbed=True):
        given = dict(given)
        draw, table, title = given.pop("draw"), given.pop("table"), given.pop("title")
        assert "in its place replicate 3x2, RAID 6" in given["caption"]
        for name in ("name", "caption", "missing"):
            del given[name]
        figure = draw(table, TESTBED, title=title, **given)
        assert "in its place replicate 3x2, RAID 6." in words(figure)
        assert "32 KiB files, replicate 3x2, RAID 6" in words(figure)
        assert_inside_page(figure)


def test_operations_of_disks_have_the_limit_of_their_direction(studies: list[Measured]) -> None:
    small = studies[2]
    given = next(each for each in study_figures(small, use_of(small), testbed=True) if "disks" in each["name"])
    figure = given["draw"](
        given["table"], TESTBED, title="F54", panels=given["panels"], limits=given["limits"], note=given["note"]
    )
    told = words(figure)
    assert "limit 60" in told
    assert "limit 90" in told
    assert "server disks,\noperations/s\nper server" in told


def test_use_is_shown_where_curves_end(studies: list[Measured]) -> None:
    figures = study_figures(studies[0], use_of(studies[0]), testbed=True)
    assert set(figures[-1]["table"]["workers"]) == {max(COUNTS)}


def test_what_is_not_measured_has_its_reason(studies: list[Measured], make_telemetry: Make) -> None:
    (nothing, *_) = choose_studies(pools().iloc[:0])
    telemetry = make_telemetry(studies[0].chosen.rows).iloc[:0]
    empty = measure(nothing, telemetry, {}, cluster=None, campaign=None, published=NUMBERS, testbed=True)
    for figure in study_figures(empty, use_of(studies[0]), testbed=True):
        assert figure["table"].empty
        assert figure["missing"] == "The campaign has no valid iozone sample on a replicated volume."
        assert "128 GB files, replicate 6x2, RAID 6" in figure["title"]


def test_samples_on_the_same_disks_are_looked_at_together(studies: list[Measured]) -> None:
    groups = disk_groups(studies)
    assert [(slug, backing) for slug, backing, _ in groups] == [
        ("large-replicate", "raid6-dense"),
        ("large-disperse", "jbod-dense"),
        ("small-replicate", "raid6"),
    ]
    shared = disk_groups([studies[0], studies[0]])
    assert [(slug, len(rows)) for slug, _, rows in shared] == [("large-replicate", 2 * len(studies[0].chosen.rows))]
