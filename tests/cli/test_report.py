"""What people and scripts read: numbers first, one line per problem, JSON with the same facts."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glusterlab.cli.console import show
from glusterlab.cli.reproduce import show_event, show_reproduce, show_tables
from glusterlab.cli.run import show_plan, show_run
from glusterlab.cli.store import show_status, show_verify
from glusterlab.reproduce.state import Failure, Progress, ReproduceSummary
from glusterlab.run.plan import build_plan, estimate
from glusterlab.run.progress import RunSummary
from glusterlab.run.status import CampaignStatus, CellStatus, Interval, count_reasons, last_failures
from glusterlab.run.verify import Finding
from glusterlab.spec import Campaign, Cluster, Repeats
from glusterlab.stats import mean_interval
from glusterlab.tables.build import Written
from glusterlab.tables.schema import SCHEMAS
from tests.run.test_runner import CAMPAIGN, CLUSTER
from tests.run.test_status import CELL, failed

Captured = pytest.CaptureFixture[str]


def both(capsys: Captured, show: Callable[..., None], *words: Any, **more: Any) -> tuple[list[str], Any]:
    """Lines for people, and the object for scripts."""
    show(*words, **more, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    show(*words, **more, as_json=True)
    captured = capsys.readouterr()
    assert captured.err == ""
    return lines, json.loads(captured.out)


def test_run_ends_with_counts_problems_and_advice(capsys: Captured) -> None:
    counts = {"total": 8, "valid": 6, "invalid": 0, "failed": 1, "left": 1, "executed": 7, "seconds": 250.0}
    more = {"problems": ("w1 repeat 2: tool-failed",), "not_runnable": 4, "not_runnable_reasons": ("no checkout",)}
    path = Path("raw/small")
    stopped = RunSummary(campaign="small", path=path, **counts, **more, interrupted=True, advice="run it again")
    show_run(stopped, as_json=False)
    captured = capsys.readouterr()
    said = "8 samples: 6 valid, 1 failed, 1 left; 7 executed in 4 min, stopped as asked"
    assert captured.out == f"raw/small: {said}; 4 cells not runnable here\n"
    assert captured.err == "not runnable here, and left out: no checkout\nw1 repeat 2: tool-failed\nrun it again\n"
    show_run(stopped, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert (found["failed"], found["path"], found["exit_code"]) == (1, "raw/small", 130)


def test_status_says_how_sure_the_cells_are_and_what_went_wrong(capsys: Captured) -> None:
    rule = Repeats(min=3, max=10, half_width=0.05)

    def cell(values: list[float], decision: Any, **numbers: int) -> CellStatus:
        interval = Interval("throughput_bytes_per_s", mean_interval(values))
        counts = {"wanted": 10, "valid": len(values), "spent": 0, "invalid": 0, "failed": 0, **numbers}
        return CellStatus(CELL, **counts, interval=interval, decision=decision, warmup=1, repeats=rule)

    cells = (cell([99e6, 100e6, 101e6], "reached", wanted=3), cell([50e6, 60e6], "going-on", failed=1))
    failures = [failed("host-unreachable", f"c{n}", 1, n, end=100.0 + n) for n in range(1, 7)]
    told: dict[str, Any] = {"not_runnable": 4, "reasons": count_reasons(failures), "failures": last_failures(failures)}
    status = CampaignStatus("small", cells, **told, repeats=rule)
    lines, found = both(capsys, show_status, status)
    heading = ["cell", "valid", "of", "left", "failed", "warm-up", "mean", "95", "%", "target"]
    assert lines[0].split() == heading
    assert lines[1].split() == [CELL.id, "3", "3", "0", "1", "100", "MB/s", "±", "2.48", "%", "reached"]
    assert lines[2].split() == [CELL.id, "2", "10", "8", "1", "1", "55.0", "MB/s", "n", "=", "2", "going", "on"]
    text = "\n".join(lines)
    where = "on c1, c2, c3, c4 and 2 more; 6 without a valid sample since"
    assert f"host-unreachable: 6 samples of 1 cell, {where}\n      A host could not be reached by SSH.\n" in text
    assert f"cells/{CELL.id}/x, repeat 1, attempt 6: failed: host-unreachable on c6: x" in text
    assert lines[-2].startswith("target ± 5 % of the mean by 3 to 10 repeats: 1 cell reached it, 0 ended without, 1 ")
    assert lines[-1].startswith("small: 5 of 13 samples valid, at most 8 left; 0 executions invalid, 1 failed; 2 of ")
    assert "4 cells not runnable" in lines[-1]
    assert (found["complete"], found["total"]["left"], found["cells"][0]["left"]) == (False, 8, 0)
    assert found["cells"][0]["interval"]["half_width"] == pytest.approx(0.02484, abs=1e-5)
    assert found["cells"][1]["interval"]["low"] is None
    assert [each["decision"] for each in found["cells"]] == ["reached", "going-on"]
    assert (found["reasons"][0]["code"], found["reasons"][0]["open"]) == ("host-unreachable", 6)
    assert found["last_failures"][0]["reasons"][0]["host"] == "c6"
    assert found["repeats"] == {"min": 3, "max": 10, "half_width": 0.05}


def test_status_in_a_narrow_terminal_has_lines(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    interval = Interval("files_per_s", mean_interval([450.0, 458.0, 466.0]))
    cell = CellStatus(CELL, 4, 3, 1, 2, 1, interval=interval, decision="at-maximum")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    show_status(CampaignStatus("small", (cell,), not_runnable=0), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    numbers = "valid 3, of 4, left 0, given up 1, invalid 2, failed 1"
    assert lines[:2] == [CELL.id, f"    {numbers}, mean 458 files/s, 95 % ± 4.34 %, target not reached"]


def test_plan_shows_the_bounds(capsys: Captured) -> None:
    bounds = {"repeats": {"max": 10, "half_width": "5%"}, "warmup": 1}
    campaign, cluster = Campaign.model_validate({**CAMPAIGN, **bounds}), Cluster.model_validate(CLUSTER)
    plan = build_plan(campaign, cluster, ready={"smallfile"})
    words = (campaign, None, plan, estimate(plan, cluster))
    lines, found = both(capsys, show_plan, *words, cells=False)
    assert lines[1].split()[4:7] == ["MiB", "2", "3-10"]
    assert lines[-2].startswith("4 cells, 12 to 40 samples and 4 of the warm-up, roughly ")
    assert lines[-1] == "a cell ends after 3 to 10 repeats, as soon as the 95 % interval of a mean is ± 5 %"
    total = found["total"]
    assert (total["fewest_samples"], total["samples"], total["warmup"]) == (12, 40, 4)
    assert total["fewest_seconds"] < total["seconds"]
    assert [each["warmup"] for each in found["samples"][:5]] == [True, True, True, True, False]
    assert both(capsys, show_plan, *words, cells=True)[0][1].split()[1] == "3-10"


def test_verify_has_one_line_per_finding(capsys: Captured) -> None:
    findings = [Finding("changed-file", "cells/x/cell.json", "expected a, found b")]
    lines, found = both(capsys, show_verify, Path("raw/small"), findings)
    assert lines == ["cells/x/cell.json: changed-file: expected a, found b", "raw/small: 1 finding"]
    assert found["findings"][0]["code"] == "changed-file"
    assert both(capsys, show_verify, Path("raw/small"), [])[0] == ["raw/small: intact"]


def test_tables_have_rows_columns_and_a_place(capsys: Captured) -> None:
    made = Written(Path("x"), {"samples": 2, "workers": 12, "telemetry": 1234567}, made=2, kept=3)
    lines, found = both(capsys, show_tables, made, "figures/small/tables")
    assert lines[3].split() == ["telemetry", "1,234,567", str(len(SCHEMAS["telemetry"]))]
    assert lines[-1] == "in figures/small/tables; 2 samples parsed, 3 unchanged"
    assert found["tables"]["telemetry"] == {"rows": 1234567, "columns": list(SCHEMAS["telemetry"])}
    assert found["samples"] == {"made": 2, "kept": 3}


def test_reproduce_names_what_failed_and_where_the_figures_are(tmp_path: Path, capsys: Captured) -> None:
    failure = Failure("small", "10-large-files", "ValueError: x", cell=4)
    summary = ReproduceSummary(ran=("small/20-small-files",), failed=(failure,), figures_dirs=(tmp_path,))
    show_reproduce(summary, as_json=False)
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path}\n"
    assert "notebooks: 1 run, 1 failed" in captured.err
    assert "failed: small/10-large-files, cell 4: ValueError: x" in captured.err
    show_reproduce(summary, as_json=True)
    assert json.loads(capsys.readouterr().out)["failed"][0]["cell"] == 4


def test_reproduce_tells_a_log_what_starts_and_ends(capsys: Captured) -> None:
    show_event(Progress("small", "10-a", "started"))
    show_event(Progress("small", "10-a", "ran", 3.0))
    show_event(Progress("small", "20-b", "unchanged"))
    show_event(Progress("small", "30-c", "failed", 1.0, "small/30-c, cell 2: [x]"))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["started    small/10-a", "ran        small/10-a in 3.0 s", "failed     small/30-c, cell 2: [x]"]


def test_a_terminal_gets_a_drawn_table(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    show([{"layout": "a-name-that-is-much-too-long-for-this-terminal[x]", "n": 5}], False, right=("n",), fold="layout")
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "─" in out
    assert max(len(line) for line in out.splitlines()) <= 40
    assert "".join(out.split()).count("5") == 1
