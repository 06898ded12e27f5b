"""claims: the scorecard, what a study states against what campaigns measured."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from glusterlab.cli.console import bar, count_of, show, talk
from glusterlab.cli.options import JSON, RAWS, VERIFY, commands, option
from glusterlab.errors import UsageError
from glusterlab.units import short_number

if TYPE_CHECKING:
    from glusterlab.analysis.claims.cells import Comparison
    from glusterlab.analysis.claims.judge import Judgement
    from glusterlab.spec.claims import Claims
    from glusterlab.stats import Estimate

app, command = commands()


# as `typed` has the verdicts and classes of `glusterlab.analysis.claims`
VerdictName = StrEnum(
    "VerdictName",
    "reproduced compatible contradicted insufficient-n depends-on-counting model-cannot-tell not-measured",
)
ClassName = StrEnum("ClassName", "ratio ordering absolute scale-model arithmetic fact")

_SHORT = {"absolute on a scale model": "scale model"}
_LONGEST = 1 << 20


def typed(name: str) -> str:
    """A verdict or a class as a table shows it and as a filter wants it."""
    return _SHORT.get(name, name).replace(" ", "-")


def _load(raws: Sequence[Path], study: str | None) -> Claims:
    """The claims of a study, by default of the one that all campaigns are of."""
    from glusterlab.spec.claims import FILE, load_claims, published_file
    from glusterlab.spec.studies import study_folder
    from glusterlab.spec.yaml import load_campaign
    from glusterlab.tools import vocabulary

    if study is None:
        study, *others = dict.fromkeys(load_campaign(raw / "campaign.yaml").study for raw in raws)
        if others:
            found = ", ".join((study, *others))
            raise UsageError(f"expected campaigns of one study, found {found}: name one by --study")
    folders = [study_folder(study, raw) for raw in raws]
    folder = next((folder for folder in folders if (folder / FILE).is_file()), folders[0])
    return load_claims(published_file(folder.parent, study), vocabulary())


def _judge(stated: Claims, raws: Sequence[Path]) -> list[Judgement]:
    """Every claim judged; telemetry is read only where one of them is told by it."""
    from glusterlab.analysis.claims.cells import join_campaigns
    from glusterlab.analysis.claims.judge import judge_both_views
    from glusterlab.analysis.claims.telemetry import most_decided, telemetry_verdicts
    from glusterlab.sections.saturation import study_saturation
    from glusterlab.sections.section import open_section
    from glusterlab.tables.build import load

    loaded = []
    for raw in raws:
        with bar("parsing samples") as progress:
            loaded.append(load(raw, progress=progress))
    samples = join_campaigns([tables.samples for tables in loaded])
    if not any("telemetry" in claim.needs for claim in stated.claims):
        return judge_both_views(stated, samples)
    sections = [open_section(str(raw), loaded=tables) for raw, tables in zip(raws, loaded, strict=True)]
    evidence = [study_saturation(section).evidence for section in sections]
    return judge_both_views(stated, samples, most_decided([telemetry_verdicts(stated, each) for each in evidence]))


def _completion(key: str) -> Callable[[str], Iterator[str]]:
    """Completes what the claims of the project that we are in have for a key."""
    pattern = re.compile(rf'^(?:- |  ){key}: *"?([^"/\n]*[^"/\s])', re.MULTILINE)

    def complete(incomplete: str) -> Iterator[str]:
        from glusterlab.rawfile import open_raw
        from glusterlab.spec.studies import NO_STUDY, study_folder

        for path in sorted(study_folder(NO_STUDY, Path("raw", "any")).parent.glob("*/claims.yaml")):
            with open_raw(path) as file:
                found = dict.fromkeys(pattern.findall(file.read(_LONGEST).decode("utf-8", errors="replace")))
            yield from (name for name in found if name.lower().startswith(incomplete.lower()))

    return complete


@command(
    "glusterlab claims raw/reference",
    "glusterlab claims raw/reference --verdict contradicted --verdict compatible",
    "glusterlab claims raw/reference --section throughput --class ratio",
    "glusterlab claims raw/reference --id throughput-write-up-to",
    "glusterlab claims raw/standard-raid6 raw/standard-jbod raw/dense",
    "glusterlab claims raw/reference --json | jq '.claims[] | select(.verdict == \"contradicted\") | .id'",
    more="Exit code 0 also with contradicted claims: they are findings, not faults.",
)
def claims(
    raw: list[Path] = RAWS,
    verdict: list[VerdictName] | None = option(
        "VERDICT",
        "Only reproduced, compatible, contradicted, insufficient-n, depends-on-counting, model-cannot-tell or "
        "not-measured; may be given again.",
    ),
    section: str | None = option(
        "TEXT", "Only sections of the study with this in their headings.", autocompletion=_completion("section")
    ),
    claim_class: list[ClassName] | None = option(
        "CLASS", "Only ratio, ordering, absolute, scale-model, arithmetic or fact; may be given again.", "--class"
    ),
    one: str | None = option("ID", "One claim with all that is behind it.", "--id", autocompletion=_completion("id")),
    study: str | None = option("NAME", "Whose claims; default: those of the campaign's study."),
    verify: bool = VERIFY,  # noqa: ARG001  its callback does it
    json: bool = JSON,
) -> None:
    """The scorecard: what a study states against what a campaign measured, claim by claim, with a verdict.

    Where standard and dense servers, or RAID 6 and JBOD, were measured in campaigns of their own, name all of them.
    """
    from glusterlab.analysis.claims.scorecard import contradictions_of
    from glusterlab.store.campaign import RawStore

    filtered = bool(verdict or claim_class or section)
    if one is not None and filtered:
        raise UsageError("--id names one claim, the filters choose among all: give one or the other")
    raws = [RawStore.open(each).path for each in raw]
    stated = _load(raws, study)
    heading = (section or "").lower()
    asked = [claim for claim in stated.claims if heading in claim.section.lower()]
    if not asked:
        chapters = "; ".join(dict.fromkeys(claim.chapter for claim in stated.claims))
        raise UsageError(f"--section: no heading of {stated.study} has {section!r} in it; its chapters: {chapters}")
    if one is not None:
        together = {stated.by_id(one).id, *contradictions_of(stated).get(one, ())}
        asked = [claim for claim in stated.claims if claim.id in together]
    judged = _judge(stated.model_copy(update={"claims": tuple(asked)}), raws)
    source = {"raw": ", ".join(map(str, raw)), "study": stated.study}
    if one is not None:
        _show_claim(source, stated, judged, one, as_json=json)
        return
    listed = [
        each
        for each in judged
        if (not verdict or typed(each.verdict) in verdict)
        and (not claim_class or typed(each.claim_class) in claim_class)
    ]
    of = f", of {len(stated.claims)}" if filtered else ""
    _show_claims(source, stated, listed, of, as_json=json)
    if not json and not listed:
        talk("no claim is of this choice")
    elif not json and not filtered:
        talk("one claim with its cells and samples: --id CLAIM")


def _show_claims(
    source: Mapping[str, str], stated: Claims, listed: Sequence[Judgement], of: str, *, as_json: bool
) -> None:
    from glusterlab.analysis.claims import scorecard as card
    from glusterlab.stats import LEVEL

    table = card.scorecard(stated, listed)
    counts = card.totals(table)
    others = card.contradictions_of(stated)
    rows = [
        {
            "claim": row["id"],
            "figure": row["figure"],
            "published": row["published"],
            "measured (95 %)": card.measured_text(row),
            "n": row["n"] or "",
            "n to decide": card.repeats_text(row),
            "class": typed(row["class"]),
            "verdict": typed(row["verdict"]),
        }
        for _, row in table.iterrows()
    ]
    data = {
        **source,
        "totals": {
            name: {row.pop("of").replace(" ", "_"): row for row in rows.drop(columns="class").to_dict("records")}
            for name, rows in counts.groupby("class", sort=False)
        },
        "claims": [card.claim_data(judgement, others.get(judgement.claim.id, ())) for judgement in listed],
    }
    show(rows, as_json, data, right=("n", "n to decide"), fold="published")
    if as_json:
        return
    if rows:
        typer.echo("")
    counts["class"] = counts["class"].map(typed)
    counts = counts.rename(columns=typed)
    show(counts, False, right=[*counts][2:])
    if (table["level"] > LEVEL).any():
        typer.echo("\n* of the largest of k ratios, at 1 - 0.05 / k")
    if listed:
        typer.echo(f"\n{card.headline(table)}")
    typer.echo(f"\n{count_of(len(listed), 'claim')} of {source['study']}{of}, against {source['raw']}")


def _show_claim(
    source: Mapping[str, str], stated: Claims, judged: Sequence[Judgement], wanted: str, *, as_json: bool
) -> None:
    """One claim: what it says, how it is read, the cells and samples behind its verdict, and what contradicts it."""
    from glusterlab.analysis.claims.scorecard import claim_data, contradictions_of, published_text
    from glusterlab.analysis.select import VIEWS

    judgement = next(each for each in judged if each.claim.id == wanted)
    claim, whole = judgement.claim, judgement.other
    others = contradictions_of(stated).get(wanted, ())
    text, words = published_text(claim), claim.published.words
    fields = {
        "claim": claim.id,
        "section": claim.section + (f" ({', '.join(claim.figure)})" if claim.figure else ""),
        "says": claim.paraphrase,
        "read as": claim.reading,
        "published": text if words in text else f"{text}, in its words: {words}",
        "allows": _allowed(judgement),
        "class": ", ".join(dict.fromkeys((judgement.claim_class, claim.kind))),
        "verdict": f"{judgement.verdict}: {judgement.why}",
        "measured": _measured(judgement),
        "besides": "" if whole is None else f"{VIEWS[1]} {_measured(whole)}: {whole.verdict}",
        "to decide": f"{judgement.repeats} samples on each side" if judgement.repeats else "",
    }
    lines = [f"{name + ':':<11}{value}" for name, value in fields.items() if value]
    for comparison in judgement.comparisons:
        lines += _comparison_lines(comparison, "of the published number" if claim.kind == "value" else "")
    sentences = {frozenset((one.id, other.id)): why for one, other, why in stated.contradictions()}
    verdicts = {each.claim.id: each.verdict for each in judged}
    for other in others:
        lines.append(f"\ncontradicts {other} ({verdicts[other]}): {stated.by_id(other).paraphrase}")
        lines.append(f"  {sentences[frozenset((wanted, other))]}")
    show((), as_json, {**source, "claim": claim_data(judgement, others)}, lines=lines)


def _measured(judgement: Judgement) -> str:
    if math.isnan(judgement.measured.centre):
        return ""
    text = _estimate(judgement.measured, judgement.claim.unit, judgement.level)
    count = len(judgement.comparisons)
    which = "largest" if judgement.claim.quantifier == "largest" else "one that decides"
    return f"{text}, of {count} comparisons the {which}" if count > 1 else text


def _allowed(judgement: Judgement) -> str:
    band = judgement.band
    if band is None or math.isinf(band.high):
        return "" if band is None else f"{band.low:.3g} and more"
    return f"{f'{band.low:.3g}' if band.low else 'up'} to {band.high:.3g} {judgement.claim.unit}".rstrip()


def _estimate(estimate: Estimate, unit: str = "", level: float = 0.95) -> str:
    text = f"{short_number(estimate.centre)} {unit}".rstrip()
    if estimate.has_interval:
        text += f" ({100 * level:.3g} % interval {short_number(estimate.low)} to {short_number(estimate.high)})"
    return f"{text}, n = {estimate.n}" if estimate.n else text


def _comparison_lines(comparison: Comparison, unit: str) -> Iterator[str]:
    from glusterlab.analysis.claims.cells import length_text

    yield f"\n{comparison.label}"
    if comparison.missing:
        yield f"  not measured: {comparison.missing}"
    if not comparison.sides:
        return
    yield f"  {_estimate(comparison.estimate, unit)}"
    yield from (f"  {note}" for note in comparison.notes)
    other_files = len({side.files_per_worker for side in comparison.sides}) > 1
    for side in comparison.sides:
        facts = {
            f"{' '.join(map(short_number, side.values))} {side.unit}": True,
            f"measured × {side.scale:g}": side.scale != 1,
            f"files {length_text(side.length)} as the scale asks": length_text(side.length) != "as long",
            f"{count_of(side.files_per_worker, 'file')} per worker": other_files,
        }
        yield f"  {'×' if side.above else '÷'} {side.cell_id}, samples {side.samples.replace(';', ' ')}"
        yield f"    {', '.join(text for text, matters in facts.items() if matters)}"
