from __future__ import annotations

from pathlib import Path

import pytest

from glusterlab.errors import UsageError
from glusterlab.hosts import facts, workdir
from glusterlab.hosts.check import Finding, check
from glusterlab.hosts.connection import Pool
from glusterlab.hosts.fake import FakeTransport, FakeVolume
from glusterlab.hosts.transport import Outcome
from glusterlab.spec import Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    (tmp_path / "smallfile_cli.py").touch()
    return Cluster.model_validate(
        {
            "schema_version": 1,
            "name": "pool",
            "servers": [{"name": f"s{n}", "address": f"10.0.0.{n}", "devices": ["sdb"]} for n in (1, 2, 3)],
            "clients": [{"name": "c1"}, {"name": "c2"}],
            "hardware": {
                "disks_per_server": 1,
                "disk_write": "205 MB/s",
                "disk_read": "212 MB/s",
                "server_link": "20 Gbit/s",
                "client_link": "10 Gbit/s",
            },
            "backings": {"jbod": {"bricks": ["/b/d01"], "kind": "jbod"}},
            "shared_dir": "/srv/shared",
            "smallfile": {"checkout": str(tmp_path)},
        }
    )


@pytest.fixture
def fake(cluster: Cluster) -> FakeTransport:
    return FakeTransport(cluster)


def look(cluster: Cluster, fake: FakeTransport) -> list[Finding]:
    return check(cluster, pool=Pool(cluster.hosts, fake))


def wrong(findings: list[Finding]) -> set[tuple[str | None, str, str]]:
    return {(finding.host, finding.level, finding.code) for finding in findings if finding.level != "ok"}


def test_a_healthy_cluster_is_fit(cluster: Cluster, fake: FakeTransport) -> None:
    findings = look(cluster, fake)
    assert wrong(findings) == {(None, "warning", "smallfile")}  # the test's checkout is no git repository
    codes = {finding.code for finding in findings if finding.level == "ok"}
    assert codes == {"reachable", "clock", "caches", "bricks", "versions", "peers"}


def test_a_host_that_is_away_is_named_and_nothing_else_is_looked_at(cluster: Cluster, fake: FakeTransport) -> None:
    fake.down = {"s2"}
    findings = look(cluster, fake)
    assert wrong(findings) == {("s2", "error", "reachable")}
    assert "10.0.0.2" in findings[0].message


@pytest.mark.parametrize(
    ("facts_of", "host", "level", "code"),
    [
        ({"tool gluster": "glusterfs 11.1"}, None, "error", "versions"),
        ({"kernel": "6.12"}, None, "warning", "versions"),
        ({"tool sysstat": ""}, "s2", "error", "tools"),
        ({"disk sdb": "missing"}, "s2", "error", "disks"),
        ({"interface_operstate": ""}, "s2", "error", "link"),
        ({"interface_speed": "10000"}, "s2", "warning", "link"),
        ({"work_dir_free_bytes": "1000"}, "s2", "warning", "space"),
    ],
)
def test_facts_that_do_not_fit_are_found(
    cluster: Cluster, fake: FakeTransport, facts_of: dict[str, str], host: str | None, level: str, code: str
) -> None:
    fake.facts = {"s2": facts_of}
    assert (host, level, code) in wrong(look(cluster, fake))


def test_clients_need_fuse_and_their_tools(cluster: Cluster, fake: FakeTransport) -> None:
    fake.facts = {"c2": {"fuse": "", "tool iozone": "", "tool python3": ""}}
    found = {(host, code) for host, _, code in wrong(look(cluster, fake))}
    assert {("c2", "fuse"), ("c2", "tools")} <= found


def test_the_state_of_hosts_and_pool_is_looked_at(cluster: Cluster, fake: FakeTransport) -> None:
    fake.clock_offset_s = {"c1": 3.0}
    fake.strays = {"c2": ["iozone -i 0"]}
    fake.disconnected = {"s3"}
    fake.volumes["theirs"] = FakeVolume("Distribute", ["10.0.0.1:/data/brick"], started=True)
    found = wrong(look(cluster, fake))
    assert ("c1", "error", "clock") in found
    assert ("c2", "error", "stray-process") in found
    assert ("s3", "error", "peers") in found
    assert (None, "warning", "volumes") in found


@pytest.mark.parametrize(
    ("function", "output", "code"),
    [
        ("gl_check", "uid 1000\nload 0.1", "root"),
        ("gl_check", "uid 0\nload 0.1\nmissing base64", "tools"),
        ("gl_check", "uid 0\nload 0.1\nunresolved c1", "names"),
        ("gl_check", "uid 0\nload 0.1\nforeign /var/tmp/glusterlab", "work-dir"),
        ("gl_check", "uid 0\nload 7", "load"),
        ("gl_drop_caches", "drop 5 5", "caches"),
        ("gl_drop_caches", "garbage", "answers"),
    ],
)
def test_single_answers(cluster: Cluster, fake: FakeTransport, function: str, output: str, code: str) -> None:
    fake.answers = {("c2", function): output}
    assert ("c2", code) in {(host, found) for host, _, found in wrong(look(cluster, fake))}


def test_clients_must_reach_each_other_and_share_the_directory(cluster: Cluster, fake: FakeTransport) -> None:
    def blind(host: str, text: str) -> Outcome | None:
        return Outcome(b"", b"", 1) if text.startswith("[ -e ") and host == "c2" else None

    fake.answers = {("c1", "gl_ssh_reach"): "unreached c2\n"}
    fake.hooks.append(blind)
    found = wrong(look(cluster, fake))
    assert ("c2", "error", "ssh-between-clients") in found
    assert ("c2", "error", "shared-dir") in found


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_cluster_that_a_run_has_is_left_alone(cluster: Cluster, fake: FakeTransport, elsewhere: bool) -> None:
    workdir.claim(Pool(cluster.hosts, fake), cluster, "night")
    if elsewhere:
        text = '{"campaign": "night", "controller": "another-machine", "pid": 1, "started": "x"}'
        fake.files["s1", "/var/tmp/glusterlab/owner.json"] = text
        fake.strays = {"c1": ["iozone -i 0"]}
    findings = look(cluster, fake)
    assert wrong(findings) == {(None, "error", "in-use")}
    assert "in use by campaign 'night'" in findings[0].message
    assert not any("gl_drop_caches" in text or "gl_gluster" in text for _, text in fake.calls)
    workdir.release(Pool(cluster.hosts, fake), cluster)
    fake.strays = {}
    assert "in-use" not in {code for _, _, code in wrong(look(cluster, fake))}


def test_facts_are_read_into_units() -> None:
    text = (
        "hostname gl-s01\ncpus 8\nmemory_bytes 64000000000\ninterface_speed 10000\ninterface_mtu 9000\n"
        "tool gluster glusterfs 10.3\ntool ssh OpenSSH_9.2p1 Debian\nsysctl net.ipv4.tcp_rmem 4096 131072 6291456\n"
        "disk sdb 7814037168 1 mq-deadline 128 ST4000NM0033 Rev 2\ndisk sdc missing\n"
        "fs /b/d01 /dev/sdb xfs rw,noatime 4000 3000\nfs /b/d02 none\n"
    )
    read = facts.read_facts(text)
    assert read["interface_speed_bytes_per_s"] == 1.25e9
    assert read["tools"] == {"gluster": "10.3", "ssh": "9.2p1"}
    assert read["sysctls"] == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}
    assert read["disks"]["sdb"]["size_bytes"] == 7814037168 * 512
    assert read["disks"]["sdb"]["model"] == "ST4000NM0033 Rev 2"
    assert read["disks"]["sdc"] == {"missing": True}
    assert read["filesystems"]["/b/d01"]["free_bytes"] == 3000
    assert read["filesystems"]["/b/d02"] == {"mounted": False}
    assert facts.read_facts("interface_speed -1")["interface_speed_bytes_per_s"] is None


def test_the_environment_names_every_host_and_the_controller(cluster: Cluster, fake: FakeTransport) -> None:
    environment = facts.environment(Pool(cluster.hosts, fake), cluster, None)
    assert {name: host["role"] for name, host in environment["hosts"].items()} == {
        "s1": "server",
        "s2": "server",
        "s3": "server",
        "c1": "client",
        "c2": "client",
    }
    assert environment["controller"]["glusterlab_version"]


def test_a_cluster_is_claimed_by_one_run_at_a_time(cluster: Cluster, fake: FakeTransport) -> None:
    pool = Pool(cluster.hosts, fake)
    assert workdir.claim(pool, cluster, "night") == []
    assert workdir.claim(pool, cluster, "night") == []
    path = ("s1", "/var/tmp/glusterlab/owner.json")
    mine = fake.files[path]
    for text in (mine.replace('"night"', '"other"'), "damage"):
        fake.files[path] = text
        if text == "damage":
            workdir.claim(pool, cluster, "night")
            continue
        with pytest.raises(UsageError, match="in use by campaign 'other'"):
            workdir.claim(pool, cluster, "night")
    elsewhere = '{"campaign": "far", "controller": "another-machine", "pid": 1, "started": "x"}'
    fake.files[path] = elsewhere
    workdir.claim(pool, cluster, "night")
    fake.files[path] = elsewhere
    fake.strays = {"c1": ["iozone"]}
    with pytest.raises(UsageError, match=r"process 1 on another-machine \(c1 runs"):
        workdir.claim(pool, cluster, "night")
    workdir.release(pool, cluster)
    assert path not in fake.files
