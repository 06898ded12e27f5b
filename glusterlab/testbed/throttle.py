"""The scale model: disks and links slowed to the hardware's figures divided by the scale; no result is fitted.

With control groups v1 the kernel charges a read, and a write that a process waits for, to the process's own blkio
group, all other writes to the root group, and limits each alone. So hosts have no blkio group of their own.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab.errors import TestbedError, UsageError
from glusterlab.testbed import cgroups, guests, headserver, network
from glusterlab.testbed.disks import Disk, Kind, device_number, has_head, image_of, move, set_queue
from glusterlab.testbed.drives import HOST, RAID6, ST6000NM0034
from glusterlab.testbed.local import run, write_value
from glusterlab.testbed.options import ARRAY_DISKS, DIRTY_SHARE, SERVER_MEMORY_BYTES, Device, Model
from glusterlab.testbed.state import State, state_home

if TYPE_CHECKING:
    from collections.abc import Mapping

    from glusterlab.spec.cluster import Cluster

LINK_BURST_BYTES = 256 * 1024
LINK_QUEUE_BYTES = 1024 * 1024
VM = Path("/proc/sys/vm")
BDI = Path("/sys/class/bdi")  # what may wait to be written, by device
FREEZE, THAW, TRIM = 0xC0045877, 0xC0045878, 0xC0185879  # FIFREEZE, FITHAW and FITRIM of linux/fs.h
_ALL = struct.pack("QQQ", 0, 2**64 - 1, 0)  # of a file system, to its end, pieces of any length
TIMERS = {"dirty_expire_centisecs": 3000, "dirty_writeback_centisecs": 500, "../fs/xfs/xfssyncd_centisecs": 3000}
"""What the kernel writes by true time, below `VM`, and after how long: data, how often it looks, XFS its metadata."""

_MAX_CENTISECS = 720_000  # that XFS takes
_SAVED = "machine.json"  # the machine's own values, while a model has others in their place
_V1_FILES = {"rbps": "read_bps", "wbps": "write_bps", "riops": "read_iops", "wiops": "write_iops"}


def disk_limits(hardware: Device, model: Model) -> dict[str, int]:
    """Limits of one device under a scale model, by the names of cgroup v2's io.max."""
    rates = {"rbps": hardware.read_bytes_per_s, "wbps": hardware.write_bytes_per_s}
    if model.operations:
        rates |= {"riops": hardware.read_operations_per_s, "wiops": hardware.write_operations_per_s}
    return {name: max(1, round(rate / model.scale)) for name, rate in rates.items()}


def unwritten_bytes(kind: Kind, model: Model | None) -> int | None:
    """What may wait to be written to one disk or array: its part of a server's memory, over the scale.

    None where time is stretched, and at full speed: files keep their size there, and the hardware's whole memory is
    more than the machine has. Of a limit of the whole machine, which the kernel shares out, some devices starved.
    """
    if model is None or model.stretched or model.scale == 1:
        return None
    return round(SERVER_MEMORY_BYTES * DIRTY_SHARE * (1 / ARRAY_DISKS if kind == "disk" else 1) / model.scale)


def _limit_unwritten(number: str, limit: int | None) -> None:
    folder = BDI / number
    if (folder / "strict_limit").exists():
        write_value(folder / "strict_limit", "0" if limit is None else "1")
        write_value(folder / ("max_ratio" if limit is None else "max_bytes"), str(limit or 100))


def timers(model: Model | None) -> dict[str, int]:
    """The kernel's timers where time is stretched, as many times longer."""
    if model is None or not model.stretched:
        return {}
    return {name: min(round(value * model.scale), _MAX_CENTISECS) for name, value in TIMERS.items()}


def _set_timers(values: dict[str, int], home: Path) -> None:
    """Put timers in the place of the machine's own, which are kept in a file; none: put these back."""
    saved = home / _SAVED
    if not saved.exists():
        if not values:
            return
        own = {name: int((VM / name).read_text(encoding="ascii")) for name in TIMERS if (VM / name).exists()}
        partial = saved.with_suffix(".partial")
        partial.write_text(json.dumps(own), encoding="utf-8")
        partial.rename(saved)
    for name, value in (json.loads(saved.read_text(encoding="utf-8")) | values).items():
        if (VM / name).exists():
            write_value(VM / name, str(value))
    if not values:
        saved.unlink()


def read_ahead_bytes(model: Model | None) -> int:
    """How far ahead the kernel reads on bricks: as the hardware, and so much less as files are smaller."""
    scale = 1.0 if model is None or model.stretched else model.scale
    return max(4096, round(HOST.read_ahead_bytes / scale))


def run_options(cluster: Cluster) -> dict[str, Any]:
    """What `glusterlab.run.runner.run` is handed of the testbed that a cluster is; nothing for real hardware."""
    if cluster.testbed is None:
        return {}
    state = cluster.testbed.state
    has_heads = any(model.heads for model in cluster.scale_models.values())
    return {
        "throttle": lambda model: apply(state, model),
        "use_heads": (lambda heads: use_heads(state, heads)) if has_heads else None,
        "shared_counters": cgroups.SHARED_COUNTERS,
    }


def use_heads(state_folder: Path | str, heads: bool) -> None:
    """Put all disks of a testbed behind their heads, or take them out; no brick may be in use."""
    state = State.load(Path(state_folder))
    wrong = [disk for disk in state.disks if disk.spins and has_head(disk) != heads]
    inits = {host: _init(state, host) for host in {disk.host for disk in wrong}}
    move(wrong, state.folder / "disks", inits, heads=heads, direct=not state.options.memory_backed)


def apply(state_folder: Path | str, model: str | None) -> dict[str, Any]:
    """Put a running testbed under one of its scale models, or lift all limits with None.

    Returns what is in effect, for the sample's record. Raises `UsageError` when there is no such model, `TestbedError`
    when the testbed is not running or the kernel refuses a limit.
    """
    state = State.load(Path(state_folder))
    models = state.options.models
    if model is not None and model not in models:
        raise UsageError(f"the testbed '{state.options.name}' has no scale model '{model}': it has {', '.join(models)}")
    chosen = None if model is None else models[model]
    headed = chosen is not None and chosen.heads
    spinning = (disk for disk in state.disks if disk.spins)
    if chosen is not None and state.options.heads and any(has_head(disk) != headed for disk in spinning):
        behind = "have none now" if headed else "have heads now"
        raise TestbedError(f"the disks of '{state.options.name}' {behind}: 'glusterlab run' puts them as {model} needs")
    stretched = timers(chosen)
    _set_timers(stretched, state.folder.parent)
    # limits are still lifted; an unfrozen XFS counts its time to the next write of metadata anew
    ahead = read_ahead_bytes(chosen)
    if chosen is None:
        thaw(state)
    else:
        settle(state, ahead, TIMERS | stretched)
    by_kind: dict[str, dict[str, int]] = {}
    if headed and chosen is not None:
        # disks' operations follow from their heads, and an NVMe drive has none
        drives = {kind: device for kind, device in state.options.devices.items() if kind == "nvme"}
        by_kind = {kind: disk_limits(device, replace(chosen, operations=True)) for kind, device in drives.items()}
    elif chosen is not None:
        by_kind = {kind: disk_limits(device, chosen) for kind, device in state.options.devices.items()}
    kinds: tuple[Kind, ...] = ("disk", "array", *(("nvme",) if state.options.nvme else ()))
    unwritten = {kind: unwritten_bytes(kind, chosen) for kind in kinds}
    slow: dict[str, Any] = {}
    late: dict[str, float] = {}
    slowness = {(host, name): times for host, name, times in state.options.slow_disks}
    for disk in state.disks:
        limits = by_kind.get(disk.kind, {})
        times = slowness.get((disk.host, Path(disk.mount_point).name), 1.0)
        if times > 1 and headed and disk.spins:
            late[image_of(disk.host, disk.mount_point)] = slow[f"{disk.host}:{disk.mount_point}"] = times
        elif times > 1 and limits:
            limits = {name: max(1, round(limit / times)) for name, limit in limits.items()}
            slow[f"{disk.host}:{disk.mount_point}"] = limits
        for target, values in _lines(state.options.name, disk.host, disk.number, limits):
            write_value(target, values)
        set_queue(disk.device, "read_ahead_kb", str(ahead // 1024))
        _limit_unwritten(disk.number, unwritten[disk.kind])
    served: dict[str, Any] = {}
    if state.options.heads:
        images = state.folder / "disks"
        # what the heads did is read when they are lifted: it belongs to the sample that ends
        served = headserver.served(images) if chosen is None else {}
        headserver.control(images, chosen.scale if chosen is not None and headed else None, late)
    links = {role: None if chosen is None else round(rate / chosen.scale) for role, rate in state.options.links.items()}
    _limit_links(state, links)
    latencies = state.options.latencies
    of_models = dict(latencies) or {"disk": asdict(ST6000NM0034), "array": asdict(RAID6)}
    by_blkio = "cgroup v2 io.max" if cgroups.is_v2() else "cgroup v1 blkio.throttle"
    return {
        "model": model,
        "scale": None if chosen is None else chosen.scale,
        **{kind: of_models.get(kind, {}) if headed else by_kind.get(kind, {}) for kind in ("disk", "array")},
        **({"nvme": by_kind.get("nvme", {})} if state.options.nvme else {}),
        **({"disk_cache_bytes": state.options.cache_bytes} if state.options.disk_caches else {}),
        **({"slow_disks": slow} if slow else {}),
        **({"served": served} if served.get("scale") else {}),
        **{f"{role}_link_bytes_per_s": rate for role, rate in links.items()},
        **(
            {"unwritten_bytes": unwritten}
            if unwritten["disk"] and BDI.is_dir() and not state.options.disk_caches
            else {}
        ),
        **{("vm_" + name).replace("vm_../fs/xfs/", "fs_xfs_"): value for name, value in stretched.items()},
        **({} if chosen is None else {"settled": len(state.disks), "read_ahead_bytes": ahead}),
        "enforced_by": [f"{'latency' if latencies else 'heads'} of disks (FUSE)" if headed else by_blkio, "tc tbf"],
    }


def settle(state: State, read_ahead: int, timers: Mapping[str, int]) -> None:
    """Freeze the file system of each disk and let it go: what was written lies on the disk, and no log is pending.

    What was deleted on disks without heads is given back to the machine.

    `sync` leaves changed metadata in XFS's memory, which it writes later, at the limits of the sample that runs then.
    Only file systems that a testbed made itself are frozen: mounted where it put them, and on its own device.
    """
    own_kernel = {*state.options.guest_names}
    mounted = [disk for disk in state.disks if disk.host not in own_kernel]
    inits = {host: _init(state, host) for host in {disk.host for disk in mounted}}

    def one(disk: Disk) -> None:
        folder = os.open(f"/proc/{inits[disk.host]}/root{disk.mount_point}", os.O_RDONLY | os.O_DIRECTORY)
        try:
            device = os.fstat(folder).st_dev
            if f"{os.major(device)}:{os.minor(device)}" != disk.number:
                raise TestbedError(f"{disk.device} is not mounted at {disk.mount_point} of {disk.host}")
            # one that a killed run left frozen cannot be frozen again
            _thaw(folder)
            try:
                fcntl.ioctl(folder, FREEZE, 0)
            finally:
                _thaw(folder)
            if not has_head(disk):
                # else what was ever written to it would stay in the machine's own file system
                with suppress(OSError):
                    fcntl.ioctl(folder, TRIM, bytearray(_ALL))
        except OSError as error:
            raise TestbedError(f"{disk.device} of {disk.host} cannot be written out: {error.strerror}") from error
        finally:
            os.close(folder)

    def guest(host: str) -> None:
        guests.settle(state.folder / "ssh_config", host, read_ahead, timers)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, mounted))
        list(pool.map(guest, own_kernel & {*state.options.server_names}))


def thaw(state: State) -> None:
    """Let go what a run that was killed within `settle` left frozen: whoever touches a file there waits for ever."""
    for host in {*state.options.server_names} - {*state.options.guest_names}:
        with suppress(TestbedError):
            init = _init(state, host)
            for disk in state.disks_of(host):
                with suppress(OSError):
                    folder = os.open(f"/proc/{init}/root{disk.mount_point}", os.O_RDONLY | os.O_DIRECTORY)
                    _thaw(folder)
                    os.close(folder)


def _thaw(folder: int) -> None:
    with suppress(OSError):
        fcntl.ioctl(folder, THAW, 0)


def _init(state: State, host: str) -> int:
    """A process of a host, by which the machine sees its files."""
    for pid in network.pids(network.namespace(state.options.name, host)):
        return pid
    raise TestbedError(f"{host} does not run: 'glusterlab testbed down', then 'up'")


def lift(testbed: str, devices: list[str]) -> None:
    """Lift the limits of loop devices that are attached now: what still has data to write needs it."""
    with suppress(TestbedError):
        _set_timers({}, state_home())
    for device in devices:
        number = device_number(device)
        with suppress(TestbedError):
            _limit_unwritten(number, None)
        for target, values in _lines(testbed, None, number, {}):
            with suppress(TestbedError):
                write_value(target, values)


def _lines(testbed: str, host: str | None, number: str, limits: dict[str, int]) -> list[tuple[Path, str]]:
    """Kernel files and what to write to each; without a host, for whichever host has the device."""
    if cgroups.is_v2():
        # v2 charges buffered writes to the group that owns the pages, so that the host's own group is the place
        values = " ".join(f"{name}={limits.get(name, 'max')}" for name in _V1_FILES)
        parent = cgroups.folders(testbed)[0]
        groups = [parent / host] if host is not None else sorted(path for path in parent.glob("*") if path.is_dir())
        return [(group / "io.max", f"{number} {values}") for group in groups]
    # v1 charges buffered writes to the root group, whoever made them; 0 means no limit
    root = cgroups.ROOT / "blkio"
    files = _V1_FILES.items()
    return [(root / f"blkio.throttle.{file}_device", f"{number} {limits.get(name, 0)}") for name, file in files]


def _limit_links(state: State, rates: dict[str, int | None]) -> None:
    options = state.options
    hosts = dict.fromkeys(options.server_names, "server") | dict.fromkeys(options.client_names, "client")
    outside = [_qdisc(network.port(options.name, host), rates[role]) for host, role in hosts.items()]
    run(["tc", "-force", "-batch", "-"], stdin="\n".join(outside) + "\n")

    def inside(host: str) -> None:
        line = _qdisc(network.INTERFACE, rates[hosts[host]])
        run(["tc", "-n", network.namespace(options.name, host), "-force", "-batch", "-"], stdin=line + "\n")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(inside, hosts))


def _qdisc(interface: str, rate: int | None) -> str:
    if rate is None:
        # a veth without a limit has no queue of its own; replacing works whether or not there was a limit before
        return f"qdisc replace dev {interface} root noqueue"
    return (
        f"qdisc replace dev {interface} root tbf rate {rate * 8}bit burst {LINK_BURST_BYTES} limit {LINK_QUEUE_BYTES}"
    )
