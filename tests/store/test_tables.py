"""Tables: every sample in, documented columns out, and a cache that never hides a change."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from glusterlab.analysis import valid_samples
from glusterlab.errors import DataError, ParseError, RawStoreError, UsageError
from glusterlab.reasons import Reason
from glusterlab.store import digests as fingerprint
from glusterlab.store.campaign import RawStore
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.tables import build as tables
from glusterlab.tables.parts import brick_shares
from glusterlab.tables.schema import as_schema
from tests.store.conftest import CLIENTS, SERVERS, add_sample, begin, make_cell, relist

RAW = Path(__file__).parents[2] / "raw"


def test_samples_have_the_tools_numbers_in_si_units(campaign: Path) -> None:
    made = tables.load(campaign, cache=False)
    samples = made.samples.set_index(["operation", "sample"])
    assert len(samples) == 6
    write = samples.loc[("write", 1)]
    text = (campaign / "cells" / make_cell().id / "sample-01" / "workload" / "stdout.txt").read_text()
    children = next(line for line in text.splitlines() if "Children see" in line)
    kilobytes = float(children.split("=")[1].split()[0])
    assert write["throughput_bytes_per_s"] == pytest.approx(kilobytes * 1024)
    assert (write["gluster_version"], write["tool_version"], write["disks"]) == ("10.3", "3.489", 24)
    assert (write["scale"], write["geometry"], write["workers"]) == (200.0, "1x2", 6)
    create = samples.loc[("create", 1)]
    assert create["throughput_bytes_per_s"] == pytest.approx(create["files_per_s"] * 32768)
    assert pd.isna(write["files_per_s"])
    assert create["files_whole_per_s"] == pytest.approx(397 / create["elapsed_s"])
    assert write["throughput_whole_bytes_per_s"] < write["throughput_bytes_per_s"]


def test_workers_and_telemetry(campaign: Path) -> None:
    made = tables.load(campaign, cache=False)
    assert made.workers.groupby("cell_id").size().to_dict() == {
        make_cell("write").id: 12,
        make_cell("read").id: 12,
        make_cell("create", 2, "smallfile").id: 4,
    }
    telemetry = made.telemetry
    assert set(telemetry["host"]) == {*SERVERS, *CLIENTS}
    assert set(telemetry.loc[telemetry["role"] == "server", "host"]) == set(SERVERS)
    used = telemetry[(telemetry["activity"] == "memory") & (telemetry["metric"] == "used_bytes")]
    assert set(used["value"]) == {300 * 1024.0}
    assert len(telemetry[telemetry["metric"] == "user_fraction"]) == 6 * 5 * 11


def test_a_warmup_is_in_the_tables_and_marked(new_store: RawStore) -> None:
    add_sample(new_store, make_cell(), warmup=True)
    add_sample(new_store, make_cell())
    samples = tables.load(new_store.path, cache=False).samples
    assert samples[["sample", "repeat", "round", "warmup"]].values.tolist() == [[1, 1, 0, True], [2, 1, 1, False]]
    assert set(samples["reason_sentences"]) == {""}
    assert list(valid_samples(samples)["sample"]) == [2]


def test_samples_without_a_result_are_rows_with_nan(new_store: RawStore) -> None:
    reason = Reason(code="host-unreachable", message="gone", host="client01")
    with begin(new_store) as writer:
        writer.finish((reason,), disks=24, servers=SERVERS, clients=CLIENTS)
    made = tables.load(new_store.path, cache=False)
    row = made.samples.iloc[0]
    assert (row["status"], row["reasons"]) == ("failed", "host-unreachable")
    assert row["reason_sentences"] == "host-unreachable on client01: gone"
    assert not row["warmup"]
    assert row[["start_s", "elapsed_s", "throughput_bytes_per_s"]].isna().all()
    assert made.workers.empty
    assert made.telemetry.empty


def test_an_empty_campaign_has_empty_tables(new_store: RawStore) -> None:
    made = tables.load(new_store.path, cache=False)
    assert all(getattr(made, name).empty for name in ("samples", "workers", "telemetry"))


def test_parallel_and_serial_agree(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serial = tables.load(campaign, cache=False)
    monkeypatch.setattr(tables.parallel, "WORTH_FROM", 1)
    parallel = tables.load(campaign, cache=False)
    _same(serial, parallel)


def test_a_valid_sample_that_cannot_be_read_is_an_error(campaign: Path) -> None:
    name = f"cells/{make_cell().id}/sample-01/workload/stdout.txt"
    (campaign / name).write_text("")
    relist(campaign, name)
    with pytest.raises(ParseError, match="found an empty file"):
        tables.load(campaign)


def _same(one: tables.Tables, other: tables.Tables) -> None:
    for name in ("samples", "workers", "telemetry"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))


def _made(campaign: Path) -> int:
    written = tables.write(campaign)
    assert written is not None
    return written.made


def test_only_what_changed_is_made_again(campaign: Path) -> None:
    assert _made(campaign) == 6
    assert _made(campaign) == 0
    first = tables.load(campaign)
    before = first.samples
    assert first.folder == tables.folder_of(campaign) == campaign.parents[1] / "figures" / "small" / "tables"
    assert tables.folder_of(campaign.parent / "unfinished" / "small") == first.folder
    name = f"cells/{make_cell().id}/sample-01/workload/stdout.txt"
    text = (campaign / name).read_text()
    line = next(line for line in text.splitlines() if "Children see" in line)
    (campaign / name).write_text(text.replace(line, line[:-9] + "8" + line[-8:]))
    relist(campaign, name)
    assert _made(campaign) == 1
    changed = tables.load(campaign).samples
    assert (changed["throughput_bytes_per_s"] != before["throughput_bytes_per_s"]).sum() == 1

    add_sample(RawStore.open(campaign), make_cell(), repeat=3)
    assert _made(campaign) == 1
    assert len(tables.load(campaign).samples) == 7
    fresh = tables.load(campaign, cache=False)
    _same(tables.load(campaign), fresh)


def test_a_sample_that_is_gone_leaves_nothing_behind(campaign: Path) -> None:
    _made(campaign)
    gone = f"cells/{make_cell().id}/sample-02"
    shutil.rmtree(campaign / gone)
    with pytest.raises(RawStoreError, match=f"{gone} is lost"):
        _made(campaign)
    listed = {name: word for name, word in Manifest.read(campaign).digests.items() if not name.startswith(gone)}
    (campaign / MANIFEST).write_text(Manifest(listed).text)
    assert _made(campaign) == 0
    loaded = tables.load(campaign)
    assert len(loaded.samples) == 5
    assert len(list((loaded.folder / "telemetry").iterdir())) == len(list((loaded.folder / "parts").iterdir())) == 5
    assert len(loaded.telemetry.groupby(["cell_id", "sample"], observed=True)) == 5


@pytest.mark.parametrize(
    ("damaged", "again"),
    [("samples.parquet", 0), ("key.json", 0), ("parts", 0), ("telemetry", 1)],
)
def test_what_is_kept_and_damaged_is_made_again(campaign: Path, damaged: str, again: int) -> None:
    before = tables.load(campaign)
    folder = before.folder
    path = folder / damaged if damaged.endswith((".parquet", ".json")) else min((folder / damaged).iterdir())
    path.write_bytes(b"PAR1 damaged")
    assert _made(campaign) == again
    after = tables.load(campaign)
    _same(before, after)


def test_damage_that_keeps_the_size_is_noticed(campaign: Path) -> None:
    before = tables.load(campaign)
    file = min((before.folder / "telemetry").iterdir())
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(DataError, match="run `glusterlab tables` again"):
        _ = tables.Tables(before.folder).telemetry
    assert _made(campaign) == 1
    pd.testing.assert_frame_equal(tables.load(campaign).telemetry, before.telemetry)


def test_kept_files_are_hashed_only_when_they_were_touched(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _made(campaign)
    hashed: list[Path] = []
    digest = tables.file_digest
    monkeypatch.setattr(tables, "file_digest", lambda path: (hashed.append(path), digest(path))[1])
    assert (_made(campaign), hashed) == (0, [])
    file = min((tables.folder_of(campaign) / "telemetry").iterdir())
    file.touch()
    assert (_made(campaign), hashed) == (0, [file])


@pytest.mark.parametrize("name", ["notes.txt", "telemetry/sar.txt", "parts/a.json", "samples.parquet", "key.json"])
def test_a_folder_of_something_else_is_refused_and_kept(campaign: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "mine"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("mine")
    with pytest.raises(UsageError, match=f"expected a folder of tables or an empty one, found {name}"):
        tables.write(campaign, folder)
    assert [path.read_text() for path in folder.rglob("*") if path.is_file()] == ["mine"]


def test_other_files_in_our_folder_stay(campaign: Path) -> None:
    _made(campaign)
    note = tables.folder_of(campaign) / "telemetry" / "notes.txt"
    note.write_text("mine")
    add_sample(RawStore.open(campaign), make_cell(), repeat=3)
    assert _made(campaign) == 1
    assert note.read_text() == "mine"


def test_a_folder_in_a_campaign_is_refused(campaign: Path) -> None:
    sample = campaign / "cells" / make_cell().id / "sample-01"
    with pytest.raises(UsageError, match="lies in the campaign"):
        tables.write(campaign, sample / "new")
    with pytest.raises(UsageError, match="expected a folder of tables"):
        tables.write(campaign, sample)


def test_a_sample_that_is_finished_while_we_look_is_for_the_next_time(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = RawStore.samples

    def one_more(self: RawStore) -> Any:
        add_sample(self, make_cell("write", 3), repeat=1)
        return samples(self)

    with monkeypatch.context() as patch:
        patch.setattr(RawStore, "samples", one_more)
        assert _made(campaign) == 6
    assert _made(campaign) == 1


def test_a_making_that_was_stopped_goes_on(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def three(jobs: Iterable[Any], work: Any, **_: Any) -> Iterator[Any]:
        for job in list(jobs)[:3]:
            yield work(job)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tables.parallel, "run", three)
        with pytest.raises(KeyboardInterrupt):
            tables.write(campaign)
    assert _made(campaign) == 3


def test_telemetry_can_be_read_in_part(campaign: Path) -> None:
    loaded = tables.load(campaign)
    some = loaded.telemetry_of(activity=["memory"], metric=["used_bytes"], host=SERVERS)
    whole = loaded.telemetry
    wanted = whole[(whole["metric"] == "used_bytes") & whole["host"].isin(SERVERS)]
    assert list(some["value"]) == list(wanted["value"])
    assert set(some["activity"]) == {"memory"}
    assert list(some["metric"].cat.categories) == ["used_bytes"]


@pytest.mark.parametrize(("what", "made"), [("tables/build.py", 6), ("plots/style.py", 0), ("pandas", 6)])
def test_the_tables_end_with_what_makes_them_and_not_with_what_draws_them(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, made: int
) -> None:
    library = tmp_path / "library"
    for folder in ("tables", "plots"):
        (library / folder).mkdir(parents=True)
    monkeypatch.setattr(fingerprint, "LIBRARY", library)
    assert [_made(campaign), _made(campaign)] == [6, 0]
    if what == "pandas":
        monkeypatch.setattr(tables.metadata, "version", lambda name: f"{name} of tomorrow")
    else:
        (library / what).write_text("A = 2")
    assert _made(campaign) == made


def test_a_folder_that_cannot_be_written_is_no_error(campaign: Path) -> None:
    (campaign.parents[1] / "figures").write_text("a file, no folder")
    assert len(tables.load(campaign).samples) == 6


def test_missing_text_is_named(campaign: Path) -> None:
    frame = tables.load(campaign).samples
    with pytest.raises(DataError, match="expected text in every row of status"):
        as_schema(frame.assign(status=frame["status"].mask(frame.index == 0)), "samples")


def test_big_telemetry_files_are_read_in_parts_of_their_own(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tables.load(campaign, cache=False)
    monkeypatch.setattr(tables, "BIG_BYTES", 100)
    made = tables.load(campaign, cache=False)
    assert len(list((made.folder / "telemetry").iterdir())) == 6 * len([*SERVERS, *CLIENTS])
    _same(made, small)


def rates_of_bricks(raw: Path, cell: str, *metrics: str) -> Iterator[tuple[pd.Series, pd.Series]]:
    """Each valid sample of the cells whose names begin so, and the sums of rates by kind of backing, server, device."""
    backing = {
        (machine, host, facts["device"].removeprefix("/dev/")): path.split("/")[2]
        for machine, environment in RawStore.open(raw).environments().items()
        for host, of in environment["hosts"].items()
        for path, facts in of["filesystems"].items()
    }
    made = tables.load(raw, cache=False, cells=[path.name for path in raw.glob(f"cells/{cell}*")])
    rows = made.telemetry[made.telemetry["metric"].isin(metrics) & (made.telemetry["role"] == "server")]
    for _, sample in valid_samples(made.samples).iterrows():
        mine = rows[(rows["cell_id"] == sample["cell_id"]) & (rows["sample"] == sample["sample"])]
        # sar writes every two seconds
        mine = mine[(mine["time_s"] > sample["part_start_s"]) & (mine["time_s"] < sample["part_end_s"] + 2)]
        places = list(zip(mine["host"].astype(str), mine["device"].astype(str), strict=True))
        yield (
            sample,
            mine["value"].groupby([[backing.get((sample["machine"], *place), "") for place in places], places]).sum(),
        )


def test_what_a_hot_tier_has_of_all_requests() -> None:
    cells = "smallfile-read-32kib-replicate-3x2-raid6-hot-"
    found = list(rates_of_bricks(RAW / "tiering", cells, "transfers_per_s"))
    assert len(found) == 18
    for sample, sums in found:
        share = sums["nvme"].sum() / (sums["nvme"].sum() + sums["raid6"].sum())
        assert sample["hot_requests_fraction"] == pytest.approx(share, rel=0.05, abs=0.01)
        assert sample["hot_requests_fraction"] > 0.85 if not sample["options"] else share < 0.5
        assert pd.isna(sample["busiest_brick_ratio"])


def test_what_a_hot_tier_has_of_what_is_written() -> None:
    cells = "smallfile-create-4mib-replicate-3x2-raid6-hot-"
    found = list(rates_of_bricks(RAW / "tiering", cells, "write_bytes_per_s"))
    assert len(found) == 6
    for sample, sums in found:
        share = sums["nvme"].sum() / (sums["nvme"].sum() + sums["raid6"].sum())
        assert sample["hot_written_fraction"] == pytest.approx(share, rel=0.01)


def test_nothing_is_said_of_bricks_of_which_one_is_not_known() -> None:
    rows = [("s1", device, metric) for device in ("a", "b") for metric in ("read_bytes_per_s", "transfers_per_s")]
    telemetry = pd.DataFrame(rows, columns=["host", "device", "metric"]).assign(activity="disk", time_s=2.0)
    telemetry["value"] = [3.0, 3.0, 1.0, 1.0]
    assert brick_shares(telemetry, 0, 2, ["s1/a", "s1/b"], []) == {"busiest_brick_ratio": 1.5}
    assert brick_shares(telemetry, 0, 2, ["s1/a"], ["s1/b"]) == {
        "hot_written_fraction": None,
        "hot_requests_fraction": 0.25,
    }
    assert brick_shares(telemetry, 2, 4, ["s1/a", "s1/b"], []) == {"busiest_brick_ratio": None}
    # the name of a logical volume, a host without records, one brick
    for bricks in (["s1/a", "s1/raid6-a01"], ["s1/a", "s2/a"], ["s1/a"]):
        assert brick_shares(telemetry, 0, 2, bricks, []) == {}


def test_how_much_more_than_the_mean_brick_the_busiest_one_does() -> None:
    cells = "smallfile-create-32kib-disperse-12x4+2-jbod-native-w48-"
    found = list(rates_of_bricks(RAW / "small-files", cells, "read_bytes_per_s", "write_bytes_per_s"))
    assert len(found) >= 3
    for sample, sums in found:
        # a server has twice as many disks as this volume has bricks there
        used = sums["jbod"].nlargest(72)
        assert sample["busiest_brick_ratio"] == pytest.approx(used.max() / used.mean(), rel=0.05)
        assert sample["busiest_brick_ratio"] > 1
        assert pd.isna(sample["hot_requests_fraction"])


def test_a_script_without_a_guard_gets_its_tables(campaign: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    begin = "from pathlib import Path\nfrom glusterlab.tables import build as tables\ntables.parallel.WORTH_FROM = 1\n"
    script.write_text(f"{begin}print(len(tables.load(Path({str(campaign)!r})).samples))\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr
