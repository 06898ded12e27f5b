from dataclasses import replace
from pathlib import Path

import pytest

from glusterlab.errors import HostError, ParseError, RefusedError, SpecError
from glusterlab.hosts import gluster, health
from glusterlab.hosts.gluster import (
    MAX_XML_BYTES,
    Volume,
    VolumeInfo,
    read_info,
    read_peers,
    read_status,
    read_tier,
    read_xml,
)
from glusterlab.hosts.pool import Pool
from glusterlab.spec import Cluster, Layout
from glusterlab.spec.cell import Bricks
from glusterlab.spec.cluster import Backing, Host, ScaleParameters
from glusterlab.store.records import Health
from tests.fake_pool import FakeTransport, FakeVolume
from tests.pools import HARDWARE, pool_data

DATA = Path(__file__).parents[1] / "data" / "gluster"

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


# of the same volume and moment as tier-info-3.8.xml, on server01; the daemon of server03 had been killed
TIER = b"""<cliOutput><opRet>0</opRet><opErrno>0</opErrno><opErrstr/><volRebalance>
<task-id>d462bdea-34eb-4da6-a9a4-56fb540b1a9e</task-id><op>7</op><nodeCount>3</nodeCount>
<node><nodeName>localhost</nodeName><promotedFiles>49</promotedFiles><demotedFiles>0</demotedFiles>
<statusStr>in progress</statusStr></node>
<node><nodeName>server02</nodeName><promotedFiles>0</promotedFiles><demotedFiles>149</demotedFiles>
<statusStr>in progress</statusStr></node>
<node><nodeName>server03</nodeName><promotedFiles>0</promotedFiles><demotedFiles>0</demotedFiles>
<statusStr>failed</statusStr></node></volRebalance></cliOutput>"""


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


@pytest.mark.parametrize("release", ["3.7", "3.8"])
def test_old_releases_are_read(release: str) -> None:
    """gNFS stands among the processes of a volume, one brick was killed; 3.7 does not say that gNFS is on."""
    info = read_info((DATA / f"info-{release}.xml").read_bytes())
    assert {volume.options.get("nfs.disable") for volume in info.values()} == {"3.7": {None, "on"}, "3.8": {"off"}}[
        release
    ]
    assert [volume.type for volume in info.values()][-1] == "Distributed-Replicate"
    status = read_status((DATA / f"status-{release}.xml").read_bytes())
    assert tuple(f"{brick.host}:{brick.path}" for brick in status.bricks) == info["pairs"].bricks
    assert [brick.online for brick in status.bricks] == [True, release == "3.8", True, True]
    assert [brick.pid is not None for brick in status.bricks] == [brick.port is not None for brick in status.bricks]
    assert not status.rebalancing


@pytest.mark.parametrize(
    ("release", "options", "said"),
    [("3.7.9", {}, "on"), ("10.3", {}, None), ("3.7.9", {"nfs.disable": "off"}, "off"), ("master", {}, None)],
)
def test_gnfs_is_off_unless_asked_for(
    cluster: Cluster, fake: FakeTransport, release: str, options: dict[str, str], said: str | None
) -> None:
    fake.release = release
    volume, pool = Volume.of(layout(options=tuple(options.items())), cluster), Pool(cluster.hosts, fake)
    for _ in range(2):
        gluster.set_up(pool, cluster, volume, mark="x", note=lambda _: None)
        assert fake.volumes[volume.name].options.get("nfs.disable") == said


def test_an_option_that_the_release_has_not_is_refused_by_name(cluster: Cluster, fake: FakeTransport) -> None:
    options = (("disperse.eager-lock", "on"), ("performance.io-cache", "off"))
    volume, pool = Volume.of(layout(options=options), cluster), Pool(cluster.hosts, fake)
    assert gluster.unknown_options(pool, "s1", ["disperse.eager-lock"]) == [], "there is no volume to ask by"
    fake.release, fake.refused = "3.7.9", {"disperse.eager-lock"}
    with pytest.raises(
        RefusedError, match=r"^s1: GlusterFS 3\.7\.9 refuses the option disperse\.eager-lock = on: option :"
    ):
        gluster.set_up(pool, cluster, volume, mark="x", note=lambda _: None)
    assert fake.volumes == {}
    fake.volumes["theirs"] = FakeVolume("Distribute", ["10.0.0.1:/data/brick"])
    assert gluster.unknown_options(pool, "s1", dict(options)) == ["disperse.eager-lock"]


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("volume set: failed: option : performance.nl-cache does not exist / Did you mean performance.io-cache?", True),
        ("volume set: failed: '600' in 'option md-cache-timeout 600' is out of range [0 - 60]", True),
        ('volume set: failed: invalid number format "abc" in option "cache-size"', True),
        ("volume set: failed: Commit failed on 10.0.0.2. Please check log file for details.", False),
        ("volume set: failed: Staging failed on 10.0.0.2. Error: Volume v does not exist", False),
        ("volume set: failed: Another transaction is in progress for v. Please try again after sometime.", False),
        ("volume set: failed: Quorum not met. Volume operation not allowed.", False),
        ("Connection failed. Please check if gluster daemon is operational.", False),
    ],
)
def test_what_goes_by_itself_is_no_refusal(said: str, refused: bool) -> None:
    assert (gluster._REFUSED.search(said) is not None) == refused


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
    wide = layout(subvolumes=6, data=8, redundancy=4)
    with pytest.raises(SpecError, match="needs 12 distinct servers"):
        Volume.of(wide, cluster)
    forced = Volume.of(wide.model_copy(update={"bricks_per_server": 2}), cluster)
    assert (forced.create_words()[-1], volume.create_words()[-1] == "force") == ("force", False)
    assert {len({host.name for host, _ in forced.bricks[start : start + 12]}) for start in range(0, 72, 12)} == {6}


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


def test_a_tiered_volume_is_read_as_gluster_3_8_writes_it() -> None:
    (info,) = read_info((DATA / "tier-info-3.8.xml").read_bytes()).values()
    assert (info.type, info.hot_type, info.is_ours) == ("Distributed-Replicate", "Distributed-Replicate", True)
    places = [brick.split("/")[:3] for brick in info.bricks]
    roots = ["raid6"] * 6 + ["nvme"] * 6
    assert places == [[f"10.218.0.1{n % 6 + 1}:", "bricks", root] for n, root in enumerate(roots)]
    status = read_status((DATA / "tier-status-3.8.xml").read_bytes())
    # the task "Tier migration" is in progress all the time
    assert (len(status.bricks), status.rebalancing) == (12, False)


def test_daemons_of_a_hot_tier_are_told_by_server(with_nvme: Cluster) -> None:
    servers = [Host(name=f"server0{n}", address=f"10.218.0.1{n}") for n in (1, 2, 3, 4)]
    cluster = with_nvme.model_copy(update={"servers": tuple(servers)})
    hot = Bricks(type="distribute", subvolumes=4, backing="nvme")
    daemons = read_tier(TIER, Volume.of(tiered(subvolumes=2, hot=hot), cluster), "server01")
    states = {name: (each.status, each.promoted, each.demoted) for name, each in daemons.items()}
    daemons_that_run = {"server01": ("in progress", 49, 0), "server02": ("in progress", 0, 149)}
    assert states == daemons_that_run | {"server03": ("failed", 0, 0), "server04": ("unknown", 0, 0)}


def tiered(**changes: object) -> Layout:
    hot = {"type": "replicate", "subvolumes": 3, "replica": 2, "backing": "nvme"}
    return layout("replicate", **{"name": "hot", "hot": hot, **changes})


def reasons_of(found: Health, cluster: Cluster, volume: Volume) -> list[tuple[str, str | None]]:
    servers, clients = [host.name for host in cluster.servers], [host.name for host in cluster.clients]
    return [(each.code, each.host) for each in health.health_reasons(found, "after", servers, clients, volume.layout)]


@pytest.fixture
def with_nvme(cluster: Cluster) -> Cluster:
    nvme = Backing(bricks=("/n/n01",), kind="nvme")
    return cluster.model_copy(update={"backings": {**cluster.backings, "nvme": nvme}})


def test_a_hot_tier_is_attached_held_and_started_again(with_nvme: Cluster, fake: FakeTransport) -> None:
    cluster, pool = with_nvme, Pool(with_nvme.hosts, fake)
    said: list[str] = []
    volume = Volume.of(tiered(options=(("cluster.tier-mode", "test"),)), cluster)
    fake.release = "3.8.4"
    gluster.set_up(pool, cluster, volume, mark="x", note=said.append)
    made = fake.volumes[volume.name]
    assert (len(made.bricks), made.options["cluster.tier-mode"]) == (6, "test")
    assert made.hot is not None
    assert made.hot.bricks == [f"10.0.0.{n}:/n/n01/glusterlab-{volume.name}/brick" for n in range(1, 7)]
    assert volume.differences(gluster.volumes(pool, "s1")[volume.name]) == []
    fake.untiered = {"s2", "s3"}
    found = health.look(pool, cluster, volume)
    assert reasons_of(found.health, cluster, volume) == [("tier-stopped", "s2"), ("tier-stopped", "s3")]
    assert b"promotedFiles" in found.files["tier.xml"]
    gluster.set_up(pool, cluster, volume, mark="x", note=said.append)
    assert said[-1] == f"started the tier daemon of volume {volume.name} on s2, s3"
    assert reasons_of(health.look(pool, cluster, volume).health, cluster, volume) == []
    moving = replace(volume, layout=tiered(options=(("cluster.tier-demote-frequency", "5"),)))
    assert (volume.settles_s, moving.settles_s) == (0.0, 15.0)
    gluster.wait_for_files(pool, volume, within_s=9.0)
    with pytest.raises(HostError, match="still move between its tiers"):
        gluster.wait_for_files(pool, moving, within_s=0.0)
    # a new release has none, and says so before it makes anything
    fake.release = "10.3"
    with pytest.raises(RefusedError, match=r"GlusterFS 10\.3 has no hot tiers"):
        gluster.set_up(pool, cluster, volume, mark="x", note=said.append, fresh=True)
    assert volume.name not in fake.volumes
    made.hot.bricks.reverse()
    fake.volumes[volume.name] = made
    with pytest.raises(HostError, match="expected bricks"):
        gluster.set_up(pool, cluster, volume, mark="x", note=said.append)


def test_features_are_turned_on_held_and_their_daemons_started_again(
    cluster: Cluster, fake: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, said = Pool(cluster.hosts, fake), list[str]()
    volume = Volume.of(layout(features=("bitrot", "quota")), cluster)
    assert volume.name != Volume.of(layout(), cluster).name
    gluster.set_up(pool, cluster, volume, mark="x", note=said.append)
    made = fake.volumes[volume.name]
    on = {"features.bitrot": "on", "features.quota": "on", "features.quota-deem-statfs": "off"}
    assert made.options.items() >= on.items()
    for words in ("scrub-throttle lazy", "limit-usage / 1PB"):
        assert len(fake.scripts("s1", words)) == 1
    assert f"turned on quota of volume {volume.name}" in said
    found = health.look(pool, cluster, volume).health
    assert reasons_of(found, cluster, volume) == []
    assert {feature: len(pids["s2"]) for feature, pids in found.features.items()} == {"bitrot": 2, "quota": 1}

    fake.daemonless = {"s2"}
    off = reasons_of(health.look(pool, cluster, volume).health, cluster, volume)
    assert off == [("feature-off", "s2")] * 2
    monkeypatch.setattr(gluster, "_DAEMONS_COME_S", 0.0)
    gluster.set_up(pool, cluster, volume, mark="x", note=said.append)
    # what is on is not turned on again, which gluster refuses
    assert said[-1] == f"started daemons of volume {volume.name} that did not run: bitrot on s2, quota on s2"
    assert len(fake.scripts("s1", f"bitrot {volume.name} enable")) == 1
    assert reasons_of(health.look(pool, cluster, volume).health, cluster, volume) == []
    made.options["features.quota"] = "off"
    found = health.look(pool, cluster, volume).health
    assert reasons_of(found, cluster, volume) == [("feature-off", None)]
    fake.release = "3.6.9"
    with pytest.raises(RefusedError, match=r"GlusterFS 3\.6\.9 has not bitrot and quota"):
        gluster.set_up(pool, cluster, volume, mark="x", note=said.append, fresh=True)


def test_a_volume_that_is_to_grow_is_one_of_its_own(cluster: Cluster) -> None:
    slow = ScaleParameters(scale=34, mount_options=("entry-timeout=34",))
    cluster = cluster.model_copy(update={"scale_models": {"small-file": slow}})
    plain = Volume.of(layout("replicate", subvolumes=1, replica=2), cluster, "small-file")
    volume = plain.to_grow(layout("replicate", subvolumes=2, replica=2), cluster)
    assert volume.name == f"{plain.name}-grows"
    # mounts are found by the volume's name, with which they begin
    assert volume.mount_point.rpartition("/")[2] == f"{volume.name}-small-file"
    assert volume.grown is not None
    assert (volume.grown.name, volume.grown.brick_names[:2]) == (volume.name, volume.brick_names)
    assert volume.add_words() == ("volume", "add-brick", volume.name, *volume.grown.brick_names[2:])
    assert plain.add_words() == ()


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


def test_a_volume_is_mounted_as_often_as_asked_and_all_mounts_are_looked_at(
    cluster: Cluster, fake: FakeTransport
) -> None:
    pool, volumes = Pool(cluster.hosts, fake), [Volume.of(layout(), cluster, mounts=number) for number in (1, 3, 2)]
    for volume in volumes:
        gluster.set_up(pool, cluster, volume, mark="x", note=lambda _: None)
        assert fake.mounted == dict.fromkeys(("c1", "c2"), "\n".join(volume.mount_points))
        assert health.look(pool, cluster, volume).health.mounts == {"c1": "ok", "c2": "ok"}
    assert len({*volumes[1].mount_points}) == 3
    # one of them is not there
    assert health.look(pool, cluster, volumes[1]).health.mounts == {"c1": "none", "c2": "none"}


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
    assert fake.mounted == {"c2": f"{cluster.mount_root}/theirs"}


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
