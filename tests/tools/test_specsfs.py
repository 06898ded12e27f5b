"""Summaries of SPEC SFS 2014 and SPECstorage 2020, text and XML: hand-made after what SPEC's manager writes."""

from functools import partial

import pytest

from glusterlab.tools import recognise, specsfs
from tests.tools import reading
from tests.tools.reading import document
from tests.tools.reports import SPECSFS as TEXT
from tests.tools.reports import SPECSFS_HEADER as HEADER
from tests.tools.reports import specsfs_row as row

whole, damaged, workloads = (
    partial(read, tool="specsfs") for read in (reading.runs, reading.damaged, reading.workloads)
)

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
        assert recognise(document(text)) == "specsfs"
    for text in ("Business Metric\n", "<summary><run/></summary>", "1 2 3 VDA\n"):
        assert specsfs.recognise(document(text)) == 0


FEWER = (
    "Business Requested Achieved Avg Lat Total Workload Valid\nMetric Op Rate Op Rate (ms) KBps Name Run\n"
    "10 100.00 100.10 1.5 2048.0 VDI\n"
)
LOG = "     SPECstorage(TM) Solution 2020 Release        $Revision: 2512 $\n"


@pytest.mark.parametrize(
    ("text", "name", "rate", "workers", "version", "valid"),
    [
        (HEADER + row(100, 450, "450.029", "my own"), "my own", 450.029, 200, None, True),
        (HEADER + row(100, 1000, "Error-3"), "VDA", None, 200, None, False),
        (HEADER + row(100, 1000, "0.000"), "VDA", None, 200, None, False),
        (LOG + HEADER + row(100, 1000, "1000.5"), "VDA", 1000.5, 200, "2512", True),
        (FEWER, "VDI", 100.1, None, None, True),
        # a last line without its end may have lost INVALID_RUN; the blanks of an empty column say that it is empty
        (HEADER + row(100, 1000, "1000.5").rstrip(), "VDA", 1000.5, 200, None, None),
        (HEADER + row(100, 1000, "1000.5").rstrip("\n"), "VDA", 1000.5, 200, None, True),
        # the judgement may stand in a line of its own
        *(
            (HEADER + row(100, 1000, "1000.5", valid=f"{between}INVALID_RUN"), "VDA", 1000.5, 200, None, False)
            for between in ("", "\n", "\n> ")
        ),
    ],
)
def test_rows(
    text: str, name: str, rate: float | None, workers: int | None, version: str | None, valid: bool | None
) -> None:
    (run,) = whole(text)
    assert (run.job, run.operations_per_s, run.workers, run.tool_version) == (name, rate, workers, version)
    assert (run.valid, run.throughput_bytes_per_s) == (valid, (2048 if text == FEWER else 460360.5) * 1024)


def test_no_cut_of_a_text_is_valid_where_the_whole_is_not() -> None:
    text = HEADER + row(100, 1000, "900.5", "EDA_BLENDED", "INVALID_RUN")
    for place in range(len(HEADER) - 100, len(text) - 1):
        records, error = workloads(text[:place])
        assert records or error is not None
        assert not any(record.valid for record in records)
        assert all(record.job in {"EDA", "EDA_BLENDED"} for record in records)


def test_no_cut_of_an_xml_is_valid_where_the_whole_is_not() -> None:
    for place in range(1, XML.index("</summary>") + 9):
        records, _ = damaged(XML[:place])
        assert [record.valid for record in records] == [True, False][: len(records)]


@pytest.mark.parametrize(
    "text",
    [
        XML.replace("2000.50</metric>", "2000.50"),
        '<!DOCTYPE s [<!ENTITY a "aaaa">]>' + XML.split("\n", 1)[1].replace("2000.50", "&a;"),
    ],
)
def test_of_a_damaged_xml_or_one_with_entities_the_runs_that_are_whole_are_kept(text: str) -> None:
    records, error = damaged(text)
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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEADER, 2),
        (HEADER + "no rows\n", 3),
        ('<summary id="0"><business_metric/></summary>', 1),
        (HEADER[:200], 1),
        (TEXT.replace("Op Rate      Op Rate", "Op Rate      Op Tempo"), 1),  # unknown columns are not guessed
    ],
)
def test_no_result_is_refused(text: str, line: int) -> None:
    records, error = damaged(text)
    assert (records, error.line) == ([], line)
