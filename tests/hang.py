"""A guard against input that makes a reader hang, by the processor's time: a busy machine is no hang."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Hang(BaseException):
    """Something took too long; no handler of the library may catch it."""


@contextmanager
def no_hang(seconds: float = 60.0) -> Iterator[None]:
    """Interrupt what computes longer. Time that grows with the square of the input is minutes where this is used."""

    def ring(*_: object) -> None:
        raise Hang(f"not done within {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
