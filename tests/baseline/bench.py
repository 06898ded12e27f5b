"""A pool in memory that answers IOzone and iperf3 as a baseline calls them."""

import itertools
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import Outcome
from glusterlab.run import runner
from glusterlab.run.baseline import baseline_campaign
from glusterlab.run.progress import RunSummary
from glusterlab.spec import Campaign, Cluster
from glusterlab.spec.campaign import BaselineSpec
from tests.fake_pool import FakeTransport
from tests.pools import HARDWARE, pool_data

ARRAYS = {**HARDWARE, "disks_per_server": 2, "array_write": "1224 MB/s", "array_read": "1107 MB/s"}


def make_cluster(**changed: Any) -> Cluster:
    keys = {
        "hardware": ARRAYS,
        "backings": {
            "jbod": {"bricks": ["/b/d1", "/b/d2"], "kind": "jbod"},
            "raid6": {"bricks": ["/b/a1"], "kind": "raid6", "disks_per_brick": 12},
        },
        "scale_models": {"large-file": {"scale": 200}},
        "testbed": {"name": "default", "state": "/nowhere"},
        **changed,
    }
    return Cluster.model_validate(pool_data(**keys))


def iozone_output(command: str, rate_kb: Callable[[str], float]) -> str:
    """What IOzone prints for a command line with ``-F``, each file at the rate of its directory."""
    words = shlex.split(command)
    option = dict(itertools.pairwise(words))
    files = words[words.index("-F") + 1 :]
    size = float(option["-s"].removesuffix("k"))
    what = "initial writers" if option["-i"] == "0" else "readers"
    rates = [rate_kb(file) for file in files]
    children = "\n".join(
        f"\tChild[{n}] xfer count = {size:10.2f} kB, Throughput = {rate:10.2f} kB/sec" for n, rate in enumerate(rates)
    )
    return (
        "\t        Version $Revision: 3.489 $\n"
        f"\tFile size set to {size:.0f} kB\n\tRecord Size {option['-r'].removesuffix('k')} kB\n"
        f"\tCommand line used: {command}\n\tOutput is in kBytes/sec\n"
        f"\tThroughput test with {len(files)} processes\n\n"
        f"\tChildren see throughput for {len(files):2d} {what} \t= {sum(rates):10.2f} kB/sec\n"
        f"\tMax throughput per process \t\t\t= {max(rates):10.2f} kB/sec\n"
        f"\tMin throughput per process \t\t\t= {min(rates):10.2f} kB/sec\n"
        f"\tMin xfer \t\t\t\t\t= {size:10.2f} kB\n"
        f"{children}\n\n\n\niozone test complete.\n"
    )


def iperf3_output(seconds: float, rate: float) -> str:
    """What iperf3's client prints with ``-J``, both sides at a rate in bytes per second."""
    done = round(rate * seconds)
    side = f'{{"seconds": {seconds}, "bytes": {done}, "bits_per_second": {8 * rate}}}'
    return (
        '{"start": {"version": "iperf 3.12", "connected": [{}], "test_start": {"protocol": "TCP", "num_streams": 1,'
        f' "blksize": 131072, "duration": {seconds}}}}},\n "intervals": [], "end": {{"streams": [{{"sender": {side},'
        f' "receiver": {side}}}], "sum_sent": {side}, "sum_received": {side}}}}}\n'
    )


class BaselineBench:
    """A cluster in memory whose disks and links have rates that the test chooses."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cluster = make_cluster()
        self.disk_rate: Callable[[str, str], float] = lambda _host, _file: 1000.0
        self.link_rate: Callable[[str, str], float] = lambda _client, _server: 6e6
        self.throttled: list[str | None] = []
        self.connect()

    def connect(self) -> None:
        self.transport = FakeTransport(self.cluster)
        self.transport.hooks.append(self.answer)

    def answer(self, host: str, text: str) -> Outcome | None:
        if "exec iozone" in text:
            command = text[text.index("iozone -t") :].splitlines()[0].rstrip("'")
            return Outcome(iozone_output(command, lambda file: self.disk_rate(host, file)).encode(), b"", 0)
        if "iperf3 -c" in text:
            match = re.search(r"-T .*?(\S+) to (\S+?)['\\\"]", text)
            assert match is not None
            server = match[2]
            return Outcome(iperf3_output(2.0, self.link_rate(host, server)).encode(), b"", 0)
        return None

    def throttle(self, model: str | None) -> dict[str, object]:
        self.throttled.append(model)
        return {"model": model}

    def campaign(self, name: str | None = None, repeats: int = 1, **spec: Any) -> Campaign:
        settings = BaselineSpec.model_validate({"seconds": 2, **spec})
        return baseline_campaign(self.cluster, settings, name=name, repeats=repeats)

    def run(self, campaign: Campaign | None = None, **options: Any) -> RunSummary:
        settings = {"throttle": self.throttle, "pool": Pool(self.cluster.hosts, self.transport), **options}
        return runner.run(campaign or self.campaign(), self.cluster, self.root, **settings)
