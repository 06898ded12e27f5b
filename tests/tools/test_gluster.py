import lzma
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import ParseError
from glusterlab.tools import gluster
from glusterlab.tools.gluster.model import Fop, latency_unit, read_geometry
from glusterlab.tools.records import BrickRecord, ProfileRecord, Record, VolumeRecord
from tests.hang import no_hang
from tests.tools.reading import document, until_error

DATA = Path(__file__).parents[1] / "data" / "gluster"

# hand-made after the format of 3.7 to 5, which had tiers
TIER = """
Volume Name: layered
Type: Tier
Volume ID: 00000000-0000-0000-0000-000000000001
Status: Started
Number of Bricks: 10
Transport-type: tcp
Hot Tier :
Hot Tier Type : Distributed-Replicate
Number of Bricks: 2 x 2 = 4
Brick1: s4:/ssd/a
Brick2: s3:/ssd/a
Brick3: s2:/ssd/a
Brick4: s1:/ssd/a
Cold Tier:
Cold Tier Type : Disperse
Number of Bricks: 1 x (4 + 2) = 6
Brick5: s1:/disk/a
Brick6: s2:/disk/a
Brick7: s3:/disk/a
Brick8: s4:/disk/a
Brick9: s1:/disk/b
Brick10: s2:/disk/b
Options Reconfigured:
cluster.tier-mode: cache
"""

TIER_XML = (
    "<cliOutput><opRet>0</opRet><volInfo><volumes><volume><name>layered</name><statusStr>Started</statusStr>"
    "<brickCount>10</brickCount><typeStr>Tier</typeStr><transport>0</transport><bricks><hotBricks>"
    "<hotBrickType>Distributed-Replicate</hotBrickType><hotreplicaCount>2</hotreplicaCount>"
    "<hotbrickCount>4</hotbrickCount><numberOfBricks>2 x 2 = 4</numberOfBricks>"
    + "".join(f"<brick uuid='u'>s{n}:/ssd/a<name>s{n}:/ssd/a</name></brick>" for n in (4, 3, 2, 1))
    + "</hotBricks><coldBricks><coldBrickType>Disperse</coldBrickType><coldreplicaCount>1</coldreplicaCount>"
    "<coldarbiterCount>0</coldarbiterCount><coldbrickCount>6</coldbrickCount><colddisperseCount>6</colddisperseCount>"
    "<numberOfBricks> 1 x (4 + 2) = 6</numberOfBricks>"
    + "".join(f"<brick uuid='u'>{name}</brick>" for name in
              ("s1:/disk/a", "s2:/disk/a", "s3:/disk/a", "s4:/disk/a", "s1:/disk/b", "s2:/disk/b"))
    + "</coldBricks></bricks><options><option><name>cluster.tier-mode</name><value>cache</value></option></options>"
    "</volume></volumes></volInfo></cliOutput>\n"
)  # fmt: skip

# hand-made after the format of 3.3 to 3.6: one port, columns parted by tabs, names cut at 55 characters
OLD_STATUS = (
    "Status of volume: old\nGluster process\t\t\t\t\t\tPort\tOnline\tPid\n" + "-" * 78 + "\n"
    "Brick 192.168.122.11:/export/brick-with-a-name-that-is-\nlong/b\t\t\t\t\t\t49152\tY\t2345\n"
    "Brick s2:/export/b\t\t\t\t\tN/A\tN\tN/A\n"
    "NFS Server on localhost\t\t\t\t\t2049\tY\t2360\nSelf-heal Daemon on localhost\t\t\t\tN/A\tY\t2366\n \n"
    "There are no active volume tasks\n"
)

# hand-made after the format of 3.2: no units, no rule, other words
OLD_PROFILE = """
Brick: s1:/export/b
Cumulative Stats:
Block Size:                   1b+                4096b+
     Read:                      0                     7
    Write:                      3                     0

  %-latency Avg-latency Min-Latency Max-Latency                calls        Fop
  --------- ----------- ----------- -----------                -----       ----
       4.20       50.00       20.00       80.00                    3     LOOKUP
      95.80      114.00       30.00      900.00                   30      WRITE

    Duration : 335
   BytesRead : 28672
BytesWritten : 3
"""


def records(text: str | bytes) -> list[Record]:
    made = document(text)
    assert gluster.recognise(made) > 0
    return list(gluster.read(made))


def before_the_error(text: str | bytes) -> tuple[list[Record], ParseError]:
    found, error = until_error(text, "gluster")
    assert error is not None
    return found, error


def volumes(text: str) -> list[VolumeRecord]:
    return [record for record in records(text) if isinstance(record, VolumeRecord)]


def profiles(text: str) -> list[ProfileRecord]:
    return [record for record in records(text) if isinstance(record, ProfileRecord)]


def bricks(text: str) -> list[BrickRecord]:
    return [record for record in records(text) if isinstance(record, BrickRecord)]


def data(name: str) -> str:
    raw = (DATA / name).read_bytes()
    return (lzma.decompress(raw) if name.endswith(".xz") else raw).decode()


def info(kind: str, count: str, addresses: list[str], name: str = "v") -> str:
    lines = [f"Brick{n}: {address}" for n, address in enumerate(addresses, start=1)]
    head = [" ", f"Volume Name: {name}", f"Type: {kind}", "Status: Started", f"Number of Bricks: {count}"]
    return "\n".join([*head, "Transport-type: tcp", "Bricks:", *lines, "Options Reconfigured:", "nfs.disable: on", ""])


def plain(record: Record, *left_out: str) -> dict[str, Any]:
    found = record.as_dict()
    for name in ("source", *left_out):
        found.pop(name, None)
        found["details"].pop(name, None)
    return found


@pytest.mark.parametrize("name", ["info", "info-11", "status"])
def test_text_and_xml_say_the_same(name: str) -> None:
    text, xml = records(data(f"{name}.txt")), records(data(f"{name}.xml"))
    # the XML knows nothing of a thin arbiter, which is no brick
    assert [plain(record, "thin_arbiter") for record in text] == [plain(record) for record in xml]
    if name == "info-11":
        thin = volumes(data("info-11.txt"))[-1]
        assert (thin.bricks, thin.details["thin_arbiter"]) == (2, "server03:/bricks/jbod/d03/t")


def test_info_of_a_real_pool() -> None:
    found = {volume.name: volume for volume in volumes(data("info.txt"))}
    assert found.keys() == {"coded", "idle", "mirror", "plain", "witness"}
    volumes_of = {
        name: (one.type, one.subvolumes, one.bricks, one.replica, one.arbiter, one.data, one.details["usable_fraction"])
        for name, one in found.items()
    }
    assert volumes_of["coded"] == ("Distributed-Disperse", 2, 12, None, None, 4, 4 / 6)
    assert volumes_of["mirror"] == ("Distributed-Replicate", 3, 6, 2, 0, None, 0.5)
    assert volumes_of["witness"] == ("Replicate", 1, 3, 3, 1, None, 0.5)
    assert volumes_of["plain"] == ("Distribute", 3, 3, None, None, None, 1.0)
    assert found["mirror"].options["user.note"] == "two words: and a colon"
    assert found["idle"].details["status"] == "Created"
    assert found["coded"].details.items() >= {
        "status": "Started", "snapshots": 0, "transport": "tcp", "hosts": 6, "max_bricks_of_one_host_in_a_subvolume": 1,
    }.items()  # fmt: skip
    listed = [brick for brick in bricks(data("info.txt")) if brick.volume == "witness"]
    details = [{"position": n, "subvolume": 1, "arbiter": n == 3} for n in (1, 2, 3)]
    assert [brick.details for brick in listed] == details
    assert [brick.details["subvolume"] for brick in bricks(data("info.txt"))[:12]] == [1] * 6 + [2] * 6


def test_status_of_a_real_pool() -> None:
    found = bricks(data("status.txt"))
    assert {brick.volume for brick in found} == {"coded", "mirror", "plain", "witness"}
    assert len(found) == 12 + 6 + 3 + 3
    states = [(brick.online, brick.pid, brick.details) for brick in found[:2]]
    assert states == [(True, 295, {"tcp_port": 56692}), (False, None, {})]
    # the names of this volume are wrapped over two lines
    wrapped = [(brick.path, brick.source.line) for brick in found if brick.volume == "mirror"]
    assert wrapped[:2] == [("/bricks/jbod/d01/a-long-directory-name/brick", line) for line in (31, 33)]
    # a rebalance stands beside the bricks
    tasks = [task for brick in bricks(data("rebalance.txt")) for task in brick.details["tasks"]]
    assert tasks == [{"type": "Rebalance", "status": "completed"}] * len(tasks)
    # an old status has one port and tabs
    assert [(brick.host, brick.path, brick.online, brick.pid, brick.details) for brick in bricks(OLD_STATUS)] == [
        ("192.168.122.11", "/export/brick-with-a-name-that-is-long/b", True, 2345, {"tcp_port": 49152}),
        ("s2", "/export/b", False, None, {}),
    ]


def test_text_and_xml_of_status_detail_say_the_same_but_for_what_the_text_rounds() -> None:
    text, xml = bricks(data("detail.txt")), bricks(data("detail.xml"))
    assert [plain(record, "free_bytes") for record in text] == [
        plain(record, "free_bytes", "block_size_bytes") for record in xml
    ]
    assert xml[0].size_bytes == text[0].size_bytes == 960 * 2**20
    assert xml[0].free_bytes == 964468736
    for of_text, of_xml in zip(text, xml, strict=True):
        assert of_text.free_bytes == pytest.approx(of_xml.free_bytes, abs=0.051 * 2**20)
    assert (text[0].inodes, text[0].free_inodes) == (524288, 524002)
    assert (text[1].online, text[1].pid) == (False, None)


@pytest.mark.parametrize("name", ["profile", "profile-upcalls"])
def test_text_and_xml_of_a_profile_say_the_same(name: str) -> None:
    text = data(f"{name}.txt" if name == "profile" else f"{name}.txt.xz")

    def by_fop(found: list[Record]) -> dict[tuple[str, bool, str | None], ProfileRecord]:
        profiles = [record for record in found if isinstance(record, ProfileRecord)]
        return {(record.brick or "", record.interval == "cumulative", record.fop): record for record in profiles}

    of_text, of_xml = by_fop(records(text)), by_fop(records(data(f"{name}.xml.xz")))
    untimed = {"FORGET", "RELEASE", "RELEASEDIR"}
    assert of_xml.keys() == {key for key in of_text if key[2] not in untimed}
    for key, record in of_xml.items():
        other = of_text[key]
        assert record.calls == other.calls
        for field in ("latency_mean_s", "latency_min_s", "latency_max_s"):
            expected = getattr(other, field)
            assert getattr(record, field) == (expected and pytest.approx(expected, rel=1e-6, abs=1e-11)), key
        if record.fop is None:
            assert plain(record, "duration_s")["details"] == plain(other, "duration_s")["details"]
        elif record.latency_mean_s is not None:
            assert record.details == {"latency_unit_inferred": "ns"}
    assert {record.calls is None for key, record in of_text.items() if key[2] is None} == {True}
    assert {record.latency_mean_s for key, record in of_text.items() if key[2] in {*untimed, "UPCALL"}} == {None}
    assert ("UPCALL" in {key[2] for key in of_xml}) == (name == "profile-upcalls")


def test_values_of_a_real_profile() -> None:
    found = profiles("# gluster volume profile plain info peek\n" + data("profile.txt"))
    assert {record.volume for record in found} == {"plain"}
    whole = found[0]
    assert (whole.brick, whole.interval, whole.source.line) == ("server04:/bricks/jbod/d04/p", "cumulative", 4)
    assert whole.details["read_bytes"] == whole.details["written_bytes"] == 4194304
    assert whole.details["block_sizes"] == [{"size_bytes": 131072, "reads": 32, "writes": 32}]
    lookup = next(record for record in found if record.fop == "LOOKUP")
    assert (lookup.calls, lookup.latency_mean_s, lookup.latency_min_s) == (21, pytest.approx(95544.38e-9), 13380e-9)
    assert {record.interval for record in found} == {"cumulative", "0"}


def test_the_unit_of_latencies_in_xml_is_said_only_where_it_is_known() -> None:
    xml = (
        "<cliOutput><opRet>0</opRet><volProfile><volname>v</volname><brick><brickName>s1:/b</brickName>"
        "<intervalStats><fopStats><fop><name>WRITE</name><hits>2</hits><avgLatency>38491.0</avgLatency>"
        "<minLatency>32866.0</minLatency><maxLatency>44116.0</maxLatency></fop></fopStats><duration>9</duration>"
        "<totalRead>0</totalRead><totalWrite>1024</totalWrite></intervalStats></brick></volProfile></cliOutput>"
    )
    write = profiles(xml)[1]
    assert (write.calls, write.latency_mean_s, write.interval) == (2, None, "interval")
    assert write.details["latency_mean_unknown_unit"] == 38491.0
    for version, factor in (("3.12.15", 1e-6), ("11.1", 1e-9)):
        known = profiles(f"glusterfs {version}\n{xml}")[1]
        assert known.tool_version == version
        assert known.latency_mean_s == pytest.approx(38491 * factor)
    # GlusterFS 8 and 9 print fractions of a microsecond
    assert latency_unit([Fop("READDIRP", 1217, 12713.85, 1315.76, 18014.1, 1)], None) == "us"


def test_a_tiered_volume_in_text_and_in_xml() -> None:
    for found in (records(TIER), records(TIER_XML)):
        volume = found[0]
        assert isinstance(volume, VolumeRecord)
        assert (volume.type, volume.bricks, volume.subvolumes, volume.replica) == ("Tier", 10, None, None)
        assert volume.details["hot"] == {
            "type": "Distributed-Replicate", "subvolumes": 2, "bricks": 4, "replica": 2, "arbiter": 0,
        }  # fmt: skip
        assert volume.details["cold"] == {"type": "Disperse", "subvolumes": 1, "bricks": 6, "data": 4, "redundancy": 2}
        assert volume.details["max_bricks_of_one_host_in_a_subvolume"] == 2
        assert "usable_fraction" not in volume.details
        tiers = [(brick.details["tier"], brick.details["subvolume"]) for brick in found[1:]]
        assert tiers == [("hot", 1)] * 2 + [("hot", 2)] * 2 + [("cold", 1)] * 6
    assert plain(records(TIER)[0], "id") == plain(records(TIER_XML)[0])


def test_an_old_profile_has_other_words_and_no_units() -> None:
    whole, lookup, write = profiles(OLD_PROFILE)
    assert whole.details == {
        "duration_s": 335, "read_bytes": 28672, "written_bytes": 3,
        "block_sizes": [{"size_bytes": 1, "reads": 0, "writes": 3}, {"size_bytes": 4096, "reads": 7, "writes": 0}],
    }  # fmt: skip
    assert lookup.latency_mean_s == pytest.approx(50e-6)
    assert (write.calls, write.latency_max_s) == (30, pytest.approx(900e-6))


@pytest.mark.parametrize(
    ("kind", "count", "expected"),
    [
        ("Distributed-Disperse", "12 x (4 + 2) = 72", {"subvolumes": 12, "bricks": 72, "data": 4, "redundancy": 2}),
        ("Distributed-Replicate", "2 x 3 = 6", {"subvolumes": 2, "bricks": 6, "replica": 3, "arbiter": 0}),
        ("Distributed-Replicate", "2x(2+1)=6", {"subvolumes": 2, "bricks": 6, "replica": 3, "arbiter": 1}),
        ("Distribute", "3", {"subvolumes": 3, "bricks": 3}),
        ("Distribute", "3 x 1 = 3", {"subvolumes": 3, "bricks": 3}),
        ("Distributed-Stripe", "2 x 2 = 4", {"subvolumes": 2, "bricks": 4, "stripe": 2}),
        ("Distributed-Striped-Replicate", "2 x 2 x 2 = 8",
         {"subvolumes": 2, "bricks": 8, "replica": 2, "arbiter": 0, "stripe": 2}),
        ("Disperse", "1 x (2 + 1) = 3", {"subvolumes": 1, "bricks": 3, "data": 2, "redundancy": 1}),
        *((kind, count, None) for kind, count in (
            ("Replicate", "1 x 3 = 4"), ("Disperse", "1 x 6 = 6"), ("Disperse", "0 x (4 + 2) = 0"),
            ("Distribute", "1 x 3 = 3"), ("Replicate", "9" * 5000), ("Replicate", "1 x (0 + 3) = 3"),
        )),
    ],
)  # fmt: skip
def test_a_geometry_is_read_or_refused(kind: str, count: str, expected: dict[str, int] | None) -> None:
    if expected is None:
        with pytest.raises(ParseError, match="expected"):
            read_geometry(kind, count)
    else:
        assert read_geometry(kind, count).as_dict() == expected


def test_the_count_of_subvolumes_in_xml_does_not_hang_on_the_release() -> None:
    # distCount is the bricks of a subvolume before 9 and the subvolumes since
    for count in (2, 3, 6):
        xml = data("info-11.xml").replace("<distCount>2</distCount>", f"<distCount>{count}</distCount>")
        assert next(volume for volume in volumes(xml) if volume.name == "mirror").subvolumes == 2


def test_addresses_may_be_names_or_numbers_and_an_arbiter_is_marked() -> None:
    addresses = ["fe80::1:/b/1", "[fe80::2]:/b/2", "10.0.0.3:/b/3 (arbiter)"]
    text = info("Replicate", "1 x (2 + 1) = 3", addresses)
    assert [(brick.host, brick.path, brick.details["arbiter"]) for brick in bricks(text)] == [
        ("fe80::1", "/b/1", False), ("fe80::2", "/b/2", False), ("10.0.0.3", "/b/3", True),
    ]  # fmt: skip


def test_several_commands_in_one_log() -> None:
    log = (
        "[root@s1 ~]# gluster --version\nglusterfs 10.3\nRepository revision: git://git.example/x\n"
        "[root@s1 ~]# gluster volume info\n" + data("info.txt")
        + "[root@s1 ~]# gluster v status\n" + data("status.txt") + "Volume idle is not started\n"
        "[root@s1 ~]# gluster volume status coded detail\n" + data("detail.txt")
        + "[root@s1 ~]# gluster volume profile plain info\n" + data("profile.txt")
        + "[root@s1 ~]# gluster volume info --xml\n" + data("info.xml")
        + "[root@s1 ~]# uptime\n 10:00:00 up 3 days\n[root@s1 ~]# gluster volume info\n" + data("info.txt")
    )  # fmt: skip
    parts = ["info.txt", "status.txt", "detail.txt", "profile.txt", "info.xml", "info.txt"]
    found = records(log)
    assert len(found) == sum(len(records(data(name))) for name in parts)
    assert {record.tool_version for record in found} == {"10.3"}
    lines = log.splitlines()
    for record in found:
        if isinstance(record, VolumeRecord):
            line = lines[(record.source.line or 0) - 1]
            assert record.name in line or line.startswith("<?xml")
    assert {record.volume for record in found if isinstance(record, ProfileRecord)} == {"plain"}


def test_what_the_author_left_out_is_no_damage() -> None:
    addresses = [f"s{n % 6 + 1}:/b/{n // 6}" for n in range(72)]
    whole = info("Distributed-Disperse", "12 x (4 + 2) = 72", addresses)
    lines = whole.splitlines(keepends=True)
    short = "".join([*lines[:9], "...\n", *lines[-3:]])
    volume = volumes(short)[0]
    assert (volume.bricks, volume.subvolumes, volume.details["bricks_listed"]) == (72, 12, 3)
    assert "hosts" not in volume.details
    assert [brick.details["position"] for brick in bricks(short)] == [1, 2, 72]
    assert volumes(whole)[0].details["hosts"] == 6
    profile = data("profile.txt").splitlines(keepends=True)
    assert len(records("".join([*profile[:20], "[...]\n"]))) == 13


def test_rows_that_a_filter_has_left_over_are_read() -> None:
    rows = "".join(line + "\n" for line in data("status.txt").splitlines() if "/d04/p" in line)
    assert [(brick.volume, brick.host, brick.online) for brick in bricks(rows)] == [
        (None, "server04", True), (None, "10.83.0.15", True), (None, "server06", True),
    ]  # fmt: skip
    kept = ("Brick  ", "Online", "Disk Space", "Total")
    some = bricks("".join(line + "\n" for line in data("detail.txt").splitlines() if line.startswith(kept)))
    assert (len(some), some[0].size_bytes, some[0].inodes) == (12, 960 * 2**20, None)
    # a command line names the volume of what follows
    for command, volume in (("status gv0 | grep Brick", "gv0"), ("status all", None)):
        found = bricks(f"[root@s1 ~]# gluster vol {command}\nBrick s1:/b 49152 0 Y 71\n")
        assert [brick.volume for brick in found] == [volume]
    # sizes that no file system has are unknown
    none = bricks(data("detail.txt").replace("960.0MB", "0Bytes").replace("524288", "N/A"))[0]
    assert (none.size_bytes, none.free_bytes, none.inodes, none.free_inodes) == (None, None, None, None)
    assert bricks(data("detail.txt").replace("960.0MB", "1.8TB"))[0].size_bytes == round(1.8 * 2**40)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Volume idle is not started\n", "Volume idle is not started"),
        ("Profile on Volume idle is not started\n", "not started"),
        ("Staging failed on 10.0.0.2. Error: Volume v is not started\n", "Staging failed on 10.0.0.2"),
        ("Another transaction is in progress for v. Please try again after some time.\n", "Another transaction"),
        ("Error : Request timed out\n", "timed out"),
        ("No volumes present\n", "No volumes present"),
        ("Number of Peers: 5\n\nHostname: s2\nState: Peer in Cluster (Connected)\n", "peers of a pool"),
        ("UUID\t\t\tHostname \tState\n59229d9b\tlocalhost\tConnected \n", "list of a pool"),
        ("<cliOutput><opRet>-1</opRet><opErrstr>Volume v does not exist</opErrstr></cliOutput>\n", "does not exist"),
        ("<cliOutput><opRet>0</opRet><peerStatus/></cliOutput>\n", "found peerStatus"),
        ("<cliOutput><opRet>0</opRet><volInfo><volumes/></volInfo></cliOutput>\n", "no volume"),
        ("<cliOutput><opRet>0</opRet><volStatus><volumes/></volStatus></cliOutput>\n", "found none"),
        ("<cliOutput><opRet>0</opRet><volProfile><volname>v</volname></volProfile></cliOutput>\n", "statistics"),
        ("<?xml version='1.0'?><!DOCTYPE c [<!ENTITY a 'b'>]><cliOutput>&a;</cliOutput>\n", "document type"),
    ],
)
def test_what_holds_no_result_is_refused_in_gluster_s_words(text: str, message: str) -> None:
    found, error = before_the_error(text)
    assert found == []
    assert message in error.message
    assert gluster.recognise(document(text)) > 0
    assert gluster.recognise(document("Brick s1:/b\nStatus: Connected\nNumber of entries: 0\n")) == 0


POOL = ("coded", "idle", "mirror", "plain", "witness")
GONE = "Brick3: server03:/bricks/jbod/d02"


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        (
            data("info.txt").partition("Volume Name: plain\n")[0] + "Volume Name: plain\nType: Distribute\n",
            ["coded", "idle", "mirror"],
            "expected the type and the number of bricks of volume plain",
        ),
        (
            "".join(line for line in data("info.txt").splitlines(keepends=True) if not line.startswith(GONE)),
            ["idle", "mirror", "plain", "witness"],
            "expected the 12 bricks of volume coded, found 11",
        ),
        # the rest of a path may be another line
        (info("Distribute", "2", ["s1:/a\nrest/of", "s2:/b"]), [], "expected another line"),
        (data("info.txt") + "Locking failed on s2. Please check log file.\n", [*POOL], "Locking failed"),
    ],
)
def test_a_list_of_bricks_that_lacks_some_is_refused(text: str, names: list[str], message: str) -> None:
    found, error = before_the_error(text)
    assert [record.name for record in found if isinstance(record, VolumeRecord)] == names
    assert message in error.message
    if message == "Locking failed":
        assert error.line == text.count("\n")


def test_a_profile_that_is_cut_off_gives_its_whole_rows() -> None:
    text = data("profile.txt")
    cut = text[: text.rindex("Data Written")]
    found, error = before_the_error(cut)
    assert "cut off" in error.message
    assert len(found) == len(records(text))
    assert "written_bytes" not in found[-1].details
    halfway = text[: text.rindex("LOOKUP") + 3]
    found, error = before_the_error(halfway)
    assert "LOO" not in {record.fop for record in found if isinstance(record, ProfileRecord)}


def test_a_number_of_a_line_without_an_end_is_not_believed() -> None:
    text = data("status.txt")
    row = text.index("56692")
    assert bricks(text[: text.index("295", row) + 1])[0].pid is None
    detail = data("detail.txt").rstrip()
    assert bricks(detail)[-1].free_inodes is None
    assert bricks(detail + "\n")[-1].free_inodes == 524009


LONG = "/var/lib/heketi/mounts/vg_ad277c699260433a6581825c3a8ea473/"
NAMES = sorted(path.name for path in DATA.glob("*"))


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_anywhere_gives_whole_records_or_an_error(name: str) -> None:
    text = data(name)
    whole = {record.to_json() for record in records(text) if not isinstance(record, VolumeRecord)}
    places = random.Random(3).sample(range(1, len(text)), 120)
    for place in places:
        for record in until_error(text[:place], "gluster")[0]:
            known = isinstance(record, VolumeRecord) or record.to_json() in whole
            assert known or _lacks_only_the_end(record), (place, record)


def _lacks_only_the_end(record: Record) -> bool:
    """The last record of a cut file knows less, but nothing else."""
    if isinstance(record, ProfileRecord):
        return record.fop is None
    return isinstance(record, BrickRecord) and (record.pid is None or record.free_inodes is None)


# hand-made after the documented output of 3.2 and 3.3
OLD_DETAIL = """\
Status of volume: test-volume
------------------------------------------------------------------------------
Brick                : arch:/exp
Port                 : 24010
Online               : Y
Pid                  : 18474
File System          : rootfs
Device               : rootfs
Mount Options        : rw
Disk Space Free      : 13.8GB
Total Disk Space     : 46.5GB
Inode Size           : N/A
Inode Count          : 3055616
Free Inodes          : 2577164
"""

OLD_LAYOUT = """\
Brick: Test:/export/2
Cumulative Stats:

Block                     1b+           32b+
Size:
       Read:                0              0
       Write:             908             28

Block                   128b+
Size:
       Read:                6
       Write:              10

%-latency   Avg-      Min-       Max-       calls     Fop
          latency   latency    latency
___________________________________________________________
4.82      1132.28   21.00      800970.00   4575    WRITE
0.00         0.00    0.00           0.00     19    RELEASE

Duration : 335

BytesRead : 94505058

BytesWritten : 195571980
"""


@pytest.mark.parametrize("head", ["", "Status of volume: test-volume\n"])
def test_the_details_of_old_releases(head: str) -> None:
    text = head + OLD_DETAIL.split("\n", 1)[1]
    (brick,) = bricks(text)
    assert (brick.volume, brick.host, brick.path) == ("test-volume" if head else None, "arch", "/exp")
    assert (brick.online, brick.pid, brick.inodes, brick.free_inodes) == (True, 18474, 3055616, 2577164)
    assert (brick.size_bytes, brick.free_bytes) == (round(46.5 * 2**30), round(13.8 * 2**30))
    assert (brick.details["tcp_port"], brick.source.line) == (24010, 3 if head else 2)
    assert gluster.recognise(document(text)) >= 0.9


def test_old_details_without_their_blanks_and_beside_a_profile() -> None:
    squeezed = "\n".join(" ".join(line.split()).replace(" :", ":") for line in OLD_DETAIL.splitlines()) + "\n"
    assert [plain(brick, "source") for brick in bricks(squeezed)] == [plain(b, "source") for b in bricks(OLD_DETAIL)]
    two = OLD_DETAIL + OLD_DETAIL.split("\n", 2)[2].replace("arch", "deb")
    assert [brick.host for brick in bricks(two)] == ["arch", "deb"]
    both = OLD_LAYOUT + OLD_DETAIL
    assert [type(record) for record in records(both)] == [ProfileRecord] * 3 + [BrickRecord]
    cut = OLD_DETAIL[: OLD_DETAIL.index("Free Inodes")]
    assert "expected 'Free Inodes :'" in before_the_error(cut)[1].message


def test_an_old_layout_of_a_profile() -> None:
    whole, write, release = profiles(OLD_LAYOUT)
    blocks = [tuple(block.values()) for block in whole.details["block_sizes"]]
    assert blocks == [(1, 0, 908), (32, 0, 28), (128, 6, 10)]
    assert (whole.details["read_bytes"], whole.details["written_bytes"]) == (94505058, 195571980)
    assert (write.fop, write.calls, write.details) == ("WRITE", 4575, {"latency_percent": 4.82})
    assert write.latency_mean_s == pytest.approx(1132.28e-6)
    assert (release.latency_mean_s, release.details) == (None, {"latency_percent": 0.0})
    assert (whole.source.line, write.source.line, release.source.line) == (2, 17, 18)
    nameless = OLD_LAYOUT.split("\n", 1)[1]
    assert {record.brick for record in profiles(nameless + OLD_LAYOUT)} == {None, "Test:/export/2"}


REPORT = """\
Brick: s1:/b
Cumulative Stats:
   Block Size:               4096b+              131072b+
 No. of Reads:                    0                  1000
No. of Writes:                  500                  2000
 %-latency   Avg-latency   Min-Latency   Max-Latency   No. of calls         Fop
      0.00       0.00 us       0.00 us       0.00 us              4     RELEASE
     25.00     100.00 us      10.00 us     900.00 us           1000        READ
     75.00     120.00 us      20.00 us     950.00 us           2500       WRITE

    Duration: 60 seconds
   Data Read: 131072000 bytes
Data Written: 264192000 bytes
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("", "", 0, ""),
        ("     25.00     100.00 us", "     25.00     100.02 us", 0, ""),
        ("131072000", "262144000", 0, ""),
        (
            "131072000",
            "300000000",
            2,
            "131,072,000 to 262,144,000 bytes of reads by the block sizes, found 300,000,000",
        ),
        ("264192000", "200000000", 2, "264,192,000 to 528,384,000 bytes of writes"),
        ("     25.00     100.00 us", "     25.00     101.00 us", 2, "%-latency as calls and mean latencies give it"),
        ("     75.00     120.00 us", "     76.00     120.00 us", 2, "%-latency as calls and mean latencies give it"),
        ("           2500 ", "           5000 ", 2, "%-latency as calls and mean latencies give it"),
        ("10.00 us     900.00 us", "10.00 us      90.00 us", 8, "a mean of READ from 10 to 90, found 100"),
        # of an excerpt what is there
        ("     75.00     120.00 us      20.00 us     950.00 us           2500       WRITE\n", "", 0, ""),
        ("              131072b+", "", 0, ""),
    ],
)
def test_a_profile_adds_up(old: str, new: str, line: int, message: str) -> None:
    text = REPORT.replace(old, new, 1)
    if new == "" and old.endswith("b+"):
        text = text.replace("0                  1000", "0").replace("500                  2000", "500")
    if not message:
        assert len(profiles(text)) in (3, 4)
        return
    error = before_the_error(text)[1]
    assert (error.line, message in error.message) == (line, True), error.message


def test_calls_without_the_line_of_their_interval_are_no_noise() -> None:
    rows = OLD_LAYOUT[OLD_LAYOUT.index("4.82") :]
    found, error = before_the_error(rows + OLD_LAYOUT)
    assert [plain(record, "source") for record in found] == [plain(r, "source") for r in profiles(OLD_LAYOUT)]
    assert (error.line, "before the calls" in error.message) == (1, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("s1:/bricks/one", "s1:/bricks/\none"),
        ("s1:/bricks/one", "s1:/bricks\n/one"),
        (" (arbiter)", "\n(arbiter)"),
        ("10.0.0.1,10.0.0.2", "10.0.0.1,\n10.0.0.2"),
        (LONG, f"{LONG}\n"),
    ],
)
def test_lines_of_info_that_a_mail_client_has_wrapped(before: str, after: str) -> None:
    text = info("Replicate", "1 x (2 + 1) = 3", ["s1:/bricks/one", f"s2:{LONG}brick", "s3:/c (arbiter)"])
    text += "Options Reconfigured:\nauth.allow: 10.0.0.1,10.0.0.2\n"
    assert before in text
    found = [plain(record, "source") for record in records(text.replace(before, after))]
    assert found == [plain(record, "source") for record in records(text)]


def test_many_outputs_on_one_line_take_memory_by_their_size_only() -> None:
    text = "x" * 1000 + "<cliOutput>\x85</cliOutput>" * 3000
    tracemalloc.start()
    try:
        with no_hang(), pytest.raises(ParseError, match="found nothing"):
            records(text)
        assert tracemalloc.get_traced_memory()[1] < 200 * len(text)
    finally:
        tracemalloc.stop()
