"""Commands that measure, or plan to: plan, run."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glusterlab.arguments import CampaignArgument, ClusterOption, JsonOption, RawRootOption, examples
from glusterlab.errors import RawStoreError, UsageError

if TYPE_CHECKING:
    from glusterlab.notify import Notifier, RunEnd
    from glusterlab.spec import Campaign

app = typer.Typer()


_ON_END = (
    "--on-end and --webhook are called when the run ends, stops or fails; neither changes how it came out. The command "
    "has a minute (what takes longer goes into the background); it gets GLUSTERLAB_OUTCOME (complete, incomplete, "
    "stopped, failed), GLUSTERLAB_MESSAGE, and as GLUSTERLAB_... also CAMPAIGN, RAW, EXIT_CODE, SECONDS, TOTAL, VALID, "
    "INVALID, FAILED, LEFT and EXECUTED; the same as JSON on stdin. The webhook gets JSON by POST, with a text that "
    "Slack and Mattermost show. Its URL is a secret: the variable keeps it out of the process list."
)


def _find_cluster(campaign: Path, given: Path | None) -> Path | None:
    """The cluster file of a campaign: the given one, the one beside it, or that of the only testbed that is up."""
    from glusterlab.hosts.testbed.state import default_cluster_file

    beside = campaign.parent / "cluster.yaml"
    if given is not None:
        return given
    return beside if beside.is_file() else default_cluster_file()


def _require_cluster(campaign: Path, given: Path | None) -> Path:
    from glusterlab.hosts.testbed.state import running

    found = _find_cluster(campaign, given)
    if found is None:
        up = running()
        seen = f"{len(up)} testbeds are up ({', '.join(up)})" if up else "no testbed is up"
        raise UsageError(
            f"which cluster? There is no cluster.yaml beside {campaign}, and {seen}: name one by --cluster, "
            "or start one with 'glusterlab testbed up'"
        )
    return found


@app.command(
    epilog=examples(
        "glusterlab plan runbooks/testbed/campaign.yaml",
        "glusterlab plan campaign.yaml --cluster cluster.yaml --cells",
        "glusterlab plan campaign.yaml --json | jq '.total'",
    )
)
def plan(
    campaign: CampaignArgument,
    cluster: ClusterOption = None,
    cells: Annotated[bool, typer.Option("--cells", help="One line per cell, with its id.")] = False,
    json: JsonOption = False,
) -> None:
    """What would run: cells, samples, time and space; and what cannot run, and why."""
    from glusterlab.report.plan import show_plan
    from glusterlab.report.terminal import talk
    from glusterlab.spec import build_plan, estimate, load_campaign, load_cluster

    specification = load_campaign(campaign)
    cluster_file = _find_cluster(campaign, cluster)
    pool = None if cluster_file is None else load_cluster(cluster_file)
    if pool is None:
        talk("no cluster.yaml was found or given: scale, bricks, time and space are left open")
    found = build_plan(specification, pool, smallfile=pool is None or pool.smallfile_checkout() is not None)
    cost = None if pool is None else estimate(found, pool)
    show_plan(specification, cluster_file, found, cost, cells=cells, as_json=json)
    if not found.samples:
        raise typer.Exit(1)


@app.command(
    epilog=examples(
        "glusterlab run runbooks/testbed/campaign.yaml",
        "glusterlab run campaign.yaml --cluster cluster.yaml --raw /data/raw",
        "glusterlab run runbooks/testbed/campaign.yaml --name mine   (into raw/mine)",
        "glusterlab run campaign.yaml --retry   (what failed gets new attempts)",
        "glusterlab run campaign.yaml --rounds 1   (one repeat of every cell)",
        "glusterlab run campaign.yaml --on-end 'mail -s \"$GLUSTERLAB_OUTCOME\" me'",
    )
    + "\n\n"
    + _ON_END
)
def run(
    campaign: CampaignArgument,
    cluster: ClusterOption = None,
    raw: RawRootOption = Path("raw"),
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Another name for the campaign, and so for its folder.")
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="Give new attempts to repeats whose attempts are used up.")
    ] = False,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            metavar="N",
            min=1,
            help="End after N rounds; the next run goes on with the next. For campaigns in turns on two pools, so that "
            "a drift over the night hits both.",
        ),
    ] = None,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="Take the hosts from a run of another controller that did not give them back. Be sure that it is "
            "gone: what it still does there is ended.",
        ),
    ] = False,
    on_end: Annotated[
        str | None, typer.Option("--on-end", metavar="COMMAND", help="Run this in a shell when the run is over.")
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(
            "--webhook", metavar="URL", envvar="GLUSTERLAB_WEBHOOK", help="Tell this address when the run is over."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run a campaign, or go on where it stopped. Ctrl-C is safe at any moment."""
    from glusterlab.notify import Notifier, RunEnd
    from glusterlab.spec import load_campaign, load_cluster

    specification = load_campaign(campaign)
    if name is not None:
        specification = _renamed(specification, name)
    pool = load_cluster(_require_cluster(campaign, cluster))

    from glusterlab.progress import for_console
    from glusterlab.report.run import show_run
    from glusterlab.report.terminal import person
    from glusterlab.runner import run as execute

    notifier = Notifier.of(on_end, webhook)
    folder = raw / specification.name
    progress = for_console(person(), specification.name)
    began = time.monotonic()
    try:
        summary = execute(specification, pool, raw, retry=retry, take_over=take_over, rounds=rounds, progress=progress)
    except BaseException as error:
        # a second Ctrl-C, too: whoever is told when a run is over is told of every end
        _tell(notifier, RunEnd.of_error(specification.name, folder, error, time.monotonic() - began))
        raise
    try:
        show_run(summary, as_json=json)
    finally:
        # also when nobody is there any more to be shown it
        _tell(notifier, RunEnd.of(summary))
    raise typer.Exit(summary.exit_code)


def _tell(notifier: Notifier, end: RunEnd) -> None:
    """Tell others how a run ended; what fails is said, and kept in the campaign's log."""
    from glusterlab.journal import Journal
    from glusterlab.report.terminal import talk

    for sentence in notifier.tell(end):
        with suppress(RawStoreError):
            Journal(Path(end.raw)).say(sentence, "warning")
        talk(sentence)


def _renamed(campaign: Campaign, name: str) -> Campaign:
    from pydantic import ValidationError

    from glusterlab.spec.load import first_problem

    try:
        return type(campaign).model_validate({**campaign.model_dump(), "name": name})
    except ValidationError as error:
        raise UsageError(f"--name: {first_problem(error, type(campaign))[1]}") from error
