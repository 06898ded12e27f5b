"""Keys, tokens and passwords in text: found, so that nothing is given away with them, and taken out.

What is looked for is what is known to be secret by its form. A password that stands alone in a sentence is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

REDACTED = "[redacted]"
"""What stands in the place of a secret."""

_NAMED = r"(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token)[\w-]{0,40}"
_NOT_A_VALUE = r"(?!\[redacted\]|(?:yes|no|true|false|none|null)\b)"

_FORMS = {
    "private key": (
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?!\[redacted\])"
        r"(?P<value>[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))"
    ),
    "ssh key": (
        r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d+|sk-ssh-ed25519@openssh\.com)\s+(?P<value>AAAA[\w+/=]*)"
    ),
    "password or key": rf"{_NAMED}\\?['\"]?\s*[=:]\s*\\?['\"]?{_NOT_A_VALUE}(?P<value>[^\s'\",;&<>\\]+)",
    "password in a tag": rf"<[\w-]{{0,40}}{_NAMED}>(?!\[redacted\])(?P<value>[^<\s]+)<",
    "password option": rf"--[\w-]{{0,40}}{_NAMED}\s+{_NOT_A_VALUE}(?P<value>[^\s'\",;-][^\s'\",;]*)",
    "token": r"\btoken['\"]?\s*[=:]\s*['\"]?(?P<value>[\w.~+/-]{16,}=*)",
    "authorization": r"\bauthorization['\"]?\s*:\s*['\"]?(?:bearer|basic|token)\s+(?P<value>[\w.~+/-]{8,}=*)",
    "service token": (
        r"\b(?P<value>(?-i:(?:gh[opsu]_|github_pat_|glpat-|xox[abeprs]-|hvs\.|npm_|sk-[a-z]*-?)[\w-]{16,}"
        r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*))"
    ),
    "password in a URL": r"://[^/\s:@'\"]{0,100}:(?!\[redacted\])(?P<value>[^/\s@'\"]{1,200})@",
    "webhook": (
        r"\bhttps?://(?:hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/"
        r"|[^/\s'\"]{0,100}webhook\.office\.com/|[^/\s'\"]{1,100}/hooks/(?=\w{20}))"
        r"(?!\[redacted\])(?P<value>[^\s'\"<>\\]+)"
    ),
    "signature in a URL": (
        r"[?&](?:access_token|token|key|sig|signature|X-Amz-Signature|X-Amz-Security-Token)="
        r"(?!\[redacted\])(?P<value>[^\s&'\"<>\\]{8,})"
    ),
}
_PATTERNS = {kind: re.compile(form, re.IGNORECASE) for kind, form in _FORMS.items()}
_HINT = re.compile(
    r"PRIVATE KEY|ssh-|ecdsa|pass|secret|key|token|authorization|gh[opsu]_|glpat|xox|hvs|npm_|sk-|A[KS]IA|eyJ|://",
    re.IGNORECASE,
)
"""Something of each form: text that has none of these holds no secret, as most telemetry does."""


@dataclass(frozen=True)
class Secret:
    """A place of a text that holds a secret.

    Attributes
    ----------
    kind : str
        Such as ``private key``.
    start, end : int
        Of the part that is to go.
    """

    kind: str
    start: int
    end: int


def find(text: str) -> Iterator[Secret]:
    """Every secret of a text, by kind.

    Examples
    --------
    >>> [secret.kind for secret in find("curl --password hunter2 https://me:pw@example.org/")]
    ['password option', 'password in a URL']
    """
    if _HINT.search(text) is None:
        return
    for kind, pattern in _PATTERNS.items():
        for match in pattern.finditer(text):
            yield Secret(kind, match.start("value"), match.end("value"))


def redact(text: str) -> str:
    """A text without its secrets; one that has none is returned as it is.

    Examples
    --------
    >>> redact('env API_KEY=abc123 curl -H "Authorization: Bearer 0123456789abcdef" https://me:pw@example.org/')
    'env API_KEY=[redacted] curl -H "Authorization: Bearer [redacted]" https://me:[redacted]@example.org/'
    """
    if _HINT.search(text) is not None:
        for pattern in _PATTERNS.values():
            text = pattern.sub(_without_value, text)
    return text


def redact_all(value: object) -> object:
    """Plain data with every text in it redacted.

    Examples
    --------
    >>> redact_all({"argv": ["mount", "password=hunter2"], "code": 1})
    {'argv': ['mount', 'password=[redacted]'], 'code': 1}
    """
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
