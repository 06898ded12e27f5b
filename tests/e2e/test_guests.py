"""A client with a kernel of its own beside one without: a host like others, that comes back, and leaves nothing."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from glusterlab.testbed import guests, local, network, throttle
from glusterlab.testbed.options import TestbedOptions
from tests.e2e.suite import glusterlab, require_guests, require_testbed, ssh, started_testbed, wait_until

pytestmark = pytest.mark.testbed

NAME = "kernel-clients"
SUBNET = "10.215.0.0/24"
SIZES = ("--servers", "1", "--clients", "2", "--disks", "1", "--arrays", "0", "--kernel-clients", "1")


def test_a_client_with_its_own_kernel(tmp_path: Path) -> None:
    require_guests()
    with started_testbed(NAME, SUBNET, *SIZES, cwd=tmp_path) as cluster:
        kernels = {host: ssh(cluster, host, "uname -r") for host in ("server01", "client01", "client02")}
        assert kernels["client01"] != kernels["client02"] == kernels["server01"]
        found = json.loads(glusterlab("check", cluster, "--json", cwd=tmp_path).stdout)["findings"]
        assert {each["code"] for each in found if each["level"] != "ok"} <= {"checkouts", "load"}
        assert "nfs4" in ssh(cluster, "client01", "modprobe nfsv4; modprobe cifs; cat /proc/filesystems")

        boot_id = "cat /proc/sys/kernel/random/boot_id"
        before = ssh(cluster, "client01", f"mkdir -p /var/tmp/glusterlab; {boot_id}")
        ssh(cluster, "client01", "(sleep 0.5; echo b >/proc/sysrq-trigger) </dev/null >/dev/null 2>&1 &")

        def is_back() -> bool:
            with suppress(AssertionError):
                return ssh(cluster, "client01", boot_id) != before
            return False

        wait_until(is_back, 120, "client01 did not come back")
        ssh(cluster, "client01", "test -d /var/tmp/glusterlab")

        network.kill_all(NAME, "client01")
        shown = json.loads(glusterlab("testbed", "status", "--name", NAME, "--json", cwd=tmp_path, code=1).stdout)
        assert [host["name"] for host in shown["hosts"] if not host["running"]] == ["client01"]


CACHES = ("--servers", "1", "--clients", "1", "--disks", "1", "--arrays", "0", "--nvme", "1", "--scale", "1200")


def test_servers_with_block_caches(tmp_path: Path) -> None:
    require_guests()
    require_testbed(guests.problems(TestbedOptions(servers=1, nvme=1, disk_caches=("write-back",))))
    modes = ("--disk-cache", "write-through", "--disk-cache", "write-back")
    with started_testbed(NAME, SUBNET, *CACHES, *modes, cwd=tmp_path) as cluster:
        # hosts have no smartctl, which virtual disks would not answer
        found = json.loads(glusterlab("check", cluster, "--json", cwd=tmp_path).stdout)["findings"]
        assert {each["code"] for each in found if each["level"] != "ok"} <= {"checkouts", "load", "disk-health"}
        # else a guest can leave the end of a request unread, and its disk hangs
        every = local.processes(lambda words: words[0] == b"qemu-storage-daemon")
        (serves,) = (pid for pid in every if Path(f"/proc/{pid}/cwd").readlink().is_relative_to(cluster.parent))
        assert (len(os.sched_getaffinity(serves)), os.getpriority(os.PRIO_PROCESS, serves)) == (1, -20)
        throttle.apply(cluster.parent, "large-file")
        rates = {}
        for place in ("jbod/d01", "jbod-write-through/d02", "jbod-write-back/d03"):
            written = ssh(
                cluster, "server01", f"dd if=/dev/zero of=/bricks/{place}/f bs=64k count=12 oflag=direct 2>&1"
            )
            rates[place.split("/")[0]] = 12 * (64 << 10) / float(written.split(" s, ")[0].split()[-1])
        disk, drive = (TestbedOptions(nvme=1).devices[kind].write_bytes_per_s / 1200 for kind in ("disk", "nvme"))
        # Only that none is faster than its limit, but for a burst at first: a busy machine is slower, as is dm-cache
        # when it brings a block in, which it does by itself. In write-back it is a twelfth of the drive.
        limits = {"jbod": disk, "jbod-write-through": disk, "jbod-write-back": drive / 12}
        assert {place: rate for place, rate in rates.items() if rate > 1.3 * limits[place]} == {}
        assert dirty(cluster, "d02") == 0 < dirty(cluster, "d03")
        throttle.apply(cluster.parent, None)
        throttle.apply(cluster.parent, "large-file")
        assert dirty(cluster, "d03") == 0


def dirty(cluster: Path, cached: str) -> int:
    """Blocks of a cache that its disk does not have yet."""
    return int(ssh(cluster, "server01", f"dmsetup status {cached}").split()[13])
