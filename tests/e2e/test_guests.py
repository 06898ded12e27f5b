"""A client with a kernel of its own beside one without: a host like others, that comes back, and leaves nothing."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from glusterlab.testbed import network
from tests.e2e.suite import glusterlab, require_guests, ssh, started_testbed, wait_until

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
