"""The command that looks at a cluster, and measures its baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glusterlab.arguments import JsonOption, complete_yaml, examples, local_path
from glusterlab.errors import UsageError

if TYPE_CHECKING:
    from glusterlab.progress import RunSummary
    from glusterlab.spec import Campaign, Cluster

app = typer.Typer()

_BASELINE_PANEL = "With --baseline"


@app.command(
    epilog=examples(
        "glusterlab check cluster.yaml",
        "glusterlab check cluster.yaml --json | jq '.findings[] | .host, .message'",
        "glusterlab check cluster.yaml --baseline",
        "glusterlab check cluster.yaml --baseline --seconds 60 --repeats 5 --raw /data",
        "glusterlab check --codes   (what is looked at)",
    )
)
def check(
    cluster: Annotated[
        Path | None,
        typer.Argument(metavar="CLUSTER", parser=local_path, help="A cluster.yaml.", autocompletion=complete_yaml),
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline",
            help="Measure disks and arrays with IOzone and the links of all hosts with iperf3, and keep it as a "
            "campaign; figures of the same cluster take their limits from it.",
        ),
    ] = False,
    raw: Annotated[
        Path | None,
        typer.Option(
            "--raw",
            metavar="DIR",
            parser=local_path,
            help="Where campaigns are kept; default: raw.",
            rich_help_panel=_BASELINE_PANEL,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Its folder below raw/; default: <cluster>-baseline.",
            rich_help_panel=_BASELINE_PANEL,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="S",
            help="About how long each measurement takes; default: 20.",
            rich_help_panel=_BASELINE_PANEL,
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            help="Of each IOzone file, instead of what the stated rates make in that time.",
            rich_help_panel=_BASELINE_PANEL,
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats", metavar="N", help="Samples of each kind; default: 3.", rich_help_panel=_BASELINE_PANEL
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only", metavar="PART", help="disks or network; default: both.", rich_help_panel=_BASELINE_PANEL
        ),
    ] = None,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="New attempts for what used up its attempts.", rich_help_panel=_BASELINE_PANEL),
    ] = False,
    codes: Annotated[bool, typer.Option("--codes", help="Show what is looked at, by code, and exit.")] = False,
    json: JsonOption = False,
) -> None:
    """Is the cluster fit to measure? A table of findings; exit 1 if it is not."""
    from glusterlab.hosts.check import CODES, POOL_CODES
    from glusterlab.hosts.check import check as examine
    from glusterlab.report.check import show_check, show_codes
    from glusterlab.report.terminal import talk
    from glusterlab.spec import load_cluster

    if codes:
        show_codes(CODES.items(), as_json=json)
        return
    if cluster is None:
        raise UsageError("which cluster? Name a cluster.yaml: glusterlab check cluster.yaml")
    settings = {
        "--raw": raw,
        "--name": name,
        "--seconds": seconds,
        "--size": size,
        "--repeats": repeats,
        "--only": only,
    }
    given = [option for option, value in {**settings, "--retry": retry or None}.items() if value is not None]
    if given and not baseline:
        raise UsageError(f"{', '.join(given)}: only with --baseline")
    pool = load_cluster(cluster)
    campaign = _campaign(pool, seconds, size, repeats, only, name) if baseline else None
    findings = examine(pool, baseline=baseline)
    fit = not any(finding.level == "error" for finding in findings)
    in_the_way = [finding for finding in findings if finding.level == "error" and finding.code not in POOL_CODES]
    if campaign is None or in_the_way:
        show_check(findings, as_json=json)
        if campaign is not None:
            talk("the baseline was not begun: mend the errors first")
        raise typer.Exit(0 if fit else 1)
    if not json:
        show_check(findings, as_json=False)
        typer.echo("")
    summary = _measure(campaign, pool, raw or Path("raw"), retry=retry)
    if json:
        show_check(findings, as_json=True, more={"baseline": _as_json(summary, pool)})
    else:
        _show(summary, pool)
    raise typer.Exit(summary.exit_code or (0 if fit else 1))


def _campaign(
    cluster: Cluster, seconds: float | None, size: str | None, repeats: int | None, only: str | None, name: str | None
) -> Campaign:
    from pydantic import ValidationError

    from glusterlab.baseline import baseline_campaign
    from glusterlab.spec.campaign import BaselineSpec, Campaign
    from glusterlab.spec.load import first_problem

    if only not in (None, "disks", "network"):
        raise UsageError(f"--only: expected disks or network, found {only!r}")
    chosen = {key: value for key, value in (("seconds", seconds), ("file_size", size)) if value is not None}
    try:
        spec = BaselineSpec.model_validate({**chosen, "disks": only != "network", "network": only != "disks"})
        return baseline_campaign(cluster, spec, name=name, repeats=3 if repeats is None else repeats)
    except ValidationError as error:
        key, message = first_problem(error, Campaign if error.title == Campaign.__name__ else BaselineSpec)
        option = {"seconds": "--seconds", "file_size": "--size", "repeats": "--repeats", "name": "--name"}
        raise UsageError(f"{option.get(key, '--baseline')}: {message}") from error


def _measure(campaign: Campaign, cluster: Cluster, raw: Path, *, retry: bool) -> RunSummary:
    from rich.console import Console

    from glusterlab.progress import for_console
    from glusterlab.runner import run

    return run(campaign, cluster, raw, retry=retry, progress=for_console(Console(stderr=True), campaign.name))


def _show(summary: RunSummary, cluster: Cluster) -> None:
    from glusterlab.baseline import read_results
    from glusterlab.report.baseline import show_rates
    from glusterlab.report.run import show_run

    results = read_results(summary.path)
    if results:
        show_rates(results, cluster)
        typer.echo("")
    show_run(summary, as_json=False)


def _as_json(summary: RunSummary, cluster: Cluster) -> dict[str, Any]:
    from dataclasses import asdict

    from glusterlab.baseline import read_results
    from glusterlab.report.baseline import rates_json

    results = read_results(summary.path)
    return {**asdict(summary), "exit_code": summary.exit_code, "rates": rates_json(results, cluster)}
