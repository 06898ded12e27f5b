"""Tells others that a run has ended, stopped or failed: by a command of the operator's, or a webhook.

Neither can change how the run came out, nor hold it up for longer than its time limit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from glusterlab.errors import UsageError
from glusterlab.progress import INTERRUPTED
from glusterlab.secrets import redact
from glusterlab.units import format_duration

if TYPE_CHECKING:
    from pathlib import Path

    from glusterlab.progress import Outcome, RunSummary

WEBHOOK = "GLUSTERLAB_WEBHOOK"
"""Environment variable with the webhook's URL, which the process list does not show."""

COMMAND_LIMIT_S = 60.0
"""The command is ended, with what it started, after so long."""

WEBHOOK_LIMIT_S = 60.0
"""The webhook has so long, all tries together."""

_TIMEOUTS_S = (5.0, 10.0)
_PAUSES_S = (1.0, 4.0)
_LATER = frozenset({408, 425, 429})


@dataclass(frozen=True)
class RunEnd:
    """How a run ended, as it is told to others.

    Attributes
    ----------
    campaign : str
    raw : str
        The campaign's folder.
    outcome : Outcome
    exit_code : int
        Of ``glusterlab run``.
    message : str
        One or a few sentences for people.
    total, valid, invalid, failed, left, executed : int or None
        As in `RunSummary`; None where the run failed.
    seconds : float
        How long it ran.
    problems : tuple of str
        A line for each sample that is not valid.
    """

    campaign: str
    raw: str
    outcome: Outcome
    exit_code: int
    message: str
    seconds: float
    total: int | None = None
    valid: int | None = None
    invalid: int | None = None
    failed: int | None = None
    left: int | None = None
    executed: int | None = None
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, summary: RunSummary) -> RunEnd:
        """The end of a run that was not broken off by an error."""
        words = {"complete": "is complete", "incomplete": "has ended, incomplete", "stopped": "was stopped"}
        message = (
            f"campaign {summary.campaign} {words[summary.outcome]}: {summary.valid} of {summary.total} samples valid, "
            f"{summary.left} left; {summary.executed} executed in {format_duration(summary.seconds)}"
        )
        names = ("total", "valid", "invalid", "failed", "left", "executed", "seconds", "problems")
        return cls(
            campaign=summary.campaign,
            raw=str(summary.path),
            outcome=summary.outcome,
            exit_code=summary.exit_code,
            message=message,
            **{name: getattr(summary, name) for name in names},
        )

    @classmethod
    def of_error(cls, campaign: str, raw: Path, error: BaseException, seconds: float) -> RunEnd:
        """The end of a run that an error, or a second signal, broke off."""
        if isinstance(error, KeyboardInterrupt):
            return cls(campaign, str(raw), "stopped", 130, f"campaign {campaign}: {INTERRUPTED}", seconds)
        code = getattr(error, "exit_code", 1)
        message = f"campaign {campaign}: the run failed after {format_duration(seconds)}: {redact(str(error))}"
        return cls(campaign, str(raw), "failed", code, message, seconds)

    @property
    def data(self) -> dict[str, Any]:
        """As JSON data."""
        return {"schema_version": 1, **asdict(self)}

    @property
    def environment(self) -> dict[str, str]:
        """As environment variables ``GLUSTERLAB_...``; what is not known is empty."""
        return {
            f"GLUSTERLAB_{name.upper()}": "" if value is None else str(value)
            for name, value in asdict(self).items()
            if name != "problems"
        }


@dataclass(frozen=True)
class Webhook:
    """An address that is told by a POST of JSON; it is a secret, and nothing that this module says names it.

    Parameters
    ----------
    url : str

    Raises
    ------
    UsageError
        When it is no URL of http or https.
    """

    _url: str

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self._url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            good = False
        if not good:
            message = (
                "the webhook: expected a URL such as https://chat.example.com/hooks/..., found none (it is a secret, "
            )
            raise UsageError(f"{message}so it is not shown); see --webhook and the variable {WEBHOOK}")

    def __repr__(self) -> str:
        return "Webhook(...)"


@dataclass(frozen=True)
class Notifier:
    """Whom to tell that a run has ended.

    Attributes
    ----------
    command : str or None
        For ``/bin/sh -c``; it gets `RunEnd.environment`, and `RunEnd.data` as JSON on stdin. What it prints goes to
        stderr.
    webhook : Webhook or None
        Gets JSON: ``text`` for people, as Slack and Mattermost show it, and `RunEnd.data` as ``glusterlab``.
    command_limit_s, webhook_limit_s : float
        Each is ended, or left alone, after so long.
    """

    command: str | None = None
    webhook: Webhook | None = None
    command_limit_s: float = COMMAND_LIMIT_S
    webhook_limit_s: float = WEBHOOK_LIMIT_S

    @classmethod
    def of(cls, command: str | None, url: str | None) -> Notifier:
        """What the options of ``glusterlab run`` ask for; an empty one is none.

        Raises
        ------
        UsageError
            When the webhook is no URL; the message does not show it.
        """
        return cls(command or None, Webhook(url) if url else None)

    def tell(self, end: RunEnd) -> list[str]:
        """Run the command and call the webhook, both at once: neither waits for the other's time limit.

        Returns
        -------
        list of str
            A sentence for each that failed.
        """
        answers: list[str | None] = []
        calling = threading.Thread(target=lambda: answers.append(self._call(end)), daemon=True)
        calling.start()
        ran = None if self.command is None else _run(self.command, end, self.command_limit_s)
        calling.join(self.webhook_limit_s)
        called = answers[0] if answers else f"the webhook did not answer within {self.webhook_limit_s:g} s"
        return [sentence for sentence in (ran, called) if sentence is not None]

    def _call(self, end: RunEnd) -> str | None:
        return None if self.webhook is None else _call(self.webhook, end, self.webhook_limit_s)


def _run(command: str, end: RunEnd, limit_s: float) -> str | None:
    environment = {**os.environ, **end.environment}
    environment.pop(WEBHOOK, None)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(json.dumps(end.data, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=stdin,
                stdout=2,  # stdout is for the data of `run --json`
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            return f"the command of --on-end could not be started: {error.strerror}"
        try:
            code = process.wait(limit_s)
        except BaseException as error:
            # the whole group: what the shell started would live on
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return f"the command of --on-end was ended at its time limit of {limit_s:g} s"
    return None if code == 0 else f"the command of --on-end ended with exit code {code}"


def _call(webhook: Webhook, end: RunEnd, limit_s: float) -> str | None:
    """POST until it is taken, three times at most; no sentence holds the URL, which an error of the library would."""
    import requests

    until = time.monotonic() + limit_s
    payload: dict[str, Any] = {"text": _text(end), "glusterlab": end.data}
    why = ""
    for pause in (*_PAUSES_S, None):
        try:
            # a stream: the answer's body is of no use, and could go on for ever
            with requests.post(
                webhook._url, json=payload, timeout=_TIMEOUTS_S, allow_redirects=False, stream=True
            ) as answer:
                code = answer.status_code
            if 200 <= code < 300:
                return None
            why = f"answered with status {code}"
            if code < 500 and code not in _LATER:
                break
        except requests.exceptions.SSLError:
            why = "has a certificate that is not accepted"
            break
        except requests.exceptions.Timeout:
            why = "did not answer in time"
        except requests.exceptions.ConnectionError:
            why = "could not be reached"
        except (requests.exceptions.RequestException, ValueError) as error:
            why = f"could not be called ({type(error).__name__})"
            break
        if pause is None or time.monotonic() + pause > until:
            break
        time.sleep(pause)
    return f"the webhook {why}"


def _text(end: RunEnd) -> str:
    """For a chat: the message and the first problems."""
    lines = [end.message, *(f"- {problem}" for problem in end.problems[:5])]
    if len(end.problems) > 5:
        lines.append(f"- and {len(end.problems) - 5} more")
    return "\n".join(lines)
