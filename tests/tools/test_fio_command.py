"""fio's command on several mounts and without any, and what it says when it cannot begin."""

import re
import shlex
from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools.fio import FIO
from glusterlab.tools.iozone import IOZONE
from glusterlab.tools.smallfile import SMALLFILE
from tests.tools.jobs import make_cell, make_job

MOUNTS = {"mount_point": "/mnt/gl/vol", "further_mounts": ("/mnt/gl/vol.2",), "volume": "vol", "server": "10.0.0.1"}


def words(text: str) -> list[str]:
    """All words of a script, of those within words, too."""
    found = shlex.split(text, comments=False) if re.search(r"\s", text) else [text]
    return found if found == [text] else [word for each in found for word in words(each)]


def test_workers_are_spread_over_clients_and_then_over_mounts() -> None:
    job = make_job(make_cell("fio", "write", workers=5), clients=2, **MOUNTS)
    files = [word.partition("=")[2] for word in words(FIO.command(job).script) if word.startswith("--filename=")]
    first, second = "/mnt/gl/vol/d", "/mnt/gl/vol.2/d"
    # of the first client, then of the second
    assert files == [f"{place}/fio.data" for place in (f"{first}/w01", f"{second}/w03", f"{first}/w05")] + [
        f"{first}/w02/fio.data",
        f"{second}/w04/fio.data",
    ]
    # what is prepared through one mount all of them see, and no other has kept it in mind
    assert "vol.2" not in "".join(command.script for command in FIO.prepare(job))


def test_other_tools_use_all_mounts_too() -> None:
    lines = IOZONE.uploads(make_job(make_cell("iozone", "write", workers=4), clients=2, **MOUNTS))
    assert [line.split()[1] for line in lines["/var/tmp/gl/run-iozone/clients"].splitlines()] == [
        "/mnt/gl/vol/d/w01",
        "/mnt/gl/vol/d/w02",
        "/mnt/gl/vol.2/d/w03",
        "/mnt/gl/vol.2/d/w04",
    ]
    cell = make_cell("smallfile", "create", mounts=2)
    found = words(SMALLFILE.command(make_job(cell, **MOUNTS)).script)
    assert found[found.index("--top") + 1] == "/mnt/gl/vol/d,/mnt/gl/vol.2/d"
    assert "file by file" in (SMALLFILE.not_runnable(cell.model_copy(update={"files_per_worker": 1}), 1) or "")


def test_gfapi_needs_no_mount_but_for_what_is_prepared() -> None:
    job = make_job(make_cell("fio", "random-read", workers=2, access="gfapi", options=("--direct=1",)), **MOUNTS)
    found = words(FIO.command(job).script)
    assert [word for word in found if word.startswith("--filename=")] == [
        f"--filename=/d/w0{n}/fio.data" for n in (1, 2)
    ]
    assert found.count("--ioengine=gfapi") == found.count("--volume=vol") == found.count("--brick=10.0.0.1") == 2
    assert "/mnt/gl/vol/d/w01/fio.data" in FIO.prepare(job)[0].script
    # fio obeys the last engine: with another one these would be files of the client itself
    other = job.cell.model_copy(update={"options": ("--ioengine", "psync")})
    assert "leave --ioengine out" in (FIO.not_runnable(other, 2) or "")
    assert FIO.not_runnable(job.cell, 2) is None


def test_a_fio_that_cannot_begin_is_told_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "fio-client02.json").write_text("")
    (tmp_path / "stderr.txt").write_text(
        "Warning: a greeting\nfio: engine gfapi not loadable\nfio: failed to load engine\n"
    )
    with pytest.raises(ParseError, match=r"empty file; it said: fio: engine gfapi not loadable$") as raised:
        FIO.parse(tmp_path, make_cell("fio", "write"))
    assert raised.value.file == tmp_path / "fio-client02.json"
