"""The raw store: whole samples or none, whatever happens."""

import contextlib
import errno
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from unittest.mock import patch

import pytest

from glusterlab.errors import RawStoreError
from glusterlab.run.verify import verify
from glusterlab.store import aside, evidence
from glusterlab.store.campaign import RawStore, Sample
from glusterlab.store.files import dump_json, read_json, write_atomically
from glusterlab.store.manifest import MANIFEST, Manifest, list_files
from tests.store.conftest import add_sample, begin, fill, make_cell, make_store

CAMPAIGN = "glusterlab.store.campaign"


def test_a_campaign_appears_whole_and_is_not_overwritten(new_store: RawStore) -> None:
    whole = [MANIFEST, "campaign.yaml", "cells", "cluster.yaml", "environment.json"]
    assert sorted(entry.name for entry in new_store.path.iterdir()) == whole
    assert new_store.environment()["schema_version"] == 1
    with pytest.raises(RawStoreError, match="expected no such folder"):
        make_store(new_store.path)
    assert list(new_store.path.parent.iterdir()) == [new_store.path]


def test_two_runs_do_not_share_a_campaign_and_creating_it_keeps_its_lock_and_log(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.mkdir()
    with RawStore(path).lock():
        (path / "log.txt").write_text("before\n")
        store = make_store(path)
        with pytest.raises(RawStoreError, match=f"in use by process {os.getpid()} on "), store.lock():
            pass
    assert "before" in (path / "log.txt").read_text()
    with store.lock():
        pass


def test_a_sample_is_stored_with_its_cell_and_listed(new_store: RawStore) -> None:
    cell = make_cell()
    sample = add_sample(new_store, cell)
    assert (sample.status, sample.reasons, sample.sample) == ("valid", (), 1)
    assert (new_store.samples(), new_store.cells()) == ([sample], {cell.id: cell})
    assert add_sample(new_store, cell).sample == 2
    assert verify(new_store.path) == []
    listed = Manifest.read(new_store.path).digests
    assert f"cells/{cell.id}/sample-01/telemetry/server01.csv.xz" in listed
    assert list(listed) == sorted(listed)


def test_an_unfinished_sample_leaves_nothing(new_store: RawStore) -> None:
    with contextlib.suppress(KeyError), begin(new_store) as writer:
        writer.write("workload/stdout.txt", "x")
        raise KeyError
    assert new_store.samples() == []
    assert [entry.name for entry in (new_store.path / "cells" / make_cell().id).iterdir()] == ["cell.json"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ".hidden", "", "workload/.x"])
def test_files_stay_in_the_samples_folder(new_store: RawStore, name: str) -> None:
    with begin(new_store) as writer, pytest.raises(RawStoreError, match="expected a path below"):
        writer.write(name, "x")


def test_raw_files_are_never_replaced(new_store: RawStore) -> None:
    with begin(new_store) as writer:
        writer.write("workload/stdout.txt", "x")
        with pytest.raises(RawStoreError, match="never replaced"):
            writer.write("workload/stdout.txt", "y")


def test_recover_lists_what_was_complete_and_removes_the_rest(new_store: RawStore) -> None:
    cell = make_cell()
    add_sample(new_store, cell)
    listed = (new_store.path / MANIFEST).read_bytes()
    add_sample(new_store, cell)
    (new_store.path / MANIFEST).write_bytes(listed)
    partial = new_store.path / "cells" / cell.id / ".sample-03.partial"
    (partial / "workload").mkdir(parents=True)
    (new_store.path / ".MANIFEST.sha256.tmp").write_text("half")
    assert {finding.code for finding in verify(new_store.path)} >= {"unlisted-sample", "leftover-partial"}
    assert new_store.recover() == [partial]
    assert verify(new_store.path) == []
    assert [sample.sample for sample in new_store.samples()] == [1, 2]


def test_a_left_partial_sample_is_not_written_over(new_store: RawStore) -> None:
    begin(new_store)
    with pytest.raises(RawStoreError, match="interrupted run"):
        begin(new_store)
    assert [finding.code for finding in verify(new_store.path)] == ["leftover-partial"]


def _write_for_ever(path: Path) -> None:
    store, cell = RawStore.open(path), make_cell()
    with store.lock():
        store.recover()
        while True:
            add_sample(store, cell)


def test_kill_at_any_moment_leaves_whole_samples_only(new_store: RawStore) -> None:
    chance = random.Random(20)
    context = multiprocessing.get_context("fork")
    kept: dict[str, bytes] = {}
    for attempt in range(200):
        if attempt >= 20 and len(kept) > 5:
            break
        process = context.Process(target=_write_for_ever, args=(new_store.path,))
        process.start()
        # longer and longer, for a machine that is busy
        time.sleep(chance.uniform(0.02, 0.4) * (1 + attempt / 20))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        for folder in new_store.path.glob("cells/*/sample-*"):
            assert Sample.read(folder).status == "valid"
        with new_store.lock():
            new_store.recover()
        assert not list(new_store.path.rglob("*.partial"))
        assert not list(new_store.path.rglob("*.tmp"))
        now = {str(file): file.read_bytes() for file in new_store.path.rglob("sample.json")}
        assert kept.items() <= now.items()
        kept = now
    assert len(kept) > 5
    assert verify(new_store.path) == []


def test_a_full_disk_is_named_with_advice(new_store: RawStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with begin(new_store) as writer, monkeypatch.context() as patch:
        fill(writer, make_cell())
        patch.setattr(os, "fsync", full)
        with pytest.raises(RawStoreError, match=r"No space left on device; make room there") as caught:
            writer.finish((), disks=1, servers=("server01",), clients=("client01",))
    assert str(new_store.path) in str(caught.value)
    assert new_store.samples() == []
    add_sample(new_store, make_cell())
    with pytest.raises(RawStoreError, match="see to the folder's owner"):
        write_atomically(tmp_path / "absent" / "file", "x")


@pytest.mark.security
def test_what_appears_is_on_the_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync
    done: list[tuple[str, str]] = []

    def named(to_be: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        def name(path: Path, target: Path) -> Path:
            done.append(("named", str(path)))
            return to_be(path, target)

        return name

    def note(descriptor: int) -> None:
        done.append(("synced", str(Path(f"/proc/self/fd/{descriptor}").readlink())))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(Path, "rename", named(Path.rename))
    monkeypatch.setattr(Path, "replace", named(Path.replace))
    small = tmp_path / "raw" / "small"
    small.parent.mkdir()
    store, cell = make_store(small), make_cell()
    sample = small / "cells" / cell.id / "sample-01"
    add_sample(store, cell)
    partial = sample.with_name(".sample-01.partial")
    files = [partial / each.relative_to(sample) for each in sample.rglob("*") if each.name != "sample.json"]
    temporary = [partial / ".sample.json.tmp", sample.parent / ".cell.json.tmp", small / ".MANIFEST.sha256.tmp"]
    appeared = done.index(("named", str(partial)))
    assert {("synced", str(each)) for each in [partial, *files, *temporary[:2]]} <= {*done[:appeared]}
    for each in temporary:
        last = len(done) - 1 - done[::-1].index(("named", str(each)))
        assert done.index(("synced", str(each))) < last < done.index(("synced", str(each.parent)), last)
    assert done.index(("synced", str(sample.parent)), appeared) < done.index(("named", str(temporary[2])), appeared)


@pytest.mark.security
def test_a_campaign_that_appears_whole_is_on_the_disk_first(tmp_path: Path) -> None:
    synced: list[Path] = []
    path = tmp_path / "copy"
    whole = RawStore.whole(path, specifications={"campaign.yaml": ""}, environment={})
    with patch(f"{CAMPAIGN}.sync_below", synced.append), patch(f"{CAMPAIGN}.sync", synced.append), whole as store:
        assert synced == []
    assert synced == [store.path, tmp_path]


def test_json_is_stored_sorted_and_newer_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(dump_json({"z": 1, "schema_version": 2}))
    with pytest.raises(RawStoreError, match="found 2; install a newer glusterlab"):
        read_json(path)
    for text in ("[]", "{}", '{"schema_version": true}', "{", "\xff", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(RawStoreError):
            read_json(path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json({"x": float("nan")})


def test_a_damaged_manifest_is_refused(new_store: RawStore) -> None:
    (new_store.path / MANIFEST).write_text("no digest\n")
    with pytest.raises(RawStoreError, match="1: expected 'path sha256'"):
        add_sample(new_store, make_cell())
    with contextlib.suppress(RawStoreError):
        new_store.recover()


def test_a_cell_that_came_back_keeps_its_digests_after_a_kill(campaign: Path) -> None:
    cell, *others = sorted(path.name for path in (campaign / "cells").iterdir())
    assert aside.agree(campaign, set(others)) == ([cell], [])
    name = "sample-01/workload/stdout.txt"
    (campaign / "aside" / cell / name).write_text("changed meanwhile")
    # killed after the rename, before the manifest knew of it
    (campaign / "aside" / cell).rename(campaign / "cells" / cell)
    RawStore.open(campaign, damaged=True).recover()
    changed = {finding.path for finding in verify(campaign) if finding.code == "changed-file"}
    assert f"cells/{cell}/{name}" in changed


def test_what_is_packed_keeps_its_digests_when_it_is_listed_again(packed: Path) -> None:
    first, second = sorted(packed.glob("cells/*/sample-0[12]/evidence.tar.xz"))[:2]
    assert evidence.digests(first) != evidence.digests(second)
    listed = Manifest.read(packed)
    first.write_bytes(second.read_bytes())
    list_files(packed, [first.parent])
    assert Manifest.read(packed) == listed


def test_of_two_first_runs_the_second_is_refused_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "night"
    path.mkdir()
    rmdir = Path.rmdir
    tried: list[Future[None]] = []

    def second() -> None:
        path.mkdir(exist_ok=True)
        with RawStore(path).lock():
            pass

    def strike(folder: Path) -> None:
        rmdir(folder)
        if folder == path:
            tried.append(threads.submit(second))
            wait(tried, 0.5)

    monkeypatch.setattr(Path, "rmdir", strike)
    with ThreadPoolExecutor() as threads, RawStore(path).lock():
        RawStore.create(path, campaign_yaml="", cluster_yaml="", environment={})
        wait(tried, 60)
    assert ["is in use by process" in str(other.exception()) for other in tried] == [True]
