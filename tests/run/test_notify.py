"""Telling others that a run has ended: a real shell, and a real web server that is kind, slow, broken or away."""

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner, Result

from glusterlab import cli
from glusterlab.errors import HostError, UsageError
from glusterlab.run import notify
from glusterlab.run.notify import Notifier
from glusterlab.run.progress import Ending, RunSummary
from tests.cli.test_cli import CAMPAIGN, CLUSTER

SECRET = "T0ken-that-nobody-may-see"
SUMMARY = RunSummary(
    "night", Path("raw/night"), 8, 6, 1, 1, 0, 9, 250.0, problems=tuple(f"w{n} is bad" for n in range(7))
)
END = Ending.of(SUMMARY)

Answer = Callable[[BaseHTTPRequestHandler, int], object]


def status(*codes: int) -> Answer:
    """Answers with these, the last one for ever."""

    def answer(request: BaseHTTPRequestHandler, number: int) -> None:
        request.send_response(codes[min(number, len(codes)) - 1])
        request.send_header("Location", "/elsewhere")
        request.end_headers()

    return answer


def endless(request: BaseHTTPRequestHandler, number: int) -> None:
    """Answers well, and sends a body that never ends."""
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"x" * 1000)
        time.sleep(0.01)


class Server(ThreadingHTTPServer):
    """Keeps what was posted to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/hooks/{SECRET}"
        self.answer: Answer = status(200)
        self.got: list[dict[str, Any]] = []
        self.paths: list[str] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some of the tests want."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        assert self.headers["Content-Type"] == "application/json"
        self.server.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.paths.append(self.path)
        self.server.answer(self, len(self.server.got))

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(notify, "_BACKOFF_S", 0.0)
    monkeypatch.delenv("GLUSTERLAB_WEBHOOK", raising=False)
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def tell(server: Server) -> list[str]:
    return Notifier(None, server.url).tell(END)


def test_a_webhook_gets_a_text_for_a_chat_and_all_facts(server: Server) -> None:
    assert tell(server) == []
    (got,) = server.got
    lines = got["text"].splitlines()
    assert "6 of 8 samples valid" in lines[0]
    assert lines[1:] == [*(f"- w{n} is bad" for n in range(5)), "- and 2 more"]
    counts = {"total": 8, "valid": 6, "invalid": 1, "failed": 1, "left": 0, "executed": 9, "seconds": 250.0}
    facts = {"schema_version": 1, "campaign": "night", "raw": "raw/night", "outcome": "incomplete", "exit_code": 1}
    assert got["glusterlab"] == {**facts, **counts, "message": lines[0], "problems": list(SUMMARY.problems)}


@pytest.mark.parametrize(
    ("answer", "calls", "said"),
    [
        (status(503, 429, 200), 3, None),
        (status(503), 3, "answered with status 503"),
        (status(403), 1, "answered with status 403"),
        (status(302), 1, "answered with status 302"),
        (endless, 1, None),
    ],
)
def test_what_may_pass_is_tried_again_and_nothing_is_followed(
    server: Server, answer: Answer, calls: int, said: str | None
) -> None:
    server.answer = answer
    assert tell(server) == ([] if said is None else [f"the webhook {said}"])
    assert server.paths == [f"/hooks/{SECRET}"] * calls


def test_a_webhook_that_hangs_is_left_alone_at_its_limit(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(notify, "LIMIT_S", 0.5)
    server.answer = lambda *_: release.wait(60)
    began = time.monotonic()
    assert tell(server) == ["the webhook did not answer within 0.5 s"]
    assert time.monotonic() - began < 20
    release.set()


def test_a_webhook_that_is_away_is_said_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "_RETRIES", 0)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/{SECRET}"
        assert Notifier(None, url).tell(END) == ["the webhook could not be reached, or did not answer in time"]


@pytest.mark.parametrize(
    "url", [f"ftp://x/{SECRET}", SECRET, f"http://:80/{SECRET}", f"https://x:port/{SECRET}", "http://["]
)
def test_what_is_no_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError, match="expected a URL") as caught:
        Notifier(None, url)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(Notifier(None, f"https://x/{SECRET}"))


def test_a_command_gets_variables_and_json_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLUSTERLAB_WEBHOOK", SECRET)
    error = HostError(f"https://me:{SECRET}@example.org/ does not answer", host="s1")
    failed = Ending.of_error("night", Path("raw/night"), error, 61.0)
    assert Notifier(f"env >{tmp_path}/env; cat >{tmp_path}/json").tell(failed) == []
    environment, data = (tmp_path / "env").read_text(), (tmp_path / "json").read_text()
    lines = [line for line in environment.splitlines() if line.startswith("GLUSTERLAB_")]
    message = json.loads(data)["message"]
    assert message.startswith("campaign night: the run failed after 61 s: s1: https://")
    assert {"GLUSTERLAB_OUTCOME=failed", "GLUSTERLAB_EXIT_CODE=3", "GLUSTERLAB_VALID="} <= {*lines}
    assert f"GLUSTERLAB_MESSAGE={message}" in lines
    assert SECRET not in environment + data


def test_a_command_that_reads_nothing_gets_more_than_a_pipe_holds() -> None:
    big = Ending.of(replace(SUMMARY, problems=("x" * 1_000_000,)))
    assert Notifier("exit 3").tell(big) == ["the command of --on-end ended with exit code 3"]


def test_a_command_is_ended_at_its_limit_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "LIMIT_S", 1.0)
    command = f"sleep 600 & echo $! >{tmp_path}/pid; wait"
    began = time.monotonic()
    assert Notifier(command).tell(END) == ["the command of --on-end was ended at its time limit of 1 s"]
    assert time.monotonic() - began < 30
    pid = (tmp_path / "pid").read_text().strip()
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True, check=False).stdout
    assert state.strip()[:1] in ("", "Z")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "raw" / "small").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options: str, **environment: str) -> Result:
    return CliRunner().invoke(cli.app, ["run", "campaign.yaml", *options], env={"COLUMNS": "80", **environment})


def test_a_run_tells_how_it_came_out_and_comes_out_so(folder: Path, server: Server) -> None:
    server.answer = status(403)
    command = f"echo $GLUSTERLAB_OUTCOME >{folder}/told; exit 4"
    with patch("glusterlab.run.runner.run", return_value=replace(SUMMARY, path=Path("raw/small"))):
        result = run("--json", "--on-end", command, GLUSTERLAB_WEBHOOK=server.url)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["valid"] == 6
    assert (folder / "told").read_text() == "incomplete\n"
    assert server.got[0]["glusterlab"]["outcome"] == "incomplete"
    said = ["the command of --on-end ended with exit code 4", "the webhook answered with status 403"]
    assert result.stderr.splitlines() == said
    log = (folder / "raw" / "small" / "log.txt").read_text()
    assert all(f"WARNING {sentence}" in log for sentence in said)
    for file in folder.rglob("*"):
        assert file.is_dir() or SECRET not in file.read_text()


@pytest.mark.parametrize(
    ("error", "code", "outcome"),
    [(HostError("does not answer", host="s1"), 3, "failed"), (KeyboardInterrupt(), 130, "stopped")],
)
def test_a_run_that_fails_or_is_stopped_says_so(
    folder: Path, server: Server, error: BaseException, code: int, outcome: str
) -> None:
    command = f"echo $GLUSTERLAB_OUTCOME $GLUSTERLAB_EXIT_CODE >{folder}/told"
    with patch("glusterlab.run.runner.run", side_effect=error):
        result = run("--webhook", server.url, "--on-end", command)
    assert result.exit_code == code
    assert (folder / "told").read_text() == f"{outcome} {code}\n"
    assert server.got[0]["glusterlab"]["outcome"] == outcome
    assert str(error) in server.got[0]["text"]
    assert str(error) in result.stderr


def test_a_bad_webhook_is_refused_before_anything_runs(folder: Path) -> None:
    with patch("glusterlab.run.runner.run") as ran:
        result = run("--webhook", SECRET)
    ran.assert_not_called()
    assert result.exit_code == 2
    assert "the webhook: expected a URL" in result.stderr
    assert SECRET not in result.output
