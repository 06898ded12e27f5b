"""Which notebooks can be run here: one for single studies waits until ``raw/`` has a campaign of one of them.

``python -m tests.waiting`` lists those that can, and says on stderr why the others cannot.
"""

import json
import sys
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

from glusterlab.spec import load_campaign
from glusterlab.spec.studies import Study, load_study, studies
from glusterlab.store.campaign import is_baseline

PROJECT = Path(__file__).parents[1]
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("[0-9][0-9]-*.ipynb"))
CAMPAIGNS = sorted(
    path.parent
    for path in (PROJECT / "raw").glob("*/MANIFEST.sha256")
    # a baseline has no section of its own: figures of its cluster's campaigns show it
    if not is_baseline(path.parent)
)


def studies_of(notebook: Path) -> str:
    """Which studies a notebook is for, as `glusterlab.reproduce.reproduce.runs_on` has it."""
    return str(json.loads(notebook.read_text())["metadata"].get("glusterlab", {}).get("study", "*"))


def notebooks_asked(study: str = "") -> set[str]:
    """The notebooks that campaigns in ``raw/`` name, of a study or of all."""
    campaigns = [load_campaign(folder / "campaign.yaml") for folder in CAMPAIGNS]
    return {name for each in campaigns if study in ("", each.study) for name in each.notebooks or ()}


def studies_to_measure(notebook: Path, known: Sequence[Study], measured: Collection[str]) -> str:
    """Why a notebook cannot have been run yet: the studies that alone it is for, where none of them has a campaign."""
    if studies_of(notebook) == "asked" and notebook.stem not in notebooks_asked():
        return "no campaign in raw/ names it yet"
    if studies_of(notebook) != "named":
        return ""
    of = [study.study for study in known if notebook.stem in study.notebooks]
    return "" if set(of) & {*measured} else f"no campaign in raw/ of its study yet: {', '.join(of)}"


@cache
def waiting() -> dict[Path, str]:
    """The project's notebooks that cannot be run, with the reasons."""
    known = [load_study(folder) for folder in studies(PROJECT / "raw" / "published")]
    measured = {load_campaign(campaign / "campaign.yaml").study for campaign in CAMPAIGNS}
    reasons = {notebook: studies_to_measure(notebook, known, measured) for notebook in NOTEBOOKS}
    return {notebook: why for notebook, why in reasons.items() if why}


def main() -> None:
    found = waiting()
    for notebook in NOTEBOOKS:
        if notebook in found:
            sys.stderr.write(f"{notebook.name}: skipped, {found[notebook]}\n")
        else:
            sys.stdout.write(f"{notebook.relative_to(PROJECT)}\n")


if __name__ == "__main__":
    main()
