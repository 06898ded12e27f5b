"""What of a notebook comes onto a page, and what never does."""

import json
from pathlib import Path

import pytest

from glusterlab.figures.gallery import Figure
from glusterlab.figures.tables import Table
from glusterlab.site.notebooks import section_body


def body(tmp_path: Path, *cells: dict[str, object]) -> str:
    path = tmp_path / "10-x.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    figure = Figure(
        name="fig05-rates",
        label="Figure 5",
        short="F5",
        title="Rates",
        caption='Of "all" <workers>',
        alt="F5: Rates",
        picture="fig05-rates.svg",
        files=("fig05-rates.svg", "fig05-rates.png", "fig05-rates.csv"),
        table=Table(),
        notebook="10-x",
    )
    return section_body(path, {figure.name: figure}, "../../files/demo")


def output(**data: str) -> dict[str, object]:
    shown = {name.replace("_", "/"): text for name, text in data.items()}
    return {"cell_type": "code", "source": "SECRET CODE", "outputs": [{"output_type": "display_data", "data": shown}]}


def test_text_tables_and_figures_come_and_code_does_not(tmp_path: Path) -> None:
    table = "<div><style scoped>.x {}</style><table><tr><th></th><td>1</td></tr></table></div>"
    found = body(
        tmp_path,
        {"cell_type": "markdown", "source": ["# Large files\n", "See [the other](20-small-files.ipynb#which)."]},
        output(image_png="AAAA", text_plain="<fig05-rates: 7 values drawn>"),
        output(text_html=table, text_plain="1"),
        {"cell_type": "code", "outputs": [{"output_type": "stream", "text": ["\x1b[31m3 < 4\x1b[0m\n"]}]},
    )
    assert "SECRET CODE" not in found
    assert '<h1 id="Large-files">Large files</h1>' in found
    assert 'href="20-small-files.html#which"' in found
    assert '<img src="../../files/demo/fig05-rates.png" alt="F5: Rates" loading="lazy">' in found
    assert 'href="../../files/demo/fig05-rates.csv"' in found
    assert "&lt;workers&gt;" in found
    assert "<td></td>" in found
    assert "style" not in found
    assert "<pre>3 &lt; 4" in found


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '<img src="x" onerror="alert(1)">',
        '<a href="javascript:alert(1)">x</a>',
        '<iframe src="https://example.org"></iframe>',
        '<table onclick="alert(1)"><tr><td>1</td></tr></table>',
    ],
)
def test_nothing_that_runs_or_loads_comes_onto_a_page(tmp_path: Path, hostile: str) -> None:
    markdown: dict[str, object] = {"cell_type": "markdown", "source": hostile}
    for cell in (output(text_html=hostile, text_plain="x"), markdown):
        found = body(tmp_path, cell)
        assert not any(word in found for word in ("<script", "onerror", "onclick", "javascript:", "<iframe"))
