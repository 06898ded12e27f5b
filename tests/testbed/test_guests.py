"""Clients with a kernel of their own: what they need, what they are told, and that other hosts stay as they are."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.errors import TestbedError, UsageError
from glusterlab.testbed import disks, guests, lifecycle, local, network, state, tree
from glusterlab.testbed.options import TestbedOptions

ONE = TestbedOptions(name="small", servers=1, clients=2, disks=1, arrays=0, kernel_clients=1)
NONE = TestbedOptions(name="small", servers=1, clients=2, disks=1, arrays=0)


def test_only_testbeds_with_guests_need_their_trees() -> None:
    assert guests.trees(NONE) == [("bookworm", tree.PACKAGES)]
    assert guests.trees(ONE) == [("bookworm", tree.SERVING["bookworm"]), ("trixie", tree.KERNEL)]
    assert {"nfs-ganesha-gluster", "samba-vfs-modules", "cifs-utils", *tree.PACKAGES} <= {*tree.SERVING["bookworm"]}
    assert len({tree.tree_path(*each) for each in [*guests.trees(ONE), *guests.trees(NONE)]}) == 3


def test_what_guests_lack_is_said_in_a_sentence_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(guests, "_free_memory_bytes", lambda: 1 << 20)
    monkeypatch.setattr(guests, "_needs_shim", lambda: True)
    monkeypatch.setattr(guests.Path, "exists", lambda _: False)
    monkeypatch.setenv("PATH", "/nonexistent")
    tun, cc, memory = guests.problems(ONE)
    assert "'modprobe tun'" in tun
    assert ("'cc' is not installed" in cc, "has AMX" in cc, "'apt install gcc libc6-dev'" in cc) == (True, True, True)
    assert memory.startswith("512 MB of memory are needed for the guests, and 1 MB are free")
    monkeypatch.setattr(guests, "_needs_shim", lambda: False)
    assert guests.problems(ONE) == [tun, memory]
    monkeypatch.setattr(guests.platform, "machine", lambda: "aarch64")
    assert [problem.endswith("this is aarch64") for problem in guests.problems(ONE)] == [True]


def test_what_lacks_is_said_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path / "testbeds"))
    monkeypatch.setattr(local, "problems", list)
    monkeypatch.setattr(network, "run", lambda *_, **__: "[]")
    monkeypatch.setattr(guests, "problems", lambda _: ["there is no /dev/net/tun"])
    monkeypatch.setattr(lifecycle, "ensure_trees", lambda *_: pytest.fail("a tree was made"))
    refused = CliRunner().invoke(app, ["testbed", "up", "--name", "small", "--kernel-clients", "1"])
    assert (refused.exit_code, "no /dev/net/tun" in refused.stderr) == (3, True), refused.output
    assert not (tmp_path / "testbeds" / "small").exists()


def test_amx_and_memory_are_read_from_proc(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert guests._free_memory_bytes(tmp_path) == 2 << 20
    for flags, expected in (("fpu amx_bf16 amx_tile", True), ("fpu sse", False)):
        (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n")
        assert guests._needs_shim(tmp_path) is expected


def test_a_guest_has_the_address_and_its_host_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(network, "subnet_problems", lambda _: [])
    monkeypatch.setattr(network, "run", lambda _, stdin: made.append(stdin))
    network.make(ONE)
    _, server, guest, client = made
    assert ["addr add" in each for each in (server, guest, client)] == [True, False, True]
    assert ["tuntap add" in each for each in (server, guest, client)] == [False, True, False]
    words = guests.arguments(ONE, "client01", [])
    assert words[-3:] == ["--", "10.77.0.111/24", "client"]
    assert "vec0:transport=tap,ifname=tap0,depth=128,gro=1,mac=02:00:0a:4d:00:6f" in words


def test_cluster_file_and_state_name_guests(tmp_path: Path) -> None:
    made = state.State(tmp_path, ONE)
    made.save()
    assert state.State.load(tmp_path).options.guest_names == ["client01"]
    described = [state.cluster_specification(state.State(tmp_path, each))["description"] for each in (ONE, NONE)]
    assert described[0] == f"{described[1]}; the first 1 clients have a kernel of their own (User-Mode Linux)"


@pytest.mark.parametrize(("banner", "found"), [(b"SSH-2.0-OpenSSH\r\n", {"sshd"}), (b"", set())])
def test_a_guest_is_up_when_its_sshd_answers(monkeypatch: pytest.MonkeyPatch, banner: bytes, found: set[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with server.accept()[0] as connection:
                connection.sendall(banner)

        thread = threading.Thread(target=answer)
        thread.start()
        connect, address = socket.create_connection, server.getsockname()

        def only_sshd(asked: tuple[str, int], _: float) -> socket.socket:
            if asked[1] != 22:
                raise ConnectionRefusedError
            return connect(address)

        monkeypatch.setattr(guests.socket, "create_connection", only_sshd)
        assert guests.services("10.0.0.1") == found
        thread.join()
    assert guests.services("10.0.0.1") == set()


def test_a_library_that_cannot_be_compiled_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "_needs_shim", lambda: True)
    monkeypatch.setattr(guests, "run", lambda argv: local.run(["false", *argv]))
    with pytest.raises(TestbedError, match=r"xsave\.c' ended with code 1"):
        guests.make_shim(tmp_path / "xsave.so")
    monkeypatch.setattr(guests, "_needs_shim", lambda: False)
    guests.make_shim(tmp_path / "xsave.so")


CACHED = TestbedOptions(
    name="small",
    servers=1,
    clients=1,
    disks=2,
    arrays=1,
    nvme=1,
    scale=1200,
    disk_caches=("write-through", "write-back"),
)


def cached_disks() -> list[disks.Disk]:
    points = [(kind, point) for kind, points in disks.mount_points(CACHED).items() for point in points]
    return [disks.Disk("server01", kind, f"/dev/loop{n}", f"7:{n}", point) for n, (kind, point) in enumerate(points)]


def test_a_server_with_caches_is_a_guest_and_has_a_set_of_disks_for_each_mode(tmp_path: Path) -> None:
    assert CACHED.guest_names == ["server01"]
    assert guests.trees(CACHED)[0] == ("bookworm", tree.SERVING["bookworm"])
    made = cached_disks()
    points = {
        "/bricks/jbod/d01": "vda",
        "/bricks/jbod/d02": "vdb",
        "/bricks/jbod-write-through/d03": "mapper/d03",
        "/bricks/jbod-write-through/d04": "mapper/d04",
        "/bricks/jbod-write-back/d05": "mapper/d05",
        "/bricks/jbod-write-back/d06": "mapper/d06",
        "/bricks/raid6/a01": "vdg",
    }
    assert guests.bricks(made) == points
    words = guests.arguments(CACHED, "server01", made)
    assert words[-2:] == ["10.77.0.11/24", "server"]
    assert [word for word in words if "virtio" in word][::7] == [
        "virtio_uml.device=/tmp/disks/vda:2",
        "virtio_uml.device=/tmp/disks/vdh:2",
    ]
    described = state.cluster_specification(state.State(tmp_path, CACHED, made))
    assert described["servers"][0]["devices"] == [f"vd{letter}" for letter in "abcdefgh"]
    assert {name: each["kind"] for name, each in described["backings"].items()} == {
        name: name for name in ("jbod", "raid6", "jbod-write-through", "jbod-write-back")
    }
    assert described["description"].endswith(
        "; servers have a kernel of their own, too, for the caches of their disks (dm-cache)"
    )


def test_caches_lie_one_behind_the_other_on_the_drive_and_fit_it() -> None:
    lines = [line.split(" ") for line in guests.caches(cached_disks(), CACHED.cache_bytes)]
    assert [(name, disk, drive, mode) for name, disk, drive, _, _, _, mode in lines] == [
        ("d03", "vdc", "vdh", "writethrough"),
        ("d04", "vdd", "vdh", "writethrough"),
        ("d05", "vde", "vdh", "writeback"),
        ("d06", "vdf", "vdh", "writeback"),
    ]
    starts, metas, sizes = ([int(line[field]) * 512 for line in lines] for field in (3, 4, 5))
    ends = [start + meta + size for start, meta, size in zip(starts, metas, sizes, strict=True)]
    assert starts == [0, *ends[:-1]]
    assert ends[-1] <= disks.file_system_bytes(CACHED)["nvme"]
    # a twelfth of 800 GB, over the scale, and a journal, in whole chunks
    assert {round((size - (65 << 20)) / (800e9 / 12 / 1200), 2) for size in sizes} == {1.0}
    assert {size % (64 << 10) for size in sizes} == {0}
    # two of twelve disks have a sixth of the drive
    assert CACHED.devices["nvme"].write_bytes_per_s == pytest.approx(1900e6 / 6)
    assert CACHED.devices["disk"] == NONE.devices["disk"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"disk_caches": ("write-around",), "nvme": 1},
        {"disk_caches": ("write-back", "write-back"), "nvme": 1},
        {"disk_caches": ("write-back",), "nvme": 0},
        {"disk_caches": ("write-back",), "nvme": 1, "disks": 0},
        {"disk_caches": ("write-back",), "nvme": 1, "heads": ("medium-file",)},
        {"disk_caches": ("write-back", "write-through"), "nvme": 1, "disks": 12},
    ],
)
def test_caches_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"^--disk-cache"):
        TestbedOptions(**wrong)


def test_the_server_of_guests_disks_is_asked_for_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "_free_memory_bytes", lambda: 64 << 30)
    monkeypatch.setattr(guests, "_needs_shim", lambda: False)
    monkeypatch.setattr(guests.Path, "exists", lambda _: True)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert guests.problems(ONE) == []
    (problem,) = guests.problems(CACHED)
    assert problem.endswith("of --disk-cache is missing: 'apt install qemu-system-common'")
