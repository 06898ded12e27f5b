"""Looking over a run's shoulder, from other processes and on a real terminal."""

import fcntl
import io
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from glusterlab import cli
from glusterlab.errors import RawStoreError
from glusterlab.run.progress import Ending, NowFile, Progress
from glusterlab.run.state import NOW, Counts, RunState, life, read_now
from glusterlab.run.view import SILENCE_S, log_events, watch
from glusterlab.store.campaign import RawStore
from glusterlab.store.journal import Journal
from tests.cli.test_cli import CAMPAIGN, CLUSTER
from tests.run.test_progress import drive, finished, rate

ROOT = Path(__file__).resolve().parents[2]
LONG_S = 60.0


def eventually(true: Callable[[], bool]) -> None:
    """Wait for it; the bound is only there to end a test that would hang."""
    until = time.monotonic() + LONG_S
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps the state of a run, until it is killed at the end."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], cwd=ROOT)
    try:
        eventually(lambda: (found := read_now(folder)) is not None and found.phase.startswith("waiting"))
        yield process
    finally:
        process.kill()
        process.wait()


class Background(threading.Thread):
    """Does its work beside the test."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(target=lambda: self.returned.append(work()), daemon=True)
        self.returned: list[Any] = []
        self.start()

    def end(self) -> Any:
        self.join(LONG_S)
        return self.returned[0]


def watched(folder: Path, words: str) -> tuple[Background, io.StringIO]:
    """Watch a campaign as `status --watch` does in a pipe, from the moment when it has printed some words."""
    out = io.StringIO()
    looking = Background(lambda: watch(folder, Console(file=out, width=60)))
    eventually(lambda: words in out.getvalue())
    return looking, out


def kept(folder: Path) -> Progress:
    return Progress(folder.name, NowFile(folder))


def failed(why: str, folder: Path = Path("raw/night")) -> Ending:
    return Ending("night", folder, "failed", 1, why, 1.0)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    RawStore.create(folder, campaign_yaml=CAMPAIGN, cluster_yaml=CLUSTER, environment={})
    return folder


def test_a_state_is_kept_and_read_back(tmp_path: Path) -> None:
    assert read_now(tmp_path) is None
    keeper = drive(NowFile(tmp_path))
    found = read_now(tmp_path)
    assert found == keeper.state
    assert (life(found), found.outcome, found.total, found.left, found.rounds) == ("ended", "incomplete", 10, 4, 3)
    results = [(entry.status, entry.value, entry.n) for entry in found.recent]
    assert results == [("invalid", "", 0), ("valid", "78.0 MB/s", 1)]
    assert found.codes == {"heal-pending": 1}
    assert found.notes[0].message.startswith("waiting for")
    assert list(tmp_path.glob(".*")) == []


def test_no_secret_is_kept(tmp_path: Path) -> None:
    keeper = kept(tmp_path)
    keeper.note("curl https://me:hunter2hunter2@example.org/ failed")
    keeper.end(failed("the run ends: https://me:hunter2hunter2@example.org/ does not answer"))
    assert "hunter2" not in (tmp_path / NOW).read_text()
    assert "the run ends: " in keeper.state.message


def test_only_the_last_results_are_kept(tmp_path: Path) -> None:
    keeper = kept(tmp_path)
    keeper.begin(Counts(total=100, left=100), None)
    for n in range(100):
        keeper.note(f"note {n}")
        keeper.sample_ends(*finished("valid"), None, rate(1e6 * n), [rate(1e6 * n)])
    found = read_now(tmp_path)
    assert len(found.recent) == len(found.notes) == 24
    assert found.recent[-1].value == "99.0 MB/s"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "found damage; remove it: the next run writes it anew$"),
        ("{}", "schema_version, found damage; remove it"),
        ('{"schema_version": 99}', "newer"),
        ('{"schema_version": 1, "campaign": 3}', "campaign: expected text, found the number 3: .*; remove it"),
    ],
)
def test_damage_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / NOW).write_text(text)
    with pytest.raises(RawStoreError, match=said):
        read_now(tmp_path)


def test_what_a_newer_release_says_besides_is_passed_over(tmp_path: Path) -> None:
    state = json.loads(RunState.begun("x").model_dump_json())
    (tmp_path / NOW).write_text(json.dumps({**state, "mood": "good"}))
    assert read_now(tmp_path) is not None


HOLD = """
import sys, time
from pathlib import Path
from glusterlab.run.progress import NowFile, Progress
folder = Path(sys.argv[1])
Progress(folder.name, NowFile(folder)).phase("waiting for s2 to come back")
time.sleep(600)
"""


def test_a_run_that_was_killed_is_told_from_one_at_work(tmp_path: Path) -> None:
    with running(tmp_path):
        state = read_now(tmp_path)
        assert life(state) == "running"
        assert life(state.model_copy(update={"process_start": 1})) == "lost"
        assert life(state.model_copy(update={"host": "elsewhere"})) == "elsewhere"
        looking, _ = watched(tmp_path, "running since")
    assert re.search("has vanished.*waiting for s2 to come back", looking.end())


def test_a_log_gets_a_line_for_what_happens(tmp_path: Path) -> None:
    keeper = kept(tmp_path)
    keeper.begin(Counts(total=2, left=2), None)
    looking, out = watched(tmp_path, "running since")
    keeper.note("started [bold] volume x")
    keeper.sample_ends(*finished("valid"), None, rate(78e6), [rate(78e6)])
    eventually(lambda: "78.0 MB/s" in out.getvalue())
    keeper.end(failed("the run ends: s1: does not answer"))
    assert looking.end().endswith("the run ends: s1: does not answer")
    _, started, valid = out.getvalue().splitlines()
    assert started.endswith("INFO    started [bold] volume x")
    assert valid.endswith("native-w4 repeat 2, attempt 2: valid in 75 s: 78.0 MB/s (n = 1)")


@pytest.mark.parametrize("stored", [True, False])
def test_a_copy_of_a_run_that_was_killed_elsewhere_is_not_watched_for_ever(campaign: Path, stored: bool) -> None:
    deadline = 60.0 if stored else 0.0
    (campaign / "campaign.yaml").write_text(f"{CAMPAIGN}\ndeadline: 1 min\n")
    if not stored:
        (campaign / "campaign.yaml").unlink()
    Journal(campaign).say("one")
    state = RunState.begun("small").model_copy(update={"host": "elsewhere"})

    def silent_for(seconds: float) -> None:
        (campaign / NOW).write_text(state.model_copy(update={"updated": time.time() - seconds}).model_dump_json())

    silent_for(SILENCE_S + deadline - 30)
    looking, _ = watched(campaign, "on elsewhere since")
    assert not looking.returned
    silent_for(SILENCE_S + deadline + 30)
    assert "it has ended, or this is a copy" in looking.end()
    assert Background(lambda: len(list(log_events(campaign, follow=True)))).end() == 1


def test_followed_events_end_with_the_run(tmp_path: Path) -> None:
    journal, keeper = Journal(tmp_path), kept(tmp_path)
    journal.say("one")
    keeper.phase("connecting to all hosts")
    reading = Background(lambda: [event.message for event in log_events(tmp_path, follow=True)])
    journal.say("two")
    keeper.end(Ending("night", tmp_path, "complete", 0, "done", 1.0))
    assert reading.end() == ["one", "two"]
    assert [event.message for event in log_events(tmp_path, follow=False)] == ["one", "two"]


def call(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli.app, [str(word) for word in arguments], env={"COLUMNS": "80", "TERM": "dumb"})
    return done.exit_code, done.stdout, done.stderr


def test_status_watch_over_a_campaign_that_is_not_running(campaign: Path) -> None:
    code, out, err = call("status", campaign, "--watch")
    assert (code, err) == (1, f"{campaign}: there is no now.json of a run; this is what is stored\n")
    assert "0 of 8 samples valid" in out
    kept(campaign).end(failed("the run ends: s1: does not answer"))
    code, out, err = call("status", campaign, "--watch")
    assert code == 1
    assert re.fullmatch(r"not running since \d\d:\d\d, .* ago: the run ends: s1: does not answer\n", err)
    assert "0 of 8 samples valid" in out
    assert call("status", campaign, "--watch", "--json")[0] == 2


def test_status_says_how_the_last_run_ended(campaign: Path) -> None:
    assert json.loads(call("status", campaign, "--json")[1])["run"] is None
    kept(campaign).end(Ending("small", campaign, "stopped", 130, "the run is stopped", 1.0))
    code, out, err = call("status", campaign)
    assert (code, err.endswith("the run is stopped\n")) == (1, True)
    assert "the run is stopped" not in out
    run = json.loads(call("status", campaign, "--json")[1])["run"]
    assert (run["life"], run["outcome"], run["campaign"]) == ("ended", "stopped", "small")
    (campaign / NOW).write_text("{")
    code, out, err = call("status", campaign)
    assert "found damage" in err
    assert "0 of 8 samples valid" in out


@contextmanager
def on_terminal(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process on a terminal of its own, and the terminal's other end."""
    main, side = pty.openpty()
    fcntl.ioctl(main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        stdin=side,
        stdout=side,
        stderr=side,
        env={**inherited, "TERM": "xterm-256color"},
        start_new_session=True,
        # so that Ctrl-C reaches it
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(side)
    try:
        yield process, main
    finally:
        process.kill()
        process.wait()
        os.close(main)


def read_until(terminal: int, words: bytes) -> bytes:
    """What a terminal shows until there are some words, or its process has ended."""
    seen, until = b"", time.monotonic() + LONG_S
    while words not in seen:
        assert time.monotonic() < until, seen
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    return seen


def test_status_watch_is_left_by_ctrl_c_and_the_run_goes_on(campaign: Path) -> None:
    command = ("-m", "glusterlab.cli", "status", str(campaign), "--watch")
    with running(campaign) as run, on_terminal(*command) as (process, terminal):
        seen = read_until(terminal, b"waiting for s2")
        os.write(terminal, b"\x03")
        seen += read_until(terminal, b"0 of 8 samples valid")
        assert process.wait(LONG_S) == 1
        assert b"left; a run goes on" in seen
        # the cursor comes back
        assert b"\x1b[?25h" in seen[seen.index(b"\x1b[?25l") :]
        assert run.poll() is None
