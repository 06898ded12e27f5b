"""What ``glusterlab check`` shows: findings by level, those that many hosts share as one row."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from glusterlab.report.terminal import SCHEMA_VERSION, count_of, emit_json, show_table

if TYPE_CHECKING:
    from glusterlab.hosts.check import Finding

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
    """What ``glusterlab check`` found.

    Parameters
    ----------
    findings : sequence of Finding
    as_json : bool
    more : dict, optional
        Further keys of the JSON.
    """
    levels = Counter(finding.level for finding in findings)
    if as_json:
        emit_json(
            {
                "schema_version": SCHEMA_VERSION,
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
        typer.echo(f"looked at and fine: {', '.join(fine)}")
    verdict = "not fit to measure" if levels["error"] else "fit to measure"
    counts = ", ".join(count_of(sum(row[0] == level for row in rows), level) for level in ("error", "warning"))
    typer.echo(f"{verdict}: {counts}")


def show_codes(codes: Iterable[tuple[str, str]], *, as_json: bool) -> None:
    """Every code of a finding, and what is so where all is well."""
    listed = list(codes)
    if as_json:
        emit_json({"schema_version": SCHEMA_VERSION, "codes": dict(listed)})
    else:
        show_table(("code", "fit when"), listed, fold="fit when")
