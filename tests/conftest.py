"""Synthetic tables for the tests of analysis and plots: numbers that are known, of no pool that was measured."""

import os
import signal
from collections.abc import Callable, Generator, Iterable
from typing import Any

import pandas as pd
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # so a shell starts jobs in the background; what the tests start and interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a testbed is required, as in CI, a security test that is skipped has failed: nothing was tested."""
    report = yield
    required = os.environ.get("GLUSTERLAB_REQUIRE_TESTBED") == "1" and item.get_closest_marker("security")
    if required and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"a security test must run here, and was skipped: {reason}"
    return report


REPLICATE = ("replicate-3x2-raid6", "replicate", "3x2", "raid6")
DISPERSE = ("disperse-12x4+2-jbod", "disperse", "12x(4+2)", "jbod")
GIB = 2**30
UNKNOWN = ("streams_held", "hot_written_fraction", "hot_requests_fraction", "busiest_brick_ratio")


def build_samples(
    values: dict[tuple[str, str, int], Iterable[float]],
    *,
    tool: str = "iozone",
    nominal: int = 4 * GIB,
    scale: int = 200,
    **changed: Any,
) -> pd.DataFrame:
    """Samples by (layout type, operation, workers): one row per value, throughput in bytes/s or files/s."""
    rows = []
    for (kind, operation, workers), numbers in values.items():
        layout = REPLICATE if kind == "replicate" else DISPERSE
        for sample, number in enumerate(numbers, start=1):
            start = 1_000.0 * (len(rows) + 1)
            row = {
                "campaign": "synthetic",
                "cell_id": f"{tool}-{operation}-{nominal}-{layout[0]}-w{workers}",
                "sample": sample,
                "machine": 1,
                "status": "valid",
                "warmup": False,
                **dict(zip(("layout", "type", "geometry", "backing"), layout, strict=True)),
                "kind": layout[3],
                "server_model": "",
                "access": "native",
                "served_by": "",
                "tool": tool,
                "operation": operation,
                "file_size_bytes": nominal // scale if tool == "iozone" else nominal,
                "nominal_file_size_bytes": nominal,
                "record_size_bytes": 524_288.0,
                "files_per_worker": 1,
                "workers": workers,
                "scale": scale,
                "operations_limited": tool == "smallfile",
                "heads": False,
                "mounts": 1,
                "caches": "cold",
                "clients": 12,
                "disks": 72,
                "gluster_version": "10.3",
                "start_s": start,
                "end_s": start + 20,
                "elapsed_s": 30.0,
                "throughput_bytes_per_s": number if tool == "iozone" else number * nominal,
                "files_per_s": float("nan") if tool == "iozone" else number,
                **dict.fromkeys(UNKNOWN, float("nan")),
            }
            rows.append(row | changed)
    return pd.DataFrame(rows)


def build_telemetry(samples: pd.DataFrame) -> pd.DataFrame:
    """Telemetry of two servers and one client, a record every 2 s of each sample, with values known in the tests."""
    rows = []
    for sample in samples.to_dict("records"):
        for host, role in (("s1", "server"), ("s2", "server"), ("c1", "client")):
            factor = 2.0 if host == "s2" else 1.0
            values = [
                ("network", "eth0", "receive_bytes_per_s", 100.0 * factor),
                ("network", "eth0", "transmit_bytes_per_s", 10.0 * factor),
                ("cpu", "all", "idle_fraction", 0.6),
                ("cpu", "all", "iowait_fraction", 0.1),
                ("cpu", "all", "steal_fraction", 0.1),
                ("cpu", "all", "user_fraction", 0.2),
                ("load", "", "load_1min", 3.0),
                ("load", "", "blocked_processes", 1.0),
                ("memory", "", "used_bytes", 1e9),
            ]
            if role == "server":
                for device, waited, requests in (("loop0", 0.001, 30.0), ("loop1", 0.005, 10.0)):
                    values += [
                        ("disk", device, "read_bytes_per_s", 0.0),
                        ("disk", device, "write_bytes_per_s", 50.0),
                        ("disk", device, "await_s", waited),
                        ("disk", device, "transfers_per_s", requests),
                    ]
            rows += [
                {
                    "campaign": sample["campaign"],
                    "cell_id": sample["cell_id"],
                    "sample": sample["sample"],
                    "host": host,
                    "role": role,
                    "time_s": sample["start_s"] + 2.0 * step,
                    "activity": activity,
                    "device": device,
                    "metric": metric,
                    "value": 1e6 if step == 0 and metric.endswith("bytes_per_s") else value,
                }
                for step in range(12)
                for activity, device, metric, value in values
            ]
    return pd.DataFrame(rows)


@pytest.fixture
def make_samples() -> Callable[..., pd.DataFrame]:
    return build_samples


@pytest.fixture
def make_telemetry() -> Callable[[pd.DataFrame], pd.DataFrame]:
    return build_telemetry


@pytest.fixture
def large_samples() -> pd.DataFrame:
    """4 GiB writes and reads of two layouts at 1, 12 and 48 workers, three samples each."""
    level = {1: 0.1, 12: 0.95, 48: 1.0}
    top = {
        ("replicate", "write"): 18e6,
        ("replicate", "read"): 30e6,
        ("disperse", "write"): 28e6,
        ("disperse", "read"): 36e6,
    }
    return build_samples(
        {
            (kind, operation, workers): [value * share * spread for spread in (0.98, 1.0, 1.02)]
            for (kind, operation), value in top.items()
            for workers, share in level.items()
        }
    )
