"""The lock of a cluster: host functions in a real bash, and the protocol of runs that want the same hosts."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import HostError, LockLostError, StoppedError, UsageError
from glusterlab.hosts import files as workdir
from glusterlab.hosts import lock, script
from glusterlab.hosts.lock import Owner
from glusterlab.hosts.pool import MARKER, Pool
from glusterlab.spec import Cluster
from tests.fake_pool import OWNER, FakeTransport
from tests.hosts.conftest import Recorder
from tests.hosts.shell import ALONE, STATES, bash, report
from tests.pools import pool_data

pytestmark = pytest.mark.security


def cluster_of(*names: str) -> Cluster:
    *servers, client = ({"name": name} for name in names)
    return Cluster.model_validate(pool_data(servers=servers, clients=[client]))


@pytest.fixture
def cluster() -> Cluster:
    return cluster_of("s1", "s2", "c1")


def pool_of(cluster: Cluster, fake: FakeTransport, mark: str = "night.1") -> Pool:
    return Pool(cluster.hosts, fake, mark=mark)


def owner_on(fake: FakeTransport, host: str) -> Owner | None:
    text = fake.files.get((host, OWNER))
    return None if text is None else Owner.read(text)


def test_every_host_names_the_run_and_one_round_trip_is_enough(cluster: Cluster, fake: FakeTransport) -> None:
    pool = pool_of(cluster, fake)
    fake.strays = {"c1": ["iozone -i 0"]}
    claim = lock.claim(pool, cluster, "night")
    assert claim.ended == ("c1",)
    assert [host for host, _ in sorted(fake.calls)] == ["c1", "s1", "s2"]
    assert {host: owner_on(fake, host) for host in pool.hosts} == dict.fromkeys(pool.hosts, claim.owner)
    assert lock.owners(pool) == dict.fromkeys(pool.hosts, (claim.owner, False))
    # it is alive here, so that nobody can know better
    for take_over in (False, True):
        before = dict(fake.files)
        with pytest.raises(UsageError, match=r"^3 of 3 hosts, c1 first, are in use by campaign 'night', process \d+ "):
            lock.claim(pool_of(cluster, fake, "other.1"), cluster, "other", take_over=take_over)
        assert fake.files == before
    lock.release(pool, claim.owner)
    assert not fake.files


def test_a_run_that_has_only_some_of_the_hosts_is_respected(fake: FakeTransport) -> None:
    other = cluster_of("s2", "s3", "c2")
    first = lock.claim(pool_of(other, fake, "other.1"), other, "other")
    mine = cluster_of("s1", "s2", "c1")
    fake.strays = {"s2": ["iozone of the other run"]}
    with pytest.raises(UsageError, match=r"^s2 is in use by campaign 'other'.*: wait for it, or end it, then run"):
        lock.claim(pool_of(mine, fake), mine, "night")
    assert {host for host, _ in fake.files} == {"s2", "s3", "c2"}
    assert fake.strays == {"s2": ["iozone of the other run"]}
    lock.release(pool_of(mine, fake), replace(first.owner, mark="night.1"))
    assert owner_on(fake, "s2") == first.owner


@pytest.mark.parametrize("gone", [{"started": "other-boot:12"}, {"pid": 2**22 + 1, "started": "x"}])
def test_what_a_dead_run_left_is_replaced(cluster: Cluster, fake: FakeTransport, gone: dict[str, Any]) -> None:
    left = replace(Owner.this_process("killed", "killed.1"), **gone)
    fake.files["s1", OWNER] = left.text
    pool = pool_of(cluster, fake)
    assert lock.owners(pool) == {"s1": (left, True)}
    assert lock.claim(pool, cluster, "night").owner == owner_on(fake, "s1")


def elsewhere(**change: str) -> str:
    here = Owner.this_process("far", "far.1")
    return replace(here, since="2026-11-19T22:14:05.000000+00:00", started="x", **change).text


FAR = r"since 2026-11-19 22:14 UTC.*; if it is dead for good, .*--take-over"
UNREAD = "s2 is locked by something that cannot be read"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (elsewhere(controller="another-machine"), FAR),
        (elsewhere(machine="0123456789abcdef"), FAR),
        *((text, UNREAD) for text in ("", "damage", "[1]", '{"campaign": "x"}')),
    ],
    ids=["another name", "the same name", "empty", "damage", "list", "half"],
)
def test_a_lock_of_others_holds_until_take_over(cluster: Cluster, fake: FakeTransport, text: str, message: str) -> None:
    fake.files["s2", OWNER] = text
    pool = pool_of(cluster, fake)
    with pytest.raises(UsageError, match=message):
        lock.claim(pool, cluster, "night")
    assert fake.files == {("s2", OWNER): text}
    claim = lock.claim(pool, cluster, "night", take_over=True)
    assert owner_on(fake, "s2") == claim.owner


@pytest.mark.parametrize("seed", range(5))
def test_of_runs_at_once_one_has_the_cluster(fake: FakeTransport, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(lock, "TIE_S", 2.0)
    clusters = [cluster_of("s1", "s2", "c1"), cluster_of("s2", "s1", "c2"), cluster_of("s2", "s3", "c1")]
    gate = threading.Barrier(len(clusters))

    def start(number: int) -> Owner:
        pool = pool_of(clusters[number], fake, f"run.{number}.{seed}")
        gate.wait()
        return lock.claim(pool, clusters[number], f"night-{number}").owner

    with ThreadPoolExecutor(len(clusters)) as threads:
        runs = [threads.submit(start, number) for number in range(len(clusters))]
    (won,) = (run.result() for run in runs if not run.exception())
    assert [type(run.exception()) for run in runs if run.exception()] == [UsageError, UsageError]
    assert list(fake.files.values()) == [won.text] * 3


def test_the_earlier_run_waits_a_while(cluster: Cluster, fake: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    later = replace(Owner.this_process("later", "later.1"), since="2999-01-01T00:00:00.000000+00:00")
    fake.files["s2", OWNER] = later.text
    with monkeypatch.context() as patch:
        patch.setattr(lock, "TIE_S", 0.0)
        with pytest.raises(UsageError, match="s2 is in use by campaign 'later'"):
            lock.claim(pool_of(cluster, fake), cluster, "night")
    assert fake.files == {("s2", OWNER): later.text}
    threading.Timer(1.0, lambda: fake.files.pop(("s2", OWNER))).start()
    claim = lock.claim(pool_of(cluster, fake), cluster, "night")
    assert owner_on(fake, "s2") == claim.owner


def test_nothing_is_kept_when_a_host_fails_or_the_run_is_stopped(cluster: Cluster, fake: FakeTransport) -> None:
    pool = pool_of(cluster, fake)
    fake.down = {"s2"}
    with pytest.raises(HostError, match="not reachable"):
        lock.claim(pool, cluster, "night")
    assert not fake.files
    fake.down = set()
    fake.hooks.append(lambda host, text: pool.stop() if host == "s2" and text.startswith("gl_take") else None)
    with pytest.raises(StoppedError):
        lock.claim(pool, cluster, "night")
    assert not fake.files
    assert pool._stop.requested


def lock_sh(text: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return bash(text, "lock.sh", **options)


def take(place: Path, text: str, replaced: str = "") -> tuple[int, str]:
    done = lock_sh(script.call("gl_lock", str(place), text, replaced))
    return done.returncode, done.stdout


def give_back(place: Path, text: str) -> None:
    assert lock_sh(script.call("gl_unlock", str(place), text)).returncode == 0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "lock 'of' a host"


def test_a_host_is_locked_given_back_and_replaced_by_its_text(place: Path) -> None:
    assert take(place, "first $(id)") == (0, "")
    assert (place / "owner.json").read_text() == "first $(id)\n"
    assert take(place, "first $(id)") == (0, "")
    assert take(place, "second") == take(place, "second", "somebody else") == (3, "first $(id)\n")
    give_back(place, "second")
    assert take(place, "second") == (3, "first $(id)\n")
    assert take(place, "second", "first $(id)") == (0, "")
    assert take(place, "third") == (3, "second\n")
    give_back(place, "second")
    assert take(place, "third") == (0, "")
    (place / "owner.json").write_text("")
    assert take(place, "fourth") == (3, "empty\n")
    assert take(place, "fourth", "empty") == (0, "")
    assert sorted(path.name for path in place.iterdir()) == [".glusterlab", "lock", "owner.json"]
    give_back(place / "gone", "x")
    assert not (place / "gone").exists()


def test_a_run_notices_that_it_was_taken_over(place: Path) -> None:
    owner = Owner.this_process("night", "night.1")
    guard = script.call("gl_guard", str(place / "owner.json"), "night.1") + "\necho went on"

    def goes_on() -> bool:
        done = lock_sh(guard)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("part lost ") != (done.stdout == "went on\n")
        return done.stdout == "went on\n"

    assert not goes_on()
    take(place, owner.text)
    assert goes_on()
    other = replace(owner, mark="night.12")
    assert take(place, other.text, owner.text) == (0, "")
    assert not goes_on()
    # the other run has ended: what it took is not this run's again
    give_back(place, other.text)
    assert not goes_on()
    (place / "owner.json").write_text("")
    assert not goes_on()


def test_a_host_taken_over_is_refused_a_silent_one_passed_over(cluster: Cluster, fake: FakeTransport) -> None:
    pool = pool_of(cluster, fake)
    lock.claim(pool, cluster, "night")
    lock.refuse_if_lost(pool)
    fake.down = {"s2"}
    lock.refuse_if_lost(pool)
    del fake.files["c1", OWNER]
    with pytest.raises(LockLostError, match=r"^another run has taken over c1, or the lock there was removed"):
        lock.refuse_if_lost(pool)


def test_hosts_are_left_by_one_script_but_not_those_of_another_run(cluster: Cluster, fake: FakeTransport) -> None:
    pool = pool_of(cluster, fake)
    claim = lock.claim(pool, cluster, "night")
    theirs = replace(claim.owner, mark="theirs.1").text
    fake.files["c1", OWNER] = theirs
    fake.strays = {"c1": ["iozone of theirs"], "s1": ["iozone of ours"]}
    assert workdir.end_processes(pool, cluster) == ["c1"]
    assert fake.strays == {"c1": ["iozone of theirs"]}
    fake.strays |= {"s1": ["iozone of ours"], "s2": ["iozone of ours"]}
    fake.down = {"s2"}
    fake.calls.clear()
    assert set(lock.leave(pool, cluster, claim.owner, within_s=5.0)) == {"s2"}
    assert sorted(host for host, _ in fake.calls) == ["c1", "s1"]
    assert fake.strays == {"c1": ["iozone of theirs"], "s2": ["iozone of ours"]}
    assert fake.files["c1", OWNER] == theirs
    assert ("s1", OWNER) not in fake.files


@pytest.mark.parametrize(
    ("rounds", "dropped", "code"), [([0], False, 0), ([3], False, 0), ([4, 1], True, 0), ([4, 4], True, 1)]
)
def test_a_volume_goes_where_nothing_ends_its_processes(
    place: Path, rounds: list[int], dropped: bool, code: int
) -> None:
    """A mount that hangs is not to be had here: what would end processes, and take a mount away, is replaced."""
    mounts, counts = place.parent / "mounts", place.parent / "counts"
    lines = ("s1:/v /mnt/g/v fuse.glusterfs", "s1:/v /mnt/gone fuse.glusterfs", "/x /mnt/g/x xfs")
    mounts.write_text("".join(f"{line} rw 0 0\n" for line in lines))
    counts.write_text("".join(f"{n}\n" for n in rounds))
    replaced = f"""
gl_kill() {{ seq "$(head -n 1 {counts})" | sed s/.*/17/; sed -i 1d {counts}; }}
gl_drop_mount() {{ echo "dropped $1"; }}
"""
    paths = {"</proc/mounts\n        !": f"<{mounts}\n        !"}
    take(place, "mine")
    done = lock_sh(replaced + script.call("gl_leave", str(place), "mine", "/mnt/g", "/var/tmp/g"), replaced=paths)
    assert (done.returncode, done.stdout) == (code, "dropped /mnt/g/v\n" * dropped)
    assert counts.read_text() == ""
    assert not (place / "owner.json").exists()


def test_a_lock_where_others_could_write_is_refused(place: Path) -> None:
    place.mkdir()
    (place / "precious").write_text("x")
    done = lock_sh(script.call("gl_lock", str(place), "mine", ""))
    assert (done.returncode, "was not made by glusterlab" in done.stderr) == (1, True)
    assert [path.name for path in place.iterdir()] == ["precious"]


def test_a_link_in_the_place_of_the_owner_is_never_written_through(place: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    take(place, "mine")
    (place / "owner.json").unlink()
    (place / "owner.json").symlink_to(target)
    assert [take(place, "mine")[0], take(place, "mine", "precious")[0]] == [3, 0]
    assert target.read_text() == "precious"


def test_many_scripts_at_once_leave_one_owner(place: Path) -> None:
    calls = "\n".join(f'( gl_lock "$1" run-{n} "" >/dev/null; echo "run-{n} $?" ) &' for n in range(40))
    done = lock_sh(f"{calls}\nwait", arguments=(place,))
    codes = dict(line.split() for line in done.stdout.splitlines())
    assert sorted(codes.values()) == ["0", *["3"] * 39], done.stderr
    assert codes[(place / "owner.json").read_text().strip()] == "0"


def test_a_host_is_made_ready_only_when_it_is_taken(place: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    take = ("gl_take", str(place), "mine", "", str(work), "campaign night", str(tmp_path))
    text = f"gl_kill() {{ echo 17; }}\n{script.call(*take)}"
    assert report(text, "lock.sh") == {"lock": script.Part(0, b""), "ended": script.Part(0, b"17\n")}
    assert (work / ".glusterlab").read_text() == "campaign night\n"
    (place / "owner.json").write_text("theirs\n")
    assert report(text, "lock.sh") == {"lock": script.Part(3, b"theirs\n")}


TAKING = """\
mkdir "$1/work"
flock "$1/held" sleep 61 & beside=$!
GLUSTERLAB_RUN=night.0.7 sleep 62 & left=$!
sleep 0.3
gl_take "$1/lock" mine "" "$1/work" campaign "$1/work" >/dev/null
states beside left
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a PID namespace, so that no other process can be hit")
def test_scripts_that_take_the_same_machine_do_not_end_each_other(tmp_path: Path) -> None:
    done = lock_sh(STATES + TAKING, arguments=(tmp_path,), within=ALONE)
    assert done.stdout.splitlines() == ["beside lives", "left ended"], done.stderr


def test_what_takes_a_host_carries_no_mark_by_which_others_would_end_it(cluster: Cluster, fake: Recorder) -> None:
    pool = pool_of(cluster, fake)
    lock.release(pool, lock.claim(pool, cluster, "night").owner)
    assert len(fake.lines) == 2 * len(pool.hosts)
    assert not [line for line in fake.lines if MARKER in line]


def test_an_owner_is_gone_when_its_process_is() -> None:
    code = "from glusterlab.hosts import lock; print(lock.Owner.this_process('a', 'a.1').text, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        owner = Owner.read(child.stdout.readline())
        assert owner is not None
        before = (owner.is_of_this_machine, owner.has_ended)
        child.communicate("\n", timeout=30)
    assert (*before, owner.has_ended) == (True, False, True)
    assert not replace(owner, machine="another").has_ended


def test_no_machine_id_is_left_on_the_hosts() -> None:
    owner, machine_id = Owner.this_process("night", "night.1"), Path("/etc/machine-id")
    if machine_id.exists() and machine_id.read_text().strip():
        assert machine_id.read_text().strip() not in owner.text
    assert len(json.loads(owner.text)["machine"]) == 16
