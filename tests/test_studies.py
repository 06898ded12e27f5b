"""Contracts of every study that is found: its words, its numbers, its notebooks, its runbook and all of its figures."""

import json
import re
from pathlib import Path

import pytest

from glusterlab.errors import SpecError, UsageError
from glusterlab.figures.names import OutputName
from glusterlab.reproduce.reproduce import runs_on
from glusterlab.spec import load_campaign, published
from glusterlab.spec.claims import FILE as CLAIMS
from glusterlab.spec.claims import QUANTITIES, UNITS, Claims, load_claims
from glusterlab.spec.studies import Study, load_study, no_study, studies
from glusterlab.tools import vocabulary
from tests.waiting import notebooks_asked, studies_of

PROJECT = Path(__file__).parents[1]
PUBLISHED = PROJECT / "raw" / "published"
SHARED = PROJECT.parent / "shared"
FOLDERS = studies(PUBLISHED)
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("[0-9][0-9]-*.ipynb"))

each_study = pytest.mark.parametrize("folder", [pytest.param(folder, id=folder.name) for folder in FOLDERS])
_NAMES = re.compile(r'"([a-z0-9.+()-]+)"')
_ROW = re.compile(r"^\| ([A-Z][^|]*?) \|", re.MULTILINE)


def plain(text: str) -> str:
    """Text without marks, dashes and case, for a search."""
    return re.sub(r"\s+", " ", text.lower().replace("–", "-").replace("—", "-").replace("*", ""))


def claims_of(folder: Path) -> Claims:
    if not (folder / CLAIMS).is_file():
        pytest.skip("the study has no claims yet")
    return load_claims(folder / CLAIMS, vocabulary())


def labels(cell: str) -> set[str]:
    """The figures that a first cell of figures.md names: ``F6, F7``, ``F11-F13``."""
    found = set()
    for part in cell.split(","):
        first, _, last = part.strip().partition("-")
        if match := re.fullmatch(r"([A-Z])(\d+)", first):
            end = int(last.lstrip(match[1])) if last else int(match[2])
            found |= {f"{match[1]}{number}" for number in range(int(match[2]), end + 1)}
    return found


def outputs_of(notebook: Path, study: Study) -> dict[str, str]:
    """Names of the figures and tables in a notebook's code, and the study's labels of them."""
    cells = json.loads(notebook.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    found = {name: OutputName.parse(name, study.outputs) for name in _NAMES.findall(code)}
    return {name: output.label for name, output in found.items() if output is not None}


def made_by_notebooks(study: Study) -> set[str]:
    """Labels of the figures that notebooks which run on its campaigns name, and of those of its curves."""
    found, asked = {label for curves in study.saturation for label in curves.labels}, notebooks_asked(study.study)
    for path in NOTEBOOKS:
        if runs_on(path, study) or path.stem in asked:
            found |= {*outputs_of(path, study).values()}
    return found - {""}


def test_there_is_a_study() -> None:
    assert "supermicro-2017" in {folder.name for folder in FOLDERS}
    unknown = load_study(PUBLISHED / "unknown")
    guide = load_study(PUBLISHED / "supermicro-2017")
    assert [guide.release(version) for version in ("3.8.4", "10.3")] == ["3.8.4 (upstream of RHGS 3.2)", "10.3"]
    assert (unknown.study, unknown.notebooks, unknown.layouts, unknown.role(0)) == ("none", (), {}, "")


def test_a_notebook_that_is_not_for_all_is_named_by_a_study() -> None:
    unnamed = Study(schema_version=1, study="night-3.1", title="A study")
    asked = {notebook.stem for notebook in NOTEBOOKS if studies_of(notebook) == "asked"}
    alone = {path.stem for path in NOTEBOOKS if not runs_on(path, unnamed)} - asked
    assert alone == {name for folder in FOLDERS for name in load_study(folder).notebooks}


@each_study
def test_it_has_what_it_names(folder: Path) -> None:
    study = load_study(folder)
    assert not set(study.missing) & made_by_notebooks(study)
    campaigns = sorted((PROJECT / "runbooks" / folder.name).glob("campaign*.yaml"))
    assert {load_campaign(path).study for path in campaigns} == {folder.name}


@each_study
def test_each_of_its_figures_is_made_or_has_its_reason(folder: Path) -> None:
    page = SHARED / "figures.md"
    if not page.is_file():
        pytest.skip("the list of all figures is not beside the project")
    (section,) = [part for part in page.read_text().split("\n## ") if part.startswith(f"{folder.name}\n")]
    wanted = {label for cell in _ROW.findall(section) for label in labels(cell)}
    study = load_study(folder)
    assert wanted
    assert sorted(wanted - made_by_notebooks(study) - set(study.missing)) == []
    assert sorted(set(study.missing) - wanted) == []


@each_study
def test_campaigns_of_others_that_a_study_is_held_against_are_there(folder: Path) -> None:
    studied = {name: load_campaign(PUBLISHED.parent / name / "campaign.yaml").study for name in load_study(folder).also}
    assert folder.name not in studied.values()


@each_study
def test_words_and_headings_are_in_the_document_and_sentences_are_not_copied(folder: Path) -> None:
    claims, document = claims_of(folder), load_study(folder).document
    source = SHARED / "seeds" / str(document)
    if document is None or not source.is_file():
        pytest.skip("the study's text is not beside the project")
    text = source.read_text()
    whole, headings = plain(text), {plain(line.strip("# ").strip()) for line in text.splitlines()}
    words = whole.split()
    runs = {tuple(words[n : n + 8]) for n in range(len(words) - 7)}
    for claim in claims.claims:
        assert plain(claim.published.words) in whole, claim.id
        assert {plain(part) for part in claim.section.split(" / ")} <= headings, claim.id
        for sentence in (claim.paraphrase, claim.reading, *(other.why for other in claim.contradicts)):
            own = plain(sentence).split()
            assert not {tuple(own[n : n + 8]) for n in range(len(own) - 7)} & runs, claim.id


@each_study
def test_claims_and_figures_csv_state_the_same_numbers(folder: Path) -> None:
    claims, table = claims_of(folder), published.load(folder)
    stated = set()
    for claim in claims.claims:
        if claim.kind != "value" or claim.cells is None:
            continue
        cells, unit = claim.cells, claim.published.unit
        factor = QUANTITIES[UNITS[unit]].units[unit] if unit in UNITS else 1.0
        assert all((cells.layout, cells.operation, cells.size)), claim.id
        assert isinstance(claim.published.value, float)
        layout = claims.layouts[cells.layout[0]]
        where = (layout.type, layout.geometry or "", layout.kind, cells.operation[0], cells.size[0])
        stated.add((*where, round(claim.published.value * factor, 6)))
    columns = ["type", "geometry", "backing", "operation", "nominal_file_size_bytes"]
    rows = {(*row[:5], round(row[5], 6)) for row in table[[*columns, "value"]].itertuples(index=False, name=None)}
    # a number may be read for a layout which was not tested, too
    assert stated >= rows
    assert set(table["study"]) <= {folder.name}
    assert table["source"].str.len().gt(0).all()


@each_study
def test_every_claim_of_telemetry_has_a_rule_on_its_curves(folder: Path) -> None:
    slugs = {curves.slug for curves in load_study(folder).saturation}
    for claim in claims_of(folder).claims:
        assert (claim.telemetry is None) == ("telemetry" not in claim.needs), claim.id
        if claim.telemetry is not None:
            assert {claim.telemetry.curves, claim.telemetry.than or claim.telemetry.curves} <= slugs, claim.id


STUDY = """\
schema_version: 1
study: night
title: A study
outputs: {F: fig}
servers: {small: one}
layouts:
  mirror: {type: replicate, geometry: 3x2, kind: raid6, server_model: small}
saturation:
- {slug: a, first: F40, layout: mirror, tool: iozone, size: 4 GiB, files: 4 GB files}
missing:
  F9: nobody knows
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("server_model: small", "server_model: smal", 7, "did you mean 'small'"),
        ("layout: mirror", "layout: miror", 9, "did you mean 'mirror'"),
        ("  F9:", "  T9:", 11, "begin with one of F"),
        ("outputs:", "outptus:", 4, "outputs"),
        ("first: F40", "first: F0", 9, "first"),
        ("first: F40", "first: G40", 9, "begin with one of F"),
        ("{F: fig}", "{F: ../fig}", 4, "outputs"),
        ("study: night", "study: ../night", 2, "text of the form"),
        ("study: night", "study: .night", 2, "text of the form"),
        ("study: night", "study: night..3", 2, "text of the form"),
        ("size: 4 GiB", "size: many", 9, "many"),
        ("missing:", "also: {day: [10-x]}\nmissing:", 10, "unknown notebook '10-x'"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    folder = tmp_path / "night"
    folder.mkdir()
    (folder / "study.yaml").write_text(STUDY)
    study = load_study(folder)
    assert (study.role(0), study.output("F5"), study.saturation[0].labels[-1]) == ("small", "fig05", "F44")
    (folder / "study.yaml").write_text(STUDY.replace(old, new))
    with pytest.raises(SpecError, match=message) as found:
        load_study(folder)
    assert f":{line}:" in str(found.value)
    # a study is called as its folder
    folder = folder.rename(tmp_path / "day")
    (folder / "study.yaml").write_text(STUDY)
    with pytest.raises(UsageError, match="found 'night'"):
        load_study(folder)


@pytest.mark.parametrize(("of", "runs"), [("*", [0, 1, 2]), ("any", [0, 1]), ("named", [0]), ("general", [0, 2])])
def test_a_notebook_is_for_all_campaigns_those_of_any_study_or_of_studies_that_name_it(
    tmp_path: Path, of: str, runs: list[int]
) -> None:
    notebook = tmp_path / "10-x.ipynb"
    notebook.write_text(json.dumps({"cells": [], "metadata": {"glusterlab": {"study": of}}}))
    night = Study(schema_version=1, study="night-3.1", title="A study")
    found = [night.model_copy(update={"notebooks": ("10-x",)}), night, no_study()]
    assert [n for n, study in enumerate(found) if runs_on(notebook, study)] == runs
