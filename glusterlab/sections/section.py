"""What a notebook starts with: its campaign's tables, published numbers, and where figures and tables go."""

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from glusterlab.analysis.saturation.resources import Limits
from glusterlab.analysis.saturation.timeline import JUDGED_METRICS
from glusterlab.analysis.select import same_size
from glusterlab.errors import DataError, UsageError
from glusterlab.figures.chapters import NotMeasured
from glusterlab.figures.explorer import Explorer
from glusterlab.figures.names import NARROW, PICTURES, OutputName
from glusterlab.figures.save import FORMATS, parse_formats, save, save_narrow, show, write_caption
from glusterlab.figures.tables import ORIGIN, SavedTable, Table, to_csv
from glusterlab.plots.style import DIGEST_LENGTH, UNCHECKED, Frame, Provenance, house_style
from glusterlab.sections.baseline import Baseline
from glusterlab.spec import published
from glusterlab.spec.campaign import Campaign
from glusterlab.spec.claims import FILE as CLAIMS
from glusterlab.spec.claims import Claims, load_claims, no_claims
from glusterlab.spec.cluster import Backing, Cluster, Hardware
from glusterlab.spec.fields import suggest
from glusterlab.spec.studies import FILE as STUDY
from glusterlab.spec.studies import Study, load_study, no_study, project_root, study_folder
from glusterlab.spec.yaml import load_campaign, load_cluster
from glusterlab.store.baselines import search_baseline
from glusterlab.store.digests import RawDigests, parse_reads, refuse_unknown
from glusterlab.store.files import local, read_json, write_atomically
from glusterlab.store.manifest import MANIFEST
from glusterlab.store.sample import campaign_origin
from glusterlab.tables import build as tables
from glusterlab.tables.build import Tables
from glusterlab.tools import vocabulary


@dataclass(frozen=True)
class Section:
    """One notebook on one campaign."""

    tables: Tables
    published: pd.DataFrame  # numbers that the study states
    cluster: Cluster | None  # None where an import does not know it
    provenance: Provenance
    folder: Path  # where figures go
    formats: tuple[str, ...]
    baseline: Baseline | None = None  # beside the campaign
    base: Path = Path()  # the project's folder
    published_folder: Path = Path()  # ``raw/published/<study>``
    study: Study = field(default_factory=no_study)
    campaign: Campaign | None = None
    raw: Path = Path()  # the campaign's folder
    releases: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name and digest of the campaigns that rows of other releases come from, by their labels."""

    @cached_property
    def claims(self) -> Claims:
        """What the study claims; nothing where it has no ``claims.yaml``."""
        path = self.published_folder / CLAIMS
        return load_claims(path, vocabulary()) if path.is_file() else no_claims()

    @property
    def samples(self) -> pd.DataFrame:
        return self.tables.samples

    def telemetry_of(self, samples: pd.DataFrame) -> pd.DataFrame:
        """Of the telemetry what `glusterlab.analysis` uses, of these samples' cells: all may be too much for memory."""
        cells = sorted(set(samples["cell_id"].astype(str)))
        return self.tables.telemetry_of(cell_id=cells, metric=sorted(JUDGED_METRICS))

    @contextmanager
    def figure(
        self, name: str, table: pd.DataFrame, *, title: str, caption: str = "", missing: str = "", footer: str = ""
    ) -> Iterator[Frame]:
        """A frame of house style to draw on; on leaving, the figure is saved with its numbers and caption, and shown.

        ``name`` is the file name without suffix: ``fig05-large-files-by-workers``, or ``extra-...`` for one that the
        study lacks. ``table`` is what is drawn: it becomes the CSV file. Without rows the campaign did not measure it:
        then ``missing`` says why, what the body drew is dropped, and so are errors that missing rows explain.
        ``footer`` replaces the usual one, of the campaign with the samples of the table (or of `Frame.rows`).
        """
        output = OutputName.require(name, self.study.outputs, self.published_folder / STUDY, "fig", "extra")
        with house_style():
            frame = Frame(title, output.label)
            try:
                yield frame
            except Exception as error:
                if len(table) or not _for_want_of_rows(error, table):
                    columns = ", ".join(map(str, table.columns)) or "no columns"
                    error.add_note(f"{name} is drawn from a table of {len(table)} rows with {columns}")
                    raise
            if table.empty:
                frame.saved = self._not_measured(name, output, title, missing)
            else:
                rows = table if frame.rows is None else frame.rows
                unchecked = f" · {UNCHECKED}" if self.provenance.existing else ""
                foot = (footer or self.provenance.footer(rows)) + unchecked
                figure = frame.finish(foot)
                finding = frame.sentence and f"{frame.sentence}."
                alt = " ".join(filter(None, [f"{output.titled(title, between=': ')}.", finding, caption]))
                notes = (note for note in frame.notes if note not in caption)
                caption = " ".join(filter(None, [finding, caption, *notes]))
                frame.saved = save(figure, self.folder, name, self._with_origin(table), self.formats, caption)
                numbers = next((path for path in frame.saved.files if path.suffix == ".csv"), None)
                if set(self.formats) == set(FORMATS):
                    save_narrow(frame.narrow(foot), self.folder, name)
                write_caption(self.folder, name, numbers, title=title, caption=caption, alt=alt)
        show(frame.saved)

    def table(
        self, name: str, frame: pd.DataFrame, *, title: str, caption: str = "", missing: str = ""
    ) -> SavedTable | NotMeasured:
        """Save a table (``tab03-...`` or ``extra-...``) as CSV without its index; returns what the notebook shows."""
        output = OutputName.require(name, self.study.outputs, self.published_folder / STUDY, "tab", "extra")
        if frame.empty:
            return self._not_measured(name, output, title, missing)
        text = to_csv(self._with_origin(frame))
        path = self.folder / f"{name}.csv"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode(), durable=False)
        write_caption(self.folder, name, path, kind="table", title=title, caption=caption)
        return SavedTable(name, output.titled(title), path, Table.whole(text))

    def explore(self, quantity: str = "", *, height: int = 720, **choices: object) -> Explorer:
        """The report's page Explore of this campaign, in a frame; it needs no kernel, and `glusterlab site` makes it.

        ``quantity`` is a column such as ``throughput_bytes_per_s`` (empty: the first that the campaign has). Of
        ``choices``, ``per``, ``x``, ``colour`` and ``facet`` are those of the page, and others, such as
        ``nominal_size=4 << 30``, keep the cells that have these values (one, or a list).
        """
        return Explorer(self.folder, self.raw.resolve().name, quantity, choices, height)

    def _with_origin(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table whose rows name the campaign that they come from, or several, and its digest as footers have it."""
        own = self.provenance.campaign, self.provenance.digest[:DIGEST_LENGTH]
        labels = [name for name in ("release", "reference", "other") if self.releases and name in table]
        rows: Any = table[labels].to_numpy() if labels else [[]] * len(table)
        origins = [[self.releases.get(label, own) for label in row] or [own] for row in rows]
        joined = {name: [";".join(of[n] for of in each) for each in origins] for n, name in enumerate(ORIGIN)}
        return table.assign(**joined)

    def _not_measured(self, name: str, output: OutputName, title: str, reason: str) -> NotMeasured:
        """Leave the reason, and no file of an earlier run."""
        for file in (*(f"{name}.{suffix}" for suffix in (*PICTURES, "csv")), f"{NARROW}/{name}.png"):
            (self.folder / file).unlink(missing_ok=True)
        reason = reason or "The campaign has nothing to put into it."
        write_caption(self.folder, name, title=title, reason=reason)
        return NotMeasured(output.label, title, reason)

    def missing(self, tool: str, label: str, nominal_file_size_bytes: float | None = None) -> str:
        """Why a figure of some samples would be empty; ``label`` has the files in words, such as ``128 GB files``."""
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

    def missing_baseline(self, *, why: bool = True) -> str:
        """Why a figure of a baseline would be empty; with `why`, why others were not taken, too."""
        if self.cluster is None:
            return "The campaign does not know its cluster, so no baseline can be found."
        if self.baseline is None:
            advice = "`glusterlab check CLUSTER --baseline` measures one."
            refused = search_baseline(self.raw, self.cluster).refused if why else ()
            reasons = "".join(f" {sentence}." for sentence in refused)
            return f"There is no baseline of the cluster {self.cluster.name} beside the campaign.{reasons} {advice}"
        return f"The baseline {self.baseline.name} has no valid sample of it."

    def limits(self, samples: pd.DataFrame) -> dict[str, Limits]:
        """What the hardware under each cell can do per host on its scale, by a baseline, else by cluster.yaml."""
        if self.cluster is None:
            return {}
        found: dict[str, Limits] = {}
        for row in samples.drop_duplicates("cell_id").to_dict("records"):
            name, scale = str(row["backing"]), float(row["scale"])
            if (backing := self.cluster.backings.get(name)) is None:
                continue
            limited = bool(row["operations_limited"])
            measured = self.baseline and self.baseline.limits(name, scale, operations_limited=limited)
            found[str(row["cell_id"])] = measured or stated_limits(self.cluster.hardware, backing, scale)
        return found


def _for_want_of_rows(error: Exception, table: pd.DataFrame) -> bool:
    """Whether a table without rows (or columns), or a cluster that is not known, explains an error: no wrong name."""
    if isinstance(error, AttributeError):
        return error.obj is None
    return isinstance(error, IndexError | ValueError | ArithmeticError) or (
        isinstance(error, KeyError) and table.columns.empty
    )


def stated_limits(hardware: Hardware, backing: Backing, scale: float) -> Limits:
    """What one host can do on a scale, as a cluster file states its hardware."""
    bricks = len(backing.bricks)
    return Limits(
        server_link=hardware.server_link / scale,
        client_link=hardware.client_link / scale,
        server_disks_write=hardware.brick_rate(backing, "write") * bricks / scale,
        server_disks_read=hardware.brick_rate(backing, "read") * bricks / scale,
    )


class UnknownParameterError(UsageError):
    """A notebook was given what it does not have; shown without the way through the library that found it."""

    def _render_traceback_(self) -> list[str]:  # IPython's name
        return [str(self)]


def refuse_unknown_parameters() -> None:
    """Refuse a parameter that this notebook does not have: papermill logs a warning, and runs on the defaults."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    cells: list[str] = [] if shell is None else shell.user_ns.get("In", [])
    for number, cell in enumerate(cells):
        # how the cell begins that papermill puts after the one tagged ``parameters``
        if cell.startswith("# Parameters\n"):
            there = [name for before in cells[:number] for name in _assigned(before)]
            for name in _assigned(cell):
                if name not in there:
                    raise UnknownParameterError(f"this notebook has no parameter {name!r}{suggest(name, there)}")


def _assigned(source: str) -> list[str]:
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:
        return []
    return [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _base(campaign: str) -> Path:
    """The folder that relative paths start from: the current one where the campaign is there, else the project's."""
    here = Path.cwd()
    if (here / campaign / MANIFEST).is_file():
        return here
    root = project_root(here)
    if (root / campaign / MANIFEST).is_file():
        return root
    advice = "Measure one with `glusterlab run`, or set the parameter `campaign`"
    found = f"expected a campaign in {campaign}, a folder with {MANIFEST}; found none in {here} or {root}"
    raise DataError(f"{found}. {advice}", path=campaign)


def open_section(
    campaign: str,
    figures: str = "",
    formats: str = "svg,png,csv",
    study: str = "",
    reads: str = "*",
    loaded: Tables | None = None,
) -> Section:
    """Load what a notebook needs; raises DataError where there is no campaign.

    ``campaign`` is its folder, from the current directory or the project; ``figures`` a folder from there (empty:
    ``figures/<campaign>``); ``study`` that of published numbers (empty: the campaign's). ``formats`` and ``reads``, the
    tools whose samples the section holds (``*`` all, ``none`` none), are comma-separated.
    """
    refuse_unknown_parameters()
    tools = parse_reads(reads)
    refuse_unknown(tools or ())
    chosen, campaign = parse_formats(formats), str(local(campaign))
    base = _base(campaign)
    raw = base / campaign
    folder = base / (figures or Path("figures", raw.name))
    if loaded is None:
        loaded = tables.load(raw, folder / "tables")
    if tools is not None:
        loaded = loaded.of(tools)
    requested = load_campaign(raw / "campaign.yaml")
    imported = campaign_origin(raw) == "imported"
    known = (raw / "cluster.yaml").is_file() or not imported
    cluster = load_cluster(raw / "cluster.yaml") if known else None
    has_servers = not imported and cluster is not None and bool(cluster.servers)
    published_folder = study_folder(study or requested.study, raw)
    of = load_study(published_folder)
    releases = sorted({str(version) for version in loaded.samples["gluster_version"].dropna()})
    if tools is not None and not releases and cluster is not None:
        # a notebook that reads no sample, or none of this campaign, still says on which release it was measured
        servers = [server.name for server in cluster.servers]
        releases = [tables.gluster_versions(read_json(raw / "environment.json"), servers)]
    provenance = Provenance(
        campaign=raw.resolve().name,
        release=", ".join(map(of.release, releases)) or ("unknown" if has_servers else ""),
        digest=RawDigests(raw).of(tools),
        testbed=cluster is not None and cluster.is_testbed,
        imported=imported,
        half_width=requested.half_width,
        existing=not imported and "existing" in requested.access,
        latency_s=float(cluster.hardware.disk_latency or 0.0) if cluster is not None else 0.0,
    )
    return Section(
        tables=loaded,
        published=published.load(published_folder),
        cluster=cluster,
        provenance=provenance,
        folder=folder,
        formats=chosen,
        baseline=None if cluster is None else Baseline.of(raw, cluster),
        base=project_root(base),
        published_folder=published_folder,
        study=of,
        campaign=requested,
        raw=raw,
    )
