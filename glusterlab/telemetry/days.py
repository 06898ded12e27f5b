"""Which day a row of sar is of: its text has a date in the banner only, and after that times of day.

sar prints a segment, which is what lies between two restarts, table by table: every table begins with the time at
which the segment began, and so each has its own clock. A restart is printed once, after all tables of its segment; so
all tables after it go on from its day. A header that is printed again has the time of the row before it.
"""

from __future__ import annotations

from glusterlab.telemetry.blocks import DAY_S, Clock, State

BACK_S = 3600.0
"""A clock that goes back by up to so much was set, or summer time ended; by more, a day has passed."""

NEAR_S = 60.0
"""Headers of one segment's tables have the same time, up to so much."""

_HALF_S = DAY_S / 2


def start_table(state: State, mark: str, seconds: float, zoned: bool = False) -> None:
    """Take a header of a table.

    Parameters
    ----------
    state : State
    mark : str
        The table.
    seconds : float
        Since midnight.
    zoned : bool
        The time has a time zone and no mark of the half day.
    """
    segment = state.segment
    if not state.clocks:
        segment.day, segment.last = _next(state, segment, seconds, zoned)
    assert segment.last is not None
    start = _unfolded(state, segment.last, seconds) if zoned else seconds
    place = state.clocks.get(mark)
    if place is None:
        state.clocks[mark] = Clock(segment.day, start)
        return
    day, last = _next(state, place, seconds, zoned)
    if begins_segment(state, start) and (place.last is None or abs(last - place.last) > NEAR_S):
        # sar prints the table anew: of other interrupts, or another device
        day, last = segment.day, start
    place.day, place.last = day, last


def begins_segment(state: State, seconds: float) -> bool:
    """Whether this is the time of the segment's first header."""
    return state.segment.last is not None and abs(seconds - state.segment.last) <= NEAR_S


def advance(state: State, mark: str, seconds: float, zoned: bool = False) -> float:
    """Seconds since the midnight before the banner's day, of a table's next row."""
    if (place := state.clocks.get(mark)) is None:
        start_table(state, mark, seconds, zoned)
        place = state.clocks[mark]
    place.day, place.last = _next(state, place, seconds, zoned)
    return place.day * DAY_S + place.last


def restart(state: State, mark: str | None, seconds: float, zoned: bool = False) -> None:
    """Begin a segment on the restart's day, which is that of the last row of the table in force or the next."""
    latest = state.clocks.get(mark or "")
    if latest is None:
        latest = max(state.clocks.values(), key=lambda place: (place.day, place.last or 0.0), default=state.segment)
    state.segment = Clock(*_next(state, latest, seconds, zoned))
    state.clocks = {}


def _next(state: State, place: Clock, seconds: float, zoned: bool) -> tuple[int, float]:
    """Day and time behind a place."""
    if zoned:
        seconds = _unfolded(state, place.last, seconds)
    return place.day + (place.last is not None and seconds < place.last - BACK_S), seconds


def _unfolded(state: State, last: float | None, seconds: float) -> float:
    """The time of day, of twenty-four hours, that was meant.

    Locales with a time zone may print twelve hours without a mark of the half day. Until an hour shows that it is not
    so, one o'clock that follows half past twelve is an hour later, not a day.
    """
    if not state.twelve:
        return seconds
    if not 3600 <= seconds < 13 * 3600:
        state.twelve = False
        return seconds
    if last is None:
        return seconds
    early = seconds % _HALF_S
    return next((time for time in (early, early + _HALF_S) if time > last - BACK_S), early)
