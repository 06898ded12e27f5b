"""Which baseline belongs to a campaign. Nothing here needs pandas: an unchanged `reproduce` asks it, too."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glusterlab.errors import GlusterlabError
from glusterlab.spec.cluster import Cluster
from glusterlab.spec.yaml import load_cluster
from glusterlab.store.campaign import RawStore, is_baseline

_STATED = ("disk_write", "disk_read", "array_write", "array_read", "server_link", "client_link", "notes")
"""Keys of ``hardware`` that a baseline replaces: on real hardware they may have been corrected after it."""


@dataclass(frozen=True)
class Search:
    """Which baseline belongs to a campaign, and what is to be known of it.

    `differs`: scale models in which its cluster is another one; what it measured under the others can be compared.
    `refused`: sentences on those that are of a cluster of this name, and cannot be used.
    """

    path: Path | None = None
    differs: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def search_baseline(raw: Path, cluster: Cluster) -> Search:
    """The baseline of a campaign's cluster: the one in the same raw root that was measured last.

    It is of the same hosts, backings and hardware, has a valid sample, and a scale model in common, or better all.
    """
    found: list[tuple[bool, float, Path, tuple[str, ...]]] = []
    refused: list[str] = []
    # a campaign may be seen through a link, its baseline lies beside the campaign itself
    raw = raw.resolve()
    for file in sorted(raw.parent.glob("*/campaign.yaml")):
        # to read one takes its time, and most are not
        if file.parent.name == raw.name or not is_baseline(file.parent):
            continue
        try:
            other = load_cluster(file.with_name("cluster.yaml"))
            facts, models = differences(other, cluster)
            if facts or (models and not _models(other) & _models(cluster)):
                if other.name == cluster.name:
                    found_there = ", ".join((*facts, *models))
                    refused.append(f"{file.parent.name} is of another cluster of this name: {found_there}")
                continue
            ends = [
                sample.window.end
                for sample in RawStore(file.parent).samples()
                if sample.status == "valid" and sample.window
            ]
        except GlusterlabError as error:
            refused.append(f"{file.parent.name} cannot be read: {error}")
            continue
        if ends:
            found.append((not models, max(ends), file.parent, models))
    if not found:
        return Search(refused=tuple(refused))
    *_, path, models = max(found)
    return Search(path, models, tuple(refused))


def differences(there: Cluster, here: Cluster) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """In what two cluster files describe other hardware, and in which of its scale models.

    What a baseline replaces may differ on real hardware. On a testbed it makes the disks and links what they are.
    """
    one, other = _facts(there), _facts(here)
    models = [each.pop("scale_models") for each in (one, other)]
    names = [name for name in {**models[0], **models[1]} if models[0].get(name) != models[1].get(name)]
    facts = tuple(name for name in other if one.get(name) != other[name])
    words = ((name, *(_model(each, name) for each in models)) for name in names)
    return facts, tuple(f"scale_models.{name}: {theirs} there, {ours} here" for name, theirs, ours in words)


def _model(models: dict[str, dict[str, Any]], name: str) -> str:
    if name not in models:
        return "none"
    return f"scale {models[name]['scale']:g}" + (", operations too" if models[name]["operations"] else "")


def _models(cluster: Cluster) -> set[tuple[float, bool]]:
    return {(model.scale, model.operations) for model in cluster.scale_models.values()}


def _facts(cluster: Cluster) -> dict[str, Any]:
    facts = cluster.model_dump(mode="json", include={"name", "hardware", "scale_models"})
    for model in facts["scale_models"].values():
        del model["mount_options"]  # no matter to disks
    facts["backings"] = {
        name: (backing.kind, backing.disks_per_brick, backing.bricks) for name, backing in cluster.backings.items()
    }
    facts["hosts"] = [(host.name, host.address, host.interface) for host in cluster.hosts]
    facts["servers"] = len(cluster.servers)
    if not cluster.is_testbed:
        facts["hardware"] = {key: value for key, value in facts["hardware"].items() if key not in _STATED}
    return facts
