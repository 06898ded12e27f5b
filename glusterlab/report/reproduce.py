"""What ``glusterlab reproduce`` shows, while it works and at its end."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, emit_json, talk
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from glusterlab.reproduce import Progress, ReproduceSummary


class ReproduceDisplay:
    """Tells which notebooks run and how each came out: lines, and on a terminal also what is under way.

    A context manager, and the ``progress`` of `reproduce.reproduce`.
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._running: list[str] = []
        self._status = self._console.status("") if self._console.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, event: Progress) -> None:
        """Show one event."""
        name = f"{event.campaign}/{event.notebook}"
        if event.outcome == "started":
            self._running.append(name)
        elif name in self._running:
            self._running.remove(name)
        if event.outcome == "failed":
            self._say(f"failed     {event.message}")
        elif event.outcome in ("ran", "retold"):
            self._say(f"{event.outcome:<9}  {name} in {format_duration(event.seconds)}")
        elif event.outcome == "started" and self._status is None:
            self._say(f"started    {name}")
        self._refresh()

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _refresh(self) -> None:
        if self._status is None:
            return
        if self._running:
            self._status.update(f"running {', '.join(self._running)}")
            self._status.start()
        else:
            self._status.stop()


def show_reproduce(summary: ReproduceSummary, *, as_json: bool) -> None:
    """What ``glusterlab reproduce`` did."""
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, **asdict(summary), "exit_code": summary.exit_code})
        return
    done = [
        f"{len(names)} {word}"
        for names, word in ((summary.ran, "run"), (summary.retold, "with new text"), (summary.unchanged, "unchanged"))
        if names
    ]
    talk(f"notebooks: {', '.join(done) or 'none'}, {len(summary.failed)} failed")
    for failure in summary.failed:
        talk(f"failed: {failure}")
    for folder in summary.figures_dirs:
        index = folder / "index.html"
        if not isinstance(index, Path) or index.is_file():
            typer.echo(str(index))
