"""Reader of the gluster CLI: `volume info`, `volume status [detail]`, `volume profile info`, as text and as XML.

A log may hold several of these. Daemons have no records; tasks, such as a rebalance, are in the details of bricks.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from glusterlab.errors import ParseError
from glusterlab.tools.base import Tool
from glusterlab.tools.document import Document, by_host, unwrapped
from glusterlab.tools.gluster import xml as gluster_xml
from glusterlab.tools.gluster.text import InfoText, ProfileText, Report, StatusText
from glusterlab.tools.records import Record

_SURE = 0.9
_VOLUME = re.compile(r"Volume Name ?: ?\S")
_VOLUME_TOO = re.compile(r"Number of Bricks ?:|Volume ID ?:|Brick1 ?:")
_MARKS = re.compile(
    r"<cliOutput>|Status of volume ?: ?\S|Gluster process\s{1,99}(?:TCP )?Port\s|%-latency\s{1,99}Avg-latency"
    r"|(?:Cumulative|Interval [0-9]{1,18}) Stats:\s|Brick {1,40}: Brick \S|Brick {2,40}: \S"
)

_ERRORS = re.compile(
    r"(?:Profile on )?Volume \S+ (?:is not started|does not exist)|(?:Staging|Commit|Locking|Unlocking) failed on "
    r"|Another transaction (?:is|could be) in progress|No volumes present|Unable to obtain volume status"
    r"|All bricks of volume \S+ are down|(?:Error ?: )?Request timed out"
    r"|Connection failed\. Please check if gluster daemon is operational"
)
_NOT_STARTED = re.compile(r"Volume \S+ is not started")
_OTHERS = {
    r"Number of Peers: \d": "the peers of a pool",
    r"UUID\s+Hostname\s+State": "the list of a pool",
    r"(?:Starting|Stopping) volume profile on \S+ has been ": "the start or the end of a profile",
    r"(?:Cleared|Failed to clear) stats": "statistics that were cleared",
    r"volume (?:create|start|stop|set|reset): \S+: (?:success|failed)": "the answer to a command",
}
_HOST_MARK = re.compile(
    r"Volume Name:|Status of volume:|Gluster process|Brick: \S|Cumulative Stats:|Interval \d+ Stats:"
)
_PREFIX_CHARACTERS = 300
_XML_START, _XML_END = "<cliOutput>", "</cliOutput>"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")
_VERSION = re.compile(r"glusterfs ([0-9]{1,4}(?:\.[0-9A-Za-z]{1,20}){0,5})(?: .*)?")
_ELISION = re.compile(r"[\[(<{]? ?(?:\.{3,}|…|snip|\.{3} ?snip ?\.{3}|cut|省略) ?[\])>}]?", re.IGNORECASE)
_PROMPT = re.compile(r"(?:\[[^\]]{1,100}\]|[^\s:#$]{1,100}(?::[^\s#$]{0,200})?)?[#$](?: .*)?")


def recognise(document: Document) -> float:
    """How sure it is that the document is gluster's, from 0 to 1."""
    head = document.head
    volume = _VOLUME.search(head)
    if _MARKS.search(head) is not None or (volume is not None and _VOLUME_TOO.search(head, volume.end()) is not None):
        return _SURE
    rows = (line for line in head.split("\n") if "Brick " in line)
    # rows of `volume status` may be all that a filter has left over
    if volume is not None or any(StatusText.starts(unwrapped(row)) for row in islice(rows, 1000)):
        return 0.6
    return 0.5 if _other(head) or any(_ERRORS.match(line.strip()) for line in head.split("\n", 20)[:20]) else 0.0


def _other(head: str) -> str | None:
    return next((what for mark, what in _OTHERS.items() if re.search(f"(?m)^{mark}", head)), None)


def read(document: Document) -> Iterator[Record]:
    """The volumes, bricks and profiles of a document; `ParseError` for none, damage and gluster's errors."""
    errors: list[ParseError] = []
    found = False
    pieces = list(_xml_pieces(document.text))
    text = _without(document, pieces) if pieces else document
    # what `gluster --version` says in the same log
    heads = (_VERSION.fullmatch(line.strip()) for line in document.head.split("\n")[:10_000] if "glusterfs " in line)
    version = next((match[1] for match in heads if match is not None), None)
    line, counted = 1, 0
    for start, piece, prefix in pieces:
        line, counted = line + document.text.count("\n", counted, start), start
        if prefix:
            piece = "\n".join(part.removeprefix(prefix) for part in piece.split("\n"))
        try:
            for record in gluster_xml.records(document, piece, line, version):
                found = True
                yield record
        except ParseError as error:
            errors.append(error)
    for lines in by_host(text.lines, _HOST_MARK).values():
        for record in _from_text(text, lines, errors):
            found = True
            yield record
    if found:
        # one of several volumes that is not started is no damage: `status` says so beside the others
        errors = [error for error in errors if _NOT_STARTED.search(error.message) is None]
    if errors:
        raise min(errors, key=lambda error: error.line or 0)
    if not found:
        other = _other(document.head) or "none of them"
        raise document.error(f"expected gluster's volume info, volume status or volume profile info, found {other}", 1)


def _xml_pieces(text: str) -> Iterator[tuple[int, str, str]]:
    """Where the XML of a command starts, its text, and what is in front of its lines."""
    position = 0
    while (root := text.find(_XML_START, position)) >= 0:
        declared, closing = text.rfind("<?xml", position, root), text.find(_XML_END, root)
        start, end = root if declared < 0 else declared, len(text) if closing < 0 else closing + len(_XML_END)
        # a host's name is short: the text before each of many on one line would take gigabytes
        before = text[max(start - _PREFIX_CHARACTERS, 0) : start]
        is_whole = "\n" in before or start <= _PREFIX_CHARACTERS
        yield start, text[start:end], before.rpartition("\n")[2] if is_whole else ""
        position = end


def _without(document: Document, pieces: Sequence[tuple[int, str, str]]) -> Document:
    """The document without its XML; lines keep their numbers."""
    kept, position = [], 0
    for start, piece, _ in pieces:
        kept += [document.text[position:start], "\n" * piece.count("\n")]
        position = start + len(piece)
    return Document(document.path, "".join([*kept, document.text[position:]]).encode())


def _from_text(document: Document, lines: Sequence[tuple[int, str]], errors: list[ParseError]) -> Iterator[Record]:
    """The records of the lines of one host; what is wrong with them is added to `errors`."""
    part: Report | None = None
    volume: str | None = None
    version: str | None = None
    for line, raw in lines:
        if (text := unwrapped(raw)).startswith("```"):
            continue
        command = _command(text)
        opened = None if command is not None else _opened(part, line, text, volume)
        ends = command is not None or opened is not None or _PROMPT.fullmatch(text) is not None
        if ends and part is not None:
            yield from _closed(part, document, line, version, errors)
            part = None
        if command is not None:
            volume = command or None
        elif (printed := _VERSION.fullmatch(text)) is not None:
            version = printed[1]
        elif _ERRORS.match(text) is not None:
            errors.append(document.error(f"gluster reports an error: {text[:200]}", line))
        elif _ELISION.fullmatch(text) is not None:
            if part is not None:
                part.elide()
        elif (not ends or opened is not None) and (part := opened or part) is not None:
            part.feed(line, text, has_end=document.ends_in_a_line or line != len(document.lines))
    if part is not None:
        yield from _closed(part, document, lines[-1][0], version, errors, at_end=True)


def _opened(part: Report | None, line: int, text: str, volume: str | None) -> Report | None:
    label, colon, rest = (word.strip() for word in text.partition(":"))
    if colon and rest and label == "Volume Name":
        return InfoText(rest, line)
    if colon and rest and label == "Status of volume":
        return StatusText(rest)
    in_details = isinstance(part, StatusText) and not part.has_rows and label == "Brick"
    if not isinstance(part, ProfileText) and not in_details and ProfileText.starts(text):
        return ProfileText(volume)
    return StatusText(volume) if not isinstance(part, StatusText) and StatusText.starts(text) else None


def _closed(
    part: Report, document: Document, line: int, version: str | None, errors: list[ParseError], *, at_end: bool = False
) -> Iterator[Record]:
    yield from part.records(document, version, line, at_end=at_end)
    if part.damage is not None:
        errors.append(document.error(*part.damage))


def _command(text: str) -> str | None:
    """The volume that a command line of gluster is about; empty where it names none; None for other lines."""
    if "gluster" not in text:
        return None
    words = text.replace("gluster>", "gluster ").split()
    for place, (word, following) in enumerate(pairwise(words)):
        if word.rpartition("/")[2] == "gluster" and following in {"v", "vol", "volume", "--mode=script", "--xml"}:
            rest = [word for word in words[place + 1 :] if not word.startswith("-")][1:3]
            named = len(rest) > 1 and rest[0] in {"info", "status", "profile"} and _NAME.fullmatch(rest[1])
            return rest[1] if named and rest[1] != "all" else ""
    return None


TOOL = Tool(name="gluster", recognise=recognise, read=read, measures=False)
