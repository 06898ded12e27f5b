"""Which baseline belongs to a campaign. Nothing here needs pandas: an unchanged `reproduce` asks it, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from glusterlab.errors import GlusterlabError
from glusterlab.spec.yaml import load_cluster
from glusterlab.store.campaign import RawStore, is_baseline

if TYPE_CHECKING:
    from glusterlab.spec.cluster import Cluster

_STATED = ("disk_write", "disk_read", "array_write", "array_read", "server_link", "client_link", "notes")
"""Keys of ``hardware`` that a baseline replaces: on real hardware they may have been corrected after it."""


def find_baseline(raw: Path, cluster: Cluster) -> Path | None:
    """The folder of the baseline of a campaign's cluster: the one in the same raw root that was measured last.

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
            if not alike(load_cluster(file.with_name("cluster.yaml")), cluster):
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
    return max(found)[1] if found else None


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
