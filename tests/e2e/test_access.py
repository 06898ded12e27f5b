"""Files reached by NFS, by SMB, and in a directory that the operator mounted, on small real pools."""

from pathlib import Path

import pytest

from glusterlab.tables import build
from tests.e2e.suite import glusterlab, require_guests, ssh, started_testbed

pytestmark = pytest.mark.testbed

CAMPAIGN = """\
schema_version: 1
name: {name}
seed: 7
repeats: 1
layouts: [{{name: one, type: {type}, geometry: 1, backing: jbod}}]
access: [{access}]
workers: 1
deadline: 2 min
workloads: [{{tool: iozone, operations: [{operations}], file_size: 512 KiB, record_size: 64 KiB, model: large-file}}]
"""
SIZES = ("--servers", "1", "--clients", "1", "--disks", "1", "--arrays", "0")


def measure(folder: Path, cluster: Path, **words: str) -> dict[tuple[str, str], str]:
    """Status by access and operation."""
    (folder / "campaign.yaml").write_text(CAMPAIGN.format(**words), encoding="utf-8")
    glusterlab("run", "campaign.yaml", "--cluster", cluster, cwd=folder)
    raw = folder / "raw" / words["name"]
    glusterlab("verify", raw, cwd=folder)
    samples = build.load(raw, folder / "tables").samples
    return samples.set_index(["access", "operation"])["status"].to_dict()


def test_a_directory_that_the_operator_mounted(tmp_path: Path) -> None:
    with started_testbed("existing", "10.217.0.0/24", *SIZES, cwd=tmp_path) as found:
        ssh(found, "client01", "mkdir /mnt/own && mount -t tmpfs own /mnt/own && touch /mnt/own/kept")
        text = found.read_text() + "existing: {path: /mnt/own}\n"
        cluster = tmp_path / "cluster.yaml"
        cluster.write_text(text.replace("config: ssh_config", f"config: {found.parent / 'ssh_config'}"))
        words = {"name": "own", "type": "other", "access": "existing", "operations": "write, read"}
        status = measure(tmp_path, cluster, **words)
        assert status == {("existing", "write"): "valid", ("existing", "read"): "valid"}
        assert ssh(found, "client01", "ls -A /mnt/own").split() == ["kept"]


def test_nfs_and_smb_beside_the_native_client(tmp_path: Path) -> None:
    require_guests()
    with started_testbed("e2e-access", "10.217.0.0/24", *SIZES, "--kernel-clients", "1", cwd=tmp_path) as cluster:
        words = {"name": "served", "type": "distribute", "access": "native, nfs3, nfs4, smb", "operations": "write"}
        status = measure(tmp_path, cluster, **words)
        assert status == {(access, "write"): "valid" for access in ("native", "nfs3", "nfs4", "smb")}
        assert "glusterlab" not in ssh(cluster, "client01", "cat /proc/mounts")
        left = "pidof ganesha.nfsd smbd rpcbind; ls -d /var/tmp/glusterlab/access 2>/dev/null; true"
        assert ssh(cluster, "server01", left) == ""
