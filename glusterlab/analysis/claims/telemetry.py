"""What a campaign's telemetry says of the guide's statements on what saturates (its appendix B).

Most claims are judged by the table of samples; these are about subsystems: which is full, which is far from it, whose
CPUs are busier. An answer is *yes* or *no* only where enough samples tell it: `MIN_SAMPLES` repeats, of which more than
half agree, or an interval that leaves no other reading. Else it is *not told*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from glusterlab.analysis.claims.judge import TelemetryVerdict
from glusterlab.analysis.claims.verdicts import WIDE_TOLERANCE
from glusterlab.analysis.efficiency import compare_rows
from glusterlab.analysis.saturation.resources import FAMILIES
from glusterlab.analysis.saturation.studies import Measured
from glusterlab.analysis.saturation.summary import short_verdict
from glusterlab.analysis.saturation.verdict import THEN
from glusterlab.analysis.select import DIRECTIONS
from glusterlab.analysis.words import worker_count
from glusterlab.spec.claims import NEEDS, Claim, Claims, TelemetryRule
from glusterlab.stats import MIN_SAMPLES

Answer = Literal["yes", "no", "not told"]

COLUMNS = ["figure", "the guide", "measured", "as the guide says", "n", "claim"]
"""Columns of `telemetry_statements`."""

_CPU = "cpu_busy_fraction"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What statements are held against.

    ``studies``: by slug; ``binding``: from `glusterlab.analysis.saturation.summary.binding_by_cell`; ``subsystems``: of
    `glusterlab.analysis.saturation.verdict.Judgement`; ``testbed``: all hosts share one machine.
    """

    studies: Mapping[str, Measured]
    binding: pd.DataFrame
    subsystems: pd.DataFrame
    testbed: bool

    def verdicts(self, study: str, direction: str = "") -> pd.DataFrame:
        """The verdicts of a study's cells, by workers."""
        cells = set(self.studies[study].throughput["cell_id"].astype(str))
        rows = self.binding[self.binding["cell_id"].astype(str).isin(cells)]
        return _towards(rows, direction).sort_values("workers")

    def means(self, study: str, quantity: str, direction: str, role: str = "server") -> pd.DataFrame:
        """A quantity of a role over the workers."""
        table = self.studies[study].subsystems
        rows = table[(table["quantity"].astype(str) == quantity) & (table["role"].astype(str) == role)]
        return _towards(rows, direction).sort_values("workers")


def _towards(rows: pd.DataFrame, direction: str) -> pd.DataFrame:
    if not direction:
        return rows
    return _those(rows, lambda row: DIRECTIONS.get(str(row["operation"])) == direction)


def _those(rows: pd.DataFrame, wanted: Callable[[pd.Series], bool]) -> pd.DataFrame:
    return rows[np.fromiter((wanted(row) for _, row in rows.iterrows()), dtype=bool, count=len(rows))]


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured of a statement, whether it is as the guide says, and the fewest samples behind it.

    `why` says why more samples would not tell it either; empty where they would.
    """

    measured: str
    answer: Answer
    n: int
    why: str = ""


_NOTHING = Found("not measured", "not told", 0)

_UNLIKE = "the hosts' limits do not compare with the guide's"
_IN_PART = "it was full in part, or for less than most of the time"
FEW = 1.0
"""Processes that wait for I/O on a server, on average, below which they are few: a choice of this project."""


def _settled(row: pd.Series) -> bool:
    """Whether a cell's verdict is told: samples enough, most of them of one mind."""
    return int(row["n"]) >= MIN_SAMPLES and 2 * int(row["agree"]) > int(row["n"]) and str(row["state"]) != "unknown"


def _fills(row: pd.Series, families: Sequence[str]) -> bool:
    return any(name in families for name in str(row["binding"]).split(THEN))


def _is_full(study: str, direction: str, families: Sequence[str], evidence: Evidence) -> Found:
    """A subsystem binds, alone or with others, where the curve ends."""
    rows = evidence.verdicts(study, direction)
    if rows.empty:
        return _NOTHING
    row = rows.iloc[-1]
    at = f"at {worker_count(row['workers'])}"
    share = "" if pd.isna(row["mean"]) else f", for {100 * float(row['mean']):.0f} % of the measured part"
    state, binding = str(row["state"]), str(row["binding"])
    something = state in ("binds", "partly", "at times")
    full = f"{short_verdict(state, binding)} full{share}" if something else binding
    hosts = f": {row['hosts']}" if something and str(row["hosts"]) else ""
    words = f"{at} {full}{hosts} ({row['agree']} of {row['n']} repeats)"
    if not _settled(row):
        return Found(words, "not told", int(row["n"]))
    if _fills(row, families) and state != "binds":
        return Found(words, "not told", int(row["n"]), _IN_PART)
    return Found(words, "yes" if _fills(row, families) else "no", int(row["n"]))


def _is_free(study: str, direction: str, families: Sequence[str], evidence: Evidence) -> Found:
    """None of these subsystems binds, as far as is told; where curves end it has to be told."""
    rows = evidence.verdicts(study, direction)
    if rows.empty:
        return _NOTHING
    told = _those(rows, _settled)
    # CPUs of a testbed are those of one machine, and not as much slower as its disks and links
    judged = [name for name in families if not (evidence.testbed and name == "CPU")]
    filled = _those(told, lambda row: _fills(row, judged))
    full = filled[filled["state"].astype(str) == "binds"]
    machine = _those(told, lambda row: _fills(row, families) and not _fills(row, judged))
    cells = {str(cell) for cell in rows["cell_id"]}
    of = evidence.subsystems
    of = of[of["cell_id"].astype(str).isin(cells) & of["family"].astype(str).isin(families)]
    most = ""
    if len(of):
        means = of.groupby(["cell_id", "subsystem"], observed=True)["mean"].mean().reset_index()
        fullest = means.iloc[int(means["mean"].argmax())]
        most = f"; the fullest on average: {fullest['subsystem']} at {100 * float(fullest['mean']):.0f} %"
    n = int(rows["n"].min())
    lacking = [name for name in families if name not in set(of["family"].astype(str))]
    if lacking and full.empty:
        return Found(f"no limit of {', '.join(lacking)} is known{most}", "not told", n, "no limit of it is known")
    if len(full):
        return Found(f"{_where(full)}{most}", "no", n)
    if len(filled):
        return Found(f"{_where(filled)}{most}", "not told", n, _IN_PART)
    if len(machine):
        words = f"{_where(machine)}, which is that of one machine for all hosts and not scaled{most}"
        return Found(words, "not told", n, _UNLIKE)
    others = f" in {len(told)} of {len(rows)} cells, the others not told" if len(told) < len(rows) else " in any cell"
    ends = rows.groupby("operation", observed=True)["workers"].transform("max")
    loaded = rows[rows["workers"] == ends]
    at_the_end = all(_settled(row) for _, row in loaded.iterrows())
    return Found(f"not full{others}{most}", "yes" if at_the_end else "not told", n)


def _where(rows: pd.DataFrame) -> str:
    """Cells in which something was full, in words."""
    parts: dict[tuple[str, str], list[str]] = {}
    for row in rows.to_dict("records"):
        what = short_verdict(str(row["state"]), str(row["binding"]))
        parts.setdefault((what, str(row["operation"])), []).append(str(int(row["workers"])))
    return "; ".join(
        f"{what} full in {operation} at {', '.join(at)} workers" for (what, operation), at in parts.items()
    )


def _little_memory(study: str, evidence: Evidence) -> Found:
    """Memory is far from full, and few processes wait for I/O where the curves end."""
    free = _is_free(study, "", ("memory",), evidence)
    rows = evidence.means(study, "blocked_processes", "")
    if rows.empty:
        return free if free.answer == "no" else replace(free, answer="not told")
    ends = rows[rows["workers"] == rows.groupby("operation", observed=True)["workers"].transform("max")]
    told = ", ".join(
        f"{float(row['mean']):.3g} in {row['operation']} at {worker_count(row['workers'])}"
        for row in ends.to_dict("records")
    )
    where = "on the whole machine" if evidence.testbed else "per server"
    found = replace(free, measured=f"{free.measured}; processes that wait for I/O, {where}: {told}")
    if free.answer != "yes" or bool((ends["high"].isna() | ends["low"].isna()).any()):
        return found if free.answer != "yes" else replace(found, answer="not told")
    if bool((ends["high"] < FEW).all()):
        return found
    # on a testbed the kernel counts all hosts together: so many need not be on one server
    if evidence.testbed:
        return replace(found, answer="not told", why="waiting processes are counted for the whole machine")
    return replace(found, answer="no" if bool((ends["low"] >= FEW).any()) else "not told")


def _cpu_level(study: str, direction: str, evidence: Evidence, *, stated: float) -> Found:
    """CPU use where the curve ends, beside the guide's number."""
    role, quantity = ("machine", f"machine_{_CPU}") if evidence.testbed else ("server", _CPU)
    rows = evidence.means(study, quantity, direction, role)
    if rows.empty:
        return _NOTHING
    row = rows.iloc[-1]
    words = f"{100 * float(row['mean']):.0f} % at {worker_count(row['workers'])}"
    if evidence.testbed:
        words = f"not comparable: all hosts share one machine, {words} of its CPUs busy, and CPUs are not scaled"
        return Found(words, "not told", int(row["n"]), _UNLIKE)
    if pd.isna(row["low"]):
        return Found(words, "not told", int(row["n"]))
    words += f" (95 % interval {100 * float(row['low']):.0f} to {100 * float(row['high']):.0f})"
    near = stated / WIDE_TOLERANCE <= float(row["low"]) and float(row["high"]) <= stated * WIDE_TOLERANCE
    apart = float(row["high"]) < stated / WIDE_TOLERANCE or float(row["low"]) > stated * WIDE_TOLERANCE
    return Found(words, "yes" if near else "no" if apart else "not told", int(row["n"]))


def _cpu_even(study: str, evidence: Evidence) -> Found:
    """CPU use stays about the same as workers are added."""
    told, ratios, n = [], [], []
    for direction in ("write", "read"):
        rows = evidence.means(study, _CPU, direction)
        if len(rows) < 2:
            continue
        least, most = rows.iloc[int(rows["mean"].argmin())], rows.iloc[int(rows["mean"].argmax())]
        told.append(
            f"{direction}s {100 * float(least['mean']):.1f} to {100 * float(most['mean']):.1f} %, from "
            f"{worker_count(rows['workers'].iloc[0])} to {rows['workers'].iloc[-1]}"
        )
        ratios.append(compare_rows(most, least))
        n.append(int(rows["n"].min()))
    if not told:
        return _NOTHING
    words = f"CPUs of a server busy: {'; '.join(told)}"
    if any(not ratio.has_interval for ratio in ratios):
        return Found(words, "not told", min(n))
    if any(ratio.low > WIDE_TOLERANCE for ratio in ratios):
        return Found(words, "no", min(n))
    return Found(words, "yes" if all(ratio.high <= WIDE_TOLERANCE for ratio in ratios) else "not told", min(n))


def _busier(one: str, other: str, direction: str, evidence: Evidence) -> Found:
    """CPUs of servers are busier in one study than in the other, at the most workers that both have."""
    first, second = (evidence.means(study, _CPU, direction).set_index("workers") for study in (one, other))
    common = sorted(set(first.index) & set(second.index))
    if not common:
        return _NOTHING
    rows = first.loc[common[-1]], second.loc[common[-1]]
    ratio = compare_rows(*rows)
    if math.isnan(ratio.centre):
        return _NOTHING
    names = [str(row["series"]) for row in rows]
    words = f"{names[0]} over {names[1]}, at {worker_count(common[-1])}: {ratio.centre:.2f}"
    if not ratio.has_interval:
        return Found(words, "not told", ratio.n)
    words += f" (95 % interval {ratio.low:.2f} to {ratio.high:.2f})"
    return Found(words, "yes" if ratio.low > 1 else "no" if ratio.high < 1 else "not told", ratio.n)


def answer(rule: TelemetryRule, evidence: Evidence) -> Found:
    """What telemetry says of a claim."""
    curves, direction, subsystems = rule.curves, rule.direction, rule.subsystems or FAMILIES
    match rule.rule:
        case "full":
            return _is_full(curves, direction, subsystems, evidence)
        case "free":
            return _is_free(curves, direction, subsystems, evidence)
        case "little-memory":
            return _little_memory(curves, evidence)
        case "cpu-level":
            return _cpu_level(curves, direction, evidence, stated=rule.value or math.nan)
        case "cpu-even":
            return _cpu_even(curves, evidence)
        case "busier":
            return _busier(curves, rule.than or "", direction, evidence)


def telemetry_statements(claims: Claims, evidence: Evidence) -> pd.DataFrame:
    """Each statement of the guide on subsystems, and what was measured of it: columns `COLUMNS`."""
    records = [
        (", ".join(claim.figure), claim.paraphrase, found.measured, found.answer, found.n, claim.id)
        for claim, found in _answered(claims, evidence)
    ]
    return pd.DataFrame.from_records(records, columns=COLUMNS)


def _answered(claims: Claims, evidence: Evidence) -> Iterator[tuple[Claim, Found]]:
    for claim in claims.claims:
        if claim.telemetry is not None and {
            claim.telemetry.curves,
            claim.telemetry.than or claim.telemetry.curves,
        } <= set(evidence.studies):
            yield claim, answer(claim.telemetry, evidence)


def telemetry_verdicts(claims: Claims, evidence: Evidence) -> dict[str, TelemetryVerdict]:
    """The same as verdicts of the scorecard, by the claim's id: yes is reproduced, no is contradicted.

    More repeats could tell the rest, or else it is "not measured", as where there is no telemetry of it.
    """
    return {claim.id: _as_verdict(found) for claim, found in _answered(claims, evidence)}


def _as_verdict(found: Found) -> TelemetryVerdict:
    if found.answer != "not told":
        return TelemetryVerdict("reproduced" if found.answer == "yes" else "contradicted", found.measured, found.n)
    if found.n and not found.why:
        return TelemetryVerdict("insufficient n", found.measured, found.n)
    reason = found.why if found.n else NEEDS["telemetry"]
    return TelemetryVerdict("not measured", found.measured if found.n else reason, 0, reason)


def most_telling(campaigns: Sequence[Mapping[str, TelemetryVerdict]]) -> dict[str, TelemetryVerdict]:
    """Of several campaigns the verdicts that say most; where two say as much, the earlier one counts."""
    found: dict[str, TelemetryVerdict] = {}
    for told in campaigns:
        for name, one in told.items():
            if name not in found or _says(one) > _says(found[name]):
                found[name] = one
    return found


def _says(told: TelemetryVerdict) -> int:
    return {"not measured": 0, "insufficient n": 1}.get(told.verdict, 2)
