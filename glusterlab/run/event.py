"""What happens to the pool while a workload runs: gluster is told, looked at every two seconds, and judged by that.

What gluster said stays in the sample as it was: ``event/commands.jsonl`` and ``event/status.jsonl``, a line for each
command and each look, with ``time`` in epoch seconds of the controller and ``output``, or ``error``.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from glusterlab.errors import GlusterlabError, HostError, ParseError
from glusterlab.hosts import gluster
from glusterlab.rawfile import read_raw
from glusterlab.reasons import Reason
from glusterlab.tools.document import number, read_json, whole

if TYPE_CHECKING:
    from glusterlab.hosts.gluster import Volume
    from glusterlab.hosts.pool import Pool
    from glusterlab.spec.cell import Cell, Event
    from glusterlab.store.records import CommandRecord

COMMANDS, STATUS = "event/commands.jsonl", "event/status.jsonl"

LOOK_EVERY_S = 2.0
_BEGINS_WITHIN_S = 60.0
_COMMANDS = {"rebalance": 2, "reset-brick": 3}  # that begin it
_DONE_LOOKS = {"rebalance": 1, "reset-brick": 2}  # a directory that is healed may bring new entries
_FOUND_WITHIN_S = 30.0  # in which a heal finds what it has to do
_GROWN_HEALS_WITHIN_S = 60.0

State = Literal["not started", "in progress", "completed", "failed"]
_NUMBERS = {"0": "not started", "1": "in progress", "2": "stopped", "3": "completed", "4": "failed"}
_ENTRIES = re.compile(r"\S+ heal (\d+)")
_WORDS = re.compile(r"(?:fix-layout )?(not started|in progress|stopped|completed|failed)")


class Progress(NamedTuple):
    """How far an event is, all servers together; None is what gluster does not say, `runtime_s` of the slowest."""

    state: State
    files: int | None
    bytes: int | None
    failures: int
    runtime_s: float | None

    @property
    def over(self) -> bool:
        return self.state in ("completed", "failed")


def read_rebalance(text: bytes) -> Progress:
    """`gluster volume rebalance VOLUME status --xml`; `ParseError` where it names no server, or is no such output."""
    nodes = gluster.read_xml(text).findall("volRebalance/node")
    if not nodes:
        raise ParseError("expected the servers of a rebalance, found none")
    states = set()
    for node in nodes:
        said = node.findtext("statusStr") or _NUMBERS.get(node.findtext("status") or "", "")
        if (match := _WORDS.fullmatch(said.strip().lower())) is None:
            raise ParseError(f"expected the state of a rebalance, found {said[:40]!r}")
        states.add(match[1])
    state: State = "not started"  # also of a server without bricks, beside others that have done
    if "in progress" in states:
        state = "in progress"
    elif states & {"failed", "stopped"}:
        state = "failed"
    elif "completed" in states:
        state = "completed"
    sums = [sum(whole(node.findtext(tag) or "") or 0 for node in nodes) for tag in ("files", "size", "failures")]
    times = [seconds for node in nodes if (seconds := number(node.findtext("runtime") or "")) is not None]
    return Progress(state, sums[0], sums[1], sums[2], max(times, default=None))


def read_heal(text: bytes) -> Progress:
    """Lines of `gluster.heal_entries`; it is over when no brick has an entry. `ParseError` for anything else."""
    lines = text.decode("utf-8", "replace").splitlines()
    found = [_ENTRIES.fullmatch(line) for line in lines]
    if not found or None in found:
        raise ParseError(f"expected the entries that wait on each server, found {text[:80]!r}")
    waiting = any(int(match[1]) for match in found if match)
    return Progress("in progress" if waiting else "completed", None, None, 0, None)


READERS: Mapping[str, Callable[[bytes], Progress]] = {"rebalance": read_rebalance, "reset-brick": read_heal}


class EventRun:
    """The event of one sample, in a thread of its own beside the workload."""

    def __init__(self, pool: Pool, server: str, volume: Volume, event: Event, deadline_s: float) -> None:
        self._pool, self._server, self._volume, self._event = pool, server, volume, event
        self._deadline_s = deadline_s
        self._lines: dict[str, list[dict[str, Any]]] = {COMMANDS: [], STATUS: []}
        self._workload_over, self._given, self._seen = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="glusterlab-event", daemon=True)

    def begin(self) -> None:
        """Begin; where the event comes first, return when it is seen to run, or came to nothing."""
        name, throttle = self._volume.name, self._event.throttle
        if self._event.do == "rebalance":
            gluster.ask(self._pool, self._server, "volume", "set", name, "cluster.rebal-throttle", throttle)
        self._thread.start()
        if self._event.at_s is not None:
            return
        while not self._given.is_set():  # a brick of many files is not emptied in a minute
            self._pool.sleep(0.05)
        end = time.monotonic() + _BEGINS_WITHIN_S
        while not self._seen.is_set() and time.monotonic() < end:
            self._pool.sleep(0.05)

    def end(self) -> None:
        """Wait for the event's end, after the workload; one that has not begun by now does not begin."""
        self._workload_over.set()
        while self._thread.is_alive():
            self._pool.sleep(0.1)

    @property
    def files(self) -> dict[str, str]:
        """What was said, by the path below the sample's folder."""
        return {name: "".join(json.dumps(line) + "\n" for line in lines) for name, lines in self._lines.items()}

    def _run(self) -> None:
        try:
            if not self._workload_over.wait(self._event.at_s or 0.0) and self._give():
                self._given.set()
                self._watch(time.monotonic() + self._deadline_s)
                self._seen.set()
                self._workload_over.wait()
                if self._event.do == "rebalance" and self._volume.grown is not None:
                    self._heal_new_bricks(self._volume.grown)
        except GlusterlabError:
            # the run was stopped: the workload's own thread meets that, too
            return
        finally:
            self._given.set()
            self._seen.set()

    def _give(self) -> bool:
        volume, name = self._volume, self._volume.name
        if self._event.do == "rebalance":
            words = [volume.add_words(), ("volume", "rebalance", name, "start")]
            return all(self._tell(COMMANDS, *command) for command in words)
        (host, path), brick = volume.bricks[0], volume.brick_names[0]
        return (
            self._tell(COMMANDS, "volume", "reset-brick", name, brick, "start")
            and self._note(
                COMMANDS, ["empty", host.name, path], lambda: gluster.empty_brick(self._pool, host.name, path)
            )
            and self._tell(COMMANDS, "volume", "reset-brick", name, brick, brick, "commit", "force")
        )

    def _watch(self, end: float) -> None:
        do, name, done = self._event.do, self._volume.name, 0
        begins = time.monotonic() + (_FOUND_WITHIN_S if do == "reset-brick" else 0.0)
        while time.monotonic() < end:
            if do == "reset-brick":
                said = self._note(STATUS, ["heal", name], lambda: gluster.heal_entries(self._pool, self._volume))
            else:
                said = self._tell(STATUS, "volume", "rebalance", name, "status", "--xml")
            try:
                progress = READERS[do](self._lines[STATUS][-1]["output"].encode()) if said else None
            except ParseError:
                return
            if progress is not None and progress.state == "in progress":
                self._seen.set()
                begins = 0.0
            done = done + 1 if progress is not None and progress.over and time.monotonic() >= begins else 0
            if done == _DONE_LOOKS[do]:
                return
            self._pool.sleep(LOOK_EVERY_S)

    def _heal_new_bricks(self, grown: Volume) -> None:
        """Let what new bricks missed be healed: clients reach one after another, and the daemon looks every 10 min."""
        self._note(STATUS, ["heal", grown.name, "entries"], lambda: gluster.heal_entries(self._pool, grown))
        self._note(
            STATUS,
            ["heal", grown.name, "left"],
            lambda: b"%d" % gluster.wait_for_heal(self._pool, grown, within_s=_GROWN_HEALS_WITHIN_S),
        )

    def _tell(self, name: str, *words: str) -> bool:
        return self._note(name, ["gluster", *words], lambda: gluster.ask(self._pool, self._server, *words))

    def _note(self, name: str, words: Sequence[str], act: Callable[[], bytes | None]) -> bool:
        """Do something, and keep what came of it; whether it was done."""
        line: dict[str, Any] = {"time": time.time(), "command": [*words]}
        try:
            line["output"] = (act() or b"").decode("utf-8", "replace")
        except HostError as error:
            line["error"] = error.message
        self._lines[name].append({**line, "end": time.time()})
        return "error" not in line


class EventRecord(NamedTuple):
    """What became of an event, by the files of its sample; times are epoch seconds.

    `start`: when gluster had begun it, None where it did not; `runs`: of all looks that found it in progress, when they
    began and ended; `last`: what the last look found, `seen`: when, or first saw it over; `problem`: gluster's refusal.
    """

    start: float | None
    problem: str
    runs: tuple[tuple[float, float], ...] = ()
    last: Progress | None = None
    seen: float = math.nan


def read_event(folder: Path) -> EventRecord:
    """Read the files of a sample; `ParseError` where one of them is not there, or is not what was written."""
    commands = _lines(folder / COMMANDS)
    problem = next((str(line["error"]) for line in commands if "error" in line), "")
    do = "reset-brick" if commands and "reset-brick" in commands[0].get("command", []) else "rebalance"
    if problem or len(commands) < _COMMANDS[do]:
        return EventRecord(None, problem or "it was not begun")
    looks = []
    for line in _lines(folder / STATUS):
        if do == "rebalance" and "heal" in line.get("command", []):
            continue
        if not (problem := str(line.get("error", ""))):
            found = READERS[do](str(line.get("output", "")).encode())
            looks.append((found, float(line["time"]), float(line["end"])))
    runs = tuple((begin, end) for found, begin, end in looks if found.state == "in progress")
    last, seen = (looks[-1][0], looks[-1][2]) if looks else (None, math.nan)
    over = list(takewhile(lambda look: look[0].over, reversed(looks)))
    if last is not None and len(over) >= _DONE_LOOKS[do]:
        seen = over[-1][2]
    elif last is not None and last.over:
        last = last._replace(state="in progress")
    return EventRecord(float(commands[-1]["end"]), problem, runs, last, seen)


def has_grown(folder: Path) -> bool:
    """Whether the volume of a sample is another by its event, by what gluster said to the first command."""
    try:
        commands = _lines(folder / COMMANDS)
    except ParseError:
        return False
    return bool(commands) and "error" not in commands[0]


def renewed_brick(folder: Path) -> tuple[str, str] | None:
    """Server and path of the brick that a sample's event emptied; None where it has none."""
    try:
        words = [line.get("command", []) for line in _lines(folder / COMMANDS)]
    except ParseError:
        return None
    return next(((each[1], each[2]) for each in words if each[:1] == ["empty"]), None)


def command_times(folder: Path) -> list[tuple[float, float]]:
    """When the commands of an event began and ended, beside what else the sample's log has; none without an event."""
    try:
        return [(line["time"], line["end"]) for name in (COMMANDS, STATUS) for line in _lines(folder / name)]
    except ParseError:
        return []


def _lines(path: Path) -> list[Mapping[str, Any]]:
    try:
        found = [read_json(line) for line in read_raw(path).decode("utf-8", "replace").splitlines()]
    except OSError as error:
        raise ParseError(f"cannot be read: {error.strerror}", file=path) from error
    for line in found:
        if not isinstance(line, dict) or not all(number(line.get(name)) for name in ("time", "end")):
            raise ParseError("expected lines with the times of what gluster was told", file=path)
    return found


def event_reasons(folder: Path, cell: Cell, command: CommandRecord) -> Iterator[Reason]:
    """What is wrong with the event of a cell, where it has one: only what was seen counts."""
    if (event := cell.event) is None:
        return
    try:
        start, problem, runs, last, seen = read_event(folder)
    except ParseError as error:
        yield Reason(code="event-failed", message=f"what became of {event.words} is not known: {error.message}")
        return
    if start is None:
        yield Reason(code="event-not-started", message=f"{event.words}: {problem}")
        return
    if event.at_s is None and not any(end <= command.start for _, end in runs):
        message = f"{event.words} was not seen in progress before the workload began"
        yield Reason(code="event-not-started", message=message)
    elif event.at_s is None and not any(begin >= command.end for begin, _ in runs):
        what = f"was over {seen - start:.0f} s after it began, and the workload after {command.end - start:.0f} s"
        yield Reason(code="event-ended-early", message=f"{event.words} {what}")
    elif event.at_s is not None and start > command.end:
        yield Reason(code="event-not-started", message=f"{event.words} began after the workload had ended")
    elif event.do == "reset-brick" and not runs:
        yield Reason(code="event-not-started", message=f"{event.words}: no brick was seen to have entries to heal")
    if last is None or last.state != "completed" or last.failures:
        found = problem or (f"'{last.state}', with {last.failures} failures" if last else "nothing")
        message = f"expected {event.do} completed without failures, found {found}"
        yield Reason(code="event-failed", message=message)


def event_columns(folder: Path) -> dict[str, object]:
    """Columns of the samples table of an event; none where it is not known what became of it."""
    try:
        start, _, _, last, seen = read_event(folder)
    except ParseError:
        return {}
    if start is None or last is None:
        return {}
    seconds = (last.runtime_s or seen - start) if last.over else None
    return {"event_start_s": start, "event_s": seconds, "event_files": last.files, "event_bytes": last.bytes}
