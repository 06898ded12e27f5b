"""Telemetry to Parquet: this reader, a plain parser line by line, and ``sadf -d``, as ratios measured in one run.

The text is real and then repeated under banners of other hosts and days: sadc of this machine writes a record per
second, and ``sar -A`` prints it. Where no sysstat is, ``--text`` names such a report.

``--tables 100`` times `glusterlab tables` instead, process start included, on a campaign of so many imported samples
with a report of each of ``--hosts`` (700 MB of text): all of it, nothing new, one new sample.
"""

import argparse
import os
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

from glusterlab.telemetry.arrow import arrow_batches, write_parquet
from glusterlab.telemetry.blocks import Chunk
from glusterlab.telemetry.collect import SADC_PLACES
from glusterlab.telemetry.reader import chunks

MB = 1_000_000
CONSTANTS: dict[str, str | int | float] = {"campaign": "bench", "cell_id": "bench", "sample": 1, "role": "server"}
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}
REPORT = Path(__file__).parents[1] / "data" / "iozone" / "cluster-write.txt"
MAPPING = """\
schema_version: 1
layouts: {mirror: {type: replicate, geometry: 3x2, backing: raid6, disks: 72}}
patterns: ["{layout}/run{repeat}/iozone.txt"]
telemetry: ["{layout}/run{repeat}/sar-{host}.txt"]
servers: [SERVERS]
"""


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


def banner(host: int, day: date) -> bytes:
    return f"Linux 6.1.0-bench (host{host:02d}) \t{day:%m/%d/%y} \t_x86_64_\t(2 CPU)\n\n".encode()


def run_sadf(sa: Path, target: Path) -> None:
    with target.open("wb") as stream:
        subprocess.run(["sadf", "-d", "-U", str(sa), "--", "-A"], check=True, stdout=stream, env=ENVIRONMENT)


def repeat(text: bytes, size: int, target: Path) -> int:
    """Write the report under new hosts and days until the file has the size; return how often."""
    count = written = 0
    with target.open("wb") as stream:
        while written < size:
            day = date(2026, 1, 1) + timedelta(days=count // 12)
            written += stream.write(banner(count % 12 + 1, day) + text + b"\n")
            count += 1
    return count


def _part(task: tuple[Chunk, Path]) -> int:
    chunk, target = task
    return write_parquet(arrow_batches(chunk, CONSTANTS), target)


def this_reader(path: Path, folder: Path) -> int:
    """All of a file to Parquet with two processes; start of the processes included."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        tasks = [(chunk, folder / f"{number}.parquet") for number, chunk in enumerate(chunks(path))]
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


def measured(*words: str, cwd: Path) -> tuple[str, float, float]:
    """What a command prints, its seconds, and the most memory that it and its children had at once: PSS, MiB."""
    peak = 0
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, *words], cwd=cwd, stdout=subprocess.PIPE, text=True)

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, sum(map(_pss, _tree(process.pid))))
            time.sleep(0.1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    printed, _ = process.communicate()
    seconds = time.perf_counter() - started
    watcher.join()
    if process.returncode:
        sys.exit(f"{' '.join(words)} ended with {process.returncode}")
    return printed, seconds, peak / 2**20


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


def read_alone(path: Path, folder: Path) -> tuple[float, float]:
    """Seconds and peak memory of this reader in a process of its own, so that nobody else's memory is counted."""
    printed, _, memory = measured(__file__, "--read", str(path), cwd=folder)
    return float(printed), memory


def results(folder: Path, samples: int, hosts: int, text: bytes) -> int:
    """Write a folder of results to import; return the bytes of telemetry in it."""
    size = 0
    for sample in range(1, samples + 1):
        place = folder / "mirror" / f"run{sample}"
        place.mkdir(parents=True)
        shutil.copy(REPORT, place / "iozone.txt")
        for host in range(1, hosts + 1):
            day = date(2026, sample % 12 + 1, sample % 28 + 1)
            size += (place / f"sar-host{host:02d}.txt").write_bytes(banner(host, day) + text)
    names = ", ".join(f"host{host:02d}" for host in range(1, hosts + 1))
    (folder / "mapping.yaml").write_text(MAPPING.replace("SERVERS", names))
    return size


def measure_tables(place: Path, samples: int, hosts: int, rounds: int, text: bytes) -> None:
    """Print how long `glusterlab tables` takes on a campaign of so many samples."""

    def command(*words: str) -> tuple[float, float]:
        return measured("-m", "glusterlab.cli", *words, cwd=place)[1:]

    size = results(place / "results", samples, hosts, text) / MB
    command("import", "results", "--as", "bench", "--map", "results/mapping.yaml")
    one = next((place / "raw" / "bench").glob("cells/*/sample-01/workload/*"))
    cold, peak = command("tables", "raw/bench")
    rate = f"{1000 * cold / size:.1f} ms/MB"
    print(f"{samples} samples, {size:.0f} MB: all {cold:.2f} s, {rate}, peak {peak:.0f} MiB", flush=True)
    nothing, changed = [], []
    for _ in range(rounds):
        nothing.append(command("tables", "raw/bench")[0])
        one.touch()
        changed.append(command("tables", "raw/bench")[0])
    spread("nothing changed", nothing, "s")
    spread("one sample changed", changed, "s")


def main() -> None:
    """Measure, alternating, and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", type=int, default=700, help="MB of text")
    options.add_argument("--slice", type=int, default=20, help="MB for the plain parser, which is slow")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=60, help="of recording")
    options.add_argument("--text", type=Path, help="a report of sar -A instead of a recording; sadf is left out then")
    options.add_argument("--growth", type=int, nargs="*", default=[1, 2, 10], help="multiples of a tenth of the size")
    options.add_argument("--tables", type=int, nargs="+", metavar="SAMPLES", help="time `glusterlab tables`, instead")
    options.add_argument("--hosts", type=int, default=7, help="whose telemetry each sample of --tables has")
    options.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.read is not None:
        print(timed(lambda: this_reader(chosen.read, chosen.read.parent)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sa = None if chosen.text else record(chosen.seconds, folder)
        text = chosen.text.read_bytes().partition(b"\n\n")[2] if sa is None else report(sa)
        for samples in chosen.tables or ():
            measure_tables(folder / str(samples), samples, chosen.hosts, chosen.rounds, text)
        if chosen.tables:
            return
        big, small = folder / "big.txt", folder / "small.txt"
        repeat(text, chosen.slice * MB, small)
        count = repeat(text, chosen.size * MB, big)
        print(f"{big.stat().st_size / MB:.0f} MB: {count} times {len(text) / MB:.2f} MB")
        mine, plain, sadf, peaks = [], [], [], []
        for _ in range(chosen.rounds):
            seconds, memory = read_alone(big, folder)
            mine.append(seconds / (big.stat().st_size / MB))
            peaks.append(memory)
            plain.append(timed(lambda: plain_parser(small, folder / "plain.parquet")) / (small.stat().st_size / MB))
            if sa is None:
                continue
            sadf.append(timed(lambda: run_sadf(sa, folder / "sadf.csv")) / (len(text) / MB))
        spread("this reader, two processes", [value * 1000 for value in mine], "ms/MB")
        spread("plain parser line by line", [value * 1000 for value in plain], "ms/MB")
        spread("plain parser / this reader", [a / b for a, b in zip(plain, mine, strict=True)], "times")
        if sadf:
            spread("sadf -d of the same records", [value * 1000 for value in sadf], "ms/MB of sar's text")
            spread("sadf -d / this reader", [a / b for a, b in zip(sadf, mine, strict=True)], "times")
        spread("peak memory of all processes", peaks, "MiB")
        for times in chosen.growth:
            repeat(text, chosen.size * MB // 10 * times, big)
            seconds, memory = read_alone(big, folder)
            size = big.stat().st_size / MB
            print(f"{size:7.0f} MB {seconds:7.2f} s {1000 * seconds / size:6.2f} ms/MB {memory:6.0f} MiB")


if __name__ == "__main__":
    main()
