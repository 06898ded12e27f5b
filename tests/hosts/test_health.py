"""What hosts report around a sample becomes a record of the pool's health, or a problem; never a guess."""

from __future__ import annotations

import pytest

from glusterlab.hosts import gluster
from glusterlab.hosts import health as probe
from glusterlab.hosts.fake import FakeTransport
from glusterlab.hosts.pool import Pool
from glusterlab.spec import Cluster
from glusterlab.spec.cell import Layout
from glusterlab.store.records import BrickConnection
from tests.pools import pool_data

CLUSTER = pool_data(clients=[{"name": "c1", "address": "10.0.1.1", "interface": "bond7"}])
LAYOUT = Layout(name="mirror", type="replicate", subvolumes=1, replica=2, backing="jbod")


class Bench:
    """A pool in memory with a volume that is mounted."""

    def __init__(self) -> None:
        cluster = Cluster.model_validate(CLUSTER)
        self.transport = FakeTransport(cluster)
        self.words = (Pool(cluster.hosts, self.transport), cluster, gluster.Volume.of(LAYOUT, cluster))
        gluster.set_up(*self.words, mark="test", note=print)

    def look(self) -> probe.Probe:
        return probe.look(*self.words, deadline_s=10)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_command_lines_of_leftovers_are_kept_without_their_secrets(bench: Bench) -> None:
    long = "x" * 290
    bench.transport.strays["c1"] = ["iozone --password hunter2 -t 1", f"python3 {long} --password hunter2"]
    assert bench.look().health.stray["c1"] == [
        "1 iozone --password [redacted] -t 1",
        f"1 python3 {long} --password [redacted]"[:300],
    ]


def test_the_connections_of_clients_are_those_to_bricks(bench: Bench) -> None:
    bench.transport.answers["c1", "gl_connections"] = (
        "tcp 0100000A:C000 21\ntcp 0200000A:C001 22\ntcp 0100000A:5DC7 23\n"
        "tcp 0000000000000000FFFF00000200000A:C001 24\ntcp 0900000A:C001 25\n"
    )
    found = bench.look()
    assert found.problems == []
    assert found.health.connections == {
        "c1": [
            BrickConnection(host="s1", port=49152, socket=21),
            BrickConnection(host="s2", port=49153, socket=22),
            BrickConnection(host="s2", port=49153, socket=24),
            BrickConnection(host=None, port=49153, socket=25),
        ]
    }
    assert [brick.port for brick in found.health.bricks] == [49152, 49153]


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("gl_link", "\n"),
        *(
            ("gl_connections", text)
            for text in ("tcp", "tcp 0100000A:C000 x", "tcp 010A:C000 1", "udp 0100000A:C000 1")
        ),
    ],
)
def test_what_is_not_there_or_cannot_be_read_is_a_problem(bench: Bench, function: str, answer: str) -> None:
    assert bench.look().problems == []
    bench.transport.answers["c1", function] = answer
    found = bench.look()
    assert [(reason.code, reason.host) for reason in found.problems] == [("controller-error", "c1")]
    if function == "gl_link":
        assert "expected a link 'bond7'" in found.problems[0].message
        assert "c1" not in found.health.link_changes
