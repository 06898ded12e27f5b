"""Notebooks forked from one process that imported for all: the same outputs, nothing shared, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from glusterlab import reproduce as reproducing
from glusterlab import scratch, warm
from glusterlab.figurestate import LOCK
from glusterlab.warm import Warm
from glusterlab.warmserver import Server

from .test_reproduce import BOTH, DRAW, Project, processes_with, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each notebook's process is started anew")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    found = Warm.begin(tmp_path_factory.mktemp("server"))
    assert found is not None
    yield found
    found.close()


WHAT_IT_SEES = """
import json, os, sys, threading
import matplotlib, numpy
from pathlib import Path
import matplotlib.pyplot as plt
facts = {
    "cwd": Path.cwd().name, "path": [each for each in sys.path if each not in os.environ.get("PYTHONPATH", "")],
    "argv": len(sys.argv), "main": sys.modules["__main__"].__name__, "backend": matplotlib.get_backend(),
    "hash": hash("glusterlab"), "interrupt": str(__import__("signal").getsignal(2)), "inline": os.environ["MPLBACKEND"],
    "main_thread": threading.current_thread() is threading.main_thread(),
}
Path(figures, "fig{number}-facts.csv").write_text(json.dumps(facts, sort_keys=True))
plt.plot([1, 2])
plt.show()
print(numpy.mean([1.0, 2.0]))
"""


class TestOutputs:
    def test_are_those_of_a_process_that_was_started_anew(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in (10, 20):
            project.write(f"{number}-n", code=WHAT_IT_SEES.replace("{number}", str(number)))
        for name in ("10-first", "20-second"):
            (project.root / "notebooks" / f"{name}.ipynb").unlink()

        def outputs() -> dict[str, object]:
            assert not project.run(force=True).failed
            found: dict[str, object] = {path.name: path.read_bytes() for path in project.figures.glob("fig*")}
            for path in (project.figures / "notebooks").glob("*.ipynb"):
                cells = nbformat.read(path, as_version=4).cells
                found[path.name] = [cell.outputs for cell in cells if cell.cell_type == "code"]
            return found

        asked = []
        start = Warm.start

        def started(self: Warm, *arguments: Path) -> warm.Forked | None:
            asked.append(start(self, *arguments))  # type: ignore[arg-type]
            return asked[-1]

        monkeypatch.setattr(Warm, "start", started)
        forked = outputs()
        assert len(asked) == 2
        assert None not in asked
        kinds = [output.output_type for output in forked["10-n.ipynb"][-1]]  # type: ignore[index]
        assert kinds == ["display_data", "stream"]
        monkeypatch.setattr(Warm, "begin", lambda _: None)
        assert outputs() == forked

    def test_nothing_of_one_notebook_is_seen_by_another(self, project: Project) -> None:
        code = "import os, sys, matplotlib, pathlib\n"
        code += "assert 'warmserver' in pathlib.Path('/proc', str(os.getppid()), 'cmdline').read_text()\n"
        code += "assert 'MARK' not in os.environ and not hasattr(sys, 'mark')\n"
        code += "assert matplotlib.rcParams['font.size'] != 3\n"
        code += "os.environ['MARK'] = '1'; sys.mark = 1; matplotlib.rcParams['font.size'] = 3\n"
        project.write("10-first", code=code + DRAW.format(number=10))
        project.write("20-second", code=code + DRAW.format(number=20))
        assert sorted(project.run(jobs=1).ran) == list(BOTH)

    def test_one_notebook_alone_has_no_server(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Warm, "begin", lambda _: pytest.fail("one process that imports is enough"))
        assert project.run(notebooks=["10"]).ran == BOTH[:1]

    def test_notebooks_that_are_only_told_anew_have_no_server(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert len(project.run().ran) == 2
        monkeypatch.setattr(Warm, "begin", lambda _: pytest.fail("nothing runs"))
        for name in ("10-first", "20-second"):
            number = name[:2]
            project.write(name, code=DRAW.format(number=number), text="# Another question")
        assert sorted(project.run().retold) == list(BOTH)

    def test_the_server_imports_nothing_of_the_folder_that_it_is_started_in(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "server").mkdir()
        for name in ("papermill", "queue"):
            (tmp_path / "here" / f"{name}.py").write_text(f"open({str(tmp_path / name)!r}, 'w')")
        monkeypatch.chdir(tmp_path / "here")
        server = Warm.begin(tmp_path / "server")
        assert server is not None
        forked = server.start(tmp_path / "job.json", tmp_path / "log.txt", {})
        assert forked is not None
        forked.wait(60)
        server.close()
        assert not (tmp_path / "papermill").exists()
        assert not (tmp_path / "queue").exists()


def ask(said: bytes, folder: Path) -> warm.Forked | None:
    """What `Warm.start` makes of a server's answer."""
    ours, theirs = socket.socketpair()

    def answer() -> None:
        _, (descriptor,), *_ = socket.recv_fds(theirs, 1 << 16, 1)
        with socket.socket(fileno=descriptor) as answers:
            answers.sendall(said)

    server = Warm.__new__(Warm)
    server._lock, server._ready, server._asked, server._control = threading.Lock(), True, False, ours
    thread = threading.Thread(target=answer)
    thread.start()
    with ours, theirs:
        forked = server.start(folder / "job.json", folder / "log.txt", {})
        thread.join(60)
    return forked


class TestAnswers:
    def test_a_process_that_ends_before_its_number_is_read(self, tmp_path: Path) -> None:
        forked = ask(b"123\n7\n", tmp_path)
        assert forked is not None
        assert (forked.pid, forked.wait(60), forked.is_lost) == (123, 7, False)

    def test_a_server_that_ends_says_no_code(self, tmp_path: Path) -> None:
        forked = ask(b"123\n", tmp_path)
        assert forked is not None
        assert (forked.wait(60), forked.is_lost) == (1, True)

    @pytest.mark.parametrize("said", [b"", b"12", b"what\n"])
    def test_no_number(self, tmp_path: Path, said: bytes) -> None:
        assert ask(said, tmp_path) is None


class TestServer:
    """The server's loop in this process, without its signals."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, socket.socket]]:
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        monkeypatch.setattr(signal, "set_wakeup_fd", lambda *_, **__: -1)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            server = Server(theirs)
            yield server, ours
            server._woken.close()
            server._wake.close()

    def test_a_machine_that_has_no_room_for_a_process(
        self, asked: tuple[Server, socket.socket], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse() -> int:
            raise BlockingIOError(11, "Resource temporarily unavailable")

        server, control = asked
        monkeypatch.setattr(os, "fork", refuse)
        answers, theirs = socket.socketpair()
        with answers:
            socket.send_fds(control, [b"{}"], [theirs.fileno()])
            theirs.close()
            control.shutdown(socket.SHUT_WR)
            # it goes on, until nobody asks any more
            assert server.serve() is None
            answers.settimeout(60)
            assert answers.recv(64) == b""

    def test_a_process_that_was_reaped_is_not_signalled(self, asked: tuple[Server, socket.socket]) -> None:
        server, control = asked
        control.close()
        gone, other = socket.socketpair()
        # both were found in one round: the end of a process, and a signal for it
        round_ = [SimpleNamespace(fileobj=each, data=4711) for each in (gone, server.control)]
        server._selector = SimpleNamespace(select=lambda: [(key, 1) for key in round_], register=lambda *_: None)
        with gone, other:
            other.sendall(b"9\n")
            assert server.serve() is None


class TestWithoutServer:
    def test_libraries_with_threads_are_not_forked_and_all_runs_as_usual(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(warm, "_ONE_THREAD", {"PYTHONPATH": str(project.root / "site")})
        (project.root / "site").mkdir()
        thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        (project.root / "site" / "sitecustomize.py").write_text(thread)
        assert sorted(project.run().ran) == list(BOTH)

    def test_a_server_that_does_not_come_up(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        (project.root / "site").mkdir()
        (project.root / "site" / "sitecustomize.py").write_text("import os; os._exit(3)")
        monkeypatch.setattr(warm, "_ONE_THREAD", {"PYTHONPATH": str(project.root / "site")})
        assert sorted(project.run().ran) == list(BOTH)

    def test_a_machine_that_starts_no_process_for_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise BlockingIOError(11, "Resource temporarily unavailable")

        monkeypatch.setattr(subprocess, "Popen", refuse)
        assert Warm.begin(tmp_path / "server") is None

    def test_a_server_that_is_killed_takes_its_notebooks_along(self, project: Project) -> None:
        seen = project.root / "seen"
        wait = f"import os, signal, time\nfrom pathlib import Path\nPath({str(seen)!r}).touch()\ntime.sleep(600)"
        kill = "import os, signal, time\nfrom pathlib import Path\n"
        kill += f"while not Path({str(seen)!r}).exists(): time.sleep(0.05)\n"
        kill += "parent = Path('/proc', str(os.getppid()), 'stat').read_text().rpartition(')')[2].split()[1]\n"
        kill += "os.environ['MARK'] = '1'\nos.kill(int(parent), signal.SIGKILL)\ntime.sleep(600)"
        project.write("10-first", code=wait)
        project.write("20-second", code=kill)
        summary = project.run()
        assert sorted(failure.notebook for failure in summary.failed) == ["10-first", "20-second"]
        assert {failure.error for failure in summary.failed} == {
            "the server of the notebooks ended, and this notebook with it"
        }


class TestEnd:
    def test_a_process_says_how_it_ended(self, server: Warm, tmp_path: Path) -> None:
        # no such job: it fails at once, and says so in its log
        log = tmp_path / "log.txt"
        forked = server.start(tmp_path / "job.json", log, {})
        assert forked is not None
        assert forked.wait(60) == 1
        assert forked.poll() == forked.returncode == 1
        assert "FileNotFoundError" in log.read_text()
        forked.terminate()
        forked.kill()

    def test_a_process_is_stopped(self, server: Warm, tmp_path: Path) -> None:
        job = tmp_path / "job.json"
        os.mkfifo(job)
        forked = server.start(job, tmp_path / "log.txt", {"MARK": str(tmp_path)})
        assert forked is not None
        assert forked.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            forked.wait(0.01)
        wait_until(lambda: kernels_of(forked.pid))
        kernels = kernels_of(forked.pid)
        forked.terminate()
        assert forked.wait(60) == -signal.SIGTERM
        # the kernel that waited for it ends, too
        wait_until(lambda: not any(alive(pid) for pid in kernels))

    def test_whoever_ends_a_process_waits_for_nobody_who_waits_for_it(self, server: Warm, tmp_path: Path) -> None:
        job = tmp_path / "job.json"
        os.mkfifo(job)
        forked = server.start(job, tmp_path / "log.txt", {})
        assert forked is not None
        codes: list[int] = []
        waiting = threading.Thread(target=lambda: codes.append(forked.wait(60)))
        waiting.start()
        # what a thread holds that has just found an answer
        with forked._lock:
            ending = threading.Thread(target=forked.terminate, daemon=True)
            ending.start()
            ending.join(60)
            assert not ending.is_alive()
        waiting.join(60)
        assert codes == [-signal.SIGTERM]

    def test_the_server_ends_what_it_forked(self, tmp_path: Path) -> None:
        (tmp_path / "server").mkdir()
        server = Warm.begin(tmp_path / "server")
        assert server is not None
        job = tmp_path / "job.json"
        os.mkfifo(job)
        forked = server.start(job, tmp_path / "log.txt", {})
        assert forked is not None
        wait_until(lambda: kernels_of(forked.pid))
        group = [str(forked.pid), *kernels_of(forked.pid)]
        server.close()
        assert forked.wait(60) == -signal.SIGTERM
        wait_until(lambda: not any(alive(pid) for pid in group))
        assert server.start(job, tmp_path / "log.txt", {}) is None

    def test_a_server_that_still_imports_is_ended_at_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("site", "server"):
            (tmp_path / name).mkdir()
        (tmp_path / "site" / "sitecustomize.py").write_text("import time; time.sleep(600)")
        monkeypatch.setattr(warm, "_ONE_THREAD", {"PYTHONPATH": str(tmp_path / "site")})
        for name in ("_READY_S", "_END_S"):
            monkeypatch.setattr(warm, name, 600)
        server = Warm.begin(tmp_path / "server")
        assert server is not None
        found: list[warm.Forked | None] = []
        asking = (tmp_path / "job.json", tmp_path / "log.txt", {})
        waiting = threading.Thread(target=lambda: found.append(server.start(*asking)), daemon=True)
        closing = threading.Thread(target=server.close, daemon=True)
        try:
            waiting.start()
            closing.start()
            closing.join(60)
            waiting.join(60)
            assert not closing.is_alive()
            assert found == [None]
        finally:
            server._server.kill()

    def test_an_interrupt_does_not_wait_for_a_server_that_still_imports(self, project: Project) -> None:
        for name in ("site", "temporary"):
            (project.root / name).mkdir()
        (project.root / "site" / "sitecustomize.py").write_text("import time; time.sleep(600)")
        script = "import sys; from pathlib import Path; from glusterlab import warm\n"
        script += "from glusterlab.reproduce import reproduce\n"
        script += "root = Path(sys.argv[1]); warm._READY_S = warm._END_S = 600\n"
        script += "warm._ONE_THREAD = {'PYTHONPATH': str(root / 'site')}\n"
        script += "reproduce(project=root, progress=lambda _: (root / 'seen').touch())"
        run = subprocess.Popen(
            [sys.executable, "-c", script, str(project.root)],
            env={**os.environ, "TMPDIR": str(project.root / "temporary")},
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until((project.root / "seen").exists)
            run.send_signal(signal.SIGINT)
            assert run.wait(60) != 0
        finally:
            run.kill()
            run.wait()
        assert list((project.root / "temporary").iterdir()) == []

    @pytest.mark.parametrize("notebooks", [["10"], None], ids=["started", "forked"])
    def test_nothing_temporary_is_left_of_a_run(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, notebooks: list[str] | None
    ) -> None:
        """Neither by the notebooks' processes, which are not stopped here."""
        temporary = project.root / "temporary"
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))
        monkeypatch.setattr(tempfile, "tempdir", None)
        assert not project.run(notebooks=notebooks).failed
        assert list(temporary.iterdir()) == []

    def test_notebooks_that_take_too_long(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scratch, "NOTEBOOK_TIMEOUT", 3)
        for name in ("10-first", "20-second"):
            project.write(name, code="import time; time.sleep(600)")
        summary = project.run()
        assert len(summary.failed) == 2
        assert all("not done within 3 s" in failure.error for failure in summary.failed)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_nothing_is_left_of_an_interrupted_run(self, project: Project, number: signal.Signals) -> None:
        """When the run itself is killed, its notebooks end with their server, which notices; only folders are left."""
        temporary = project.root / "temporary"
        temporary.mkdir()
        for name in ("10-first", "20-second"):
            code = f"import os, time\nos.mkdir(os.environ['SEEN'] + '{name}')\ntime.sleep(600)"
            project.write(name, code=code)
        seen = project.root / "seen"
        script = "import sys; from pathlib import Path; from glusterlab.reproduce import reproduce\n"
        script += "reproduce(project=Path(sys.argv[1]), jobs=2)"
        run = subprocess.Popen(
            [sys.executable, "-c", script, str(project.root)],
            env={**os.environ, "SEEN": str(seen), "TMPDIR": str(temporary)},
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: all(Path(f"{seen}{name}").exists() for name in ("10-first", "20-second")))
            assert len(processes_with(f"SEEN={seen}")) >= 5
            run.send_signal(number)
            run.wait(60)
        finally:
            run.kill()
            run.wait()
        wait_until(lambda: not processes_with(f"SEEN={seen}"))
        lock = [project.figures / LOCK] if number == signal.SIGKILL else []
        assert [path for path in project.figures.rglob("*") if path.is_file()] == lock
        assert number == signal.SIGKILL or list(temporary.iterdir()) == []


def alive(pid: str) -> bool:
    """Whether a process runs: it is there and not only waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kernels_of(pid: int) -> list[str]:
    """Children of a process."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_the_tables_of_a_run_are_not_checked_again_by_its_notebooks(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from glusterlab import tables

    code = "import os\n" + DRAW.format(number=10) + 'print(os.environ.get("GLUSTERLAB_CHECKED_TABLES"))'
    project.write("10-first", code=code)

    def printed() -> str:
        assert project.run(notebooks=["10"], force=True).ran
        cells = nbformat.read(project.figures / "notebooks" / "10-first.ipynb", as_version=4).cells
        return str(cells[-1].outputs[0].text).strip()

    # they could not be made: there is no campaign.yaml
    assert printed() == "None"
    monkeypatch.setattr(tables, "write", lambda *_, **__: True)
    assert printed() == str((project.figures / "tables").resolve())


def test_the_environment_of_this_process_stays_as_it_is(project: Project) -> None:
    before = dict(os.environ)
    assert reproducing.WARM_FROM == 2
    assert len(project.run().ran) == 2
    assert dict(os.environ) == before
    assert json.loads((project.figures / ".reproduce.json").read_text())["notebooks"].keys() == {
        "10-first",
        "20-second",
    }
