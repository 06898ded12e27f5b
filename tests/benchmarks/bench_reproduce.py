"""How long the command line takes to start, and `reproduce` with nothing to do; the aims are 0.5 s and 3 s."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).parents[2]
RUNS = 5


def seconds(*arguments: str) -> float:
    """Median wall time of a command, process start included, after one run that is not counted."""
    command = [str(Path(sys.executable).with_name("glusterlab")), *arguments]
    times = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def main() -> None:
    """Print the medians."""
    for arguments in (("--help",), ("reproduce",)):
        print(f"glusterlab {' '.join(arguments):<10} {seconds(*arguments):6.2f} s, median of {RUNS}")


if __name__ == "__main__":
    main()
