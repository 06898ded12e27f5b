"""Copies that can be given away: nothing is left of the names, and nothing else is changed."""

import gzip
import json
import lzma
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner, Result

from glusterlab.cli import app
from glusterlab.errors import RawStoreError, UsageError
from glusterlab.publishing.copy import publish
from glusterlab.publishing.names import read_names
from glusterlab.run.verify import verify
from glusterlab.store import evidence
from glusterlab.store.campaign import RawStore
from glusterlab.store.manifest import MANIFEST, Manifest, list_files
from tests.packed import make_plain

REFERENCE = Path(__file__).parents[2] / "raw" / "first-light"
CELLS = (
    "iozone-read-4gib-disperse-12x4+2-jbod-native-w12-7c2f7169/sample-01",
    "smallfile-create-32kib-disperse-12x4+2-jbod-native-w12-e717fcac/sample-01",
)
SAMPLE = f"cells/{CELLS[1]}"

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(not REFERENCE.is_dir(), reason="the reference campaign is not here"),
]

Campaign = Callable[..., Path]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two samples of the reference campaign, with the manifest that they need."""
    root = tmp_path_factory.mktemp("raw") / "first-light"
    for cell in CELLS:
        shutil.copytree(REFERENCE / "cells" / cell, root / "cells" / cell)
    for name in (
        "campaign.yaml",
        "cluster.yaml",
        "environment.json",
        *(f"cells/{cell}/../cell.json" for cell in CELLS),
    ):
        shutil.copy(REFERENCE / name, root / name)
    make_plain(root)
    (root / "log.txt").write_text('{"host": "server01", "message": "server01: not reachable at 10.77.0.11 port 22"}\n')
    list_files(root, [root])
    assert verify(root) == []
    return root


@pytest.fixture
def renamed(small: Path, tmp_path: Path) -> Campaign:
    """Makes the small campaign one of hosts with other names."""

    def make(**names: str) -> Path:
        target = tmp_path / "theirs" / "first-light"
        target.parent.mkdir()
        made = publish(small, target, new_names=names)
        made.names_file.unlink()
        return target

    return make


def listed(root: Path) -> dict[Path, bytes]:
    files = {path.relative_to(root): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    return {path: data for path, data in files.items() if path.name != MANIFEST}


@pytest.fixture(scope="module")
def copied(small: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, bytes]:
    return listed(publish(small, tmp_path_factory.mktemp("copied") / "copy").path)


def everything(root: Path) -> str:
    plain = {path: lzma.decompress(data) if path.suffix == ".xz" else data for path, data in listed(root).items()}
    return "\n".join(f"{path}\n{data.decode()}" for path, data in plain.items())


def test_the_copy_is_whole_and_says_the_same(small: Path, tmp_path: Path) -> None:
    before = listed(small)
    made = publish(small, tmp_path / "copy")
    assert (made.left, made.samples) == ((), 2)
    assert verify(made.path) == []
    copied = listed(made.path)
    assert list(copied) == list(before)
    assert set(Manifest.read(made.path).digests) == set(Manifest.read(small).digests)
    assert listed(small) == before
    text = everything(made.path)
    assert "10.77.0." not in text
    assert "/root/.local" not in text
    assert "192.0.2.1" in text
    assert made.names_file == tmp_path / "names-of-copy.yaml"
    assert made.names_file.stat().st_mode & 0o777 == 0o600
    assert "10.77.0.11: 192.0.2.1\n" in made.names_file.read_text()
    changed = [path for path in before if copied[path] != before[path]]
    assert not [path for path in changed if "telemetry" in path.parts or path.name in ("sample.json", "stdout.txt")]


HOSTILE = {
    "prefixes": {"server01": "node1", "server02": "node10", "server03": "node1-ib", "client01": "node100"},
    "domains": {"server01": "gl1.lab.corp", "server02": "gl10.lab.corp", "client01": "GL1-C.Lab.Corp"},
    "exchanged": {"server01": "server02", "server02": "server01", "client01": "client12", "client12": "client01"},
    "upper case": {"server01": "ATLAS", "client01": "Atlas-C1"},
}


@pytest.mark.parametrize("names", HOSTILE.values(), ids=HOSTILE)
def test_hosts_of_any_name_are_renamed(
    renamed: Campaign, copied: dict[Path, bytes], tmp_path: Path, names: dict[str, str]
) -> None:
    made = publish(renamed(**names), tmp_path / "copy")
    assert made.left == ()
    found = listed(made.path)
    assert list(found) == list(copied)
    assert not [path for path in copied if path.name != "cluster.yaml" and found[path] != copied[path]]
    text = everything(made.path).lower()
    for name in set(names.values()) - {f"{role}{n:02d}" for role in ("server", "client") for n in range(1, 13)}:
        assert name.lower() not in text


@pytest.mark.parametrize("name", ["r", "server"])
def test_a_host_called_by_a_word_of_tools_can_be_left_as_it_is(renamed: Campaign, tmp_path: Path, name: str) -> None:
    theirs = renamed(server01=name)
    with pytest.raises(UsageError, match=f"host '{name}': .* '{name}: {name}'"):
        publish(theirs, tmp_path / "copy")
    made = publish(theirs, tmp_path / "copy", new_names={name: name})
    assert made.left == ()
    assert RawStore(made.path).samples()[0].servers[0] == name


def add(root: Path, name: str, data: bytes | str) -> None:
    """One more file in a sample, known to the manifest."""
    path = root / SAMPLE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    list_files(root, [path])


@pytest.fixture
def own(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small, tmp_path / "own" / "first-light"))


PRIVATE = """\
ssh: connect from 172.16.4.9 to fd00:17::4a:1 (00:1b:21:3c:9d:f8) by /home/alice/bin, /Users/bob/x
serial number: S3Z8NB0K123 wwn-0x5000c500a1b2c3d4 /dev/disk/by-id/ata-ST4000_Z1F0XXYZ
volume 7d444840-9dc0-11d1-b245-5ffdce74fad2 token=0123456789abcdef0123 Authorization: Bearer abcdefgh123
took 10.5 of 12:34:56, std::string, rate 1234567890123456 kB, version 3.489, mask 255.255.255.0, lo 127.0.0.1
"""


def test_what_has_the_form_of_something_private_goes(own: Path, tmp_path: Path) -> None:
    add(own, "workload/extra.txt", PRIVATE)
    add(own, "workload/packed.txt.gz", gzip.compress(PRIVATE.encode()))
    made = publish(own, tmp_path / "copy")
    assert (made.left, made.redacted) == ((), 2)
    text = (made.path / SAMPLE / "workload/extra.txt").read_text()
    assert gzip.decompress((made.path / SAMPLE / "workload/packed.txt.gz").read_bytes()).decode() == text
    for private in ("172.16", "fd00", "1b:21", "alice", "bob", "S3Z8", "c500a1", "Z1F0", "7d44", "abcdefgh", "cdef01"):
        assert private not in text
    assert text.splitlines()[-1] == PRIVATE.splitlines()[-1]


def test_the_same_thing_is_called_the_same_everywhere_and_again(own: Path, tmp_path: Path) -> None:
    add(own, "workload/extra.txt", "from 172.16.4.9 by /home/alice\n")
    add(own, "workload/more.json", '{"address": "172.16.4.9", "172.16.4.9": 1.10, "by": "/home/alice"}')
    made = publish(own, tmp_path / "copy")
    text = (made.path / SAMPLE / "workload/extra.txt").read_text()
    address = text.split()[1]
    more = (made.path / SAMPLE / "workload/more.json").read_text()
    assert more == f'{{"address": "{address}", "{address}": 1.10, "by": "/home/user"}}'
    again = publish(own, tmp_path / "again", new_names=read_names(made.names_file))
    assert everything(again.path) == everything(made.path)


def test_what_the_user_names_goes_and_what_is_left_is_told(own: Path, tmp_path: Path) -> None:
    add(own, "workload/binary.dat", b"\0\1\2")
    add(own, "workload/extra.txt", "measured for ACME at gl77.acme.example")
    made = publish(own, tmp_path / "copy", new_names={"acme": "customer", "server01": "storage-a"})
    assert [(left.kind, left.path) for left in made.left] == [("unreadable", f"{SAMPLE}/workload/binary.dat")]
    assert (made.path / SAMPLE / "workload/extra.txt").read_text() == "measured for customer at gl77.customer.example"
    assert RawStore(made.path).samples()[0].servers[0] == "storage-a"
    assert (made.path / SAMPLE / "telemetry/storage-a.csv.xz").exists()
    assert verify(made.path) == []


def test_host_names_can_be_kept(own: Path, tmp_path: Path) -> None:
    add(own, "workload/extra.txt", "by /home/alice, password=hunter2 at 10.77.0.11\n")
    made = publish(own, tmp_path / "copy", keep_host_names=True)
    text = (made.path / SAMPLE / "workload/extra.txt").read_text()
    assert (made.left, text) == ((), "by /home/user, password=[redacted] at 10.77.0.11\n")
    assert "10.77.0.11" in (made.path / "cluster.yaml").read_text()


def test_a_packed_campaign_in_a_folder_of_any_name_is_packed_in_the_copy(own: Path, tmp_path: Path) -> None:
    evidence.pack(own / SAMPLE)
    list_files(own, [own])
    made = publish(own.rename(own.with_name(os.fsdecode(b"caf\xe9"))), tmp_path / "copy")
    assert made.names_file.read_text().startswith("# What the copy of caf\\udce9 calls what.")
    assert (made.left, verify(made.path)) == ((), [])
    assert (made.path / SAMPLE / evidence.ARCHIVE).is_file()
    assert not (made.path / SAMPLE / "telemetry").exists()


def test_a_name_in_what_a_cell_is_called_is_found(own: Path, tmp_path: Path) -> None:
    made = publish(own, tmp_path / "copy", new_names={"disperse-12x4-2-jbod": "secret-layout"})
    assert {left.kind for left in made.left} == {"name"}
    assert f"cells/{CELLS[0].partition('/')[0]}/cell.json" in {left.path for left in made.left}
    assert verify(made.path) == []


def test_a_damaged_campaign_is_not_laundered_nor_another_one_made(own: Path, tmp_path: Path) -> None:
    with pytest.raises(RawStoreError, match="would not say the same as the original"):
        publish(own, tmp_path / "copy", new_names={"kB": "pounds", "elapsed": "gone", "filesPerSec": "x"})
    (own / SAMPLE / "workload/stdout.txt").write_text("better numbers")
    with pytest.raises(RawStoreError, match="is not intact"):
        publish(own, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own"]


@pytest.mark.parametrize("name", ["log.txt", "cells/more", "dangling"])
def test_a_link_out_of_the_campaign_is_not_followed(own: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "private").write_text("a key\n")
    (own / name).unlink(missing_ok=True)
    (own / name).symlink_to({"log.txt": tmp_path / "private", "cells/more": tmp_path}.get(name, tmp_path / "none"))
    with pytest.raises(RawStoreError, match=f"{name}: a link out of the campaign"):
        publish(own, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_nothing_is_overwritten_or_written_into_the_campaign(own: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "names-of-copy.yaml").touch()
    same = {"server01": "same", "server02": "same"}
    for output, names, message in (
        *(
            (output, {}, "nothing is overwritten")
            for output in (tmp_path / "there", tmp_path / "copy", Path(), Path(".."))
        ),
        (own / "copy", {}, "lies in the campaign"),
        (tmp_path / "no" / "copy", {}, "expected a folder"),
        (tmp_path / "twice", same, "found 'same' for two"),
    ):
        with pytest.raises(UsageError, match=message):
            publish(own, output, new_names=names)


def test_every_file_of_a_sample_is_copied_under_the_name_of_the_copy(own: Path, tmp_path: Path) -> None:
    theirs = tmp_path / ".copy.partial"
    theirs.mkdir()
    (theirs / "precious.txt").touch()
    damaged = lzma.compress(b"nothing")[:-5]
    for name, data in {"now.json": b'{"by": "first-light"}', ".lock": b"", "damaged.txt.xz": damaged}.items():
        add(own, f"workload/{name}", data)
    phases = []

    def phase(what: str) -> AbstractContextManager[Callable[[int, int], None]]:
        phases.append(what)
        return nullcontext(lambda _done, _total: None)

    made = publish(own, tmp_path / "copy", name="night", phases=phase)
    sample = made.path / SAMPLE
    assert [(left.kind, left.path) for left in made.left] == [("unreadable", f"{SAMPLE}/workload/damaged.txt.xz")]
    assert (sample / "workload/damaged.txt.xz").read_bytes() == damaged
    assert list(listed(made.path)) == list(listed(own))
    assert (sample / "workload/now.json").read_text() == '{"by": "night"}'
    assert json.loads((sample / "sample.json").read_text())["campaign"] == "night"
    assert "\nname: night\n" in (made.path / "campaign.yaml").read_text()
    assert (theirs / "precious.txt").exists()
    assert len(phases) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [".copy.partial", "copy", "names-of-copy.yaml", "own"]
    assert made.path.stat().st_mode & 0o777 == tmp_path.joinpath("own").stat().st_mode & 0o777


def test_a_names_file_that_cannot_be_written_is_not_left(own: Path, tmp_path: Path) -> None:
    full = patch("glusterlab.publishing.copy.YAML.dump", side_effect=OSError(28, "No space left on device"))
    with full, pytest.raises(RawStoreError, match="No space left"):
        publish(own, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own"]


def test_the_command(own: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("server01: storage-a\n")

    def call(output: str, *words: str) -> Result:
        return CliRunner().invoke(app, ["publish", str(own), "--output", str(tmp_path / output), *words])

    done = call("copy", "--names", str(names), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["fit"] is True
    add(own, "workload/binary.dat", b"\0\1\2")
    done = call("second")
    assert (done.exit_code, "unreadable" in done.stdout) == (1, True)
    assert "not fit to be given away" in done.stderr
    names.write_text("server01: 17\n")
    done = call("third", "--names", str(names))
    assert (done.exit_code, "expected lines" in done.stderr) == (2, True)
