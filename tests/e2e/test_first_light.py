"""The whole way of the data on a small real pool: start, check, measure, kill, resume, verify, reproduce, take down."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.testbed import throttle
from tests.e2e.suite import complete, digests, glusterlab, require_testbed, ssh, start, started_testbed, wait_until

pytestmark = pytest.mark.testbed

PROJECT = Path(__file__).parents[2]
NAME = "e2e"
SUBNET = "10.211.0.0/24"
CAMPAIGN = """\
schema_version: 1
name: small
study: supermicro-2017
seed: 7
repeats: 1
layouts:
  - {name: replicate-3x2-raid6, type: replicate, geometry: 3x2, backing: raid6}
  - {name: disperse-4-2-jbod, type: disperse, geometry: 1x(4+2), backing: jbod}
workers: [1, 2]
deadline: 3 min
workloads:
  - tool: iozone
    operations: [write, read]
    file_size: 8 MiB
    stands_for: 4 GiB
    record_size: 64 KiB
    model: large-file
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of its own, so that nothing of the real one is touched."""
    require_testbed()
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "notebooks", folder / "notebooks")
    shutil.copytree(PROJECT / "raw/published", folder / "raw/published")
    shutil.copytree(PROJECT / "runbooks", folder / "runbooks")
    shutil.copy(PROJECT / "requirements.lock", folder)
    (folder / "campaign.yaml").write_text(CAMPAIGN, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def pool(project: Path) -> Iterator[Path]:
    """cluster.yaml of a small pool: 6 servers with a disk and an array each, 2 clients, at 1:512."""
    sizes = ("--servers", "6", "--clients", "2", "--disks", "1", "--arrays", "1", "--scale", "512")
    with started_testbed(NAME, SUBNET, *sizes, cwd=project) as cluster:
        yield cluster
    glusterlab("testbed", "down", "--name", NAME, cwd=project, code=2)


def test_scale_model_limits_reads_and_writes_of_every_kind(pool: Path) -> None:
    """Nothing can be faster than its limit, however busy this machine is: a bound from below on the time."""
    in_effect = throttle.apply(pool.parent, "small-file")
    points = {"disk": "/bricks/jbod/d01", "array": "/bricks/raid6/a01"}
    for kind, point in points.items():
        limits = in_effect[kind]
        device = ssh(pool, "server01", f"findmnt --noheadings --output SOURCE {point}").strip()
        reads = 2 * limits["riops"] + 10
        bytes_written = 2 * limits["wbps"]
        read = f"dd if={device} of=/dev/null bs=4k count={reads} iflag=direct"
        write = f"dd if=/dev/zero of={point}/probe bs=1M count={bytes_written // 2**20} conv=fsync"
        now = "date +%s%N"
        script = (
            f"t0=$({now}); {read} 2>/dev/null; t1=$({now}); {write} 2>/dev/null; t2=$({now}); "
            f"rm {point}/probe; echo $((t1 - t0)) $((t2 - t1))"
        )
        read_s, write_s = (int(word) / 1e9 for word in ssh(pool, "server01", script).split())
        # the kernel hands out tokens by slices of 0.1 s or more, so that the first slice is free
        assert read_s > 1.5, f"{kind}: {reads} reads at {limits['riops']}/s took {read_s:.2f} s"
        assert write_s > 1.5, f"{kind}: {bytes_written} B at {limits['wbps']} B/s took {write_s:.2f} s"
    assert throttle.apply(pool.parent, None)["disk"] == {}


def test_hosts_have_counters_of_their_own(pool: Path) -> None:
    """A busy loop on one host is seen by that host's /proc/stat, and not by another's."""
    count = "awk '/^cpu /{print $2+$3+$4}' /proc/stat"
    before = [int(ssh(pool, host, count)) for host in ("server01", "server02")]
    ssh(pool, "server01", "timeout 3 sh -c 'while :; do :; done' || true")
    busy, idle = (int(ssh(pool, host, count)) - old for host, old in zip(("server01", "server02"), before, strict=True))
    assert busy > 5 * idle + 20


def test_second_testbed_of_the_name_is_refused(pool: Path, project: Path) -> None:
    done = glusterlab("testbed", "up", "--name", NAME, cwd=project, code=3)
    assert "testbed down" in done.stderr


def test_check_and_plan(pool: Path, project: Path) -> None:
    glusterlab("check", pool, cwd=project)
    plan = json.loads(glusterlab("plan", "campaign.yaml", "--cluster", pool, "--json", cwd=project).stdout)
    assert plan["total"]["samples"] == 8


def test_killed_resumed_verified_reproduced(pool: Path, project: Path) -> None:
    raw = project / "raw/small"
    log = project / "run.log"
    running = start("run", "campaign.yaml", "--cluster", pool, cwd=project, log=log)

    def in_the_middle() -> bool:
        assert running.poll() is None, log.read_text()
        return len(complete(raw)) >= 2 and bool(list(raw.glob("cells/*/.sample-*.partial/workload")))

    try:
        wait_until(in_the_middle, 300, log.read_text)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    before = digests(raw)
    status = json.loads(glusterlab("status", raw, "--json", cwd=project, code=1).stdout)
    assert status["complete"] is False

    glusterlab("run", "campaign.yaml", "--cluster", pool, cwd=project)
    after = digests(raw)
    assert before.items() <= after.items(), "a complete sample changed or was run again"
    samples = [json.loads(path.read_text()) for path in complete(raw)]
    assert len(samples) == 8, "each sample once"
    assert {sample["status"] for sample in samples} == {"valid"}
    assert not list(raw.glob("cells/*/.sample-*"))
    glusterlab("status", raw, cwd=project)
    glusterlab("verify", raw, cwd=project)
    key = (pool.parent / "id_ed25519").read_bytes().splitlines()[1]
    assert not [path for path in raw.rglob("*") if path.is_file() and key in path.read_bytes()]
    again = glusterlab("run", "campaign.yaml", "--cluster", pool, cwd=project)
    assert digests(raw) == after, again.stderr

    glusterlab("tables", raw, cwd=project)
    glusterlab("reproduce", cwd=project)
    figure = next((project / "figures/small").glob("fig05-*.csv"))
    assert len(figure.read_text().splitlines()) > 4
    made = {path: path.stat().st_mtime_ns for path in (project / "figures/small").glob("fig*")}
    glusterlab("reproduce", cwd=project)
    assert {path: path.stat().st_mtime_ns for path in (project / "figures/small").glob("fig*")} == made

    output = next(raw.glob("cells/iozone-write-*/sample-01/workload/stdout.txt"))
    text = output.read_text()
    line = next(line for line in text.splitlines() if "Children see" in line)
    output.write_text(text.replace(line, line.replace("=", "=  1")))
    found = glusterlab("verify", raw, cwd=project, code=1)
    assert "stdout.txt" in found.stdout + found.stderr
