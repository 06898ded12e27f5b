"""A small project whose campaign is a part of raw/first-light, with figures as `reproduce` leaves them."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glusterlab.figures.names import NARROW
from glusterlab.store.files import file_digest

ROOT = Path(__file__).parents[2]
HOSTILE = '<script>alert("x")</script> =cmd() \u202ertl</script>'

CELLS = (
    "iozone-read-4gib-disperse-12x4+2-jbod-native-w48",
    "iozone-read-4gib-replicate-3x2-raid6-native-w12",
    "iozone-read-4gib-replicate-3x2-raid6-native-w48",
    "iozone-write-4gib-disperse-12x4+2-jbod-native-w48",
    "iozone-write-4gib-replicate-3x2-raid6-native-w48",
)
FIGURE = "fig05-large-files-by-workers"


def markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(source: str, *outputs: dict[str, Any], tags: Sequence[str] = ()) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {"tags": [*tags]}, "source": source, "outputs": list(outputs)}


def shown(text: str, html: str = "") -> dict[str, Any]:
    data = {"text/plain": text} | ({"text/html": [html]} if html else {})
    return {"output_type": "execute_result", "data": data}


def write_notebook(path: Path, *cells: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def make_project(root: Path, names: Sequence[str] = ("first-light",), title: str = HOSTILE) -> Path:
    """Campaigns of these names, each with the samples of `CELLS`, in a project at `root`."""
    (root / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "raw" / "published" / "supermicro-2017", root / "raw" / "published" / "supermicro-2017")
    shutil.copytree(ROOT / "runbooks" / "supermicro-2017", root / "runbooks" / "supermicro-2017")
    for name in names:
        _make_campaign(root / "raw" / name, title)
        _make_figures(root / "figures" / name)
    return root


def _make_campaign(raw: Path, title: str) -> None:
    source = ROOT / "raw" / "first-light"
    listed = dict(line.rsplit(" ", 1) for line in (source / "MANIFEST.sha256").read_text().splitlines())
    raw.mkdir(parents=True)
    for path in source.glob("cells/*"):
        if path.name.rpartition("-")[0] in CELLS:
            shutil.copytree(path, raw / "cells" / path.name)
    for name in ("campaign.yaml", "cluster.yaml", "environment.json"):
        shutil.copy(source / name, raw)
    text = (raw / "campaign.yaml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith(("title:", "name:"))]
    (raw / "campaign.yaml").write_text("\n".join([*lines, f"name: {raw.name}", f"title: {json.dumps(title)}", ""]))
    kept = {name: digest for name, digest in listed.items() if "/" not in name or name.split("/")[1] in _there(raw)}
    kept["campaign.yaml"] = file_digest(raw / "campaign.yaml")
    (raw / "MANIFEST.sha256").write_text("".join(f"{name} {digest}\n" for name, digest in sorted(kept.items())))


def _there(raw: Path) -> set[str]:
    return {path.name for path in raw.glob("cells/*")}


def _make_figures(folder: Path) -> None:
    (folder / "notebooks").mkdir(parents=True)
    files = [f"{FIGURE}.{suffix}" for suffix in ("csv", "json", "png", "svg")]
    for file in files:
        shutil.copy(ROOT / "figures" / "first-light" / file, folder)
    (folder / NARROW).mkdir()
    shutil.copy(folder / f"{FIGURE}.png", folder / NARROW)
    shutil.copy(ROOT / "notebooks" / "10-large-files.ipynb", folder / "notebooks")
    outputs = {file: file_digest(folder / file) for file in files}
    entry = {"key": "", "text": "", "outputs": outputs}
    state = {"schema_version": 2, "notebooks": {"10-large-files": entry}, "index": "", "noted": {}}
    (folder / ".reproduce.json").write_text(json.dumps(state))
