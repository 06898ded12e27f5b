"""How one command reaches one host: by Fabric (ssh_config, keys, jump hosts), on a channel that is read here.

Output stays bytes, and a command ends at its deadline or when the run is stopped, whatever the host does.
"""

from __future__ import annotations

import logging
import math
import re
import select
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from glusterlab.errors import HostError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from glusterlab.hosts.known_hosts import KnownKeys, Line
    from glusterlab.spec.cluster import Host, Ssh

# What it would say into a live view, such as "Socket exception: No route to host (113)", is the error of a host here.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

MAX_RECEIVED = 256 << 20
"""Bytes that a command may print; the telemetry and the results of a host take a small part of that."""

_POLL_S = 0.25
_CHUNK = 1 << 16
# Connected at the same time, through a jump host or not: sshd refuses some from ten unfinished logins on (MaxStartups),
# which all hosts behind one jump host share; and a crowd of key exchanges can be too slow for its time-outs.
_AT_ONCE = {False: 32, True: 8}
_KEEPALIVE_S = 15
_SILENCE_S = 30  # a host that confirms nothing for so long, although something was sent to it, is lost
# How often the thread of an idle connection wakes; paramiko's own 0.1 s costs as much as a busy process on many hosts.
_LOOK_AROUND_S = 1.0


@dataclass(frozen=True)
class Outcome:
    """What is left of a command; no exit code when it was cut off, `lost` when the connection broke while it ran."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    lost: bool = False


class Stop:
    """Whether a run was stopped."""

    # no `threading.Event`: a signal handler sets it, and may strike the main thread while that holds the event's lock
    requested = False


class Transport(Protocol):
    """Connections to hosts, one per host, opened on first use and reused."""

    @property
    def unread(self) -> list[str]:
        """Lines of known_hosts that cannot be read, and why not."""

    def open(self, host: Host) -> None:
        """Connect, or do nothing when connected; HostError says why it cannot be."""

    def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
        """Run a shell command; a connection that dropped before is opened again once, HostError when that fails."""

    def close(self, host: Host) -> None:
        """Close the connection to a host, if there is one."""


class FabricTransport:
    """SSH by Fabric; a `config` replaces the user's own and the system's."""

    def __init__(self, ssh: Ssh) -> None:
        self._ssh = ssh
        self._connections: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._gates = {hop: threading.Semaphore(count) for hop, count in _AT_ONCE.items()}
        self._rules: Any = None
        self._known_hosts: dict[Path, Sequence[Line]] = {}

    @property
    def unread(self) -> list[str]:
        from glusterlab.hosts.known_hosts import unread

        with self._lock:
            return [place for lines in self._known_hosts.values() for place in unread(lines)]

    def open(self, host: Host) -> None:
        with self._lock:
            connection = self._connections.get(host.name)
        if connection is not None and connection.is_connected:
            return
        connection = self._new_connection(host)
        with self._gates[connection.gateway is not None]:
            _open(connection, host)
        # let the connection notice that its host is away, and else sleep
        connection.transport.set_keepalive(_KEEPALIVE_S)
        sock = connection.transport.sock
        sock.settimeout(_LOOK_AROUND_S)
        # through a jump host it is a channel instead, whose own connection has this
        if isinstance(sock, socket.socket) and hasattr(socket, "TCP_USER_TIMEOUT"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * _SILENCE_S)
        with self._lock:
            self._connections[host.name] = connection

    def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
        channel = self._channel(host)
        try:
            channel.exec_command(command)
            return _converse(channel, stdin, time.monotonic() + deadline_s, stop)
        except (OSError, EOFError, _ssh_exception()):
            self.close(host)
            return Outcome(b"", b"the connection broke while the command ran", None, lost=True)
        finally:
            channel.close()

    def close(self, host: Host) -> None:
        with self._lock:
            connection = self._connections.pop(host.name, None)
        if connection is not None:
            connection.close()

    def _channel(self, host: Host) -> Any:
        """A new channel; an old connection that turns out to be dead is replaced once."""
        with self._lock:
            known = host.name in self._connections
        for attempt in range(2):
            self.open(host)
            try:
                return self._connections[host.name].create_session()
            except (OSError, EOFError, KeyError, _ssh_exception()) as error:
                self.close(host)
                if attempt or not known:
                    why = str(error) or type(error).__name__
                    raise HostError(
                        f"connected to {host.address}, but no command can be started: {why}", host=host.name
                    ) from error
        raise AssertionError("the loop above returns or raises")

    def _new_connection(self, host: Host) -> Any:
        from fabric import Config, Connection

        # Only ssh_config matters here: lazy keeps Fabric from reading its own settings files. A configuration of its
        # own each, of rules that were read once: Config.clone reads the files again, into the one that is cloned.
        config = Config(lazy=True, ssh_config=self._ssh_rules(host))
        timeout = max(1, math.ceil(self._ssh.connect_timeout))
        connection = Connection(host.name, user=self._ssh.user, config=config, connect_timeout=timeout)
        if connection.ssh_config.get("hostname", host.name) == host.name:
            connection.host = host.address
        connection.connect_timeout = timeout
        hop = connection
        while hop is not None and not isinstance(hop, str):
            hop.connect_kwargs.update(banner_timeout=timeout, auth_timeout=timeout, channel_timeout=timeout)
            if hop.ssh_config.get("identitiesonly", "no") == "yes":
                hop.connect_kwargs.update(allow_agent=False, look_for_keys=False)
            # else Fabric's own policy takes any key
            if self._ssh.check_host_keys:
                known = self._known_keys(hop)
                hop.client.set_missing_host_key_policy(known)
                hop.connect_kwargs["transport_factory"] = known.transport
            hop = hop.gateway
        return connection

    def _ssh_rules(self, host: Host) -> Any:
        """The rules of the files that ssh itself would read, or of the one that was given; read once."""
        from paramiko.ssh_exception import ConfigParseError

        named = [Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config")]
        files = [file for file in named if file.is_file()] if self._ssh.config is None else [self._ssh.config]
        with self._lock:
            if self._rules is None:
                rules = _rules()
                for file in files:
                    try:
                        with file.open() as stream:
                            rules.parse(stream)
                    except (OSError, UnicodeDecodeError, ConfigParseError) as error:
                        message = f"the ssh_config {file} cannot be read: {error}; mend it, or name another"
                        raise HostError(message, host=host.name) from error
                self._rules = rules
            return self._rules

    def _known_keys(self, hop: Any) -> KnownKeys:
        """What the files that ssh would read say of a host; each is read once for all hosts."""
        from glusterlab.hosts.known_hosts import KnownKeys, read_lines

        lines: list[Line] = []
        for file, revoked in _known_hosts_files(hop):
            with self._lock:
                if file not in self._known_hosts:
                    self._known_hosts[file] = read_lines(file, revoked=revoked)
                lines += self._known_hosts[file]
        return KnownKeys(hop.host, hop.port, hop.ssh_config.get("hostkeyalias"), lines)


def ssh_options(ssh: Ssh, timeout_s: float) -> tuple[str, ...]:
    """Options of the ssh command by which one host reaches others, as the cluster file has it."""
    options = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={math.ceil(timeout_s)}")
    # stated also when it is yes: smallfile itself says no, and ssh keeps the first value that it is given
    if ssh.check_host_keys:
        return (*options, "-o", "StrictHostKeyChecking=yes")
    return (*options, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null")


def _ssh_exception() -> type[Exception]:
    from paramiko.ssh_exception import SSHException

    return SSHException


def _rules() -> Any:
    from paramiko import SSHConfig

    class Rules(SSHConfig):
        """Rules that do not ask for the user's name at each ``Host`` that does not match: with many hosts, often."""

        def _does_match(self, match_list: list[Any], *others: Any) -> Any:
            return bool(match_list) and super()._does_match(match_list, *others)  # type: ignore[misc]

    return Rules()


def _known_hosts_files(connection: Any) -> list[tuple[Path, bool]]:
    """The files that ssh itself would look in, and whether it is for revoked keys alone: one of these has to exist."""
    rules, host = connection.ssh_config, connection.host
    tokens = {"%%": "%", "%d": str(Path.home()), "%h": host, "%k": rules.get("hostkeyalias", host)}
    tokens |= {"%n": connection.original_host, "%p": str(connection.port), "%r": connection.user}

    def paths(key: str, default: str) -> list[Path]:
        text = re.sub("%.", lambda token: tokens.get(token[0], token[0]), rules.get(key, default))
        words = [quoted or word for quoted, word in re.findall(r'"([^"]*)"|(\S+)', text)]
        return [Path(word).expanduser() for word in words if word != "none"]

    files = paths("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2")
    files += paths("globalknownhostsfile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2")
    return [(file, False) for file in files if file.is_file()] + [(file, True) for file in paths("revokedhostkeys", "")]


def _open(connection: Any, host: Host) -> None:
    """Open a connection; turn what can go wrong into one sentence each."""
    from paramiko.ssh_exception import AuthenticationException, NoValidConnectionsError, SSHException

    from glusterlab.hosts.known_hosts import HostKeyError

    where = f"{connection.host} port {connection.port}"
    try:
        connection.open()
    except HostKeyError as error:
        message = str(error)
    except AuthenticationException as error:
        message = f"{where} refused the login as '{connection.user}': {error}"
    except NoValidConnectionsError as error:
        causes = sorted({str(cause).partition("] ")[2] or str(cause) for cause in error.errors.values()})
        message = f"not reachable at {where}: {', '.join(causes)}"
    except TimeoutError:
        message = f"not reachable at {where}: no answer within {connection.connect_timeout} s"
    except socket.gaierror as error:
        message = f"the address '{connection.host}' is not known: {error.strerror}"
    except (EOFError, OSError, SSHException) as error:
        message = f"no SSH connection to {where}: {str(error) or type(error).__name__}"
    else:
        return
    connection.close()
    raise HostError(message, host=host.name)


def _converse(channel: Any, stdin: bytes, deadline: float, stop: Stop) -> Outcome:
    """Send stdin and read both outputs until the command ends, its deadline passes or the run is stopped."""
    out, err = bytearray(), bytearray()
    rest = memoryview(stdin)
    channel.settimeout(0.0)
    ended_at: float | None = None
    if not rest:
        channel.shutdown_write()
    while True:
        sent = _send(channel, rest)
        rest = rest[sent:]
        received = len(out) + len(err)
        # a piece of each at a time: what floods its channel ends at its deadline, too
        if channel.recv_ready():
            out += channel.recv(_CHUNK)
        if channel.recv_stderr_ready():
            err += channel.recv_stderr(_CHUNK)
        if len(out) + len(err) > MAX_RECEIVED:
            message = f"expected at most {MAX_RECEIVED:,} bytes of output, the host sent more: see what runs there"
            return Outcome(b"", message.encode(), None)
        moved = bool(sent or len(out) + len(err) > received)
        now = time.monotonic()
        if channel.exit_status_ready() and not moved:
            ended_at = ended_at or now
            # A child left in the background may hold the outputs open; it is not waited for.
            if channel.eof_received or channel.closed or now - ended_at > 1.0:
                code, transport = channel.exit_status, channel.get_transport()
                lost = code < 0 and not (transport and transport.is_active())
                return Outcome(bytes(out), bytes(err), code if code >= 0 else None, lost)
        if stop.requested or now > deadline:
            return Outcome(bytes(out), bytes(err), None)
        if not moved:
            _wait(channel, 0.01 if rest or ended_at else _POLL_S)


def _send(channel: Any, rest: memoryview) -> int:
    """Send a part of stdin, and its end after the last part; returns the bytes sent."""
    if not rest:
        return 0
    try:
        sent = int(channel.send(rest[:_CHUNK]))
    except TimeoutError:
        return 0
    if sent == len(rest):
        channel.shutdown_write()
    return sent


def _wait(channel: Any, seconds: float) -> None:
    # After the end of the outputs the descriptor stays readable: only the exit status can still come.
    if channel.eof_received:
        channel.status_event.wait(min(seconds, 0.05))
    else:
        # not select, which takes no descriptor from 1,024 on
        readable = select.poll()
        readable.register(channel.fileno(), select.POLLIN)
        readable.poll(1000 * seconds)
