"""A pool of hosts in memory: it answers the suite's scripts as a healthy GlusterFS pool would, for tests.

What it does not know it answers with exit code 0 and no output.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID
from xml.sax.saxutils import escape

from glusterlab.errors import HostError
from glusterlab.hosts import lock, script
from glusterlab.hosts.gluster import DAEMONS
from glusterlab.hosts.transport import Outcome, Stop
from glusterlab.tools import runnable

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster, Host

OWNER = f"{lock.LOCK_DIR}/owner.json"
"""The lock of a host, in `FakeTransport.files`."""

Hook = Callable[[str, str], Outcome | None]
"""Receives a host's name and a script; answers it, or returns None to leave it to the fake."""

_MARK = str(UUID(int=0)).encode()
_KINDS = {"replica": "Replicate", "disperse-data": "Disperse"}
_FACTS = (
    "kernel 6.1.0,os Debian,machine x86_64,cpus 8,memory_bytes 64000000000,fuse yes,interface_operstate up,"
    "interface_mtu 1500,tuned_profile throughput-performance,tool gluster 10.3,tool sysstat 12.6.1,tool ssh 9.2,"
    "tool xz 5.4.1"
)


@dataclass
class FakeVolume:
    """A volume of the pool."""

    type: str
    bricks: list[str]
    started: bool = False
    options: dict[str, str] = field(default_factory=dict)
    hot: FakeVolume | None = None
    rebalanced: bool = False


class FakeTransport:
    """A `Transport` to a pool in memory, whose attributes a test changes.

    `calls`: host and script of every call. `hooks` answer first, the latest before the others. `offline` bricks are
    ``address:path``, `refused` options that the release has not, `strays` command lines by host until they are ended;
    `untiered` servers without tier daemon, `daemonless` ones without those of features; `rebalance` what looks at
    one find, of which the last stays; `facts` replace lines of
    ``gl_facts`` by their first word or two, `answers` what a shell function prints on a host.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.calls: list[tuple[str, str]] = []
        self.hooks: list[Hook] = []
        self.down: set[str] = set()
        self.disconnected: set[str] = set()
        self.offline: set[str] = set()
        self.untiered: set[str] = set()
        self.daemonless: set[str] = set()
        self.rebalance = ["completed"]
        self.heal_pending = 0
        self.release = "10.3"
        self.refused: set[str] = set()
        self.strays: dict[str, list[str]] = {}
        self.volumes: dict[str, FakeVolume] = {}
        self.mounted: dict[str, str] = {}
        self.files: dict[tuple[str, str], str] = {}
        self.facts: dict[str, dict[str, str]] = {}
        self.clock_offset_s: dict[str, float] = {}
        self.answers: dict[tuple[str, str], str] = {}
        self.unread: list[str] = []
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
        for more in (("lock.sh",), ("access.sh", "check/check.sh"), ("access.sh",), ()):
            text = text.removeprefix(script.library(*more))
        text = text.strip("\n")
        if stop.requested:
            return Outcome(b"", b"", None)
        # outside the lock: a hook may wait, or call others
        hooked = next((found for hook in reversed(self.hooks) if (found := hook(host.name, text)) is not None), None)
        with self._lock:
            self.calls.append((host.name, text))
            return hooked or self._answer(host, text)

    def scripts(self, host: str, word: str) -> list[str]:
        with self._lock:
            return [text for name, text in self.calls if name == host and word in text]

    def _answer(self, host: Host, text: str) -> Outcome:
        out = b""
        for line in text.splitlines():
            if not line.startswith("gl_") and " gl_part " not in line:
                continue
            words = _words(line[line.index("gl_") :])
            if words[0] in ("gl_owned", "gl_guard"):
                if f'"mark": "{words[2]}"' in self.files.get((host.name, words[1]), ""):
                    continue
                if words[0] == "gl_guard":
                    return Outcome(out + write_part("lost", "lost\n"), b"", 0)
                # a condition, and what is done when it does not hold
                words = words[4:]
            name = None
            if words[0] == "gl_part":
                name, words = words[1], words[2:]
            if words[0] == "cat" and (host.name, words[1]) not in self.files:
                continue
            code, answer = self._call(host, words)
            if name is not None:
                out += write_part(name, answer, code)
            elif words[0] == "exit":
                return Outcome(out, b"", int(words[1]))
            elif code:
                return Outcome(out, answer.encode(), code)
            else:
                out += answer.encode()
        return Outcome(out, b"", 0)

    def _call(self, host: Host, words: list[str]) -> tuple[int, str]:
        function, *rest = words
        if function == "gl_gluster":
            return (0, f"glusterfs {self.release} built") if rest == ["--version"] else self._gluster(host, rest)
        if function == "gl_mount":
            self.mounted[host.name] = "\n".join(dict.fromkeys([*self.mounted.get(host.name, "").split(), rest[2]]))
        calls: dict[str, Callable[[], str]] = {
            "gl_strays": lambda: "".join(f"stray 1 {command}\n" for command in self.strays.get(host.name, [])),
            "gl_heal": lambda: f"heal {self.heal_pending}\n",
            "gl_facts": lambda: self._facts(host),
            "gl_filesystems": lambda: "".join(
                f"fs {root} /dev/fake{n} xfs rw 4000000000000 3900000000000\n" for n, root in enumerate(rest)
            ),
            "gl_check": lambda: "uid 0\nload 0.1\nwork_free 90000000000\nfuse_opens yes\n",
            "gl_take": lambda: self._take(host.name, *rest[1:3]),
            "gl_unlock": lambda: self._give_back(host.name, rest[1], end=False),
            "gl_leave": lambda: self._give_back(host.name, rest[1]),
            "gl_kill": lambda: self._give_back(host.name, ""),
            "gl_access_facts": lambda: "access_server ganesha.nfsd smbd\naccess_client nfs cifs\n",
            "gl_clock": lambda: f"clock {time.time() + self.clock_offset_s.get(host.name, 0.0):.6f}\n",
            "gl_link": lambda: "link 1\n",
            "gl_space": lambda: "".join(f"space 900 1000 1048576 {path}\n" for path in rest),
            "gl_mount_state": lambda: (
                "mount ok\n" if rest[0] in self.mounted.get(host.name, "").split() else "mount none\n"
            ),
            "gl_umount_others": lambda: self._unmount(host.name, *rest[1:]),
            "gl_drop_caches": self._drop_caches,
            "gl_collect": lambda: "\0" * 10240,
            "cat": lambda: self.files[host.name, rest[0]],
            "sh": lambda: "telemetry",
        }
        if (host.name, function) in self.answers:
            return 0, self.answers[host.name, function]
        return 0, calls[function]() if function in calls else ""

    def _take(self, host: str, text: str, replaced: str) -> str:
        found = self.files.get((host, OWNER), text) or "empty"
        if found not in (text, replaced):
            return write_part("lock", found, 3).decode()
        self.files[host, OWNER] = text
        return (write_part("lock", "") + write_part("ended", "1\n" if self.strays.pop(host, None) else "")).decode()

    def _give_back(self, host: str, text: str, *, end: bool = True) -> str:
        if end:
            self.strays.pop(host, None)
        if self.files.get((host, OWNER)) == text:
            del self.files[host, OWNER]
        return ""

    def _unmount(self, host: str, kept: str, *names: str) -> str:
        points = self.mounted.pop(host, "").split()
        left = [
            point
            for point in points
            if point in kept.split() or not any(point.rpartition("/")[2].startswith(name) for name in names)
        ]
        self.mounted |= {host: "\n".join(left)} if left else {}
        return ""

    def _drop_caches(self) -> str:
        self._drops += 2
        return f"drop {self._drops - 2} {self._drops}\n"

    def _facts(self, host: Host) -> str:
        programs = [program for tool in runnable().values() for program in tool.programs]
        facts = {
            **dict(fact.rsplit(" ", 1) for fact in _FACTS.split(",")),
            **{f"tool {program.name}": program.example_version for program in programs},
            **{f"disk {device}": "7814037168 1 none 128 -" for device in host.devices},
            **self.facts.get(host.name, {}),
        }
        return "".join(f"{key} {value}\n" for key, value in facts.items() if value)

    def _gluster(self, host: Host, words: list[str]) -> tuple[int, str]:
        action, names = " ".join(words[:2]), words[2:]
        if action == "peer status":
            return 0, self._peers(host)
        if action == "volume info":
            return 0, self._info(names)
        if action == "volume create":
            return self._create(words)
        if action == "volume heal":
            return 0, ""
        volume = self.volumes.get(names[0])
        if volume is None:
            return 1, f"volume {names[0]} does not exist"
        return self._of_volume(host, volume, action, names)

    def _of_volume(self, host: Host, volume: FakeVolume, action: str, names: list[str]) -> tuple[int, str]:
        if action in ("volume status", "volume tier"):
            return self._tier(volume, host, names[1:]) if action == "volume tier" else (0, self._status(volume))
        if action in ("volume set", "volume get") and names[1] in self.refused:
            return 1, f"{action}{' option' * (action == 'volume get')}: failed: option : {names[1]} does not exist"
        if action == "volume delete":
            del self.volumes[names[0]]
        elif action == "volume set":
            volume.options.update(zip(names[1::2], names[2::2], strict=True))
        elif action == "volume add-brick":
            volume.bricks += [word for word in names if ":/" in word]
        elif action == "volume rebalance":
            return self._rebalance(volume, names[1])
        elif action in ("volume bitrot", "volume quota"):
            return self._feature(volume, action.split()[1], names[1:])
        elif action != "volume get":
            volume.started = action == "volume start"
            if names[-1] == "force":
                self.offline.clear()
                self.daemonless.clear()
        return 0, ""

    def _rebalance(self, volume: FakeVolume, what: str) -> tuple[int, str]:
        volume.rebalanced |= what == "start"
        if what != "status":
            return int(not volume.rebalanced), "Rebalance not started"
        state = self.rebalance.pop(0) if len(self.rebalance) > 1 else self.rebalance[0]
        counts = "<files>4</files><size>4096</size><lookups>9</lookups><failures>0</failures><skipped>1</skipped>"
        nodes = "".join(
            f"<node><nodeName>{server.address}</nodeName>{counts}<statusStr>{state}</statusStr>"
            f"<runtime>{number}.50</runtime></node>"
            for number, server in enumerate(self.cluster.servers)
        )
        return 0, _xml(f"<volRebalance>{nodes}</volRebalance>")

    def _feature(self, volume: FakeVolume, feature: str, words: list[str]) -> tuple[int, str]:
        if not volume.started or (words == ["enable"]) == (f"features.{feature}" in volume.options):
            return 1, f"expected a volume that is started, and {feature} enabled first and once"
        volume.options[f"features.{feature}"] = "on"
        return 0, ""

    def _create(self, words: list[str]) -> tuple[int, str]:
        if words[2] in self.volumes:
            return 1, f"volume create: {words[2]}: failed: Volume {words[2]} already exists"
        self.volumes[words[2]] = _bundled(words)
        return 0, "success"

    def _tier(self, volume: FakeVolume, host: Host, words: list[str]) -> tuple[int, str]:
        if words[0] == "attach":
            volume.hot = _bundled(words)
        if words[0] == "start":
            self.untiered.clear()
        nodes = ""
        for server in self.cluster.servers:
            name = "localhost" if server == host else server.name
            state = "failed" if server.name in self.untiered else "in progress"
            counts = "<promotedFiles>2</promotedFiles><demotedFiles>1</demotedFiles>"
            nodes += f"<node><nodeName>{name}</nodeName>{counts}<statusStr>{state}</statusStr></node>"
        return (0, _xml(f"<volRebalance>{nodes}</volRebalance>")) if volume.started else (1, "needs to be started")

    def _peers(self, host: Host) -> str:
        peers = "".join(
            f"<peer><hostname>{server.address}</hostname><connected>{int(server.name not in self.disconnected)}"
            "</connected></peer>"
            for server in self.cluster.servers
            if server != host
        )
        return _xml(f"<peerStatus>{peers}</peerStatus>")

    def _info(self, names: list[str]) -> str:
        text = ""
        for name, volume in self.volumes.items():
            if name not in names and names != ["--xml"]:
                continue
            kind, bricks = f"<typeStr>{volume.type}</typeStr>", _bricks(volume.bricks)
            if volume.hot is not None:
                kind, cold = "<typeStr>Tier</typeStr>", f"<coldBrickType>{volume.type}</coldBrickType>{bricks}"
                hot = f"<hotBrickType>{volume.hot.type}</hotBrickType>{_bricks(volume.hot.bricks[::-1])}"
                bricks = f"<hotBricks>{hot}</hotBricks><coldBricks>{cold}</coldBricks>"
            options = "".join(
                f"<option><name>{escape(key)}</name><value>{escape(value)}</value></option>"
                for key, value in volume.options.items()
            )
            text += (
                f"<volume><name>{name}</name>{kind}<status>{1 if volume.started else 2}"
                f"</status><bricks>{bricks}</bricks><options>{options}</options></volume>"
            )
        return _xml(f"<volInfo><volumes>{text}</volumes></volInfo>")

    def _status(self, volume: FakeVolume) -> str:
        nodes = "".join(
            f"<node><hostname>{brick.partition(':')[0]}</hostname><path>{escape(brick.partition(':')[2])}</path>"
            f"<status>{int(volume.started and brick not in self.offline)}</status>"
            f"<port>{49152 + number}</port><pid>{1000 + number}</pid></node>"
            for number, brick in enumerate([*volume.bricks, *(volume.hot.bricks if volume.hot else ())])
        )
        on = [name for each in DAEMONS if volume.options.get(f"features.{each}") == "on" for name in DAEMONS[each]]
        nodes += "".join(
            f"<node><hostname>{name}</hostname><path>{server.address}</path><status>{int(runs)}</status>"
            f"<port>N/A</port><pid>{2000 + number if runs else -1}</pid></node>"
            for number, name in enumerate(on)
            for server in self.cluster.servers
            for runs in (server.name not in self.daemonless,)
        )
        return _xml(f"<volStatus><volumes><volume>{nodes}<tasks/></volume></volumes></volStatus>")


def _bundled(words: list[str]) -> FakeVolume:
    """What the words of a volume that is created, or of a tier that is attached, make."""
    bricks = [word for word in words if ":/" in word]
    sizes = {key: int(words[words.index(key) + 1]) for key in words if key in _KINDS or key == "redundancy"}
    kind = next((_KINDS[key] for key in sizes if key in _KINDS), "Distribute")
    return FakeVolume(f"Distributed-{kind}" if sizes and len(bricks) > sum(sizes.values()) else kind, bricks)


def _bricks(names: list[str]) -> str:
    return "".join(f"<brick><name>{escape(name)}</name></brick>" for name in names)


def _xml(text: str) -> str:
    return f"<cliOutput><opRet>0</opRet>{text}</cliOutput>"


def write_part(name: str, answer: str | bytes, code: int = 0) -> bytes:
    """A part of a report as host.sh writes it."""
    data = answer if isinstance(answer, bytes) else answer.encode()
    return b"part %s %s\n%s\n%s %d\n" % (name.encode(), _MARK, data, _MARK, code)


def _words(line: str) -> list[str]:
    """Words of a line; a line that is only a part of a longer word has none that matter."""
    try:
        return shlex.split(line)
    except ValueError:
        return [""]
