"""IOzone's outputs from public places: imported, made into tables, and drawn by the notebooks, number for number."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glusterlab import cli
from glusterlab.reproduce.reproduce import reproduce
from glusterlab.run.verify import verify
from glusterlab.tables import build as tables
from glusterlab.units import IOZONE_KB

PROJECT = Path(__file__).parents[2]
SAMPLES = PROJECT.parent / "shared" / "samples" / "iozone"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="../shared/samples is not here")

MAPPING = """\
schema_version: 1
title: IOzone outputs from public places
layouts:
  gluster: {type: distribute, geometry: 2, backing: raid6, disks: 24}
  gpfs: {type: other, backing: gpfs, disks: 12}
  beegfs: {type: other, backing: beegfs, disks: 4}
  xfs: {type: other, backing: xfs, disks: 8}
  nfs: {type: other, backing: nfs}
files:
- {file: iozone-01.txt, layout: gpfs}
- {file: iozone-04.txt, layout: beegfs}
- {file: iozone-07.txt, layout: beegfs}
- {file: iozone-09.txt, layout: nfs, access: nfs, file_size: 1 GiB, record_size: 256 KiB}
- {file: iozone-11.txt, layout: gluster}
- {file: iozone-12.txt, layout: nfs, file_size: 1 GiB, host: 10.0.0.11}
- {file: iozone-16.txt, layout: xfs, access: none, record_size: 1 MiB}
"""
DISKS = {"gluster": 24, "gpfs": 12, "beegfs": 4, "xfs": 8}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the notebooks, and the samples imported as raw/samples."""
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "notebooks", root / "notebooks")
    shutil.copytree(PROJECT / "raw" / "published", root / "raw" / "published")
    shutil.copy(PROJECT / "requirements.lock", root)
    (root / "mapping.yaml").write_text(MAPPING)
    arguments = ["import", str(SAMPLES), "--as", "samples"]
    arguments += ["--map", str(root / "mapping.yaml"), "--raw", str(root / "raw")]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    return root


def expected(number: str) -> dict[str, float]:
    """Throughputs of a sample file by IOzone's own words, in bytes per second."""
    found = json.loads((SAMPLES / f"iozone-{number}.expect.json").read_text())["expected"]
    return {test: value * IOZONE_KB for test, value in found["children"].items()}


def test_the_tables_have_the_files_numbers(project: Path) -> None:
    assert verify(project / "raw" / "samples") == []
    samples = tables.load(project / "raw" / "samples").samples
    found = {
        (row["layout"], row["operation"], int(row["sample"])): row["throughput_bytes_per_s"]
        for row in samples[samples["layout"] != "beegfs"].to_dict("records")
    }
    assert found["gpfs", "write", 1] == pytest.approx(expected("01")["initial writers"])
    assert found["gpfs", "reread", 1] == pytest.approx(expected("01")["re-readers"])
    assert found["gluster", "write", 1] == pytest.approx(expected("11")["initial writers"])
    # two runs of one log are two repeats of one cell, neither merged nor overwritten
    assert [found["nfs", "write", n] for n in (1, 2)] == pytest.approx([4732581.09 * IOZONE_KB, 4342419.12 * IOZONE_KB])
    # operations per second are no bytes
    operations = samples[(samples["layout"] == "beegfs") & (samples["workers"] == 1)]
    assert operations["throughput_bytes_per_s"].isna().all()
    # one host's line, filtered by grep, holds nothing to judge it by
    assert set(samples.loc[samples["status"] != "valid", "reasons"]) == {"tool-incomplete"}
    assert set(samples["origin"]) == {"imported"}


def test_the_notebooks_draw_them(project: Path) -> None:
    summary = reproduce([project / "raw" / "samples"], project=project, notebooks=["10-large-files"])
    assert not summary.failed
    figures = project / "figures" / "samples"
    for suffix in ("svg", "png", "csv"):
        assert (figures / f"fig14-write-by-file-size.{suffix}").stat().st_size > 0
        assert (figures / f"fig11-128gb-per-disk.{suffix}").stat().st_size > 0
    rows = list(csv.DictReader((figures / "fig14-write-by-file-size.csv").read_text().splitlines()))
    drawn = {row["layout"]: float(row["mean"]) for row in rows}
    assert drawn == pytest.approx(
        {
            "gluster": expected("11")["initial writers"] / DISKS["gluster"],
            "gpfs": expected("01")["initial writers"] / DISKS["gpfs"],
            "beegfs": expected("07")["initial writers"] / DISKS["beegfs"],
            "xfs": 837948 * IOZONE_KB / DISKS["xfs"],
        }
    )
    picture = (figures / "fig14-write-by-file-size.svg").read_text()
    assert "imported, conditions not recorded" in picture
    assert "GlusterFS unknown" not in picture
    # what the results do not have is said, and no figure is made of it
    missing = json.loads((figures / "fig12-4gb-per-disk.json").read_text())
    assert missing["reason"].startswith("The campaign has no iozone samples of 4 GB files.")
