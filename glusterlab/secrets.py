"""Keys, tokens and passwords in text, known by their form: a password that stands alone in a sentence is not found."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

REDACTED = "[redacted]"  # what stands in the place of a secret

_LOGGED_CHARACTERS = 400
_IN_ONE_COMMAND = 10  # more secrets of a kind are in no call of a client, of which one search finds one

_NO_COUNT = r"(?!\d{1,5}(?!\w))"
_NAMED = (
    r"(?:password|passwd|passphrase|secret|(?:api|access|account)[_-]?key|bindpw|rootpw|(?<=[a-z]_)(?:pass|pw)(?![a-z])"
    r"|(?<![a-z])pwd(?=['\"]?\s?=\s?['\"]?[^\s/$'\"]|['\"]\s?:)|sshpass(?==)|(?<=,)pass(?==)|(?<![a-z])pass(?=['\"]\s?:)"
    rf"|(?<![a-z])(?-i:PASS|TOKEN)(?==['\"]?{_NO_COUNT})|(?<![a-z_])token(?=\\?['\"]\s?:\s?\\?['\"])"
    r"|(?:access|api|auth|bearer|id|private|refresh|security|session|vault)[_-]?token(?![a-z]))[\w-]{0,40}"
)
_HINTS = "pass secret key token pwd _pw bindpw rootpw"
"""One of these is in whatever `_NAMED` matches; small words are sooner looked for than a form."""
_NOT_A_VALUE = r"(?!\[redacted\]|(?:yes|no|true|false|none|null)\b)"
_IS = r"\\?['\"]?\s{0,20}(?:[=:]|=>)\s{0,20}"
_NEXT = r"(?:\\?['\"]?,?\s{1,20}|=)"  # between an option and its value, on a command line and in a list of words
_QUOTE = r"(?P<quote>\\?['\"])?"
_QUOTED = r"(?!\[redacted\])(?P<value>(?(quote)[^\s'\",\\-](?:(?!(?P=quote))[^\r\n])*+|[^\s'\",;\\-][^\s'\",\\]*))"
"""What stands behind `_QUOTE`: up to the quote that shuts, or else a word."""
_VALUE = _QUOTE + _QUOTED


def _form(hints: str, form: str) -> tuple[frozenset[str], str]:
    return frozenset(hints.split()), form


_FORMS = {
    "private key": _form(
        "private",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?!\[redacted\])"
        r"(?P<value>[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z))",
    ),
    "ssh key": _form(
        "ssh- ecdsa-",
        r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d+|sk-ssh-ed25519@openssh\.com)\s+(?P<value>AAAA[\w+/=]*)",
    ),
    "password in quotes": _form(
        _HINTS,
        rf"(?:{_NAMED}{_IS}|(?<![\w-])--[\w-]{{0,40}}{_NAMED}{_NEXT})[bru]?(?P<quote>\\?['\"])(?!\s)"
        r"(?!\[redacted\]|(?:yes|no|true|false|none|null)\\?['\"])"
        r"(?P<value>(?:(?!(?P=quote))(?:\\[^\r\n]|[^\\\r\n]))++)",
    ),
    "password on a line of its own": _form(
        _HINTS,
        rf"(?m:^)[ \t]{{0,40}}(?:- )?['\"]?[\w.-]{{0,40}}{_NAMED}['\"]?"
        r"(?:[ \t]{0,20}:|[ \t]{1,20}=)[ \t]{1,20}"
        r"(?!(?:yes|no|true|false|none|null)\s)(?P<value>[^\s'\"\\\[{|<>&*$-][^\r\n'\"\\]*+)",
    ),
    "password or key": _form(_HINTS, rf"{_NAMED}{_IS}\\?['\"]?{_NOT_A_VALUE}(?P<value>[^\s'\",;&<>\\]+)"),
    "password in a tag": _form(_HINTS, rf"<[\w-]{{0,40}}{_NAMED}>(?!\[redacted\])(?P<value>[^<]{{1,1000}})<"),
    "password option": _form(
        f"{_HINTS} bearer",
        rf"(?<![\w-])--[\w-]{{0,40}}(?:{_NAMED}|(?<![a-z])pass|bearer|(?<![a-z])token(?={_NEXT}{_NO_COUNT}))"
        rf"{_NEXT}{_NOT_A_VALUE}{_VALUE}",
    ),
    "password behind a word": _form(
        "password bindpw rootpw pass:",
        r"(?:\b(?:login\s{1,20}\S{1,100}|option)\s{1,20}(?:[\w.-]{0,100}\.)?password\s{1,20}"
        r"|(?m:^)[ \t]{0,40}(?:bindpw|rootpw)[ \t]{1,20}|-pass(?:in|out)?\s{1,20}['\"]?pass:)"
        r"(?!\[redacted\])(?P<value>\S+)",
    ),
    "password of a client": _form(
        "sshpass mysql mariadb mongo docker podman ipmitool ldap redis-cli",
        r"\b(?:(?:mysql|mariadb)[\w-]{0,20}(?=['\"\s])[^\n;|]{0,100}?[\s'\"](?-i:-p)"
        r"|sshpass(?=['\"\s])[^\n;|]{0,40}?[\s'\"](?-i:-p)(?:\\?['\"]?,?\s{1,20})?"
        rf"|(?:mongo(?:sh|dump|restore|export|import)?|(?:docker|podman)['\",]{{0,2}}\s['\"]?login)(?=['\"\s])"
        rf"[^\n;|]{{0,100}}?[\s'\"](?-i:-p)(?:{_NEXT})?"
        rf"|ipmitool(?=['\"\s])[^\n;|]{{0,100}}?[\s'\"](?-i:-P)(?:{_NEXT})?"
        rf"|ldap\w{{3,8}}(?=['\"\s])[^\n;|]{{0,100}}?[\s'\"](?-i:-w)(?:{_NEXT})?"
        rf"|redis-cli(?=['\"\s])[^\n;|]{{0,100}}?[\s'\"]-a{_NEXT})"
        rf"{_VALUE}",
    ),
    "password behind a user": _form(
        "curl skopeo smbclient",
        rf"\b(?:curl|skopeo|smbclient)(?=['\"\s])[^\n;|]{{0,200}}?[\s'\"]"
        rf"(?:-[a-z]{{0,10}}u|(?-i:-b)|--(?:(?:proxy-)?user|cookie|(?:src-|dest-)?creds))(?:{_NEXT})?"
        rf"{_QUOTE}[^\s:=%'\"]{{1,100}}[:=%]{_QUOTED}",
    ),
    "password hash": _form(
        "$1$ $2 $5$ $6$ $7$ y$ $apr1$ $argon2",
        r"\$(?:1|2[abxy]|5|6|7|g?y|apr1|argon2\w{0,2})\$(?!\[redacted\])"
        r"(?P<value>(?:[\w./=,+-]{1,60}\$){0,3}[\w./+-]{20,})",
    ),
    "token": _form(
        "token",
        # a short one has letters and digits: what a parser did not expect is a word
        r"\btoken(?:['\"]?\s{0,20}[=:]\s{0,20}['\"]?"
        r"(?P<value>[\w.~+/-]{16,}=*|(?<!unexpected token: )(?=[a-z.~+/-]{1,14}\d|\d{1,14}[a-z])[\w.~+/-]{6,}))",
    ),
    "authorization": _form(
        "authorization",
        r"\bauthorization['\"]?\s{0,20}[:=]\s{0,20}['\"]?(?:bearer|basic|token|negotiate)\s{1,20}"
        r"(?P<value>[\w.~+/-]{4,}=*)",
    ),
    "cookie": _form(
        "cookie",
        r"\b(?:set-)?cookie['\"]?:\s{0,20}['\"]?[\w.-]{1,100}=(?!\[redacted\])(?P<value>[^'\"\r\n]+)",
    ),
    "service token": _form(
        "gho_ ghp_ ghr_ ghs_ ghu_ pat_ xox xapp- hvs. hvb. npm_ sk- k_live_ k_test_ hf_ whsec_ akia asia abia "
        "acca aiza ya29. sg. pypi- _v1_ age-secret eyj glpat- gldt- glrt- glsa_",
        r"\b(?P<value>(?-i:(?:gh[oprsu]_|github_pat_|dckr_pat_|gl(?:pat|dt|rt)-|glsa_"
        r"|xox[abceoprs]-|xapp-|hv[bs]\.|npm_|sk-[a-z]*-?|[rs]k_(?:live|test)_|whsec_|hf_|ya29\.|pypi-|do[opr]_v1_)[\w-]{16,}"
        r"|SG\.[\w-]{16,}\.[\w-]{16,}|AGE-SECRET-KEY-1[0-9A-Z]{20,}|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|AIza[\w-]{35}"
        r"|(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*))",
    ),
    "password in a URL": _form(
        "://",
        # a slash should be %2F there, and is not always
        r"://[^/\s:@'\"\[]{0,100}:(?!\[redacted\]@|\d{1,5}/)"
        r"(?P<value>[^/\s'\"]{1,200}(?=@)|[^\s'\"@]{1,200}(?=@))",
    ),
    "token in a URL": _form(
        "://",
        r"://(?=[\w.~%+-]{0,100}\d|(?-i:[a-z]{1,100}[A-Z]|[A-Z]{1,100}[a-z]))(?=[\d.~%+-]{0,100}[a-z])"
        r"(?P<value>[\w.~%+-]{16,300})(?=(?::[^\s/@'\"]{0,200})?@)",
    ),
    "webhook": _form(
        "hooks webhook",
        r"\bhttps?://(?:hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/"
        r"|[^/\s'\"]{0,100}webhook\.office\.com/|[^/\s'\"]{1,100}/hooks/(?=\w{20}))"
        r"(?!\[redacted\])(?P<value>[^\s'\"<>\\]+)",
    ),
    "signature in a URL": _form(
        "token= key= sig= signature=",
        r"[?&](?:access_token|token|key|sig|signature|X-(?:Amz|Goog)-Signature|X-Amz-Security-Token)="
        r"(?!\[redacted\])(?P<value>[^\s&'\"<>\\]{8,}|(?<=token=)(?!\d{1,5}\b)[^\s&'\"<>\\]+)",
    ),
}

_EVERY_HINT = frozenset[str]().union(*(hints for hints, _ in _FORMS.values()))


def find(text: str) -> Iterator[str]:
    """The kind of every secret of a text, such as ``private key``."""
    for kind, pattern in _likely(text):
        yield from (kind for _ in pattern.finditer(text))


def redact(text: str) -> str:
    """A text without its secrets.

    >>> redact('env API_KEY=abc123 curl -H "Authorization: Bearer 0123456789abcdef" https://me:pw@example.org/')
    'env API_KEY=[redacted] curl -H "Authorization: Bearer [redacted]" https://me:[redacted]@example.org/'
    """
    for _, pattern in _likely(text):
        for _ in range(_IN_ONE_COMMAND):
            text, count = pattern.subn(_without_value, text)
            if not count:
                break
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
    # no hint has a line's end in it, and long texts repeat their lines
    lower = "\n".join(set(text.lower().split("\n")))
    found = {hint for hint in _EVERY_HINT if hint in lower}
    return [(kind, re.compile(form, re.IGNORECASE)) for kind, (hints, form) in _FORMS.items() if found & hints]


def redact_all(value: object) -> object:
    """Plain data with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: REDACTED if _is_secret(name, each) else redact_all(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(each, str) for each in value):
            return redact_words(value)
        return [redact_all(each) for each in value]
    return value


def redact_words(words: Sequence[str]) -> list[str]:
    """Words of a command without their secrets: what follows ``--password`` is one."""
    clean = redact("\x1f".join(words)).split("\x1f")  # a separator that the forms take for a blank
    return clean if len(clean) == len(words) else [redact(word) for word in words]


def _is_secret(name: object, value: object) -> bool:
    words = isinstance(name, str) and isinstance(value, str) and value != ""
    return words and redact(f"'{name}': 'x'") != f"'{name}': 'x'"


def _without_value(match: re.Match[str]) -> str:
    start, end = match.start("value") - match.start(), match.end("value") - match.start()
    return match[0][:start] + REDACTED + match[0][end:]
