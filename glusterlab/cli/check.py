"""check: is the cluster fit to measure? With --baseline also what its disks and links can do."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glusterlab.cli.console import (
    ClusterArgument,
    JsonOption,
    count_of,
    emit_json,
    examples,
    local_path,
    megabytes,
    percent,
    person,
    show_table,
    talk,
)
from glusterlab.errors import UsageError

if TYPE_CHECKING:
    from glusterlab.analysis.baselines import Rates
    from glusterlab.hosts.check import Finding
    from glusterlab.run.progress import RunSummary
    from glusterlab.spec import Campaign, Cluster

app = typer.Typer()

_PANEL = "With --baseline"


@app.command(
    epilog=examples(
        "glusterlab check cluster.yaml",
        "glusterlab check cluster.yaml --json | jq '.findings[] | .host, .message'",
        "glusterlab check cluster.yaml --baseline",
        "glusterlab check cluster.yaml --baseline --seconds 60 --repeats 5 --raw /data",
        "glusterlab check --codes   (what is inspected)",
    )
)
def check(
    cluster: Annotated[Path | None, ClusterArgument] = None,
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
            rich_help_panel=_PANEL,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Its folder below raw/; default: <cluster>-baseline.", rich_help_panel=_PANEL
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="S", help="About how long each measurement takes; default: 20.", rich_help_panel=_PANEL
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            help="Of each IOzone file, instead of what the stated rates make in that time.",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", metavar="N", help="Samples of each kind; default: 3.", rich_help_panel=_PANEL),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="PART", help="disks or network; default: both.", rich_help_panel=_PANEL),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="New attempts for what used up its attempts.", rich_help_panel=_PANEL)
    ] = False,
    codes: Annotated[bool, typer.Option("--codes", help="Show what is inspected, by code, and exit.")] = False,
    json: JsonOption = False,
) -> None:
    """Is the cluster fit to measure? A table of findings; exit 1 if it is not."""
    from glusterlab.hosts.check import CODES, POOL_CODES
    from glusterlab.hosts.check import check as examine
    from glusterlab.spec import load_cluster

    if codes:
        if json:
            emit_json({"codes": CODES})
        else:
            show_table(("code", "fit when"), CODES.items(), fold="fit when")
        return
    if cluster is None:
        raise UsageError("which cluster? Name a cluster.yaml: glusterlab check cluster.yaml")
    settings = {"raw": raw, "name": name, "seconds": seconds, "size": size, "repeats": repeats, "only": only}
    used = [f"--{option}" for option, value in {**settings, "retry": retry or None}.items() if value is not None]
    if used and not baseline:
        raise UsageError(f"{', '.join(used)}: only with --baseline")
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
        show_check(findings, as_json=True, more={"baseline": _baseline_json(summary, pool)})
    else:
        _show_baseline(summary, pool)
    raise typer.Exit(summary.exit_code or (0 if fit else 1))


def _campaign(
    cluster: Cluster, seconds: float | None, size: str | None, repeats: int | None, only: str | None, name: str | None
) -> Campaign:
    from pydantic import ValidationError

    from glusterlab.run.baseline import baseline_campaign
    from glusterlab.spec.campaign import BaselineSpec, Campaign
    from glusterlab.spec.yaml import first_problem

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
    from glusterlab.run.runner import run
    from glusterlab.run.view import output_for
    from glusterlab.testbed.throttle import run_options

    return run(campaign, cluster, raw, retry=retry, output=output_for(person()), **run_options(cluster))


def _show_baseline(summary: RunSummary, cluster: Cluster) -> None:
    from glusterlab.cli.run import show_run
    from glusterlab.sections.baseline import read_results

    results = read_results(summary.path)
    if results:
        show_rates(results, cluster)
        typer.echo("")
    show_run(summary, as_json=False)


def _baseline_json(summary: RunSummary, cluster: Cluster) -> dict[str, Any]:
    from glusterlab.sections.baseline import read_results

    rates = rates_json(read_results(summary.path), cluster)
    return {**asdict(summary), "exit_code": summary.exit_code, "rates": rates}


def show_rates(results: Sequence[Rates], cluster: Cluster) -> None:
    """A row for each kind of place: the median, the slowest and where it is, and what the cluster file states."""
    from glusterlab.analysis.baselines import label, ordered, slow_places, stated

    columns = ("model", "what", "operation", "places", "MB/s", "lowest", "highest", "stated", "share", "n")
    rows = []
    for each in ordered(results, cluster):
        expected = stated(each, cluster)
        rows.append(
            (
                each.model,
                label(each, cluster),
                "" if each.what == "link" else each.operation,
                len(each.rates),
                megabytes(each.median),
                megabytes(min(each.rates.values())),
                megabytes(max(each.rates.values())),
                "" if expected is None else megabytes(expected),
                "" if expected is None else percent(round(each.median / expected, 2)),
                each.samples,
            )
        )
    show_table(columns, rows, right=columns[3:])
    for line in slow_places(results, cluster):
        typer.echo(line)


def rates_json(results: Sequence[Rates], cluster: Cluster) -> list[dict[str, Any]]:
    """The rates for scripts."""
    from glusterlab.analysis.baselines import ordered, stated

    return [
        {
            "model": each.model,
            "scale": each.scale,
            "operations_limited": each.operations_limited,
            "what": each.what,
            "of": each.of,
            "operation": each.operation,
            "samples": each.samples,
            "median_bytes_per_s": each.median,
            "stated_bytes_per_s": stated(each, cluster),
            "rates_bytes_per_s": dict(each.rates),
        }
        for each in ordered(results, cluster)
    ]


_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")


def fold_names(names: Iterable[str]) -> str:
    """Names of hosts in few words, as tools for clusters write them.

    Examples
    --------
    >>> fold_names(["gl-c01", "gl-c02", "gl-c03", "gl-c07", "db"])
    'db,gl-c[01-03,07]'
    >>> fold_names(["server9", "server10", "server11"]), fold_names(["one"])
    ('server[9-11]', 'one')
    """
    families: dict[tuple[str, str], list[str]] = defaultdict(list)
    words = []
    for name in set(names):
        match = _NUMBERED.fullmatch(name)
        if match is None:
            words.append(name)
        else:
            families[match[1], match[3]].append(match[2])
    for (before, after), numbers in families.items():
        ranges = _ranges(sorted(numbers, key=lambda text: (int(text), len(text))))
        inner = ranges[0] if len(numbers) == 1 else f"[{','.join(ranges)}]"
        words.append(f"{before}{inner}{after}")
    return ",".join(sorted(words))


def _ranges(numbers: Sequence[str]) -> list[str]:
    """Runs of numbers that follow each other and are written alike: 01 is not 1."""
    runs: list[list[str]] = []
    for text in numbers:
        follows = runs and int(text) == int(runs[-1][-1]) + 1
        # 9 and 10 are written alike, and 09 and 10; 9 and 010 are not
        alike = runs and text == str(int(runs[-1][-1]) + 1).zfill(len(runs[-1][-1]))
        if follows and alike:
            runs[-1].append(text)
        else:
            runs.append([text])
    return [run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]


def rows_of(findings: Iterable[Finding]) -> list[tuple[str, str, str, str]]:
    """Rows of the table: level, hosts, finding, what to do; errors first, and a row for all hosts that share one."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        if finding.level != "ok":
            key = (finding.level, finding.message, finding.advice or "")
            shared.setdefault(key, []).extend([finding.host] if finding.host else [])
    rows = []
    for (level, message, advice), hosts in shared.items():
        names = fold_names(hosts)
        if len(set(hosts)) > 1:
            names += f" ({len(set(hosts))})"
        rows.append((level, names, message, advice))
    return sorted(rows, key=lambda row: row[0] != "error")


def show_check(findings: Sequence[Finding], *, as_json: bool, more: dict[str, Any] | None = None) -> None:
    """Findings and the verdict; `more` has further keys of the JSON."""
    levels = Counter(finding.level for finding in findings)
    if as_json:
        emit_json(
            {
                "fit": not levels["error"],
                "findings": [
                    {name: getattr(finding, name) for name in ("host", "level", "code", "message", "advice")}
                    for finding in findings
                ],
                **(more or {}),
            }
        )
        return
    rows = rows_of(findings)
    if rows:
        show_table(("level", "host", "finding", "what to do"), rows)
        typer.echo("")
    wrong = {finding.code for finding in findings if finding.level != "ok"}
    fine = dict.fromkeys(finding.code for finding in findings if finding.level == "ok" and finding.code not in wrong)
    if fine:
        typer.echo(f"inspected and fine: {', '.join(fine)}")
    verdict = "not fit to measure" if levels["error"] else "fit to measure"
    counts = ", ".join(count_of(sum(row[0] == level for row in rows), level) for level in ("error", "warning"))
    typer.echo(f"{verdict}: {counts}")
