"""Each kind of damage has a finding of its own."""

import json
import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from glusterlab import parallel
from glusterlab.errors import RawStoreError
from glusterlab.run.contradictions import forms_differ, too_fast
from glusterlab.run.verify import verify, verify_signature
from glusterlab.store.campaign import RawStore
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.store.sample import Sample
from glusterlab.store.signature import sign
from glusterlab.tools.records import Source, WorkloadRecord
from tests.store.conftest import CLIENTS, edit_json, make_cell, relist, sadf_text

CELL = make_cell().id
SAMPLE = f"cells/{CELL}/sample-01"
TELEMETRY = f"{SAMPLE}/telemetry/client01.csv.xz"


def _edit(root: Path, name: str, **values: object) -> None:
    """Change a file of JSON, and its line in the manifest."""
    edit_json(root / name, **values)
    relist(root, name)


def _found(root: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for finding in verify(root):
        assert finding.message
        found.setdefault(finding.path, set()).add(finding.code)
    return found


def test_an_untouched_campaign_has_no_findings(campaign: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert verify(campaign, lambda done, total: seen.append((done, total))) == []
    assert seen[-1] == (6, 6)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)


def _more_workers(path: Path) -> None:
    path.write_text(path.read_text().replace('"workers": 6', '"workers": 7'))


RECORD, HEALTH, CELL_FILE = f"{SAMPLE}/sample.json", f"{SAMPLE}/gluster/after/health.json", f"cells/{CELL}/cell.json"
WORSE = {"status": "invalid", "reasons": [{"code": "heal-pending", "message": "1 entry", "host": None}]}
DIFFERS = {RECORD: {"status-differs"}}


@pytest.mark.parametrize(
    ("name", "damage", "found", "relisted"),
    [
        (f"{SAMPLE}/log.txt", Path.unlink, {"missing-file"}, None),
        (f"{SAMPLE}/workload/notes.txt", lambda path: path.write_text("x"), {"unlisted-file"}, {}),
        ("extra.bin", lambda path: path.write_text("x"), {"unlisted-file"}, {}),
        (f"{SAMPLE}/log.txt", _flip, {"changed-file"}, {}),
        (TELEMETRY, _cut, {"changed-file", "truncated-xz"}, DIFFERS),
        (HEALTH, lambda path: path.write_text('{"peers": '), {"changed-file", "invalid-json"}, None),
        (RECORD, partial(edit_json, **WORSE), {"changed-file", "status-differs"}, DIFFERS),
        (RECORD, partial(edit_json, schema_version=99), None, {RECORD: {"newer-schema", "invalid-sample"}}),
        (RECORD, partial(edit_json, sample=2), None, None),
        (CELL_FILE, _more_workers, None, {CELL_FILE: {"invalid-cell"}}),
    ],
)
def test_each_kind_of_damage_is_told_also_when_the_manifest_was_edited_with_it(
    campaign: Path,
    name: str,
    damage: Callable[[Path], object],
    found: set[str] | None,
    relisted: dict[str, set[str]] | None,
) -> None:
    damage(campaign / name)
    first = _found(campaign)
    assert first[name] == found if found else name in first
    assert set(first) <= {name, RECORD}
    if relisted is not None:
        relist(campaign, name)
        assert _found(campaign) == relisted


def test_several_processes_find_the_same(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _flip(campaign / SAMPLE / "log.txt")
    (campaign / f"cells/{CELL}/sample-02/log.txt").unlink()
    alone = verify(campaign)
    assert {finding.code for finding in alone} == {"changed-file", "missing-file"}
    monkeypatch.setattr(parallel, "WORTH_FROM", 1)
    assert verify(campaign) == alone


def test_other_reasons_than_recorded(campaign: Path) -> None:
    _edit(campaign, f"{SAMPLE}/gluster/before/health.json", heal_pending=7)
    reason = {"code": "clock-skew", "message": "5 s", "host": None}
    _edit(campaign, RECORD, status="invalid", reasons=[reason])
    assert _found(campaign) == {RECORD: {"reasons-differ"}}


def test_manifest_damaged_or_gone_and_no_campaign(campaign: Path, tmp_path: Path) -> None:
    (campaign / MANIFEST).write_text("nothing\n")
    assert _found(campaign) == {MANIFEST: {"bad-manifest"}}
    (campaign / MANIFEST).unlink()
    assert _found(campaign)[MANIFEST] == {"bad-manifest"}
    with pytest.raises(RawStoreError, match="expected a campaign's folder"):
        verify(tmp_path)


def test_a_warmup_mark_that_does_not_fit_the_round(campaign: Path) -> None:
    _edit(campaign, RECORD, warmup=True)
    assert _found(campaign) == {RECORD: {"warmup-differs"}}
    _edit(campaign, RECORD, round=0)
    assert _found(campaign) == {}
    _edit(campaign, RECORD, warmup=False)
    assert _found(campaign) == {RECORD: {"warmup-differs"}}


def test_a_repeat_that_would_count_twice(campaign: Path) -> None:
    second = f"cells/{CELL}/sample-02/sample.json"
    _edit(campaign, second, repeat=1, round=1)
    assert _found(campaign) == {second: {"doubled-sample"}}
    _edit(campaign, second, round=0, warmup=True)
    assert _found(campaign) == {}


def _copied(root: Path, folder: str, target: str) -> None:
    """A sample under another number and repeat, also in the manifest."""
    number = int(target[-2:])
    shutil.copytree(root / folder, root / target)
    edit_json(root / target / "sample.json", sample=number, repeat=number, round=number)
    digests = Manifest.read(root).digests
    digests |= {name.replace(folder, target): word for name, word in digests.items() if name.startswith(folder)}
    (root / MANIFEST).write_text(Manifest(digests).text)
    relist(root, f"{target}/sample.json")


def test_a_sample_that_was_copied_under_another_number(campaign: Path) -> None:
    copy = f"cells/{CELL}/sample-03"
    _copied(campaign, SAMPLE, copy)
    assert _found(campaign)[copy] == {"same-output", "overlapping-window"}
    window = json.loads((campaign / RECORD).read_text())["window"]
    later = {name: at + 5000 for name, at in window.items()}
    _edit(campaign, f"{copy}/sample.json", window=later)
    assert _found(campaign)[copy] == {"same-output"}
    _edit(campaign, f"{copy}/sample.json", window={name: at - 5000 for name, at in window.items()})
    assert _found(campaign)[SAMPLE] == {"same-output", "impossible-order"}


@pytest.mark.parametrize("name", ["here", f"{SAMPLE}/here"])
@pytest.mark.parametrize("target", ["nowhere", "/etc/hostname", "/etc"])
def test_a_link_to_what_is_not_the_campaigns(campaign: Path, name: str, target: str) -> None:
    (campaign / name).symlink_to(target)
    assert "foreign-link" in _found(campaign)[name]


def test_a_result_of_two_forms_that_disagree(campaign: Path) -> None:
    small = f"cells/{make_cell('create', 2, 'smallfile').id}/sample-01/workload"
    text = (campaign / small / "stdout.txt").read_text()
    rate = re.search(r"files/sec = ([\d.]+)", text)
    assert rate is not None
    (campaign / small / "stdout.txt").write_text(text.replace(rate[1], f"{2 * float(rate[1]):.6f}"))
    relist(campaign, f"{small}/stdout.txt")
    assert _found(campaign) == {f"{small}/stdout.txt": {"forms-differ"}}


def test_commands_out_of_their_order(campaign: Path) -> None:
    log = campaign / SAMPLE / "log.txt"
    entry = json.loads(log.read_text())
    health = {**entry, "start": entry["end"] + 1, "end": entry["end"] + 2, "command": "health"}
    log.write_text("".join(json.dumps(each) + "\n" for each in (health, entry)))
    relist(campaign, f"{SAMPLE}/log.txt")
    assert _found(campaign) == {f"{SAMPLE}/log.txt": {"impossible-order"}}


@pytest.mark.parametrize("boot", ["", "x;-1;1700000000;LINUX-RESTART\t(4 CPU)\n"])
@pytest.mark.parametrize("faster", [1, 2])
def test_a_result_that_the_links_did_not_carry(campaign: Path, faster: int, boot: str) -> None:
    """6 files of 2 MiB, twice on bricks: over 20 s 210 kB/s of each of 3 clients."""
    telemetry = lzma.compress((boot + sadf_text("x").replace("1000.00;2000.00", "10.00;400.00") + boot).encode())
    for client in CLIENTS:
        (campaign / SAMPLE / "telemetry" / f"{client}.csv.xz").write_bytes(telemetry)
    seconds = 20 / faster
    cell, record = (
        make_cell(),
        WorkloadRecord(
            tool="iozone",
            tool_version=None,
            source=Source("x", 1),
            operation="write",
            label="write",
            throughput_bytes_per_s=6 * (2 << 20) / seconds,
        ),
    )
    share = too_fast(campaign / SAMPLE, Sample.read(campaign / SAMPLE), cell, record)
    assert share == (pytest.approx(0.7, abs=0.01) if faster > 1 else None)
    # a local file system needs no link
    local = cell.model_copy(update={"access": "existing"})
    assert too_fast(campaign / SAMPLE, Sample.read(campaign / SAMPLE), local, record) is None


def test_a_signature_is_checked_by_openssh(campaign: Path, tmp_path: Path) -> None:
    keys = tmp_path / "key", tmp_path / "other"
    for key in keys:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers, others, nobody = tmp_path / "signers", tmp_path / "others", tmp_path / "nobody"
    for file, key in zip((signers, others), keys, strict=True):
        file.write_text(f"ann@lab {key.with_suffix('.pub').read_text()}")
    nobody.write_text("# nobody\n")

    def found(file: Path) -> list[str]:
        return [finding.code for finding in verify_signature(campaign, file)]

    assert found(signers) == ["bad-signature"]
    sign(campaign, keys[0])
    assert found(signers) == verify(campaign) == []
    assert found(others) == found(nobody) == ["bad-signature"]
    _edit(campaign, RECORD, disks=25)
    assert (verify(campaign), found(signers)) == ([], ["bad-signature"])
    with pytest.raises(RawStoreError, match="expected a file"):
        verify_signature(campaign, tmp_path / "none")
    with pytest.raises(RawStoreError, match="cannot be signed"):
        sign(campaign, nobody)


@pytest.mark.parametrize(("locked", "said"), [(True, "a run is at work"), (False, "no run is at work; the last")])
def test_whose_an_unlisted_sample_is_is_said_as_it_is(campaign: Path, locked: bool, said: str) -> None:
    listed = Manifest.read(campaign).digests
    (campaign / MANIFEST).write_text(Manifest({name: listed[name] for name in listed if SAMPLE not in name}).text)
    with RawStore(campaign).lock() if locked else nullcontext():
        (finding,) = verify(campaign)
    assert (finding.code, finding.path) == ("unlisted-sample", SAMPLE)
    assert said in finding.message


def test_a_run_that_was_stopped_leaves_nothing_to_be_found(campaign: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        RawStore(campaign).begin_sample(make_cell("write", 3), repeat=1, round=1, order=1, attempt=1),
    ):
        raise KeyboardInterrupt
    assert verify(campaign) == []


class Listing(Iterator[os.DirEntry[str]], AbstractContextManager["Listing"]):
    """What a folder held when it was listed, as `os.scandir` gives it."""

    def __init__(self, entries: Iterable[os.DirEntry[str]]) -> None:
        self.entries = iter(list(entries))

    def __next__(self) -> os.DirEntry[str]:
        return next(self.entries)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.entries = iter(())


def test_a_run_that_is_at_work_does_not_disturb(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial, gone = campaign / "cells" / CELL / ".sample-03.partial", campaign / "cells" / CELL / "gone"
    scandir = os.scandir

    def scan(path: str | Path) -> Listing:
        if Path(path) != partial.parent:
            return Listing(scandir(path))
        for folder in (partial / "workload", gone):
            folder.mkdir(parents=True)
        listing = Listing(scandir(path))
        # the one gets another name before its turn comes, the other goes
        partial.rename(campaign.parent / uuid4().hex)
        gone.rmdir()
        return listing

    monkeypatch.setattr(os, "scandir", scan)
    assert {finding.code for finding in verify(campaign)} <= {"leftover-partial"}


def test_what_a_run_is_writing_is_no_unlisted_file(campaign: Path) -> None:
    for name in (".MANIFEST.sha256.tmp", f"cells/{CELL}/.cell.json.tmp"):
        (campaign / name).write_text("half")
    assert {code for codes in _found(campaign).values() for code in codes} == {"leftover-partial"}
    (campaign / SAMPLE / ".cell.json.tmp").write_text("half")
    assert _found(campaign)[f"{SAMPLE}/.cell.json.tmp"] == {"unlisted-file"}


def test_two_files_of_which_none_is_a_result_are_no_two_forms(tmp_path: Path) -> None:
    for name in ("stdout.txt", "loop-w1.txt"):
        (tmp_path / name).write_text("1\n")
    record: Any = SimpleNamespace(tool="file-loop")
    assert list(forms_differ(tmp_path, record)) == []
