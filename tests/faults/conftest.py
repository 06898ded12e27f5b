"""Faults on a small real pool, in a short form and, with GLUSTERLAB_FAULTS=long, a long one; a table at the end."""

import json
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.testbed import state
from tests.e2e.suite import started_testbed
from tests.faults.inject import Injector
from tests.faults.machine import Room
from tests.faults.night import REPORT, Fault, Night

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""Each worker of pytest-xdist has a testbed of its own: the tests wait more than they compute."""

NAME = f"faults-{WORKER}" if WORKER else "faults"
SUBNET = f"10.212.{WORKER.removeprefix('gw') or 0}.0/24"
_BEGIN = pytest.StashKey[int]()
LONG = os.environ.get("GLUSTERLAB_FAULTS") == "long"
TIMES = 3 if LONG else 1
"""How often each fault of the pool is injected."""

SEED = int(os.environ.setdefault("GLUSTERLAB_FAULTS_SEED", str(random.SystemRandom().randrange(10**6))))


@pytest.fixture(scope="session")
def room() -> Iterator[Room]:
    """Three servers with a disk each and two clients: a disperse volume that bears the loss of a server."""
    sizes = ("--servers", "3", "--clients", "2", "--disks", "1", "--arrays", "0", "--scale", "256")
    with started_testbed(NAME, SUBNET, *sizes, cwd=Path.cwd()) as cluster:
        yield Room(state.State.load(cluster.parent))


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="session")
def chance() -> random.Random:
    return random.Random(SEED)


@pytest.fixture(params=range(TIMES))
def turn(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def inject(night: Night, chance: random.Random) -> Injector:
    """Into the campaign that the test's module has at work."""
    return Injector(night, chance)


def pytest_configure(config: pytest.Config) -> None:
    # before workers start, which write into the same file
    if REPORT not in os.environ:
        descriptor, os.environ[REPORT] = tempfile.mkstemp(prefix="faults-", suffix=".jsonl")
        os.close(descriptor)
        config.add_cleanup(Path(os.environ[REPORT]).unlink)
    config.stash[_BEGIN] = len(_lines())


def _lines() -> list[str]:
    report = Path(os.environ[REPORT])
    return report.read_text(encoding="utf-8").splitlines() if report.exists() else []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    records = [Fault(**json.loads(line)) for line in _lines()[config.stash[_BEGIN] :]]
    if not records:
        return
    terminalreporter.section(f"faults, the {'long' if LONG else 'short'} form, seed {SEED}")
    columns = "{:<40}{:>9}{:>6}{:>9}{:>13}{:>16}"
    terminalreporter.write_line(columns.format("fault", "injected", "lost", "doubled", "let through", "recovery up to"))
    for name in dict.fromkeys(record.fault for record in records):
        faults = [record for record in records if record.fault == name]
        times = [fault.recovery_s for fault in faults if fault.recovery_s is not None]
        counts = [sum(getattr(fault, what) for fault in faults) for what in ("lost", "doubled", "let_through")]
        longest = f"{max(times):.0f} s" if times else "-"
        terminalreporter.write_line(columns.format(name, len(faults), *counts, longest))
