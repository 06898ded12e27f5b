"""What a campaign's telemetry says of a study's statements on what saturates.

*Yes* or *no* only of `MIN_SAMPLES` repeats, most of them of one mind, or an interval without other reading; else `OPEN`
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from glusterlab.analysis.claims.judge import TelemetryVerdict
from glusterlab.analysis.claims.verdicts import WIDE_TOLERANCE, Band, decides
from glusterlab.analysis.efficiency import compare_rows
from glusterlab.analysis.saturation.resources import FAMILIES
from glusterlab.analysis.saturation.studies import Measured
from glusterlab.analysis.saturation.summary import short_verdict
from glusterlab.analysis.saturation.verdict import THEN
from glusterlab.analysis.select import DIRECTIONS
from glusterlab.analysis.words import worker_count
from glusterlab.spec.claims import NEEDS, Claim, Claims, TelemetryRule
from glusterlab.spec.models import model_limits
from glusterlab.stats import MIN_SAMPLES, TWO_GROUPS, Estimate

OPEN: Final = "inconclusive"  # the answer where samples are too few, or limits do not compare

FEW = 1.0  # processes that wait for I/O on a server, on average, below which they are few: a choice of this project

_CPU = "cpu_busy_fraction"
_UNLIKE = "the hosts' limits do not compare with {}'s"
_IN_PART = "it was full in part, or for less than most of the time"
_LACKING = TelemetryVerdict("not measured", "not measured", 0, NEEDS["telemetry"])


def _answer(measured: str, n: int, holds: bool | None = None, reason: str = "") -> TelemetryVerdict:
    """A verdict from whether a statement holds; None is open, with a reason where more samples would not decide it."""
    if holds is not None:
        return TelemetryVerdict("reproduced" if holds else "contradicted", measured, n)
    return TelemetryVerdict("not measured" if reason else "insufficient n", measured, n, reason)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What statements are held against."""

    studies: Mapping[str, Measured]  # by slug
    binding: pd.DataFrame  # from `glusterlab.analysis.saturation.summary.binding_by_cell`
    subsystems: pd.DataFrame  # of `glusterlab.analysis.saturation.verdict.Judgement`
    testbed: bool  # all hosts share one machine
    called: str = "the study"

    def limit(self, rule: TelemetryRule) -> tuple[str, tuple[str, ...]]:
        """Why the scale model of a rule's cells cannot tell what it asks, and the subsystems of which it never can."""
        rows = [self.studies[name].chosen.rows for name in (rule.curves, rule.than) if name is not None]
        cells = [row for of in rows if "scale" in of for row in _directed(of, rule.direction).to_dict("records")]
        unique = {str(row["cell_id"]): {str(name): of for name, of in row.items()} for row in cells}.values()
        found = [limit for limit in model_limits() if any(limit.holds(cell, {"saturation"}) for cell in unique)]
        mute = tuple(name for limit in found for name in limit.subsystems)
        asked = _ASKS.get(rule.rule, rule.subsystems or FAMILIES)
        why = next((limit.why for limit in found if not limit.subsystems or {*limit.subsystems} & {*asked}), "")
        return why, mute

    def verdicts(self, study: str, direction: str = "") -> pd.DataFrame:
        cells = set(self.studies[study].throughput["cell_id"].astype(str))
        return _by_workers(self.binding[self.binding["cell_id"].astype(str).isin(cells)], direction)

    def means(self, study: str, quantity: str, direction: str, role: str = "server") -> pd.DataFrame:
        table = self.studies[study].subsystems
        rows = table[(table["quantity"].astype(str) == quantity) & (table["role"].astype(str) == role)]
        return _by_workers(rows, direction)


def _directed(rows: pd.DataFrame, direction: str) -> pd.DataFrame:
    return rows[rows["operation"].astype(str).map(DIRECTIONS) == direction] if direction else rows


def _by_workers(rows: pd.DataFrame, direction: str) -> pd.DataFrame:
    return _directed(rows, direction).sort_values("workers")


def _at_most_workers(rows: pd.DataFrame) -> pd.DataFrame:
    """Where the curve of each operation ends."""
    most: pd.DataFrame = rows[rows["workers"] == rows.groupby("operation", observed=True)["workers"].transform("max")]
    return most


def _settled(rows: pd.DataFrame) -> pd.Series:
    """Which cells have a verdict: samples enough, most of them of one mind."""
    agreed = (rows["n"] >= MIN_SAMPLES) & (2 * rows["agree"] > rows["n"])
    return agreed & (rows["state"].astype(str) != "unknown")


def _fills(rows: pd.DataFrame, families: Sequence[str]) -> pd.Series:
    """Which cells have one of these subsystems among those that were full."""
    full = [not set(families).isdisjoint(binding.split(THEN)) for binding in rows["binding"].astype(str)]
    return pd.Series(full, index=rows.index, dtype=bool)


def _is_full(rule: TelemetryRule, evidence: Evidence) -> TelemetryVerdict:
    """A subsystem binds, alone or with others, where the curve ends."""
    last = evidence.verdicts(rule.curves, rule.direction).iloc[-1:]
    if last.empty:
        return _LACKING
    row = last.iloc[0]
    state, words, n = str(row["state"]), str(row["binding"]), int(row["n"])
    if state in ("binds", "partly", "at times"):
        share = "" if pd.isna(row["mean"]) else f", for {100 * float(row['mean']):.0f} % of the measured part"
        hosts = f": {row['hosts']}" if str(row["hosts"]) else ""
        words = f"{short_verdict(state, words)} full{share}{hosts}"
    words = f"at {worker_count(row['workers'])} {words} ({row['agree']} of {n} repeats)"
    if not _settled(last).all():
        return _answer(words, n)
    fills = bool(_fills(last, rule.subsystems or FAMILIES).all())
    if not fills and row["workers"] < (least := rule.workers or 0):
        return _answer(words, n, reason=f"what is said is of {worker_count(least)}")
    in_part = fills and state != "binds"
    return _answer(words, n, None if in_part else fills, _IN_PART)


def _is_free(rule: TelemetryRule, evidence: Evidence) -> TelemetryVerdict:
    """None of these subsystems binds, as far as is known; where curves end it has to be known."""
    families = rule.subsystems or FAMILIES
    rows = evidence.verdicts(rule.curves, rule.direction)
    if rows.empty:
        return _LACKING
    settled, n = rows[_settled(rows)], int(rows["n"].min())
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
    lacking = [name for name in families if name not in set(of["family"].astype(str))]
    if len(full):
        return _answer(f"{_where(full)}{most}", n, holds=False)
    if lacking:
        return _answer(f"no limit of {', '.join(lacking)} is known{most}", n, reason="no limit of it is known")
    if len(filled):
        return _answer(f"{_where(filled)}{most}", n, reason=_IN_PART)
    if len(machine):
        words = f"{_where(machine)}, which is that of one machine for all hosts and not scaled{most}"
        return _answer(words, n, reason=_UNLIKE.format(evidence.called))
    others = " in any cell"
    if len(settled) < len(rows):
        others = f" in {len(settled)} of {len(rows)} cells, the others {OPEN}"
    return _answer(f"not full{others}{most}", n, True if _settled(_at_most_workers(rows)).all() else None)


def _where(rows: pd.DataFrame) -> str:
    pairs = zip(rows["state"].astype(str), rows["binding"].astype(str), strict=True)
    named = rows.assign(what=[short_verdict(*pair) for pair in pairs])
    groups = named.groupby(["what", "operation"], sort=False, observed=True)
    return "; ".join(
        f"{what} full in {operation} at {', '.join(map(str, workers))} workers"
        for (what, operation), workers in groups["workers"]
    )


def _little_memory(rule: TelemetryRule, evidence: Evidence) -> TelemetryVerdict:
    """Memory is far from full, and few processes wait for I/O where the curves end."""
    free = _is_free(rule.model_copy(update={"subsystems": ("memory",), "direction": ""}), evidence)
    ends = _at_most_workers(evidence.means(rule.curves, "blocked_processes", ""))
    if ends.empty:
        return free if free.verdict != "reproduced" else _answer(free.why, free.n)
    waiting = ", ".join(
        f"{TWO_GROUPS if math.isnan(row['mean']) else format(row['mean'], '.3g')} in {row['operation']} at "
        f"{worker_count(row['workers'])}"
        for row in ends.to_dict("records")
    )
    where = "on the whole machine" if evidence.testbed else "per server"
    words = f"{free.why}; processes that wait for I/O, {where}: {waiting}"
    known = ends[["low", "high"]].notna().all(axis=None)
    if free.verdict != "reproduced" or (known and (ends["high"] < FEW).all()):
        return replace(free, why=words)
    if not known:
        return _answer(words, free.n)
    # on a testbed the kernel counts all hosts together: so many need not be on one server
    if evidence.testbed:
        return _answer(words, free.n, reason="waiting processes are counted for the whole machine")
    return _answer(words, free.n, False if (ends["low"] >= FEW).any() else None)


def _cpu_level(rule: TelemetryRule, evidence: Evidence) -> TelemetryVerdict:
    """CPU use where the curve ends, beside the published number."""
    role, quantity = ("machine", f"machine_{_CPU}") if evidence.testbed else ("server", _CPU)
    rows = evidence.means(rule.curves, quantity, rule.direction, role)
    if rows.empty:
        return _LACKING
    row, stated = rows.iloc[-1], rule.value or math.nan
    low, centre, high = (float(row[name]) for name in ("low", "mean", "high"))
    found = Estimate(centre, low, high, int(row["n"]), "")
    if math.isnan(centre):
        return _answer(TWO_GROUPS, found.n)
    words = f"{100 * centre:.0f} % at {worker_count(row['workers'])}"
    if evidence.testbed:
        words = f"not comparable: all hosts share one machine, {words} of its CPUs busy, and CPUs are not scaled"
        return _answer(words, found.n, reason=_UNLIKE.format(evidence.called))
    if not found.has_interval:
        return _answer(words, found.n)
    words += f" (95 % interval {100 * low:.0f} to {100 * high:.0f})"
    band = Band(stated / WIDE_TOLERANCE, stated * WIDE_TOLERANCE, directed=False)
    return _answer(words, found.n, True if band.contains(found) else False if band.apart(found) else None)


def _cpu_even(rule: TelemetryRule, evidence: Evidence) -> TelemetryVerdict:
    """CPU use stays about the same as workers are added."""
    words, ratios, n = [], [], []
    for direction in ("write", "read"):
        rows = evidence.means(rule.curves, _CPU, direction)
        if len(rows) < 2:
            continue
        if rows["mean"].isna().any():
            return _answer(TWO_GROUPS, int(rows["n"].min()))
        least, most = rows.iloc[int(rows["mean"].argmin())], rows.iloc[int(rows["mean"].argmax())]
        words.append(
            f"{direction}s {100 * float(least['mean']):.1f} to {100 * float(most['mean']):.1f} %, from "
            f"{worker_count(rows['workers'].iloc[0])} to {rows['workers'].iloc[-1]}"
        )
        ratios.append(compare_rows(most, least))
        n.append(int(rows["n"].min()))
    if not ratios:
        return _LACKING
    holds = None
    if all(ratio.has_interval for ratio in ratios):
        apart = any(ratio.low > WIDE_TOLERANCE for ratio in ratios)
        near = all(ratio.high <= WIDE_TOLERANCE for ratio in ratios)
        holds = near if near or apart else None
    return _answer(f"CPUs of a server busy: {'; '.join(words)}", min(n), holds)


def _busier(rule: TelemetryRule, evidence: Evidence) -> TelemetryVerdict:
    """CPUs of servers are busier in one study than in the other, at the most workers that both have."""
    first, second = (
        # of two scales it is not known which one to take
        evidence.means(study, _CPU, rule.direction).drop_duplicates("workers", keep=False).set_index("workers")
        for study in (rule.curves, rule.than or "")
    )
    common = max(set(first.index) & set(second.index), default=None)
    ratio = None if common is None else compare_rows(first.loc[common], second.loc[common])
    if ratio is not None and ratio.method == TWO_GROUPS:
        return _answer(TWO_GROUPS, ratio.n)
    if common is None or ratio is None or math.isnan(ratio.centre):
        return _LACKING
    names = f"{first.loc[common, 'series']} over {second.loc[common, 'series']}"
    words = f"{names}, at {worker_count(common)}: {ratio.centre:.2f}"
    if not ratio.has_interval:
        return _answer(words, ratio.n)
    words += f" (95 % interval {ratio.low:.2f} to {ratio.high:.2f})"
    return _answer(words, ratio.n, ratio.low > 1 if ratio.low > 1 or ratio.high < 1 else None)


_ASKS = {"cpu-level": ("CPU",), "cpu-even": ("CPU",), "busier": ("CPU",), "little-memory": ("memory",)}
"""Subsystems that rules are about which name none."""

_RULES = {
    "full": _is_full, "free": _is_free, "little-memory": _little_memory, "cpu-level": _cpu_level,
    "cpu-even": _cpu_even, "busier": _busier,
}  # fmt: skip


def _answered(claims: Claims, evidence: Evidence) -> Iterator[tuple[Claim, TelemetryVerdict]]:
    """Claims on curves that the campaign has, and what telemetry says of each."""
    for claim in claims.claims:
        rule = claim.telemetry
        if rule is None or not {rule.curves, rule.than or rule.curves} <= set(evidence.studies):
            continue
        chosen = [evidence.studies[name].chosen for name in (rule.curves, rule.than or rule.curves)]
        if other := next((one for one in chosen if one.stands_in), None):
            why = f"the campaign has {other.words}, and not {other.study.files} on {other.study.layout}"
            yield claim, replace(_LACKING, reason=why)
            continue
        found, (why, mute) = _RULES[rule.rule](rule, evidence), evidence.limit(rule)
        if why and rule.rule == "free":
            others = [name for name in rule.subsystems or FAMILIES if name not in mute]
            rest = rule.model_copy(update={"subsystems": tuple(others)})
            # what else is full still contradicts that nothing is
            if others and not evidence.limit(rest)[0] and _is_free(rest, evidence).verdict == "contradicted":
                found, why = _is_free(rest, evidence), ""
        if why and found.n:
            found = replace(found, verdict="model cannot tell", reason=why, why=f"{why}: {found.why}")
        curves = "telemetry " + " ".join(filter(None, (rule.curves, rule.than, rule.direction)))
        yield claim, replace(found, evidence=curves if found.verdict != "not measured" else "")


def telemetry_statements(claims: Claims, evidence: Evidence) -> pd.DataFrame:
    """Each statement of the study on subsystems, what was measured of it, and whether it is ``as the study says``."""
    answers = {"reproduced": "yes", "contradicted": "no", "model cannot tell": "model cannot tell"}
    records = [
        (", ".join(claim.figure), claim.paraphrase, found.why, answers.get(found.verdict, OPEN), found.n, claim.id)
        for claim, found in _answered(claims, evidence)
    ]
    columns = ["figure", claims.called, "measured", f"as {claims.called} says", "n", "claim"]
    return pd.DataFrame.from_records(records, columns=columns)


def telemetry_verdicts(claims: Claims, evidence: Evidence) -> dict[str, TelemetryVerdict]:
    """The same as verdicts of the scorecard, by the claim's id: yes is reproduced, no is contradicted."""
    return {claim.id: found for claim, found in _answered(claims, evidence)}


def most_decided(campaigns: Sequence[Mapping[str, TelemetryVerdict]]) -> dict[str, TelemetryVerdict]:
    """Of several campaigns the verdicts that decide most; where two decide as much, the earlier one counts."""
    found: dict[str, TelemetryVerdict] = {}
    for campaign in campaigns:
        for name, one in campaign.items():
            if name not in found or decides(one.verdict) > decides(found[name].verdict):
                found[name] = one
    return found
