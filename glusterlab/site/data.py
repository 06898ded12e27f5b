"""What the report's pages load of a campaign: cells, claims, figures, and each cell with its telemetry, as JSON data.

Means, intervals, groups and verdicts are the library's own. The pages multiply and divide them by what is exact (scale,
disks, servers, a price), sort and filter; they compute no statistics.
"""

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any, Self

import pandas as pd

from glusterlab.analysis.claims.judge import EVIDENCE, Judgement, judge_both_views
from glusterlab.analysis.claims.scorecard import (
    claim_data,
    contradictions_of,
    headline,
    measured_text,
    published_text,
    scorecard,
    totals,
)
from glusterlab.analysis.claims.telemetry import telemetry_verdicts
from glusterlab.analysis.compare.cells import Rule
from glusterlab.analysis.compare.words import average_sentences, least_lines, rule_line, verdict_line
from glusterlab.analysis.saturation import verdict
from glusterlab.analysis.saturation.drilldown import drill_down
from glusterlab.analysis.saturation.summary import binding_by_cell
from glusterlab.analysis.select import VIEWS, split_values, summarise, valid_samples, with_series
from glusterlab.figures.chapters import Chapter, Figure, NotMeasured, chapters, collect, label_in_words
from glusterlab.plots.compare import MARKS
from glusterlab.plots.style import DIGEST_LENGTH, row_style
from glusterlab.reproduce.state import STATE, State
from glusterlab.sections.comparison import Release, hold_together
from glusterlab.sections.saturation import capacity_of, study_saturation
from glusterlab.sections.section import Section, open_section
from glusterlab.spec.claims import FILE as CLAIMS
from glusterlab.spec.claims import load_claims
from glusterlab.spec.prices import PriceList, load_prices
from glusterlab.spec.studies import Study, studies_also_of
from glusterlab.store.campaign import RawStore
from glusterlab.store.sample import Sample
from glusterlab.tables.build import load
from glusterlab.tools import vocabulary
from glusterlab.units import format_size, short_number

QUANTITIES: Mapping[str, tuple[str, str, float, bool]] = {
    "throughput_bytes_per_s": ("Throughput", "MB/s", 1e-6, True),
    "files_per_s": ("Files", "files/s", 1.0, True),
    "operations_per_s": ("Operations", "operations/s", 1.0, True),
    "streams_held": ("Streams held", "streams", 1.0, True),
    "latency_mean_s": ("Latency, mean", "ms", 1e3, False),
    "latency_p50_s": ("Latency, median", "ms", 1e3, False),
    "latency_p95_s": ("Latency, 95th percentile", "ms", 1e3, False),
    "latency_p99_s": ("Latency, 99th percentile", "ms", 1e3, False),
    "elapsed_s": ("Time that was measured", "s", 1.0, False),
}
"""Columns of the samples table that a page can show: label, unit, factor from the SI unit, and whether more is better,
which are the rates that can be divided by disks or by a price."""

CELL = [
    *("id", "operation", "tool", "series", "access", "nominal_size", "workers", "scale", "heads", "disks", "servers"),
    *("release", "priced"),
]
"""Columns of a page's cells; ``priced`` is the server of the price list, empty without one."""

BINDS = ["binds", "agree"]
"""What binds a cell, and how many of its samples say so: the last columns of a page's cells."""

_FROM = {"id": "cell_id", "nominal_size": "nominal_file_size_bytes", "release": "gluster_version"}

SUMMARY = [
    *("cell", "n", "mean", "low", "high", "groups", "group_low", "group_high"),
    *("whole_mean", "whole_low", "whole_high", "values"),
]
"""Columns of a quantity; ``cell`` is the number of its row among the cells, numbers are in the SI unit."""

PAIR = [
    *("cell_id", "title", "quantity", "ratio", "low", "high", "interval", "p_corrected", "verdict"),
    *("n_reference", "n_other", "rounds"),
]
"""Columns of two campaigns that are held together, those of `glusterlab.analysis.compare.cells.COMPARED`."""

_MEASURED = ("class", "verdict", "why", "measured", "level", "repeats", "evidence", "over_the_whole_time")
_RATIOS = [
    *("ratio", "ratio_low", "ratio_high", "ratio_whole", "ratio_whole_low", "ratio_whole_high"),
    *("ratio_published", "band_low", "band_high"),
]

MOST_FINDINGS = 5
_DECIDED = ("contradicted", "reproduced", "compatible", "depends on counting")
_DIGITS = 6


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers to six digits, what is no number as None."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()  # of numpy
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


@dataclass
class Report:
    """A campaign with what its pages need; `figures` is its folder of figures."""

    section: Section
    figures: Path
    judgements: list[Judgement] = field(default_factory=list)

    @classmethod
    def open(cls, raw: Path, figures: Path) -> Self:
        """Open a campaign whose tables lie with its figures, and judge its study's claims."""
        section = open_section(str(raw.absolute()), figures=str(figures), loaded=load(raw, figures / "tables"))
        claims = section.claims
        told = {}
        if any("telemetry" in claim.needs for claim in claims.claims):
            told = telemetry_verdicts(claims, study_saturation(section).evidence)
        return cls(section, figures, judge_both_views(claims, section.samples, told) if claims.claims else [])

    @property
    def name(self) -> str:
        return self.section.provenance.campaign

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Samples without warm-ups, each with its ``series``, as its valid ones are called."""
        rows = self.section.samples[~self.section.samples["warmup"]].reset_index(drop=True)
        return with_series(rows).assign(cell_id=lambda table: table["cell_id"].astype(str))

    @cached_property
    def prices(self) -> PriceList | None:
        """The price list of the study's runbook."""
        path = self.section.base / "runbooks" / self.section.study.study / "prices.yaml"
        return load_prices(path) if path.is_file() else None

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A row per cell: columns `CELL`."""
        first = self.samples.drop_duplicates("cell_id").sort_values("cell_id", ignore_index=True)
        servers = first["servers"].astype(float)
        priced = [
            (self.prices and self.prices.server_name(str(model), disks / number if number else 0)) or ""
            for model, disks, number in zip(first["server_model"], first["disks"], servers, strict=True)
        ]
        return pd.DataFrame({name: first[_FROM.get(name, name)] for name in CELL[:-1]}).assign(priced=priced)

    def summaries(self) -> dict[str, pd.DataFrame]:
        """What `summarise` makes of each quantity of `QUANTITIES` that the campaign has: columns `SUMMARY`."""
        rows = valid_samples(self.samples)
        places = {cell: n for n, cell in enumerate(self.cells["id"])}
        found = {}
        for quantity in QUANTITIES:
            if quantity not in rows or rows[quantity].isna().all():
                continue
            table = summarise(rows, quantity)
            table = table.assign(cell=table["cell_id"].map(places)).reindex(columns=SUMMARY)
            table["values"] = table["values"].map(split_values)
            found[quantity] = table
        return found

    def cells_data(self, binds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The data ``cells/<campaign>``; `binds` is what `each_cell` says of that, by the cell's id."""
        tables = {quantity: _columns(table) for quantity, table in self.summaries().items()}
        found = pd.DataFrame([binds[cell] for cell in self.cells["id"]], columns=BINDS)
        return {**_coded(self.cells.assign(**found)), "quantities": tables}

    @cached_property
    def card(self) -> pd.DataFrame:
        return scorecard(self.section.claims, self.judgements)

    def claims_data(self) -> dict[str, Any]:
        """The data ``claims/<campaign>``: what was measured of each claim, with its verdict."""
        found = []
        for judgement, row in zip(self.judgements, self.card.to_dict("records"), strict=True):
            data = claim_data(judgement, ())
            kept = {name: data[name] for name in _MEASURED if data[name]}
            ratios = {name: row[name] for name in _RATIOS if not pd.isna(row[name])}
            found.append({"id": judgement.claim.id} | kept | ratios)
        return {"study": self.section.study.study, "claims": found}

    def comparisons_data(self) -> dict[str, Any]:
        """The data ``comparisons/<campaign>``: those behind each verdict, by the claim's id."""
        return {each.claim.id: claim_data(each, ())["comparisons"] for each in self.judgements if each.comparisons}

    def study_data(self) -> dict[str, Any]:
        """The data ``study/<study>``: what each claim states, the same for all campaigns."""
        claims, others = self.section.claims, contradictions_of(self.section.claims)
        return {
            "called": self.section.study.called,
            "title": self.section.study.title,
            "claims": [
                {name: getattr(claim, name) for name in ("id", "chapter", "section", "figure", "kind", "paraphrase")}
                | {"reading": claim.reading, "published": published_text(claim), "words": claim.published.words}
                | {"unit": claim.unit, "contradicts": others.get(claim.id, ())}
                for claim in claims.claims
            ],
            "contradictions": [(one.id, other.id, why) for one, other, why in claims.contradictions()],
        }

    def verdicts(self) -> dict[str, dict[str, dict[str, str]]]:
        """What was measured of each claim, by its id, of the campaign's study and of others that name the campaign."""
        cards = {self.section.study.study: self.card}
        for study in self.others:
            if (path := self.section.published_folder.parent / study.study / CLAIMS).is_file():
                claims = load_claims(path, vocabulary())
                cards[study.study] = scorecard(claims, judge_both_views(claims, self.section.samples))
        return {
            study: {
                str(row["id"]): {name: str(row[name]) for name in ("verdict", "class", "evidence")}
                | {"measured": measured_text(row)}
                for _, row in card.iterrows()
            }
            for study, card in cards.items()
        }

    def findings(self) -> list[dict[str, Any]]:
        """The statements that measurements decide most firmly, each with its ratio; of one evidence one.

        What depends on counting is there only where too few others are.
        """
        rows = self.card[self.card["class"].isin(EVIDENCE) & self.card["verdict"].isin(_DECIDED)]
        rows = rows[rows["ratio_low"].notna() & (rows["evidence"] != "")]
        rows = rows.assign(_rank=[_DECIDED.index(verdict) for verdict in rows["verdict"]])
        # of what depends on counting first that which lies on one side of 1 in both views
        sides = [(rows[f"{view}_low"] > 1) * 1 - (rows[f"{view}_high"] < 1) for view in ("ratio", "ratio_whole")]
        open_ = (rows["verdict"] == _DECIDED[-1]) & (sides[0] * sides[1] < 1)
        rows = rows.assign(_open=open_, _width=rows["ratio_high"] / rows["ratio_low"])
        ordered = rows.sort_values(["_rank", "_open", "_width"], kind="stable").drop_duplicates("evidence")
        # both kinds of news: what the study said and does not hold here, and what does
        wrong, held, depends = (ordered[ordered["_rank"].isin(ranks)] for ranks in ([0], [1, 2], [3]))
        few = MOST_FINDINGS // 2
        chosen = pd.concat([wrong.head(few), held, wrong.iloc[few:], depends]).head(MOST_FINDINGS)
        return [_finding(row) for row in chosen.to_dict("records")]

    def entry(self) -> dict[str, Any]:
        """What the list of campaigns says of this one."""
        section, samples = self.section, self.samples
        campaign, statuses = section.campaign, Counter(samples["status"].astype(str))
        started = samples["start_s"].dropna()
        elapsed = (samples["end_s"] - samples["start_s"]).sum()
        assert campaign is not None
        return {
            "name": self.name,
            "title": campaign.title or self.name,
            "description": campaign.description or "",
            "study": section.study.study,
            "release": section.provenance.release,
            "place": section.provenance.place(model=section.provenance.testbed),
            "testbed": section.provenance.testbed,
            "digest": section.provenance.digest[:DIGEST_LENGTH],
            "first": _date(started.min()) if len(started) else "",
            "last": _date(started.max()) if len(started) else "",
            "hours": elapsed / 3600,
            "cells": len(self.cells),
            "samples": {name: statuses[name] for name in ("valid", "invalid", "failed")},
            "scales": sorted({float(scale) for scale in samples["scale"]}),
            "chosen_after": [choice.model_dump(mode="json") for choice in campaign.chosen_after],
            "totals": _columns(totals(self.card)) if self.judgements else None,
            "headline": headline(self.card) if self.judgements else "",
            "findings": self.findings() if self.judgements else [],
            "sections": [
                {"name": each.name, "title": each.title, "question": each.question}
                | {"figures": len(each.figures), "missing": len(each.missing)}
                for each in self.chapters
                if each.name
            ],
        }

    def costs(self) -> dict[str, Any] | None:
        """What servers of the price list cost, by group."""
        if self.prices is None:
            return None
        servers = {name: dict(self.prices.cost(name).groups) for name in self.prices.servers}
        return {"notice": self.prices.sentence, "currency": self.prices.currency, "servers": servers}

    def looks(self) -> dict[str, dict[str, str]]:
        """Colour and shape of each series, as figures have them."""
        rows = self.samples.drop_duplicates("series")
        styles = zip(rows["series"], map(row_style, rows.to_dict("records")), strict=True)
        return {str(series): {"colour": style.colour, "marker": style.marker} for series, style in styles}

    @cached_property
    def _state(self) -> State:
        return State.read(self.figures / STATE)

    @property
    def failed(self) -> Sequence[str]:
        """Notebooks that failed in the last run."""
        return self._state.noted.get("failed", ())

    @cached_property
    def others(self) -> list[Study]:
        """The other studies that name the campaign."""
        return studies_also_of(self.name, self.section.published_folder.parent)

    @cached_property
    def _collected(self) -> tuple[list[Figure], list[NotMeasured]]:
        made = {output: name for name, entry in self._state.notebooks.items() for output in entry["outputs"]}
        earlier = self._state.noted.get("earlier", ())
        of = (*self.others, self.section.study)
        outputs = {letter: prefix for study in of for letter, prefix in study.outputs.items()}
        figures, missing = collect(self.figures, made, earlier, outputs=outputs)
        labels = {entry.label for entry in figures} | {entry.label for entry in missing}
        reasons = {label_in_words(label): reason for label, reason in self.section.study.missing.items()}
        return figures, missing + [NotMeasured(label, "", why) for label, why in reasons.items() if label not in labels]

    @cached_property
    def chapters(self) -> list[Chapter]:
        """Figures and what is missing, by notebook."""
        return chapters(self.figures, *self._collected, sources=self.section.base / "notebooks")

    def used_by(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of the figures' CSV files that name a cell, by its id: file and first row as `trace` takes them, title.

        ``section`` and ``figure`` say where the report has it.
        """
        shown = {
            file: {"title": _title(figure), "section": chapter.name, "figure": figure.name}
            for chapter in self.chapters
            for figure in chapter.figures
            for file in figure.files
        }
        known, found = set(self.cells["id"]), defaultdict[str, list[dict[str, Any]]](list)
        for path in sorted(self.figures.glob("*.csv")):
            seen: set[str] = set()
            for number, row in enumerate(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))), 1):
                parts = {part for text in row.values() if isinstance(text, str) for part in text.split(";")}
                for cell in (parts & known) - seen:
                    seen.add(cell)
                    found[cell].append({"csv": path.name, "row": number, **shown.get(path.name, {})})
        return found

    def each_cell(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The data ``cell/<campaign>/<id>`` of every cell: samples, series of telemetry, and what uses it."""
        section, used = self.section, self.used_by()
        every = valid_samples(self.samples)
        capacity = capacity_of(section, every) if len(every) else {}
        stored = defaultdict[str, list[Sample]](list)
        for sample in RawStore.open(section.raw).samples():
            stored[sample.cell_id].append(sample)
        claims = defaultdict[str, list[str]](list)
        for judgement in self.judgements:
            sides = {side.cell_id for comparison in judgement.comparisons for side in comparison.sides}
            for cell in sides:
                claims[cell.rpartition("/")[2]].append(judgement.claim.id)
        for cell in self.cells["id"]:
            rows = every[every["cell_id"] == cell]
            telemetry = section.telemetry_of(rows)
            verdicts = verdict.judge(telemetry, rows, capacity).verdicts
            binding = binding_by_cell(verdicts, rows)[BINDS].to_dict("records")
            facts = self.samples[self.samples["cell_id"] == cell].set_index("sample")
            yield (
                cell,
                {
                    "samples": [self._sample(sample, facts) for sample in stored[cell] if sample.sample in facts.index],
                    "series": drill_down(telemetry, rows, capacity, verdicts),
                    "binds": binding[0] if binding else {},
                    "used_by": used[cell],
                    "claims": claims[cell],
                },
            )

    def _sample(self, sample: Sample, facts: pd.DataFrame) -> dict[str, Any]:
        row: dict[Any, Any] = facts.loc[sample.sample].to_dict()
        files = sorted(path.relative_to(sample.path).as_posix() for path in sample.path.rglob("*") if path.is_file())
        return {
            **{name: getattr(sample, name) for name in ("sample", "status", "round", "attempt", "machine")},
            "begin": _date(row["start_s"], time=True),
            "seconds": row["elapsed_s"],
            "reasons": [reason.model_dump(mode="json", exclude_none=True) for reason in sample.reasons],
            "files": files,
            "values": {name: row[name] for name in QUANTITIES if name in row and not pd.isna(row[name])},
        }

    def search(self) -> list[dict[str, str]]:
        """What a search finds of the campaign: title, kind, page and text of each entry."""
        found = []
        for chapter in self.chapters:
            page = f"sections/{self.name}/{chapter.name}.html"
            if chapter.name:
                found.append({"t": chapter.title, "k": "section", "u": page, "x": chapter.question})
            for figure in chapter.figures:
                kind = "figure" if figure.picture else "table"
                found.append({"t": _title(figure), "k": kind, "u": f"{page}#{figure.name}", "x": figure.caption})
        for judgement in self.judgements:
            claim = judgement.claim
            text = f"{claim.id} {claim.section} {judgement.verdict}"
            url = f"claims.html#campaign={self.name}&claim={claim.id}"
            found.append({"t": claim.paraphrase, "k": "claim", "u": url, "x": text})
        for row in self.cells.to_dict("records"):
            url = f"cell.html#campaign={self.name}&cell={row['id']}"
            found.append({"t": cell_title(row), "k": "cell", "u": url, "x": str(row["id"])})
        return found


def _title(figure: Figure) -> str:
    return f"{figure.label}: {figure.title}".removeprefix(": ")


def cell_title(row: Mapping[Any, Any]) -> str:
    """A cell in words: ``write 4 GiB, replicate 3x2, RAID 6, 48 workers``."""
    workers, size = int(row["workers"]), format_size(int(row["nominal_size"]))
    return f"{row['operation']} {size}, {row['series']}, {workers} worker{'s' * (workers != 1)}"


def _columns(table: pd.DataFrame) -> dict[str, Any]:
    rows = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    return {"columns": [str(name) for name in table], "rows": rows}


def _coded(table: pd.DataFrame) -> dict[str, Any]:
    """A table whose columns of text have the numbers of ``words``, where each stands once."""
    found, words = _columns(table), {}
    for n, name in enumerate(found["columns"]):
        known = {row[n]: None for row in found["rows"]}
        if len(known) < len(found["rows"]) and any(isinstance(word, str) for word in known):
            words[name] = [*known]
            for row in found["rows"]:
                row[n] = words[name].index(row[n])
    return {**found, "words": words}


def _date(seconds: float, *, time: bool = False) -> str:
    if math.isnan(seconds):
        return ""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if time else f"{moment:%Y-%m-%d}"


def _finding(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of the scorecard as a sentence, with what was measured and what the study allows, as ratios."""
    unit = f" {row['unit']}" if row["unit"] else ""

    def told(prefix: str) -> str:
        low, value, high = (
            short_number(row["measured"] / row["ratio"] * row[f"{prefix}{end}"]) for end in ("_low", "", "_high")
        )
        return f"{value}{unit} ({low} to {high})"

    measured = told("ratio")
    if row["verdict"] == "depends on counting":
        measured += f" by the {VIEWS[0]}, {told('ratio_whole')} {VIEWS[1]}"
    measured += f", n = {row['n']}"
    return {
        **{name: row[name] for name in ("id", "says", "published", "verdict", "n", "unit")},
        **{name: row[name] for name in _RATIOS},
        "measured": measured,
    }


def pairs(releases: Sequence[Release]) -> dict[str, Any]:
    """The data ``pairs``: what `glusterlab compare` says of each two campaigns that have cells in common.

    ``one`` is the reference. A row per cell has columns `PAIR`; ``says`` are its sentences, the verdicts first, and
    ``differences`` those of what both were measured under. Verdicts have the colours and shapes of figures.
    """
    named = [replace(each, label=each.name, conditions=replace(each.conditions, name=each.name)) for each in releases]
    rule, found = Rule(), []
    cells = {each.name: set(valid_samples(each.samples)["cell_id"].astype(str)) for each in named}
    for one, other in permutations(named, 2):
        if cells[one.name].isdisjoint(cells[other.name]):
            continue
        compared = hold_together((one, other), rule)
        rows = compared.table.rename(columns={"nominal_file_size_bytes": "nominal_size"}).to_dict("records")
        table = compared.table.assign(title=[cell_title(row) for row in rows])
        if table.empty:
            continue
        says = [verdict_line(table, one.name, other.name), rule_line(rule, table), *least_lines(table, rule)]
        says += [*average_sentences(compared.averages), *compared.notes]
        found.append(
            {"one": one.name, "other": other.name, "another_release": one.version != other.version}
            | _columns(table[PAIR])
            | {"says": says, "warnings": compared.warnings, "differences": _columns(compared.differences)}
        )
    marks = {verdict: [mark.colour, mark.marker] for verdict, mark in MARKS.items()}
    return {"band": rule.band, "marks": marks, "pairs": found}
