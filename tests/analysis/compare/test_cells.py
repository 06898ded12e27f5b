"""Verdicts on cells whose true ratio is known, what is left out, and what a comparison says in words."""

import math

import pandas as pd
import pytest

from glusterlab.analysis.compare.cells import (
    BOUND,
    COMPARED,
    EQUIVALENT,
    FASTER,
    SLOWER,
    UNDECIDED,
    UNMATCHED,
    Rule,
    bound_by_model,
    cell_names,
    compare_cells,
    unmatched,
    verdict_of,
)
from glusterlab.analysis.compare.groups import averages, release_bars
from glusterlab.analysis.compare.words import (
    changed,
    counts,
    least_lines,
    rounded,
    rule_line,
    spoiled_warnings,
    timing_notes,
    timing_warnings,
)
from glusterlab.stats import INSUFFICIENT, Estimate
from tests.release_samples import KIB, MIB, SPREAD, newer, older, release

EFFECTS = {("create", 32 * KIB): 1.34, ("read", 4 * MIB): 0.8}


def by_cell(table: pd.DataFrame) -> dict[tuple[str, int], pd.Series]:
    return {(str(row["operation"]), int(row["nominal_file_size_bytes"])): row for _, row in table.iterrows()}


@pytest.fixture
def table() -> pd.DataFrame:
    return compare_cells(older(), {"11.1": newer(EFFECTS)}, name="10.3")


def test_known_effects_are_found_and_nothing_else(table: pd.DataFrame) -> None:
    assert list(table.columns) == COMPARED
    rows = by_cell(table)
    assert {cell: row["verdict"] for cell, row in rows.items()} == {
        ("create", 32 * KIB): FASTER,
        ("create", 4 * MIB): EQUIVALENT,
        ("read", 32 * KIB): EQUIVALENT,
        ("read", 4 * MIB): SLOWER,
    }
    for cell, effect in EFFECTS.items():
        assert rows[cell]["low"] < effect < rows[cell]["high"]
        assert rows[cell]["ratio"] == pytest.approx(effect, rel=0.02)
        # all ten rounds on one side, of four cells
        assert rows[cell]["p"] == pytest.approx(2 / 2**10)
        assert rows[cell]["p_corrected"] == pytest.approx(4 * 2 / 2**10)


def test_two_groups_of_samples_are_not_compared() -> None:
    other = newer({})
    first = other["cell_id"] == other["cell_id"].iloc[0]
    other.loc[first, "files_per_s"] *= [1.0, 3.5] * (first.sum() // 2)
    table = compare_cells(older(), {"11.1": other}, name="10.3")
    row = table[table["cell_id"] == other["cell_id"].iloc[0]].iloc[0]
    assert (row["verdict"], row["interval"]) == (INSUFFICIENT, "two groups of samples")
    assert row[["ratio", "low", "p_corrected"]].isna().all()
    assert counts(table) == {EQUIVALENT: 3, INSUFFICIENT: 1}
    assert least_lines(table, Rule()) == [
        "11.1: insufficient n, 1 cell with two groups of samples: no ratio stands for them"
    ]
    assert release_bars(table)["median"].isna().sum() == 1
    assert averages(table, older(), {"11.1": other})["ratio"].isna().tolist() == [True, False]


def test_a_row_names_what_it_was_made_of(table: pd.DataFrame) -> None:
    row = by_cell(table)["create", 32 * KIB]
    expected = {
        "reference": "10.3",
        "other": "11.1",
        "quantity": "files_per_s",
        "cell": "smallfile-create-32kib-w12",
        "n_reference": 10,
        "n_other": 10,
        "least_n": 0,
        "one_sided": True,
        "samples_reference": "01;02;03;04;05;06;07;08;09;10",
        "median_reference": pytest.approx(401.0),
    }
    assert {name: row[name] for name in expected} == expected
    values = [float(value) for value in row["values_other"].split(";")]
    assert values == pytest.approx([400 * 1.34 * share for share in SPREAD[::-1]])


def test_a_drift_that_hits_both_is_taken_out_in_rounds_only() -> None:
    """Twice as fast at the end as at the start: in rounds 18 % are found, one after the other they cannot be."""
    drift = [2 ** (place / 9) for place in range(10)]
    cell = ("create", 32 * KIB, 12)
    reference = release({cell: [400 * share * rise for share, rise in zip(SPREAD, drift, strict=True)]})
    rising = [472 * share * rise for share, rise in zip(SPREAD[::-1], drift, strict=True)]
    in_turns = compare_cells(reference, {"b": release({cell: rising}, offset_s=500.0)}).iloc[0]
    assert (in_turns["verdict"], in_turns["rounds"]) == (FASTER, 10)
    assert in_turns["low"] < 1.18 < in_turns["high"] < 1.25
    after = compare_cells(reference, {"b": release({cell: rising}, offset_s=50_000.0)}).iloc[0]
    assert (after["verdict"], after["rounds"], after["test"]) == (UNDECIDED, 0, "rank-sum")


def test_campaigns_at_different_times_are_held_together_with_a_warning() -> None:
    table = compare_cells(older(), {"b": newer(EFFECTS, offset_s=10**6)})
    assert set(table["rounds"]) == {0}
    assert table["verdict"].tolist() == [FASTER, EQUIVALENT, EQUIVALENT, SLOWER]
    (warning,) = timing_warnings(table)
    assert "cannot be told from the release" in warning
    assert warning.startswith("b: all cells not in interleaved rounds with the reference")
    assert "rank-sum" in " ".join(timing_notes(table))


def test_in_rounds_only_an_order_that_never_changes_is_warned_of(table: pd.DataFrame) -> None:
    (warning,) = timing_warnings(table)
    assert "in all cells the same campaign went first in nearly every round" in warning
    assert "signed-rank" in " ".join(timing_notes(table))
    changing = newer(EFFECTS)
    changing.loc[changing["repeat"] % 2 == 0, "start_s"] -= 900
    assert timing_warnings(compare_cells(older(), {"b": changing})) == []


def test_campaigns_out_of_step_are_paired_by_time(table: pd.DataFrame) -> None:
    behind = compare_cells(older(), {"11.1": newer(EFFECTS, offset_s=1100.0)}, name="10.3")
    assert (set(behind["rounds"]), set(behind["paired_by"]), set(behind["left_out"])) == ({9}, {"time"}, {2})
    assert set(table["paired_by"]) == {"repeat"}
    assert any("neighbours in time" in note for note in timing_notes(behind))


@pytest.mark.parametrize("repeats", [3, 7])
def test_too_few_rounds_for_so_many_cells_are_insufficient_and_say_what_is_needed(repeats: int) -> None:
    """Four cells: 2 / 2**7 * 4 is above 0.05, 2 / 2**8 * 4 is not."""
    table = compare_cells(older(repeats), {"b": newer(EFFECTS, repeats)})
    assert set(zip(table["verdict"], table["least_n"], strict=True)) == {(INSUFFICIENT, 8)}
    assert table["p_corrected"].isna().all()
    (line,) = least_lines(table, Rule())
    for words in ("at least 8 rounds", f"n = {repeats}", "with 4 cells"):
        assert words in line
    # of repeats apart both numbers are told: who measures in turns next needs more
    (line,) = least_lines(compare_cells(older(1), {"b": newer(EFFECTS, 1)}), Rule())
    assert "at least 5 repeats of each campaign, or 8 rounds in turns, are needed" in line


def test_equal_values_are_equivalent_and_no_error() -> None:
    table = compare_cells(older(), {"copy": older(offset_s=10**7)})
    assert set(table[["verdict", "ratio", "p"]].itertuples(index=False, name=None)) == {(EQUIVALENT, 1.0, 1.0)}
    flat = release({("create", MIB, 1): [5.0] * 10})
    assert set(compare_cells(flat, {"flat": flat.assign(start_s=flat["start_s"] + 500)})["verdict"]) == {EQUIVALENT}


def test_swapping_the_campaigns_swaps_the_verdicts(table: pd.DataFrame) -> None:
    back = by_cell(compare_cells(newer(EFFECTS), {"10.3": older()}))
    swapped = {FASTER: SLOWER, SLOWER: FASTER}
    for cell, row in by_cell(table).items():
        assert back[cell]["verdict"] == swapped.get(row["verdict"], row["verdict"])
        assert back[cell]["ratio"] * row["ratio"] == pytest.approx(1)
        assert back[cell]["low"] * row["high"] == pytest.approx(1, abs=1e-4)
        assert back[cell]["p"] == row["p"]


def test_several_campaigns_get_the_answers_that_each_would_get_alone(table: pd.DataFrame) -> None:
    others = {"z": newer(EFFECTS), "a": newer({}, offset_s=300.0)}
    both = compare_cells(older(), others, name="10.3")
    assert list(dict.fromkeys(both["other"])) == ["z", "a"]
    alone = both[both["other"] == "z"].assign(other="11.1").reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, table)
    assert rule_line(Rule(), both) == "margin ± 5 %, p corrected over 4 cells of each campaign (Holm)"


def test_only_valid_samples_count_and_cells_without_are_listed() -> None:
    other = newer(EFFECTS)
    other.loc[other["operation"] == "read", "status"] = "invalid"
    other = other[other["nominal_file_size_bytes"] == 32 * KIB]
    reference = older()
    created = reference["operation"] == "create"
    assert compare_cells(reference[~created], {"b": other}).empty
    missing = unmatched(reference[~created], {"b": other}, "a")
    assert list(missing.columns) == UNMATCHED
    assert missing[["campaign", "cell", "why"]].to_numpy().tolist() == [
        ["a", "smallfile-create-32kib-w12", "does not have it"],
        ["b", "smallfile-read-32kib-w12", "has no valid sample of it"],
        ["b", "smallfile-read-4096kib-w12", "does not have it"],
    ]
    neither = unmatched(reference.assign(status="failed"), {"b": newer({}).assign(status="failed")})
    assert neither["why"].tolist() == ["has no valid sample of it, nor has the reference"] * 4


def test_invalid_samples_warm_up_and_values_that_are_not_above_0_do_not_count() -> None:
    reference, other = older(), newer(EFFECTS)
    reference.loc[reference["repeat"] == 1, "status"] = "failed"
    other.loc[other["repeat"] == 2, "warmup"] = True
    row = by_cell(compare_cells(reference, {"b": other}))["create", 32 * KIB]
    assert (row["rounds"], row["left_out"], row["samples_other"]) == (8, 2, "03;04;05;06;07;08;09;10")
    assert "2 valid samples belong to no round" in " ".join(timing_notes(pd.DataFrame([row])))
    other.loc[other["repeat"] == 4, "files_per_s"] = 0.0
    row = by_cell(compare_cells(reference, {"b": other}))["create", 32 * KIB]
    assert (row["rounds"], row["left_out"]) == (7, 4)


def test_cells_without_a_value_of_both_are_listed() -> None:
    other = newer({})
    other.loc[other["operation"] == "read", ["files_per_s", "throughput_bytes_per_s"]] = 0.0
    assert len(compare_cells(older(), {"b": other})) == 2
    why = "has no value above 0 of a quantity that the reference has, too"
    assert unmatched(older(), {"b": other})[["campaign", "cell", "why"]].to_numpy().tolist() == [
        ["b", "smallfile-read-32kib-w12", why],
        ["b", "smallfile-read-4096kib-w12", why],
    ]


def test_repeats_that_never_came_out_are_warned_of_and_those_tried_again_are_not() -> None:
    other = newer(EFFECTS)
    assert spoiled_warnings({"a": older(), "b": other}) == []
    again = other[other["repeat"] == 3].assign(sample=11, status="failed")
    assert spoiled_warnings({"b": pd.concat([other, again])}) == []
    other.loc[other["repeat"] > 8, "status"] = "invalid"
    (warning,) = spoiled_warnings({"a": older(), "b": other})
    assert warning.startswith("b: 8 of 40 repeats never came out valid")


def test_the_quantity_is_one_that_both_have() -> None:
    reference = older(files_per_s=math.nan)
    table = compare_cells(reference, {"b": newer({})})
    assert set(table["quantity"]) == {"throughput_bytes_per_s"}
    table = compare_cells(reference, {"b": newer({}, throughput_bytes_per_s=math.nan)})
    assert (table.empty, list(table.columns)) == (True, COMPARED)
    assert rounded(table).empty
    assert (least_lines(table, Rule()), timing_warnings(table), counts(table)) == ([], [], {})


def test_names_of_cells_are_slugs_unless_two_have_one() -> None:
    rows = older(1)
    rows.loc[rows["operation"] == "read", "slug"] = "same"
    names = cell_names(rows)
    assert names["smallfile-create-32768-w12-0a1b2c3d"] == "smallfile-create-32kib-w12"
    assert names["smallfile-read-32768-w12-0a1b2c3d"] == "smallfile-read-32768-w12-0a1b2c3d"


def estimate(low: float, high: float) -> Estimate:
    return Estimate(math.sqrt(low * high), low, high, 10, "")


@pytest.mark.parametrize(
    ("wide", "tight", "p", "margin", "expected"),
    [
        ((1.10, 1.30), (1.12, 1.28), 0.01, 0.05, FASTER),
        ((1.10, 1.30), (1.12, 1.28), 0.05, 0.05, UNDECIDED),
        ((0.70, 0.90), (0.72, 0.88), 0.049, 0.05, SLOWER),
        # the test says so, the interval does not
        ((0.99, 1.20), (1.01, 1.18), 0.001, 0.05, UNDECIDED),
        ((0.97, 1.04), (0.98, 1.03), 0.9, 0.05, EQUIVALENT),
        # only the 90 % interval has to lie within
        ((0.94, 1.04), (0.96, 1.03), 0.9, 0.05, EQUIVALENT),
        ((0.94, 1.04), (0.951, 1.03), 0.9, 0.05, UNDECIDED),
        ((0.97, 1.06), (0.98, 1.051), 0.9, 0.05, UNDECIDED),
        # shown, and smaller than what matters
        ((1.01, 1.03), (1.012, 1.028), 0.001, 0.05, EQUIVALENT),
        ((0.97, 1.04), (0.98, 1.03), math.nan, 0.05, INSUFFICIENT),
        ((math.nan, math.nan), (math.nan, math.nan), 0.01, 0.05, INSUFFICIENT),
        ((0.94, 1.06), (0.95, 1.05), 0.9, 0.1, EQUIVALENT),
        ((0.999, 1.001), (0.9995, 1.0005), 0.9, 0.0, UNDECIDED),
    ],
)
def test_verdict(wide: tuple[float, float], tight: tuple[float, float], p: float, margin: float, expected: str) -> None:
    assert Rule().margin == 0.05
    assert verdict_of(estimate(*wide), estimate(*tight), p, Rule(margin=margin)) == expected


def test_changed_cells_and_what_a_campaign_comes_to(table: pd.DataFrame) -> None:
    assert changed(table)["verdict"].tolist() == [SLOWER, FASTER]
    row = rounded(table).set_index("cell").loc["smallfile-create-32kib-w12"]
    assert (row["n"], row["p"], row["verdict"], row["ratio"][:2]) == ("10", "0.008", FASTER, "+3")


def test_what_runs_at_the_throttles_limit_tells_nothing_of_a_release(table: pd.DataFrame) -> None:
    sizes = table["file_size_bytes"].where(table["quantity"] == "files_per_s", 1)
    slower = (table[["median_reference", "median_other"]].min(axis=1) * sizes).set_axis(table["cell_id"])
    at, below = ({str(cell): float(value) * of for cell, value in slower.items()} for of in (1.02, 1.10))
    found = bound_by_model(table, at)
    assert found["of_throttle"].tolist() == pytest.approx([1 / 1.02] * len(table))
    assert set(found["verdict"]) <= {BOUND, INSUFFICIENT}
    assert bound_by_model(table, below)["verdict"].tolist() == table["verdict"].tolist()
    none = bound_by_model(table, {})
    assert (none["of_throttle"].isna().all(), none["verdict"].tolist()) == (True, table["verdict"].tolist())


@pytest.mark.parametrize(("what", "why"), [("operations_limited", "assumed"), ("heads", "software is not")])
def test_a_model_that_slows_operations_or_seeks_tells_nothing_of_a_release(what: str, why: str) -> None:
    samples = {"10.3": older(), "11.1": newer(EFFECTS)}
    assumed = {name: of.assign(**{what: of["scale"] == 1}, scale=20.0) for name, of in samples.items()}
    table = compare_cells(assumed["10.3"], {"11.1": assumed["11.1"]}, name="10.3")
    rows = by_cell(table)
    assert {cell: row["verdict"] for cell, row in rows.items()} == {
        ("create", 32 * KIB): BOUND,
        ("read", 32 * KIB): BOUND,
        ("create", 4 * MIB): EQUIVALENT,
        ("read", 4 * MIB): SLOWER,
    }
    assert why in rows["read", 32 * KIB]["why"]
    assert rows["read", 4 * MIB]["why"] == ""
    # Holm's correction is over the two cells of which the model may speak
    told = table[table["verdict"] != BOUND]
    assert told["p_corrected"].min() == pytest.approx(2 * told["p"].min())
    full = {name: of.assign(scale=1.0) for name, of in assumed.items()}
    assert BOUND not in set(compare_cells(full["10.3"], {"11.1": full["11.1"]}, name="10.3")["verdict"])
