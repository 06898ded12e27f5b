"""Figures of the committed campaigns: each is regenerated and its numbers are compared with the committed ones.

Numbers are compared, not pixels: text is drawn differently by other versions of FreeType. nbval checks the notebooks'
rounded tables and sentences. What a changed raw number does is asked of first-light alone, which is small.
"""

import ast
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glusterlab.figures.names import OutputName, output_files
from glusterlab.reproduce.reproduce import reproduce
from glusterlab.reproduce.state import STATE
from glusterlab.spec.studies import Study
from glusterlab.store.digests import NotebookSource, known_tools, parse_reads, refuse_unknown
from glusterlab.tables import CHECKED
from glusterlab.tables import build as tables
from tests.cli.conftest import copy_part
from tests.store.conftest import relist
from tests.waiting import CAMPAIGNS, NOTEBOOKS, PROJECT, studies_to_measure, waiting

WAITING = waiting()
SMALL = PROJECT / "raw" / "first-light"
RTOL = 1e-6

READ_BY = {name: {"iozone", "smallfile"} for name in ("all_sizes", "scale_pairs", "study_saturation")}
READ_BY["samples_together"] = set()  # of several campaigns those that the notebook says
"""Tools whose samples a function reads although no cell names them."""
READ_ALL = {"judge", "valid_samples", "layouts_of", "advise", "answer_request"}
"""Functions that read the samples of every tool that they are given."""


def numbers_in(figures: Path) -> dict[str, str]:
    """The CSV files of figures and tables in a folder."""
    return {path.name: path.read_text() for path in output_files(figures) if path.suffix == ".csv"}


def committed_figures(project: Path, campaign: str) -> dict[str, str]:
    """The CSV files of a campaign's figures as they are committed, not as `make reproduce` has left them."""
    folder = f"figures/{campaign}"
    if not (project / ".git").exists():
        return numbers_in(project / folder)
    # whoever runs the tests may be another user than the one who cloned
    git = ["git", "-c", "safe.directory=*", "-C", str(project)]
    listing = subprocess.run([*git, "ls-tree", "--name-only", "HEAD", f"{folder}/"], capture_output=True, text=True)
    if listing.returncode:
        raise RuntimeError(f"git does not say which figures of {campaign} are committed: {listing.stderr.strip()}")
    paths = [Path(line) for line in listing.stdout.splitlines()]
    return {
        path.name: subprocess.check_output([*git, "show", f"HEAD:{path}"], text=True)
        for path in paths
        if path.suffix == ".csv" and OutputName.parse(path.stem)
    }


every_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
campaigns = pytest.mark.parametrize(
    "campaign",
    [pytest.param(campaign, id=campaign.name) for campaign in CAMPAIGNS]
    or [pytest.param(None, id="none", marks=pytest.mark.skip(reason="no campaign in raw/"))],
)


def run_notebook(notebook: Path, raw: Path, figures: Path) -> None:
    """Run a notebook by the papermill command, for its numbers alone."""
    command = [sys.executable, "-m", "papermill", str(notebook), str(figures / notebook.name)]
    command += ["-p", "campaign", str(raw), "-p", "figures", str(figures), "-p", "format", "csv"]
    command += ["--no-progress-bar", "--kernel", "python3", "--start-timeout", "180", "--execution-timeout", "300"]
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    environment[CHECKED] = str((figures / "tables").resolve())
    done = subprocess.run(command, capture_output=True, text=True, cwd=figures, env=environment, timeout=900)
    if done.returncode:
        raise RuntimeError(f"{notebook.name} failed:\n{done.stderr[-2000:]}")


def _hidden(_: str, names: list[str]) -> set[str]:
    """Temporary names, of notebooks that nbval runs at the same time."""
    return {name for name in names if name.startswith(".") and name not in (STATE, tables.MARKER)}


def regenerate(campaign: Path, target: Path) -> dict[str, str]:
    """The CSV files of a campaign by name; what `make reproduce` has made of the same code is not made again."""
    own = PROJECT / "figures" / campaign.name
    if (own / STATE).is_file():
        shutil.copytree(own, target / campaign.name, ignore=_hidden)
    summary = reproduce([campaign], project=PROJECT, output=target)
    assert not summary.failed, "\n".join(map(str, summary.failed))
    return numbers_in(target / campaign.name)


def _same(one: str, two: str) -> bool:
    first, second = one.split(";"), two.split(";")
    try:
        return one == two or all(
            math.isclose(float(a), float(b), rel_tol=RTOL) for a, b in zip(first, second, strict=True)
        )
    except ValueError:
        return False


def differences(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What differs between two sets of CSV files, beyond `RTOL` in numbers."""
    gone = [f"{name}: committed, but no notebook makes it: delete it" for name in sorted(old.keys() - new.keys())]
    fresh = [f"{name}: not committed: reproduce its campaign and commit it" for name in sorted(new.keys() - old.keys())]
    found = gone + fresh
    for name in sorted(old.keys() & new.keys()):
        tables = [list(csv.reader(text.splitlines())) for text in (old[name], new[name])]
        if [len(row) for row in tables[0]] != [len(row) for row in tables[1]]:
            found.append(f"{name}: other rows or columns")
            continue
        for line, (before, after) in enumerate(zip(*tables, strict=True), start=1):
            found += [
                f"{name}:{line}: {column}: {a} is now {b}"
                for column, a, b in zip(tables[0][0], before, after, strict=True)
                if not _same(a, b)
            ]
    return found


@campaigns
def test_figures_regenerate_from_raw(campaign: Path, tmp_path: Path) -> None:
    committed = committed_figures(PROJECT, campaign.name)
    assert committed, (
        f"figures/{campaign.name} has no CSV: run `glusterlab reproduce raw/{campaign.name}` and commit it"
    )
    assert differences(committed, regenerate(campaign, tmp_path / "figures")) == []


def change_a_number(raw: Path) -> Path:
    """Make one measured throughput of a valid IOzone sample one and a half times what it was."""
    for status in sorted(raw.glob("cells/*/sample-*/sample.json")):
        output = status.parent / "workload" / "stdout.txt"
        text = output.read_text() if '"status": "valid"' in status.read_text() else ""
        changed = re.sub(
            r"(Children see throughput for\s.*?=\s*)([0-9.]+)",
            lambda found: f"{found[1]}{float(found[2]) * 1.5:.2f}",
            text,
        )
        if changed != text:
            output.write_text(changed)
            return output
    raise AssertionError(f"{raw} has no valid IOzone sample")


def displays(cell: dict[str, Any]) -> bool:
    """Whether a code cell shows something: it ends in an expression."""
    body = ast.parse("".join(cell["source"])).body
    return bool(body) and isinstance(body[-1], ast.Expr)


@pytest.mark.skipif(not CAMPAIGNS, reason="no campaign in raw/")
@every_notebook
def test_notebooks_hold_their_outputs(notebook: Path) -> None:
    """nbval passes a notebook whose outputs were stripped."""
    if why := WAITING.get(notebook):
        pytest.skip(why)
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        assert cell["execution_count"], f"never run: {cell['source']}; use `make notebooks`"
        assert not [output for output in cell["outputs"] if output["output_type"] == "error"]
        assert not [output for output in cell["outputs"] if output.get("name") == "stderr"]
        if displays(cell):
            assert cell["outputs"], f"no output: {cell['source']}; use `make notebooks`"
    assert any(displays(cell) for cell in cells)


@pytest.mark.parametrize(
    ("of", "measured", "why"),
    [
        ("named", {"day"}, "no campaign in raw/ of its study yet: night, noon"),
        ("named", {"day", "noon"}, ""),
        ("asked", {"day", "night"}, "no campaign in raw/ names it yet"),
        ("any", {"day"}, ""),
        ("general", {"day"}, ""),
        ("*", {"day"}, ""),
    ],
)
def test_a_notebook_waits_for_a_campaign_of_its_study_only(
    tmp_path: Path, of: str, measured: set[str], why: str
) -> None:
    notebook = tmp_path / "10-x.ipynb"
    notebook.write_text(json.dumps({"cells": [], "metadata": {"glusterlab": {"study": of}}}))
    known = [
        Study(schema_version=1, study=name, title="A study", notebooks=() if name == "day" else ("10-x",))
        for name in ("day", "night", "noon")
    ]
    assert studies_to_measure(notebook, known, measured) == why


def test_nbval_skips_a_notebook_that_waits(tmp_path: Path) -> None:
    """With its reason; no kernel is started for it."""
    shutil.copy(PROJECT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").touch()
    notebook = tmp_path / "10-x.ipynb"
    cell = {"cell_type": "code", "source": "open('x')", "metadata": {}, "outputs": [], "execution_count": 1}
    document = {"cells": [cell], "metadata": {"kernelspec": {"name": "none"}}, "nbformat": 4, "nbformat_minor": 4}
    notebook.write_text(json.dumps(document))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    reasons = f"{{Path({str(notebook)!r}): 'no night'}}"
    (tmp_path / "tests" / "waiting.py").write_text(f"from pathlib import Path\nwaiting = lambda: {reasons}\n")
    command = [sys.executable, "-m", "pytest", "-ra", "--nbval", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, "no night" in done.stdout) == (0, True), done.stdout


@pytest.mark.skipif(SMALL not in CAMPAIGNS, reason="raw/first-light is not here")
def test_a_changed_raw_number_is_noticed(tmp_path: Path) -> None:
    """By nbval, whatever campaign notebooks are committed with; by `verify`; and in the figures' numbers."""
    raw, figures = tmp_path / "raw" / SMALL.name, tmp_path / "figures" / SMALL.name
    # as much as shows it, because it runs four times: two worker counts, and the notebook up to its first table
    copy_part(SMALL, raw, sorted(path for w in (12, 48) for path in SMALL.glob(f"cells/iozone-*-w{w}-*/sample-*")))
    assert tables.write(raw, figures / "tables") is not None
    document = json.loads((PROJECT / "notebooks" / "10-large-files.ipynb").read_text())
    tabular = [any("execute_result" in each.values() for each in cell.get("outputs", [])) for cell in document["cells"]]
    notebook = tmp_path / "10-large-files.ipynb"
    notebook.write_text(json.dumps({**document, "cells": document["cells"][: tabular.index(True) + 1]}))
    run_notebook(notebook, raw, figures)
    (tmp_path / "pytest.ini").touch()

    def call(*words: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=900)
        return done.returncode, done.stdout + done.stderr

    nbval = ("-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", str(figures / notebook.name))
    code, output = call(*nbval)
    assert code == 0, output[-2000:]
    before = numbers_in(figures)
    changed = change_a_number(raw)
    code, output = call(*nbval, "--exitfirst")
    assert code == 1, output[-2000:]
    assert "not as MANIFEST.sha256 has it" in output
    code, output = call("-c", "from glusterlab.cli import main; main()", "verify", str(raw))
    assert code == 1, output
    assert str(changed.relative_to(raw)) in output

    relist(raw, changed.relative_to(raw).as_posix())
    code, output = call(*nbval)
    assert code == 1, output[-2000:]
    assert "Cell outputs differ" in output
    assert any("mean" in difference for difference in differences(before, numbers_in(figures)))


def test_committed_figures_are_not_those_of_the_working_tree(tmp_path: Path) -> None:
    figure = tmp_path / "figures/night/fig05-x.csv"
    figure.parent.mkdir(parents=True)
    figure.write_text("x\n1\n")
    (figure.parent / "notes.csv").write_text("x\n")
    kept = {"fig05-x.csv": "x\n1\n"}
    assert committed_figures(tmp_path, "night") == kept
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "figures"]):
        subprocess.run([*git, *words], check=True)
    figure.write_text("x\n2\n")
    assert committed_figures(tmp_path, "night") == kept
    shutil.rmtree(tmp_path / ".git")
    (tmp_path / ".git").mkdir()
    with pytest.raises(RuntimeError, match="git does not say which figures of night are committed: fatal: not a git"):
        committed_figures(tmp_path, "night")


def code_of(notebook: Path, *, parameters: bool = False) -> list[ast.AST]:
    """The syntax tree of a notebook's code, node by node, with its parameters or without."""
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    chosen = [cell for cell in cells if parameters or "parameters" not in cell["metadata"].get("tags", [])]
    return [node for cell in chosen for node in ast.walk(ast.parse("".join(cell["source"])))]


@every_notebook
def test_notebooks_say_what_they_read_and_hand_it_on(notebook: Path) -> None:
    """Else every changed sample would run them."""
    source = NotebookSource.read(notebook)
    assert source.parameters.get("reads"), "no line `reads: str = ...` in the parameters"
    code = "".join("".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"])
    assert re.search(r'open_section\(campaign, figures, format, (study="[^"]+", )?reads=reads\)', code)
    assert source.reads == parse_reads(str(source.parameters["reads"]))
    refuse_unknown(source.reads or ())


@every_notebook
def test_notebooks_read_what_they_say(notebook: Path) -> None:
    """A tool is read when a cell names it, or calls a function that is known to read it."""
    code = code_of(notebook)
    named = {node.value for node in code if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    calls = {node.id for node in code if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used = {node.attr for node in code if isinstance(node, ast.Attribute)}
    tools = (named & known_tools()).union(*(READ_BY[name] for name in calls & READ_BY.keys()))
    declared = str(NotebookSource.read(notebook).parameters["reads"])
    if calls & READ_ALL:
        assert declared == "*"
    else:
        assert parse_reads(declared) == tuple(sorted(tools))
        assert bool(tools) == bool(used & {"samples", "tables", "telemetry_of"} or calls & READ_BY.keys())


@every_notebook
def test_notebooks_take_the_parameters_that_reproduce_gives(notebook: Path) -> None:
    from papermill import inspect_notebook

    parameters = inspect_notebook(str(notebook))
    assert list(parameters)[:3] == ["campaign", "figures", "format"]
    for name, parameter in parameters.items():
        own = name not in ("campaign", "figures", "format", "reads")
        assert parameter["inferred_type_name"] in (("str", "float") if own else ("str",))
        assert parameter["help"]


@every_notebook
def test_notebooks_run_by_plain_papermill(notebook: Path) -> None:
    """From a clone alone: there is what its defaults name and what it imports, and Python is its kernel."""
    for default in NotebookSource.read(notebook).parameters.values():
        for path in re.findall(r"\b(?:raw|runbooks)/[^\s,;]+", str(default)):
            assert (PROJECT / path).exists() or notebook in WAITING, path
    assert json.loads(notebook.read_text())["metadata"]["kernelspec"]["name"] == "python3"
    imports = [node for node in code_of(notebook, parameters=True) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports
    for statement in imports:
        exec(ast.unparse(statement), {})


@every_notebook
def test_notebooks_open_no_raw_file_themselves(notebook: Path) -> None:
    """What they read comes from their section."""
    code = code_of(notebook)
    modules = {node.module for node in code if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in code if isinstance(node, ast.Import) for alias in node.names}
    opening = ("glusterlab.importing", "glusterlab.run", "glusterlab.store", "glusterlab.tables", "os", "pathlib", "io")
    assert not [name for name in modules if name and name.startswith(tuple(f"{each}." for each in opening))]
    assert not modules & set(opening)
    names = {node.id for node in code if isinstance(node, ast.Name)}
    names |= {ast.unparse(node) for node in code if isinstance(node, ast.Attribute)}
    readers = {"open", "open_campaign", "pd.read_csv", "pd.read_json", "pd.read_parquet", "section.raw"}
    assert not names & readers


def test_differences_have_a_tolerance() -> None:
    old = {"a.csv": "x,values\n1.0,1;2\n"}
    assert differences(old, {"a.csv": "x,values\n1.0000001,1;2.0000001\n"}) == []
    assert differences(old, {"a.csv": "x,values\n1.01,1;2\n"}) == ["a.csv:2: x: 1.0 is now 1.01"]
    assert differences(old, {"a.csv": "x,values\n1.0,1;2;3\n"}) == ["a.csv:2: values: 1;2 is now 1;2;3"]
    assert differences(old, {"a.csv": "x,values\n"}) == ["a.csv: other rows or columns"]
    assert differences(old, {}) == ["a.csv: committed, but no notebook makes it: delete it"]
    assert differences({}, old) == ["a.csv: not committed: reproduce its campaign and commit it"]
