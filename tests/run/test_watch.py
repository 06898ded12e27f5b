"""Looking over a run's shoulder, from other processes and on a real terminal."""

from __future__ import annotations

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
from collections.abc import Callable
from pathlib import Path

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


def start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(words, cwd=ROOT)


def in_background(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """A thread that is at work, and what it returns in the end."""
    returned: list[object] = []
    thread = threading.Thread(target=lambda: returned.append(work()), daemon=True)
    thread.start()
    return thread, returned


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
    assert found is not None
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
    assert found is not None
    assert len(found.recent) == len(found.notes) == 24
    assert found.recent[-1].value == "99.0 MB/s"


def test_a_state_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    drive(NowFile(tmp_path / "none"))


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
    process = start(HOLD, tmp_path)
    try:
        eventually(lambda: (found := read_now(tmp_path)) is not None and found.phase.startswith("waiting"))
        state = read_now(tmp_path)
        assert state is not None
        assert life(state) == "running"
        assert life(state.model_copy(update={"process_start": 1})) == "lost"
        assert life(state.model_copy(update={"host": "elsewhere"})) == "elsewhere"
        out = io.StringIO()
        looking, sentences = in_background(lambda: watch(tmp_path, Console(file=out, width=60)))
        eventually(lambda: "running since" in out.getvalue())
    finally:
        process.kill()
        process.wait()
    looking.join(LONG_S)
    assert re.search("has vanished.*waiting for s2 to come back", str(sentences[0]))


def test_a_log_gets_a_line_for_what_happens(tmp_path: Path) -> None:
    keeper = kept(tmp_path)
    keeper.begin(Counts(total=2, left=2), None)
    out = io.StringIO()
    looking, sentences = in_background(lambda: watch(tmp_path, Console(file=out, width=60)))
    eventually(lambda: "running since" in out.getvalue())
    keeper.note("started [bold] volume x")
    keeper.sample_ends(*finished("valid"), None, rate(78e6), [rate(78e6)])
    eventually(lambda: "78.0 MB/s" in out.getvalue())
    keeper.end(failed("the run ends: s1: does not answer"))
    looking.join(LONG_S)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("INFO    started [bold] volume x")
    assert lines[2].endswith("native-w4 repeat 2, attempt 2: valid in 75 s: 78.0 MB/s (n = 1)")
    assert str(sentences[0]).endswith("the run ends: s1: does not answer")


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

    out = io.StringIO()
    silent_for(SILENCE_S + deadline - 30)
    looking, told = in_background(lambda: watch(campaign, Console(file=out, width=60)))
    eventually(lambda: "on elsewhere since" in out.getvalue())
    assert not told
    silent_for(SILENCE_S + deadline + 30)
    looking.join(LONG_S)
    assert "it has ended, or this is a copy" in str(told[0])
    followed, events = in_background(lambda: len(list(log_events(campaign, follow=True))))
    followed.join(LONG_S)
    assert events == [1]


def test_followed_events_end_with_the_run(tmp_path: Path) -> None:
    journal, keeper = Journal(tmp_path), kept(tmp_path)
    journal.say("one")
    keeper.phase("connecting to all hosts")
    reading, found = in_background(lambda: [event.message for event in log_events(tmp_path, follow=True)])
    journal.say("two")
    keeper.end(Ending("night", tmp_path, "complete", 0, "done", 1.0))
    reading.join(LONG_S)
    assert found == [["one", "two"]]
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


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.main, side = pty.openpty()
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
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
        self.seen = b""

    def read_until(self, words: bytes) -> None:
        until = time.monotonic() + LONG_S
        while words not in self.seen:
            assert time.monotonic() < until, self.seen
            if select.select([self.main], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.main, 65536)
                except OSError:
                    return  # the process and its side of the terminal are closed

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.main)


def test_status_watch_is_left_by_ctrl_c_and_the_run_goes_on(campaign: Path) -> None:
    process = start(HOLD, campaign)
    try:
        eventually(lambda: (campaign / NOW).exists())
        terminal = Terminal("-m", "glusterlab.cli", "status", str(campaign), "--watch")
        try:
            terminal.read_until(b"waiting for s2")
            os.write(terminal.main, b"\x03")
            terminal.read_until(b"0 of 8 samples valid")
            assert terminal.process.wait(LONG_S) == 1
        finally:
            terminal.close()
        assert b"left; a run goes on" in terminal.seen
        # the cursor comes back
        assert b"\x1b[?25h" in terminal.seen[terminal.seen.index(b"\x1b[?25l") :]
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
