"""What a figures folder holds."""

import json
from pathlib import Path

import pytest

from glusterlab.figures.chapters import chapters, collect
from glusterlab.figures.tables import MAX_ROWS, Table

SVG = "<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A figure with all its files, one without a caption, one that was not measured."""
    path = tmp_path / "figures" / "demo"
    path.mkdir(parents=True)
    (tmp_path / "campaign.yaml").write_text("study: supermicro-2017\n")
    caption = {"title": "4 GB <files>", "caption": "By workers.", "alt": "Two rising lines."}
    (path / "fig05-large-files.json").write_text(json.dumps({"number": 5, "slug": "large-files", **caption}))
    (path / "fig05-large-files.svg").write_text(SVG)
    (path / "fig05-large-files.png").write_bytes(b"png")
    rows = "".join(f"{workers},83684210.5,3,,{'1;' * 40}\n" for workers in range(MAX_ROWS + 2))
    (path / "fig05-large-files.csv").write_text("workers,throughput_bytes_per_s,n,low,values\n" + rows)
    (path / "fig14-by-file-size.png").write_bytes(b"png")
    missing = {"number": 11, "title": "128 GB", "reason": "no such cell in this campaign"}
    (path / "fig11-not-measured.json").write_text(json.dumps(missing))
    return path


def test_figures_are_collected_by_number(folder: Path) -> None:
    figures, missing = collect(folder, {"fig05-large-files.svg": "10-large-files"})
    assert [(figure.label, figure.title, figure.notebook) for figure in figures] == [
        ("Figure 5", "4 GB <files>", "10-large-files"),
        ("Figure 14", "By file size", ""),
    ]
    assert figures[0].files == ("fig05-large-files.svg", "fig05-large-files.png", "fig05-large-files.csv")
    assert figures[1].table == Table()
    table = figures[0].table
    # what does not differ or fit is left out
    assert (table.header, table.rows[:2], table.numeric, table.more) == (("workers",), (("0",), ("1",)), (True,), 2)
    assert table.same == (("throughput_bytes_per_s", "83,684,210"), ("n", "3"))
    assert [(entry.label, entry.reason) for entry in missing] == [("Figure 11", "no such cell in this campaign")]


def test_tables_and_the_projects_own_figures_are_listed(folder: Path) -> None:
    (folder / "tab03-bill-of-materials.csv").write_text("part,note\nchassis,<b>\n")
    (folder / "tab03-bill-of-materials.json").write_text(json.dumps({"title": "Parts", "caption": "From the guide."}))
    (folder / "tab04-empty.json").write_text(json.dumps({"title": "More parts", "reason": "No such list."}))
    (folder / "extra-links.svg").write_text(SVG)
    (folder / "extra-claims.csv").write_text("claim\nreads are even\n")
    (folder / "extra-claims.json").write_text(json.dumps({"title": "Claims", "kind": "table"}))
    (folder / "extra-orphan.csv").write_text("claim\n")
    figures, missing = collect(folder, {"tab03-bill-of-materials.csv": "30-price"}, ["extra-claims.csv"])
    assert [(figure.label, figure.title, bool(figure.picture), figure.earlier) for figure in figures[2:]] == [
        ("Table 3", "Parts", False, False),
        ("", "Links", True, False),
        ("", "Claims", False, True),
    ]
    assert figures[2].notebook == "30-price"
    assert [entry.label for entry in missing] == ["Figure 11", "Table 4"]


def notebook(folder: Path, name: str, text: str) -> None:
    (folder / "notebooks").mkdir(exist_ok=True)
    cells = [{"cell_type": "markdown", "source": text.splitlines(keepends=True)}]
    (folder / "notebooks" / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))


def test_chapters_are_notebooks_in_their_order_and_open_with_their_question(folder: Path) -> None:
    (folder / "extra-scorecard.svg").write_text(SVG)
    made_by = {
        "extra-scorecard.svg": "00-scorecard",
        "fig05-large-files.svg": "10-large-files",
        "fig11-not-measured.json": "10-large-files",
    }
    notebook(folder, "00-scorecard", "# What holds?\n\nWhich claims\nare reproduced?\n\nMore.\n")
    notebook(folder, "10-large-files", "# Big files\n\nThis says something.\n")
    figures, missing = collect(folder, made_by)
    found = chapters(folder, figures, missing)
    assert [(chapter.title, chapter.question) for chapter in found] == [
        ("What holds?", "Which claims are reproduced?"),
        ("Big files", ""),
        ("Other figures", ""),
    ]
    assert [[figure.name for figure in chapter.figures] for chapter in found] == [
        ["extra-scorecard"],
        ["fig05-large-files"],
        ["fig14-by-file-size"],
    ]
    assert [len(chapter.missing) for chapter in found] == [0, 1, 0]


@pytest.mark.parametrize("text", ["", "no heading", "## Two\n\nA question?", "{"])
def test_a_notebook_without_a_heading_speaks_by_its_name(folder: Path, text: str) -> None:
    notebook(folder, "10-large-files", text)
    if text == "{":
        (folder / "notebooks" / "10-large-files.ipynb").write_text(text)
    figures, missing = collect(folder, {"fig05-large-files.svg": "10-large-files"})
    assert [chapter.title for chapter in chapters(folder, figures, missing)] == ["Large files", "Other figures"]


def test_damaged_files_do_not_stop_the_others(folder: Path) -> None:
    (folder / "fig05-large-files.json").write_text("[1, 2")
    (folder / "fig05-large-files.csv").write_bytes(b"\xff\xfe\x00")
    (folder / "fig-notes.svg").write_text(SVG)
    figures, _ = collect(folder, {})
    assert [figure.title for figure in figures] == ["Large files", "By file size"]
