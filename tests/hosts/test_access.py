"""NFS, SMB and directories of the operator's: what is started, mounted and verified, and what is no longer so."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glusterlab.errors import VolumeError
from glusterlab.hosts import access, health, script
from glusterlab.hosts.gluster import Volume
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import Outcome
from glusterlab.spec import Cell, Cluster
from glusterlab.spec.cell import Layout
from glusterlab.spec.cluster import REAL_HARDWARE
from glusterlab.store.records import Health, Mounted
from tests.fake_pool import FakeTransport
from tests.hosts.shell import bash, call, is_running
from tests.pools import pool_data

pytestmark = pytest.mark.security

NFS = "mounted 0:24 nfs {} rw,vers=3,nolock,proto=tcp,mountproto=tcp\n"
Make = Callable[..., Volume]


@pytest.fixture
def cluster() -> Cluster:
    settings = {"nfs3": {"options": ["hard", "proto=tcp"], "addresses": {"s2": "10.0.0.102"}}}
    return Cluster.model_validate(pool_data(2, 3, access=settings, existing={"path": "/mnt/x"}))


@pytest.fixture
def make(cluster: Cluster) -> Make:
    def volume(name: str, **options: str) -> Volume:
        kind: dict[str, Any] = {"type": "other"} if name == "existing" else {"type": "replicate", "replica": 2}
        layout = Layout(name="mirror", subvolumes=1, backing="jbod", options=tuple(options.items()), **kind)
        size = {"file_size_bytes": 1, "nominal_file_size_bytes": 1}
        facts = {"tool": "iozone", "operation": "write", "workers": 1, "model": REAL_HARDWARE, **size}
        return access.volume_of(Cell.model_validate({"layout": layout, "access": name, **facts}), cluster)

    return volume


def set_up(cluster: Cluster, fake: FakeTransport, volume: Volume) -> None:
    access.set_up(Pool(cluster.hosts, fake), cluster, volume, mark="test", note=print)


def test_clients_mount_from_servers_in_turn_with_the_stated_options(
    cluster: Cluster, fake: FakeTransport, make: Make
) -> None:
    volume = make("nfs3")
    sources = {name: access.source_of(cluster, volume, name) for name in ("c1", "c2", "c3")}
    assert list(sources.values()) == [f"{at}:/{volume.name}" for at in ("10.0.0.1", "10.0.0.102", "10.0.0.1")]
    fake.answers |= {(name, "gl_mounted_below"): NFS.format(source) for name, source in sources.items()}
    set_up(cluster, fake, volume)
    [text] = fake.scripts("c2", "gl_mount_served")
    options = "vers=3,nolock,proto=tcp,mountproto=tcp,hard,retry=0"
    words = ("nfs", sources["c2"], f"/mnt/glusterlab/{volume.name}-nfs3", options)
    assert text == script.call("gl_mount_served", "/var/tmp/glusterlab/access", "test", *words)
    assert all("ganesha.nfsd" in fake.scripts(name, "gl_serve ")[0] for name in ("s1", "s2"))
    assert not fake.scripts("c1", "gl_mount ")
    # what was set up before is taken away first, mounts before their servers
    order = [text.split(" ")[0] for name, text in fake.calls if name in ("c1", "s1")]
    assert order[:2] == ["gl_unmount_served", "gl_unserve"]


@pytest.mark.parametrize(("options", "served_by"), [({}, "gnfs"), ({"nfs.disable": "on"}, "ganesha.nfsd")])
def test_of_two_servers_of_nfs_a_volume_has_gnfs_unless_that_is_off(
    cluster: Cluster, fake: FakeTransport, make: Make, options: dict[str, str], served_by: str
) -> None:
    volume = make("nfs3", **options)
    fake.answers |= {(server, "gl_access_facts"): "access_server gnfs ganesha.nfsd\n" for server in ("s1", "s2")}
    for name in ("c1", "c2", "c3"):
        fake.answers[name, "gl_mounted_below"] = NFS.format(access.source_of(cluster, volume, name))
    set_up(cluster, fake, volume)
    assert all(f" {served_by} " in fake.scripts(name, "gl_serve ")[0] for name in ("s1", "s2"))
    assert fake.volumes[volume.name].options.get("nfs.disable") == ("off" if served_by == "gnfs" else "on")


@pytest.mark.parametrize(("said", "code", "asked"), [("No such file or directory", 0, 3), ("access denied", 1, 1)])
def test_a_volume_that_is_not_there_yet_is_asked_for_again(tmp_path: Path, said: str, code: int, asked: int) -> None:
    server = f'timeout() {{ echo $4 >>log; [ "$(wc -l <log)" -eq 3 ] || {{ echo "{said}" >&2; return 32; }}; }}\n'
    mount = script.call("gl_mount_served", tmp_path / "access", "test", "nfs", "s1:/v", tmp_path / "point", "vers=3")
    done = bash(f"cd {tmp_path}\n{server}gl_mount_state() {{ echo mount ok; }}\n{mount}", access.SHELL)
    assert (done.returncode, said in done.stderr) == (code, code == 1)
    assert (tmp_path / "log").read_text() == "mount\n" * asked


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("mounted 0:24 nfs4 10.0.0.1:/{} rw,vers=4.2\n", "as nfs4"),
        ("mounted 0:24 nfs 10.0.0.9:/{} rw,vers=3\n", "found 10.0.0.9:/"),
        ("mounted 0:24 nfs 10.0.0.1:/{} rw,vers=3,proto=udp\n", "found proto=udp"),
    ],
)
def test_a_mount_that_is_not_what_was_asked_for_is_refused(
    cluster: Cluster, fake: FakeTransport, make: Make, found: str, words: str
) -> None:
    volume = make("nfs3")
    text = NFS.replace("{}", "{}:/" + volume.name)
    fake.answers |= {
        (name, "gl_mounted_below"): text.format(at) for name, at in (("c2", "10.0.0.102"), ("c3", "10.0.0.1"))
    }
    fake.answers["c1", "gl_mounted_below"] = found.format(volume.name)
    with pytest.raises(VolumeError, match=words):
        set_up(cluster, fake, volume)


def test_an_existing_directory_needs_no_volume_and_is_looked_at_on_every_client(
    cluster: Cluster, fake: FakeTransport, make: Make
) -> None:
    fake.answers |= {(name, "gl_mounted_below"): "mounted 8:1 xfs /dev/sda1 rw\n" for name in ("c1", "c2", "c3")}
    fake.answers |= {(name, "gl_answers"): "mount ok\n" for name in ("c1", "c2", "c3")}
    set_up(cluster, fake, make("existing"))
    assert fake.scripts("c3", "gl_sees_mark /mnt/x/glusterlab")
    assert not fake.volumes
    found = health.look(Pool(cluster.hosts, fake), cluster, make("existing"), drop=True)
    assert (found.problems, found.health.bricks, found.health.mounts["c3"]) == ([], [], "ok")
    assert found.health.mounted["c2"] == Mounted(device="8:1", type="xfs", source="/dev/sda1", options="rw")
    access.stop_all(Pool(cluster.hosts, fake), cluster, note=print)
    assert fake.scripts("c1", "gl_remove_dir /mnt/x/glusterlab")
    # a mount that hangs at the end takes no finished campaign away
    fake.hooks.append(lambda _, text: Outcome(b"", b"does not answer", 1) if "gl_remove_dir /mnt/x" in text else None)
    notes: list[str] = []
    access.stop_all(Pool(cluster.hosts, fake), cluster, note=notes.append)
    assert "files may be left in /mnt/x/glusterlab: " in notes[-1]


def test_what_hosts_lack_is_told_by_access(cluster: Cluster) -> None:
    able = {"access_server": "ganesha.nfsd smbd", "access_client": "nfs cifs"}
    facts = {host.name: dict(able) for host in cluster.hosts}
    assert access.lacking(cluster, facts) == {}
    facts["s2"]["access_server"] = "gnfs smbd"
    facts["c3"]["access_client"] = "nfs"
    found = access.lacking(cluster, facts)
    assert {name: text.partition(":")[0] for name, text in found.items()} == {n: f"access {n!r}" for n in access.SERVED}
    assert "c3 has no SMB client" in found["smb"]
    assert "s2 has no NFS-Ganesha" in found["nfs4"]
    assert found["nfs3"] == "access 'nfs3': expected one of gnfs and ganesha.nfsd on all servers"
    facts["s1"]["access_server"] = "gnfs"
    assert "nfs3" not in access.lacking(cluster, facts)
    assert access.server_of("nfs3", cluster, facts) == "gnfs"
    off = [("nfs.disable", "true")]
    assert access.server_of("nfs3", cluster, facts, off) is None
    assert access.lacking(cluster, facts, off)["nfs3"].startswith("access 'nfs3': s1, s2 have no NFS-Ganesha")


def read(**changed: Any) -> Health:
    kept = {"peers": {}, "bricks": [], "heal_pending": 0, "rebalance": False, "clock_offset_s": {}}
    return Health.model_validate({**kept, **changed})


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({"s1": {"smbd": [7, 8, 9]}}, []),
        ({"s1": {"smbd": []}}, ["smbd did not run after the workload"]),
        ({}, ["none of smbd was found after the workload"]),
        ({"s1": {"smbd": [6, 8, 9]}}, ["smbd was started again during the workload"]),
        ({"s1": {"smbd": [7, 9, 10]}}, ["a process of smbd that served a client ended during the workload"]),
    ],
)
def test_servers_are_judged_as_bricks_are(after: dict[str, Any], words: list[str]) -> None:
    before, later = read(services={"s1": {"smbd": [7, 8]}}), read(services=after)
    found = [*access.access_reasons(later, "after", "smb", ["s1"]), *access.access_changes(before, later)]
    assert [(reason.code, reason.message) for reason in found] == [("access-lost", text) for text in words]
    assert not list(access.access_reasons(later, "after", "native", ["s1"]))


def test_what_served_is_known_where_all_servers_say_the_same() -> None:
    one, other = {"rpcbind": [1], "gnfs": [2]}, {"rpcbind": [1], "ganesha.nfsd": [2]}
    assert access.served_by(read(services={"s1": one, "s2": one}), "nfs3") == "gnfs"
    assert access.served_by(read(services={"s1": one, "s2": other}), "nfs3") == access.served_by(read(), "nfs3") == ""


def test_a_mount_that_changed_is_told() -> None:
    was = {"device": "0:24", "type": "nfs", "source": "s1:/v", "options": "rw"}
    before, after = read(mounted={"c1": was}), read(mounted={"c1": {**was, "device": "0:31"}})
    [reason] = access.access_changes(before, after)
    assert (reason.code, reason.host, "its device was 0:24, and is 0:31" in reason.message) == (
        "mount-changed",
        "c1",
        True,
    )
    assert not list(access.access_changes(before, before))
    assert [each.code for each in access.access_reasons(before, "before", "nfs4", [])] == ["mount-changed"]


def test_only_what_the_suite_started_is_ended(tmp_path: Path) -> None:
    folder = tmp_path / "access"
    done = bash(
        f"gl_mark_dir {folder} test && gl_start_service {folder} own sleep 60; cat {folder}/own.pid", access.SHELL
    )
    own = int(done.stdout.split()[0])
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            # its number, but not its start
            (folder / "other.pid").write_text(f"{other.pid} 1\n")
            services = bash(script.call("gl_services", folder), access.SHELL).stdout.splitlines()
            assert [line.rstrip() for line in services] == ["service other", f"service own {own}"]
            assert b"GLUSTERLAB_RUN" not in Path(f"/proc/{own}/environ").read_bytes()
            assert bash(script.call("gl_unserve", folder), access.SHELL).returncode == 0
            assert (is_running(own), is_running(other.pid), folder.exists()) == (False, True, False)
        finally:
            other.kill()


def test_the_mount_below_a_path_is_the_nearest(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    rows = ["1 0 8:1 / / rw - ext4 /dev/sda1 rw", "2 1 0:24 / /mnt/x rw,relatime shared:1 - nfs s1:/v rw,vers=3"]
    table.write_text("\n".join([*rows, "3 1 0:25 / /mnt/xy rw - cifs //s1/v rw", ""]))
    found = [
        bash(script.call("gl_mounted_below", path), access.SHELL, replaced={"/proc/self/mountinfo": table}).stdout
        for path in ("/mnt/x/glusterlab", "/mnt/z")
    ]
    assert found == ["mounted 0:24 nfs s1:/v rw,relatime,rw,vers=3\n", "mounted 8:1 ext4 /dev/sda1 rw,rw\n"]


def test_a_directory_reached_by_a_link_is_no_existing_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    codes = [
        bash(script.call("gl_existing", tmp_path / name), access.SHELL).returncode for name in ("real", "link", "no")
    ]
    assert codes == [0, 1, 1]
    assert call("gl_mark_dir", tmp_path / "real/glusterlab", "campaign a").returncode == 0
    sees = script.call("gl_sees_mark", tmp_path / "real/glusterlab", "campaign a")
    assert bash(sees, access.SHELL).returncode == 0
    assert bash(script.call("gl_remove_dir", tmp_path / "real/glusterlab"), access.SHELL).returncode == 0
    assert not list((tmp_path / "real").iterdir())
    assert bash(script.call("gl_remove_dir", tmp_path / "real"), access.SHELL).returncode == 1
