"""What `gluster --xml` says to the runner, read as data: peers, volumes, the state of bricks and of a rebalance.

How gluster's XML is read stands in `glusterlab.readers.gluster_xml`, which makes records of the same output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from glusterlab.errors import ParseError
from glusterlab.readers import gluster_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from glusterlab.spec.cluster import Cluster

MAX_XML_BYTES = 32 << 20
"""`gluster volume status --xml` of a large volume is some hundred kilobytes."""


@dataclass(frozen=True)
class VolumeInfo:
    """One volume of `gluster volume info`.

    Attributes
    ----------
    name : str
    type : str
        In gluster's words: Distribute, Replicate, Distributed-Disperse, ...
    started : bool
    bricks : tuple of str
        ``address:path``, in the volume's order.
    options : mapping of str to str
        Those that were set.
    """

    name: str
    type: str
    started: bool
    bricks: tuple[str, ...]
    options: Mapping[str, str]

    @property
    def is_ours(self) -> bool:
        """Whether every brick lies in a directory that the suite makes for a volume of this name."""
        return bool(self.bricks) and all(
            PurePosixPath(brick.partition(":")[2]).parts[-2:] == (f"glusterlab-{self.name}", "brick")
            for brick in self.bricks
        )


@dataclass(frozen=True)
class BrickStatus:
    """One brick of `gluster volume status`; process number and TCP port are None where it has no process."""

    host: str
    path: str
    online: bool
    pid: int | None = None
    port: int | None = None


@dataclass(frozen=True)
class VolumeStatus:
    """`gluster volume status` of one volume: its bricks as far as their servers answered, and its tasks."""

    bricks: tuple[BrickStatus, ...]
    rebalancing: bool


def read_xml(text: bytes) -> Element:
    """The document of one `gluster --xml` command.

    Raises
    ------
    ParseError
        When it is too big, no XML, has a document type declaration, or reports that the command failed.
    """
    if len(text) > MAX_XML_BYTES:
        raise ParseError(f"expected at most {MAX_XML_BYTES} bytes of gluster's XML, found {len(text)}")
    return gluster_xml.read_output(text)


def read_peers(text: bytes, cluster: Cluster, asked: str) -> dict[str, bool]:
    """Servers that are members of the pool, and whether they are connected.

    Parameters
    ----------
    text : bytes
        `gluster peer status --xml`.
    cluster : Cluster
        Whose servers are looked for, by address or name.
    asked : str
        Name of the server that was asked; it does not list itself.

    Returns
    -------
    dict of str to bool
        By the cluster's names; a server that is no peer is absent.
    """
    peers = {asked: True}
    for peer in read_xml(text).iter("peer"):
        connected = peer.findtext("connected") == "1"
        known = {peer.findtext("hostname") or "", *(name.text or "" for name in peer.iter("hostname"))}
        for server in cluster.servers:
            if server.name != asked and {server.name, server.address} & known:
                peers[server.name] = connected
    return peers


def read_info(text: bytes) -> dict[str, VolumeInfo]:
    """Volumes of `gluster volume info --xml`, by name."""
    volumes = {}
    for volume in read_xml(text).iter("volume"):
        name = volume.findtext("name")
        if name is None:
            continue
        volumes[name] = VolumeInfo(
            name,
            volume.findtext("typeStr") or "",
            volume.findtext("status") == "1",
            tuple(brick for bricks in volume.iterfind("bricks") for brick in gluster_xml.brick_names(bricks)),
            gluster_xml.options(volume),
        )
    return volumes


def read_status(text: bytes) -> VolumeStatus:
    """Bricks and tasks of `gluster volume status VOLUME --xml`."""
    root = read_xml(text)
    bricks = tuple(
        BrickStatus(
            node.findtext("hostname") or "",
            node.findtext("path") or "",
            node.findtext("status") == "1",
            gluster_xml.pid(node),
            gluster_xml.tcp_port(node),
        )
        for node in gluster_xml.brick_nodes(root)
    )
    rebalancing = any("in progress" in (task.findtext("statusStr") or "") for task in root.iter("task"))
    return VolumeStatus(bricks, rebalancing)


def server_name(cluster: Cluster, address: str) -> str:
    """The cluster's name for what gluster calls a server; the address itself where it is none of ours."""
    for server in cluster.servers:
        if address in (server.name, server.address):
            return server.name
    return address
