"""What a folder of the raw store is, by its own words; only the standard library is imported for that."""

from __future__ import annotations

import re
from pathlib import Path

_BASELINE = re.compile(r"^origin: *[\"']?baseline\b", re.MULTILINE)


def is_baseline(raw: Path) -> bool:
    """Whether a campaign is a baseline: what its hosts can do is shown with the campaigns that ran on them.

    Parameters
    ----------
    raw : pathlib.Path
        ``raw/<campaign>``; without a campaign.yaml that can be read it is none.
    """
    try:
        return _BASELINE.search((raw / "campaign.yaml").read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False
