import pytest

from glusterlab.errors import HostError, ParseError, SpecError
from glusterlab.hosts import gluster
from glusterlab.hosts.fake import FakeTransport, FakeVolume
from glusterlab.hosts.gluster import MAX_XML_BYTES, Volume, VolumeInfo, read_info, read_peers, read_status, read_xml
from glusterlab.hosts.pool import Pool
from glusterlab.spec import Cluster, Layout
from glusterlab.spec.cluster import ScaleParameters
from tests.pools import HARDWARE, pool_data

PEERS = b"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<cliOutput><opRet>0</opRet><opErrno>0</opErrno><opErrstr/><peerStatus>
<peer><uuid>9d7a</uuid><hostname>s2</hostname><hostnames><hostname>s2</hostname></hostnames>
<connected>1</connected><state>3</state><stateStr>Peer in Cluster</stateStr></peer>
<peer><uuid>5165</uuid><hostname>old-name</hostname><hostnames><hostname>old-name</hostname>
<hostname>10.0.0.3</hostname></hostnames><connected>0</connected></peer>
<peer><uuid>77</uuid><hostname>stranger</hostname><connected>1</connected></peer></peerStatus></cliOutput>"""

STATUS = b"""<cliOutput><opRet>0</opRet><volStatus><volumes><volume><volName>v</volName><nodeCount>3</nodeCount>
<node><hostname>10.0.0.1</hostname><path>/b/glusterlab-v/brick</path><status>1</status><pid>12</pid></node>
<node><hostname>10.0.0.2</hostname><path>/b/glusterlab-v/brick</path><status>0</status><pid>-1</pid></node>
<node><hostname>Self-heal Daemon</hostname><path>localhost</path><status>1</status></node>
<tasks><task><type>Rebalance</type><status>1</status><statusStr>in progress</statusStr></task></tasks>
</volume></volumes></volStatus></cliOutput>"""

INFO = b"""<cliOutput><opRet>0</opRet><volInfo><volumes><volume><name>v</name><status>1</status>
<statusStr>Started</statusStr><typeStr>Distributed-Disperse</typeStr><bricks>
<brick uuid="70">10.0.0.1:/b/glusterlab-v/brick<name>10.0.0.1:/b/glusterlab-v/brick</name></brick>
</bricks><options><option><name>nfs.disable</name><value>on</value></option></options></volume><count>1</count>
</volumes></volInfo></cliOutput>"""


@pytest.fixture
def cluster() -> Cluster:
    backings = {"jbod": {"bricks": [f"/b/d{n:02d}" for n in range(1, 13)], "kind": "jbod"}}
    return Cluster.model_validate(pool_data(6, 2, backings=backings, hardware={**HARDWARE, "disks_per_server": 12}))


def layout(kind: str = "disperse", **changes: object) -> Layout:
    shape = {"subvolumes": 12, "data": 4, "redundancy": 2} if kind == "disperse" else {"subvolumes": 3, "replica": 2}
    return Layout.model_validate({"name": "ec", "type": kind, "backing": "jbod", **shape, **changes})


def test_peers_and_status_are_read_without_strangers_and_daemons(cluster: Cluster) -> None:
    # by name or address, and the server that was asked counts
    assert read_peers(PEERS, cluster, "s1") == {"s1": True, "s2": True, "s3": False}
    status = read_status(STATUS)
    known = [(brick.host, brick.online, brick.pid) for brick in status.bricks]
    assert known == [("10.0.0.1", True, 12), ("10.0.0.2", False, None)]
    assert status.rebalancing


def test_info_is_read_and_the_suites_own_volumes_are_told_from_others() -> None:
    volume = read_info(INFO)["v"]
    assert (volume.started, volume.options, volume.is_ours) == (True, {"nfs.disable": "on"}, True)
    for bricks in (("s1:/data/glusterlab-w/brick",), ()):
        assert not VolumeInfo("v", "Distribute", True, bricks, {}).is_ours


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'<!DOCTYPE c [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><cliOutput>&b;</cliOutput>', "document type"),
        (b'<!DOCTYPE c SYSTEM "file:///etc/passwd"><cliOutput/>', "document type"),
        (b"<cliOutput><opRet>-1</opRet><opErrstr>Volume v does not exist</opErrstr></cliOutput>", "does not exist"),
        (b"Connection failed. Please check if gluster daemon is operational.", "expected gluster's XML"),
        (b"<cliOutput><opRet>0</opRet>", "expected gluster's XML"),
        (b"", "expected gluster's XML"),
        (b"<cliOutput>" + b" " * MAX_XML_BYTES + b"</cliOutput>", "expected at most 33554432 bytes"),
    ],
    ids=lambda value: None if isinstance(value, str) else value[:20].decode(),
)
def test_what_gluster_never_writes_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        read_xml(text)


def test_a_volume_is_named_by_all_that_it_is_made_of(cluster: Cluster) -> None:
    volume = Volume.of(layout(), cluster)
    assert volume.name == Volume.of(layout(), cluster).name
    others = [layout(options=(("a", "b"),)), layout(subvolumes=6), layout(kind="replicate")]
    assert len({volume.name, *(Volume.of(other, cluster).name for other in others)}) == 4
    assert len(volume.bricks) == 72
    for start in range(0, 72, 6):
        assert len({host.name for host, _ in volume.bricks[start : start + 6]}) == 6
    assert volume.brick_names[0] == f"10.0.0.1:/b/d01/glusterlab-{volume.name}/brick"
    assert volume.create_words()[:7] == ("volume", "create", volume.name, "disperse-data", "4", "redundancy", "2")
    with pytest.raises(SpecError, match="needs"):
        Volume.of(layout(subvolumes=13), cluster)


def test_a_layout_is_set_up_once_and_others_step_aside(cluster: Cluster, fake: FakeTransport) -> None:
    pool = Pool(cluster.hosts, fake)
    said: list[str] = []
    options = {"cluster.lookup-optimize": "on"}
    mirror = layout(kind="replicate", name="mirror", options=tuple(options.items()))
    first, second = (Volume.of(each, cluster) for each in (layout(), mirror))
    fake.volumes["theirs"] = FakeVolume("Distribute", ["10.0.0.1:/data/brick"], started=True)
    for volume in (first, second, second):
        gluster.set_up(pool, cluster, volume, mark="campaign x", note=said.append)
    assert [name for name, volume in fake.volumes.items() if volume.started] == ["theirs", second.name]
    assert fake.volumes[second.name].options == options
    assert set(fake.mounted.values()) == {second.mount_point}
    assert [line.partition(" volume")[0] for line in said] == ["created", "started", "stopped", "created", "started"]
    gluster.stop_all(pool, cluster, note=said.append)
    assert fake.mounted == {}
    assert [name for name, volume in fake.volumes.items() if volume.started] == ["theirs"]


def test_another_scale_models_options_mount_the_same_volume_again(cluster: Cluster, fake: FakeTransport) -> None:
    slow = ScaleParameters(scale=34, mount_options=("entry-timeout=34",))
    models = {"small-file": slow, "large-file": ScaleParameters(scale=200)}
    cluster = cluster.model_copy(update={"scale_models": models, "mount_options": ("acl",)})
    volumes = [Volume.of(layout(), cluster, model) for model in ("large-file", "small-file", "large-file")]
    for volume in volumes:
        gluster.set_up(Pool(cluster.hosts, fake), cluster, volume, mark="x", note=lambda _: None)
        assert set(fake.mounted.values()) == {volume.mount_point}
    assert volumes[0] == volumes[2] == Volume.of(layout(), cluster)
    assert {volume.name for volume in volumes} == {volumes[0].name} == set(fake.volumes)
    mounts = [line for text in fake.scripts("c1", "gl_mount ") for line in text.splitlines() if "gl_mount " in line]
    assert ["entry-timeout=34" in line for line in mounts] == [False, True, False]
    assert all(",acl" in line for line in mounts)


def test_a_volume_of_others_stays_mounted_below_the_suites_directory(cluster: Cluster, fake: FakeTransport) -> None:
    fake.volumes["theirs"] = FakeVolume("Distribute", ["10.0.0.1:/data/brick"], started=True)
    pool, volume = Pool(cluster.hosts, fake), Volume.of(layout(), cluster)
    fake.mounted = {"c2": f"{cluster.mount_root}/theirs"}
    gluster.stop_all(pool, cluster, note=lambda _: None)
    assert fake.mounted == {"c2": f"{cluster.mount_root}/theirs"}
    for fresh in (False, True):
        gluster.set_up(pool, cluster, volume, mark="x", note=lambda _: None, fresh=fresh)
    words = [text.split() for text in fake.scripts("c1", "gl_umount_others")]
    assert [line[2] for line in words] == ["''", volume.mount_point, "''"]
    assert [line[3:] for line in words] == [[], [volume.name], [volume.name]]
    gluster.stop_all(pool, cluster, note=lambda _: None)
    assert fake.mounted == {}


def test_a_volume_that_is_not_what_was_asked_for_is_refused(cluster: Cluster, fake: FakeTransport) -> None:
    volume = Volume.of(layout(kind="replicate"), cluster)
    bricks = [*volume.brick_names[1:], volume.brick_names[0]]
    fake.volumes[volume.name] = FakeVolume("Distributed-Replicate", bricks, started=True)
    with pytest.raises(HostError, match="is not what was requested: expected bricks"):
        gluster.set_up(Pool(cluster.hosts, fake), cluster, volume, mark="x", note=lambda _: None)


def test_waits_for_heal_and_bricks(cluster: Cluster, fake: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    volume, pool = Volume.of(layout(), cluster), Pool(cluster.hosts, fake)
    for pending, left in ((2, 12), (0, 0)):
        fake.heal_pending = pending
        assert gluster.wait_for_heal(pool, volume, within_s=1 if not pending else -1) == left
    gluster.set_up(pool, cluster, volume, mark="x", note=lambda _: None)
    monkeypatch.setattr(gluster, "_ONLINE_WITHIN_S", -1.0)
    fake.offline = {volume.brick_names[3]}
    with pytest.raises(HostError, match=r"1 bricks of volume ec-\w+ are offline: 10\.0\.0\.4:/b/d01"):
        gluster.set_up(pool, cluster, volume, mark="x", note=lambda _: None)
