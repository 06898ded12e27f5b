"""Many hosts on one machine, each an sshd in namespaces of its own, for measuring what the runner costs per sample.

Their disk list is as long as a real server's, and so are sar's records. Without GlusterFS: a ``gluster`` answers with
XML that was written before, an ``iozone`` sleeps and prints a report of a real run, and what a probe looks at is tmpfs.
All hosts are in one control group, which tells their CPU time from the controller's. Needs root and sysstat.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from glusterlab.hosts.fake import FakeTransport, FakeVolume
from glusterlab.hosts.gluster import Volume
from glusterlab.hosts.transport import Outcome, Stop
from glusterlab.spec import Campaign, Cluster

DISKS = [f"sd{letter}" for letter in "abcdefghijkl"]
"""Devices of the bricks of every server."""

WORKERS = 6
REPORT = Path(__file__).parents[1] / "data" / "iozone" / "cluster-write.txt"
TAG = "glmany"
GROUP = f"glusterlab-{TAG}"
BOOT_DEADLINE_S = 120.0

IOZONE = """\
#!/bin/sh
sleep "$(cat /usr/local/sbin/seconds)"
exec cat /usr/local/sbin/report
"""

GLUSTER = """\
#!/bin/sh
case "$*" in
*'peer status'*) exec cat /usr/local/sbin/peers.xml ;;
*'volume info'*) exec cat /usr/local/sbin/info.xml ;;
*'volume status'*) exec cat /usr/local/sbin/status.xml ;;
esac
exit 1
"""

# Arguments: the folder of this program's files, host name, role, volume's name, brick roots.
BOOT = """\
#!/bin/bash
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
folder=$1 name=$2 role=$3 volume=$4
shift 4
mount --make-rprivate /
hostname "$name"
mount -t proc proc /proc
mount --bind "$folder/diskstats" /proc/diskstats
mount -t sysfs sysfs /sys
# /root, too: what a login shell does on this machine is none of the runner's cost
for place in /run /var/tmp /mnt /srv /root; do mount -t tmpfs -o mode=755 tmpfs $place; done
mount --bind "$folder/bin" /usr/local/sbin
mkdir -p /run/sshd "/mnt/glusterlab/$volume" /var/tmp/glusterlab
touch /var/tmp/glusterlab/.glusterlab
if [ "$role" = client ]; then
    mount -t tmpfs tmpfs "/mnt/glusterlab/$volume"
    mkdir "/mnt/glusterlab/$volume/datasets"
    touch "/mnt/glusterlab/$volume/datasets/.glusterlab"
else
    for root in "$@"; do
        mkdir -p "$root/glusterlab-$volume/brick/.glusterfs/indices/xattrop"
        touch "$root/glusterlab-$volume/brick/.glusterfs/indices/xattrop/xattrop-3c7f"
    done
fi
/usr/sbin/sshd -f "$folder/sshd_config"
touch "$folder/ready/$name"
while :; do
    sleep 3600 &
    wait $! || true
done
"""


def specifications(hosts: int, folder: Path, seconds: float) -> tuple[Cluster, Campaign]:
    """A cluster of that many hosts, three quarters of them servers with twelve disks, and a campaign of one cell."""
    servers = 3 * hosts // 4
    names = [f"server{n:03d}" for n in range(1, servers + 1)]
    names += [f"client{n:03d}" for n in range(1, hosts - servers + 1)]
    every = [{"name": name, "address": f"10.214.0.{n}"} for n, name in enumerate(names, start=2)]
    for host in every[:servers]:
        host["devices"] = DISKS  # type: ignore[assignment]
    cluster = {
        "schema_version": 1,
        "name": "many",
        "ssh": {"config": str(folder / "ssh_config")},
        "servers": every[:servers],
        "clients": every[servers:],
        "hardware": {
            "disks_per_server": len(DISKS),
            "disk_write": "205 MB/s",
            "disk_read": "212 MB/s",
            "server_link": "20 Gbit/s",
            "client_link": "10 Gbit/s",
        },
        "backings": {"jbod": {"bricks": [f"/srv/{disk}" for disk in DISKS], "kind": "jbod"}},
        "telemetry": {"interval": "1 s"},
    }
    layout = {"name": "ec", "type": "disperse", "geometry": f"{servers // 6 * 12}x(4+2)", "backing": "jbod"}
    workload = {"tool": "iozone", "operations": ["write"], "file_size": "2 MiB", "record_size": "512 KiB"}
    campaign = {
        "schema_version": 1,
        "name": "many",
        "study": "supermicro-2017",
        "seed": 1,
        "repeats": 1,
        "layouts": [layout],
        "workloads": [workload],
        "workers": [WORKERS],
        "deadline": f"{int(seconds) + 60} s",
    }
    return Cluster.model_validate(cluster), Campaign.model_validate(campaign)


@contextmanager
def running(cluster: Cluster, volume: Volume, folder: Path, seconds: float) -> Iterator[None]:
    """Boot all hosts of a cluster; end and remove whatever was made, also when something fails."""
    remove()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        _write_files(cluster, volume, folder, seconds)
        _make_network(cluster)
        for group in groups():
            group.mkdir(exist_ok=True)
        for host in cluster.hosts:
            role = "server" if host in cluster.servers else "client"
            roots = [root for server, root in volume.places if server == host]
            processes.append(_boot(folder, host.name, role, volume.name, roots))
        _wait_ready(folder, len(processes))
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait()
        remove()


def groups() -> list[Path]:
    """The hosts' control group: the one that counts CPU time, or the unified one."""
    root = Path("/sys/fs/cgroup")
    return [root / GROUP] if (root / "cgroup.controllers").exists() else [root / "cpuacct" / GROUP]


def cpu_s() -> float:
    """Seconds of CPU that all hosts together have used."""
    group = groups()[0]
    if (group / "cpuacct.usage").exists():
        return int((group / "cpuacct.usage").read_text()) / 1e9
    words = (group / "cpu.stat").read_text().split()
    return int(words[words.index("usage_usec") + 1]) / 1e6


def set_link(host: str, state: str) -> None:
    """Put the interface of a host ``up`` or ``down``."""
    _ip("-n", f"{TAG}-{host}", "link", "set", "eth0", state)


def remove() -> None:
    """End the processes of all hosts, and remove their namespaces, links and control group, whatever there is."""
    for group in groups():
        for _ in range(100):
            pids = (group / "cgroup.procs").read_text().split() if group.is_dir() else []
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            if not pids:
                break
            time.sleep(0.1)
        with suppress(FileNotFoundError):
            group.rmdir()
    spaces = Path("/run/netns")
    lines = [f"netns delete {path.name}" for path in spaces.glob(f"{TAG}-*")] if spaces.is_dir() else []
    subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(lines) + "\n", text=True, capture_output=True)
    subprocess.run(["ip", "link", "delete", f"{TAG}br"], capture_output=True, check=False)


def _write_files(cluster: Cluster, volume: Volume, folder: Path, seconds: float) -> None:
    for name in ("bin", "ready"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    for name in ("host_key", "user_key"):
        (folder / name).unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    public = " ".join((folder / "host_key.pub").read_text().split()[:2])
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    (folder / "known_hosts").write_text("".join(f"{host.name},{host.address} {public}\n" for host in cluster.hosts))
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
        "PermitRootLogin yes\nPasswordAuthentication no\nUseDNS no\nPrintMotd no\nPidFile none\n"
    )
    blocks = [f"Host {host.name}\n    HostName {host.address}\n" for host in cluster.hosts]
    (folder / "ssh_config").write_text(
        "\n".join(blocks) + f"\nHost *\n    User root\n    IdentityFile {folder}/user_key\n    IdentitiesOnly yes\n"
        f"    UserKnownHostsFile {folder}/known_hosts\n    GlobalKnownHostsFile none\n"
    )
    rows = [
        f"   8 {n * 16} {disk} 5000 10 400000 9000 4000 20 300000 8000 0 7000 17000\n" for n, disk in enumerate(DISKS)
    ]
    rows += [" 254 0 vda 5000 10 400000 9000 4000 20 300000 8000 0 7000 17000\n"]
    rows += [" 254 1 vda1 5000 10 400000 9000 4000 20 300000 8000 0 7000 17000\n"]
    (folder / "diskstats").write_text("".join(rows))
    (folder / "bin" / "seconds").write_text(f"{seconds}\n")
    shutil.copy(REPORT, folder / "bin" / "report")
    for name, text in _gluster_answers(cluster, volume).items():
        (folder / "bin" / name).write_text(text)
    for name, place in (("boot", folder), ("iozone", folder / "bin"), ("gluster", folder / "bin")):
        (place / name).write_text({"boot": BOOT, "iozone": IOZONE, "gluster": GLUSTER}[name])
        (place / name).chmod(0o755)


def _gluster_answers(cluster: Cluster, volume: Volume) -> dict[str, str]:
    """gluster's XML of a healthy pool of that size, as the library's own fake writes it."""
    fake = FakeTransport(cluster)
    fake.volumes[volume.name] = FakeVolume("Distributed-Disperse", list(volume.brick_names), started=True)
    asked = {"peers": "peer status", "info": f"volume info {volume.name}", "status": f"volume status {volume.name}"}
    answers = {}
    for name, words in asked.items():
        line = f"gl_gluster {words} --xml".encode()
        outcome: Outcome = fake.execute(cluster.servers[0], "", line, 10.0, Stop())
        answers[f"{name}.xml"] = outcome.stdout.decode()
    return answers


def _make_network(cluster: Cluster) -> None:
    lines = [f"link add {TAG}br type bridge", f"addr add 10.214.0.1/24 dev {TAG}br", f"link set {TAG}br up"]
    for number, host in enumerate(cluster.hosts):
        lines += [
            f"netns add {TAG}-{host.name}",
            f"link add {TAG}{number} type veth peer name eth0 netns {TAG}-{host.name}",
            f"link set {TAG}{number} master {TAG}br",
            f"link set {TAG}{number} up",
        ]
    _ip("-batch", "-", stdin="\n".join(lines) + "\n")
    for host in cluster.hosts:
        inside = f"link set lo up\naddr add {host.address}/24 dev eth0\nlink set eth0 up\n"
        _ip("-n", f"{TAG}-{host.name}", "-batch", "-", stdin=inside)


def _ip(*words: str, stdin: str = "") -> None:
    subprocess.run(["ip", *words], input=stdin, text=True, check=True, stdout=subprocess.DEVNULL)


def _boot(folder: Path, name: str, role: str, volume: str, roots: list[str]) -> subprocess.Popen[bytes]:
    def enter() -> None:
        for group in groups():
            (group / "cgroup.procs").write_text(str(os.getpid()))

    # not this program's own output: who reads that would wait for the hosts, too
    with (folder / "boot.log").open("ab") as log:
        return subprocess.Popen(
            [
                *("nsenter", f"--net=/run/netns/{TAG}-{name}", "unshare", "--mount", "--uts", "--pid", "--fork"),
                *("--kill-child", str(folder / "boot"), str(folder), name, role, volume, *roots),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=enter,
        )


def _wait_ready(folder: Path, count: int) -> None:
    end = time.monotonic() + BOOT_DEADLINE_S
    while len(list((folder / "ready").iterdir())) < count:
        if time.monotonic() > end:
            log = (folder / "boot.log").read_text(errors="replace").splitlines()
            raise RuntimeError(f"not all of {count} hosts are up within {BOOT_DEADLINE_S:.0f} s: {log[-3:]}")
        time.sleep(0.1)
