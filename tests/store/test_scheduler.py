"""Beyond one machine: the same tables and figures from the workers of a Dask cluster, also when one of them dies."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dask import config

from glusterlab.errors import GlusterlabError, ParseError, UsageError
from glusterlab.store.campaign import RawStore
from glusterlab.tables import build as tables
from tests.store import dask_cluster
from tests.store.conftest import add_sample, files, make_cell, relist
from tests.store.dask_cluster import DaskCluster

# the client's own threads may still be closing connections when a test ends
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with dask_cluster.cluster(tmp_path_factory.mktemp("dask")) as running:
        yield running


def test_tables_are_the_same_as_of_this_machine(campaign: Path, tmp_path: Path, dask: DaskCluster) -> None:
    here = tables.write(campaign, tmp_path / "here")
    there = tables.write(campaign, tmp_path / "there", scheduler=dask.address)
    assert [written.made for written in (here, there) if written] == [6, 6]
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_an_error_of_a_worker_is_the_one_of_this_machine(campaign: Path, dask: DaskCluster) -> None:
    name = f"cells/{make_cell().id}/sample-01/workload/stdout.txt"
    (campaign / name).write_text("")
    relist(campaign, name)
    with pytest.raises(ParseError, match=r"stdout\.txt"):
        tables.write(campaign, scheduler=dask.address)


def test_a_worker_that_dies_costs_its_jobs_and_not_the_rest(campaign: Path, tmp_path: Path) -> None:
    store = RawStore.open(campaign)
    for repeat in range(3, 20):
        add_sample(store, make_cell(), repeat)
    tables.write(campaign, tmp_path / "here")
    with dask_cluster.cluster(tmp_path / "dask") as running:

        def kill(done: int, of: int) -> None:
            if done == 2:
                running.workers[0].send_signal(signal.SIGKILL)

        assert tables.write(campaign, tmp_path / "there", scheduler=running.address, progress=kill)
        assert running.workers[0].wait(10) == -signal.SIGKILL
        assert running.workers[1].poll() is None
    assert files(tmp_path / "here") == files(tmp_path / "there")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:9", "no Dask scheduler answers there"),
        ("127.0.0.1:9", "no Dask scheduler answers there"),
        ("nonsense", "expected an address such as"),
        ("", "expected an address such as"),
        ("tcp://127.0.0.1:99999", "no Dask scheduler answers there"),
    ],
)
def test_an_address_without_a_scheduler_is_refused(campaign: Path, address: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        tables.write(campaign, scheduler=address)


def test_a_scheduler_that_goes_away_is_told_in_a_sentence(campaign: Path, tmp_path: Path) -> None:
    with dask_cluster.cluster(tmp_path / "dask") as running:

        def kill(done: int, of: int) -> None:
            running.scheduler.kill()
            running.scheduler.wait()

        with pytest.raises(GlusterlabError, match="it went away; what was done is kept"):
            tables.write(campaign, tmp_path / "there", scheduler=running.address, progress=kill)


def test_another_library_is_refused(campaign: Path, dask: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glusterlab.store.digests.LIBRARY", campaign)
    with pytest.raises(UsageError, match=r"expected this glusterlab on worker tcp://.*found another one"):
        tables.write(campaign, scheduler=dask.address)


def test_a_scheduler_without_workers_is_refused(campaign: Path, tmp_path: Path) -> None:
    with dask_cluster.cluster(tmp_path / "dask", 0) as running, pytest.raises(UsageError, match="expected workers"):
        tables.write(campaign, scheduler=running.address)


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, str]:
    """Of scheduler, workers and client, and its own authority, as Dask's configuration names them."""
    key, cert = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=dask"]
    subprocess.run([*words, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return {"ca-file": cert, "client.cert": cert, "client.key": key}


@pytest.mark.security
def test_tls_of_dasks_own_configuration_is_used(campaign: Path, tmp_path: Path, certificate: dict[str, str]) -> None:
    key, cert = certificate["client.key"], certificate["ca-file"]
    ours = {f"distributed.comm.tls.{name}": file for name, file in certificate.items()}
    options = ("--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key, "--protocol", "tls")
    with config.set(ours), dask_cluster.cluster(tmp_path / "dask", 1, *options) as running:
        assert running.address.startswith("tls://")
        tables.write(campaign, tmp_path / "here")
        assert tables.write(campaign, tmp_path / "there", scheduler=running.address)
        with config.set(dict.fromkeys(ours)), pytest.raises(UsageError, match=r"comm\.tls: ca-file"):
            tables.write(campaign, scheduler=running.address)
        with config.set({"distributed.comm.require-encryption": True}):
            plain = running.address.replace("tls://", "tcp://")
            with pytest.raises(UsageError, match=r"comm\.tls"):
                tables.write(campaign, scheduler=plain)
    assert files(tmp_path / "here") == files(tmp_path / "there")
