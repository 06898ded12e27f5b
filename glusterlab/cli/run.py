"""plan and run: what would be measured, and measuring it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.cli.console import bounds, count_of, format_bytes, percent, person, picked, show, talk
from glusterlab.cli.options import JSON, RAW_ROOT, argument, commands, complete_yaml, flag, option, path_option
from glusterlab.errors import GlusterlabError, RawStoreError, UsageError
from glusterlab.units import format_duration, format_size

if TYPE_CHECKING:
    from glusterlab.run.notify import Notifier
    from glusterlab.run.plan import Estimate, Plan, PlannedSample
    from glusterlab.run.progress import Ending, RunSummary
    from glusterlab.spec import Campaign, Cell

app, command = commands()

CAMPAIGN = argument("CAMPAIGN", "A campaign.yaml.", autocompletion=complete_yaml)

CLUSTER = path_option(
    "FILE",
    "A cluster.yaml; default: the one beside the campaign, else that of the testbed that is up.",
    "--cluster",
    autocompletion=complete_yaml,
)

_ON_END = (
    "--on-end and --webhook are called when the run ends, stops or fails; neither changes how it came out. The command "
    "has a minute (what takes longer goes into the background); it gets GLUSTERLAB_OUTCOME (complete, incomplete, "
    "stopped, failed), GLUSTERLAB_MESSAGE, and as GLUSTERLAB_... also CAMPAIGN, RAW, EXIT_CODE, SECONDS, TOTAL, VALID, "
    "INVALID, FAILED, LEFT and EXECUTED; the same as JSON on stdin. The webhook gets JSON by POST, with a text that "
    "Slack and Mattermost show. Its URL is a secret: the variable keeps it out of the process list."
)


def _find_cluster(campaign: Path, named: Path | None) -> Path | None:
    """The cluster file of a campaign: the named one, the one beside it, or that of the only testbed that is up."""
    from glusterlab.testbed.state import default_cluster_file

    beside = campaign.parent / "cluster.yaml"
    return named or (beside if beside.is_file() else default_cluster_file())


def _note_names(campaign: Campaign) -> None:
    """Say before a night is spent which study and notebooks a campaign names that are not there."""
    from glusterlab.spec.fields import suggest
    from glusterlab.spec.studies import NO_STUDY, project_root, studies, study_folder

    folder = study_folder(campaign.study, Path("raw", campaign.name))
    if campaign.study != NO_STUDY and not folder.is_dir():
        near = suggest(campaign.study, [each.name for each in studies(folder.parent)], listed=False)
        talk(f"study {campaign.study!r} is not in {folder.parent}, so none of its sections will be drawn{near}")
    if campaign.notebooks:
        from glusterlab.reproduce.reproduce import choose_notebooks

        try:
            choose_notebooks(campaign.notebooks, project_root(Path.cwd()))
        except GlusterlabError as error:
            talk(f"notebooks of the campaign: {error}")


def _require_cluster(campaign: Path, named: Path | None) -> Path:
    from glusterlab.testbed.state import running

    if (found := _find_cluster(campaign, named)) is None:
        up = running()
        seen = f"{len(up)} testbeds are up ({', '.join(up)})" if up else "no testbed is up"
        raise UsageError(
            f"which cluster? There is no cluster.yaml beside {campaign}, and {seen}: name one by --cluster, "
            "or start one with 'glusterlab testbed up'"
        )
    return found


@command(
    "glusterlab plan runbooks/testbed/campaign.yaml",
    "glusterlab plan campaign.yaml --cluster cluster.yaml --cells",
    "glusterlab plan campaign.yaml --json | jq '.total'",
)
def plan(
    campaign: Path = CAMPAIGN,
    cluster: Path | None = CLUSTER,
    cells: bool = flag("--cells", "One line per cell, with its id."),
    hosts: bool = flag("--hosts", "Ask the hosts, too, which tools they have, and what of NFS and SMB they can do."),
    json: bool = JSON,
) -> None:
    """What would run: cells, samples, time and space; and what cannot run, and why."""
    from glusterlab.hosts import facts
    from glusterlab.run.plan import build_plan, check_campaign, estimate, without
    from glusterlab.spec import load_campaign, load_cluster

    specification = load_campaign(campaign, check_campaign)
    _note_names(specification)
    cluster_file = _find_cluster(campaign, cluster)
    pool = None if cluster_file is None else load_cluster(cluster_file)
    if pool is None:
        talk("no cluster.yaml was found or given: scale, bricks, time and space are left open")
    found = build_plan(specification, pool)
    if pool is not None:
        from glusterlab.run.refusals import refusals

        refused, unasked = refusals(found, pool)
        if unasked is not None:
            talk(unasked)
        found = build_plan(specification, pool, refused=refused)
        if hosts:
            found = without(found, pool, facts.ask(pool))
    cost = None if pool is None else estimate(found, pool)
    show_plan(specification, cluster_file, found, cost, cells=cells, as_json=json)
    if not found.samples:
        raise typer.Exit(1)


@command(
    "glusterlab run runbooks/testbed/campaign.yaml",
    "glusterlab run campaign.yaml --cluster cluster.yaml --raw /data/raw",
    "glusterlab run runbooks/testbed/campaign.yaml --name mine   (into raw/mine)",
    "glusterlab run campaign.yaml --retry   (what failed gets new attempts)",
    "glusterlab run campaign.yaml --rounds 1   (one repeat of every cell)",
    "glusterlab run campaign.yaml --on-end 'mail -s \"$GLUSTERLAB_OUTCOME\" me'",
    more=_ON_END,
)
def run(
    campaign: Path = CAMPAIGN,
    cluster: Path | None = CLUSTER,
    raw: Path = RAW_ROOT,
    name: str | None = option("NAME", "Another name for the campaign, and so for its folder."),
    retry: bool = flag("--retry", "Give new attempts to repeats whose attempts are used up."),
    rounds: int | None = option(
        "N",
        "End after N rounds; the next run goes on with the next. For campaigns in turns on two pools, so that "
        "a drift over the night hits both.",
        min=1,
    ),
    take_over: bool = flag(
        "--take-over",
        "Take the hosts from a run of another controller that did not give them back. Be sure that it is "
        "gone: what it still does there is ended.",
    ),
    moved: bool = flag(
        "--moved",
        "Go on with the campaign of a testbed on another machine: kernel, CPUs, memory and GlusterFS's build may "
        "differ, no release. Its facts are kept in environment-<n>.json; each sample says which machine it is of.",
    ),
    on_end: str | None = option("COMMAND", "Run this in a shell when the run is over."),
    webhook: str | None = option("URL", "Tell this address when the run is over.", envvar="GLUSTERLAB_WEBHOOK"),
    json: bool = JSON,
) -> None:
    """Run a campaign, or go on where it stopped. Ctrl-C is safe at any moment."""
    from pydantic import ValidationError

    from glusterlab.run.notify import Notifier
    from glusterlab.run.plan import check_campaign
    from glusterlab.spec import Campaign, load_campaign, load_cluster
    from glusterlab.spec.yaml import first_problem

    specification = load_campaign(campaign, check_campaign)
    if name is not None:
        try:
            specification = Campaign.model_validate({**specification.model_dump(), "name": name})
        except ValidationError as error:
            raise UsageError(f"--name: {first_problem(error, Campaign)[1]}") from error
    _note_names(specification)
    pool = load_cluster(_require_cluster(campaign, cluster))

    from glusterlab.run.progress import Ending
    from glusterlab.run.runner import run as execute
    from glusterlab.run.view import output_for
    from glusterlab.testbed.throttle import run_options

    notifier = Notifier(on_end, webhook)
    options = run_options(pool) | {"retry": retry, "take_over": take_over, "moved": moved, "rounds": rounds}
    began = time.monotonic()
    try:
        summary = execute(specification, pool, raw, output=output_for(person()), **options)
    except BaseException as error:
        # a second Ctrl-C, too: whoever is told when a run is over is told of every end
        _tell(notifier, Ending.of_error(specification.name, raw / specification.name, error, time.monotonic() - began))
        raise
    try:
        show_run(summary, as_json=json)
    finally:
        # also when nobody is there any more to be shown it
        _tell(notifier, Ending.of(summary))
    raise typer.Exit(summary.exit_code)


def _tell(notifier: Notifier, end: Ending) -> None:
    """Tell others how a run ended; what fails is said, and kept in the campaign's log."""
    from glusterlab.store.journal import Journal

    for sentence in notifier.tell(end):
        with suppress(RawStoreError):
            Journal(end.raw).say(sentence, "warning")
        talk(sentence)


def show_run(summary: RunSummary, *, as_json: bool) -> None:
    """How a run ended."""
    numbers = picked(summary, "valid", "invalid", "failed", "left")
    counts = ", ".join(f"{number} {word}" for word, number in numbers.items() if number or word == "valid")
    stopped = ", stopped as asked" if summary.interrupted else ""
    left_out = f"; {count_of(summary.not_runnable, 'cell')} not runnable here" if summary.not_runnable else ""
    line = (
        f"{summary.path}: {count_of(summary.total, 'sample')}: {counts}; "
        f"{summary.executed} executed in {format_duration(summary.seconds)}{stopped}{left_out}"
    )
    left_out_because = (f"not runnable here, and left out: {reason}" for reason in summary.not_runnable_reasons)
    notes = filter(None, [*left_out_because, *summary.problems, summary.advice])
    show([], as_json, {**asdict(summary), "exit_code": summary.exit_code}, lines=[line], notes=notes)


def show_plan(
    campaign: Campaign, cluster_file: Path | None, plan: Plan, cost: Estimate | None, *, cells: bool, as_json: bool
) -> None:
    """A row per cell, or per group of cells; then the whole, and what is left out."""
    heading = "at most" if plan.rules else "time"
    if cells:
        samples, fewest = _counts(plan.counted), _counts(each for each in plan.fewest if not each.warmup)
        right, fold = ("samples", "each"), "cell"
        rows: list[dict[str, object]] = [
            {
                "cell": cell.id,
                "samples": _repeats(samples, fewest, [cell]),
                "each": format_duration(cost.cells[cell.id].seconds) if cost else "",
            }
            for cell in plan.cells
        ]
    else:
        rows, right, fold = _group_rows(plan, cost, heading), ("samples", heading), "layout"
    lines = []
    if not cells:
        for layout in dict.fromkeys(cell.layout for cell in plan.cells):
            options = "".join(f", {option}={value}" for option, value in layout.options)
            lines.append(f"{layout.name}: {layout.words}{options}")
        lines.append("")
    lines.append(_total(campaign, plan, cost))
    for rule, count in plan.rules.items():
        limits = f"{rule.least} to {rule.max} repeats"
        which = "a cell ends" if count == len(plan.cells) else f"{count} of {count_of(len(plan.cells), 'cell')} end"
        lines.append(f"{which} after {limits}, as soon as the 95 % interval of a mean is ± {percent(rule.half_width)}")
    for words, count in Counter(cell.event.words for cell in plan.cells if cell.event is not None).items():
        lines.append(f"during {words}: {count_of(count, 'cell')}, each sample on a new volume that is deleted after it")
    lines += [*_left_out("excluded", plan.excluded), *_left_out("not runnable", plan.not_runnable)]
    lines += _unequal(plan)
    if campaign.chosen_after:
        lines.append("\nchosen after seeing runs")
        lines += [f"  {choice.what}: {choice.why} ({choice.when})" for choice in campaign.chosen_after]
    data = _plan_json(campaign, cluster_file, plan, cost) if as_json else None
    show(rows, as_json, data, right=right, fold=fold, lines=lines)


def _total(campaign: Campaign, plan: Plan, cost: Estimate | None) -> str:
    """The bounds of the whole: with a target, the fewest samples and the most."""
    fewest, most = len(plan.fewest) - len(plan.warmup), len(plan.counted)
    samples = count_of(most, "sample") if fewest == most else f"{fewest:,} to {count_of(most, 'sample')}"
    total = f"{count_of(len(plan.cells), 'cell')}, {samples}"
    if plan.warmup:
        total += f" and {len(plan.warmup):,} of the warm-up"
    if cost is None:
        return total
    time = format_duration(cost.seconds)
    if cost.fewest_seconds != cost.seconds:
        time = f"{format_duration(cost.fewest_seconds)} to {time}"
    at_most = "at most " if fewest != most else ""
    return (
        f"{total}, roughly {time}, {format_bytes(cost.brick_bytes)} on bricks, "
        f"{at_most}{format_bytes(cost.raw_bytes)} in raw/{campaign.name}"
    )


def _counts(samples: Iterable[PlannedSample]) -> Counter[str]:
    return Counter(sample.cell.id for sample in samples)


def _repeats(most: Counter[str], fewest: Counter[str], cells: Iterable[Cell]) -> str:
    low, high = (sum(counts[cell.id] for cell in cells) for counts in (fewest, most))
    return str(high) if low == high else f"{low}-{high}"


def _group_rows(plan: Plan, cost: Estimate | None, heading: str) -> list[dict[str, object]]:
    samples, executed = _counts(plan.counted), _counts([*plan.counted, *plan.warmup])
    fewest = _counts(each for each in plan.fewest if not each.warmup)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        access = "" if cell.access == "native" else f" over {cell.access}"
        workload = f"{cell.tool} {cell.operation} {format_size(cell.nominal_file_size_bytes)}{access}"
        groups.setdefault((cell.layout.name, workload), []).append(cell)
    return [
        {
            "layout": name,
            "workload": workload,
            "workers": " ".join(str(number) for number in sorted({cell.workers for cell in members})),
            "samples": _repeats(samples, fewest, members),
            heading: format_duration(sum(executed[cell.id] * cost.cells[cell.id].seconds for cell in members))
            if cost
            else "",
        }
        for (name, workload), members in groups.items()
    ]


def _left_out(what: str, cells: Sequence[tuple[Cell, str]]) -> Iterator[str]:
    reasons: dict[str, list[Cell]] = {}
    for cell, reason in cells:
        reasons.setdefault(reason, []).append(cell)
    for reason, members in reasons.items():
        yield f"\n{what}: {count_of(len(members), 'cell')}: {reason}"
        yield from (f"  {cell.id}" for cell in members[:5])
        if len(members) > 5:
            yield f"  and {len(members) - 5} more (--json names all)"


def _unequal(plan: Plan) -> Iterator[str]:
    from glusterlab.run.plan import unequal_work

    others: dict[tuple[str, str, str], set[str]] = {}
    for one, other, what in unequal_work(plan.cells):
        workload = f"{one.tool} {format_size(one.nominal_file_size_bytes)}, {count_of(one.workers, 'worker')}"
        others.setdefault((workload, what, one.layout.name), set()).add(other.layout.name)
    if others:
        yield "\nunequal work: rates of these layouts are not to be compared until their files are made equal"
    for (workload, what, layout), names in others.items():
        yield f"  {workload}: {what}: {layout} and {', '.join(sorted(names))}"


def _plan_json(campaign: Campaign, cluster_file: Path | None, plan: Plan, cost: Estimate | None) -> dict[str, Any]:
    from glusterlab.run.plan import unequal_work

    samples, warmup = _counts(plan.counted), _counts(plan.warmup)
    cells = []
    for cell in plan.cells:
        count = {"samples": samples[cell.id], "warmup": warmup[cell.id]}
        entry = {"id": cell.id, **count, **cell.model_dump(mode="json")}
        if cost is not None:
            entry |= {"seconds": round(cost.cells[cell.id].seconds, 1), "bytes": cost.cells[cell.id].bytes}
        cells.append(entry)
    total: dict[str, Any] = {
        "cells": len(plan.cells),
        "samples": len(plan.counted),
        "fewest_samples": len(plan.fewest) - len(plan.warmup),
        "warmup": len(plan.warmup),
    }
    if cost is not None:
        total |= {"seconds": round(cost.seconds), "fewest_seconds": round(cost.fewest_seconds)}
        total |= picked(cost, "brick_bytes", "raw_bytes")
    return {
        "campaign": campaign.name,
        "cluster": cluster_file,
        "cells": cells,
        "samples": [
            {**picked(sample, "order", "round", "repeat", "warmup"), "cell": sample.cell.id} for sample in plan.samples
        ],
        "repeats": bounds(plan.repeats),
        "excluded": [{"cell": cell.id, "reason": reason} for cell, reason in plan.excluded],
        "not_runnable": [{"cell": cell.id, "reason": reason} for cell, reason in plan.not_runnable],
        "unequal_work": [
            {"cells": [one.id, other.id], "difference": what} for one, other, what in unequal_work(plan.cells)
        ],
        "chosen_after": [choice.model_dump() for choice in campaign.chosen_after],
        "total": total,
    }
