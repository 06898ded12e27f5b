"""An executed notebook as a part of a page: its text, tables and figures, without its code."""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import bleach
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from glusterlab.figures.gallery import Figure

_FIGURE = re.compile(r"<([\w.-]+): \d+ values drawn>")
_STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
_NOTEBOOK = re.compile(r'href="([\w.-]+)\.ipynb(#[^"]*)?"')
_ANCHOR = re.compile(r'<a class="anchor-link".*?</a>')
_ANSI = re.compile(r"\x1b\[[0-9;]*m")

_TAGS = frozenset(
    {
        *(
            "a",
            "b",
            "blockquote",
            "br",
            "caption",
            "code",
            "del",
            "div",
            "em",
            "figcaption",
            "figure",
            "hr",
            "i",
            "img",
        ),
        *("h1", "h2", "h3", "h4", "h5", "li", "ol", "p", "pre", "span", "strong", "sub", "sup", "ul", "img"),
        *("table", "tbody", "td", "tfoot", "th", "thead", "tr"),
    }
)
_ATTRIBUTES = {
    "*": ["id", "class", "title"],
    "div": ["id", "class", "tabindex"],
    "a": ["href"],
    "img": ["src", "alt", "width", "height", "loading"],
    "td": ["rowspan", "colspan"],
    "th": ["rowspan", "colspan", "scope"],
}


def section_body(notebook: Path, figures: Mapping[str, Figure], files: str) -> str:
    """What a notebook says and shows, as HTML that holds neither a script nor a style.

    `figures` by their names; their files are below the address `files`. A link to another notebook leads to its page.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts = [part for cell in cells for part in _cell(cell, figures, files)]
    body = bleach.clean("\n".join(parts), tags=_TAGS, attributes=_ATTRIBUTES, protocols=["http", "https"], strip=True)
    return _NOTEBOOK.sub(lambda found: f'href="{found[1]}.html{found[2] or ""}"', body)


def _text(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value)


def _cell(cell: Mapping[str, Any], figures: Mapping[str, Figure], files: str) -> Iterator[str]:
    if cell["cell_type"] == "markdown":
        yield _ANCHOR.sub("", markdown2html_mistune(_text(cell["source"])))
        return
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        text = _text(data.get("text/plain", output.get("text", "")))
        shown = _FIGURE.fullmatch(text.strip())
        if shown and (figure := figures.get(shown[1])):
            yield _figure(figure, files)
        elif "text/html" in data:
            # a head without words names nothing
            table = _STYLE.sub("", _text(data["text/html"])).replace("<th></th>", "<td></td>")
            yield f'<div class="scroll" tabindex="0">{table}</div>'
        elif text.strip():
            yield f"<pre>{escape(_ANSI.sub('', text))}</pre>"


def _figure(figure: Figure, files: str) -> str:
    def address(name: str) -> str:
        return escape(f"{files}/{quote(name)}")

    links = " ".join(f'<a href="{address(name)}">{name.rpartition(".")[2].upper()}</a>' for name in figure.files)
    picture = next((name for name in figure.files if name.endswith(".png")), figure.picture)
    return (
        f'<figure id="{escape(figure.name)}"><img src="{address(picture)}" alt="{escape(figure.alt)}" loading="lazy">'
        f"<figcaption>{escape(figure.caption)} {links}</figcaption></figure>"
    )
