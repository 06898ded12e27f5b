"""raw/ and outputs by URL, over a real sftp server on loopback: the same tables and figures as from folders."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Iterator
from pathlib import Path

import fsspec.config
import pytest

from glusterlab.errors import DataError, RawStoreError, UsageError
from glusterlab.store import remote as storage
from glusterlab.store.campaign import RawStore
from glusterlab.store.remote import Remote, mirror, place, publish
from glusterlab.tables import build as tables
from glusterlab.tables import parts as tableparts
from tests.hosts import sshd
from tests.store.conftest import add_sample, make_cell

pytestmark = [
    pytest.mark.skipif(sshd.SSHD is None, reason="no sshd here to be the server"),
    pytest.mark.filterwarnings("default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The beginning of URLs of the server's whole file system."""
    running = sshd.start(tmp_path_factory.mktemp("sshd"))
    key = str(running.folder / "user_key")
    with pytest.MonkeyPatch.context() as patch:
        # for this process, which has read the environment already, and for those that it starts
        patch.setitem(fsspec.config.conf, "sftp", {"key_filename": key})
        patch.setenv("FSSPEC_SFTP_KEY_FILENAME", key)
        yield f"sftp://{getpass.getuser()}@127.0.0.1:{running.port}"
    running.stop()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_tables_of_a_url_are_those_of_the_folder(campaign: Path, server: str, tmp_path: Path) -> None:
    here = tables.write(campaign, tmp_path / "here")
    url = f"{server}{campaign}"
    there = tables.write(url)
    assert here is not None
    assert there is not None
    assert (there.made, there.rows) == (6, here.rows)
    kept = campaign.parents[1] / "figures" / "small" / "tables"
    for folder in ("telemetry", ""):
        for file in (tmp_path / "here" / folder).glob("*.parquet"):
            assert (kept / folder / file.name).read_bytes() == file.read_bytes()
    again = tables.write(url)
    assert again is not None
    assert again.made == 0
    add_sample(RawStore.open(campaign), make_cell(), repeat=3)
    more = tables.write(url)
    assert more is not None
    assert more.made == 1
    assert len(tables.load(url).samples) == 7


def test_big_files_of_a_url_are_read_in_parts_as_those_of_the_folder(
    campaign: Path, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tableparts, "BIG_BYTES", 100)
    tables.write(campaign, tmp_path / "here")
    tables.write(f"{server}{campaign}", tmp_path / "there")

    def parts(folder: Path) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (folder / "telemetry").iterdir()}

    here, there = parts(tmp_path / "here"), parts(tmp_path / "there")
    assert here == there
    assert len(here) > 6


def test_a_sample_that_is_gone_there_is_gone_here(campaign: Path, server: str, tmp_path: Path) -> None:
    url = f"{server}{campaign}"
    tables.write(url, tmp_path / "tables")
    shutil.rmtree(campaign / "cells" / make_cell().id / "sample-02")
    written = tables.write(url, tmp_path / "tables")
    assert written is not None
    assert written.rows["samples"] == 5


def test_a_mirror_follows_and_publishes(server: str, tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    (there / "a.txt").write_text("one")
    (there / "b.txt").write_text("two")
    remote = Remote.of(f"{server}{there}/")
    listing = remote.listing()
    assert set(listing) == {"a.txt", "b.txt"}
    mirror(remote, here, listing, listing)
    (here / "a.txt").write_text("three")
    (here / "deep").mkdir()
    (here / "deep" / "c.txt").write_text("four")
    publish(remote, here, ["a.txt", "deep/c.txt"])
    found = {path.relative_to(there).as_posix(): path.read_text() for path in there.rglob("*") if path.is_file()}
    assert found == {"a.txt": "three", "deep/c.txt": "four"}
    # of another size: sftp tells the time of a change in whole seconds
    (there / "a.txt").write_text("five and more")
    listing = remote.listing()
    mirror(remote, here, listing, listing)
    assert (here / "a.txt").read_text() == "five and more"
    assert not (here / "b.txt").exists()


def test_what_is_not_there_is_said(server: str, tmp_path: Path) -> None:
    with pytest.raises(RawStoreError, match="expected a campaign's folder"):
        tables.write(f"{server}{tmp_path}/nothing")
    with pytest.raises(DataError, match="cannot be read"):
        Remote.of(f"{server}{tmp_path}").fetch(["none"], tmp_path / "x")
    with pytest.raises(UsageError, match="nosuch://x/y: Protocol not known"):
        tables.write("nosuch://x/y")
    with pytest.raises(DataError, match="cannot be reached"):
        tables.write("sftp://127.0.0.1:9/x")


def test_a_place_is_a_folder_or_a_url(tmp_path: Path) -> None:
    assert place(f"file://{tmp_path}") == tmp_path
    assert place(tmp_path) == tmp_path
    assert place("s3://bucket/raw/night/") == Remote("s3://bucket/raw/night")
    assert place(Remote("s3://bucket/x")).name == "x"
    with pytest.raises(UsageError, match="expected a folder of this machine"):
        storage.local("s3://bucket/x")
