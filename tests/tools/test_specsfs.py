"""Summaries of SPEC SFS 2014 and SPECstorage 2020, text and XML: hand-made after what SPEC's manager writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import Document, recognise, specsfs
from glusterlab.tools.records import WorkloadRecord
from tests.hang import no_hang

HEADER = (
    "  Business    Requested     Achieved     Avg Lat       Total          Read        Write   Run    #    Cl   Avg"
    " File      Cl Data   Start Data    Init File     Max File   Workload       Valid\n"
    "    Metric      Op Rate      Op Rate        (ms)        KBps          KBps         KBps   Sec   Cl  Proc    Size"
    " KB      Set MiB      Set MiB      Set MiB    Space MiB       Name         Run\n"
)


def row(metric: int, requested: float, achieved: float | str, name: str = "VDA", valid: str = "           ") -> str:
    numbers = f"{metric:10d} {requested:12.2f} {achieved:>12} {6.08:11.3f} {460360.5:12.3f} {36000.25:12.3f}"
    sizes = (
        f"{424360.25:12.3f} {300:5d} {2:4d} {100:5d} {1048576:10d} {120000:12d} {240000:12d} {240000:12d} {264000:12d}"
    )
    return f"{numbers} {sizes} {name:>10} {valid}\n"


TEXT = HEADER + row(100, 1000, 1000.563) + row(200, 2000, 1803.001, valid="INVALID_RUN")

XML = """<?xml version="1.0" encoding="utf-8"?>
<summary id="0">
  <run fingerprint="0" id="1" time="1.5" version="1072">
    <business_metric>10</business_metric>
    <metric name="op rate" units="ops/s">2000.00</metric>
    <metric name="achieved rate" units="ops/s">2000.50</metric>
    <metric name="average latency" units="milliseconds">1.5</metric>
    <metric name="overall throughput" units="KB/s">100.5</metric>
    <metric name="read throughput" units="KB/s">60.25</metric>
    <metric name="write throughput" units="KB/s">40.25</metric>
    <metric name="run time" units="seconds">300</metric>
    <metric name="clients">3</metric>
    <metric name="processes per client">16.666666666666668</metric>
    <metric name="file size" units="KB">16</metric>
    <metric name="client data set size" units="MiB">11051.5625</metric>
    <benchmark name="SWBUILD"/>
    <valid_run/>
  </run>
  <run fingerprint="0" id="1" time="2.5" version="1072">
    <business_metric>20</business_metric>
    <metric name="op rate" units="ops/s">4000.00</metric>
    <metric name="achieved rate" units="ops/s">3000.50</metric>
    <metric name="overall throughput" units="KB/s">150.5</metric>
    <benchmark name="SWBUILD"/>
    <valid_run>INVALID_RUN</valid_run>
  </run>
</summary>
"""


def until_error(text: str) -> tuple[list[WorkloadRecord], ParseError | None]:
    records: list[WorkloadRecord] = []
    try:
        records.extend(specsfs.read(Document(Path("sfssum_x"), text.encode()).checked()))
    except ParseError as error:
        return records, error
    return records, None


def damaged(text: str) -> tuple[list[WorkloadRecord], ParseError]:
    records, error = until_error(text)
    assert error is not None
    return records, error


def whole(text: str) -> list[WorkloadRecord]:
    records, error = until_error(text)
    assert error is None
    return records


def test_text() -> None:
    first, second = whole(TEXT)
    assert (first.job, first.label, first.operation, first.run) == ("VDA", "VDA", "mixed", 1)
    assert (first.operations_per_s, first.latency_mean_s) == (1000.563, pytest.approx(6.08e-3))
    assert first.throughput_bytes_per_s == 460360.5 * 1024
    assert (first.elapsed_s, first.workers, first.file_size_bytes) == (300, 200, 1 << 30)
    assert (first.valid, first.reasons, first.tool_version, first.source.line) == (True, (), None, 3)
    assert first.details == {
        "business_metric": 100,
        "requested_operations_per_s": 1000.0,
        "read_throughput_bytes_per_s": 36000.25 * 1024, "write_throughput_bytes_per_s": 424360.25 * 1024,
        "clients": 2, "processes_per_client": 100,
        "client_data_set_bytes": 120000 << 20, "start_data_set_bytes": 240000 << 20,
        "initial_file_set_bytes": 240000 << 20, "maximum_file_space_bytes": 264000 << 20,
    }  # fmt: skip
    assert (second.run, second.valid, second.source.line) == (2, False, 4)
    assert "INVALID_RUN" in second.reasons[0].message


def test_xml() -> None:
    first, second = whole(XML)
    assert (first.job, first.tool_version, first.run, first.source.line) == ("SWBUILD", "1072", 1, 3)
    assert (first.operations_per_s, first.throughput_bytes_per_s) == (2000.5, 100.5 * 1024)
    assert (first.latency_mean_s, first.elapsed_s, first.file_size_bytes) == (1.5e-3, 300, 16 << 10)
    # the XML has the fraction that the text lacks
    assert first.workers == 50
    assert first.details["client_data_set_bytes"] == 11588403200
    assert (first.valid, second.valid) == (True, False)
    assert (second.run, second.source.line, second.latency_mean_s, second.workers) == (2, 19, None, None)


def test_recognition() -> None:
    for text in (TEXT, XML, "prompt$ cat sfssum_x.txt\n" + TEXT, row(1, 450, 450.03, "EDA_BLENDED")):
        assert recognise(Document(Path("x"), text.encode())) == "specsfs"
    for text in ("Business Metric\n", "<summary><run/></summary>", "1 2 3 VDA\n"):
        assert specsfs.recognise(Document(Path("x"), text.encode())) == 0


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(" ".join(line.split()) for line in TEXT.split("\n")),
        "\n".join(f">   {line}" for line in TEXT.split("\n")),
        "```\n" + TEXT.replace("\n", "\r\n") + "```\n",
        "\n".join(f"client1: {line}" for line in TEXT.split("\n")),
        TEXT.replace("  ", "\t"),
        "[root@c1 results]# cat sfssum_x.txt\n" + TEXT + "[root@c1 results]# exit\n",
        "".join(TEXT.splitlines(keepends=True)[2:]),
    ],
)
def test_what_people_do_to_text(text: str) -> None:
    found = [(record.operations_per_s, record.job, record.valid) for record in whole(text)]
    assert found == [(1000.563, "VDA", True), (1803.001, "VDA", False)]


def test_fewer_columns() -> None:
    text = (
        "Business Requested Achieved Avg Lat Total Workload Valid\n"
        "Metric Op Rate Op Rate (ms) KBps Name Run\n"
        "10 100.00 100.10 1.5 2048.0 VDI\n"
    )
    (record,) = whole(text)
    assert (record.operations_per_s, record.throughput_bytes_per_s, record.job) == (100.1, 2048 * 1024, "VDI")
    assert (record.workers, record.elapsed_s, record.valid) == (None, None, True)


def test_unknown_columns_are_not_guessed() -> None:
    records, error = damaged(TEXT.replace("Op Rate      Op Rate", "Op Rate      Op Tempo"))
    assert (records, error.line) == ([], 1)


def test_the_version_from_a_log_around_the_table() -> None:
    log = "     SPECstorage(TM) Solution 2020 Release        $Revision: 2512 $\n"
    assert [record.tool_version for record in whole(log + TEXT)] == ["2512", "2512"]


@pytest.mark.parametrize(
    ("achieved", "name", "rate", "valid"),
    [("450.029", "my own", 450.029, True), ("Error-3", "VDA", None, False), ("0.000", "VDA", None, False)],
)
def test_a_name_may_have_blanks_and_a_missing_value_is_a_failure(
    achieved: str, name: str, rate: float | None, valid: bool
) -> None:
    (record,) = whole(HEADER + row(100, 1000, achieved, name))
    assert (record.job, record.operations_per_s, record.valid) == (name, rate, valid)


def test_a_last_line_without_its_end_may_have_lost_invalid_run() -> None:
    cut = HEADER + row(100, 1000, "1000.5").rstrip()
    (record,) = whole(cut)
    assert (record.operations_per_s, record.valid) == (1000.5, None)
    # the blanks of an empty last column say that it is empty
    assert whole(HEADER + row(100, 1000, "1000.5").rstrip("\n"))[0].valid is True


def test_no_cut_of_a_text_is_valid_where_the_whole_is_not() -> None:
    text = HEADER + row(100, 1000, "900.5", "EDA_BLENDED", "INVALID_RUN")
    for place in range(len(HEADER) - 100, len(text) - 1):
        records, error = until_error(text[:place])
        assert records or error is not None
        assert not any(record.valid for record in records)
        assert all(record.job in {"EDA", "EDA_BLENDED"} for record in records)


def test_no_cut_of_an_xml_is_valid_where_the_whole_is_not() -> None:
    for place in range(1, XML.index("</summary>") + 9):
        records, _ = damaged(XML[:place])
        assert [record.valid for record in records] == [True, False][: len(records)]


def test_whole_runs_of_a_damaged_xml_are_kept() -> None:
    records, error = damaged(XML.replace("2000.50</metric>", "2000.50"))
    assert [(record.run, record.valid) for record in records] == [(1, False)]
    assert error.line is not None


def test_runs_in_comments_are_none() -> None:
    start, end = XML.index("  <run"), XML.index("</run>") + 6
    text = XML[:start] + "<!--" + XML[start:end] + "-->" + XML[end:]
    (record,) = whole(text)
    assert (record.run, record.valid, record.source.line) == (1, False, 19)


TWICE = '<metric name="achieved rate" units="ops/s">1.5</metric><benchmark'


@pytest.mark.parametrize(
    ("before", "after", "rate", "latency", "valid"),
    [
        ("<valid_run/>", "", 2000.5, 1.5e-3, None),
        ("<valid_run/>", "<valid_run>MAYBE</valid_run>", 2000.5, 1.5e-3, None),
        ("<benchmark", TWICE, None, 1.5e-3, False),
        ("milliseconds", "fortnights", 2000.5, None, True),
    ],
)
def test_xml_that_says_something_not_twice_or_otherwise(
    before: str, after: str, rate: float | None, latency: float | None, valid: bool | None
) -> None:
    (first, _) = whole(XML.replace(before, after, 1))
    assert (first.operations_per_s, first.latency_mean_s, first.valid) == (rate, latency, valid)


def test_xml_entities_are_refused() -> None:
    bomb = '<!DOCTYPE s [<!ENTITY a "aaaa">]>' + XML.split("\n", 1)[1].replace("2000.50", "&a;")
    assert [record.run for record in damaged(bomb)[0]] == [1]


@pytest.mark.parametrize(
    "text", [HEADER, HEADER + "no rows\n", '<summary id="0"><business_metric/></summary>', HEADER[:200]]
)
def test_no_result_is_refused(text: str) -> None:
    assert damaged(text)[0] == []


@pytest.mark.parametrize(
    "text",
    [
        HEADER + "1 " * 400_000,
        HEADER + "1 2 3\n" * 50_000,
        HEADER * 10_000,
        HEADER + "> " * 400_000,
        "<summary><business_metric>" + "<run >" * 100_000,
        "<summary><business_metric>" + "<!--" * 200_000,
        "<summary>" + "<run ><business_metric>1</run>" * 20_000,
        "1.1 " * 250_000,
        "a: " * 250_000 + HEADER,
    ],
    ids=range(9),
)
def test_hostile_text_is_refused_in_time(text: str) -> None:
    with no_hang():
        document = Document(Path("x"), text.encode())
        specsfs.recognise(document)
        records, _ = damaged(text)
    assert not any(record.valid for record in records)


def test_a_judgement_in_a_line_of_its_own_is_heard() -> None:
    for between in ("\n", "\n> "):
        first, second = whole(TEXT.replace("INVALID_RUN", f"{between}INVALID_RUN"))
        assert (first.valid, second.valid) == (True, False)
