"""The house: lower folders never import higher ones, and the library stays small.

Imports inside functions count; those for type checking alone do not. `pytest tests/test_layers.py -s` prints the sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.tables.build import LATER

PROJECT = Path(__file__).parents[1]
LIBRARY = PROJECT / "glusterlab"

LAYERS = (
    ("errors", "units", "shell", "parallel", "stats", "secrets", "reasons", "rawfile"),
    ("spec",),
    ("tools",),
    ("telemetry",),
    ("store",),
    ("parse",),
    ("hosts",),
    ("run",),
    ("tables",),
    ("analysis",),
    ("plots",),
    ("figures",),
    ("sections",),
    ("reproduce",),
    ("site",),
    ("testbed", "importing", "publishing"),
    ("cli",),
)
"""From low to high; what shares a line does not import each other, but for the leaves of the first."""

RANK = {name: place for place, names in enumerate(LAYERS) for name in names}

LIBRARY_LINES, REPORT_LINES, TEST_LINES, FLAT_FILES = 47_720, 1_171, 39_760, 12
"""Only lowered, but for what studies need and their tests. The design allows 48,000 with all studies and accesses, and
2,500 of Python for the report, ``glusterlab/site``, which the first number leaves out."""


def modules() -> dict[str, Path]:
    return {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(LIBRARY.rglob("*.py"))
    }


def imports(path: Path, module: str, known: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Line and module of everything of the library that a module imports at run time."""
    tree = ast.parse(path.read_text())
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if id(node) in typed or not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{name}" for name in names)]
        yield from ((node.lineno, name) for name in names if name in known)


def layer(module: str) -> str:
    return module.split(".")[1]


def test_every_folder_and_file_has_its_layer() -> None:
    assert {layer(name) for name in modules() if "." in name} == set(RANK)


def test_the_key_of_tables_leaves_out_all_that_they_cannot_import_and_no_more() -> None:
    assert set(LATER) == {name for name in RANK if RANK[name] > RANK["tables"]}


def test_lower_folders_never_import_higher_ones() -> None:
    known = modules()
    wrong = [
        f"{path.relative_to(PROJECT)}:{line} imports {other}"
        for name, path in known.items()
        if "." in name
        for line, other in imports(path, name, known)
        if "." in other
        and layer(other) != layer(name)
        and (RANK[layer(other)] > RANK[layer(name)] or (RANK[layer(other)] == RANK[layer(name)] > 0))
    ]
    assert not wrong, "\n".join(wrong)


def test_an_import_that_points_up_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "probe.py"
    path.write_text("def late():\n    from glusterlab.cli import app\n    from ..run.plan import Plan\n")
    found = {name for _, name in imports(path, "glusterlab.stats.probe", modules())}
    assert {"glusterlab.cli", "glusterlab.run.plan"} <= found


@pytest.mark.parametrize(
    ("folder", "most"), [("glusterlab", LIBRARY_LINES), ("tests", TEST_LINES)], ids=["library", "tests"]
)
def test_it_is_small(folder: str, most: int) -> None:
    sizes: dict[str, list[int]] = {}
    for path in (PROJECT / folder).rglob("*.py"):
        parts = path.relative_to(PROJECT / folder).parts
        sizes.setdefault(parts[0] if len(parts) > 1 else "(flat)", []).append(len(path.read_text().splitlines()))
    for name, lines in sorted(sizes.items(), key=lambda item: -sum(item[1])):
        print(f"{name:14}{len(lines):6}{sum(lines):8}")  # noqa: T201  the table is what the test is for, too
    report = sum(sizes.pop("site", ())) if folder == "glusterlab" else 0
    assert sum(sum(lines) for lines in sizes.values()) <= most
    assert report <= REPORT_LINES
    if folder == "glusterlab":
        assert len(sizes["(flat)"]) <= FLAT_FILES
