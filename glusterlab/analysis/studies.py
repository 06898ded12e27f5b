"""Appendix B of the Supermicro guide: three studies of what saturates, five figures each, over the number of workers.

F40 to F44 are of 128 GB files on a replicated volume, F45 to F49 of the same on a dispersed one, F50 to F54 of 32 KB
files on the replicated one. A campaign that lacks a layout or a size shows the nearest that it has, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from glusterlab.analysis.efficiency import with_published_totals
from glusterlab.analysis.limits import limit_curves, pool_limits, with_limits
from glusterlab.analysis.saturation import Limits, saturation
from glusterlab.analysis.scaling import Scaling, scaling_fits
from glusterlab.analysis.scaling_table import DRAWN, Fits, with_fit
from glusterlab.analysis.series import guide_layouts, layout_label, select, select_nearest, size_note, summarise
from glusterlab.units import format_size

if TYPE_CHECKING:
    from glusterlab.spec.campaign import Campaign
    from glusterlab.spec.cluster import Cluster

_ADJECTIVES = {"replicate": "replicated", "disperse": "dispersed", "distribute": "distributed"}


@dataclass(frozen=True, slots=True)
class Study:
    """What one study of the appendix measured.

    Attributes
    ----------
    slug : str
        In file names.
    first : int
        Number of the first of its five figures.
    type, geometry, kind : str
        Of the guide's layout.
    tool : str
    nominal_file_size_bytes : int
    files : str
        The files as the guide calls them.
    quantity, unit, factor
        What throughput is, the unit of its axis, and the factor from the SI unit to that.
    """

    slug: str
    first: int
    type: str
    geometry: str
    kind: str
    tool: str
    nominal_file_size_bytes: int
    files: str
    quantity: str = "throughput_bytes_per_s"
    unit: str = "MB/s"
    factor: float = 1e-6

    @property
    def layout(self) -> str:
        """The guide's layout as figures name it."""
        return layout_label(self.type, self.geometry, self.kind)


STUDIES = (
    Study("large-replicate", 40, "replicate", "6x2", "raid6", "iozone", 128 << 30, "128 GB files"),
    Study("large-disperse", 45, "disperse", "24x(4+2)", "jbod", "iozone", 128 << 30, "128 GB files"),
    Study(
        "small-replicate",
        50,
        "replicate",
        "6x2",
        "raid6",
        "smallfile",
        32 << 10,
        "32 KB files",
        quantity="files_per_s",
        unit="files/s",
        factor=1.0,
    ),
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The samples of a campaign that stand for a study.

    Attributes
    ----------
    study : Study
    rows : pandas.DataFrame
        As `glusterlab.analysis.series.select` returns them; empty where there are none.
    note : str
        Lines on what is drawn instead of what the guide has.
    missing : str
        Why there are none; empty where there are.
    """

    study: Study
    rows: pd.DataFrame
    note: str
    missing: str

    @property
    def words(self) -> str:
        """Files and layout, for titles."""
        if self.rows.empty:
            return f"{self.study.files}, {self.study.layout}"
        first = self.rows.iloc[0]
        return f"{format_size(int(first['nominal_file_size_bytes']))} files, {_label(first)}"


def _label(row: pd.Series) -> str:
    return layout_label(str(row["type"]), str(row["geometry"]), str(row["kind"]))


def choose_studies(
    samples: pd.DataFrame, layouts: Sequence[str] = ("", "", ""), sizes: Sequence[float | None] = (None, None, None)
) -> list[Chosen]:
    """The samples of a campaign that stand for each of `STUDIES`.

    Parameters
    ----------
    samples : pandas.DataFrame
        The samples table.
    layouts : sequence of str
        Name of a layout for each study; empty: the guide's, else one of the same type and backing, else of the type.
    sizes : sequence of float or None
        Nominal size of the files in bytes for each study; None: the guide's. The nearest with a curve over workers is
        taken.

    Raises
    ------
    DataError
        When the campaign has no layout of a name that was asked for.
    """
    return [
        _choose(samples, study, wanted.strip(), float(size or study.nominal_file_size_bytes))
        for study, wanted, size in zip(STUDIES, layouts, sizes, strict=True)
    ]


def _choose(samples: pd.DataFrame, study: Study, wanted: str, size: float) -> Chosen:
    candidates = select(samples, tool=study.tool)
    if not wanted:
        of_type = candidates[candidates["type"].astype(str) == study.type]
        of_kind = of_type[of_type["kind"].astype(str) == study.kind]
        near = of_type if of_kind.empty else of_kind
        names = guide_layouts(near, [(study.type, study.geometry, study.kind)], most=1)
        if not names:
            volume = f"a {_ADJECTIVES.get(study.type, study.type)} volume"
            return Chosen(study, candidates.iloc[:0], "", f"The campaign has no valid {study.tool} sample on {volume}.")
        wanted_here = names[0]
    else:
        wanted_here = wanted
    rows = select_nearest(samples, tool=study.tool, nominal_file_size_bytes=size, layouts=[wanted_here])
    if rows.empty:
        return Chosen(study, rows, "", f"The campaign has no valid {study.tool} sample on the layout {wanted_here}.")
    guide = f"The guide: {study.files} on {study.layout}."
    if (label := _label(rows.iloc[0])) != study.layout:
        guide += (
            f" In its place {label}, as it was asked for." if wanted else f" Not measured here; in its place {label}."
        )
    return Chosen(study, rows, f"{size_note(samples, rows, size)}\n{guide}", "")


def study_rows(studies: Sequence[Chosen]) -> pd.DataFrame:
    """The samples of all studies."""
    return pd.concat([study.rows for study in studies], ignore_index=True)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the five figures of a study draw.

    Attributes
    ----------
    chosen : Chosen
    throughput : pandas.DataFrame
        Summary with limits, the study's numbers and the fitted law.
    bounds : pandas.DataFrame
        The limits between the worker counts, in the unit of the throughput.
    fits : mapping of tuple to Scaling
        Of the law to each curve.
    subsystems : pandas.DataFrame
        From `glusterlab.analysis.saturation.saturation`.
    limits : mapping of str to Limits
        By ``cell_id``.
    """

    chosen: Chosen
    throughput: pd.DataFrame
    bounds: pd.DataFrame
    fits: Fits
    subsystems: pd.DataFrame
    limits: Mapping[str, Limits]


def measure(
    chosen: Chosen,
    telemetry: pd.DataFrame,
    limits: Mapping[str, Limits],
    *,
    cluster: Cluster | None,
    campaign: Campaign | None,
    published: pd.DataFrame,
    testbed: bool,
) -> Measured:
    """Throughput and subsystems of a study over the workers.

    Parameters
    ----------
    chosen : Chosen
    telemetry : pandas.DataFrame
        The telemetry table of its cells, or of more.
    limits : mapping of str to Limits
        By ``cell_id``.
    cluster, campaign
        As they were measured; None where an import does not know them.
    published : pandas.DataFrame
        As `glusterlab.published.load` returns it.
    testbed : bool
        All hosts share one machine.
    """
    study, rows = chosen.study, chosen.rows
    known = dict(limits)
    throughput = with_limits(summarise(rows, study.quantity), pool_limits(rows, cluster, known, campaign))
    bounds = limit_curves(rows, cluster, known, campaign)
    if study.quantity == "files_per_s":
        sizes = rows.drop_duplicates("series").set_index("series")["file_size_bytes"].astype(float)
        bounds = bounds.assign(limit=bounds["limit"] / bounds["series"].map(sizes))
    fits = scaling_fits(rows, study.quantity)
    return Measured(
        chosen=chosen,
        throughput=with_fit(with_published_totals(throughput, published), fits),
        bounds=bounds,
        fits=fits,
        subsystems=saturation(telemetry, rows, testbed=testbed),
        limits=known,
    )


def by_unit(studies: Iterable[Measured]) -> Iterator[tuple[str, str, float, pd.DataFrame, Fits]]:
    """Studies whose throughput has one unit, together: for figures of the law.

    Yields
    ------
    tuple
        ``bytes`` or ``files``, the unit and the factor to it, the summaries of all of them, and their fits.
    """
    units: dict[tuple[str, float], list[Measured]] = {}
    for measured in studies:
        study = measured.chosen.study
        units.setdefault((study.unit, study.factor), []).append(measured)
    for (unit, factor), members in units.items():
        summary = pd.concat([member.throughput.drop(columns=DRAWN) for member in members], ignore_index=True)
        fits: dict[tuple[str, ...], Scaling] = {}
        for member in members:
            fits |= member.fits
        yield "files" if unit.startswith("files") else "bytes", unit, factor, summary, fits
