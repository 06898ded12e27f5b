"""``glusterlab claims``: the scorecard on stdout, one claim with its samples, and clear errors."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from glusterlab import cli
from glusterlab.analysis.claims.judge import CLASSES
from glusterlab.analysis.claims.verdicts import VERDICTS
from glusterlab.cli import claims as study
from glusterlab.spec.claims import Claims, load_claims
from glusterlab.store.manifest import MANIFEST
from glusterlab.tables import build as tables
from glusterlab.tables.schema import SCHEMAS, as_schema
from tests.answers import strict_json

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = ROOT / "raw" / "published" / "supermicro-2017" / "claims.yaml"
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


@dataclass
class Loaded:
    """Tables of a campaign without telemetry."""

    samples: pd.DataFrame

    def telemetry_of(self, **_: object) -> pd.DataFrame:
        return as_schema(pd.DataFrame(columns=list(SCHEMAS["telemetry"])), "telemetry")


@pytest.fixture
def raw(tmp_path: Path, large_samples: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign beside published numbers, whose tables are synthetic."""
    folder = tmp_path / "raw" / "night"
    folder.mkdir(parents=True)
    (folder / "campaign.yaml").write_text(CAMPAIGN)
    (folder / "environment.json").write_text('{"schema_version": 1, "hosts": {}}')
    (folder / "cluster.yaml").write_bytes((ROOT / "raw" / "first-light" / "cluster.yaml").read_bytes())
    (folder / MANIFEST).write_text("")
    shutil.copytree(CLAIMS.parent, tmp_path / "raw" / "published" / "supermicro-2017")
    (tmp_path / "notebooks").mkdir()

    monkeypatch.setattr(tables, "write", lambda *_, **__: None)
    monkeypatch.setattr(tables, "load", lambda *_, **__: Loaded(large_samples))
    monkeypatch.delenv(cli.DEBUG, raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(scope="module")
def guide() -> Claims:
    return load_claims(CLAIMS)


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["claims", *map(str, arguments)], env={"COLUMNS": "80", "TERM": "dumb"})


def as_json(*arguments: str | Path) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return strict_json(result.stdout)


def test_all_claims_are_listed_with_totals(raw: Path, guide: Claims) -> None:
    result = call("raw/night")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["claim", "figure", "published", "measured", "(95", "%)", "n", "class", "verdict"]
    assert [line.split()[0] for line in lines[1 : len(guide.claims) + 1]] == [claim.id for claim in guide.claims]
    (peak,) = (line for line in lines if line.startswith("throughput-write-peak "))
    assert peak.split("  ")[-1] == "reproduced"
    assert "83.68 MB/s per disk" in peak
    assert lines[-1] == f"{len(guide.claims)} claims of supermicro-2017, against raw/night"
    assert "--id CLAIM" in result.stderr


def test_a_contradicted_claim_is_no_fault(raw: Path, large_samples: pd.DataFrame) -> None:
    rows = large_samples["type"] == "disperse"
    large_samples.loc[rows, "throughput_bytes_per_s"] /= 10
    result = call("raw/night", "--verdict", "contradicted")
    assert result.exit_code == 0
    assert "throughput-write-peak" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--verdict", "reproduced", "--class", "scale-model"), {"throughput-write-peak", "throughput-read-peak"}),
        (("--class", "arithmetic", "--verdict", "contradicted"), {"design-dense-from-petabyte"}),
        (
            ("--section", "TIERING TESTS", "--class", "ratio"),
            {"tier-4mb-read", "tier-4mb-write", "tier-32kb-read", "tier-32kb-write"},
        ),
        (("--section", "appendix c", "--verdict", "contradicted"), set()),
    ],
)
def test_filters(raw: Path, arguments: tuple[str, ...], expected: set[str]) -> None:
    found = as_json("raw/night", *arguments)
    assert {claim["id"] for claim in found["claims"]} == expected
    assert found["totals"]["all"]["all"] == len(expected)
    assert call("raw/night", *arguments).exit_code == 0


def test_filters_of_one_kind_add_up(raw: Path) -> None:
    counts = [
        as_json("raw/night", *words)["totals"]["all"]["all"]
        for words in (("--verdict", "reproduced"), ("--verdict", "insufficient-n"))
    ]
    both = as_json("raw/night", "--verdict", "reproduced", "--verdict", "insufficient-n")
    assert both["totals"]["all"]["all"] == sum(counts)


def test_json_has_everything_and_no_nan(raw: Path, guide: Claims) -> None:
    found = as_json("raw/night")
    assert (found["schema_version"], found["study"], found["raw"]) == (1, "supermicro-2017", "raw/night")
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert list(claims) == [claim.id for claim in guide.claims]
    assert found["totals"]["all"]["all"] == len(claims)
    assert {claim["verdict"] for claim in claims.values()} <= set(VERDICTS)
    peak = claims["throughput-write-peak"]
    assert peak["measured"]["n"] == 3
    assert peak["measured"]["low"] < peak["measured"]["value"] < peak["measured"]["high"]
    (cell,) = peak["comparisons"][0]["cells"]
    assert (cell["workers"], cell["samples"], cell["unit"], cell["scale"]) == (48, [1, 2, 3], "MB/s per disk", 200)
    assert claims["throughput-disperse-read"]["comparisons"][0]["missing"].startswith("the campaign has no such cells")
    assert (cell["campaign"], cell["length"], cell["files_per_worker"]) == ("synthetic", pytest.approx(1.0), 1)
    assert cell["cell_id"] == "iozone-write-4294967296-disperse-12x4+2-jbod-w48"
    assert claims["throughput-read-even"]["allowed"] == {"low": pytest.approx(1 / 1.1), "high": 1.1}
    assert claims["throughput-write-peak"]["level"] == 0.95
    assert claims["clusters-disperse-large-write"]["level"] == pytest.approx(1 - 0.05 / 3)
    assert claims["clusters-disperse-large-write"]["allowed"]["high"] is None
    assert "tested-disk-capacity" in claims["bom-disk-capacity"]["contradicts"]
    assert claims["design-capacity-advantage"]["measured"] == {"value": 108.0, "low": None, "high": None, "n": 0}


def test_one_claim_with_all_that_is_behind_it(raw: Path, guide: Claims) -> None:
    result = call("raw/night", "--id", "throughput-read-similar")
    assert result.exit_code == 0
    claim = guide.by_id("throughput-read-similar")
    assert claim.paraphrase in result.stdout
    assert "Designing for throughput / Detailed test results (F11, F12, F13)" in result.stdout
    assert "iozone-read-4294967296-disperse-12x4+2-jbod-w48, samples 01 02 03" in result.stdout
    assert "98.0 100 102 MB/s per disk, measured × 200" in result.stdout
    assert "the campaign has no such cells: standard-disperse iozone read 128 MiB" in result.stdout
    assert "contradicts throughput-read-replicate-30-50 (not measured)" in result.stdout
    assert claim.contradicts[0].why in result.stdout
    other = call("raw/night", "--id", "throughput-read-replicate-30-50")
    assert "contradicts throughput-read-similar" in other.stdout
    assert claim.contradicts[0].why in other.stdout


def test_words_of_the_table_are_those_of_the_filters(raw: Path, large_samples: pd.DataFrame) -> None:
    large_samples.loc[large_samples["operation"] == "write", "throughput_bytes_per_s"] *= 1.5
    lines = call("raw/night").stdout.splitlines()
    words = {word for line in lines for word in line.split()[-2:]}
    for claim in as_json("raw/night")["claims"]:
        (line,) = (line for line in lines if line.split()[:1] == [claim["id"]])
        assert line.split()[-1] in set(study.VerdictName)
        assert line.split()[-2] in set(study.ClassName)
    assert {"different-size", "scale-model", "not-measured"} <= words
    assert {study.typed(name) for name in VERDICTS} == set(study.VerdictName)
    assert {study.typed(name) for name in CLASSES} == set(study.ClassName)


def test_what_sides_differ_in_is_told(raw: Path, large_samples: pd.DataFrame) -> None:
    disperse = large_samples["type"] == "disperse"
    large_samples.loc[disperse, "file_size_bytes"] //= 2
    large_samples.loc[disperse, "files_per_worker"] = 5
    shown = call("raw/night", "--id", "throughput-read-similar").stdout
    assert (
        "98.0 100 102 MB/s per disk, measured × 200, files 1/2 as long as the scale asks, 5 files per worker" in shown
    )
    assert "MB/s per disk, measured × 200, 1 file per worker" in shown
    peak = call("raw/night", "--id", "throughput-read-peak").stdout
    assert "files 1/2 as long as the scale asks" in peak
    assert "per worker" not in peak


def test_the_level_of_the_largest_is_told(raw: Path) -> None:
    assert "\n* of the largest of k ratios, at 1 - 0.05 / k\n" in call("raw/night").stdout
    shown = call("raw/night", "--id", "clusters-disperse-large-write").stdout
    assert "(98.3 % interval " in shown
    assert "of 3 comparisons the largest" in shown
    assert "* of the largest" not in call("raw/night", "--class", "scale-model").stdout


@pytest.fixture
def two(raw: Path, large_samples: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two campaigns with cells of the same names: one with the replicated, one with the dispersed volume."""
    shutil.copytree(raw, raw.parent / "day")

    def load(path: Path, **_: object) -> Loaded:
        kind = "replicate" if path.name == "day" else "disperse"
        rows = large_samples[large_samples["type"] == kind]
        cell = rows["operation"] + rows["workers"].astype(str)
        return Loaded(rows.assign(campaign=path.name, cell_id=cell).reset_index(drop=True))

    monkeypatch.setattr(tables, "load", load)


@pytest.mark.usefixtures("two")
def test_several_campaigns_are_held_together() -> None:
    assert as_json("raw/night", "--id", "throughput-read-less-affected")["claim"]["verdict"] == "not measured"
    found = as_json("raw/night", "raw/day", "--id", "throughput-read-less-affected")
    assert found["raw"] == "raw/night, raw/day"
    assert found["claim"]["verdict"] == "reproduced"
    (comparison,) = found["claim"]["comparisons"]
    assert [(cell["campaign"], cell["cell_id"]) for cell in comparison["cells"]] == [
        ("night", "write48"),
        ("day", "write48"),
        ("night", "read48"),
        ("day", "read48"),
    ]
    shown = call("raw/night", "raw/day", "--id", "throughput-read-less-affected").stdout
    assert "across the campaigns night and day" in shown
    assert "÷ day/write48, samples 01 02 03" in shown
    assert call("raw/night", "raw/day").stdout.splitlines()[-1].endswith("against raw/night, raw/day")


@pytest.mark.usefixtures("two")
def test_campaigns_that_cannot_be_held_together_are_refused(raw: Path) -> None:
    twice = call("raw/night", "raw/night")
    assert (twice.exit_code, twice.stdout) == (2, "")
    assert "different names, found night twice" in " ".join(twice.stderr.split())
    (raw.parent / "day" / "campaign.yaml").write_text(CAMPAIGN.replace("study: supermicro-2017", "study: azure"))
    other = call("raw/night", "raw/day")
    assert other.exit_code == 2
    assert "campaigns of one study, found supermicro-2017, azure" in " ".join(other.stderr.split())
    assert call("raw/night", "raw/day", "--study", "supermicro-2017").exit_code == 0


@pytest.mark.parametrize("claim", [claim.id for claim in load_claims(CLAIMS).claims[::19]])
def test_any_claim_can_be_shown(raw: Path, claim: str) -> None:
    result = call("raw/night", "--id", claim)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"claim:     {claim}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("raw/none",), 1, "raw/none"),
        (("raw/night", "--id", "throughput-write-peek"), 2, "did you mean 'throughput-write-peak'?"),
        (("raw/night", "--id", "sum", "--class", "fact"), 2, "give one or the other"),
        (("raw/night", "--study", "azure"), 2, "those of supermicro-2017 are there"),
        (("raw/night", "--section", "weather"), 2, "its chapters: Red Hat Gluster Storage on Supermicro servers; Test"),
        (("raw/night", "--verdict", "good"), 2, "contradicted"),
        (("raw/night", "--class", "good"), 2, "scale-model"),
        (("s3://lab/raw/night",), 2, "expected a path of this machine"),
        ((), 2, "Missing argument"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(raw: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    result = call(*arguments)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("content", [b"", b"\0\1\2", CLAIMS.read_bytes()[:5000]])
def test_a_damaged_file_of_claims_is_named(raw: Path, content: bytes) -> None:
    path = raw.parent / "published" / "supermicro-2017" / "claims.yaml"
    path.write_bytes(content)
    result = call("raw/night")
    assert result.exit_code == 2
    assert str(path) in result.stderr
    assert result.stdout == ""


def test_claims_are_found_beside_the_campaign_else_in_the_project(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (raw.parent / "published" / "supermicro-2017" / "claims.yaml").unlink()
    assert call("raw/night").exit_code == 2
    monkeypatch.chdir(ROOT)
    assert as_json(raw)["study"] == "supermicro-2017"


def completions(incomplete: str) -> list[str]:
    return list(study._completion("id")(incomplete))


def test_ids_and_sections_are_completed(raw: Path, guide: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completions("") == [claim.id for claim in guide.claims]
    assert completions("throughput-write-p") == ["throughput-write-peak"]
    assert list(study._completion("section")("")) == list(dict.fromkeys(claim.chapter for claim in guide.claims))
    (raw.parent / "published" / "supermicro-2017" / "claims.yaml").write_bytes(b"\xff- id: x\n- id: ok-1\n")
    assert completions("") == ["ok-1"]
    monkeypatch.chdir(raw)
    assert all(isinstance(name, str) for name in completions("zzz"))
