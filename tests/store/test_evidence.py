"""Packed samples read as plain ones, and an archive that is not exactly what was packed is refused."""

import lzma
import shutil
import tarfile
from pathlib import Path
from unittest.mock import call, patch

import pytest

from glusterlab.errors import ParseError, RawStoreError
from glusterlab.parse import parse, write_lines
from glusterlab.run.verify import verify
from glusterlab.store import evidence
from glusterlab.store.campaign import RawStore
from glusterlab.store.digests import CHANGED, LOST, compare_raw
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.tables import build
from tests.packed import digests_of, hungry, make_plain
from tests.store.conftest import add_sample, make_cell

SAMPLE = f"cells/{make_cell().id}/sample-01"
ARCHIVE = f"{SAMPLE}/{evidence.ARCHIVE}"


def test_a_sample_is_at_most_five_files_and_listed_as_if_nothing_were_packed(packed: Path) -> None:
    for folder in packed.glob("cells/*/sample-*"):
        files = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
        assert {"sample.json", "evidence.tar.xz"} <= files
        assert len(files) <= 5
        assert all(name.startswith("workload/") for name in files - {"sample.json", "evidence.tar.xz"})
    listed = Manifest.read(packed).digests
    assert listed == digests_of(packed)
    assert f"{SAMPLE}/telemetry/server01.csv.xz" in listed
    assert ARCHIVE not in listed


def test_packed_and_plain_say_the_same(packed: Path, campaign: Path) -> None:
    assert verify(packed) == verify(campaign) == []
    assert (packed / MANIFEST).read_bytes() == (campaign / MANIFEST).read_bytes()
    some, same = (build.load(path, cache=False) for path in (packed, campaign))
    for name in ("samples", "workers", "telemetry"):
        assert getattr(some, name).equals(getattr(same, name)), name


def test_packed_outputs_are_tabulated(tmp_path: Path, campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MAX_OUTPUTS", 0)
    for folder in campaign.glob("cells/*/sample-*"):
        output = (folder / "workload" / "stdout.txt").read_text()
        evidence.pack(folder)
        assert not (folder / "workload").exists()
        with evidence.with_outputs(folder) as plain:
            assert (plain / "workload" / "stdout.txt").read_text() == output
    assert (build.load(campaign, cache=False).samples["throughput_bytes_per_s"] > 0).all()


def test_a_packed_file_is_parsed_by_its_own_path(packed: Path, campaign: Path) -> None:
    name = f"{SAMPLE}/telemetry/server01.csv.xz"
    found = [record.to_json() for record in parse(packed / name)]
    assert found
    plain = [record.to_json().replace(str(campaign), str(packed)) for record in parse(campaign / name)]
    assert found == plain
    lines: list[str] = []
    assert write_lines([packed / name], lambda text: lines.extend(text.splitlines()), print) == 0
    assert lines == plain
    with pytest.raises(ParseError, match=r"cannot be read|No such file"):
        list(parse(packed / SAMPLE / "telemetry" / "nobody.csv.xz"))
    with pytest.raises(ParseError, match="name one of its files"):
        list(parse(packed / ARCHIVE))


def test_an_error_in_a_packed_file_names_it_in_the_sample(packed: Path) -> None:
    folder = packed / SAMPLE
    with pytest.raises(ParseError) as error, evidence.unpacked(folder) as plain:
        raise ParseError("damage", file=plain / "telemetry" / "a.csv", line=3)
    assert str(error.value) == f"{folder}/telemetry/a.csv:3: damage"
    assert not plain.exists()


def test_packing_is_deterministic(packed: Path, tmp_path: Path) -> None:
    archive = (packed / ARCHIVE).read_bytes()
    make_plain(packed)
    shutil.copytree(packed / SAMPLE, tmp_path / "sample", copy_function=shutil.copyfile)
    evidence.pack(tmp_path / "sample")
    assert (tmp_path / "sample" / evidence.ARCHIVE).read_bytes() == archive
    with pytest.raises(RawStoreError, match="is there already"):
        evidence.pack(tmp_path / "sample")


@pytest.mark.security
def test_what_a_link_leads_to_is_not_packed(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("a key\n")
    (tmp_path / "sample" / "workload").mkdir(parents=True)
    link = tmp_path / "sample" / "workload" / "log.txt"
    link.symlink_to(tmp_path / "private")
    with pytest.raises(RawStoreError, match=r"log\.txt: a link out of the campaign"):
        evidence.pack(tmp_path / "sample")
    assert link.is_symlink()


def test_more_evidence_than_is_read_again_stays_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.txt").write_text("x" * 10_000)
    monkeypatch.setattr(evidence, "MAX_BYTES", 9_000)
    evidence.pack(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["log.txt"]


@pytest.mark.parametrize("step", [(evidence, "_header"), (Path, "unlink")])
def test_a_kill_while_packing_loses_that_sample_alone(new_store: RawStore, step: tuple[object, str]) -> None:
    class Kill(BaseException):
        pass

    add_sample(new_store, make_cell())
    abandon = patch("glusterlab.store.sample.SampleWriter.abandon")
    with patch.object(*step, side_effect=Kill), abandon, pytest.raises(Kill):
        add_sample(new_store, make_cell())
    assert len(RawStore(new_store.path).recover()) == 1
    assert [sample.sample for sample in new_store.samples()] == [1]
    assert verify(new_store.path) == []


def test_an_archive_is_read_again_only_when_it_was_touched_and_its_changes_are_noticed(packed: Path) -> None:
    known, wrong = compare_raw(packed, {})
    assert (wrong, known[ARCHIVE].count(" ")) == ({}, 4)
    with patch("glusterlab.store.digests.member_digests", return_value={}) as read:
        assert compare_raw(packed, known) == (known, {})
        assert read.mock_calls == []
        (packed / ARCHIVE).touch()
        assert set(compare_raw(packed, known)[1].values()) == {LOST}
    assert read.mock_calls == [call(packed / ARCHIVE)]
    _rewrite(packed / ARCHIVE, {"log.txt": b"other"})
    assert compare_raw(packed, known)[1] == {f"{SAMPLE}/log.txt": CHANGED}
    (packed / ARCHIVE).unlink()
    assert compare_raw(packed, known)[1][f"{SAMPLE}/log.txt"] == LOST


def _rewrite(archive: Path, changes: dict[str, bytes | None]) -> None:
    members = {name: b"".join(content) for name, content in evidence.members(archive)}
    members = {name: data for name, data in (members | changes).items() if data is not None}
    archive.write_bytes(_archive([(name, data) for name, data in sorted(members.items())]))


def _archive(members: list[tuple[str, bytes]], **changed: object) -> bytes:
    found = b""
    for name, data in members:
        member = tarfile.TarInfo(name)
        member.size = len(data)

        for key, value in changed.items():
            setattr(member, key, value)
        found += member.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)
    return lzma.compress(found + bytes(1024), preset=0)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"log.txt": b"other"}, {(f"{SAMPLE}/log.txt", "changed-file")}),
        ({"log.txt": None}, {(f"{SAMPLE}/log.txt", "missing-file")}),
        ({"more.txt": b""}, {(f"{SAMPLE}/more.txt", "unlisted-file")}),
    ],
)
def test_verify_tells_changed_members(
    packed: Path, changes: dict[str, bytes | None], found: set[tuple[str, str]]
) -> None:
    _rewrite(packed / ARCHIVE, changes)
    assert {(finding.path, finding.code) for finding in verify(packed)} == found


PLAIN = _archive([("a", b"x"), ("b", b"y" * 600)])
BLOCKS = lzma.decompress(PLAIN)
HOSTILE = {
    "not xz": b"hello",
    "empty": b"",
    "cut off": PLAIN[:-20],
    "bytes behind the stream": PLAIN + b"x",
    "a second stream": PLAIN + PLAIN,
    "bytes behind the end": lzma.compress(BLOCKS + b"\0" * 512),
    "bytes between members": lzma.compress(BLOCKS[:1000] + b"x" + BLOCKS[1001:]),
    "half an end": lzma.compress(BLOCKS[:-512]),
    "a wrong checksum": lzma.compress(BLOCKS[:150] + b"7" + BLOCKS[151:]),
    "a member twice": _archive([("a", b""), ("a", b"")]),
    "out of order": _archive([("b", b""), ("a", b"")]),
    "absolute": _archive([("/etc/passwd", b"")]),
    "upwards": _archive([("../a", b"")]),
    "upwards inside": _archive([("a/../../b", b"")]),
    "not normal": _archive([("a//b", b"")]),
    "hidden": _archive([(".a", b"")]),
    "sample.json": _archive([("sample.json", b"{}")]),
    "itself": _archive([("evidence.tar.xz", b"")]),
    "beside": _archive([("workload/stdout.txt", b"")]),
    "file and folder": _archive([("a", b""), ("a/b", b"")]),
    "a link": _archive([("a", b"")], type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a folder": _archive([("a", b"")], type=tarfile.DIRTYPE),
    "an owner": _archive([("a", b"")], uid=1000),
    "4 GiB of memory": hungry(BLOCKS),
    "many members": _archive([(f"{number:05}", b"") for number in range(10_001)]),
}


@pytest.mark.security
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archives_are_refused(packed: Path, case: str) -> None:
    (packed / ARCHIVE).write_bytes(HOSTILE[case])
    assert (ARCHIVE, "bad-archive") in {(finding.path, finding.code) for finding in verify(packed)}
    with pytest.raises(RawStoreError), evidence.unpacked(packed / SAMPLE):
        pass


def test_a_bomb_is_refused_before_it_fills_the_disk(packed: Path) -> None:
    member = tarfile.TarInfo("a")
    member.size = 1 << 32
    (packed / ARCHIVE).write_bytes(lzma.compress(member.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 20)))
    with pytest.raises(RawStoreError, match="holds more than"):
        evidence.digests(packed / ARCHIVE)
