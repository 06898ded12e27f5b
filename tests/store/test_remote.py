"""A campaign that lies elsewhere comes here whole or not at all, and what an interrupted fetch brought is kept."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.errors import DataError, RawStoreError, UsageError
from glusterlab.run.verify import verify
from glusterlab.sections.section import open_section
from glusterlab.store import remote
from glusterlab.store.campaign import RawStore
from glusterlab.store.manifest import MANIFEST
from glusterlab.store.remote import fetch
from glusterlab.tables import build as tables
from tests.store.conftest import add_sample, files, make_cell

URL = "memory://lab/raw/small"


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    system = MemoryFileSystem()
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def there(memory: MemoryFileSystem, campaign: Path, packed: Path) -> MemoryFileSystem:
    """A campaign in memory, half of its samples with packed evidence, and what a run left beside them."""
    cell = campaign / "cells" / make_cell().id
    shutil.rmtree(cell)
    shutil.copytree(packed / "cells" / cell.name, cell)
    (campaign / "log.txt").write_text("2026-11-22 10:00:00 +0000 INFO    started\n")
    (cell / ".sample-03.partial").mkdir()
    (cell / ".sample-03.partial" / "x").write_text("half")
    memory.put(str(campaign), "/lab/raw/small", recursive=True)
    return memory


def interrupt(here: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Begin to fetch it, and stop."""

    def stop(done: int, of: int) -> None:
        if done >= after:
            raise KeyboardInterrupt

    monkeypatch.setattr(remote, "_AT_ONCE", 10)
    with pytest.raises(KeyboardInterrupt):
        fetch(URL, here, stop)
    assert not here.exists()


@pytest.mark.usefixtures("there")
def test_all_of_a_campaign_comes_here_and_works_as_the_folder(campaign: Path, tmp_path: Path) -> None:
    here = tmp_path / "here" / "small"
    assert fetch(URL, here) == (len(files(campaign)) - 1, 0)
    assert files(here) == files(campaign)
    assert verify(here) == []
    assert len(tables.load(here).samples) == 6
    assert [path.name for path in here.parent.iterdir()] == ["small"]
    with pytest.raises(RawStoreError, match="expected no such folder, found one with files in it"):
        fetch(URL, here)


@pytest.mark.usefixtures("there")
def test_an_interrupted_fetch_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here" / "small"
    interrupt(here, monkeypatch, after=30)
    with patch.object(MemoryFileSystem, "get", autospec=True, side_effect=MemoryFileSystem.get) as get:
        fetched, kept = fetch(URL, here)
    seen = [name for call in get.call_args_list for name in call.args[1]]
    assert (kept, len(seen)) == (30, fetched + 1)
    assert verify(here) == []
    assert [path.name for path in here.parent.iterdir()] == ["small"]


@pytest.mark.parametrize("name", ["workload/stdout.txt", "evidence.tar.xz"])
def test_what_is_damaged_never_gets_the_campaigns_name(there: MemoryFileSystem, tmp_path: Path, name: str) -> None:
    here = tmp_path / "here" / "small"
    path = f"/lab/raw/small/cells/{make_cell().id}/sample-01/{name}"
    good = there.cat(path)
    there.pipe(path, good[:-2] + b"xx")
    with pytest.raises(DataError, match=r"not as MANIFEST\.sha256 has it: cells/.*run the same command again"):
        fetch(URL, here)
    assert not here.exists()
    # of the same size: only its digest tells that it is another one
    there.pipe(path, good)
    assert fetch(URL, here)[0] == 2
    assert verify(here) == []


def test_a_campaign_that_goes_on_meanwhile_comes_as_its_last_manifest_has_it(
    there: MemoryFileSystem, campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(tmp_path / "small", monkeypatch, after=50)
    shutil.rmtree(campaign / "cells" / make_cell().id / ".sample-03.partial")
    add_sample(RawStore.open(campaign), make_cell(), repeat=3)
    there.rm("/lab/raw/small", recursive=True)
    there.put(str(campaign), "/lab/raw/small", recursive=True)
    fetch(URL, tmp_path / "small")
    assert files(tmp_path / "small") == files(campaign)


@pytest.mark.security
@pytest.mark.parametrize("name", ["../mine.txt", "cells/../../mine.txt", "{folder}/mine.txt"])
def test_a_manifest_that_leads_elsewhere_is_refused(there: MemoryFileSystem, tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    name = name.format(folder=tmp_path)
    there.pipe(f"/lab/raw/small/{MANIFEST}", f"{name} {'0' * 64}\n".encode())
    with pytest.raises(
        DataError, match=f"expected files below the campaign in MANIFEST.sha256, found {re.escape(name)}"
    ):
        fetch(URL, tmp_path / "small")
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.security
def test_a_link_is_not_followed(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("a key\n")
    (campaign / "log.txt").unlink(missing_ok=True)
    (campaign / "log.txt").symlink_to(tmp_path / "private")
    with pytest.raises(DataError, match=r"log\.txt is a link"):
        fetch(f"file://{campaign}", tmp_path / "small")
    assert not (tmp_path / "small").exists()


@pytest.mark.security
@pytest.mark.parametrize(("url", "name"), [("ftp://me:hunter2@host", "host"), ("ftp://me:hunter2@host/a/b/", "b")])
def test_a_folder_is_not_called_by_a_password(url: str, name: str) -> None:
    with patch.object(remote, "fetch", return_value=(0, 0)) as fetched:
        result = CliRunner().invoke(app, ["fetch", url])
    assert fetched.call_args.args[1] == Path("raw", name)
    assert "hunter2" not in result.output


@pytest.mark.parametrize(
    ("url", "kind", "message"),
    [
        ("memory://lab/raw/nothing", RawStoreError, "expected a campaign's folder with MANIFEST.sha256, found none"),
        ("nosuch://x/y", UsageError, "nosuch://x/y: Protocol not known"),
        ("sftp://127.0.0.1:9/x", DataError, "cannot be reached"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(
    memory: MemoryFileSystem, tmp_path: Path, url: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        fetch(url, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_two_fetches_of_one_campaign_do_not_meet(there: MemoryFileSystem, tmp_path: Path) -> None:
    work = tmp_path / ".small.fetch"
    work.mkdir()
    with RawStore(work).lock(), pytest.raises(RawStoreError, match="is in use by process"):
        fetch(URL, tmp_path / "small")


@pytest.mark.usefixtures("there")
def test_the_command_brings_it_below_raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path / "raw")
    result = CliRunner().invoke(app, ["fetch", f"{URL}/", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["folder"] == "raw/small"
    assert (tmp_path / "raw" / "raw" / "small" / "campaign.yaml").is_file()


@pytest.mark.parametrize("use", [tables.load, tables.write, open_section])
def test_all_else_names_the_command(use: Any) -> None:
    with pytest.raises(UsageError, match="expected a path of this machine; `glusterlab fetch URL` brings"):
        use("s3://bucket/raw/night")
