"""prepare: make the file systems of the bricks."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from glusterlab.cli.console import count_of, format_bytes, picked, show, talk
from glusterlab.cli.options import JSON, argument, commands, complete_yaml, flag
from glusterlab.errors import UsageError

if TYPE_CHECKING:
    from glusterlab.hosts.prepare import Device
    from glusterlab.spec import Cluster

app, command = commands()


@command(
    "glusterlab prepare cluster.yaml --dry-run   (what is on each device, and what would be done)",
    "glusterlab prepare cluster.yaml",
    "glusterlab prepare cluster.yaml --yes --fstab",
    more="Only devices that the cluster file names (backings.<name>.devices) are touched. One that is mounted, or "
    "part of a RAID set, volume group or the like, is refused, as is one with such a partition; one that is not blank, "
    "too, unless the file says "
    "wipe: true. When one is refused, nothing is done on any. A device is taken for blank when it has no signature and "
    "only zeros at its ends and in 1,024 samples between: little data on a large device may be missed.",
)
def prepare(
    cluster: Path = argument("CLUSTER", "A cluster.yaml.", autocompletion=complete_yaml),
    dry_run: bool = flag("--dry-run", "Only show what is there and what would be done."),
    yes: bool = flag("--yes", "Do not ask, for scripts."),
    fstab: bool = flag("--fstab", "Write the lines into /etc/fstab; it stays as fstab.before-glusterlab."),
    json: bool = JSON,
) -> None:
    """Make and mount the XFS file systems of the bricks, after showing what is on their devices."""
    from glusterlab.hosts import prepare as work
    from glusterlab.hosts.pool import Pool
    from glusterlab.spec import load_cluster

    pool_file = load_cluster(cluster)
    work.named(pool_file)
    pool = Pool.of(pool_file, mark=f"prepare.{uuid.uuid4().hex[:8]}")
    every = pool.hosts
    try:
        # the clients are needed only where something is done: no campaign may have any of the hosts then
        pool.hosts = {server.name: every[server.name] for server in pool_file.servers}
        pool.connect_or_raise()
        talk(f"looking at {count_of(len(work.named(pool_file)), 'device')}")
        devices = work.look(pool, pool_file)
        refused = any(device.action == "refused" for device in devices)
        if not json or dry_run or refused:
            show_devices(devices, as_json=json)
        if refused:
            talk("nothing was done: a device is refused")
            raise typer.Exit(1)
        if dry_run:
            return
        pool.hosts = every
        pool.connect_or_raise()
        _confirm(pool_file, devices, yes=yes)
        done = work.prepare(pool, pool_file, devices, write_fstab=fstab, note=talk)
        lines = [f"\n{count_of(len(done.made), 'file system')} made or mounted; for /etc/fstab:"]
        lines += [f"{host}: {line}" for host, lines in sorted(done.fstab.items()) for line in lines]
        notes = () if done.made else ("all bricks were ready already",)
        show(
            [], json, {"made": [_plain(device) for device in done.made], "fstab": done.fstab}, lines=lines, notes=notes
        )
    finally:
        pool.close()


def _confirm(cluster: Cluster, devices: list[Device], *, yes: bool) -> None:
    """Have the operator type the cluster's name before a file system is made."""
    made = [device for device in devices if device.action in ("make", "wipe")]
    wiped = sum(device.action == "wipe" for device in made)
    if not made or yes:
        return
    if not _can_ask():
        raise UsageError("nobody can be asked here: look at what --dry-run shows, then say --yes")
    lost = f", and what is on {wiped} of the devices is lost for good" if wiped else ""
    question = f"{len(made)} file systems will be made{lost}"
    typer.echo(f"{question}. Type the cluster's name ({cluster.name}) to go on: ", nl=False, err=True)
    if sys.stdin.readline().strip() != cluster.name:
        raise UsageError("that is not the cluster's name: nothing was done")


def _can_ask() -> bool:
    """Whether a person sees what is on the devices, and can answer."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


_WORDS = {"ready": "none", "mount": "mount", "make": "make", "wipe": "WIPE", "refused": "refused"}


def show_devices(devices: Sequence[Device], *, as_json: bool) -> None:
    """What is on each device, and what is to be done with it."""
    rows = [
        {
            "host": device.host,
            "device": device.path,
            "size": "" if device.size_bytes is None else format_bytes(device.size_bytes),
            "model": device.model,
            "serial": device.serial,
            "what is on it": device.contents,
            "to do": _WORDS[device.action],
            "because it": device.why,
        }
        for device in devices
    ]
    show(rows, as_json, {"devices": [_plain(device) for device in devices]}, right=("size",))


def _plain(device: Device) -> dict[str, object]:
    return asdict(device) | picked(device, "size_bytes", "model", "serial", "contents")
