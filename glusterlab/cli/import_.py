"""import: results that are there already become a campaign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.cli.console import IMPORTED, bar, count_of, picked, show, talk
from glusterlab.cli.options import JSON, RAW_ROOT, argument, commands, complete_yaml, flag, option
from glusterlab.errors import UsageError

if TYPE_CHECKING:
    from glusterlab.importing.plan import ImportPlan

app, command = commands()


@command(
    "glusterlab import results --as mine --pattern '{layout}/{workers}w/{operation}.txt' --dry-run",
    "glusterlab import results --as mine --pattern '{layout}/{workers}w/{operation}.txt'",
    "glusterlab import results --as mine --pattern '{layout}/{workers}w-*.log' --default 'file_size=4 GiB'",
    "glusterlab import results --as mine --map mapping.yaml",
    more="What the pattern does not say is read from the files. Fields: layout, workers, operation, file_size, "
    "record_size, tool, access, files_per_worker, host, job, run, repeat, gluster_version, options. * is any text in a "
    "name, **/ any folders. A mapping.yaml says what the layouts are, and more: glusterlab schema import, "
    "runbooks/import.",
    name="import",
)
def import_(
    folder: Path = argument("DIR", "A folder with results; it is only read."),
    name: str = option("NAME", "Name of the campaign, and so of its folder.", "--as", default=...),
    pattern: list[str] | None = option("PATTERN", "What paths below DIR say; may be given again."),
    mapping: Path | None = option("FILE", "A mapping.yaml.", "--map", autocompletion=complete_yaml),
    default: list[str] | None = option("KEY=VALUE", "For what neither path nor file says; may be given again."),
    raw: Path = RAW_ROOT,
    dry_run: bool = flag("--dry-run", "Show which file is which sample; write nothing."),
    skip_bad: bool = flag("--skip-bad", "Import the others where mapped files are refused or damaged."),
    json: bool = JSON,
) -> None:
    """Make a campaign out of results that are there already, made by hand or by other tools: all of it, or nothing."""
    from glusterlab.importing.campaign import campaign_path, write_campaign
    from glusterlab.importing.mapping import load_mapping
    from glusterlab.importing.plan import plan_import

    path = campaign_path(raw, name)
    found = load_mapping(mapping, tuple(pattern or ()), _pairs(default or []))
    with bar("reading files") as progress:
        plan = plan_import(folder, found, progress, raw_root=raw)
    fit = bool(plan.samples) and (skip_bad or not plan.refused)
    if fit and not dry_run:
        with bar("writing samples") as progress:
            write_campaign(plan, path, progress)
    show_import(plan, path, written=fit and not dry_run, everything=dry_run, as_json=json)
    if plan.refused and not skip_bad and plan.samples:
        talk("refused files keep the others out: mend the mapping, or import without them by --skip-bad")
    if not fit:
        raise typer.Exit(1)


def _pairs(words: list[str]) -> dict[str, str]:
    for word in words:
        if "=" not in word:
            raise UsageError(f"--default {word}: expected KEY=VALUE, such as 'file_size=4 GiB'")
    return dict(word.partition("=")[::2] for word in words)


LISTED = 20  # so many files that are not imported are named on a terminal; --dry-run and --json name all


def show_import(plan: ImportPlan, path: Path, *, written: bool, everything: bool, as_json: bool) -> None:
    """What an import made, or would make; `everything` names each sample and file not imported."""
    from glusterlab.importing.match import shown

    rows = [
        {"file": shown(sample.result.file.name), "result": sample.result.key, "cell": sample.result.cell.id}
        | {"repeat": sample.repeat, "status": sample.result.status}
        for sample in plan.samples
        if everything
    ]
    lines = _lines(plan, path, written=written, limit=None if everything else LISTED)
    notes = [f"note: {note}" for note in plan.notes]
    show(rows, as_json, _as_json(plan, path, written), right=("repeat",), lines=lines, notes=notes)


def _lines(plan: ImportPlan, path: Path, *, written: bool, limit: int | None) -> Iterator[str]:
    def listed(what: str, lines: Sequence[str]) -> Iterator[str]:
        yield from (f"{what}: {line}" for line in lines[:limit])
        if limit is not None and len(lines) > limit:
            yield f"{what}: and {len(lines) - limit} more (--dry-run names all)"

    yield from listed("refused", [str(refusal) for refusal in plan.refused])
    yield from listed("left out", [f"{each.file}: {each.result}: {each.reason}" for each in plan.left_out])
    yield from listed("not mapped", [f"{name}: {why}" for name, why in plan.unmapped])
    reasons = Counter(sample.result.reasons[0].message for sample in plan.samples if sample.result.status != "valid")
    for message, number in reasons.most_common(5):
        yield f"not valid, so in no figure: {count_of(number, 'sample')}: {message}"
    counts = Counter(sample.result.status for sample in plan.samples)
    states = ", ".join(f"{counts[status]} {status}" for status in ("valid", "invalid", "failed") if counts[status])
    files = count_of(len({sample.result.file.name for sample in plan.samples}), "file")
    many = f"{count_of(len(plan.samples), 'sample')} in {count_of(plan.cells, 'cell')} from {files}: {states}"
    if written:
        yield f"{path}: imported {many}"
        yield f"{path.name}: {IMPORTED} (caches, bricks, clocks)"
    elif plan.samples:
        yield f"nothing was written; {path} would get {many}"
    else:
        yield "nothing was written: no mapped file holds a result"


def _as_json(plan: ImportPlan, path: Path, written: bool) -> dict[str, Any]:
    return {
        "campaign": path.name,
        "path": path,
        "written": written,
        "samples": [
            {
                "file": sample.result.file.name,
                "cell": sample.result.cell.id,
                "repeat": sample.repeat,
                **picked(sample.result, "line", "status", "reasons", result="key"),
                "beside": [attached.source for _, attached in sample.attached],
            }
            for sample in plan.samples
        ],
        "unmapped": [{"file": name, "reason": why} for name, why in plan.unmapped],
        **picked(plan, "refused", "left_out", "notes"),
    }
