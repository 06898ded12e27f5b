"""A pool in memory, of the cluster that a module has."""

import pytest

from glusterlab.errors import HostError
from glusterlab.hosts.transport import Outcome, Stop
from glusterlab.spec import Cluster
from glusterlab.spec.cluster import Host
from tests.fake_pool import FakeTransport


class Recorder(FakeTransport):
    """Keeps the command lines as well, of which most only read a script; `refused` says why by host."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.lines: list[str] = []
        self.refused: dict[str, str] = {}

    def open(self, host: Host) -> None:
        if host.name in self.refused:
            raise HostError(self.refused[host.name], host=host.name)
        super().open(host)

    def execute(self, host: Host, command: str, stdin: bytes, deadline_s: float, stop: Stop) -> Outcome:
        self.lines.append(command)
        return super().execute(host, command, stdin, deadline_s, stop)


@pytest.fixture
def fake(cluster: Cluster) -> Recorder:
    return Recorder(cluster)
