"""From a number in a figure's CSV back to samples, raw files and lines, with the arithmetic in between.

A row's samples stand in ``cell_id``, ``samples`` and ``quantity``, or in columns such as ``samples_other`` and
``slow_cell``. Their raw files are read again, and what `summarise` makes of them is held against the row.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from glusterlab.analysis.efficiency import compare_rows, divided, with_full_size
from glusterlab.analysis.saturation.usage import ACTIVITIES, telemetry_by_host
from glusterlab.analysis.select import IDENTITY, POINT, split_values, summarise, valid_samples, with_series
from glusterlab.errors import DataError, UsageError
from glusterlab.figures.save import CSV_DIGEST
from glusterlab.figures.tables import ORIGIN
from glusterlab.plots.style import DIGEST_LENGTH
from glusterlab.run.measured import read_result
from glusterlab.sections.section import Section, open_section
from glusterlab.spec.fields import suggest
from glusterlab.store.campaign import RawStore
from glusterlab.store.digests import RawDigests
from glusterlab.store.evidence import unpacked
from glusterlab.store.files import file_digest
from glusterlab.store.imported import read_import
from glusterlab.store.sample import Sample
from glusterlab.tables import build
from glusterlab.telemetry.arrow import epoch_of
from glusterlab.telemetry.metrics import TABLE_ACTIVITIES
from glusterlab.telemetry.reader import read
from glusterlab.tools.base import Measurement
from glusterlab.tools.document import Document
from glusterlab.tools.records import WHOLE

Row = Mapping[str, str]

TOLERANCE = 1e-6  # relative difference of numbers that agree: a CSV keeps nine digits, some follow from such

DIVISORS = {"_per_disk": "disks", "_per_server": "servers"}  # ends of ``quantity``, and what values are divided by

_ENDS = ("mean", "low", "high")
_HOW = {
    "n": "samples",
    "values": "of each sample{per}",
    "mean": "({sum}) / {n}{per}",
    "low": "{method}: mean - {half}",
    "high": "{method}: mean + {half}",
    **dict.fromkeys(("groups", "group_low", "group_high"), "the best split of the values' logarithms in two{per}"),
    "median": "of the values{per}",
    **{f"median_{end}": "order statistics" for end in _ENDS[1:]},
    **{f"group_{end}": "centre of the group{per}" for end in _ENDS[1:]},
    **{f"whole_{end}": "{end} of the rates over the whole time{per}" for end in _ENDS},
    **{f"full_size_{end}": "{end} x scale {scale:g}" for end in _ENDS},
    **{f"share{end}": "/ limit {limit:.9g}, which is not computed here" for end in ("", "_low", "_high")},
    "peak": "mean over the samples of the busiest seconds of a host",
}  # columns that are computed again, and how

_PRINTED = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WINDOW = ("start_s", "end_s", "part_start_s", "part_end_s", "elapsed_s")
_GIVEN = {*POINT, *IDENTITY, *ORIGIN, "servers", "sample"}


@dataclass
class Trace:
    """What a row was traced to, as JSON data; `unchecked` are the row's numbers that were not computed.

    A sample has its `value` undivided, `how` it came, `times` in epoch seconds and `lines`, each of a `file` as
    `glusterlab parse` names it; a check a column as it is `stated` in the CSV and `found` in the raw files.
    """

    figure: str
    row: int
    campaign: str
    digest: str
    samples: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 where something does not agree, 3 where no number of the row could be computed, else 0."""
        wrong = self.problems or not all(check["agrees"] for check in self.checks)
        return 1 if wrong else 0 if self.checks else 3

    def check(self, row: Row, column: str, found: object, how: str) -> None:
        """Hold a number, or several with ``;`` between them, against the row's, if it has that column."""
        stated, text = row.get(column), found if isinstance(found, str) else f"{found:.9g}".replace("nan", "")
        if stated is not None and (stated or text):
            agrees = stated.count(";") == text.count(";") and all(map(_same, stated.split(";"), text.split(";")))
            self.checks.append({"column": column, "stated": stated, "found": text, "how": how, "agrees": agrees})


class _Group(NamedTuple):
    """One cell's part of a row; `named` is the form of its columns: ``slow_{}``, ``{}_other`` or ``{}``."""

    campaign: str
    digest: str
    cell: str
    named: str = "{}"
    samples: tuple[int, ...] = ()


def trace(figure: Path, wanted: Sequence[str], raw: Path) -> Trace:
    """Trace a row of a CSV file, by its number or ``column=value``; UsageError without it, DataError if stale."""
    rows = read_rows(figure)
    number = _choose(figure, rows, wanted)
    row = rows[number - 1]
    found = Trace(str(figure), number, row["campaign"], row["digest"])
    try:
        if file_digest(figure) != json.loads(figure.with_suffix(".json").read_bytes())[CSV_DIGEST]:
            found.problems.append(f"{figure.name} was edited: its SHA-256 is not the one in its .json")
    except (OSError, ValueError, KeyError, TypeError):
        found.notes.append(f"whether {figure.name} was edited is not known: there is no {CSV_DIGEST} in its .json")
    own = _groups(row)
    groups = own + (_partner(rows, row) if len(own) == 1 else [])
    sections = {name: _open(raw / name, figure, groups) for name in dict.fromkeys(group.campaign for group in groups)}
    summaries = [_summary(sections[group.campaign], group, row, found, group in own) for group in groups]
    if len(own) == 1 < len(groups) and not any(summary.empty for summary in summaries):
        ratio = compare_rows(*summaries)
        numbers = {"ratio": ratio.centre, "ratio_low": ratio.low, "ratio_high": ratio.high}
        numbers["ratio_whole"] = summaries[0].get("whole_mean", math.nan) / summaries[1].get("whole_mean", math.nan)
        for name, value in numbers.items():
            found.check(row, name, value, f"geometric means and Welch's t on logarithms, to {row['ratio_to']}")
    computed = _GIVEN | {check["column"] for check in found.checks}
    found.unchecked += [name for name, text in row.items() if name not in computed and not math.isnan(_number(text))]
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
    found = list(range(1, len(rows) + 1))
    if len(wanted) == 1 and wanted[0].isdecimal() and int(wanted[0]) in found:
        return int(wanted[0])
    for each in wanted:
        name, equals, value = each.partition("=")
        if name not in rows[0] or not equals:
            expected = f"expected the number of a row, from 1 to {len(rows)}, or column=value"
            raise UsageError(f"{figure}: {expected}, found {each!r}{suggest(name, list(rows[0]), listed=False)}")
        there = sorted({rows[number - 1][name] for number in found})
        found = [number for number in found if _same(rows[number - 1][name], value)]
        if not found:
            raise UsageError(f"{figure}: expected a row with {each}, found none{suggest(value, there)}")
    if len(found) > 1:
        raise UsageError(f"{figure}: expected one row, found {', '.join(map(str, found))}; name one, or more columns")
    return found[0]


def _number(text: str) -> float:
    return float(pd.to_numeric(text, errors="coerce"))


def _same(stated: str, value: str) -> bool:
    """Whether a value of the CSV is this text, or this number within the rounding of the file."""
    return stated == value or math.isclose(_number(stated), _number(value), rel_tol=TOLERANCE)


def _groups(row: Row) -> list[_Group]:
    origins = list(zip(row["campaign"].split(";"), row["digest"].split(";"), strict=False))
    found = []
    for name, text in row.items():
        named = name.replace("samples", "{}")
        cell = row.get(named.format("cell")) or row.get("cell_id")
        if cell and "samples" in name.split("_") and re.fullmatch(r"\d\d+(;\d\d+)*", text):
            origin = origins[-1 if named == "{}_other" else 0]
            found.append(_Group(*origin, cell, named, tuple(map(int, text.split(";")))))
    cells = (row.get("cell_id") or row.get("cells", "")).split(";")
    alone = (int(row["sample"]),) if row.get("sample", "").isdecimal() else ()
    return found or [_Group(*origins[0], cell, samples=alone) for cell in cells if "-" in cell]


def _partner(rows: Sequence[Row], row: Row) -> list[_Group]:
    """The cells of that row of the file to which the ratio of a row is, if it is there."""
    to = {"series": row.get("ratio_to", ""), "workers": row.get("ratio_to_workers", "")}
    to |= {name: row.get(name, "") for name in ("operation", "nominal_file_size_bytes")}
    found = [other for other in rows if other is not row and all(_same(other.get(name, ""), to[name]) for name in to)]
    return _groups(found[0]) if to["series"] and row.get("ratio") and len(found) == 1 else []


def _open(raw: Path, figure: Path, groups: Sequence[_Group]) -> Section:
    """A campaign with the tables of the groups' cells alone, made of its raw files now."""
    store = RawStore.open(raw)
    digests, of = RawDigests(store.path), [group for group in groups if group.campaign == raw.name]
    reads = [None, *(chosen for n in range(4) for chosen in combinations(sorted(digests.tools), n))]
    if wrong := {group.digest for group in of} - {digests.of(chosen)[:DIGEST_LENGTH] for chosen in reads}:
        has = f"{figure}: is of the digest {min(wrong)}, {raw} has {digests.whole[:DIGEST_LENGTH]}"
        why = "it is older than these raw files, or of another campaign of that name"
        raise DataError(f"{has}: {why}; `glusterlab reproduce` makes it again, --raw names another folder")
    loaded = build.load(store.path, cache=False, cells={group.cell for group in of})
    return open_section(str(store.path.absolute()), loaded=loaded)


def _summary(section: Section, group: _Group, row: Row, found: Trace, own: bool) -> pd.Series:
    """Trace the samples of a group; what their values come to, divided as in the row, which is checked if `own`."""
    base, end = re.findall(f"^(.*?)({'|'.join(DIVISORS)}|)$", row.get("quantity", ""))[0]
    valid = with_series(valid_samples(section.samples))
    rows = valid[valid["cell_id"] == group.cell].sort_values("sample")
    measured = _measured(section, rows, base, row.get("role", "machine"))
    named, known = set(group.samples), set(measured.dropna(subset="value")["sample"])
    if lacking := named - set(rows["sample"]):
        found.problems.append(f"samples {sorted(lacking)} of {group.cell} are named, and not there or not valid")
    # what a comparison leaves out, and a page has no room for, is no fault
    if named and group.named == "{}" and {"values", "interval"} <= row.keys() and known - named:
        found.problems.append(f"samples {sorted(known - named)} of {group.cell} are valid and not named")
    measured = measured[measured["sample"].isin(named or set(rows["sample"]))]
    found.samples += _traced(section, group, base, measured)
    measured = measured.dropna(subset="value")
    if measured.empty:
        return pd.Series()
    table, per, n = summarise(measured.assign(**{base: measured["value"]}), base), "", len(measured)
    if end:
        by = measured[DIVISORS[end]].iloc[:1]
        table, per = divided(table, by.set_axis(table.index), end), f" / {by.iloc[0]:g} {DIVISORS[end]}"
    summary = with_full_size(table).iloc[0]
    if group.named.format("mean") not in row:
        summary["low"], summary["high"] = summary["median_low"], summary["median_high"]
    limit, s = _number(row.get("limit", "")), pd.Series(split_values(summary["values"])).std()
    for each in ("", "_low", "_high"):
        summary[f"share{each}"] = summary[each.strip("_") or "mean"] / limit
    summary["peak"] = measured["peak"].mean() if "peak" in measured else math.nan
    words = {"per": per, "sum": " + ".join(f"{value:.9g}" for value in measured["value"]), "n": n, "limit": limit}
    words |= {"half": f"t(0.975, {n - 1}) x {s:.6g} / sqrt({n})", "method": summary["interval"]}
    for name in (name for name in _HOW if own and name in summary):
        how = _HOW[name].format(**words, scale=summary["scale"], end=name.rpartition("_")[2])
        found.check(row, group.named.format(name), summary[name], how)
    return summary


def _measured(section: Section, rows: pd.DataFrame, base: str, role: str) -> pd.DataFrame:
    """Samples with ``value`` (not divided); of telemetry with ``peak`` and ``hosts``, the value of each."""
    if base in ACTIVITIES:
        table = telemetry_by_host(section.telemetry_of(rows), rows, testbed=section.provenance.testbed)
        by_sample = table[(table["quantity"] == base) & (table["role"] == role)].groupby("sample")
        hosts = {sample: dict(zip(each["host"], each["value"], strict=True)) for sample, each in by_sample}
        found = rows.merge(by_sample[["value", "peak"]].mean(), on="sample")
        return found.assign(hosts=found["sample"].map(hosts))
    size = rows["file_size_bytes"]
    for view in ("", "_whole"):
        rate = f"throughput{view}_bytes_per_s"
        # figures have the bytes of small files by their number
        rows = rows.assign(**{rate: (rows[f"files{view}_per_s"] * size).fillna(rows[rate])})
    return rows.assign(value=rows[base] if base in rows.select_dtypes("number") else math.nan)


def _traced(section: Section, group: _Group, base: str, measured: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The samples of a group with the lines behind each; `RawStore.open` held the files against the manifest."""
    facts: dict[int, dict[Any, Any]] = {int(each["sample"]): each for each in measured.to_dict("records")}
    store = RawStore.open(section.raw)
    for sample in store.samples(group.cell):
        if (of := facts.get(sample.sample)) is None:
            continue
        with unpacked(sample.path, ("telemetry/", "workload/")) as folder:
            if base in ACTIVITIES:
                how = f"mean of {', '.join(of['hosts']) or 'the machine'}"
                lines = list(_telemetry_lines(sample, folder, of, ACTIVITIES[base]))
            else:
                result = read_result(sample, store.cell(sample.cell_id), folder)
                name = "files_per_s" if result.record.files_per_s else "throughput_bytes_per_s"
                rates = [getattr(worker, name) or 0.0 for worker in result.workers]
                views = f"{math.fsum(rates):.9g} in sum, {of[WHOLE[name]]:.9g} over the whole time"
                how = f"{name}: {of[name]:.9g} by the tool; {len(rates)} workers: {views}"
                lines = list(_result_lines(result, float(of["value"])))
        lines = [line | {"file": str(sample.path / Path(line["file"]).relative_to(folder))} for line in lines]
        known = {"campaign": group.campaign, "cell_id": group.cell, "sample": sample.sample, "how": how, "lines": lines}
        yield known | {"value": float(of["value"]), "times": {name: float(of[name]) for name in _WINDOW}}


def _result_lines(result: Measurement, value: float) -> Iterator[dict[str, Any]]:
    """The line that states the result, and one of each worker: where its record begins, or has its rate or time."""
    stated, after = [value], 0
    for each in (result.record, *result.workers):
        lines = Document.open(Path(each.source.file)).text.split("\n")
        # JSON has one line for all: the key of a worker comes before what it did
        keys = (n for n, line in enumerate(lines, start=1) if n > after and f'"{each.label}": {{' in line)
        first = next(keys, each.source.line or 1)
        stated += [of for of in (each.files_per_s, each.throughput_bytes_per_s, each.elapsed_s) if of]
        found = ((n, of) for of in stated for n, line in enumerate(lines[first - 1 :], first) if f" {of!r}" in line)
        at, of = next(found, (first, each.throughput_bytes_per_s))
        stated, after = [], 0 if each is result.record else at
        printed = _PRINTED.findall(lines[at - 1][:10_000])
        factor = of / float(printed[-1]) if of and printed and float(printed[-1]) else 1.0
        words = f"  [{printed[-1]} x {factor:.0f}]" if factor > 1 and math.isclose(factor, round(factor)) else ""
        text = " ".join(lines[at - 1].split())[:100] + words
        yield {"file": each.source.file, "first": at, "last": at, "text": text, "value": of}


def _telemetry_lines(sample: Sample, folder: Path, of: Mapping[str, Any], activity: str) -> Iterator[dict[str, Any]]:
    """The lines of each host's telemetry from the first to the last record within the measured part."""
    attached = read_import(folder).telemetry if sample.origin == "imported" else ()
    zones = {Path(file.file).name: file.timezone for file in attached}
    for path in sorted(folder.glob("telemetry/*")):
        host, _ = build.host_of(sample, path.name) or ("", "")
        # the machine is all hosts of a testbed, and none by name
        if not host or not {host, ""} & of["hosts"].keys():
            continue
        lines: list[int] = []
        moments: set[float] = set()
        for block in read(path):
            if TABLE_ACTIVITIES.get(block.activity, block.activity) == activity:
                times = epoch_of(block, zones.get(path.name))
                inside = (times > of["part_start_s"]) & (times <= of["part_end_s"])
                lines += block.lines[inside].tolist()
                moments |= set(times[inside].tolist())
        window = " to ".join(f"{datetime.fromtimestamp(end(moments), UTC):%H:%M:%S}" for end in (min, max) if moments)
        text = f"{host}: {len(set(lines))} lines of {activity} at {len(moments)} moments, {window} UTC"
        ends = {"first": min(lines, default=None), "last": max(lines, default=None)}
        yield {"file": str(path), **ends, "text": text, "value": of["hosts"].get(host)}
