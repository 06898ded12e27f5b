"""Making the copy: every file with its names, then a new manifest, then the proof that nothing else changed."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

from glusterlab.errors import RawStoreError, UsageError
from glusterlab.imports.sample import judge as judge_imported
from glusterlab.judge import Judgement, judge_again
from glusterlab.manifest import MANIFEST, Manifest, list_files
from glusterlab.publish import content
from glusterlab.publish.collect import collect
from glusterlab.publish.names import Names
from glusterlab.publish.rewrite import Rewriter
from glusterlab.publish.scan import Left, Scanner
from glusterlab.publish.words import is_value
from glusterlab.raw import RawStore
from glusterlab.spec.load import dump_yaml, load_campaign, load_cluster
from glusterlab.verify import verify
from glusterlab.workloads.base import COMMANDS

if TYPE_CHECKING:
    from glusterlab.raw import Sample
    from glusterlab.spec import Campaign, Cluster

_NOT_COPIED = frozenset({MANIFEST, ".lock", "now.json", ".now.json.tmp"})
"""Of the campaign's own folder; a sample may have files of such names."""

Count = Callable[[int, int], None]
Phases = Callable[[str], AbstractContextManager[Count]]


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
    name: str | None = None,
    phases: Phases | None = None,
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
    name : str, optional
        What the campaign is called in the copy.
    phases : callable, optional
        Called with what is begun; the context that it gives is told how much is done, and of how much.

    Raises
    ------
    UsageError
        When the output is there, or lies in the campaign, or two files or hosts would have one name, or a name is none.
    RawStoreError
        When the campaign is damaged, or the copy would not say the same as the original.
    """
    if output.name in ("", ".."):
        output = output.resolve()
    names_file = output.with_name(f"names-of-{output.name}.yaml")
    _refuse_place(raw, output, names_file)
    phase = phases or _silent
    with phase("checking the campaign") as count:
        _require_intact(raw, count)
    names = collect(raw, given or {}, keep_host_names=keep_host_names, campaign=name)
    try:
        # a name of its own, so that nothing that lies there already is written or removed
        partial = Path(tempfile.mkdtemp(prefix=f".{output.name[:100]}.", suffix=".partial", dir=output.parent))
        try:
            job = _Copy(raw, partial, names)
            with phase("copying files") as count:
                job.make(count)
            list_files(partial, [partial])
            with phase("judging the copy") as count:
                samples = _require_same(raw, partial, names, job, count)
            with phase("looking for what is left") as count:
                left = Scanner(names).folder(partial, count)
            partial.chmod(0o777 & ~_umask())
            _write_names(names_file, names, raw)
            try:
                partial.rename(output)
            except BaseException:
                names_file.unlink()
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise RawStoreError(f"{output}: cannot be written: {error.strerror}", path=output) from error
    common = () if keep_host_names else tuple(sorted(set(names.aliases) - set(names.distinctive)))
    return Published(
        output,
        names_file,
        len(job.made),
        samples,
        len(names.mapping),
        len(job.redacted),
        _of_hosts(common, names),
        tuple(left),
    )


def _silent(_what: str) -> AbstractContextManager[Count]:
    return nullcontext(lambda _done, _total: None)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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


def _require_intact(raw: Path, count: Count) -> None:
    RawStore.open(raw)
    findings = verify(raw, count)
    if findings:
        first = findings[0]
        raise RawStoreError(
            f"{raw}: is not intact ({first.path}: {first.message}); a copy would hide that. 'glusterlab verify {raw}'"
            " lists all; end or finish the run, or restore the files, then publish again",
            path=raw,
        )


class _Copy:
    """The files of a campaign, written below a folder with the names of the copy.

    Attributes
    ----------
    made : dict of pathlib.PurePosixPath to pathlib.PurePosixPath
        Paths in the copy by those of the original.
    changed, redacted : set of pathlib.PurePosixPath
        Files, by their paths in the original, that have other bytes in the copy; from which secrets were taken.
    """

    def __init__(self, raw: Path, target: Path, names: Names) -> None:
        self.raw, self.target, self.names = raw, target, names
        self.imported = load_campaign(raw / "campaign.yaml").origin == "imported"
        self.made: dict[PurePosixPath, PurePosixPath] = {}
        self.changed: set[PurePosixPath] = set()
        self.redacted: set[PurePosixPath] = set()
        self._measured = set(_measured(raw))

    def make(self, count: Count) -> None:
        """Write all files, and once more those that hold what became known only after they were written.

        Raises
        ------
        UsageError
            When two files would have one name.
        RawStoreError
            When a file that the manifest lists is not among them.
        """
        every = (PurePosixPath(file.relative_to(self.raw)) for file in sorted(self.raw.rglob("*")) if file.is_file())
        files = [file for file in every if str(file) not in _NOT_COPIED]
        missing = Manifest.read(self.raw).digests.keys() - set(map(str, files))
        if missing:
            raise RawStoreError(f"{self.raw / min(missing)}: listed in the manifest, but no file that can be copied")
        rewriter = Rewriter(self.names)
        for number, file in enumerate(files, start=1):
            self._write(file, rewriter)
            count(number, len(files))
        while (turned_up := rewriter.turned_up()) is not None:
            rewriter = Rewriter(self.names)
            for number, file in enumerate(files, start=1):
                if turned_up.search(str(file)) or turned_up.search(_text_of(self.raw / file) or ""):
                    self._write(file, rewriter)
                count(number, len(files))

    def _write(self, file: PurePosixPath, rewriter: Rewriter) -> None:
        path = rewriter.path(file, measured=file in self._measured)
        before = self.made.pop(file, None)
        if before is not None:
            (self.target / before).unlink()
        target = self.target / path
        if target.exists():
            raise UsageError(f"two files would be called {path}: give their hosts other names by --names")
        if ".." in path.parts or path.is_absolute():
            raise UsageError(f"{file}: would be called {path}, outside the copy: give its host another name by --names")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = _text_of(self.raw / file)
        redacted = rewriter.redacted
        changed = None if text is None else self._rewritten(file, path, text, rewriter)
        if changed is None or changed == text:
            shutil.copyfile(self.raw / file, target)
        else:
            content.write(target, changed)
            self.changed.add(file)
        if rewriter.redacted > redacted:
            self.redacted.add(file)
        self.made[file] = path

    def _rewritten(self, name: PurePosixPath, path: PurePosixPath, text: str, rewriter: Rewriter) -> str:
        if name.name == "cell.json":
            return text
        if name == PurePosixPath("campaign.yaml"):
            return _specification(text, load_campaign(self.raw / name), rewriter)
        if name == PurePosixPath("cluster.yaml"):
            return dump_yaml(_cluster(load_cluster(self.raw / name), rewriter))
        if self.is_telemetry(name):
            return rewriter.telemetry(text, path.name.removesuffix(".csv.xz"))
        if name.suffix == ".json":
            try:
                return rewriter.json(text)
            except (ValueError, RecursionError):
                # others put text around their JSON
                return rewriter.text(text)
        return rewriter.lines(text)

    def is_telemetry(self, name: PurePosixPath) -> bool:
        """Whether a file of the campaign is what sadf wrote of one host."""
        return name.parent.name == "telemetry" and name.name.endswith(".csv.xz") and not self.imported


def _text_of(path: Path) -> str | None:
    """The text of a file; None when it has none that can be seen, which the scan of the copy tells."""
    try:
        return content.read(path)
    except content.UnreadableError:
        return None


def _measured(raw: Path) -> Iterator[PurePosixPath]:
    """What a baseline stored under the names of hosts, as its commands say."""
    for file in raw.glob(f"cells/*/sample-*/workload/{COMMANDS}"):
        try:
            steps = json.loads(file.read_bytes())
        except ValueError:
            continue
        for step in steps if isinstance(steps, list) else ():
            output = step.get("output") if isinstance(step, dict) else None
            if isinstance(output, str) and output:
                path = PurePosixPath(file.parent.relative_to(raw)) / output
                yield from (path, path.with_name(f"{path.name}.stderr"))


def _specification(text: str, campaign: Campaign, rewriter: Rewriter) -> str:
    changes = {
        key: rewriter.text(value)
        for key in ("title", "description")
        if isinstance(value := getattr(campaign, key), str)
    }
    if rewriter.names.campaign is not None:
        changes["name"] = rewriter.names.campaign[1]
    changed = campaign.model_copy(update=changes)
    return text if changed == campaign else dump_yaml(changed)


def _cluster(cluster: Cluster, rewriter: Rewriter) -> Cluster:
    """A cluster with the names of the copy, and without the controller's paths."""
    data: dict[str, Any] = cluster.model_dump(mode="json", exclude_none=True)
    for host in (*data["servers"], *data["clients"]):
        host["name"] = rewriter.names.host(host["name"])
        host["address"] = rewriter.names.host(host["address"])
        host["devices"] = [rewriter.text(device) for device in host["devices"]]
    data["name"] = rewriter.names.aliases.get(cluster.name.lower(), cluster.name)
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


def _require_same(raw: Path, copy: Path, names: Names, job: _Copy, count: Count) -> int:
    """Judge every sample of both again: the same verdicts, the same numbers, and a copy that is intact.

    Raises
    ------
    RawStoreError
        When they differ.
    """
    for file in sorted(job.changed):
        if job.is_telemetry(file) and not same_numbers(raw / file, copy / job.made[file]):
            raise _differs(f"{file} has other numbers there", copy)
    findings = verify(copy)
    if findings:
        raise _differs(f"{findings[0].path}: {findings[0].message}", copy)
    pairs = list(zip(RawStore(raw).samples(), RawStore(copy).samples(), strict=True))
    for number, (one, other) in enumerate(pairs, start=1):
        was, now = _judged(raw, one), _judged(copy, other)
        if _comparable(was, names) != _comparable(now, None):
            raise _differs(f"{one.cell_id} sample {one.sample} is measured otherwise there", copy)
        count(number, len(pairs))
    return len(pairs)


def same_numbers(one: Path, other: Path) -> bool:
    """Whether two files of telemetry differ in nothing but fields that are no numbers, and in their hosts' names."""
    lines, others = (text.split("\n") if (text := content.read(path)) else [] for path in (one, other))
    return len(lines) == len(others) and all(
        line == changed or _same_fields(line.split(";"), changed.split(";"))
        for line, changed in zip(lines, others, strict=True)
    )


def _same_fields(fields: list[str], others: list[str]) -> bool:
    return len(fields) == len(others) and all(
        field == other or not is_value(field) for field, other in zip(fields[1:], others[1:], strict=True)
    )


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
    return judge_again(folder, cell, sample.servers, sample.clients)


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
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(
                f"# What the copy of {raw.resolve().name} calls what. It leads back: do not give it away.\n"
                "# 'glusterlab publish --names' takes it: another campaign of these hosts then gets the same names.\n"
            )
            yaml = YAML(typ="safe", pure=True)
            yaml.default_flow_style = False
            yaml.width = 1000
            if names.mapping:
                yaml.dump(names.mapping, file)
    except BaseException:
        path.unlink()
        raise
