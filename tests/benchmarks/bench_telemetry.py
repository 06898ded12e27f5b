"""Telemetry to Parquet: this reader, a plain parser line by line, and ``sadf -d``, as ratios measured in one run.

The text is real and then repeated under banners of other hosts and days: sadc of this machine writes a record per
second, and ``sar -A`` prints it. Where no sysstat is, ``--text`` names such a report. With ``--against CHECKOUT`` it is
the CPU time in which `glusterlab parse` prints ``--slice`` MB, by turns with another checkout's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import date, timedelta
from multiprocessing import get_context
from pathlib import Path

from glusterlab.tables.build import CHUNK_BYTES
from glusterlab.telemetry.arrow import arrow_batches, write_parquet
from glusterlab.telemetry.blocks import Chunk
from glusterlab.telemetry.collect import SADC_PLACES
from glusterlab.telemetry.reader import chunks

MB = 1_000_000
CONSTANTS: dict[str, str | int | float] = {"campaign": "bench", "cell_id": "bench", "sample": 1, "role": "server"}
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


def record(seconds: int, folder: Path) -> Path:
    """A binary file of sadc with a record per second."""
    sadc = next((place for place in SADC_PLACES if Path(place).exists()), None)
    if sadc is None or shutil.which("sar") is None:
        sys.exit("expected sysstat on this machine, found none: install it, or name a report of sar -A with --text")
    path = folder / "sa"
    subprocess.run([sadc, "-S", "XALL", "1", str(seconds), str(path)], check=True, env=ENVIRONMENT)
    return path


def report(sa: Path) -> bytes:
    """What ``sar -A`` prints of it, without its banner."""
    done = subprocess.run(["sar", "-A", "-f", str(sa)], check=True, capture_output=True, env=ENVIRONMENT)
    return done.stdout.partition(b"\n\n")[2]


def repeat(text: bytes, size: int, target: Path) -> int:
    """Write the report under new hosts and days until the file has the size; return how often."""
    count = written = 0
    with target.open("wb") as stream:
        while written < size:
            day = date(2026, 1, 1) + timedelta(days=count // 12)
            banner = f"Linux 6.1.0-bench (host{count % 12 + 1:02d}) \t{day:%m/%d/%y} \t_x86_64_\t(2 CPU)\n\n"
            written += stream.write(banner.encode() + text + b"\n")
            count += 1
    return count


def _part(task: tuple[Chunk, Path]) -> int:
    chunk, target = task
    return write_parquet(arrow_batches(chunk, CONSTANTS), target)


def this_reader(path: Path, folder: Path) -> int:
    """All of a file to Parquet with two processes; start of the processes included."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        tasks = [(chunk, folder / f"{number}.parquet") for number, chunk in enumerate(chunks(path, CHUNK_BYTES))]
        return sum(pool.map(_part, tasks))


def _plain_rows(path: Path) -> Iterator[tuple[str, str, str, str, float]]:
    host, header = "", []
    after_blank = True
    with path.open() as stream:
        for line in stream:
            words = line.split()
            if not words:
                after_blank = True
                continue
            if words[0] == "Linux":
                host = words[2].strip("()")
            elif after_blank:
                header = words[1:]
            elif words[0] != "Average:" and words[1] != "LINUX":
                values = words[1:]
                device = ""
                if header[0].isupper():
                    device, values, names = values[0], values[1:], header[1:]
                elif header[-1].isupper():
                    device, values, names = values[-1], values[:-1], header[:-1]
                else:
                    names = header
                for name, value in zip(names, values, strict=True):
                    yield host, words[0], device, name, float(value)
            after_blank = False


def plain_parser(path: Path, target: Path) -> int:
    """The obvious way: split every line, float every word, append, write Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ["host", "time", "device", "metric", "value"]
    columns: list[list[object]] = [[] for _ in names]
    for row in _plain_rows(path):
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), target)
    return len(columns[0])


class Memory(threading.Thread):
    """The most memory that this process and its children had at once: proportional set size, bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(0.1):
            self.peak = max(self.peak, sum(map(_pss, _tree(os.getpid()))))

    def end(self) -> int:
        """Stop, and return the peak."""
        self._ended.set()
        self.join()
        return self.peak


def _tree(process: int) -> list[int]:
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(found for child in children for found in _tree(int(child)))]


def _pss(process: int) -> int:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return int(text.partition("\nPss:")[2].split()[0]) * 1024


def timed(work: Callable[[], object]) -> float:
    """Wall seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def spread(name: str, values: list[float], unit: str) -> None:
    """Print median and range."""
    print(
        f"{name:<44} {statistics.median(values):8.2f} {unit}  ({min(values):.2f} to {max(values):.2f}, n={len(values)})"
    )


def own_memory(path: Path, folder: Path) -> tuple[float, int]:
    """Seconds and peak memory of this reader in a process of its own, so that nobody else's memory is counted."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import bench_telemetry as b; from pathlib import Path\n"
        "if __name__ == '__main__':\n"
        "    m = b.Memory(); m.start(); s = b.timed(lambda: b.this_reader(Path(sys.argv[2]), Path(sys.argv[3])))\n"
        "    print(json.dumps([s, m.end()]))\n"
    )
    script = folder / "own.py"
    script.write_text(code)
    command = [sys.executable, str(script), str(Path(__file__).parent), str(path), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, memory = json.loads(done.stdout)
    return float(seconds), int(memory)


def measure_parse(path: Path, folder: Path, rounds: int, against: Path) -> None:
    """Print how fast records are printed, and how much faster than by another checkout."""
    code = "import sys; from glusterlab.cli import app; app(['parse', sys.argv[1]])"
    spent: dict[Path, list[float]] = {Path(__file__).parents[2]: [], against: []}
    for _ in range(rounds):
        for checkout, seconds in spent.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            environment = {**os.environ, "PYTHONPATH": str(checkout)}
            command = [sys.executable, "-c", code, str(path)]
            with (folder / "parsed.jsonl").open("wb") as target:
                subprocess.run(command, check=True, stdout=target, env=environment, cwd=folder)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    mine, other = spent.values()
    spread("parse, CPU", [path.stat().st_size / MB / seconds for seconds in mine], "MB/s")
    spread("other / this checkout", [b / a for a, b in zip(mine, other, strict=True)], "times")


def main() -> None:
    """Measure, alternating, and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", type=int, default=700, help="MB of text")
    options.add_argument("--slice", type=int, default=20, help="MB for the plain parser, which is slow")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=60, help="of recording")
    options.add_argument("--text", type=Path, help="a report of sar -A instead of a recording; sadf is left out then")
    options.add_argument("--against", type=Path, help="measure parse of --slice MB against another checkout, instead")
    options.add_argument("--growth", type=int, nargs="*", default=[1, 2, 10], help="multiples of a tenth of the size")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sa = None if chosen.text else record(chosen.seconds, folder)
        text = chosen.text.read_bytes().partition(b"\n\n")[2] if sa is None else report(sa)
        big, small = folder / "big.txt", folder / "small.txt"
        repeat(text, chosen.slice * MB, small)
        if chosen.against is not None:
            measure_parse(small, folder, chosen.rounds, chosen.against)
            return
        count = repeat(text, chosen.size * MB, big)
        print(f"{big.stat().st_size / MB:.0f} MB: {count} times {len(text) / MB:.2f} MB")
        mine, plain, sadf, peaks = [], [], [], []
        for _ in range(chosen.rounds):
            seconds, memory = own_memory(big, folder)
            mine.append(seconds / (big.stat().st_size / MB))
            peaks.append(memory / 2**20)
            plain.append(timed(lambda: plain_parser(small, folder / "plain.parquet")) / (small.stat().st_size / MB))
            if sa is None:
                continue
            command = ["sadf", "-d", "-U", str(sa), "--", "-A"]
            with (folder / "sadf.csv").open("wb") as target:
                sadf.append(
                    timed(lambda: subprocess.run(command, check=True, stdout=target, env=ENVIRONMENT))  # noqa: B023
                    / (len(text) / MB)
                )
        spread("this reader, two processes", [value * 1000 for value in mine], "ms/MB")
        spread("plain parser line by line", [value * 1000 for value in plain], "ms/MB")
        spread("plain parser / this reader", [a / b for a, b in zip(plain, mine, strict=True)], "times")
        if sadf:
            spread("sadf -d of the same records", [value * 1000 for value in sadf], "ms/MB of sar's text")
            spread("sadf -d / this reader", [a / b for a, b in zip(sadf, mine, strict=True)], "times")
        spread("peak memory of all processes", peaks, "MiB")
        for times in chosen.growth:
            repeat(text, chosen.size * MB // 10 * times, big)
            seconds, memory = own_memory(big, folder)
            size = big.stat().st_size / MB
            print(f"{size:7.0f} MB {seconds:7.2f} s {1000 * seconds / size:6.2f} ms/MB {memory / 2**20:6.0f} MiB")


if __name__ == "__main__":
    main()
