"""The mutations of guards.yaml are of this source; `make mutants` tries them."""

import pytest

from tests.mutants.run import PROJECT, mutations, stale


def test_every_guard_stands_in_the_source_once() -> None:
    assert [why for mutation in mutations() if (why := stale(mutation))] == []


def test_a_mutation_changes_what_it_names() -> None:
    assert [mutation for mutation in mutations() if mutation["old"] == mutation["new"]] == []
    assert len({(mutation["file"], mutation["new"], mutation["old"]) for mutation in mutations()}) == len(mutations())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"old": "no such guard"}, "glusterlab/store/manifest.py: expected the text 'no such guard' once, found it 0"),
        ({"file": "store/none.py"}, "glusterlab/store/none.py: expected the text"),
        ({"tests": "store/test_none.py -k x"}, "tests/store/test_none.py: expected a file of tests, found none"),
    ],
)
def test_one_that_is_out_of_date_is_said_with_what_to_do(changed: dict[str, str], said: str) -> None:
    known = next(mutation for mutation in mutations() if mutation["file"] == "store/manifest.py")
    assert stale(known, PROJECT) == ""
    why = stale(known | changed, PROJECT)
    assert (why.startswith(said), why.endswith(": mend tests/mutants/guards.yaml")) == (True, True)
