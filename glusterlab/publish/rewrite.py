"""Texts of a campaign with the names of the copy.

Where only a host can stand it is renamed, whatever it is called; a name that is no common word is renamed wherever it
stands alone. Numbers are never touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from glusterlab import secrets
from glusterlab.publish.names import Names, is_address
from glusterlab.publish.words import is_value, tokens

HOST_KEYS = tokens("host hosts hostname hostnames server servers client clients controller address node driver") | {
    "host_set"
}
"""Keys of JSON whose values are hosts."""

HOST_MAPS = tokens("host hosts peers stray mounts space") | {"clock_offset_s", "drop_caches", "link_changes"}
"""Keys of JSON whose values are objects by host."""

_DEVICE_KEY = re.compile(r"serial|wwn|wwid|asset_?tag|service_?tag", re.IGNORECASE)
_BASELINE = re.compile(r"round-\d+|hosts?")
_PROSE_KEYS = frozenset({"tools", "kernel", "glusterlab_revision", "smallfile_revision", "glusterlab_version"})

_SERIAL = re.compile(r"^serial[\w -]*['\"]?[ \t]*[:=][ \t]*['\"]?", re.IGNORECASE)
_ENDINGS = re.compile(r"(?:\.(?:csv|gz|json|jsonl|log|stderr|txt|xml|xz|ya?ml|bz2))+$")

_NOT_IN_WORD = r"(?<![A-Za-z0-9])"
_WORD_ENDS = r"(?![A-Za-z0-9])"
_HEX2 = "[0-9a-fA-F]{2}"
_WITH_LETTER = r"(?=[\d.-]*[a-fA-F])"
FORMS = {
    "digest": r"\b[0-9a-f]{40,64}\b",
    "uuid": rf"{_NOT_IN_WORD}[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}{_WORD_ENDS}",
    "mac": (
        rf"(?<![0-9A-Za-z:.-])(?:(?:{_HEX2}:){{5,19}}{_HEX2}|{_WITH_LETTER}(?:(?:{_HEX2}-){{5}}{_HEX2}"
        r"|(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}))(?![0-9A-Za-z:-]|\.\w)"
    ),
    "address6": r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:%\w+)?(?![\w:]|\.\d)",
    "address4": r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)",
    "mail": r"(?<![\w.+@/-])[A-Za-z0-9][\w.+-]*@(?:[A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,24}(?![\w.-]*[\w@])",
    "device": (
        r"(?:\b(?:wwn-0x|naa\.|eui\.)[0-9a-f]{16,32}|\b0x5[0-9a-f]{15}\b|(?<=/dev/disk/by-id/)[^\s'\"/,;]+"
        r"|(?<=LU WWN Device Id: )[0-9a-f] [0-9a-f]{6} [0-9a-f]{9}|\biqn\.\d{4}-\d{2}\.[\w.-]+(?::[\w.:-]*\w)?)"
    ),
    "serial": r"(?i:serial(?:[ _-]?(?:number|no|short))?['\"]?[ \t]*[:=][ \t]*['\"]?)[\w-]{4,40}(?!\w)",
    "user": r"(?:(?<=/home/)|(?<=/Users/))[A-Za-z0-9_][\w.-]*",
}
"""What identifies a machine or a person, by its form."""

MANY_LINES, LONG_LINE = 100_000, 1000
"""So many lines of less than so many characters are remembered: most of a campaign's files repeat those of others."""


def known_literals(names: Names) -> dict[str, str]:
    """Patterns of what is known to be private, by kind: found wherever it stands, glued to other text or not."""
    known = names.known
    words = [word for word in known if not _is_of_address(word)]
    addresses = [word for word in known if _is_of_address(word) and ":" not in word]
    addresses6 = [word for word in known if _is_of_address(word) and ":" in word]
    macs = [old.replace(":", "[:.-]?") for old, new in names.macs.items() if old != new]
    found = {}
    if addresses:
        found["known4"] = rf"(?<!\d)(?:{_any_of(addresses)})(?!\d)"
    if addresses6:
        found["known6"] = rf"(?<![0-9A-Fa-f:])(?i:{_any_of(addresses6)})(?![0-9A-Fa-f:])"
    if macs:
        found["knownmac"] = rf"(?<![0-9A-Fa-f])(?i:{'|'.join(macs)})(?![0-9A-Fa-f])"
    if words:
        found["known"] = rf"{_NOT_IN_WORD}(?i:{_any_of(words)}){_WORD_ENDS}"
    return found


def _is_of_address(word: str) -> bool:
    return is_address(word) or is_address(word.replace("-", "."))


class Rewriter:
    """Renames in text, in JSON, in telemetry and in paths.

    Parameters
    ----------
    names : Names
        What turns up that is not in it yet is added.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self._distinctive = names.distinctive
        self._known = {**names.known, **names.macs}
        self._pattern = re.compile("|".join(self._forms()), re.MULTILINE)
        self._texts: dict[str, tuple[str, bool]] = {}
        self._lines: dict[str, str] = {}
        self.redacted = 0

    def _forms(self) -> Iterator[str]:
        if self.names.aliases:
            yield rf"(?P<place>{_places(self.names.aliases)})"
        if self.names.keep:
            yield rf"(?P<keep>(?<![\w+-])(?:{_any_of(self.names.keep)})(?:-[0-9a-f]{{6}})?(?![\w+]))"
        # a mail address is one thing, also when its user is known
        for kind, form in {"mail": FORMS["mail"], **known_literals(self.names), **FORMS}.items():
            yield f"(?P<{kind}>{form})"
        if self._distinctive:
            yield rf"(?P<word>{_NOT_IN_WORD}(?i:{_any_of(self._distinctive)}){_WORD_ENDS})"

    def turned_up(self) -> re.Pattern[str] | None:
        """What became known since this rewriter was made, and so may stand unrenamed in what it wrote before."""
        new = Names(
            devices=_new(self.names.devices, self._known),
            users=_new(self.names.users, self._known),
            addresses=_new(self.names.addresses, self._known),
            macs=_new(self.names.macs, self._known),
            common=self.names.common,
        )
        literals = known_literals(new)
        return re.compile("|".join(literals.values())) if literals else None

    def text(self, text: str) -> str:
        """A text with the names of the copy and without secrets."""
        found = self._texts.get(text)
        if found is None:
            clean = secrets.redact(text)
            found = "\n".join(map(self._renamed, clean.split("\n"))), clean != text
            if len(self._texts) < MANY_LINES and len(text) < LONG_LINE:
                self._texts[text] = found
        self.redacted += found[1]
        return found[0]

    def _renamed(self, line: str) -> str:
        found = self._lines.get(line)
        if found is None:
            found = self._pattern.sub(self._replace, line)
            if len(self._lines) < MANY_LINES and len(line) < LONG_LINE:
                self._lines[line] = found
        return found

    def _replace(self, match: re.Match[str]) -> str:
        found, kind = match[0], match.lastgroup
        names = self.names
        if kind == "place":
            return re.sub(r"[^\s,'\[\]]+", lambda name: names.host(name[0]), found)
        if kind == "word":
            return self._distinctive[found.lower()]
        if kind in ("known", "known4"):
            return self._known[found.lower()]
        if kind == "address6" and not is_clearly_ipv6(found):
            return found
        if kind in ("address4", "address6"):
            return names.address(found) if is_address(found) else found
        if kind == "serial":
            value = serial_value(found)
            return found.removesuffix(value) + names.device(value)
        by_kind: dict[str, Callable[[str], str]] = {
            "known6": names.address,
            "knownmac": names.mac,
            "uuid": names.uuid,
            "mac": names.mac,
            "mail": names.mail,
            "device": names.device,
            "user": names.user,
        }
        return by_kind.get(kind or "", str)(found)

    def json(self, text: str) -> str:
        """JSON with the names of the copy; all but the strings that change stays as it is, byte for byte.

        Raises
        ------
        ValueError
            When it is no JSON.
        """
        json.loads(text)
        parts: list[str] = []
        done = 0
        plain = text.isascii()
        for start, end, keys, is_key in _strings(text):
            value = json.loads(text[start:end])
            changed = self._key(value, keys) if is_key else self._value(value, keys)
            if changed != value:
                # half of a pair of escapes is no character that a file can hold
                escaped = plain or "\\ud" in text[start:end].lower()
                parts += [text[done:start], json.dumps(changed, ensure_ascii=escaped)]
                done = end
        return "".join([*parts, text[done:]])

    def _key(self, key: str, keys: tuple[str, ...]) -> str:
        by_host = bool(keys) and keys[-1] in HOST_MAPS
        if by_host and (key.lower() in self.names.aliases or is_address(key)):
            return self.names.host(key)
        return self.text(key)

    def _value(self, value: str, keys: tuple[str, ...]) -> str:
        key = keys[-1] if keys else ""
        names = self.names
        if _PROSE_KEYS & set(keys[-2:]):
            return value
        if key == "campaign" and names.campaign is not None and value == names.campaign[0]:
            return names.campaign[1]
        if key == "output" and (output := self._output(PurePosixPath(value).name)) is not None:
            return str(PurePosixPath(value).with_name(output))
        if key in HOST_KEYS:
            return ",".join(self._host(part) for part in value.split(","))
        if _DEVICE_KEY.search(key) and value:
            return names.device(value)
        return self.text(value)

    def _host(self, value: str) -> str:
        known = value.lower() in self.names.aliases or is_address(value)
        return self.names.host(value) if known else self.text(value)

    def lines(self, text: str) -> str:
        """A log whose lines are JSON, or plain text."""
        return "".join(self._line(line) for line in text.splitlines(keepends=True))

    def _line(self, line: str) -> str:
        if line.startswith("{"):
            try:
                return self.json(line)
            except ValueError:
                pass
        return self.text(line)

    def telemetry(self, text: str, host: str) -> str:
        """What sadf wrote of one host: its name in the first field of each line, and of the rest what is a name alone.

        A field that is a number is never changed, whatever the hosts are called.

        Parameters
        ----------
        text : str
        host : str
            What the host is called in the copy.
        """
        own = next((line.partition(";")[0] for line in text.splitlines() if line and not line.startswith("#")), "")
        if own and not self.names.hosts_kept:
            text = re.sub(rf"^{re.escape(own)}(?=;)", host, text, flags=re.MULTILINE)
        changed = {
            field: new for field in name_fields(text) if field not in (own, host) and (new := self.text(field)) != field
        }
        if not changed:
            return text
        return "\n".join(
            line if line.startswith("#") else ";".join(changed.get(field, field) for field in line.split(";"))
            for line in text.split("\n")
        )

    def path(self, path: PurePosixPath, *, measured: bool = False) -> PurePosixPath:
        """The path of a file of the copy.

        Parameters
        ----------
        path : pathlib.PurePosixPath
        measured : bool
            It is what a baseline measured on one host, or between two, and is called after them.
        """
        parts = [self._path_part(part, before) for part, before in zip(path.parts, ("", *path.parts), strict=False)]
        if measured:
            parts[-1] = self._output(path.name) or parts[-1]
        return PurePosixPath(*parts)

    def _path_part(self, part: str, before: str) -> str:
        if before == "telemetry" and part.endswith(".csv.xz"):
            return f"{self.names.host(part.removesuffix('.csv.xz'))}.csv.xz"
        if _BASELINE.fullmatch(before):
            output = self._output(part)
            if output is not None:
                return output
        stem, ending = _stem_and_ending(part)
        return part if part in self.names.keep or stem in self.names.keep else self.text(stem) + ending

    def _output(self, name: str) -> str | None:
        """What a baseline's file is called in the copy; None when it is not called after hosts."""
        stem, ending = _stem_and_ending(name)
        hosts = stem.split("_")
        if not all(host.lower() in self.names.aliases or is_address(host) for host in hosts):
            return None
        return "_".join(map(self.names.host, hosts)) + ending


def serial_value(text: str) -> str:
    """The number of what says that it is a serial number.

    Examples
    --------
    >>> serial_value("Serial Number:    Z1F0XXYZ"), serial_value("wwn-0x5000c500a1b2c3d4")
    ('Z1F0XXYZ', 'wwn-0x5000c500a1b2c3d4')
    """
    return _SERIAL.sub("", text)


def name_fields(text: str) -> list[str]:
    r"""What stands between the semicolons of telemetry and is no number: each once, in its order.

    Examples
    --------
    >>> name_fields("# hostname;DEV\ns1;91.37;sda\ns1;nan;sda")
    ['# hostname', 'DEV', 's1', 'sda']
    """
    return [field for field in dict.fromkeys(text.replace("\n", ";").split(";")) if not is_value(field)]


def _stem_and_ending(name: str) -> tuple[str, str]:
    ending = _ENDINGS.search(name)
    return (name[: ending.start()], ending[0]) if ending and ending.start() else (name, "")


def _new(now: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    return {old: new for old, new in now.items() if old not in before}


def _any_of(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


def _places(names: Iterable[str]) -> str:
    """Where only a host can stand, also one whose name is a common word."""
    name = f"(?i:{_any_of(names)})"
    return "|".join(
        (
            rf"(?<=<hostname>){name}(?=</hostname>)",
            rf"(?<=<nodeName>){name}(?=</nodeName>)",
            rf"(?<=<path>){name}(?=</path>)",
            rf"(?<![\w.:/-]){name}(?=:/[A-Za-z])",
            rf"(?<=host = ){name}(?=[,\s]|$)",
            rf"(?<=hostname: ){name}(?=[,\s]|$)",
            rf"^{name}(?= /\S* \S*iozone)",
            r"(?<=-host-set )[^\s'\"]+",
            r"(?<=hosts in test : )\[[^\]\n]*\]",
            rf"(?<= \(){name}(?=\)\s+\d)",
            rf"(?<![\w.-]){name} to {name}(?![\w.-])",
            rf"(?<=reachable at ){name}(?= port)",
            rf"(?<=[\w]@){name}(?=[:\s'\"]|$)",
        )
    )


def is_clearly_ipv6(text: str) -> bool:
    """Whether what reads as an IPv6 address is one, and not words of a program with colons between them."""
    groups = [group for group in text.partition("%")[0].split(":") if group]
    return len(groups) >= 3 or text.lower().startswith(("fe80:", "fc", "fd", "2"))


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]', re.DOTALL)


def _strings(text: str) -> Iterator[tuple[int, int, tuple[str, ...], bool]]:
    """Every string of a JSON text: start, end, the keys on the way to it, and whether it is a key itself."""
    stack: list[str] = []
    keys: list[str] = []
    expects_key = [False]
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "{":
            stack.append("{")
            expects_key.append(True)
            keys.append("")
        elif token == "[":
            stack.append("[")
            expects_key.append(False)
        elif token in "}]":
            if stack.pop() == "{":
                keys.pop()
            expects_key.pop()
        elif token == ",":
            expects_key[-1] = bool(stack) and stack[-1] == "{"
        elif token == ":":
            expects_key[-1] = False
        elif expects_key[-1]:
            yield match.start(), match.end(), tuple(keys[:-1]), True
            keys[-1] = json.loads(token)
        else:
            yield match.start(), match.end(), tuple(keys), False
