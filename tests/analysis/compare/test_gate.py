"""The gate closes on evidence at its own limit, whatever the verdicts say, and knows what was not tested."""

import numpy as np
import pandas as pd
import pytest

from glusterlab.analysis.compare.cells import EQUIVALENT, Rule, compare_cells, unmatched
from glusterlab.analysis.compare.gate import Gate, Outcome, hold
from tests.release_samples import KIB, MIB, newer, older, release

EFFECTS = {("create", 32 * KIB): 1.34, ("read", 4 * MIB): 0.8}
SLOW = "smallfile-read-4096kib-w12"


def held(gate: Gate, other: pd.DataFrame, reference: pd.DataFrame | None = None, rule: Rule | None = None) -> Outcome:
    reference, rule = older() if reference is None else reference, rule or Rule()
    others = {"b": other}
    return hold(gate, compare_cells(reference, others, rule), unmatched(reference, others), [*others], rule.correction)


def test_a_release_that_measures_nothing_is_not_tested() -> None:
    for nothing in (newer({}).assign(status="failed"), newer({}).assign(cell_id="another", slug="another")):
        told = held(Gate(0.05), nothing)
        assert (told.tested, told.total, told.failed) == (0, 4, True)
        assert not held(Gate(0.05, allow_untested=True), nothing).failed
    # what only the new release has is no loss
    assert held(Gate(0.05), newer({}), older()[older()["operation"] == "read"]).total == 2


def test_what_a_model_cannot_tell_is_not_tested() -> None:
    samples = [of.assign(operations_limited=of["scale"] == 1, scale=20.0) for of in (older(), newer(EFFECTS))]
    told = held(Gate(0.05), samples[1], samples[0])
    assert (told.tested, told.total) == (2, 4)
    assert told.slower["cell"].tolist() == [SLOW]


def test_a_loss_below_the_margin_closes_a_stricter_gate() -> None:
    """Equivalent within 10 %, and 7 % slower on evidence."""
    rule = Rule(margin=0.1)
    other = newer({("read", 4 * MIB): 0.93})
    table = compare_cells(older(), {"b": other}, rule)
    assert set(table["verdict"]) == {EQUIVALENT}
    assert held(Gate(0.05), other, rule=rule).slower["cell"].tolist() == [SLOW]


@pytest.mark.parametrize("offset", [500.0, 10.0**7], ids=["in rounds", "apart"])
def test_at_its_limit_the_gate_errs_as_rarely_as_a_release_against_itself(offset: float) -> None:
    """Its p is that of the same samples with the loss taken out, which the calibration of `compare` is about."""
    generator = np.random.default_rng(17)
    names = [("create", 2**place * KIB, 12) for place in range(8)]
    drawn = np.exp(0.02 * generator.standard_normal((2, 8, 10)) - 0.12 * np.arange(8)[:, None])
    reference = release(dict(zip(names, 100 * drawn[0], strict=True)))
    lost = 0.9 * drawn[1] * np.exp(-0.05 * np.arange(8)[:, None])
    other, without = (
        release(dict(zip(names, 100 * values, strict=True)), offset_s=offset) for values in (lost, lost / 0.8)
    )
    closed = held(Gate(0.2), other, reference).slower.set_index("cell_id")["p_gate"]
    table = compare_cells(reference, {"b": without}).set_index("cell_id")
    expected = table["p_corrected"][(table["p_corrected"] < 0.05) & (table["high"] < 1)]
    assert len(expected) > 2
    pd.testing.assert_series_equal(closed.sort_index(), expected.sort_index(), check_names=False)
