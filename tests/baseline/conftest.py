from pathlib import Path

import pytest

from tests.baseline.bench import BaselineBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BaselineBench:
    # the pool in memory has no sar, and answers at once
    monkeypatch.setattr("glusterlab.run.validity.MAX_REPORT_CHANGE_S", 60.0)
    monkeypatch.setattr("glusterlab.run.validity._telemetry_reasons", lambda *_: [])
    return BaselineBench(tmp_path / "raw")
