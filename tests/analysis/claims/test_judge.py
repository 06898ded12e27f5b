"""Claims on synthetic campaigns of known answer: which cells are compared, and what several comparisons come to."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from glusterlab.analysis.claims.cells import join_campaigns
from glusterlab.analysis.claims.judge import Judgement, TelemetryVerdict, judge
from glusterlab.analysis.claims.scorecard import COLUMNS, measured_text, published_text, scorecard, totals
from glusterlab.analysis.claims.verdicts import VERDICTS
from glusterlab.spec.claims import NEEDS, Claims, load_claims
from glusterlab.stats import ratio_interval
from tests.conftest import GIB, build_samples
from tests.guide_pools import GUIDE as STUDY

GUIDE = load_claims(STUDY / "claims.yaml")
SPREAD = (0.98, 1.0, 1.02)
KIB, MIB = 2**10, 2**20
WRITES = {"layout": "fragments", "tool": "iozone", "operation": "write", "size": "4 GiB"}


def near(value: float, spread: Sequence[float] = SPREAD) -> list[float]:
    return [value * each for each in spread]


def one(claim: dict[str, Any]) -> Claims:
    """A file with one claim on the layouts of the synthetic samples."""
    data = {"id": "x", "section": "A chapter", "paraphrase": "It is so."} | claim
    data["published"] = {"words": "so"} | data["published"]
    layouts = {
        "copies": {"type": "replicate", "geometry": "3x2", "kind": "raid6"},
        "fragments": {"type": "disperse", "geometry": "12x(4+2)", "kind": "jbod"},
    }
    return Claims.model_validate(
        {"schema_version": 1, "study": "s", "document": "d", "layouts": layouts, "claims": [data]}
    )


def value(number: float, unit: str = "MB/s per disk", **cells: str) -> Claims:
    """Fragments write that much at 4 GiB."""
    published = {"relation": "equals", "value": number, "unit": unit}
    return one({"kind": "value", "published": published, "cells": WRITES | cells})


def more(**changed: Any) -> Claims:
    """Fragments write more than copies at 4 GiB."""
    claim = {
        "kind": "ordering",
        "published": {"relation": "more"},
        "cells": {"tool": "iozone", "operation": "write", "size": "4 GiB"},
        "of": {"layout": "fragments"},
        "to": {"layout": "copies"},
    }
    return one(claim | changed)


@pytest.mark.parametrize("quantifier", ["all", "most"])
def test_two_groups_of_samples_decide_no_claim(quantifier: str) -> None:
    apart = [30.1e6, 8.4e6, 31.3e6, 8.8e6, 8.6e6]
    samples = build_samples({("disperse", "write", 48): apart, ("replicate", "write", 48): near(5e6)})
    found = verdict(more(quantifier=quantifier), samples)
    assert found.verdict == "insufficient n"
    if quantifier == "all":
        assert found.why == "two groups of samples: disperse 12x(4+2), JBOD, write 4 GiB, 48 workers"


def verdict(claims: Claims, samples: pd.DataFrame) -> Judgement:
    (judgement,) = judge(claims, samples)
    return judgement


def test_a_ratio_is_per_disk_at_each_best_worker_count() -> None:
    cells = {
        ("disperse", "write", 12): near(10e6),
        ("disperse", "write", 48): near(30e6),
        ("replicate", "write", 12): near(20e6),
        ("replicate", "write", 48): near(15e6),
    }
    found = verdict(more(), build_samples(cells))
    expected = ratio_interval(near(30e6), near(20e6))
    assert (found.measured.centre, found.measured.low, found.measured.high) == pytest.approx(
        (expected.centre, expected.low, expected.high)
    )
    sides = found.comparisons[0].sides
    assert [(side.above, side.workers, side.contenders) for side in sides] == [(True, 48, 1), (False, 12, 1)]
    assert sides[0].values == pytest.approx([value * 200 / 72 / 1e6 for value in near(30e6)])
    assert sides[0].cell_id == "iozone-write-4294967296-disperse-12x4+2-jbod-w48"
    assert (found.verdict, found.claim_class) == ("reproduced", "ordering")
    # a better count with two samples comes after one with three
    few = build_samples(cells | {("disperse", "write", 48): near(90e6, (0.99, 1.01))})
    assert verdict(more(), few).comparisons[0].sides[0].workers == 12


def test_worker_counts_whose_samples_overlap_contend() -> None:
    copies = {("replicate", "write", workers): near(value) for workers, value in ((1, 5e6), (12, 20e6), (48, 20.2e6))}
    comparison = verdict(more(), build_samples({("disperse", "write", 48): near(10e6)} | copies)).comparisons[0]
    assert [side.contenders for side in comparison.sides] == [1, 2]
    assert comparison.strict.low < comparison.corrected.low == comparison.estimate.low


@pytest.mark.parametrize(("scales", "taken"), [((20, 200), 200.0), ((200, 200), 200.0), ((20, 400), None)])
def test_cells_of_a_common_scale_are_compared(scales: tuple[int, int], taken: float | None) -> None:
    parts = [
        build_samples({("disperse", "write", 48): near(9e6)}, scale=200, cell_id="a"),
        build_samples({("disperse", "write", 48): near(99e6)}, scale=scales[0], cell_id="b", layout="other"),
        build_samples({("replicate", "write", 48): near(6e6)}, scale=scales[1], cell_id="c"),
    ]
    sides = verdict(more(), pd.concat(parts, ignore_index=True)).comparisons[0].sides
    if taken is None:
        assert sides[0].scale != sides[1].scale
        assert sides[1].values == pytest.approx([value * 400 / 72 / 1e6 for value in near(6e6)])
    else:
        assert {side.scale for side in sides} == {taken}


def test_sizes_and_tools_of_other_scales_are_compared_at_full_size() -> None:
    large = build_samples({("replicate", "read", 48): near(36e6)})
    small = build_samples({("replicate", "read", 48): near(100.0)}, tool="smallfile", nominal=32 * KIB, scale=20)
    claims = more(
        cells={"layout": "copies", "operation": "read"},
        of={"tool": "iozone", "size": "4 GiB"},
        to={"tool": "smallfile", "size": "32 KiB"},
        quantity="throughput",
        published={"relation": "far more"},
    )
    found = verdict(claims, pd.concat([large, small], ignore_index=True))
    assert found.measured.centre == pytest.approx(36e6 * 200 / (100 * 32 * KIB * 20), rel=1e-6)
    # of two models, each of which stretches time in its own way
    assert (found.verdict, found.reason.startswith("the cells are of two models")) == ("model cannot tell", True)
    assert "at the scales 1:200 and 1:20" in found.why
    same = {"scale": 1, "operations_limited": False}
    whole = large.assign(**same, file_size_bytes=4 * GIB)
    real = verdict(claims, pd.concat([whole, small.assign(**same)], ignore_index=True))
    assert (real.verdict, "scales" in real.why) == ("reproduced", False)


def sizes(levels: dict[int, dict[int, float]], **changed: Any) -> pd.DataFrame:
    """Writes of fragments: values by workers by file size."""
    parts = [
        build_samples({("disperse", "write", workers): near(value)}, nominal=nominal, **changed)
        for nominal, points in levels.items()
        for workers, value in points.items()
    ]
    return pd.concat(parts, ignore_index=True)


LARGER = {
    "cells": {"layout": "fragments", "tool": "iozone", "operation": "write"},
    "of": {"size": "4 GiB"},
    "to": {"size": "128 MiB"},
}


def test_a_size_with_fewer_worker_counts_is_not_slower_for_it() -> None:
    # both sizes are equally fast at each count, of which one has fewer
    few = {1: 1e6, 12: 12e6, 24: 20e6}
    points = few | {48: 30e6}
    found = verdict(more(**LARGER), sizes({4 * GIB: points, 128 * MIB: few}))
    assert [side.workers for side in found.comparisons[0].sides] == [24, 24]
    assert found.measured.centre == pytest.approx(1.0)
    assert found.verdict == "model cannot tell"
    assert "compared at 1, 12 and 24 workers only, which all sides have" in found.why
    whole = verdict(more(**LARGER), sizes({4 * GIB: points, 128 * MIB: points}))
    assert [side.workers for side in whole.comparisons[0].sides] == [48, 48]
    assert "only" not in whole.why


def test_counts_with_three_samples_on_all_sides_go_first_and_named_ones_stay() -> None:
    samples = sizes({size: {12: 10e6, 48: 30e6} for size in (4 * GIB, 128 * MIB)})
    few = (samples["workers"] == 48) & (samples["nominal_file_size_bytes"] == 128 * MIB) & (samples["sample"] == 3)
    found = verdict(more(**LARGER), samples[~few])
    assert [side.workers for side in found.comparisons[0].sides] == [12, 12]
    named = LARGER | {"of": {"size": "4 GiB", "workers": 48}, "to": {"size": "128 MiB", "workers": 12}}
    sides = verdict(more(**named), samples).comparisons[0].sides
    assert [side.workers for side in sides] == [48, 12]


def test_sizes_without_a_common_worker_count_are_not_compared() -> None:
    found = verdict(more(**LARGER), sizes({4 * GIB: {12: 10e6, 24: 9e6}, 128 * MIB: {48: 1e6}}))
    assert (found.verdict, found.reason) == ("not measured", "the sides have no worker count in common")
    assert "12 and 24; 48 (fragments iozone write 4 GiB / fragments iozone write 128 MiB)" in found.why


@pytest.mark.parametrize(
    ("lengths", "compared"),
    [((1.0, 1.0), True), ((0.5, 1.0), True), ((0.49, 1.0), True), ((0.5, 1 / 32), False), ((0.5, 4.0), False)],
)
def test_sizes_are_compared_where_files_were_shortened_alike(lengths: tuple[float, float], compared: bool) -> None:
    parts = [
        sizes({nominal: {48: value}}, file_size_bytes=int(nominal * length / 200))
        for nominal, value, length in ((4 * GIB, 30e6, lengths[0]), (128 * MIB, 10e6, lengths[1]))
    ]
    found = verdict(more(**LARGER), pd.concat(parts, ignore_index=True))
    if compared:
        assert found.verdict == "model cannot tell"
        assert [side.length for side in found.comparisons[0].sides] == pytest.approx(lengths, rel=1e-4)
        return
    assert (found.verdict, found.reason) == ("not measured", "files were shortened or lengthened by different factors")
    assert "4 GiB files were 1/2 as long, 128 MiB files were " in found.why


@pytest.mark.parametrize(
    ("last", "expected", "flat", "said"),
    [
        (
            20e6,
            "not measured",
            "contradicted",
            "smaller than the published value, but still rising at the most workers",
        ),
        (8e6, "not measured", "contradicted", "smaller than the published value, but still rising at the most workers"),
        (30e6, "reproduced", "reproduced", "a lower bound, still rising at the most workers"),
        (45e6, "contradicted", "contradicted", "above what is claimed"),
    ],
)
def test_a_value_that_still_rises_is_a_lower_bound(last: float, expected: str, flat: str, said: str) -> None:
    last *= 200
    found = verdict(value(83.68), sizes({4 * GIB: {12: last / 3, 24: last / 1.2, 48: last}}, scale=1))
    assert (found.verdict, said in found.why) == (expected, True), found.why
    assert found.reason == ("still rising at the most workers: a lower bound" if expected == "not measured" else "")
    level = verdict(value(83.68), sizes({4 * GIB: {12: last / 3, 24: last / 1.05, 48: last}}, scale=1))
    assert (level.verdict, "rising" in level.why) == (flat, False)


APART = {
    "cells": {"tool": "iozone", "size": "4 GiB"},
    "of": {"layout": "fragments", "operation": "write"},
    "to": {"layout": "copies", "operation": "write"},
    "against": {
        "of": {"layout": "fragments", "operation": "read"},
        "to": {"layout": "copies", "operation": "read"},
        "either_way": True,
    },
}


@pytest.mark.parametrize(
    ("write", "read", "centre", "expected"),
    [
        (1.5, 1.1, 1.5 / 1.1, "reproduced"),
        (1.5, 1 / 1.1, 1.5 / 1.1, "reproduced"),
        (1 / 1.5, 1.1, 1.5 / 1.1, "reproduced"),
        (1.2, 1 / 1.5, 1.2 / 1.5, "contradicted"),
        (1 / 1.2, 1 / 1.5, 1.2 / 1.5, "contradicted"),
    ],
)
def test_how_far_apart_whichever_leads(write: float, read: float, centre: float, expected: str) -> None:
    found = verdict(more(**APART), both(write, read))
    assert (found.verdict, found.measured.centre) == (expected, pytest.approx(centre))


def test_each_ratio_of_two_is_of_one_scale() -> None:
    parts = [
        build_samples({("disperse", operation, 48): near(value)}, tool="smallfile", nominal=nominal, scale=scale)
        for nominal, scale, values in ((32 * KIB, 34, (100.0, 400.0)), (4 * MIB, 60, (10.0, 20.0)))
        for operation, value in zip(("create", "read"), values, strict=True)
    ]
    other = parts[0].assign(scale=60, cell_id="other", layout="other", files_per_s=1e6)
    claims = more(
        cells={"layout": "fragments", "tool": "smallfile"},
        of={"operation": "read", "size": "32 KiB"},
        to={"operation": "create", "size": "32 KiB"},
        against={"of": {"operation": "read", "size": "4 MiB"}, "to": {"operation": "create", "size": "4 MiB"}},
    )
    found = verdict(claims, pd.concat([*parts, other], ignore_index=True))
    assert [side.scale for side in found.comparisons[0].sides] == [34, 34, 60, 60]
    assert found.measured.centre == pytest.approx(2.0)
    assert (found.verdict, found.claim_class) == ("model cannot tell", "ordering")


def test_small_files_are_counted_in_files() -> None:
    samples = build_samples({("replicate", "read", 48): near(48.0)}, tool="smallfile", nominal=4 * MIB, scale=20)
    cells = {"layout": "copies", "tool": "smallfile", "operation": "read", "size": "4 MiB"}
    found = verdict(value(13.54, "files/s per disk", **cells), samples)
    assert found.measured.centre == pytest.approx(48 * 20 / 72, rel=1e-3)
    # the model keeps the length of small files
    assert [side.length for each in found.comparisons for side in each.sides] == [1.0]
    assert (found.verdict, found.claim_class) == ("model cannot tell", "absolute on a scale model")
    assert found.band is not None
    assert (found.band.low, found.band.high) == pytest.approx((13.54 / 1.1, 13.54 * 1.1))


@pytest.mark.parametrize(
    ("number", "unit", "by", "expected"),
    [
        (5.8e9, "MB/s per disk", 72, "reproduced"),
        (20e9, "MB/s per disk", 72, "contradicted"),
        (5.8e9, "MB/s per server", 6, "reproduced"),
        (5.8e9, "MB/s", 1, "reproduced"),
    ],
)
def test_values_at_scale_1_are_absolute(number: float, unit: str, by: int, expected: str) -> None:
    samples = build_samples({("disperse", "write", 48): near(number)}, scale=1, servers=6)
    found = verdict(value(83.68 * 72 / by, unit), samples)
    assert (found.verdict, found.claim_class) == (expected, "absolute")
    assert found.measured.centre == pytest.approx(number / by / 1e6, rel=1e-3)


def both(write: float, read: float) -> pd.DataFrame:
    """Fragments against copies: that many times as fast in writes and reads."""
    factors = {("disperse", "write"): write, ("disperse", "read"): read}
    factors |= {("replicate", operation): 1.0 for operation in ("write", "read")}
    return build_samples({(*cell, 48): near(factor * 20e6) for cell, factor in factors.items()})


CASES = {"tool": "iozone", "operation": ["write", "read"], "size": "4 GiB"}


@pytest.mark.parametrize(
    ("quantifier", "write", "read", "expected"),
    [
        ("all", 1.5, 1.4, "reproduced"),
        ("all", 1.5, 1.0, "compatible"),
        ("all", 1.5, 0.7, "contradicted"),
        ("largest", 0.7, 1.4, "reproduced"),
        ("largest", 0.7, 1.0, "compatible"),
        ("largest", 0.7, 0.6, "contradicted"),
        ("most", 1.5, 1.4, "reproduced"),
        ("most", 1.5, 1.0, "compatible"),
        ("most", 1.5, 0.7, "contradicted"),
    ],
)
def test_several_cases(quantifier: str, write: float, read: float, expected: str) -> None:
    found = verdict(more(cells=CASES, quantifier=quantifier), both(write, read))
    assert (found.verdict, len(found.comparisons)) == (expected, 2)


def test_the_comparison_that_decides_is_told() -> None:
    found = verdict(more(cells=CASES), both(1.5, 0.7))
    assert found.decisive == 1
    assert found.measured.centre == pytest.approx(0.7)
    assert found.why == "1 of 2 comparisons: the whole interval lies below what is claimed, on the other side of 1"
    largest = verdict(more(cells=CASES, quantifier="largest"), both(1.5, 0.7))
    assert (largest.decisive, round(largest.measured.centre, 2)) == (0, 1.5)
    assert largest.measured.low < ratio_interval(near(30e6), near(20e6)).low


def test_of_most_the_middle_case_decides_by_its_worst() -> None:
    # three sizes; against copies 1.5, 1.3, 1.4 and against itself, in another layout, 1.05, 1.2, 1.1
    parts = []
    for nominal, ratio, other in ((GIB, 1.5, 1.05), (2 * GIB, 1.3, 1.2), (4 * GIB, 1.4, 1.1)):
        parts += [
            build_samples({("disperse", "write", 48): near(20e6)}, nominal=nominal),
            build_samples({("replicate", "write", 48): near(20e6 / ratio)}, nominal=nominal),
            build_samples({("disperse", "append", 48): near(20e6 / other)}, nominal=nominal),
        ]
    claims = more(
        cells={"tool": "iozone", "size": ["1 GiB", "2 GiB", "4 GiB"]},
        of={"layout": "fragments", "operation": "write"},
        to={"layout": ["copies", "fragments"], "operation": ["write", "append"]},
        quantifier="most",
    )
    found = verdict(claims, pd.concat(parts, ignore_index=True))
    assert len(found.comparisons) == 12
    # a write against itself is the worst of each case
    assert found.measured.centre == pytest.approx(1.0)
    data = claims.claims[0].model_dump(exclude_defaults=True)
    data |= {"to": {"layout": ["fragments"], "operation": ["append"]}}
    assert verdict(one(data), pd.concat(parts, ignore_index=True)).measured.centre == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("quantifier", "write", "expected"),
    [
        ("all", 1.5, "not measured"),
        ("all", 0.7, "contradicted"),
        ("largest", 1.5, "reproduced"),
        ("largest", 0.7, "not measured"),
        ("largest", 1.0, "not measured"),
        ("most", 1.5, "not measured"),
    ],
)
def test_a_missing_case_leaves_open_what_is_not_decided(quantifier: str, write: float, expected: str) -> None:
    samples = both(write, 1.0)
    samples = samples[~((samples["type"] == "replicate") & (samples["operation"] == "read"))]
    found = verdict(more(cells=CASES, quantifier=quantifier), samples)
    assert found.verdict == expected
    if expected == "not measured":
        why = "1 of 2 comparisons are missing: the campaign has no such cells: copies iozone read"
        assert found.why.startswith(why)
        assert found.reason == "the campaign has no such cells"
        assert found.measured.centre == pytest.approx(write)
    # most of the cases decide without the others
    three = CASES | {"operation": ["write", "read", "append"]}
    assert verdict(more(cells=three, quantifier="most"), both(1.5, 1.4)).verdict == "reproduced"


def test_the_largest_of_some_is_not_told_where_what_is_claimed_has_an_upper_end() -> None:
    samples = both(1.5, 1.0)
    samples = samples[samples["operation"] == "write"]
    changed = {"kind": "ratio", "published": {"relation": "up to", "value": 1.5}, "quantifier": "largest"}
    assert verdict(more(cells=CASES, **changed), samples).verdict == "not measured"
    over = {"kind": "ratio", "published": {"relation": "over", "value": 1.3}, "quantifier": "largest"}
    found = verdict(more(cells=CASES, **over), samples)
    assert found.verdict == "reproduced"
    assert found.why == "1 of 2 comparisons decide it: they lie within what is claimed"
    known = found.comparisons[0].corrected
    assert (found.measured.low, found.measured.high) == (known.low, known.high)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"access": "nfs"}, "the campaign has no such cells: fragments iozone write 4 GiB"),
        ({"kind": "raid6"}, "the campaign has no such cells"),
        ({"geometry": "24x(4+2)"}, "the campaign has no such cells"),
        ({"nominal_file_size_bytes": 128 * MIB}, "the campaign has no such cells"),
        ({"warmup": True}, "the campaign has no such cells"),
        ({"status": "failed"}, "no sample of fragments iozone write 4 GiB is valid: 3 failed"),
        ({"disks": 0}, "the samples of fragments iozone write 4 GiB have no number (MB/s per disk)"),
        ({"throughput_bytes_per_s": float("nan")}, "have no number (MB/s per disk)"),
    ],
)
def test_why_nothing_was_measured(changed: dict[str, Any], why: str) -> None:
    samples = both(1.5, 1.0)
    lost = samples["type"] == "disperse"
    found = verdict(more(), pd.concat([samples[~lost], samples[lost].assign(**changed)], ignore_index=True))
    assert (found.verdict, found.comparisons[0].sides) == ("not measured", ())
    assert why in found.why
    assert found.reason


def test_a_tool_that_has_no_such_metric() -> None:
    found = verdict(value(10, "ms", layout="copies"), both(1.5, 1.0).assign(latency_mean_s=float("nan")))
    assert found.why == "the samples of copies iozone write 4 GiB have no number (ms)"


@pytest.mark.parametrize(("model", "matches"), [("standard", True), ("", True), ("r740", True), ("dense", False)])
def test_a_server_model_tells_layouts_apart_where_it_has_the_studys_names(model: str, matches: bool) -> None:
    claims = more()
    layouts = {name: layout.model_copy(update={"server_model": "standard"}) for name, layout in claims.layouts.items()}
    named = claims.model_copy(update={"layouts": layouts, "servers": ("standard", "dense")})
    found = verdict(named, both(1.5, 1.4).assign(server_model=model))
    assert (found.verdict == "reproduced") == matches


@pytest.mark.parametrize(
    ("cells", "there"),
    [
        ({"record_size": "4 MiB"}, True),
        ({"record_size": "16 KiB"}, False),
        ({"clients": 12}, True),
        ({"clients": 6}, False),
        ({"runtime": "60 s"}, False),
        ({"files_per_worker": 2}, True),
        ({"files_per_worker": 4}, False),
        ({"release": "11.1"}, True),
        ({"release": "10.3"}, False),
        ({"options": "cluster.lookup-optimize=on"}, True),
        ({"options": ""}, False),
        ({"hot": "3x2"}, True),
        ({"served_by": "gnfs"}, True),
        ({"served_by": "smbd"}, False),
        ({}, False),
    ],
)
def test_cells_are_chosen_by_what_the_samples_table_has(cells: dict[str, Any], there: bool) -> None:
    samples = both(1.5, 1.4).assign(record_size_bytes=4.0 * MIB, clients=12, files_per_worker=2)
    samples = samples.assign(gluster_version="11.1", options="cluster.lookup-optimize=on", served_by="gnfs")
    if "hot" in cells or not cells:
        # a volume with a hot tier is taken where a claim speaks of one
        samples = samples.assign(hot="3x2", hot_kind="nvme")
    wanted = {"tool": "iozone", "operation": "write", "size": "4 GiB"} | cells
    assert (verdict(more(cells=wanted), samples).verdict == "reproduced") == there


def test_features_and_events_are_compared_by_one_tool() -> None:
    columns = ("tool", "event_throttle", "features", "event_s")
    cells = {
        ("iozone", "", "", math.nan): 40e6,
        ("iozone", "", "quota", math.nan): 38e6,
        ("iozone", "", "bitrot", math.nan): 30e6,
        ("fio", "", "", math.nan): 22e6,
        ("fio", "normal", "", 30.0): 20e6,
        ("fio", "lazy", "", 60.0): 21e6,
    }
    parts = [build_samples({("replicate", "read", 16): near(rate)}, cell_id=f"{cell}") for cell, rate in cells.items()]
    parts = [part.assign(**dict(zip(columns, cell, strict=True))) for part, cell in zip(parts, cells, strict=True)]
    samples = pd.concat(parts, ignore_index=True)
    samples["event"] = samples["event_throttle"].map(lambda mode: "rebalance" if mode else "")
    normal, lazy = ({"event": "rebalance", "event_throttle": mode} for mode in ("normal", "lazy"))

    def ratio(of: dict[str, str], to: dict[str, str], **changed: str) -> Judgement:
        reads = {"operation": "read", "size": "4 GiB", "layout": "copies"}
        return verdict(more(cells=reads, of=of, to=to, **changed), samples)

    assert ratio({"event": ""}, normal).measured.centre == pytest.approx(1.1)
    assert ratio(lazy, normal, quantity="event").measured.centre == pytest.approx(2.0)
    assert ratio({}, {"features": "quota"}).measured.centre == pytest.approx(40 / 38)
    assert ratio({}, {"features": "bitrot; quota"}).why.endswith("copies read 4 GiB with bitrot; quota")

    def tier(samples: pd.DataFrame) -> Judgement:
        reads = {"operation": "read", "size": "32 KiB", "layout": "copies"}
        return verdict(more(cells=reads, of={"hot": "3x2"}, to={"hot": ""}), samples)

    small = {("replicate", "read", 16): near(100.0)}
    tiered = [
        build_samples(small, tool="smallfile", nominal=32768, hot=hot, cell_id=f"hot {hot}") for hot in ("3x2", "")
    ]
    # operations are assumed, and a tier is compared by them, too
    assert tier(pd.concat(tiered)).verdict == "model cannot tell"
    assert tier(pd.concat(tiered).assign(heads=True, operations_limited=False)).verdict != "model cannot tell"
    # so are options that keep files in a tier or out of it
    names = {"hot": "3x2", "of": {"options": ""}, "to": {"options": "cold=1"}}
    kept = pd.concat([tiered[0].assign(options=""), tiered[0].assign(options="cold=1", cell_id="cold")])
    reads = {"operation": "read", "size": "32 KiB", "layout": "copies", "hot": names.pop("hot")}
    assert verdict(more(cells=reads, **names), kept).verdict == "model cannot tell"
    # what signs is not slowed on a scale model
    samples["scale"] = 200.0
    assert ratio({}, {"features": "quota"}).verdict != "model cannot tell"
    assert ratio({}, {"features": "bitrot"}).verdict == "model cannot tell"


def test_a_latency_that_was_put_in_decides_nothing_by_workers() -> None:
    cells = {("replicate", "read", workers): near(workers * 1e6) for workers in (8, 32)}
    samples = build_samples(cells, scale=1, heads=True)
    reads = {"operation": "read", "size": "4 GiB", "layout": "copies"}
    claim = more(cells=reads, of={"workers": 32}, to={"workers": 8})
    assert verdict(claim, samples.assign(disk_latency_s=0.0)).verdict == "reproduced"
    # at full speed, too
    judgement = verdict(claim, samples.assign(disk_latency_s=0.031))
    assert (judgement.verdict, judgement.reason[:32]) == ("model cannot tell", "each request takes a stated time")
    assert verdict(more(), both(1.5, 1.4).assign(scale=1, heads=True, disk_latency_s=0.031)).verdict == "reproduced"


def test_what_a_hot_tier_has_of_all_is_no_speed_and_not_scaled() -> None:
    samples = both(1.5, 1.0).assign(hot="3x2", hot_requests_fraction=[0.9, 0.91, 0.92] * 4)
    claim = value(0.9, "of the requests", layout="copies", hot="3x2")
    found = verdict(claim, samples)
    assert (found.verdict, found.claim_class) == ("reproduced", "absolute on a scale model")
    assert [(side.scale, side.values) for side in found.comparisons[0].sides] == [(1.0, (0.9, 0.91, 0.92))]
    assert verdict(value(100, "MB/s", layout="copies", hot="3x2"), samples).verdict == "model cannot tell"
    # whatever is compared, a share is divided by nothing
    samples["hot_requests_fraction"] *= 1 + (samples["operation"] == "write")
    samples["busiest_brick_ratio"] = samples["hot_requests_fraction"]
    of = {"of": {"operation": "write"}, "to": {"operation": "read"}, "cells": {"layout": "copies", "hot": "3x2"}}
    for quantity in ("hot requests", "busiest brick"):
        found = verdict(more(**of, quantity=quantity), samples.assign(heads=True, operations_limited=False, scale=1))
        assert (found.verdict, found.measured.centre) == ("reproduced", pytest.approx(2))


def test_a_number_of_disks_of_a_model_is_one_of_a_scale_model_at_full_speed_too() -> None:
    samples = both(1.5, 1.0).assign(scale=1)
    for heads, named in ((False, "absolute"), (True, "absolute on a scale model")):
        for layout in ("copies", "fragments"):
            mine = samples[samples["type"] == "replicate"].assign(heads=heads)
            assert verdict(value(10, "MB/s", layout=layout), mine).claim_class == named


def test_two_ways_of_access_are_not_compared_by_one_worker_of_a_model() -> None:
    claim = more(cells=CASES | {"layout": "copies"}, of={"access": "native"}, to={"access": "nfs"}, needs="nfs")
    for workers, expected in ((1, "model cannot tell"), (6, "reproduced")):
        cells = {("replicate", operation, workers): near(20e6) for operation in ("write", "read")}
        native, slower = build_samples(cells, scale=200), build_samples({cell: near(10e6) for cell in cells}, scale=200)
        slower = slower.assign(access="nfs3", cell_id=slower["cell_id"] + "-nfs")
        assert verdict(claim, pd.concat([native, slower])).verdict == expected


@pytest.mark.parametrize(
    ("unit", "column", "number"),
    [
        ("IOPS per disk", "operations_per_s", 3e9 / 72),
        ("ms", "latency_mean_s", 3e12 / 2),
        ("min", "elapsed_s", 5e7 / 2),
    ],
)
def test_a_value_is_held_against_what_its_unit_is_of(unit: str, column: str, number: float) -> None:
    samples = build_samples({("disperse", "write", 48): near(3e9), ("disperse", "write", 24): near(1.5e9)})
    # the lowest time is the best
    samples = samples.assign(servers=6, disks=72, scale=1, **{column: samples["throughput_bytes_per_s"]})
    cells = {"layout": "fragments", "tool": "iozone", "operation": "write", "size": "4 GiB"}
    published = {"relation": "equals", "value": number, "unit": unit}
    found = verdict(one({"kind": "value", "published": published, "cells": cells}), samples)
    assert found.verdict == "reproduced"
    assert found.measured.centre == pytest.approx(number, rel=0.01)


def test_sides_of_one_campaign_go_before_those_of_two() -> None:
    same = {"cell_id": "same"}
    first = build_samples({("disperse", "write", 48): near(30e6)}, campaign="a", **same)
    second = build_samples({("replicate", "write", 48): near(20e6)}, campaign="b", **same)
    assert join_campaigns([first]) is first
    sides = verdict(more(), join_campaigns([first, second])).comparisons[0].sides
    assert [(side.campaign, side.cell_id) for side in sides] == [("a", "a/same"), ("b", "b/same")]
    better = build_samples({("disperse", "write", 48): near(60e6)}, campaign="b", cell_id="more")
    found = verdict(more(), join_campaigns([first, pd.concat([second, better], ignore_index=True)]))
    assert {side.campaign for side in found.comparisons[0].sides} == {"b"}
    assert found.measured.centre == pytest.approx(3.0)
    assert "across" not in found.why


@pytest.mark.parametrize("need", sorted(NEEDS))
def test_a_condition_that_is_not_met_is_told(need: str) -> None:
    found = verdict(more(needs=need), both(1.5, 1.4))
    assert (found.verdict, found.why, found.reason) == ("not measured", NEEDS[need], NEEDS[need])
    assert found.comparisons == ()


def test_a_verdict_from_telemetry_stands_beside_the_others(large_samples: pd.DataFrame) -> None:
    told = {"saturation-small-network": TelemetryVerdict("reproduced", "at 6 %", 3)}
    found, *others = sorted(
        (each for each in judge(GUIDE, large_samples, told) if "telemetry" in each.claim.needs),
        key=lambda each: each.claim.id not in told,
    )
    assert (found.verdict, found.why, found.measured.n, found.claim_class) == ("reproduced", "at 6 %", 3, "ordering")
    assert len(others) == 13
    assert {each.verdict for each in others} == {"not measured"}
    row = scorecard(GUIDE, [found]).iloc[0]
    assert (row["verdict"], row["n"], row["comparisons"]) == ("reproduced", 3, 0)
    assert measured_text(row) == ""


@pytest.mark.parametrize("access", ["nfs", "nfs3"])
def test_a_condition_that_is_met_lets_a_claim_be_tested(access: str) -> None:
    native = both(1.5, 1.4)
    half = {"cell_id": native["cell_id"] + "-nfs", "throughput_bytes_per_s": native["throughput_bytes_per_s"] / 2}
    changed = {"cells": WRITES | {"layout": "copies"}, "of": {"access": "native"}, "to": {"access": "nfs"}}
    found = verdict(more(**changed, needs="nfs"), pd.concat([native, native.assign(access=access, **half)]))
    assert (found.verdict, found.measured.centre) == ("reproduced", pytest.approx(2.0))


@pytest.mark.parametrize(
    ("relation", "value", "formula", "changed", "expected", "said"),
    [
        ("equals", 91, {"multiply": [100, {"divide": [205, 226]}]}, {}, "reproduced", "formula gives 90.708 things"),
        ("equals", 90, {"multiply": [100, {"divide": [205, 226]}]}, {}, "contradicted", "not 90"),
        ("equals", 6.94, {"divide": [1000, 144]}, {}, "reproduced", "6.94"),
        ("equals", 100, 101, {"tolerance": 1.02}, "reproduced", "101"),
        ("equals", 2, [{"divide": [24, 12]}, {"divide": [49, 24]}], {}, "reproduced", "2 of 2 formulas give 2 things"),
        ("over", 17, 17.1, {}, "reproduced", "17.1"),
        ("over", 17, 17, {}, "contradicted", "not more than 17"),
        ("under", 17, {"divide": [100, 6]}, {}, "reproduced", "16.6667"),
        ("under", 17, {"divide": [100, 5]}, {}, "contradicted", "not less than 17"),
    ],
)
def test_arithmetic(
    relation: str, value: float, formula: object, changed: dict[str, Any], expected: str, said: str
) -> None:
    published = {"relation": relation, "value": value, "unit": "things"}
    claims = one({"kind": "arithmetic", "published": published, "formula": formula} | changed)
    found = verdict(claims, build_samples({("disperse", "write", 48): near(30e6)}))
    assert (found.verdict, found.claim_class) == (expected, "arithmetic")
    assert said in found.why


def test_the_guide_on_a_campaign_of_known_answer(large_samples: pd.DataFrame) -> None:
    found = {judgement.claim.id: judgement for judgement in judge(GUIDE, large_samples)}
    assert len(found) == len(GUIDE.claims)
    # 28 / 72 x 200 = 77.8 MB/s per disk against 83.68, 36 / 72 x 200 = 100 against 108.07;
    # writes 28 / 18 = 1.56, reads 36 / 30 = 1.2: (1.56 / 1.2) = 1.3
    for name, centre, expected in (
        ("write-peak", 77.8, "model cannot tell"),
        ("read-peak", 100, "model cannot tell"),
        ("read-less-affected", 1.2963, "reproduced"),
    ):
        judgement = found[f"throughput-{name}"]
        assert (judgement.verdict, judgement.measured.centre) == (expected, pytest.approx(centre, rel=1e-3))
    assert found["throughput-write-up-to"].verdict == "not measured"
    assert found["video-tuning"].reason == NEEDS["spec sfs"]
    arithmetic = [each for each in found.values() if each.claim_class == "arithmetic"]
    assert [each.claim.id for each in arithmetic if each.verdict != "reproduced"] == ["design-dense-from-petabyte"]
    assert len(arithmetic) == 42
    # no samples at all are no fault
    nothing = judge(GUIDE, large_samples.iloc[:0])
    assert {each.verdict for each in nothing if each.claim_class != "arithmetic"} == {"not measured"}


def test_the_scorecard_has_a_row_per_claim_and_totals_add_up(large_samples: pd.DataFrame) -> None:
    table = scorecard(GUIDE, judge(GUIDE, large_samples))
    dtypes = {name: dtype for name, (dtype, _) in COLUMNS.items()} | {"contradicts": "str"}
    assert {name: str(dtype) for name, dtype in table.dtypes.items()} == dtypes
    row = table.set_index("id").loc["throughput-write-peak"]
    assert row["measured"] == pytest.approx(83.68 * row["ratio"])
    assert (row["ratio_published"], row["band_high"]) == pytest.approx((1.0, 1.1))
    assert row["cells"] == "iozone-write-4294967296-disperse-12x4+2-jbod-w48"
    counts = totals(table).set_index(["class", "of"])
    assert counts["all"].xs("claims", level="of").drop("evidence").sum() == len(table)
    assert (counts[list(VERDICTS)].sum(axis=1) == counts["all"]).xs("claims", level="of").all()
    # what is arithmetic, and what no benchmark measures, is in no number of what campaigns tell
    measured = table[~table["class"].isin(["arithmetic", "fact"])]
    assert counts.loc[("evidence", "claims"), "all"] == len(measured)
    assert counts.loc[("evidence", "measured ratios"), "all"] == measured["evidence"].replace("", pd.NA).nunique()
    assert (counts.loc[("evidence", "claims"), "reproduced"] + 41) == (table["verdict"] == "reproduced").sum()
    assert totals(scorecard(GUIDE, []))[["class", "all"]].values.tolist() == [["evidence", 0]] * 2


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("throughput-read-replicate-30-50", "1.3 to 1.5"),
        ("video-disperse-streams", "nearly 1.95"),
        ("throughput-standard-by-far", "far more (≥ 1.50)"),
        ("throughput-read-even", "same (0.91 to 1.10)"),
        ("saturation-small-network", '"not close"'),
        ("design-fault-domain-share", "under 17 % of the pool"),
        ("servers-standard-name", "SSG-6028R-E1CR12H"),
        ("video-throughput", "4,469 MB/s"),
    ],
)
def test_what_is_published_in_a_few_characters(wanted: str, text: str) -> None:
    assert published_text(GUIDE.by_id(wanted)) == text
