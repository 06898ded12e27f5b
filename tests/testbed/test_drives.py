"""The figures of the disks with a head: each has its source, and together they can be one drive."""

from dataclasses import asdict

import pytest

from glusterlab.testbed import drives, options


@pytest.mark.parametrize("figures", [drives.DRIVE, drives.ARRAY, drives.HOST])
def test_every_figure_names_its_source(figures: dict[str, drives.Figure]) -> None:
    for name, figure in figures.items():
        assert len(figure.source) > 5, name
        assert figure.value >= 0, name


def test_figures_are_those_of_the_model_and_of_appendix_a() -> None:
    drive, array = drives.ST6000NM0034, drives.RAID6
    assert asdict(drive) == {name: figure.value for name, figure in drives.DRIVE.items()}
    assert drive.inner_bytes_per_s < drive.outer_bytes_per_s
    for kind in ("read", "write"):
        points = [getattr(drive, f"{kind}_seek_{length}_s") for length in ("track", "average", "full")]
        assert points == sorted(points)
    measured = options.HARDWARE["array"]
    assert (array.read_bytes_per_s, array.write_bytes_per_s) == (measured.read_bytes_per_s, measured.write_bytes_per_s)
    assert array.disks == options.ARRAY_DISKS
    assert "ST6000NM0034" in str(options.SERVER_MODELS["standard"]["disk_model"])
