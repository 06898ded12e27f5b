"""Devices of a small real pool are prepared, two campaigns want it at once, and the result is given away."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.e2e.suite import command, complete, glusterlab, require_testbed, ssh, started_testbed, wait_until

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


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=900)
    assert "Traceback" not in err
    return process.returncode, err


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
        file.write_text(json.dumps(data))
        yield file


def test_from_devices_to_a_copy_that_can_be_given_away(cluster: Path, folder: Path) -> None:
    done = glusterlab("prepare", cluster, "--yes", cwd=folder, code=1)
    assert "ext4 'precious'" in done.stdout
    assert "nothing was done" in done.stderr
    assert "extra" not in ssh(cluster, "server01", "cat /proc/mounts")
    data = json.loads(cluster.read_text())
    data["backings"]["extra"]["wipe"] = True
    cluster.write_text(json.dumps(data))
    assert "nobody can be asked here" in glusterlab("prepare", cluster, cwd=folder, code=2).stderr
    done = glusterlab("prepare", cluster, "--yes", "--fstab", cwd=folder)
    assert done.stdout.count(" xfs rw,inode64,noatime,nofail 0 0") == 4
    for host in ("server01", "server02"):
        assert ssh(cluster, host, "cat /proc/mounts").count("/bricks/extra/") == 2
        assert ssh(cluster, host, "cat /etc/fstab").count("/bricks/extra/") == 2
    assert "all bricks were ready already" in glusterlab("prepare", cluster, "--yes", cwd=folder).stderr

    names = ("one", "two", "three")
    streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    words = {name: command("run", "campaign.yaml", "--cluster", cluster, "--name", name) for name in names}
    runs = {name: subprocess.Popen(words[name], cwd=folder, **streams) for name in names}
    try:
        # the winner's forty samples outlast the start of the others, however busy the machine is
        wait_until(lambda: sum(run.poll() is not None for run in runs.values()) >= 2, 300, "two are refused")
        ended = {name: end(run) for name, run in runs.items() if run.poll() is not None}
        assert [code for code, _ in ended.values()] == [2, 2], ended
        (winner,) = runs.keys() - ended.keys()
        for name, (_, err) in ended.items():
            # the last may meet one that is still giving its hosts back to the winner
            assert any(f"in use by campaign '{other}'" in err for other in {*names} - {name}), err
        wait_until(lambda: bool(complete(folder / "raw" / winner)), 300, "a sample is complete")
        runs[winner].send_signal(signal.SIGINT)
        code, err = end(runs[winner])
    finally:
        # none goes on when an assertion fails: the testbed below it is taken down then
        for run in runs.values():
            run.kill()
            run.wait()
    assert code == 130, err
    for host in ("server01", "server02", "client01"):
        assert "owner.json" not in ssh(cluster, host, "ls /var/lib/glusterlab")

    glusterlab("publish", f"raw/{winner}", "--output", "copy", cwd=folder)
    glusterlab("verify", "copy", cwd=folder)
    found = subprocess.run(["grep", "-rl", "10.215.1.", folder / "copy"], capture_output=True, check=False)
    assert found.stdout == b""
