"""Dates and times as sysstat prints them in any locale, and which day a row of sar is of.

Each table of a segment (what lies between two restarts) begins with the time at which the segment began, and so has its
own clock. A restart is printed once, after all tables of its segment. A repeated header has the time of the row before.
"""

import re
from calendar import timegm
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from glusterlab.telemetry.blocks import DAY_S, Clock, State
from glusterlab.telemetry.sysstat import DEVICES

# whatever is between the digits: a text that was not UTF-8 has other signs than hours, minutes and seconds
_TIME = re.compile(r"(午前|午後|上午|下午|오전|오후)?(\d{1,2})[^\d\s]{1,4}(\d{2})[^\d\s]{1,4}(\d{2})[^\d\s]{0,4}")
_PART = re.compile(r"(\d{1,2})([시時时분分초秒])")
_SECONDS = {"시": 3600, "時": 3600, "时": 3600, "분": 60, "分": 60, "초": 1, "秒": 1}
_MORNING = frozenset({"am", "a.m.", "πμ", "π.μ.", "上午", "午前", "오전", "पूर्वाह्न", "ص", "vorm.", "sa", "pd", "e.b."})
_EVENING = frozenset({"pm", "p.m.", "μμ", "μ.μ.", "下午", "午後", "오후", "अपराह्न", "م", "nachm.", "ch", "md", "e.d."})
_ZONE = re.compile(r"[A-Z]{2,5}|[+-]\d{2}(?::?\d{2})?")


def is_time(word: str) -> bool:
    """Whether a word is a whole time of day, or the hours of one that is written in three words."""
    return _TIME.fullmatch(word) is not None or _PART.fullmatch(word) is not None


def half_day(word: str) -> int | None:
    """0 for the first half of a day, 12 for the second, None for another word."""
    lower = word.lower()
    return 0 if lower in _MORNING else 12 if lower in _EVENING else None


@lru_cache(maxsize=1 << 17)
def seconds_of(words: tuple[str, ...]) -> float | None:
    """Seconds since midnight, or None when the words are no time.

    >>> seconds_of(("12:00:01", "AM")), seconds_of(("01:00:00", "p.", "m.")), seconds_of(("01时00分42秒",))
    (1.0, 46800.0, 3642.0)
    """
    if "m." in words or "M." in words:
        # the two words of Spanish
        at = words.index("m." if "m." in words else "M.")
        words = (*words[: max(0, at - 1)], "".join(words[max(0, at - 1) : at + 1]), *words[at + 1 :])
    total: float | None = None
    half: int | None = None
    for word in words:
        if (whole := _TIME.fullmatch(word)) is not None:
            hours, minutes, seconds = int(whole[2]), int(whole[3]), int(whole[4])
            if total is not None or hours > 24 or minutes > 59 or seconds > 60:
                return None
            total = float(hours * 3600 + minutes * 60 + seconds)
            half = half_day(whole[1]) if whole[1] else half
        elif (part := _PART.fullmatch(word)) is not None:
            total = (total or 0.0) + int(part[1]) * _SECONDS[part[2]]
        elif (found := half_day(word)) is not None:
            half = found
        elif word in DEVICES or _ZONE.fullmatch(word) is None:
            return None
    if total is None or half is None:
        return total
    return total % 43_200 + half * 3600.0 if 3600 <= total < 13 * 3600 else None


@lru_cache(maxsize=1 << 12)
def zoned(words: tuple[str, ...]) -> bool:
    """Whether the words of a time have a time zone, and no mark of the half day."""
    return len(words) > 1 and all(_ZONE.fullmatch(word) and half_day(word) is None for word in words[1:])


def time_words(words: Sequence[str]) -> int:
    """How many words at the start of a header line are its time; 0 when it does not begin with a time."""
    # at most the mark of the half day, hours, minutes, seconds and the zone
    counts = range(min(5, len(words) - 1), 0, -1)
    return next((count for count in counts if seconds_of(tuple(words[:count])) is not None), 0)


_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_NUMBERS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})\.?")
_EASTERN = re.compile(r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]")
_DAY_MONTH_YEAR = re.compile(r"(\d{1,2})\.?[\s-]+([^\W\d_]{3,10})\.?,?[\s-]+(\d{4}|\d{2})\b")
_MONTH_DAY_YEAR = re.compile(r"([^\W\d_]{3,10})\.?\s+(\d{1,2}),?\s+(\d{4})\b")
_MONTH_NAMES = """
jan january januar januari janvier enero ene gennaio gen janeiro янв января
feb february februar februari février fév febrero febbraio fevereiro fev фев февраля
mar march märz mär maart mars marzo março мар марта
apr april avril avr abril abr aprile апр апреля
may mai mei mayo maggio mag maio мая май
jun june juni juin junio giugno giu junho июн июня
jul july juli juillet julio luglio lug julho июл июля
aug august augustus août agosto ago авг августа
sep sept september septembre septiembre settembre set setembro сен сентября
oct october oktober okt octobre octubre ottobre ott outubro out окт октября
nov november novembre noviembre novembro ноя ноября
dec december dezember dez décembre déc diciembre dic dicembre dezembro декабря дек
"""
_MONTHS = {name: n for n, names in enumerate(_MONTH_NAMES.split("\n")) for name in names.split()}


def _epoch(year: int, month: int, day: int) -> float | None:
    # two digits mean sysstat's own years, which began in the nineties
    full = year if year >= 100 else year + (1900 if year >= 90 else 2000)
    try:
        return float(timegm(date(full, month, day).timetuple()))
    except ValueError:
        return None


def date_of(text: str, day_first: bool) -> float | None:
    """Epoch seconds of the date in a text, as if it were UTC; None without one; `day_first` as in 10/07 for July."""
    if (found := _ISO.search(text) or _EASTERN.search(text)) is not None:
        return _epoch(int(found[1]), int(found[2]), int(found[3]))
    if (found := _NUMBERS.search(text)) is not None:
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        # dots are written by locales that begin with the day
        day_first = (day_first or found[2] == "." or first > 12) and second <= 12
        return _epoch(year, *((second, first) if day_first else (first, second)))
    for pattern, day, month in ((_DAY_MONTH_YEAR, 1, 2), (_MONTH_DAY_YEAR, 2, 1)):
        if (found := pattern.search(text)) is not None and found[month].lower() in _MONTHS:
            return _epoch(int(found[3]), _MONTHS[found[month].lower()], int(found[day]))
    return None


_AROUND = re.compile(r"(?m)^[ \t]*(\S+[ \t]+|[午上下오][前後午전후])?\d{1,2}[:.,時时시].*$")
_COMMA = re.compile(r"(?<![\d.,])\d+,\d\d(?![\d.,])")


def day_first(after: str) -> bool:
    """How a date of two small numbers before this text is meant: by the locale's decimal comma, or its time zone."""
    lines = [found[0].split() for found in _AROUND.finditer(after)][:4]
    if any(_COMMA.fullmatch(word) for words in lines for word in words[1:]):
        return True
    zones = (word for words in lines for word in words[1:3] if _ZONE.fullmatch(word) and half_day(word) is None)
    return any(zone not in DEVICES for zone in zones)


def has_decimal_comma(after: str) -> bool:
    """Whether numbers in these lines have a decimal comma."""
    return any(_COMMA.fullmatch(word) for found in _AROUND.finditer(after) for word in found[0].split()[1:])


BACK_S = 3600.0  # a clock that goes back by less was set, or summer time ended; by more, a day has passed
NEAR_S = 60.0  # by how much the times of headers of one segment's tables may differ


def start_table(state: State, mark: str, seconds: float, zoned: bool) -> None:
    """Take a header of a table, its time in seconds since midnight; `zoned` as of the function of that name."""
    segment = state.segment
    if not state.clocks:
        segment.day, segment.last = _next(state, segment, seconds, zoned)
    assert segment.last is not None
    start = _unfolded(state, segment.last, seconds) if zoned else seconds
    if (place := state.clocks.get(mark)) is None:
        state.clocks[mark] = Clock(segment.day, start)
        return
    day, last = _next(state, place, seconds, zoned)
    if abs(start - segment.last) <= NEAR_S and (place.last is None or abs(last - place.last) > NEAR_S):
        # sar prints the table anew: of other interrupts, or another device
        day, last = segment.day, start
    place.day, place.last = day, last


def advance(state: State, mark: str, seconds: float, zoned: bool = False) -> float:
    """Seconds since the midnight before the banner's day, of a table's next row."""
    if (place := state.clocks.get(mark)) is None:
        start_table(state, mark, seconds, zoned)
        place = state.clocks[mark]
    place.day, place.last = _next(state, place, seconds, zoned)
    return place.day * DAY_S + place.last


def restart(state: State, mark: str | None, seconds: float, zoned: bool) -> None:
    """Begin a segment on the restart's day, which is that of the last row of the table in force or the next."""
    if (latest := state.clocks.get(mark or "")) is None:
        latest = max(state.clocks.values(), key=lambda place: (place.day, place.last or 0.0), default=state.segment)
    state.segment = Clock(*_next(state, latest, seconds, zoned))
    state.clocks = {}


def _next(state: State, place: Clock, seconds: float, zoned: bool) -> tuple[int, float]:
    if zoned:
        seconds = _unfolded(state, place.last, seconds)
    return place.day + (place.last is not None and seconds < place.last - BACK_S), seconds


def _unfolded(state: State, last: float | None, seconds: float) -> float:
    """The time of day that was meant: locales with a zone may print twelve hours without a mark of the half day."""
    state.twelve = state.twelve and 3600 <= seconds < 13 * 3600
    if not state.twelve or last is None:
        return seconds
    early = seconds % (DAY_S / 2)
    return next((time for time in (early, early + DAY_S / 2) if time > last - BACK_S), early)
