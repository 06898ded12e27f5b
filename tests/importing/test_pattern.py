"""Patterns over paths: what they say, and what is none."""

import pytest

from glusterlab.importing.mapping import Pattern
from tests.hang import no_hang


def words(pattern: str, path: str) -> dict[str, str] | None:
    return Pattern.parse(pattern).match(path, lambda field, text: field != "workers" or text.isdecimal())


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("{layout}/{workers}w/{job}.txt", "ec/12w/read.txt", {"layout": "ec", "workers": "12", "job": "read"}),
        ("{layout}/{workers}w/{job}.txt", "deep/ec/12w/read.txt", None),
        ("{layout}/{workers}w/{job}.txt", "ec/12w/read.log", None),
        ("{layout}/{workers}w/{job}.txt", "ec/w/read.txt", None),
        ("{layout}-{workers}.txt", "disperse-12x6-48.txt", {"layout": "disperse-12x6", "workers": "48"}),
        ("**/{operation}.txt", "read.txt", {"operation": "read"}),
        ("**/{operation}.txt", "a/b/read.txt", {"operation": "read"}),
        ("*/run*-{operation}.txt", "2024/run-7-read.txt", {"operation": "7-read"}),
        ("*.txt", "a.txt", {}),
        ("*.txt", "a/b.txt", None),
        ("{operation}(1)[a].txt", "read(1)[a].txt", {"operation": "read"}),
    ],
)
def test_what_a_path_says(pattern: str, path: str, found: dict[str, str] | None) -> None:
    assert words(pattern, path) == found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{colour}.txt", "unknown field {colour}"),
        ("{worker}.txt", "did you mean 'workers'"),
        ("{run}/{run}.txt", "found {run} twice"),
        ("{layout}{operation}.txt", "expected text between two fields"),
        ("{layout}*.txt", "expected text between two fields"),
        ("{layout/a.txt", "found a single '{'"),
        ("/abs/{layout}.txt", "expected a path below the imported folder"),
        ("../{layout}.txt", "expected a path below the imported folder"),
        ("", "expected a path below the imported folder"),
    ],
)
def test_what_is_no_pattern(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("{", r"\{").replace("(", r"\(")):
        Pattern.parse(pattern)


def test_no_path_makes_it_slow() -> None:
    fields = "-".join(f"{{{name}}}" for name in ("layout", "job", "host", "options", "tool", "access", "operation"))
    pattern = Pattern.parse(f"**/{fields}.txt")
    with no_hang():
        assert pattern.match("-" * 250 + "/" + "a-" * 120 + ".log", lambda *_: True) is None
