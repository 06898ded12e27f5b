"""Claims of a study: the committed ones against the guide and against figures.csv, and what is wrong named by line."""

from pathlib import Path

import pandas as pd
import pytest

from glusterlab.errors import SpecError, UsageError
from glusterlab.spec.claims import NEEDS, RELATIONS, Claims, load_claims, published_file
from glusterlab.spec.formula import read_formula
from glusterlab.units import parse_size

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "raw" / "published"

TEXT = """\
schema_version: 1
study: a-study
document: A study
layouts:
  copies: {type: replicate, geometry: 3x2, kind: raid6, server_model: standard}
  fragments: {type: disperse, geometry: 12x(4+2), kind: jbod}
claims:
- id: twice
  section: A chapter / A section
  figure: [F1, T2]
  paraphrase: One is twice the other.
  kind: ratio
  published: {relation: equals, value: 2.0, words: twice}
  cells: {tool: iozone, operation: [write, read], size: 4 GiB}
  of: {layout: copies}
  to: {layout: fragments}
  needs: nfs
- id: sum
  section: A chapter
  paraphrase: Two and two are four.
  kind: arithmetic
  published: {relation: equals, value: 4, unit: apples, words: four}
  formula: {add: [2, 2]}
  contradicts:
  - claim: twice
    why: It is not.
"""


AGAINST = "  against: {of: {workers: 1}, to: {workers: 2}, either_way: true}"
VOCABULARY = {"tool": ["iozone", "smallfile"], "operation": ["write", "read", "create"]}


@pytest.fixture(scope="module")
def guide() -> Claims:
    return load_claims(published_file(FOLDER, "supermicro-2017"))


def test_the_guide_has_claims_of_every_kind_chapter_and_condition(guide: Claims) -> None:
    assert len(guide.claims) >= 300
    assert {claim.kind for claim in guide.claims} == set(RELATIONS)
    assert {need for claim in guide.claims for need in claim.needs} == {*NEEDS} - {"bricks"}  # of other studies
    assert len({claim.chapter for claim in guide.claims}) == 13
    figures = {figure for claim in guide.claims for figure in claim.figure}
    without_a_number = {1, 5, 7, 16, 34, 35, 40, 41, 43, 45, 48}
    assert {f"T{n}" for n in range(1, 5)} <= figures
    assert {f"F{n}" for n in range(1, 56)} - figures <= {f"F{n}" for n in without_a_number}


def test_the_guide_contradicts_itself_in_both_directions(guide: Claims) -> None:
    pairs = guide.contradictions()
    assert len(pairs) >= 20
    assert all(one.id != other.id and why.endswith(".") for one, other, why in pairs)
    assert len({frozenset((one.id, other.id)) for one, other, _ in pairs}) == len(pairs)


def test_claims_and_the_csv_of_table_2_state_the_same_numbers(guide: Claims) -> None:
    table = pd.read_csv(FOLDER / "supermicro-2017" / "table2.csv")
    by_id = {claim.id: claim for claim in guide.claims}
    assert by_id["video-throughput-table"].computed() == [table["throughput_mb_per_s"].max()]
    latency = table["latency_ms"]
    assert by_id["video-latency-1000"].published.value == latency.iloc[-1]
    assert by_id["video-ramp-until-900"].computed() == pytest.approx([latency.iloc[:-1].diff().max()])
    area = (latency.iloc[1:-1].sum() + (latency.iloc[0] + latency.iloc[-1]) / 2) * 100 / 1000
    assert by_id["video-response-time-sum"].computed() == pytest.approx([area])


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "claims.yaml").write_text(TEXT.replace("a-study", "a-study-3.1"))
    claims = load_claims(tmp_path / "claims.yaml")
    twice, total = claims.claims
    assert (twice.chapter, twice.figure, twice.needs) == ("A chapter", ("F1", "T2"), ("nfs",))
    assert twice.cells is not None
    assert (twice.cells.size, twice.cells.operation) == ((parse_size("4 GiB"),), ("write", "read"))
    assert total.computed() == [4.0]
    assert claims.contradictions() == [(total, twice, "It is not.")]
    assert claims.by_id("sum") is total


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("relation: equals, value: 2.0", "relation: more, value: 2.0", "claims.0.published.relation", "of kind ratio"),
        ("value: 2.0", "value: 0.5", "claims.0.published.value", "turn 'of' and 'to' round"),
        ("value: 2.0", "value: '2,0'", "claims.0.published.value", "a number, found '2,0'"),
        ("value: 2.0", "value: .inf", "claims.0.published.value", "a number or a short text"),
        ("value: 2.0, ", "", "claims.0.published", "a number, found nothing"),
        ("value: 2.0", "value: 2.0, high: 3.0", "claims.0.published.high", "the relation between"),
        ("equals, value: 2.0", "between, value: 2.0", "claims.0.published", "the relation between"),
        ("equals, value: 2.0", "between, value: 2.0, high: 1.5", "claims.0.published.high", "more than 2"),
        ("equals, value: 2.0", "up to, value: 2.0", "claims.0", "quantifier: largest"),
        ("size: 4 GiB", "size: 4 Gib", "claims.0.cells.size", "expected a size in B, kB"),
        ("layout: copies", "layout: copis", "claims.0.of.layout", "did you mean 'copies'?"),
        ("tool: iozone", "tool: iozon", "claims.0.cells.tool", "did you mean 'iozone'?"),
        ("[write, read]", "[write, raed]", "claims.0.cells.operation.1", "did you mean 'read'?"),
        ("study: a-study", "study: a-study/..", "study", "text of the form"),
        ("  of: {layout: copies}\n", "", "claims.0", "'of' and 'to' together"),
        ("  needs: nfs", AGAINST.replace("1}", "[1, 3]}"), "claims.0.against.of", "expected one value of each"),
        ("  needs: nfs", AGAINST.replace("true", "perhaps"), "claims.0.against.either_way", "true or false"),
        ("size: 4 GiB", f"workers: {list(range(1, 600))}", "claims.0.cells", "at most 1,000 comparisons, found lists"),
        ("kind: ratio", "kind: value", "claims.0.published", "where cells are named, found ''"),
        ("figure: [F1, T2]", "figure: [F1, Figure 2]", "claims.0.figure.1", "text of the form"),
        ("id: sum", "id: twice", "claims.1.id", "found 'twice' twice"),
        ("claim: twice", "claim: twise", "claims.1.contradicts.0.claim", "did you mean 'twice'?"),
        ("claim: twice", "claim: sum", "claims.1.contradicts.0.claim", "cannot contradict itself"),
        ("{add: [2, 2]}", "{sum: [2, 2]}", "claims.1.formula.sum", "unknown operator"),
        ("{add: [2, 2]}", "{add: [2]}", "claims.1.formula.add", "a list of two or more"),
        ("{add: [2, 2]}", "{divide: [2, 2, 2]}", "claims.1.formula.divide", "a list of two, found 3"),
        ("{add: [2, 2]}", "{divide: [2, 0]}", "claims.1.formula", "divides by 0"),
        ("{add: [2, 2]}", "{add: [2, {add: [2, two]}]}", "claims.1.formula.add.1.add.1", "found 'two'"),
        ("{add: [2, 2]}", "[]", "claims.1.formula", "an empty list"),
        ("  formula: {add: [2, 2]}\n", "", "claims.1", "a formula for a claim of kind arithmetic"),
        ("kind: arithmetic", "kind: fact", "claims.1.published.relation", "one of is"),
        ("type: replicate", "type: mirror", "layouts.copies.type", "expected one of distribute"),
        ("claims:\n", "claims: none\nmore:\n", "claims", "expected a list, found 'none'"),
        ("claims:\n", "claims: []\nmore:\n", "claims", "at least 1"),
        ("kind: ratio", "kind: ratios", "claims.0.kind", "did you mean 'ratio'?"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_key(tmp_path: Path, old: str, new: str, key: str, message: str) -> None:
    assert old in TEXT
    path = tmp_path / "claims.yaml"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        load_claims(path, VOCABULARY)
    first = str(caught.value).splitlines()[0]
    assert message in first
    assert first.startswith(f"{path}:{caught.value.line}: {key}: ")
    if key.rpartition(".")[2] + ":" in old:
        line = TEXT[: TEXT.index(old)].count("\n") + 1
        assert line <= int(str(caught.value.line)) <= line + new.count("\n")


def test_a_study_without_claims_names_those_that_have_some(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"found no such file; those of .*supermicro-2017.* are there"):
        published_file(FOLDER, "unknown")
    with pytest.raises(UsageError, match="none of any study"):
        published_file(tmp_path, "unknown")


def test_an_unknown_claim_names_the_nearest(guide: Claims) -> None:
    with pytest.raises(UsageError, match="did you mean 'throughput-write-peak'"):
        guide.by_id("throughput-write-peek")


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ({"subtract": [5, 3]}, 2.0),
        ({"multiply": [2, 3, 4]}, 24.0),
        ({"percent_more": [13.54, 7.5]}, 80.533333),
        ({"largest": [1, {"add": [1, 1]}]}, 2.0),
        ({"smallest": [3, 2, 1]}, 1.0),
    ],
)
def test_formulas(formula: object, value: float) -> None:
    read = read_formula(formula)
    assert not isinstance(read, float)
    assert read.value() == pytest.approx(value)
