"""What is private goes, however it is written; what is measured stays; what cannot be seen is told."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path, PurePosixPath

import pytest

from glusterlab.errors import RawStoreError, UsageError
from glusterlab.publish import content
from glusterlab.publish.collect import collect
from glusterlab.publish.names import Names
from glusterlab.publish.rewrite import Rewriter
from glusterlab.publish.scan import Left, Scanner
from glusterlab.raw import RawStore


def found(text: str, names: Names) -> list[tuple[str, str]]:
    return list(dict.fromkeys((left.kind, left.found) for left in Scanner(names).text(text, "a.txt")))


@pytest.fixture
def pool() -> Names:
    names = Names(aliases={"munich": "server01"}, hosts=frozenset({"munich"}))
    assert names.address("10.77.0.1") == "192.0.2.1"
    return names


GLUED = (
    "/var/run/gluster/vols/v/{}-bricks-jbod-d01.pid",
    "--volfile-id v.{}.bricks-jbod-d01",
    "x_{}_y",
    "::ffff:{} port",
    "{}.24007",
)


@pytest.mark.parametrize("form", GLUED)
def test_a_known_address_is_found_wherever_it_stands(pool: Names, form: str) -> None:
    text = form.format("10.77.0.1")
    assert found(text, pool) == [("address", "10.77.0.1")]
    clean = Rewriter(pool).text(text)
    assert clean == form.format("192.0.2.1")
    assert found(clean, pool) == []
    longer = form.format("10.77.0.12") if "::" not in form else "10.77.0.123"
    assert "192.0.2.1" not in Rewriter(pool).text(longer).split("192.0.2.2")


def test_an_address_with_hyphens_is_the_same_address(pool: Names) -> None:
    assert Rewriter(pool).text("ip-10-77-0-1.internal 10-77-0-12") == "ip-192-0-2-1.internal 10-77-0-12"


MARKS = {
    "00-1B-21-3C-9D-F8": "00-00-5e-00-53-01",
    "001b.213c.9df8": "0000.5e00.5301",
    "00:1b:21:3c:9d:f8 is 001b213c9df8": "00:00:5e:00:53:01 is 001b213c9df8",
    "Serial Number:    Z1F0XXYZ": "Serial Number:    device0001",
    "ID_SERIAL_SHORT=Z1F0XXYZ": "ID_SERIAL_SHORT=device0001",
    "LU WWN Device Id: 5 000c50 0a1b2c3d4": "LU WWN Device Id: device0001",
    "iqn.1994-05.com.acme:storage1": "device0001",
    "mail alice.smith@acme.corp now": "mail user2@example.net now",
    "alice@munich: refused": "user@server01: refused",
}
PUBLIC = (
    "chacha20-poly1305@openssh.com",
    "user@1000.service",
    "Serial Number: unknown",
    "26-11-20-18-04-28",
    "1234.5678.9012",
    "00:00:00:00:00:00",
    "linux 5.10.0.12-generic",
)


@pytest.mark.parametrize("text", MARKS)
def test_what_identifies_is_known_by_its_form(pool: Names, text: str) -> None:
    assert pool.user("alice") == "user"
    assert found(text, pool)
    clean = Rewriter(pool).text(text)
    assert clean == MARKS[text]
    assert "001b213c9df8" in clean or found(clean, pool) == []


@pytest.mark.parametrize("text", PUBLIC)
def test_what_identifies_nobody_stays(pool: Names, text: str) -> None:
    assert found(text, pool) == []
    assert Rewriter(pool).text(text) == text


def test_what_turned_up_later_is_private_everywhere(pool: Names) -> None:
    rewriter = Rewriter(pool)
    assert rewriter.text("disk ST4000-Z1F0XXYZ at 001b213c9df8") == "disk ST4000-Z1F0XXYZ at 001b213c9df8"
    assert rewriter.turned_up() is None
    rewriter.text("serial=Z1F0XXYZ 00:1b:21:3c:9d:f8")
    turned_up = rewriter.turned_up()
    assert turned_up is not None
    assert turned_up.search("ST4000-z1f0xxyz")
    assert found("disk ST4000-Z1F0XXYZ", pool) == [("name", "Z1F0XXYZ")]
    again = Rewriter(pool)
    assert again.text("disk ST4000-Z1F0XXYZ at 001b213c9df8") == "disk ST4000-device0001 at 00005e005301"
    assert again.turned_up() is None


def test_a_number_of_telemetry_is_never_changed() -> None:
    names = Names(
        aliases={"37": "storage-b", "nan": "server02", "sdb": "disk1"},
        hosts=frozenset({"37", "nan"}),
        given=frozenset({"37", "nan", "sdb"}),
    )
    rewriter = Rewriter(names)
    telemetry = "# hostname;DEV;%util\n37;sda;91.37\n37;sdb;37\n37;sdb;nan\n"
    assert rewriter.telemetry(telemetry, "storage-b") == (
        "# hostname;DEV;%util\nstorage-b;sda;91.37\nstorage-b;disk1;37\nstorage-b;disk1;nan\n"
    )
    assert rewriter.text("37 of 91.37") == "37 of 91.37"


STREAMS = (b"first server01\n", b"second 10.77.0.1\n")


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".xz", lzma.compress), (".gz", gzip.compress), (".bz2", bz2.compress)],
    ids=("xz", "gz", "bz2"),
)
def test_all_streams_of_a_packed_file_are_read_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, pack: type[bytes]
) -> None:
    file = tmp_path / f"two.txt{suffix}"
    file.write_bytes(b"".join(map(pack, STREAMS)))
    assert content.read(file) == b"".join(STREAMS).decode()
    for damaged in (file.read_bytes()[:-5], file.read_bytes() + b"nothing", b"nothing"):
        file.write_bytes(damaged)
        with pytest.raises(content.UnreadableError, match="cannot be unpacked"):
            content.read(file)
    monkeypatch.setattr(content, "MAX_BYTES", 1000)
    file.write_bytes(pack(b"0" * 600) + pack(b"0" * 600))
    with pytest.raises(content.UnreadableError, match="expected at most 1000 bytes"):
        content.read(file)


def test_what_cannot_be_written_is_an_error_of_the_store(tmp_path: Path) -> None:
    with pytest.raises(RawStoreError, match="UTF-8"):
        content.write(tmp_path / "a.txt", "\ud800")
    assert Rewriter(Names(aliases={"munich": "server01"})).json('{"a": "\\ud800 munich é"}') == (
        '{"a": "\\ud800 server01 \\u00e9"}'
    )


def test_a_damaged_file_is_left_as_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.txt.xz").write_bytes(b"nothing")
    assert Scanner(Names()).folder(tmp_path) == [
        Left("unreadable", "a.txt.xz", "cannot be unpacked: Input format not supported by decoder")
    ]


UNFIT = {
    "outside": ({"munich": "../../../esc"}, "the name of a host"),
    "blank": ({"munich": "a b"}, "the name of a host"),
    "control": ({"munich": "a\x1b[31m"}, "the name of a host"),
    "path": ({"acme": "a/b"}, "a word of letters"),
    "no address": ({"10.77.0.1": "nonsense"}, "another IP address"),
    "one for two": ({"10.77.0.1": "192.0.2.9", "10.77.0.2": "192.0.2.9"}, "addresses that differ"),
    "number": ({"0.00": "9.99"}, "a number cannot be renamed"),
    "twice": ({"acme": "a", "ACME": "b"}, "each name once"),
    "mac": ({"00-1b-21-3c-9d-f8": "x"}, "another hardware address"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_name_that_is_none_is_refused(campaign: Path, case: str) -> None:
    given, said = UNFIT[case]
    with pytest.raises(UsageError, match=said):
        collect(campaign, given)


CAMPAIGN = """\
schema_version: 1
name: acme-night
study: supermicro-2017
seed: 7
repeats: 1
layouts: [{name: plain, type: distribute, geometry: '1', backing: jbod}]
workloads: [{tool: iozone, operations: [write], file_size: 1 MiB, record_size: 64 KiB}]
workers: [1]
deadline: 1 min
"""
CLUSTER = """\
schema_version: 1
name: acme-prod
ssh: {user: alice}
servers: [{name: munich, address: 10.77.0.1}]
clients: [{name: '37', address: berlin.acme.corp}]
hardware: {disks_per_server: 1, disk_write: 205 MB/s, disk_read: 212 MB/s, server_link: 20 Gbit/s,
  client_link: 10 Gbit/s}
backings: {jbod: {bricks: [/bricks/d1], kind: jbod}}
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A campaign of which nothing is measured yet."""
    store = RawStore.create(
        tmp_path / "raw" / "acme-night", campaign_yaml=CAMPAIGN, cluster_yaml=CLUSTER, environment={"hosts": {}}
    )
    (store.path / "now.json").write_text('{"host": "ctl-acme"}')
    (store.path / "log.txt").write_text("is in use by process 77 on other-ctl.acme.corp; wait\n")
    return store.path


def test_cluster_user_and_controllers_have_other_names(campaign: Path) -> None:
    names = collect(campaign, {})
    text = Rewriter(names).text("alice ran acme-prod from ctl-acme, and from other-ctl")
    assert text == "user ran cluster from controller, and from controller"
    assert found("alice ran acme-prod from ctl-acme", names) == [
        ("name", "acme-prod"),
        ("name", "ctl-acme"),
        ("name", "alice"),
    ]


def test_the_campaign_can_have_another_name(campaign: Path) -> None:
    names = collect(campaign, {}, campaign="night")
    assert Rewriter(names).json('{"campaign": "acme-night"}') == '{"campaign": "night"}'
    assert found("raw/acme-night", names) == [("name", "acme-night")]
    assert Rewriter(names).text("raw/acme-night") == "raw/night"
    with pytest.raises(UsageError, match="--name"):
        collect(campaign, {}, campaign="../x")


def test_files_of_a_baseline_are_called_after_hosts_of_any_name() -> None:
    names = Names(aliases={"gl1.lab.corp": "server01", "s1": "server02", "r": "client01"})
    rewriter = Rewriter(names)
    sample = PurePosixPath("cells/x/sample-01/workload")
    for old, new in {
        "gl1.lab.corp.txt": "server01.txt",
        "s1.txt": "server02.txt",
        "r.txt.stderr": "client01.txt.stderr",
        "round-1/gl1.lab.corp_r.json": "round-1/server01_client01.json",
    }.items():
        assert rewriter.path(sample / old, measured=True) == sample / new
        assert rewriter.json(f'{{"output": "{old}"}}') == f'{{"output": "{new}"}}'
    assert rewriter.path(sample / "r.txt") == sample / "r.txt"
