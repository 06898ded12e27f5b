"""Streams at a fixed rate: the search for the load that breaks, its commands, and what its probes come to."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools.base import Measurement
from glusterlab.tools.streams import NEEDED_OPTIONS, ONE_LOAD, RESOLUTION, STREAMS, Load, most_loads, next_load
from tests.tools.jobs import make_cell, make_job

DATA = Path(__file__).parents[1] / "data" / "streams"
DIRECT = tuple(sorted((name, values[0]) for name, values in NEEDED_OPTIONS.items()))
SIZES = {"file_size_bytes": 8 << 20, "nominal_file_size_bytes": 8 << 20, "record_size_bytes": 64 << 10}
SEARCH = make_cell("streams", "write", workers=4, rate_bytes_per_s=1.2e6, runtime_s=5.0, options=(), **SIZES)
SEARCH = SEARCH.model_copy(update={"layout": SEARCH.layout.model_copy(update={"options": DIRECT})})


@pytest.mark.parametrize("most", [1, 2, 3, 7, 96, 400, 10_000])
def test_the_search_ends_at_the_wall(most: int) -> None:
    for wall in {0, 1, most // 50, most // 9, most // 3, most - 1, most}:
        loads: list[Load] = []
        while (streams := next_load(loads, most)) is not None:
            loads.append(Load(streams, streams <= wall))
            assert len(loads) <= most_loads(most)
        held = max((load.streams for load in loads if load.holds), default=0)
        assert held <= wall <= held + max(1, RESOLUTION * held)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The search of a real volume that held 2 of 4 streams, by loads of 1, 2, 4 and 3."""
    return Path(shutil.copytree(DATA / "search", tmp_path / "workload"))


def measure(folder: Path, **changed: Any) -> Measurement:
    return STREAMS.parse(folder, SEARCH.model_copy(update=changed))


def test_a_search_stands_for_the_largest_load_that_held(folder: Path) -> None:
    assert [name for name, _ in STREAMS.probes(SEARCH, folder)] == sorted(path.name for path in folder.iterdir())
    result = measure(folder)
    assert (result.problems, result.record.streams_held, result.probe) == ((), 2, "probe-02-2-streams")
    assert (result.record.tool, result.record.workers, len(result.workers)) == ("streams", 2, 2)
    assert result.record.throughput_bytes_per_s == pytest.approx(2 * 1.2e6, rel=0.02)
    assert 0 < (result.record.latency_mean_s or 0) < (result.record.latency_p95_s or 0)


def keep(folder: Path, *names: str) -> None:
    for path in folder.iterdir():
        if path.name not in names:
            shutil.rmtree(path)


def test_that_none_held_is_a_result_of_the_least_load(folder: Path) -> None:
    keep(folder, "probe-01-1-streams")
    result = measure(folder, workers=1, rate_bytes_per_s=1.3e6)
    assert (result.problems, result.record.valid, result.record.streams_held) == ((), True, 0)
    assert result.probe == "probe-01-1-streams"


def test_a_search_that_did_not_find_its_end_is_no_result(folder: Path) -> None:
    shutil.rmtree(folder / "probe-04-3-streams")
    assert "expected a probe of 3 streams after probe-03-4-streams" in str(measure(folder).problems)
    shutil.rmtree(folder / "probe-02-2-streams")
    assert "without a gap" in str(measure(folder).problems)
    shutil.copytree(DATA / "search", folder, dirs_exist_ok=True)
    keep(folder, "probe-01-1-streams", "probe-02-2-streams")
    assert "raise 'workers'" in str(measure(folder, workers=2).problems)
    keep(folder)
    with pytest.raises(ParseError, match="folder of a probe"):
        measure(folder)


def test_a_probe_that_failed_ends_the_search(folder: Path) -> None:
    shutil.rmtree(folder / "probe-02-2-streams")
    shutil.copytree(DATA / "failed" / "probe-01-2-streams", folder / "probe-02-2-streams")
    assert len(list(STREAMS.probes(SEARCH, folder))) == 2
    problems = measure(folder).problems
    assert problems
    assert all(problem.message.startswith("probe-02-2-streams: ") for problem in problems)
    (folder / "probe-01-1-streams" / "fio-client01.json").unlink()
    assert len(list(STREAMS.probes(SEARCH, folder))) == 1


def test_one_load_is_tried_alone(tmp_path: Path) -> None:
    cell = SEARCH.model_copy(update={"options": (ONE_LOAD,), "workers": 120})
    assert [(name, probe.workers) for name, probe in STREAMS.probes(cell, tmp_path)] == [("probe-01-120-streams", 120)]
    assert STREAMS.most_probes(cell) == 1 < STREAMS.most_probes(SEARCH)


def test_of_one_load_the_streams_that_kept_their_rate_are_counted(folder: Path) -> None:
    keep(folder, "probe-03-4-streams")
    (folder / "probe-03-4-streams").rename(folder / "probe-01-4-streams")
    result = measure(folder, options=(ONE_LOAD,), workers=4)
    rates = [worker.throughput_bytes_per_s or 0.0 for worker in result.workers]
    assert (result.problems, result.record.streams_held) == ((), sum(rate >= 0.95 * 1.2e6 for rate in rates))
    assert 0 < (result.record.streams_held or 0) < 4


def test_files_are_laid_out_without_a_rate_and_probed_with_one() -> None:
    job = make_job(SEARCH.model_copy(update={"operation": "mixed"}))
    (laid_out,) = STREAMS.prepare(job)
    assert "--rw=write" in laid_out.script
    assert "--rate" not in laid_out.script
    # and looked at afterwards, through the mount that prepares
    assert laid_out.script.count("bytes, found") == 2
    (twice,) = STREAMS.prepare(make_job(SEARCH, further_mounts=("/mnt/gl/other",)))
    assert "mkdir -p /mnt/gl/vol/d/w01" in twice.script
    assert "mkdir -p /mnt/gl/other" not in twice.script
    probe = STREAMS.command(job).script
    for words in ("--rate=120000,1080000", "--rwmixread=10", "--direct=1", "--startdelay=0-55ms", "--runtime=5000ms"):
        assert words in probe


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rate_bytes_per_s": None}, "need a rate"),
        ({"access": "nfs4"}, "nfs4 does not tell bricks to bypass their caches"),
        ({"runtime_s": 2.0}, "needs 40 calls in the runtime to tell its rate, and makes 37"),
        ({"runtime_s": 9.0}, "the file of a stream needs room for what it moves in the runtime, 10800000 bytes"),
        ({"layout": SEARCH.layout.model_copy(update={"options": ()})}, "performance.strict-o-direct: on and network"),
    ],
)
def test_what_cannot_be_measured_is_told(changed: dict[str, Any], words: str) -> None:
    assert STREAMS.not_runnable(SEARCH, 3) is None
    assert words in (STREAMS.not_runnable(SEARCH.model_copy(update=changed), 3) or "")
