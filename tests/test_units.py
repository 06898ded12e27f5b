"""Sizes as people write them: exact by their digits, and refused where they cannot be meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glusterlab.units import parse_capacity, parse_rate, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("33.3TB", 33_300_000_000_000),
        ("0.3 MB", 300_000),
        ("1.1 GB", 1_100_000_000),
        ("1 PB", 10**15),
        ("1 PiB", 2**50),
        ("2.5 KiB", 2560),
        (2**53 + 1, 2**53 + 1),
    ],
)
def test_a_size_is_what_its_digits_say(text: str | int, size: int) -> None:
    assert parse_size(text) == size
    assert parse_capacity(text) == pytest.approx(size, rel=1e-15)


@given(tenths=st.integers(1, 10**7), unit=st.sampled_from(["kB", "MB", "GB", "TB"]))
def test_every_tenth_of_a_decimal_unit_is_a_whole_number_of_bytes(tenths: int, unit: str) -> None:
    factor = 1000 ** (["kB", "MB", "GB", "TB"].index(unit) + 1)
    text = f"{tenths // 10}.{tenths % 10} {unit}"
    if tenths * factor // 10 < 10**18:
        assert parse_size(text) == tenths * factor // 10


@pytest.mark.parametrize("text", ["0 TB", "0.5 B", "1.0001 kB", "33.3 TiB", "4 Gb", "4 XB", "-1 B", "", "1e3 B"])
def test_what_is_no_whole_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_size(text)


@pytest.mark.parametrize("text", ["9" * 5000 + " B", "1000 PB", 10**18])
def test_what_no_disk_holds_is_too_large(text: str | int) -> None:
    with pytest.raises(OverflowError):
        parse_size(text)


def test_a_capacity_need_not_be_whole() -> None:
    assert parse_capacity("33.3 TiB") == 33.3 * 2**40
    with pytest.raises(OverflowError):
        parse_capacity("9" * 306 + " PB")


def test_rates_have_the_same_units() -> None:
    assert parse_rate("1 PB/s") == 1e15
