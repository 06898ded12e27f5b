"""Every sample from public places, against the values that its expectation file says a correct parser returns.

The words of IOzone's and sar's files need a module ``samples_<tool>`` each; those of the other tools stand for a field.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import Document, Record, read

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
EXPECTATIONS = sorted(SAMPLES.glob("*/*.expect.json"))
MIB = 1 << 20
FIELDS: dict[str, tuple[str, float]] = {
    # fio
    "bw": ("throughput_bytes_per_s", 1024),
    "bw_bytes": ("throughput_bytes_per_s", 1),
    "iops": ("operations_per_s", 1),
    "runtime_ms": ("elapsed_s", 1e-3),
    "clat_mean_ns": ("latency_mean_s", 1e-9),
    "lat_mean_us": ("total_latency_mean_s", 1e-6),
    "p99_ns": ("latency_p99_s", 1e-9),
    "asked": ("runtime", 1),
    # GlusterFS
    "avg_us": ("latency_mean_s", 1e-6),
    "min": ("latency_min_s", 1e-6),
    "max": ("latency_max_s", 1e-6),
    "duration": ("duration_s", 1),
    "read": ("read_bytes", 1),
    "written": ("written_bytes", 1),
    # SPEC SFS
    "achieved_op_rate": ("operations_per_s", 1),
    "requested_op_rate": ("requested_operations_per_s", 1),
    "avg_file_KB": ("file_size_bytes", 1024),
    "avg_latency_ms": ("latency_mean_s", 1e-3),
    "run_sec": ("elapsed_s", 1),
    "workload": ("job", 1),
    "proc_per_client": ("processes_per_client", 1),
    "client_data_set_MiB": ("client_data_set_bytes", MIB),
    "start_data_set_MiB": ("start_data_set_bytes", MIB),
    "init_file_set_MiB": ("initial_file_set_bytes", MIB),
    "max_file_space_MiB": ("maximum_file_space_bytes", MIB),
    "total_KBps": ("throughput_bytes_per_s", 1024),
    "read_KBps": ("read_throughput_bytes_per_s", 1024),
    "write_KBps": ("write_throughput_bytes_per_s", 1024),
    # smallfile
    "threads": ("workers", 1),
    "elapsed": ("elapsed_s", 1),
    "files_per_sec": ("files_per_s", 1),
    "MiB_per_sec": ("throughput_bytes_per_s", MIB),
    "record_kB": ("record_size_bytes", 1024),
    "pct_min": ("percent_done_min", 1),
    "data_GiB": ("data_bytes", 1 << 30),
}


def values(record: Record) -> dict[str, Any]:
    """Fields and details by name, and what the words of expectations select a record by under None."""
    found = record.as_dict()
    found |= found["details"] | found["details"].get("options", {})
    found["pct"] = found.get("percent_done", found.get("latency_percent"))
    blocks = {each["size_bytes"]: each["writes"] for each in found.get("block_sizes", ())}
    found["writes_1MiB+"] = blocks.get(MIB)
    label, brick = found.get("label"), found.get("brick") or ""
    found["selected by"] = {label, found.get("fop"), f"thread_{label}", f"run{found.get('run')}", brick.split(":")[0]}
    return found


def check(records: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    """Every value of an expectation; an unknown word finds none."""
    own = [record for record in records if record["kind"] != "worker"] or records
    for word, value in expected.items():
        name, factor = FIELDS.get(word, (word, 1))
        if isinstance(value, dict):
            below = records if word == "bricks" else [each for each in records if word in each["selected by"]]
            assert below, word
            check(below, value)
        elif isinstance(value, list):
            for record, point in zip(own, value, strict=True):
                check([record], point)
        else:
            of_own, of_all = ([each[name] for each in some if each.get(name) is not None] for some in (own, records))
            found = of_own or of_all
            number = isinstance(value, (int, float))
            wanted = pytest.approx(value * factor, rel=5e-5) if number else value
            assert found == [wanted] * (0 if value is None else max(len(found), 1)), word


@pytest.mark.skipif(not EXPECTATIONS, reason="the samples lie in ../shared beside the project, which is not here")
@pytest.mark.parametrize("file", EXPECTATIONS, ids=lambda file: file.name.removesuffix(".expect.json"))
def test_sample_gives_the_expected_values(file: Path) -> None:
    described = json.loads(file.read_text(encoding="utf-8"))
    path, expected = file.parent / described["file"], described["expected"]
    if file.parent.name in ("iozone", "sar"):
        importlib.import_module(f".samples_{file.parent.name}", __package__).check(path, expected)
        return
    records = [values(record) for record in read(Document.open(path))]
    check(records, expected)
    if file.parent.name == "smallfile" or "interrupted" in expected:
        judged = {record["valid"] for record in records if record["kind"] == "workload"}
        assert judged == {not expected.get("interrupted", False)}
