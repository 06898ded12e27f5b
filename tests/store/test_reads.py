"""What a notebook reads is what it says: its section holds nothing else, and nothing else makes it run again."""

import hashlib
import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from glusterlab.errors import UsageError
from glusterlab.reproduce import execute
from glusterlab.reproduce.reproduce import reproduce
from glusterlab.sections.comparison import samples_together
from glusterlab.sections.section import Section, open_section
from glusterlab.store import digests as fingerprint
from glusterlab.store.digests import RawDigests, cell_tools, parse_reads, refuse_unknown
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST, Manifest
from tests.cli.conftest import CAMPAIGN
from tests.reproduce.in_process import run_in_this_process

DRAW = """
from pathlib import Path
from glusterlab.sections.section import open_section
samples = open_section(campaign, figures, "csv", reads=reads).samples
Path(figures, "fig{number}-tiny.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'/>")
Path(figures, "fig{number}-tiny.csv").write_text(samples.to_csv())
"""


def change(raw: Path, name: str, data: bytes) -> None:
    """Change a raw file and its line of the manifest: what another measurement would have left."""
    (raw / name).write_bytes(data)
    digests = {**Manifest.read(raw).digests, name: hashlib.sha256(data).hexdigest()}
    (raw / MANIFEST).write_text(Manifest(digests).text)


def a_file(raw: Path, tool: str, pattern: str) -> str:
    """The first file of a tool's cells that fits a pattern below the sample's folder."""
    return next(iter(sorted(raw.glob(f"cells/{tool}-*/sample-01/{pattern}")))).relative_to(raw).as_posix()


@pytest.fixture
def raw(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign in a project."""
    change(campaign, "campaign.yaml", CAMPAIGN.encode())
    (campaign.parents[1] / "notebooks").mkdir()
    monkeypatch.chdir(campaign.parents[1])
    return campaign


def section_of(raw: Path, reads: str) -> Section:
    return open_section(str(raw), str(raw.parents[1] / "figures"), "csv", reads=reads)


@pytest.mark.parametrize("text", ["", " , ", "*, iozone", "none, iozone", "none, *"])
def test_what_says_nothing_or_contradicts_itself_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"reads: expected tools separated by commas, '\*' for all or 'none'"):
        parse_reads(text)


def test_unknown_tools_are_refused_with_the_known_ones(raw: Path) -> None:
    refuse_unknown(("fio", "iozone-local"))
    with pytest.raises(
        UsageError, match=r"no tool gluster, iozon; there are dd, file-loop, fio, fio-local, iozone, iozone-local, ip"
    ):
        refuse_unknown(("iozon", "iozone", "gluster"))
    with pytest.raises(UsageError, match="no tool ior; there are dd, file-loop, fio, fio-local, iozone"):
        section_of(raw, "iozone, ior")


def test_tables_of_other_campaigns_are_kept_with_their_figures(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(raw, raw.parent / "other")
    monkeypatch.chdir("notebooks")
    section = section_of(raw, "iozone")
    names = f"raw/{raw.name}, raw/other"
    samples, sections = samples_together(section, f"../raw/{raw.name}", names, "iozone")
    assert [each.provenance.campaign for each in sections] == [raw.name, "other"]
    assert set(samples["other"]) == {raw.name}  # which has all cells of both
    assert (raw.parents[1] / "figures" / "other" / "tables").is_dir()
    assert not Path("figures").exists()


class TestSection:
    @pytest.mark.parametrize(
        ("reads", "tools"),
        [
            ("*", {"iozone", "smallfile"}),
            ("iozone", {"iozone"}),
            ("smallfile, iozone", {"iozone", "smallfile"}),
            ("none", set()),
            ("fio", set()),
        ],
    )
    def test_holds_rows_of_the_declared_tools_only(self, raw: Path, reads: str, tools: set[str]) -> None:
        section = section_of(raw, reads)
        assert section.provenance.release == "10.3"  # also without a sample
        assert set(section.samples["tool"].astype(str)) == tools
        assert len(section.samples) == 4 * ("iozone" in tools) + 2 * ("smallfile" in tools)
        # not even when asked for by name
        named = section.telemetry_of(section_of(raw, "*").samples)
        own = section.telemetry_of(section.samples)
        for table in (section.tables.workers, own, section.tables.telemetry, named):
            assert {str(cell).split("-")[0] for cell in table["cell_id"].unique()} == tools

    def test_telemetry_of_some_samples_is_that_of_their_cells(self, raw: Path) -> None:
        section = section_of(raw, "*")
        rows = section.samples[section.samples["operation"].astype(str) == "write"]
        whole = section.telemetry_of(section.samples)
        kept = whole[whole["cell_id"].astype(str).isin(set(rows["cell_id"].astype(str)))]
        assert section.telemetry_of(rows)["value"].tolist() == kept["value"].tolist() != []


class TestDigest:
    def test_of_a_tool_changes_with_its_files_and_those_of_the_campaign_only(self, raw: Path) -> None:
        asked = [("iozone",), ("smallfile",), (), ("iozone", "smallfile"), None]

        def digests() -> list[str]:
            known = RawDigests(raw)
            return [known.of(tools) for tools in asked]

        def changed(name: str) -> list[bool]:
            before = digests()
            change(raw, name, (raw / name).read_bytes() + b" ")
            return [old != new for old, new in zip(before, digests(), strict=True)]

        assert changed(a_file(raw, "smallfile", "workload/stdout.txt")) == [False, True, False, True, True]
        assert changed(a_file(raw, "iozone", "gluster/before/health.json")) == [True, False, False, True, True]
        assert changed("environment.json") == [True] * 5

    def test_is_of_the_files_of_the_manifest(self, raw: Path) -> None:
        digests = Manifest.read(raw).digests
        lines = [f"{name} {word}\n" for name, word in sorted(digests.items()) if "cells/iozone-" not in name]
        known = RawDigests(raw)
        assert known.of(("smallfile",)) == hashlib.sha256("".join(lines).encode()).hexdigest()
        assert known.of(("iozone", "smallfile")) == known.whole
        assert known.of(None) == file_digest(raw / MANIFEST) == section_of(raw, "*").provenance.digest

    def test_one_tool_may_have_the_beginning_of_another_one_s_name(self, raw: Path) -> None:
        cell = next(raw.glob("cells/iozone-write-*"))
        data = json.loads((cell / "cell.json").read_bytes())
        data["cell"]["tool"] = "iozone-local"
        change(raw, f"cells/{cell.name}/cell.json", json.dumps(data).encode())
        assert cell_tools(raw, Manifest.read(raw))[cell.name] == "iozone-local"

    @pytest.mark.parametrize("data", [b"", b"{truncated", b"[]", b'{"cell": {"tool": 3}}', b"\xff\xfe\x00"])
    def test_a_cell_of_no_known_tool_counts_for_every_notebook(self, raw: Path, data: bytes) -> None:
        cell = next(raw.glob("cells/smallfile-*"))
        change(raw, f"cells/{cell.name}/cell.json", data)
        before = RawDigests(raw).of(("iozone",))
        change(raw, f"cells/{cell.name}/sample-01/log.txt", b"other")
        assert RawDigests(raw).of(("iozone",)) != before


class TestReproduce:
    @pytest.fixture(autouse=True)
    def _no_kernel(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(execute, "process", run_in_this_process)
        # nothing but what the test changes is to make anything run
        monkeypatch.setattr(fingerprint, "LIBRARY", tmp_path / "library")

    def test_a_changed_sample_runs_the_notebooks_that_read_it(self, raw: Path) -> None:
        project = raw.parents[1]
        for name, reads in (("10-large", "iozone"), ("20-small", "iozone, smallfile")):
            parameters = f'campaign: str = "raw/small"\nfigures: str = ""\nreads: str = "{reads}"'
            cells = [
                new_markdown_cell("# A question"),
                new_code_cell(parameters, metadata={"tags": ["parameters"]}),
                new_code_cell(DRAW.format(number=name[:2])),
            ]
            nbformat.write(new_notebook(cells=cells), project / "notebooks" / f"{name}.ipynb")
        first = reproduce(project=project, jobs=1)
        assert not first.failed, first.failed[0].traceback or first.failed[0]
        assert sorted(first.ran) == ["small/10-large", "small/20-small"]
        assert reproduce(project=project).ran == ()
        large = project / "figures" / "small" / "fig10-tiny.csv"
        before = large.read_bytes()

        name = a_file(raw, "smallfile", "workload/output.json")
        change(raw, name, (raw / name).read_bytes() + b"\n")
        second = reproduce(project=project)
        assert (second.ran, second.unchanged) == (("small/20-small",), ("small/10-large",))
        assert json.loads((large.parent / ".reproduce.json").read_text())["noted"]["earlier"] == []
        # and what was left alone would have come out the same, to the byte
        assert reproduce(project=project, notebooks=["10"], force=True).ran == ("small/10-large",)
        assert large.read_bytes() == before

        name = a_file(raw, "iozone", "workload/stdout.txt")
        change(raw, name, (raw / name).read_bytes() + b"\n")
        assert sorted(reproduce(project=project).ran) == ["small/10-large", "small/20-small"]
