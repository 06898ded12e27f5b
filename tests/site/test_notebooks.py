"""A notebook on a page: its text and outputs in order, figures as files, no code, and nothing that runs."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import DataError
from glusterlab.figures.chapters import Chapter, Figure
from glusterlab.figures.tables import Table
from glusterlab.site.notebooks import SectionBody, markdown, picture_of, sanitised
from glusterlab.site.printing import as_one
from tests.figures.page import Page
from tests.site import projects
from tests.site.projects import code, shown, write_notebook


def figure(name: str, title: str = "Curve", **changed: Any) -> Figure:
    files = (f"{name}.svg", f"{name}.png", f"{name}.csv")
    facts = {
        "name": name,
        "label": "Figure 5",
        "short": "F5",
        "title": title,
        "caption": "By workers.",
        "alt": "A curve",
        "picture": files[0],
        "narrow": "",
        "files": files,
        "table": Table.numbers("a,b\n1,2\n2,3\n"),
        "notebook": "10-large",
    }
    return Figure(**{**facts, **changed})


def table(name: str, title: str) -> Figure:
    return figure(name, title, label="", short="", picture="", files=(f"{name}.csv",))


def body(tmp_path: Path, *cells: dict[str, Any], figures: tuple[Figure, ...] = ()) -> str:
    notebook = write_notebook(tmp_path / "10-large.ipynb", *cells)
    chapter = Chapter("10-large", "Large files", "", figures, ())
    return SectionBody(chapter, "../../files/night").html(notebook)


def test_text_and_outputs_are_in_order_and_code_is_not_there(tmp_path: Path) -> None:
    html = body(
        tmp_path,
        projects.markdown("# Large files\n\nHow *fast*?"),
        code("secret = 1", shown("a 1 < 2 & more")),
        projects.markdown("## Then\n\n| a |\n|---|\n| 1 |"),
        code("print(secret)", {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mred\x1b[0m"]}),
    )
    assert "secret" not in html
    # the page has the first heading as its own
    assert "Large files" not in html
    assert re.findall(r"<em>fast</em>|a 1 &lt; 2 &amp; more|<h2|<td>1</td>|>red</pre>", html) == [
        *("<em>fast</em>", "a 1 &lt; 2 &amp; more", "<h2", "<td>1</td>", ">red</pre>"),
    ]
    assert '<a class="anchor-link"' not in html


def test_only_the_title_of_the_notebook_is_left_out(tmp_path: Path) -> None:
    html = body(
        tmp_path,
        code("..."),
        projects.markdown("# Large files\n\nHow fast?"),
        projects.markdown("# A part\n\nThat has no figure before it."),
    )
    assert "Large files" not in html
    assert re.findall("<h1[^>]*>([^<]*)", html) == ["A part"]


def test_a_saved_figure_is_its_files_where_the_notebook_has_it(tmp_path: Path) -> None:
    drawn = {
        "output_type": "display_data",
        "data": {"image/png": "iVBOR", "text/plain": "<fig05-a(4+2): 2 values drawn>"},
    }
    words = shown("By workers.", "<p>By workers.</p>")
    html = body(
        tmp_path,
        projects.markdown("Before."),
        code("...", drawn, words),
        projects.markdown("After."),
        figures=(figure("fig05-a(4+2)"), figure("fig06-b", "Rest")),
    )
    page = Page(html)
    assert page.ids == ["fig05-a(4+2)", "fig06-b"]
    assert page.links[:4] == [f"../../files/night/fig05-a%284%2B2%29.{kind}" for kind in ("png", "svg", "png", "csv")]
    assert page.alts == ["A curve", "A curve"]
    assert "iVBOR" not in html
    assert "<source" not in html
    # what no output shows is not lost: it is at the end
    assert html.index("Before.") < html.index("fig05-a") < html.index("After.") < html.index("fig06-b")
    assert "<b>Figure 5: Curve</b> By workers." in html
    # its numbers can be unfolded above it, which paper does not have
    assert html.index("<summary>Numbers</summary>") < html.index('<td class="n">2</td>') < html.index("<img ")
    (printed,) = as_one([{"name": "10-large", "body": html}])
    assert "<td" not in printed["body"]
    assert printed["body"].count("<img ") == 2
    # once for each figure: the caption that the notebook has below it is the same
    assert html.count("By workers.") == 2


def test_the_frame_of_a_view_is_a_link_to_it(tmp_path: Path) -> None:
    frame = '<iframe src="../figures/site/explore-alone.html" name="campaign=night&amp;q=a" title="Explore"></iframe>'
    html = body(tmp_path, code("section.explore()", shown("figures/site/explore.html#campaign=night", frame)))
    assert Page(html).links == ["../../explore.html#campaign=night&q=a"]
    assert "iframe" not in html


def test_a_figure_of_an_earlier_run_says_so(tmp_path: Path) -> None:
    old = dataclasses.replace(figure("fig05-a"), earlier=True)
    html = body(tmp_path, projects.markdown("Text."), figures=(old, figure("fig06-b")))
    assert html.count("Of an earlier run.") == 1


def test_a_saved_table_is_shown_once_with_its_file_and_an_anchor(tmp_path: Path) -> None:
    saved = shown(
        "Totals\n\nclaims  12", '<style>p {color: red}</style><div class="shown-table"><table><tr><td>12</table></div>'
    )
    html = body(tmp_path, code("...", saved), figures=(table("extra-totals", "Totals"),))
    page = Page(html)
    assert (page.ids, html.count("<td>12</td>")) == (["extra-totals"], 1)
    assert page.links == ["../../files/night/extra-totals.csv"]
    assert "color" not in html
    assert 'tabindex="0" role="region" aria-label="Totals"' in html


def test_links_to_notebooks_lead_to_their_pages(tmp_path: Path) -> None:
    html = body(
        tmp_path,
        projects.markdown("[sizing](90-sizing.ipynb) [one](./10-large.ipynb#Then) [out](https://x.org/a.ipynb)"),
    )
    assert Page(html).links == ["90-sizing.html", "10-large.html#Then", "https://x.org/a.ipynb"]


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "![a](https://x.org/a.png) <img src='//x.org/a.png'> <img src='\\\\x.org/a.png'>",
        "![a](data:image/png;base64,AA)",
        "<picture><source srcset='a.png, //x.org/a.png'><source srcset='https://x.org/a.png'></picture>",
        "<a href='java\nscript:alert(1)' onclick='alert(1)'>a</a>",
        "<svg/onload=alert(1)>",
        "<iframe src='https://x.org'></iframe><object data=x></object><form action=x><input></form>",
        "<p style='background:url(https://x.org)'>a</p><link rel=stylesheet href=//x.org><base href=//x.org>",
        "<math><mtext></p><style><a title='</style><img src=x onerror=alert(1)>'>",
    ],
)
def test_nothing_hostile_of_a_notebook_runs_or_loads(tmp_path: Path, hostile: str) -> None:
    html = body(
        tmp_path,
        projects.markdown(hostile),
        code("...", shown("a table", hostile), shown(hostile)),
        figures=(figure("fig05-a", hostile, caption=hostile, alt=hostile), table("extra-x", hostile)),
    )
    page = Page(html)
    allowed = {
        "details",
        "summary",
        "p",
        "div",
        "pre",
        "figure",
        "figcaption",
        "img",
        "picture",
        "source",
        "a",
        "b",
        "span",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert set(page.tags) <= allowed | {"code"}
    assert all(link.startswith("../../files/night/") or link == "x" for link in page.links)
    attributes = {
        name
        for tag in re.findall(r"<\w+((?:\s+[\w-]+=\"[^\"]*\")*)\s*>", html)
        for name in re.findall(r"([\w-]+)=", re.sub(r"\"[^\"]*\"", '""', tag))
    }
    assert attributes <= {
        "id",
        "class",
        "src",
        "alt",
        "loading",
        "href",
        "tabindex",
        "role",
        "aria-label",
        "title",
        "scope",
    }


def test_figures_that_no_notebook_made_stand_alone() -> None:
    section = SectionBody(Chapter("others", "Other figures", "", (figure("extra-mine"),), ()), "files")
    assert Page(section.html(None)).ids == ["extra-mine"]


def test_an_unreadable_notebook_is_named(tmp_path: Path) -> None:
    (tmp_path / "10-large.ipynb").write_text('{"cells": [{"cell_type": "markdown"}]}')
    section = SectionBody(Chapter("10-large", "", "", (), ()), "files")
    for name in ("10-large.ipynb", "lost.ipynb"):
        with pytest.raises(DataError, match=f"{name}: expected a notebook"):
            section.html(tmp_path / name)


def test_markdown_of_methods_keeps_its_tables_and_lists() -> None:
    html = sanitised(markdown("## A\n\n1. one\n2. two\n\n| v | of |\n|---|---|\n| *a* | b |\n"))
    assert Page(html).tags == [
        *("h2", "ol", "li", "li", "table", "thead", "tr", "th", "th", "tbody", "tr", "td", "em", "td")
    ]


def test_the_picture_of_a_page_is_the_png_where_there_is_one() -> None:
    assert picture_of(figure("fig05-a")) == "fig05-a.png"
    assert picture_of(figure("fig05-a", files=("fig05-a.svg",))) == "fig05-a.svg"


def test_a_phone_has_the_narrow_picture_and_paper_the_wide_one() -> None:
    drawn = (figure("fig05-a", narrow="narrow/fig05-a.png"),)
    html = SectionBody(Chapter("10-large", "Large files", "", drawn, ()), "../../files/night").html(None)
    source = '<source media="screen and (max-width: 640px)" srcset="../../files/night/narrow/fig05-a.png">'
    assert f'<picture>{source}<img src="../../files/night/fig05-a.png"' in html
