"""What ``glusterlab prepare`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, format_bytes, show_table, talk

if TYPE_CHECKING:
    from glusterlab.hosts.prepare import Device, Prepared

_WORDS = {"ready": "none", "mount": "mount", "make": "make", "wipe": "WIPE", "refused": "refused"}


def show_devices(devices: Sequence[Device], *, as_json: bool) -> None:
    """What is on each device, and what is to be done with it."""
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, "devices": [_plain(device) for device in devices]})
        return
    rows = [
        (
            device.host,
            device.path,
            "" if device.size_bytes is None else format_bytes(device.size_bytes),
            device.model,
            device.contents,
            _WORDS[device.action],
            device.why,
        )
        for device in devices
    ]
    show_table(("host", "device", "size", "model", "what is on it", "to do", "because it"), rows, right=("size",))


def _plain(device: Device) -> dict[str, object]:
    return asdict(device) | {"size_bytes": device.size_bytes, "model": device.model, "contents": device.contents}


def show_prepared(done: Prepared, *, as_json: bool) -> None:
    """What was done, and the lines for /etc/fstab."""
    if as_json:
        made = [_plain(device) for device in done.made]
        emit_json({"schema_version": SCHEMA_VERSION, "made": made, "fstab": done.fstab})
        return
    typer.echo(f"\n{count_of(len(done.made), 'file system')} made or mounted; for /etc/fstab:")
    for host, lines in sorted(done.fstab.items()):
        for line in lines:
            typer.echo(f"{host}: {line}")
    if not done.made:
        talk("all bricks were ready already")
