"""A pool in memory, of the cluster that a module has."""

from __future__ import annotations

import pytest

from glusterlab.hosts.fake import FakeTransport
from glusterlab.spec import Cluster


@pytest.fixture
def fake(cluster: Cluster) -> FakeTransport:
    return FakeTransport(cluster)
