"""Quoting: whatever a specification says stays one word for the shell."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.shell import HostCommand, join, quote

HOSTILE = ["", " ", "a b", "it's", '"', "$(id)", "`id`", "; rm -rf /", "\n", "-n", "*", "~", "\\", "a\tb", "ü", "!x"]


def _words(command: str) -> list[str]:
    script = f"for word in {command}; do printf '%s\\0' \"$word\"; done"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words(word: str) -> None:
    assert _words(quote(word)) == [word]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), min_size=1, max_size=5))
def test_any_words(words: list[str]) -> None:
    assert _words(join(words)) == words


def test_a_script_and_its_environment_arrive_whole() -> None:
    command = HostCommand("h", script="printf %s \"$VALUE\"; echo 'it''s'", env={"VALUE": "a 'b' $HOME"})
    done = subprocess.run(["sh", "-c", command.shell], capture_output=True, text=True, check=True)
    assert done.stdout == "a 'b' $HOMEits\n"
    assert command.words == ("sh", "-c", command.script)


def test_what_no_command_line_can_carry() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote("a\0b")
    with pytest.raises(ValueError, match="name of an environment variable"):
        join(["x"], {"A;B": "1"})
    with pytest.raises(ValueError, match="either argv or a script"):
        HostCommand("h")
