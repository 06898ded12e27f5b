"""Commands: exit codes, one clear message each, data on stdout and talk on stderr."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

import jsonschema
import pytest

from glusterlab import __version__, cli, spec
from glusterlab.cli import options
from glusterlab.cli import run as measure
from glusterlab.errors import HostError, RawStoreError, SpecError, UsageError
from tests.cli.conftest import ROOT, answer, call
from tests.pools import pool_data

COMMANDS = [
    *("init", "testbed", "prepare", "check", "plan", "run", "status", "log", "verify", "publish"),
    *("import", "parse", "tables", "reproduce", "trace", "claims", "compare", "size", "schema"),
]

CLUSTER = json.dumps(pool_data())
CAMPAIGN = """\
schema_version: 1
name: small
study: supermicro-2017
seed: 1
repeats: 2
layouts: [{name: mirror, type: replicate, geometry: [1x2, 2x2], backing: jbod}]
workloads: [{tool: iozone, operations: [write, read], file_size: 1 MiB, record_size: 64 KiB}]
workers: [1, 2]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a campaign and a cluster, no testbed up, and no variable of the person's own."""
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "raw" / "first-light").mkdir(parents=True)
    (tmp_path / "raw" / "first-light" / "campaign.yaml").touch()
    monkeypatch.setenv("GLUSTERLAB_TESTBED_HOME", str(tmp_path / "testbeds"))
    monkeypatch.delenv("GLUSTERLAB_SMALLFILE", raising=False)
    monkeypatch.delenv(cli.DEBUG, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bring_up(folder: Path, name: str) -> Path:
    file = folder / "testbeds" / name / "cluster.yaml"
    file.parent.mkdir(parents=True)
    file.touch()
    return file


def run_process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_words(sys.executable, "-m", "glusterlab.cli", *arguments, **options)


def run_words(
    *words: str, cwd: Path = ROOT, output: IO[str] | int = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    streams = {"stdout": output, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(words, **streams, cwd=cwd, env={**os.environ, **environment}, timeout=60, check=False)


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_help_fits_80_columns_and_has_examples(command: tuple[str, ...]) -> None:
    result = call(*command, "--help")
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "Examples" in result.stdout
    assert "glusterlab " in result.stdout.split("Examples")[1]


def test_version() -> None:
    assert call("--version").stdout == f"glusterlab {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plann",), "No such command"),
        (("plan",), "Missing argument"),
        (("plan", "campaign.yaml", "--clusters", "x"), "No such option"),
        (("schema", "campain"), "Did you mean 'campaign'?"),
        (("parse", "x", "--kind", "workloud"), "Did you mean 'workload'?"),
        (("parse", "campaign.yaml", "--tool", "iozon"), "unknown tool 'iozon': did you mean 'iozone'?"),
        (("status", "raw/frist-light"), "did you mean 'first-light'?"),
        (("reproduce", "--jobs", "0"), "--jobs"),
        (("run", "campaign.yaml", "--name", "../x"), "--name: expected text of the form ^[a-z0-9][a-z0-9-]*$"),
        (("check", "cluster.yaml", "--baseline", "--name", "x" * 300), "--name: expected at most 60 characters"),
        (("check", "cluster.yaml", "--baseline", "--seconds", "nan"), "--seconds: expected something like '10 min'"),
        (("check", "cluster.yaml", "--baseline", "--repeats", "0"), "--repeats: expected at least 1, found the num"),
    ],
)
def test_wrong_usage_is_exit_2(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("kind", ["cluster", "campaign", "import", "prices"])
def test_schema_is_a_schema(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(call("schema", kind).stdout))


def test_plan_tells_what_runs_and_what_does_not(folder: Path) -> None:
    result = call("plan", "campaign.yaml")
    assert result.exit_code == 0
    assert "mirror-1x2  iozone write 1 MiB  1 2            4" in result.stdout
    assert "4 cells, 8 samples, roughly" in result.stdout
    assert "not runnable: 4 cells: 2x2 needs 4 bricks, backing 'jbod' has 2 servers x 1" in result.stdout
    each = call("plan", "campaign.yaml", "--cells")
    assert each.stdout.count("iozone-read-1mib-replicate-1x2-jbod-native-w2-") == 1
    found = answer("plan", "campaign.yaml")
    assert found["total"]["samples"] == len(found["samples"]) == 8
    assert {cell["id"] for cell in found["cells"]} == {sample["cell"] for sample in found["samples"]}
    assert (len(found["not_runnable"]), found["cluster"]) == (4, "cluster.yaml")
    (folder / "campaign.yaml").write_text(CAMPAIGN.replace("[1x2, 2x2]", "2x2"))
    assert call("plan", "campaign.yaml").exit_code == 1


def test_a_study_and_notebooks_that_are_not_there_are_noted_before_the_night(folder: Path) -> None:
    (folder / "raw" / "published" / "supermicro-2017").mkdir(parents=True)
    (folder / "raw" / "published" / "supermicro-2017" / "study.yaml").touch()
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / "10-large-files.ipynb").touch()
    (folder / "campaign.yaml").write_text(
        CAMPAIGN.replace("supermicro-2017", "supermicro-2016") + "notebooks: [10-large-fils]\n"
    )
    result = call("plan", "campaign.yaml")
    assert result.exit_code == 0
    assert "study 'supermicro-2016' is not in" in result.stderr
    assert "did you mean 'supermicro-2017'?" in result.stderr
    assert "did you mean '10-large-files'?" in result.stderr


def test_plan_without_a_cluster_says_what_is_left_open(folder: Path) -> None:
    (folder / "cluster.yaml").unlink()
    result = call("plan", "campaign.yaml", "--json")
    assert (result.exit_code, "left open" in result.stderr) == (0, True)
    assert json.loads(result.stdout)["total"] == {"cells": 8, "samples": 16, "fewest_samples": 16, "warmup": 0}


def test_the_cluster_is_given_or_beside_or_the_only_testbed(folder: Path) -> None:
    campaign = folder / "campaign.yaml"
    assert measure._require_cluster(campaign, Path("other.yaml")) == Path("other.yaml")
    assert measure._require_cluster(campaign, None) == folder / "cluster.yaml"
    (folder / "cluster.yaml").unlink()
    result = call("run", "campaign.yaml")
    assert (result.exit_code, "no testbed is up: name one by --cluster" in result.stderr) == (2, True)
    assert bring_up(folder, "one") == measure._require_cluster(campaign, None)
    bring_up(folder, "two")
    assert "2 testbeds are up (one, two)" in call("run", "campaign.yaml").stderr


def test_a_campaign_runs_under_another_name(folder: Path) -> None:
    with patch("glusterlab.run.runner.run", side_effect=UsageError("enough")) as ran:
        assert call("run", "campaign.yaml", "--name", "mine").exit_code == 2
    assert ran.call_args.args[0].name == "mine"


def test_a_typo_is_one_message_with_file_line_and_key(folder: Path) -> None:
    (folder / "campaign.yaml").write_text(CAMPAIGN.replace("repeats", "repeat"))
    result = call("plan", "campaign.yaml")
    message = "error: campaign.yaml:5: repeat: unknown key: did you mean 'repeats'?\n"
    assert (result.exit_code, result.stderr, result.stdout) == (2, message, "")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SpecError("expected x", file=Path("a.yaml"), line=3, key="k"), 2, "a.yaml:3: k: expected x"),
        (HostError("does not answer", host="s1"), 3, "s1: does not answer"),
        (RawStoreError("raw/x: is damaged"), 3, "raw/x: is damaged"),
        (OSError(errno.ENOSPC, "No space left on device", "raw/x"), 3, "raw/x: No space left on device; make room"),
        (PermissionError(errno.EACCES, "Permission denied", "raw/x"), 3, "raw/x: Permission denied; run it as a user"),
        (OSError("odd"), 3, "odd"),
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C"),
    ],
)
def test_errors_become_a_sentence_and_an_exit_code(folder: Path, error: BaseException, code: int, said: str) -> None:
    with patch.object(spec, "load_campaign", side_effect=error):
        result = call("plan", "campaign.yaml")
    assert result.exit_code == code
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_debug_shows_the_traceback_and_ascii_is_enough(folder: Path) -> None:
    quiet = run_process("plan", "nowhere.yaml")
    assert quiet.returncode == 2
    assert quiet.stderr == "error: nowhere.yaml: expected a YAML file, found no such file\n"
    assert "Traceback" in run_process("plan", "nowhere.yaml", GLUSTERLAB_DEBUG="1").stderr
    absent = f"error: {folder}/none/a.yaml: expected a YAML file, found no such file"
    assert run_process("plan", f"{folder}/none/a.yaml").stderr.startswith(f"{absent}; `glusterlab init DIR` writes")
    (folder / "campaign.yaml").write_text(CAMPAIGN.replace("name: mirror", "name: spiegelgröße"))
    done = run_process("plan", str(folder / "campaign.yaml"), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, "spiegelgr" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


@pytest.mark.parametrize("line", ["schema cluster", "--help", "plan --help"])
def test_a_reader_that_goes_away_is_no_error(line: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        done = run_process(*line.split(), output=output)
    assert (done.returncode, done.stderr) == (cli.EXIT_BROKEN_PIPE, "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("command", "code"), [("schema cluster", 0), ("--help", 0), ("plan nowhere.yaml", 2)])
def test_a_closed_stream_is_no_error(closed: str, command: str, code: int) -> None:
    done = run_words("sh", "-c", f"exec '{sys.executable}' -m glusterlab.cli {command} {closed}")
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr
    if code and "2>" not in closed:
        assert done.stderr.startswith("error: nowhere.yaml")
    if closed == "<&-" and not code:
        assert done.stdout


def test_output_that_cannot_be_written_is_one_sentence() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as output:
        done = run_process("schema", "cluster", output=output)
    assert done.returncode == 3
    assert done.stderr.startswith("error: No space left on device; make room")
    assert "Traceback" not in done.stderr


def test_help_and_reproduce_do_not_wait_for_pandas() -> None:
    heavy = "{'pandas', 'scipy', 'seaborn', 'matplotlib', 'papermill', 'fabric', 'pydantic', 'ruamel.yaml'}"
    code = f"import sys, glusterlab.cli; print(sorted({heavy} & set(sys.modules)))"
    assert run_words(sys.executable, "-c", code).stdout == "[]\n"


def test_completion_offers_campaign_folders_and_yaml_files(folder: Path) -> None:
    (folder / "raw" / "second").mkdir()
    (folder / "raw" / "second" / "campaign.yaml").touch()
    (folder / "raw" / "published").mkdir()
    assert list(options.complete_raw("")) == ["raw/first-light", "raw/second"]
    assert list(options.complete_raw("raw/s")) == ["raw/second"]
    assert list(options.complete_raw("nowhere/")) == []
    assert list(options.complete_yaml("")) == ["campaign.yaml", "cluster.yaml", "raw/"]
    assert list(options.complete_yaml("ca")) == ["campaign.yaml"]
    typed = {"COMP_WORDS": "glusterlab status raw/f", "COMP_CWORD": "2"}
    shell = run_process(cwd=folder, PYTHONPATH=str(ROOT), _GLUSTERLAB_COMPLETE="complete_bash", **typed)
    assert shell.stdout.strip() == "raw/first-light"


@pytest.mark.parametrize("url", ["s3://lab/raw/night", "sftp://root@host/raw/iozone.log", "https://lab/campaign.yaml"])
@pytest.mark.parametrize(
    "command",
    [
        "status",
        "parse",
        "reproduce",
        "check",
        "run",
        "plan campaign.yaml --cluster",
        "import --as x --pattern * --raw raw",
    ],
)
def test_a_url_where_only_folders_can_be_is_refused_as_it_was_typed(folder: Path, command: str, url: str) -> None:
    before = sorted(folder.rglob("*"))
    result = call(*command.split(), url)
    expected = f"{url}: expected a path of this machine; `glusterlab fetch URL` brings a campaign here"
    assert (result.exit_code, result.stderr) == (2, f"error: {expected}\n")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("command", ["status", "verify", "tables"])
def test_a_file_url_is_a_folder_of_this_machine_and_one_that_is_no_campaign_is_told(folder: Path, command: str) -> None:
    result = call(command, f"file://{folder}/none")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
