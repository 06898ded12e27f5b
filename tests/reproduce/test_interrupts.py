"""Signals that ask a command to end are interrupts while it lasts, and what they were afterwards."""

import os
import signal
import threading
import time

import pytest

from glusterlab.reproduce.reproduce import as_interrupts


def signal_and_wait(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_interrupts(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with as_interrupts(), pytest.raises(KeyboardInterrupt):
            signal_and_wait(number)
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with as_interrupts():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_nothing_is_changed() -> None:
    seen: list[object] = []

    def look() -> None:
        with as_interrupts():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(60)
    assert seen == [signal.getsignal(signal.SIGTERM)]
