"""A guard against input that makes a reader hang; generous, because this is no measurement."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Hang(BaseException):
    """Something took too long; no handler of the library may catch it."""


@contextmanager
def no_hang(seconds: float = 60.0) -> Iterator[None]:
    """Interrupt what takes longer. Time that grows with the square of the input takes minutes where this is used."""

    def ring(*_: object) -> None:
        raise Hang(f"not done within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
