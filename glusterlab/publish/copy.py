"""Making the copy: every file with its names, then a new manifest, then the proof that nothing else changed."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

from glusterlab.errors import RawStoreError, UsageError
from glusterlab.imports.sample import judge as judge_imported
from glusterlab.judge import Judgement, judge
from glusterlab.manifest import MANIFEST, list_files
from glusterlab.publish import content
from glusterlab.publish.names import Names, collect
from glusterlab.publish.rewrite import Rewriter
from glusterlab.publish.scan import Left, Scanner
from glusterlab.raw import RawStore
from glusterlab.spec.load import dump_yaml, load_campaign, load_cluster
from glusterlab.verify import verify

if TYPE_CHECKING:
    from glusterlab.raw import Sample
    from glusterlab.spec import Campaign, Cluster

_NOT_COPIED = frozenset({MANIFEST, ".lock", "now.json"})

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Published:
    """A copy that was made.

    Attributes
    ----------
    path : pathlib.Path
    names_file : pathlib.Path
        What was called what: it leads back, and is not to be given away.
    files, samples : int
    renamed : int
        Names, addresses and numbers that have another one in the copy.
    redacted : int
        Texts from which secrets were taken.
    common : tuple of str
        Names of hosts that are words of the tools' output, too: renamed only where a host must stand.
    left : tuple of Left
        What should not be in it; the copy is fit to be given away only when this is empty.
    """

    path: Path
    names_file: Path
    files: int
    samples: int
    renamed: int
    redacted: int
    common: tuple[str, ...]
    left: tuple[Left, ...]


def publish(
    raw: Path,
    output: Path,
    *,
    given: Mapping[str, str] | None = None,
    keep_host_names: bool = False,
    progress: Progress | None = None,
) -> Published:
    """Copy a campaign so that it can be given away.

    Parameters
    ----------
    raw : pathlib.Path
        The campaign's folder; it is only read.
    output : pathlib.Path
        The copy's folder, which must not be there.
    given : mapping of str to str, optional
        Names that the user wants in the copy, by the original ones.
    keep_host_names : bool
        Leave hosts and their addresses as they are; users, serial numbers and secrets still go.
    progress : callable, optional
        Told the number of files that are done, and of all.

    Raises
    ------
    UsageError
        When the output is there, or lies in the campaign, or two files or hosts would have one name.
    RawStoreError
        When the campaign is damaged, or the copy would not say the same as the original.
    """
    names_file = output.with_name(f"{output.name}.names.yaml")
    _refuse_place(raw, output, names_file)
    _require_intact(raw)
    names = collect(raw, given or {}, keep_host_names=keep_host_names)
    rewriter = Rewriter(names)
    partial = output.with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        files = _copy(raw, partial, rewriter, progress)
        list_files(partial, [partial])
        samples = _require_same(raw, partial, names)
        left = Scanner(names).folder(partial)
        _write_names(names_file, names, raw)
        partial.rename(output)
    except OSError as error:
        raise RawStoreError(f"{output}: cannot be written: {error.strerror}", path=output) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    common = () if keep_host_names else tuple(sorted(set(names.aliases) - set(names.distinctive)))
    return Published(
        output, names_file, files, samples, len(names.mapping), rewriter.redacted, _of_hosts(common, names), tuple(left)
    )


def _of_hosts(common: tuple[str, ...], names: Names) -> tuple[str, ...]:
    return tuple(name for name in common if names.aliases[name] != name)


def _refuse_place(raw: Path, output: Path, names_file: Path) -> None:
    for path in (output, names_file):
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path}: is there already, and nothing is overwritten: name another folder by --output")
    if output.resolve().is_relative_to(raw.resolve()):
        raise UsageError(f"{output}: lies in the campaign itself; nothing is written there: name another folder")
    if not output.parent.is_dir():
        raise UsageError(f"{output.parent}: expected a folder in which the copy can be made, found none")


def _require_intact(raw: Path) -> None:
    RawStore.open(raw)
    findings = verify(raw)
    if findings:
        first = findings[0]
        raise RawStoreError(
            f"{raw}: is not intact ({first.path}: {first.message}); a copy would hide that. 'glusterlab verify {raw}'"
            " lists all; end or finish the run, or restore the files, then publish again",
            path=raw,
        )


def _copy(raw: Path, target: Path, rewriter: Rewriter, progress: Progress | None) -> int:
    files = [file for file in sorted(raw.rglob("*")) if file.is_file() and file.name not in _NOT_COPIED]
    imported = load_campaign(raw / "campaign.yaml").origin == "imported"
    made: set[PurePosixPath] = set()
    for number, file in enumerate(files, start=1):
        name = PurePosixPath(file.relative_to(raw).as_posix())
        path = rewriter.path(name)
        if path in made:
            raise UsageError(f"two files would be called {path}: give their hosts other names by --names")
        made.add(path)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        text = content.read(file)
        changed = None if text is None else _rewritten(raw, name, path, text, rewriter, imported=imported)
        if changed is None or changed == text:
            shutil.copyfile(file, target / path)
        else:
            content.write(target / path, changed)
        if progress is not None:
            progress(number, len(files))
    return len(files)


def _rewritten(
    raw: Path, name: PurePosixPath, path: PurePosixPath, text: str, rewriter: Rewriter, *, imported: bool
) -> str:
    if name.name == "cell.json":
        return text
    if name == PurePosixPath("campaign.yaml"):
        return _specification(text, load_campaign(raw / name), rewriter)
    if name == PurePosixPath("cluster.yaml"):
        return dump_yaml(_cluster(load_cluster(raw / name), rewriter))
    if name.parent.name == "telemetry" and name.name.endswith(".csv.xz") and not imported:
        return rewriter.telemetry(text, path.name.removesuffix(".csv.xz"))
    if name.suffix == ".json":
        try:
            return rewriter.json(text)
        except ValueError:
            # others put text around their JSON
            return rewriter.text(text)
    return rewriter.lines(text)


def _specification(text: str, campaign: Campaign, rewriter: Rewriter) -> str:
    changes = {
        key: rewriter.text(value)
        for key in ("title", "description")
        if isinstance(value := getattr(campaign, key), str)
    }
    changed = campaign.model_copy(update=changes)
    return text if changed == campaign else dump_yaml(changed)


def _cluster(cluster: Cluster, rewriter: Rewriter) -> Cluster:
    """A cluster with the names of the copy, and without the controller's paths."""
    data: dict[str, Any] = cluster.model_dump(mode="json", exclude_none=True)
    for host in (*data["servers"], *data["clients"]):
        host["name"] = rewriter.names.host(host["name"])
        host["address"] = rewriter.names.host(host["address"])
        host["devices"] = [rewriter.text(device) for device in host["devices"]]
    data["ssh"].pop("config", None)
    data["ssh"]["user"] = rewriter.names.user(data["ssh"]["user"])
    data.pop("smallfile", None)
    if "testbed" in data:
        data["testbed"]["state"] = "testbed"
    for key in ("description", "work_dir", "mount_root", "shared_dir"):
        if key in data:
            data[key] = rewriter.text(data[key])
    data["hardware"] = {
        key: rewriter.text(value) if isinstance(value, str) else value for key, value in data["hardware"].items()
    }
    for backing in data["backings"].values():
        backing["bricks"] = [rewriter.text(path) for path in backing["bricks"]]
        # they were for the preparation of the original's hosts
        for key in ("devices", "wipe"):
            backing.pop(key, None)
    return type(cluster).model_validate(data)


def _require_same(raw: Path, copy: Path, names: Names) -> int:
    """Judge every sample of both again: the same verdicts, the same numbers, and a copy that is intact.

    Raises
    ------
    RawStoreError
        When they differ.
    """
    findings = verify(copy)
    if findings:
        raise _differs(f"{findings[0].path}: {findings[0].message}", copy)
    samples = 0
    for one, other in zip(RawStore(raw).samples(), RawStore(copy).samples(), strict=True):
        samples += 1
        was, now = _judged(raw, one), _judged(copy, other)
        if _comparable(was, names) != _comparable(now, None):
            raise _differs(f"{one.cell_id} sample {one.sample} is measured otherwise there", copy)
    return samples


def _differs(why: str, copy: Path) -> RawStoreError:
    return RawStoreError(
        f"the copy would not say the same as the original: {why}; most likely the name of a host is a word that a tool"
        " prints: leave host names as they are by --keep-host-names, or name it to the project",
        path=copy,
    )


def _judged(raw: Path, sample: Sample) -> Judgement:
    folder = raw / "cells" / sample.cell_id / f"sample-{sample.sample:02d}"
    cell = RawStore(raw).cell(sample.cell_id)
    if sample.origin == "imported":
        return judge_imported(folder, cell)
    return judge(folder, cell, sample.servers, sample.clients)


def _comparable(judgement: Judgement, names: Names | None) -> Any:
    result = None if judgement.result is None else dataclasses.asdict(judgement.result)
    if result is not None:
        del result["problems"]
        for worker in result["worker_results"]:
            # their order is that of their names
            del worker["worker"]
            if worker["host"] is not None and names is not None:
                worker["host"] = re.sub(r"[^\s:]+(?=:/| to |$)", lambda host: names.host(host[0]), worker["host"])
        result["worker_results"] = sorted(result["worker_results"], key=repr)
    return judgement.status, sorted(reason.code for reason in judgement.reasons), result


def _write_names(path: Path, names: Names, raw: Path) -> None:
    """The file that leads back, for its owner's eyes only."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(
            f"# What the copy of {raw.resolve().name} calls what. It leads back: do not give it away.\n"
            "# 'glusterlab publish --names' takes it, so that another campaign of these hosts gets the same names.\n"
        )
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        yaml.width = 1000
        if names.mapping:
            yaml.dump(names.mapping, file)
