"""Each kind of damage has a finding of its own."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import uuid4

import pytest

from glusterlab import parallel
from glusterlab.errors import RawStoreError
from glusterlab.run.verify import verify
from glusterlab.store.files import dump_json, file_digest
from glusterlab.store.manifest import MANIFEST, Manifest
from tests.store.conftest import make_cell

CELL = make_cell().id
SAMPLE = f"cells/{CELL}/sample-01"
TELEMETRY = f"{SAMPLE}/telemetry/client01.csv.xz"


def _relist(root: Path, name: str) -> None:
    """What someone does who edits a file and its line in the manifest."""
    digests = Manifest.read(root).digests
    (root / MANIFEST).write_text(Manifest({**digests, name: file_digest(root / name)}).text)


def _set(**values: object) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_text(dump_json({**json.loads(path.read_text()), **values}))

    return change


def _edit(root: Path, name: str, **values: object) -> None:
    """Change a file of JSON, and its line in the manifest."""
    _set(**values)(root / name)
    _relist(root, name)


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
        (RECORD, _set(**WORSE), {"changed-file", "status-differs"}, DIFFERS),
        (RECORD, _set(schema_version=99), None, {RECORD: {"newer-schema", "invalid-sample"}}),
        (RECORD, _set(sample=2), None, None),
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
        _relist(campaign, name)
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
