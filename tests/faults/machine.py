"""The testbed as a machine room: what a fault does to a host, and what is still at work there."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from glusterlab.testbed import network
from glusterlab.testbed.state import State
from tests.e2e.suite import ssh

TOOLS = frozenset({"iozone", "sadc", "sadf", "sar"})
"""Programs that only the suite starts on these hosts."""


_BOOT = """
import sys
from pathlib import Path
from glusterlab.testbed import lifecycle, state
room, host = state.State.load(Path(sys.argv[1])), sys.argv[2]
(room.host_folder(host) / "upper/var/lib/glusterlab-ready").unlink(missing_ok=True)
root = lifecycle.ensure_trees(room.options, lambda _: None)
lifecycle._wait_ready(room, {host: lifecycle._boot(room, root, host)})
"""


class Room:
    """The hosts of a running testbed, by name."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.name = state.options.name
        self.servers = state.options.server_names
        self.clients = state.options.client_names
        self.hosts = self.servers + self.clients
        self.cluster = state.folder / "cluster.yaml"

    def ssh(self, host: str, command: str) -> str:
        return ssh(self.cluster, host, command)

    def pids(self, host: str, program: str, words: str = "") -> list[int]:
        """Processes of a host, in this machine's numbers, by program name and a part of their command line."""
        found = []
        for pid in network.pids(network.namespace(self.name, host)):
            with suppress(OSError):
                comm = Path(f"/proc/{pid}/comm").read_text().strip()
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if comm == program and words in line:
                    found.append(pid)
        return found

    def runs(self, host: str, program: str) -> bool:
        """Whether a program runs on a host, which may be a guest, whose processes nobody sees from outside."""
        if host not in self.state.options.guest_names:
            return bool(self.pids(host, program))
        # one that was killed says nothing
        with suppress(AssertionError, subprocess.TimeoutExpired):
            return bool(self.ssh(host, f"pidof {program} || true").strip())
        return False

    def at_work(self) -> dict[str, list[str]]:
        """Command lines that the suite left on each host: with its marker in their environment, or workloads' tools."""
        left: dict[str, list[str]] = {}
        for host in self.hosts:
            for pid in network.pids(network.namespace(self.name, host)):
                with suppress(OSError):
                    process = Path(f"/proc/{pid}")
                    is_tool = (process / "comm").read_text().strip() in TOOLS
                    if is_tool or b"GLUSTERLAB_RUN=" in (process / "environ").read_bytes():
                        words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        left.setdefault(host, []).append(words[:120])
        return left

    def send(self, host: str, program: str, number: signal.Signals, words: str = "") -> None:
        pids = self.pids(host, program, words)
        assert pids, f"no {program} runs on {host}"
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def link(self, host: str, *, up: bool) -> None:
        port = network.port(self.name, host)
        subprocess.run(["ip", "link", "set", port, "up" if up else "down"], check=True)

    def kill(self, host: str) -> None:
        network.kill_all(self.state.options.name, host)

    def boot(self, host: str) -> None:
        # in a process of its own, which the host outlives
        folder = str(self.state.folder)
        subprocess.run([sys.executable, "-c", _BOOT, folder, host], check=True, timeout=120, capture_output=True)

    def drop_ssh(self, host: str) -> None:
        """End the daemon's side of the controller's connections to a host, and of no other."""
        command = ["ip", "netns", "exec", network.namespace(self.name, host), "ss", "-Htnp", "state", "established"]
        rows = subprocess.run([*command, "sport", "=", ":22"], capture_output=True, text=True, check=True).stdout
        gateway = self.state.options.gateway
        pids = [int(n) for row in rows.splitlines() if f" {gateway}:" in row for n in re.findall(r"pid=(\d+)", row)]
        assert pids, f"the controller has no connection to {host}"
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def set_clock(self, host: str, seconds: int) -> None:
        """Let scripts on a host read a clock that is off by some seconds; 0 sets it right.

        Namespaces have no real-time clock of their own: so `date`, and the shell without its own clock variables, are
        found earlier in PATH (with SHLVL, because a first shell below sshd reads no BASH_ENV). What reads the kernel's
        clock itself, such as sadc, keeps the right time.
        """
        places = "/usr/local/bin/date /usr/local/bin/bash /etc/wrong-clock"
        if not seconds:
            self.ssh(host, f"rm -f {places}")
            return
        self.ssh(
            host,
            "printf 'unset EPOCHREALTIME EPOCHSECONDS\\n' >/etc/wrong-clock\n"
            f'printf \'#!/bin/sh\\nexec /bin/date -d "{seconds:+d} seconds" "$@"\\n\' >/usr/local/bin/date\n'
            "printf '#!/bin/sh\\nSHLVL=3 BASH_ENV=/etc/wrong-clock exec /bin/bash \"$@\"\\n' >/usr/local/bin/bash\n"
            "chmod 755 /usr/local/bin/date /usr/local/bin/bash",
        )

    def fill(self, host: str, folder: str) -> None:
        """Leave no room on a host's file system."""
        self.ssh(
            host,
            f"fallocate -l $(($(stat -f -c '%a * %S' {folder}) - 65536)) {folder}/fill 2>/dev/null;"
            f" dd if=/dev/zero bs=4k conv=notrunc oflag=append of={folder}/fill 2>/dev/null; true",
        )

    def make_room(self, host: str, folder: str) -> None:
        self.ssh(host, f"rm -f {folder}/fill")
