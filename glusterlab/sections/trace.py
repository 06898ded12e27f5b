"""From a number in a figure's CSV back to samples, raw files and lines, with the arithmetic in between.

A row says which samples it is of, by ``cell_id``, ``samples`` and ``quantity``, or by columns that are named like them,
such as ``samples_other`` and ``slow_cell``. These are read from their raw files again, and what follows is computed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from glusterlab.analysis.saturation.usage import ACTIVITIES, telemetry_by_host
from glusterlab.analysis.select import split_values, valid_samples
from glusterlab.errors import DataError, UsageError
from glusterlab.figures.save import CSV_DIGEST
from glusterlab.figures.tables import ORIGIN
from glusterlab.plots.style import DIGEST_LENGTH
from glusterlab.run.measured import read_result
from glusterlab.sections.section import Section, open_section
from glusterlab.spec.fields import suggest
from glusterlab.stats import mean_interval, median_interval, ratio_interval
from glusterlab.store.campaign import RawStore
from glusterlab.store.digests import RawDigests
from glusterlab.store.evidence import unpacked
from glusterlab.store.files import file_digest
from glusterlab.store.imported import read_import
from glusterlab.tables import build
from glusterlab.telemetry.arrow import epoch_of
from glusterlab.telemetry.metrics import TABLE_ACTIVITIES
from glusterlab.telemetry.reader import read
from glusterlab.tools import runnable
from glusterlab.tools.document import Document
from glusterlab.tools.records import METRICS

if TYPE_CHECKING:
    from glusterlab.store.sample import Sample
    from glusterlab.tools.records import Source

Row = Mapping[str, str]
_Hosts = Mapping[tuple[int, str], float]

TOLERANCE = 2e-8
"""Relative difference up to which numbers agree: a CSV keeps nine digits, and some follow from what has nine."""

DIVISORS = {"_per_disk": "disks", "_per_server": "servers"}
"""Ends of ``quantity``, and the column of the samples table by which its values are divided."""

FACTORS = {1: "", 1000: " x 1000", 1024: " x 1024", 10**6: " x 10^6", 1 << 20: " x 2^20"}
"""From a number as tools print it to SI base units, and in words."""

_ENDS = {"mean": "centre", "low": "low", "high": "high"}
_STATED = ("value", "files_per_s", "throughput_bytes_per_s")
_PRINTED = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_LONGEST = 10_000
_SIZES = {"file_size_bytes", "record_size_bytes", "nominal_file_size_bytes"}
_GIVEN = {"workers", "disks", "servers", "scale", "sample", "files_per_worker", *_SIZES, *ORIGIN}


@dataclass(frozen=True)
class Lines:
    """Lines of a raw file, as `glusterlab parse` names it; `value` is what they alone come to, if they do."""

    file: str
    first: int | None
    last: int | None
    text: str
    value: float | None = None


@dataclass(frozen=True)
class TracedSample:
    """A sample behind a row: its `value` undivided, `times` in epoch seconds as in the samples table."""

    campaign: str
    cell_id: str
    sample: int
    value: float
    times: Mapping[str, float]
    lines: list[Lines]


@dataclass(frozen=True)
class Check:
    """A column of the row: what the CSV has, what the raw files come to, and how."""

    column: str
    stated: str
    found: str
    how: str
    agrees: bool


@dataclass
class Trace:
    """What a row was traced to; `problems` and `notes` are sentences, `unchecked` numbers that were not computed."""

    figure: str
    row: int
    campaign: str
    digest: str
    samples: list[TracedSample] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 where something does not agree, 3 where no number of the row could be computed, else 0."""
        if self.problems or not all(check.agrees for check in self.checks):
            return 1
        return 0 if self.checks else 3


class _Group(NamedTuple):
    """One cell's part of a row; `named` is the form of its columns: ``slow_{}``, ``{}_other`` or ``{}``."""

    campaign: str
    digest: str
    cell: str
    named: str = "{}"
    samples: tuple[int, ...] = ()


def trace(figure: Path, wanted: Sequence[str], raw: Path) -> Trace:
    """Trace one row of a CSV file, by its number from 1 or by values ``column=value``; campaigns are below `raw`.

    UsageError where there is no such row, DataError where its campaign is not what it was made of, RawStoreError where
    there is none.
    """
    rows = read_rows(figure)
    number = _choose(figure, rows, wanted)
    row = rows[number - 1]
    found = Trace(str(figure), number, row["campaign"], row["digest"])
    _look_for_edits(figure, found)
    own = _groups(row)
    others = _groups(_partner(rows, row)) if len(own) == 1 else []
    sections = {
        name: _open(raw / name, figure, [*own, *others]) for name in {each.campaign for each in (*own, *others)}
    }
    values = []
    for place, group in enumerate((*own, *others)):
        section = sections[group.campaign]
        measured, hosts = _measured(section, group, row, found)
        _describe(section, group, row, measured, hosts, found)
        values.append(_divided(row, measured)[0])
        if place < len(own):
            found.checks += _estimates(row, group, measured)
    if others:
        ratio = ratio_interval(values[0], values[1])
        numbers = {"ratio": ratio.centre, "ratio_low": ratio.low, "ratio_high": ratio.high}
        how = f"geometric means and Welch's t on logarithms, to {row['ratio_to']}"
        found.checks += [_check(row, name, value, how) for name, value in numbers.items()]
    computed = _GIVEN | {check.column for check in found.checks}
    found.unchecked += [name for name in row if name not in computed and row[name] and _number(row[name]) is not None]
    return found


def read_rows(figure: Path) -> list[dict[str, str]]:
    """The rows of a figure's CSV file; UsageError where it is none, DataError where it names no campaign."""
    try:
        rows = pd.read_csv(figure, dtype=str, keep_default_na=False).to_dict("records")
    except (OSError, ValueError) as error:
        raise UsageError(f"{figure}: expected the CSV file of a figure, it cannot be read: {error}") from error
    if not rows or not set(ORIGIN) <= set(rows[0]):
        advice = "`glusterlab reproduce` makes one of an older version again"
        raise DataError(f"{figure}: expected rows that name their campaign and digest, found none; {advice}")
    return [{str(name): str(value) for name, value in row.items()} for row in rows]


def _choose(figure: Path, rows: Sequence[Row], wanted: Sequence[str]) -> int:
    """The number of the row that is meant."""
    numbers = range(1, len(rows) + 1)
    if len(wanted) == 1 and wanted[0].isdecimal() and int(wanted[0]) in numbers:
        return int(wanted[0])
    found = list(numbers)
    for each in wanted:
        name, _, value = each.partition("=")
        if name not in rows[0] or name == each:
            expected = f"expected the number of a row, from 1 to {len(rows)}, or column=value"
            raise UsageError(f"{figure}: {expected}, found {each!r}{suggest(name, list(rows[0]), listed=False)}")
        there = sorted({rows[number - 1][name] for number in found})
        found = [number for number in found if _same(rows[number - 1][name], value)]
        if not found:
            raise UsageError(f"{figure}: expected a row with {each}, found none{suggest(value, there)}")
    if len(found) > 1:
        raise UsageError(f"{figure}: expected one row, found {', '.join(map(str, found))}; name one, or more columns")
    return found[0]


def _number(text: str) -> float | None:
    try:
        return float(text or "nan")
    except ValueError:
        return None


def _same(stated: str, value: object) -> bool:
    """Whether a value of the CSV is this text, or this number within the rounding of the file."""
    one, other = _number(stated), _number(str(value))
    if one is None or other is None:
        return stated == str(value)
    return math.isnan(one + other) == math.isnan(one) == math.isnan(other) and (
        math.isnan(one) or math.isclose(one, other, rel_tol=TOLERANCE)
    )


def _look_for_edits(figure: Path, found: Trace) -> None:
    caption = figure.with_suffix(".json")
    try:
        digest = json.loads(caption.read_bytes())[CSV_DIGEST]
    except (OSError, ValueError, KeyError, TypeError):
        found.notes.append(f"whether {figure.name} was edited is not known: no {CSV_DIGEST} in {caption}")
        return
    if file_digest(figure) != digest:
        found.problems.append(f"{figure.name} was edited: its SHA-256 is not the one in {caption.name}")


def _groups(row: Row | None) -> list[_Group]:
    """The cells that a row names."""
    if row is None:
        return []
    origins = list(zip(row["campaign"].split(";"), row["digest"].split(";"), strict=False))
    found = []
    for name, text in row.items():
        named = name.replace("samples", "{}")
        cell = row.get(named.format("cell")) or row.get("cell_id")
        if cell and "samples" in name.split("_") and re.fullmatch(r"\d\d+(;\d\d+)*", text):
            origin = origins[-1 if named == "{}_other" else 0]
            found.append(_Group(*origin, cell=cell, named=named, samples=tuple(map(int, text.split(";")))))
    cells = [row.get("cell_id", "")] if row.get("cell_id") else row.get("cells", "").split(";")
    alone = (int(row["sample"]),) if row.get("sample", "").isdecimal() else ()
    return found or [_Group(*origins[0], cell=cell, samples=alone) for cell in cells if "-" in cell]


def _partner(rows: Sequence[Row], row: Row) -> Row | None:
    """The row of the file to which the ratio of a row is, if it is there."""
    to = {"series": row.get("ratio_to", ""), "workers": row.get("ratio_to_workers", "")}
    to |= {name: row.get(name, "") for name in ("operation", "nominal_file_size_bytes")}
    found = [other for other in rows if other is not row and all(_same(other.get(name, ""), to[name]) for name in to)]
    return found[0] if to["series"] and row.get("ratio") and len(found) == 1 else None


def _open(raw: Path, figure: Path, groups: Sequence[_Group]) -> Section:
    """A campaign with the tables of the groups' cells alone, made of its raw files now."""
    store = RawStore.open(raw)
    digests, of = RawDigests(store.path), [group for group in groups if group.campaign == raw.name]
    tools = sorted(digests.tools)
    reads = [None, *(chosen for n in range(len(tools) + 1) for chosen in combinations(tools, n))]
    if wrong := {group.digest for group in of} - {digests.of(chosen)[:DIGEST_LENGTH] for chosen in reads}:
        raise DataError(
            f"{figure}: is of a campaign {raw.name} with the digest {min(wrong)}, {raw} has "
            f"{digests.whole[:DIGEST_LENGTH]}: it is older than these raw files, or of another campaign of that name; "
            "`glusterlab reproduce` makes it again, --raw names another folder"
        )
    cells = {group.cell for group in of}
    if lacking := cells - set(store.cells()):
        raise DataError(f"{figure}: expected the cell {min(lacking)} in {raw}, found none of that id")
    return open_section(str(store.path.absolute()), loaded=build.load(store.path, cache=False, cells=cells))


def _base(row: Row) -> tuple[str, str | None]:
    """The quantity that was measured, and the column that divides it."""
    quantity = row.get("quantity", "")
    end = next((end for end in DIVISORS if quantity.endswith(end)), "")
    return quantity.removesuffix(end), DIVISORS.get(end)


def _measured(section: Section, group: _Group, row: Row, found: Trace) -> tuple[pd.DataFrame, _Hosts]:
    """The samples of a group with ``value`` (not divided) and ``peak``; and of telemetry the value of each host."""
    rows = valid_samples(section.samples)
    rows = rows[rows["cell_id"] == group.cell].sort_values("sample")
    measured, hosts = _with_values(section, rows, _base(row)[0], row.get("role", "machine"))
    named, known = set(group.samples), set(measured.dropna(subset="value")["sample"])
    if lacking := named - set(rows["sample"]):
        found.problems.append(f"samples {sorted(lacking)} of {group.cell} are named and not valid")
    # what a comparison leaves out, and a page has no room for, is no fault
    if named and group.named == "{}" and {"values", "interval"} <= row.keys() and known - named:
        found.problems.append(f"samples {sorted(known - named)} of {group.cell} are valid and not named")
    return measured[measured["sample"].isin(named or set(rows["sample"]))], hosts


def _with_values(section: Section, rows: pd.DataFrame, base: str, role: str) -> tuple[pd.DataFrame, _Hosts]:
    if base in ACTIVITIES:
        table = telemetry_by_host(section.telemetry_of(rows), rows, testbed=section.provenance.testbed)
        table = table[(table["quantity"] == base) & (table["role"] == role)]
        by_host = table[["sample", "host", "value"]].itertuples(index=False, name=None)
        hosts = {(int(sample), str(host)): float(value) for sample, host, value in by_host}
        return rows.merge(table.groupby("sample")[["value", "peak"]].mean(), on="sample"), hosts
    if base not in METRICS or rows.empty:
        return rows.assign(value=math.nan), {}
    tool, operation = (str(rows.iloc[0][name]) for name in ("tool", "operation"))
    metric = runnable()[tool].by_operation[operation].metric if tool in runnable() else base
    of_files = base == "throughput_bytes_per_s" and metric == "files_per_s"
    return rows.assign(value=rows["files_per_s"] * rows["file_size_bytes"] if of_files else rows[base]), {}


def _divided(row: Row, measured: pd.DataFrame) -> tuple[list[float], str]:
    """The values of samples as the row has them, and in words by what they were divided."""
    known, by = measured.dropna(subset="value"), _base(row)[1]
    divisor = 1.0 if by is None or known.empty else float(known[by].iloc[0])
    return [float(value) / divisor for value in known["value"]], "" if by is None else f" / {divisor:g} {by}"


def _estimates(row: Row, group: _Group, measured: pd.DataFrame) -> Iterator[Check]:
    """The columns that follow from the values of one cell."""
    values, per = _divided(row, measured)
    if not values:
        return
    mean, median, count = mean_interval(values), median_interval(values), len(values)
    sums = " + ".join(f"{value:.9g}" for value in measured["value"].dropna())
    half = f"t(0.975, {count - 1}) s / sqrt({count}), s = {np.std(values, ddof=1 if count > 1 else 0):.6g}"
    scale, limit = float(measured["scale"].iloc[0]), _number(row.get("limit", "")) or math.nan
    order = "order statistics, 95 %"
    ends = {"mean": (mean, f"mean - {half}", f"mean + {half}"), "median": (median, order, order)}
    estimate, low, high = ends["mean" if group.named.format("mean") in row else "median"]
    full, share = f"x scale {scale:g}", f"/ limit {limit:.9g}, which is not computed here"
    found: dict[str, tuple[float, str]] = {
        "n": (count, "samples"),
        "mean": (mean.centre, f"({sums}) / {count}{per}"),
        "low": (estimate.low, low),
        "high": (estimate.high, high),
        "median": (median.centre, f"of the values{per}"),
        "median_low": (median.low, order),
        "median_high": (median.high, order),
        **{f"full_size_{end}": (getattr(mean, of) * scale, f"{end} {full}") for end, of in _ENDS.items()},
        **{f"share_{end}": (getattr(mean, of) / limit, f"{end} {share}") for end, of in _ENDS.items()},
        "share": (mean.centre / limit, f"mean {share}"),
    }
    if "peak" in measured:
        found["peak"] = float(measured["peak"].mean()), "mean over the samples of the busiest seconds of a host"
    if stated := row.get(group.named.format("values"), ""):
        agrees = len(split_values(stated)) == count and all(map(_same, stated.split(";"), values))
        texts = ";".join(f"{value:.9g}" for value in values)
        yield Check(group.named.format("values"), stated, texts, f"of each sample{per}", agrees)
    for name, (value, how) in found.items():
        if (column := group.named.format(name)) in row and not (math.isnan(value) and not row[column]):
            yield _check(row, column, value, how)


def _check(row: Row, column: str, value: float, how: str) -> Check:
    return Check(column, row[column], f"{value:.9g}", how, _same(row[column], value))


def _describe(section: Section, group: _Group, row: Row, measured: pd.DataFrame, hosts: _Hosts, found: Trace) -> None:
    """Add the samples of a group with the lines behind each; `RawStore.open` held the files against the manifest."""
    base = _base(row)[0]
    facts: dict[int, dict[Any, Any]] = {int(each["sample"]): each for each in measured.to_dict("records")}
    store = RawStore.open(section.raw)
    for sample in store.samples(group.cell):
        if (of := facts.get(sample.sample)) is None:
            continue
        with unpacked(sample.path, ("telemetry/", "workload/")) as folder:
            if base in ACTIVITIES:
                lines = list(_telemetry_lines(sample, folder, of, ACTIVITIES[base], hosts))
            else:
                result = read_result(sample, store.cell(sample.cell_id), folder)
                lines = [_stating(folder, result.record.source, [of[name] for name in _STATED])]
                workers = [worker.source.line or 1 for worker in result.workers]
                if workers:
                    lines.append(Lines(lines[0].file, min(workers), max(workers), f"workers: {len(workers)}"))
        times = {name: float(of[name]) for name in ("start_s", "end_s", "part_start_s", "part_end_s", "elapsed_s")}
        lines = [replace(each, file=str(sample.path / each.file)) for each in lines]
        found.samples.append(TracedSample(group.campaign, group.cell, sample.sample, float(of["value"]), times, lines))


def _stating(folder: Path, source: Source, values: Sequence[float]) -> Lines:
    """The first line from a record's on that has one of its values, in whatever unit; else where it begins."""
    path, first = Path(source.file), source.line or 1
    text, name = Document.open(path).text.split("\n"), path.relative_to(folder).as_posix()
    for number, line in enumerate(text[first - 1 :], start=first):
        for printed in _PRINTED.findall(line[:_LONGEST]):
            for factor, words in FACTORS.items():
                if any(math.isclose(float(printed) * factor, value, rel_tol=1e-12) for value in values):
                    stated = f"{' '.join(line.split())[:100]}  [{printed}{words}]"
                    return Lines(name, number, number, stated, float(printed) * factor)
    return Lines(name, first, first, " ".join(text[first - 1].split())[:100])


def _telemetry_lines(
    sample: Sample, folder: Path, of: Mapping[str, Any], activity: str, hosts: _Hosts
) -> Iterator[Lines]:
    """The lines of each host's telemetry from the first to the last record within the measured part."""
    attached = read_import(folder).telemetry if sample.origin == "imported" else ()
    zones = {Path(file.file).name: file.timezone for file in attached}
    for path in sorted(folder.glob("telemetry/*")):
        host, _ = build.host_of(sample, path.name) or ("", "")
        value = hosts.get((sample.sample, host))
        # the machine is all hosts of a testbed, and none by name
        if not host or (value is None and (sample.sample, "") not in hosts):
            continue
        lines: set[int] = set()
        moments: set[float] = set()
        for block in read(path):
            if TABLE_ACTIVITIES.get(block.activity, block.activity) == activity:
                times = epoch_of(block, zones.get(path.name))
                inside = (times > of["part_start_s"]) & (times <= of["part_end_s"])
                lines |= set(block.lines[inside].tolist())
                moments |= set(times[inside].tolist())
        text = f"{host}: {len(lines)} lines of {activity} at {len(moments)} moments of the measured part"
        yield Lines(
            path.relative_to(folder).as_posix(), min(lines, default=None), max(lines, default=None), text, value
        )
