"""What ``glusterlab publish`` shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, show_table, talk

if TYPE_CHECKING:
    from glusterlab.publish import Published

_SHOWN = 20


def show_publish(made: Published, *, as_json: bool) -> None:
    """What ``glusterlab publish`` made, and what is left in it."""
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, **asdict(made), "fit": not made.left})
        return
    if made.left:
        rows = [(left.kind, left.path, left.found) for left in made.left[:_SHOWN]]
        show_table(("left", "file", "found"), rows)
        if len(made.left) > _SHOWN:
            typer.echo(f"and {len(made.left) - _SHOWN} more; --json lists all")
        typer.echo("")
    typer.echo(
        f"{made.path}: {count_of(made.files, 'file')} with {count_of(made.samples, 'sample')}, judged as in the"
        f" original; {count_of(made.renamed, 'name')} replaced"
        + (f", secrets taken out of {count_of(made.redacted, 'text')}" if made.redacted else "")
    )
    talk(f"{made.names_file} leads back to the original names: do not give it away")
    if made.common:
        words = ", ".join(made.common)
        talk(f"words that tools print as well, and so replaced only where a host must stand: {words}")
    if made.left:
        if any(left.kind == "name" and left.path.startswith(("cells/", "campaign.yaml")) for left in made.left):
            talk(
                "--name renames the campaign; the ids of its cells, and what they are made of such as the layouts'"
                " names, cannot be renamed"
            )
        talk(
            "not fit to be given away: name what is left in a file for --names ('found: replacement'), remove the copy,"
            " and publish again"
        )
