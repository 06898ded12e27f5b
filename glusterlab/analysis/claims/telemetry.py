"""What a campaign's telemetry says of the guide's statements on what saturates (its appendix B).

Most claims are judged by the table of samples; these are about subsystems: which is full, which is far from it, whose
CPUs are busier. An answer is *yes* or *no* only where enough samples tell it: `MIN_SAMPLES` repeats, of which more than
half agree, or an interval that leaves no other reading. Else it is `OPEN`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

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

OPEN: Final = "not told"
"""The answer where samples are too few, or limits do not compare."""

COLUMNS = ["figure", "the guide", "measured", "as the guide says", "n", "claim"]
"""Columns of `telemetry_statements`."""

FEW = 1.0
"""Processes that wait for I/O on a server, on average, below which they are few: a choice of this project."""

_CPU = "cpu_busy_fraction"
_UNLIKE = "the hosts' limits do not compare with the guide's"
_IN_PART = "it was full in part, or for less than most of the time"


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
        return _by_workers(self.binding[self.binding["cell_id"].astype(str).isin(cells)], direction)

    def means(self, study: str, quantity: str, direction: str, role: str = "server") -> pd.DataFrame:
        """A quantity of a role over the workers."""
        table = self.studies[study].subsystems
        rows = table[(table["quantity"].astype(str) == quantity) & (table["role"].astype(str) == role)]
        return _by_workers(rows, direction)


def _by_workers(rows: pd.DataFrame, direction: str) -> pd.DataFrame:
    if direction:
        rows = rows[rows["operation"].astype(str).map(DIRECTIONS) == direction]
    return rows.sort_values("workers")


def _at_most_workers(rows: pd.DataFrame) -> pd.DataFrame:
    """Where the curve of each operation ends."""
    most: pd.DataFrame = rows[rows["workers"] == rows.groupby("operation", observed=True)["workers"].transform("max")]
    return most


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured of a statement, whether it is as the guide says, and the fewest samples behind it.

    `why` says why more samples would not decide it either; empty where they would.
    """

    measured: str = "not measured"
    answer: Literal["yes", "no", "not told"] = OPEN
    n: int = 0
    why: str = ""


def _settled(rows: pd.DataFrame) -> pd.Series:
    """Which cells have a verdict: samples enough, most of them of one mind."""
    agreed = (rows["n"] >= MIN_SAMPLES) & (2 * rows["agree"] > rows["n"])
    return agreed & (rows["state"].astype(str) != "unknown")


def _fills(rows: pd.DataFrame, families: Sequence[str]) -> pd.Series:
    """Which cells have one of these subsystems among those that were full."""
    full = [not set(families).isdisjoint(binding.split(THEN)) for binding in rows["binding"].astype(str)]
    return pd.Series(full, index=rows.index, dtype=bool)


def _is_full(rule: TelemetryRule, evidence: Evidence) -> Found:
    """A subsystem binds, alone or with others, where the curve ends."""
    last = evidence.verdicts(rule.curves, rule.direction).iloc[-1:]
    if last.empty:
        return Found()
    row = last.iloc[0]
    state, words = str(row["state"]), str(row["binding"])
    if state in ("binds", "partly", "at times"):
        share = "" if pd.isna(row["mean"]) else f", for {100 * float(row['mean']):.0f} % of the measured part"
        hosts = f": {row['hosts']}" if str(row["hosts"]) else ""
        words = f"{short_verdict(state, words)} full{share}{hosts}"
    words = f"at {worker_count(row['workers'])} {words} ({row['agree']} of {row['n']} repeats)"
    n, fills = int(row["n"]), _fills(last, rule.subsystems or FAMILIES).all()
    if not _settled(last).all():
        return Found(words, OPEN, n)
    if fills and state != "binds":
        return Found(words, OPEN, n, _IN_PART)
    return Found(words, "yes" if fills else "no", n)


def _is_free(rule: TelemetryRule, evidence: Evidence) -> Found:
    """None of these subsystems binds, as far as is known; where curves end it has to be known."""
    families = rule.subsystems or FAMILIES
    rows = evidence.verdicts(rule.curves, rule.direction)
    if rows.empty:
        return Found()
    settled = rows[_settled(rows)]
    # CPUs of a testbed are those of one machine, and not as much slower as its disks and links
    judged = _fills(settled, [name for name in families if not (evidence.testbed and name == "CPU")])
    filled, machine = settled[judged], settled[_fills(settled, families) & ~judged]
    full = filled[filled["state"].astype(str) == "binds"]
    of = evidence.subsystems
    of = of[of["cell_id"].astype(str).isin(rows["cell_id"].astype(str)) & of["family"].astype(str).isin(families)]
    most = ""
    if len(of):
        means = of.groupby(["cell_id", "subsystem"], observed=True)["mean"].mean().reset_index()
        fullest = means.iloc[int(means["mean"].argmax())]
        most = f"; the fullest on average: {fullest['subsystem']} at {100 * float(fullest['mean']):.0f} %"
    n = int(rows["n"].min())
    lacking = [name for name in families if name not in set(of["family"].astype(str))]
    if lacking and full.empty:
        return Found(f"no limit of {', '.join(lacking)} is known{most}", OPEN, n, "no limit of it is known")
    if len(full):
        return Found(f"{_where(full)}{most}", "no", n)
    if len(filled):
        return Found(f"{_where(filled)}{most}", OPEN, n, _IN_PART)
    if len(machine):
        words = f"{_where(machine)}, which is that of one machine for all hosts and not scaled{most}"
        return Found(words, OPEN, n, _UNLIKE)
    others = " in any cell"
    if len(settled) < len(rows):
        others = f" in {len(settled)} of {len(rows)} cells, the others {OPEN}"
    return Found(f"not full{others}{most}", "yes" if _settled(_at_most_workers(rows)).all() else OPEN, n)


def _where(rows: pd.DataFrame) -> str:
    """Cells in which something was full, in words."""
    parts: dict[tuple[str, str], list[str]] = {}
    for row in rows.to_dict("records"):
        what = short_verdict(str(row["state"]), str(row["binding"]))
        parts.setdefault((what, str(row["operation"])), []).append(str(int(row["workers"])))
    return "; ".join(
        f"{what} full in {operation} at {', '.join(at)} workers" for (what, operation), at in parts.items()
    )


def _little_memory(rule: TelemetryRule, evidence: Evidence) -> Found:
    """Memory is far from full, and few processes wait for I/O where the curves end."""
    free = _is_free(rule.model_copy(update={"subsystems": ("memory",), "direction": ""}), evidence)
    ends = _at_most_workers(evidence.means(rule.curves, "blocked_processes", ""))
    if ends.empty:
        return free if free.answer == "no" else replace(free, answer=OPEN)
    waiting = ", ".join(
        f"{float(row['mean']):.3g} in {row['operation']} at {worker_count(row['workers'])}"
        for row in ends.to_dict("records")
    )
    where = "on the whole machine" if evidence.testbed else "per server"
    found = replace(free, measured=f"{free.measured}; processes that wait for I/O, {where}: {waiting}")
    if free.answer != "yes":
        return found
    if ends[["low", "high"]].isna().any(axis=None):
        return replace(found, answer=OPEN)
    if (ends["high"] < FEW).all():
        return found
    # on a testbed the kernel counts all hosts together: so many need not be on one server
    if evidence.testbed:
        return replace(found, answer=OPEN, why="waiting processes are counted for the whole machine")
    return replace(found, answer="no" if (ends["low"] >= FEW).any() else OPEN)


def _cpu_level(rule: TelemetryRule, evidence: Evidence) -> Found:
    """CPU use where the curve ends, beside the guide's number."""
    role, quantity = ("machine", f"machine_{_CPU}") if evidence.testbed else ("server", _CPU)
    rows = evidence.means(rule.curves, quantity, rule.direction, role)
    if rows.empty:
        return Found()
    row, stated = rows.iloc[-1], rule.value or math.nan
    low, high, n = float(row["low"]), float(row["high"]), int(row["n"])
    words = f"{100 * float(row['mean']):.0f} % at {worker_count(row['workers'])}"
    if evidence.testbed:
        words = f"not comparable: all hosts share one machine, {words} of its CPUs busy, and CPUs are not scaled"
        return Found(words, OPEN, n, _UNLIKE)
    if math.isnan(low):
        return Found(words, OPEN, n)
    words += f" (95 % interval {100 * low:.0f} to {100 * high:.0f})"
    near = stated / WIDE_TOLERANCE <= low and high <= stated * WIDE_TOLERANCE
    apart = high < stated / WIDE_TOLERANCE or low > stated * WIDE_TOLERANCE
    return Found(words, "yes" if near else "no" if apart else OPEN, n)


def _cpu_even(rule: TelemetryRule, evidence: Evidence) -> Found:
    """CPU use stays about the same as workers are added."""
    words, ratios, n = [], [], []
    for direction in ("write", "read"):
        rows = evidence.means(rule.curves, _CPU, direction)
        if len(rows) < 2:
            continue
        least, most = rows.iloc[int(rows["mean"].argmin())], rows.iloc[int(rows["mean"].argmax())]
        words.append(
            f"{direction}s {100 * float(least['mean']):.1f} to {100 * float(most['mean']):.1f} %, from "
            f"{worker_count(rows['workers'].iloc[0])} to {rows['workers'].iloc[-1]}"
        )
        ratios.append(compare_rows(most, least))
        n.append(int(rows["n"].min()))
    if not ratios:
        return Found()
    found = Found(f"CPUs of a server busy: {'; '.join(words)}", OPEN, min(n))
    if not all(ratio.has_interval for ratio in ratios):
        return found
    if any(ratio.low > WIDE_TOLERANCE for ratio in ratios):
        return replace(found, answer="no")
    return replace(found, answer="yes") if all(ratio.high <= WIDE_TOLERANCE for ratio in ratios) else found


def _busier(rule: TelemetryRule, evidence: Evidence) -> Found:
    """CPUs of servers are busier in one study than in the other, at the most workers that both have."""
    first, second = (
        evidence.means(study, _CPU, rule.direction).set_index("workers") for study in (rule.curves, rule.than or "")
    )
    common = sorted(set(first.index) & set(second.index))
    if not common:
        return Found()
    rows = first.loc[common[-1]], second.loc[common[-1]]
    ratio = compare_rows(*rows)
    if math.isnan(ratio.centre):
        return Found()
    names = " over ".join(str(row["series"]) for row in rows)
    words = f"{names}, at {worker_count(common[-1])}: {ratio.centre:.2f}"
    if not ratio.has_interval:
        return Found(words, OPEN, ratio.n)
    words += f" (95 % interval {ratio.low:.2f} to {ratio.high:.2f})"
    return Found(words, "yes" if ratio.low > 1 else "no" if ratio.high < 1 else OPEN, ratio.n)


_RULES = {
    "full": _is_full,
    "free": _is_free,
    "little-memory": _little_memory,
    "cpu-level": _cpu_level,
    "cpu-even": _cpu_even,
    "busier": _busier,
}


def _answered(claims: Claims, evidence: Evidence) -> Iterator[tuple[Claim, Found]]:
    """Claims on curves that the campaign has, and what telemetry says of each."""
    for claim in claims.claims:
        rule = claim.telemetry
        if rule is not None and {rule.curves, rule.than or rule.curves} <= set(evidence.studies):
            yield claim, _RULES[rule.rule](rule, evidence)


def telemetry_statements(claims: Claims, evidence: Evidence) -> pd.DataFrame:
    """Each statement of the guide on subsystems, and what was measured of it: columns `COLUMNS`."""
    records = [
        (", ".join(claim.figure), claim.paraphrase, found.measured, found.answer, found.n, claim.id)
        for claim, found in _answered(claims, evidence)
    ]
    return pd.DataFrame.from_records(records, columns=COLUMNS)


def telemetry_verdicts(claims: Claims, evidence: Evidence) -> dict[str, TelemetryVerdict]:
    """The same as verdicts of the scorecard, by the claim's id: yes is reproduced, no is contradicted.

    More repeats could decide the rest, or else it is "not measured", as where there is no telemetry of it.
    """
    return {claim.id: _as_verdict(found) for claim, found in _answered(claims, evidence)}


def _as_verdict(found: Found) -> TelemetryVerdict:
    if found.answer != OPEN:
        return TelemetryVerdict("reproduced" if found.answer == "yes" else "contradicted", found.measured, found.n)
    if found.n and not found.why:
        return TelemetryVerdict("insufficient n", found.measured, found.n)
    reason = found.why if found.n else NEEDS["telemetry"]
    return TelemetryVerdict("not measured", found.measured if found.n else reason, 0, reason)


def most_decided(campaigns: Sequence[Mapping[str, TelemetryVerdict]]) -> dict[str, TelemetryVerdict]:
    """Of several campaigns the verdicts that decide most; where two decide as much, the earlier one counts."""
    rank = {"not measured": 0, "insufficient n": 1}
    found: dict[str, TelemetryVerdict] = {}
    for campaign in campaigns:
        for name, one in campaign.items():
            if name not in found or rank.get(one.verdict, 2) > rank.get(found[name].verdict, 2):
                found[name] = one
    return found
