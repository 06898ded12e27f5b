"""Exit codes mean the same in every command: a wrong argument, a missing file, what falls short, an own error."""

import json
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from glusterlab import cli
from glusterlab.store.campaign import RawStore
from tests.cli.conftest import CAMPAIGN, call
from tests.pools import pool_data

WORDS = (
    "Exit codes: 0 all well, 1 what was examined falls short, 2 wrong usage or specification, 3 could not be examined, "
    "130 stopped by Ctrl-C."
)
COMMANDS = [
    name if name != "testbed" else f"testbed {sub}"
    for name in cli.COMMANDS
    for sub in (("up", "down", "status") if name == "testbed" else ("",))
]
MISSING = [
    "check nowhere",
    "check cluster.yaml --baseline --only disk",
    "claims nowhere",
    "claims raw/none --study nowhere",
    "compare nowhere raw/none",
    "fetch {folder}/nowhere",
    "init campaign.yaml",
    "import nowhere --as x --pattern *",
    "import raw --as x --map nowhere",
    "log nowhere",
    "parse nowhere",
    "parse raw",
    "parse campaign.yaml --tool nowhere",
    "plan nowhere",
    "plan campaign.yaml --cluster nowhere",
    "prepare nowhere",
    "publish nowhere --output copy",
    "publish raw/none --output copy --names nowhere",
    "reproduce nowhere",
    "run nowhere",
    "run campaign.yaml --cluster nowhere",
    "schema nowhere",
    "site nowhere",
    "size --workload large-read --throughput 1GB/s --raw nowhere",
    "size --workload large-read --throughput 1GB/s --raw raw/none --prices nowhere",
    "status nowhere",
    "tables nowhere",
    "trace nowhere.csv 1",
    "testbed up --release nowhere",
    "testbed down --name ../nowhere",
    "testbed status --name ../nowhere",
    "verify nowhere",
]
"""For every command one at least that names what is not there."""

SHORT = [
    "claims raw/none --id throughput-write-peak",
    "import campaigns --as x --pattern {layout}.txt",
    "parse campaign.yaml",
    "plan unfit.yaml",
    "status raw/none",
    "testbed status",
    "verify raw/damaged",
]
"""What is examined, and found to fall short; claims that are not confirmed are findings, and no fault."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lab with a cluster that nobody can reach, and a campaign without a sample."""
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    (tmp_path / "unfit.yaml").write_text(CAMPAIGN.replace("1x2", "9x9"))
    (tmp_path / "cluster.yaml").write_text(json.dumps(pool_data()))
    (tmp_path / "campaigns").mkdir()
    (tmp_path / "campaigns" / "mirror.txt").write_text("no result\n")
    cluster = json.dumps(pool_data())
    RawStore.create(tmp_path / "raw" / "none", campaign_yaml=CAMPAIGN, cluster_yaml=cluster, environment={})
    damaged = RawStore.create(
        tmp_path / "raw" / "damaged", campaign_yaml=CAMPAIGN, cluster_yaml=cluster, environment={}
    )
    (damaged.path / "cluster.yaml").write_text("{}")
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path / "testbeds"))
    monkeypatch.delenv(cli.DEBUG, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["", "testbed", *COMMANDS])
def test_every_help_says_what_exit_codes_mean(command: str) -> None:
    assert WORDS in " ".join(call(*command.split(), "--help").stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_argument_is_2(folder: Path, command: str) -> None:
    result = call(*command.split(), "--nonsense")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No such option" in result.stderr


@pytest.mark.parametrize("line", MISSING)
def test_what_is_not_there_is_2(folder: Path, line: str) -> None:
    result = call(*line.format(folder=folder).split())
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert any(word in result.stderr for word in ("nowhere", "--only", "found a f"))


def test_every_command_that_names_a_file_is_tried_without_it() -> None:
    assert {line.split()[0] for line in MISSING} == set(cli.COMMANDS)


@pytest.mark.parametrize("line", SHORT)
def test_what_falls_short_is_1(folder: Path, line: str) -> None:
    result = call(*line.split())
    assert result.exit_code == (0 if line.startswith("claims") else 1), result.output


def test_a_cluster_of_which_nothing_could_be_examined_is_3(folder: Path) -> None:
    result = call("check", "cluster.yaml")
    assert (result.exit_code, "not fit to measure" in result.stdout) == (3, True)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_error_of_the_suite_is_3_and_a_sentence(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["glusterlab", *command.split()])
    with patch("typer.core.TyperCommand.make_context", side_effect=KeyError("oops")), pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr()
    assert (end.value.code, said.out) == (3, "")
    assert said.err.startswith("error: an error of the suite itself, KeyError: 'oops' (")
    assert len(said.err.splitlines()) == 1
