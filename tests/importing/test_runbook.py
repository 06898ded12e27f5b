"""The example of the runbook is a mapping, and does with a folder what its comments say."""

import json
from pathlib import Path

from glusterlab.run.verify import verify
from glusterlab.store.campaign import RawStore
from tests.importing.conftest import SAR, Put, line, run
from tests.importing.test_plan import volume_info

EC_INFO = """\
Volume Name: gv1
Type: Distributed-Disperse
Status: Started
Number of Bricks: 12 x (4 + 2) = 72
Bricks:
""" + "".join(f"Brick{n}: server{1 + n % 6:02d}:/bricks/d{n:02d}/b\n" for n in range(1, 73))
"""Hand-made after the documented format."""

RUNBOOK = Path(__file__).parents[2] / "runbooks" / "import"


def test_the_example_imports_what_it_describes(project: Path, put: Put) -> None:
    size = 4 << 30
    for layout in ("mirror", "ec"):
        for repeat in (1, 2, 3):
            put(f"{layout}/12w/seqwr-4g.run{repeat}.txt", line(workers=12, size=None, rate=float(repeat)))
        put(f"{layout}/12w/sar-server01.txt", SAR)
    put("baseline/write-1.txt", line(size=size))
    put("night.log", line("read", size=size), line("read", size=size, run=2))
    put("grep.txt", line("read", workers=None, size=None, valid="unknown"))
    put("mirror/volume-info.txt", volume_info(gv0=3))
    put("pool-info.txt", volume_info(gv0=2, gv2=3), EC_INFO)
    put("README.txt", "notes")
    result = run("--map", str(RUNBOOK / "mapping.yaml"))
    assert result.exit_code == 0, result.stderr
    assert "not mapped: README.txt: fits no pattern" in result.stdout
    mine = project / "raw" / "mine"
    assert verify(mine) == []
    store = RawStore.open(mine)
    cells = store.cells()
    found = sorted((cells[sample.cell_id].slug, sample.repeat, sample.status) for sample in store.samples())
    mirror, ec = "4gib-replicate-3x2-raid6-native", "4gib-disperse-12x4+2-jbod-native"
    expected = [
        (f"tally-read-{ec}-w12", 1, "valid"),
        (f"tally-read-{ec}-w4", 1, "valid"),
        (f"tally-read-{mirror}-w4", 1, "valid"),
        ("tally-write-4gib-other-1-xfs-none-w4", 1, "valid"),
        *((f"tally-write-{ec}-w12", repeat, "valid") for repeat in (1, 2, 3)),
        *((f"tally-write-{mirror}-w12", repeat, "valid") for repeat in (1, 2, 3)),
    ]
    assert found == sorted(expected)
    for sample in store.samples():
        files = {path.relative_to(sample.path).as_posix() for path in sample.path.rglob("*/*.txt")}
        assert ("telemetry/server01.txt" in files) == (cells[sample.cell_id].workers == 12)
        assert ("gluster/pool-info.txt" in files) == (cells[sample.cell_id].layout.name == "ec")
        assert ("gluster/volume-info.txt" in files) == (cells[sample.cell_id].layout.name == "mirror")
    taken = json.loads((next(mine.glob(f"cells/tally-read-{ec}-w12-*")) / "sample-01" / "import.json").read_text())
    assert taken["accept_unjudged"] is True


def test_the_text_names_every_field_and_option() -> None:
    from glusterlab.importing.mapping import FIELDS

    text = (RUNBOOK / "README.md").read_text()
    assert [field for field in FIELDS if f"`{field}`" not in text] == []
    assert all(f"`{name}`" in text for name in ("operation", "host", "job", "run", "repeat", "volume"))
    assert all(option in text for option in ("--dry-run", "--default", "--skip-bad", "--map", "--pattern", "--as"))
