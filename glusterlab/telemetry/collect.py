"""sar on every host: commands to start, stop and convert it, and the time that its text covers.

sadc's binary file is converted by the host's own sadf: one version of sysstat may not read another's.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, repeat
from pathlib import Path
from statistics import median
from typing import Literal

from glusterlab.errors import ParseError
from glusterlab.shell import HostCommand, join, quote
from glusterlab.spec.cluster import Host
from glusterlab.tools.document import located, read_text

# activities without which a host's telemetry is not complete, and a column by which each is known
REQUIRED = {"cpu": "%iowait", "load": "ldavg-1", "memory": "kbmemfree"}
# where systems keep sadc, which is on no PATH: Debian to 12, Debian from 13, Red Hat, others
SADC_PLACES = ("/usr/lib/sysstat/sadc", "/usr/libexec/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc")
_SADC = f"""\
sadc=
for place in {" ".join(SADC_PLACES)}; do
  [ -x "$place" ] && sadc=$place && break
done
[ -n "$sadc" ] || {{ echo 'sadc not found: install sysstat on this host' >&2; exit 1; }}
"""


def start_command(host: Host, interval_s: int, count: int, path: str) -> HostCommand:
    """Start sadc, which ends after `count` records, in a session of its own; return when it has begun to write."""
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
    """End sadc after a whole record, and wait for it; one that has ended, or was never started, is no error."""
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
    """Convert what figures use of the binary file: its standard output is the text, compressed by xz or Python."""
    # the fast level of xz takes a thirteenth of the usual one's time, for a sixth more bytes
    devices = ("-d", f"--dev={','.join(host.devices)}") if host.devices else ()
    interface = ("-n", "DEV", f"--iface={host.interface}") if host.interface else ("-n", "DEV")
    sadf = join(("sadf", "-d", "-U", path, "--", "-u", "-q", "-r", "-b", *devices, *interface), {"LC_ALL": "C"})
    python = "import lzma, sys; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), preset=1))"
    script = f"{sadf} | if command -v xz >/dev/null; then xz -1 -c; else {join(('python3', '-c', python))}; fi"
    return HostCommand(host.name, script=script, deadline_s=60.0)


_ROUNDED_S = 1.5
"""By which a step may differ from its interval: sadf cuts both times to seconds, and rounds the interval."""


@dataclass(frozen=True)
class Coverage:
    """The time that one host's telemetry covers, in its epoch seconds; of intervals the median, and the sum.

    `holes_s`: by how much steps from record to record are longer than the later one's interval.
    """

    begin_s: float
    end_s: float
    interval_s: float
    covered_s: float
    holes_s: float
    restarts: tuple[float, ...]

    def gap(self, start: float, end: float, *, by: Literal["sum", "steps"] = "steps") -> str | None:
        """What is missing of the window, or None when it is covered; `by` as in `CommandRecord.gaps`."""
        # one interval at each end, and the second to which sadf rounds
        slack = self.interval_s + 1.0
        if restarts := [time for time in self.restarts if start <= time <= end]:
            return f"the host restarted {restarts[0] - start:.0f} s after the start of the workload"
        if self.begin_s - start > slack:
            return f"telemetry begins {self.begin_s - start:.0f} s after the start of the workload"
        if end - self.end_s > slack:
            return f"telemetry ends {end - self.end_s:.0f} s before the end of the workload"
        whole = self.end_s - self.begin_s
        covered_s = self.covered_s if by == "sum" else whole - self.holes_s
        if whole - covered_s > slack:
            return f"expected {whole:.0f} s of telemetry without a gap, found {covered_s:.0f} s"
        return None


def coverage(path: Path) -> Coverage:
    """The time that a file covers; `ParseError` for damage, without all `REQUIRED`, and for what no host can have."""
    intervals: dict[float, float] = {}
    restarts: list[float] = []
    headers: set[str] = set()
    latest: dict[str, float] = {}
    header, fields, record, text = None, 0, "\n", read_text(path)
    for number, line in enumerate(text.splitlines(), start=1):
        # most lines of a long sample are of the record of the line before
        if not line or (line.startswith(record) and line.count(";") == fields):
            continue
        record = "\n"
        if line.startswith("# hostname;interval;timestamp;"):
            header, fields = line[2:], line.count(";")
            continue
        words = line.split(";", 3)
        event = len(words) == 4 and words[1] == "-1"
        if event and not words[3].startswith("LINUX-RESTART"):
            continue
        with located(path, number):
            if header is None and not event:
                raise ParseError("expected a header '# hostname;interval;timestamp;...', found data")
            if line.count(";") != fields and not event:
                raise ParseError(f"expected {fields + 1} fields, found {line.count(';') + 1}")
            try:
                interval, time = float(words[1]), float(words[2])
            except ValueError as error:
                raise ParseError(f"expected an interval and epoch seconds: {error}") from error
        if event or header is None:
            # new headers follow a restart
            header, latest = None, {}
            restarts.append(time)
        else:
            headers.add(header)
            if time < latest.get(header, time):
                message = f"expected rows in the order of time, found {time:.0f} after {latest[header]:.0f}"
                raise ParseError(message, file=path, line=number)
            # after a stall two records may be of one second
            latest[header], intervals[time] = time, max(interval, intervals.get(time, 0.0))
            record = ";".join([*words[:3], ""])
    columns = {column for header in headers for column in header.split(";")}
    missing = sorted(activity for activity, mark in REQUIRED.items() if mark not in columns)
    if missing or not intervals:
        raise ParseError(f"expected records of {', '.join(missing or sorted(REQUIRED))}, found none", file=path)
    _check_values(path, text)
    first = min(intervals)
    between, rest = max(intervals) - first, [interval for time, interval in intervals.items() if time != first]
    # an interval is rounded to seconds, and so longer than it was by a half of its own at most
    if rest and (sum(rest) > 1.5 * between + 2.0 or intervals[first] > 2.0 * max(rest) + 1.0):
        found = f"{intervals[first]:g} and {sum(rest):g} s"
        raise ParseError(f"expected intervals of one length that last {between:.0f} s, found {found}", file=path)
    lengths, times = intervals.values(), sorted(intervals)
    over = [median(lengths) - intervals[first], *(later - time - intervals[later] for time, later in pairwise(times))]
    # a busy sadc takes the time, waits, and then reads the counters: what that step lacks the next one has too much
    holes = [min(0.0, before) + step for before, step in pairwise(over)]
    missing_s = sum(hole for hole in holes if hole > _ROUNDED_S)
    return Coverage(first - intervals[first], times[-1], median(lengths), sum(lengths), missing_s, tuple(restarts))


def _check_values(path: Path, text: str) -> None:
    """Refuse values that no host can have had, and rows that stand twice."""
    from glusterlab.telemetry.columns import NotRegular
    from glusterlab.telemetry.metrics import impossible
    from glusterlab.telemetry.reader import read
    from glusterlab.telemetry.sadf import regular_blocks

    try:
        blocks = regular_blocks(text.encode())
        if any(impossible(block) is not None for block in blocks):
            raise NotRegular
    except NotRegular:
        # it names the line of what is wrong
        blocks = list(read(path))
    rows: dict[str, Counter[tuple[float, str]]] = {}
    busy: Counter[tuple[tuple[float, str], tuple[float, ...]]] = Counter()
    for block in blocks:
        places = list(zip(block.time.tolist(), block.device or repeat(""), strict=False))
        rows.setdefault(block.activity, Counter()).update(places)
        if block.activity == "cpu":
            values = zip(*(column.tolist() for column in block.metrics.values()), strict=True)
            is_idle = (block.metrics["%idle"] >= 100.0).tolist()
            busy.update(row for row, idle in zip(zip(places, values, strict=True), is_idle, strict=True) if not idle)
    twice = {activity: {time for (time, _), n in found.items() if n > 1} for activity, found in rows.items()}
    # after a stall two records are of one second: every table has both, and a busy CPU never did the same in both
    once = set.intersection(*twice.values()) - {row[0][0] for row, n in busy.items() if n > 1}
    for activity, times in twice.items():
        if extra := times - once:
            message = f"expected one row of {activity} for each device and time, found two at {min(extra):.0f}"
            raise ParseError(message, file=path)
