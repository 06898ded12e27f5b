"""``glusterlab size``: what a person asks is read or refused in one sentence, and the answer says what it rests on."""

import re
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from tests.cli import conftest
from tests.cli.conftest import ROOT, Campaigns
from tests.guide_pools import LARGE, SERIES, pools
from tests.spec.conftest import CAMPAIGN, CLUSTER

PRICES = ROOT / "runbooks" / "supermicro-2017" / "prices.yaml"
LARGE_WRITE = ["--workload", "large-write"]


@pytest.fixture(scope="module")
def samples() -> pd.DataFrame:
    small = {"create": {"replicate": 90.0, "disperse": 40.0}, "read": {"replicate": 200.0, "disperse": 60.0}}
    return pd.concat([pools(LARGE), pools(small, tool="smallfile", nominal=32 << 10, scale=20)], ignore_index=True)


@pytest.fixture
def raw(samples: pd.DataFrame, campaigns: Campaigns) -> Path:
    folder = campaigns("night", samples, text=CAMPAIGN)
    (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    return folder


WORDS = ("size", "--raw", "raw/night")
run, answer = partial(conftest.call, *WORDS), partial(conftest.answer, *WORDS)


def test_the_answer_names_layouts_servers_cost_and_what_decides(raw: Path) -> None:
    words = ("--throughput", "5GB/s", "--capacity", "500TB", "--growth", "20%/y", "--years", "3")
    found = answer(*LARGE_WRITE, *words)
    assert found["request"]["rate"] == 5e9
    assert round(found["request"]["final_capacity_bytes"] / 1e12) == 864
    assert found["prices"] == {"currency": "USD", "date": "2017-03-31", "example": True, "name": "example-2017"}
    layouts = {one["layout"]: one for one in found["layouts"]}
    assert set(layouts) == set(SERIES.values())
    disperse = layouts[SERIES["disperse"]]
    assert (disperse["servers"], disperse["decided_by"], disperse["cost"]) == (17, ["capacity"], 17 * 16_670)
    assert disperse["rate_low"] < disperse["rate_mean"] < disperse["rate_high"]
    assert disperse["fillable_bytes"] >= 864e12
    assert disperse["rule_of_thumb_servers"] == 17
    assert disperse["measured"]["full_size_mean"] == pytest.approx(83.68e6 * 72)
    costs = [one["cost"] for one in found["layouts"]]
    assert costs == sorted(costs)
    for said in ("in proportion to the servers", "multiplied by its scale (200)", "not quotes"):
        assert any(said in note for note in found["notes"])


def test_the_table_says_it_in_words(raw: Path) -> None:
    result = run(*LARGE_WRITE, "--throughput", "40 Gbit/s", "--capacity", "1PB")
    assert result.exit_code == 0
    first = result.stdout.splitlines()[0]
    assert first == "write of files of 4 GiB, iozone, native client: 5.00 GB/s, 1,000 TB"
    # 83.68 MB/s per disk, with the same interval at any number of servers
    text = " ".join(result.stdout.split())
    assert re.search(r"83\.7 MB/s \(7[0-9]\.[0-9] to 8[0-9]\.[0-9]\)", text)
    assert "lower end of the 95 % interval" in text
    assert "xample prices, not quotes" in text


def test_of_two_tools_the_one_with_more_samples_counts_or_the_named_one(
    raw: Path, samples: pd.DataFrame, campaigns: Campaigns
) -> None:
    fewer = pools(LARGE, tool="fio").query("sample < 3")
    campaigns.samples["night"] = pd.concat([samples, fewer], ignore_index=True)
    size = [*LARGE_WRITE, "--capacity", "1PB"]
    assert "4 GiB, iozone, native client (measured also by fio: --tool): 1,000 TB" in run(*size).stdout
    found = [answer(*size, *words)["request"]["tool"] for words in ([], ["--tool", "fio"])]
    assert found == ["iozone", "fio"]
    refused = run(*size, "--tool", "smallfiles")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "that measured it: fio, iozone; found 'smallfiles'" in " ".join(refused.stderr.split())


def test_small_files_are_sized_in_files_or_bytes(raw: Path) -> None:
    files, same = (answer("--workload", "32kb-write", "--throughput", rate) for rate in ("6400 files/s", "200 MiB/s"))
    assert files["request"]["rate"] == same["request"]["rate"] == 6400
    assert files["layouts"] == same["layouts"]
    assert {one["rule_of_thumb_servers"] for one in files["layouts"]} == {None}


def test_what_no_layout_can_do_ends_with_1_and_the_reason(raw: Path) -> None:
    result = run(*LARGE_WRITE, "--throughput", "900GB/s")
    assert result.exit_code == 1
    for said in ("No measured layout can be sized for this.", "throughput: ", "at most 128"):
        assert said in result.stdout
    found = answer(*LARGE_WRITE, "--throughput", "900GB/s", code=1)
    assert {(one["possible"], one["servers"]) for one in found["layouts"]} == {(False, None)}


def test_a_named_price_list_and_disk_go_first(raw: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    text = PRICES.read_text(encoding="utf-8").replace("currency: USD", "currency: EUR")
    mine.write_text(text.replace("example: true", "example: false"), encoding="utf-8")
    found = answer(*LARGE_WRITE, "--capacity", "500TB", "--prices", str(mine), "--disk-size", "16TB")
    usable = {one["layout"]: one["usable_bytes"] for one in found["layouts"]}
    assert (found["prices"]["currency"], usable[SERIES["disperse"]]) == ("EUR", pytest.approx(6 * 128e12))
    notes = " ".join(found["notes"])
    assert ("not quotes" in notes, "16 TB (as named)" in notes) == (False, True)


def test_results_of_other_clients_do_not_count(raw: Path, campaigns: Campaigns) -> None:
    nfs = pools({"write": {"disperse": 300e6}}).assign(access="nfs")
    campaigns.samples["night"] = nfs
    result = run(*LARGE_WRITE, "--capacity", "1TB")
    assert (result.exit_code, "by the native client" in result.stderr) == (3, True)
    campaigns.samples["night"] = pd.concat([nfs, pools({"write": {"disperse": 80e6}})], ignore_index=True)
    found = answer(*LARGE_WRITE, "--capacity", "1TB")
    assert [one["rate_per_disk_mean"] for one in found["layouts"]] == [pytest.approx(80e6)]
    assert found["request"]["access"] == "native"


def test_layouts_that_an_import_knows_too_little_of_are_named(raw: Path, campaigns: Campaigns) -> None:
    campaigns.samples["night"] = pools({"write": {"disperse": 80e6}}).assign(disks=0, servers=0)
    found = answer(*LARGE_WRITE, "--capacity", "1TB", code=1)
    assert (found["layouts"], found["left_out"]) == ([], [SERIES["disperse"]])
    assert not any("measured were" in note for note in found["notes"])
    result = run(*LARGE_WRITE, "--capacity", "1TB")
    assert f"not sized: {SERIES['disperse']}: its servers or disks are not known" in result.stdout


def test_notes_say_what_the_numbers_cannot(raw: Path) -> None:
    assumed, small_domain = "operations per second are assumed", "needs --max-fault-domain"
    notes = " ".join(answer(*LARGE_WRITE, "--throughput", "1GB/s")["notes"])
    assert "by the native client, at one number of workers only, 48." in notes
    # the conflict of the guide with itself, and the way out of it
    assert (assumed in notes, small_domain in notes) == (False, True)
    small = answer("--workload", "32kb-write", "--throughput", "100 files/s", "--max-fault-domain", "26%")
    notes = " ".join(small["notes"])
    assert (assumed in notes, small_domain in notes) == (True, False)
    assert {one["servers"] for one in small["layouts"] if one["type"] == "replicate"} == {4}


def test_without_a_price_list_of_its_study_there_are_no_costs(raw: Path) -> None:
    (raw / "campaign.yaml").write_text(CAMPAIGN.replace("study: supermicro-2017\n", ""), encoding="utf-8")
    found = answer(*LARGE_WRITE, "--throughput", "1GB/s")
    assert (found["prices"], {one["cost"] for one in found["layouts"]}) == (None, {None})
    result = run(*LARGE_WRITE, "--capacity", "1TB")
    assert (result.exit_code, "--disk-size" in result.stdout) == (1, True)


WRONG_VALUES = {
    "--throughput": (("5GB", "", "0 GB/s", "inf GB/s", "9" * 400 + " GB/s"), "expected a rate such as"),
    "--capacity": (("500", "-500TB", "0TB", "9999999999PB", "9" * 306 + "PB"), "expected a capacity such as '500 TB'"),
    "--growth": (("20", "-5%/y", "99999%/y"), "expected a yearly growth of 0% to 1000%, such as '20%/y'"),
    "--max-fault-domain": (("17", "0%"), "expected a share above 0 %"),
    "--fill-limit": (("120%",), "expected a share above 0 %"),
    "--disk-size": (("8",), "expected a capacity"),
    "--years": (("-1", "nan"), "expected 0 to 50"),
}
GROWING = {"--capacity": "1TB", "--growth": "20%/y", "--years": "3"}


@pytest.mark.parametrize(
    ("option", "value"), [(name, value) for name in WRONG_VALUES for value in WRONG_VALUES[name][0]]
)
def test_a_value_that_makes_no_sense_is_refused_by_its_option(raw: Path, option: str, value: str) -> None:
    words = [part for pair in (GROWING | {option: value}).items() for part in pair]
    result = run(*LARGE_WRITE, *words)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    found = " ".join(result.stderr.split())
    assert f"{option}: " in found
    assert WRONG_VALUES[option][1] in found or "expected a smaller number" in found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "expected --workload (large-write"),
        ("--workload large-write", "nothing to size"),
        ("--workload large-wirte --capacity 1TB", "did you mean 'large-write'?"),
        ("--workload large-write --file-size 4GB --capacity 1TB", "found both"),
        ("--file-size 4GB --capacity 1TB", "or --file-size with --operation"),
        ("--file-size 4Gb --operation read --capacity 1TB", "--file-size: expected a size in B"),
        ("--file-size 4GB --operation append --capacity 1TB", "expected one of write, read"),
        ("--workload large-write --throughput 5,5GB/s", "a decimal point, and nothing between thousands"),
        ("--workload large-write --throughput 200files/s", "expected bytes per second for files of 4 GiB"),
        ("--workload large-write --capacity 1TB --growth 20%/y", "found no --years"),
        ("--workload large-write --capacity 1TB --years 3", "found no --growth"),
        ("--workload large-write --throughput 1GB/s --growth 20%/y --years 3", "expected --capacity with it"),
        ("--workload large-write --capacity 1TB --prices none.yaml", "expected a YAML file, found no such file"),
    ],
)
def test_what_makes_no_sense_is_refused(raw: Path, words: str, message: str) -> None:
    result = run(*words.split())
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert message in " ".join(result.stderr.split())


def test_what_was_not_measured_is_said_with_what_was(raw: Path, samples: pd.DataFrame, campaigns: Campaigns) -> None:
    for measured, sizes in ((samples, "32 KiB, 4 GiB"), (samples.assign(status="invalid"), "none at all")):
        campaigns.samples["night"] = measured
        result = run("--workload", "4mb-read", "--throughput", "1GB/s")
        assert (result.exit_code, f"these sizes: {sizes}. Sizes between are not guessed" in result.stderr) == (3, True)
