"""What the runner costs per sample on many hosts: seconds of each phase, CPU of the controller and of the hosts.

The hosts are real sshds in namespaces of this machine (see many_hosts.py); `SampleRun` drives them as a run does, with
a workload of known length. All hosts share this machine's CPUs with the controller, where those of a real cluster work
at the same time: the columns of CPU tell them apart. With ``--against FOLDER``, a folder that holds another
``glusterlab/``, both versions are measured in turns on the same hosts.

``python tests/benchmarks/bench_hosts.py --hosts 8 32 128 --samples 5``, as root.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import many_hosts

from glusterlab.errors import StoppedError
from glusterlab.hosts import files as workdir
from glusterlab.hosts import lock
from glusterlab.hosts.gluster import Volume
from glusterlab.hosts.pool import Command, Pool
from glusterlab.run.plan import build_plan
from glusterlab.run.progress import Progress
from glusterlab.run.sample import SampleRun, Site
from glusterlab.spec import Campaign, Cluster, dump_yaml
from glusterlab.store.campaign import RawStore

PHASES = ("guard", "prepare", "before", "workload", "after", "judge", "store")
DEADLINE_S = 1800.0


class Meter(Progress):
    """Takes the time and the CPU seconds when a phase begins."""

    def __init__(self) -> None:
        super().__init__("bench")
        self.marks: list[tuple[str, float, float, float]] = []

    def phase(self, name: str) -> None:
        """A phase begins."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self.marks.append((name, time.monotonic(), usage.ru_utime + usage.ru_stime, many_hosts.cpu_s()))

    def phases(self) -> dict[str, tuple[float, float, float]]:
        """Seconds, the controller's CPU seconds and the hosts' by phase; the last mark ends the last phase."""
        spent: dict[str, tuple[float, float, float]] = {}
        for (name, *begin), (_, *end) in zip(self.marks, self.marks[1:], strict=False):
            known = spent.get(name, (0.0, 0.0, 0.0))
            spent[name] = tuple(a + e - b for a, b, e in zip(known, begin, end, strict=True))  # type: ignore[assignment]
        return spent


def measure(folder: Path, samples: int, cut: str | None) -> None:
    """The measuring process: prints one JSON object with all that it found."""
    given = json.loads((folder / "given.json").read_text())
    cluster, campaign = Cluster.model_validate(given["cluster"]), Campaign.model_validate(given["campaign"])
    (cell,) = build_plan(campaign, cluster).cells
    volume = Volume.of(cell.layout, cluster)
    pool = Pool.of(cluster, mark="bench")
    usage, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    failed = pool.connect()
    if failed:
        raise failed.popitem()[1]
    found: dict[str, Any] = {"connect": [time.monotonic() - began, _own_cpu() - usage.ru_utime - usage.ru_stime]}
    # a sample is only taken on hosts that are this run's
    lock.claim(pool, cluster, campaign.name)
    with tempfile.TemporaryDirectory(dir=folder) as raw:
        store = RawStore.create(
            Path(raw) / "many", campaign_yaml=dump_yaml(campaign), cluster_yaml=dump_yaml(cluster), environment={}
        )
        found["samples"] = []
        for number in range(1, samples + 1):
            meter = Meter()
            with store.begin_sample(cell, repeat=number, round=number, order=number, attempt=1) as writer:
                began = time.monotonic()
                if cut is not None:
                    threading.Timer(1.0, many_hosts.set_link, (cut, "down")).start()
                meter.phase("guard")
                lock.refuse_if_lost(pool, [cluster.clients[0].name])
                sample = SampleRun(Site(campaign, cluster, pool, meter), cell, volume, writer).execute()
            # judging ends, and storing begins, where the sample says that the phase took so long
            name, at, *_ = meter.marks[-1]
            meter.phase("end")
            spent = {key: list(value) for key, value in meter.phases().items()}
            judged = sample.phases[name]
            spent["store"] = [time.monotonic() - at - judged, 0.0, 0.0]
            spent[name][0] = judged
            entry = {"phases": spent, "seconds": time.monotonic() - began, "status": sample.status}
            entry["reasons"] = sorted({f"{reason.host}: {reason.message}" for reason in sample.reasons})
            found["samples"].append(entry)
            if cut is not None:
                many_hosts.set_link(cut, "up")
    status = Path("/proc/self/status").read_text()
    found["memory"] = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    found["idle"] = _idle(2.0)
    found["stop"] = _stop(pool, cluster)
    print(json.dumps(found))


def _own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _idle(seconds: float) -> float:
    """CPU seconds of the controller per second in which nothing happens on open connections."""
    before = _own_cpu()
    time.sleep(seconds)
    return (_own_cpu() - before) / seconds


def _stop(pool: Pool, cluster: Cluster) -> tuple[float, int]:
    """Seconds from a stop, with a command at work on every host, until all of it is ended and connections are closed.

    Also how many hosts could not be cleared within the time that the runner gives them.
    """
    stopped: list[float] = []

    def stop() -> None:
        stopped.append(time.monotonic())
        pool.stop()

    threading.Timer(2.0, stop).start()
    try:
        pool.run_everywhere(Command("sleep 60", deadline_s=90.0))
    except StoppedError:
        pool.resume()
    left = workdir.end_processes(pool, cluster)
    pool.close()
    return time.monotonic() - stopped[0], len(left)


def versions(against: Path | None) -> dict[str, Path | None]:
    """Where the measured libraries lie; None is the one that this program uses."""
    return {"this": None} if against is None else {"other": against, "this": None}


def run_child(folder: Path, samples: int, library: Path | None, cut: str | None) -> dict[str, Any]:
    """Measure in a process of its own, so that its memory and CPU are the controller's only."""
    environment = dict(os.environ)
    if library is not None:
        environment["PYTHONPATH"] = str(library)
    words = [sys.executable, __file__, "--measure", str(folder), "--samples", str(samples)]
    words += ["--cut", cut] if cut else []
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True, timeout=DEADLINE_S)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def spread(values: list[float], digits: int = 2) -> str:
    """Median, lowest and highest."""
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


def report(hosts: int, name: str, runs: list[dict[str, Any]], workload_s: float) -> None:
    """Print what was measured of one version on so many hosts."""
    samples = [sample for run in runs for sample in run["samples"]]
    statuses = {sample["status"] for sample in samples}
    print(f"\n{hosts} hosts, {name}: n = {len(samples)}, {', '.join(sorted(statuses))}")
    for reason in sorted({reason for sample in samples for reason in sample["reasons"]})[:5]:
        print(f"  {reason}")
    print(f"  {'phase':10} {'seconds':22} {'controller CPU s':22} {'hosts CPU s':22}")
    every = [sample["phases"] for sample in samples]
    for phase in PHASES:
        columns = [spread([spent.get(phase, [0.0] * 3)[n] for spent in every]) for n in range(3)]
        print(f"  {phase:10} " + " ".join(f"{column:22}" for column in columns))
    totals = [[sum(value[n] for value in spent.values()) for spent in every] for n in (1, 2)]
    cost = [sample["seconds"] - workload_s for sample in samples]
    print(f"  {'all':10} {spread(cost):22} {spread(totals[0]):22} {spread(totals[1]):22} (without {workload_s:g} s)")
    for key, label, place in (("connect", "connect s", 0), ("connect", "connect CPU s", 1)):
        print(f"  {label:33} {spread([run[key][place] for run in runs])}")
    print(f"  {'idle connections, CPU s per s':33} {spread([run['idle'] for run in runs], 3)}")
    left = sum(run["stop"][1] for run in runs)
    told = f" ({left} hosts not cleared)" if left else ""
    print(f"  {'stop until all is ended, s':33} {spread([run['stop'][0] for run in runs])}{told}")
    print(f"  {'peak memory, MB':33} {spread([run['memory'] / 1e6 for run in runs], 0)}", flush=True)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hosts", type=int, nargs="+", default=[8, 32, 128])
    options.add_argument("--samples", type=int, default=5)
    options.add_argument("--turns", type=int, default=1, help="processes per version, each with so many samples")
    options.add_argument("--seconds", type=float, default=4.0, help="of the workload")
    options.add_argument("--against", type=Path, help="folder with another glusterlab/, measured in turns")
    options.add_argument("--dead", action="store_true", help="one sample in which the last host's link goes down")
    options.add_argument("--json", type=Path, help="write what was measured, too")
    options.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--cut", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.measure is not None:
        measure(chosen.measure, chosen.samples, chosen.cut)
        return
    # so that an end by SIGTERM removes the hosts, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    kept: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="glusterlab-many-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for hosts in chosen.hosts:
            cluster, campaign = many_hosts.specifications(hosts, folder, chosen.seconds)
            (cell,) = build_plan(campaign, cluster).cells
            # only what was set: an older version knows no newer keys
            given = {
                "cluster": cluster.model_dump(mode="json", exclude_unset=True),
                "campaign": campaign.model_dump(mode="json", exclude_unset=True),
            }
            (folder / "given.json").write_text(json.dumps(given))
            found: dict[str, list[dict[str, Any]]] = {}
            with many_hosts.running(cluster, Volume.of(cell.layout, cluster), folder, chosen.seconds):
                for _ in range(chosen.turns):
                    for version, library in versions(chosen.against).items():
                        cut = cluster.hosts[-1].name if chosen.dead else None
                        found.setdefault(version, []).append(run_child(folder, chosen.samples, library, cut))
            for version, runs in found.items():
                report(hosts, version, runs, chosen.seconds)
            kept[str(hosts)] = found
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
