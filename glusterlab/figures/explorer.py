"""The report's page Explore in a frame of a notebook."""

import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from urllib.parse import quote, urlencode

from glusterlab.errors import UsageError

PAGE = "explore-alone.html"  # in the folder of the report
BATCH = "GLUSTERLAB_BATCH"  # set where notebooks run in batch: they will lie beside their figures

_OF_THE_PAGE = ("per", "x", "colour", "facet")
_FILTERS = ("workers", "nominal_size", "series", "operation", "access", "release", "study", "tool", "binds")


class Explorer:
    """A view of one campaign's cells; a notebook shows it in a frame, whose name is what the page shows.

    JupyterLab makes an address of a frame whole that begins at the notebook, and takes # for part of a file's name.
    """

    def __init__(self, figures: Path, campaign: str, quantity: str, choices: Mapping[str, object], height: int) -> None:
        notebook = figures / "notebooks" if BATCH in os.environ else Path()
        self.page = Path(os.path.relpath(figures.parent / "site" / PAGE, notebook)).as_posix()
        self.height = height
        words = {"campaign": campaign, "q": quantity}
        for name, chosen in choices.items():
            if name not in (*_OF_THE_PAGE, *_FILTERS):
                known = ", ".join((*_OF_THE_PAGE, *_FILTERS))
                raise UsageError(f"expected choices among {known}, found {name!r}")
            values = chosen if isinstance(chosen, list | tuple) else [chosen]
            words[name if name in _OF_THE_PAGE else f"only-{name}"] = "|".join(map(str, values))
        self.view = urlencode({name: value for name, value in words.items() if value}, quote_via=quote)

    def __repr__(self) -> str:
        return f"figures/site/explore.html#{self.view}"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #bbb"
        empty = "<p>Where the frame is empty: <code>glusterlab site</code> makes the report that it shows.</p>"
        view = escape(self.view)
        return f'<iframe src="{quote(self.page)}" name="{view}" title="Explore" style="{style}"></iframe>{empty}'
