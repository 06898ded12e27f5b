"""The server of disks with heads, without FUSE: what it delays, what it lets pass, and what it says."""

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from glusterlab.errors import TestbedError
from glusterlab.testbed import headserver
from glusterlab.testbed.drives import ST6000NM0034

KINDS = {"server01/d01.img": "disk", "server01/a01.img": "array"}


@pytest.fixture
def server(tmp_path: Path) -> headserver.Server:
    for image in KINDS:
        (tmp_path / image).parent.mkdir(exist_ok=True)
        with (tmp_path / image).open("wb") as stream:
            stream.truncate(1 << 30)
    return headserver.Server(tmp_path, KINDS)


def _took(server: headserver.Server, path: str, offset: int = 512 << 20) -> float:
    begin = time.monotonic()
    assert server.read(path, 4096, offset, 0) == bytes(4096)
    return time.monotonic() - begin


def test_a_request_takes_the_models_time_and_none_without_a_scale(server: headserver.Server) -> None:
    assert _took(server, "/server01/d01.img") < 0.05
    server.set(10.0, {})
    least = 10 * (ST6000NM0034.command_s + ST6000NM0034.read_seek_track_s)
    assert all(_took(server, f"/{image}") > least for image in KINDS)
    said = server.status()
    assert (said["scale"], said["waiting"]) == (10.0, 0)
    assert [said["disks"][image]["reads"] for image in KINDS] == [1, 1]
    server.set(None, {})
    assert server.status()["disks"] == {}


def test_what_is_written_is_there_and_waits_for_a_flush_alone(server: headserver.Server) -> None:
    server.set(5.0, {})
    begin = time.monotonic()
    assert server.write("/server01/d01.img", b"x" * 4096, 8192, 0) == 4096
    assert server.fsync("/server01/d01.img", 0, 0) == 0
    assert time.monotonic() - begin > 5 * ST6000NM0034.write_seek_track_s
    assert server.read("/server01/d01.img", 4096, 8192, 0) == b"x" * 4096


def test_one_disk_can_be_slower_than_its_like(server: headserver.Server) -> None:
    server.set(1.0, {"server01/d01.img": 1000.0})
    assert _took(server, "/server01/d01.img") > 0.4
    assert _took(server, "/server01/a01.img") < 0.4


def test_a_disk_far_away_serves_many_requests_in_the_time_of_one(tmp_path: Path) -> None:
    with (tmp_path / "a01.img").open("wb") as stream:
        stream.truncate(1 << 30)
    rates = {f"{what}_{of}_per_s": 1e9 for what in ("read", "write") for of in ("bytes", "operations")}
    server = headserver.Server(tmp_path, {"a01.img": {"latency_s": 0.1, **rates}})
    server.set(2.0, {})
    begin = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        took = list(pool.map(lambda n: _took(server, "/a01.img", n << 20), range(8)))
    assert min(took) >= 0.2
    assert time.monotonic() - begin < 8 * 0.2
    assert server.status()["disks"]["a01.img"] == {"reads": 8, "seeks": 0, "busy_s": pytest.approx(3.3e-5, rel=0.1)}


def test_lifting_lets_go_of_all_that_waits(server: headserver.Server) -> None:
    server.set(100_000.0, {})
    ended = threading.Event()
    threading.Thread(target=lambda: (_took(server, "/server01/d01.img"), ended.set()), daemon=True).start()
    assert not ended.wait(0.2)
    server.set(None, {})
    assert ended.wait(5)


def test_its_files_and_its_control(server: headserver.Server) -> None:
    assert server.readdir("/", 0) == [".", "..", "control", "server01"]
    assert server.readdir("/server01", 0) == [".", "..", "a01.img", "d01.img"]
    assert server.getattr("/server01/d01.img")["st_size"] == 1 << 30
    with pytest.raises(FileNotFoundError):
        server.open("/server01/d02.img", os.O_RDONLY)
    text = json.dumps({"scale": 20, "slow": {}}).encode()
    assert server.write("/control", text, 0, 0) == len(text)
    handle = server.open("/control", os.O_RDONLY)
    whole = server.read("/control", 1 << 16, 0, handle)
    assert json.loads(whole)["scale"] == 20
    assert server.read("/control", 1 << 16, len(whole), handle) == b""
    server.release("/control", handle)


def test_nothing_there_is_nothing_to_end(tmp_path: Path) -> None:
    headserver.lift(tmp_path)
    headserver.end(tmp_path)


def test_a_server_that_does_not_take_it_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[Path] = []
    monkeypatch.setattr(headserver, "mounts_below", lambda mount: [str(mount)])
    monkeypatch.setattr(headserver, "end", ended.append)

    def run(*_: object, **__: object) -> str:
        raise TestbedError("'tee control' did not end within 30 s")

    monkeypatch.setattr(headserver, "run", run)
    headserver.lift(tmp_path)
    assert ended == [tmp_path]


def test_what_is_missing_gets_a_sentence_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headserver, "find_spec", lambda _: None)
    monkeypatch.setattr(headserver, "find_library", lambda _: None)
    assert [problem.split("'")[1] for problem in headserver.problems()] == [
        "pip install glusterlab[heads]",
        "apt install libfuse3-3",
    ]


@pytest.mark.testbed
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the server outlives who started it
@pytest.mark.skipif(os.geteuid() != 0 or bool(headserver.problems()), reason="needs root, mfusepy and libfuse 3")
def test_it_is_mounted_serves_and_leaves_nothing(tmp_path: Path) -> None:
    image = tmp_path / "server01" / "d01.img"
    image.parent.mkdir()
    image.write_bytes(b"y" * (1 << 20))
    try:
        mount = headserver.begin(tmp_path, {"server01/d01.img": "disk"})
        headserver.control(tmp_path, 20.0, {})
        assert (mount / "server01" / "d01.img").read_bytes() == b"y" * (1 << 20)
        assert headserver.served(tmp_path)["disks"]["server01/d01.img"]["reads"] > 0
    finally:
        headserver.end(tmp_path)
    assert not headserver.mounts_below(tmp_path)
    assert not headserver.processes(lambda words: str(tmp_path).encode() in words)
