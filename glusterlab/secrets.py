"""Keys, tokens and passwords in text, known by their form: a password that stands alone in a sentence is not found."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

REDACTED = "[redacted]"
"""What stands in the place of a secret."""

_LOGGED_CHARACTERS = 400

_NAMED = r"(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token)[\w-]{0,40}"
_HINTS = ("pass", "secret", "key", "token")
"""One of these is in whatever `_NAMED` matches; small words are sooner looked for than a form."""
_NOT_A_VALUE = r"(?!\[redacted\]|(?:yes|no|true|false|none|null)\b)"

_FORMS = {
    "private key": (
        ("private key",),
        (
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?!\[redacted\])"
            r"(?P<value>[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))"
        ),
    ),
    "ssh key": (
        ("ssh-", "ecdsa-"),
        r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d+|sk-ssh-ed25519@openssh\.com)\s+(?P<value>AAAA[\w+/=]*)",
    ),
    "password or key": (_HINTS, rf"{_NAMED}\\?['\"]?\s*[=:]\s*\\?['\"]?{_NOT_A_VALUE}(?P<value>[^\s'\",;&<>\\]+)"),
    "password in a tag": (_HINTS, rf"<[\w-]{{0,40}}{_NAMED}>(?!\[redacted\])(?P<value>[^<\s]+)<"),
    "password option": (_HINTS, rf"--[\w-]{{0,40}}{_NAMED}\s+{_NOT_A_VALUE}(?P<value>[^\s'\",;-][^\s'\",;]*)"),
    "password of sshpass": (
        ("sshpass",),
        r"\bsshpass['\"]?,?\s+['\"]?-p['\"]?,?\s*['\"]?(?!\[redacted\])(?P<value>[^\s'\",]+)",
    ),
    "password hash": (
        ("$1$", "$2", "$5$", "$6$", "$7$", "y$", "$apr1$"),
        r"\$(?:1|2[abxy]|5|6|7|g?y|apr1)\$(?!\[redacted\])(?P<value>(?:[\w./=,+-]{1,60}\$){0,2}[\w./+-]{20,})",
    ),
    "token": (("token",), r"\btoken['\"]?\s*[=:]\s*['\"]?(?P<value>[\w.~+/-]{16,}=*)"),
    "authorization": (
        ("authorization",),
        r"\bauthorization['\"]?\s*:\s*['\"]?(?:bearer|basic|token)\s+(?P<value>[\w.~+/-]{8,}=*)",
    ),
    "service token": (
        ("gho_", "ghp_", "ghs_", "ghu_", "pat_", "glpat", "xox", "hvs.", "npm_", "sk-", "akia", "asia", "aiza", "eyj"),
        (
            r"\b(?P<value>(?-i:(?:gh[opsu]_|github_pat_|glpat-|xox[abeprs]-|hvs\.|npm_|sk-[a-z]*-?)[\w-]{16,}"
            r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*))"
        ),
    ),
    "password in a URL": (("://",), r"://[^/\s:@'\"]{0,100}:(?!\[redacted\])(?P<value>[^/\s@'\"]{1,200})@"),
    "webhook": (
        ("hooks", "webhook"),
        (
            r"\bhttps?://(?:hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/"
            r"|[^/\s'\"]{0,100}webhook\.office\.com/|[^/\s'\"]{1,100}/hooks/(?=\w{20}))"
            r"(?!\[redacted\])(?P<value>[^\s'\"<>\\]+)"
        ),
    ),
    "signature in a URL": (
        ("token=", "key=", "sig=", "signature="),
        (
            r"[?&](?:access_token|token|key|sig|signature|X-Amz-Signature|X-Amz-Security-Token)="
            r"(?!\[redacted\])(?P<value>[^\s&'\"<>\\]{8,})"
        ),
    ),
}
_PATTERNS = {kind: (hints, re.compile(form, re.IGNORECASE)) for kind, (hints, form) in _FORMS.items()}


@dataclass(frozen=True)
class Secret:
    """What is to go of a text, from `start` to `end`, and its kind, such as ``private key``."""

    kind: str
    start: int
    end: int


def find(text: str) -> Iterator[Secret]:
    """Every secret of a text, by kind."""
    for kind, pattern in _likely(text):
        for match in pattern.finditer(text):
            yield Secret(kind, match.start("value"), match.end("value"))


def redact(text: str) -> str:
    """A text without its secrets.

    >>> redact('env API_KEY=abc123 curl -H "Authorization: Bearer 0123456789abcdef" https://me:pw@example.org/')
    'env API_KEY=[redacted] curl -H "Authorization: Bearer [redacted]" https://me:[redacted]@example.org/'
    """
    for _, pattern in _likely(text):
        text = pattern.sub(_without_value, text)
    return text


def loggable(text: str) -> str:
    """A script as logs keep it: without secrets; a long one is cut, and its digest says what it was."""
    text = redact(text)
    if len(text) <= _LOGGED_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[:_LOGGED_CHARACTERS]}... ({len(text)} characters, sha256 {digest})"


def _likely(text: str) -> list[tuple[str, re.Pattern[str]]]:
    """The forms that a text may hold, by what each of them begins with or contains."""
    lower = text.lower()
    return [(kind, pattern) for kind, (hints, pattern) in _PATTERNS.items() if any(hint in lower for hint in hints)]


def redact_all(value: object) -> object:
    """Plain data with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: redact_all(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [redact_all(each) for each in value]
    return value


def _without_value(match: re.Match[str]) -> str:
    start, end = match.start("value") - match.start(), match.end("value") - match.start()
    return match[0][:start] + REDACTED + match[0][end:]
