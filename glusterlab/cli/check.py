"""check: is the cluster fit to measure? With --baseline also what its disks and links can do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.cli.console import count_of, megabytes, percent, person, picked, show, talk
from glusterlab.cli.options import JSON, argument, commands, complete_yaml, flag, local_path, option
from glusterlab.errors import GlusterlabError, UsageError

if TYPE_CHECKING:
    from glusterlab.analysis.baselines import Rates
    from glusterlab.hosts.check.finding import Finding
    from glusterlab.spec import Campaign, Cluster

app, command = commands()


_option = partial(option, rich_help_panel="With --baseline")


@command(
    "glusterlab check cluster.yaml",
    "glusterlab check cluster.yaml --json | jq '.findings[] | .host, .message'",
    "glusterlab check cluster.yaml --baseline",
    "glusterlab check cluster.yaml --baseline --seconds 60 --repeats 5 --raw /data",
    "glusterlab check --codes   (what is inspected)",
)
def check(
    cluster: Path | None = argument("CLUSTER", "A cluster.yaml.", default=None, autocompletion=complete_yaml),
    baseline: bool = flag(
        "--baseline",
        "Measure disks and arrays with IOzone and the links of all hosts with iperf3, and keep it as a "
        "campaign; figures of the same cluster take their limits from it.",
    ),
    raw: Path | None = _option("DIR", "Where campaigns are kept; default: raw.", parser=local_path),
    name: str | None = _option("NAME", "Its folder below raw/; default: <cluster>-baseline."),
    seconds: float | None = _option("S", "About how long each measurement takes; default: 20."),
    size: str | None = _option("SIZE", "Of each IOzone file, instead of what the stated rates make in that time."),
    repeats: int | None = _option("N", "Samples of each kind; default: 3."),
    only: str | None = _option("PART", "disks or network; default: both."),
    retry: bool = _option(None, "New attempts for what used up its attempts.", "--retry", default=False),
    codes: bool = flag("--codes", "Show what is inspected, by code, and exit."),
    json: bool = JSON,
) -> None:
    """Is the cluster fit to measure? A table of findings; exit 1 if it is not."""
    from glusterlab.hosts.check import check as examine
    from glusterlab.hosts.check.finding import CODES, POOL_CODES
    from glusterlab.spec import load_cluster

    if codes:
        show(
            [{"code": code, "fit when": text} for code, text in CODES.items()], json, {"codes": CODES}, fold="fit when"
        )
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
        examined = any(finding.level == "ok" for finding in findings)
        raise typer.Exit(0 if fit else 1 if examined else GlusterlabError.exit_code)
    if not json:
        show_check(findings, as_json=False)
        typer.echo("")
    from glusterlab.cli.run import show_run
    from glusterlab.run.runner import run
    from glusterlab.run.view import output_for
    from glusterlab.sections.baseline import read_results
    from glusterlab.testbed.throttle import run_options

    summary = run(campaign, pool, raw or Path("raw"), retry=retry, output=output_for(person()), **run_options(pool))
    results = read_results(summary.path)
    if json:
        found = {**asdict(summary), "exit_code": summary.exit_code, "rates": rates_json(results, pool)}
        show_check(findings, as_json=True, more={"baseline": found})
    else:
        if results:
            show_rates(results, pool)
            typer.echo("")
        show_run(summary, as_json=False)
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


def show_rates(results: Sequence[Rates], cluster: Cluster) -> None:
    """A row for each kind of place: the median, the slowest and where it is, and what the cluster file states."""
    from glusterlab.analysis.baselines import label, ordered, slow_places, stated

    rows: list[dict[str, object]] = [
        {
            "model": each.model,
            "what": label(each, cluster),
            "operation": "" if each.what == "link" else each.operation,
            "places": len(each.rates),
            "MB/s": megabytes(each.median),
            "lowest": megabytes(min(each.rates.values())),
            "highest": megabytes(max(each.rates.values())),
            "stated": "" if (expected := stated(each, cluster)) is None else megabytes(expected),
            "share": "" if expected is None else percent(round(each.median / expected, 2)),
            "n": each.samples,
        }
        for each in ordered(results, cluster)
    ]
    show(rows, False, right=list(rows[0])[3:] if rows else ())
    for line in slow_places(results, cluster):
        typer.echo(line)


def rates_json(results: Sequence[Rates], cluster: Cluster) -> list[dict[str, Any]]:
    """The rates for scripts."""
    from glusterlab.analysis.baselines import ordered, stated

    return [
        {
            **picked(each, "model", "scale", "operations_limited", "what", "of", "operation", "samples"),
            "median_bytes_per_s": each.median,
            "stated_bytes_per_s": stated(each, cluster),
            "rates_bytes_per_s": dict(each.rates),
        }
        for each in ordered(results, cluster)
    ]


_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")


def fold_names(names: Iterable[str]) -> str:
    """Names of hosts in few words, as tools for clusters write them.

    >>> fold_names(["gl-c01", "gl-c02", "gl-c03", "gl-c07", "db"])
    'db,gl-c[01-03,07]'
    >>> fold_names(["server9", "server10", "server11"]), fold_names(["one"])
    ('server[9-11]', 'one')
    """
    families: dict[tuple[str, str], list[str]] = defaultdict(list)
    matches = {name: _NUMBERED.fullmatch(name) for name in names}
    words = [name for name, match in matches.items() if match is None]
    for match in filter(None, matches.values()):
        families[match[1], match[3]].append(match[2])
    for (before, after), numbers in families.items():
        runs: list[list[str]] = []
        for text in sorted(numbers, key=lambda text: (int(text), len(text))):
            # 9 and 10 are written alike, and 09 and 10; 9 and 010 are not
            if runs and text == str(int(runs[-1][-1]) + 1).zfill(len(runs[-1][-1])):
                runs[-1].append(text)
            else:
                runs.append([text])
        ranges = ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
        words.append(f"{before}{ranges if len(numbers) == 1 else f'[{ranges}]'}{after}")
    return ",".join(sorted(words))


def rows_of(findings: Iterable[Finding]) -> list[dict[str, str]]:
    """Rows of the table: errors first, and one row for all hosts that share a finding."""
    shared: dict[tuple[str, str, str], set[str]] = {}
    for finding in findings:
        if finding.level in ("error", "warning"):
            hosts = shared.setdefault((finding.level, finding.message, finding.advice or ""), set())
            hosts |= {finding.host} if finding.host else set()
    rows = []
    for (level, message, advice), hosts in shared.items():
        names = fold_names(hosts) + (f" ({len(hosts)})" if len(hosts) > 1 else "")
        rows.append({"level": level, "host": names, "finding": message, "what to do": advice})
    return sorted(rows, key=lambda row: row["level"] != "error")


def show_check(findings: Sequence[Finding], *, as_json: bool, more: dict[str, Any] | None = None) -> None:
    """Findings and the verdict; `more` has further keys of the JSON."""
    from glusterlab.hosts.check.finding import CODES

    listed = [picked(finding, "host", "level", "code", "message", "advice") for finding in findings]
    rows = rows_of(findings)
    wrong = {finding.code for finding in findings if finding.level != "ok"}
    fine = {finding.code: finding.code for finding in findings if finding.code not in wrong}
    for each in findings:
        if each.code in fine and each.message != CODES[each.code]:
            fine[each.code] = f"{each.code} ({each.message})"
    fit = all(finding.level != "error" for finding in findings)
    counts = ", ".join(count_of(sum(row["level"] == level for row in rows), level) for level in ("error", "warning"))
    verdict = f"{'fit' if fit else 'not fit'} to measure: {counts}"
    lines = [f"inspected and fine: {', '.join(fine.values())}"] if fine else []
    unknown: dict[str, list[str]] = defaultdict(list)
    for finding in findings:
        if finding.level == "not examined":
            why = finding.message.removeprefix("not examined")
            unknown[f"{finding.code}{f' ({why[2:]})' if why else ''}"].append(finding.host or "")
    alike: dict[str, list[str]] = defaultdict(list)
    for code, hosts in unknown.items():
        alike[fold_names(filter(None, hosts))].append(code)
    lines += [f"not examined{f' on {names}' if names else ''}: {', '.join(found)}" for names, found in alike.items()]
    lines.append(verdict)
    show(rows, as_json, {"fit": fit, "findings": listed, **(more or {})}, lines=lines)
