"""What runs again and what does not; with a real kernel where the kernel matters."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import nbformat
import pytest

from glusterlab.errors import GlusterlabError, RawStoreError, UsageError
from glusterlab.parallel import FORKED
from glusterlab.reproduce import execute
from glusterlab.reproduce import reproduce as reproducing
from glusterlab.reproduce.execute import with_outputs_of
from glusterlab.reproduce.reproduce import reproduce
from glusterlab.reproduce.state import LOCK, Progress, ReproduceSummary, figures_of, put
from glusterlab.store import digests as fingerprint
from glusterlab.store.baselines import Search
from glusterlab.store.digests import NotebookSource
from glusterlab.store.manifest import list_files
from glusterlab.tables import build as tables
from tests.hosts.shell import ends
from tests.pools import pool_data
from tests.reproduce.in_process import run_in_this_process

PARAMETERS = 'campaign: str = "raw/x"  # folder\nfigures: str = "figures/x"'
DRAW = """
from pathlib import Path
value = Path(campaign, "value.txt").read_text()
folder = Path(figures)
(folder / "fig{number}-tiny.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'/>")
(folder / "fig{number}-tiny.csv").write_text("workers,value\\n1," + value)
"""

CAMPAIGN = """\
schema_version: 1
name: demo
study: supermicro-2017
seed: 1
layouts: [{name: mirror, type: replicate, geometry: 1x2, backing: raid6}]
workloads: [{tool: iozone, operations: write, file_size: 1 MiB, model: large-file}]
workers: 2
"""


def cell(source: str, *tags: str, kind: str = "code") -> dict[str, Any]:
    """One cell of a notebook file."""
    common = {"cell_type": kind, "id": hashlib.sha256(source.encode()).hexdigest()[:8], "metadata": {"tags": [*tags]}}
    return {**common, "source": source} | ({"outputs": [], "execution_count": None} if kind == "code" else {})


class Project:
    """A project in a temporary folder, with one campaign and notebooks of a few cells."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.raw = root / "raw" / "demo"
        self.figures = root / "figures" / "demo"
        (root / "notebooks").mkdir()
        self.raw.mkdir(parents=True)
        self.write_raw("5\n")
        (root / "requirements.lock").write_text("numpy==2.0\n")
        self.write("10-first")
        self.write("20-second")
        self.events: list[Progress] = []

    def write(
        self,
        name: str,
        code: str | None = None,
        text: str = "# A question",
        parameters: str = PARAMETERS,
        study: str = "*",
    ) -> None:
        source = DRAW.format(number=name[:2]) if code is None else code
        cells = [cell(text, kind="markdown"), cell(parameters, "parameters"), cell(source, "draw")]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        metadata = {**kernel, "glusterlab": {"study": study}}
        notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
        (self.root / "notebooks" / f"{name}.ipynb").write_text(json.dumps(notebook))

    def write_raw(self, text: str, manifest: bool = True) -> None:
        (self.raw / "value.txt").write_text(text)
        if manifest:
            digest = hashlib.sha256(text.encode()).hexdigest()
            (self.raw / "MANIFEST.sha256").write_text(f"value.txt {digest}\n")

    @property
    def noted(self) -> dict[str, list[str]]:
        """What a report says of the figures."""
        found: dict[str, list[str]] = json.loads((self.figures / ".reproduce.json").read_text())["noted"]
        return found

    def files(self) -> dict[Path, bytes]:
        """Of the figures folder, without what is remembered of it."""
        remembered = (".reproduce.json", ".raw.json")
        found = [path for path in self.figures.rglob("*") if path.is_file() and path.name not in remembered]
        return {path: path.read_bytes() for path in found}

    def run(self, *raw: Path, **options: Any) -> ReproduceSummary:
        self.events.clear()
        return reproduce(raw, project=self.root, progress=self.events.append, **options)


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition; fail when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def processes_with(variable: str) -> list[str]:
    """Processes that have a variable in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable.encode() in path.read_bytes().split(b"\0"):
                found.append(path.parent.name)
    return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks run by `exec` in this process: enough where the question is what runs."""

    monkeypatch.setattr(execute, "process", run_in_this_process)


BOTH = ("demo/10-first", "demo/20-second")


@pytest.mark.usefixtures("no_kernel")
class TestWhatRuns:
    def test_a_check_of_what_never_ran_leaves_no_folder(self, project: Project) -> None:
        found = project.run(check=True)
        assert (sorted(found.stale), found.ran, found.exit_code) == (list(BOTH), (), 1)
        assert not project.figures.exists()

    def test_one_notebook_leaves_other_sections_alone_also_without_a_state(self, project: Project) -> None:
        note = '(folder / "extra-none.json").write_text(\'{"title": "<Nothing>", "reason": "Not here."}\')'
        project.write("20-second", code=DRAW.format(number=20) + note, text="# The second\n\nIs it there?")
        project.run()
        before = project.files()
        # as in a fresh clone
        shutil.rmtree(project.figures / "notebooks")
        (project.figures / ".reproduce.json").unlink()
        assert project.run(notebooks=["10"]).ran == BOTH[:1]
        assert project.files().items() <= before.items()

    @pytest.mark.parametrize(
        ("change", "stale"),
        [
            ("fig10-tiny.csv deleted", BOTH[:1]),
            ("fig10-tiny.svg edited", BOTH[:1]),
            ("fig10-tiny.svg deleted", BOTH[:1]),
            ("fig10-tiny.json edited", BOTH[:1]),
            ("notebooks/10-first.ipynb edited", BOTH[:1]),
            ("text", BOTH[:1]),
            ("raw", BOTH),
            (".reproduce.json edited", BOTH),
            (".reproduce.json deleted", BOTH),
            ("fig99-by-hand.svg edited", ["demo/fig99-by-hand.svg"]),
            ("notebook gone", ["demo/fig20-tiny.csv", "demo/fig20-tiny.svg"]),
        ],
    )
    def test_a_check_says_what_a_run_would_make_again(self, project: Project, change: str, stale: list[str]) -> None:
        note = '(folder / "fig10-tiny.json").write_text(\'{"title": "Tiny"}\')'
        project.write("10-first", code=DRAW.format(number=10) + note)
        project.run()
        before = project.files()
        name, _, how = change.partition(" ")
        path = project.figures / name
        match how:
            case "deleted":
                path.unlink()
            case "edited":
                path.write_text("{truncated")
            case "gone":
                (project.root / "notebooks" / "20-second.ipynb").unlink()
            case _ if name == "raw":
                project.write_raw("6\n")
            case _:
                project.write("10-first", code=DRAW.format(number=10) + note, text="# Another question")
        changed = project.files()
        found = project.run(check=True)
        assert (sorted(found.stale), found.exit_code, found.failed) == (sorted(stale), 1, ())
        assert project.files() == changed
        again = project.run()
        assert sorted(again.ran + again.rendered) == [name for name in stale if "." not in name]
        assert bool(again.rendered) == (change == "text")
        if how in ("deleted", "edited"):
            assert project.files() == before
        assert project.run(check=True).exit_code == 0

    def test_another_output_folder_is_ours_only_when_we_began_it(self, project: Project) -> None:
        mine = project.root / "mine" / "demo"
        mine.mkdir(parents=True)
        (mine / "fig99-holiday.png").write_text("mine")
        with pytest.raises(UsageError, match=r"expected a folder that reproduce made, or an empty one, found fig99"):
            project.run(output=project.root / "mine")
        assert [path.name for path in mine.iterdir()] == ["fig99-holiday.png"]
        assert project.run(output=project.root / "new").figures_dirs == (project.root / "new" / "demo",)
        (project.root / "new" / "demo" / "figure1.png").write_text("mine")
        assert project.run(output=project.root / "new", force=True).exit_code == 0
        assert (project.root / "new" / "demo" / "figure1.png").read_text() == "mine"

    def test_nothing_runs_when_nothing_changed(self, project: Project) -> None:
        project.run()
        before = {path: path.stat().st_mtime_ns for path in project.files()}
        (project.raw / "value.txt").touch()
        summary = project.run()
        assert (summary.ran, summary.unchanged) == ((), BOTH)
        assert before == {path: path.stat().st_mtime_ns for path in project.files()}
        assert [event.outcome for event in project.events] == ["unchanged", "unchanged"]

    def test_what_a_notebook_says_counts_where_plain_python_hands_it_on(self, project: Project) -> None:
        notebook = project.root / "notebooks" / "10-first.ipynb"
        unread = ("%time reads", "reads = 1", "\0", 'x = "it reads all"  # reads')
        for code, reads in (("print(reads)", ("iozone",)), *((code, None) for code in unread)):
            project.write("10-first", parameters=f'{PARAMETERS}\nreads: str = "iozone"', code=code)
            assert NotebookSource.read(notebook).reads == reads

    def test_what_is_linked_to_from_the_project_is_there(
        self, project: Project, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        (project.root / "raw").rename(elsewhere / "raw")
        (project.root / "raw").symlink_to(elsewhere / "raw")
        for name in ("raw/published/table.csv", "lists/prices.yaml", "one.txt"):
            (elsewhere / name).parent.mkdir(exist_ok=True)
            (elsewhere / name).write_text("1")
        runbooks = project.root / "runbooks"
        runbooks.mkdir()
        (runbooks / "lists").symlink_to(elsewhere / "lists")
        (runbooks / "one.txt").symlink_to(elsewhere / "one.txt")
        # one that leads back, and one that leads nowhere
        (runbooks / "again").symlink_to(runbooks)
        (runbooks / "gone").symlink_to(elsewhere / "gone")
        names = ("raw/published/table.csv", "runbooks/lists/prices.yaml", "runbooks/one.txt")
        code = f"from pathlib import Path\ntexts = [Path(figures, '../..', name).read_text() for name in {names}]\n"
        project.write("20-second", code=code + "Path(figures, 'fig20-x.csv').write_text(''.join(texts))")
        assert not project.run().failed
        assert (project.figures / "fig20-x.csv").read_text() == "111"
        (elsewhere / "raw" / "published" / "table.csv").write_text("2")
        assert len(project.run().ran) == 2
        assert (project.figures / "fig20-x.csv").read_text() == "211"

    @pytest.mark.parametrize("what", ["installed", "library", "raw", "requirements.lock", "raw/published/table.csv"])
    def test_what_all_depend_on_runs_all_once(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        from importlib import metadata

        installed, library = metadata.version, project.root / "library"
        library.mkdir()
        monkeypatch.setattr(fingerprint, "LIBRARY", library)
        project.run()
        if what == "installed":
            monkeypatch.setattr(metadata, "version", lambda name: "0" if name == "seaborn" else installed(name))
        elif what == "library":
            (library / "tables.py").write_text("A = 1")
        elif what == "raw":
            project.write_raw("6\n")
        else:
            (project.root / what).parent.mkdir(exist_ok=True)
            (project.root / what).write_text("other")
        assert sorted(project.run().ran) == list(BOTH)
        text = (project.figures / "fig20-tiny.csv").read_text()
        assert text == f"workers,value\n1,{6 if what == 'raw' else 5}\n"
        assert project.run().ran == ()
        assert len(project.run(force=True).ran) == 2

    @pytest.mark.parametrize("folder", ["runbooks", "mine"])
    def test_a_file_that_a_parameter_names_counts_by_its_content(self, project: Project, folder: str) -> None:
        prices = project.root / folder / "prices.yaml"
        prices.parent.mkdir()
        prices.write_text("server: 1")
        # absolute, or relative to the project, as the campaign is
        named = prices if folder == "runbooks" else "mine/prices.yaml"
        code = 'from pathlib import Path\ntext = Path(figures, "../..", prices).read_text()\n'
        code += 'Path(figures, "fig20-prices.csv").write_text(text)'
        project.write("20-second", code=code, parameters=f'{PARAMETERS}\nprices: str = "{named}"  # list of prices')
        assert len(project.run().ran) == 2
        prices.write_text("server: 2")
        assert project.run().ran == BOTH[1:]
        assert (project.figures / "fig20-prices.csv").read_text() == "server: 2"
        prices.touch()
        assert project.run().ran == ()

    @pytest.mark.parametrize("text", ["x" * 5000, "a\\0b", "*"])
    def test_a_parameter_that_can_be_no_path_is_none(self, project: Project, text: str) -> None:
        project.write("20-second", parameters=f'{PARAMETERS}\nwords: str = "{text}"')
        assert not project.run().failed
        assert project.run().unchanged == BOTH

    def test_the_notebook_that_takes_longest_begins_first(self, project: Project) -> None:
        project.write("20-second", code=DRAW.format(number=20) + "# show( show(")
        project.write("30-third", code=DRAW.format(number=30) + "# telemetry")
        project.run(jobs=1)
        started = [event.notebook for event in project.events if event.outcome == "started"]
        assert started == ["30-third", "20-second", "10-first"]

    def test_figure_that_is_no_longer_measured_goes_although_the_state_is_lost(self, project: Project) -> None:
        project.run()
        (project.figures / ".reproduce.json").unlink()
        note = 'from pathlib import Path\nPath(figures, "fig10-tiny.json").write_text(\'{"reason": "x"}\')'
        project.write("10-first", code=note)
        project.run(notebooks=["10"])
        assert sorted(path.name for path in project.figures.glob("fig10*")) == ["fig10-tiny.json"]
        assert (project.figures / "fig20-tiny.svg").exists()

    def test_what_no_notebook_makes_goes_when_all_run(self, project: Project) -> None:
        project.run()
        other = project.figures / "fig99-by-hand.svg"
        other.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        assert project.run(notebooks=["10"]).unchanged == BOTH[:1]
        assert other.exists()
        (project.root / "notebooks" / "20-second.ipynb").unlink()
        assert project.run().unchanged == BOTH[:1]
        assert sorted(path.name for path in project.figures.glob("fig*")) == ["fig10-tiny.csv", "fig10-tiny.svg"]
        assert sorted(path.stem for path in (project.figures / "notebooks").iterdir()) == ["10-first"]
        assert "20-second" not in (project.figures / ".reproduce.json").read_text()

    def test_figures_stay_when_anything_failed(self, project: Project) -> None:
        project.run()
        (project.root / "notebooks" / "20-second.ipynb").unlink()
        project.write("10-first", parameters="campaign = 1")
        assert project.run().exit_code == 1
        assert (project.figures / "fig10-tiny.svg").exists()
        assert (project.figures / "fig20-tiny.svg").exists()
        assert not (project.figures / "notebooks" / "20-second.ipynb").exists()

    def test_figures_of_an_earlier_run_are_noted(self, project: Project) -> None:
        project.run()
        assert project.noted == {"failed": [], "earlier": []}
        project.write_raw("6\n")
        project.write("20-second", code=DRAW.format(number=21))
        project.run(notebooks=["20-second.ipynb"])
        assert not (project.figures / "fig20-tiny.svg").exists()
        assert project.noted["earlier"] == ["fig10-tiny.csv", "fig10-tiny.svg"]
        project.run()
        assert project.noted["earlier"] == []

    def test_notebook_put_back_has_not_failed(self, project: Project) -> None:
        project.run()
        notebook = project.root / "notebooks" / "10-first.ipynb"
        source = notebook.read_bytes()
        project.write("10-first", parameters="campaign = 1")
        project.run()
        assert project.noted == {"failed": ["10-first"], "earlier": ["fig10-tiny.csv", "fig10-tiny.svg"]}
        notebook.write_bytes(source)
        assert project.run().unchanged == BOTH
        assert project.noted == {"failed": [], "earlier": []}

    def test_campaign_outside_the_project(self, project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "other"
        project.raw.rename(elsewhere)
        assert project.run(elsewhere).figures_dirs == (project.root / "figures" / "other",)
        assert (project.root / "figures" / "other" / "fig10-tiny.csv").exists()

    def test_every_campaign_is_reproduced_and_fails_alone(self, project: Project) -> None:
        other = project.root / "raw" / "other"
        shutil.copytree(project.raw, other)
        summary = project.run()
        assert sorted(summary.ran) == sorted([*BOTH, "other/10-first", "other/20-second"])
        assert summary.figures_dirs == (project.figures, project.root / "figures" / "other")
        (other / "value.txt").write_text("8\n")
        project.write("10-first", code=DRAW.format(number=10) + "# changed")
        summary = project.run()
        assert (summary.ran, summary.unchanged) == (BOTH[:1], BOTH[1:])
        assert [failure.campaign for failure in summary.failed] == ["other"]

    def test_a_campaign_whose_cluster_file_is_none_fails_alone(self, project: Project) -> None:
        other = project.root / "raw" / "other"
        shutil.copytree(project.raw, other)
        (other / "cluster.yaml").write_text("servers: 3\n")
        list_files(other, [other / "cluster.yaml"])
        summary = project.run()
        assert sorted(summary.ran) == list(BOTH)
        (failure,) = summary.failed
        assert (failure.campaign, failure.notebook) == ("other", "")
        assert "other/cluster.yaml" in failure.error

    def test_a_notebook_whose_file_cannot_be_read_fails_alone(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.run()
        files = NotebookSource.named_files

        def unreadable(self: NotebookSource, *names: Any) -> dict[str, Path]:
            if self.path.stem == "10-first":
                raise RawStoreError("prices.yaml: cannot be read: Permission denied")
            return files(self, *names)

        monkeypatch.setattr(NotebookSource, "named_files", unreadable)
        summary = project.run()
        assert [str(failure) for failure in summary.failed] == [
            "demo/10-first: prices.yaml: cannot be read: Permission denied"
        ]
        assert summary.unchanged == BOTH[1:]
        assert project.noted["earlier"] == ["fig10-tiny.csv", "fig10-tiny.svg"]

    def test_a_baseline_and_published_numbers_are_no_campaigns(self, project: Project) -> None:
        (project.raw / "campaign.yaml").write_text(CAMPAIGN + "description: |\n  not origin: baseline\n")
        baseline = project.root / "raw" / "pool-baseline"
        baseline.mkdir()
        (baseline / "MANIFEST.sha256").write_text("")
        (baseline / "campaign.yaml").write_text("schema_version: 1\nname: pool-baseline\norigin: baseline\n")
        published = project.root / "raw" / "published"
        published.mkdir()
        (published / "MANIFEST.sha256").write_text("")
        summary = project.run()
        # one that only speaks of a baseline is a campaign
        assert (summary.figures_dirs, sorted(summary.ran), summary.failed) == ((project.figures,), [*BOTH], ())
        assert not (project.root / "figures" / "pool-baseline").exists()
        with pytest.raises(UsageError, match=r"pool-baseline is a baseline, .*: name a campaign that lies beside it"):
            project.run(baseline)
        shutil.rmtree(project.raw)
        with pytest.raises(UsageError, match="no campaign in"):
            project.run()

    def test_a_campaign_that_is_compared_counts_for_its_reference_alone(self, project: Project) -> None:
        newer = project.root / "raw" / "newer"
        newer.mkdir()

        def measure(text: str) -> None:
            (newer / "value.txt").write_text(text)
            (newer / "MANIFEST.sha256").unlink(missing_ok=True)
            list_files(newer, [newer / "value.txt"])

        measure("6\n")
        parameters = PARAMETERS + '\ncampaigns: str = "raw/demo, raw/newer, raw/never"'
        project.write("20-second", parameters=parameters)
        assert len(project.run().ran) == 4
        assert not project.run().ran
        measure("7\n")
        # the reference's notebook that compares, and both of the campaign that changed
        assert sorted(project.run().ran) == ["demo/20-second", "newer/10-first", "newer/20-second"]
        (project.root / "raw" / "never").mkdir()
        list_files(project.root / "raw" / "never", [])
        assert project.run(project.raw).ran == ("demo/20-second",)

    def test_a_campaign_has_the_notebooks_that_it_names(self, project: Project) -> None:
        def name(*notebooks: str) -> None:
            text = CAMPAIGN + f"notebooks: {json.dumps(notebooks)}\n"
            (project.raw / "campaign.yaml").write_text(text)

        project.run()
        name("20-second")
        assert project.run().unchanged == BOTH[1:]
        # as if the other notebook were gone
        assert not (project.figures / "fig10-tiny.svg").exists()
        assert not (project.figures / "notebooks" / "10-first.ipynb").exists()
        # whom the user asks for runs
        assert project.run(notebooks=["10"]).ran == BOTH[:1]
        name("20-second", "30-third")
        (failure,) = project.run().failed
        assert failure.error.startswith("no notebook 30-third: there are 10-first, 20-second")

    def test_samples_of_a_tool_that_no_notebook_names_are_told(self, project: Project) -> None:
        path = project.raw / "cells" / "one" / "cell.json"
        path.parent.mkdir(parents=True)
        path.write_text('{"cell": {"tool": "fio"}}')
        with (project.raw / "MANIFEST.sha256").open("a") as manifest:
            manifest.write(f"cells/one/cell.json {hashlib.sha256(path.read_bytes()).hexdigest()}\n")
        assert project.run().undrawn == ("demo/fio",)
        named = PARAMETERS + '\nreads: str = "fio"  # tools\n'
        project.write("10-first", DRAW.format(number="10") + "_ = reads\n", parameters=named)
        assert project.run().undrawn == ()


@pytest.mark.usefixtures("no_kernel")
class TestWhatIsRefused:
    @pytest.mark.parametrize("how", ["changed", "missing"])
    def test_raw_file_that_is_not_the_manifest_s(self, project: Project, how: str) -> None:
        project.run()
        (project.raw / "value.txt").unlink()
        if how == "changed":
            project.write_raw("7\n", manifest=False)
        summary = project.run()
        assert (summary.ran, summary.exit_code) == ((), 1)
        assert "value.txt" in str(summary.failed[0])
        assert "glusterlab verify" in str(summary.failed[0])

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ('campaign: str = "raw/x"\nfolder = 3', "no parameter figures (it has campaign, folder)"),
            (
                f'{PARAMETERS}\nreads: str = ""',
                "reads: expected tools separated by commas, '*' for all or 'none', found",
            ),
            (f'{PARAMETERS}\nreads: str = "iozone, *"', "'*' for all or 'none', found 'iozone, *'"),
            (f"{PARAMETERS}\nreads = None", "reads: expected a text such as 'iozone, smallfile', found something"),
            (f'{PARAMETERS}\nreads = "io" + "zone"', "reads: expected a text such as 'iozone, smallfile', found some"),
            ("no notebook", "10-first.ipynb cannot be read as a notebook"),
        ],
    )
    def test_a_notebook_that_cannot_be_run_before_anything_runs(
        self, project: Project, parameters: str, message: str
    ) -> None:
        project.write("10-first", parameters=parameters, code=DRAW.format(number=10) + "print(reads)")
        if parameters == "no notebook":
            (project.root / "notebooks" / "10-first.ipynb").write_text("no JSON")
            (project.raw / "campaign.yaml").write_text(CAMPAIGN)
        summary = project.run()
        assert summary.ran == BOTH[1:]
        assert str(summary.failed[0]).startswith("demo/10-first: ")
        assert message in str(summary.failed[0])
        assert not (project.figures / "notebooks" / "10-first.ipynb").exists()

    def test_a_notebook_that_is_for_another_study_before_anything_runs(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(project.root)
        other = project.raw.with_name("other")
        shutil.copytree(project.raw, other)
        for raw, study in ((project.raw, "supermicro-2017"), (other, "night")):
            (raw / "campaign.yaml").write_text(CAMPAIGN.replace("supermicro-2017", study))
            published = project.root / "raw" / "published" / study
            published.mkdir(parents=True)
            notebooks = {"night": "[20-second, 30-third]"}.get(study, "[]")
            text = f"schema_version: 1\nstudy: {study}\ntitle: A study\nnotebooks: {notebooks}\n"
            (published / "study.yaml").write_text(text)
        project.write("20-second", study="named")
        with pytest.raises(UsageError) as refused:
            project.run(project.raw, other, notebooks=["10", "20"])
        expected = (
            "notebook 20-second is for campaigns of the study night, and demo is of supermicro-2017: name another ",
            "list the notebook in ",
            "supermicro-2017/study.yaml, or set its metadata glusterlab.study to '*'",
        )
        assert all(part in str(refused.value) for part in expected)
        assert not project.events
        # of all campaigns those run that it is for
        assert project.run(notebooks=["20"], check=True).stale == ("other/20-second",)
        assert len(project.run(notebooks=["10", "20"], check=True).stale) == 3
        project.write("30-third", study="named")
        shutil.rmtree(other)
        with pytest.raises(UsageError, match="30-third is for campaigns of the study night, and demo is"):
            project.run(notebooks=["10", "30"])
        (project.raw / "campaign.yaml").write_text(CAMPAIGN.replace("study: supermicro-2017\n", ""))
        with pytest.raises(UsageError, match=r"demo is of no study: .*, name a study in its campaign.yaml, or set its"):
            project.run(project.raw, notebooks=["30"])
        # another study may name the campaign, and its own notebooks that draw something of it
        (project.root / "raw" / "published" / "day").mkdir()
        text = "schema_version: 1\nstudy: day\ntitle: A study\nnotebooks: [30-third]\nalso: {demo: [30-third]}\n"
        (project.root / "raw" / "published" / "day" / "study.yaml").write_text(text)
        assert project.run(project.raw, notebooks=["30"], check=True).stale == ("demo/30-third",)
        (project.raw / "campaign.yaml").write_text(CAMPAIGN + "notebooks: [20-second]\n")
        assert project.run(project.raw, check=True).stale == ("demo/20-second", "demo/30-third")
        # a campaign may name what is not for its study
        (project.raw / "campaign.yaml").write_text(CAMPAIGN + "notebooks: [20-second]\n")
        assert project.run(project.raw, notebooks=["20"]).ran == BOTH[1:]

    def test_no_campaign_and_no_such_notebook(self, project: Project) -> None:
        with pytest.raises(UsageError, match="no campaign: expected a folder with MANIFEST"):
            project.run(project.root / "notebooks")
        with pytest.raises(UsageError, match="no notebook 30: there are 10-first, 20-second"):
            project.run(notebooks=["30"])
        (project.raw / "MANIFEST.sha256").unlink()
        with pytest.raises(UsageError, match=r"no campaign in .*glusterlab run"):
            project.run()

    def test_a_second_run_on_the_same_figures(self, project: Project) -> None:
        with figures_of(project.figures, own=True):
            assert (project.figures / LOCK).is_file()
            with pytest.raises(UsageError, match=f"made there by process {os.getpid()} on .*; wait for it"):
                project.run()
        assert not project.figures.exists()
        assert len(project.run().ran) == 2

    def test_what_a_killed_run_left_holds_nothing(self, project: Project) -> None:
        project.figures.mkdir(parents=True)
        (project.figures / LOCK).write_text("process 1 on another")
        assert len(project.run().ran) == 2
        assert not (project.figures / LOCK).exists()


@pytest.mark.usefixtures("no_kernel")
class TestWhatGoesWrong:
    def test_figures_that_cannot_be_written_are_told_before_anything_runs(self, project: Project) -> None:
        (project.root / "figures").write_text("no folder")
        summary = project.run()
        assert (summary.ran, summary.exit_code) == ((), 1)
        assert [(event.notebook, event.outcome) for event in project.events] == [("", "failed")]
        assert "figures/demo: cannot be written" in str(summary.failed[0])

    def test_a_disk_that_fills_up_fails_what_was_to_be_put_there(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(made: Mapping[str, bytes], figures: Path) -> dict[str, str]:
            if "notebooks/10-first.ipynb" in made:
                raise RawStoreError("fig10: cannot be written: No space left on device")
            return put(made, figures)

        monkeypatch.setattr(reproducing, "put", full)
        summary = project.run()
        assert [str(failure) for failure in summary.failed] == [
            "demo/10-first: fig10: cannot be written: No space left on device"
        ]
        assert summary.ran == BOTH[1:]

    def test_no_space_for_what_is_temporary_is_a_result(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device", "/elsewhere"))
        monkeypatch.setattr(execute, "_view", full)
        summary = project.run()
        assert sorted(failure.notebook for failure in summary.failed) == ["10-first", "20-second"]
        assert summary.ran == ()
        for failure in summary.failed:
            assert "No space left on device" in failure.error
            assert "TMPDIR names another place for what is temporary" in failure.error

    def test_tables_that_cannot_be_made_have_failed(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        def write(*_: object, progress: Callable[[int, int], None], **__: object) -> None:
            progress(1, 2)
            raise GlusterlabError("stdout.txt: damaged")

        monkeypatch.setattr(tables, "write", write)
        summary = project.run(notebooks=["10"])
        assert [(event.notebook, event.outcome, event.message) for event in project.events] == [
            ("tables", "started", ""),
            ("tables", "failed", "demo/tables: stdout.txt: damaged"),
            ("10-first", "started", ""),
            ("10-first", "ran", ""),
        ]
        # this notebook reads none
        assert summary.exit_code == 0


class TestKernel:
    """Real runs by papermill: a few seconds each."""

    def test_failing_cell_is_named_and_the_other_notebook_finishes(self, project: Project) -> None:
        project.write("10-first", code="raise ValueError('seven is odd')")
        summary = project.run()
        (failure,) = summary.failed
        assert summary.exit_code == 1
        assert (failure.notebook, failure.cell, failure.tag) == ("10-first", 3, "draw")
        assert str(failure) == "demo/10-first, cell 3 (draw): ValueError: seven is odd"
        assert "seven is odd" in failure.traceback
        assert "\x1b" not in failure.traceback
        assert summary.ran == BOTH[1:]
        assert not (project.figures / "notebooks" / "10-first.ipynb").exists()
        assert project.noted["failed"] == ["10-first"]

    def test_dead_kernel_leaves_no_output(self, project: Project) -> None:
        code = DRAW.format(number=10) + "import os; os._exit(3)"
        project.write("10-first", code=code)
        (failure,) = project.run(notebooks=["10"]).failed
        assert (failure.cell, failure.tag) == (3, "draw")
        assert "DeadKernelError" in failure.error
        assert sorted(path.name for path in project.figures.rglob("*") if path.is_file()) == [".reproduce.json"]

    def test_kernel_ends_with_the_process_that_asks_it(self, project: Project) -> None:
        code = "import os, time\nos.mkdir(f\"{os.environ['SEEN']}-{os.getpid()}-{os.getppid()}\")\ntime.sleep(600)"
        project.write("10-first", code=code)
        with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as pool:
            patch.setenv("SEEN", str(project.root / "seen"))
            run = pool.submit(project.run, notebooks=["10"])
            wait_until(lambda: [*project.root.glob("seen-*")])
            (seen,) = project.root.glob("seen-*")
            kernel, asking = map(int, seen.name.split("-")[1:])
            os.kill(asking, signal.SIGKILL)
            (failure,) = run.result().failed
        assert "its process ended with -9" in failure.error
        assert ends(kernel)

    @pytest.mark.skipif(not FORKED, reason="processes are forked on Linux")
    def test_kernel_begins_with_what_notebooks_import(self, project: Project) -> None:
        code = "import sys; print('glusterlab.sections.section' in sys.modules, sys.flags.hash_randomization)"
        project.write("10-first", code=code)
        project.run(notebooks=["10"])
        executed = nbformat.read(project.figures / "notebooks" / "10-first.ipynb", as_version=4)
        assert executed.cells[-1].outputs[0]["text"].split() == ["True", "0"]

    def test_notebook_may_start_processes_and_reads_no_terminal(self, project: Project) -> None:
        lines = [
            "import os",
            "from concurrent.futures import ProcessPoolExecutor",
            "from multiprocessing import get_context",
            "with ProcessPoolExecutor(1, mp_context=get_context('spawn')) as pool:",
            "    print(pool.submit(abs, -7).result())",
            "print(os.readlink('/proc/self/fd/0'))" if FORKED else "print('/dev/null')",
        ]
        code = "\n".join(lines)
        project.write("10-first", code=code)
        assert not project.run(notebooks=["10"]).failed
        executed = nbformat.read(project.figures / "notebooks" / "10-first.ipynb", as_version=4)
        assert executed.cells[-1].outputs[0]["text"].split() == ["7", "/dev/null"]

    def test_cell_that_takes_too_long(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        # it is that of the other cells, too, which a busy machine may keep waiting
        monkeypatch.setattr(execute, "CELL_TIMEOUT", 10)
        project.write("10-first", code="import time; time.sleep(600)")
        (failure,) = project.run(notebooks=["10"]).failed
        assert failure.cell == 3
        assert "Timeout" in failure.error

    def test_notebook_that_takes_too_long(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(execute, "NOTEBOOK_TIMEOUT", 0.05)
        (failure,) = project.run(notebooks=["10"]).failed
        assert "not done within" in failure.error

    def test_interrupt_ends_the_kernels_and_leaves_no_output(self, project: Project) -> None:
        project.write("10-first", code="import os, time\nos.mkdir(os.environ['SEEN'])\ntime.sleep(600)")
        seen = project.root / "seen"
        script = "import sys; from pathlib import Path; from glusterlab.reproduce.reproduce import reproduce\n"
        script += "reproduce(project=Path(sys.argv[1]), notebooks=['10'])"
        run = subprocess.Popen(
            [sys.executable, "-c", script, str(project.root)],
            env={**os.environ, "SEEN": str(seen)},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until(seen.exists)
            run.send_signal(signal.SIGINT)
            assert "KeyboardInterrupt" in run.communicate(timeout=60)[1]
        finally:
            run.kill()
            run.communicate()
        wait_until(lambda: not processes_with(f"SEEN={seen}"))
        assert [path for path in project.figures.rglob("*") if path.is_file()] == []

    def test_kernel_of_the_user_is_not_taken(
        self, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spec = tmp_path / "jupyter" / "kernels" / "python3"
        spec.mkdir(parents=True)
        (spec / "kernel.json").write_text(json.dumps({"argv": ["false"], "display_name": "mine", "language": "python"}))
        monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
        monkeypatch.setenv("MPLBACKEND", "TkAgg")
        assert project.run(notebooks=["10"]).ran == BOTH[:1]

    def test_executed_notebook_and_retelling(self, project: Project) -> None:
        code = DRAW.format(number=10) + "import sys; print(sys.executable, campaign, figures, Path(campaign).exists())"
        project.write("10-first", code=code)
        project.run(notebooks=["10"])
        executed = project.figures / "notebooks" / "10-first.ipynb"
        output = nbformat.read(executed, as_version=4).cells[-1].outputs[0]["text"]
        assert output.split()[0] == sys.executable
        assert output.split()[1:] == ["raw/demo", "figures/demo", "True"]
        project.write("10-first", code=code, text="# Another question")
        assert project.run(notebooks=["10"]).rendered == BOTH[:1]
        told = nbformat.read(executed, as_version=4)
        assert told.cells[0].source == "# Another question"
        assert told.cells[-1].outputs[0]["text"] == output


@pytest.mark.usefixtures("no_kernel")
def test_a_baseline_that_is_measured_later_changes_the_limits_and_runs_notebooks_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.raw / "cluster.yaml").write_text(json.dumps(pool_data(1)))
    list_files(project.raw, [project.raw / "cluster.yaml"])
    baseline = project.root / "raw" / "pool-baseline"
    baseline.mkdir()
    (baseline / "campaign.yaml").write_text("origin: baseline\n")
    list_files(baseline, [baseline / "campaign.yaml"])
    found: list[Path | None] = [None]
    monkeypatch.setattr("glusterlab.reproduce.depends.search_baseline", lambda *_: Search(found[0]))
    assert len(project.run().ran) == 2
    assert not project.run().ran
    found[0] = baseline
    for name in ("one", "two"):
        (baseline / name).touch()
        list_files(baseline, [baseline / name])
        assert len(project.run().ran) == 2
        assert not project.run().ran
    # its numbers are in figures: they are to be those of its manifest
    (baseline / "campaign.yaml").write_text("origin: baseline # edited\n")
    (failure,) = project.run().failed
    assert "pool-baseline: not as MANIFEST.sha256 has it: campaign.yaml" in failure.error


def test_retelling_keeps_injected_parameters_after_the_parameters_cell() -> None:
    new = nbformat.v4
    tagged = new.new_code_cell("a = 1", metadata={"tags": ["parameters"]})
    injected = new.new_code_cell("a = 2", metadata={"tags": ["injected-parameters"]})
    source = new.new_notebook(cells=[new.new_markdown_cell("new"), tagged, new.new_code_cell("a")])
    ran = new.new_code_cell("a", execution_count=3)
    page = with_outputs_of(source, new.new_notebook(cells=[new.new_markdown_cell("old"), tagged, injected, ran]))
    assert [c.source for c in page.cells] == ["new", "a = 1", "a = 2", "a"]
    assert page.cells[-1].execution_count == 3
