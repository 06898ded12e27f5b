"""host.sh is run here by a real bash, on directories and processes of this test's own."""

import io
import os
import shlex
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from glusterlab.errors import HostError
from glusterlab.hosts import files as workdir
from glusterlab.hosts import health as probe
from glusterlab.hosts import script
from tests.fake_pool import write_part
from tests.hosts.shell import ALONE, STATES, bash, call, report, result

pytestmark = pytest.mark.security


def test_any_bytes_pass_and_are_never_taken_for_the_report(tmp_path: Path) -> None:
    inner = write_part("inner", "x", 3) + b"part \n\n\xff\x00"
    (tmp_path / "file").write_bytes(inner)
    calls = (f"outer cat {tmp_path}/file", "big head -c 3000000 /dev/zero", "bad sh -c 'echo no; exit 7'", "empty true")
    parts = report("".join(f"gl_part {call}\n" for call in calls))
    assert parts.pop("big").data == bytes(3_000_000)
    assert parts == {"outer": script.Part(0, inner), "bad": script.Part(7, b"no\n"), "empty": script.Part(0, b"")}


def test_a_volume_takes_files_or_says_why_not(tmp_path: Path) -> None:
    assert bash(f"gl_takes_files {tmp_path} 3").returncode == 0
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    refused = bash(f"gl_takes_files {tmp_path}/file 3")
    assert (refused.returncode, "Not a directory" in refused.stderr) == (1, True)


def test_a_part_is_no_reason_for_a_script_to_end_unless_it_fails_under_set_e() -> None:
    assert list(report("gl_part bad false\ngl_part next true")) == ["bad", "next"]
    assert list(report("set -e\ngl_part good true\ngl_part bad false\ngl_part never true")) == ["good", "bad"]


def test_a_gluster_command_carries_the_mark_by_which_a_stop_ends_it() -> None:
    answer = 'gluster() { printf "%s %s" "$GLUSTERLAB_RUN" "$*"; }\n'
    done = bash(f"{answer}gl_gluster volume start v", GLUSTERLAB_RUN="night.1.7")
    assert done.stdout == "night.1.7 --mode=script volume start v\n"


def test_what_the_shell_reads_itself_is_what_other_tools_read(tmp_path: Path) -> None:
    count = "awk '/^drop_(pagecache|slab) / { n += $2 } END { print n + 0 }' /proc/vmstat"
    ours, theirs = bash(f"gl_dropped; echo $dropped; {count}").stdout.split()
    assert ours == theirs
    kind = subprocess.run(["stat", "-f", "-c", "%T", "/proc"], capture_output=True, text=True, check=True).stdout
    assert bash("gl_mounted /proc").stdout.split()[1] == kind.strip()
    none = call("gl_mounted", tmp_path)
    assert (none.returncode, none.stdout) == (1, "")
    now = time.time()
    # bash before 5.0 does not tell the time
    for before in ("", "unset EPOCHREALTIME\n"):
        word, seconds = bash(f"{before}gl_clock").stdout.split()
        assert word == "clock"
        assert now - 1 < float(seconds) < now + 60


def test_a_greeting_is_skipped_and_other_noise_is_refused() -> None:
    part = write_part("a", "x")
    assert script.read_parts(result(b"Welcome to this host\n" + part))["a"].text == "x"
    with pytest.raises(HostError, match="expected a report"):
        script.read_parts(result(part + b"segmentation fault\n"))
    for cut in range(len(part) - 1, part.index(b"\n"), -1):
        with pytest.raises(HostError, match="part 'a' has no end"):
            script.read_parts(result(part + part[:cut]))
    with pytest.raises(HostError, match="has no part 'clock'"):
        script.need({}, "clock", "gl-s01")


@pytest.mark.parametrize("name", ["plain", "with blank", "$(touch evil)", "quote'and\"quote", ";rm -rf x", "-rf"])
def test_only_marked_directories_are_ever_emptied(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "precious").write_text("x")
    for words in (("gl_clear_dir", folder), ("gl_clear_others", folder, "keep")):
        assert call(*map(str, words)).returncode == 1
    refused = call("gl_mark_dir", folder, "campaign")
    assert (refused.returncode, "was not made by glusterlab" in refused.stderr) == (1, True)
    assert (folder / "precious").exists()
    (folder / "precious").unlink()
    assert call("gl_mark_dir", folder, "campaign 'x'").returncode == 0
    assert (folder / ".glusterlab").read_text() == "campaign 'x'\n"
    for entry in ("keep", "old", ".hidden"):
        (folder / entry).mkdir()
    assert call("gl_make_room", folder, "keep", 1).returncode == 0
    assert len(list(folder.iterdir())) == 4
    assert call("gl_make_room", folder, "keep", 10**15).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == [".glusterlab", "keep"]
    assert call("gl_clear_dir", folder).returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == [".glusterlab"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a directory to another user")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("mkdir real && ln -s real dir", "is a symbolic link"),
        ("ln -s gone dir", "is a symbolic link"),
        ("mkdir dir && touch dir/.glusterlab && chown 12345 dir", "belongs to another user"),
        ("mkdir dir && touch dir/.glusterlab && chmod g+w dir", "others can write to it"),
        ("mkdir dir && chmod 1777 dir", "others can write to it"),
        ("mkdir dir && ln -s ../target dir/.glusterlab", "remove it"),
    ],
)
def test_a_directory_that_others_could_have_made_is_refused(tmp_path: Path, spoil: str, message: str) -> None:
    (tmp_path / "target").write_text("precious")
    subprocess.run(["sh", "-ec", spoil], cwd=tmp_path, check=True)
    refused = call("gl_mark_dir", tmp_path / "dir", "campaign")
    assert (refused.returncode, message in refused.stderr) == (1, True)
    assert (tmp_path / "target").read_text() == "precious"
    assert not (tmp_path / "real" / ".glusterlab").exists()


def test_a_directory_is_made_so_that_no_other_user_can_write_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "dir"
    for _ in range(2):
        assert bash(f"umask 0\n{script.call('gl_mark_dir', str(folder), 'campaign')}").returncode == 0
    assert folder.stat().st_mode & 0o777 == 0o755


MOUNTS = """\
s1:/ours-1 /mnt/gl/ours-1 fuse.glusterfs rw 0 0
s1:ours-2 /mnt/gl/elsewhere fuse.glusterfs rw 0 0
s1:/kept /mnt/gl/kept fuse.glusterfs rw 0 0
s1:/theirs /mnt/gl/theirs fuse.glusterfs rw 0 0
s1:/ours-1/sub /mnt/gl/sub fuse.glusterfs rw 0 0
s1:/ours-1 /srv/ours-1 fuse.glusterfs rw 0 0
s1:/ours-1 /mnt/gl/nfs nfs rw 0 0
"""


def test_only_named_volumes_below_the_directory_are_unmounted(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    text = f"""
awk() {{ command awk "${{@/\\/proc\\/mounts/{str(mounts).replace("/", chr(92) + "/")}}}"; }}
mapfile() {{ builtin mapfile "$@" <{mounts}; }}
umount() {{ echo "$*"; }}
stat() {{ echo ok; }}
rmdir() {{ true; }}
{script.call("gl_umount_others", "/mnt/gl", "/mnt/gl/other	/mnt/gl/kept", "ours-1", "ours-2", "kept")}
"""
    done = bash(text)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["/mnt/gl/ours-1", "/mnt/gl/elsewhere"])
    assert bash(text.replace(" ours-1 ours-2 kept", "")).stdout == ""


def test_a_brick_needs_a_mounted_file_system_and_is_made_afresh(tmp_path: Path) -> None:
    brick = tmp_path / "glusterlab-v" / "brick"
    done = call("gl_make_brick", brick, "campaign")
    assert (done.returncode, "is not mounted" in done.stderr) == (1, True)
    assert "is no directory" in call("gl_make_brick", f"{tmp_path}/none/glusterlab-v/brick", "campaign").stderr
    assert list(tmp_path.iterdir()) == []
    text = f"mountpoint() {{ true; }}\n{script.call('gl_make_brick', str(brick), 'campaign')}"
    assert bash(text).returncode == 0
    (brick / ".glusterfs").mkdir()
    assert bash(text).returncode == 0
    assert list(brick.iterdir()) == []


def test_entries_to_heal_are_counted_without_the_base_file_and_waited_for(tmp_path: Path) -> None:
    for name in ("a/xattrop-1b2c", "b/xattrop-9f", "b/11-22", "b/33-44"):
        root, _, entry = name.partition("/")
        index = tmp_path / root / "glusterlab-v/brick/.glusterfs/indices/xattrop"
        index.mkdir(parents=True, exist_ok=True)
        (index / entry).touch()
    roots = [str(tmp_path / root) for root in ("a", "b", "absent")]
    assert call("gl_heal", 0, "v", *roots).stdout == "heal 2\n"
    began = time.monotonic()
    assert call("gl_heal", 1, "v", roots[0]).stdout == "heal 0\n"
    assert time.monotonic() - began < 1
    late = f"(sleep 0.4; rm {index}/11-22 {index}/33-44) & {script.call('gl_heal', 5, 'v', *roots)}"
    assert bash(late).stdout == "heal 0\n"


ENDING = """\
cd "$1" && mkdir work && ln -s /bin/sleep iozone
GLUSTERLAB_RUN=night.1.2 sleep 61 & ours=$!
sleep 62 & other=$!
bash -c 'printf fio >/proc/$$/comm; while :; do sleep 1; done' iozone & another_tools=$!
(cd work && exec ../iozone 63) & in_our_dir=$!
./iozone 64 & elsewhere=$!
GLUSTERLAB_RUN=night.1.2 tail -f /dev/null & spared=$!
sleep 0.3
export GLUSTERLAB_RUN=night.1.3
sleep 65 & this_call=$!
echo "strays $(gl_strays | cut -d' ' -f3- | sort | tr '\\n' ';')"
gl_kill tail "$1/work" >/dev/null
states ours other another_tools in_our_dir elsewhere spared this_call
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a PID namespace, so that no other process can be hit")
def test_only_processes_of_the_suite_are_ended(tmp_path: Path) -> None:
    done = bash(STATES + ENDING, arguments=(tmp_path,), within=ALONE)
    lines = done.stdout.splitlines()
    assert lines[0] == "strays ../iozone 63 ;./iozone 64 ;sleep 61 ;tail -f /dev/null ;", done.stderr
    ended = [name for name, state in map(str.split, lines[1:]) if state == "ended"]
    assert (ended, len(lines[1:])) == (["ours", "in_our_dir"], 7)


def test_outputs_are_collected_by_name(tmp_path: Path) -> None:
    (tmp_path / "rsp").mkdir()
    (tmp_path / "out.json").write_bytes(b"{}\xff")
    (tmp_path / "rsp" / "one.csv").write_text("1")
    paths = [str(tmp_path / name) for name in ("out.json", "rsp", "absent")]
    for words, found in ((paths, {"out.json": b"{}\xff", "one.csv": b"1"}), ([], {})):
        parts = report(script.part("outputs", "gl_collect", *words))
        assert probe.read_outputs(parts["outputs"], "c1") == found


def test_hostile_outputs_are_refused() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("a/../../etc/passwd", "b/passwd"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/shadow"
        archive.addfile(link)
    with pytest.raises(HostError, match="'passwd' again"):
        probe.read_outputs(script.Part(0, buffer.getvalue()), "c1")
    with pytest.raises(HostError, match="did not arrive whole"):
        probe.read_outputs(script.Part(0, b"no tar"), "c1")


@pytest.mark.parametrize("name", [".profile", "out/.hidden", "out/..", ".."])
def test_outputs_with_hidden_names_or_names_that_lead_away_are_refused(name: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(HostError, match="expected output files with names of their own"):
        probe.read_outputs(script.Part(0, buffer.getvalue()), "c1")


def test_more_output_than_is_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "MAX_OUTPUT_BYTES", 5)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("one", "two"):
            member = tarfile.TarInfo(name)
            member.size = 3
            archive.addfile(member, io.BytesIO(b"abc"))
    with pytest.raises(HostError, match="more than 5 bytes of output"):
        probe.read_outputs(script.Part(0, buffer.getvalue()), "c1")


def test_a_checkout_is_packed_without_its_history(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("secret")
    (tmp_path / "smallfile_cli.py").write_text("print()")
    with tarfile.open(fileobj=io.BytesIO(workdir._pack(tmp_path))) as archive:
        assert archive.getnames() == ["smallfile_cli.py"]


def test_the_clock_offset_is_the_smallest_that_the_readings_allow() -> None:
    def bounds(first: object, second: object) -> tuple[float, float]:
        parts = {name: script.Part(0, f"clock {t}".encode()) for name, t in (("clock", first), ("end", second))}
        return probe.clock_bounds(parts, result(b""))

    assert bounds(100.4, 102.9) == (-0.1, 0.4)
    for readings, offset in {(100.4, 102.9): 0.0, (105.0, 107.5): 4.5, (95.0, 97.5): -5.0}.items():
        assert probe.nearest_to_zero(*bounds(*readings)) == offset
    with pytest.raises(HostError, match="clock could not be read"):
        bounds("", "")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_text("x")
    return folder


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    """A directory of the suite."""
    folder = tmp_path / "work dir"
    assert call("gl_mark_dir", folder, "x").returncode == 0
    return folder


DELETIONS: dict[str, tuple[str | int, ...]] = {
    "clear": ("gl_clear_dir",),
    "others": ("gl_clear_others", "keep"),
    "room": ("gl_make_room", "keep", 10**15),
    "remove": ("gl_remove", "old"),
}


@pytest.fixture(params=DELETIONS)
def delete(request: pytest.FixtureRequest) -> Callable[[Path], str]:
    """The text of each call that deletes."""
    function, *words = DELETIONS[request.param]
    return lambda folder: script.call(str(function), str(folder), *words)


def test_links_are_deleted_and_never_followed(outside: Path, marked: Path, delete: Callable[[Path], str]) -> None:
    (marked / "old").symlink_to(outside)
    assert bash(delete(marked)).returncode == 0
    assert not (marked / "old").is_symlink()
    (marked / "old" / "deep").mkdir(parents=True)
    (marked / "old" / "deep" / "link").symlink_to(outside)
    (marked / "old" / "hard").hardlink_to(outside / "precious")
    assert bash(delete(marked)).returncode == 0
    assert sorted(path.name for path in marked.iterdir()) == [".glusterlab"]
    assert (outside / "precious").read_text() == "x"


SPOILS = {
    "link": "touch .glusterlab; ln -s outside ../link",
    "mark is a link": "touch ../mark; ln -s ../mark .glusterlab",
    "no mark": "",
    "mark is a folder": "mkdir .glusterlab",
    "another's": "touch .glusterlab; chown 12345:12345 .",
}
ANOTHERS = pytest.param("another's", marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give it away"))


@pytest.mark.parametrize("spoil", ["link", "mark is a link", "no mark", "mark is a folder", ANOTHERS])
def test_only_what_is_ours_is_emptied(tmp_path: Path, outside: Path, delete: Callable[[Path], str], spoil: str) -> None:
    (outside / "old").mkdir()
    subprocess.run(["sh", "-ec", SPOILS[spoil]], cwd=outside, check=True)
    done = bash(delete(tmp_path / "link" if spoil == "link" else outside))
    assert done.returncode == 1
    assert "is not marked as glusterlab's: nothing deleted" in done.stderr
    assert (outside / "precious").exists()
    assert (outside / "old").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
@pytest.mark.parametrize("point", ["old", "old/deep"])
def test_what_is_mounted_inside_is_not_deleted(marked: Path, delete: Callable[[Path], str], point: str) -> None:
    inside = shlex.quote(str(marked / point))
    (marked / point).mkdir(parents=True)
    text = f"mount -t tmpfs none {inside} && touch {inside}/precious\n{delete(marked)}; echo code $?; ls {inside}"
    done = bash(text, within=("unshare", "--mount"))
    assert done.stdout == "code 1\nprecious\n", done.stderr


@pytest.mark.parametrize("name", ["", ".", "..", "../outside", "a/b", ".glusterlab", "/etc"])
def test_only_an_entry_of_the_directory_itself_is_removed(outside: Path, marked: Path, name: str) -> None:
    (marked / "a" / "b").mkdir(parents=True)
    done = call("gl_remove", marked, name)
    assert (done.returncode, "expected the name of an entry" in done.stderr) == (1, True)
    assert (outside / "precious").exists()
    assert (marked / "a" / "b").is_dir()
    assert (marked / ".glusterlab").is_file()


@pytest.mark.parametrize("name", ["*", "[ab]", "-rf", "a b", "$(touch evil)", "\\", "ü", "'"])
def test_names_are_no_patterns(marked: Path, name: str) -> None:
    (marked / name / "in").mkdir(parents=True)
    (marked / "a").mkdir()
    assert call("gl_clear_others", marked, name).returncode == 0
    assert sorted(path.name for path in marked.iterdir()) == sorted([".glusterlab", name])
    assert (marked / name / "in").is_dir()
    (marked / "a").mkdir()
    assert call("gl_remove", marked, name).returncode == 0
    assert sorted(path.name for path in marked.iterdir()) == [".glusterlab", "a"]
