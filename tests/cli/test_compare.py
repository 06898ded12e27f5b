"""``glusterlab compare``: verdicts on stdout, the gate's exit code, Markdown, JSON, and clear errors."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from glusterlab.errors import UsageError
from glusterlab.sections.comparison import Comparison, labelled, open_comparison, open_release
from glusterlab.sections.section import open_section
from glusterlab.tables import build as tables
from tests.cli import conftest
from tests.cli.conftest import CAMPAIGN, ROOT, Campaigns
from tests.release_samples import KIB, MIB, newer, older
from tests.store.conftest import relist

FIRST_LIGHT = ROOT / "raw" / "first-light"
EFFECTS = {("create", 32 * KIB): 1.34, ("read", 4 * MIB): 0.8}

Make = Callable[..., Path]


@pytest.fixture
def make(campaigns: Campaigns) -> Make:
    def make(name: str, samples: pd.DataFrame, *, kernel: str = "6.1", repeats: str = "10") -> Path:
        tools = {"gluster": ", ".join(sorted(set(samples["gluster_version"])))}
        host = {"role": "server", "kernel": kernel, "os": "Debian 12", "tools": tools}
        return campaigns(name, samples, text=CAMPAIGN.replace("repeats: 3", f"repeats: {repeats}"), s1=host)

    return make


@pytest.fixture
def pair(make: Make) -> tuple[str, str]:
    make("older", older())
    make("newer", newer(EFFECTS))
    return "raw/older", "raw/newer"


@pytest.fixture
def few(make: Make) -> tuple[str, str]:
    """Too few repeats for any evidence."""
    make("older", older(4))
    make("newer", newer(EFFECTS, 4))
    return "raw/older", "raw/newer"


call, as_json = partial(conftest.call, "compare"), partial(conftest.answer, "compare")


def test_a_row_per_cell_and_the_verdicts(pair: tuple[str, str]) -> None:
    result = call(*pair)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    cells = [f"smallfile-{operation}-{size}kib-w12" for operation in ("create", "read") for size in (32, 4096)]
    assert [line.split()[0] for line in lines[:5]] == ["cell", *cells]
    assert [lines[1].split()[-1], lines[4].split()[-1]] == ["faster", "slower"]
    assert "11.1 against 10.3: 4 cells, 1 slower, 1 faster, 2 equivalent within the margin" in lines
    assert "margin ± 5 %, p corrected over 4 cells (Holm)" in lines
    for said in ("all writes: +1", "signed-rank test"):
        assert said in result.stdout
    assert result.stderr.startswith("warning: 11.1: in all cells the same campaign went first")


def test_the_view_of_rates_is_said_and_can_be_the_other(make: Make) -> None:
    make("older", older().assign(files_whole_per_s=older()["files_per_s"] / 2))
    new = newer(EFFECTS)
    # over the whole time the newer release is slower everywhere
    make("newer", new.assign(files_whole_per_s=new["files_per_s"] / 4))
    own, whole = (call("raw/older", "raw/newer", *words).stdout for words in ((), ("--view", "whole")))
    assert ("rates: tool's own rate" in own, "1 slower, 1 faster" in own) == (True, True)
    assert ("rates: over the whole time" in whole, "4 slower" in whole) == (True, True)


@pytest.mark.parametrize(
    ("words", "code"), [(["5%"], 1), (["15 %"], 1), (["25%"], 0), (["0%"], 1), (["5%", "--operation", "create"], 0)]
)
def test_the_gate_fails_on_evidence_only(pair: tuple[str, str], words: list[str], code: int) -> None:
    loss, *more = words
    result = call(*pair, "--fail-on", f"slower:{loss}", *more)
    assert result.exit_code == code
    assert ("gate: failed, smallfile-read-4096kib-w12" if code else "gate: passed") in result.stdout


def test_a_gate_that_tested_nothing_is_closed_unless_that_is_allowed(few: tuple[str, str]) -> None:
    closed = call(*few, "--fail-on", "slower:5%")
    assert closed.exit_code == 1
    assert "insufficient n, 4 cells have n = 4; with 4 cells at least 8 rounds are needed" in closed.stdout
    assert "gate: failed, 4 of 4 cells could not be tested (smallfile-create-32kib-w12" in closed.stdout
    result = call(*few, "--fail-on", "slower:5%", "--allow-untested")
    assert result.exit_code == 0
    assert "gate: open by --allow-untested, and has tested nothing: none of 4 cells could be tested" in result.stdout
    text = call(*few, "--markdown", "-").stdout
    assert text.startswith("### No difference is shown: 4 insufficient n of 4 cells\n")
    assert "at least 8 rounds are needed" in text
    assert "|" not in text


def test_a_release_that_breaks_cells_does_not_simply_pass(pair: tuple[str, str], make: Make) -> None:
    other = newer({})
    make("broken", other.assign(status=other["status"].mask(other["operation"] == "read", "failed")))
    gate = ("raw/older", "raw/broken", "--fail-on", "slower:5%")
    result = call(*gate)
    assert (result.exit_code, "gate: failed, 2 of 4 cells could not be tested" in result.stdout) == (1, True)
    result = call(*gate, "--allow-untested")
    said = "gate: passed, but only 2 of 4 cells could be tested; none of them is shown"
    assert (result.exit_code, said in result.stdout) == (0, True)
    assert "warning: 11.1: 20 of 40 repeats never came out valid" in result.stderr


def test_markdown_is_short_and_has_verdict_and_warnings(pair: tuple[str, str], make: Make, tmp_path: Path) -> None:
    make("other-kernel", newer(EFFECTS, offset_s=400.0), kernel="6.12")
    lines = call("raw/older", "raw/other-kernel", "--fail-on", "slower:5%", "--markdown", "-").stdout.splitlines()
    assert lines[0].startswith("### Failed, smallfile-read-4096kib-w12 slower by more than 5 %: -2")
    assert "- 11.1 against 10.3: 4 cells, 1 slower, 1 faster, 2 equivalent within the margin" in lines
    rows = [line.split(" | ") for line in lines if line.startswith("| smallfile")]
    assert [row[0] for row in rows] == ["| smallfile-read-4096kib-w12", "| smallfile-create-32kib-w12"]
    assert rows[0][-1] == "slower |"
    assert "- not only the release differs: servers: kernel 6.1, then 6.12" in lines
    assert len(lines) < 35
    plain = call(*pair).stdout
    assert call(*pair, "--markdown", tmp_path / "summary.md").stdout == plain
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("### 1 slower, 1 faster, 2 equivalent within the margin of 4 cells\n")


def test_names_cannot_break_out_of_markdown(make: Make) -> None:
    make("a|b<script>", older())
    make("c`*d*`", newer(EFFECTS, version="10.3"))
    text = call("raw/a|b<script>", "raw/c`*d*`", "--markdown", "-").stdout
    assert "<script>" not in text
    assert r"a\|b\<script\>" in text
    assert r"c\`\*d\*\`" in text


def test_json_has_everything_and_no_nan(few: tuple[str, str]) -> None:
    found = as_json(*few, "--fail-on", "slower:5%", code=1)
    assert found["schema_version"] == 1
    assert [(each["label"], each["campaign"], each["release"]) for each in found["campaigns"]] == [
        ("10.3", "older", "10.3"),
        ("11.1", "newer", "11.1"),
    ]
    assert found["rule"] == {"margin": 0.05, "correction": "holm", "level": 0.95}
    assert found["totals"] == {"11.1": {"insufficient n": 4}}
    gate = found["gate"]
    assert [each["cell_id"] for each in gate.pop("not_tested")] == [cell["cell_id"] for cell in found["cells"]]
    assert gate == {"slower": 0.05, "allow_untested": False, "failed": True, "tested": 0, "total": 4, "cells": []}
    cell = found["cells"][0]
    assert (cell["verdict"], cell["low"], cell["p_corrected"], cell["least_n"]) == ("insufficient n", None, None, 8)
    assert cell["samples_other"] == [1, 2, 3, 4]
    assert cell["values_reference"] == pytest.approx([396.0, 408.0, 400.0, 394.0])
    assert [each["what"] for each in found["differences"]] == ["GlusterFS", "tool gluster"]


def test_campaigns_without_a_common_cell_are_no_error_but_close_a_gate(pair: tuple[str, str], make: Make) -> None:
    make("other", newer({}).assign(cell_id="another", slug="another"))
    for words, code in (((), 0), (("--fail-on", "slower:5%"), 1)):
        result = call("raw/older", "raw/other", *words)
        assert (result.exit_code, "no cell in common" in result.stdout) == (code, True)
    assert call("raw/older", "raw/other", "--markdown", "-").stdout.startswith("### Nothing to compare")


def test_a_target_of_repeats_is_warned_of(make: Make) -> None:
    make("older", older(), repeats="{max: 10, half_width: 5%}")
    make("newer", newer(EFFECTS))
    assert "10.3: its cells were repeated until ± 5 %" in call("raw/older", "raw/newer").stderr


def test_more_than_two_campaigns_are_each_held_against_the_first(pair: tuple[str, str], make: Make) -> None:
    make("again", newer({}, version="10.3", offset_s=300.0))
    result = call(*pair, "raw/again", "--fail-on", "slower:5%")
    for said in (
        "newer (11.1) against older (10.3): 4 cells, 1 slower, 1 faster",
        "again (10.3) against older (10.3): 4 cells, 4 equivalent",
        "gate: failed, newer (11.1), smallfile-read-4096kib-w12 slower by more than 5 %: -",
    ):
        assert said in result.stdout


@pytest.mark.usefixtures("pair")
def test_a_campaign_twice_or_a_copy_is_an_error_unless_it_is_meant(campaigns: Campaigns) -> None:
    shutil.copytree("raw/older", "raw/copy")
    campaigns.samples["copy"] = older()
    for other, said in (("older", "named twice"), ("copy", "raw/copy is a copy of raw/older")):
        result = call("raw/older", f"raw/{other}")
        assert (result.exit_code, said in result.stderr) == (2, True)
    meant = call("raw/older", "raw/older", "--same")
    assert (meant.exit_code, "4 equivalent within the margin" in meant.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("raw/older",), "two campaigns or more"),
        (("raw/older", "raw/nothing"), "raw/nothing"),
        (("raw/older", "raw/newer", "--margin", "5"), "--margin: expected a margin such as 5%"),
        (("raw/older", "raw/newer", "--margin", "100%"), "below 100 %"),
        (("raw/older", "raw/newer", "--correction", "none"), "--correction"),
        (("raw/older", "raw/newer", "--fail-on", "5%"), "such as slower:5%"),
        (("raw/older", "raw/newer", "--fail-on", "untested:5%"), "such as slower:5%"),
        (("raw/older", "raw/newer", "--fail-on", "slower:x"), "such as slower:5%"),
        (("raw/older", "raw/newer", "--fail-on", "untested"), "but with --allow-untested"),
        (("raw/older", "raw/newer", "--allow-untested"), "give --fail-on, too"),
        (
            ("raw/older", "raw/newer", "--operation", "creat"),
            "expected operations among create, read, found creat (--operation): did you mean 'create'?",
        ),
        (("raw/older", "raw/newer", "--json", "--markdown", "-"), "give one of them"),
    ],
)
def test_wrong_usage(pair: tuple[str, str], arguments: tuple[str, ...], said: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_damaged_and_unwritable_files_are_sentences(pair: tuple[str, str]) -> None:
    result = call(*pair, "--markdown", "nowhere/summary.md")
    assert (result.exit_code, "nowhere" in result.stderr) == (3, True)
    Path("raw/newer/campaign.yaml").write_text("schema_version: 1\nname: [\n")
    result = call(*pair)
    assert (result.exit_code, "MANIFEST.sha256 has it: campaign.yaml was" in result.stderr) == (1, True)
    relist(Path("raw/newer"), "campaign.yaml")
    result = call(*pair)
    assert (result.exit_code, "raw/newer/campaign.yaml" in result.stderr) == (2, True)
    Path("raw/newer/campaign.yaml").write_text(CAMPAIGN)
    Path("raw/older/environment.json").write_bytes(b"\xff\xfe{")
    result = call(*pair)
    assert result.exit_code == 3
    assert "raw/older/environment.json: expected JSON, found damage" in result.stderr


def test_labels_tell_campaigns_apart(pair: tuple[str, str], make: Make) -> None:
    older_release, newer_release = (open_release(Path(path), tables.load(Path(path)).samples) for path in pair)
    assert [each.label for each in labelled([older_release, newer_release])] == ["10.3", "11.1"]
    with pytest.raises(UsageError, match="found one of them twice"):
        labelled([older_release, older_release])


@pytest.fixture
def halves(tmp_path: Path) -> list[Path]:
    """Two campaigns of one repeat each of three cells of first-light."""
    if not FIRST_LIGHT.is_dir():
        pytest.skip("raw/first-light is not here")
    made = []
    for sample in ("01", "02"):
        raw = tmp_path / "real" / "raw" / f"half-{sample}"
        cells = sorted((FIRST_LIGHT / "cells").glob("*-w12-*"))[:3]
        conftest.copy_part(FIRST_LIGHT, raw, [cell / f"sample-{sample}" for cell in cells])
        made.append(raw)
    return made


def test_a_measured_campaign_split_in_two_has_too_few_repeats(tmp_path: Path, halves: list[Path]) -> None:
    """The way from raw files to verdicts, with nothing replaced."""
    found = as_json(*halves)
    assert [each["label"] for each in found["campaigns"]] == ["half-01 (10.3)", "half-02 (10.3)"]
    assert found["totals"] == {"half-02 (10.3)": {"insufficient n": 3}}
    assert all(0.5 < cell["ratio"] < 2 for cell in found["cells"])
    assert found["differences"] == []
    assert any("against itself" in note for note in found["notes"])
    assert any((tmp_path / "real" / "figures" / "half-01" / "tables").iterdir())


def test_a_notebook_finds_the_others(tmp_path: Path, halves: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is only linked, as `reproduce` does it."""
    view = tmp_path / "view"
    (view / "raw").mkdir(parents=True)
    (view / "notebooks").mkdir()
    (view / "raw" / "half-01").symlink_to(halves[0])
    monkeypatch.chdir(view)
    section = open_section("raw/half-01", "figures/half-01", "csv", reads="smallfile, iozone")

    def opened(campaigns: str) -> Comparison:
        return open_comparison(section, "raw/half-01", campaigns)

    found = opened("raw/half-01, raw/half-02")
    assert (found.reason, len(found.table)) == ("", 3)
    assert opened("raw/half-01").reason.startswith("There is one campaign, raw/half-01: ")
    assert opened("").reason.startswith("There is no campaign: ")
    assert "No campaign is in raw/half-07" in opened("raw/half-01, raw/half-07").reason
    assert len(opened("raw/half-07, raw/half-08; raw/half-01, raw/half-02").table) == 3, "its list is the second"
    elsewhere = opened("raw/half-02, raw/half-01")
    assert elsewhere.reason.endswith("among the figures of its reference, raw/half-02.")
    assert (elsewhere.table.empty, elsewhere.others) == (True, ())
