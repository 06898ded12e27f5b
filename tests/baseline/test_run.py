"""Whole baselines on a pool in memory: run, killed, resumed, verified, read."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from glusterlab.analysis.baselines import Rates, slow_places
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.cli.check import rates_json, show_rates
from glusterlab.hosts.transport import Outcome
from glusterlab.run.baseline import baseline_name
from glusterlab.run.sample import LocalRun
from glusterlab.run.status import campaign_status
from glusterlab.run.verify import verify
from glusterlab.sections.baseline import Baseline, read_results
from glusterlab.store.baselines import differences, search_baseline
from glusterlab.store.campaign import RawStore
from glusterlab.store.evidence import members
from tests.baseline.bench import ARRAYS, BaselineBench, make_cluster

KB = 1024


class Kill(BaseException):
    """What kill -9 is to the code that it strikes: nothing is cleaned up after it."""


def of(results: tuple[Rates, ...], what: str, kind: str, operation: str) -> Rates:
    return next(each for each in results if (each.what, each.of, each.operation) == (what, kind, operation))


def night(bench: BaselineBench) -> Path | None:
    """The baseline of a campaign of the bench's cluster."""
    return search_baseline(bench.root / "night", bench.cluster).path


def limits_of(bench: BaselineBench, backing: str = "jbod", scale: float = 200.0, *, operations: bool = False) -> Any:
    found = night(bench)
    assert found is not None
    return Baseline(found, bench.cluster.hardware).limits(backing, scale, operations_limited=operations)


def test_a_baseline_is_a_campaign_like_any_other(bench: BaselineBench) -> None:
    summary = bench.run(bench.campaign(repeats=2))
    assert (summary.valid, summary.total, summary.exit_code) == (16, 16, 0)
    path = bench.root / "pool-baseline"
    assert summary.path == path
    # the pool in memory writes no real telemetry
    assert {finding.code for finding in verify(path)} <= {"truncated-xz"}
    status = campaign_status(path)
    assert status.complete
    assert [cell.valid for cell in status.cells] == [2] * 8
    for sample in RawStore.open(path).samples():
        kept = {file.relative_to(sample.path).as_posix() for file in sample.path.rglob("*") if file.is_file()}
        names = kept | {name for name, _ in members(sample.path / "evidence.tar.xz")}
        assert {"workload/command.json", "workload/commands.json", "workload/throttle.json", "log.txt"} <= names
        assert {"gluster/before/health.json", "telemetry/s1.csv.xz", "telemetry/c1.csv.xz"} <= names
        assert not any(name.startswith("gluster/before/peers") for name in names)
    assert set(bench.throttled) == {None, "large-file"}


def test_gluster_is_neither_needed_nor_asked(bench: BaselineBench) -> None:
    bench.transport.disconnected = {"s2"}
    assert bench.run().exit_code == 0
    assert not any("gl_gluster" in text for _, text in bench.transport.calls)


def test_caches_are_dropped_before_each_sample_and_files_removed_at_the_end(bench: BaselineBench) -> None:
    bench.run()
    for host in ("s1", "s2", "c1"):
        assert len(bench.transport.scripts(host, "gl_drop_caches")) == 8
    [removal] = [text for text in bench.transport.scripts("s1", "rmdir") if "glusterlab-baseline" in text]
    for root in ("/b/d1", "/b/d2", "/b/a1"):
        assert f"gl_clear_dir {root}/glusterlab-baseline && rm -f -- {root}/glusterlab-baseline/.glusterlab" in removal


def test_a_baseline_that_was_killed_goes_on(bench: BaselineBench, monkeypatch: pytest.MonkeyPatch) -> None:
    measure, calls = LocalRun._measure, []

    def killed(run: LocalRun) -> None:
        calls.append(run.cell.id)
        if len(calls) == 4:
            raise Kill
        measure(run)

    monkeypatch.setattr(LocalRun, "_measure", killed)
    with pytest.raises(Kill):
        bench.run()
    path = bench.root / "pool-baseline"
    done = {sample.path: (sample.path / "sample.json").read_bytes() for sample in RawStore(path).samples()}
    assert len(done) == 3
    bench.connect()
    summary = bench.run()
    assert (summary.valid, summary.total, summary.executed) == (8, 8, 5)
    assert all((folder / "sample.json").read_bytes() == data for folder, data in done.items())


def test_files_that_a_read_needs_are_written_again(bench: BaselineBench) -> None:
    missing = True

    def lost(host: str, text: str) -> Outcome | None:
        nonlocal missing
        if host == "s1" and "stat -c %s" in text and missing:
            missing = False
            return Outcome(b"", b"/b/d1/glusterlab-baseline/iozone.DUMMY: expected 1 bytes, found none", 1)
        return None

    bench.transport.hooks.append(lost)
    assert bench.run(bench.campaign(network=False)).exit_code == 0
    writes = [text for text in bench.transport.scripts("s1", "exec iozone") if "-i 0" in text]
    assert len(writes) == 3 + 1


def test_a_server_that_fails_makes_the_sample_fail_and_is_named(bench: BaselineBench) -> None:
    def full(host: str, text: str) -> Outcome | None:
        return Outcome(b"", b"write: No space left on device", 74) if host == "s2" and "exec iozone" in text else None

    bench.transport.hooks.append(full)
    summary = bench.run(bench.campaign(network=False))
    assert (summary.valid, summary.failed) == (0, 6)
    sample = RawStore(summary.path).samples()[0]
    assert sample.exit_code == 74
    assert "s2" in {reason.host for reason in sample.reasons}
    assert not read_results(summary.path)


def test_rates_are_by_disk_by_server_and_by_link(bench: BaselineBench) -> None:
    bench.disk_rate = lambda host, file: 500.0 if (host, file[:5]) == ("s2", "/b/d2") else 1000.0
    bench.link_rate = lambda client, server: 12e6 if {client, server} == {"s1", "s2"} else 6e6
    results = read_results(bench.run(bench.campaign(repeats=3)).path)
    alone = of(results, "brick", "jbod", "write")
    assert alone.rates == {"s1:/b/d1": 1000 * KB, "s2:/b/d1": 1000 * KB}
    assert (alone.samples, alone.scale, alone.median) == (3, 200, 1000 * KB)
    together = of(results, "server", "jbod", "write")
    assert together.rates == {"s1": 2000 * KB, "s2": 1500 * KB}
    # one array is alone and all of them
    assert of(results, "brick", "raid6", "read").rates == {"s1:/b/a1": 1000 * KB, "s2:/b/a1": 1000 * KB}
    assert of(results, "server", "raid6", "read").rates == {"s1": 1000 * KB, "s2": 1000 * KB}
    assert of(results, "link", "server", "send").rates == {"s1 to s2": 12e6, "s2 to s1": 12e6}
    assert len(of(results, "link", "client", "send").rates) == 4


def test_the_limits_of_a_campaign_are_those_of_the_newest_baseline_of_its_cluster(bench: BaselineBench) -> None:
    bench.link_rate = lambda client, server: 12e6 if {client, server} == {"s1", "s2"} else 6e6
    bench.run()
    bench.connect()
    bench.disk_rate = lambda _host, _file: 900.0
    bench.run(bench.campaign(name="second"))
    assert night(bench) == bench.root / "second"
    disk = 900 * KB
    # a TCP stream carries less than the 20 and 10 Gbit/s that are stated, divided by 200
    expected = Limits(12.5e6, 6.25e6, 2 * disk, 2 * disk, brick_write=disk, brick_read=disk, source="second")
    assert limits_of(bench) == expected
    assert limits_of(bench, scale=100.0) is limits_of(bench, operations=True) is limits_of(bench, "nvme") is None
    # a baseline has no limits of its own, but those of another
    assert search_baseline(bench.root / "second", bench.cluster).path == bench.root / baseline_name(bench.cluster)


def test_a_link_is_as_fast_as_it_is_stated_or_was_measured_to_be(bench: BaselineBench) -> None:
    # one stream over a bond of two links takes one of them; the clients' links are faster than stated
    bench.link_rate = lambda client, server: 6.2e6 if {client, server} == {"s1", "s2"} else 7e6
    bench.run()
    limits = limits_of(bench)
    assert (limits.server_link, limits.client_link) == (12.5e6, 7e6)


def test_a_campaign_that_is_seen_through_a_link_has_its_baseline(bench: BaselineBench, tmp_path: Path) -> None:
    bench.run()
    (bench.root / "night").mkdir()
    (tmp_path / "view").mkdir()
    (tmp_path / "view" / "night").symlink_to(bench.root / "night")
    assert search_baseline(tmp_path / "view" / "night", bench.cluster).path == bench.root / "pool-baseline"


def test_a_baseline_of_other_hardware_is_none(bench: BaselineBench) -> None:
    bench.run()
    campaign = bench.root / "night"
    others = (
        {"name": "another"},
        {"clients": [{"name": "c9", "address": "10.0.1.1"}]},
        {"hardware": {**ARRAYS, "disk_write": "100 MB/s"}},
        {"scale_models": {"large-file": {"scale": 100}}},
    )
    other = search_baseline(campaign, make_cluster(**others[3]))
    assert (other.path, other.differs) == (None, ())
    (sentence,) = other.refused
    assert sentence.endswith("another cluster of this name: scale_models.large-file: scale 200 there, scale 100 here")
    assert search_baseline(campaign, make_cluster(description="the same")).path is not None
    for changed in others:
        assert search_baseline(campaign, make_cluster(**changed)).path is None, changed
    (bench.root / "pool-baseline/cluster.yaml").write_text("damage")
    assert search_baseline(campaign, bench.cluster).path is None


def test_of_a_baseline_that_differs_in_one_scale_the_others_are_compared(bench: BaselineBench) -> None:
    bench.run()
    more = {"scale_models": {"large": {"scale": 200}, "slow": {"scale": 400}}}
    baseline = Baseline.of(bench.root / "night", make_cluster(**more))
    assert baseline is not None
    assert baseline.differs[-1] == "scale_models.slow: none there, scale 400 here"
    assert {each.model for each in baseline.results} == {"large"}
    assert baseline.limits("jbod", 200.0, operations_limited=False) is not None
    assert baseline.limits("jbod", 400.0, operations_limited=False) is None


def test_a_baseline_without_a_valid_sample_is_none(bench: BaselineBench) -> None:
    shutil.rmtree(bench.run(bench.campaign(network=False)).path / "cells")
    assert night(bench) is None


def test_only_a_baseline_of_all_parts_gives_limits(bench: BaselineBench) -> None:
    bench.run(bench.campaign(network=False))
    assert limits_of(bench) is None


def test_real_hardware_whose_stated_rates_were_corrected_is_the_same() -> None:
    hardware = {**ARRAYS, "disks_per_server": 12}
    real = {"testbed": None, "scale_models": {}, "hardware": hardware}
    corrected = {**real, "hardware": {**hardware, "disk_write": "199 MB/s", "client_link": "9.4 Gbit/s"}}
    assert differences(make_cluster(**real), make_cluster(**corrected)) == ((), ())
    assert differences(make_cluster(**real), make_cluster(**real, name="other")) != ((), ())
    replaced = {**real, "hardware": {**hardware, "disk_model": "another disk"}}
    assert differences(make_cluster(**real), make_cluster(**replaced)) != ((), ())


def test_the_report_names_what_is_slow(bench: BaselineBench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.disk_rate = lambda host, _file: 500.0 if host == "s2" else 1000.0
    results = read_results(bench.run().path)
    lines = slow_places(results, bench.cluster)
    assert "one disk, jbod write, large-file: below 90 % of the median 0.768 MB/s: s2:/b/d1 0.512 MB/s" in lines
    assert not any(line.startswith("link") for line in lines)
    show_rates(results, bench.cluster)
    table = capsys.readouterr().out
    assert "a server's disks at once, jbod" in table
    assert "arrays at once" not in table
    [link] = [line.split() for line in table.splitlines() if "link of a client" in line]
    assert link[-8:] == ["4", "6.00", "6.00", "6.00", "6.25", "96", "%", "1"]
    data = json.loads(json.dumps(rates_json(results, bench.cluster)))
    assert {entry["what"] for entry in data} == {"brick", "server", "link"}
