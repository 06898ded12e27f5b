"""The model of a disk's head against its data sheet, in the hardware's own time: no disk, no clock."""

from dataclasses import replace

import pytest

from glusterlab.testbed.drives import RAID6, ST6000NM0034
from glusterlab.testbed.heads import Head, Latency, Platter, Raid6, Timeline, seek_curve
from tests.testbed.spindle import closed_loop, in_order, randomly

UNCACHED = replace(ST6000NM0034, write_cache=0)
WHOLE = ST6000NM0034.capacity_bytes


def test_seeks_go_through_the_three_points_of_the_data_sheet() -> None:
    curve = seek_curve(0.23e-3, 7.5e-3, 17.06e-3)
    assert (curve(0), curve(1)) == pytest.approx((0.23e-3, 17.06e-3))
    # all pairs of tracks: their distance d has the density 2 (1 - d)
    steps = [(n + 0.5) / 10_000 for n in range(10_000)]
    assert sum(2 * (1 - d) * curve(d) for d in steps) / 10_000 == pytest.approx(7.5e-3, rel=1e-4)
    assert sorted(map(curve, steps)) == list(map(curve, steps))


def test_zones_have_the_rates_of_the_data_sheet_and_hold_all_bytes() -> None:
    platter = Platter(ST6000NM0034)
    assert (platter.stroke(0), platter.stroke(WHOLE)) == pytest.approx((0, 1))
    assert (platter.rate(0), platter.rate(1)) == (ST6000NM0034.outer_bytes_per_s, ST6000NM0034.inner_bytes_per_s)
    assert 300_000 < platter.rotations / ST6000NM0034.heads < 420_000  # tracks of a surface; the sister drive: 320,800


def test_random_reads_take_a_seek_and_half_a_turn() -> None:
    expected = 7.5e-3 + 0.5 / 120 + ST6000NM0034.command_s
    seconds, took = closed_loop(Head(ST6000NM0034), randomly("read", 4096, WHOLE), 2000)
    # places are even over the bytes, of which the outer tracks hold more: seeks are somewhat shorter than the average
    assert seconds / 2000 == pytest.approx(expected, rel=0.03)
    assert min(took) > ST6000NM0034.command_s
    writes, _ = closed_loop(Head(UNCACHED), randomly("write", 4096, WHOLE), 2000)
    assert writes / 2000 == pytest.approx(expected + 1e-3, rel=0.03)


def test_a_longer_queue_serves_more_and_a_small_span_seeks_less() -> None:
    rates = [
        2000 / closed_loop(Head(UNCACHED), randomly("read", 4096, WHOLE), 2000, depth)[0] for depth in (1, 4, 16, 32)
    ]
    assert rates == sorted(rates)
    assert rates[-1] > 2.5 * rates[0]
    near, _ = closed_loop(Head(UNCACHED), randomly("read", 4096, 4 << 30), 2000)
    assert 0.5 / 120 < near / 2000 < 0.5 / 120 + 1e-3


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("place", ["outer", "inner"])
def test_sequential_reads_stream_at_the_zones_rate(depth: int, place: str) -> None:
    """One at a time, too, because the drive reads ahead."""
    start = 0 if place == "outer" else int(WHOLE) - (1 << 30)
    head = Head(ST6000NM0034)
    seconds, _ = closed_loop(head, in_order("read", 1 << 17, start), 4000, depth)
    assert 4000 * (1 << 17) / seconds == pytest.approx(getattr(ST6000NM0034, f"{place}_bytes_per_s"), rel=0.01)


def test_streams_that_take_turns_cost_seeks_unless_their_pieces_are_long() -> None:
    def two(size: int) -> float:
        streams = in_order("read", size), in_order("read", size, int(WHOLE) // 2)
        turns = (next(streams[n % 2]) for n in range(2000))
        return 2000 * size / closed_loop(Head(ST6000NM0034), turns, 2000)[0]

    assert two(4 << 20) > 2 * two(1 << 17)
    assert two(1 << 17) < 0.15 * ST6000NM0034.outer_bytes_per_s


def test_what_the_head_passes_is_read_and_what_it_did_not_pass_is_not() -> None:
    for between, hits in (([], 1), ([(int(WHOLE) // 2, 4096)], 0)):
        head = Head(ST6000NM0034)
        places = [(0, 4096), *between, (1 << 20, 4096), (1 << 19, 4096)]
        closed_loop(head, (("read", *place) for place in places), len(places))
        assert head.counts["hits"] == hits


def test_a_write_without_cache_misses_its_turn_and_a_queue_does_not() -> None:
    alone, _ = closed_loop(Head(UNCACHED), in_order("write", 1 << 20), 500)
    together, _ = closed_loop(Head(UNCACHED), in_order("write", 1 << 20), 500, 4)
    assert 500 * (1 << 20) / together == pytest.approx(UNCACHED.outer_bytes_per_s, rel=0.01)
    assert alone > 2 * together


def test_a_write_cache_ends_writes_early_and_a_flush_waits_for_the_medium() -> None:
    head = Head(ST6000NM0034)
    seconds, _ = closed_loop(head, randomly("write", 4096, WHOLE), 100, 4)
    assert seconds / 100 < 1e-3
    begin, ended = head.timeline.now, []
    head.flush(lambda: ended.append(head.timeline.now - begin))
    head.timeline.advance(begin + 60)
    assert 100 / 350 < ended[0] < 100 / 100  # at what reordered writes take, not at once
    head.flush(lambda: ended.append(head.timeline.now - begin - 60))
    head.timeline.advance(begin + 61)
    assert ended[1] == pytest.approx(ST6000NM0034.command_s)


def test_a_full_write_cache_takes_writes_at_the_rate_of_the_medium() -> None:
    head = Head(replace(ST6000NM0034, cache_bytes=64 * 4096))
    seconds, _ = closed_loop(head, randomly("write", 4096, WHOLE), 2000, 8)
    assert 150 < 2000 / seconds < 350


def test_none_waits_for_ever() -> None:
    """A stream would always be nearer; one far away is overtaken by a queue's worth at most."""
    head, ended = Head(UNCACHED), []
    head.read(int(WHOLE) // 2, 4096, lambda: ended.append(head.timeline.now))
    closed_loop(head, in_order("read", 1 << 17), 2000, 8)
    assert ended
    assert ended[0] < (UNCACHED.queue + 9) * 1e-3


def test_an_array_reads_with_all_heads_and_streams_at_its_measured_rates() -> None:
    span = 10 * WHOLE
    alone, _ = closed_loop(Raid6(RAID6, ST6000NM0034), randomly("read", 4096, span), 1000)
    many, _ = closed_loop(Raid6(RAID6, ST6000NM0034), randomly("read", 4096, span), 3000, 32)
    assert 3000 / many > 8 * 1000 / alone
    for operation in ("read", "write"):
        seconds, _ = closed_loop(Raid6(RAID6, ST6000NM0034), in_order(operation, 1 << 20), 2000, 4)
        assert 2000 * (1 << 20) / seconds == pytest.approx(getattr(RAID6, f"{operation}_bytes_per_s"), rel=0.02)


def test_small_writes_of_a_full_controller_cost_six_operations_and_whole_stripes_one_per_disk() -> None:
    array = Raid6(replace(RAID6, cache_bytes=4 << 20), ST6000NM0034)
    seconds, _ = closed_loop(array, randomly("write", 4096, 10 * WHOLE), 4000, 32)
    done = array.counts["partial stripes"]
    heads = sum(head.counts["reads"] + head.counts["writes"] for head in array.heads)
    assert heads / done == pytest.approx(6, rel=0.02)
    assert 100 < 4000 / seconds < 400
    array = Raid6(RAID6, ST6000NM0034)
    array.write(0, 1280 << 10, lambda: None)
    array.timeline.advance(1.0)
    assert (array.counts["whole stripes"], array.counts["partial stripes"]) == (1, 0)
    assert [dict(head.counts)["writes"] for head in array.heads] == [1] * 12


def test_what_the_controller_holds_is_read_from_it() -> None:
    array, ended = Raid6(RAID6, ST6000NM0034), []
    array.write(1 << 20, 4096, lambda: None)
    array.read(1 << 20, 4096, lambda: ended.append(array.timeline.now))
    array.flush(lambda: ended.append(array.timeline.now))
    array.timeline.advance(1.0)
    assert max(ended) < 1e-3


def test_units_of_a_stripe_lie_on_different_disks() -> None:
    array = Raid6(RAID6, ST6000NM0034)
    for stripe in range(24):
        assert sorted(array._disk(stripe, unit) for unit in range(12)) == list(range(12))
    assert {array._disk(stripe, 10) for stripe in range(12)} == set(range(12))


def test_the_same_requests_take_the_same_time() -> None:
    def once() -> list[float]:
        return closed_loop(Raid6(RAID6, ST6000NM0034), randomly("write", 1 << 16, 1e12), 300, 8)[1]

    assert once() == once()


def test_events_come_in_order_of_time() -> None:
    timeline, seen = Timeline(), []
    for time in (3.0, 1.0, 2.0, 1.0):
        timeline.at(time, lambda time=time: seen.append((time, timeline.now)))  # type: ignore[misc]
    assert timeline.next == 1.0
    timeline.advance(2.5)
    assert (seen, timeline.now, timeline.next) == ([(1.0, 1.0), (1.0, 1.0), (2.0, 2.0)], 2.5, 3.0)


def test_a_disk_far_away_gives_each_request_its_latency_up_to_its_rates() -> None:
    # the appendix: one thread 32 a second, 32 threads 961
    rates = {"read_bytes_per_s": 240e6, "write_bytes_per_s": 120e6}
    rates |= {"read_operations_per_s": 2000.0, "write_operations_per_s": 1000.0}
    for threads, expected in ((1, 1 / 0.031), (32, 32 / 0.031), (64, 2000.0), (128, 2000.0)):
        disk = Latency(0.031, **rates)
        served = [0]

        def again(disk: Latency = disk, served: list[int] = served) -> None:
            served[0] += 1
            disk.read(0, 4096, again)

        for _ in range(threads):
            disk.read(0, 4096, again)
        disk.timeline.advance(10.0)
        assert served[0] / 10 == pytest.approx(expected, rel=0.02)
    disk, ends = Latency(0.031, **rates), []
    for _ in range(100):
        disk.write(0, 1 << 20, lambda: ends.append(disk.timeline.now))
    disk.flush(lambda: ends.append(disk.timeline.now))
    disk.timeline.advance(60.0)
    assert ends[0] == 0.0  # the flush, which does not wait
    assert ends[-1] == pytest.approx(99 * (1 << 20) / 120e6 + 0.031)
    assert (disk.counts["writes"], disk.busy_s) == (100, pytest.approx(100 * (1 << 20) / 120e6))
