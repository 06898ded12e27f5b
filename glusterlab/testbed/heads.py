"""A disk with a head, an array of twelve, and a disk far away, as models in the hardware's own seconds.

They do no I/O, and have no clock of their own.

A head seeks (a + b sqrt(d) + c d through the three points of a data sheet, d the share of the stroke), waits until its
sector passes, and transfers at its zone's rate. It takes the waiting command that it reaches first, overtaking none by
more than a queue's worth of others. Once reads continue each other it reads ahead into the segments of its cache,
while it has nothing else to do. With a write cache a write ends in the cache, and a flush on the medium.
"""

import heapq
import math
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from glusterlab.testbed.drives import Array, Drive

Done = Callable[[], object]
_ROUNDING = 1e-4  # of a rotation: a sector that has just come to the head is not missed


class Timeline:
    """Events to come, in order of their time; `now` is the time of the event that is under way."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Done]] = []
        self._made = 0

    def at(self, time: float, call: Done) -> None:
        self._made += 1
        heapq.heappush(self._events, (time, self._made, call))

    @property
    def next(self) -> float:
        """Time of the next event; infinite where there is none."""
        return self._events[0][0] if self._events else math.inf

    def advance(self, now: float) -> None:
        """Let all happen that is due."""
        while self._events and self._events[0][0] <= now:
            self.now, _, call = heapq.heappop(self._events)
            call()
        self.now = max(self.now, now)


class Platter:
    """Where a byte lies, as the share of the stroke; times `rotations`: after how many a read from byte 0 has it."""

    def __init__(self, drive: Drive) -> None:
        self._outer, self._fall = drive.outer_bytes_per_s, drive.outer_bytes_per_s - drive.inner_bytes_per_s
        self._per_byte = (drive.outer_bytes_per_s + drive.inner_bytes_per_s) / 2 / drive.capacity_bytes
        self.rotations = drive.rotations_per_s / self._per_byte
        self.track = 1 / self.rotations

    def stroke(self, offset: float) -> float:
        scaled = offset * self._per_byte
        # tracks are equally far apart, and the outer ones hold more
        return 2 * scaled / (self._outer + math.sqrt(max(0.0, self._outer**2 - 2 * self._fall * scaled)))

    def rate(self, stroke: float) -> float:
        return self._outer - self._fall * stroke


def seek_curve(track: float, average: float, full: float) -> Callable[[float], float]:
    """Seconds of a seek over a share of the stroke.

    Through the three points; `average` is over all pairs of tracks, where sqrt(d) is 8/15 in the mean and d is 1/3.
    """
    root = (average - track - (full - track) / 3) / (8 / 15 - 1 / 3)
    linear = full - track - root
    return lambda share: track + root * math.sqrt(share) + linear * share


@dataclass(eq=False)
class _Command:
    write: bool
    offset: int
    size: int
    done: Done
    stroke: float
    cached: bool = False
    passed: float = 0.0  # bytes of the same track that the head passes on its way


@dataclass(eq=False)
class _Segment:
    start: float
    end: float


class Head:
    """One drive. `read`, `write` and `flush` say when they are done, in the timeline's time."""

    def __init__(self, drive: Drive, timeline: Timeline | None = None) -> None:
        self.drive, self.timeline = drive, timeline or Timeline()
        self.counts: Counter[str] = Counter()
        self.busy_s = 0.0
        self._platter = Platter(drive)
        self._seeks = {
            False: seek_curve(drive.read_seek_track_s, drive.read_seek_average_s, drive.read_seek_full_s),
            True: seek_curve(drive.write_seek_track_s, drive.write_seek_average_s, drive.write_seek_full_s),
        }
        self._segment_bytes = drive.cache_bytes / drive.segments
        self._queue: list[_Command] = []
        self._overtaken = 0
        self._under_way: _Command | None = None
        self._at, self._stroke = 0.0, 0.0
        self._segments: list[_Segment] = []
        self._ahead: _Segment | None = None
        self._ahead_since = self._ahead_limit = 0.0
        self._dirty_bytes = 0
        self._dirty: set[_Command] = set()
        self._refused: list[_Command] = []
        self._flushes: list[tuple[set[_Command], Done]] = []

    def read(self, offset: int, size: int, done: Done) -> None:
        self._submit(_Command(False, offset, size, done, self._platter.stroke(offset)))

    def write(self, offset: int, size: int, done: Done) -> None:
        self._submit(_Command(True, offset, size, done, self._platter.stroke(offset)))

    def flush(self, done: Done) -> None:
        if self._dirty:
            self._flushes.append((set(self._dirty), done))
        else:
            self.timeline.at(self.timeline.now + self.drive.command_s, done)

    def _submit(self, command: _Command) -> None:
        self.counts["writes" if command.write else "reads"] += 1
        self.timeline.at(self.timeline.now + self.drive.command_s, lambda: self._arrive(command))

    def _arrive(self, command: _Command) -> None:
        now = self.timeline.now
        if command.write and self.drive.write_cache:
            self._take(command)
        elif not command.write and self._covered(command.offset) >= command.offset + command.size:
            self.counts["hits"] += 1
            self._read_on(command.offset + command.size)
            self.timeline.at(now + command.size / self.drive.interface_bytes_per_s, command.done)
        else:
            self._queue.append(command)
        self._start()

    def _take(self, command: _Command) -> None:
        """A write into the cache, where there is room; else it waits until there is."""
        if self._dirty_bytes and self._dirty_bytes + command.size > self.drive.cache_bytes:
            self._refused.append(command)
            return
        self._dirty_bytes += command.size
        self._dirty.add(command)
        self.timeline.at(self.timeline.now + command.size / self.drive.interface_bytes_per_s, command.done)
        command.cached = True
        self._keep(command.offset, command.offset + command.size)
        self._queue.append(command)

    def _start(self) -> None:
        if self._under_way is not None or not self._queue:
            return
        self._catch_up()
        now, reached = self.timeline.now, self._queue[: int(self.drive.queue)]
        best = 0
        if self._overtaken < self.drive.queue and len(reached) > 1:
            best = min(range(len(reached)), key=lambda index: self._access(reached[index]))
        self._overtaken = self._overtaken + 1 if best else 0
        command = self._under_way = self._queue.pop(best)
        end = command.offset + command.size
        start = command.offset if command.write else self._covered(command.offset)
        if start >= end:  # another read has brought it meanwhile
            self.timeline.at(now + command.size / self.drive.interface_bytes_per_s, self._finish)
            return
        wait, last = self._access(command), self._platter.stroke(end)
        transfer = (last - self._platter.stroke(start)) * self._platter.rotations / self.drive.rotations_per_s
        self.counts["seeks"] += abs(command.stroke - self._stroke) >= self._platter.track
        self.busy_s += wait + transfer
        track = self._platter.rate(self._stroke) / self.drive.rotations_per_s
        command.passed = passed if 0 <= (passed := command.offset - self._at) < track else 0.0
        self._ahead = None
        self._at, self._stroke = end, last
        self.timeline.at(now + wait + transfer, self._finish)

    def _access(self, command: _Command) -> float:
        """Seconds until the head is at a command's first byte that the cache does not have."""
        offset, stroke = float(command.offset), command.stroke
        if not command.write and (covered := self._covered(command.offset)) > offset:
            if covered >= offset + command.size:
                return 0.0
            offset, stroke = covered, self._platter.stroke(covered)
        far = abs(stroke - self._stroke)
        seek = 0.0 if far < self._platter.track else self._seeks[command.write](far)
        return seek + self._rotation(stroke, self.timeline.now + seek)

    def _rotation(self, stroke: float, time: float) -> float:
        turn = (stroke * self._platter.rotations - time * self.drive.rotations_per_s) % 1.0
        return 0.0 if turn > 1 - _ROUNDING else turn / self.drive.rotations_per_s

    def _finish(self) -> None:
        command, self._under_way = self._under_way, None
        assert command is not None
        end = command.offset + command.size
        if not command.write:
            # what passes under the head on its way to a sector of the same track is read, too
            continues = self._segment(command.offset, command.passed) is not None
            kept = self._keep(command.offset, end, command.passed)
            if continues and self._at == end:
                self._ahead, self._ahead_since, self._ahead_limit = kept, self.timeline.now, end + self._segment_bytes
            command.done()
        elif command.cached:
            self._cleaned(command)
        else:
            self._keep(command.offset, end)
            command.done()
        self._start()

    def _cleaned(self, command: _Command) -> None:
        self._dirty_bytes -= command.size
        self._dirty.discard(command)
        for waiting, done in self._flushes:
            waiting.discard(command)
            if not waiting:
                done()
        self._flushes = [flush for flush in self._flushes if flush[0]]
        refused, self._refused = self._refused, []
        for one in refused:
            self._take(one)

    def _segment(self, offset: float, reach: float = 0.0) -> _Segment | None:
        return next((one for one in reversed(self._segments) if one.start <= offset <= one.end + reach), None)

    def _covered(self, offset: float) -> float:
        """To where the cache holds what follows an offset."""
        self._catch_up()
        found = self._segment(offset)
        return offset if found is None else found.end

    def _keep(self, start: float, end: float, reach: float = 0.0) -> _Segment:
        before = self._segment(start, reach)
        if before is not None:
            self._segments.remove(before)
            before.end = max(before.end, end)
        kept = before or _Segment(start, end)
        kept.start = max(kept.start, kept.end - self._segment_bytes)
        self._segments = [*self._segments[-int(self.drive.segments) + 1 :], kept]
        return kept

    def _catch_up(self) -> None:
        """What has been read ahead until now: until another command came, or the segment was full."""
        ahead, now = self._ahead, self.timeline.now
        if ahead is None or self._under_way is not None or now <= self._ahead_since or self._at >= self._ahead_limit:
            return
        read = (now - self._ahead_since) * self._platter.rate(self._stroke)
        self._at = min(self._ahead_limit, self._at + read)
        self._stroke = self._platter.stroke(self._at)
        self._ahead_since = now
        ahead.end = max(ahead.end, self._at)
        ahead.start = max(ahead.start, ahead.end - self._segment_bytes)

    def _read_on(self, consumed: float) -> None:
        """The host has taken what was read ahead up to a byte: there is room for more."""
        if self._ahead is None or self._under_way is not None:
            return
        if self._at >= self._ahead_limit:
            self._ahead_since = self.timeline.now + self._rotation(self._stroke, self.timeline.now)
        self._ahead_limit = max(
            self._ahead_limit if self._at < self._ahead_limit else 0.0, consumed + self._segment_bytes
        )


@dataclass(eq=False)
class _Stripe:
    """Dirty ranges of a stripe's units, by unit."""

    units: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, unit: int, low: int, high: int) -> int:
        """Take a range in; how many bytes the stripe has become dirtier by."""
        old = self.units.get(unit, (low, low))
        new = self.units[unit] = min(old[0], low), max(old[1], high)
        return new[1] - new[0] - (old[1] - old[0])

    def bytes(self) -> int:
        return sum(high - low for low, high in self.units.values())


class Raid6:
    """Heads behind a controller with a write-back cache: full stripes go out at once, others by read-modify-write.

    Stripes that are whole go first, then the one written to longest ago, as many at a time as there are disks.
    """

    def __init__(self, array: Array, drive: Drive, timeline: Timeline | None = None) -> None:
        self.array, self.timeline = array, timeline or Timeline()
        self.counts: Counter[str] = Counter()
        alone = replace(drive, write_cache=array.write_cache)
        self.heads = [Head(alone, self.timeline) for _ in range(int(array.disks))]
        self._command_s = drive.command_s
        self._unit, self._data = int(array.unit_bytes), int(array.disks - array.parity)
        self._read_free = self._write_free = 0.0
        self._dirty: OrderedDict[int, _Stripe] = OrderedDict()
        self._whole: OrderedDict[int, None] = OrderedDict()
        self._going: dict[int, _Stripe] = {}
        self._dirty_bytes = 0
        self._refused: list[tuple[int, int, Done]] = []

    @property
    def busy_s(self) -> float:
        """Seconds of all heads."""
        return sum(head.busy_s for head in self.heads)

    def read(self, offset: int, size: int, done: Done) -> None:
        self.counts["reads"] += 1
        now = self.timeline.now
        free = self._read_free = max(self._read_free, now) + size / self.array.read_bytes_per_s
        pieces = [piece for piece in self._pieces(offset, size) if not self._cached(*piece)]
        self.counts["hits"] += not pieces

        def all_read() -> None:
            self.timeline.at(max(self.timeline.now, free), done)

        if not pieces:
            self.timeline.at(max(now + self._command_s, free), done)
        after = _after(len(pieces), all_read)
        for stripe, unit, low, high in pieces:
            self.heads[self._disk(stripe, unit)].read(stripe * self._unit + low, high - low, after)

    def write(self, offset: int, size: int, done: Done) -> None:
        self.counts["writes"] += 1
        self._take(offset, size, done)
        self._destage()

    def flush(self, done: Done) -> None:
        self.timeline.at(self.timeline.now + self._command_s, done)

    def _take(self, offset: int, size: int, done: Done) -> None:
        if self._dirty_bytes and self._dirty_bytes + size > self.array.cache_bytes:
            self._refused.append((offset, size, done))
            return
        for stripe, unit, low, high in self._pieces(offset, size):
            dirty = self._dirty.setdefault(stripe, _Stripe())
            self._dirty_bytes += dirty.add(unit, low, high)
            self._dirty.move_to_end(stripe)
            if dirty.bytes() == self._data * self._unit:
                self._whole[stripe] = None
        now = self.timeline.now
        self._write_free = max(self._write_free, now) + size / self.array.write_bytes_per_s
        self.timeline.at(max(self._write_free, now + self._command_s), done)

    def _pieces(self, offset: int, size: int) -> list[tuple[int, int, int, int]]:
        """Stripe, unit and range within the unit of every part of a request."""
        found, end = [], offset + size
        while offset < end:
            number, low = divmod(offset, self._unit)
            high = min(self._unit, low + end - offset)
            found.append((*divmod(number, self._data), low, high))
            offset += high - low
        return found

    def _cached(self, stripe: int, unit: int, low: int, high: int) -> bool:
        held = (one.units.get(unit, (0, 0)) for one in (self._dirty.get(stripe), self._going.get(stripe)) if one)
        return any(first <= low and high <= last for first, last in held)

    def _disk(self, stripe: int, unit: int) -> int:
        """Parity moves by one disk each stripe; units that follow the data's are parity."""
        return (unit - stripe) % len(self.heads)

    def _destage(self) -> None:
        while len(self._going) < len(self.heads):
            stripe = next((one for at in (self._whole, self._dirty) for one in at if one not in self._going), None)
            if stripe is None:
                return
            self._whole.pop(stripe, None)
            self._going[stripe] = self._dirty.pop(stripe)
            self._update(stripe, self._going[stripe])

    def _update(self, stripe: int, dirty: _Stripe) -> None:
        low, high = min(low for low, _ in dirty.units.values()), max(high for _, high in dirty.units.values())
        parity = dict.fromkeys(range(self._data, len(self.heads)), (low, high))
        changed = dirty.units | parity
        others = dict.fromkeys((unit for unit in range(self._data) if unit not in dirty.units), (low, high))
        whole = dirty.bytes() == self._data * (high - low)
        # old data and parity, or all that is not changed: what takes fewer reads
        needed = {} if whole else changed if len(changed) <= len(others) else others

        def write() -> None:
            after = _after(len(changed), lambda: self._updated(stripe))
            for unit, (first, last) in changed.items():
                self.heads[self._disk(stripe, unit)].write(stripe * self._unit + first, last - first, after)

        if not needed:
            self.counts["whole stripes"] += 1
            write()
            return
        self.counts["partial stripes"] += 1
        after = _after(len(needed), write)
        for unit, (first, last) in needed.items():
            self.heads[self._disk(stripe, unit)].read(stripe * self._unit + first, last - first, after)

    def _updated(self, stripe: int) -> None:
        self._dirty_bytes -= self._going.pop(stripe).bytes()
        refused, self._refused = self._refused, []
        for one in refused:
            self._take(*one)
        self._destage()


@dataclass(eq=False)
class Latency:
    """A disk behind a network: each request takes as long, any number of them at once, up to its rates.

    A write is done when it is stored, so that a flush has nothing to wait for.
    """

    latency_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_operations_per_s: float
    write_operations_per_s: float
    timeline: Timeline = field(default_factory=Timeline)
    counts: Counter[str] = field(default_factory=Counter, init=False)
    busy_s: float = field(default=0.0, init=False)
    _free: float = field(default=0.0, init=False)

    def read(self, _offset: int, size: int, done: Done) -> None:
        self._serve("reads", max(1 / self.read_operations_per_s, size / self.read_bytes_per_s), done)

    def write(self, _offset: int, size: int, done: Done) -> None:
        self._serve("writes", max(1 / self.write_operations_per_s, size / self.write_bytes_per_s), done)

    def flush(self, done: Done) -> None:
        self.timeline.at(self.timeline.now, done)

    def _serve(self, what: str, takes: float, done: Done) -> None:
        begin = max(self.timeline.now, self._free)
        self.counts[what] += 1
        self.busy_s += takes
        self._free = begin + takes
        self.timeline.at(max(self._free, begin + self.latency_s), done)


def _after(count: int, call: Done) -> Done:
    """What to call `count` times, so that `call` is called at the last."""
    left = [count]

    def one() -> None:
        left[0] -= 1
        if not left[0]:
            call()

    return one
