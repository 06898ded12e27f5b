"""The tools of a baseline: what they are told to do, and what real outputs say.

``data/`` is of a testbed of three servers and two clients at 1:200: IOzone 3.489 on two disks per server, and iperf3
3.12 with ``-R`` between all hosts; the kernel's name was removed. ``fio-random-read``: two disks with heads at 1:20.
"""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

from glusterlab.analysis.baselines import request_rates, requests_table
from glusterlab.errors import ParseError
from glusterlab.spec import Cell
from glusterlab.spec.cell import Layout
from glusterlab.spec.cluster import ScaleModel
from glusterlab.spec.published import load_baselines
from glusterlab.testbed.drives import ST6000NM0034
from glusterlab.tools import host_tools
from glusterlab.tools.base import LocalJob, Measurement
from tests.baseline.bench import make_cluster

DATA = Path(__file__).parent / "data"
PUBLISHED = Path(__file__).parents[2] / "raw/published/supermicro-2017"
MODEL = ScaleModel(name="large-file", scale=200)


def cell_of(tool: str, operation: str, workers: int, size: int = 3968 << 10) -> Cell:
    return Cell(
        layout=Layout(name="jbod", type="other", subvolumes=1, backing="jbod"),
        access="none",
        tool=tool,
        operation=operation,
        file_size_bytes=size,
        nominal_file_size_bytes=size,
        record_size_bytes=128 << 10,
        workers=workers,
        model=MODEL,
        options=("-t", "4") if tool == "iperf3" else (),
    )


WRITE, RECEIVE = cell_of("iozone-local", "write", 6), cell_of("iperf3", "receive", 10, 131072)


def parse(folder: Path, cell: Cell) -> Measurement:
    return host_tools()[cell.tool].parse(folder, cell)


def copied(folder: str, to: Path) -> Path:
    return Path(shutil.copytree(DATA / folder, to / "workload"))


def job_of(cell: Cell) -> LocalJob:
    cluster = make_cluster()
    return LocalJob(cell, cluster.servers, cluster.clients, ("/b/d1", "/b/d2"), "/var/tmp/glusterlab", 60.0)


def test_every_disk_of_every_server_is_a_worker() -> None:
    result = parse(DATA / "iozone-write", WRITE)
    assert (result.problems, result.record.tool_version) == ((), "3.489")
    places = [f"server0{n}:/bricks/jbod/d0{disk}" for n in (1, 2, 3) for disk in (1, 2)]
    assert [(worker.worker, worker.host) for worker in result.workers] == list(enumerate(places, start=1))
    rates = [worker.throughput_bytes_per_s or 0 for worker in result.workers]
    assert all(0.97e6 < rate < 1.03e6 for rate in rates)
    assert result.record.throughput_bytes_per_s == pytest.approx(sum(rates), rel=1e-3)


def test_a_server_without_its_report_is_missed(tmp_path: Path) -> None:
    folder = copied("iozone-write", tmp_path)
    (folder / "server02.txt").unlink()
    assert [reason.code for reason in parse(folder, WRITE).problems] == ["tool-incomplete"]
    (folder / "server02.txt").write_text("iozone: command not found\n")
    with pytest.raises(ParseError, match="expected a report of IOzone"):
        parse(folder, WRITE)


def test_workers_keep_their_order_when_hosts_are_renamed(tmp_path: Path) -> None:
    folder = copied("iozone-write", tmp_path)
    (folder / "server01.txt").rename(folder / "zulu.txt")
    commands = [{"output": name} for name in ("zulu.txt", "server02.txt", None, "../elsewhere.txt")]
    (folder / "commands.json").write_text(json.dumps(commands))
    workers = parse(folder, WRITE).workers
    assert [(worker.host or "").partition(":")[0] for worker in workers[::2]] == ["zulu", "server02", "server03"]
    (folder / "commands.json").write_text("[1]")
    assert parse(folder, WRITE).problems == ()


def test_a_full_disk_and_a_short_file_have_their_reasons(tmp_path: Path) -> None:
    folder = copied("iozone-write", tmp_path)
    (folder / "server02.txt.stderr").write_text("write: No space left on device\n")
    assert [(reason.code, reason.host) for reason in parse(folder, WRITE).problems] == [("disk-full", "server02")]
    bigger = parse(DATA / "iozone-write", cell_of("iozone-local", "write", 6, size=8 << 20))
    assert "tool-incomplete" in {reason.code for reason in bigger.problems}


def test_one_disk_of_each_server_is_the_first() -> None:
    tool = host_tools()["iozone-local"]
    [alone] = tool.rounds(job_of(cell_of("iozone-local", "read", 2)))
    [together] = tool.rounds(job_of(cell_of("iozone-local", "read", 4)))
    assert [step.command.host for step in alone] == ["s1", "s2"]
    assert alone[0].command.script.endswith("-i 1 -F /b/d1/glusterlab-baseline/iozone.DUMMY")
    assert "-t 2 " in together[0].command.script
    assert together[0].command.script.endswith("/b/d2/glusterlab-baseline/iozone.DUMMY")
    assert "-x" in together[0].command.script.split()


def test_what_the_receivers_counted_is_a_worker_per_pair() -> None:
    result = parse(DATA / "iperf3-receive", RECEIVE)
    assert (result.problems, result.record.tool_version) == ((), "3.12")
    rates = {worker.host or "": worker.throughput_bytes_per_s or 0 for worker in result.workers}
    # server02 was the client, and the data came to it
    assert "client02 to server02" in rates
    assert len(rates) == len(result.workers) == 10
    assert all(11.9e6 < rate < 12.6e6 for pair, rate in rates.items() if pair.count("server") == 2)
    assert result.record.elapsed_s == pytest.approx(20, abs=0.1)


def test_a_pair_that_could_not_connect_is_named_although_iperf3_ended_well(tmp_path: Path) -> None:
    folder = copied("iperf3-receive", tmp_path)
    file = min(folder.glob("*/*.json"))
    refused = {"start": {"connected": [], "version": "iperf 3.12"}, "intervals": [], "end": {}}
    file.write_text(json.dumps(refused | {"error": "unable to connect to server: Connection refused"}))
    (reason,) = parse(folder, RECEIVE).problems
    assert reason.code == "tool-incomplete"
    assert "Connection refused" in reason.message
    assert " to " in reason.message
    file.unlink()
    assert "expected 10 pairs of hosts, found 9" in parse(folder, RECEIVE).problems[0].message


def test_many_bad_pairs_are_counted_not_listed(tmp_path: Path) -> None:
    folder = copied("iperf3-receive", tmp_path)
    for file in sorted(folder.glob("*/*.json"))[:8]:
        file.write_text("{}\n")
    reasons = parse(folder, RECEIVE).problems
    assert (len(reasons), reasons[5].message) == (7, "and 3 more pairs without a result")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParseError, match="every pair of hosts"):
        parse(tmp_path / "empty", RECEIVE)


def test_a_server_waits_for_each_client() -> None:
    rounds = host_tools()["iperf3"].rounds(job_of(cell_of("iperf3", "receive", 3, 131072)))
    assert len(rounds) == 3
    for server, client in rounds:
        assert (server.output, server.command.argv) == ("", ("iperf3", "-s", "-1", "-p", "5201"))
        assert client.output.endswith(f"/{client.command.host}_{server.command.host}.json")
        assert " -R " in client.command.shell


def test_requests_go_beyond_the_file_system_of_the_first_brick_of_as_many_servers_as_there_are_workers() -> None:
    tool, write = host_tools()["fio-local"], cell_of("fio-local", "random-write", 2)
    timed = write.model_copy(update={"runtime_s": 40.0, "options": ("--iodepth=4", "--sync=dsync")})
    [steps] = tool.rounds(job_of(timed))
    assert [(step.command.host, step.output) for step in steps] == [(f"s{n}", f"fio-s{n}.json") for n in (1, 2)]
    script = steps[1].command.script
    for words in ("--mountpoint /b/d1)", "--runtime=40000ms", "--ramp_time=10000ms", "--sync=dsync"):
        assert words in script
    assert "--allow_mounted_write" in script
    assert script.endswith('"--filename=$device" "--offset=$begin"')
    [alone] = tool.rounds(job_of(timed.model_copy(update={"workers": 1, "operation": "read"})))
    assert [step.command.host for step in alone] == ["s1"]
    assert "--allow_mounted_write" not in alone[0].command.script


@pytest.mark.parametrize(("file_system", "device", "code"), [(1 << 30, 1 << 30, 1), (1 << 30, 6 << 40, 0)])
def test_a_device_that_its_file_system_fills_is_left_alone(
    file_system: int, device: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"findmnt": "/dev/x", "stat": f"{file_system // 4096} * 4096", "blockdev": str(device), "fio": "$*"}
    for name, words in answers.items():
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{words}"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    timed = cell_of("fio-local", "random-write", 1).model_copy(update={"runtime_s": 1.0})
    [[step]] = host_tools()["fio-local"].rounds(job_of(timed))
    done = subprocess.run(["sh", "-c", step.command.script], capture_output=True, text=True, check=False)
    assert (done.returncode, "no room beyond its file system" in done.stderr) == (code, bool(code))
    assert done.stdout.endswith(f"--filename=/dev/x --offset={2 * file_system}\n") or code


def test_requests_stand_beside_what_is_published_of_one_at_a_time() -> None:
    cell = cell_of("fio-local", "random-read", 2).model_copy(
        update={"record_size_bytes": 4096, "options": ("--iodepth=16",), "model": ScaleModel(name="m", scale=20)}
    )
    result = parse(DATA / "fio-random-read", cell.model_copy(update={"runtime_s": 10.0}))
    assert result.problems == ()
    rates = [worker.throughput_bytes_per_s or 0.0 for worker in result.workers]
    assert rates[0] / 4096 * 20 == pytest.approx(198.1, abs=0.1)
    alone = cell.model_copy(update={"options": ("--iodepth=1",)})
    stream = alone.model_copy(update={"operation": "read", "layout": cell.layout})
    rows = [(cell, 1, "server01", rates[0]), (alone, 1, "server01", 4096 * 4.2), (stream, 1, "server01", 10.6e6)]
    table = request_rates(rows, make_cluster(), "baseline", load_baselines(PUBLISHED)).set_index(["operation", "depth"])
    assert math.isnan(table.loc[("random-read", 16), "data_sheet"])
    assert table.loc[("random-read", 1), "share_of_data_sheet"] == pytest.approx(84 / 84.3)
    assert table.loc[("read", 1), ["share_of_published", "share_of_data_sheet"]].tolist() == [1, 212 / 226]
    shown = requests_table(table.reset_index())
    assert shown["share"].tolist() == ["", "", "100 %"]
    assert shown["its share"].tolist() == ["100 %", "", "94 %"]


def test_published_requests_follow_from_the_figures_of_the_model() -> None:
    table = load_baselines(PUBLISHED)
    for way in ("read", "write"):
        stated = table[(table["operation"] == f"random-{way}") & (table["origin"] == "sister drive")]["value"].item()
        drive = ST6000NM0034
        seconds = getattr(drive, f"{way}_seek_average_s") + 0.5 / drive.rotations_per_s + drive.command_s
        assert stated == pytest.approx(1 / seconds, abs=0.05)
