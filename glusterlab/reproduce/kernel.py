"""Both processes of a notebook, papermill's and its kernel, forked from one that has imported what they need.

To import papermill, IPython and the library takes longer than most notebooks. Where nothing is forked (see
`glusterlab.parallel`) each process imports for itself, and Jupyter starts the kernel.
"""

import json
import os
import re
import sys
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import EntryPoint
from multiprocessing import Pipe, parent_process
from multiprocessing.context import ForkProcess
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import papermill
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from glusterlab import plots, sections
from glusterlab.figures.explorer import BATCH
from glusterlab.parallel import FORKED, adopt
from glusterlab.reproduce.execute import KERNEL, PROVISIONER, Job, Result

if FORKED:
    # of notebooks that need seaborn, its scipy.stats alone takes seconds
    for _name in ("ipykernel.kernelapp", "matplotlib.backends.backend_svg", "seaborn"):
        import_module(_name)
    for _package in (plots, sections):
        for _module in iter_modules(_package.__path__, f"{_package.__name__}."):
            import_module(_module.name)

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class _Kernel(ForkProcess):
    """A kernel that waits until it is told to begin, with what of `subprocess.Popen` a provisioner asks for."""

    waiting: "_Kernel | None" = None
    stdin = stdout = stderr = None

    def __init__(self) -> None:
        super().__init__()
        self._taken, self._orders = Pipe(duplex=False)

    def begin(self, argv: list[str], environment: dict[str, str], folder: str) -> None:
        self._orders.send((argv, environment, folder))

    def run(self) -> None:
        os.setsid()  # a provisioner's signals are for all of a group, and a kernel has no terminal
        self._orders.close()
        try:
            argv, environment, folder = self._taken.recv()
        except EOFError:
            return
        import matplotlib as mpl
        from ipykernel.kernelapp import IPKernelApp

        adopt(environment)
        os.chdir(folder)
        mpl.rcdefaults()
        mpl.rcParams["backend"] = "module://matplotlib_inline.backend_inline"  # as ipykernel has it imported
        asking = parent_process()
        IPKernelApp.launch_instance([*argv, f"--IPKernelApp.parent_handle={asking.pid if asking else 0}"])

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        if self.pid is not None:
            os.kill(self.pid, number)


class Provisioner(LocalProvisioner):
    """Has the kernel that waits in this process begin, and starts one where none does."""

    process: Any = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Take a command that ends with the kernel's own arguments, behind ``-m ipykernel_launcher``."""
        kernel, _Kernel.waiting = _Kernel.waiting, None
        if kernel is None:
            return await super().launch_kernel(cmd, **kwargs)
        self.cwd = Path(kwargs.get("cwd", Path.cwd()))
        kernel.begin(cmd[cmd.index("-m") + 2 :], kwargs["env"], str(self.cwd))
        self.process, self.pid, self.pgid = kernel, kernel.pid, kernel.pid
        return self.connection_info


# only here, where kernels can wait: an entry point would be every Jupyter's
KernelProvisionerFactory.instance().provisioners[PROVISIONER] = EntryPoint(
    PROVISIONER, f"{__name__}:{Provisioner.__name__}", KernelProvisionerFactory.GROUP_NAME
)


def main(job: Job) -> None:
    """Run a job and write its result beside the executed notebook."""
    kernel = None
    if FORKED and not sys.flags.hash_randomization:
        kernel = _Kernel.waiting = _Kernel()
        kernel.start()  # before papermill, which has threads
    try:
        partial = Path(job.folder, "result.partial")
        partial.write_text(json.dumps(asdict(_papermill(job))))
        partial.replace(Path(job.folder, "result.json"))
    finally:
        if kernel is not None:
            kernel.kill()


def _papermill(job: Job) -> Result:
    started: list[NotebookNode] = []

    def cell_starts(cell: NotebookNode, cell_index: int) -> None:
        del cell_index
        if "injected-parameters" not in cell.metadata.get("tags", []):
            started.append(cell)

    def failed(message: str, traceback: str = "") -> Result:
        tags = started[-1].metadata.get("tags", []) if started else []
        return Result(message, len(started) or None, tags[0] if tags else None, traceback)

    os.environ[BATCH] = "1"
    try:
        papermill.execute_notebook(
            job.source,
            str(Path(job.folder, Path(job.source).name)),
            parameters=dict(job.parameters),
            kernel_name=KERNEL,
            cwd=job.cwd,
            progress_bar=False,
            # else all of it is checked and written twice for each cell, and nobody looks at it meanwhile
            request_save_on_cell_execute=False,
            start_timeout=120,
            execution_timeout=job.cell_timeout,
            on_cell_start=cell_starts,
            # all is written by then, and a kernel takes most of a second to end by itself
            shutdown_kernel="immediate",
        )
    except PapermillExecutionError as error:
        message = f"{error.ename}: {error.evalue}".rstrip(": ")
        return failed(message, _ESCAPES.sub("", "\n".join(error.traceback)))
    # A dead kernel, a timeout and a kernel that does not start are of several unrelated types.
    except Exception as error:  # noqa: BLE001
        lines = [line for line in _ESCAPES.sub("", str(error)).splitlines() if line.strip()]
        return failed(": ".join([type(error).__name__, *lines[:1]]))
    return Result()
