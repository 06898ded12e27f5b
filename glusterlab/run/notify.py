"""Tells others that a run has ended, by a command or a webhook, neither of which can hold it up or change its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from glusterlab.errors import UsageError

if TYPE_CHECKING:
    from glusterlab.run.progress import Ending

WEBHOOK = "GLUSTERLAB_WEBHOOK"

LIMIT_S = 60.0

_TIMEOUTS_S = (5.0, 10.0)
_RETRIES = 2
_BACKOFF_S = 1.0
_RETRIED = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Notifier:
    """Whom to tell that a run has ended; the webhook's URL is a secret, which nothing that this module says names."""

    command: str | None = None
    webhook: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.webhook:
            return
        try:
            parts = urlsplit(self.webhook)
            good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            good = False
        if not good:
            message = "the webhook: expected a URL such as https://chat.example.com/hooks/..., found none"
            raise UsageError(f"{message} (a secret, so not shown); see --webhook and the variable {WEBHOOK}")

    def tell(self, end: Ending) -> list[str]:
        answers: list[str | None] = []
        calling = threading.Thread(target=lambda: answers.append(self._call(end)), daemon=True)
        calling.start()
        ran = _run(self.command, end) if self.command else None
        calling.join(LIMIT_S)
        called = answers[0] if answers else f"the webhook did not answer within {LIMIT_S:g} s"
        return [sentence for sentence in (ran, called) if sentence is not None]

    def _call(self, end: Ending) -> str | None:
        if not self.webhook:
            return None
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        options: dict[str, Any] = {"redirect": 0, "allowed_methods": None, "respect_retry_after_header": False}
        options |= {"status_forcelist": _RETRIED, "backoff_factor": _BACKOFF_S, "raise_on_status": False}
        retry = Retry(_RETRIES, **options)
        try:
            with requests.Session() as session:
                for scheme in ("http://", "https://"):
                    session.mount(scheme, HTTPAdapter(max_retries=retry))
                payload: dict[str, Any] = {"text": _text(end), "glusterlab": end.data}
                # a stream: the answer's body is of no use, and could go on for ever
                options = {"timeout": _TIMEOUTS_S, "allow_redirects": False, "stream": True}
                with session.post(self.webhook, json=payload, **options) as answer:
                    code = answer.status_code
            return None if 200 <= code < 300 else f"the webhook answered with status {code}"
        except requests.exceptions.SSLError:
            return "the webhook has a certificate that is not accepted"
        except (requests.exceptions.Timeout, requests.exceptions.ConnectionError):
            return "the webhook could not be reached, or did not answer in time"
        except (requests.exceptions.RequestException, ValueError) as error:
            return f"the webhook could not be called ({type(error).__name__})"


def _run(command: str, end: Ending) -> str | None:
    values = {name: value for name, value in end.data.items() if name not in ("problems", "schema_version")}
    variables = {f"GLUSTERLAB_{name.upper()}": "" if each is None else str(each) for name, each in values.items()}
    environment = {**os.environ, **variables}
    environment.pop(WEBHOOK, None)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(json.dumps(end.data, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
        stdin.seek(0)
        try:
            # stdout is for the data of `run --json`
            options: dict[str, Any] = {"stdin": stdin, "stdout": 2, "env": environment, "start_new_session": True}
            process = subprocess.Popen(["/bin/sh", "-c", command], **options)
        except OSError as error:
            return f"the command of --on-end could not be started: {error.strerror}"
        try:
            code = process.wait(LIMIT_S)
        except BaseException as error:
            # the whole group: what the shell started would live on
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return f"the command of --on-end was ended at its time limit of {LIMIT_S:g} s"
    return None if code == 0 else f"the command of --on-end ended with exit code {code}"


def _text(end: Ending) -> str:
    problems = end.data["problems"]
    lines = [end.message, *(f"- {problem}" for problem in problems[:5])]
    return "\n".join([*lines, f"- and {len(problems) - 5} more"] if len(problems) > 5 else lines)
