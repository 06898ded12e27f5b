"""What a notebook starts with: its parameters resolved, the campaign's tables, published numbers, and where figures go.

A notebook is one section of the guide. `open_section` is its first call; `Section.show` draws, saves and shows a
figure, `Section.show_table` a table, or they say that the campaign has not measured it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab import published
from glusterlab.errors import DataError
from glusterlab.manifest import MANIFEST
from glusterlab.outputs import PAGE, PICTURES, OutputName
from glusterlab.storage import is_url

if TYPE_CHECKING:
    import pandas as pd

    from glusterlab.analysis.saturation import Limits
    from glusterlab.baseline import Baseline
    from glusterlab.plots.saving import SavedFigure
    from glusterlab.plots.style import Provenance
    from glusterlab.showntable import SavedTable
    from glusterlab.spec.campaign import Campaign
    from glusterlab.spec.cluster import Cluster
    from glusterlab.tables import Tables


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """Stands where a figure or a table would be; a notebook shows its sentence.

    Attributes
    ----------
    number : str
        ``F5`` or ``T3``; empty where it is the project's own.
    """

    number: str
    title: str
    reason: str

    def __repr__(self) -> str:
        name = f"{self.number}, {self.title}" if self.number else self.title
        return f"{name}: not measured. {self.reason}"


@dataclass(frozen=True)
class Section:
    """One notebook on one campaign.

    Attributes
    ----------
    tables : Tables
        The campaign's samples, workers and telemetry.
    published : pandas.DataFrame
        Numbers that the study states, as `glusterlab.published.load` returns them.
    cluster : Cluster or None
        The cluster as it was measured; None where an import does not know it.
    provenance : Provenance
        For the footers.
    folder : pathlib.Path
        Where figures go.
    formats : tuple of str
        Any of svg, png, csv.
    baseline : Baseline or None
        Of the same cluster, where there is one beside the campaign.
    base : pathlib.Path
        The project's folder, for what a notebook reads by its path in it.
    published_folder : pathlib.Path
        ``raw/published/<study>``.
    campaign : Campaign or None
        What was asked for, as the campaign's own campaign.yaml says.
    raw : pathlib.Path
        The campaign's folder; of one elsewhere what this machine keeps of it.
    """

    tables: Tables
    published: pd.DataFrame
    cluster: Cluster | None
    provenance: Provenance
    folder: Path
    formats: tuple[str, ...]
    baseline: Baseline | None = None
    base: Path = Path()
    published_folder: Path = Path()
    campaign: Campaign | None = None
    raw: Path = Path()

    @property
    def samples(self) -> pd.DataFrame:
        """The samples table, of every status."""
        return self.tables.samples

    def telemetry_of(self, samples: pd.DataFrame) -> pd.DataFrame:
        """Of the telemetry table what `glusterlab.analysis` uses, of these samples' cells; files of others stay closed.

        All of it may be more than memory holds.

        Parameters
        ----------
        samples : pandas.DataFrame
            Rows of the samples table.
        """
        from glusterlab.analysis.timeline import JUDGED_METRICS

        cells = sorted(set(samples["cell_id"].astype(str)))
        return self.tables.telemetry_of(cell_id=cells, metric=sorted(JUDGED_METRICS))

    def show(
        self,
        name: str,
        table: pd.DataFrame,
        draw: Callable[..., Any],
        *,
        title: str,
        caption: str,
        missing: str,
        page: str = "",
        **settings: Any,
    ) -> SavedFigure | NotMeasured:
        """Draw a table, save the figure with its numbers and caption, and return what the notebook shows.

        Parameters
        ----------
        name : str
            File name without suffix: ``fig05-large-files-by-workers``, or ``extra-...`` for one that the study lacks.
        table : pandas.DataFrame
            What is drawn; it becomes the CSV file.
        draw : callable
            One of `glusterlab.plots`, called with the table, the provenance, the title and `settings`.
        title : str
            What is shown, without the figure's number.
        caption : str
            For the gallery: how to read the figure.
        missing : str
            Why there would be no rows, for `NotMeasured`.
        page : str
            An HTML page that shows more of the same; it lies beside the figure, whatever the formats, and the page of
            all figures leads to it.

        Raises
        ------
        UsageError
            When the name is of another form.
        """
        from glusterlab.plots.saving import save, write_caption

        output = OutputName.require(name, "fig", "extra")
        if table.empty:
            return self._not_measured(name, output, title, missing)
        if any(panel.limit for panel in settings.get("panels", ())):
            from glusterlab.analysis.saturation import limits_source

            caption = f"{caption} {limits_source(settings.get('limits', {}).values())}".rstrip()
        figure = draw(table, self.provenance, title=output.titled(title), **settings)
        write_caption(
            self.folder, name, title=title, caption=caption, alt=f"{output.titled(title, between=': ')}. {caption}"
        )
        beside = self.folder / f"{name}.{PAGE}"
        if page:
            from glusterlab.rawfiles import write_atomically

            write_atomically(beside, page, durable=False)
        else:
            beside.unlink(missing_ok=True)
        return save(figure, self.folder, name, table, self.formats)

    def show_table(
        self, name: str, frame: pd.DataFrame, *, title: str, caption: str, missing: str = ""
    ) -> SavedTable | NotMeasured:
        """Save a table with its caption, and return what the notebook shows.

        Parameters
        ----------
        name : str
            File name without suffix: ``tab03-bill-of-materials``, or ``extra-...`` for one that the study lacks.
        frame : pandas.DataFrame
            It becomes the CSV file, whatever the formats of figures are; its index is left out, and its columns are
            shown under their names.
        title : str
            What is shown, without the table's number.
        caption : str
            For the gallery: how to read the table.
        missing : str
            Why there would be no rows, for `NotMeasured`.

        Raises
        ------
        UsageError
            When the name is of another form.
        """
        from glusterlab.plots.saving import write_caption
        from glusterlab.rawfiles import write_atomically
        from glusterlab.showntable import SavedTable, Table, to_csv

        output = OutputName.require(name, "tab", "extra")
        if frame.empty:
            return self._not_measured(name, output, title, missing or "The campaign has nothing to put into it.")
        text = to_csv(frame)
        write_caption(self.folder, name, kind="table", title=title, caption=caption)
        path = self.folder / f"{name}.csv"
        write_atomically(path, text.encode(), durable=False)
        return SavedTable(name, output.titled(title), path, Table.whole(text))

    def _not_measured(self, name: str, output: OutputName, title: str, reason: str) -> NotMeasured:
        """Leave the reason, and no file of an earlier run."""
        from glusterlab.plots.saving import write_caption

        for suffix in (*PICTURES, "csv", PAGE):
            (self.folder / f"{name}.{suffix}").unlink(missing_ok=True)
        write_caption(self.folder, name, title=title, reason=reason)
        return NotMeasured(output.label, title, reason)

    def missing(self, tool: str, label: str, nominal_file_size_bytes: float | None = None) -> str:
        """Why a figure of some samples would be empty: there are none, or none of them is valid.

        Parameters
        ----------
        tool : str
        label : str
            The files in words: ``128 GB files``.
        nominal_file_size_bytes : float, optional
            Their size; any size by default.
        """
        from glusterlab.analysis.series import same_size

        rows = self.samples[(self.samples["tool"].astype(str) == tool) & ~self.samples["warmup"]]
        if nominal_file_size_bytes is not None:
            rows = rows[same_size(rows["nominal_file_size_bytes"], nominal_file_size_bytes)]
        if rows.empty:
            return f"The campaign has no {tool} samples of {label}."
        if (rows["status"].astype(str) == "valid").any():
            disks = "" if rows["disks"].any() else "; how many disks lie under them is not known"
            return f"The campaign's {tool} samples of {label} do not have what this figure shows{disks}."
        counts = rows["status"].astype(str).value_counts().sort_index()
        found = ", ".join(f"{count} {status}" for status, count in counts.items())
        return f"The campaign has no valid {tool} sample of {label}: {found}."

    def missing_baseline(self) -> str:
        """Why a figure of a baseline would be empty."""
        if self.cluster is None:
            return "The campaign does not know its cluster, so no baseline can be found."
        if self.baseline is None:
            advice = "`glusterlab check CLUSTER --baseline` measures one."
            return f"There is no baseline of the cluster {self.cluster.name} beside the campaign. {advice}"
        return f"The baseline {self.baseline.name} has no valid sample of it."

    def limits(self, samples: pd.DataFrame) -> dict[str, Limits]:
        """What the hardware under each cell can do per host, on the scale that was measured.

        As a baseline of the same cluster measured it, where the raw root has one with this backing and scale model;
        else as cluster.yaml states it, divided by the cell's scale.

        Parameters
        ----------
        samples : pandas.DataFrame
            Rows of the samples table.

        Returns
        -------
        dict of str to Limits
            By ``cell_id``. A backing of one disk per brick counts the speed of its disks, a RAID backing that of its
            arrays. Nothing without a cluster.
        """
        from glusterlab.analysis.saturation import Limits

        if self.cluster is None:
            return {}
        hardware = self.cluster.hardware
        found: dict[str, Limits] = {}
        for row in samples.drop_duplicates("cell_id").to_dict("records"):
            backing = self.cluster.backings.get(str(row["backing"]))
            if backing is None:
                continue
            if self.baseline is not None:
                measured = self.baseline.limits(
                    str(row["backing"]), float(row["scale"]), operations_limited=bool(row["operations_limited"])
                )
                if measured is not None:
                    found[str(row["cell_id"])] = measured
                    continue
            bricks = len(backing.bricks)
            write, read = hardware.disk_write * backing.disks_per_brick, hardware.disk_read * backing.disks_per_brick
            if backing.kind == "raid6" and hardware.array_write and hardware.array_read:
                write, read = hardware.array_write, hardware.array_read
            scale = float(row["scale"])
            found[str(row["cell_id"])] = Limits(
                server_link=hardware.server_link / scale,
                client_link=hardware.client_link / scale,
                server_disks_write=write * bricks / scale,
                server_disks_read=read * bricks / scale,
            )
        return found


def project_root(start: Path) -> Path:
    """The folder that holds ``raw/`` and ``notebooks/``: `start` or one above it, else the one of this library.

    Raises
    ------
    DataError
        When there is none.
    """
    for folder in (start, *start.parents, Path(__file__).parents[1]):
        if (folder / "notebooks").is_dir() and (folder / "raw").is_dir():
            return folder
    raise DataError(f"expected {start} to lie in a glusterlab project, with raw/ and notebooks/; found none above it")


def _base(campaign: str) -> Path:
    """The folder that relative paths start from: the current one where the campaign is there, else the project's."""
    here = Path.cwd()
    if (here / campaign / MANIFEST).is_file():
        return here
    root = project_root(here)
    if (root / campaign / MANIFEST).is_file():
        return root
    raise DataError(
        f"expected a campaign in {campaign}, a folder with {MANIFEST}; found none in {here} or {root}. Measure one "
        "with `glusterlab run`, or set the parameter `campaign`",
        path=campaign,
    )


def _half_width(campaign: Campaign) -> float | None:
    """The share of the mean at which a campaign ended its cells' repeats; None where their number is fixed."""
    from glusterlab.spec import Repeats

    return campaign.repeats.half_width if isinstance(campaign.repeats, Repeats) else None


def open_section(
    campaign: str,
    figures: str = "",
    formats: str = "svg,png,csv",
    study: str = "supermicro-2017",
    reads: str = "*",
    loaded: Tables | None = None,
) -> Section:
    """Load what a notebook needs.

    Parameters
    ----------
    campaign : str
        The campaign's folder; a relative path is looked for in the current directory, then in the project. Or its URL.
    figures : str
        Folder for the figures, relative to where the campaign was found; empty: ``figures/<campaign>``. Its ``tables``
        are used, or made.
    formats : str
        Comma-separated: any of svg, png, csv.
    study : str
        Whose published numbers stand beside the measured ones.
    reads : str
        Tools whose samples the section holds, comma-separated; ``*`` all, ``none`` none. The digest in footers is that
        of their raw files.
    loaded : Tables, optional
        The campaign's tables, where they are at hand already.

    Raises
    ------
    DataError
        When there is no campaign.
    UsageError
        When a format or a tool is unknown.
    """
    from glusterlab import tables
    from glusterlab.baseline import find_baseline
    from glusterlab.openraw import OpenCampaign
    from glusterlab.plots.saving import parse_formats
    from glusterlab.plots.style import Provenance
    from glusterlab.rawfiles import read_json
    from glusterlab.rawsample import campaign_origin
    from glusterlab.reads import RawDigests, known_tools, parse_reads, refuse_unknown
    from glusterlab.spec.load import load_campaign, load_cluster

    tools = parse_reads(reads)
    refuse_unknown(tools or (), known_tools())
    chosen = parse_formats(formats)
    if is_url(campaign):
        base, opened = project_root(Path.cwd()), OpenCampaign.open(campaign)
        source, raw = opened.place, opened.store.path
    else:
        base = _base(campaign)
        source = raw = base / campaign
    folder = base / (figures or Path("figures", raw.name))
    if loaded is None:
        loaded = tables.load(source, folder / "tables")
    if tools is not None:
        loaded = loaded.of(tools)
    asked = load_campaign(raw / "campaign.yaml")
    imported = campaign_origin(raw) == "imported"
    known = (raw / "cluster.yaml").is_file() or not imported
    cluster = load_cluster(raw / "cluster.yaml") if known else None
    releases = sorted({str(version) for version in loaded.samples["gluster_version"].dropna()})
    if tools is not None and not releases and cluster is not None:
        # a notebook that reads no sample, or none of this campaign, still says on which release it was measured
        servers = [server.name for server in cluster.servers]
        releases = [tables.gluster_versions(read_json(raw / "environment.json"), servers)]
    provenance = Provenance(
        campaign=raw.resolve().name,
        release=", ".join(releases) or ("" if imported else "unknown"),
        digest=RawDigests(raw).of(tools),
        testbed=cluster is not None and cluster.is_testbed,
        imported=imported,
        half_width=_half_width(asked),
    )
    project = project_root(base)
    # only this machine's folders are looked through for a baseline
    baseline = None if cluster is None or source != raw else find_baseline(raw, cluster)
    return Section(
        tables=loaded,
        published=published.load(project / "raw" / "published", study),
        cluster=cluster,
        provenance=provenance,
        folder=folder,
        formats=chosen,
        baseline=baseline,
        base=project,
        published_folder=project / "raw" / "published" / study,
        campaign=asked,
        raw=raw,
    )
