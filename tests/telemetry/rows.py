"""Blocks as rows, whatever their order."""

from collections.abc import Iterable
from pathlib import Path

from glusterlab.telemetry.blocks import Block

Row = tuple[str | None, str, str | None, float, str, float]


def rows_of(blocks: Iterable[Block]) -> list[Row]:
    """Host, activity, device, time (-1 of an average), metric and value."""
    rows = []
    for block in blocks:
        devices = [None] * len(block) if block.device is None else list(block.device)
        for metric, values in block.metrics.items():
            for device, time, value in zip(devices, block.time.tolist(), values.tolist(), strict=True):
                rows.append((block.host, block.activity, device, -1.0 if block.average else time, metric, value))
    return sorted(rows, key=repr)


def write(folder: Path, text: str) -> Path:
    path = folder / "sar.txt"
    path.write_text(text)
    return path
