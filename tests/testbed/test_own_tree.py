"""A host's tree that the user made: what is looked at before hosts run from it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.errors import TestbedError
from glusterlab.testbed import lifecycle, local, own_tree, state, tree
from glusterlab.testbed.options import TestbedOptions

Patch = pytest.MonkeyPatch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("etc", "usr/bin", "usr/sbin"):
        (tmp_path / "tree" / name).mkdir(parents=True)
    return tmp_path / "tree"


@pytest.mark.parametrize(
    ("answer", "version", "said"),
    [
        ("glusterfs 3.8.4 built on Nov 24 2026 17:10:46\n", "3.8.4", []),
        ("lacks sar\nlacks xz\nglusterfs 3.8.4 built on\n", "3.8.4", ["lacks sar, xz, which hosts need"]),
        (
            "lacks gluster\nlacks glusterd\nglusterfs 2.0git built\n",
            "2.0git",
            ["2.0git there has no gluster and no gl"],
        ),
        ("sh: glusterfs: not found\n", "", ["does not say a release"]),
    ],
)
def test_programs_and_release_of_a_tree(
    folder: Path, monkeypatch: Patch, answer: str, version: str, said: list[str]
) -> None:
    monkeypatch.setattr(own_tree, "_unsafe", lambda _: iter(()))
    monkeypatch.setattr(own_tree, "run", lambda *_, **__: answer)
    problems, found = own_tree.examine(folder)
    assert (found, len(problems)) == (version, len(said))
    assert [words for words, problem in zip(said, problems, strict=True) if words not in problem] == []


def test_a_tree_of_guests_needs_what_loads_their_modules(folder: Path, monkeypatch: Patch) -> None:
    # without it a guest panics while it starts, and its trace is all that is seen
    calls: list[list[str]] = []

    def answer(command: list[str], **_: object) -> str:
        calls.append([*map(str, command)])
        return "lacks modprobe\nglusterfs 3.8.4 built on\n" if "modprobe" in calls[-1] else "glusterfs 3.8.4 built on\n"

    monkeypatch.setattr(own_tree, "_unsafe", lambda _: iter(()))
    monkeypatch.setattr(own_tree, "run", answer)
    assert own_tree.examine(folder) == ([], "3.8.4")
    (problem,), _ = own_tree.examine(folder, guests=True)
    assert "lacks modprobe, which hosts need" in problem


def test_nothing_runs_from_a_tree_that_others_can_change(folder: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(own_tree, "run", lambda *_, **__: pytest.fail("a program of it was run"))
    program = folder / "usr/sbin/glusterd"
    program.touch()
    program.chmod(0o777)
    (problem,), version = own_tree.examine(folder)
    assert ("is not root's, or others can write to it" in problem, version) == (True, "")
    assert program in own_tree._unsafe(folder)
    # a tree from before /bin became a link
    shell = folder / "bin/sh"
    shell.parent.mkdir()
    shell.touch()
    shell.chmod(0o777)
    assert shell in own_tree._unsafe(folder)
    assert "found no usr and etc in it" in own_tree.examine(folder / "usr")[0][0]

    def refuse(*_: object, **__: object) -> str:
        raise TestbedError("'chroot' ended with code 126: Exec format error")

    monkeypatch.setattr(own_tree, "_unsafe", lambda _: iter(()))
    monkeypatch.setattr(own_tree, "run", refuse)
    assert "do not run on this machine: 'chroot'" in own_tree.examine(folder)[0][0]


def test_up_makes_nothing_of_a_tree_that_does_not_fit(folder: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(local, "problems", list)
    monkeypatch.setattr(lifecycle, "_problems", lambda _: ["no room"])
    monkeypatch.setattr(own_tree, "examine", lambda _, **__: (["it lacks sar"], ""))
    refused = CliRunner().invoke(app, ["testbed", "up", "--tree", str(folder)])
    assert (refused.exit_code, "it lacks sar; no room" in refused.stderr) == (3, True), refused.output
    both = CliRunner().invoke(app, ["testbed", "up", "--tree", str(folder), "--release", "trixie"])
    assert (both.exit_code, "expected one of them" in both.stderr) == (2, True)
    # neither debootstrap nor room for its tree is asked for
    monkeypatch.undo()
    monkeypatch.setattr(lifecycle, "tree_problems", lambda _: ["debootstrap is not installed"])
    monkeypatch.setattr(lifecycle.network, "subnet_problems", lambda _: [])
    monkeypatch.setattr(lifecycle, "_remains", lambda _: False)
    monkeypatch.setattr(lifecycle.cgroups, "missing", list)
    monkeypatch.setattr(tree, "TREE_BYTES", 1 << 60)
    assert lifecycle._problems(TestbedOptions(tree=str(folder), memory_backed=True)) == []


def test_what_hosts_run_is_kept(tmp_path: Path) -> None:
    options = TestbedOptions(tree="/srv/trees/3.8.4", disks=1, arrays=0)
    made = state.State(tmp_path, options, gluster="3.8.4")
    made.save()
    assert state.State.load(tmp_path) == made
    assert "hosts run a tree of one's own with GlusterFS 3.8.4" in state.cluster_specification(made)["description"]
    assert state.State(tmp_path, TestbedOptions(release="bullseye")).runs == "Debian bullseye with GlusterFS 9.2"
