"""Devices of a small real pool are prepared, two campaigns want it at once, and the result is given away."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.e2e.suite import require_testbed, started_testbed

pytestmark = pytest.mark.testbed

NAME = "prepare"
SUBNET = "10.215.1.0/24"

CAMPAIGN = """\
schema_version: 1
name: duel
study: supermicro-2017
seed: 3
repeats: 40
attempts: 2
deadline: 2 min
layouts:
  - {name: plain, type: distribute, geometry: "2", backing: extra}
workloads:
  - {tool: iozone, operations: [write], file_size: 1 MiB, record_size: 64 KiB, model: large-file}
workers: [1]
"""


def start(*arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "glusterlab.cli", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=900)
    assert "Traceback" not in err
    return process.returncode, out, err


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "not so within 5 minutes"
        time.sleep(0.2)


def glusterlab(*arguments: str | Path, cwd: Path, code: int = 0) -> tuple[str, str]:
    found, out, err = end(start(*arguments, cwd=cwd))
    assert found == code, f"{arguments}: {found}\n{out[-4000:]}\n{err[-4000:]}"
    return out, err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepare")
    (folder / "campaign.yaml").write_text(CAMPAIGN)
    return folder


@pytest.fixture(scope="module")
def devices(folder: Path) -> Iterator[list[str]]:
    """Three blank loop devices and one with a file system on it; they go after the testbed."""
    require_testbed()
    made = []
    try:
        for number in range(4):
            image = folder / f"disk{number}.img"
            with image.open("wb") as file:
                file.truncate(600 << 20)
            done = subprocess.run(["losetup", "--find", "--show", image], check=True, capture_output=True, text=True)
            made.append(done.stdout.strip())
        subprocess.run(["mkfs.ext4", "-q", "-L", "precious", made[3]], check=True)
        yield made
    finally:
        for device in made:
            subprocess.run(["losetup", "-d", device], check=True)


@pytest.fixture(scope="module")
def cluster(folder: Path, devices: list[str]) -> Iterator[Path]:
    """A cluster.yaml of two servers with two devices each, and one client."""
    sizes = ("--servers", "2", "--clients", "1", "--disks", "1", "--arrays", "1", "--scale", "512")
    with started_testbed(NAME, SUBNET, *sizes, cwd=folder) as file:
        data = YAML(typ="safe").load(file.read_text())
        data["backings"]["extra"] = {
            "kind": "jbod",
            "bricks": ["/bricks/extra/d1", "/bricks/extra/d2"],
            "devices": {"server01": devices[:2], "server02": devices[2:]},
        }
        write(file, data)
        yield file


def write(file: Path, data: object) -> None:
    stream = io.StringIO()
    YAML(typ="safe").dump(data, stream)
    file.write_text(stream.getvalue())


def on(cluster: Path, host: str, command: str) -> str:
    argv = ["ssh", "-F", str(cluster.parent / "ssh_config"), host, command]
    done = subprocess.run(argv, check=True, timeout=60, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout


def test_from_devices_to_a_copy_that_can_be_given_away(cluster: Path, folder: Path) -> None:
    out, err = glusterlab("prepare", cluster, "--yes", cwd=folder, code=1)
    assert "ext4 'precious'" in out
    assert "nothing was done" in err
    assert "extra" not in on(cluster, "server01", "cat /proc/mounts")
    data = YAML(typ="safe").load(cluster.read_text())
    data["backings"]["extra"]["wipe"] = True
    write(cluster, data)
    _, err = glusterlab("prepare", cluster, cwd=folder, code=2)
    assert "nobody can be asked here" in err
    out, _ = glusterlab("prepare", cluster, "--yes", "--fstab", cwd=folder)
    assert out.count(" xfs rw,inode64,noatime,nofail 0 0") == 4
    for host in ("server01", "server02"):
        assert on(cluster, host, "cat /proc/mounts").count("/bricks/extra/") == 2
        assert on(cluster, host, "cat /etc/fstab").count("/bricks/extra/") == 2
    _, err = glusterlab("prepare", cluster, "--yes", cwd=folder)
    assert "all bricks were ready already" in err

    names = ("one", "two", "three")
    runs = {name: start("run", "campaign.yaml", "--cluster", cluster, "--name", name, cwd=folder) for name in names}
    try:
        # the winner's forty samples outlast the start of the others, however busy the machine is
        wait_until(lambda: sum(run.poll() is not None for run in runs.values()) >= 2)
        ended = {name: end(run) for name, run in runs.items() if run.poll() is not None}
        assert [code for code, _, _ in ended.values()] == [2, 2], ended
        (winner,) = runs.keys() - ended.keys()
        for name, (_, _, err) in ended.items():
            # the last may meet one that is still giving its hosts back to the winner
            assert any(f"in use by campaign '{other}'" in err for other in {*names} - {name}), err
        wait_until(lambda: any((folder / "raw" / winner).glob("cells/*/sample-01/sample.json")))
        runs[winner].send_signal(signal.SIGINT)
        code, _, err = end(runs[winner])
    finally:
        # none goes on when an assertion fails: the testbed below it is taken down then
        for run in runs.values():
            run.kill()
            run.wait()
    assert code == 130, err
    for host in ("server01", "server02", "client01"):
        assert "owner.json" not in on(cluster, host, "ls /var/lib/glusterlab")

    glusterlab("publish", f"raw/{winner}", "--output", "copy", cwd=folder)
    glusterlab("verify", "copy", cwd=folder)
    found = subprocess.run(["grep", "-rl", "10.215.1.", folder / "copy"], capture_output=True, check=False)
    assert found.stdout == b""
