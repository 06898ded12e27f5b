"""Clients with a kernel of their own: what they need, what they are told, and that other hosts stay as they are."""

import socket
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.errors import TestbedError
from glusterlab.testbed import guests, lifecycle, local, network, state, tree
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
    words = guests.arguments(ONE, "client01")
    assert words[-2:] == ["--", "10.77.0.111/24"]
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
        monkeypatch.setattr(guests.socket, "create_connection", lambda *_: connect(address))
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
