"""What `reproduce` tells while it works, and at its end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glusterlab.storage import Remote

Outcome = Literal["started", "ran", "retold", "unchanged", "failed"]


@dataclass(frozen=True)
class Progress:
    """What happened to one notebook, or to the tables that all of them read.

    Attributes
    ----------
    notebook : str
        Its name; ``tables`` while these are made; empty when all of a campaign failed.
    outcome : str
        ``started``, then ``ran``, ``retold`` (only its text changed) or ``failed``; or ``unchanged``.
    seconds : float
        Since its start.
    message : str
        The failure, with cell and error; empty otherwise.
    """

    campaign: str
    notebook: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class Failure:
    """A notebook, or a whole campaign, that could not be reproduced.

    Attributes
    ----------
    notebook : str
        Empty when the campaign's raw files or its figures folder are at fault; ``tables`` when these could not be made.
    cell : int or None
        Counted from 1 over all cells of the notebook.
    tag : str or None
        First tag of that cell.
    error : str
        In one line.
    traceback : str
        Of the kernel; may be empty.
    """

    campaign: str
    notebook: str
    error: str
    cell: int | None = None
    tag: str | None = None
    traceback: str = ""

    def __str__(self) -> str:
        place = "/".join(part for part in (self.campaign, self.notebook) if part)
        if self.cell is not None:
            place += f", cell {self.cell}" + (f" ({self.tag})" if self.tag else "")
        return f"{place}: {self.error}"


@dataclass(frozen=True)
class ReproduceSummary:
    """What a run of `reproduce` did; notebooks are named ``<campaign>/<notebook>``."""

    ran: tuple[str, ...] = ()
    retold: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    figures_dirs: tuple[Path | Remote, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when all is well, 1 when anything failed."""
        return 1 if self.failed else 0
