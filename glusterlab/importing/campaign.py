"""Writes an import as a campaign below raw/: all of it at once, or nothing."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import TypeAdapter, ValidationError

from glusterlab.errors import SpecError, UsageError
from glusterlab.hosts.facts import controller
from glusterlab.importing.plan import ImportPlan, PlannedImport
from glusterlab.run.validity import judge_imported
from glusterlab.spec import Campaign, dump_yaml, load_campaign
from glusterlab.spec.campaign import LayoutSpec, WorkloadSpec
from glusterlab.spec.cell import Cell
from glusterlab.spec.fields import NAME_FORM, Name
from glusterlab.store.campaign import RawStore
from glusterlab.store.files import dump_json
from glusterlab.store.imported import IMPORT_FILE, ImportRecord
from glusterlab.store.journal import Journal
from glusterlab.store.sample import SampleWriter


def campaign_path(raw_root: Path, name: str) -> Path:
    """Where a campaign of that name is to lie; `UsageError` when the name is none, or is taken."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        message = f"--as {name}: expected at most 60 small letters, digits and dashes ({NAME_FORM}), such as mine-2024"
        raise UsageError(message) from None
    if name == "published":
        raise UsageError(f"--as {name}: {raw_root / name} is for the numbers that studies published")
    path = raw_root / name
    if (path / "campaign.yaml").exists():
        raise UsageError(f"{path}: is a campaign already: choose another name by --as, or remove that folder")
    return path


def write_campaign(plan: ImportPlan, path: Path, progress: Callable[[int, int], None]) -> None:
    """Make the campaign's folder, which appears when it is whole.

    Raises `RawStoreError` when a file cannot be copied or written, or was changed meanwhile; nothing is left then.
    """
    mapping, cluster = plan.mapping, plan.cluster
    texts = {"campaign.yaml": dump_yaml(describe_campaign(plan, path.name)), "import.yaml": dump_yaml(mapping)}
    if cluster is not None:
        # its file lies beside the mapping now
        beside = mapping.model_copy(update={"cluster": Path("cluster.yaml")})
        texts |= {"cluster.yaml": dump_yaml(cluster), "import.yaml": dump_yaml(beside)}
    with RawStore.whole(path, specifications=texts, environment=environment(plan)) as store:
        try:
            load_campaign(store.path / "campaign.yaml")
        except SpecError as error:
            message = f"these results are too many kinds for one campaign ({error.message}): import less"
            raise UsageError(message) from error
        # one copy of each file on the disk of the campaign, however many samples share it
        originals = store.path.parent / "originals"
        originals.mkdir()
        copies: dict[str, Path] = {}
        for planned in plan.samples:
            for file in (planned.result.file, *(source for source, _ in planned.attached)):
                if file.name not in copies:
                    copies[file.name] = originals / str(len(copies))
                    file.copy(copies[file.name])
        for order, planned in enumerate(plan.samples, start=1):
            cell, repeat = planned.result.cell, planned.repeat
            with store.begin_sample(cell, repeat=repeat, round=repeat, order=order, attempt=1) as writer:
                _write_sample(writer, planned, plan, copies)
            progress(order, len(plan.samples))
        many = f"{len(plan.samples)} samples in {plan.cells} cells"
        Journal(store.path).say(f"imported {many} from the folder {plan.folder.resolve().name}")


def _write_sample(writer: SampleWriter, planned: PlannedImport, plan: ImportPlan, copies: dict[str, Path]) -> None:
    result, mapping, cluster = planned.result, plan.mapping, plan.cluster
    name = f"workload/{PurePosixPath(result.file.name).name}"
    writer.link(name, copies[result.file.name])
    for source, attached in planned.attached:
        writer.link(attached.file, copies[source.name])
    record = ImportRecord(
        source=result.file.name,
        file=name,
        tool=result.record.tool,
        result=result.key,
        label=result.record.label,
        line=result.line,
        said=result.stated,
        accept_unjudged=result.accept_unjudged,
        telemetry=tuple(each for _, each in planned.attached if each.host is not None),
        gluster=tuple(each for _, each in planned.attached if each.host is None),
    )
    writer.write(IMPORT_FILE, dump_json(record.model_dump(mode="json")))
    verdict = judge_imported(writer.folder, result.cell)
    hosts: dict[str, Any] = {}
    for role in ("server", "client"):
        named = getattr(mapping, f"{role}s") or tuple(host.name for host in getattr(cluster, f"{role}s", ()))
        beside = (str(each.host) for _, each in planned.attached if each.role == role)
        hosts[f"{role}s"] = tuple(dict.fromkeys((*named, *beside)))
    writer.finish(verdict.reasons, origin="imported", disks=result.disks, **hosts)


def environment(plan: ImportPlan) -> dict[str, Any]:
    """What environment.json says of an import: what is not known is null."""
    versions: dict[str, set[str]] = defaultdict(set)
    for sample in plan.samples:
        versions[sample.result.record.tool].add(sample.result.record.tool_version or "unknown")
    release = plan.samples[0].result.gluster_version
    return {
        "origin": "imported",
        "source": plan.folder.resolve().name,
        "conditions": None,
        "gluster_version": release,
        "tools": {tool: sorted(found) for tool, found in sorted(versions.items())},
        "hosts": {host: {"tools": {"gluster": release}} for host in plan.mapping.servers},
        "controller": controller(),
    }


def describe_campaign(plan: ImportPlan, name: str) -> Campaign:
    """The campaign that an import is: its lists name what there is, though not every combination of it."""
    cells = list({sample.result.cell.id: sample.result.cell for sample in plan.samples}.values())
    layouts = {cell.layout.name: cell.layout for cell in cells}
    groups: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.tool, cell.files_per_worker, cell.record_size_bytes is None, cell.options].append(cell)
    return Campaign(
        schema_version=1,
        name=name,
        origin="imported",
        study=plan.mapping.study,
        title=plan.mapping.title,
        description=plan.mapping.description,
        seed=0,
        repeats=max(sample.repeat for sample in plan.samples),
        attempts=1,
        layouts=tuple(
            LayoutSpec(
                name=layout.name,
                type=layout.type,
                geometry=(layout.geometry,),
                backing=(layout.backing,),
                options={option: (value,) for option, value in layout.options},
            )
            for layout in layouts.values()
        ),
        access=_axis(cells, "access"),
        workloads=tuple(_workload(members) for members in groups.values()),
        workers=_axis(cells, "workers"),
    )


def _axis(cells: Sequence[Cell], field: str) -> tuple[Any, ...]:
    return tuple(sorted({getattr(cell, field) for cell in cells}))


def _workload(cells: Sequence[Cell]) -> WorkloadSpec:
    first = cells[0]
    return WorkloadSpec(
        tool=(first.tool,),
        operations=_axis(cells, "operation"),
        file_size=_axis(cells, "file_size_bytes"),
        record_size=None if first.record_size_bytes is None else _axis(cells, "record_size_bytes"),
        files_per_worker=(first.files_per_worker,),
        workers=_axis(cells, "workers"),
        options=first.options,
    )
