"""``glusterlab claims``: the scorecard on stdout, one claim with its samples, and clear errors."""

import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from glusterlab.analysis.claims.judge import CLASSES
from glusterlab.analysis.claims.verdicts import VERDICTS
from glusterlab.cli import claims as study
from glusterlab.spec.claims import Claims, load_claims
from tests.cli import conftest
from tests.cli.conftest import CAMPAIGN, ROOT, Campaigns
from tests.store.conftest import relist

CLAIMS = ROOT / "raw" / "published" / "supermicro-2017" / "claims.yaml"


@pytest.fixture
def raw(tmp_path: Path, large_samples: pd.DataFrame, campaigns: Campaigns) -> Path:
    """A campaign beside published numbers."""
    folder = campaigns("night", large_samples)
    (folder / "cluster.yaml").write_bytes((ROOT / "raw" / "first-light" / "cluster.yaml").read_bytes())
    shutil.copytree(CLAIMS.parent, tmp_path / "raw" / "published" / "supermicro-2017")
    (tmp_path / "notebooks").mkdir()
    return folder


@pytest.fixture(scope="module")
def guide() -> Claims:
    return load_claims(CLAIMS)


call, as_json = partial(conftest.call, "claims"), partial(conftest.answer, "claims")


def test_all_claims_are_listed_with_totals(raw: Path, guide: Claims) -> None:
    result = call("raw/night")
    assert (result.exit_code, "--id CLAIM" in result.stderr) == (0, True)
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1 : len(guide.claims) + 1]] == [claim.id for claim in guide.claims]
    (peak,) = (line for line in lines if line.startswith("throughput-write-peak "))
    assert (peak.split("  ")[-1], "83.68 MB/s per disk" in peak) == ("model-cannot-tell", True)
    assert (
        "(independent measured ratios): 3 reproduced (3), 1 contradicted (1), 2 model cannot tell (2), "
        in result.stdout
    )
    assert "\n* of the largest of k ratios, at 1 - 0.05 / k\n" in result.stdout
    assert lines[-1] == f"{len(guide.claims)} claims of supermicro-2017, against raw/night"


def test_a_contradicted_claim_is_no_fault(raw: Path, large_samples: pd.DataFrame) -> None:
    rows = (large_samples["type"] == "disperse") & (large_samples["operation"] == "write")
    large_samples.loc[rows, "throughput_bytes_per_s"] /= 1.5
    result = call("raw/night", "--verdict", "contradicted")
    assert (result.exit_code, "throughput-read-less-affected" in result.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--verdict", "model-cannot-tell", "--class", "scale-model"),
            {"throughput-write-peak", "throughput-read-peak"},
        ),
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
    assert sum(of["claims"]["all"] for name, of in found["totals"].items() if name != "evidence") == len(expected)


def test_filters_of_one_kind_add_up(raw: Path) -> None:
    one, other = ("--verdict", "reproduced"), ("--verdict", "insufficient-n")
    counts = [len(as_json("raw/night", *words)["claims"]) for words in (one, other, (*one, *other))]
    assert counts[2] == counts[0] + counts[1]


def test_json_has_everything_and_no_nan(raw: Path, guide: Claims) -> None:
    found = as_json("raw/night")
    assert (found["schema_version"], found["study"], found["raw"]) == (1, "supermicro-2017", "raw/night")
    claims = {claim["id"]: claim for claim in found["claims"]}
    assert list(claims) == [claim.id for claim in guide.claims]
    assert found["totals"]["arithmetic"] == {"claims": found["totals"]["arithmetic"]["claims"]}
    assert set(found["totals"]["evidence"]) == {"claims", "measured_ratios"}
    assert {claim["verdict"] for claim in claims.values()} <= set(VERDICTS)
    peak = claims["throughput-write-peak"]
    assert (peak["measured"]["n"], peak["level"]) == (3, 0.95)
    assert peak["measured"]["low"] < peak["measured"]["value"] < peak["measured"]["high"]
    (cell,) = peak["comparisons"][0]["cells"]
    assert (cell["workers"], cell["samples"], cell["unit"], cell["scale"]) == (48, [1, 2, 3], "MB/s per disk", 200)
    assert (cell["campaign"], cell["length"], cell["files_per_worker"]) == ("synthetic", pytest.approx(1.0), 1)
    assert cell["cell_id"] == "iozone-write-4294967296-disperse-12x4+2-jbod-w48"
    assert claims["throughput-disperse-read"]["comparisons"][0]["missing"].startswith("the campaign has no such cells")
    assert claims["throughput-read-even"]["allowed"] == {"low": pytest.approx(1 / 1.1), "high": 1.1}
    largest = claims["clusters-disperse-large-write"]
    assert (largest["level"], largest["allowed"]["high"]) == (pytest.approx(1 - 0.05 / 3), None)
    assert "tested-disk-capacity" in claims["bom-disk-capacity"]["contradicts"]
    assert claims["design-capacity-advantage"]["measured"] == {"value": 108.0, "low": None, "high": None, "n": 0}


def test_one_claim_with_all_that_is_behind_it(raw: Path, guide: Claims) -> None:
    result = call("raw/night", "--id", "throughput-read-similar")
    assert result.exit_code == 0
    claim = guide.by_id("throughput-read-similar")
    for said in (
        claim.paraphrase,
        "Designing for throughput / Detailed test results (F11, F12, F13)",
        "iozone-read-4294967296-disperse-12x4+2-jbod-w48, samples 01 02 03",
        "98.0 100 102 MB/s per disk, measured × 200",
        "the campaign has no such cells: standard-disperse iozone read 128 MiB",
        "contradicts throughput-read-replicate-30-50 (not measured)",
        claim.contradicts[0].why,
    ):
        assert said in result.stdout
    other = call("raw/night", "--id", "throughput-read-replicate-30-50").stdout
    assert "contradicts throughput-read-similar" in other
    assert claim.contradicts[0].why in other


def test_words_of_the_table_are_those_of_the_filters(raw: Path) -> None:
    lines = [line.split() for line in call("raw/night").stdout.splitlines() if line]
    for claim in as_json("raw/night")["claims"]:
        (words,) = (words for words in lines if words[0] == claim["id"])
        assert words[-1] in set(study.VerdictName)
        assert words[-2] in set(study.ClassName)
    assert {"model-cannot-tell", "scale-model", "not-measured"} <= {word for words in lines for word in words[-2:]}
    assert {study.typed(name) for name in VERDICTS} == set(study.VerdictName)
    assert {study.typed(name) for name in CLASSES} == set(study.ClassName)


def test_what_sides_differ_in_is_told(raw: Path, large_samples: pd.DataFrame) -> None:
    disperse = large_samples["type"] == "disperse"
    large_samples.loc[disperse, "file_size_bytes"] //= 2
    large_samples.loc[disperse, "files_per_worker"] = 5
    shown = call("raw/night", "--id", "throughput-read-similar").stdout
    assert "measured × 200, files 1/2 as long as the scale asks, 5 files per worker" in shown
    assert "MB/s per disk, measured × 200, 1 file per worker" in shown
    peak = call("raw/night", "--id", "throughput-read-peak").stdout
    assert "files 1/2 as long as the scale asks" in peak
    assert "per worker" not in peak


def test_the_level_of_the_largest_is_told(raw: Path) -> None:
    shown = call("raw/night", "--id", "clusters-disperse-large-write").stdout
    assert "(98.3 % interval " in shown
    assert "of 3 comparisons the largest" in shown
    assert "* of the largest" not in call("raw/night", "--class", "scale-model").stdout


@pytest.fixture
def two(raw: Path, large_samples: pd.DataFrame, campaigns: Campaigns) -> None:
    """Two campaigns with cells of the same names: one with the replicated, one with the dispersed volume."""
    shutil.copytree(raw, raw.parent / "day")
    for name, kind in (("day", "replicate"), ("night", "disperse")):
        rows = large_samples[large_samples["type"] == kind]
        cell = rows["operation"] + rows["workers"].astype(str)
        campaigns.samples[name] = rows.assign(campaign=name, cell_id=cell).reset_index(drop=True)


@pytest.mark.usefixtures("two")
def test_several_campaigns_are_held_together() -> None:
    words = ("--id", "throughput-read-less-affected")
    assert as_json("raw/night", *words)["claim"]["verdict"] == "not measured"
    found = as_json("raw/night", "raw/day", *words)
    assert found["raw"] == "raw/night, raw/day"
    assert found["claim"]["verdict"] == "reproduced"
    (comparison,) = found["claim"]["comparisons"]
    cells = [f"{cell['campaign']}/{cell['cell_id']}" for cell in comparison["cells"]]
    assert cells == ["night/write48", "day/write48", "night/read48", "day/read48"]
    shown = call("raw/night", "raw/day", *words).stdout
    assert "across the campaigns night and day" in shown
    assert "÷ day/write48, samples 01 02 03" in shown
    assert call("raw/night", "raw/day").stdout.splitlines()[-1].endswith("against raw/night, raw/day")


@pytest.mark.usefixtures("two")
def test_campaigns_that_cannot_be_held_together_are_refused(raw: Path) -> None:
    twice = call("raw/night", "raw/night")
    assert (twice.exit_code, twice.stdout) == (2, "")
    assert "different names, found night twice" in " ".join(twice.stderr.split())
    (raw.parent / "day" / "campaign.yaml").write_text(CAMPAIGN.replace("study: supermicro-2017", "study: azure"))
    relist(raw.parent / "day", "campaign.yaml")
    other = call("raw/night", "raw/day")
    said = "campaigns of one study, found supermicro-2017, azure"
    assert (other.exit_code, said in " ".join(other.stderr.split())) == (2, True)
    assert call("raw/night", "raw/day", "--study", "supermicro-2017").exit_code == 0


@pytest.mark.parametrize("claim", [claim.id for claim in load_claims(CLAIMS).claims[::19]])
def test_any_claim_can_be_shown(raw: Path, claim: str) -> None:
    result = call("raw/night", "--id", claim)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"claim:     {claim}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("raw/none",), 2, "raw/none"),
        (("raw/night", "--id", "throughput-write-peek"), 2, "did you mean 'throughput-write-peak'?"),
        (("raw/night", "--id", "sum", "--class", "fact"), 2, "give one or the other"),
        (("raw/night", "--study", "azure"), 2, "those of supermicro-2017 are there"),
        (("raw/night", "--study", "../published/supermicro-2017"), 2, "such as rhgs-3.1, found '../published/superm"),
        (("raw/night", "--study", "a" * 400), 2, "expected the name of a study, such as rhgs-3.1"),
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
    assert (result.exit_code, result.stdout, str(path) in result.stderr) == (2, "", True)


def test_claims_are_found_beside_the_campaign_else_in_the_project(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (raw.parent / "published" / "supermicro-2017" / "claims.yaml").unlink()
    assert call("raw/night").exit_code == 2
    monkeypatch.chdir(ROOT)
    assert as_json(raw)["study"] == "supermicro-2017"


def test_ids_and_sections_are_completed(raw: Path, guide: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    ids, sections = study._completion("id"), study._completion("section")
    assert list(ids("")) == [claim.id for claim in guide.claims]
    assert list(ids("throughput-write-p")) == ["throughput-write-peak"]
    assert list(sections("")) == list(dict.fromkeys(claim.chapter for claim in guide.claims))
    (raw.parent / "published" / "supermicro-2017" / "claims.yaml").write_bytes(b"\xff- id: x\n- id: ok-1\n")
    assert list(ids("")) == ["ok-1"]
    monkeypatch.chdir(raw)
    assert all(isinstance(name, str) for name in ids("zzz"))
