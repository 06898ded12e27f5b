from __future__ import annotations

import getpass
import os
import pickle
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from glusterlab.errors import CommandError, HostError, StoppedError
from glusterlab.hosts.connection import Command, CommandResult, Pool, Results
from glusterlab.hosts.transport import FabricTransport, Outcome
from glusterlab.spec.cluster import Host

from . import sshd

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


class Hanging:
    """A transport whose library never returns."""

    def open(self, host: Host) -> None:
        return None

    def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: threading.Event) -> Outcome:
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
