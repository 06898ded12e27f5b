"""`glusterlab tables` on a campaign whose telemetry is ``sar -A`` text: all of it, nothing new, and one new sample.

The campaign is made by ``glusterlab import``: an IOzone report per sample, and beside each a report of sar for every
host, really recorded here and repeated under other hosts and days (see bench_telemetry.py). Whole commands are timed,
process start included.

``.venv/bin/python tests/benchmarks/bench_tables.py --samples 100 --hosts 7`` makes 700 MB of text.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_telemetry

DATA = Path(__file__).parents[1] / "data" / "iozone" / "cluster-write.txt"
COMMAND = [sys.executable, "-m", "glusterlab.cli"]
MAPPING = """\
schema_version: 1
layouts: {mirror: {type: replicate, geometry: 3x2, backing: raid6, disks: 72}}
patterns: ["{layout}/run{repeat}/iozone.txt"]
telemetry: ["{layout}/run{repeat}/sar-{host}.txt"]
servers: [SERVERS]
"""


def results(folder: Path, samples: int, hosts: int, text: bytes) -> int:
    """Write a folder of results; return the bytes of telemetry in it."""
    size = 0
    for sample in range(1, samples + 1):
        place = folder / "mirror" / f"run{sample}"
        place.mkdir(parents=True)
        (place / "iozone.txt").write_bytes(DATA.read_bytes())
        for host in range(1, hosts + 1):
            day = f"{sample % 12 + 1:02d}/{sample % 28 + 1:02d}/26"
            banner = f"Linux 6.1.0-bench (host{host:02d}) \t{day} \t_x86_64_\t(2 CPU)\n\n"
            size += (place / f"sar-host{host:02d}.txt").write_bytes(banner.encode() + text)
    names = ", ".join(f"host{host:02d}" for host in range(1, hosts + 1))
    (folder / "mapping.yaml").write_text(MAPPING.replace("SERVERS", names))
    return size


def command(*words: str, cwd: Path) -> tuple[float, float]:
    """Seconds of a whole command, and the peak memory of its processes in MiB."""
    memory = bench_telemetry.Memory()
    memory.start()
    started = time.perf_counter()
    subprocess.run([*COMMAND, *words], check=True, cwd=cwd, stdout=subprocess.DEVNULL, env=dict(os.environ))
    seconds = time.perf_counter() - started
    return seconds, memory.end() / 2**20


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, nargs="*", default=[100])
    options.add_argument("--hosts", type=int, default=7)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=60, help="of recording")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = bench_telemetry.report(bench_telemetry.record(chosen.seconds, folder))
        for samples in chosen.samples:
            place = folder / str(samples)
            size = results(place / "results", samples, chosen.hosts, text) / bench_telemetry.MB
            command("import", "results", "--as", "bench", "--map", "results/mapping.yaml", cwd=place)
            raw = place / "raw" / "bench"
            one = next(raw.glob("cells/*/sample-01/workload/*"))
            cold, peak = command("tables", "raw/bench", cwd=place)
            rate = f"{1000 * cold / size:.1f} ms/MB"
            print(f"{samples} samples, {size:.0f} MB: all {cold:.2f} s, {rate}, peak {peak:.0f} MiB", flush=True)
            nothing, changed = [], []
            for _ in range(chosen.rounds):
                nothing.append(command("tables", "raw/bench", cwd=place)[0])
                one.touch()
                changed.append(command("tables", "raw/bench", cwd=place)[0])
            bench_telemetry.spread("nothing changed", nothing, "s")
            bench_telemetry.spread("one sample changed", changed, "s")


if __name__ == "__main__":
    main()
