"""A pool of hosts that exists in memory only: it answers the suite's scripts as a healthy GlusterFS pool would.

For tests of everything above the transport, here and in programs that use the library: no network, no shell, no root.
What it does not know it answers with exit code 0 and no output.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from glusterlab.errors import HostError
from glusterlab.hosts import lock, script
from glusterlab.hosts.transport import Outcome, Stop
from glusterlab.tools import runnable

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster, Host

OWNER = f"{lock.LOCK_DIR}/owner.json"
"""The lock of a host, in `FakeTransport.files`."""

FIRST_PORT = 49152
"""That the first brick of a volume listens on, the others follow it."""

Hook = Callable[[str, str], Outcome | None]
"""Receives a host's name and a script; answers it, or returns None to leave it to the fake."""


@dataclass
class FakeVolume:
    """A volume of the pool."""

    type: str
    bricks: list[str]
    started: bool = False
    options: dict[str, str] = field(default_factory=dict)


class FakeTransport:
    """A `Transport` to a pool in memory, whose attributes a test changes.

    `calls` has host and script of every call, `hooks` answer first, the latest before the others. `offline` bricks are
    ``address:path``, `strays` are command lines by host until they are ended, `facts` replace lines of ``gl_facts`` by
    their first word or two, and `answers` replace what a shell function prints on a host.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.calls: list[tuple[str, str]] = []
        self.hooks: list[Hook] = []
        self.down: set[str] = set()
        self.disconnected: set[str] = set()
        self.offline: set[str] = set()
        self.first_pid = 1000
        self.heal_pending = 0
        self.strays: dict[str, list[str]] = {}
        self.volumes: dict[str, FakeVolume] = {}
        self.mounted: dict[str, str] = {}
        self.files: dict[tuple[str, str], str] = {}
        self.facts: dict[str, dict[str, str]] = {}
        self.clock_offset_s: dict[str, float] = {}
        self.answers: dict[tuple[str, str], str] = {}
        self._drops = 0
        self._lock = threading.RLock()

    def open(self, host: Host) -> None:
        if host.name in self.down:
            raise HostError(f"not reachable at {host.address} port 22: no route to host", host=host.name)

    def close(self, host: Host) -> None:
        """Nothing is open."""

    def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
        """Answer a script line by line; the first line that fails ends it."""
        del command, deadline_s
        self.open(host)
        text = stdin.decode("utf-8", "replace")
        for more in (("lock.sh",), ("check/check.sh",), ()):
            text = text.removeprefix(script.library(*more))
        text = text.strip("\n")
        if stop.requested:
            return Outcome(b"", b"", None)
        for hook in reversed(self.hooks):
            outcome = hook(host.name, text)
            if outcome is not None:
                with self._lock:
                    self.calls.append((host.name, text))
                return outcome
        with self._lock:
            self.calls.append((host.name, text))
            return self._answer(host, text)

    def scripts(self, host: str, word: str) -> list[str]:
        with self._lock:
            return [text for name, text in self.calls if name == host and word in text]

    def _answer(self, host: Host, text: str) -> Outcome:
        out = ""
        for line in text.splitlines():
            if not line.startswith("gl_") and " gl_part " not in line:
                continue
            words = _words(line[line.index("gl_") :])
            if words[0] in ("gl_owned", "gl_guard"):
                if f'"mark": "{words[2]}"' in self.files.get((host.name, words[1]), ""):
                    continue
                if words[0] == "gl_guard":
                    return Outcome((out + _part("lost", 0, "lost\n")).encode(), b"", 0)
                # a condition, and what is done when it does not hold
                words = words[4:]
            name = None
            if words[0] == "gl_part":
                name, words = words[1], words[2:]
            if words[0] == "cat" and (host.name, words[1]) not in self.files:
                continue
            code, answer = self._call(host, words)
            if name is not None:
                out += _part(name, code, answer)
            elif words[0] == "exit":
                return Outcome(out.encode(), b"", int(words[1]))
            elif code:
                return Outcome(out.encode(), answer.encode(), code)
            else:
                out += answer
        return Outcome(out.encode(), b"", 0)

    def _call(self, host: Host, words: list[str]) -> tuple[int, str]:
        simple: dict[str, Callable[[], str]] = {
            "gl_strays": lambda: "".join(f"stray 1 {command}\n" for command in self.strays.get(host.name, [])),
            "gl_heal": lambda: f"heal {self.heal_pending}\n",
            "gl_facts": lambda: self._facts(host),
            "gl_filesystems": lambda: "".join(
                f"fs {root} /dev/fake{n} xfs rw 4000000000000 3900000000000\n" for n, root in enumerate(words[1:])
            ),
            "gl_check": lambda: "uid 0\nload 0.1\nwork_free 90000000000\nfuse_opens yes\n",
            "gl_take": lambda: self._take(host, words[2:]),
            "gl_unlock": lambda: self._unlock(host, words[2]),
            "gl_leave": lambda: self._leave(host, words[2]),
            "gl_clock": lambda: f"clock {time.time() + self.clock_offset_s.get(host.name, 0.0):.6f}\n",
            "gl_link": lambda: "link 1\n",
            "gl_space": lambda: "".join(f"space 900 1000 1048576 {path}\n" for path in words[1:]),
            "gl_mount_state": lambda: "mount ok\n" if self.mounted.get(host.name) == words[1] else "mount none\n",
            "cat": lambda: self.files[host.name, words[1]],
            "sh": lambda: "telemetry",
        }
        if (host.name, words[0]) in self.answers:
            return 0, self.answers[host.name, words[0]]
        if words[0] in simple:
            return 0, simple[words[0]]()
        if words[0] == "gl_gluster":
            return self._gluster(host, words[1:])
        if words[0] == "gl_drop_caches":
            self._drops += 2
            return 0, f"drop {self._drops - 2} {self._drops}\n"
        if words[0] == "gl_mount":
            self.mounted[host.name] = words[3]
        elif words[0] == "gl_umount_others":
            point = self.mounted.get(host.name, "")
            if point != words[2] and point.rpartition("/")[2] in words[3:]:
                del self.mounted[host.name]
        elif words[0] == "gl_kill":
            self.strays.pop(host.name, None)
        elif words[0] == "gl_collect":
            return 0, "\0" * 10240
        return 0, ""

    def _take(self, host: Host, words: list[str]) -> str:
        text, replaced = words[:2]
        found = self.files.get((host.name, OWNER), text) or "empty"
        if found not in (text, replaced):
            return _part("lock", 3, found)
        self.files[host.name, OWNER] = text
        return _part("lock", 0, "") + _part("ended", 0, "1\n" if self.strays.pop(host.name, None) else "")

    def _unlock(self, host: Host, text: str) -> str:
        if self.files.get((host.name, OWNER)) == text:
            del self.files[host.name, OWNER]
        return ""

    def _leave(self, host: Host, text: str) -> str:
        self.strays.pop(host.name, None)
        return self._unlock(host, text)

    def _facts(self, host: Host) -> str:
        programs = [program for tool in runnable().values() for program in tool.programs]
        tools = {"gluster": "glusterfs 10.3", "sysstat": "12.6.1", "ssh": "OpenSSH_9.2", "xz": "5.4.1"}
        tools |= {program.name: program.example_version for program in programs}
        facts = {
            "kernel": "6.1.0",
            "os": "Debian GNU/Linux 12",
            "machine": "x86_64",
            "cpus": "8",
            "memory_bytes": "64000000000",
            "fuse": "yes",
            "interface_operstate": "up",
            "interface_mtu": "1500",
            "tuned_profile": "throughput-performance",
            **{f"disk {device}": "7814037168 1 none 128 -" for device in host.devices},
            **{f"tool {tool}": version for tool, version in tools.items()},
            **self.facts.get(host.name, {}),
        }
        return "".join(f"{key} {value}\n" for key, value in facts.items() if value)

    def _gluster(self, host: Host, words: list[str]) -> tuple[int, str]:
        action = " ".join(words[:2])
        if action == "peer status":
            return 0, self._peers(host)
        if action == "volume info":
            return 0, self._info(words[2:])
        if action == "volume create":
            return self._create(words)
        if action == "volume delete":
            return (0, "") if self.volumes.pop(words[2], None) else (1, f"volume {words[2]} does not exist")
        if action in ("volume start", "volume stop", "volume set", "volume status"):
            volume = self.volumes.get(words[2])
            if volume is None:
                return 1, f"volume {words[2]} does not exist"
            if action == "volume status":
                return 0, self._status(volume)
            if action == "volume set":
                volume.options.update(zip(words[3::2], words[4::2], strict=True))
            else:
                volume.started = action == "volume start"
                if words[-1] == "force":
                    self.offline.clear()
        return 0, ""

    def _create(self, words: list[str]) -> tuple[int, str]:
        bricks = [word for word in words[3:] if ":/" in word]
        size = 1
        kind = "Distribute"
        for key, name in (("replica", "Replicate"), ("disperse-data", "Disperse")):
            if key in words:
                kind, size = name, int(words[words.index(key) + 1])
        if "redundancy" in words:
            size += int(words[words.index("redundancy") + 1])
        if kind != "Distribute" and len(bricks) > size:
            kind = f"Distributed-{kind}"
        if words[2] in self.volumes:
            return 1, f"volume create: {words[2]}: failed: Volume {words[2]} already exists"
        self.volumes[words[2]] = FakeVolume(kind, bricks)
        return 0, "success"

    def _peers(self, host: Host) -> str:
        peers = "".join(
            f"<peer><hostname>{server.address}</hostname><connected>{int(server.name not in self.disconnected)}"
            "</connected></peer>"
            for server in self.cluster.servers
            if server != host
        )
        return f"<cliOutput><opRet>0</opRet><peerStatus>{peers}</peerStatus></cliOutput>"

    def _info(self, names: list[str]) -> str:
        chosen = [name for name in self.volumes if name in names or names == ["--xml"]]
        text = ""
        for name in chosen:
            volume = self.volumes[name]
            bricks = "".join(f"<brick><name>{escape(brick)}</name></brick>" for brick in volume.bricks)
            options = "".join(
                f"<option><name>{escape(key)}</name><value>{escape(value)}</value></option>"
                for key, value in volume.options.items()
            )
            text += (
                f"<volume><name>{name}</name><typeStr>{volume.type}</typeStr><status>{1 if volume.started else 2}"
                f"</status><bricks>{bricks}</bricks><options>{options}</options></volume>"
            )
        return f"<cliOutput><opRet>0</opRet><volInfo><volumes>{text}</volumes></volInfo></cliOutput>"

    def _status(self, volume: FakeVolume) -> str:
        nodes = "".join(
            f"<node><hostname>{brick.partition(':')[0]}</hostname><path>{escape(brick.partition(':')[2])}</path>"
            f"<status>{int(volume.started and brick not in self.offline)}</status>"
            f"<port>{FIRST_PORT + number}</port><pid>{self.first_pid + number}</pid></node>"
            for number, brick in enumerate(volume.bricks)
        )
        return (
            f"<cliOutput><opRet>0</opRet><volStatus><volumes><volume>{nodes}<tasks/></volume></volumes></volStatus>"
            "</cliOutput>"
        )


def _part(name: str, code: int, answer: str) -> str:
    return script.write_part(name, script.Part(code, answer.encode())).decode()


def _words(line: str) -> list[str]:
    """Words of a line; a line that is only a part of a longer word has none that matter."""
    try:
        return shlex.split(line)
    except ValueError:
        return [""]
