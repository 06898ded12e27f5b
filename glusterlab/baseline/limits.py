"""Limits of the hardware for the analysis of saturation, from a baseline of the same cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab.baseline.results import Rates, read_results
from glusterlab.errors import GlusterlabError
from glusterlab.manifest import MANIFEST, file_digest
from glusterlab.origin import is_baseline
from glusterlab.raw import RawStore
from glusterlab.spec.load import load_campaign, load_cluster

if TYPE_CHECKING:
    from glusterlab.analysis.saturation import Limits
    from glusterlab.spec.cluster import Cluster, Hardware

_STATED = ("disk_write", "disk_read", "array_write", "array_read", "server_link", "client_link", "notes")
"""Keys of ``hardware`` that a baseline replaces: on real hardware they may have been corrected after it."""


@dataclass(frozen=True)
class Baseline:
    """A baseline in the raw root.

    Attributes
    ----------
    path : pathlib.Path
    hardware : Hardware or None
        As the cluster file of the campaign states it that the baseline is for; None where there is none.
    """

    path: Path
    hardware: Hardware | None = None

    @property
    def name(self) -> str:
        """Of its campaign."""
        return self.path.name

    @property
    def digest(self) -> str:
        """Changes when any of its files does."""
        return file_digest(self.path / MANIFEST)

    @cached_property
    def results(self) -> tuple[Rates, ...]:
        """What it measured.

        Raises
        ------
        RawStoreError, SpecError, ParseError
            When it is damaged.
        """
        return read_results(self.path)

    def limits(self, backing: str, scale: float, *, operations_limited: bool) -> Limits | None:
        """Limits of one host under a scale model; None where not all of them were measured.

        Parameters
        ----------
        backing : str
        scale : float
        operations_limited : bool

        Notes
        -----
        All bricks of a server at once, the median over the servers; one alone, the median over the bricks. The link of
        a server is the median of the links between servers (of those to clients where there is one server), that of a
        client the median of the links that end at one, and neither less than what is stated: one TCP stream carries
        its payload alone, and over a bond of two links it takes one of them.
        """
        from glusterlab.analysis.saturation import Limits

        rates = {
            (each.what, each.of, each.operation): each.median
            for each in self.results
            if (each.scale, each.operations_limited) == (scale, operations_limited)
        }
        write, read = (rates.get(("server", backing, operation)) for operation in ("write", "read"))
        client = rates.get(("link", "client", "send"))
        server = rates.get(("link", "server", "send"), client)
        if write is None or read is None or client is None or server is None:
            return None
        if self.hardware is not None:
            server = max(server, self.hardware.server_link / scale)
            client = max(client, self.hardware.client_link / scale)
        return Limits(
            server_link=server,
            client_link=client,
            server_disks_write=write,
            server_disks_read=read,
            source=self.name,
            brick_write=rates.get(("brick", backing, "write")),
            brick_read=rates.get(("brick", backing, "read")),
        )


def find_baseline(raw: Path, cluster: Cluster) -> Baseline | None:
    """The baseline of a campaign's cluster: the one in the same raw root that was measured last.

    Parameters
    ----------
    raw : pathlib.Path
        The campaign's folder.
    cluster : Cluster
        As it was measured.

    Returns
    -------
    Baseline or None
        None where there is no baseline of the same hosts, backings, hardware and scale models with a valid sample. One
        that is damaged is passed over: `glusterlab verify` says what is wrong with it.
    """
    found: list[tuple[float, Path]] = []
    # a campaign may be seen through a link, its baseline lies beside the campaign itself
    raw = raw.resolve()
    for file in sorted(raw.parent.glob("*/campaign.yaml")):
        # to read one takes its time, and most are not
        if file.parent.name == raw.name or not is_baseline(file.parent):
            continue
        try:
            if load_campaign(file).origin != "baseline" or not alike(
                load_cluster(file.with_name("cluster.yaml")), cluster
            ):
                continue
            ends = [
                sample.window.end
                for sample in RawStore(file.parent).samples()
                if sample.status == "valid" and sample.window
            ]
        except GlusterlabError:
            continue
        if ends:
            found.append((max(ends), file.parent))
    return Baseline(max(found)[1], cluster.hardware) if found else None


def alike(one: Cluster, other: Cluster) -> bool:
    """Whether two cluster files describe the same hardware: the same hosts, links, backings and scale models.

    What a baseline replaces may differ on real hardware. On a testbed it makes the disks and links what they are.
    """
    return _facts(one) == _facts(other)


def _facts(cluster: Cluster) -> dict[str, Any]:
    facts = cluster.model_dump(mode="json", include={"name", "hardware", "scale_models"})
    facts["backings"] = {
        name: (backing.kind, backing.disks_per_brick, backing.bricks) for name, backing in cluster.backings.items()
    }
    facts["hosts"] = [(host.name, host.address, host.interface) for host in cluster.hosts]
    facts["servers"] = len(cluster.servers)
    if not cluster.is_testbed:
        facts["hardware"] = {key: value for key, value in facts["hardware"].items() if key not in _STATED}
    return facts
