"""Many hosts on one machine, each an sshd in namespaces of its own, for measuring what the runner costs per sample.

Their disk list is as long as a real server's, and so are sar's records. Without GlusterFS: a ``gluster`` answers with
XML that was written before, an ``iozone`` sleeps and prints a report of a real run, and what a probe looks at is tmpfs.
All hosts are in one control group, which tells their CPU time from the controller's. Needs root and sysstat.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glusterlab.hosts.gluster import Volume
from glusterlab.hosts.transport import Stop
from glusterlab.spec import Campaign, Cluster
from glusterlab.testbed import cgroups, local, network
from glusterlab.testbed.options import TestbedOptions
from tests.fake_pool import FakeTransport, FakeVolume

DISKS = [f"sd{letter}" for letter in "abcdefghijkl"]
"""Devices of the bricks of every server."""

WORKERS = 6
REPORT = Path(__file__).parents[1] / "data" / "iozone" / "cluster-write.txt"
NAME = "many"
BOOT_DEADLINE_S = 120.0

PROGRAMS = {
    "bin/iozone": """\
#!/bin/sh
sleep "$(cat /usr/local/sbin/seconds)"
exec cat /usr/local/sbin/report
""",
    "bin/gluster": """\
#!/bin/sh
case "$*" in
*'peer status'*) exec cat /usr/local/sbin/peers.xml ;;
*'volume info'*) exec cat /usr/local/sbin/info.xml ;;
*'volume status'*) exec cat /usr/local/sbin/status.xml ;;
esac
exit 1
""",
    # Arguments: the folder of this program's files, host name, role, volume's name, brick roots.
    "boot": """\
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
""",
}


def options(hosts: int) -> TestbedOptions:
    """Three quarters of the hosts are servers."""
    servers = 3 * hosts // 4
    return TestbedOptions(name=NAME, servers=servers, clients=hosts - servers, subnet="10.214.0.0/24")


def specifications(hosts: int, folder: Path, seconds: float) -> tuple[Cluster, Campaign]:
    """A cluster of that many hosts, its servers with twelve disks each, and a campaign of one cell."""
    room = options(hosts)
    addresses = [{"name": name, "address": room.address(name)} for name in room.host_names]
    cluster = {
        "schema_version": 1,
        "name": NAME,
        "ssh": {"config": str(folder / "ssh_config")},
        "servers": [{**host, "devices": DISKS} for host in addresses[: room.servers]],
        "clients": addresses[room.servers :],
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
    layout = {"name": "ec", "type": "disperse", "geometry": f"{room.servers // 6 * 12}x(4+2)", "backing": "jbod"}
    workload = {"tool": "iozone", "operations": ["write"], "file_size": "2 MiB", "record_size": "512 KiB"}
    campaign = {
        "schema_version": 1,
        "name": NAME,
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
        network.make(options(len(cluster.hosts)))
        cgroups.make(NAME, [])
        for host in cluster.hosts:
            role = "server" if host in cluster.servers else "client"
            roots = [root for server, root in volume.places if server == host]
            processes.append(_boot(folder, host.name, role, volume.name, *roots))
        _wait_ready(folder, len(processes))
        yield
    finally:
        network.kill_all(NAME)
        for process in processes:
            process.wait()
        remove()


def cpu_s() -> float:
    """Seconds of CPU that all hosts together have used."""
    if not cgroups.is_v2():
        return int((cgroups.ROOT / "cpuacct" / f"glusterlab-{NAME}" / "cpuacct.usage").read_text()) / 1e9
    words = (cgroups.folders(NAME)[0] / "cpu.stat").read_text().split()
    return int(words[words.index("usage_usec") + 1]) / 1e6


def remove() -> None:
    """End the processes of all hosts, and remove their namespaces, links and control group, whatever there is."""
    network.kill_all(NAME)
    network.remove(NAME)
    cgroups.remove(NAME)


def _write_files(cluster: Cluster, volume: Volume, folder: Path, seconds: float) -> None:
    for name in ("bin", "ready"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    for name in ("host_key", "user_key"):
        (folder / name).unlink(missing_ok=True)
        local.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name])
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
    devices = [f"   8 {n * 16} {disk}" for n, disk in enumerate(DISKS)] + [" 254 0 vda", " 254 1 vda1"]
    counters = "5000 10 400000 9000 4000 20 300000 8000 0 7000 17000"
    (folder / "diskstats").write_text("".join(f"{device} {counters}\n" for device in devices))
    (folder / "bin" / "seconds").write_text(f"{seconds}\n")
    shutil.copy(REPORT, folder / "bin" / "report")
    _write_answers(cluster, volume, folder / "bin")
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def _write_answers(cluster: Cluster, volume: Volume, folder: Path) -> None:
    """gluster's XML of a healthy pool of that size, as the library's own fake writes it."""
    fake = FakeTransport(cluster)
    fake.volumes[volume.name] = FakeVolume("Distributed-Disperse", list(volume.brick_names), started=True)
    questions = {"peers": "peer status", "info": f"volume info {volume.name}", "status": f"volume status {volume.name}"}
    for name, words in questions.items():
        line = f"gl_gluster {words} --xml".encode()
        (folder / f"{name}.xml").write_bytes(fake.execute(cluster.servers[0], "", line, 10.0, Stop()).stdout)


def _boot(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    def enter() -> None:
        for group in cgroups.folders(NAME):
            (group / "cgroup.procs").write_text(str(os.getpid()))

    words = ["nsenter", f"--net=/run/netns/{network.namespace(NAME, name)}"]
    words += ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child"]
    # not this program's own output: who reads that would wait for the hosts, too
    with (folder / "boot.log").open("ab") as log:
        return local.start([*words, str(folder / "boot"), str(folder), name, *arguments], log, preexec_fn=enter)


def _wait_ready(folder: Path, count: int) -> None:
    end = time.monotonic() + BOOT_DEADLINE_S
    while len(list((folder / "ready").iterdir())) < count:
        if time.monotonic() > end:
            log = (folder / "boot.log").read_text(errors="replace").splitlines()
            raise RuntimeError(f"not all of {count} hosts are up within {BOOT_DEADLINE_S:.0f} s: {log[-3:]}")
        time.sleep(0.1)
