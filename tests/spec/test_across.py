"""Questions across studies: the committed ones against all studies' claims, and what is wrong named by its place."""

from pathlib import Path

import pytest

from glusterlab.errors import SpecError
from glusterlab.spec.across import FILE, Across, load_across
from glusterlab.spec.claims import FILE as CLAIMS
from glusterlab.spec.claims import load_claims
from glusterlab.spec.studies import studies

PUBLISHED = Path(__file__).parents[2] / "raw" / "published"
KNOWN = {"a-study": ["twice", "half"], "rhgs-3.1": {"slow": "a claim"}}
TEXT = """\
schema_version: 1
questions:
- id: first
  question: Which is faster?
  topics:
  - about: Writes of large files
    claims: [a-study/twice, rhgs-3.1/slow]
    note: They agree.
- id: second
  question: What else?
  topics:
  - about: Reads
    claims:
    - a-study/half
  - about: Writes
    claims: rhgs-3.1/slow
"""


@pytest.fixture(scope="module")
def known() -> dict[str, list[str]]:
    return {folder.name: [claim.id for claim in load_claims(folder / CLAIMS).claims] for folder in studies(PUBLISHED)}


@pytest.fixture(scope="module")
def across(known: dict[str, list[str]]) -> Across:
    return load_across(PUBLISHED / FILE, known)


def test_the_questions_are_about_all_studies_two_at_least_in_each(across: Across, known: dict[str, list[str]]) -> None:
    assert {study for question in across.questions for study in question.studies} == set(known)
    assert all(len(question.studies) >= 2 and question.question.endswith("?") for question in across.questions)
    topics = [topic for question in across.questions for topic in question.topics]
    assert len({topic.about for topic in topics}) == len(topics) >= 40
    assert all(topic.note == "" or topic.note.endswith(".") for topic in topics)


def test_documents_that_contradict_each_other_are_named(across: Across) -> None:
    found: dict[str, list[int]] = {}
    for question in across.questions:
        if places := [n for n, topic in enumerate(question.topics) if "contradict" in topic.note]:
            found[question.id] = places
    assert found == {"replicated-or-dispersed": [0, 4, 7], "access": [4], "rule-of-thumb": [0, 1, 3], "latency": [1]}
    assert across.questions[0].topics[4].claims[0] == ("rhgs-3.1", "ec-small-create-share")


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("a-study/twice", "a-studi/x", "7: questions.0.topics.0.claims.0", "'a-studi': did you mean 'a-study'?"),
        ("a-study/half", "a-study/hal", "14: questions.1.topics.0.claims.0", "of a-study: did you mean 'half'?"),
        ("a-study/half", "half", "14: questions.1.topics.0.claims.0", "expected a study and one of its claims"),
        ("    - a-study/half\n", "    - rhgs-3.1/slow\n", "11: questions.1.topics", "found those of rhgs-3.1 alone"),
        ("[a-study/twice, rhgs-3.1/slow]", "[]", "7: questions.0.topics.0.claims", "found an empty list"),
        ("rhgs-3.1/slow]", "a-study/twice]", "7: questions.0.topics.0.claims", "each value once"),
        ("id: second", "id: first", "9: questions.1.id", "expected each id once, found 'first' twice"),
        ("note: They", "notes: They", "8: questions.0.topics.0.notes", "did you mean 'note'?"),
        ("They agree", "They " * 90, "8: questions.0.topics.0.note", "at most 400 characters"),
        (TEXT[TEXT.index("questions") :], "questions: []\n", "2: questions", "at least 1"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    path = tmp_path / FILE
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        load_across(path, KNOWN)
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"{path}:{place}: ")
    assert message in first


def test_claims_are_read_as_study_and_claim(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(TEXT)
    second = load_across(tmp_path / FILE, KNOWN).questions[1]
    assert [list(topic.claims) for topic in second.topics] == [[("a-study", "half")], [("rhgs-3.1", "slow")]]
