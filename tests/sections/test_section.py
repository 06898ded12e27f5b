"""What a notebook starts with: where the campaign is, where figures go, and what is said when there is nothing."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import itables
import pandas as pd
import pytest

from glusterlab.analysis import efficiency, select
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.errors import DataError, UsageError
from glusterlab.figures.explorer import BATCH
from glusterlab.figures.save import SavedFigure
from glusterlab.figures.tables import MAX_TABLE_ROWS, SavedTable, to_csv
from glusterlab.plots import draw_per_disk
from glusterlab.sections.baseline import Baseline
from glusterlab.sections.section import Section, open_section
from glusterlab.store.files import file_digest
from glusterlab.tables import build as tables
from tests.cli.conftest import CAMPAIGN

Make = Callable[..., pd.DataFrame]

CLUSTER = """
schema_version: 1
name: testbed
servers: [{name: s1}, {name: s2}]
clients: [{name: c1}]
hardware:
  {disks_per_server: 12, disk_write: 205 MB/s, disk_read: 212 MB/s, array_write: 1224 MB/s, array_read: 1107 MB/s,
   server_link: 20 Gbit/s, client_link: 10 Gbit/s}
backings:
  jbod: {bricks: [/bricks/d01, /bricks/d02], kind: jbod}
  raid6: {bricks: [/bricks/a01], disks_per_brick: 12, kind: raid6}
scale_models: {large-file: {scale: 200}}
testbed: {name: default, state: /var/lib/testbed}
"""


@pytest.fixture
def project(tmp_path: Path, large_samples: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with a campaign whose tables are synthetic."""
    raw = tmp_path / "raw" / "night"
    raw.mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    (raw / "cluster.yaml").write_text(CLUSTER)
    (raw / "campaign.yaml").write_text(CAMPAIGN)
    (raw / "MANIFEST.sha256").write_text("")
    loaded = SimpleNamespace(samples=large_samples, telemetry=pd.DataFrame())
    monkeypatch.setattr(tables, "load", lambda *_: loaded)
    return tmp_path


@pytest.mark.parametrize("folder", [".", "notebooks", "raw/night"])
def test_a_relative_campaign_is_found_from_anywhere_in_the_project(
    project: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / folder)
    section = open_section("raw/night")
    assert section.folder == project / "figures" / "night"
    assert section.formats == ("svg", "png", "csv")
    assert (section.provenance.campaign, section.provenance.release) == ("night", "10.3")
    assert section.provenance.testbed


def test_a_campaign_with_a_target_says_so_in_the_footer(
    project: Path, monkeypatch: pytest.MonkeyPatch, large_samples: pd.DataFrame
) -> None:
    monkeypatch.chdir(project)
    rows = large_samples.head(2).assign(n=[3, 4])
    assert " · n = 3 to 4 · " in open_section("raw/night").provenance.footer(rows)
    bounds = CAMPAIGN.replace("repeats: 3", "repeats: {max: 9, half_width: 2.5%}")
    (project / "raw" / "night" / "campaign.yaml").write_text(bounds)
    assert " · n = 3 to 4, repeated until ± 2.5 % · " in open_section("raw/night").provenance.footer(rows)


def test_figures_and_published_numbers_are_where_they_are_asked_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert open_section("raw/night", "figures/other").folder == project / "figures" / "other"
    assert open_section("raw/night", "/elsewhere").folder == Path("/elsewhere")
    section = open_section(str(project / "raw" / "night"), "", study="azure")
    assert section.folder == project / "figures" / "night"
    assert (section.base, section.raw) == (project, project / "raw" / "night")
    assert section.published_folder == project / "raw" / "published" / "azure"
    assert open_section("raw/night").published_folder == project / "raw" / "published" / "supermicro-2017"
    with pytest.raises(DataError, match=r"expected a campaign in raw/none.*glusterlab run"):
        open_section("raw/none")
    with pytest.raises(UsageError, match="among svg, png, csv"):
        open_section("raw/night", formats="gif")


@pytest.fixture
def section(project: Path, monkeypatch: pytest.MonkeyPatch) -> Section:
    monkeypatch.chdir(project)
    study = project / "raw" / "published" / "supermicro-2017" / "study.yaml"
    study.parent.mkdir(parents=True)
    name, outputs = study.parent.name, "{F: fig, T: tab, G: demo-g}"
    study.write_text(f"schema_version: 1\nstudy: {name}\ntitle: A study\noutputs: {outputs}\n")
    return open_section("raw/night")


def best_disks(section: Section) -> pd.DataFrame:
    return efficiency(select(section.samples, tool="iozone"), "throughput_bytes_per_s", section.published)


FRAME = {"title": "4 GB files", "caption": "Per disk.", "missing": "No such cells."}


def test_a_frame_is_drawn_on_and_saved_with_numbers_and_caption(section: Section) -> None:
    table = best_disks(section)
    with section.figure("fig12-per-disk", table, **FRAME) as figure:
        axes = figure.panel()
        axes.barh(table["series"] + table["operation"], table["mean"])
        figure.finding = f"{table['series'].iloc[0]} is first"
        figure.subtitle = ["Bar: mean.", "Of all disks.", "What a reader needs not at once.", "Per disk."]
    assert isinstance(figure.saved, SavedFigure)
    assert [path.suffix for path in figure.saved.files] == [".svg", ".png", ".csv"]
    numbers = section.folder / "fig12-per-disk.csv"
    origin = {"campaign": "night", "digest": section.provenance.digest[:12]}
    assert numbers.read_text() == to_csv(table.assign(**origin))
    finding = "Disperse 12x(4+2), JBOD is first."
    caption = {"alt": f"F12: 4 GB files. {finding} Per disk.", "title": "4 GB files"}
    caption["caption"] = f"{finding} Per disk. What a reader needs not at once."
    caption["csv_sha256"] = file_digest(numbers)
    assert json.loads((section.folder / "fig12-per-disk.json").read_text()) == caption
    svg = (section.folder / "fig12-per-disk.svg").read_text()
    assert all(
        text in svg for text in (f"F12  {finding[:-1]}", "4 GB files.", "Bar: mean.", "night · GlusterFS 10.3 · n = 3")
    )


def draw(section: Section, name: str, table: pd.DataFrame) -> object:
    with section.figure(name, table, **FRAME) as figure:
        draw_per_disk(figure, table, unit="MB/s", factor=1e-6)
    return figure.saved


def test_a_frame_without_rows_is_not_measured_whatever_its_body_does(section: Section) -> None:
    table = best_disks(section)
    draw(section, "fig12-per-disk", table)
    assert repr(draw(section, "fig12-per-disk", table.iloc[:0])) == "F12, 4 GB files: not measured. No such cells."
    assert [path.name for path in section.folder.rglob("*.*")] == ["fig12-per-disk.json"]
    name = "demo-g1-per-disk"
    assert repr(draw(section, name, table.iloc[:0])) == "G1, 4 GB files: not measured. No such cells."
    # the project's own has no number
    draw(section, "extra-per-disk", table)
    assert json.loads((section.folder / "extra-per-disk.json").read_text())["alt"].startswith("4 GB files. ")
    assert repr(draw(section, "extra-per-disk", table.iloc[:0])) == "4 GB files: not measured. No such cells."


MISTAKES = ["figure.panl()", "draw_per_disk(figure, tabel)", "draw_per_disk(figure, table, units=1)", "table['meen']"]


@pytest.mark.parametrize("body", MISTAKES)
@pytest.mark.parametrize("measured", [True, False])
def test_a_mistake_in_a_body_shows_and_leaves_the_last_figure(section: Section, body: str, measured: bool) -> None:
    draw(section, "fig12-per-disk", best_disks(section))
    before = {path: path.read_bytes() for path in section.folder.rglob("*.*")}
    table = best_disks(section).iloc[: None if measured else 0]
    with (
        pytest.raises((NameError, AttributeError, TypeError, KeyError)) as error,
        section.figure("fig12-per-disk", table, **FRAME) as figure,
    ):
        exec(body, {"draw_per_disk": draw_per_disk}, {"figure": figure, "table": table})
    told = error.value.__notes__[0]
    assert told.startswith(f"fig12-per-disk is drawn from a table of {len(table)} rows with ")
    assert "series" in told
    assert {path: path.read_bytes() for path in section.folder.rglob("*.*")} == before


@pytest.mark.parametrize(
    "body", ["table['mean'].iloc[0]", "1 // len(table)", "max(table['mean'])", "none.root", "no['x']"]
)
def test_what_missing_rows_explain_is_not_measured(section: Section, body: str) -> None:
    # none: of a cluster that is not known; no: a table that nothing filled
    no = pd.DataFrame()
    table = no if body.startswith("no[") else pd.DataFrame(columns=["series", "mean"])
    with section.figure("fig12-per-disk", table, title="4 GB files") as figure:
        exec(body, {"table": table, "none": None, "no": no})
    assert repr(figure.saved) == "F12, 4 GB files: not measured. The campaign has nothing to put into it."


@pytest.mark.parametrize(
    "name", ["by-workers", "tab03-parts", "fig5-x", "fig05", "../fig05-x", "fig05-x/y", "Extra-x", "demo-h1-x"]
)
def test_other_names_of_figures_are_refused(section: Section, name: str) -> None:
    with pytest.raises(UsageError, match=r"figNN-<slug> or extra-<slug>"):
        draw(section, name, section.samples)
    with pytest.raises(
        UsageError,
        match=r"tabNN-<slug> or extra-<slug> or .*, in small letters, found 'fig05-x'; .*outputs of .*/study.yaml",
    ):
        section.table("fig05-x", section.samples, title="", caption="")
    section = replace(section, published_folder=section.published_folder.with_name("none"))
    with pytest.raises(UsageError, match=r"a study, which campaign.yaml names in the key study$"):
        section.table("fig05-x", section.samples, title="", caption="")


PARTS = pd.DataFrame({"part": ["chassis <1>", "disk"], "count": [6, 72], "price, USD": [2499.5, float("nan")]}, [7, 9])


def test_a_table_is_saved_and_shown(section: Section) -> None:
    shown = section.table("tab03-parts", PARTS, title="Bill of materials", caption="As the guide has it.")
    assert isinstance(shown, SavedTable)
    numbers = section.folder / "tab03-parts.csv"
    origin = f"night,{section.provenance.digest[:12]}"
    head = 'part,count,"price, USD",campaign,digest'
    assert numbers.read_text().splitlines() == [head, f"chassis <1>,6,2499.5,{origin}", f"disk,72,,{origin}"]
    caption = json.loads((section.folder / "tab03-parts.json").read_text())
    digest = {"csv_sha256": file_digest(numbers)}
    assert caption == {"caption": "As the guide has it.", "kind": "table", "title": "Bill of materials"} | digest
    assert repr(shown).splitlines() == [
        "T3  Bill of materials",
        "",
        "part         count  price, USD",
        "chassis <1>      6      2499.5",
        "disk            72",
    ]
    html = shown._repr_html_()
    assert "T3  Bill of materials" in html
    assert "<td>chassis &lt;1&gt;<td class=n>6" in html
    rows = pd.DataFrame({"worker": range(MAX_TABLE_ROWS + 5)})
    long = section.table("extra-workers", rows, title="Workers", caption="")
    assert repr(long).endswith("and 5 more rows")
    assert "5 more rows" in long._repr_html_()
    assert len((section.folder / "extra-workers.csv").read_text().splitlines()) == MAX_TABLE_ROWS + 6


def test_a_table_can_be_sorted_by_hand(section: Section, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}
    monkeypatch.setattr(itables, "init_notebook_mode", lambda **_: None)
    monkeypatch.setattr(itables, "show", lambda frame, **how: seen.update({"frame": frame, **how}))
    saved = section.table("tab03-parts", PARTS, title="Bill of materials")
    assert isinstance(saved, SavedTable)
    saved.sortable()
    assert (seen["caption"], list(seen["frame"]["part"])) == ("T3  Bill of materials", ["chassis <1>", "disk"])


def test_a_view_of_the_report_stands_in_a_frame_and_its_name_says_what_it_shows(
    section: Section, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = {"per": "disks", "nominal_size": 4 << 30, "series": ["a|b", "<x>"]}
    monkeypatch.chdir(section.folder.parent.parent)
    shown = section.explore("files_per_s", **choices)
    html = shown._repr_html_()
    assert 'src="figures/site/explore-alone.html"' in html
    view = "campaign=night&q=files_per_s&per=disks&only-nominal_size=4294967296&only-series=a%7Cb%7C%3Cx%3E"
    assert f'name="{view.replace("&", "&amp;")}"' in html
    assert repr(shown) == f"figures/site/explore.html#{view}"
    with pytest.raises(UsageError, match=r"choices among per, x, .*, found 'nominal_file_size_bytes'"):
        section.explore(nominal_file_size_bytes=4 << 30)
    # in batch the notebook will lie beside its figures
    monkeypatch.setenv(BATCH, "1")
    assert 'src="../../site/explore-alone.html"' in section.explore()._repr_html_()


def test_a_table_without_rows_is_not_measured(section: Section) -> None:
    section.table("tab03-parts", PARTS, title="Parts", caption="")
    shown = section.table("tab03-parts", PARTS.iloc[:0], title="Parts", caption="", missing="No list.")
    assert repr(shown) == "T3, Parts: not measured. No list."
    assert [path.name for path in section.folder.iterdir()] == ["tab03-parts.json"]
    assert json.loads((section.folder / "tab03-parts.json").read_text()) == {"title": "Parts", "reason": "No list."}


def test_why_there_is_no_baseline_is_said(section: Section, tmp_path: Path) -> None:
    assert section.missing_baseline() == (
        "There is no baseline of the cluster testbed beside the campaign. "
        "`glusterlab check CLUSTER --baseline` measures one."
    )
    found = replace(section, baseline=Baseline(tmp_path / "testbed-baseline"))
    assert found.missing_baseline() == "The baseline testbed-baseline has no valid sample of it."
    assert "does not know its cluster" in replace(section, cluster=None).missing_baseline()


def test_limits_are_the_hardwares_divided_by_the_scale(section: Section, make_samples: Make) -> None:
    samples = make_samples({("replicate", "write", 12): [1.0]})
    lost = samples.assign(cell_id="lost", backing="nvme")
    stated = Limits(20e9 / 8 / 200, 10e9 / 8 / 200, 1224e6 / 200, 1107e6 / 200)
    assert section.limits(pd.concat([samples, lost])) == {samples["cell_id"].iloc[0]: stated}
    section.cluster.backings["raid6"] = section.cluster.backings["raid6"].model_copy(update={"kind": "raid0"})
    assert section.limits(samples) == {samples["cell_id"].iloc[0]: stated}
