"""What smallfile writes for ``--output-json``, under the names of all its versions since 2017.

Names changed from ``files-per-sec`` to ``filesPerSec``, from ``per-thread`` over ``hosts`` and ``in-host`` to ``host``,
and one is misspelt (``totalhreads``); so they are compared without hyphens, underscores and case. Until 2018 threads of
the same number on several hosts overwrote each other, until 2021 the last host overwrote the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from glusterlab.errors import ParseError
from glusterlab.readers.document import Document
from glusterlab.readers.smallfile_report import NEVER_S, SUCCESS, Report, Thread
from glusterlab.readers.wrapping import json_values, number, whole

_HOSTS = ("host", "hosts", "inhost")
_THREADS = ("thread", "threads", "inthread", "perthread")
_LEAST_S = 0.001
_DISTRIBUTIONS = {"-1": "fixed", "fixed": "fixed", "0": "random exponential", "exponential": "random exponential"}


def documents(document: Document) -> Iterator[Report]:
    """The reports in a file that holds JSON, alone, several, in a list, or with text around.

    Raises
    ------
    ParseError
        When one is cut off, damaged, or lacks what a report has, after those before it.
    """
    if '"params"' not in document.text:
        return
    for line, value in json_values(document.text):
        for inner in value if isinstance(value, list) else [value]:
            if is_report(inner):
                try:
                    yield report_of(inner, line)
                except ParseError as error:
                    raise document.error(error.message, line) from error


def is_report(value: object) -> bool:
    """Whether JSON data is a report of smallfile."""
    if not isinstance(value, dict):
        return False
    params, results = value.get("params"), value.get("results")
    return isinstance(params, dict) and isinstance(results, dict) and "operation" in params


def report_of(value: Any, line: int | None = None) -> Report:
    """The report in JSON data.

    Raises
    ------
    ParseError
        When it is none, or lacks the operation, the elapsed time, or the count or percentage of files.
    """
    if not is_report(value):
        raise ParseError("expected smallfile's JSON: an object of params and results")
    params, results = _plain(value["params"]), _plain(value["results"])
    distribution = params.get("filesizedistr")
    hosts = params.get("hostset")
    report = Report(
        line=line,
        version=_word(params.get("version")),
        operation=_word(params.get("operation")),
        hosts=tuple(hosts.split(",")) if isinstance(hosts, str) and hosts != "localhost" else (),
        threads_per_host=whole(params.get("threads")),
        files_per_thread=whole(params.get("filesperthread")),
        file_size_kb=whole(params.get("filesize")),
        distribution=None if isinstance(distribution, bool) else _DISTRIBUTIONS.get(str(distribution)),
        threads=whole(_first(results, "totalthreads", "totalhreads")),
        files=whole(_first(results, "totalfiles", "files")),
        records=whole(_first(results, "totaliorequests", "records")),
        percent_done=number(results.get("pctfilesdone")),
        elapsed_s=number(_first(results, "elapsedtime", "elapsed")),
        files_per_s=number(results.get("filespersec")),
        iops=number(_first(results, "totaliops", "iops")),
        mib_per_s=number(_first(results, "totalmibps", "mibps")),
        data_gib=number(results.get("totaldatagb")),
        start_time=number(results.get("starttime")),
        status=_word(results.get("status")),
    )
    needed = {"elapsed": report.elapsed_s, "files": report.files, "pctFilesDone": report.percent_done}
    lost = [name for name, found in needed.items() if found is None]
    if lost or report.operation is None:
        raise ParseError(f"expected smallfile's JSON with {' and '.join(lost) or 'operation'}, found it without")
    report.too_quick = (report.elapsed_s or 0) < _LEAST_S
    report.rows = list(_threads(results))
    return report


def _plain(stats: dict[str, Any]) -> dict[str, Any]:
    return {str(name).replace("-", "").replace("_", "").casefold(): value for name, value in stats.items()}


def _first(stats: dict[str, Any], *names: str) -> Any:
    return next((stats[name] for name in names if name in stats), None)


def _word(value: object) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _threads(results: dict[str, Any]) -> Iterator[Thread]:
    hosts = _first(results, *_HOSTS)
    levels = hosts.items() if isinstance(hosts, dict) else [(None, results)]
    for host, stats in levels:
        inner = _first(_plain(stats), *_THREADS) if isinstance(stats, dict) else None
        for name, thread in inner.items() if isinstance(inner, dict) else ():
            if isinstance(thread, dict):
                yield _thread(host, str(name), _plain(thread))


def _thread(host: str | None, name: str, stats: dict[str, Any]) -> Thread:
    elapsed = stats.get("elapsed")
    if isinstance(elapsed, list) and len(elapsed) == 1:  # a slip of 2017 to 2019
        elapsed = elapsed[0]
    seconds = number(elapsed)
    status = _word(stats.get("status")) or "ok"
    return Thread(
        host=host if host is not None else _word(stats.get("onhost")),
        name=name,
        elapsed_s=None if seconds is None or seconds >= NEVER_S else seconds,
        files=whole(_first(stats, "files", "filenumfinal")),
        records=whole(stats.get("records")),
        status="ok" if status in SUCCESS else status,
        mib_per_s=number(stats.get("mibps")),
    )
