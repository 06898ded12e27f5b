"""claims: the scorecard, what a study states against what campaigns measured."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glusterlab.cli.console import (
    JsonOption,
    RawsArgument,
    bar,
    count_of,
    emit_json,
    examples,
    picked,
    show_table,
    talk,
)
from glusterlab.errors import DataError, UsageError
from glusterlab.units import short_number

if TYPE_CHECKING:
    from glusterlab.analysis.claims.cells import Comparison
    from glusterlab.analysis.claims.judge import Judgement, TelemetryVerdict
    from glusterlab.analysis.claims.sides import Side
    from glusterlab.spec.claims import Claim, Claims
    from glusterlab.stats import Estimate
    from glusterlab.tables.build import Tables

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
        """As `glusterlab.analysis.claims.verdicts` calls it."""
        from glusterlab.analysis.claims.verdicts import VERDICTS

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
        """As `glusterlab.analysis.claims.judge` calls it."""
        from glusterlab.analysis.claims.judge import CLASSES

        return _name(self, CLASSES)


def _name(given: str, names: Iterable[str]) -> str:
    """Of some names that which is typed so."""
    return next(name for name in names if typed(name) == given)


def _published_folders(raw: Path) -> Iterator[Path]:
    """Where published numbers may be: beside the campaign, in the project that we are in, in that of this library."""
    from glusterlab.sections.section import project_root

    yield raw.absolute().parent / "published"
    try:
        yield project_root(Path.cwd()) / "raw" / "published"
    except DataError:
        return


def _load(raws: Sequence[Path], study: str | None) -> Claims:
    """The claims of a study, by default of the one that all campaigns are of."""
    from glusterlab.spec.claims import FILE, load_claims, published_file
    from glusterlab.spec.yaml import load_campaign

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
    from glusterlab.tables import build as tables

    with bar("parsing samples") as progress:
        written = tables.write(raw, progress=progress)
    return tables.load(raw, cache=False) if written is None else tables.Tables(written.folder)


def _telemetry(stated: Claims, held: Sequence[tuple[Path, Tables]]) -> dict[str, TelemetryVerdict]:
    """What the campaigns' telemetry says of the claims that need it; where several tell, the first that is named."""
    from glusterlab.analysis.claims.telemetry import most_telling, telemetry_verdicts
    from glusterlab.sections.saturation import study_saturation
    from glusterlab.sections.section import open_section

    sections = [open_section(str(path), loaded=loaded) for path, loaded in held]
    return most_telling([telemetry_verdicts(stated, study_saturation(section).evidence) for section in sections])


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
    raw: RawsArgument,
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
        typer.Option("--id", metavar="ID", help="One claim with all that is behind it.", autocompletion=_complete_id),
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
    from glusterlab.analysis.claims.cells import join_campaigns
    from glusterlab.analysis.claims.judge import judge
    from glusterlab.store.campaign import RawStore

    chosen = Filter(
        verdicts=tuple(name.verdict for name in verdict or ()),
        classes=tuple(name.claim_class for name in claim_class or ()),
        section=section,
    )
    if one is not None and chosen.given:
        raise UsageError("--id names one claim, the filters choose among all: give one or the other")
    raws = [RawStore.open(one_raw).path for one_raw in raw]
    stated = _load(raws, study)
    wanted_claims = stated.claims if one is None else (stated.by_id(one),)
    chosen.check(stated)
    held = [(path, _tables(path)) for path in raws]
    samples = join_campaigns([loaded.samples for _, loaded in held])
    telemetry = _telemetry(stated, held) if any("telemetry" in claim.needs for claim in wanted_claims) else {}
    judged = judge(stated, samples, telemetry)
    if one is not None:
        show_claim(raw, stated, judged, one, as_json=json)
    else:
        show_claims(raw, stated, judged, chosen, as_json=json)


_SHORT = {"same direction, different size": "different size", "absolute on a scale model": "scale model"}


def typed(name: str) -> str:
    """A verdict or a class as a table shows it and as a filter wants it.

    Examples
    --------
    >>> typed("same direction, different size"), typed("not measured"), typed("ratio")
    ('different-size', 'not-measured', 'ratio')
    """
    return _SHORT.get(name, name).replace(" ", "-")


@dataclass(frozen=True)
class Filter:
    """Which claims are shown; empty: all. `section` is part of a heading, whatever its case."""

    verdicts: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    section: str | None = None

    @property
    def given(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.verdicts or self.classes or self.section)

    def check(self, claims: Claims) -> None:
        """Refuse a section that the study does not have."""
        if self.section is None or any(self._in_section(claim.section) for claim in claims.claims):
            return
        chapters = "; ".join(dict.fromkeys(claim.chapter for claim in claims.claims))
        raise UsageError(
            f"--section: no heading of {claims.study} has {self.section!r} in it; its chapters: {chapters}"
        )

    def _in_section(self, section: str) -> bool:
        return self.section is None or self.section.lower() in section.lower()

    def lets(self, judgement: Judgement) -> bool:
        """Whether a claim is shown."""
        return (
            (not self.verdicts or judgement.verdict in self.verdicts)
            and (not self.classes or judgement.claim_class in self.classes)
            and self._in_section(judgement.claim.section)
        )


def show_claims(
    raws: Sequence[Path], claims: Claims, judged: Sequence[Judgement], chosen: Filter, *, as_json: bool
) -> None:
    """The scorecard, and its totals."""
    from glusterlab.analysis.claims.scorecard import contradictions_of, measured_text, scorecard, totals
    from glusterlab.stats import LEVEL

    listed = [judgement for judgement in judged if chosen.lets(judgement)]
    table = scorecard(claims, listed)
    if as_json:
        others = contradictions_of(claims)
        emit_json(
            {
                "raw": ", ".join(map(str, raws)),
                "study": claims.study,
                "totals": {row.pop("class"): row for row in totals(table).to_dict("records")},
                "claims": [_as_json(judgement, others.get(judgement.claim.id, ())) for judgement in listed],
            }
        )
        return
    rows = [
        (
            row["id"],
            *(row["figure"], row["published"], measured_text(row), row["n"] or ""),
            *(typed(row["class"]), typed(row["verdict"])),
        )
        for _, row in table.iterrows()
    ]
    if rows:
        columns = ("claim", "figure", "published", "measured (95 %)", "n", "class", "verdict")
        show_table(columns, rows, right=("n",), fold="published")
        typer.echo("")
    _show_totals(table)
    if (table["level"] > LEVEL).any():
        typer.echo("\n* of the largest of k ratios, at 1 - 0.05 / k")
    counted = f"{count_of(len(listed), 'claim')} of {claims.study}"
    typer.echo(f"\n{counted}{f', of {len(judged)}' if chosen.given else ''}, against {', '.join(map(str, raws))}")
    if not listed:
        talk("no claim is of this choice")
    elif not chosen.given:
        talk("one claim with its cells and samples: --id CLAIM")


def _show_totals(table: Any) -> None:
    from glusterlab.analysis.claims.scorecard import totals

    counts = totals(table)
    columns = [str(name) for name in counts.columns]
    rows = [[typed(str(row[0])), *row[1:]] for row in counts.itertuples(index=False)]
    show_table([typed(name) for name in columns], rows, right=[typed(name) for name in columns[1:]])


def show_claim(
    raws: Sequence[Path], claims: Claims, judged: Sequence[Judgement], wanted: str, *, as_json: bool
) -> None:
    """One claim: what it says, how it is read, the cells and samples behind its verdict, and what contradicts it."""
    from glusterlab.analysis.claims.scorecard import contradictions_of

    judgement = next(each for each in judged if each.claim.id == wanted)
    claim = judgement.claim
    others = contradictions_of(claims).get(wanted, ())
    if as_json:
        emit_json({"raw": ", ".join(map(str, raws)), "study": claims.study, "claim": _as_json(judgement, others)})
        return
    figures = f" ({', '.join(claim.figure)})" if claim.figure else ""
    lines = [
        ("claim", claim.id),
        ("section", f"{claim.section}{figures}"),
        ("says", claim.paraphrase),
        ("read as", claim.reading),
        ("published", _published(claim)),
        ("allows", _allowed(judgement)),
        ("class", ", ".join(dict.fromkeys((judgement.claim_class, claim.kind)))),
        ("verdict", f"{judgement.verdict}: {judgement.why}"),
        ("measured", _measured(judgement)),
    ]
    for name, text in lines:
        if text:
            typer.echo(f"{name + ':':<11}{text}")
    for comparison in judgement.comparisons:
        _show_comparison(comparison, "of the published number" if claim.kind == "value" else "")
    sentences = {frozenset((one.id, other.id)): why for one, other, why in claims.contradictions()}
    verdicts = {each.claim.id: each.verdict for each in judged}
    for other in others:
        typer.echo(f"\ncontradicts {other} ({verdicts[other]}): {claims.by_id(other).paraphrase}")
        typer.echo(f"  {sentences[frozenset((wanted, other))]}")


def _measured(judgement: Judgement) -> str:
    if math.isnan(judgement.measured.centre):
        return ""
    text = _estimate(judgement.measured, _unit(judgement), judgement.level)
    count = len(judgement.comparisons)
    which = "largest" if judgement.claim.quantifier == "largest" else "one that decides"
    return f"{text}, of {count} comparisons the {which}" if count > 1 else text


def _unit(judgement: Judgement) -> str:
    return judgement.claim.published.unit if judgement.claim.kind in ("value", "arithmetic") else ""


def _published(claim: Claim) -> str:
    from glusterlab.analysis.claims.scorecard import published_text

    text, words = published_text(claim), claim.published.words
    return text if words in text else f"{text}, in its words: {words}"


def _allowed(judgement: Judgement) -> str:
    """What counts as the published number, or as its words."""
    band = judgement.band
    if band is None:
        return ""
    if math.isinf(band.high):
        return f"{band.low:.3g} and more"
    return f"{f'{band.low:.3g}' if band.low else 'up'} to {band.high:.3g} {_unit(judgement)}".rstrip()


def _estimate(estimate: Estimate, unit: str = "", level: float = 0.95) -> str:
    text = f"{short_number(estimate.centre)} {unit}".rstrip()
    if estimate.has_interval:
        text += f" ({100 * level:.3g} % interval {short_number(estimate.low)} to {short_number(estimate.high)})"
    return f"{text}, n = {estimate.n}" if estimate.n else text


def _show_comparison(comparison: Comparison, unit: str) -> None:
    from glusterlab.analysis.claims.sides import length_text

    if comparison.missing:
        typer.echo(f"\n{comparison.label}\n  not measured: {comparison.missing}")
        return
    typer.echo(f"\n{comparison.label}\n  {_estimate(comparison.estimate, unit)}")
    for note in comparison.notes:
        typer.echo(f"  {note}")
    other_files = len({side.files_per_worker for side in comparison.sides}) > 1
    for side in comparison.sides:
        values = " ".join(short_number(value) for value in side.values)
        facts = [f"{values} {side.unit}"]
        if side.scale != 1:
            facts.append(f"measured × {side.scale:g}")
        if side.other_length:
            facts.append(f"files {length_text(side.length)} as the scale asks")
        if other_files:
            facts.append(count_of(side.files_per_worker, "file") + " per worker")
        typer.echo(f"  {'×' if side.above else '÷'} {side.cell_id}, samples {side.samples.replace(';', ' ')}")
        typer.echo(f"    {', '.join(facts)}")


def _as_json(judgement: Judgement, contradicts: Sequence[str]) -> dict[str, Any]:
    from glusterlab.analysis.claims.scorecard import published_text

    claim = judgement.claim
    return {
        **claim.model_dump(mode="json", exclude_none=True, exclude={"contradicts"}),
        "class": judgement.claim_class,
        "published_text": published_text(claim),
        "allowed": None if judgement.band is None else picked(judgement.band, "low", "high"),
        "measured": _estimate_json(judgement.measured),
        "level": judgement.level,
        "verdict": judgement.verdict,
        "why": judgement.why,
        "comparisons": [
            {
                "label": comparison.label,
                "missing": comparison.missing or None,
                "notes": comparison.notes,
                "ratio": _estimate_json(comparison.estimate),
                "cells": [_side_json(side) for side in comparison.sides],
            }
            for comparison in judgement.comparisons
        ],
        "contradicts": contradicts,
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {
        **picked(side, "campaign", "workers", "scale", "length", "files_per_worker", "unit", "values"),
        "cell_id": side.cell_id.removeprefix(f"{side.campaign}/"),
        "divides": not side.above,
        "samples": [int(number) for number in side.samples.split(";")],
    }


def _estimate_json(estimate: Estimate) -> dict[str, Any] | None:
    if math.isnan(estimate.centre):
        return None
    return {"value": estimate.centre, **picked(estimate, "low", "high", "n")}
