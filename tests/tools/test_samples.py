"""Every sample from public places, against the values that its expectation file says a correct parser returns.

One module ``samples_<tool>`` per folder of samples says how the words of its expectation files are found in records.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
EXPECTATIONS = sorted(SAMPLES.glob("*/*.expect.json"))


@pytest.mark.skipif(not EXPECTATIONS, reason="the samples lie in ../shared beside the project, which is not here")
@pytest.mark.parametrize("file", EXPECTATIONS, ids=lambda file: file.name.removesuffix(".expect.json"))
def test_sample_gives_the_expected_values(file: Path) -> None:
    described = json.loads(file.read_text(encoding="utf-8"))
    checks = importlib.import_module(f".samples_{file.parent.name}", __package__)
    checks.check(file.parent / described["file"], described["expected"])
