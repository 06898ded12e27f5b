"""How long `reproduce` takes from nothing, against the same notebooks one after another by the papermill command.

Both take turns, and leave the same figures, tables and captions, to the byte; else the exit code is 1. The aims for the
reference campaign on two cores: under 90 s, at least 1.7 times faster than papermill, and 3 s with nothing to do.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from glusterlab.figures.names import output_files

PROJECT = Path(__file__).parents[2]
COMMANDS = Path(sys.executable).parent
STARTS = 5


class Took(NamedTuple):
    """Seconds of a command: on the clock, and of all processors by it and all that it started."""

    wall: float
    cpu: float


def took(*commands: list[str]) -> Took:
    """Run commands one after another; a failing one ends the benchmark."""
    # whoever works with the project has its modules compiled, which this variable prevents
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{(done.stderr or done.stdout)[-3000:]}")
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def reproduce(raw: Path | None, output: Path, jobs: int | None) -> Took:
    """`glusterlab reproduce` into a folder, of one campaign or of all in raw/."""
    chosen = [] if jobs is None else ["--jobs", str(jobs)]
    which = [] if raw is None else [str(raw)]
    return took([str(COMMANDS / "glusterlab"), "reproduce", *which, "--output", str(output), *chosen])


def papermill(raw: Path, output: Path, notebooks: list[Path]) -> Took:
    """The papermill command, notebook by notebook."""
    figures = output / raw.name
    figures.mkdir(parents=True)
    options = ["--no-progress-bar", "-p", "campaign", str(raw), "-p", "figures", str(figures)]
    return took(*([str(COMMANDS / "papermill"), str(path), str(output / path.name), *options] for path in notebooks))


def others(here: Path, there: Path) -> list[str]:
    """Names of figures, tables and captions that are not the same in both folders, or there are none at all."""
    ours, theirs = ({path.name: path.read_bytes() for path in output_files(folder)} for folder in (here, there))
    return sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)) or (
        [] if ours else ["no files"]
    )


def spread(values: list[float], unit: str = "") -> str:
    """Median, lowest and highest."""
    return f"{statistics.median(values):.2f}{unit} [{min(values):.2f}, {max(values):.2f}], n = {len(values)}"


def main() -> int:
    """Print each pair, and the medians; 1 when the two ways left other files."""
    reference = PROJECT / "raw" / "reference"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = reference if reference.is_dir() else PROJECT / "raw" / "first-light"
    parser.add_argument("raw", type=Path, nargs="?", default=default, help=f"a campaign; default: raw/{default.name}")
    parser.add_argument("--runs", type=int, default=3, help="pairs; default: 3")
    parser.add_argument("--jobs", type=int, help="notebooks at a time; default: one per processor")
    parser.add_argument("--folder", type=Path, help="where the figures go for the time being; default: a temporary one")
    arguments = parser.parse_args()
    raw = arguments.raw.resolve()
    notebooks = sorted((PROJECT / "notebooks").glob("[0-9][0-9]-*.ipynb"))
    print(f"{raw.name}, {len(notebooks)} notebooks, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")

    found: dict[str, list[Took]] = defaultdict(list)
    for run in range(arguments.runs):
        with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="bench-reproduce-") as folder:
            here, there, everything = (Path(folder, name) for name in ("reproduce", "papermill", "all"))
            pair = {
                "reproduce": lambda here=here: reproduce(raw, here, arguments.jobs),
                "papermill": lambda there=there: papermill(raw, there, notebooks),
            }
            # the one that comes second finds the raw files in the page cache
            for name in sorted(pair, reverse=run % 2 == 0):
                found[name].append(pair[name]())
            found["reproduce, nothing to do"].append(reproduce(raw, here, arguments.jobs))
            different = others(here / raw.name, there / raw.name)
            for name in ("all campaigns", "all campaigns, nothing new"):
                found[name].append(reproduce(None, everything, arguments.jobs))
        times = "; ".join(f"{name} {each[-1].wall:.2f} s ({each[-1].cpu:.0f} s CPU)" for name, each in found.items())
        print(f"pair {run + 1}: {times}", flush=True)
        if different:
            print(f"OTHER FILES: {', '.join(different[:5])}")
            return 1
    found["--help"] = [took([str(COMMANDS / "glusterlab"), "--help"]) for _ in range(STARTS + 1)][1:]
    ratios = [their.wall / our.wall for our, their in zip(found["reproduce"], found["papermill"], strict=True)]
    print(f"all files the same to the byte; ratio of each pair: {spread(ratios)}")
    for name, each in found.items():
        print(f"{name:28}{spread([one.wall for one in each], ' s')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
