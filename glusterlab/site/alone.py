"""The page Explore in one file, for a frame in a notebook: JupyterLab lets a page there load nothing beside itself."""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from glusterlab.errors import DataError

_STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">\n')
_SCRIPT = re.compile(r'<script defer src="([^"]+)"></script>\n')
_HEADER = re.compile(r"<header>.*?</header>\n", re.DOTALL)
_POLICY = re.compile(r"script-src [^;]*; style-src [^;]*;")


def alone(page: str, folder: Path, data: Sequence[str]) -> str:
    """The page with its styles, scripts and files of `data` within it, without the menu.

    `folder` is that of the report. No other script runs in it: their digests are in its policy. DataError where a
    file would end its element.
    """
    styles = [_text(folder / name, "</style") for name in _STYLE.findall(page)]
    names = [name for name in _SCRIPT.findall(page) if not name.endswith("/search.js")]
    last = len(names) - 1  # the page's own, which needs the data
    scripts = [_text(folder / name, "</script") for name in [*names[:last], *data, *names[last:]]]
    policy = f"script-src {' '.join(map(_digest, scripts))}; style-src {' '.join(map(_digest, styles))};"
    for pattern in (_STYLE, _SCRIPT, _HEADER):
        page = pattern.sub("", page)
    page = _POLICY.sub(lambda _: policy, page).replace("<html ", "<html data-alone ", 1)
    head = "".join(f"<style>{text}</style>\n" for text in styles)
    body = "".join(f"<script>{text}</script>\n" for text in scripts)
    return page.replace("</head>", f"{head}</head>", 1).replace("</body>", f"{body}</body>", 1)


def _text(path: Path, end: str) -> str:
    text = path.read_text(encoding="utf-8")
    if end in text.lower():
        raise DataError(f"{path}: expected a file that can stand in a page, found {end} in it")
    return text


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
