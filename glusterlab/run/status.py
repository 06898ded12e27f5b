"""How far a campaign has come, per cell, and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from glusterlab.reasons import MEANINGS, ReasonCode
from glusterlab.run.measured import Decision, Interval, Measured, stored_values
from glusterlab.run.plan import Plan, PlannedSample, build_plan
from glusterlab.run.queue import Queue
from glusterlab.spec import load_campaign, load_cluster
from glusterlab.store.campaign import RawStore
from glusterlab.store.digests import LOST, by_sample, damage_sentence

if TYPE_CHECKING:
    from glusterlab.spec import Cell, Repeats
    from glusterlab.store.campaign import Sample
    from glusterlab.store.sample import Origin

LAST_FAILURES = 5


@dataclass(frozen=True)
class CellStatus:
    """State of one cell; `spent`: repeats whose attempts are used up.

    `wanted`: at most, while the cell may reach a target. `invalid`, `failed`: executions, whatever the repeat came to.
    """

    cell: Cell
    wanted: int
    valid: int
    spent: int
    invalid: int
    failed: int
    warmup: int = 0
    interval: Interval | None = None
    decision: Decision | None = None
    repeats: Repeats | None = None

    @property
    def left(self) -> int:
        return self.wanted - self.valid - self.spent


@dataclass(frozen=True)
class ReasonCount:
    """How often one thing went wrong; `open` are the samples whose repeat has no valid one since."""

    code: ReasonCode
    samples: int
    open: int
    cells: int
    hosts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return MEANINGS[self.code].sentence

    @property
    def advice(self) -> str:
        return MEANINGS[self.code].advice


@dataclass(frozen=True)
class CampaignStatus:
    """State of a campaign's folder.

    `missing`: samples that only the manifest has. `damage`: what is not as it has it; such samples do not count.
    """

    campaign: str
    cells: tuple[CellStatus, ...]
    not_runnable: int
    origin: Origin = "measured"
    missing: tuple[str, ...] = ()
    damage: str = ""
    reasons: tuple[ReasonCount, ...] = ()
    failures: tuple[Sample, ...] = ()
    repeats: Repeats | None = None

    @property
    def complete(self) -> bool:
        return bool(self.cells) and not self.damage and all(cell.valid == cell.wanted for cell in self.cells)

    def total(self, name: str) -> int:
        """Sum of one number of `CellStatus` over all cells; what an import misses is wanted and left."""
        found: int = sum(getattr(cell, name) for cell in self.cells)
        return found + len(self.missing) if name in ("wanted", "left") and self.origin == "imported" else found


def count_samples(
    plan: Plan, samples: Iterable[Sample], attempts: int, values: Mapping[tuple[str, int], Measured] | None = None
) -> tuple[CellStatus, ...]:
    """State of each cell of a plan, by the same bookkeeping as a run's: the parameters are those of `Queue`."""
    everything = list(samples)
    queue = Queue(plan, attempts, everything, values=values)
    counts = Counter((sample.cell_id, "warmup " * sample.warmup + sample.status) for sample in everything)
    for planned in plan.counted:
        if queue.is_needed(planned):
            state = "valid" if queue.is_valid(planned) else "left" if queue.is_pending(planned) else "spent"
            counts.update([(planned.cell.id, "wanted"), (planned.cell.id, f"repeats {state}")])
    return tuple(
        CellStatus(
            cell,
            wanted=counts[cell.id, "wanted"],
            valid=counts[cell.id, "repeats valid"],
            spent=counts[cell.id, "repeats spent"],
            invalid=counts[cell.id, "invalid"],
            failed=counts[cell.id, "failed"],
            warmup=counts[cell.id, "warmup valid"],
            interval=Interval.of(queue.values(cell.id)),
            decision=queue.decision(cell.id),
            repeats=plan.rule(cell.id),
        )
        for cell in plan.cells
    )


def count_reasons(samples: Iterable[Sample]) -> tuple[ReasonCount, ...]:
    """How often each thing went wrong, warm-up included, most often first."""
    everything = list(samples)
    good = {(each.cell_id, each.repeat, each.warmup) for each in everything if each.status == "valid"}
    found = []
    for code in {reason.code for sample in everything for reason in sample.reasons}:
        those = [sample for sample in everything if any(reason.code == code for reason in sample.reasons)]
        unmended = sum((each.cell_id, each.repeat, each.warmup) not in good for each in those)
        hosts = {reason.host for each in those for reason in each.reasons if reason.code == code and reason.host}
        cells = len({each.cell_id for each in those})
        found.append(ReasonCount(code, len(those), unmended, cells, tuple(sorted(hosts))))
    return tuple(sorted(found, key=lambda count: (-count.samples, count.code)))


def last_failures(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """The last samples that are not valid, newest first."""
    failures = [sample for sample in samples if sample.status != "valid"]
    return tuple(sorted(failures, key=ended_at, reverse=True)[:LAST_FAILURES])


def ended_at(sample: Sample) -> float:
    """Epoch seconds of a sample's end; of one that was never started, when sample.json was written, or copied."""
    if sample.window is not None:
        return sample.window.end
    try:
        return (sample.path / "sample.json").stat().st_mtime
    except OSError:
        return 0.0


def campaign_status(path: Path) -> CampaignStatus:
    """State of a campaign's folder; what is wanted of an imported one is what its manifest lists."""
    store = RawStore.open(path, damaged=True)
    campaign = load_campaign(path / "campaign.yaml")
    cells, samples = store.cells(), store.samples()
    if imported := campaign.origin == "imported":
        samples = [sample for sample in samples if sample.cell_id in cells]
        planned = [PlannedSample(cells[each.cell_id], each.repeat, each.round, n) for n, each in enumerate(samples)]
        plan = Plan(tuple(cells.values()), tuple(planned))
    else:
        cluster = load_cluster(path / "cluster.yaml")
        plan = build_plan(campaign, cluster, ready={cell.tool for cell in cells.values()})
    attempts = 1 if imported else campaign.attempts
    return CampaignStatus(
        campaign=campaign.name,
        cells=count_samples(plan, samples, attempts, stored_values(samples, cells)),
        not_runnable=len(plan.not_runnable),
        origin="imported" if imported else "measured",
        missing=tuple(
            name
            for name, what in sorted(by_sample(store.wrong).items())
            if what == LOST and name.count("/") == 2 and not name.endswith(".json")
        ),
        damage=damage_sentence(path, store.wrong) if store.wrong else "",
        reasons=count_reasons(samples),
        failures=last_failures(samples),
        repeats=plan.repeats,
    )
