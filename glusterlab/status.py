"""How far a campaign has come: what is done, invalid, failed and left, per cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import RawStoreError
from .manifest import MANIFEST, Manifest

if TYPE_CHECKING:
    from pathlib import Path

    from .raw import RawStore, Sample
    from .rawsample import Origin
    from .spec import Cell, Plan


@dataclass(frozen=True)
class CellStatus:
    """State of one cell.

    Attributes
    ----------
    cell : Cell
    wanted : int
        Repeats that the plan asks for.
    valid : int
        Repeats with a valid sample.
    spent : int
        Repeats without one whose attempts are used up: `run --retry` gives them more.
    invalid, failed : int
        Executions that came to nothing, whatever became of the repeat later.
    """

    cell: Cell
    wanted: int
    valid: int
    spent: int
    invalid: int
    failed: int

    @property
    def left(self) -> int:
        """Repeats that the next run makes."""
        return self.wanted - self.valid - self.spent


@dataclass(frozen=True)
class CampaignStatus:
    """State of a campaign's folder.

    Attributes
    ----------
    campaign : str
    cells : tuple of CellStatus
    not_runnable : int
        Cells that cannot run.
    origin : {"measured", "imported"}
        Whether others measured it.
    missing : tuple of str
        Samples of an import that its manifest lists and that are not there. Those of a measured campaign are left.
    """

    campaign: str
    cells: tuple[CellStatus, ...]
    not_runnable: int
    origin: Origin = "measured"
    missing: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every repeat of every cell that can run has a valid sample."""
        return not self.missing and all(cell.valid == cell.wanted for cell in self.cells)

    def missing_sentence(self) -> str:
        """What is missing, for people."""
        many = "1 sample" if len(self.missing) == 1 else f"{len(self.missing):,} samples"
        named = ", ".join(self.missing[:3]) + (", ..." if len(self.missing) > 3 else "")
        lost = f"{many} that {MANIFEST} lists {'is' if len(self.missing) == 1 else 'are'} not there: {named}"
        return f"{self.campaign}: {lost}; restore them from a copy, or import again ('glusterlab verify' names all)"

    def total(self, name: str) -> int:
        """Sum of one number of `CellStatus` over all cells; what is missing is wanted and left."""
        found: int = sum(getattr(cell, name) for cell in self.cells)
        return found + len(self.missing) if name in ("wanted", "left") else found


def count_samples(plan: Plan, samples: Iterable[Sample], attempts: int) -> tuple[CellStatus, ...]:
    """State of each cell of a plan, in the plan's order.

    Parameters
    ----------
    plan : Plan
    samples : iterable of Sample
        All that the raw store holds.
    attempts : int
        Executions of one repeat at most.
    """
    executions: dict[str, list[Sample]] = {}
    for sample in samples:
        executions.setdefault(sample.cell_id, []).append(sample)
    wanted = Counter(planned.cell.id for planned in plan.samples)
    found = []
    for cell in plan.cells:
        mine = executions.get(cell.id, [])
        repeats = range(1, wanted[cell.id] + 1)
        valid = {sample.repeat for sample in mine if sample.status == "valid"} & set(repeats)
        tries = Counter(sample.repeat for sample in mine)
        states = Counter(sample.status for sample in mine)
        spent = sum(repeat not in valid and tries[repeat] >= attempts for repeat in repeats)
        found.append(CellStatus(cell, wanted[cell.id], len(valid), spent, states["invalid"], states["failed"]))
    return tuple(found)


def _imported(store: RawStore, campaign: str) -> CampaignStatus:
    """State of an imported campaign: what is wanted is what its manifest lists.

    Raises
    ------
    RawStoreError
        When the manifest is not there, or anything is damaged.
    """
    path = store.path / MANIFEST
    if not path.is_file():
        message = (
            f"{path}: expected the list of the imported files, found none; restore it from a copy, or import again"
        )
        raise RawStoreError(message, path=path)
    cells = store.cells()
    states: dict[str, Counter[str]] = {cell_id: Counter() for cell_id in cells}
    there = set()
    for sample in store.samples():
        if sample.cell_id in cells:
            states[sample.cell_id][sample.status] += 1
            there.add(sample.path.relative_to(store.path).as_posix())
    listed = {
        name.removesuffix("/sample.json")
        for name in Manifest.read(store.path).digests
        if name.startswith("cells/") and name.count("/") == 3 and name.endswith("/sample.json")
    }
    found = []
    for cell_id, counts in states.items():
        wanted, valid = counts.total(), counts["valid"]
        found.append(CellStatus(cells[cell_id], wanted, valid, wanted - valid, counts["invalid"], counts["failed"]))
    missing = tuple(sorted(listed - there))
    return CampaignStatus(campaign, tuple(found), not_runnable=0, origin="imported", missing=missing)


def campaign_status(path: Path) -> CampaignStatus:
    """State of a campaign's folder.

    Raises
    ------
    RawStoreError, SpecError
        When the folder is none, or its files are damaged.
    """
    from .raw import RawStore
    from .spec import build_plan, load_campaign, load_cluster

    store = RawStore.open(path)
    campaign = load_campaign(path / "campaign.yaml")
    if campaign.origin == "imported":
        return _imported(store, campaign.name)
    cluster = load_cluster(path / "cluster.yaml")
    has_smallfile = cluster.smallfile_checkout() is not None
    ran_smallfile = any(cell.tool == "smallfile" for cell in store.cells().values())
    plan = build_plan(campaign, cluster, smallfile=has_smallfile or ran_smallfile)
    cells = count_samples(plan, store.samples(), campaign.attempts)
    return CampaignStatus(campaign=campaign.name, cells=cells, not_runnable=len(plan.not_runnable))
