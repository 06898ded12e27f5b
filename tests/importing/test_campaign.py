"""What an import writes: a campaign like a measured one, all of it or nothing, and what other commands say of it."""

import hashlib
import json
import lzma
import math
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from glusterlab import cli
from glusterlab.errors import ParseError, RawStoreError, UsageError
from glusterlab.importing.match import list_sources
from glusterlab.run.resume import agree_on_specifications
from glusterlab.run.status import campaign_status
from glusterlab.run.validity import judge_imported
from glusterlab.run.verify import verify
from glusterlab.spec import load_campaign, load_cluster, load_yaml
from glusterlab.store.campaign import MARK, RawStore, work_folder
from glusterlab.store.imported import read_sample
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.tables import build as tables
from tests.importing.conftest import SADF, SAR, Put, line, run, run_json
from tests.importing.test_plan import PATTERN, volume_info, write_map
from tests.pools import pool_data

MAP = """\
study: supermicro-2017
title: Old results
layouts: {a: {type: disperse, geometry: 2x(4+2), backing: jbod, disks: 24}}
defaults: {gluster_version: '3.7.9'}
servers: [s1]
patterns: '{layout}/{workers}w/{operation}.txt'
telemetry: ['{layout}/{workers}w/{host}.sar']
"""


def command(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments), env={"COLUMNS": "200", "TERM": "dumb"})


@pytest.fixture
def mine(project: Path, put: Put) -> Path:
    """An imported campaign of two cells, one with two repeats, one of them failed, and telemetry of one host."""
    put("a/4w/write.txt", line("write", rate=100.5), line("write", run=2, rate=99.5))
    put("a/4w/read.txt", line("read", valid="no"))
    put("a/4w/s1.sar", SAR)
    put("notes.md", "by hand")
    result = run(*write_map(project, MAP))
    assert result.exit_code == 0, result.output
    return project / "raw" / "mine"


def test_the_folder_is_that_of_a_campaign(mine: Path) -> None:
    names = {"MANIFEST.sha256", "campaign.yaml", "cells", "environment.json", "events.jsonl", "import.yaml", "log.txt"}
    assert {path.name for path in mine.iterdir()} == names
    assert not (mine.parent / ".mine.import").exists()
    assert verify(mine) == []
    # the campaign's own log grows; those of samples are listed
    logs = [name for name in Manifest.read(mine).digests if name.endswith("log.txt")]
    assert (len(logs), "log.txt" in logs) == (3, False)
    campaign = load_campaign(mine / "campaign.yaml")
    assert (campaign.name, campaign.origin, campaign.study) == ("mine", "imported", "supermicro-2017")
    assert (campaign.repeats, campaign.workloads[0].operations) == (2, ("read", "write"))
    environment = json.loads((mine / "environment.json").read_text())
    said = {"origin": "imported", "source": "results", "gluster_version": "3.7.9", "tools": {"tally": ["1.0"]}}
    assert said.items() <= environment.items()
    mapping, _ = load_yaml(mine / "import.yaml")
    assert mapping["patterns"] == [{"pattern": "{layout}/{workers}w/{operation}.txt"}]


def test_a_sample_has_the_bytes_of_the_original_and_is_read_as_its_own_result(project: Path, mine: Path) -> None:
    store = RawStore.open(mine)
    cells, samples = store.cells(), store.samples()
    found = []
    for sample in samples:
        imported = json.loads((sample.path / "import.json").read_text())
        original = project / "results" / imported["source"]
        assert (sample.path / imported["file"]).read_bytes() == original.read_bytes()
        assert (sample.disks, sample.window, sample.servers, sample.campaign) == (24, None, ("s1",), "mine")
        rate = read_sample(sample.path, cells[sample.cell_id]).record.throughput_bytes_per_s
        found.append((sample.cell_id.split("-")[1], sample.status, sample.repeat, sample.sample, sample.origin, rate))
    assert found == [
        ("read", "invalid", 1, 1, "imported", 100.0),
        ("write", "valid", 1, 1, "imported", 100.5),
        ("write", "valid", 2, 2, "imported", 99.5),
    ]
    paths = (path for path in samples[0].path.rglob("*") if path.is_file())
    assert {path.relative_to(samples[0].path).as_posix() for path in paths} == {
        *("import.json", "log.txt", "sample.json", "telemetry/s1.sar", "workload/read.txt")
    }


def test_status_and_verify_say_that_it_was_imported_and_find_a_changed_original(mine: Path) -> None:
    shown = command("status", "raw/mine")
    assert shown.exit_code == 1
    assert "2 of 3 samples valid, 1 invalid, 0 failed; imported, judged by the tools' own output" in shown.stdout
    assert "intact; imported" in command("verify", "raw/mine").stdout
    for name in ("status", "verify"):
        assert json.loads(command(name, "raw/mine", "--json").stdout)["origin"] == "imported"
    (file,) = mine.glob("cells/tally-read-*/sample-01/workload/read.txt")
    file.unlink()
    file.write_text(line("read"))
    assert {finding.code for finding in verify(mine)} == {"changed-file", "status-differs"}


def test_what_is_damaged_is_a_reason_and_never_an_error(mine: Path) -> None:
    sample = RawStore.open(mine).samples()[0]
    cell = RawStore.open(mine).cell(sample.cell_id)
    for text in ("", "no result", line("append"), "tally\0"):
        (sample.path / "workload" / "read.txt").unlink()
        (sample.path / "workload" / "read.txt").write_text(text)
        assert judge_imported(sample.path, cell).status == "failed"
    imported = sample.path / "import.json"
    record = json.loads(imported.read_text())
    imported.write_text(json.dumps(record | {"file": "../../../../../../secret"}))
    assert "expected a file of the sample" in judge_imported(sample.path, cell).reasons[0].message
    imported.write_text("{")
    assert judge_imported(sample.path, cell).status == "failed"
    imported.unlink()
    with pytest.raises(ParseError, match="cannot be read"):
        read_sample(sample.path, cell)


def test_an_import_is_never_run_or_planned(project: Path, mine: Path) -> None:
    (project / "cluster.yaml").write_text(json.dumps(pool_data()))
    for name in ("run", "plan"):
        result = command(name, "raw/mine/campaign.yaml", "--cluster", "cluster.yaml")
        assert result.exit_code == 2
        assert "campaign 'mine' was imported" in result.stderr
    campaign = load_campaign(mine / "campaign.yaml")
    with pytest.raises(UsageError, match="give this one another name"):
        agree_on_specifications(RawStore.open(mine), campaign, load_cluster(project / "cluster.yaml"))


def test_a_name_is_never_taken_twice(project: Path, mine: Path) -> None:
    before = (mine / "MANIFEST.sha256").read_bytes()
    result = run(*PATTERN)
    assert result.exit_code == 2
    assert "raw/mine: is a campaign already" in result.stderr
    assert (mine / "MANIFEST.sha256").read_bytes() == before
    shutil.move(mine, project / "raw" / "other")
    mine.mkdir()
    (mine / "notes.txt").touch()
    result = run(*PATTERN)
    assert result.exit_code == 2
    assert "found one with files in it; choose another name for the campaign, or move that folder away" in result.stderr


@pytest.mark.parametrize(
    ("bad", "content", "said", "samples"),
    [
        # what is whole before the cut counts
        ("read.txt", [line("read"), line("read", run=2), "cut"], "read.txt:3: expected a whole line, found a cut", 3),
        ("s1.sar", ["no telemetry"], "s1.sar:1: expected a report of sar", 1),
    ],
)
def test_refused_files_keep_the_others_out_unless_that_is_asked_for(
    project: Path, put: Put, bad: str, content: list[str], said: str, samples: int
) -> None:
    put("x/4w/write.txt", line())
    put(f"x/4w/{bad}", *content)
    mapping = write_map(project, MAP.replace("{a:", "{x:"))
    result = run(*mapping)
    assert result.exit_code == 1
    assert f"refused: x/4w/{said}" in result.stdout
    assert "--skip-bad" in result.stderr
    assert not (project / "raw" / "mine").exists()
    result = run(*mapping, "--skip-bad")
    assert result.exit_code == 0
    assert f"refused: x/4w/{said}" in result.stdout
    assert len(RawStore.open(project / "raw" / "mine").samples()) == samples
    assert not list((project / "raw").glob("mine/cells/*/*/telemetry"))
    assert verify(project / "raw" / "mine") == []


def test_a_dry_run_writes_nothing(project: Path, put: Put) -> None:
    put("x/4w/write.txt", line())
    result = run(*PATTERN, "--dry-run")
    assert result.exit_code == 0
    assert "x/4w/write.txt  write, run 1  tally-write-1mib-other-1-x-native-w4-" in result.stdout
    assert sorted(path.name for path in project.iterdir()) == ["results"]
    assert run_json(*PATTERN)["written"] is True


def test_one_original_takes_its_space_once(project: Path, put: Put) -> None:
    put("x.txt", *(line(record=1 << n) for n in range(9, 20)))
    assert run("--pattern", "{layout}.txt").exit_code == 0
    copies = list((project / "raw" / "mine").glob("cells/*/sample-01/workload/x.txt"))
    assert len(copies) == 11
    assert {copy.stat().st_nlink for copy in copies} == {11}
    assert (project / "results" / "x.txt").stat().st_nlink == 1


def test_originals_may_be_packed_and_called_json(project: Path, put: Put) -> None:
    put("x/a.json", "Welcome to the machine", line())
    (project / "results" / "x" / "b.txt.xz").write_bytes(lzma.compress(line().encode()))
    assert run("--pattern", "{layout}/*").exit_code == 0
    assert verify(project / "raw" / "mine") == []


def test_cluster_and_volume_info(project: Path, put: Put) -> None:
    (project / "cluster.yaml").write_text(json.dumps(pool_data()))
    put("a/write.txt", line())
    put("a/info.txt", volume_info(gv0=3))
    text = "cluster: cluster.yaml\nlayouts: {a: {backing: jbod}}\n"
    text += "patterns: '{layout}/{operation}.txt'\ngluster: ['{layout}/info.txt']\n"
    result = run(*write_map(project, text))
    assert result.exit_code == 0, result.stderr
    mine = project / "raw" / "mine"
    assert load_cluster(mine / "cluster.yaml").name == "pool"
    assert "cluster: cluster.yaml" in (mine / "import.yaml").read_text()
    (sample,) = RawStore.open(mine).samples()
    assert RawStore.open(mine).cell(sample.cell_id).layout.geometry == "3x2"
    assert (sample.servers, sample.clients) == (("s1", "s2"), ("c1",))
    assert (sample.path / "gluster" / "info.txt").is_file()
    shutil.rmtree(mine)
    contradiction = text.replace("{backing: jbod}", "{type: replicate, geometry: 2x2, backing: jbod}")
    result = run(*write_map(project, contradiction))
    assert "is replicate 2x2 by the mapping, and replicate 3x2 by its volume info" in result.stdout


def test_files_of_one_host_do_not_overwrite_each_other(project: Path, put: Put) -> None:
    put("x/write.txt", line())
    put("x/s1.cpu.csv", SADF)
    put("x/s1.disk.csv", SADF)
    text = (
        "patterns: '{layout}/{operation}.txt'\n"
        "telemetry: [{pattern: '{layout}/{host}.cpu.csv'}, {pattern: '{layout}/{host}.disk.csv', timezone: UTC}]\n"
    )
    assert run(*write_map(project, text)).exit_code == 0
    (sample,) = RawStore.open(project / "raw" / "mine").samples()
    assert sorted(path.name for path in (sample.path / "telemetry").iterdir()) == ["s1.2.csv", "s1.csv"]
    telemetry = json.loads((sample.path / "import.json").read_text())["telemetry"]
    assert [(each["file"], each["host"], each["role"], each["timezone"]) for each in telemetry] == [
        ("telemetry/s1.csv", "s1", "server", None),
        ("telemetry/s1.2.csv", "s1", "server", "UTC"),
    ]


def test_a_file_that_changes_meanwhile_is_noticed(project: Path, put: Put) -> None:
    path = put("a.txt", line())
    (source,), _ = list_sources(project / "results")
    path.write_text(line(rate=5.0))
    with pytest.raises(RawStoreError, match="was changed while it was imported"):
        source.copy(project / "copy")
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(RawStoreError, match=r"cannot be read: .*; see to its owner and mode"):
        source.copy(project / "copy-2")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_named_and_not_the_file_that_was_read(project: Path, put: Put) -> None:
    put("a.txt", line())
    (source,), _ = list_sources(project / "results")
    with Path("/dev/full").open("wb") as full, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: full)
        with pytest.raises(RawStoreError, match=r"^raw/copy: cannot be written: No space left.*; make room there"):
            source.copy(Path("raw/copy"))


def test_lost_samples_are_missing(mine: Path) -> None:
    shutil.rmtree(next(mine.glob("cells/tally-read-*")))
    shutil.rmtree(next(mine.glob("cells/tally-write-*/sample-02")))
    status = campaign_status(mine)
    assert (status.total("valid"), status.total("wanted"), status.total("left")) == (1, 3, 2)
    assert [name.rpartition("/")[2] for name in status.missing] == ["sample-01", "sample-02"]
    shown = command("status", "raw/mine")
    assert shown.exit_code == 1
    assert "1 of 3 samples valid" in shown.stdout
    assert "/sample-02 is lost. Raw files are never edited: restore them from a copy" in shown.stderr
    (mine / MANIFEST).unlink()
    shown = command("status", "raw/mine")
    assert shown.exit_code == 3
    assert "expected a list of all files, found none; restore it from a copy" in shown.stderr


def test_two_imports_at_once_do_not_mix_and_an_error_in_the_middle_leaves_nothing(
    project: Path, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("x/4w/write.txt", line())
    with RawStore.whole(project / "raw" / "mine", specifications={"campaign.yaml": ""}, environment={}):
        result = run(*PATTERN)
    assert result.exit_code == 3
    assert "is in use by process" in result.stderr

    def full(*_: object, **__: object) -> None:
        raise RawStoreError("the disk is full")

    shutil.rmtree(project / "raw")
    monkeypatch.setattr("glusterlab.importing.campaign.judge_imported", full)
    assert run(*PATTERN).exit_code == 3
    assert list((project / "raw").iterdir()) == []


SLOW = """
import sys, time
from glusterlab.importing import campaign
from glusterlab import cli
from glusterlab.tools import tools
sys.path.insert(0, {tests!r})
from importing.conftest import TALLY
tools()["tally"] = TALLY
write = campaign._write_sample
def slowly(*arguments):
    found = write(*arguments)
    print("one", flush=True)
    time.sleep(60)
    return found
campaign._write_sample = slowly
cli.main()
"""


def test_a_kill_leaves_nothing_half_and_the_next_import_cleans_up(project: Path, put: Put) -> None:
    put("x/4w/write.txt", line())
    put("x/4w/read.txt", line("read"))
    script = SLOW.format(tests=str(Path(__file__).parents[1]))
    arguments = ["import", "results", "--as", "mine", *PATTERN]
    process = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, cwd=project)
    assert process.stdout is not None
    assert process.stdout.readline() == b"one\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not (project / "raw" / "mine").exists()
    assert [path.name for path in (project / "raw").iterdir()] == [".mine.import"]
    assert run(*PATTERN).exit_code == 0
    assert [path.name for path in (project / "raw").iterdir()] == ["mine"]
    assert verify(project / "raw" / "mine") == []


@pytest.mark.parametrize("suffix", ["import", "partial", "fetch"])
def test_a_folder_of_the_users_own_is_left_alone(project: Path, put: Put, suffix: str) -> None:
    put("x/4w/write.txt", line())
    work, theirs = project / "raw" / f".mine.{suffix}", project / "theirs"
    (theirs / "deep").mkdir(parents=True)
    (theirs / "deep" / "thesis.txt").write_text("years")
    # a link leads elsewhere, even to a folder of the suite's
    for make in (lambda: shutil.copytree(theirs, work), lambda: (theirs / MARK).touch() or work.symlink_to(theirs)):
        work.parent.mkdir(exist_ok=True)
        make()
        taken = work_folder(project / "raw" / "mine", suffix)
        with pytest.raises(RawStoreError, match=rf"\.mine\.{suffix}: was not made .* file \.glusterlab in it"), taken:
            pytest.fail("it was taken")
        if suffix == "import":
            refused = run("--as", "mine", *PATTERN)
            assert (refused.exit_code, ".mine.import: " in refused.output) == (3, True)
        assert (work / "deep" / "thesis.txt").read_text() == "years"
        if not work.is_symlink():
            shutil.rmtree(work)
    assert sorted(path.name for path in theirs.rglob("*")) == [MARK, "deep", "thesis.txt"]


def test_the_same_folder_makes_the_same_cells(project: Path, mine: Path) -> None:
    def digests(path: Path) -> dict[str, str]:
        files = [file for file in path.glob("*/**/*") if file.is_file() and file.name != "sample.json"]
        return {file.relative_to(path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    assert run("--as", "again", "--map", "mapping.yaml").exit_code == 0
    assert digests(project / "raw" / "again") == digests(mine)


def test_telemetry_and_release_are_in_the_tables(project: Path, put: Put) -> None:
    put("x/write.txt", line())
    put("x/s1.sar", SAR)
    text = (
        "servers: [s2]\ntimezone: Europe/Berlin\ndefaults: {gluster_version: '3.7.9'}\n"
        "patterns: '{layout}/{operation}.txt'\ntelemetry: ['{layout}/{host}.sar']\n"
    )
    assert run(*write_map(project, text)).exit_code == 0
    made = tables.load(project / "raw" / "mine")
    (sample,) = made.samples.to_dict("records")
    assert (sample["origin"], sample["disks"], sample["gluster_version"]) == ("imported", 0, "3.7.9")
    assert math.isnan(sample["start_s"])
    user = made.telemetry[made.telemetry["metric"] == "user_fraction"]
    assert user["value"].tolist() == pytest.approx([0.01, 0.11])
    # ten o'clock of Berlin's winter is nine of UTC
    assert user["time_s"].tolist() == [1709283602.0, 1709283604.0]
    assert set(user["host"]) == {"s1"}
    assert set(user["role"]) == {"server"}
