"""What is private goes, however it is written; what is measured stays; what cannot be seen is told."""

from pathlib import Path, PurePosixPath

import pytest

from glusterlab.errors import UsageError
from glusterlab.publishing.copy import _name_fields, _rewritten
from glusterlab.publishing.names import Names, collect_names
from glusterlab.store.campaign import RawStore
from glusterlab.tools import tools


def found(text: str, names: Names) -> list[tuple[str, str]]:
    return list(dict.fromkeys((left.kind, left.found) for left in names.left(text, "a.txt")))


@pytest.fixture
def pool() -> Names:
    names = Names()
    names.add("host", "munich", "server01")
    names.collect("at 10.77.0.1")
    assert names.known["10.77.0.1"] == "192.0.2.1"
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
    clean = pool.text(text)
    assert clean == form.format("192.0.2.1")
    assert found(clean, pool) == []
    longer = form.format("10.77.0.12") if "::" not in form else "10.77.0.123"
    assert "192.0.2.1" not in pool.text(longer).split("192.0.2.2")


@pytest.mark.parametrize("tool", tools())
def test_what_a_tool_is_called_stays_though_a_host_has_that_name(tool: str) -> None:
    names = Names()
    names.add("host", tool, "server01")
    assert names.text(f"{tool} ended") == f"{tool} ended"


def test_an_address_with_hyphens_is_the_same_address(pool: Names) -> None:
    assert pool.text("ip-10-77-0-1.internal 10-77-0-12") == "ip-192-0-2-1.internal 10-77-0-12"


MARKS = {
    "00-1B-21-3C-9D-F8": "00-00-5e-00-53-01",
    "001b.213c.9df8": "0000.5e00.5301",
    "00:1b:21:3c:9d:f8 is 001b213c9df8": "00:00:5e:00:53:01 is 00005e005301",
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
    assert pool.add("user", "alice", "user") == "user"
    assert found(text, pool)
    clean = pool.text(text)
    assert clean == MARKS[text]
    assert found(clean, pool) == []


@pytest.mark.parametrize("text", PUBLIC)
def test_what_identifies_nobody_stays(pool: Names, text: str) -> None:
    assert found(text, pool) == []
    assert pool.text(text) == text


def test_what_turned_up_later_is_private_everywhere(pool: Names) -> None:
    text = "disk ST4000-Z1F0XXYZ at 001b213c9df8"
    assert pool.text(text) == text
    pool.collect("serial=Z1F0XXYZ 00:1b:21:3c:9d:f8")
    assert found("disk ST4000-Z1F0XXYZ", pool) == [("device", "Z1F0XXYZ")]
    assert pool.text(text) == "disk ST4000-device0001 at 00005e005301"


def test_a_number_of_telemetry_is_never_changed() -> None:
    names = Names()
    for old, new in {"munich": "storage-b", "sdb": "disk1"}.items():
        names.add("name", old, new)
    telemetry = "# hostname;DEV;%util\nmunich;sda;91.37\nmunich;sdb;37\nmunich;sdb;nan\n"
    name = PurePosixPath("telemetry/munich.csv.xz")
    assert _rewritten(Path("none"), name, telemetry, names) == (
        "# hostname;DEV;%util\nstorage-b;sda;91.37\nstorage-b;disk1;37\nstorage-b;disk1;nan\n"
    )
    assert "91.37" not in _name_fields(telemetry)


def test_strings_of_json_are_renamed_and_nothing_else() -> None:
    names = Names()
    names.add("host", "munich", "server01")
    assert names.strings('{"a": "\\ud800 munich é\\nmunich", "munich": 1.10}') == (
        '{"a": "\\ud800 server01 \\u00e9\\nserver01", "server01": 1.10}'
    )


UNFIT = {
    "outside": ({"munich": "../../../esc"}, "a word of letters"),
    "blank": ({"munich": "a b"}, "a word of letters"),
    "control": ({"munich": "a\x1b[31m"}, "a word of letters"),
    "path": ({"acme": "a/b"}, "a word of letters"),
    "no address": ({"10.77.0.1": "nonsense"}, "another IP address"),
    "one for two": ({"10.77.0.1": "192.0.2.9", "10.77.0.2": "192.0.2.9"}, "addresses that differ"),
    "number": ({"0.00": "9.99"}, "a number cannot be renamed"),
    "twice": ({"acme": "a", "ACME": "b"}, "each name once"),
    "mac": ({"00-1b-21-3c-9d-f8": "x"}, "another hardware address"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_name_that_is_none_is_refused(campaign: Path, case: str) -> None:
    new_names, message = UNFIT[case]
    with pytest.raises(UsageError, match=message):
        collect_names(campaign, new_names)


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
clients: [{name: berlin, address: berlin.acme.corp}]
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
    names = collect_names(campaign, {})
    text = names.text("alice ran acme-prod from ctl-acme, and from other-ctl")
    assert text == "user ran cluster from controller, and from controller"
    assert found("alice ran acme-prod from ctl-acme", names) == [
        ("user", "alice"),
        ("name", "acme-prod"),
        ("name", "ctl-acme"),
    ]


def test_the_campaign_can_have_another_name(campaign: Path) -> None:
    names = collect_names(campaign, {}, campaign="night")
    assert names.strings('{"campaign": "acme-night"}') == '{"campaign": "night"}'
    assert found("raw/acme-night", names) == [("name", "acme-night")]
    assert names.text("raw/acme-night") == "raw/night"
    with pytest.raises(UsageError, match="--name"):
        collect_names(campaign, {}, campaign="../x")
