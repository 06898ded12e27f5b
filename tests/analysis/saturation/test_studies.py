"""The three studies of the guide's appendix B: which samples stand for them, and what their figures draw."""

import pandas as pd
import pytest

from glusterlab.analysis.saturation.resources import Limits
from glusterlab.analysis.saturation.studies import Chosen, Measured, by_unit, choose_studies, measure
from glusterlab.analysis.scaling_table import DRAWN
from glusterlab.errors import DataError
from tests.conftest import build_samples, build_telemetry
from tests.guide_pools import NUMBERS, STUDIES, pools

COUNTS = (1, 6, 12, 24)


def guide() -> pd.DataFrame:
    """128 GiB and 32 KiB files on all layouts of the guide, over workers."""
    small = {"create": {"replicate-dense": 2.0, "replicate": 1.0}, "read": {"replicate-dense": 4.0, "replicate": 3.0}}
    rows = [pools(workers=count, nominal=128 << 30) for count in COUNTS]
    rows += [pools(small, tool="smallfile", nominal=32 << 10, scale=20, workers=count) for count in COUNTS]
    return pd.concat(rows, ignore_index=True)


def test_the_guides_layouts_and_sizes_are_taken_where_they_are() -> None:
    found = choose_studies(guide(), STUDIES)
    assert [(study.study.names[0], study.words, study.missing) for study in found] == [
        ("fig40", "128 GiB files, replicate 6x2, RAID 6", ""),
        ("fig45", "128 GiB files, disperse 24x(4+2), JBOD", ""),
        ("fig50", "32 KiB files, replicate 6x2, RAID 6", ""),
    ]
    assert found[2].note == "Drawn here: files of 32 KiB.\nThe guide: 32 KB files on replicate 6x2, RAID 6."
    assert set(found[2].rows["tool"]) == {"smallfile"}
    assert sum(len(each.rows) for each in found) == 3 * 2 * len(COUNTS) * 3


def test_another_layout_of_the_type_and_the_nearest_size_stand_in_and_it_is_said() -> None:
    samples = build_samples({(kind, "write", count): [1.0] for kind in ("replicate", "disperse") for count in COUNTS})
    large, disperse, small = choose_studies(samples, STUDIES)
    assert large.words == "4 GiB files, replicate 3x2, RAID 6"
    assert large.note.splitlines() == [
        "Drawn here: files of 4 GiB, the nearest to 128 GiB that was measured.",
        "The guide: 128 GB files on replicate 6x2, RAID 6. Not measured here; in its place replicate 3x2, RAID 6.",
    ]
    assert disperse.note.endswith("Not measured here; in its place disperse 12x(4+2), JBOD.")
    assert small.rows.empty
    assert small.words == "32 KB files, replicate 6x2, RAID 6"
    nor = "nor of another size by 3 worker counts or more"
    assert small.missing == f"The campaign has no valid sample of 32 KiB files on a replicated volume, {nor}."
    assert [one.stands_in for one in (large, disperse, small)] == [True, True, False]
    assert not any(one.stands_in for one in choose_studies(guide(), STUDIES))
    other = guide()
    other["nominal_file_size_bytes"] = other["nominal_file_size_bytes"].where(other["tool"] == "iozone", 4 << 20)
    assert choose_studies(other, STUDIES)[2].stands_in
    # one worker count is no curve of another size
    assert choose_studies(other[other["workers"] == COUNTS[-1]], STUDIES)[2].rows.empty


def test_a_backing_like_the_guides_goes_before_another() -> None:
    samples = guide()
    dense = samples["layout"] == "disperse-24x6-jbod-dense"
    last = samples["layout"].astype(str).replace("disperse-12x6-jbod", "last-by-name")
    (_, disperse, _) = choose_studies(samples.assign(layout=last)[~dense], STUDIES)
    assert set(disperse.rows["layout"]) == {"last-by-name"}
    (_, disperse, _) = choose_studies(samples[samples["kind"] != "jbod"], STUDIES)
    assert set(disperse.rows["type"]) == {"disperse"}


def test_parameters_choose_layouts_and_sizes() -> None:
    samples = guide()
    large, disperse, small = choose_studies(
        samples, STUDIES, ["replicate-3x2-raid6", " ", "replicate-3x2-raid6"], [4 << 30, None, None]
    )
    assert set(large.rows["layout"]) == {"replicate-3x2-raid6"}
    assert large.note.endswith("In its place replicate 3x2, RAID 6, as requested.")
    assert large.note.startswith("Drawn here: files of 128 GiB, the nearest to 4 GiB that was measured.")
    assert set(disperse.rows["layout"]) == {"disperse-24x6-jbod-dense"}
    assert set(small.rows["layout"]) == {"replicate-3x2-raid6"}
    with pytest.raises(DataError, match=r"expected layouts among .*; found tape"):
        choose_studies(samples, STUDIES, ["tape", "", ""])
    only = samples[samples["tool"] == "iozone"]
    (*_, small) = choose_studies(only, STUDIES, ["", "", "replicate-3x2-raid6"])
    assert small.missing.startswith(
        "The campaign has no valid sample of 32 KiB files on the layout replicate-3x2-raid6, nor"
    )


def measured(chosen: Chosen, telemetry: pd.DataFrame, limits: dict[str, Limits] | None = None) -> Measured:
    return measure(chosen, telemetry, limits or {}, cluster=None, campaign=None, published=NUMBERS, testbed=True)


def test_nothing_stands_for_a_study_of_an_empty_campaign() -> None:
    found = choose_studies(guide().iloc[:0], STUDIES)
    assert [study.rows.empty for study in found] == [True] * 3
    for study in found:
        one = measured(study, build_telemetry(guide().iloc[:1]).iloc[:0])
        assert (one.throughput.empty, one.subsystems.empty, one.fits.empty) == (True, True, True)


def test_throughput_has_its_fit_and_subsystems_their_means() -> None:
    (chosen, *_) = choose_studies(guide(), STUDIES)
    limits = {str(cell): Limits(300.0, 200.0, 125.0, 150.0) for cell in chosen.rows["cell_id"]}
    found = measured(chosen, build_telemetry(chosen.rows), limits)
    assert set(DRAWN) <= set(found.throughput)
    assert len(found.throughput) == 2 * len(COUNTS)
    assert set(found.fits["operation"]) == {"write", "read"}
    assert set(found.subsystems["quantity"]) >= {"cpu_busy_fraction", "disk_operations_per_s"}
    assert found.limits == limits


def test_studies_of_one_unit_share_a_figure_of_the_law() -> None:
    chosen = choose_studies(guide(), STUDIES)
    bytes_, files = by_unit([measured(each, build_telemetry(each.rows)) for each in chosen])
    assert (bytes_[:3], files[:3]) == (("bytes", "MB/s", 1e-6), ("files", "files/s", 1.0))
    assert (len(bytes_[3]), len(files[3])) == (4 * len(COUNTS), 2 * len(COUNTS))
    assert [len(fits.drop_duplicates(["series", "operation"])) for *_, fits in (bytes_, files)] == [4, 2]
    assert not set(DRAWN) & set(bytes_[3])
