"""The interactive page of samples over time: one HTML file whose policy keeps it from loading anything."""

import json
from html import escape
from pathlib import Path
from typing import Any

from glusterlab.analysis.saturation.drilldown import LEVELS, NOTHING

TEMPLATE = Path(__file__).parent / "templates" / "drill-down.html"


def sample_page(data: dict[str, Any], *, title: str, facts: str, footer: str) -> str:
    """The page of `glusterlab.analysis.saturation.drilldown.drill_down` as HTML; empty where there is no sample."""
    if not data["cells"]:
        return ""
    # within a script "<" could end it
    packed = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {"TITLE": escape(title), "FACTS": escape(facts), "FOOTER": escape(footer)}
    page = TEMPLATE.read_text(encoding="utf-8")
    for name, text in {**parts, "LEVELS": str(LEVELS), "NOTHING": str(NOTHING), "DATA": packed}.items():
        page = page.replace(f"%{name}%", text)
    return page


def page_facts(data: dict[str, Any]) -> str:
    """How many samples a page holds, and how many it had no room for.

    >>> page_facts({"cells": [{"samples": [1]}], "left_out": 4})
    '1 sample of 1 cell; 4 more have no room here: the parameter `sample` of the notebook puts one of them first.'
    """
    samples = sum(len(cell["samples"]) for cell in data["cells"])
    cells = len(data["cells"])
    words = f"{samples} sample{'s' * (samples != 1)} of {cells} cell{'s' * (cells != 1)}"
    if data["left_out"]:
        more = "more have no room here: the parameter `sample` of the notebook puts one of them first"
        words += f"; {data['left_out']} {more}"
    return f"{words}."
