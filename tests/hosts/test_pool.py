import getpass
import os
import pickle
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import paramiko
import pytest

from glusterlab.errors import CommandError, HostError, StoppedError
from glusterlab.hosts import known_hosts
from glusterlab.hosts import transport as module
from glusterlab.hosts.pool import Command, CommandResult, Pool, Results
from glusterlab.hosts.transport import FabricTransport, Outcome, Stop, ssh_options
from glusterlab.spec.cluster import Host, Ssh
from tests.hosts import sshd
from tests.hosts.shell import ends

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(sshd.SSHD is None or os.geteuid() != 0, reason="needs root and OpenSSH's sshd for a loopback"),
]

ALPHA, BETA = Host(name="alpha"), Host(name="beta")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.LoopbackSshd]:
    running = sshd.start(tmp_path_factory.mktemp("sshd"))
    yield running
    running.stop()


def transport(server: sshd.LoopbackSshd) -> FabricTransport:
    return FabricTransport(Ssh(config=server.ssh_config, user=getpass.getuser()))


@pytest.fixture
def pool(server: sshd.LoopbackSshd) -> Iterator[Pool]:
    pool = Pool([ALPHA, BETA], transport(server), mark="tests")
    assert pool.connect() == {}
    yield pool
    pool.close()


def test_a_script_runs_on_every_host_and_outputs_stay_bytes(pool: Pool) -> None:
    seen: list[CommandResult] = []
    pool.sink = seen.append
    # cat would eat the rest of a script that were its input
    results = pool.run_everywhere(Command("cat; printf '\\377\\000x'; echo warn >&2; echo $GLUSTERLAB_RUN >&2"))
    assert (sorted(results.succeeded), results.failed) == (["alpha", "beta"], {})
    for result in results.succeeded.values():
        assert result.stdout == b"\xff\x00x"
        assert re.fullmatch(rb"warn\ntests\.\d+\n", result.stderr)
        assert result.start <= result.end
    assert sorted((result.host, result.exit_code) for result in seen) == [("alpha", 0), ("beta", 0)]


def test_big_outputs_and_inputs_pass(pool: Pool) -> None:
    result = pool.run_on("alpha", Command("head -c 9000000 /dev/zero; head -c 3000000 /dev/zero >&2"))
    assert (len(result.stdout), len(result.stderr)) == (9_000_000, 3_000_000)
    data = os.urandom(5_000_000)
    assert pool.send({"alpha": ("cat", data)}).succeeded["alpha"].stdout == data


# 124 is what `timeout` ends with
@pytest.mark.parametrize("code", [3, 124])
def test_a_failing_script_is_in_the_second_map_with_its_stderr(pool: Pool, code: int) -> None:
    results = pool.run({"alpha": Command(f"echo no disk >&2; exit {code}", deadline_s=30), "beta": Command("true")})
    assert list(results.succeeded) == ["beta"]
    error = results.failed["alpha"]
    assert isinstance(error, CommandError)
    assert error.returncode == code
    with pytest.raises(CommandError, match=rf"alpha: .*ended with code {code}: no disk"):
        results.or_raise()


def test_a_script_past_its_deadline_is_ended_on_the_host(pool: Pool, tmp_path: Path) -> None:
    began = time.monotonic()
    pid_file = tmp_path / "pid"
    results = pool.run({"alpha": Command(f"sh -c 'echo $$ > {pid_file}; exec sleep 60'", deadline_s=1.0)})
    assert time.monotonic() - began < 30
    error = results.failed["alpha"]
    assert isinstance(error, CommandError)
    assert (error.returncode, "did not end within 1 s" in str(error)) == (None, True)
    assert ends(int(pid_file.read_text()))


def test_a_background_process_does_not_hold_the_command(pool: Pool) -> None:
    began = time.monotonic()
    assert pool.run_on("alpha", Command("sleep 60 & echo started")).text == "started\n"
    assert time.monotonic() - began < 30


def test_a_connection_reopens_and_no_command_repeats(pool: Pool, server: sshd.LoopbackSshd, tmp_path: Path) -> None:
    def drop_once_it_runs() -> None:
        while not (tmp_path / "count").exists():
            time.sleep(0.05)
        server.drop_connections()

    threading.Thread(target=drop_once_it_runs, daemon=True).start()
    error = pool.run({"alpha": Command(f"echo x >> {tmp_path}/count; sleep 30")}).failed["alpha"]
    assert "the connection was lost" in str(error)
    assert (tmp_path / "count").read_text() == "x\n"
    for _ in range(2):
        assert sorted(pool.run_everywhere(Command("true")).succeeded) == ["alpha", "beta"]
        server.drop_connections()


def test_stop_cuts_everything_off_but_cleaning_up(pool: Pool) -> None:
    threading.Timer(0.5, pool.stop).start()
    began = time.monotonic()
    with pytest.raises(StoppedError):
        pool.run_everywhere(Command("sleep 60"))
    assert time.monotonic() - began < 30
    with pool.cleaning():
        assert pool.run_on("beta", Command("echo clean")).text == "clean\n"


@pytest.mark.parametrize(("check", "expected"), [(True, "yes"), (False, "no")])
def test_clients_check_each_others_host_keys_as_the_cluster_file_says(check: bool, expected: str) -> None:
    checks = [each for each in ssh_options(Ssh(check_host_keys=check), 3.5) if each.startswith("StrictHostKeyChecking")]
    assert checks == [f"StrictHostKeyChecking={expected}"]


def refusal(config: Path, text: str, timeout_s: float = 30) -> str:
    """What is said of alpha where the configuration of ssh has a text."""
    config.write_text(text)
    through = FabricTransport(Ssh(config=config, user="root", connect_timeout=timeout_s))
    return str(Pool([ALPHA], through).connect()["alpha"])


def test_an_unknown_and_a_changed_host_key_are_refused(server: sshd.LoopbackSshd, tmp_path: Path) -> None:
    config, known = tmp_path / "ssh_config", tmp_path / "known_hosts"
    text = server.ssh_config.read_text().replace(str(server.folder / "known_hosts"), str(known))
    message = refusal(config, text)
    assert message.startswith("alpha: the host key of 127.0.0.1 port")
    assert "not in known_hosts" in message
    unchecked = Pool([ALPHA], FabricTransport(Ssh(config=config, user="root", check_host_keys=False)))
    assert unchecked.connect() == {}
    unchecked.close()
    known.write_text(f"[127.0.0.1]:{server.port} {(server.folder / 'user_key.pub').read_text()}")
    assert "is not the one in known_hosts" in refusal(config, text)


def test_the_host_key_of_a_jump_host_is_checked_too(server: sshd.LoopbackSshd, tmp_path: Path) -> None:
    text, known = server.ssh_config.read_text(), str(server.folder / "known_hosts")
    rules = text.partition("\n")[2]
    gate = f"{text}  ProxyJump gate\nHost gate\n  User root\n"
    assert "127.0.0.1 port" in refusal(tmp_path / "config", gate + rules.replace(known, str(tmp_path / "none")))
    (tmp_path / "config").write_text(gate + rules)
    pool = Pool([ALPHA], FabricTransport(Ssh(config=tmp_path / "config", user="root")))
    assert pool.connect() == {}
    pool.close()


def test_a_refused_login_and_an_unreachable_host_name_the_address(server: sshd.LoopbackSshd, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    text = server.ssh_config.read_text().replace("user_key", "host_key")
    assert "refused the login as 'root'" in refusal(config, text)
    closed = "Host alpha\n  HostName 127.0.0.1\n  Port 9\n"
    assert refusal(config, closed).startswith("alpha: not reachable at 127.0.0.1 port 9")


def test_a_silent_host_is_given_up_after_the_connect_timeout(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        port = silent.getsockname()[1]
        assert refusal(tmp_path / "ssh_config", f"Host alpha\n  HostName 127.0.0.1\n  Port {port}\n", 1)
        assert time.monotonic() - began < 12


def test_files_of_ssh_are_read_once_for_many_hosts(tmp_path: Path) -> None:
    """A configuration that is copied for each host, or read again, made 128 hosts take a minute and 700 MB."""
    hosts = [Host(name=f"h{n:03d}", address=f"127.0.0.{n + 1}") for n in range(40)]
    (tmp_path / "known_hosts").write_text("")
    (tmp_path / "ssh_config").write_text(
        "".join(f"Host {host.name}\n  Port {2000 + n}\n" for n, host in enumerate(hosts))
        + f"Host *\n  UserKnownHostsFile {tmp_path}/known_hosts\n  GlobalKnownHostsFile none\n"
    )
    with (
        patch.object(paramiko.SSHConfig, "parse", autospec=True, side_effect=paramiko.SSHConfig.parse) as parse,
        patch.object(known_hosts, "read_lines", side_effect=known_hosts.read_lines) as load,
    ):
        through = FabricTransport(Ssh(config=tmp_path / "ssh_config", user="root"))
        connections = [through._new_connection(host) for host in hosts]
    assert (parse.call_count, load.call_count) == (1, 1)
    assert [(made.host, made.port) for made in connections] == [(h.address, 2000 + n) for n, h in enumerate(hosts)]
    assert {len(made.config.base_ssh_config.get_hostnames()) for made in connections} == {41}


def test_an_ssh_config_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    assert f"the ssh_config {config} cannot be read" in refusal(config, "Host a\n  no-value\n")
    absent = Pool([ALPHA], FabricTransport(Ssh(config=tmp_path / "none"))).connect()["alpha"]
    assert f"the ssh_config {tmp_path}/none cannot be read" in str(absent)


def test_only_so_many_hosts_are_connected_at_once(server: sshd.LoopbackSshd, monkeypatch: pytest.MonkeyPatch) -> None:
    config = server.folder / "many_config"
    config.write_text(server.ssh_config.read_text().replace("Host alpha beta", "Host *"))
    busy: list[Host] = []
    seen: list[int] = []
    connect = module._open

    def watched(connection: object, host: Host) -> None:
        busy.append(host)
        seen.append(len(busy))
        connect(connection, host)
        busy.remove(host)

    monkeypatch.setattr(module, "_open", watched)
    monkeypatch.setattr(module, "_AT_ONCE", {False: 3, True: 3})
    pool = Pool([Host(name=f"h{n}") for n in range(12)], FabricTransport(Ssh(config=config, user=getpass.getuser())))
    assert pool.connect() == {}
    pool.close()
    assert 1 < max(seen) <= 3


LOST = """\
set -eu
ip netns add "$1"
ip link add "$1" type veth peer name eth0 netns "$1"
ip addr add 10.214.1.1/30 dev "$1"
ip link set "$1" up
ip -n "$1" addr add 10.214.1.2/30 dev eth0
ip -n "$1" link set eth0 up
"""


def test_a_silent_host_is_lost_long_before_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cable is pulled: no connection is closed, packets are just not answered any more."""
    monkeypatch.setattr(module, "_SILENCE_S", 2)
    monkeypatch.setattr(module, "_KEEPALIVE_S", 1)
    space = f"gltest{os.getpid()}"[:15]
    with ExitStack() as stack:
        for words in (["link", "delete", space], ["netns", "delete", space]):
            stack.callback(subprocess.run, ["ip", *words], capture_output=True, check=False)
        done = subprocess.run(["sh", "-c", LOST, "sh", space], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no network namespace can be made here: {done.stderr.strip()}")
        there = sshd.start(tmp_path, "10.214.1.2", "ip", "netns", "exec", space)
        stack.callback(there.stop)
        pool = Pool([ALPHA], transport(there))
        stack.callback(pool.close)
        assert pool.connect() == {}
        threading.Timer(0.5, subprocess.run, (["ip", "link", "set", space, "down"],)).start()
        began = time.monotonic()
        error = pool.run({"alpha": Command("sleep 300", deadline_s=300.0)}).failed["alpha"]
        assert "the connection was lost" in str(error)
        assert time.monotonic() - began < 60


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
    pool._stop.requested = False
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
            with pool.cleaning():
                pass
            pool.stop()
        finally:
            sys.settrace(None)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(20)
    assert not worker.is_alive(), f"hangs in {struck[-1]}"
    assert {"cleaning", "stop"} <= set(struck)
    assert pool._stop.requested


def test_hosts_that_do_not_answer_in_time_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(_self: Hanging, host: Host, *_: object) -> Outcome:
        time.sleep(30 if host == BETA else 0)
        return Outcome(b"", b"", 0)

    monkeypatch.setattr(Hanging, "execute", execute)
    began = time.monotonic()
    results = Pool([ALPHA, BETA], Hanging()).run_everywhere(Command("true"), within_s=0.5)
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
    assert time.monotonic() - began < 20


def test_results_name_all_hosts_that_failed_and_errors_pickle() -> None:
    failed = {name: HostError("gone", host=name) for name in ("b", "a", "c")}
    with pytest.raises(HostError, match=r"^a: gone \(so did 2 more: b, c\)$") as caught:
        Results({}, failed).or_raise()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
