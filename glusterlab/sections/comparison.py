"""Campaigns that are compared: opened with their samples and conditions, told apart by labels, and held together."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import pandas as pd

from glusterlab.analysis.compare.cells import BOUND, COMPARED, UNMATCHED, Rule, bound_by_model, compare_cells, unmatched
from glusterlab.analysis.compare.conditions import DIFFERENCES, Conditions, differences, notes_of, warnings_of
from glusterlab.analysis.compare.groups import AVERAGED, averages
from glusterlab.analysis.compare.words import spoiled_warnings, timing_notes, timing_warnings
from glusterlab.analysis.counting import over_the_whole_time
from glusterlab.analysis.limits import throttle_limits
from glusterlab.analysis.select import VIEWS, valid_samples
from glusterlab.errors import UsageError
from glusterlab.plots.style import DIGEST_LENGTH
from glusterlab.sections.section import Section, open_section, stated_limits
from glusterlab.spec import load_campaign, load_cluster
from glusterlab.spec.fields import suggest
from glusterlab.spec.studies import load_study, study_folder
from glusterlab.store.campaign import RawStore
from glusterlab.store.digests import names_beside
from glusterlab.store.files import file_digest
from glusterlab.store.manifest import MANIFEST
from glusterlab.tables import build as tables


@dataclass(frozen=True)
class Release:
    """A campaign of a comparison."""

    label: str  # its GlusterFS version, with the campaign's name where two have one
    name: str
    path: Path
    version: str
    called: str  # the version with what it is to the campaign's study
    digest: str  # of its manifest
    samples: pd.DataFrame
    conditions: Conditions
    testbed: bool
    half_width: float | None  # share of the mean at which cells' repeats ended

    @property
    def latency_s(self) -> float:
        """Of each request to disks of the scale model that have it in the place of heads; 0 without."""
        return float(self.samples.get("disk_latency_s", pd.Series([0.0])).max())


@dataclass(frozen=True)
class Comparison:
    """What campaigns show when they are held against the first of them; `reason` says why nothing is compared."""

    releases: tuple[Release, ...]
    rule: Rule
    table: pd.DataFrame
    unmatched: pd.DataFrame
    averages: pd.DataFrame
    differences: pd.DataFrame
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    reason: str = ""

    @classmethod
    def nothing(cls, reason: str) -> Self:
        frames = (pd.DataFrame(columns=columns) for columns in (COMPARED, UNMATCHED, AVERAGED, DIFFERENCES))
        table, missing, means, different = frames
        return cls((), Rule(), table, missing, means, different, (), (), reason)

    @property
    def reference(self) -> Release:
        return self.releases[0]

    @property
    def others(self) -> tuple[Release, ...]:
        return self.releases[1:]


def open_release(raw: Path, samples: pd.DataFrame) -> Release:
    """A campaign with its samples; its label is its version alone."""
    store = RawStore.open(raw)
    valid = valid_samples(samples)
    version = ", ".join(sorted({str(each) for each in valid["gluster_version"] if each}))
    file = store.path / "cluster.yaml"
    # an import may know no cluster
    cluster = load_cluster(file).model_dump(mode="json", exclude_none=True) if file.is_file() else {}
    campaign = load_campaign(store.path / "campaign.yaml")
    named = valid[["tool", "tool_version"]].astype(str).drop_duplicates().sort_values("tool_version")
    versions = named[named["tool_version"] != ""].groupby("tool")["tool_version"]
    conditions = Conditions(
        name=store.name,
        release=version,
        environment=store.environment(),
        cluster=cluster,
        campaign=campaign.model_dump(mode="json", exclude_none=True),
        tools={str(tool): ", ".join(found) for tool, found in versions},
        backings=frozenset(valid["backing"].astype(str)),
    )
    manifest = store.path / MANIFEST
    return Release(
        label=version,
        name=store.name,
        path=store.path,
        version=version,
        called=load_study(study_folder(campaign.study, store.path)).release(version),
        digest=file_digest(manifest) if manifest.is_file() else "",
        samples=samples,
        conditions=conditions,
        testbed=bool(cluster.get("testbed")),
        half_width=campaign.half_width,
    )


def labelled(releases: Sequence[Release]) -> tuple[Release, ...]:
    """Releases with labels that tell them apart: the version, the campaign's name, the path, as far as is needed."""
    versions = [one.version for one in releases]
    names = [one.name if one.version in one.name else f"{one.name} ({one.version})" for one in releases]
    paths = [f"{one.path} ({one.version or 'release not known'})" for one in releases]
    for labels in (versions, names, paths):
        if len(set(labels)) == len(labels) and all(labels):
            named = zip(releases, labels, strict=True)
            return tuple(replace(one, label=to, conditions=replace(one.conditions, name=to)) for one, to in named)
    raise UsageError("expected different campaigns, found one of them twice")


def refuse_same(releases: Sequence[Release]) -> None:
    """Refuse a campaign that is named twice, or its copy: whatever is found is no finding about a release."""
    for other, one in itertools.combinations(releases, 2):
        if one.path.resolve() == other.path.resolve():
            again = f"{one.path} is named twice"
        elif one.digest and one.digest == other.digest:
            again = f"{one.path} is a copy of {other.path}"
        else:
            continue
        raise UsageError(f"{again}: a release is held against another one; --same allows it, to try the command")


def compare_campaigns(
    paths: Sequence[str | Path],
    rule: Rule | None = None,
    *,
    operations: Sequence[str] = (),
    same: bool = False,
    view: str = VIEWS[0],
    progress: tables.Progress = lambda *_: None,
) -> Comparison:
    """Hold campaigns against the first of them by a view of rates; UsageError for fewer than two, or twice the same."""
    if len(paths) < 2:
        raise UsageError("expected two campaigns or more, the reference first")
    raws = [RawStore.open(Path(path)).path for path in paths]
    releases = [open_release(raw, tables.load(raw, progress=progress).samples) for raw in raws]
    if not same:
        refuse_same(releases)
    elif len({release.path.resolve() for release in releases}) < len(releases):
        releases = [replace(one, name=f"{one.name} ({n})") for n, one in enumerate(releases, start=1)]
    known = sorted({str(name) for release in releases for name in release.samples["operation"]})
    if unknown := sorted(set(operations) - set(known)):
        expected = f"expected operations among {', '.join(known) or 'none'}"
        near = suggest(unknown[0], known, listed=False)
        raise UsageError(f"{expected}, found {', '.join(unknown)} (--operation){near}")
    for n, release in enumerate(releases):
        chosen = release.samples["operation"].astype(str).isin(operations or known)
        samples = release.samples[chosen].reset_index(drop=True)
        releases[n] = replace(release, samples=samples if view == VIEWS[0] else over_the_whole_time(samples))
    return hold_together(labelled(releases), rule, view)


def open_comparison(section: Section, campaign: str, campaigns: str) -> Comparison:
    """What a notebook compares: its own campaign against the others of its list, where it is that list's reference."""
    here = _place(campaign, [Path.cwd(), section.base])
    names = names_beside(campaigns, here.resolve().name if here else "")
    if len(names) < 2:
        alone = f"There is one campaign, {names[0]}" if names else "There is no campaign"
        return Comparison.nothing(
            f"{alone}: a release is held against another one. Measure the same cells with both, in turns, as "
            "runbooks/releases has it, and name the campaigns in the parameter `campaigns`, the reference first."
        )
    if here is None or Path(names[0]).name != here.resolve().name:
        listed = ", ".join(names)
        return Comparison.nothing(f"The comparison of {listed} is among the figures of its reference, {names[0]}.")
    places = _others(section, here, names[1:])
    if absent := [name for name, place in zip(names[1:], places, strict=True) if place is None]:
        return Comparison.nothing(f"No campaign is in {', '.join(absent)}: a folder with {MANIFEST} is expected there.")
    tools = section.tables.tools
    releases = [open_release(here, section.samples)]
    for place in filter(None, places):
        whole = tables.load(place)
        releases.append(open_release(place, (whole if tools is None else whole.of(tools)).samples))
    refuse_same(releases)
    labels = labelled(releases)
    section.releases.update({each.label: (each.name, each.digest[:DIGEST_LENGTH]) for each in labels})
    return hold_together(labels)


def samples_together(section: Section, campaign: str, campaigns: str, reads: str) -> tuple[pd.DataFrame, list[Section]]:
    """Samples of the campaigns of a list as far as they are here, for its first, by column ``other``; their sections.

    A cell that two have is that of the first. Any campaign but the first of the list has its own samples alone.
    """
    here = _place(campaign, [Path.cwd(), section.base])
    listed = names_beside(campaigns, here.resolve().name if here else "")
    first = here is not None and bool(listed) and Path(listed[0]).name == here.resolve().name
    places = [place for place in _others(section, here, listed[1:]) if place is not None] if here and first else []
    loaded = [tables.load(place) for place in places]  # kept with the others of its figures, wherever this runs
    opened = zip(places, loaded, strict=True)
    sections = [section, *(open_section(str(place.resolve()), reads=reads, loaded=each) for place, each in opened)]
    names = [each.provenance.campaign for each in sections]
    samples = pd.concat([each.samples.assign(other=name) for each, name in zip(sections, names, strict=True)])
    samples = samples.reset_index(drop=True)
    for each, name in zip(sections[1:], names[1:], strict=True):
        section.releases[name] = (name, each.provenance.digest[:DIGEST_LENGTH])
    return samples[samples["other"] == samples.groupby("cell_id")["other"].transform("first")], sections


def _others(section: Section, here: Path, names: Sequence[str]) -> list[Path | None]:
    """Where campaigns are: from here, from the project's root, or beside the first, wherever that really is."""
    near = [Path.cwd(), section.base]
    return [_place(name, near) or _place(Path(name).name, [here.resolve().parent]) for name in names]


def _place(name: str, folders: Sequence[Path]) -> Path | None:
    return next((folder / name for folder in folders if (folder / name / MANIFEST).is_file()), None)


def _throttle(release: Release) -> dict[str, float]:
    if not release.testbed:
        return {}
    cluster, campaign = load_cluster(release.path / "cluster.yaml"), load_campaign(release.path / "campaign.yaml")
    rows = release.samples.drop_duplicates("cell_id")
    hosts = {
        str(row["cell_id"]): stated_limits(cluster.hardware, cluster.backings[row["backing"]], float(row["scale"]))
        for row in rows[rows["backing"].isin(list(cluster.backings))].to_dict("records")
    }
    return throttle_limits(rows, cluster, hosts, campaign)


def hold_together(releases: tuple[Release, ...], rule: Rule | None = None, view: str = VIEWS[0]) -> Comparison:
    """Compare campaigns that are open, whose samples have their rates by a view."""
    chosen = rule or Rule()
    reference, others = releases[0], {release.label: release.samples for release in releases[1:]}
    table = compare_cells(reference.samples, others, chosen, name=reference.label)
    table = bound_by_model(table, _throttle(reference))
    conditions = [release.conditions for release in releases]
    if not table.empty:
        # conditions of backings and tools that no compared cell has do not matter
        backings, tools = frozenset(table["backing"].astype(str)), set(table["tool"].astype(str))
        used = [{tool: each.tools[tool] for tool in each.tools if tool in tools} for each in conditions]
        conditions = [replace(each, backings=backings, tools=of) for each, of in zip(conditions, used, strict=True)]
    found = differences(conditions)
    samples = {release.label: release.samples for release in releases}
    stopped = [(each.label, each.half_width) for each in releases if each.half_width is not None]
    scatter = "so that its scatter is taken for a little smaller than it is"
    return Comparison(
        releases=releases,
        rule=chosen,
        table=table,
        unmatched=unmatched(reference.samples, others, reference.label),
        averages=averages(table[table["verdict"] != BOUND], reference.samples, others, reference.label),
        differences=found,
        warnings=(
            *spoiled_warnings(samples),
            *timing_warnings(table),
            *warnings_of(conditions, found),
            *(f"{label}: its cells were repeated until ± {100 * width:g} %, {scatter}" for label, width in stopped),
        ),
        notes=(f"rates: {view}", *timing_notes(table), *notes_of(conditions, found)),
    )
