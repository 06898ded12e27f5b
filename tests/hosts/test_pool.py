from __future__ import annotations

import getpass
import os
import pickle
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from glusterlab.errors import CommandError, HostError, StoppedError
from glusterlab.hosts.pool import Command, CommandResult, Pool, Results
from glusterlab.hosts.transport import FabricTransport, Outcome, Stop, ssh_options
from glusterlab.spec.cluster import Host, Ssh
from tests.hosts import sshd

pytestmark = pytest.mark.skipif(
    sshd.SSHD is None or os.geteuid() != 0, reason="needs root and OpenSSH's sshd to start one on loopback"
)

ALPHA, BETA = Host(name="alpha"), Host(name="beta")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.LoopbackSshd]:
    running = sshd.start(tmp_path_factory.mktemp("sshd"))
    yield running
    running.stop()


def transport(server: sshd.LoopbackSshd, **settings: object) -> FabricTransport:
    return FabricTransport(ssh_config=server.ssh_config, user=getpass.getuser(), **settings)  # type: ignore[arg-type]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def pool(server: sshd.LoopbackSshd) -> Iterator[Pool]:
    pool = Pool([ALPHA, BETA], transport(server), mark="tests")
    assert pool.connect() == {}
    yield pool
    pool.close()


def test_a_script_runs_on_every_host_and_outputs_stay_bytes(pool: Pool) -> None:
    seen: list[CommandResult] = []
    pool.sink = seen.append
    results = pool.run_everywhere(Command("printf '\\377\\000x'; echo warn >&2; echo $GLUSTERLAB_RUN >&2"))
    assert sorted(results.succeeded) == ["alpha", "beta"]
    assert not results.failed
    for result in results.succeeded.values():
        assert result.stdout == b"\xff\x00x"
        assert re.fullmatch(rb"warn\ntests\.\d+\n", result.stderr)
        assert result.start <= result.end
    assert sorted((result.host, result.exit_code) for result in seen) == [("alpha", 0), ("beta", 0)]


def test_nothing_in_a_script_can_eat_the_rest_of_it(pool: Pool) -> None:
    assert pool.run_on("alpha", Command("cat\necho after")).text == "after\n"


def test_big_outputs_and_inputs_pass(pool: Pool) -> None:
    result = pool.run_on("alpha", Command("head -c 9000000 /dev/zero; head -c 3000000 /dev/zero >&2"))
    assert (len(result.stdout), len(result.stderr)) == (9_000_000, 3_000_000)
    data = os.urandom(5_000_000)
    assert pool.send({"alpha": ("cat", data)}).succeeded["alpha"].stdout == data


def test_a_failing_script_is_in_the_second_map_with_its_stderr(pool: Pool) -> None:
    results = pool.run({"alpha": Command("echo no disk >&2; exit 3"), "beta": Command("true")})
    assert list(results.succeeded) == ["beta"]
    error = results.failed["alpha"]
    assert isinstance(error, CommandError)
    assert error.returncode == 3
    assert "ended with code 3: no disk" in str(error)
    with pytest.raises(CommandError, match=r"alpha: .*code 3"):
        results.or_raise()


def test_a_script_past_its_deadline_is_ended_on_the_host(pool: Pool, tmp_path: Path) -> None:
    began = time.monotonic()
    pid_file = tmp_path / "pid"
    results = pool.run({"alpha": Command(f"sh -c 'echo $$ > {pid_file}; exec sleep 60'", deadline_s=1.0)})
    assert time.monotonic() - began < 4
    error = results.failed["alpha"]
    assert isinstance(error, CommandError)
    assert error.returncode is None
    assert "did not end within 1 s" in str(error)
    assert not is_running(int(pid_file.read_text()))


def test_a_background_process_does_not_hold_the_command(pool: Pool) -> None:
    began = time.monotonic()
    assert pool.run_on("alpha", Command("sleep 6 & echo started")).text == "started\n"
    assert time.monotonic() - began < 4


def test_an_exit_code_of_124_is_no_timeout(pool: Pool) -> None:
    error = pool.run({"alpha": Command("exit 124", deadline_s=30)}).failed["alpha"]
    assert isinstance(error, CommandError)
    assert error.returncode == 124


def test_a_dropped_connection_is_opened_again(pool: Pool, server: sshd.LoopbackSshd) -> None:
    pool.run_everywhere(Command("true")).or_raise()
    server.drop_connections()
    assert sorted(pool.run_everywhere(Command("true")).succeeded) == ["alpha", "beta"]


def test_a_connection_that_drops_meanwhile_is_an_error_and_the_command_is_not_repeated(
    pool: Pool, server: sshd.LoopbackSshd, tmp_path: Path
) -> None:
    def drop_once_it_runs() -> None:
        while not (tmp_path / "count").exists():
            time.sleep(0.05)
        server.drop_connections()

    threading.Thread(target=drop_once_it_runs, daemon=True).start()
    error = pool.run({"alpha": Command(f"echo x >> {tmp_path}/count; sleep 30")}).failed["alpha"]
    assert "the connection was lost" in str(error)
    assert (tmp_path / "count").read_text() == "x\n"
    assert pool.run_on("alpha", Command("echo again")).text == "again\n"


def test_stop_cuts_everything_off_and_resume_allows_cleaning_up(pool: Pool) -> None:
    threading.Timer(0.5, pool.stop).start()
    began = time.monotonic()
    with pytest.raises(StoppedError):
        pool.run_everywhere(Command("sleep 30"))
    assert time.monotonic() - began < 3
    pool.resume()
    assert pool.run_on("beta", Command("echo clean")).text == "clean\n"


@pytest.mark.parametrize(("check", "expected"), [(True, "yes"), (False, "no")])
def test_clients_check_each_others_host_keys_as_the_cluster_file_says(check: bool, expected: str) -> None:
    checks = [each for each in ssh_options(Ssh(check_host_keys=check), 3.5) if each.startswith("StrictHostKeyChecking")]
    assert checks == [f"StrictHostKeyChecking={expected}"]


def test_an_unknown_host_key_is_refused_with_advice(server: sshd.LoopbackSshd, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text(server.ssh_config.read_text().replace(str(server.known_hosts), str(tmp_path / "none")))
    pool = Pool([ALPHA], FabricTransport(ssh_config=config, user="root"))
    message = str(pool.connect()["alpha"])
    assert message.startswith("alpha: the host key of 127.0.0.1 port")
    assert "not in known_hosts" in message
    unchecked = Pool([ALPHA], FabricTransport(ssh_config=config, user="root", check_host_keys=False))
    assert unchecked.connect() == {}
    unchecked.close()


def test_a_changed_host_key_is_refused(server: sshd.LoopbackSshd, tmp_path: Path) -> None:
    user_key = (server.folder / "user_key.pub").read_text().split()
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {user_key[0]} {user_key[1]}\n")
    config = tmp_path / "ssh_config"
    config.write_text(server.ssh_config.read_text().replace(str(server.known_hosts), str(tmp_path / "known_hosts")))
    message = str(Pool([ALPHA], FabricTransport(ssh_config=config, user="root")).connect()["alpha"])
    assert "is not the one in known_hosts" in message


def test_a_refused_login_and_an_unreachable_host_name_the_address(server: sshd.LoopbackSshd, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text(server.ssh_config.read_text().replace("user_key", "host_key"))
    refused = Pool([ALPHA], FabricTransport(ssh_config=config, user="root")).connect()["alpha"]
    assert "refused the login as 'root'" in str(refused)
    closed = Host(name="gone", address="127.0.0.1")
    config.write_text("Host gone\n  Port 9\n")
    message = str(Pool([closed], FabricTransport(ssh_config=config)).connect()["gone"])
    assert message.startswith("gone: not reachable at 127.0.0.1 port 9")


def test_a_silent_host_is_given_up_after_the_connect_timeout(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = tmp_path / "ssh_config"
        config.write_text(f"Host alpha\n  HostName 127.0.0.1\n  Port {silent.getsockname()[1]}\n")
        began = time.monotonic()
        errors = Pool([ALPHA], FabricTransport(ssh_config=config, connect_timeout_s=1)).connect()
        assert "alpha" in errors
        assert time.monotonic() - began < 5


def test_files_of_ssh_are_read_once_for_many_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration that is copied for each host, or read again, made 128 hosts take a minute and 700 MB."""
    import paramiko

    hosts = [Host(name=f"h{n:03d}", address=f"127.0.0.{n + 1}") for n in range(40)]
    (tmp_path / "known_hosts").write_text("")
    (tmp_path / "ssh_config").write_text(
        "".join(f"Host {host.name}\n  Port {2000 + n}\n" for n, host in enumerate(hosts))
        + f"Host *\n  UserKnownHostsFile {tmp_path}/known_hosts\n  GlobalKnownHostsFile none\n"
    )
    read: list[str] = []

    def count(owner: type, name: str) -> None:
        reader = getattr(owner, name)

        def counted(*words: object) -> None:
            read.append(f"{owner.__name__}.{name}")
            reader(*words)

        monkeypatch.setattr(owner, name, counted)

    count(paramiko.SSHConfig, "parse")
    count(paramiko.HostKeys, "load")
    through = FabricTransport(ssh_config=tmp_path / "ssh_config", user="root")
    connections = [through._new_connection(host) for host in hosts]
    assert read == ["SSHConfig.parse", "HostKeys.load"]
    assert [(made.host, made.port) for made in connections] == [(h.address, 2000 + n) for n, h in enumerate(hosts)]
    assert {len(made.config.base_ssh_config.get_hostnames()) for made in connections} == {41}


def test_keys_of_known_hosts_are_those_of_the_host_and_port(tmp_path: Path) -> None:
    import paramiko

    keys = [paramiko.ECDSAKey.generate() for _ in range(3)]
    hashed = paramiko.HostKeys.hash_host("gl-s02")
    names = ("gl-s01,[gl-s01]:2022", hashed, "other")
    lines = [f"{name} {key.get_name()} {key.get_base64()}\n" for name, key in zip(names, keys, strict=True)]
    (tmp_path / "known_hosts").write_text("".join(lines))
    for port, name, expected in ((22, "gl-s01", keys[0]), (2022, "gl-s01", keys[0]), (22, "gl-s02", keys[1])):
        config = tmp_path / "ssh_config"
        config.write_text(f"Host *\n  Port {port}\n  UserKnownHostsFile {tmp_path}/known_hosts\n")
        made = FabricTransport(ssh_config=config, user="root")._new_connection(Host(name=name))
        where = name if port == 22 else f"[{name}]:{port}"
        known = made.client.get_host_keys()
        assert list(known) == [where]
        assert known.check(where, expected)


def test_an_ssh_config_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    for text, found in ((None, "No such file"), ("Host a\n  no-value\n", "Unparsable line")):
        if text is not None:
            config.write_text(text)
        message = str(Pool([ALPHA], FabricTransport(ssh_config=config)).connect()["alpha"])
        assert f"the ssh_config {config} cannot be read" in message
        assert found in message


def test_only_so_many_hosts_are_connected_at_once(server: sshd.LoopbackSshd, monkeypatch: pytest.MonkeyPatch) -> None:
    from glusterlab.hosts import transport as module

    config = server.folder / "many_config"
    config.write_text(server.ssh_config.read_text().replace("Host alpha beta", "Host *"))
    busy = most = 0
    lock, connect = threading.Lock(), module._open

    def watched(connection: object, host: Host) -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        connect(connection, host)
        with lock:
            busy -= 1

    monkeypatch.setattr(module, "_open", watched)
    monkeypatch.setattr(module, "_AT_ONCE", {False: 3, True: 3})
    pool = Pool([Host(name=f"h{n}") for n in range(12)], FabricTransport(ssh_config=config, user=getpass.getuser()))
    assert pool.connect() == {}
    pool.close()
    assert 1 < most <= 3


LOST = """\
set -eu
ip netns add "$1"
ip link add "$1" type veth peer name eth0 netns "$1"
ip addr add 10.214.1.1/30 dev "$1"
ip link set "$1" up
ip -n "$1" addr add 10.214.1.2/30 dev eth0
ip -n "$1" link set eth0 up
"""


def test_a_host_that_falls_silent_is_lost_long_before_the_deadline(
    server: sshd.LoopbackSshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cable is pulled: no connection is closed, packets are just not answered any more."""
    import subprocess

    from glusterlab.hosts import transport as module

    monkeypatch.setattr(module, "_SILENCE_S", 2)
    monkeypatch.setattr(module, "_KEEPALIVE_S", 1)
    space = f"gltest{os.getpid()}"[:15]
    settings = server.folder / "sshd_config"
    elsewhere = tmp_path / "sshd_config"
    elsewhere.write_text(settings.read_text().replace("ListenAddress 127.0.0.1", "ListenAddress 10.214.1.2"))
    config = tmp_path / "ssh_config"
    config.write_text(
        f"Host *\n  HostName 10.214.1.2\n  Port {server.port}\n  IdentityFile {server.folder}/user_key\n"
        "  IdentitiesOnly yes\n"
    )
    process = None
    try:
        done = subprocess.run(["sh", "-c", LOST, "sh", space], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no network namespace can be made here: {done.stderr.strip()}")
        process = subprocess.Popen(
            ["ip", "netns", "exec", space, str(sshd.SSHD), "-D", "-e", "-f", elsewhere], stderr=subprocess.DEVNULL
        )
        through = FabricTransport(ssh_config=config, user="root", check_host_keys=False)
        pool = Pool([ALPHA], through)
        until = time.monotonic() + 20
        while pool.connect() and time.monotonic() < until:
            time.sleep(0.1)
        threading.Timer(0.5, subprocess.run, (["ip", "link", "set", space, "down"],)).start()
        began = time.monotonic()
        error = pool.run({"alpha": Command("sleep 300", deadline_s=300.0)}).failed["alpha"]
        assert "the connection was lost" in str(error)
        assert time.monotonic() - began < 60
        pool.close()
    finally:
        if process is not None:
            sshd.LoopbackSshd(tmp_path, server.port, process).stop()
        subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", space], capture_output=True, check=False)


def signal_to(pool: Pool) -> str:
    """What a further signal does."""
    try:
        pool.signalled()
    except KeyboardInterrupt:
        return "interrupts"
    return "stops" if pool._stop.requested else "nothing"


def test_the_first_signal_stops_the_next_interrupts_and_a_clean_up_lets_one_pass() -> None:
    pool = Pool([ALPHA], Hanging())
    assert [signal_to(pool), signal_to(pool)] == ["stops", "interrupts"]
    with pool.cleaning():
        assert not pool._stop.requested
        assert [signal_to(pool), signal_to(pool)] == ["nothing", "interrupts"]
        pool.stop()
        assert not pool._stop.requested
    assert pool._stop.requested
    assert signal_to(pool) == "interrupts"
    pool.resume()
    with pool.cleaning():
        assert signal_to(pool) == "nothing"
    assert not pool._stop.requested
    assert signal_to(pool) == "stops"


def test_a_signal_may_strike_anywhere() -> None:
    """A handler runs between any two steps of the main thread: also while that takes back, or asks for, a stop."""
    pool = Pool([ALPHA], Hanging())
    struck: list[str] = []

    def strike(frame: FrameType, event: str, argument: object) -> Any:
        if event == "opcode" and not struck[200:]:
            struck.append(frame.f_code.co_name)
            pool.stop()
        frame.f_trace_opcodes = True
        return strike

    def work() -> None:
        sys.settrace(strike)
        try:
            pool.resume()
            pool.stop()
        finally:
            sys.settrace(None)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(20)
    assert not worker.is_alive(), f"hangs in {struck[-1]}"
    assert {"resume", "stop"} <= set(struck)
    assert pool._stop.requested


def test_hosts_that_do_not_answer_in_time_are_not_waited_for() -> None:
    class Slow(Hanging):
        def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
            if host == BETA:
                time.sleep(30)
            return Outcome(b"", b"", 0)

    began = time.monotonic()
    results = Pool([ALPHA, BETA], Slow()).run_everywhere(Command("true"), within_s=0.5)
    assert time.monotonic() - began < 20
    assert (set(results.succeeded), set(results.failed)) == ({"alpha"}, {"beta"})


class Hanging:
    """A transport whose library never returns."""

    def open(self, host: Host) -> None:
        return None

    def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
        raise RuntimeError("bug in a library")

    def close(self, host: Host) -> None:
        time.sleep(30)


def test_whatever_a_library_does_every_host_has_an_answer() -> None:
    pool = Pool([ALPHA], Hanging())
    assert "unexpected RuntimeError" in str(pool.run_everywhere(Command("true")).failed["alpha"])
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 8


def test_results_name_all_hosts_that_failed_and_errors_pickle() -> None:
    failed = {name: HostError("gone", host=name) for name in ("b", "a", "c")}
    with pytest.raises(HostError, match=r"^a: gone \(so did 2 more: b, c\)$") as caught:
        Results({}, failed).or_raise()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
