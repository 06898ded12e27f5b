"""Rates over the whole time, of runs whose amounts and ends are known: what a tool adds up can be far above them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from glusterlab.tools import runnable
from glusterlab.tools.base import Measurement
from glusterlab.tools.records import Source, WorkloadRecord, worker_of
from tests.tools.jobs import make_cell

DATA = Path(__file__).parents[1] / "data"
MIB = 2**20


def _whole(tool: str, result: Measurement) -> dict[str, float | None]:
    return result.over_the_whole_time(together=runnable()[tool].starts_together)


def test_iozone_adds_rates_of_writers_that_end_far_apart(tmp_path: Path) -> None:
    # six writers of 2 MiB: five of them end after 1 s, the last one after 4 s
    rates = [2048.0] * 5 + [512.0]
    text = (DATA / "iozone" / "cluster-write.txt").read_text()
    for child, rate in enumerate(rates):
        text = re.sub(rf"(Child\[{child}\].*=) +[0-9.]+ kB/sec", rf"\1 {rate:.2f} kB/sec", text)
    totals = {"Children see": sum(rates), "Min through": 512.0, "Max through": 2048.0, "Avg through": sum(rates) / 6}
    for name, value in totals.items():
        text = re.sub(rf"({name}.*=) +[0-9.]+ kB/sec", rf"\1 {value:.2f} kB/sec", text)
    (tmp_path / "stdout.txt").write_text(text)
    result = runnable()["iozone"].parse(tmp_path, make_cell("iozone", "write"))
    assert not result.problems
    assert (result.record.throughput_bytes_per_s, result.record.elapsed_s) == (10752 * 1024, 4.0)
    assert _whole("iozone", result) == {
        "throughput_whole_bytes_per_s": pytest.approx(6 * 2 * MIB / 4),
        "files_whole_per_s": None,
        "operations_whole_per_s": None,
    }
    # without a worker's line its amount is not known
    fewer = replace(result, workers=result.workers[1:])
    assert set(_whole("iozone", fewer).values()) == {None}


def test_smallfile_adds_rates_of_threads_that_end_far_apart(tmp_path: Path) -> None:
    data = json.loads((DATA / "smallfile" / "create" / "output.json").read_text())
    threads = [thread for host in data["results"]["host"].values() for thread in host["thread"].values()]
    files = [thread["files"] for thread in threads]
    for thread, seconds in zip(threads, (1.0, 4.0), strict=True):
        rate = thread["files"] / seconds
        thread.update(elapsed=seconds, filesPerSec=rate, IOPS=rate, MiBps=rate / 32)
    rate = files[0] / 1.0 + files[1] / 4.0
    data["results"].update(elapsed=4.0, filesPerSec=rate, IOPS=rate, MiBps=rate / 32)
    (tmp_path / "output.json").write_text(json.dumps(data))
    (tmp_path / "stdout.txt").write_text("")
    result = runnable()["smallfile"].parse(tmp_path, make_cell("smallfile", "create"))
    assert result.record.files_per_s == pytest.approx(rate)
    whole = _whole("smallfile", result)
    assert whole["files_whole_per_s"] == pytest.approx(sum(files) / 4)
    assert whole["throughput_whole_bytes_per_s"] == pytest.approx(sum(files) * 32768 / 4)


@pytest.mark.parametrize(("apart_ms", "more_s"), [(None, None), (0, 0.0), (6000, 6.0)])
def test_fio_says_in_new_releases_when_a_job_began(tmp_path: Path, apart_ms: int | None, more_s: float | None) -> None:
    for n, path in enumerate(sorted((DATA / "fio" / "valid").glob("*.json"))):
        data = json.loads(path.read_text())
        for job in data["jobs"] if apart_ms is not None else ():
            job["job_start"] = 1_700_000_000_000 + n * apart_ms
        (tmp_path / path.name).write_text(json.dumps(data))
    result = runnable()["fio"].parse(tmp_path, make_cell("fio", "random-mixed"))
    whole = _whole("fio", result)["throughput_whole_bytes_per_s"]
    if more_s is None:
        assert whole is None
        return
    moved = sum(worker.bytes or 0 for worker in result.workers)
    last = [worker.elapsed_s or 0.0 for worker in result.workers if worker.host == "client02"]
    longest = max(worker.elapsed_s or 0.0 for worker in result.workers)
    assert whole == pytest.approx(moved / (max(last) + more_s if more_s else longest), rel=0.01)


def test_one_worker_has_one_rate() -> None:
    told = {"tool_version": None, "source": Source("out.txt", 1), "operation": "write", "label": "dd"}
    record = WorkloadRecord(tool="dd", workers=1, throughput_bytes_per_s=5.0, elapsed_s=2.0, **told)
    worker = worker_of(record, worker=1)
    assert Measurement(record, (worker,)).over_the_whole_time(together=False)["throughput_whole_bytes_per_s"] == 5.0
    two = Measurement(replace(record, workers=2), (worker, replace(worker, worker=2)))
    assert two.over_the_whole_time(together=False)["throughput_whole_bytes_per_s"] is None
    assert two.over_the_whole_time(together=True)["throughput_whole_bytes_per_s"] == 10.0
