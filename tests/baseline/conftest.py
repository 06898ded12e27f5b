from __future__ import annotations

from pathlib import Path

import pytest

from .bench import BaselineBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BaselineBench:
    # the pool in memory has no sar
    monkeypatch.setattr("glusterlab.judge._telemetry_reasons", lambda *_: [])
    return BaselineBench(tmp_path / "raw")
