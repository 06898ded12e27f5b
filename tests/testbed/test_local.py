"""Commands on the machine itself: what they say when they fail, and that nothing of them goes on."""

import json
import os
import time
from pathlib import Path

import pytest

from glusterlab.errors import TestbedError, UsageError
from glusterlab.testbed import cgroups, lifecycle, local, state
from glusterlab.testbed.options import TestbedOptions


def test_output_and_failure() -> None:
    assert local.run(["cat"], stdin="bytes\n") == "bytes\n"
    with pytest.raises(TestbedError, match=r"'sh -c .*' ended with code 3: why"):
        local.run(["sh", "-c", "echo why >&2; exit 3"])
    assert local.run(["sh", "-c", "echo all the same; exit 3"], check=False) == "all the same\n"
    with pytest.raises(TestbedError, match="'no-such-command' is not installed"):
        local.run(["no-such-command"])


def test_deadline_ends_the_children_too(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(TestbedError, match="did not end within 0 s"):
        local.run(["sh", "-c", f"(sleep 1; touch {mark}) & wait"], deadline_s=0.2)
    time.sleep(1.2)
    assert not mark.exists()


def test_kernel_files_that_are_missing_or_refuse(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="does not offer"):
        local.write_value(tmp_path / "a" / "b", "1")
    with pytest.raises(TestbedError, match="refused '1'"):
        local.write_value(Path("/proc/version"), "1\n")


def test_mounts_below_are_the_deepest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"1 1 0:1 / {point} rw - tmpfs x rw\n" for point in ("/", "/a", "/a/b", "/ab", "/a/b/c"))
    monkeypatch.setattr(local.Path, "read_text", lambda *_, **__: lines)
    assert local.mounts_below(Path("/a")) == ["/a/b/c", "/a/b", "/a"]


@pytest.mark.security
def test_nothing_is_deleted_through_a_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person may have mounted something in a testbed's folder, which goes when the testbed is taken down."""
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path / "a home"))
    monkeypatch.setattr(local, "require", lambda: None)
    monkeypatch.setattr(local, "run", lambda *_, **__: "")
    folder = tmp_path / "a home" / "nonesuch"
    (folder / "shared").mkdir(parents=True)
    for file in (state.MARKER, "shared/thesis.txt"):
        (folder / file).touch()
    read = Path.read_text
    line = f"1 1 0:1 / {folder}/shared rw - nfs nas:/home rw\n".replace("a home", r"a\040home")
    monkeypatch.setattr(
        Path, "read_text", lambda path, *_, **kw: line if path.name == "mountinfo" else read(path, **kw)
    )
    with pytest.raises(TestbedError, match=f"^{folder}/shared is mounted: nothing of .* is deleted"):
        lifecycle.down("nonesuch", lambda _: None)
    assert (folder / "shared/thesis.txt").exists()


def test_a_testbed_of_another_home_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other" / "small"
    other.mkdir(parents=True)
    (other / state.MARKER).touch()
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path / "mine"))
    monkeypatch.setattr(local, "require", lambda: None)
    monkeypatch.setattr(lifecycle.network, "namespaces", lambda _: ["glusterlab-small-server01"])
    monkeypatch.setattr(lifecycle, "_remove", lambda *_: pytest.fail("something was removed"))
    loops = [{"name": "/dev/loop7", "back-file": f"{other}/disks/server01/d01.img"}]
    monkeypatch.setattr(lifecycle.disks, "run", lambda *_, **__: json.dumps({"loopdevices": loops}))
    with pytest.raises(UsageError, match=f"is one of {other.parent}, and none of .*/mine: 'GLUSTERLAB_TESTBED_HOME="):
        lifecycle.down("small", lambda _: None)
    # what a crash left, with no folder anywhere, is removed
    (other / state.MARKER).unlink()
    removed: list[str] = []
    monkeypatch.setattr(lifecycle, "_remove", lambda name, _: removed.append(name))
    lifecycle.down("small", lambda _: None)
    assert removed == ["small"]


def test_a_host_is_up_when_its_services_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = (
        *("/bin/bash\0/usr/local/sbin/host-init\0server", "glusterd\0--pid-file=/run/glusterd.pid", ""),
        *("sshd: root@notty", "sshd: /usr/sbin/sshd [listener] 0 of 128-256 startups"),
    )
    for pid, command in enumerate(commands):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_text(command)
    assert lifecycle.services([0, 2, 3, 99], tmp_path) == {"bash", ""}
    assert lifecycle.services(range(5), tmp_path) >= {"glusterd", "sshd"}
    made = state.State(tmp_path, TestbedOptions(name="small", servers=1, clients=1))
    monkeypatch.setattr(state.State, "load", lambda _: made)
    monkeypatch.setattr(lifecycle.network, "namespaces", lambda _: ["glusterlab-small-server01"])
    monkeypatch.setattr(lifecycle.network, "pids", lambda _: [3])
    monkeypatch.setattr(lifecycle, "services", lambda pids: {"sshd"} if pids else set())
    server, client = lifecycle.status("small")
    assert (server.running, server.lacks, server.processes) == (False, ("glusterd",), 1)
    assert (client.running, client.lacks, client.processes) == (False, ("sshd",), 0)


def test_state_home_is_what_the_kernel_calls_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path / "link"))
    assert state.state_home() == tmp_path / "real"


def test_no_lxcfs_is_nothing_to_stop(tmp_path: Path) -> None:
    cgroups.stop_lxcfs(tmp_path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it outlives what started it
def test_what_is_started_is_found_by_its_arguments_and_ends(tmp_path: Path) -> None:
    log, mark = tmp_path / "log.txt", str(tmp_path)

    def find() -> list[int]:
        return local.processes(lambda words: words[:1] == [b"sh"] and os.fsencode(mark) in words)

    with pytest.raises(TestbedError, match="the sleeper did not start: no bed"):
        local.start_until(lambda: False, ["sh", "-c", "echo no bed >&2; exit 1"], log, "the sleeper", deadline_s=9)
    script = "echo up; while :; do sleep 1; done"
    local.start_until(lambda: b"up" in log.read_bytes(), ["sh", "-c", script, mark], log, "it", deadline_s=9)
    assert len(find()) == 1
    local.end_all(find, "the sleeper")
    assert not find()
