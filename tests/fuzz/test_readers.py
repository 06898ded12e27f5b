"""Hostile input: whatever a file holds, a reader returns records or says what is wrong; it never calls damage valid.

A short run is part of `make test`; `make fuzz` gives every format 10,000 cases (GLUSTERLAB_FUZZ names another number).
"""

import math
import os
import resource
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from glusterlab.errors import GlusterlabError
from glusterlab.parse import parse
from glusterlab.tools.records import Record, WorkerRecord, WorkloadRecord
from tests.fuzz import mutations
from tests.hang import no_hang

DATA = Path(__file__).parents[1] / "data"
CASES = int(os.environ.get("GLUSTERLAB_FUZZ", "75"))
MAX_SEED_BYTES = 40_000
MAX_CASE_BYTES = 16 << 20
HANG_S = 5
HANG_S_PER_BYTE = 1e-6
"""Megabytes of records take seconds; what grows with the square of the input takes minutes."""
GROWTH_BYTES = 1 << 30
RATES = ("throughput_bytes_per_s", "operations_per_s", "files_per_s", "latency_mean_s")


def _seeds() -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = defaultdict(list)
    for path in sorted(DATA.glob("*/**/*")):
        if path.is_file() and not path.name.endswith((".expect.json", ".md", ".py")):
            data = path.read_bytes()
            if 0 < len(data) <= MAX_SEED_BYTES:
                kind = "json" if data.lstrip()[:1] in (b"{", b"[") else "xml" if b"<?xml" in data[:100] else "text"
                # of fio's logs the name says what is in them
                kind = (
                    path.name[path.name.rindex("_") :] if path.suffix == ".log" and path.parent.name == "logs" else kind
                )
                found[f"{path.relative_to(DATA).parts[0]}-{kind}"].append(data)
    return dict(sorted(found.items()))


SEEDS = _seeds()


def read(path: Path, data: bytes) -> Iterator[Record]:
    """What the file gives, until its end or the first error that the library means."""
    path.unlink(missing_ok=True)  # what is cut to nothing and written again waits for the disk
    path.write_bytes(data)
    with no_hang(HANG_S + len(data) * HANG_S_PER_BYTE), warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(GlusterlabError):
            yield from parse(path)


def check(record: Record) -> None:
    """No record says what no tool can have measured."""
    record.to_json()
    if not isinstance(record, (WorkloadRecord, WorkerRecord)):
        return
    values = {name: getattr(record, name) for name in RATES if hasattr(record, name)}
    for name, value in values.items():
        assert value is None or (math.isfinite(value) and value >= 0), f"{name} is {value}"
    if record.valid:
        assert not record.reasons
        done = [getattr(record, name) for name in ("bytes", "files", "elapsed_s") if isinstance(record, WorkerRecord)]
        assert any([*values.values(), *done]), f"valid, and nothing was measured: {record}"
    if record.valid is False:
        assert record.reasons
        assert all(value != 0 for name, value in values.items() if name != "latency_mean_s"), "a failure is never 0"


def facts(record: Record) -> tuple[Any, ...] | None:
    """What a valid result says, whatever its place in the file."""
    if isinstance(record, WorkloadRecord) and record.valid:
        return (record.operation, record.job, *(getattr(record, name) for name in RATES))
    return None


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "case"


LIMITS = settings(
    max_examples=CASES,
    deadline=None,
    database=None,
    derandomize="GLUSTERLAB_FUZZ" not in os.environ,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


@pytest.mark.parametrize("name", SEEDS)
def test_damage_is_never_a_traceback_a_hang_or_a_wrong_result(name: str, place: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @LIMITS
    @given(st.data())
    def case(data: st.DataObject) -> None:
        seed = SEEDS[name][data.draw(st.integers(0, len(SEEDS[name]) - 1))]
        for _ in range(data.draw(st.integers(1, 3))):
            seed = mutations.ALL[data.draw(st.integers(0, len(mutations.ALL) - 1))](seed, data.draw)[:MAX_CASE_BYTES]
        for record in read(place.with_name(name), seed):
            check(record)

    case()
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert growth < GROWTH_BYTES


@pytest.mark.parametrize("name", SEEDS)
def test_a_cut_or_doubled_file_has_no_valid_result_of_its_own(name: str, place: Path) -> None:
    originals = cache(lambda seed: {facts(record) for record in read(place.with_name(name), seed)})

    @LIMITS
    @given(st.data())
    def case(data: st.DataObject) -> None:
        seed = SEEDS[name][data.draw(st.integers(0, len(SEEDS[name]) - 1))]
        original = originals(seed)
        harmless = mutations.HARMLESS[data.draw(st.integers(0, len(mutations.HARMLESS) - 1))]
        for record in read(place.with_name(name), harmless(seed, data.draw)):
            check(record)
            assert facts(record) is None or facts(record) in original

    case()


SHORT_BYTES = 3_000
SHORT_FILES = 2 if CASES <= 150 else 1_000


@pytest.mark.parametrize("name", SEEDS)
def test_a_short_file_cut_anywhere_has_no_valid_result_of_its_own(name: str, place: Path) -> None:
    """A number that lost its last digits still looks like one: chance alone does not find every place."""
    short = [seed for seed in SEEDS[name] if len(seed) <= SHORT_BYTES][:SHORT_FILES]
    for seed in short:
        original = {facts(record) for record in read(place.with_name(name), seed)}
        for end in range(len(seed) // 3, len(seed)):
            if CASES <= 150 and seed[end - 1] == seed[end] and not seed[end : end + 1].isalnum():
                continue  # in a row of blanks or dashes one cut is like the next
            for record in read(place.with_name(name), seed[:end]):
                assert facts(record) is None or facts(record) in original, f"cut at {end} of {seed[:80]!r}"
