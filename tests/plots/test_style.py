"""House style: layouts look the same everywhere, files repeat byte by byte, footers tell where numbers come from."""

import itertools
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from glusterlab.analysis import select, summarise
from glusterlab.errors import DataError, UsageError
from glusterlab.figures.save import parse_formats, save
from glusterlab.plots.saturation import COLOURS
from glusterlab.plots.style import (
    _FAMILIES,
    _KNOWN,
    _OTHERS,
    GREY,
    INK,
    Frame,
    Provenance,
    contrast,
    house_style,
    ink,
    layout_style,
    told_apart,
)
from tests.plots.drawing import MB, REAL, TESTBED, assert_apart, assert_inside_page, draw_by_workers, drawn, words


def grey(colour: str) -> float:
    red, green, blue = to_rgb(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_in_grey_replicated_layouts_are_darker_and_no_two_layouts_are_alike() -> None:
    styles = list(_KNOWN.values())
    assert len({style.colour for style in styles}) == len({style.marker for style in styles}) == len(styles)
    assert len({style.hatch for style in styles}) >= len(styles) - 1
    by_type: dict[str, list[float]] = {}
    for (type_, _, _), style in _KNOWN.items():
        by_type.setdefault(type_, []).append(grey(style.colour))
    assert max(by_type["replicate"]) < min(by_type["disperse"])
    shades = sorted(grey(style.colour) for style in _KNOWN.values())
    assert all(lighter - darker > 0.03 for darker, lighter in itertools.pairwise(shades))


CONFUSED = {
    "nobody": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}  # of linear RGB: Machado, Oliveira and Fernandes, IEEE TVCG 15 (2009), severity 1


def lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65) of linear RGB."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(linear, 0, 1) / (0.9505, 1, 1.089)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", CONFUSED)
def test_colours_of_layouts_are_apart_to_all_eyes(eyes: str) -> None:
    srgb = [np.array(to_rgb(style.colour)) for style in _KNOWN.values()]
    linear = [np.where(of <= 0.04045, of / 12.92, ((of + 0.055) / 1.055) ** 2.4) for of in srgb]
    seen = [lab(np.array(CONFUSED[eyes]) @ of) for of in linear]
    # 2.3 is just noticeable
    assert min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2)) > 9


def test_words_have_contrast_enough() -> None:
    assert (contrast("black"), contrast("white")) == pytest.approx((21, 1))
    for colour in (INK, GREY, *(style.colour for style in _KNOWN.values())):
        assert contrast(ink(colour)) >= 4.5
    assert (ink(INK), ink("#e3b23c") == to_rgb("#e3b23c")) == (INK, False)


def test_house_style_leaves_the_users_settings_alone() -> None:
    before = dict(mpl.rcParams)
    with house_style():
        assert mpl.rcParams["svg.hashsalt"] == "glusterlab"
    assert dict(mpl.rcParams) == before


@pytest.fixture
def summary(large_samples: pd.DataFrame) -> pd.DataFrame:
    return summarise(select(large_samples, tool="iozone"), "throughput_bytes_per_s")


def test_footers_say_what_stands_for_what_on_a_testbed_and_nothing_of_a_model_elsewhere() -> None:
    rows = pd.DataFrame({"n": [3, 5], "scale": 200, "file_size_bytes": 20 << 20, "nominal_file_size_bytes": 4 << 30})
    rows[["operations_limited", "heads"]] = False
    real = Provenance("night", "11.1", "f" * 64, testbed=False)
    assert real.footer(rows) == "night · GlusterFS 11.1 · n = 3 to 5 · manifest ffffffffffff"
    assert real.place([200.0], model=True) == "night · manifest ffffffffffff"
    assert TESTBED.footer(rows).endswith("scale model 1:200 on one machine, 20 MiB stands for 4 GiB")
    limited = rows.assign(operations_limited=True)
    assert TESTBED.footer(limited).endswith("20 MiB stands for 4 GiB · disk operations/s assumed")
    headed = rows.assign(heads=[True, False], scale=[20.0, 200.0])
    assert TESTBED.footer(headed).endswith(" 20 MiB stands for 4 GiB · disks with heads (1:20)")
    assert replace(TESTBED, latency_s=0.031).footer(headed).endswith(" · disks that answer after 31 ms (1:20)")
    assert TESTBED.place() == "synthetic · manifest 0123456789ab"
    assert TESTBED.place(model=True).endswith(" · scale model on one machine")
    assert TESTBED.place([200.0, 20.0, 60.0]).endswith(" · scale model 1:20, 1:60 and 1:200 on one machine")


@pytest.mark.parametrize("long", ["Reads of replicated volumes are faster " * 5, "x" * 200, "short"])
def test_a_title_and_what_is_below_it_stay_on_the_page(long: str) -> None:
    with house_style():
        frame = Frame(f"F5  {long}".rstrip())
        frame.subtitle = [long.strip()[:100], "How to read it.", long.strip()]
        frame.key = [Line2D([], [], label="a mark")]
        frame.panel().plot([1, 2], [1, 2])
        figure = frame.finish("night")
        assert_inside_page(figure)
        assert_apart(figure, [*figure.texts, *figure.legends[0].get_texts()])
    assert " ".join(words(figure).split()).replace(" ", "").count(long[:100].replace(" ", "")) >= 2
    assert frame.notes == [long.strip()]
    assert (len(figure.texts) == 4) == (long == "short")


@pytest.mark.parametrize(
    ("where", "lacking"),
    [
        (REAL, "n, found scale; add"),
        (TESTBED, "n, operations_limited, heads, file_size_bytes, nominal_file_size_bytes, found"),
    ],
)
def test_a_footer_names_the_columns_that_its_table_lacks(where: Provenance, lacking: str) -> None:
    with pytest.raises(DataError, match=f"columns {lacking}"):
        where.footer(pd.DataFrame({"scale": [200.0]}))


@pytest.mark.parametrize("formats", ["pdf", "svg,gif", "", ","])
def test_unknown_formats_are_refused(formats: str) -> None:
    with pytest.raises(UsageError, match="among svg, png, csv"):
        parse_formats(formats)


def test_files_repeat_byte_by_byte_and_hold_what_is_drawn(summary: pd.DataFrame, tmp_path: Path) -> None:
    names = ["fig05-x.csv", "fig05-x.png", "fig05-x.svg"]
    for folder in ("one", "two"):
        saved = save(drawn(draw_by_workers, summary, **MB), tmp_path / folder, "fig05-x", summary)
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == names
    assert repr(saved) == "<fig05-x: 12 values drawn>"
    csv, png, svg = ((tmp_path / "one" / name).read_bytes() for name in names)
    assert [(tmp_path / "two" / name).read_bytes() for name in names] == [csv, png, svg]
    assert b"Software" not in png
    assert b"<dc:date>" not in svg
    read = pd.read_csv(tmp_path / "one" / "fig05-x.csv", dtype={"samples": str})
    assert read["samples"].eq("01;02;03").all()
    columns = ["mean", "low", "high"]
    pd.testing.assert_frame_equal(read[columns], summary[columns], rtol=1e-8, check_dtype=False)


def test_a_saved_figure_shows_its_png_also_where_the_csv_alone_is_kept(summary: pd.DataFrame, tmp_path: Path) -> None:
    saved = save(drawn(draw_by_workers, summary, **MB), tmp_path, "fig05-x", summary, ("csv",))
    assert saved._repr_png_().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["fig05-x.csv"]


def test_what_saturates_has_the_colour_of_no_layout() -> None:
    layouts = {style.colour for style in _KNOWN.values()} | {
        hue for hues in (*_FAMILIES.values(), _OTHERS) for hue in hues
    }
    assert not set(COLOURS.values()) & layouts


def test_states_of_one_layout_have_markers_of_their_own() -> None:
    plain, other = layout_style("replicate", "3x2", "raid6"), layout_style("disperse", "12x(4+2)", "jbod")
    found = told_apart({"untuned": plain, "coded": other, "tuned": plain, "hot": plain})
    assert [found[name].colour for name in found] == [plain.colour, other.colour, plain.colour, plain.colour]
    assert len({(style.colour, style.marker) for style in found.values()}) == 4
    assert found["untuned"] == plain


@pytest.mark.parametrize(
    ("finding", "sentence"),
    [("disperse leads", "Disperse leads"), ("nfs3 by ganesha.nfsd leads", "nfs3 by ganesha.nfsd leads"), ("", "")],
)
def test_a_finding_begins_as_a_sentence_but_for_ways_of_access(finding: str, sentence: str) -> None:
    frame = Frame("Large files")
    frame.finding = finding
    assert frame.sentence == sentence
