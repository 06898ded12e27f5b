"""The figures of the disks with a head: each has its source, and together they can be one drive."""

from dataclasses import fields
from typing import get_args

import pytest

from glusterlab.testbed import drives, options


@pytest.mark.parametrize("model", [drives.ST6000NM0034, drives.RAID6, drives.HOST])
def test_every_figure_names_its_source(model: drives.Drive | drives.Array | drives.Host) -> None:
    for figure in fields(model):
        assert len(figure.metadata["source"]) > 5, figure.name
        assert figure.metadata["basis"] in get_args(drives.Basis), figure.name
        assert getattr(model, figure.name) >= 0, figure.name


def test_figures_are_those_of_the_model_and_of_appendix_a() -> None:
    drive, array = drives.ST6000NM0034, drives.RAID6
    assert drive.inner_bytes_per_s < drive.outer_bytes_per_s
    for kind in ("read", "write"):
        points = [getattr(drive, f"{kind}_seek_{length}_s") for length in ("track", "average", "full")]
        assert points == sorted(points)
    measured = options.HARDWARE["array"]
    assert (array.read_bytes_per_s, array.write_bytes_per_s) == (measured.read_bytes_per_s, measured.write_bytes_per_s)
    assert array.disks == options.ARRAY_DISKS
    assert "ST6000NM0034" in str(options.SERVER_MODELS["standard"]["disk_model"])
