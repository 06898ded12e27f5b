"""A closed loop of requests on a model of heads, in the hardware's time: as many under way as the depth says."""

import random
from collections.abc import Iterator

from glusterlab.testbed.heads import Head, Raid6


def closed_loop(
    device: Head | Raid6, requests: Iterator[tuple[str, int, int]], count: int, depth: int = 1
) -> tuple[float, list[float]]:
    """Seconds of `count` requests (operation, offset, size), and the time that each took."""
    timeline, left, took = device.timeline, count, []
    begin = timeline.now

    def submit() -> None:
        nonlocal left
        if left == 0:
            return
        left -= 1
        operation, offset, size = next(requests)
        started = timeline.now

        def done() -> None:
            took.append(timeline.now - started)
            submit()

        getattr(device, operation)(offset, size, done)

    for _ in range(depth):
        submit()
    while len(took) < count:
        timeline.advance(timeline.next)
    return timeline.now - begin, took


def randomly(operation: str, size: int, span: float, seed: int = 1) -> Iterator[tuple[str, int, int]]:
    places = random.Random(seed)
    while True:
        yield operation, places.randrange(int(span) // size) * size, size


def in_order(operation: str, size: int, start: int = 0) -> Iterator[tuple[str, int, int]]:
    while True:
        yield operation, start, size
        start += size
