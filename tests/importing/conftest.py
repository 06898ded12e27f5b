"""A tool that exists only here, whose files say in each line what a test needs; and a folder of such files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from glusterlab import cli
from glusterlab.reasons import Reason
from glusterlab.tools import tools
from glusterlab.tools.base import Tool
from glusterlab.tools.document import Document
from glusterlab.tools.records import Record, WorkloadRecord


class Tally:
    """Reader of lines such as ``tally write workers=4 size=1048576 rate=2.5``; ``cut`` is where a file was cut off."""

    def recognise(self, document: Document) -> float:
        return 1.0 if "tally " in document.head else 0.0

    def read(self, document: Document) -> Iterator[Record]:
        for number, line in enumerate(document.lines, start=1):
            words = line.split()
            if words[:1] == ["cut"]:
                raise document.error("expected a whole line, found a cut", number)
            if words[:1] == ["tally"]:
                yield self._record(document, number, words)

    def _record(self, document: Document, number: int, words: list[str]) -> WorkloadRecord:
        said = dict(word.split("=", 1) for word in words[2:])
        valid = {"yes": True, "no": False, "unknown": None}[said.get("valid", "yes")]
        reasons = () if valid else (Reason(code="tool-incomplete", message="a worker is missing"),)
        whole = {name: int(said[name]) if name in said else None for name in ("workers", "size", "record")}
        return WorkloadRecord(
            tool="tally",
            tool_version="1.0",
            source=document.source(number),
            run=int(said.get("run", "1")),
            host=said.get("host"),
            job=said.get("job"),
            operation=words[1],  # type: ignore[arg-type]
            label=words[1],
            workers=whole["workers"],
            file_size_bytes=whole["size"],
            record_size_bytes=whole["record"],
            throughput_bytes_per_s=float(said["rate"]) if "rate" in said else None,
            valid=valid,
            reasons=reasons,
        )


TALLY = Tool(name="tally", recognise=Tally().recognise, read=Tally().read)


@pytest.fixture(autouse=True)
def _tally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tools(), "tally", TALLY)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that commands are started in, with an empty folder ``results``."""
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(cli.DEBUG, raising=False)
    return tmp_path


Put = Callable[..., Path]


@pytest.fixture
def put(project: Path) -> Put:
    """Writes a file of the folder: lines of the tool, or any text."""

    def write(name: str, *lines: str) -> Path:
        path = project / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


def line(operation: str = "write", **said: object) -> str:
    """A line of the tool, whole unless it is told otherwise."""
    words = {"workers": 4, "size": 1 << 20, "rate": 100.0} | said
    return " ".join(["tally", operation, *(f"{name}={value}" for name, value in words.items() if value is not None)])


def run(*arguments: str) -> Result:
    """``glusterlab import results --as mine`` with more arguments."""
    return CliRunner().invoke(
        cli.app, ["import", "results", "--as", "mine", *arguments], env={"COLUMNS": "200", "TERM": "dumb"}
    )


def run_json(*arguments: str) -> dict[str, object]:
    """What the same command says as JSON."""
    found = json.loads(run(*arguments, "--json").stdout)
    assert isinstance(found, dict)
    return found


SAR = """\
Linux 6.1.0 (s1) \t2024-03-01 \t_x86_64_\t(2 CPU)

10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle
10:00:02        all      1.00      0.00      2.00      0.00      0.00     97.00
10:00:04        all     11.00      0.00      2.00      0.00      0.00     87.00
"""
"""A report of sar, hand-made after the documented format."""

SADF = """\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
s1;2;1709287202;-1;1.00;0.00;2.00;0.00;0.00;97.00
"""
"""The same by sadf -d -U."""
