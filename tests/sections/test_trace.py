"""A number of a figure leads to files and lines; what was edited, is older or does not fit is said."""

import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from glusterlab.analysis.efficiency import per_disk
from glusterlab.analysis.saturation.usage import telemetry_by_cell
from glusterlab.analysis.select import select, summarise
from glusterlab.cli.reproduce import _complete_row
from glusterlab.sections.comparison import open_comparison
from glusterlab.sections.section import open_section
from glusterlab.store.campaign import RawStore
from glusterlab.store.files import file_digest
from tests.cli.conftest import CAMPAIGN, answer, call
from tests.store.conftest import CLUSTER_YAML, DATA, SERVERS, fill_around, finish, make_cell

CELL = make_cell("write").id
RATES, LOAD, BOTH = (f"figures/night/extra-{name}.csv" for name in ("rates", "load", "both"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a campaign of two cells, and figures of its rates per disk and of its telemetry."""
    project = tmp_path_factory.mktemp("project")
    (project / "raw").mkdir()
    facts = {name: {"tools": {"gluster": "10.3"}} for name in SERVERS}
    text = CAMPAIGN.replace("study: supermicro-2017\n", "study: none\n")
    for campaign, cells in (
        ("later", ((make_cell("write"), 500),)),
        ("night", ((make_cell("write"), 400), (make_cell("read"), 10_000))),
    ):
        store = RawStore.create(
            project / "raw" / campaign,
            campaign_yaml=text.replace("name: night", f"name: {campaign}"),
            cluster_yaml=CLUSTER_YAML,
            environment={"hosts": facts},
        )
        for cell, slower in cells:
            report = (DATA / "iozone" / f"cluster-{cell.operation}.txt").read_text()
            for repeat in (1, 2, 3):
                with store.begin_sample(cell, repeat=repeat, round=repeat, order=repeat, attempt=1) as writer:
                    by = slower + repeat
                    printed = re.sub(
                        r"([\d.]+)( kB/sec)", lambda rate, by=by: f"{float(rate[1]) / by:.2f}{rate[2]}", report
                    )
                    fill_around(writer, cell, {"stdout.txt": printed, "clients": ""})
                    finish(writer, cell)
    section = open_section(str(store.path), str(project / "figures" / "night"))
    rows = select(section.samples, tool="iozone")
    section.table("extra-rates", per_disk(summarise(rows, "throughput_bytes_per_s")), title="Rates")
    section.table("extra-load", telemetry_by_cell(section.telemetry_of(rows), rows), title="Load")
    both = open_comparison(section, str(project / "raw" / "night"), "night,later")
    section.table("extra-both", both.table, title="Both")
    section.table("extra-words", pd.DataFrame({"claim": ["faster"], "ratio": [1.5]}), title="Words")
    return project


@pytest.fixture
def project(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shutil.copytree(measured, tmp_path / "project"))
    return Path()


def change(project: Path, name: str, old: str, new: str, *, bless: bool = False) -> None:
    """Edit a figure's CSV; `bless`: its digest, too, as if it had been written so."""
    path = project / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    if bless:
        path.with_suffix(".json").write_text(json.dumps({"csv_sha256": file_digest(path)}))


def test_a_rate_leads_to_the_lines_that_state_it(project: Path) -> None:
    found = answer("trace", RATES, "operation=write", "workers=6")
    assert (found["row"], found["campaign"], found["problems"]) == (1, "night", [])
    checks = {check["column"]: check for check in found["checks"]}
    assert {"n", "values", "mean", "low", "high", "median", "groups"} <= set(checks)
    assert checks["mean"]["how"].endswith(" / 3 / 24 disks")
    for sample in found["samples"]:
        stated, *workers = sample["lines"]
        lines = Path(stated["file"]).read_text().splitlines()
        assert "Children see throughput" in lines[stated["first"] - 1]
        assert float(lines[stated["first"] - 1].split("=")[1].split()[0]) * 1024 == sample["value"]
        assert [lines[each["first"] - 1].split()[0] for each in workers] == [f"Child[{n}]" for n in range(6)]
        assert sum(each["value"] for each in workers) == pytest.approx(sample["value"], rel=1e-3)
        assert f"6 workers: {sum(each['value'] for each in workers):.9g} in sum" in sample["how"]
    values = [sample["value"] for sample in found["samples"]]
    assert float(checks["mean"]["found"]) == pytest.approx(sum(values) / 3 / 24)
    shown = call("trace", RATES, "1")
    assert shown.exit_code == 0
    assert "x 1024]" in shown.stdout
    assert "agrees with the raw files" in shown.stdout


def test_a_comparison_leads_to_both_campaigns(project: Path) -> None:
    found = answer("trace", BOTH, "operation=write")
    assert found["campaign"] == "night;later"
    assert len(set(found["digest"].split(";"))) == 2
    assert [sample["campaign"] for sample in found["samples"]] == ["night"] * 3 + ["later"] * 3
    assert {"n_reference", "n_other", "values_reference", "values_other"} <= {c["column"] for c in found["checks"]}
    assert {"ratio", "p"} <= set(found["unchecked"])
    assert "(campaign night;later, manifest" in call("trace", BOTH, "1").stdout


def test_a_column_or_quantity_that_is_not_known_is_named(project: Path) -> None:
    change(project, RATES, ",campaign,digest\n", ",campaign,digest,riddle\n", bless=True)
    text = (project / RATES).read_text().splitlines()
    (project / RATES).write_text("\n".join([text[0], *(f"{line},7" for line in text[1:])]) + "\n")
    change(project, RATES, "riddle", "riddle", bless=True)
    assert answer("trace", RATES, "1")["unchecked"] == ["riddle"]
    change(project, RATES, "throughput_bytes_per_s_per_disk", "loudness_per_disk", bless=True)
    assert "not computed here: n, mean" in call("trace", RATES, "1").stdout
    assert answer("trace", RATES, "1", code=3)["checks"] == []


def test_a_quantity_over_the_whole_time_is_traced(project: Path) -> None:
    found = answer("trace", RATES, "1")
    whole = next(check for check in found["checks"] if check["column"] == "whole_mean")
    assert whole["agrees"] == (whole["stated"] != "")
    assert all("over the whole time" in sample["how"] for sample in found["samples"])


def test_telemetry_leads_to_the_lines_within_the_measured_part(project: Path) -> None:
    found = answer("trace", LOAD, "quantity=cpu_busy_fraction", "role=server", "operation=write")
    assert {check["column"] for check in found["checks"]} >= {"mean", "values", "peak"}
    section = open_section("raw/night")
    telemetry = section.tables.telemetry_of(cell_id=[CELL], activity=["cpu"], host=list(SERVERS))
    for sample in found["samples"]:
        assert [line["text"].split(":")[0] for line in sample["lines"]] == list(SERVERS)
        part = telemetry[(telemetry["sample"] == sample["sample"]) & telemetry["measured_part"]]
        times = sample["times"]
        assert part["time_s"].between(times["part_start_s"], times["part_end_s"], inclusive="right").all()
        assert times["part_end_s"] - times["part_start_s"] == pytest.approx(times["elapsed_s"])
        for line in sample["lines"]:
            moments = part[part["host"] == line["text"].split(":")[0]]["time_s"].nunique()
            # the header of the table is the first line
            assert line["last"] - line["first"] + 1 == moments > 0
            assert line["value"] == pytest.approx(0.15)


def test_an_edited_number_does_not_agree_and_is_named(project: Path) -> None:
    change(project, RATES, f",{CELL},01;02;03,", f",{CELL},01;02;03,9;")
    found = answer("trace", RATES, "1", code=1)
    assert [check["column"] for check in found["checks"] if not check["agrees"]] == ["values"]
    assert ["was edited" in text for text in found["problems"]] == [True]


def test_an_edit_of_what_is_not_computed_is_told_by_the_digest(project: Path) -> None:
    change(project, RATES, "mirror", "Mirror")
    found = answer("trace", RATES, "1", code=1)
    assert all(check["agrees"] for check in found["checks"])
    assert "does not agree: extra-rates.csv was edited" in call("trace", RATES, "1").stdout


def test_without_a_caption_the_numbers_still_are_computed(project: Path) -> None:
    (project / RATES).with_suffix(".json").unlink()
    (note,) = answer("trace", RATES, "1")["notes"]
    assert "whether extra-rates.csv was edited is not known" in note


def test_a_sample_that_the_row_leaves_out_is_named(project: Path) -> None:
    change(project, RATES, f"{CELL},01;02;03,", f"{CELL},01;02,", bless=True)
    assert answer("trace", RATES, "1", code=1)["problems"] == [f"samples [3] of {CELL} are valid and not named"]
    change(project, RATES, f"{CELL},01;02,", f"{CELL}0,01;02,", bless=True)
    (problem,) = answer("trace", RATES, "1", code=1)["problems"]
    assert problem == f"samples [1, 2] of {CELL}0 are named, and not there or not valid"


def test_a_raw_file_that_was_changed_is_named_whatever_its_time_says(project: Path) -> None:
    file = project / "raw" / "night" / "cells" / CELL / "sample-02" / "workload" / "stdout.txt"
    assert call("trace", RATES, "1").exit_code == 0
    state = file.stat()
    file.write_text(file.read_text().replace("Performance Test", "performance Test"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    result = call("trace", RATES, "1")
    assert result.exit_code == 1
    assert "sample-02/workload/stdout.txt was changed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((RATES, "99"), 2, "expected the number of a row, from 1 to 2, or column=value, found '99'"),
        ((RATES, "0"), 2, "from 1 to 2"),
        ((RATES, "wrkers=6"), 2, "did you mean 'workers'"),
        ((RATES, "operation=wrte"), 2, "expected a row with operation=wrte, found none"),
        ((RATES, "workers=6"), 2, "expected one row, found 1, 2"),
        (("figures/night/extra-rates.json", "1"), 3, "expected rows that name their campaign"),
        (("nowhere.csv", "1"), 2, "cannot be read"),
        (("figures/night/extra-words.csv", "1"), 3, "has no number that samples alone give"),
        ((RATES, "1", "--raw", "elsewhere"), 2, "elsewhere/night"),
    ],
)
def test_what_cannot_be_traced_says_why(project: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    result = call("trace", *arguments)
    assert result.exit_code == code, result.output
    assert words in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (",digest\n", ",digests\n", "`glusterlab reproduce` makes one of an older version again"),
        (",night,", ",night,0", "older than these raw files, or of another campaign of that name"),
    ],
)
def test_a_figure_of_another_campaign_is_refused(project: Path, old: str, new: str, words: str) -> None:
    change(project, RATES, old, new, bless=True)
    result = call("trace", RATES, "1")
    assert result.exit_code == 3, result.output
    assert words in " ".join(result.stderr.split())


def test_columns_and_values_are_completed(project: Path) -> None:
    context = SimpleNamespace(params={"figure": RATES})
    assert list(_complete_row(context, "oper")) == ["operation=", "operations_limited="]
    assert list(_complete_row(context, "operation=")) == ["operation=write", "operation=read"]
    assert not list(_complete_row(SimpleNamespace(params={"figure": "nowhere"}), ""))
