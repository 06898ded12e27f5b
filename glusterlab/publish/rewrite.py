"""Texts of a campaign with the names of the copy.

Where only a host can stand it is renamed, whatever it is called; a name that is no common word is renamed wherever it
stands alone. Numbers are never touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from glusterlab import secrets
from glusterlab.publish.names import Names, is_address
from glusterlab.publish.words import tokens

HOST_KEYS = tokens("host hosts hostname hostnames server servers client clients controller address node driver") | {
    "host_set"
}
"""Keys of JSON whose values are hosts."""

HOST_MAPS = tokens("host hosts peers stray mounts space") | {"clock_offset_s", "drop_caches", "link_changes"}
"""Keys of JSON whose values are objects by host."""

_DEVICE_KEY = re.compile(r"serial|wwn|wwid|asset_?tag|service_?tag", re.IGNORECASE)
_BASELINE = re.compile(r"round-\d+|hosts?")
_PROSE_KEYS = frozenset({"tools", "kernel", "glusterlab_revision", "smallfile_revision", "glusterlab_version"})

_NOT_IN_WORD = r"(?<![A-Za-z0-9])"
_WORD_ENDS = r"(?![A-Za-z0-9])"
FORMS = {
    "digest": r"\b[0-9a-f]{40,64}\b",
    "uuid": r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
    "mac": r"(?<![0-9A-Za-z:-])(?:[0-9a-fA-F]{2}:){5,19}[0-9a-fA-F]{2}(?![0-9A-Za-z:-])",
    "address6": r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:%\w+)?(?![\w:])",
    "address4": r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)",
    "device": r"(?:\b(?:wwn-0x|naa\.|eui\.)[0-9a-f]{16,32}|\b0x5[0-9a-f]{15}\b|(?<=/dev/disk/by-id/)[^\s'\"/,;]+)",
    "serial": r"(?i:(?<=serial number: )|(?<=serial number:)|(?<=serial: )|(?<=serial=))[\w-]{4,40}",
    "user": r"(?:(?<=/home/)|(?<=/Users/))[A-Za-z0-9_][\w.-]*",
}
"""What identifies a machine or a person, by its form."""


class Rewriter:
    """Renames in text, in JSON, in telemetry and in paths.

    Parameters
    ----------
    names : Names
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self._distinctive = names.distinctive
        self._pattern = re.compile("|".join(self._forms()), re.MULTILINE)
        self.redacted = 0

    def _forms(self) -> Iterator[str]:
        if self.names.aliases:
            yield rf"(?P<place>{_places(self.names.aliases)})"
        if self.names.keep:
            yield rf"(?P<keep>(?<![\w+-])(?:{_any_of(self.names.keep)})(?:-[0-9a-f]{{6}})?(?![\w+]))"
        for kind, form in FORMS.items():
            yield f"(?P<{kind}>{form})"
        if self._distinctive:
            yield rf"(?P<word>{_NOT_IN_WORD}(?i:{_any_of(self._distinctive)}){_WORD_ENDS})"

    def text(self, text: str) -> str:
        """A text with the names of the copy and without secrets."""
        clean = secrets.redact(text)
        if clean != text:
            self.redacted += 1
        return self._pattern.sub(self._replace, clean)

    def _replace(self, match: re.Match[str]) -> str:
        found, kind = match[0], match.lastgroup
        names = self.names
        if kind == "place":
            return re.sub(r"[^\s,'\[\]]+", lambda name: names.host(name[0]), found)
        if kind == "word":
            return self._distinctive[found.lower()]
        if kind in ("address4", "address6"):
            if not is_address(found) or (kind == "address6" and not is_clearly_ipv6(found)):
                return found
            return names.address(found)
        by_kind: dict[str, Callable[[str], str]] = {
            "uuid": names.uuid,
            "mac": names.mac,
            "device": names.device,
            "serial": names.device,
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
                parts += [text[done:start], json.dumps(changed, ensure_ascii=plain)]
                done = end
        return "".join([*parts, text[done:]])

    def _key(self, key: str, keys: tuple[str, ...]) -> str:
        by_host = bool(keys) and keys[-1] in HOST_MAPS
        if by_host and (key.lower() in self.names.aliases or is_address(key)):
            return self.names.host(key)
        return self.text(key)

    def _value(self, value: str, keys: tuple[str, ...]) -> str:
        key = keys[-1] if keys else ""
        if _PROSE_KEYS & set(keys[-2:]):
            return value
        if key == "output" and _BASELINE.match(value.partition("/")[0]):
            return str(self.path(PurePosixPath(value)))
        if key in HOST_KEYS:
            return ",".join(self._host(part) for part in value.split(","))
        if _DEVICE_KEY.search(key) and value:
            return self.names.device(value)
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

        Parameters
        ----------
        text : str
        host : str
            What the host is called in the copy.
        """
        own = next((line.partition(";")[0] for line in text.splitlines() if line and not line.startswith("#")), "")
        if own and not self.names.hosts_kept:
            text = re.sub(rf"^{re.escape(own)}(?=;)", host, text, flags=re.MULTILINE)
        if self._distinctive and re.search(rf"(?i:{_any_of(self._distinctive)})", text.replace(f"{host};", ";")):
            return "".join(
                line if line.startswith("#") else self._telemetry_line(line) for line in text.splitlines(keepends=True)
            )
        return text

    def _telemetry_line(self, line: str) -> str:
        first, _, rest = line.partition(";")
        return f"{first};{self.text(rest)}"

    def path(self, path: PurePosixPath) -> PurePosixPath:
        """The path of a file of the copy."""
        return PurePosixPath(
            *(self._path_part(part, before) for part, before in zip(path.parts, ("", *path.parts), strict=False))
        )

    def _path_part(self, part: str, before: str) -> str:
        stem, dot, suffix = part.partition(".")
        if before == "telemetry" and part.endswith(".csv.xz"):
            return f"{self.names.host(part.removesuffix('.csv.xz'))}.csv.xz"
        if _BASELINE.fullmatch(before):
            # what a baseline measured on one host, or between two
            return "_".join(map(self.names.host, stem.split("_"))) + dot + suffix
        return part if stem in self.names.keep else f"{self.text(stem)}{dot}{self.text(suffix)}"


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
            r"(?<=hosts in test : )\[[^\]]*\]",
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
