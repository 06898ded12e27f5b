"""Commands, and campaigns for them whose tables are synthetic."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from glusterlab import cli
from glusterlab.store.manifest import MANIFEST, Manifest, list_files
from glusterlab.tables import build as tables
from glusterlab.tables.schema import SCHEMAS, as_schema
from tests.answers import strict_json

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGN = """\
schema_version: 1
name: night
study: supermicro-2017
seed: 1
repeats: 3
layouts: [{name: mirror, type: replicate, geometry: 1x2, backing: raid6}]
workloads: [{tool: iozone, operations: write, file_size: 1 MiB, model: large-file}]
workers: 2
"""


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [*map(str, arguments)], env={"COLUMNS": "80", "TERM": "dumb"})


def answer(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """The object that a command printed."""
    result = call(*arguments, "--json")
    assert result.exit_code == code, result.output
    return strict_json(result.stdout)


def copy_part(source: Path, raw: Path, samples: Sequence[Path]) -> None:
    """A campaign of some samples of another one, as that one's manifest lists them."""
    for path in (*source.glob("*.yaml"), source / "environment.json", *(each.parent / "cell.json" for each in samples)):
        (raw / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, raw / path.relative_to(source))
    for sample in samples:
        shutil.copytree(sample, raw / sample.relative_to(source))
    listed = {
        name: word
        for name, word in Manifest.read(source).digests.items()
        if (raw / name).is_file() or (name.count("/") > 2 and raw.joinpath(*name.split("/")[:3]).is_dir())
    }
    (raw / MANIFEST).write_text(Manifest(listed).text)


class Loaded:
    """Tables without telemetry."""

    def __init__(self, samples: pd.DataFrame) -> None:
        self.samples = samples

    def telemetry_of(self, **_: object) -> pd.DataFrame:
        return as_schema(pd.DataFrame(columns=list(SCHEMAS["telemetry"])), "telemetry")


class Campaigns:
    """Makes campaigns below a folder; `samples` are what their tables hold, by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.samples: dict[str, pd.DataFrame] = {}

    def __call__(self, name: str, samples: pd.DataFrame, *, text: str = CAMPAIGN, **hosts: dict[str, Any]) -> Path:
        raw = self.folder / "raw" / name
        raw.mkdir(parents=True)
        (raw / "campaign.yaml").write_text(text)
        facts = {"schema_version": 1, "hosts": hosts, "number": len(self.samples)}
        (raw / "environment.json").write_text(json.dumps(facts))
        list_files(raw, [raw])
        self.samples[name] = samples
        return raw


@pytest.fixture
def campaigns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaigns:
    made = Campaigns(tmp_path)
    monkeypatch.setattr(tables, "write", lambda *_, **__: None)
    monkeypatch.setattr(tables, "load", lambda raw, *_, **__: Loaded(made.samples[Path(raw).name]))
    monkeypatch.delenv(cli.DEBUG, raising=False)
    monkeypatch.chdir(tmp_path)
    return made
