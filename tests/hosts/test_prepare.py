"""Devices are looked at, judged and prepared: on loop devices of this test's own, by a real bash."""

import os
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.errors import CommandError, HostError, UsageError
from glusterlab.hosts import lock, prepare, script
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.prepare import Device, label_of
from glusterlab.hosts.transport import Outcome, Stop
from glusterlab.spec import Cluster, dump_yaml
from glusterlab.spec.cluster import Backing, Host
from tests.hosts.shell import bash
from tests.pools import HARDWARE, pool_data

pytestmark = pytest.mark.security

SIZE = 400 << 20
"""mkfs.xfs takes no less than 300 MiB."""


class Here:
    """A `Transport` to this machine, where each script is run by a bash of its own, but not to hosts that are away."""

    def __init__(self, *away: str) -> None:
        self.away = away

    def open(self, host: Host) -> None:
        if host.name in self.away:
            raise HostError("not reachable", host=host.name)

    def close(self, host: Host) -> None:
        pass

    def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
        done = subprocess.run(["sh", "-c", command], input=stdin, capture_output=True, timeout=deadline_s, check=False)
        return Outcome(done.stdout, done.stderr, done.returncode)


def cluster_of(folder: Path, devices: list[str] | None, **backing: Any) -> Cluster:
    bricks = [str(folder / "bricks" / f"d{n}") for n in range(len(devices or ["one"]))]
    return Cluster.model_validate(
        pool_data(
            servers=[{"name": "s1"}],
            hardware={**HARDWARE, "disks_per_server": 9},
            work_dir=str(folder / "work"),
            backings={"jbod": {"bricks": bricks, "kind": "jbod", "devices": devices, **backing}},
        )
    )


def device_of(text: str, *, wipe: bool = False) -> Device:
    device = Device("s1", "jbod", "/dev/sdb", "/bricks/d1", prepare.read_facts(text), "digest")
    backing = Backing(bricks=("/bricks/d1",), kind="jbod", devices=("/dev/sdb",), wipe=wipe)
    return prepare.judge([device], {"jbod": backing})[0]


BLANK = "real /dev/sdb\nnumber 2064\nsize 4000787030016\nmodel ST4000NM0033\nsamples 1024\n"
HERE = BLANK + "mounted /bricks/d1\npoint_number 2064\n"
OURS = f"type xfs\nlabel {label_of('jbod', '/bricks/d1')}\nsignature xfs\n"


@pytest.mark.parametrize(
    ("facts", "action", "with_wipe", "why"),
    [
        ("missing yes", "refused", "refused", "no such block device"),
        (BLANK, "make", "make", "looks blank"),
        (BLANK + "data yes", "refused", "wipe", "is not blank"),
        (BLANK + "signature ext4 u l\ntype ext4", "refused", "wipe", "is not blank"),
        (BLANK + "pttype gpt\nchild sdb1 part 512 -", "refused", "wipe", "is not blank"),
        (BLANK + "pttype gpt\nchild sdb1 part 512 ext4", "refused", "wipe", "is not blank"),
        (BLANK + "pttype gpt\nchild sdb1 part 512 btrfs", "refused", "refused", "sdb1 belongs to Btrfs"),
        (BLANK + "pttype dos\nchild sdb5 part 512 LVM2_member", "refused", "refused", "wipefs -a /dev/sdb5"),
        (BLANK + "pttype dos\nchild sdb1 part 512 zfs_member\nchild sdb9 part 9 -", "refused", "refused", "to ZFS"),
        (BLANK + "pttype dos\nchild sdb1 part 512 ?", "refused", "refused", "sdb1 could not be examined"),
        (BLANK + "pttype dos\nchild sdb1 part 512 dos", "refused", "refused", "partition table of its own"),
        (BLANK + "no_table yes\nsignature gpt", "refused", "refused", "partition table that could not be read"),
        (BLANK + "unread lsblk: no such command", "refused", "refused", "lsblk: no such command"),
        (BLANK + "type xfs\nlabel theirs", "refused", "wipe", "is not blank"),
        (BLANK + OURS, "mount", "mount", "was made by glusterlab"),
        (BLANK + "mounted /", "refused", "refused", "is mounted at /"),
        (BLANK + OURS + "mounted /srv/elsewhere", "refused", "refused", "is mounted at /srv/elsewhere"),
        (BLANK + "swap /dev/sdb", "refused", "refused", "swap"),
        (BLANK + "holder dm-0 (crypt: ext4)", "refused", "refused", "is part of dm-0 (crypt: ext4)"),
        (BLANK + "read_only yes", "refused", "refused", "read-only"),
        (BLANK + "point_is not empty", "refused", "refused", "/bricks/d1 is not empty"),
        (BLANK + "type linux_raid_member", "refused", "refused", "belongs to mdadm"),
        (BLANK + "signature LVM2_member u", "refused", "refused", "belongs to LVM"),
        (BLANK + "type VMFS_volume_member", "refused", "refused", "belongs to something larger (VMFS_volume_member)"),
        (BLANK + "type btrfs", "refused", "refused", "belongs to Btrfs"),
        (HERE + OURS + "point_has /dev/sdb xfs rw,noatime", "ready", "ready", "is mounted where it should be"),
        (HERE + OURS + "point_has /dev/sdb xfs rw,relatime", "ready", "ready", "without noatime"),
        (BLANK + "point_has /dev/sdc xfs rw\npoint_number 2080", "refused", "refused", "/dev/sdc is mounted"),
        (HERE + "mounted /srv\npoint_has /dev/sdb xfs rw", "refused", "refused", "is mounted at /srv, too"),
        (HERE + "point_has /dev/sdb ext4 rw", "refused", "refused", "as ext4: expected xfs"),
    ],
)
def test_what_is_to_be_done_with_a_device(facts: str, action: str, with_wipe: str, why: str) -> None:
    device = device_of(facts)
    assert (device.action, device_of(facts, wipe=True).action) == (action, with_wipe)
    assert why in device.why


def test_one_device_under_two_names_is_refused() -> None:
    backing = Backing(bricks=("/b/1", "/b/2"), kind="jbod", devices=("/dev/sdb", "/dev/disk/by-id/x"), wipe=True)
    facts, places = prepare.read_facts(BLANK), zip(backing.devices_of("s1"), backing.bricks, strict=True)
    both = [Device("s1", "jbod", path, brick, facts, "") for path, brick in places]
    assert {device.action for device in prepare.judge(both, {"jbod": backing})} == {"refused"}


def test_a_cluster_that_names_no_devices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no devices"):
        prepare.named(cluster_of(tmp_path, None))


def run(*words: str | Path) -> str:
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout.strip()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for loop devices")
Loop = Callable[..., str]


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Loop]:
    """Makes blank loop devices, and takes away everything that was made on them."""
    made: list[str] = []
    monkeypatch.setattr(lock, "LOCK_DIR", str(tmp_path / "lock"))
    # this machine may have testbeds with runs of their own, whose processes are seen from here
    texts = script.library
    # each sample of a device starts a process: all of them only where data may lie between few
    of = "1024 " if "content" in request.fixturenames else "64 "
    added = "\ngl_kill() { :; }\n"
    monkeypatch.setattr(script, "library", lambda *more: texts(*more).replace("samples=1024 ", f"samples={of}") + added)

    def make(name: str, size: int = SIZE) -> str:
        image = tmp_path / f"{name}.img"
        with image.open("wb") as file:
            file.truncate(size)
        made.append(run("losetup", "--find", "--show", image))
        forget_partitions(made[-1])
        return made[-1]

    yield make
    for point in sorted((tmp_path / "bricks").glob("*")):
        subprocess.run(["umount", point], capture_output=True, check=False)
    for device in made:
        subprocess.run(["umount", device], capture_output=True, check=False)
        forget_partitions(device)
        subprocess.run(["losetup", "-d", device], check=True)


def forget_partitions(device: str) -> None:
    """Partitions outlive a loop device: those of a test that was killed would be on the next device of that number."""
    subprocess.run(["partx", "--delete", device], capture_output=True, check=False)


def pool_of(cluster: Cluster) -> Pool:
    return Pool(cluster.hosts, Here(), mark=f"test-prepare.{os.getpid()}")


def prepared(pool: Pool, cluster: Cluster, found: list[Device]) -> prepare.Prepared:
    return prepare.prepare(pool, cluster, found, note=lambda _: None)


def do(cluster: Cluster) -> tuple[list[str], prepare.Prepared]:
    pool = pool_of(cluster)
    devices = prepare.look(pool, cluster)
    return [device.action for device in devices], prepared(pool, cluster, devices)


def format_precious(device: str) -> None:
    run("mkfs.ext4", "-q", "-L", "precious", device)


@needs_root
def test_blank_devices_are_made_and_mounted_once(tmp_path: Path, loop: Loop) -> None:
    cluster = cluster_of(tmp_path, [loop("a", 4 * SIZE), loop("b", 4 * SIZE)], stripe_unit="128 KiB", stripe_width=10)
    actions, done = do(cluster)
    assert actions == ["make", "make"]
    for brick in cluster.backings["jbod"].bricks:
        assert run("findmnt", "-no", "FSTYPE", brick) == "xfs"
        assert "noatime" in run("findmnt", "-no", "OPTIONS", brick)
        assert "isize=512" in run("xfs_info", brick)
        assert "naming   =version 2              bsize=8192" in run("xfs_info", brick)
        assert "sunit=32     swidth=320" in run("xfs_info", brick)
        (Path(brick) / "kept").touch()
    uuid = run("blkid", "-p", "-o", "value", "-s", "UUID", cluster.backings["jbod"].devices_of("s1")[0])
    first = cluster.backings["jbod"].bricks[0]
    assert done.fstab["s1"][0] == f"UUID={uuid} {first} xfs rw,inode64,noatime,nofail 0 0"
    actions, again = do(cluster)
    assert actions == ["ready", "ready"]
    assert again.made == ()
    run("umount", first)
    actions, again = do(cluster)
    assert actions == ["mount", "ready"]
    assert [device.brick for device in again.made] == [first]
    assert (Path(first) / "kept").exists()
    assert not (tmp_path / "lock" / "owner.json").exists()


PARTITION = bytes([0, 0, 2, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (4096).to_bytes(4, "little")
_CHECKED = b"\x20\0\0\0LVM2 001".ljust(492, b"A")  # by CRC-32 that begins with 0xF597A6CF
_SUM = zlib.crc32(_CHECKED, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
LVM = b"LABELONE\1\0\0\0\0\0\0\0" + _SUM.to_bytes(4, "little") + _CHECKED
CONTENTS = {
    "ext4": {},
    "partitions": {446: PARTITION, 510: b"\x55\xaa"},
    "LVM": {512: LVM},
    "deep data": {SIZE // 2 + (3 << 20): b"precious" * (2 << 17)},
    "only line ends": {3 << 20: b"\n" * 4096},
}


@needs_root
@pytest.mark.parametrize("content", CONTENTS)
def test_a_device_that_is_not_blank_is_shown_and_refused(tmp_path: Path, loop: Loop, content: str) -> None:
    device, blank = loop("a"), loop("b")
    if content == "ext4":
        format_precious(device)
    with Path(device).open("r+b") as file:
        for place, data in CONTENTS[content].items():
            file.seek(place)
            file.write(data)
    before = run("cksum", device)
    cluster = cluster_of(tmp_path, [device, blank])
    found = prepare.look(pool_of(cluster), cluster)
    assert [(each.action, each.is_blank) for each in found] == [("refused", False), ("make", True)]
    assert found[1].contents == "nothing found in 1,024 samples"
    assert found[0].contents.startswith("ext4 'precious'") == (content == "ext4")
    with pytest.raises(UsageError, match="nothing was done on any device"):
        prepared(pool_of(cluster), cluster, found)
    assert run("cksum", device) == before
    assert not (tmp_path / "bricks").exists()


@needs_root
def test_a_device_in_use_is_refused_whatever_the_file_says(tmp_path: Path, loop: Loop) -> None:
    device = loop("a")
    format_precious(device)
    (tmp_path / "bricks" / "other").mkdir(parents=True)
    run("mount", device, tmp_path / "bricks" / "other")
    cluster = cluster_of(tmp_path, [device], wipe=True)
    found = prepare.look(pool_of(cluster), cluster)
    advice = "unmount it if nobody needs it there"
    assert [(each.action, each.why) for each in found] == [
        ("refused", f"is mounted at {tmp_path}/bricks/other: {advice}")
    ]


EXTENDED = bytes([0, 0, 2, 0, 5, 0, 0, 0]) + (8192).to_bytes(4, "little") + (8192).to_bytes(4, "little")
MEMBERS = {
    "loop{}p1 belongs to LVM": {(1 << 20) + 512: LVM},
    "loop{}p5 belongs to Btrfs": {(5 << 20) + 65600: b"_BHRfS_M", (5 << 20) + 65672: (2).to_bytes(8, "little")},
}


@needs_root
@pytest.mark.parametrize("known", [True, False], ids=["known to the kernel", "in the table alone"])
@pytest.mark.parametrize("member", MEMBERS)
def test_a_member_in_a_partition_is_refused_whatever_the_file_says(
    tmp_path: Path, loop: Loop, member: str, known: bool
) -> None:
    device, other = loop("a"), loop("b")
    for each, contents in ((device, MEMBERS[member]), (other, {})):
        with Path(each).open("r+b") as file:
            for place, data in {446: PARTITION + EXTENDED, 510: b"\x55\xaa", **contents}.items():
                file.seek(place)
                file.write(data)
            for place, data in ((446, PARTITION), (510, b"\x55\xaa")):  # the logical partition's own table
                file.seek((4 << 20) + place)
                file.write(data)
        if known:
            run("partx", "--update", each)
    cluster = cluster_of(tmp_path, [device, other], wipe=True)
    found = prepare.look(pool_of(cluster), cluster)
    if known:
        run("partx", "--delete", device)
        run("partx", "--delete", other)
    assert [each.action for each in found] == ["refused", "wipe"]
    assert member.format(device.removeprefix("/dev/loop")) in found[0].why


@needs_root
def test_a_disk_that_changed_its_name_is_not_touched(
    tmp_path: Path, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, texts = cluster_of(tmp_path, [loop("a")]), script.library
    serial = 'lsblk() {{ command lsblk "$@" | sed "s/SERIAL=\\"\\"/SERIAL=\\"{}\\"/"; }}'
    monkeypatch.setattr(script, "library", lambda *more: f"{texts(*more)}\n{serial.format('WD-1')}\n")
    found = prepare.look(pool_of(cluster), cluster)
    assert found[0].serial == "WD-1"
    monkeypatch.setattr(script, "library", lambda *more: f"{texts(*more)}\n{serial.format('WD-2')}\n")
    with pytest.raises(CommandError, match=r"is another disk than the one shown.*WD-1.*WD-2"):
        prepared(pool_of(cluster), cluster, found)
    assert not (tmp_path / "bricks").exists()


@needs_root
@pytest.mark.parametrize(("changed", "message"), [(True, "is not as it was when it was shown"), (False, "busy")])
def test_what_changed_since_it_was_shown_or_is_open_stays(
    tmp_path: Path, loop: Loop, changed: bool, message: str
) -> None:
    """As ZFS and others have theirs open, of which the kernel's lists say nothing."""
    device = loop("a")
    if not changed:
        format_precious(device)
    cluster = cluster_of(tmp_path, [device], wipe=True)
    pool = pool_of(cluster)
    found = prepare.look(pool, cluster)
    if changed:
        format_precious(device)
    held = os.open(device, os.O_RDONLY | (0 if changed else os.O_EXCL))
    before = run("cksum", device)
    try:
        with pytest.raises(CommandError, match=message):
            prepared(pool, cluster, found)
    finally:
        os.close(held)
    assert run("cksum", device) == before


BEGIN, END = "# glusterlab prepare: begin\n", "# glusterlab prepare: end\n"


def fstab(file: Path, text: str) -> subprocess.CompletedProcess[str]:
    return bash(script.call("gl_fstab", str(file), text), "prepare.sh")


def test_lines_of_fstab_are_replaced_between_marks_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "fstab"
    file.write_text("# mine\nUUID=1 / ext4 defaults 0 1\n")
    file.chmod(0o640)
    for text in ("UUID=2 /b/1 xfs rw 0 0", "UUID=2 /b/1 xfs rw 0 0\nUUID=3 /b/2 xfs rw 0 0"):
        assert fstab(file, text).returncode == 0
        assert file.read_text() == f"# mine\nUUID=1 / ext4 defaults 0 1\n{BEGIN}{text}\n{END}"
    assert file.stat().st_mode & 0o777 == 0o640
    backup = tmp_path / "fstab.before-glusterlab"
    assert backup.read_text() == file.read_text().replace("UUID=3 /b/2 xfs rw 0 0\n", "")
    assert fstab(file, text).returncode == 0
    assert backup.read_text() != file.read_text()  # nothing changed, and the backup is still that of the change
    before = file.read_text()
    refused = fstab(file, "UUID=9 / xfs rw 0 0")
    assert (refused.returncode, file.read_text()) == (1, before)
    assert "has a line for / that glusterlab did not write" in refused.stderr
    (tmp_path / "link").symlink_to(file)
    assert fstab(tmp_path / "link", "x").returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fstab", "fstab.before-glusterlab", "link"]


@pytest.mark.parametrize(
    "marks", [(BEGIN, ""), ("", END), (END, BEGIN), (BEGIN, BEGIN + END), (BEGIN, END + BEGIN + END), (BEGIN, END * 2)]
)
def test_lines_of_fstab_are_left_alone_where_the_marks_are_no_pair(tmp_path: Path, marks: tuple[str, str]) -> None:
    file = tmp_path / "fstab"
    before = f"UUID=1 / ext4 defaults 0 1\n{marks[0]}UUID=2 /b/1 xfs rw 0 0\n{marks[1]}UUID=7 /home ext4 defaults 0 2\n"
    file.write_text(before)
    refused = fstab(file, "UUID=2 /b/1 xfs rw 0 0")
    assert refused.returncode == 1
    assert "once each, in this order, or neither; found # glusterlab prepare: " in refused.stderr
    assert file.read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["fstab"]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command, on a cluster of this machine; what is typed is asked for by a terminal."""

    def call(cluster: Cluster, *options: str, typed: str | None = None, away: str = "") -> Any:
        file = tmp_path / "cluster.yaml"
        file.write_text(dump_yaml(cluster))
        of = classmethod(lambda cls, found, mark: cls(found.hosts, Here(away), mark=mark))
        monkeypatch.setattr(Pool, "of", of)
        if typed:
            monkeypatch.setattr("glusterlab.cli.prepare._can_ask", lambda: True)
        return CliRunner().invoke(app, ["prepare", str(file), *options], input=typed)

    return call


@needs_root
def test_the_operator_is_asked_for_the_clusters_name(tmp_path: Path, loop: Loop, command: Callable[..., Any]) -> None:
    device = loop("a")
    format_precious(device)
    cluster = cluster_of(tmp_path, [device], wipe=True)
    shown = command(cluster, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "ext4 'precious'" in shown.stdout
    assert "WIPE" in shown.stdout
    blind = command(cluster)
    assert (blind.exit_code, "nobody can be asked here" in blind.stderr) == (2, True)
    wrong = command(cluster, typed="y\n")
    assert (wrong.exit_code, "what is on 1 of the devices is lost for good" in wrong.stderr) == (2, True)
    assert run("blkid", "-p", "-o", "value", "-s", "LABEL", device) == "precious"
    done = command(cluster, typed="pool\n")
    assert done.exit_code == 0, done.output
    assert "s1: UUID=" in done.stdout
    assert run("findmnt", "-no", "FSTYPE", cluster.backings["jbod"].bricks[0]) == "xfs"
    again = command(cluster)
    assert (again.exit_code, "all bricks were ready already" in again.stderr) == (0, True)


@needs_root
def test_yes_does_not_say_wipe(tmp_path: Path, loop: Loop, command: Callable[..., Any]) -> None:
    device = loop("a")
    format_precious(device)
    refused = command(cluster_of(tmp_path, [device]), "--yes", "--json")
    assert (refused.exit_code, '"action": "refused"' in refused.stdout) == (1, True)
    assert run("blkid", "-p", "-o", "value", "-s", "LABEL", device) == "precious"


@needs_root
def test_a_look_needs_servers_only_work_all_hosts(tmp_path: Path, loop: Loop, command: Callable[..., Any]) -> None:
    cluster = cluster_of(tmp_path, [loop("a")])
    shown = command(cluster, "--dry-run", away="c1")
    assert shown.exit_code == 0, shown.output
    assert "looks blank" in shown.stdout
    assert "looking at 1 device\n" in shown.stderr
    refused = command(cluster, "--yes", away="c1")
    assert (refused.exit_code, "c1: not reachable" in refused.stderr) == (3, True)
    assert not prepare.look(pool_of(cluster), cluster)[0].facts.get("type")
