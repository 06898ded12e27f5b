"""What the runner costs per sample on many hosts: seconds of each phase, CPU of the controller and of the hosts.

The hosts are real sshds in namespaces of this machine (see many_hosts.py); `SampleRun` drives them as a run does, with
a workload of known length. All hosts share this machine's CPUs with the controller, where those of a real cluster work
at the same time: the columns of CPU tell them apart. With ``PYTHONPATH=FOLDER``, a folder that holds another
``glusterlab/``, it measures that one.

``python tests/benchmarks/bench_hosts.py --hosts 8 32 128 --samples 5``, as root.
"""

import argparse
import resource
import signal
import statistics
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


class Meter(Progress):
    """Takes the time and the CPU seconds when a phase begins."""

    def __init__(self) -> None:
        super().__init__("bench")
        self.marks: list[tuple[str, float, float, float]] = []

    def phase(self, name: str) -> None:
        self.marks.append((name, time.monotonic(), _own_cpu(), many_hosts.cpu_s()))

    def phases(self) -> dict[str, tuple[float, float, float]]:
        """Seconds, the controller's CPU seconds and the hosts' by phase; the last mark ends the last phase."""
        spent: dict[str, tuple[float, float, float]] = {}
        for (name, *begin), (_, *end) in zip(self.marks, self.marks[1:], strict=False):
            known = spent.get(name, (0.0, 0.0, 0.0))
            spent[name] = tuple(a + e - b for a, b, e in zip(known, begin, end, strict=True))  # type: ignore[assignment]
        return spent


def measure(cluster: Cluster, campaign: Campaign, folder: Path, samples: int) -> dict[str, Any]:
    """What connecting, samples, idle connections and a stop cost on a cluster whose hosts are up."""
    # the peak of memory begins anew
    Path("/proc/self/clear_refs").write_text("5")
    (cell,) = build_plan(campaign, cluster).cells
    volume = Volume.of(cell.layout, cluster)
    pool = Pool.of(cluster, mark="bench")
    cpu, began = _own_cpu(), time.monotonic()
    failed = pool.connect()
    if failed:
        raise failed.popitem()[1]
    found: dict[str, Any] = {"connect": [time.monotonic() - began, _own_cpu() - cpu]}
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
    status = Path("/proc/self/status").read_text()
    found["memory"] = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    # nothing happens on open connections
    before = _own_cpu()
    time.sleep(2.0)
    found["idle"] = (_own_cpu() - before) / 2.0
    found["stop"] = _stop(pool, cluster)
    return found


def _own_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _stop(pool: Pool, cluster: Cluster) -> tuple[float, int]:
    """Seconds from a stop, with a command on every host, until all is closed; and how many are not cleared."""
    stopped: list[float] = []

    def stop() -> None:
        stopped.append(time.monotonic())
        pool.stop()

    threading.Timer(2.0, stop).start()
    try:
        pool.run_everywhere(Command("sleep 60", deadline_s=90.0))
    except StoppedError:
        pool._stop.requested = False
    left = workdir.end_processes(pool, cluster)
    pool.close()
    return time.monotonic() - stopped[0], len(left)


def spread(values: list[float]) -> str:
    """Median, lowest and highest."""
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def report(hosts: int, run: dict[str, Any], workload_s: float) -> None:
    """Print what was measured on so many hosts."""
    samples = run["samples"]
    statuses = {sample["status"] for sample in samples}
    print(f"\n{hosts} hosts: n = {len(samples)}, {', '.join(sorted(statuses))}")
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
    print(f"  connect {run['connect'][0]:.2f} s, CPU {run['connect'][1]:.2f} s; idle {run['idle']:.3f} CPU s per s")
    print(f"  stop until all is ended {run['stop'][0]:.2f} s, {run['stop'][1]} hosts not cleared")
    print(f"  peak memory {run['memory'] / 1e6:.0f} MB", flush=True)


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hosts", type=int, nargs="+", default=[8, 32, 128])
    options.add_argument("--samples", type=int, default=5)
    options.add_argument("--seconds", type=float, default=4.0, help="of the workload")
    chosen = options.parse_args()
    # so that an end by SIGTERM removes the hosts, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with tempfile.TemporaryDirectory(prefix="glusterlab-many-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for hosts in chosen.hosts:
            cluster, campaign = many_hosts.specifications(hosts, folder, chosen.seconds)
            (cell,) = build_plan(campaign, cluster).cells
            with many_hosts.running(cluster, Volume.of(cell.layout, cluster), folder, chosen.seconds):
                found = measure(cluster, campaign, folder, chosen.samples)
            report(hosts, found, chosen.seconds)


if __name__ == "__main__":
    main()
