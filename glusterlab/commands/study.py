"""The command that holds a campaign against what a study states: claims."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glusterlab.arguments import JsonOption, complete_raw, examples, local_path
from glusterlab.errors import DataError, UsageError

if TYPE_CHECKING:
    from glusterlab.analysis.claims import Told
    from glusterlab.spec.claims import Claims
    from glusterlab.tables import Tables

app = typer.Typer()

_ID = re.compile(r"^- id: *([a-z0-9-]+)", re.MULTILINE)
_LONGEST = 1 << 20


class VerdictName(StrEnum):
    """Verdicts, as they are typed."""

    reproduced = "reproduced"
    different_size = "different-size"
    contradicted = "contradicted"
    insufficient_n = "insufficient-n"
    not_measured = "not-measured"

    @property
    def verdict(self) -> str:
        """As `glusterlab.analysis.verdicts` calls it."""
        from glusterlab.analysis.verdicts import VERDICTS

        return _name(self, VERDICTS)


class ClassName(StrEnum):
    """Classes of claims, as they are typed."""

    ratio = "ratio"
    ordering = "ordering"
    absolute = "absolute"
    scale_model = "scale-model"
    arithmetic = "arithmetic"
    fact = "fact"

    @property
    def claim_class(self) -> str:
        """As `glusterlab.analysis.claims` calls it."""
        from glusterlab.analysis.claims import CLASSES

        return _name(self, CLASSES)


def _name(given: str, names: Iterable[str]) -> str:
    """Of some names that which is typed so."""
    from glusterlab.report.claims import typed

    return next(name for name in names if typed(name) == given)


def _published_folders(raw: Path) -> Iterator[Path]:
    """Where published numbers may be: beside the campaign, in the project that we are in, in that of this library."""
    from glusterlab.section import project_root

    yield raw.absolute().parent / "published"
    try:
        yield project_root(Path.cwd()) / "raw" / "published"
    except DataError:
        return


def _load(raws: Sequence[Path], study: str | None) -> Claims:
    """The claims of a study, by default of the one that all campaigns are of."""
    from glusterlab.spec.claims import FILE, load_claims, published_file
    from glusterlab.spec.load import load_campaign

    if study is None:
        study, *others = dict.fromkeys(load_campaign(raw / "campaign.yaml").study for raw in raws)
        if others:
            raise UsageError(
                f"expected campaigns of one study, found {', '.join((study, *others))}: name one by --study"
            )
    places = [place for raw in raws for place in _published_folders(raw)]
    found = next((place for place in places if (place / study / FILE).is_file()), places[-1])
    return load_claims(published_file(found, study))


def _tables(raw: Path) -> Tables:
    """The campaign's tables, brought up to date where their folder can be written."""
    from glusterlab import tables
    from glusterlab.report.terminal import bar

    with bar("parsing samples") as progress:
        written = tables.write(raw, progress=progress)
    return tables.load(raw, cache=False) if written is None else tables.Tables(written.folder)


def _told(stated: Claims, held: Sequence[tuple[Path, Tables]]) -> dict[str, Told]:
    """What the campaigns' telemetry says of the claims that need it; where several tell, the first that is named."""
    from glusterlab.analysis.claims_telemetry import first_told, telemetry_verdicts
    from glusterlab.saturationstudy import study_saturation
    from glusterlab.section import open_section

    sections = [open_section(str(path), loaded=loaded) for path, loaded in held]
    return first_told([telemetry_verdicts(stated, study_saturation(section).evidence) for section in sections])


def _complete_id(incomplete: str) -> Iterator[str]:
    """Ids of the claims that are transcribed in the project that we are in."""
    for folder in dict.fromkeys(place.resolve() for place in _published_folders(Path("raw", "any"))):
        for path in sorted(folder.glob("*/claims.yaml")):
            with path.open(encoding="utf-8", errors="replace") as file:
                yield from (name for name in _ID.findall(file.read(_LONGEST)) if name.startswith(incomplete))


def _complete_section(incomplete: str) -> list[str]:
    chapters = ("throughput", "file operations", "video", "tiering", "NFS", "Appendix A", "Appendix B", "Appendix C")
    return [name for name in chapters if name.lower().startswith(incomplete.lower())]


@app.command(
    epilog=examples(
        "glusterlab claims raw/reference",
        "glusterlab claims raw/reference --verdict contradicted --verdict different-size",
        "glusterlab claims raw/reference --section throughput --class ratio",
        "glusterlab claims raw/reference --id throughput-write-up-to",
        "glusterlab claims raw/standard-raid6 raw/standard-jbod raw/dense",
        "glusterlab claims raw/reference --json | jq '.claims[] | select(.verdict == \"contradicted\") | .id'",
    )
    + "\n\nExit code 0 also with contradicted claims: they are findings, not faults. 1: the campaign cannot be read."
)
def claims(
    raw: Annotated[
        list[Path],
        typer.Argument(
            metavar="RAW...",
            parser=local_path,
            help="Folder of a campaign below raw/; several are held together.",
            autocompletion=complete_raw,
        ),
    ],
    verdict: Annotated[
        list[VerdictName] | None,
        typer.Option(
            "--verdict",
            metavar="VERDICT",
            help="Only reproduced, different-size, contradicted, insufficient-n or not-measured; may be given again.",
        ),
    ] = None,
    section: Annotated[
        str | None,
        typer.Option(
            "--section",
            metavar="TEXT",
            help="Only sections of the study with this in their headings.",
            autocompletion=_complete_section,
        ),
    ] = None,
    claim_class: Annotated[
        list[ClassName] | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="Only ratio, ordering, absolute, scale-model, arithmetic or fact; may be given again.",
        ),
    ] = None,
    one: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="One claim with all that is behind it.",
            autocompletion=_complete_id,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option("--study", metavar="NAME", help="Whose claims; default: those of the campaign's study."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """The scorecard: what a study states against what a campaign measured, claim by claim, with a verdict.

    Where standard and dense servers, or RAID 6 and JBOD, were measured in campaigns of their own, name all of them.
    """
    from glusterlab.analysis.claims import judge
    from glusterlab.analysis.claims_cells import join_campaigns
    from glusterlab.raw import RawStore
    from glusterlab.report.claims import Filter, show_claim, show_claims

    chosen = Filter(
        verdicts=tuple(name.verdict for name in verdict or ()),
        classes=tuple(name.claim_class for name in claim_class or ()),
        section=section,
    )
    if one is not None and chosen.given:
        raise UsageError("--id names one claim, the filters choose among all: give one or the other")
    raws = [RawStore.open(one_raw).path for one_raw in raw]
    stated = _load(raws, study)
    asked = stated.claims if one is None else (stated.by_id(one),)
    chosen.check(stated)
    held = [(path, _tables(path)) for path in raws]
    samples = join_campaigns([loaded.samples for _, loaded in held])
    told = _told(stated, held) if any("telemetry" in claim.needs for claim in asked) else {}
    judged = judge(stated, samples, told)
    if one is not None:
        show_claim(raw, stated, judged, one, as_json=json)
    else:
        show_claims(raw, stated, judged, chosen, as_json=json)
