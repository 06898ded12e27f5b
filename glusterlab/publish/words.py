"""Words that a tool's output is made of: a host of such a name cannot be told from them in free text."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.resources import files

_PACKAGES = ("glusterlab.readers", "glusterlab.telemetry", "glusterlab.workloads")
_TOKEN = re.compile(r"[A-Za-z0-9-]+")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)*[a-z]{0,4}|0x[0-9a-f]+")


def tokens(text: str) -> frozenset[str]:
    """The words of a text, in lower case.

    Examples
    --------
    >>> sorted(tokens("layout: JBOD-4, 2 files"))
    ['2', 'files', 'jbod-4', 'layout']
    """
    return frozenset(word.lower() for word in _TOKEN.findall(text))


_OTHER = tokens(
    "brick bricks campaign cell cells client clients cluster command controller cpu data default disk disks error file"
    " files gluster glusterlab host hosts http https lab local localhost localdomain machine master mount network node"
    " none option options peer peers pool process read root run sample samples server servers storage system test tests"
    " time true false user volume volumes worker workers write"
)


@cache
def of_the_readers() -> frozenset[str]:
    """Every word in the text that this library's readers look for: what they need must not be renamed."""
    found: set[str] = set()
    for package in _PACKAGES:
        for module in files(package).iterdir():
            if module.name.endswith(".py"):
                found |= _literals(module.read_text(encoding="utf-8"))
    return frozenset(found)


def _literals(source: str) -> set[str]:
    tree = ast.parse(source)
    prose = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found |= tokens(node.value)
            found |= {part for word in tokens(node.value) for part in word.split("-")}
    return found


def is_number(text: str) -> bool:
    """Whether a text reads as a number, as a measured value does.

    Examples
    --------
    >>> [text for text in ("37", "0.00", "1e6", "4k", "12:30", "nan", "node37") if is_number(text)]
    ['37', '0.00', '1e6', '4k', '12:30', 'nan']
    """
    return is_value(text) or bool(_NUMBER.fullmatch(text.lower()) or re.fullmatch(r"[\d.,:%+-]+", text))


def is_value(text: str) -> bool:
    """Whether a text is one number and nothing else; an address is none.

    Examples
    --------
    >>> is_value("91.37"), is_value("10.77.0.11")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_common(name: str, also: frozenset[str] = frozenset()) -> bool:
    """Whether a name, standing in a tool's output, may be something else than a host.

    Examples
    --------
    >>> [name for name in ("r", "10", "mb", "server", "4k", "gl-s01", "munich") if is_common(name)]
    ['r', '10', 'mb', 'server', '4k']
    """
    word = name.lower()
    return len(word) <= 2 or bool(_NUMBER.fullmatch(word)) or word in _OTHER or word in also or word in of_the_readers()
