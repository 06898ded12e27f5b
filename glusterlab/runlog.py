"""What a run writes into its campaign's log for the next morning: samples, failures, waits, and a summary."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from glusterlab.errors import RawStoreError
from glusterlab.journal import Journal, Level
from glusterlab.progress import Counts, describe_counts, describe_left, describe_sample, level_of
from glusterlab.reasons import MEANINGS
from glusterlab.standing import standing

if TYPE_CHECKING:
    from glusterlab.progress import Ending, Outcome
    from glusterlab.raw import Sample
    from glusterlab.reasons import ReasonCode
    from glusterlab.spec.plan import PlannedSample
    from glusterlab.workloads.base import WorkloadResult

_LEVELS: dict[Outcome, Level] = {"complete": "info", "incomplete": "warning", "stopped": "warning", "failed": "error"}


class RunLog:
    """A `Progress` that writes what happens into the campaign's log.

    A log that cannot be written ends no run: what counts is in the samples' own files, and a disk that is full stops
    the run there.

    Parameters
    ----------
    journal : Journal
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._counts = Counts()
        self._codes: Counter[ReasonCode] = Counter()
        self._explained: set[ReasonCode] = set()

    def begin(self, counts: Counts, eta_s: float | None) -> None:
        """How much there is to do."""
        self._counts = counts
        self.note(f"the run begins: {describe_counts(counts, eta_s)}")

    def note(self, message: str, level: Level = "info") -> None:
        """Write it."""
        with suppress(RawStoreError):
            self._journal.say(message, level)

    def sample_begins(self, planned: PlannedSample, attempt: int) -> None:
        """Nothing: its end has a line."""

    def phase(self, name: str) -> None:
        """Nothing."""

    def sample_ends(
        self, sample: Sample, planned: PlannedSample, eta_s: float | None, result: WorkloadResult | None
    ) -> None:
        """How it came out, and what to do about it when it is not valid."""
        stands = standing(sample, planned.cell, result)
        details: dict[str, object] = {
            "cell": planned.cell.id,
            "sample": sample.sample,
            "status": sample.status,
            "codes": [reason.code for reason in sample.reasons],
        }
        if stands.last is not None:
            details |= {"quantity": stands.last.quantity, "value": stands.last.value}
        with suppress(RawStoreError):
            line = describe_sample(sample, planned, stands)
            self._journal.say(f"{line}; {describe_left(self._counts, eta_s)}", level_of(sample.status), **details)
        if sample.reasons:
            self._advise(sample.reasons[0].code, level_of(sample.status))
        self._codes.update({reason.code for reason in sample.reasons})

    def _advise(self, code: ReasonCode, level: Level) -> None:
        """Say what can be done about the first reason, from which others often follow; what it means is said once."""
        meaning = "" if code in self._explained else f"{MEANINGS[code].sentence} "
        self._explained.add(code)
        self.note(f"{code}: {meaning}{MEANINGS[code].advice}", level)

    def end(self, ending: Ending) -> None:
        """How the run ended, what spoiled samples of it, and what is not valid."""
        self.note(ending.message, _LEVELS[ending.outcome])
        if self._codes:
            often = ", ".join(f"{code} {number}" for code, number in self._codes.most_common())
            self.note(f"samples of this run that were not valid, by reason: {often}", "warning")
        if ending.summary is None:
            return
        for line in ending.summary.not_runnable_reasons:
            self.note(f"not runnable here, and left out: {line}")
        for line in ending.summary.problems:
            self.note(f"not valid: {line}", "warning")
        if ending.summary.advice:
            self.note(ending.summary.advice)
