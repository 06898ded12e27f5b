"""A kernel that is forked from a process which has imported what notebooks need, in place of one that starts anew.

The fork is done before that process has a thread or a socket of its own: `WaitingKernel.fork` comes first, and the
kernel waits until `ForkedProvisioner`, of which Jupyter asks a kernel, tells it where to connect.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from glusterlab.warm import PROVISIONER

if TYPE_CHECKING:
    from jupyter_client.connect import KernelConnectionInfo

_LAUNCHER = "ipykernel_launcher"


class WaitingKernel:
    """A forked process, seen from its parent; it has of `subprocess.Popen` what Jupyter uses.

    Attributes
    ----------
    pid : int
        Also its process group.
    returncode : int or None
        None while it runs; negative for a signal.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int, orders: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._orders = orders

    @classmethod
    def fork(cls) -> Self:
        """Fork a kernel; only the parent returns."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            _become_kernel(reading)
        os.close(reading)
        return cls(pid, writing)

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], cwd: str) -> None:
        """Let it begin.

        Parameters
        ----------
        arguments : sequence of str
            Of ipykernel, with the connection file.
        environment : mapping of str to str
        cwd : str
        """
        order = {"arguments": list(arguments), "environment": dict(environment), "cwd": cwd}
        with os.fdopen(self._orders, "wb") as pipe:
            pipe.write(json.dumps(order).encode())

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self) -> int:
        """Wait for its end."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Signal it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def _become_kernel(orders: int) -> None:
    """Wait for orders and be the kernel; ends by SystemExit, so that everything registered for the end is done."""
    # a session of its own, as every kernel has: signals for its group spare those who started it
    os.setsid()
    with os.fdopen(orders, "rb") as pipe:
        text = pipe.read()
    if not text:
        # nobody needs it, or whoever might is gone
        os._exit(0)
    order = json.loads(text)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["cwd"])
    sys.argv = [_LAUNCHER, *order["arguments"]]
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(argv=order["arguments"], parent_handle=os.getppid())
    raise SystemExit(0)


class ForkedProvisioner(LocalProvisioner):
    """Gives Jupyter the kernel that waits; a second one, after a restart, is started anew."""

    waiting: ClassVar[WaitingKernel | None] = None

    @classmethod
    def register(cls, kernel: WaitingKernel) -> None:
        """Make this kernel the next that is asked for under `PROVISIONER`."""
        cls.waiting = kernel
        group = KernelProvisionerFactory.GROUP_NAME
        value = f"{__name__}:{cls.__name__}"
        KernelProvisionerFactory.provisioners[PROVISIONER] = EntryPoint(PROVISIONER, value, group)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start the kernel that waits with the command's arguments."""
        kernel, ForkedProvisioner.waiting = ForkedProvisioner.waiting, None
        if kernel is None:
            return await super().launch_kernel(cmd, **kwargs)
        # the kernel ends when this process does
        environment = {**kwargs.get("env", os.environ), "JPY_PARENT_PID": str(os.getpid())}
        # this process may have gone elsewhere since it was forked
        folder = str(kwargs.get("cwd") or Path.cwd())
        kernel.start(cmd[cmd.index(_LAUNCHER) + 1 :], environment, folder)
        # it has of Popen what is used of it
        self.process = cast(Any, kernel)
        self.pid = self.pgid = kernel.pid
        return self.connection_info
