"""Places in a figure are found once for all of its pictures, and are those that matplotlib finds."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from glusterlab.figures.save import PNG_DPI, save, save_narrow
from glusterlab.plots.style import NARROW_IN, Frame, house_style
from tests.plots.drawing import assert_inside_page


def a_figure(top: float = 100.0) -> Figure:
    with house_style():
        frame = Frame("Title")
        frame.subtitle = ["How to read it."]
        axes = frame.panels(2, 2, height=2.5)
        for number, each in enumerate(axes.flat):
            each.plot([1, 2, 3], [0, top, 10.0**number])
            each.set_ylabel("a long name\nof two lines" if number % 2 else "short")
        return frame.finish("footer")


def places(figure: Figure) -> np.ndarray:
    """Bounds of all axes, as shares of the figure."""
    return np.array([axes.get_position(original=True).bounds for axes in figure.axes])


def test_places_are_those_that_matplotlib_finds_and_rounded(tmp_path: Path) -> None:
    ours, plain = a_figure(), a_figure()
    save(ours, tmp_path, "fig99-x", pd.DataFrame({"a": [1]}))
    with house_style():
        plain.savefig(io.BytesIO(), format="png", dpi=PNG_DPI)
    np.testing.assert_allclose(places(ours), places(plain), atol=1e-6)
    np.testing.assert_allclose(places(ours), places(ours).round(6), rtol=0, atol=1e-12)
    assert not np.allclose(places(ours), places(a_figure()), atol=1e-3)


def test_the_last_bits_of_a_place_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    find = ConstrainedLayoutEngine.execute
    noise = 0.0

    def noisy(self: ConstrainedLayoutEngine, figure: Figure) -> None:
        find(self, figure)
        for axes in figure.axes:
            # far from where the rounding changes, as a place of six digits and a bit of noise is
            x, y, width, height = (round(place, 6) + 1e-7 for place in axes.get_position(original=True).bounds)
            axes._set_position((x + noise, y, width + noise, height))  # type: ignore[attr-defined]

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", noisy)
    found = []
    for noise in (0.0, 1e-15, 3e-13):
        files = save(a_figure(), tmp_path / str(noise), "fig99-x", pd.DataFrame({"a": [1]})).files
        found.append({path.name: path.read_bytes() for path in files})
    assert found[0].keys() == {"fig99-x.svg", "fig99-x.png", "fig99-x.csv"}
    assert found[0] == found[1] == found[2]


def around(figure: Figure) -> list[str]:
    """What stands around the panels of a figure, word by word."""
    return " ".join(text.get_text() for text in figure.texts).split()


def test_a_phone_has_the_panels_below_one_another_with_their_names(tmp_path: Path) -> None:
    with house_style():
        frame = Frame("Title " * 12)
        frame.signs = [Line2D([], [], label=f"the mark number {n}") for n in range(5)]
        panels = frame.panels(2, 2, height=2.5, sharey="row", sharex="all")
        for axes, name in zip(panels[0], ("write", "read"), strict=True):
            axes.set_title(name)
        for axes in panels[:, 0]:
            axes.set_ylabel("MB/s")
        save(frame.finish("night · " + "a part of a footer " * 9), tmp_path, "fig99-x", pd.DataFrame({"a": [1]}))
        wide = around(frame.figure)
        save_narrow(frame.narrow("night · " + "a part of a footer " * 9), tmp_path, "fig99-x")
        assert_inside_page(frame.figure)
    assert frame.figure.get_size_inches()[0] == NARROW_IN
    assert around(frame.figure) == wide
    stacked: list[Axes] = panels.ravel().tolist()
    tops = [axes.get_position().y1 for axes in stacked]
    assert tops == sorted(tops, reverse=True)
    assert len({round(axes.get_position().x0, 3) for axes in stacked}) == 1
    assert [axes.get_title("left") for axes in stacked] == ["write", "read"] * 2
    assert {axes.get_ylabel() for axes in stacked} == {"MB/s"}
    assert (tmp_path / "narrow" / "fig99-x.png").is_file()


@pytest.mark.parametrize("wanting", ["a row of words that is wider than the picture " * 2, "over another", "narrow"])
def test_where_words_leave_no_room_a_phone_has_the_wide_picture(tmp_path: Path, wanting: str) -> None:
    (tmp_path / "narrow").mkdir()
    (tmp_path / "narrow" / "fig99-x.png").write_bytes(b"of an earlier run")
    with house_style():
        frame = Frame("Title")
        axes = frame.panel()
        axes.text(0.5, 0.5, wanting)
        if wanting == "over another":
            axes.text(0.52, 0.5, wanting)
        elif wanting == "narrow":
            axes.set_yticks([0.5], ["the name of a row, which takes most of the width of a phone"])
        frame.finish("night")
        save_narrow(frame.narrow("night"), tmp_path, "fig99-x")
    assert not [*(tmp_path / "narrow").iterdir()]
