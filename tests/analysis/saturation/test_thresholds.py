"""Thresholds are parameters with sources, and a wrong one is refused with what was expected."""

import re

import pytest

from glusterlab.analysis.saturation.thresholds import Thresholds, parse_thresholds, thresholds_table
from glusterlab.errors import UsageError


def test_every_threshold_has_a_meaning_and_a_source() -> None:
    table = thresholds_table(Thresholds(network=0.7))
    assert (table["source"].str.len() > 10).all()
    assert (table["compared with"].str.len() > 10).all()
    changed = table[table["value"] != table["default"]]
    assert changed[["threshold", "value", "default"]].values.tolist() == [["network", 0.7, 0.9]]


def test_a_parameter_names_what_it_changes() -> None:
    assert parse_thresholds("") == parse_thresholds(" , ") == Thresholds()
    chosen = parse_thresholds("disks 80%,skew=4 , outlier 5")
    assert (chosen.disks, chosen.skew, chosen.outlier, chosen.network) == (0.8, 4.0, 5.0, 0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("netwrok 80%", "found 'netwrok': did you mean 'network'?"),
        ("network", "threshold network: expected a number such as 0.9 or 90%, found ''"),
        ("network high", "found 'high'"),
        ("network 80", "expected a share above 0 and up to 100 %, found 80"),
        ("network 0", "expected a share above 0"),
        ("network nan", "expected a share above 0"),
        ("skew 10%", "threshold skew: expected a plain number"),
        ("skew inf", "expected a finite number above 0"),
        ("skew -1", "expected a finite number above 0"),
        ("disks 80%, disks 90%", "threshold disks: expected once, found twice"),
    ],
)
def test_a_wrong_parameter_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_thresholds(text)
