"""A blind check: whoever made these results fixed the truth first; each claim has to get the verdict of it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.claims.judge import Judgement, across_views, judge
from glusterlab.analysis.claims.scorecard import headline, repeats_text, scorecard, totals
from glusterlab.spec.claims import Claims
from tests.conftest import build_samples

LAYOUTS = {
    "fragments": {"type": "disperse", "geometry": "12x(4+2)", "kind": "jbod"},
    "copies": {"type": "replicate", "geometry": "3x2", "kind": "raid6"},
}
SIDES = {"of": {"layout": "fragments"}, "to": {"layout": "copies"}}
LARGE = {"tool": "iozone", "operation": "write", "size": "4 GiB"}
SMALL = {"tool": "smallfile", "operation": "read", "size": "32 KiB"}


def stated(name: str, value: float, cells: dict[str, str], **changed: Any) -> dict[str, Any]:
    published = {"relation": "equals", "value": value, "words": "so"}
    data = {"id": name, "section": "A chapter", "paraphrase": "It is so.", "kind": "ratio", "published": published}
    return data | {"cells": cells} | SIDES | changed


def claims(*made: dict[str, Any]) -> Claims:
    data = {"schema_version": 1, "study": "blind", "document": "", "layouts": LAYOUTS, "claims": list(made)}
    return Claims.model_validate(data)


def results(
    truth: float, *, n: int, scatter: float, seed: int, operation: str = "write", **changed: Any
) -> pd.DataFrame:
    """Fragments `truth` times as fast as copies, with log-normal scatter."""
    rng = np.random.default_rng(seed)
    factors = {("disperse", operation, 48): truth, ("replicate", operation, 48): 1.0}
    return build_samples(
        {cell: 20e6 * of * np.exp(rng.normal(0, scatter, n)) for cell, of in factors.items()}, **changed
    )


def verdict(made: dict[str, Any], samples: pd.DataFrame) -> Judgement:
    (found,) = judge(claims(made), samples)
    return found


@pytest.mark.parametrize(
    ("truth", "n", "scatter", "seed", "expected"),
    [
        (1.5, 6, 0.02, 1, "reproduced"),
        (1.5, 6, 0.12, 2, "compatible"),
        (1.2, 6, 0.02, 1, "contradicted"),
        (0.7, 6, 0.05, 1, "contradicted"),
        (2.2, 6, 0.05, 1, "contradicted"),
        (1.3, 3, 0.05, 3, "insufficient n"),
        (1.5, 2, 0.01, 1, "insufficient n"),
    ],
)
def test_a_ratio_of_one_and_a_half(truth: float, n: int, scatter: float, seed: int, expected: str) -> None:
    found = verdict(stated("x", 1.5, LARGE), results(truth, n=n, scatter=scatter, seed=seed))
    assert (found.verdict, found.reason) == (expected, ""), found.why
    assert (found.repeats is not None) == (expected in ("compatible", "insufficient n"))


def test_as_many_repeats_as_it_asks_for_decide() -> None:
    made = stated("x", 1.5, LARGE)
    undecided = verdict(made, results(1.3, n=3, scatter=0.05, seed=3))
    assert undecided.verdict == "insufficient n"
    assert undecided.repeats is not None
    more = [verdict(made, results(1.3, n=undecided.repeats, scatter=0.05, seed=seed)) for seed in range(20)]
    assert sum(one.verdict == "contradicted" for one in more) >= 12
    assert repeats_text(scorecard(claims(made), [undecided]).iloc[0]) == str(undecided.repeats)
    # one sample has no scatter to tell by
    assert verdict(made, results(1.3, n=1, scatter=0.05, seed=3)).repeats == 3


@pytest.mark.parametrize("truth", [1.5, 0.5])
@pytest.mark.parametrize(
    ("changed", "cells", "lacks"),
    [
        ({"tool": "smallfile", "nominal": 32 << 10, "operation": "read"}, SMALL, "operations per second"),
        (
            {"tool": "smallfile", "nominal": 32 << 10, "operation": "read", "operations_limited": False},
            SMALL,
            "disks without heads do not seek",
        ),
        ({"heads": True}, LARGE, "files are shrunk and seeks are not"),
        ({"workers": 1}, LARGE, "a single worker waits for round trips"),
    ],
)
def test_what_a_model_lacks_takes_both_verdicts_away(
    truth: float, changed: dict[str, Any], cells: dict[str, str], lacks: str
) -> None:
    samples = results(truth, n=6, scatter=0.02, seed=5, **changed)
    found = verdict(stated("x", 1.5, cells), samples)
    assert (found.verdict, lacks in found.reason) == ("model cannot tell", True), found.why
    # hardware as it is has no such limit, and disks with heads may speak of small files
    real = verdict(stated("x", 1.5, cells), samples.assign(scale=1))
    assert real.verdict == ("reproduced" if truth == 1.5 else "contradicted")
    if cells is SMALL:
        heads = verdict(stated("x", 1.5, cells), samples.assign(heads=True, operations_limited=False))
        assert heads.verdict == real.verdict


def test_what_a_controllers_cache_holds_is_not_what_its_disks_do() -> None:
    create, changed = SMALL | {"operation": "create"}, {"tool": "smallfile", "nominal": 32 << 10, "operation": "create"}
    few = results(1.5, n=6, scatter=0.02, seed=5, **changed, heads=True, operations_limited=False)
    assert "fits into the cache of the RAID controller" in verdict(stated("x", 1.5, create), few).reason
    # 48 workers x 80,000 files x 32 KiB x 2 copies on 72 disks are 3.3 GiB each
    assert verdict(stated("x", 1.5, create), few.assign(files_per_worker=80_000)).verdict == "reproduced"


@pytest.mark.parametrize(
    ("operation", "heads", "lacks"),
    [
        ("read", False, ""),
        ("read", True, "files are shrunk and seeks are not"),
        ("random-read", True, ""),
        ("random-read", False, "disks without heads do not seek"),
        ("random-write", True, "fits into the cache of the RAID controller"),
    ],
)
def test_what_a_model_lacks_to_tell_of_features(operation: str, heads: bool, lacks: str) -> None:
    parts = [
        build_samples({("replicate", operation, 48): [20e6, 20.1e6, 19.9e6]}, cell_id=name, features=name, heads=heads)
        for name in ("", "quota")
    ]
    cells = {"layout": "copies", "operation": operation, "size": "4 GiB"}
    published = {"relation": "same", "words": "so"}
    made = stated("x", 1.0, cells, kind="equality", published=published, of={}, to={"features": "quota"})
    found = verdict(made, pd.concat(parts, ignore_index=True))
    assert (found.verdict, lacks in found.reason) == ("model cannot tell" if lacks else "reproduced", True), found.why


def test_a_claim_that_crosses_two_models_is_not_told() -> None:
    parts = [
        results(1.5, n=6, scatter=0.02, seed=seed, tool="smallfile", nominal=size, operation="read", heads=True).assign(
            scale=scale, operations_limited=False
        )
        for seed, size, scale in ((1, 32 << 10, 34), (2, 4 << 20, 240))
    ]
    apart = {"of": {"layout": "fragments", "size": "4 MiB"}, "to": {"layout": "copies", "size": "4 MiB"}}
    made = stated("x", 2.25, SMALL, against=apart, published={"relation": "more", "words": "so"}, kind="ordering")
    found = verdict(made, pd.concat(parts, ignore_index=True))
    assert (found.verdict, found.reason.startswith("the cells are of two models")) == ("model cannot tell", True)


@pytest.mark.parametrize(("whole", "expected"), [(1.0, "reproduced"), (0.7, "depends on counting")])
def test_another_view_of_the_rates_may_turn_a_verdict(whole: float, expected: str) -> None:
    made = claims(stated("x", 1.5, LARGE))
    samples = results(1.5, n=6, scatter=0.02, seed=7)
    slower = np.where(samples["type"] == "disperse", whole, 1.0)
    samples = samples.assign(whole=samples["throughput_bytes_per_s"] * slower)
    other = judge(made, samples, columns={"throughput": "whole"})
    (found,) = across_views(judge(made, samples), other, ("the tool", "the whole time"))
    assert found.verdict == expected
    if whole < 1:
        assert found.why.startswith("the tool: reproduced (1.4")
    # old samples do not have the other view, which then takes nothing away
    nothing = judge(made, samples.assign(whole=float("nan")), columns={"throughput": "whole"})
    assert across_views(judge(made, samples), nothing, ("a", "b"))[0].verdict == "reproduced"


def test_the_ratio_that_decides_has_to_be_told_by_both_views() -> None:
    both = SMALL | {"operation": ["create", "read"]}
    published = {"relation": "far more", "words": "so"}
    made = claims(stated("x", 1.5, both, kind="ordering", quantifier="largest", published=published))
    small: dict[str, Any] = {"tool": "smallfile", "nominal": 32 << 10, "heads": True, "operations_limited": False}
    parts = [results(2.0, n=6, scatter=0.02, seed=7, operation=name, **small) for name in ("create", "read")]
    samples = pd.concat(parts, ignore_index=True)
    reads = (samples["type"] == "disperse") & (samples["operation"] == "read")
    samples["whole"] = samples["files_per_s"] * np.where(reads, 0.7, 1.0)
    # what is created fits into the cache of the controllers, so that reads decide it, by one view
    one, other = judge(made, samples), judge(made, samples, columns={"files": "whole"})
    assert (one[0].verdict, other[0].verdict) == ("reproduced", "model cannot tell")
    (found,) = across_views(one, other, ("the tool", "the whole time"))
    assert found.verdict == "depends on counting"
    row = scorecard(made, [found]).iloc[0]
    assert (row["ratio"], row["ratio_whole"]) == pytest.approx((2.0, 1.4), rel=0.1)


def test_one_measured_ratio_is_one_finding_however_many_claims_it_decides() -> None:
    turned = {"of": {"layout": "copies"}, "to": {"layout": "fragments"}}
    same = [stated(f"x{n}", value, LARGE) for n, value in enumerate((1.45, 1.5, 1.55))]
    less = stated("less", 1.0, LARGE, kind="ordering", published={"relation": "no more", "words": "so"}, **turned)
    sums = stated("sum", 2.0, {}, kind="arithmetic", formula=2.0)
    sums = {name: of for name, of in sums.items() if name not in ("of", "to", "cells")}
    samples = pd.concat([results(1.5, n=6, scatter=0.01, seed=9)], ignore_index=True)
    made = claims(*same, less, sums)
    table = scorecard(made, judge(made, samples))
    assert table["verdict"].tolist() == ["reproduced"] * 5
    counts = totals(table).set_index(["class", "of"])["reproduced"]
    assert (counts["evidence", "claims"], counts["evidence", "measured ratios"]) == (4, 1)
    assert counts["arithmetic", "claims"] == 1
    assert headline(table) == "Of 4 claims that a campaign can tell (independent measured ratios): 4 reproduced (1)."


@pytest.mark.parametrize("truth", [1.5, 0.5])
def test_unequal_work_decides_nothing(truth: float) -> None:
    samples = results(truth, n=6, scatter=0.02, seed=11)
    unequal = samples.assign(files_per_worker=samples["type"].map({"disperse": 5, "replicate": 40}))
    found = verdict(stated("x", 1.5, LARGE), unequal)
    assert (found.verdict, found.reason) == ("not measured", "the sides did unequal work")
    assert "5 and 40 files" in found.why


def test_what_a_claim_itself_compares_is_no_unequal_work() -> None:
    samples = results(1.5, n=6, scatter=0.01, seed=9)
    sizes = {"disperse": 512 << 10, "replicate": 1 << 20}
    samples = samples.assign(record_size_bytes=samples["type"].map(sizes).astype(float))
    assert verdict(stated("x", 1.5, LARGE), samples).reason == "the sides did unequal work"
    of, to = ({**SIDES[side], "record_size": size} for side, size in (("of", "512 KiB"), ("to", "1 MiB")))
    assert verdict(stated("x", 1.5, LARGE, of=of, to=to), samples).verdict == "reproduced"
