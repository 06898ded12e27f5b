"""The report of one campaign as a PDF: all its sections and claims, printed by a headless Chromium."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glusterlab.errors import GlusterlabError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PRINTED = "print.html"

_LIMIT_S = 300
_OWN = re.compile(r'\b(id="|href="#)')
_FOLDED = re.compile(  # which paper does not have
    r'<p><a href="\.\./\.\./explore\.html[^"]*">[^<]*</a></p>|<details class="numbers">.*?</details>', re.DOTALL
)
_OTHER = re.compile(r'href="([\w.-]+)\.html(?:#([^"]*))?"')


def as_one(sections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sections for one page: no two ids are alike, links between sections stay within it, and pictures are there."""
    names = {str(section["name"]) for section in sections}

    def inside(found: re.Match[str]) -> str:
        if found[1] not in names:
            return found[0]
        return f'href="#{found[1]}{"-" + found[2] if found[2] else ""}"'

    def body(section: Mapping[str, Any]) -> str:
        own = _OWN.sub(lambda found: f"{found[1]}{section['name']}-", _FOLDED.sub("", section["body"]))
        return _OTHER.sub(inside, own).replace(' loading="lazy"', "")

    return [{**section, "body": body(section)} for section in sections]


def print_pdf(page: Path, pdf: Path) -> None:
    """Print a page of the report; GlusterlabError where there is no Chromium, or it fails."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise GlusterlabError(f"expected one of {', '.join(BROWSERS)} to print, found none: `apt install chromium`")
    with tempfile.TemporaryDirectory(prefix="glusterlab-print-") as profile:
        made = Path(profile) / "report.pdf"
        # the page is our own, runs no script and loads nothing from elsewhere; root has no sandbox in Chromium
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}/profile"]
        command += ["--no-pdf-header-footer", f"--print-to-pdf={made}", page.absolute().as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise GlusterlabError(f"{page}: {browser} had not printed it after {_LIMIT_S} s") from None
        if done.returncode or not made.is_file():
            why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise GlusterlabError(f"{page}: {browser} did not print it: {why}")
        pdf.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, pdf)
