"""Which result becomes which sample of which cell, and what is refused rather than guessed."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from glusterlab.tools import volume_tools
from tests.importing.conftest import SAR, Put, line, run, run_json

PATTERN = ("--pattern", "{layout}/{workers}w/{operation}.txt")


def plan(*arguments: str) -> dict[str, Any]:
    return run_json("--dry-run", *arguments)


def write_map(project: Path, text: str) -> tuple[str, str]:
    (project / "mapping.yaml").write_text("schema_version: 1\n" + text)
    return "--map", "mapping.yaml"


def plan_by(project: Path, *lines: str) -> dict[str, Any]:
    """The plan of a mapping of these lines."""
    return plan(*write_map(project, "".join(f"{text}\n" for text in lines)))


def test_a_pattern_alone_makes_cells(put: Put) -> None:
    put("replicate-3x2-raid6/4w/write.txt", line())
    put("gpfs/4w/write.txt", line())
    found = plan(*PATTERN)
    cells = [sample["cell"].rpartition("-")[0] for sample in found["samples"]]
    assert cells == ["tally-write-1mib-other-1-gpfs-native-w4", "tally-write-1mib-replicate-3x2-raid6-native-w4"]
    assert found["refused"] == found["unmapped"] == []
    assert "gpfs: how many disks lie under it is not known" in found["notes"][0]
    assert found["notes"][-1] == "no figure is drawn of tally yet; its numbers are in the tables"


def test_the_mapping_says_what_the_file_does_not(project: Path, put: Put) -> None:
    put("a/4w/write.txt", line(workers=None, size=None))
    (sample,) = plan_by(
        project,
        "layouts: {a: {type: disperse, geometry: 12x(4+2), backing: jbod, disks: 72}}",
        "defaults: {file_size: 4 GiB, record_size: 1 MiB, access: nfs}",
        "patterns: '{layout}/{workers}w/{operation}.txt'",
    )["samples"]
    assert sample["cell"].startswith("tally-write-4gib-disperse-12x4+2-jbod-nfs-w4-")


@pytest.mark.parametrize(
    ("said", "default", "lacking"),
    [
        ({"workers": None}, "layout=x", "how many workers?"),
        ({"size": None}, "layout=x", "which file size?"),
        ({}, "access=nfs", "which layout?"),
    ],
)
def test_what_nobody_says_is_asked_for(put: Put, said: dict[str, Any], default: str, lacking: str) -> None:
    put("a.txt", line(**said))
    found = plan("--pattern", "*.txt", "--default", default)
    assert found["samples"] == []
    assert lacking in found["refused"][0]["message"]


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("x/8w/write.txt", line(), "the path says workers 8, the file has 4"),
        ("x/4w/read.txt", line(), "the path says operation read, the file has write"),
        ("x/4w/write.txt", "no result\n", "expected the output of"),
        ("x/4w/write.txt", "", "found an empty file"),
        ("x/4w/write.txt", "tally \0\0", "found binary data"),
        ("x/4w/sprint.txt", line(), "unknown operation 'sprint'"),
        ("x/0w/write.txt", line(), "by the pattern"),
    ],
)
def test_what_path_and_file_contradict_is_refused(put: Put, path: str, content: str, message: str) -> None:
    put(path, content)
    found = plan(*PATTERN)
    assert found["samples"] == []
    assert message in found["refused"][0]["message"]
    assert found["refused"][0]["file"] == path


def test_the_label_4gb_fits_a_file_of_4_gib(put: Put) -> None:
    put("x/4GB.txt", line(size=4 << 30))
    put("x/5GB.txt", line(size=4 << 30))
    found = plan("--pattern", "{layout}/{file_size}.txt")
    assert ["4gib" in sample["cell"] for sample in found["samples"]] == [True]
    assert "the path says file_size 5 GB, the file has 4 GiB" in found["refused"][0]["message"]


def test_words_of_ones_own_are_translated(project: Path, put: Put) -> None:
    put("EC/seqwr-1m.txt", line())
    text = "aliases: {operation: {seqwr: write}, file_size: {1m: 1 MiB}, layout: {EC: disperse-2x4+2-jbod}}"
    (sample,) = plan_by(project, text, "patterns: ['{layout}/{operation}-{file_size}.txt']")["samples"]
    assert "write-1mib-disperse-2x4+2-jbod" in sample["cell"]


def test_several_results_of_a_file_are_samples_of_their_own(put: Put) -> None:
    put("x.txt", line("write"), line("rewrite"), line("write", run=2), line("write", record=4096))
    found = plan("--pattern", "{layout}.txt")
    names = ("operation", "run", "occurrence")
    places = {(*(sample["result"][name] for name in names), sample["repeat"]) for sample in found["samples"]}
    assert places == {("rewrite", 1, 1, 1), ("write", 1, 1, 1), ("write", 1, 2, 1), ("write", 2, 1, 2)}


def test_an_operation_in_the_path_leaves_the_others_out_and_says_so(put: Put) -> None:
    put("x/4w/write.txt", line("write"), line("rewrite"))
    found = plan(*PATTERN)
    assert [sample["result"]["operation"] for sample in found["samples"]] == ["write"]
    left_out = {"file": "x/4w/write.txt", "result": "rewrite, run 1", "reason": "the path says operation write"}
    assert found["left_out"] == [left_out]


def test_what_is_said_chooses_among_the_results_of_a_file(put: Put) -> None:
    put("x/4w-4KiB.txt", *(line(workers=workers, record=record) for workers in (2, 4) for record in (4096, 8192)))
    found = plan("--pattern", "{layout}/{workers}w-{record_size}.txt")
    assert [(sample["line"], sample["file"]) for sample in found["samples"]] == [(3, "x/4w-4KiB.txt")]
    reasons = sorted(each["reason"] for each in found["left_out"])
    assert reasons == ["the path says record_size 4 KiB", *["the path says workers 4"] * 2]


def test_repeats_are_numbered_as_people_count(put: Put) -> None:
    for n in (1, 2, 10):
        put(f"x/run-{n}.txt", line(rate=float(n)))
    found = plan("--pattern", "{layout}/*.txt")
    repeats = {sample["file"]: sample["repeat"] for sample in found["samples"]}
    assert repeats == {"x/run-1.txt": 1, "x/run-2.txt": 2, "x/run-10.txt": 3}


def test_two_files_of_one_repeat_are_refused(put: Put) -> None:
    put("x/a-1.txt", line())
    put("x/b-1.txt", line())
    put("x/b-3.txt", line())
    found = plan("--pattern", "{layout}/*-{repeat}.txt")
    assert "is repeat 1 of tally-write" in found["refused"][0]["message"]
    assert "x/a-1.txt" in found["refused"][0]["message"]
    assert [sample["repeat"] for sample in found["samples"]] == [1, 3]


def test_results_of_several_hosts_are_never_summed(project: Path, put: Put) -> None:
    put("x/pdsh.txt", line(host="c1"), line(host="c2", run=2))
    found = plan("--pattern", "{layout}/*.txt")
    assert found["samples"] == []
    assert "measured by nobody" in found["refused"][0]["message"]
    found = plan_by(project, "patterns: [{pattern: '{layout}/*.txt', host: c2}]")
    assert [sample["result"]["host"] for sample in found["samples"]] == ["c2"]
    assert [each["reason"] for each in found["left_out"]] == ["the mapping says host c2"]


def test_a_tools_own_sum_over_hosts_is_taken_and_jobs_are_different_workloads(put: Put) -> None:
    put("x/all.txt", line(host="c1"), line(host="c2"), line(rate=200.0))
    put("x/jobs.txt", line(job="qd1"), line(job="qd16"))
    found = plan("--pattern", "{layout}/*.txt")
    assert [sample["result"]["host"] for sample in found["samples"]] == [None] * 3
    assert len({sample["cell"] for sample in found["samples"]}) == 3
    assert len(found["left_out"]) == 2


def test_options_tell_results_apart(put: Put) -> None:
    put("x/direct/a.txt", line())
    put("x/cached/a.txt", line())
    assert len({sample["cell"] for sample in plan("--pattern", "{layout}/*/a.txt")["samples"]}) == 1
    assert len({sample["cell"] for sample in plan("--pattern", "{layout}/{options}/a.txt")["samples"]}) == 2


def test_what_cannot_be_judged_is_not_valid_unless_that_is_accepted(put: Put) -> None:
    put("x/a.txt", line(valid="unknown"))
    put("x/b.txt", line(valid="no"))
    states = [sample["status"] for sample in plan("--pattern", "{layout}/*.txt")["samples"]]
    assert states == ["invalid", "invalid"]
    found = plan("--pattern", "{layout}/*.txt", "--default", "accept_unjudged=true")
    assert [sample["status"] for sample in found["samples"]] == ["valid", "invalid"]
    assert "1 of 2 samples: valid by accept_unjudged" in found["notes"][-1]


def test_results_of_several_releases_are_no_campaign(project: Path, put: Put) -> None:
    put("10.3/x.txt", line())
    put("11.1/x.txt", line())
    result = run("--pattern", "{gluster_version}/{layout}.txt", "--skip-bad")
    assert result.exit_code == 2
    assert "one GlusterFS release, found 10.3, 11.1" in result.stderr
    assert not (project / "raw").exists()


def test_layouts_of_one_identity_are_refused(project: Path, put: Put) -> None:
    put("a/x.txt", line())
    put("b/x.txt", line())
    layout = "{type: replicate, geometry: 3x2, backing: raid6}"
    found = plan_by(project, f"layouts: {{a: {layout}, b: {layout}}}", "patterns: '{layout}/x.txt'")
    assert "layouts 'a' and 'b' are one and the same" in found["refused"][0]["message"]


def test_entries_of_one_file_and_of_single_files(project: Path, put: Put) -> None:
    put("night.log", line(run=1), line(run=2), line("read", run=2))
    put("other.txt", line())
    found = plan_by(
        project,
        "files:",
        "- {file: night.log, run: 1, layout: one}",
        "- {file: night.log, run: 2, operation: write, layout: two}",
        "- {file: gone.log, layout: two}",
        "patterns: [{pattern: '*.txt', layout: one}]",
    )
    assert len(found["samples"]) == 3
    assert [each["result"] for each in found["left_out"]] == ["read, run 2"]
    assert [each["file"] for each in found["refused"]] == ["gone.log"]
    found = plan_by(project, "files: [{file: night.log, layout: one}, {file: night.log, run: 1, layout: two}]")
    assert "two entries of the mapping" in found["refused"][0]["message"]


def test_telemetry_goes_to_the_samples_that_it_fits(project: Path, put: Put) -> None:
    put("x/4w/write.txt", line("write"))
    put("x/8w/write.txt", line("write", workers=8))
    put("x/4w/s1.sar", SAR)
    put("x/4w/c1.sar", SAR)
    put("x/99w/s1.sar", SAR)
    found = plan_by(
        project,
        "clients: [c1]",
        "patterns: '{layout}/{workers}w/{operation}.txt'",
        "telemetry: ['{layout}/{workers}w/{host}.sar']",
    )
    assert [sample["beside"] for sample in found["samples"]] == [["x/4w/c1.sar", "x/4w/s1.sar"], []]
    (refused,) = found["refused"]
    assert (refused["file"], "a sample of layout x, workers 99" in refused["message"]) == ("x/99w/s1.sar", True)


INFO = """\
Volume Name: {name}
Type: Distributed-Replicate
Volume ID: 2a1f9d4e-7a1c-4f0e-9a55-00000000000{count}
Status: Started
Number of Bricks: {count} x 2 = {bricks}
Transport-type: tcp
Bricks:
{list}
"""


def volume_info(**counts: int) -> str:
    """What ``gluster volume info`` says of volumes of so many pairs, hand-made after the documented format."""
    return "\n".join(
        INFO.format(
            name=name,
            count=count,
            bricks=2 * count,
            list="\n".join(f"Brick{n}: s{n}:/bricks/{name}/b" for n in range(1, 2 * count + 1)),
        )
        for name, count in counts.items()
    )


def test_one_volume_info_of_a_pool_says_what_several_layouts_are(project: Path, put: Put) -> None:
    put("small/write.txt", line())
    put("gv1/write.txt", line())
    put("info.txt", volume_info(gv0=2, gv1=3))
    found = plan_by(
        project,
        "layouts: {small: {backing: jbod}, gv1: {backing: raid6}}",
        "patterns: '{layout}/{operation}.txt'",
        "gluster: [{file: info.txt, layout: small, volume: gv0}, {file: info.txt, layout: gv1}]",
    )
    assert found["refused"] == []
    assert all(sample["beside"] == ["info.txt"] for sample in found["samples"])
    cells = {sample["file"].split("/")[0]: sample["cell"] for sample in found["samples"]}
    assert "replicate-2x2-" in cells["small"]
    assert "replicate-3x2-" in cells["gv1"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{file: info.txt, layout: a}", "which volume is layout 'a'? The file has gv0, gv1"),
        ("{file: info.txt, layout: a, volume: gv2}", "expected volume 'gv2', which the mapping names, found gv0, gv1"),
    ],
)
def test_a_layout_that_nobody_describes_is_refused(project: Path, put: Put, entry: str, message: str) -> None:
    put("a/write.txt", line())
    put("info.txt", volume_info(gv0=2, gv1=3))
    layouts, patterns = "layouts: {a: {backing: jbod}}", "patterns: '{layout}/{operation}.txt'"
    found = plan_by(project, layouts, patterns, f"gluster: [{entry}]")
    refused = {each["file"]: each["message"] for each in found["refused"]}
    assert message in refused["info.txt"]
    assert "layout 'a' has no type" in refused["a/write.txt"]


def test_content_decides_where_patterns_of_results_and_telemetry_fit(project: Path, put: Put) -> None:
    put("x/run1/write.txt", line())
    put("x/run1/read.txt", line("read"))
    put("x/run1/s1.txt", SAR)
    found = plan_by(
        project,
        "aliases: {operation: {s1: write}}",
        "patterns: ['{layout}/run{repeat}/{operation}.txt']",
        "telemetry: ['{layout}/run{repeat}/{host}.txt']",
    )
    assert [sample["file"] for sample in found["samples"]] == ["x/run1/read.txt", "x/run1/write.txt"]
    assert [sample["beside"] for sample in found["samples"]] == [["x/run1/s1.txt"]] * 2
    assert found["refused"] == []


def test_the_cluster_is_read_while_it_is_planned(project: Path, put: Put) -> None:
    put("x/write.txt", line())
    result = run("--dry-run", *write_map(project, "cluster: nope.yaml\npatterns: '{layout}/{operation}.txt'\n"))
    assert result.exit_code == 2
    assert "nope.yaml: expected a YAML file, found no such file" in result.stderr


def test_what_is_drawn_is_what_the_notebooks_select() -> None:
    selected = set()
    for notebook in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb"):
        cells = json.loads(notebook.read_text())["cells"]
        code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        selected |= set(re.findall(r"\btool=\"(\w+)\"", code))
    assert selected <= {*volume_tools()}


def test_the_result_is_on_stdout_and_hints_on_stderr(put: Put) -> None:
    put("x/4w/write.txt", line("write"), line("rewrite"))
    put("x/4w/read.txt", line())
    put("notes.md", "by hand")
    found = run(*PATTERN, "--dry-run")
    for said in ("refused: x/4w/read.txt", "left out: x/4w/write.txt", "not mapped: notes.md", "nothing was written"):
        assert said in found.stdout
        assert said not in found.stderr
    assert "--skip-bad" in found.stderr
    written = run(*PATTERN, "--skip-bad")
    assert "raw/mine: imported 1 sample in 1 cell from 1 file: 1 valid\n" in written.stdout


def test_hostile_folders(project: Path, put: Put) -> None:
    outside = project / "secret.txt"
    outside.write_text(line())
    put("x/4w/write.txt", line())
    results = project / "results" / "x" / "4w"
    (results / "read.txt").symlink_to(outside)
    (project / "results" / "y").symlink_to(project, target_is_directory=True)
    (results / "append\n.txt").write_text(line("append"))
    Path(os.fsdecode(os.fsencode(results) + b"/caf\xe9.txt")).write_text(line("append"))
    (results / "create.txt.partial").write_text(line("create"))
    os.mkfifo(results / "delete.txt")
    put(".hidden/4w/write.txt", line())
    put("-rf/4w/write.txt", line())
    found = plan(*PATTERN)
    assert [sample["file"] for sample in found["samples"]] == ["-rf/4w/write.txt", "x/4w/write.txt"]
    assert found["refused"] == []
    reasons = {each["file"]: each["reason"].split(",")[0].split(":")[0] for each in found["unmapped"]}
    assert reasons == {
        "x/4w/append\\n.txt": "a name with characters that cannot be printed",
        "x/4w/caf\\udce9.txt": "a name with characters that cannot be printed",
        "x/4w/create.txt.partial": "a name that stands for an unfinished file",
        "x/4w/delete.txt": "no regular file",
        "x/4w/read.txt": "a symbolic link",
        "y": "a symbolic link",
    }
    assert "append\\n.txt" in run("--dry-run", *PATTERN).stdout


def test_campaigns_that_lie_below_are_passed_over(project: Path, put: Put) -> None:
    put("x/4w/write.txt", line())
    assert run(*PATTERN, "--raw", "results/raw").exit_code == 0
    mapped = ("--pattern", "**/{operation}.txt", "--default", "layout=x")
    found = plan(*mapped, "--raw", "results/raw", "--as", "b")
    assert [sample["file"] for sample in found["samples"]] == ["x/4w/write.txt"]
    assert found["unmapped"] == []


def test_nothing_to_import(project: Path) -> None:
    result = run(*PATTERN)
    assert result.exit_code == 1
    assert "no mapped file holds a result" in result.stdout
    assert not (project / "raw").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing is mapped"),
        (("--pattern", "{colour}.txt"), "unknown field {colour}"),
        (("--pattern", "*.txt", "--default", "workers"), "expected KEY=VALUE"),
        (("--pattern", "*.txt", "--default", "colour=red"), "--default colour: is no default"),
        (("--pattern", "*.txt", "--default", "workers=x"), "--default workers: expected a whole number, found 'x'"),
        (("--pattern", "*.txt", "--default", "accept_unjudged=maybe"), "--default accept_unjudged"),
        (("--pattern", "*.txt", "--as", "a/b"), "--as a/b: expected at most 60 small letters"),
        (("--pattern", "*.txt", "--as", "published"), "--as published: raw/published is for the numbers that studies"),
        (("--pattern", "*.txt", "--default", "operation=write"), "use {operation} in the pattern or an entry"),
        (("--map", "none.yaml"), "none.yaml: expected a YAML file, found no such file"),
    ],
)
def test_wrong_usage(project: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pattern: '*.txt'\n", "mapping.yaml:2: pattern: unknown key: did you mean 'patterns'?"),
        ("patterns: [{pattern: '{layuot}.txt'}]\n", "unknown field {layuot}: did you mean 'layout'?"),
        ("patterns: ['{workers}.txt']\nfiles: [{file: ../x}]\n", "expected a path below the imported folder"),
        ("patterns: [{pattern: '{workers}.txt', workers: 4}]\n", "the pattern says it already by {workers}"),
        ("patterns: [{layout: x}]\n", "expected either a pattern or a file"),
        ("telemetry: ['*.sar']\npatterns: '*.txt'\n", "whose telemetry is it?"),
        ("timezone: Mars/Base\npatterns: '*.txt'\n", "expected a time zone"),
        ("layouts: {a: {type: disperse, geometry: 3x2, backing: x}}\npatterns: '*.txt'\n", "expected a geometry"),
        ("layouts: {a: {type: replicate, backing: x}}\npatterns: '*.txt'\n", "expected the geometry of a replicate"),
        ("layouts: {a: {type: other, backing: x}}\ndefaults: {layout: b}\npatterns: '*.txt'\n", "unknown layout 'b'"),
        ("aliases: {operation: {x: sprint}}\npatterns: '*.txt'\n", "unknown operation 'sprint'"),
        ("aliases: {colour: {x: y}}\npatterns: '*.txt'\n", "unknown field 'colour'"),
        ("servers: [a]\nclients: [a]\npatterns: '*.txt'\n", "found 'a' as both"),
        ("defaults: {gluster_version: 10.3}\npatterns: '*.txt'\n", "put it in quotes"),
        ("patterns: &a [*a]\n", "nested too deeply"),
    ],
)
def test_a_wrong_mapping_is_named_with_file_and_line(project: Path, text: str, said: str) -> None:
    result = run(*write_map(project, text))
    assert result.exit_code == 2
    assert "mapping.yaml" in result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.output
