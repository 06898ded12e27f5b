"""sar on every host: commands to start, stop and convert it, and what a campaign keeps of its text.

sadc writes its binary file on the host, and that host's own sadf turns it into text under ``LC_ALL=C``, with epoch
seconds: one version of sysstat may not read another's file, and other locales change digits and dates. Only what a
figure can use is converted: CPU, load, memory, I/O in all, and the host's own block devices and interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.shell import HostCommand, join, quote
from glusterlab.tools.document import read_bytes

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Host

MAX_TEXT_BYTES = 64 << 20
"""Most bytes of one host's telemetry, unpacked; raw files from elsewhere are hostile."""

REQUIRED = {"cpu": "%iowait", "load": "ldavg-1", "memory": "kbmemfree"}
"""Activities without which a host's telemetry is not complete, and a column by which each is known."""

SADC_PLACES = (
    "/usr/lib/sysstat/sadc",
    "/usr/libexec/sysstat/sadc",
    "/usr/lib64/sa/sadc",
    "/usr/lib/sa/sadc",
)
"""Where systems keep sadc, which is on no PATH: Debian to 12, Debian from 13, Red Hat, others."""

_SADC = f"""\
sadc=
for place in {" ".join(SADC_PLACES)}; do
  [ -x "$place" ] && sadc=$place && break
done
[ -n "$sadc" ] || {{ echo 'sadc not found: install sysstat on this host' >&2; exit 1; }}
"""


def start_command(host: Host, interval_s: int, count: int, path: str) -> HostCommand:
    """Start sadc in a session of its own; the command returns when it has begun to write.

    It records every `interval_s` seconds, and ends by itself after `count` records, should nobody stop it. `path` is
    its binary file on the host, in a directory of the suite; ``<path>.pid`` and ``<path>.err`` lie beside it.
    """
    file, pid, err, folder = (quote(text) for text in (path, f"{path}.pid", f"{path}.err", path.rpartition("/")[0]))
    script = (
        f"{_SADC}[ -d {folder} ] || mkdir -p {folder} || exit 1\n"
        f"[ ! -e {file} ] || rm -f {file} || exit 1\n"
        # first in line for the CPU: a second without a record, because the load is high, is the load's best second
        'LC_ALL=C nice -n -10 setsid "$sadc" -S DISK '
        f"{int(interval_s)} {int(count)} {file} </dev/null >/dev/null 2>{err} &\n"
        f"echo $! > {pid}\n"
        "n=0\n"
        f"until [ -s {file} ]; do\n"
        f"  n=$((n + 1)); [ $n -le 100 ] && kill -0 $! 2>/dev/null || {{ cat {err} >&2; exit 1; }}\n"
        "  sleep 0.05\n"
        "done\n"
    )
    return HostCommand(host.name, script=script, deadline_s=30.0)


def stop_command(host: Host, path: str) -> HostCommand:
    """End sadc and wait for it; one that has ended, or was never started, is no error.

    SIGINT makes sadc itself end after a whole record; the process is inspected first, because ids are used again.
    """
    pid = quote(f"{path}.pid")
    script = (
        f"[ -s {pid} ] && read -r pid < {pid} || exit 0\n"
        '[ -e /proc/$pid/comm ] && read -r comm < /proc/$pid/comm && [ "$comm" = sadc ] || exit 0\n'
        "kill -INT $pid\n"
        "n=0\n"
        "while kill -0 $pid 2>/dev/null; do\n"
        "  n=$((n + 1)); [ $n -le 100 ] || { kill -KILL $pid; break; }\n"
        "  sleep 0.05\n"
        "done\n"
        f": > {pid}\n"
    )
    return HostCommand(host.name, script=script, deadline_s=30.0)


def convert_command(host: Host, path: str) -> HostCommand:
    """Convert the binary file by the host's own sadf; its standard output is the text, compressed by xz or Python.

    A file that ends in the middle of a record gives the records before it. The fast level of xz is used: on 6 MB of a
    long sample it takes a thirteenth of the usual level's time, for a sixth more bytes.
    """
    devices = ("-d", f"--dev={','.join(host.devices)}") if host.devices else ()
    interface = ("-n", "DEV", f"--iface={host.interface}") if host.interface else ("-n", "DEV")
    sadf = join(("sadf", "-d", "-U", path, "--", "-u", "-q", "-r", "-b", *devices, *interface), {"LC_ALL": "C"})
    python = "import lzma, sys; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), preset=1))"
    script = f"{sadf} | if command -v xz >/dev/null; then xz -1 -c; else {join(('python3', '-c', python))}; fi"
    return HostCommand(host.name, script=script, deadline_s=60.0)


def read_text(path: Path) -> str:
    """The text of one host's telemetry, unpacked; `ParseError` when it is absent, cut off, damaged, or too big."""
    return read_bytes(path, MAX_TEXT_BYTES).decode("utf-8", errors="replace")


def _lines(text: str, path: Path) -> Iterator[tuple[int, str, str | None]]:
    """Number, text and header of data lines: of those of one record in a row the first; a restart has no header."""
    header, fields, record = None, 0, "\n"
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(record) and line.count(";") == fields:
            # most lines of a long sample, on each of many hosts
            continue
        record = "\n"
        if line.startswith("# hostname;interval;timestamp;"):
            header, fields = line[2:], line.count(";")
        elif not line:
            continue
        elif (special := line.split(";", 3))[1:2] == ["-1"] and len(special) == 4:
            # a restart or a comment has no interval; new headers follow a restart
            if special[3].startswith("LINUX-RESTART"):
                header = None
                yield number, line, None
        elif header is None:
            message = "expected a header '# hostname;interval;timestamp;...', found data"
            raise ParseError(message, file=path, line=number)
        elif line.count(";") != fields:
            message = f"expected {fields + 1} fields, found {line.count(';') + 1}"
            raise ParseError(message, file=path, line=number)
        else:
            record = ";".join([*special[:3], ""])
            yield number, line, header


@dataclass(frozen=True)
class Coverage:
    """The time that one host's telemetry covers, in epoch seconds of that host.

    From the start of the first record's interval to the last record; `interval_s` is the median time between records,
    `covered_s` the sum of their intervals, which is less than the whole where records are missing.
    """

    begin_s: float
    end_s: float
    interval_s: float
    covered_s: float
    restarts: tuple[float, ...]

    def gap(self, start: float, end: float) -> str | None:
        """What is missing of the window, or None when it is covered.

        One interval at each end, and the second to which sadf rounds, may be missing.
        """
        slack = self.interval_s + 1.0
        restarts = [time for time in self.restarts if start <= time <= end]
        if restarts:
            return f"the host restarted {restarts[0] - start:.0f} s after the start of the workload"
        if self.begin_s - start > slack:
            return f"telemetry begins {self.begin_s - start:.0f} s after the start of the workload"
        if end - self.end_s > slack:
            return f"telemetry ends {end - self.end_s:.0f} s before the end of the workload"
        if (self.end_s - self.begin_s) - self.covered_s > slack:
            return (
                f"expected {self.end_s - self.begin_s:.0f} s of telemetry without a gap, found {self.covered_s:.0f} s"
            )
        return None


def coverage(path: Path) -> Coverage:
    """The time that a file covers, without a table of it.

    `ParseError` when the file is damaged, has no record, or lacks one of the `REQUIRED` activities.
    """
    intervals: dict[float, float] = {}
    restarts: list[float] = []
    headers: set[str] = set()
    for number, line, header in _lines(read_text(path), path):
        fields = line.split(";", 3)
        try:
            interval, time = float(fields[1]), float(fields[2])
        except ValueError as error:
            raise ParseError(f"expected an interval and epoch seconds: {error}", file=path, line=number) from error
        if header is None:
            restarts.append(time)
        else:
            headers.add(header)
            intervals[time] = interval
    columns = {column for header in headers for column in header.split(";")}
    missing = sorted(activity for activity, mark in REQUIRED.items() if mark not in columns)
    if missing or not intervals:
        raise ParseError(f"expected records of {', '.join(missing or sorted(REQUIRED))}, found none", file=path)
    first = min(intervals)
    return Coverage(
        begin_s=first - intervals[first],
        end_s=max(intervals),
        interval_s=median(intervals.values()),
        covered_s=sum(intervals.values()),
        restarts=tuple(restarts),
    )
