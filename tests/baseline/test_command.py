"""``glusterlab check --baseline`` as a user calls it, with a pool in memory."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from glusterlab.cli import app
from glusterlab.hosts.check.finding import CODES, Finding
from glusterlab.hosts.pool import Pool
from glusterlab.run import runner
from glusterlab.spec import dump_yaml
from tests.baseline.bench import BaselineBench


@pytest.fixture
def file(bench: BaselineBench, tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(dump_yaml(bench.cluster))
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "which cluster?"),
        (["cluster.yaml", "--seconds", "5", "--retry"], "--seconds, --retry: only with --baseline"),
        (["FILE", "--baseline", "--only", "tapes"], "--only: expected disks or network, found 'tapes'"),
        (["FILE", "--baseline", "--repeats", "0"], "--repeats: "),
        (["FILE", "--baseline", "--size", "much"], "--size: "),
        (["FILE", "--baseline", "--seconds", "-1"], "--seconds: "),
        (["FILE", "--baseline", "--name", "No Name"], "--name: "),
    ],
)
def test_wrong_options_are_refused_before_any_host_is_asked(file: Path, arguments: list[str], said: str) -> None:
    result = call(*(file if word == "FILE" else word for word in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_the_codes_can_be_shown() -> None:
    assert json.loads(call("--codes", "--json").stdout)["codes"] == dict(CODES)
    assert len(call("--codes").stdout.splitlines()) == len(CODES) + 1


def test_errors_keep_a_baseline_from_beginning(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [Finding("s1", "ok", "answers", "", ""), Finding("s1", "error", "caches", "not dropped", "look")]
    monkeypatch.setattr("glusterlab.hosts.check.check", lambda *_, **__: findings)
    result = call(file, "--baseline", "--raw", tmp_path / "raw")
    assert result.exit_code == 1
    assert "the baseline was not begun: mend the errors first" in result.stderr
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize("fit", [True, False])
def test_a_baseline_is_measured_shown_and_kept(
    bench: BaselineBench, file: Path, monkeypatch: pytest.MonkeyPatch, fit: bool
) -> None:
    # a baseline can be measured before there is a pool
    found = [] if fit else [Finding(None, "error", "gluster", "glusterd does not answer", "start it")]
    monkeypatch.setattr("glusterlab.hosts.check.check", lambda *_, **__: found)
    execute = runner.run

    def run(campaign: Any, cluster: Any, raw: Path, **options: Any) -> Any:
        settings = {**options, "throttle": bench.throttle, "pool": Pool(cluster.hosts, bench.transport)}
        return execute(campaign, cluster, raw, **settings)

    monkeypatch.setattr(runner, "run", run)
    arguments = [file, "--baseline", "--raw", bench.root, "--seconds", "2", "--repeats", "1", "--only", "disks"]
    result = call(*arguments)
    assert result.exit_code == (0 if fit else 1), result.output
    assert "one disk, jbod" in result.stdout
    assert "6 samples: 6 valid" in result.stdout
    again = json.loads(call(*arguments, "--json").stdout)
    assert again["fit"] is fit
    assert (again["baseline"]["executed"], again["baseline"]["valid"]) == (0, 6)
    assert {entry["what"] for entry in again["baseline"]["rates"]} == {"brick", "server"}
