"""Whatever stands in a raw file's place: every command that reads it ends soon, and says what, where, what to do."""

import contextlib
import json
import lzma
import os
import re
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.parse import parse
from glusterlab.rawfile import open_raw, read_raw
from glusterlab.run.verify import verify
from glusterlab.store import files
from glusterlab.store.digests import LIBRARY
from glusterlab.store.manifest import MANIFEST, Manifest
from tests.cli.conftest import CAMPAIGN, ROOT, call
from tests.hang import no_hang
from tests.packed import make_plain
from tests.store.conftest import add_sample, make_cell, make_store

HEADER = b"# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
ROW = b"server01;2;1795170000;-1;1.00;0.00;1.00;0.00;0.00;98.00\n"


def to_socket(path: Path) -> None:
    # a socket's path is short
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(40 << 30)


ODD: dict[str, Callable[[Path], None]] = {
    "FIFO": os.mkfifo,
    "socket": to_socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "sparse": sparse,
    "link out": lambda path: path.symlink_to("/etc/hostname"),
    "dangling": lambda path: path.symlink_to("nowhere"),
    "loop": lambda path: path.symlink_to(path.name),
}
"""What is no raw file, whatever it should hold."""

BOMBS: dict[str, Callable[[], bytes]] = {  # of more than 64 MiB, what a result may have; made when asked for
    "newlines": cache(lambda: lzma.compress(HEADER + b"\n" * 70_000_000, preset=0)),
    "rows": cache(lambda: lzma.compress(HEADER + ROW * 1_250_000, preset=0)),
    "xz in xz": cache(lambda: lzma.compress(BOMBS["newlines"]())),
}

SAMPLE = "cells/{cell}/sample-01"
PLACES = {
    "sample.json": f"{SAMPLE}/sample.json",
    "cell.json": "cells/{cell}/cell.json",
    "manifest": MANIFEST,
    "campaign.yaml": "campaign.yaml",
    "stdout": f"{SAMPLE}/workload/stdout.txt",
    "telemetry": f"{SAMPLE}/telemetry/server01.csv.xz",
    "evidence": f"{SAMPLE}/evidence.tar.xz",
}
UNREAD = {
    "status": {"manifest", "telemetry", "evidence"},
    "tables": {"manifest", "campaign.yaml"},
    "claims": {"manifest"},
    "compare": {"manifest", "campaign.yaml"},
}
"""Places whose content a command has no use for."""


@pytest.fixture(scope="session")
def _night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("night") / "raw" / "night"
    path.parent.mkdir()
    store = make_store(path)
    (path / "campaign.yaml").write_text(CAMPAIGN)
    listed = Manifest.read(path).digests
    listed["campaign.yaml"] = files.file_digest(path / "campaign.yaml")
    (path / MANIFEST).write_text(Manifest(listed).text)
    for repeat in (1, 2):
        add_sample(store, make_cell(), repeat)
    return path


@pytest.fixture
def night(_night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A campaign of one cell in a project, beside another; no test may wait in it, or compute for long."""
    monkeypatch.chdir(tmp_path)
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    Path("notebooks").mkdir()
    Path("notebooks/10-all.ipynb").write_text(json.dumps(notebook))
    shutil.copy(ROOT / "pyproject.toml", ".")
    shutil.copytree(_night, "raw/other")
    shutil.copytree(_night, "raw/night")
    Path("raw/published").symlink_to(ROOT / "raw" / "published")
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits for ever"))
    signal.alarm(100)
    try:
        with no_hang(30):
            yield Path("raw/night")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", [*ODD, *BOMBS])
@pytest.mark.parametrize("where", PLACES)
def test_what_is_no_raw_file_is_named_soon(night: Path, where: str, kind: str) -> None:
    place = night / PLACES[where].format(cell=make_cell().id)
    if where == "telemetry":
        make_plain(night)
    place.unlink()
    ODD[kind](place) if kind in ODD else place.write_bytes(BOMBS[kind]())
    more = {
        "status": [],
        "verify": [],
        "tables": ["--output", "made"],
        **({"claims": [], "compare": ["raw/other"]} if kind in ("FIFO", "link out", "rows") else {}),
        **({"publish": ["--output", "copy"], "reproduce": ["--check"]} if kind in ("FIFO", "dangling") else {}),
    }
    for command in ["parse", *more]:
        raw = place if command == "parse" else night
        result = call(command, raw, *more.get(command, []))
        reads = where not in UNREAD.get(command, ())
        assert result.exit_code in ((1, 2, 3) if reads else (0, 1, 2, 3)), (command, result.output)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        if reads:
            shown = " ".join(result.output.split())
            assert place.name in shown.replace(" ", "") or "sample-01" in shown, (command, shown)


def test_a_file_of_too_many_bytes_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_raw(tmp_path / "file", 10) == b"0123456789"
    with pytest.raises(OSError, match="expected at most 9 bytes, found 10"):
        read_raw(tmp_path / "file", 9)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("sadf", HEADER + b"\n" * 60_000_000),
        ("gluster", b"Volume Name: v\nType: Distribute\nOptions Reconfigured:\na.b: x,\n" + b"y,\n" * 600_000),
        ("gluster", b"Volume Name: v\nType: Distribute\nBrick1: s1:/b/\n" + b"/y-\n" * 600_000),
        ("gluster", b"Volume Name: v\n" + b"\n" * 4_000_000),
        ("iozone", b"iozone\nCommand line used: iozone -a\n" + b"-a\n" * 100_000),
    ],
)
def test_many_short_lines_take_seconds(tmp_path: Path, tool: str, text: bytes) -> None:
    (tmp_path / "file").write_bytes(text)
    with no_hang(10), pytest.raises(ParseError):
        for _ in parse(tmp_path / "file", tool=tool):
            pass


@pytest.mark.parametrize("kind", ["dangling", "link within"])
def test_verify_finds_every_link(night: Path, kind: str) -> None:
    link = night / "cells" / "more"
    link.symlink_to("nowhere" if kind == "dangling" else make_cell().id)
    found = [finding for finding in verify(night) if finding.code == "foreign-link"]
    assert [finding.path for finding in found] == ["cells/more"]
    assert "a link out of the campaign or to no file of it" in found[0].message


def test_links_within_a_campaign_and_to_one_are_followed(night: Path, tmp_path: Path) -> None:
    (night / "again.yaml").symlink_to("cluster.yaml")
    (tmp_path / "outside").symlink_to(night.absolute() / "again.yaml")
    with open_raw(tmp_path / "outside") as file:
        assert file.read() == (night / "cluster.yaml").read_bytes()
    (night / "away").symlink_to(tmp_path / "pyproject.toml")
    (tmp_path / "round").symlink_to(night.absolute() / "away")
    with pytest.raises(OSError, match="a link out of the campaign"):
        open_raw(tmp_path / "round")


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fsync = tmp_path / "file", os.fsync
    synced: list[tuple[int, bool]] = []

    def record(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    files.write_atomically(path, "text")
    assert synced == [(path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]
    synced.clear()
    store = make_store(tmp_path / "store")
    sample = add_sample(store, make_cell())
    places = [sample.path.parent, sample.path, *sample.path.rglob("*"), *store.path.iterdir(), store.path, tmp_path]
    lost = [place for place in places if place.stat().st_ino not in {number for number, _ in synced}]
    assert lost == []


def test_all_that_reads_raw_files_opens_them_by_the_one_opener() -> None:
    others = re.compile(
        r"\.open\((?:\)|\"r|encoding)|\.read_(?:text|bytes)\(|(?:gzip|bz2|lzma)\.open\(|tarfile\.open\("
    )
    folders = ("store", "run", "tools", "telemetry", "publishing", "parse.py")
    paths = (path for name in folders for path in [*(LIBRARY / name).rglob("*.py"), LIBRARY / name] if path.is_file())
    found = {str(path.relative_to(LIBRARY)): others.findall(path.read_text()) for path in paths}
    # what evidence writes; notebooks, and what is kept beside the tables
    assert {name: len(calls) for name, calls in found.items() if calls} == {
        "store/evidence.py": 1,
        "store/digests.py": 2,
    }
