"""Arguments and options that commands share, and what the shell can complete in them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


def examples(*lines: str) -> str:
    """The end of a command's help: how it is called."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


def complete_raw(incomplete: str) -> Iterator[str]:
    """Campaign folders that the word under the cursor can become."""
    typed = Path(incomplete)
    folder = typed if incomplete.endswith("/") else typed.parent
    for place in dict.fromkeys((folder, Path("raw"))):
        if place.is_dir():
            for path in sorted(place.iterdir()):
                found = str(path)
                if found.startswith(incomplete) and (path / "campaign.yaml").is_file():
                    yield found


def complete_yaml(incomplete: str) -> Iterator[str]:
    """YAML files, and the folders on the way to them."""
    typed = Path(incomplete)
    folder = typed if incomplete.endswith("/") else typed.parent
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            found = str(path)
            if found.startswith(incomplete) and not path.name.startswith("."):
                if path.is_dir():
                    yield f"{found}/"
                elif path.suffix in (".yaml", ".yml"):
                    yield found


def complete_tool(incomplete: str) -> Iterator[str]:
    """Tools whose files can be read."""
    from .parsing import tools

    return (name for name in tools() if name.startswith(incomplete))


def local_path(text: str | Path) -> Path:
    """The path that an argument names, for commands that reach this machine only: also as a ``file://`` URL.

    Raises
    ------
    UsageError
        When it is a URL of another file system, which `pathlib.Path` would take for a folder called ``s3:``.
    """
    from .errors import UsageError
    from .storage import is_url, local

    if is_url(text):
        raise UsageError(f"{text}: expected a path of this machine; URLs are for the commands tables and reproduce")
    return local(text)


class RecordKind(StrEnum):
    """Kinds of records that raw files hold."""

    workload = "workload"
    worker = "worker"
    telemetry = "telemetry"
    volume = "volume"
    brick = "brick"
    profile = "profile"


RawArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RAW", parser=local_path, help="Folder of a campaign below raw/.", autocompletion=complete_raw
    ),
]
RawRootOption = Annotated[
    Path, typer.Option("--raw", metavar="DIR", parser=local_path, help="Where campaigns are kept.")
]
PlaceArgument = Annotated[
    str, typer.Argument(metavar="RAW", help="Folder of a campaign below raw/, or its URL.", autocompletion=complete_raw)
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="A Dask scheduler whose workers do the work; they must reach RAW under the same path or URL.",
    ),
]
CampaignArgument = Annotated[
    Path,
    typer.Argument(metavar="CAMPAIGN", parser=local_path, help="A campaign.yaml.", autocompletion=complete_yaml),
]
ClusterOption = Annotated[
    Path | None,
    typer.Option(
        "--cluster",
        metavar="FILE",
        parser=local_path,
        help="A cluster.yaml; default: the one beside the campaign, else that of the testbed that is up.",
        autocompletion=complete_yaml,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on stdout, for scripts.")]
