"""Places in a figure are found once for all of its pictures, and are those that matplotlib finds."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from glusterlab.figures.save import PNG_DPI, save
from glusterlab.plots.style import Frame, house_style


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
