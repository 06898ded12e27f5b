"""sar: real commands on this machine where sysstat is here, and a parser held against a slow obvious one."""

import lzma
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glusterlab.errors import ParseError
from glusterlab.spec.cluster import Host
from glusterlab.telemetry import collect as sar
from glusterlab.telemetry import metrics
from glusterlab.telemetry.arrow import arrow_batches

DATA = Path(__file__).parents[1] / "data" / "sar"
COLUMNS: dict[str, tuple[str, ...]] = {
    "cpu": ("%user", "%nice", "%system", "%iowait", "%steal", "%idle"),
    "queue": ("runq-sz", "ldavg-1", "blocked"),
    "memory": ("kbmemfree", "kbavail", "kbmemused", "kbbuffers", "kbcached", "kbdirty"),
    "io": ("tps", "bread/s", "bwrtn/s"),
    "disk": ("tps", "rkB/s", "rd_sec/s", "wkB/s", "wr_sec/s", "aqu-sz", "avgqu-sz", "await", "%util"),
    "network": ("rxpck/s", "txpck/s", "rxkB/s", "rxbyt/s", "txkB/s", "txbyt/s", "%ifutil"),
}
"""What is held against the reference."""
NAMES = ["host", "time_s", "activity", "device", "metric", "value"]


def parse(files: dict[str, Path]) -> pd.DataFrame:
    """Telemetry of several hosts as the tables get it."""
    batches = [table for host, path in files.items() for table in arrow_batches(path, {"host": host})]
    frame = pd.concat([table.to_pandas() for table in batches], ignore_index=True)[NAMES]
    frame = frame.astype(dict.fromkeys(["host", "activity", "device", "metric"], "str"))
    return frame.sort_values(["host", "activity", "device", "metric", "time_s"], ignore_index=True)


MARKS = sar.REQUIRED | {"io": "bread/s", "disk": "await", "network": "rxpck/s"}


def _reference(files: dict[str, Path]) -> pd.DataFrame:
    """Line by line, value by value: slow, and plain to see."""
    rows = []
    for host, path in files.items():
        columns: list[str] = []
        for line in path.read_text().splitlines():
            fields = line.split(";")
            if line.startswith("# "):
                columns = line[2:].split(";")
                continue
            if fields[1] == "-1":
                continue
            values = dict(zip(columns, fields, strict=True))
            for activity, used in COLUMNS.items():
                place = {"queue": "load"}.get(activity, activity)
                if MARKS[place] not in values:
                    continue
                device = values.get({"cpu": "CPU", "disk": "DEV", "network": "IFACE"}.get(activity, ""), "")
                if activity == "cpu":
                    if device != "-1":
                        continue
                    device = "all"
                for column in used:
                    if column in values:
                        metric, factor = metrics.METRICS[activity][column]
                        value = float(values[column]) * factor
                        rows.append((host, float(values["timestamp"]), place, device, metric, value))
    frame = pd.DataFrame(rows, columns=NAMES)
    return frame.sort_values(["host", "activity", "device", "metric", "time_s"], ignore_index=True)


def _same(files: dict[str, Path]) -> None:
    expected = _reference(files)
    known = set(expected[["activity", "metric"]].itertuples(index=False, name=None))
    frame = parse(files)
    rows = [pair in known for pair in frame[["activity", "metric"]].itertuples(index=False, name=None)]
    pd.testing.assert_frame_equal(frame[rows].reset_index(drop=True), expected, check_dtype=False)


@pytest.mark.parametrize("name", ["plain", "restart"])
def test_real_output_against_the_reference(name: str) -> None:
    frame = parse({"host01": DATA / f"{name}.csv"})
    assert set(frame["activity"]) == {"cpu", "load", "memory", "io", "disk", "network"}
    assert set(frame.loc[frame["activity"] == "disk", "device"]) == {"vda", "loop12"}
    _same({"host01": DATA / f"{name}.csv"})


def test_units_are_si() -> None:
    frame = parse({"h": DATA / "restart.csv"})
    first = frame[frame["time_s"] == 1795170059.0].set_index(["activity", "device", "metric"])["value"]
    wanted = {
        ("cpu", "all", "iowait_fraction"): 0.495,
        ("disk", "vda", "write_bytes_per_s"): 9600 * 1024,
        ("io", "", "write_bytes_per_s"): 19200 * 512,
        ("disk", "vda", "await_s"): 0.25e-3,
        ("memory", "", "dirty_bytes"): 628 * 1024,
        ("load", "", "blocked_processes"): 1,
    }
    assert first[list(wanted)].to_dict() == pytest.approx(wanted)


def _blocks() -> list[str]:
    text = (DATA / "plain.csv").read_text()
    return ["# " + block for block in text.split("# ")[1:]]


@settings(deadline=None, max_examples=25)
@given(order=st.permutations(range(len(_blocks()))), cut=st.integers(0, 3), seed=st.integers(0, 99))
def test_blocks_and_rows_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], cut: int, seed: int
) -> None:
    chance, blocks = random.Random(seed), _blocks()
    shuffled = []
    for index in order:
        header, *rows = blocks[index].splitlines()
        chance.shuffle(rows)
        shuffled += [header, *rows[cut:]]
        if cut and chance.random() < 0.3:
            shuffled.append(f"host01;-1;{1795170030 + seed};LINUX-RESTART\t(2 CPU)")
    path = tmp_path_factory.mktemp("sar") / "a.csv"
    path.write_text("\n".join(shuffled) + "\n")
    _same({"a": path, "b": DATA / "restart.csv"})


def test_older_columns(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text(
        "# hostname;interval;timestamp;DEV;tps;rd_sec/s;wr_sec/s;avgrq-sz;avgqu-sz;await;svctm;%util\n"
        "h;2;100;dev8-0;4.00;8.00;32.00;8.00;0.04;8.75;8.75;3.50\n"
        "# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s;rxbyt/s;txbyt/s;rxcmp/s;txcmp/s;rxmcst/s\n"
        "h;2;100;eth0;1.00;2.00;300.00;400.00;0.00;0.00;0.00\n"
    )
    values = parse({"h": path}).set_index(["activity", "metric"])["value"]
    assert values["disk", "read_bytes_per_s"] == 8 * 512
    assert values["disk", "queue_length"] == pytest.approx(0.04)
    assert values["network", "receive_bytes_per_s"] == 300


MEMORY = "# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused;kbbuffers;kbcached;kbdirty\n"


def test_memory_in_use_is_without_caches_whatever_the_version(tmp_path: Path) -> None:
    old, new, small = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "small.csv"
    # 8,000,000 kB: 3,000,000 in use, and caches of 1,000,000 that sysstat before 11.7.4 counts as used
    first = "h;2;100;7990000;7990000;10000;0.13;0;500;0\n"
    old.write_text(MEMORY + first + "h;2;102;4000000;5000000;4000000;50.00;200000;800000;4\n")
    new.write_text(MEMORY + first + "h;2;102;4000000;5000000;3000000;37.50;200000;800000;4\n")
    # next to no caches: 0.12 % may be 0.115 %, so the total is known to 4 % only
    small.write_text(MEMORY + "h;2;102;24608304;24610224;29592;0.12;0;12864;0\n")
    frame = parse({"old": old, "new": new, "small": small})
    used = frame[frame["metric"] == "used_bytes"].set_index(["host", "time_s"])["value"] / 1024
    assert used.to_dict() == {
        ("old", 100.0): 9500.0,
        ("old", 102.0): 3000000.0,
        ("new", 100.0): 10000.0,
        ("new", 102.0): 3000000.0,
        ("small", 102.0): 29592.0,
    }


PLAIN = (DATA / "plain.csv").read_text()
PACKED = lzma.compress(PLAIN.encode())


def _short_line(text: str) -> str:
    """A line of 65 that is too short, among those of one record."""
    lines = text.splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if n and line.split(";")[:3] == lines[n - 1].split(";")[:3])
    lines[number] = lines[number].rpartition(";")[0] + "\n"
    return "".join(lines)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (PLAIN.replace("47.62", "47x62").encode(), "2: expected numbers in %user, found '47x62'"),
        (PLAIN.replace("47.62;", "").encode(), "2: expected 10 fields, found 9"),
        (PLAIN.partition("\n")[2].encode(), "1: expected a header"),
        (_short_line(PLAIN).encode(), r":\d+: expected \d+ fields, found \d"),
        (_blocks()[0].encode(), "expected records of load, memory, found none"),
        (b"", "expected records of cpu, load, memory"),
        (PACKED[:-9], "found damage"),
        (PACKED[:40] + b"x" + PACKED[41:], "found damage"),
        (lzma.compress(bytes(64 << 20), preset=0), "packed bytes to hold at most"),
    ],
    ids=range(9),
)
def test_damage_and_bombs_are_named(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / ("a.csv.xz" if data.startswith(b"\xfd7zXZ") else "a.csv")
    path.write_bytes(data)
    # what is of no matter to the coverage is, when values are read
    read: Callable[[Path], object] = (lambda path: parse({"a": path})) if "numbers" in message else sar.coverage
    with pytest.raises(ParseError, match=message) as caught:
        read(path)
    assert caught.value.file == path


def test_coverage(tmp_path: Path) -> None:
    plain = sar.coverage(DATA / "plain.csv")
    assert (plain.begin_s, plain.end_s, plain.interval_s, plain.covered_s) == (1795170038, 1795170044, 2, 6)
    assert plain.restarts == ()
    assert plain.gap(1795170038.0, 1795170045.0) is None
    assert plain.gap(1795170034.0, 1795170045.0) == "telemetry begins 4 s after the start of the workload"
    assert plain.gap(1795170038.0, 1795170048.0) == "telemetry ends 4 s before the end of the workload"
    assert "the host restarted" in (sar.coverage(DATA / "restart.csv").gap(1795170058.0, 1795170062.0) or "")
    # a hole in the middle
    path = tmp_path / "a.csv"
    later = [line for line in PLAIN.replace("17951700", "17951709").splitlines() if ";-1;" in line]
    path.write_text(PLAIN + "\n".join([PLAIN.partition("\n")[0], *later]) + "\n")
    by: Literal["sum", "steps"]
    for by in ("sum", "steps"):
        assert "without a gap" in (sar.coverage(path).gap(1795170040.0, 1795170940.0, by=by) or "")


def test_intervals_that_sadf_rounded_are_no_gap(tmp_path: Path) -> None:
    """As seen: a little more than 2 s between records, which sadf says are 2, and the sum says seconds less."""
    header, first = PLAIN.splitlines()[0], next(line for line in PLAIN.splitlines() if ";-1;" in line)
    _, _, _, rest = first.split(";", 3)
    rows = [f"host01;2;{1795170040 + int(2.012 * n)};{rest}" for n in range(450)]
    others = [line for line in PLAIN.splitlines() if ";-1;" not in line]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([header, *rows, *others]) + "\n")
    found = sar.coverage(path)
    window = (found.begin_s, found.end_s)
    assert "expected 905 s of telemetry without a gap, found 900" in (found.gap(*window, by="sum") or "")
    assert found.gap(*window) is None
    # but records that are not there are a gap
    path.write_text("\n".join([header, *rows[:200], *rows[203:], *others]) + "\n")
    assert "without a gap, found 899" in (sar.coverage(path).gap(*window) or "")


def test_only_what_figures_use_is_converted() -> None:
    host = Host(name="s1", devices=("sda", "sdb"), interface="eth0")
    script = sar.convert_command(host, "/w/f").script
    assert "LC_ALL=C sadf -d -U /w/f -- -u -q -r -b -d --dev=sda,sdb -n DEV --iface=eth0" in script
    assert " -d --dev" not in sar.convert_command(Host(name="c1"), "/w/f").script


def test_sadc_is_found_where_a_system_keeps_it(tmp_path: Path) -> None:
    """Debian 13 moved it; a place that is not looked at leaves a whole campaign without telemetry."""
    assert "/usr/libexec/sysstat/sadc" in sar.SADC_PLACES
    found = []
    for place in sar.SADC_PLACES:
        own = tmp_path / place.strip("/")
        own.parent.mkdir(parents=True)
        own.write_text("#!/bin/sh\n")
        own.chmod(0o755)
        script = sar._SADC.replace("/usr/", f"{tmp_path}/usr/") + 'echo "$sadc"\n'
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
        found.append(done.stdout.strip().removeprefix(str(tmp_path)))
        own.unlink()
    assert found == list(sar.SADC_PLACES)
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "install sysstat" in done.stderr
