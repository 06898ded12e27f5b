"""An executed notebook as a part of a page: what it says and shows, without its code, scripts or styles."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from glusterlab.errors import DataError
from glusterlab.figures.chapters import Chapter, Figure

_FIGURE = re.compile(r"<([\w.+()-]+): \d+ values drawn>")
_VIEW = re.compile(r'<iframe [^>]*\bname="([^"<>]*)"')
_STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
_TITLE = re.compile(r"\A\s*# [^\n]*\n?")  # which the page has as its own
_NOTEBOOK = re.compile(r'href="(?:\./)?([\w.-]+)\.ipynb(#[^"]*)?"')
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_ANCHOR = re.compile(r"<a class=\"anchor-link\"[^>]*>.*?</a>")  # behind each heading, a link without words

_TAGS = [
    *("a", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt", "em", "figcaption"),
    *("figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li", "ol", "p", "picture", "pre", "source"),
    *("span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
]


def _of_a_picture(_: str, name: str, value: str) -> bool:
    """Attributes of pictures; none from elsewhere: the report makes no request."""
    own = name in ("src", "srcset") and _ELSEWHERE.match(value) is None
    return name in ("alt", "loading", "media") or (own and not (name == "srcset" and "," in value))


_ELSEWHERE = re.compile(r"\s*(//|\\\\|[a-z][a-z0-9+.-]*:)", re.IGNORECASE)
_ATTRIBUTES: dict[str, Any] = {
    "*": ["id", "class", "title"],
    "a": ["href"],
    "div": ["tabindex", "role", "aria-label"],
    "img": _of_a_picture,
    "source": _of_a_picture,
    "td": ["rowspan", "colspan"],
    "th": ["rowspan", "colspan", "scope"],
}


@dataclass
class SectionBody:
    """What a notebook says and shows of a campaign; `files`: the address of the campaign's figures from the page."""

    chapter: Chapter
    files: str
    shown: list[str] = field(default_factory=list)
    unnamed: int = 0  # tables that are no saved ones: each region of a page has a name of its own

    def html(self, notebook: Path | None) -> str:
        """The body as HTML, without a notebook its figures alone; raises DataError where it cannot be read."""
        try:
            cells = [] if notebook is None else json.loads(notebook.read_text(encoding="utf-8"))["cells"]
            first = next((n for n, cell in enumerate(cells) if cell["cell_type"] == "markdown"), None)
            parts = [part for n, cell in enumerate(cells) for part in self._cell(cell, titled=n == first)]
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(f"{notebook}: expected a notebook, it cannot be read: {error}") from error
        rest = [figure for figure in self.chapter.figures if figure.name not in self.shown]
        return sanitised("\n".join([*parts, *map(self._saved, rest)]))

    def _cell(self, cell: Mapping[str, Any], titled: bool) -> Iterator[str]:
        source = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            yield markdown(_TITLE.sub("", source) if titled else source)
        elif cell["cell_type"] == "code":
            for output in cell.get("outputs", ()):
                yield from self._output(output)

    def _output(self, output: Mapping[str, Any]) -> Iterator[str]:
        data = output.get("data", {})
        text = _ESCAPES.sub("", _text(data.get("text/plain", output.get("text", "")))).strip()
        if any(text == figure.caption for figure in self.chapter.figures if figure.name in self.shown[-1:]):
            return  # it stands below the figure
        drawn, first = _FIGURE.fullmatch(text), text.partition("\n")[0]
        for figure in self.chapter.figures:
            if (drawn is not None and figure.name == drawn[1]) or (not figure.picture and first == _heading(figure)):
                yield self._saved(figure, "" if figure.picture else _text(data.get("text/html", "")))
                return
        if view := _VIEW.search(_text(data.get("text/html", ""))):
            # the frame of a notebook is the page itself here
            yield f'<p><a href="../../explore.html#{view[1]}">Explore these cells</a></p>'
        elif "text/html" in data:
            self.unnamed += 1
            yield _scrolled(_text(data["text/html"]), f"table {self.unnamed} without a name")
        elif text and drawn is None:
            yield f'<pre tabindex="0">{escape(text)}</pre>'

    def _saved(self, figure: Figure, table: str = "") -> str:
        """A figure that was saved, its files linked; of a table as the notebook has it, else as the page of figures."""
        self.shown.append(figure.name)
        title = f"{figure.label}: {figure.title}".removeprefix(": ")
        links = " ".join(f'<a href="{self._file(name)}">{name.rpartition(".")[2].upper()}</a>' for name in figure.files)
        if figure.picture:
            source = self._file(picture_of(figure))
            numbers = _scrolled(figure.table.html, f"{title}, numbers")
            first = f", the first {len(figure.table.rows)} rows" * bool(figure.table.more)
            content = f'<details class="numbers"><summary>Numbers{first}</summary>{numbers}</details>'
            picture = f'<img src="{source}" alt="{escape(figure.alt)}" loading="lazy">'
            if figure.narrow:
                narrow = f'<source media="screen and (max-width: 640px)" srcset="{self._file(figure.narrow)}">'
                picture = f"<picture>{narrow}{picture}</picture>"
            content += _scrolled(picture, title)
        else:
            content = _scrolled(table or figure.table.html, title)
        earlier = "<b>Of an earlier run.</b> " * figure.earlier
        caption = f'{earlier}<b>{escape(title)}</b> {escape(figure.caption)} <span class="files">{links}</span>'
        return f'<figure id="{escape(figure.name)}">{content}<figcaption>{caption}</figcaption></figure>'

    def _file(self, name: str) -> str:
        return escape(f"{self.files}/{quote(name)}")


def picture_of(figure: Figure) -> str:
    """The picture that a page shows: PNG, which is small and the same everywhere, else what there is."""
    return next((name for name in figure.files if name.endswith(".png")), figure.picture)


def markdown(text: str) -> str:
    """Markdown as HTML, as JupyterLab shows it; not yet sanitised."""
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    html: str = markdown2html_mistune(text)
    return _ANCHOR.sub("", html)


def sanitised(html: str) -> str:
    """HTML of markdown and outputs with text, tables and pictures alone; links to notebooks lead to their pages."""
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    cleaner = SanitizeHTML(tags=_TAGS, attributes=_ATTRIBUTES, styles=[], strip=True)
    clean: str = cleaner.sanitize_html_tags(html)
    return _NOTEBOOK.sub(lambda found: f'href="{found[1]}.html{found[2] or ""}"', clean)


def _heading(figure: Figure) -> str:
    """The first line of a saved table's text."""
    return f"{figure.short}  {figure.title}" if figure.short else figure.title


def _scrolled(table: str, name: str) -> str:
    """A table or picture in a box of its own that keyboards reach: a narrow page does not scroll sideways."""
    # a head without words names nothing
    inner = _STYLE.sub("", table).replace("<th></th>", "<td></td>")
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{inner}</div>'


def _text(value: object) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value)
