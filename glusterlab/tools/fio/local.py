"""fio on the devices under bricks, beyond their file systems: requests in order and at random, many at a time.

Only disks of a testbed that have heads have room there: a device that its file system fills is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from glusterlab.shell import join, quote
from glusterlab.tools.base import HostCommand, HostTool, LocalJob, LocalStep, Measurement, Operation, Program
from glusterlab.tools.fio.command import MODES, measurement_of

if TYPE_CHECKING:
    from glusterlab.spec.cell import Cell

_RAMP = 0.25  # of the time, before it: until caches that writes end in are full, and a queue is


class FioLocal(HostTool):
    """fio on the first brick's device of as many servers as there are workers."""

    def work_s(self, cell: Cell, hosts: int, brick_rate: float) -> float:  # noqa: ARG002
        return (1 + _RAMP) * (cell.runtime_s or 0.0)

    def rounds(self, job: LocalJob) -> list[list[LocalStep]]:
        """One round: a command per server, each with places of its own."""
        commands = [
            HostCommand(server.name, script=self._script(job, server.name, number), deadline_s=job.deadline_s)
            for number, server in enumerate(job.servers[: job.cell.workers], start=1)
        ]
        return [[LocalStep(command, f"fio-{command.host}.json") for command in commands]]

    def _script(self, job: LocalJob, server: str, number: int) -> str:
        cell, root = job.cell, quote(job.bricks[0])
        writes = self.by_operation[cell.operation].direction == "write"
        runtime = cell.runtime_s or 0.0
        argv = (
            *("fio", "--output-format=json+", "--eta=never", f"--name=w{number:02d}", f"--rw={MODES[cell.operation]}"),
            *(f"--bs={cell.record_size_bytes}", "--direct=1", "--ioengine=libaio", "--norandommap=1"),
            # small seeds in a row make sequences that resemble each other
            *(f"--randseed={crc32(server.encode())}", "--time_based=1", f"--runtime={round(runtime * 1000)}ms"),
            *(f"--ramp_time={round(_RAMP * runtime * 1000)}ms", *(("--allow_mounted_write=1",) if writes else ())),
            *cell.options,
        )
        return (
            f"device=$(findmnt --noheadings --output SOURCE --mountpoint {root}) || "
            f"{{ echo {root} is not mounted >&2; exit 1; }}\n"
            # the log of XFS is not among its blocks
            f"begin=$((2 * $(stat -f -c '%b * %S' {root})))\n"
            '[ "$(blockdev --getsize64 "$device")" -gt $((2 * begin)) ] || '
            '{ echo "$device has no room beyond its file system" >&2; exit 1; }\n'
            f'exec {join(argv)} "--filename=$device" "--offset=$begin"'
        )

    def parse(self, folder: Path, cell: Cell) -> Measurement:
        return measurement_of(folder, cell)


FIO_LOCAL = FioLocal(
    name="fio-local",
    of_requests=True,
    operations=(
        Operation("write", "write"),
        Operation("read", "read"),
        Operation("random-write", "write", random=True, metric="operations_per_s"),
        Operation("random-read", "read", random=True, metric="operations_per_s"),
    ),
    options={"--iodepth": "[0-9]+", "--sync": "dsync"},
    # of servers it is not asked for: those of a testbed, which alone have such disks, bring it
    programs=(Program("fio", "fio", ("--version",), "fio-3.33", required=False),),
    processes={"fio": "fio"},
)
