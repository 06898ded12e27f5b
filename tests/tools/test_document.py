"""What stands around reports: quotes, hosts, text around JSON; and that looking for it takes time by size only."""

import contextlib
import re
from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools.document import (
    MAX_DEPTH,
    MAX_NODES,
    Document,
    by_host,
    json_objects,
    number,
    read_json,
    read_xml,
    whole,
)
from tests.hang import no_hang


def test_a_host_is_one_only_in_front_of_a_report() -> None:
    lines = ["c1: total files = 3", "bash: no such file", "c1: files/sec = 4", "version : 3.2", "[c2]: total files = 5"]
    assert by_host(lines, re.compile("total files")) == {
        "c1": [(1, "total files = 3"), (3, "files/sec = 4")],
        None: [(2, "bash: no such file"), (4, "version : 3.2")],
        "c2": [(5, "total files = 5")],
    }


def test_json_in_text() -> None:
    text = 'run [ok] {1}\n{"a": nan, "b": -inf}{"c": NaN}\n  [\n {"d": 1}]\nif [ x ]; then {\n}\n{}\n'
    assert list(json_objects(text)) == [(2, {"a": None, "b": None}), (2, {"c": None}), (3, {"d": 1}), (7, {})]


def test_an_escape_that_is_no_character_can_be_written_again() -> None:
    text = r'{"\ud800": "\udc00\ud83d\ude00"}'
    assert read_json(text) == {"\ufffd": "\ufffd\U0001f600"}
    assert list(json_objects(text)) == [(1, read_json(text))]


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ('\n{"a": 1', 2, "its end"),
        ('{"a": "x', 1, "its end"),
        ("x\n{", 2, "its end"),
        ("[", 1, "its end"),
        ('{"a" 1}\n', 1, "damage"),
        ('{"a": ' + "9" * 5000 + "}", 1, "too many digits"),
        ('{"a": ' + "[" * 100_000, 1, "levels"),
    ],
)
def test_json_that_is_cut_or_damaged(text: str, line: int, found: str) -> None:
    with pytest.raises(ParseError, match=found) as caught:
        list(json_objects(text))
    assert caught.value.line == line


@pytest.mark.parametrize("piece", ["{\n", "[\n", "[[ x\n", "{ x\n", "[{ x\n", " " * 50 + "\n", "}{x", "a: {\n"])
def test_text_full_of_brackets(piece: str) -> None:
    with no_hang(), contextlib.suppress(ParseError):
        assert list(json_objects(piece * 100_000)) == []


def test_numbers() -> None:
    values: list[object] = ["1e3", "1_0", "０", "", ".5", "5.", float("nan"), 10**400, None, []]
    assert [number(value) for value in values] == [1000, None, None, None, 0.5, 5, None, None, None, None]
    values = ["7", "７", "-7", 7.0, 7.5, 10**19, True, None]
    assert [whole(value) for value in values] == [7, None, None, 7, None, None, None, None]


@pytest.mark.parametrize(("unit", "nodes"), [("<a/>", 1), ('<a b="" c=""/>', 3), ('<a b=""><c/></a>', 3)])
def test_xml_of_too_many_elements(unit: str, nodes: int) -> None:
    with pytest.raises(ParseError, match="elements and attributes"):
        read_xml(f"<x>{unit * (MAX_NODES // nodes + 1)}</x>")


def test_xml_of_too_many_levels() -> None:
    assert len(list(read_xml("<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH).iter())) == MAX_DEPTH
    with pytest.raises(ParseError, match="levels"):
        read_xml("<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1))


def test_a_file_that_is_not_packed_is_bounded_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert Document.open(tmp_path / "file", 10).text == "0123456789"
    with pytest.raises(ParseError, match="at most 9 bytes, found more"):
        Document.open(tmp_path / "file", 9)
