"""Tables as people see them: rounded once, escaped, cut where they are long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glusterlab.figures.tables import MAX_ROWS, MAX_TABLE_ROWS, Table, shown


def test_a_whole_table_keeps_what_was_rounded_and_rounds_the_rest() -> None:
    table = Table.whole("name,rate,share,year,empty\nraid6,83684210.5,97.6 %,2017,\njbod,1.00,5 %,2018,\n")
    assert table.rows == (("raid6", "83,684,210", "97.6 %", "2017", ""), ("jbod", "1.00", "5 %", "2018", ""))
    assert table.numeric == (False, True, True, True, True)
    assert (table.same, table.more) == ((), 0)


def test_what_reads_as_a_number_stands_right_and_what_only_begins_like_one_left() -> None:
    for text in ("1", "-1.5", "1,224", "97.6 %", "1e-05", ".5", "+3", "nan", ""):
        assert Table.whole(f'a,b\n"{text}",x\n').numeric == (True, False)
    for text in ("3x2", "1:200", "n = 3", "-", "12 disks", "1.2.3"):
        assert Table.whole(f"a,b\n{text},1\n").numeric == (False, True)


def test_long_tables_are_cut_and_count_the_rest() -> None:
    text = "worker\n" + "".join(f"{n}\n" for n in range(MAX_TABLE_ROWS + 3))
    assert (len(Table.whole(text).rows), Table.whole(text).more) == (MAX_TABLE_ROWS, 3)
    assert (len(Table.numbers(text).rows), Table.numbers(text).more) == (MAX_ROWS, MAX_TABLE_ROWS + 3 - MAX_ROWS)


def test_lines_of_wrong_length_and_damage_do_not_stop_it() -> None:
    assert Table.whole("a,b\n1\n1,2,3\n").rows == (("1", ""), ("1", "2"))
    assert Table.whole("") == Table.numbers("") == Table()
    assert Table.numbers('a\n"\x00').rows in ((), (("\x00",),))


def test_html_is_escaped_and_text_is_aligned() -> None:
    table = Table.whole("<a>,n\n<script>,1\nplain,200\n")
    assert "<script>" not in table.html
    assert "&lt;script&gt;" in table.html
    assert table.html.count("class=n") == 3
    assert table.text == "<a>         n\n<script>    1\nplain     200"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shown_numbers_are_near_and_short(number: float) -> None:
    text = shown(repr(number))
    assert float(text.replace(",", "")) == pytest.approx(number, rel=5e-4, abs=0.5 if abs(number) >= 1000 else 0)


@given(st.text(max_size=200))
def test_any_text_is_a_table_or_nothing(text: str) -> None:
    for table in (Table.whole(text), Table.numbers(text)):
        assert all(len(row) == len(table.header) == len(table.numeric) for row in table.rows)
        assert table.html.startswith("<table>")
        assert isinstance(table.text, str)
