"""Tables: every sample in, documented columns out, and a cache that never hides a change."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from glusterlab import fingerprint, tables
from glusterlab.errors import DataError, ParseError
from glusterlab.raw import RawStore

from .conftest import CLIENTS, SERVERS, add_sample, make_cell


def test_samples_have_the_tools_numbers_in_si_units(campaign: Path) -> None:
    made = tables.build(campaign)
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


def test_workers_and_telemetry(campaign: Path) -> None:
    made = tables.build(campaign)
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


def test_samples_without_a_result_are_rows_with_nan(new_store: RawStore) -> None:
    cell = make_cell()
    with new_store.begin_sample(cell, repeat=1, round=1, order=1, attempt=1) as writer:
        from glusterlab.judge import Failure, judge
        from glusterlab.raw import Reason, dump_json

        reason = Reason(code="host-unreachable", message="gone", host="client01")
        writer.write("failure.json", dump_json(Failure(reasons=[reason]).model_dump(mode="json")))
        verdict = judge(writer.folder, cell, SERVERS, CLIENTS)
        writer.finish(
            verdict.status,
            verdict.reasons,
            window=None,
            phases={},
            exit_code=None,
            disks=24,
            servers=SERVERS,
            clients=CLIENTS,
        )
    made = tables.build(new_store.path)
    row = made.samples.iloc[0]
    assert (row["status"], row["reasons"]) == ("failed", "host-unreachable")
    assert row[["start_s", "elapsed_s", "throughput_bytes_per_s"]].isna().all()
    assert made.workers.empty
    assert made.telemetry.empty


def test_an_empty_campaign_has_empty_tables(new_store: RawStore) -> None:
    made = tables.build(new_store.path)
    for name in ("samples", "workers", "telemetry"):
        assert getattr(made, name).empty


def test_parallel_and_serial_agree(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serial = tables.build(campaign)
    monkeypatch.setattr(tables, "PARALLEL_FROM", 1)
    parallel = tables.build(campaign)
    for name in ("samples", "workers", "telemetry"):
        pd.testing.assert_frame_equal(getattr(serial, name), getattr(parallel, name))


def test_a_valid_sample_that_cannot_be_read_is_an_error(campaign: Path) -> None:
    (campaign / "cells" / make_cell().id / "sample-01" / "workload" / "stdout.txt").write_text("")
    with pytest.raises(ParseError, match="found 0"):
        tables.build(campaign)


def test_the_cache_is_used_and_never_hides_a_change(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[Path] = []
    build = tables.build
    monkeypatch.setattr(tables, "build", lambda raw: (builds.append(raw), build(raw))[1])
    first = tables.load(campaign)
    again = tables.load(campaign)
    assert len(builds) == 1
    for name in ("samples", "workers", "telemetry"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(again, name))
    folder = tables.folder_of(campaign)
    assert folder == campaign.parents[1] / "figures" / "small" / "tables"

    (folder / "samples.parquet").write_bytes(b"PAR1 damaged")
    tables.load(campaign)
    assert len(builds) == 2
    (folder / "key.json").write_text("[]")
    tables.load(campaign)
    assert len(builds) == 3

    path = campaign / "cells" / make_cell().id / "sample-01" / "workload" / "stdout.txt"
    text = path.read_text()
    line = next(line for line in text.splitlines() if "Children see" in line)
    path.write_text(text.replace(line, line[:-9] + "8" + line[-8:]))
    tables.load(campaign)
    assert len(builds) == 4

    add_sample(RawStore.open(campaign), make_cell(), repeat=3)
    assert len(tables.load(campaign).samples) == 7
    tables.load(campaign, cache=False)
    assert len(builds) == 6


@pytest.mark.parametrize("what", ["library", "pandas"])
def test_the_cache_ends_with_the_library_and_pandas(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    library = tmp_path / "library"
    (library / "plots").mkdir(parents=True)
    (library / "plots" / "style.py").write_text("A = 1")
    monkeypatch.setattr(fingerprint, "LIBRARY", library)
    builds: list[Path] = []
    build = tables.build
    monkeypatch.setattr(tables, "build", lambda raw: (builds.append(raw), build(raw))[1])
    tables.load(campaign)
    tables.load(campaign)
    assert len(builds) == 1
    if what == "library":
        (library / "plots" / "style.py").write_text("A = 2")
    else:
        monkeypatch.setattr(tables.metadata, "version", lambda name: f"{name} of tomorrow")
    tables.load(campaign)
    assert len(builds) == 2


def test_a_folder_that_cannot_be_written_is_no_error(campaign: Path) -> None:
    (campaign.parents[1] / "figures").write_text("a file, no folder")
    assert len(tables.load(campaign).samples) == 6


def test_validate_names_what_differs(campaign: Path) -> None:
    frame = tables.build(campaign).samples
    with pytest.raises(DataError, match=r"\['scale'\] missing and \['scalee'\] more"):
        tables.validate(frame.rename(columns={"scale": "scalee"}), "samples")
    with pytest.raises(DataError, match="expected workers as int64, found float64"):
        tables.validate(frame.astype({"workers": "float64"}), "samples")
    with pytest.raises(DataError, match="expected text in every row of status"):
        tables.validate(frame.assign(status=frame["status"].mask(frame.index == 0)), "samples")


def test_key_json_is_readable(campaign: Path) -> None:
    tables.load(campaign)
    assert set(json.loads((tables.folder_of(campaign) / "key.json").read_text())) == {"key", "sha256"}
