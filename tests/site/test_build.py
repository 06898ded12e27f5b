"""The report's data are the library's numbers, and its files appear, stay and go as campaigns do."""

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from glusterlab.analysis.compare.conditions import Conditions
from glusterlab.analysis.select import summarise, valid_samples, with_series
from glusterlab.cli import app
from glusterlab.errors import DataError, UsageError
from glusterlab.figures.explorer import PAGE
from glusterlab.reproduce.state import STATE as REPRODUCED
from glusterlab.sections.comparison import Release
from glusterlab.site.alone import alone
from glusterlab.site.build import STATE, build
from glusterlab.site.data import PAIR, Report, pairs, plain
from glusterlab.site.pages import PAGES, by_campaign, most_decided, script
from glusterlab.tables.build import load
from tests.conftest import build_samples
from tests.release_samples import KIB, MIB, SPREAD, newer, older
from tests.site.projects import CELLS, FIGURE, HOSTILE, make_project


def data(project: Path, name: str) -> Any:
    """What a file of data hands to the page."""
    text = (project / "figures" / "site" / "data" / name).read_text()
    assert text.startswith("glusterlab.put(")
    return json.loads("[" + text.removeprefix("glusterlab.put(").rstrip().removesuffix(");") + "]")[1]


def records(table: dict[str, Any]) -> list[dict[str, Any]]:
    words, columns = table.get("words", {}), table["columns"]
    values = [
        [words[name][of] if name in words else of for name, of in zip(columns, row, strict=True)]
        for row in table["rows"]
    ]
    return [dict(zip(columns, row, strict=True)) for row in values]


def _campaign(name: str, cells: int, **verdicts: str) -> dict[str, Any]:
    said = {claim: {"verdict": verdict, "class": "ratio", "evidence": "a/b"} for claim, verdict in verdicts.items()}
    study = "demo" if name != "other" else "elsewhere"
    return {"entry": {"name": name, "cells": cells, "study": study}, "verdicts": {"demo": said}}


def test_of_several_campaigns_the_one_that_decides_most_of_a_claim_is_named() -> None:
    made = [
        _campaign("small", 2, fast="contradicted", slow="reproduced", same="insufficient n"),
        _campaign("large", 9, fast="reproduced", slow="insufficient n", same="not measured", lost="not measured"),
        _campaign("other", 1, same="depends on counting"),
    ]
    campaigns = {each["entry"]["name"]: each for each in made}
    found = most_decided(campaigns, "demo")
    assert {claim: (one["verdict"], one["campaign"], one["own"]) for claim, one in found.items()} == {
        "fast": ("reproduced", "large", True),
        "slow": ("reproduced", "small", True),
        "same": ("depends on counting", "other", False),
        "lost": ("not measured", "large", True),
    }
    assert most_decided(campaigns, "none") == {}
    rows = {row["campaign"]: row for row in by_campaign(campaigns, "demo")}
    assert [*rows] == ["small", "large", "other", "all together"]
    assert rows["small"]["counts"]["reproduced"] == (1, 1)
    # one ratio may decide several claims
    assert (rows["large"]["counts"]["not measured"], rows["large"]["all"]) == ((2, 1), 4)
    assert rows["all together"]["counts"]["reproduced"] == (2, 2)


def test_means_intervals_and_samples_are_those_of_the_library(project: Path) -> None:
    cells = data(project, "first-light/cells.js")
    ids = [row["id"] for row in records(cells)]
    assert sorted(cell.rpartition("-")[0] for cell in ids) == sorted(CELLS)
    samples = load(project / "raw" / "first-light").samples
    expected = summarise(with_series(valid_samples(samples)), "throughput_bytes_per_s").set_index("cell_id")
    found = records(cells["quantities"]["throughput_bytes_per_s"])
    assert len(found) == len(expected) == len(CELLS)
    for row in found:
        of = expected.loc[ids[row["cell"]]]
        names = ("mean", "low", "high", "whole_mean")
        assert [row[name] for name in names] == pytest.approx([of[name] for name in names], rel=1e-5)
        assert row["n"] == of["n"] == len(row["values"])


def test_a_large_campaign_is_a_tenth_of_a_megabyte() -> None:
    # as many cells as the reference campaign has, a third of them of small files, six samples each
    def cells(tool: str, counts: range) -> pd.DataFrame:
        kinds = [(kind, operation) for kind in ("replicate", "disperse") for operation in ("write", "read")]
        numbers = {
            (*kind, workers): [1e6 * workers / 3 * share for share in SPREAD[:6]]
            for kind in kinds
            for workers in counts
        }
        return build_samples(numbers, tool=tool, servers=6)

    samples = with_series(
        pd.concat([cells("iozone", range(1, 33)), cells("smallfile", range(1, 18))], ignore_index=True)
    )
    samples["elapsed_s"], samples["operations_per_s"] = 1e7 / samples["throughput_bytes_per_s"], samples["files_per_s"]
    report = Report(section=None, figures=Path())  # type: ignore[arg-type]
    report.__dict__.update(samples=samples, prices=None)
    of = report.cells_data({cell: {"binds": "disks, then network", "agree": 6} for cell in report.cells["id"]})
    assert (len(of["rows"]), len(of["quantities"])) == (196, 4)
    assert {row["binds"] for row in records(of)} == {"disks, then network"}
    assert len(script("cells/large", of)) <= 100_000


def test_a_cell_has_its_samples_files_series_figures_and_claims(project: Path) -> None:
    cell = next(row["id"] for row in records(data(project, "first-light/cells.js")) if row["id"].startswith(CELLS[3]))
    found = data(project, f"first-light/cell/{cell}.js")
    assert [sample["sample"] for sample in found["samples"]] == [1, 2, 3]
    folder = project / "raw" / "first-light" / "cells" / cell
    for sample in found["samples"]:
        assert "sample.json" in sample["files"]
        assert all((folder / f"sample-{sample['sample']:02d}" / file).is_file() for file in sample["files"])
    assert [series["number"] for series in found["series"]["samples"]] == [1, 2, 3]
    (use,) = (use for use in found["used_by"] if use["csv"] == f"{FIGURE}.csv")
    assert (use["section"], use["figure"]) == ("10-large-files", FIGURE)
    assert use["title"].startswith("Figure 5: ")
    row = next(row for row in records(data(project, "first-light/cells.js")) if row["id"] == cell)
    assert (row["binds"], row["agree"]) == (found["binds"]["binds"], found["binds"]["agree"])
    assert sum(row["binds"] in str(series["verdict"]) for series in found["series"]["samples"]) >= row["agree"]
    comparisons = data(project, "first-light/comparisons.js")
    assert found["claims"]
    for claim in found["claims"]:
        sides = [side for comparison in comparisons[claim] for side in comparison["cells"]]
        assert cell in {side["cell_id"] for side in sides}


def test_campaigns_are_held_together_as_the_command_does(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    names = ["first-light", "second-light"]
    (one, other) = data(project, "pairs.js")["pairs"]
    assert [(each["one"], each["other"]) for each in (one, other)] == [tuple(names), tuple(names[::-1])]
    told = json.loads(CliRunner().invoke(app, ["compare", *(f"raw/{name}" for name in names), "--json"]).stdout)
    expected = [plain({name: row[name] for name in PAIR if name != "title"}) for row in told["cells"]]
    found = records(one)
    assert [{name: row[name] for name in expected[0]} for row in found] == expected
    assert len({row["title"] for row in found}) == len(CELLS)
    assert {row["verdict"] for row in found} == {"insufficient n"}
    assert len(one["warnings"]) == len(told["warnings"]) > 0
    # a name and a digest are no conditions
    assert one["differences"]["rows"] == []
    assert f"second-light against first-light: {len(CELLS)} cells, 5 insufficient n" in one["says"]
    # Home says what the page does
    assert f"{one['says'][0]}.</li>" in (project / "figures" / "site" / "index.html").read_text()


def held(name: str, version: str, samples: pd.DataFrame) -> Release:
    conditions = Conditions(name, version, {}, {}, {}, {})
    return Release(version, name, Path(name), version, version, "", samples, conditions, testbed=False, half_width=None)


def test_a_cell_is_slower_by_the_corrected_test_alone() -> None:
    effects = {("read", 4 * MIB): 0.8}
    # nine rounds of ten on one side: the interval leaves 1 out, and of four cells it is chance
    hinted = newer(effects)
    rows = hinted.index[(hinted["operation"] == "create") & (hinted["file_size_bytes"] == 32 * KIB)]
    hinted.loc[rows, "files_per_s"] *= [1.06] + [0.93] * 9
    pair, _ = pairs([held("a", "10.3", older()), held("b", "11.1", hinted)])["pairs"]
    assert pair["another_release"]
    found = {row["title"].partition(",")[0]: row for row in records(pair)}
    assert found["read 4 MiB"]["verdict"] == "slower"
    hint = found["create 32 KiB"]
    assert hint["high"] < 1
    assert hint["p_corrected"] > 0.05
    assert hint["verdict"] == "undecided"
    assert pairs([held("a", "10.3", older()), held("b", "11.1", hinted.assign(cell_id="else"))])["pairs"] == []


def test_findings_have_an_interval_and_no_evidence_twice(project: Path) -> None:
    for campaign in data(project, "site.js")["campaigns"]:
        assert campaign["findings"]
        for each in campaign["findings"]:
            assert each["ratio_low"] <= each["ratio"] <= each["ratio_high"]
            assert each["verdict"] in ("reproduced", "compatible", "contradicted", "depends on counting")


def finding(verdict: str, evidence: str, **ratios: float) -> dict[str, Any]:
    whole = {"ratio_whole": 1.5, "ratio_whole_low": 1.2, "ratio_whole_high": 1.9}
    told = {"ratio": 1.6, "ratio_low": 1.5, "ratio_high": 1.7, "ratio_published": 1.6, "band_low": 1, "band_high": 2}
    row = {"verdict": verdict, "evidence": evidence, "id": evidence, "class": "ratio", "says": "", "published": ""}
    return row | whole | told | {"measured": 160.0, "unit": "MB/s", "n": 3} | ratios


def test_findings_that_both_views_support_come_first() -> None:
    def chosen(*rows: dict[str, Any]) -> list[dict[str, Any]]:
        report = Report(section=None, figures=Path())  # type: ignore[arg-type]
        report.__dict__["card"] = pd.DataFrame(rows)
        return report.findings()

    depends = [
        finding("depends on counting", "open", ratio_whole_low=0.9),
        finding("depends on counting", "same side", ratio_high=1.9),
    ]
    held = [finding("reproduced", "a"), finding("compatible", "b"), finding("reproduced", "a")]
    wrong = [finding("contradicted", name) for name in "cdefg"]
    assert [each["id"] for each in chosen(*depends, *held)] == ["a", "b", "same side", "open"]
    assert [each["id"] for each in chosen(*depends, *held, *wrong)] == ["c", "d", "a", "b", "e"]
    assert [each["id"] for each in chosen(*depends, *wrong)] == ["c", "d", "e", "f", "g"]
    (told,) = chosen(depends[0])
    both = "160 MB/s (150 to 170) by the tool's own rate, 150 MB/s (90.0 to 190) over the whole time, n = 3"
    assert told["measured"] == both


def test_names_stay_text_in_pages_and_data(project: Path) -> None:
    site = project / "figures" / "site"
    assert data(project, "site.js")["campaigns"][0]["title"] == HOSTILE
    for page in site.rglob("*.html"):
        assert "<script>alert" not in page.read_text(), page
    for file in site.glob("data/**/*.js"):
        assert "</script" not in file.read_text(), file


def test_numbers_have_six_digits_and_none_is_no_number() -> None:
    assert plain({"a": [1.23456789, float("nan"), float("inf"), (2, "x")]}) == {"a": [1.23457, None, None, [2, "x"]]}
    assert script("x", {"html": "<b>"}) == 'glusterlab.put("x",{"html":"\\u003cb>"});\n'


def test_every_page_is_there_and_asks_for_nothing_elsewhere(project: Path) -> None:
    site = project / "figures" / "site"
    assert {path.stem for path in site.glob("*.html")} == {*PAGES, Path(PAGE).stem}
    assert (site / "sections" / "first-light" / "10-large-files.html").is_file()
    assert (site / "files" / "first-light" / f"{FIGURE}.png").is_file()
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert 'src="http' not in text, page
        assert "default-src 'none'" in text
        assert " style=" not in text, page


def test_explore_alone_needs_no_other_file_and_runs_no_other_script(project: Path, tmp_path: Path) -> None:
    site = project / "figures" / "site"
    text = (site / PAGE).read_text()
    assert not re.findall(r"<(?:script|link)[^>]* (?:src|href)=\"(?!data:)", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = re.findall(r"'sha256-([^']+)'", text.split("style-src")[0])
    assert [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts] == digests
    assert len(scripts) >= 7
    assert "'self'" not in re.findall(r"script-src.*?; style-src.*?;", text)[0]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.js").write_text("'</SCRIPT>'")
    with pytest.raises(DataError, match=r"x\.js: expected a file that can stand in a page, found </script"):
        alone("<html ></html>", tmp_path, ["data/x.js"])


def test_a_notebook_that_failed_says_so_on_its_page(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    state = root / "figures" / "first-light" / REPRODUCED
    noted = {"failed": ["10-large-files"], "earlier": [f"{FIGURE}.svg", f"{FIGURE}.png"]}
    state.write_text(json.dumps(json.loads(state.read_text()) | {"noted": noted}))
    folder = root / "figures" / "site"
    assert not build([root / "raw" / "first-light"], project=root, folder=folder).failed
    page = (folder / "sections" / "first-light" / "10-large-files.html").read_text()
    assert "This notebook failed in the last run" in page
    assert page.count("Of an earlier run.") == 1


def test_vendored_scripts_are_those_of_their_releases() -> None:
    vendor = Path(build.__code__.co_filename).parent / "assets" / "vendor"
    lines = [line.split() for line in (vendor / "VERSIONS").read_text().splitlines() if not line.startswith("#")]
    assert {name for name, *_ in lines} == {path.name for path in vendor.glob("*.js")}
    for name, _, _, digest in lines:
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest, name
    shared = sum(path.stat().st_size for path in vendor.parent.rglob("*.js"))
    assert shared < 1_000_000


def test_only_what_changed_is_made_again_and_what_is_gone_goes(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", ("one", "two"))
    site, raws = root / "figures" / "site", [root / "raw" / name for name in ("one", "two")]
    assert build(raws, project=root, folder=site).made == ("one", "two")
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file() and path.name != STATE}
    again = build(raws, project=root, folder=site)
    assert (again.made, again.unchanged) == ((), ("one", "two"))
    assert before == {path: path.stat().st_mtime_ns for path in before}
    # a figure changed, a campaign is gone
    with (root / "figures" / "one" / ".reproduce.json").open("a") as file:
        file.write(" ")
    last = build(raws[:1], project=root, folder=site)
    assert (last.made, last.unchanged) == (("one",), ())
    assert not any("two" in path.parts for path in site.rglob("*"))


def test_a_damaged_campaign_is_named_and_the_others_are_built(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project", ("good", "bad", "undrawn"))
    sample = next((root / "raw" / "bad").glob("cells/*/sample-01/sample.json"))
    sample.write_text("{")
    shutil.rmtree(root / "figures" / "undrawn")
    raws = [root / "raw" / name for name in ("good", "bad", "undrawn")]
    # as a first build that was broken off leaves it
    (root / "site" / "data").mkdir(parents=True)
    (root / "site" / ".site.lock").touch()
    built = build(raws, project=root, folder=root / "site")
    assert (built.made, built.exit_code) == (("good",), 1)
    assert "sample.json" in built.failed["bad"]
    assert "glusterlab reproduce" in built.failed["undrawn"]
    assert not list((root / "site").glob(".*.partial"))


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "mine.txt").write_text("dear")
    with pytest.raises(UsageError, match=r"expected a folder that `glusterlab site` made.*mine\.txt"):
        build([], project=tmp_path, folder=tmp_path / "letters")
    with pytest.raises(UsageError, match="found a file"):
        build([], project=tmp_path, folder=tmp_path / "letters" / "mine.txt")
    with pytest.raises(UsageError, match=r"https://.*'ftp://x'"):
        build([], project=tmp_path, folder=tmp_path / "new", raw_url="ftp://x")
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["mine.txt"]


def test_the_command_says_what_it_made(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    found = CliRunner().invoke(app, ["site", "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["unchanged"] == ["first-light", "second-light"]
    assert told["pages"] == len(PAGES) + 1 + 2 * len(told["unchanged"])
