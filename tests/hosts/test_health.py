"""What hosts report around a sample becomes a record of the pool's health, or a problem; never a guess."""

from collections.abc import Callable

import pytest

from glusterlab.hosts import gluster
from glusterlab.hosts import health as probe
from glusterlab.hosts.pool import Pool
from glusterlab.spec import Cluster
from glusterlab.spec.cell import Layout
from glusterlab.store.records import BrickConnection
from tests.fake_pool import FakeTransport
from tests.pools import pool_data

LAYOUT = Layout(name="mirror", type="replicate", subvolumes=1, replica=2, backing="jbod")
Look = Callable[[], probe.Probe]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.model_validate(pool_data(clients=[{"name": "c1", "address": "10.0.1.1", "interface": "bond7"}]))


@pytest.fixture
def look(cluster: Cluster, fake: FakeTransport) -> Look:
    """Looks at a volume that is mounted."""
    words = (Pool(cluster.hosts, fake), cluster, gluster.Volume.of(LAYOUT, cluster))
    gluster.set_up(*words, mark="test", note=print)
    return lambda: probe.look(*words, deadline_s=10)


def test_command_lines_of_leftovers_are_kept_without_their_secrets(look: Look, fake: FakeTransport) -> None:
    long = "x" * 290
    fake.strays["c1"] = ["iozone --password hunter2 -t 1", f"python3 {long} --password hunter2"]
    assert look().health.stray["c1"] == [
        "1 iozone --password [redacted] -t 1",
        f"1 python3 {long} --password [redacted]"[:300],
    ]


def test_the_connections_of_clients_are_those_to_bricks(look: Look, fake: FakeTransport) -> None:
    fake.answers["c1", "gl_connections"] = (
        "tcp 0100000A:C000 21\ntcp 0200000A:C001 22\ntcp 0100000A:5DC7 23\n"
        "tcp 0000000000000000FFFF00000200000A:C001 24\ntcp 0900000A:C001 25\n"
    )
    found = look()
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
        ("gl_connections", "tcp"),
        ("gl_connections", "tcp 0100000A:C000 x"),
        ("gl_connections", "tcp 010A:C000 1"),
        ("gl_connections", "udp 0100000A:C000 1"),
    ],
)
def test_what_is_not_there_or_cannot_be_read_is_a_problem(
    look: Look, fake: FakeTransport, function: str, answer: str
) -> None:
    assert look().problems == []
    fake.answers["c1", function] = answer
    found = look()
    assert [(reason.code, reason.host) for reason in found.problems] == [("controller-error", "c1")]
    if function == "gl_link":
        assert "expected a link 'bond7'" in found.problems[0].message
        assert "c1" not in found.health.link_changes
