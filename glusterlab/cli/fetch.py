"""fetch: a campaign that lies elsewhere comes to this machine."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated
from urllib.parse import urlsplit

import typer

from glusterlab.cli.console import JsonOption, bar, count_of, examples, local_path, show
from glusterlab.errors import UsageError

app = typer.Typer()


@app.command(
    epilog=examples(
        "glusterlab fetch s3://lab/raw/night", "glusterlab fetch sftp://controller/home/lab/raw/night /data/raw/night"
    )
    + "\n\nThe folder appears when every file is there and as the campaign's manifest has it. After an interruption "
    "the same command goes on. URLs are those of fsspec, and credentials are found as it finds them."
)
def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="Folder of a campaign elsewhere.")],
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", parser=local_path, help="Where to; default: raw/<last part of URL>."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Bring a campaign from another machine or a bucket, file by file as its manifest has it."""
    from glusterlab.store.remote import fetch as bring

    parts = urlsplit(url.rstrip("/"))
    name = PurePosixPath(parts.path).name or parts.hostname  # what stands before the host may be a password
    if folder is None and not name:
        raise UsageError(f"{url}: expected the URL of a campaign's folder")
    target = Path("raw", name or "") if folder is None else folder
    with bar("fetching files") as progress:
        fetched, kept = bring(url, target, progress)
    line = f"{target}: {count_of(fetched, 'file')} fetched, {kept} there from before"
    show([], json, {"folder": target, "fetched": fetched, "kept": kept}, lines=[line])
