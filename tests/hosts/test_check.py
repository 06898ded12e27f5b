from dataclasses import replace
from pathlib import Path

import pytest

from glusterlab.cli.check import rows_of, show_check
from glusterlab.hosts import facts, lock
from glusterlab.hosts.check import check
from glusterlab.hosts.check.finding import CODES, OF_CLIENTS, OF_HOSTS, OF_POOL, OF_SERVERS, Finding
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import Outcome
from glusterlab.spec import Cluster
from glusterlab.spec.cluster import TestbedMark
from tests.fake_pool import FakeTransport, FakeVolume, write_part
from tests.hosts.conftest import Recorder
from tests.pools import pool_data


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    (tmp_path / "smallfile_cli.py").touch()
    keys = {"shared_dir": "/srv/shared", "smallfile": {"checkout": str(tmp_path)}}
    return Cluster.model_validate(pool_data(3, 2, backings={"jbod": {"bricks": ["/b/d01"], "kind": "jbod"}}, **keys))


def look(cluster: Cluster, fake: FakeTransport, *, baseline: bool = False) -> list[Finding]:
    return check(cluster, pool=Pool(cluster.hosts, fake), baseline=baseline)


def wrong(findings: list[Finding]) -> set[tuple[str | None, str, str]]:
    return {
        (finding.host, finding.level, finding.code) for finding in findings if finding.level in ("error", "warning")
    }


def test_a_healthy_cluster_is_fit(cluster: Cluster, fake: FakeTransport) -> None:
    # clients may lack packages that servers have: their GlusterFS is another build
    servers, clients = (
        {"interface_speed": speed, "gluster_digest": digest} for speed, digest in (("20000", "1f"), ("10000", "2e"))
    )
    fake.facts = {host.name: servers if host in cluster.servers else clients for host in cluster.hosts}
    findings = look(cluster, fake)
    assert "GlusterFS 10.3 on all hosts" in {finding.message for finding in findings}
    assert wrong(findings) == {(None, "warning", "checkouts")}  # the test's checkout is no git repository
    only_when_wrong = {"answers", "in-use", "stale-owner", "clock-sync", "leftover-mount", "selinux", "checkouts"}
    assert {finding.code for finding in findings if finding.level == "ok"} == CODES.keys() - only_when_wrong


def test_a_host_that_is_away_is_named_and_the_others_are_looked_at(cluster: Cluster, fake: FakeTransport) -> None:
    fake.down = {"s2", "c1"}
    fake.clock_offset_s = {"c2": 5.0}
    findings = look(cluster, fake)
    found = wrong(findings)
    assert {("s2", "error", "reachable"), ("c1", "error", "reachable"), ("c2", "error", "clock")} <= found
    assert any("10.0.0.2" in finding.message for finding in findings if finding.host == "s2")
    of_s2 = {finding.code for finding in findings if finding.host == "s2" and finding.level == "not examined"}
    assert {"root", "tools", "bricks", "leftover-brick"} <= of_s2
    pool_wide = {finding.code: finding.level for finding in findings if finding.host is None}
    assert {code for code in pool_wide if pool_wide[code] == "not examined"} == {
        *("versions", "mtu", "access", "ssh-between-clients", "shared-dir")
    }


@pytest.mark.parametrize("away", [("s1", "s2", "s3", "c1", "c2"), ("s1",), ("c1",)], ids=" ".join)
def test_what_was_not_examined_is_not_called_fine(
    cluster: Cluster, fake: FakeTransport, capsys: pytest.CaptureFixture[str], away: tuple[str, ...]
) -> None:
    fake.down = set(away)
    fake.answers = {("s2", "gl_disks"): "brick_dir /b/d01/glusterlab-old\n"}
    findings = look(cluster, fake)
    show_check(findings, as_json=False)
    text = capsys.readouterr().out
    fine = {finding.code for finding in findings if finding.level == "ok" and finding.host in (None, *away)}
    of_clients = {"ssh-between-clients", "shared-dir"}
    every = {*OF_HOSTS, *OF_SERVERS, *OF_CLIENTS, *OF_POOL} - {"checkouts"} - (set() if "c1" in away else of_clients)
    assert not fine & (every if "s1" in away else {*of_clients, "versions", "mtu"})
    assert ("peer probe" in text, "remove them when" in text) == (False, "s1" not in away)
    if len(away) == 5:
        assert "inspected and fine" not in text
        of_pool = {finding.code for finding in findings if finding.host is None and finding.level == "not examined"}
        assert of_pool == {*OF_POOL} - {"checkouts", "leftover-brick"}
    names = {"s1": "s1", "c1": "c1"}.get(away[0]) if len(away) == 1 else "c[1-2],s[1-3]"
    assert f"not examined on {names}: " in text


@pytest.mark.parametrize(
    ("answers", "host", "code"),
    [
        ({("s2", "gl_interface"): "unexamined link-address ip is not installed\n"}, "s2", "link-address"),
        ({("s2", "gl_disks"): "unexamined disk-health smartctl is not installed\n"}, "s2", "disk-health"),
        ({("s1", "gl_pending"): "unread /b/d01/brick\n"}, None, "heal"),
        ({}, "s2", "link"),
        ({}, "s3", "disk-health"),
    ],
)
def test_what_a_host_does_not_tell_is_not_examined(
    cluster: Cluster, fake: FakeTransport, answers: dict[tuple[str, str], str], host: str | None, code: str
) -> None:
    fake.answers, fake.volumes = answers, {"v": FakeVolume("Distribute", ["s1:/b/d01/brick"], started=True)}
    fake.facts = {"s3": {"disk sdb": "missing"}}
    levels = {finding.level for finding in look(cluster, fake) if (finding.host, finding.code) == (host, code)}
    assert levels == {"not examined"}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("the host key of 10.0.0.2 port 22 is not in known_hosts: ...", "host-key"),
        ("10.0.0.2 port 22 refused the login as 'root': Authentication failed.", "login"),
        ("not reachable at 10.0.0.2 port 22: no answer within 10 s", "reachable"),
    ],
)
def test_why_a_host_cannot_be_connected_has_a_code(cluster: Cluster, fake: Recorder, message: str, code: str) -> None:
    fake.refused = {"s2": message}
    assert ("s2", "error", code) in wrong(look(cluster, fake))


def test_lines_of_known_hosts_that_are_not_read_are_said(cluster: Cluster, fake: FakeTransport) -> None:
    fake.unread = ["/root/.ssh/known_hosts line 7 (its key is damaged)"]
    assert any(each.level == "warning" and fake.unread[0] in each.message for each in look(cluster, fake))


def test_keys_that_are_not_checked_are_said(cluster: Cluster, fake: FakeTransport) -> None:
    unchecked = cluster.ssh.model_copy(update={"check_host_keys": False})
    assert (None, "warning", "host-key") in wrong(look(cluster.model_copy(update={"ssh": unchecked}), fake))


@pytest.mark.parametrize(
    ("facts_of", "found"),
    [
        ({"s2": {"tool gluster": "glusterfs 11.1"}}, {(None, "error", "versions")}),
        ({"c2": {"tool fio": "fio-3.39"}}, {(None, "warning", "versions")}),
        ({"s1": {"gluster_digest": "1f"}, "s2": {"gluster_digest": "2e"}}, {(None, "warning", "versions")}),
        ({"s2": {"kernel": "6.12"}}, {(None, "warning", "versions")}),
        ({"s2": {"tool sysstat": ""}}, {("s2", "error", "tools")}),
        ({"s2": {"tool xz": "", "tool python3": ""}}, {("s2", "error", "tools")}),
        ({"s2": {"disk sdb": "missing"}}, {("s2", "error", "disks")}),
        ({"s2": {"interface_operstate": ""}}, {("s2", "error", "link")}),
        ({"s2": {"interface_operstate": "down"}}, {("s2", "error", "link")}),
        ({"s2": {"interface_speed": "10000"}}, {("s2", "warning", "link")}),
        (
            {"s1": {"interface_speed": "20000"}, "s2": {"interface_speed": "10000"}},
            {(None, "warning", "link"), ("s2", "warning", "link")},
        ),
        ({"s2": {"interface_mtu": "9000"}}, {(None, "error", "mtu")}),
        ({"s2": {"tuned_profile": ""}}, {("s2", "warning", "tuned")}),
        ({"s2": {"tuned_profile": "balanced"}}, {("s2", "warning", "tuned")}),
        ({"s2": {"tuned_profile": "rhgs-random-io"}}, {(None, "warning", "tuned")}),
        (
            {"c2": {"fuse": "", "tool iozone": "", "tool python3": ""}},
            {("c2", "error", "fuse"), ("c2", "error", "tools")},
        ),
    ],
)
def test_facts_that_do_not_fit_are_found(
    cluster: Cluster, fake: FakeTransport, facts_of: dict[str, dict[str, str]], found: set[tuple[str, str, str]]
) -> None:
    fake.facts = facts_of
    assert found <= wrong(look(cluster, fake))


def test_a_testbeds_guests_have_another_kernel(cluster: Cluster, fake: FakeTransport) -> None:
    fake.facts = {"c2": {"kernel": "6.12"}}
    testbed = TestbedMark(name="small", state="/nonexistent")
    assert (None, "warning", "versions") not in wrong(look(cluster.model_copy(update={"testbed": testbed}), fake))


def test_a_baseline_needs_more_tools(cluster: Cluster, fake: FakeTransport) -> None:
    fake.facts = {"s2": {"tool iozone": ""}, "c1": {"tool iperf3": ""}}
    needed = {("s2", "error", "tools"), ("c1", "error", "tools")}
    assert not needed & wrong(look(cluster, fake))
    assert needed <= wrong(look(cluster, fake, baseline=True))


def test_the_state_of_hosts_and_pool_is_looked_at(cluster: Cluster, fake: FakeTransport) -> None:
    fake.clock_offset_s = {"c1": 3.0}
    fake.strays = {"c2": ["iozone -i 0"]}
    fake.disconnected = {"s3"}
    fake.volumes["theirs"] = FakeVolume("Distribute", ["10.0.0.1:/data/brick"], started=True)
    ours = "10.0.0.2:/b/d01/glusterlab-ours/brick"
    fake.volumes["ours"] = FakeVolume("Distribute", [ours], started=True)
    fake.offline = {ours}
    fake.answers = {("s2", "gl_pending"): "heal 3 /b/d01/glusterlab-ours/brick\nheal 2 /x\n"}
    findings = look(cluster, fake)
    assert {
        ("c1", "error", "clock"),
        ("c2", "error", "stray-process"),
        ("s3", "error", "peers"),
        (None, "warning", "volumes"),
        (None, "warning", "leftover-volume"),
        (None, "error", "brick-offline"),
        ("s2", "error", "heal"),
    } <= wrong(findings)
    assert next(finding for finding in findings if finding.code == "heal").message.startswith("5 entries")


def test_a_rebalance_is_found(cluster: Cluster, fake: FakeTransport) -> None:
    fake.volumes["ours"] = FakeVolume("Distribute", ["10.0.0.2:/b/d01/glusterlab-ours/brick"], started=True)
    running = (
        b"<cliOutput><opRet>0</opRet><volStatus><volumes><volume><tasks><task><statusStr>in progress</statusStr></task>"
        b"</tasks></volume></volumes></volStatus></cliOutput>"
    )
    report = write_part("pending", b"") + write_part("status-0", running)
    fake.hooks.append(lambda host, text: Outcome(report, b"", 0) if host == "s1" and "status-0" in text else None)
    assert (None, "error", "rebalance") in wrong(look(cluster, fake))


@pytest.mark.parametrize(
    ("host", "function", "output", "level", "code"),
    [
        ("c2", "gl_check", "uid 1000\nload 0.1", "error", "root"),
        ("c2", "gl_check", "uid 0\nload 0.1\nmissing base64", "error", "tools"),
        ("c2", "gl_check", "uid 0\nload 0.1\nunresolved c1", "error", "names"),
        ("c2", "gl_check", "uid 0\nload 0.1\nrefused /var/tmp/glusterlab is there already", "error", "work-dir"),
        ("c2", "gl_check", "uid 0\nload 0.1\nreadonly /", "error", "work-dir"),
        ("c2", "gl_check", "uid 0\nload 0.1\nwork_free 1000", "warning", "space"),
        ("c2", "gl_check", "uid 0\nload 0.1", "warning", "space"),
        ("c2", "gl_check", "uid 0\nload 0.1\nwork_free -", "warning", "space"),
        ("c2", "gl_check", "uid 0\nwork_free 1000000000000", "warning", "load"),
        ("c2", "gl_check", "uid 0\nload -\nwork_free nan", "warning", "space"),
        ("c2", "gl_check", "uid 0\nload 0.1\nntp no", "warning", "clock-sync"),
        ("c2", "gl_check", "uid 0\nload 0.1", "error", "fuse"),
        ("c2", "gl_check", "uid 0\nload 0.1\nhung s1:/v at /mnt/glusterlab/v", "error", "leftover-mount"),
        ("c2", "gl_check", "uid 0\nload 0.1\nmounted s1:/v at /mnt/glusterlab/v", "warning", "leftover-mount"),
        ("c2", "gl_check", "uid 0\nload 0.1\nfirewall nftables", "warning", "firewall"),
        ("c2", "gl_ports", "closed 10.0.0.2", "error", "firewall"),
        ("c2", "gl_check", "uid 0\nload 7", "warning", "load"),
        ("c2", "gl_interface", "duplex half", "error", "link"),
        ("c2", "gl_interface", "slave eth0 up\nslave eth1 down", "warning", "link"),
        ("c2", "gl_interface", "elsewhere c2", "warning", "link-address"),
        ("c2", "gl_sadc", "missing sadc", "error", "tools"),
        ("c2", "gl_drop_caches", "drop 5 5", "error", "caches"),
        ("c2", "gl_drop_caches", "garbage", "error", "answers"),
        ("s2", "gl_check", "uid 0\nload 0.1\nselinux enforcing", "warning", "selinux"),
        ("s2", "gl_disks", "below /b/d01 dm-0 sdc", "warning", "disks"),
        ("s2", "gl_disks", "disk_readonly sdb", "error", "disk-health"),
        ("s2", "gl_disks", "disk_state sdb offline", "error", "disk-health"),
        ("s2", "gl_disks", "degraded md0 1", "error", "disk-health"),
        ("s2", "gl_disks", "syncing md0 resync", "warning", "disk-health"),
        ("s2", "gl_disks", "smart sdb FAILED!", "error", "disk-health"),
        ("s2", "gl_disks", "unreadable /b/d01 Input/output error", "error", "bricks"),
        ("s2", "gl_disks", "brick_dir /b/d01/glusterlab-gone", "warning", "leftover-brick"),
        ("s2", "gl_filesystems", "fs /b/d01 none", "error", "bricks"),
        ("s2", "gl_filesystems", "fs /b/d01 /dev/sdb xfs ro,noatime 4000000000 3000000000", "error", "bricks"),
        ("s2", "gl_filesystems", "fs /b/d01 /dev/sdb ext4 rw 4000000000 3000000000", "warning", "bricks"),
        ("s2", "gl_filesystems", "fs /b/d01 /dev/sdb xfs rw 4000000000 300", "warning", "space"),
        ("s2", "gl_filesystems", "fs /b/d01 /dev/sdb xfs rw 4000000000 -", "warning", "space"),
    ],
)
def test_single_answers(
    cluster: Cluster, fake: FakeTransport, host: str, function: str, output: str, level: str, code: str
) -> None:
    fake.answers = {(host, function): output}
    assert (host, level, code) in wrong(look(cluster, fake))


def test_a_fio_without_the_engine_is_told_with_what_needs_it(cluster: Cluster, fake: FakeTransport) -> None:
    # the host reports a version, or none
    fake.facts["c2"] = {"tool fio-gfapi": " "}
    (found,) = [finding for finding in look(cluster, fake) if "fio-gfapi" in finding.message]
    assert (found.host, found.level, found.code) == ("c2", "warning", "tools")
    assert found.message == "has no fio-gfapi, which fio needs for access gfapi"


def test_what_hosts_cannot_do_of_the_stated_accesses_is_found(cluster: Cluster, fake: FakeTransport) -> None:
    stated = {"access": {"smb": {}}, "existing": {"path": "/mnt/x"}}
    changed = Cluster.model_validate(cluster.model_dump(mode="json", exclude_none=True) | stated)
    fake.answers = {
        ("s1", "gl_accesses"): "foreign smbd, process 7 on port 445\n",
        ("c1", "gl_accesses"): "refused_existing expected a directory at /mnt/x\n",
        ("c2", "gl_access_facts"): "access_server\naccess_client nfs\n",
    }
    found = {(each.host, each.level): each.message for each in look(changed, fake) if each.code == "access"}
    assert found["s1", "warning"] == "smbd, process 7 on port 445 is not the suite's"
    assert found["c1", "error"] == "expected a directory at /mnt/x"
    assert "c2 has no SMB client" in found[None, "warning"]


def test_busy_processes_are_named_where_the_load_is_high(cluster: Cluster, fake: FakeTransport) -> None:
    fake.answers = {("c2", "gl_check"): "uid 0\nload 7", ("c2", "gl_busy"): "busy 99 4711 tracker extract"}
    found = next(finding for finding in look(cluster, fake) if (finding.host, finding.code) == ("c2", "load"))
    assert "tracker extract (99 % of a CPU, process 4711)" in found.message


def test_a_directory_of_a_volume_that_the_pool_has_is_no_leftover(cluster: Cluster, fake: FakeTransport) -> None:
    fake.volumes["ours"] = FakeVolume("Distribute", ["10.0.0.2:/b/d01/glusterlab-ours/brick"])
    fake.answers = {("s2", "gl_disks"): "brick_dir /b/d01/glusterlab-ours"}
    assert wrong(look(cluster, fake)) == {(None, "warning", "checkouts")}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Host key verification failed.", "does not know its host key"),
        ("root@c2: Permission denied (publickey).", "without a password"),
        ("ssh: connect to host c2 port 22: No route to host", "cannot reach it by ssh"),
    ],
)
def test_clients_reach_each_other_and_share(cluster: Cluster, fake: FakeTransport, said: str, words: str) -> None:
    fake.answers = {("c1", "gl_ssh_reach"): f"unreached c2 {said}\n"}
    blind = Outcome(b"", b"", 1)
    fake.hooks.append(lambda host, text: blind if text.startswith("[ -e ") and host == "c2" else None)
    findings = look(cluster, fake)
    assert {("c2", "error", "ssh-between-clients"), ("c2", "error", "shared-dir")} <= wrong(findings)
    assert any(words in finding.message for finding in findings if finding.code == "ssh-between-clients")


def test_a_cluster_that_a_run_has_is_left_alone(cluster: Cluster, fake: FakeTransport) -> None:
    pool = Pool(cluster.hosts, fake)
    owner = lock.claim(pool, cluster, "night").owner
    findings = look(cluster, fake)
    assert wrong(findings) == {(host.name, "error", "in-use") for host in cluster.hosts}
    assert "in use by campaign 'night'" in findings[0].message
    assert not any("gl_drop_caches" in text or "gl_gluster" in text for _, text in fake.calls)
    # the run is gone, its lock and a process of it are not
    fake.files = dict.fromkeys(fake.files, owner.text.replace(owner.started, "another start"))
    fake.strays = {"s1": ["sadc 2 60 /var/tmp/glusterlab/telemetry/sar"]}
    found = wrong(look(cluster, fake))
    assert {("s1", "warning", "stale-owner"), ("s1", "warning", "stray-process")} <= found
    assert not {each for each in found if each[1] == "error"}
    fake.files.clear()
    assert {"in-use", "stale-owner"}.isdisjoint(code for _, _, code in wrong(look(cluster, fake)))


def test_what_many_hosts_share_is_one_row() -> None:
    shared = [Finding(f"gl-c{n:03d}", "error", "tools", "has no iozone", "install it") for n in range(1, 129)]
    other = Finding("gl-s01", "warning", "load", "load 9", "wait")
    alone = Finding(None, "ok", "peers", "6 servers")
    assert [tuple(row.values()) for row in rows_of([other, *shared, alone])] == [
        ("error", "gl-c[001-128] (128)", "has no iozone", "install it"),
        ("warning", "gl-s01", "load 9", "wait"),
    ]


def test_the_report_says_the_verdict_what_to_do_and_what_is_fine(capsys: pytest.CaptureFixture[str]) -> None:
    fine = Finding("a1", "ok", "clock", CODES["clock"])
    told = Finding(None, "ok", "versions", "GlusterFS 3.8.4 on all hosts")
    wrong = Finding("a2", "error", "caches", "not dropped", "look")
    show_check(
        [fine, told, wrong, Finding("a1", "ok", "caches", "dropped"), replace(wrong, level="warning")], as_json=False
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "error    a2    not dropped  look"
    assert lines[-2:] == [
        f"inspected and fine: clock, versions ({told.message})",
        "not fit to measure: 1 error, 1 warning",
    ]
    show_check([fine], as_json=False)
    assert capsys.readouterr().out == "inspected and fine: clock\nfit to measure: 0 errors, 0 warnings\n"


def test_facts_are_read_into_units() -> None:
    read = facts.read_facts(
        "hostname gl-s01\ncpus 8\nmemory_bytes 64000000000\ninterface_speed 10000\ninterface_mtu 9000\n"
        "tool gluster glusterfs 10.3\ntool ssh OpenSSH_9.2p1 Debian\nsysctl net.ipv4.tcp_rmem 4096 131072 6291456\n"
        "disk sdb 7814037168 1 mq-deadline 128 ST4000NM0033 Rev 2\ndisk sdc missing\n"
        "fs /b/d01 /dev/sdb xfs rw,noatime 4000 3000\nfs /b/d02 none\n"
    )
    assert read["interface_speed_bytes_per_s"] == 1.25e9
    assert read["tools"] == {"gluster": "10.3", "ssh": "9.2p1"}
    assert read["sysctls"] == {"net.ipv4.tcp_rmem": "4096 131072 6291456"}
    disk = read["disks"].pop("sdb")
    assert (disk["size_bytes"], disk["model"]) == (7814037168 * 512, "ST4000NM0033 Rev 2")
    assert read["disks"] == {"sdc": {"missing": True}}
    assert read["filesystems"]["/b/d01"]["free_bytes"] == 3000
    assert read["filesystems"]["/b/d02"] == {"mounted": False}
    assert facts.read_facts("interface_speed -1")["interface_speed_bytes_per_s"] is None


def test_the_environment_names_every_host_and_the_controller(cluster: Cluster, fake: FakeTransport) -> None:
    environment = facts.environment(Pool(cluster.hosts, fake), cluster)
    roles = {"s1": "server", "s2": "server", "s3": "server", "c1": "client", "c2": "client"}
    assert {name: host["role"] for name, host in environment["hosts"].items()} == roles
    assert environment["controller"]["glusterlab_version"]
