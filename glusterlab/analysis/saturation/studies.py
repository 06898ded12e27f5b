"""What saturates, as a study's figures show it: over workers, of its layout or the nearest that was measured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import pandas as pd

from glusterlab.analysis.efficiency import with_published_totals
from glusterlab.analysis.limits import limit_curves, pool_limits, with_limits
from glusterlab.analysis.saturation.resources import Limits
from glusterlab.analysis.saturation.usage import telemetry_by_cell
from glusterlab.analysis.scaling import scaling_fits
from glusterlab.analysis.scaling_table import DRAWN, with_fit
from glusterlab.analysis.select import (
    LEAST_COUNTS,
    layout_label,
    same_size,
    select,
    select_nearest,
    size_note,
    summarise,
)
from glusterlab.spec import studies as spec
from glusterlab.spec.campaign import Campaign
from glusterlab.spec.cluster import Cluster
from glusterlab.units import format_size

_ADJECTIVES = {"replicate": "replicated", "disperse": "dispersed", "distribute": "distributed"}


@dataclass(frozen=True, slots=True)
class Study:
    """Curves over workers of one layout and one kind of files (in the study's words)."""

    slug: str
    called: str
    labels: tuple[str, ...]  # of its five figures (``F40``)
    names: tuple[str, ...]  # what their files' names begin with (``fig40``)
    type: str
    geometry: str
    kind: str
    tool: str
    nominal_file_size_bytes: int
    files: str
    quantity: str = "throughput_bytes_per_s"  # what its throughput is
    unit: str = "MB/s"  # of its axis
    factor: float = 1e-6  # from the SI unit to that

    @property
    def layout(self) -> str:
        return layout_label(self.type, self.geometry, self.kind)


def studies_of(study: spec.Study) -> list[Study]:
    """What a document's ``study.yaml`` names under ``saturation``."""
    found = []
    for curves in study.saturation:
        layout = study.layouts[curves.layout]
        names = tuple(study.output(label) for label in curves.labels)
        where = (layout.type, layout.geometry or "", layout.kind)
        counted = ("files_per_s", "files/s", 1.0) if curves.metric == "files" else ()
        files = (curves.tool, curves.size, curves.files)
        found.append(Study(curves.slug, study.called, curves.labels, names, *where, *files, *counted))
    return found


@dataclass(frozen=True, slots=True)
class Chosen:
    """The samples of a campaign that stand for a study."""

    study: Study
    rows: pd.DataFrame  # as `glusterlab.analysis.select.select` returns them, or none
    note: str  # lines on what is drawn instead of what the study has
    missing: str  # why there are no samples

    @property
    def words(self) -> str:
        if self.rows.empty:
            return f"{self.study.files}, {self.study.layout}"
        first = self.rows.iloc[0]
        return f"{format_size(int(first['nominal_file_size_bytes']))} files, {_label(first)}"

    @property
    def stands_in(self) -> bool:
        """Whether the samples are of another layout or size than the study's, which says nothing of its statements."""
        same = same_size(self.rows["nominal_file_size_bytes"], self.study.nominal_file_size_bytes).all()
        return len(self.rows) > 0 and not (same and _label(self.rows.iloc[0]) == self.study.layout)


def _label(row: pd.Series) -> str:
    return layout_label(str(row["type"]), str(row["geometry"]), str(row["kind"]))


def choose_studies(
    samples: pd.DataFrame, studies: Sequence[Study], layouts: Sequence[str] = (), sizes: Sequence[float | None] = ()
) -> list[Chosen]:
    """The samples that stand for each study, or the nearest; layouts and sizes are one for each, as far as they go."""
    found = []
    for study, name, size in zip(studies, chain(layouts, repeat("")), chain(sizes, repeat(None)), strict=False):
        wanted, nominal = name.strip(), float(size or study.nominal_file_size_bytes)
        candidates = select(samples, tool=study.tool)
        of_type = candidates[candidates["type"].astype(str) == study.type]
        of_kind = of_type[of_type["kind"].astype(str) == study.kind]
        of_shape = of_kind[of_kind["geometry"].astype(str) == study.geometry]
        near = next((rows for rows in (of_shape, of_kind) if len(rows)), of_type)
        layout = [wanted] if wanted else sorted(set(near["layout"].astype(str)))[:1]
        rows = candidates.iloc[:0]
        if layout:
            rows = select_nearest(samples, tool=study.tool, nominal_file_size_bytes=nominal, layouts=layout)
        if rows.empty:
            where = f"the layout {layout[0]}" if layout else f"a {_ADJECTIVES.get(study.type, study.type)} volume"
            nor = f"nor of another size by {LEAST_COUNTS} worker counts or more"
            why = f"The campaign has no valid sample of {format_size(round(nominal))} files on {where}, {nor}."
            found.append(Chosen(study, rows, "", why))
            continue
        note = f"{study.called[:1].upper()}{study.called[1:]}: {study.files} on {study.layout}."
        if (label := _label(rows.iloc[0])) != study.layout:
            note += f" In its place {label}, as requested." if wanted else f" Not measured here; in its place {label}."
        found.append(Chosen(study, rows, f"{size_note(samples, rows, nominal)}\n{note}", ""))
    return found


@dataclass(frozen=True, slots=True)
class Measured:
    """What the five figures of a study draw: throughput with limits, the study's numbers and the fitted law."""

    chosen: Chosen
    throughput: pd.DataFrame
    bounds: pd.DataFrame  # the limits between the worker counts
    fits: pd.DataFrame
    subsystems: pd.DataFrame  # as of `telemetry_by_cell`
    limits: Mapping[str, Limits]  # by ``cell_id``


def measure(
    chosen: Chosen,
    telemetry: pd.DataFrame,
    limits: Mapping[str, Limits],
    cluster: Cluster | None,
    campaign: Campaign | None,
    published: pd.DataFrame,
    *,
    testbed: bool,
) -> Measured:
    """Throughput and subsystems of a study over the workers; an import may know no cluster and campaign."""
    study, rows = chosen.study, chosen.rows
    throughput = with_limits(summarise(rows, study.quantity), pool_limits(rows, cluster, limits, campaign))
    bounds = limit_curves(rows, cluster, limits, campaign)
    if study.quantity == "files_per_s":
        sizes = rows.drop_duplicates("series").set_index("series")["file_size_bytes"].astype(float)
        bounds = bounds.assign(limit=bounds["limit"] / bounds["series"].map(sizes))
    fits = scaling_fits(rows, study.quantity)
    return Measured(
        chosen=chosen,
        throughput=with_fit(with_published_totals(throughput, published, rows), fits),
        bounds=bounds,
        fits=fits,
        subsystems=telemetry_by_cell(telemetry, rows, testbed=testbed),
        limits=limits,
    )


def by_unit(studies: Iterable[Measured]) -> Iterator[tuple[str, str, float, pd.DataFrame, pd.DataFrame]]:
    """Studies whose throughput has one unit, together: ``bytes`` or ``files``, unit, factor, summaries and fits."""
    units: dict[tuple[str, float], list[Measured]] = {}
    for measured in studies:
        study = measured.chosen.study
        units.setdefault((study.unit, study.factor), []).append(measured)
    for (unit, factor), members in units.items():
        summary = pd.concat([member.throughput.drop(columns=DRAWN) for member in members], ignore_index=True)
        fits = pd.concat([member.fits for member in members], ignore_index=True)
        yield "files" if unit.startswith("files") else "bytes", unit, factor, summary, fits
