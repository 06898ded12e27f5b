"""Drawings of a cluster: all that the table says is there, nothing lies over something else, of any size of pool."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from glusterlab.analysis.describe import hosts_table, server_models_table
from glusterlab.plots.style import Provenance, wrapped
from glusterlab.plots.topology import draw_bed, draw_pool, draw_server_models, text_width
from glusterlab.spec import load_cluster
from tests.plots.drawing import REAL, assert_apart, assert_says, drawn, words

RUNBOOK = Path(__file__).parents[2] / "runbooks" / "supermicro-2017"
MODEL = Provenance("night", "10.3", "0123456789abcdef", testbed=True)


def hosts(servers: int, clients: int, disks: int = 12, name: str = "server{:02d}") -> pd.DataFrame:
    def rows(role: str, count: int, form: str, disks: int, link: float) -> pd.DataFrame:
        bricks = f"jbod: {disks} bricks of 1 disk" if disks else ""
        shared = {"role": role, "model": f"A {role}", "parts": "parts", "disks": disks, "bricks": bricks}
        names = [form.format(number) for number in range(1, count + 1)]
        return pd.DataFrame({"host": names, **shared, "link_bytes_per_s": link})

    return pd.concat([rows("server", servers, name, disks, 2.5e9), rows("client", clients, "client{:02d}", 0, 1.25e9)])


def on(draw: Callable[..., None], table: pd.DataFrame, where: Provenance, **settings: Any) -> Figure:
    """A drawing of a cluster, with the footer that the notebook gives it."""
    footer = where.place(settings.get("scales", ()), model=True)
    return drawn(draw, table, footer=footer, testbed=where.testbed, **settings)


def named(figure: Figure) -> list[Text]:
    """Texts of the drawing itself."""
    return [text for text in figure.axes[0].texts if text.get_text().strip()]


def assert_tidy(figure: Figure) -> None:
    """Every text lies within the page, and none over another."""
    assert_apart(figure, [*named(figure), *figure.texts])


def squares(figure: Figure) -> list[Rectangle]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


SIZES = [(1, 1, 1), (3, 2, 12), (6, 12, 24), (12, 12, 90), (128, 128, 24)]


@pytest.mark.parametrize(("servers", "clients", "disks"), SIZES)
@pytest.mark.parametrize("name", ["server{:02d}", "storage-node-{:04d}.rack7.example.com"])
def test_pools_of_any_size_are_drawn_without_overlap(servers: int, clients: int, disks: int, name: str) -> None:
    table = hosts(servers, clients, disks, name)
    pool = on(draw_pool, table, REAL, mount="/mnt/glusterlab")
    bed = on(draw_bed, table, REAL, switch="A switch")
    assert "mounted below /mnt/glusterlab on every client" in words(pool)
    for figure in (pool, bed):
        assert_tidy(figure)
        said = words(figure)
        assert_says(
            figure,
            f"{servers} server{'s' * (servers > 1)}",
            f"jbod: {disks} bricks of 1 disk",
            f"{clients} client{'s' * (clients > 1)}",
            never=["Scale model"],
        )
        shown = min(servers, 7) if servers > 12 else servers
        assert len(squares(figure)) == shown * disks
        assert ("121 more" in said) == (servers == 128)


def test_a_bed_has_the_rates_of_its_links_and_wider_lines_for_faster_ones() -> None:
    figure = on(draw_bed, hosts(6, 12), REAL, switch="Switch 9000")
    said = words(figure)
    assert {"20 Gbit/s each", "10 Gbit/s each", "Switch 9000"} <= {text.get_text() for text in named(figure)}
    assert "A server is A server; parts." in said
    widths = [line.get_linewidth() for line in figure.axes[0].get_lines()]
    assert sorted(set(widths)) == pytest.approx([1.6, 3.2])
    assert (widths.count(1.6), widths.count(3.2)) == (12, 6)


def test_a_scale_model_says_so_in_the_figure_and_in_its_footer() -> None:
    for figure, rates in (
        (on(draw_pool, hosts(6, 12), MODEL, mount="/mnt", scales=[200, 20]), "real rates"),
        (on(draw_bed, hosts(6, 12), MODEL, switch="", scales=[200, 20]), "the rates shown"),
    ):
        assert_says(
            figure,
            f"network namespaces on one machine; disks and links run at 1/20 or 1/200 of {rates}",
            "night · manifest 0123456789ab · scale model 1:20 and 1:200 on one machine",
        )
        assert_tidy(figure)
    assert_says(figure, "a bridge on this machine, in place of a switch", "A server stands for A server")


@pytest.mark.parametrize("file", ["cluster", "cluster-dense"])
def test_the_runbook_s_clusters_are_drawn_with_their_parts(file: str) -> None:
    cluster = load_cluster(RUNBOOK / f"{file}.yaml")
    [name] = cluster.server_models
    table = hosts_table(cluster, name)
    figure = on(draw_bed, table, REAL, switch=cluster.hardware.switch or "")
    assert_tidy(figure)
    assert cluster.server_models[name].model in words(figure)
    assert len(squares(figure)) == len(cluster.servers) * cluster.hardware.disks_per_server
    models = on(draw_server_models, server_models_table(cluster), REAL)
    assert_tidy(models)
    assert "72 TB (12 x 6 TB)" in words(models) or "144 TB (24 x 6 TB)" in words(models)


def test_kinds_of_server_stand_side_by_side_and_say_what_is_not_stated() -> None:
    clusters = [load_cluster(RUNBOOK / f"{file}.yaml") for file in ("cluster", "cluster-dense")]
    table = pd.concat([server_models_table(cluster) for cluster in clusters])
    table.loc[table["name"] == "dense", "nvme"] = ""
    figure = on(draw_server_models, table, MODEL)
    assert_tidy(figure)
    said = words(figure)
    assert all(part in said for part in ("standard server", "dense server", "one machine"))
    assert said.count("not stated") == 1
    # of what none states there is no row
    assert "NVMe" not in words(on(draw_server_models, table.assign(nvme=""), REAL))


def test_lines_are_as_long_as_there_is_room() -> None:
    lines = wrapped("some words that take more than one line of the page", 1.0, text_width)
    assert " ".join(lines) == "some words that take more than one line of the page"
    assert len(lines) > 2
    assert max(text_width(line) for line in lines) <= 1.0
    assert "".join(wrapped("unbreakableunbreakable", 0.2, text_width)) == "unbreakableunbreakable"
