"""Going on with a campaign: all but cells and repeats must be as it was, not to mix two experiments under one name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from glusterlab.errors import SpecError, UsageError, some
from glusterlab.hosts.access import server_of
from glusterlab.rawfile import read_raw
from glusterlab.run.plan import build_plan
from glusterlab.spec import dump_yaml, load_campaign, load_cluster
from glusterlab.spec.campaign import expand, most_of
from glusterlab.spec.cluster import SERVED
from glusterlab.store import aside
from glusterlab.store.files import file_digest, write_atomically
from glusterlab.store.manifest import MANIFEST, Manifest
from glusterlab.tools import runnable, volume_tools

if TYPE_CHECKING:
    from glusterlab.spec import Campaign, Cell, Cluster
    from glusterlab.store.campaign import RawStore

_FREE_CAMPAIGN_KEYS = frozenset(
    {"title", "description", "layouts", "access", "workloads", "workers", "exclude", "repeats", "warmup", "attempts"}
    | {"deadline", "repeats_for", "chosen_after", "notebooks"}
)
_FREE_CLUSTER_KEYS = frozenset({"description", "ssh", "smallfile", "scale_models", "testbed"})
# a testbed that was taken down and started again has other loop devices for the same disks
_LOOP_DEVICES = re.compile(r"servers\.\d+\.devices\b")
# what file systems are made of and how is for `glusterlab prepare` alone
_PREPARATION = re.compile(r"backings\.[^.]+\.(devices|wipe|stripe_unit|stripe_width)\b")
_COMPARED_FACTS = (
    *("kernel", "os", "machine", "cpus", "tuned_profile", "memory_bytes"),
    *("interface_speed_bytes_per_s", "interface_mtu"),
)
_SERVING = ("nfs-ganesha", "samba", "nfs-utils", "cifs-utils")
_MEMORY_TOLERANCE = 0.01
_CAME = "a tool that was not there"
_OF_A_MACHINE = frozenset({"kernel", "cpu_model", "cpus", "memory_bytes", "gluster_digest"})

_SHOWN = 5


def agree_on_specifications(store: RawStore, campaign: Campaign, cluster: Cluster) -> list[str]:
    """What changed since the campaign was begun, for `take_up`; `SpecError` where the samples depend on it."""
    file = store.path / "campaign.yaml"
    old_campaign = load_campaign(file)
    if old_campaign.origin == "imported":
        raise UsageError(
            f"{store.path}: is an imported campaign, whose results were measured elsewhere: give this one another name"
        )
    old_cluster = load_cluster(store.path / "cluster.yaml")
    # scale models are a part of cells, but for how volumes are mounted under them
    same = [name for name in old_cluster.scale_models if name in cluster.scale_models]
    same = [name for name in same if old_cluster.scale_model(name) == cluster.scale_model(name)]
    mounts = tuple(f"scale_models.{name}.mount_options" for name in same)
    changes = [
        change
        for change in differences(_plain(old_cluster), _plain(cluster))
        if (change.startswith(mounts) or change.partition(".")[0].partition(":")[0] not in _FREE_CLUSTER_KEYS)
        and not (cluster.is_testbed and _LOOP_DEVICES.match(change))
        and not _PREPARATION.match(change)
    ]
    _refuse(changes, "cluster", store)
    edits = list(differences(_plain(old_campaign), _plain(campaign)))
    changes = [change for change in edits if change.partition(".")[0].partition(":")[0] not in _FREE_CAMPAIGN_KEYS]
    now = {each.cell.id: most_of(each.repeats) for each in expand(campaign, cluster)}
    for each in expand(old_campaign, cluster):
        if (most := most_of(each.repeats)) > now.get(each.cell.id, most):
            changes.append(f"repeats: {most} before, {now[each.cell.id]} now")
            break
    _refuse(changes, "campaign", store)
    return edits


def take_up(store: RawStore, campaign: Campaign, cluster: Cluster, edits: list[str]) -> list[str]:
    """Store a campaign that was changed, and set aside samples of cells that it has no longer; returns sentences.

    To be done when the hosts are this run's. The cluster is kept as it was, but for its scale models, a part of cells.
    """
    wanted = {cell.id for cell in build_plan(campaign, cluster, ready=volume_tools()).cells}
    set_aside, brought_back = aside.agree(store.path, wanted)
    _store_again(store, "campaign.yaml", dump_yaml(campaign))
    old = load_cluster(store.path / "cluster.yaml")
    models = list(differences(_plain(old)["scale_models"], _plain(cluster)["scale_models"], "scale_models"))
    # what else may differ changes no sample; it is kept, byte for byte where the models are as they were
    kept = old.model_copy(update={"scale_models": cluster.scale_models})
    _store_again(store, "cluster.yaml", dump_yaml(kept) if models else read_raw(store.path / "cluster.yaml").decode())
    said = [(models, "the cluster's scale models were changed"), (edits, "the campaign was changed")]
    sentences = [f"{what}: {some(changes, _SHOWN, '; ')}" for changes, what in said if changes]
    away = f"what was measured is set aside in {store.path / aside.ASIDE}, does not count, and comes back when the"
    for cells, where, what in (
        (set_aside, "no longer in the campaign", f"{away} campaign has it again"),
        (brought_back, "in the campaign again", "what was set aside is back"),
    ):
        if cells:
            number = "1 cell is" if len(cells) == 1 else f"{len(cells)} cells are"
            sentences.append(f"{number} {where}, such as {cells[0]}: {what}")
    return sentences


def _plain(model: Campaign | Cluster) -> dict[str, Any]:
    return model.model_dump(mode="json")


def _refuse(changes: list[str], what: str, store: RawStore) -> None:
    if changes:
        raise SpecError(
            f"the {what} was changed since {store.path} was begun: {some(changes, _SHOWN, '; ')}. Cells may change, "
            "and repeats be added; undo the rest, or give the campaign another name",
            file=store.path / f"{what}.yaml",
        )


def _store_again(store: RawStore, name: str, text: str) -> None:
    """Store a specification and its digest; also when an earlier run was killed between the two."""
    file = store.path / name
    if read_raw(file).decode() != text:
        write_atomically(file, text)
    manifest = Manifest.read(store.path)
    digest = file_digest(file)
    if manifest.digests.get(file.name) != digest:
        write_atomically(store.path / MANIFEST, Manifest({**manifest.digests, file.name: digest}).text)


def differences(old: Any, new: Any, key: str = "") -> Iterator[str]:
    """Every value that two trees of plain values do not have in common, one line each."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted({*old, *new}):
            yield from differences(old.get(name), new.get(name), f"{key}.{name}" if key else str(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{key}.{n}")
    elif old != new:
        yield f"{key}: {_short(old)} before, {_short(new)} now"


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def machine_of(
    store: RawStore, new: Mapping[str, Any], cells: Collection[Cell], cluster: Cluster, *, moved: bool
) -> int:
    """The number of the environment that the hosts are of, among those of a campaign.

    One is added with `moved`, and where hosts have tools now that they had not. Raises `SpecError` when hosts, or
    releases of what these cells need, are as no environment file has them. Of a new machine's hosts kernel, CPUs,
    memory and the build of one GlusterFS release may differ from the first one's.
    """
    for number, old in store.environments().items():
        if not (changes := list(_changes(old, new, cells, cluster))):
            return number
        if number == 1:
            others = [sentence for key, sentence in changes if key not in {*_OF_A_MACHINE, _CAME}]
    came = {key for key, _ in changes} == {_CAME}
    if came or (moved and cluster.is_testbed and not others):
        return store.add_environment(new)
    advice = "give the campaign another name"
    if not others:
        advice += ", or, where a testbed has moved to another machine, go on with --moved"
    found = some(others or [sentence for _, sentence in changes], _SHOWN, "; ")
    raise SpecError(f"the hosts are not as they were when the campaign was begun: {found}; {advice}")


def _changes(
    old: Mapping[str, Any], new: Mapping[str, Any], cells: Collection[Cell], cluster: Cluster
) -> Iterator[tuple[str, str]]:
    """What of the hosts and of what these cells need is not as it was: the fact's name, and a sentence."""
    tools = {cell.tool for cell in cells}
    served = sorted({(cell.access, cell.layout.options) for cell in cells if cell.access in SERVED})
    # a part of a program is of its release
    programs = sorted({program.name for name in tools for program in runnable()[name].programs if not program.probe})

    def values(facts: Mapping[str, Any]) -> dict[str, Any]:
        sysctls = dict(sorted(facts.get("sysctls", {}).items()))
        releases = {tool: facts.get("tools", {}).get(tool) for tool in ("gluster", "sysstat", *programs)}
        return {**{key: facts.get(key) for key in _COMPARED_FACTS}, **sysctls, **releases}

    def known_late(facts: Mapping[str, Any]) -> dict[str, Any]:
        """What a campaign may have been begun without: it was not read then, or came later."""
        serving = {name: facts.get("tools", {}).get(name) for name in (_SERVING if served else ())}
        return {**{key: facts.get(key) for key in ("cpu_model", "gluster_digest", "existing")}, **serving}

    for name, facts in sorted(new["hosts"].items()):
        known = old.get("hosts", {}).get(name, {})
        before, after = values(known), values(facts)
        late = {key: was for key, was in known_late(known).items() if was is not None}
        before, after = before | late, after | {key: known_late(facts)[key] for key in late}
        was, now = before["memory_bytes"], after["memory_bytes"]
        if None not in (was, now) and abs(now - was) <= _MEMORY_TOLERANCE * was:
            after["memory_bytes"] = was
        for key in {**before, **after}:
            if (was := before.get(key)) != (now := after.get(key)):
                what = _CAME if was is None and key in programs else key
                yield what, f"{name}: {key} {_short(was)} before, {_short(now)} now"
    for access, options in served:
        was, now = (server_of(access, cluster, facts.get("hosts", {}), options) for facts in (old, new))
        if was is not None and was != now:
            yield access, f"{access} was served by {was} before, by {now or 'nothing'} now"
    for tool in sorted(tools):
        was, now = (facts["controller"].get(f"{tool}_revision") for facts in (old, new))
        if was is not None and now is not None and was != now:
            yield tool, f"{tool} {was} before, {now} now"
