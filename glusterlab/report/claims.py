"""What ``glusterlab claims`` shows: the scorecard, and one claim with all that is behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from glusterlab.analysis.claims import Judgement
from glusterlab.analysis.claims_cells import Comparison
from glusterlab.analysis.claims_sides import Side, length_text
from glusterlab.analysis.intervals import LEVEL, Estimate
from glusterlab.analysis.scorecard import contradictions_of, measured_text, published_text, scorecard, totals
from glusterlab.errors import UsageError
from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, show_table, talk
from glusterlab.spec.claims import Claim, Claims
from glusterlab.units import short_number

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
    """Which claims are shown; empty: all.

    Attributes
    ----------
    verdicts, classes : tuple of str
    section : str or None
        Part of a heading, whatever its case.
    """

    verdicts: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    section: str | None = None

    @property
    def given(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.verdicts or self.classes or self.section)

    def check(self, claims: Claims) -> None:
        """Refuse a section that the study does not have.

        Raises
        ------
        UsageError
        """
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


def _joined(raws: Sequence[Path]) -> str:
    return ", ".join(map(str, raws))


def show_claims(
    raws: Sequence[Path], claims: Claims, judged: Sequence[Judgement], chosen: Filter, *, as_json: bool
) -> None:
    """The scorecard, and its totals."""
    listed = [judgement for judgement in judged if chosen.lets(judgement)]
    table = scorecard(claims, listed)
    if as_json:
        others = contradictions_of(claims)
        emit_json(
            {
                "schema_version": SCHEMA_VERSION,
                "raw": _joined(raws),
                "study": claims.study,
                "totals": {row.pop("class"): row for row in totals(table).to_dict("records")},
                "claims": [_as_json(judgement, others.get(judgement.claim.id, ())) for judgement in listed],
            }
        )
        return
    rows = [
        (
            row["id"],
            row["figure"],
            row["published"],
            measured_text(row),
            row["n"] or "",
            typed(row["class"]),
            typed(row["verdict"]),
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
    typer.echo(f"\n{counted}{f', of {len(judged)}' if chosen.given else ''}, against {_joined(raws)}")
    if not listed:
        talk("no claim is of this choice")
    elif not chosen.given:
        talk("one claim with its cells and samples: --id CLAIM")


def _show_totals(table: Any) -> None:
    counts = totals(table)
    columns = [str(name) for name in counts.columns]
    rows = [[typed(str(row[0])), *row[1:]] for row in counts.itertuples(index=False)]
    show_table([typed(name) for name in columns], rows, right=[typed(name) for name in columns[1:]])


def show_claim(
    raws: Sequence[Path], claims: Claims, judged: Sequence[Judgement], wanted: str, *, as_json: bool
) -> None:
    """One claim: what it says, how it is read, the cells and samples behind its verdict, and what contradicts it."""
    judgement = next(each for each in judged if each.claim.id == wanted)
    claim = judgement.claim
    others = contradictions_of(claims).get(wanted, ())
    if as_json:
        emit_json(
            {
                "schema_version": SCHEMA_VERSION,
                "raw": _joined(raws),
                "study": claims.study,
                "claim": _as_json(judgement, others),
            }
        )
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


def _estimate(estimate: Estimate, unit: str = "", level: float = LEVEL) -> str:
    text = f"{short_number(estimate.centre)} {unit}".rstrip()
    if estimate.has_interval:
        text += f" ({100 * level:.3g} % interval {short_number(estimate.low)} to {short_number(estimate.high)})"
    return f"{text}, n = {estimate.n}" if estimate.n else text


def _show_comparison(comparison: Comparison, unit: str) -> None:
    if comparison.missing:
        typer.echo(f"\n{comparison.label}\n  not measured: {comparison.missing}")
        return
    typer.echo(f"\n{comparison.label}\n  {_estimate(comparison.estimate, unit)}")
    for note in comparison.notes:
        typer.echo(f"  {note}")
    other_files = len({side.files_per_worker for side in comparison.sides}) > 1
    for side in comparison.sides:
        values = " ".join(short_number(value) for value in side.values)
        told = [f"{values} {side.unit}"]
        if side.scale != 1:
            told.append(f"measured × {side.scale:g}")
        if side.other_length:
            told.append(f"files {length_text(side.length)} as the scale asks")
        if other_files:
            told.append(count_of(side.files_per_worker, "file") + " per worker")
        typer.echo(f"  {'×' if side.above else '÷'} {side.cell_id}, samples {side.samples.replace(';', ' ')}")
        typer.echo(f"    {', '.join(told)}")


def _as_json(judgement: Judgement, contradicts: Sequence[str]) -> dict[str, Any]:
    claim = judgement.claim
    return {
        **claim.model_dump(mode="json", exclude_none=True, exclude={"contradicts"}),
        "class": judgement.claim_class,
        "published_text": published_text(claim),
        "allowed": None
        if judgement.band is None
        else {"low": _number(judgement.band.low), "high": _number(judgement.band.high)},
        "measured": _estimate_json(judgement.measured),
        "level": judgement.level,
        "verdict": judgement.verdict,
        "why": judgement.why,
        "comparisons": [
            {
                "label": comparison.label,
                "missing": comparison.missing or None,
                "notes": list(comparison.notes),
                "ratio": _estimate_json(comparison.estimate),
                "cells": [_side_json(side) for side in comparison.sides],
            }
            for comparison in judgement.comparisons
        ],
        "contradicts": list(contradicts),
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "campaign": side.campaign,
        "cell_id": side.cell_id.removeprefix(f"{side.campaign}/"),
        "divides": not side.above,
        "workers": side.workers,
        "scale": side.scale,
        "length": side.length,
        "files_per_worker": side.files_per_worker,
        "unit": side.unit,
        "samples": [int(number) for number in side.samples.split(";")],
        "values": list(side.values),
    }


def _estimate_json(estimate: Estimate) -> dict[str, Any] | None:
    if math.isnan(estimate.centre):
        return None
    return {
        "value": _number(estimate.centre),
        "low": _number(estimate.low),
        "high": _number(estimate.high),
        "n": estimate.n,
    }


def _number(value: float) -> float | None:
    """A number for JSON, which has neither infinity nor NaN."""
    return value if math.isfinite(value) else None
