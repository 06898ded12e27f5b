"""Making the copy: every file with its names, then a new manifest, then the proof that nothing else changed."""

import bz2
import dataclasses
import gzip
import lzma
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ruamel.yaml import YAML

from glusterlab.errors import ParseError, RawStoreError, UsageError
from glusterlab.publishing.names import Left, Names, collect_names, is_number
from glusterlab.rawfile import open_raw
from glusterlab.run.validity import Judgement, judge_again, judge_imported
from glusterlab.run.verify import verify
from glusterlab.spec.yaml import dump_yaml, load_cluster
from glusterlab.store import evidence
from glusterlab.store.campaign import RawStore, Sample
from glusterlab.store.files import refuse_links
from glusterlab.store.manifest import MANIFEST, SIGNATURE, Manifest, list_files
from glusterlab.tools.document import read_bytes
from glusterlab.tools.records import Record

MAX_BYTES = 512 << 20  # a file may unpack to so many bytes

_NOT_COPIED = frozenset({MANIFEST, SIGNATURE, ".lock", "now.json", ".now.json.tmp"})
"""Of the campaign's own folder; a sample may have files of such names."""
_PACKERS: dict[bytes, Callable[[bytes], bytes]] = {  # by what a packed file begins with
    b"\xfd7zXZ": lambda data: lzma.compress(data, preset=6),
    b"\x1f\x8b": lambda data: gzip.compress(data, mtime=0),
    b"BZh": bz2.compress,
}

Count = Callable[[int, int], None]
Phases = Callable[[str], AbstractContextManager[Count]]


@dataclass(frozen=True)
class Published:
    """A copy that was made, fit to be given away only when nothing is `left`.

    `names_file` leads back, and is not to be given away; `redacted` counts texts from which secrets were taken.
    """

    path: Path
    names_file: Path
    files: int
    samples: int
    renamed: int
    redacted: int
    left: tuple[Left, ...]


def publish(
    raw: Path,
    output: Path,
    *,
    new_names: Mapping[str, str] | None = None,
    keep_host_names: bool = False,
    name: str | None = None,
    phases: Phases = lambda _what: nullcontext(lambda _done, _total: None),
) -> Published:
    """Copy a campaign so that it can be given away; the original is only read.

    `new_names` are those that the user wants in the copy, by the original ones; `name` is that of the campaign there.
    `phases` is called with what is begun; its context is called with how much is done, and of how much.

    Raises `UsageError` when the output or a name is unfit. Raises `RawStoreError` when the campaign is damaged, a link
    leads out of it, or the copy would not say the same as the original.
    """
    if output.name in ("", ".."):
        output = output.resolve()
    names_file = output.with_name(f"names-of-{output.name}.yaml")
    for path in (output, names_file):
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path}: is there already, and nothing is overwritten: name another folder by --output")
    if output.resolve().is_relative_to(raw.resolve()):
        raise UsageError(f"{output}: lies in the campaign itself; nothing is written there: name another folder")
    if not output.parent.is_dir():
        raise UsageError(f"{output.parent}: expected a folder in which the copy can be made, found none")
    refuse_links(raw)
    with phases("checking the campaign") as count:
        RawStore.open(raw, damaged=True)
        for first in verify(raw, count)[:1]:
            found = f"is not intact ({first.path}: {first.message}); a copy would hide that"
            advice = f"'glusterlab verify {raw}' lists all; end or finish the run, or restore the files"
            raise RawStoreError(f"{raw}: {found}. {advice}, then publish again", path=raw)
    packed = {path.parent.relative_to(raw) for path in raw.glob(f"*/*/sample-*/{evidence.ARCHIVE}")}
    with ExitStack() as stack:
        if packed:
            plain = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="glusterlab-")), raw.resolve().name)
            plain.mkdir()
            evidence.unpack(raw, plain)
            raw = plain
        names = collect_names(raw, new_names or {}, hosts_kept=keep_host_names, campaign=name)
        try:
            # a name of its own, so that nothing that lies there already is written or removed
            own = tempfile.TemporaryDirectory(prefix=f".{output.name[:100]}.", suffix=".partial", dir=output.parent)
            partial = Path(stack.enter_context(own), "copy")
            partial.mkdir()
            with phases("copying files") as count:
                files, redacted = _copy(raw, partial, names, count)
            list_files(partial, [partial])
            with phases("judging the copy") as count:
                samples = _require_same(raw, partial, names, count)
            with phases("looking for what is left") as count:
                left = _left(partial, names, count)
            for folder in packed:
                evidence.pack(partial / folder)
            names_file.touch(0o600, exist_ok=False)
            try:
                _write_names(names_file, names, raw)
                partial.rename(output)
            except BaseException:
                names_file.unlink()
                raise
        except OSError as error:
            raise RawStoreError(f"{output}: cannot be written: {error.strerror}", path=output) from error
    return Published(output, names_file, files, samples, len(names.mapping), redacted, tuple(left))


def _copy(raw: Path, target: Path, names: Names, count: Count) -> tuple[int, int]:
    """Name all that has a private form in any file, then write every file; how many, and from how many secrets went."""
    every = (PurePosixPath(file.relative_to(raw)) for file in sorted(raw.rglob("*")) if file.is_file())
    files = [file for file in every if str(file) not in _NOT_COPIED]
    if missing := Manifest.read(raw).digests.keys() - set(map(str, files)):
        raise RawStoreError(f"{raw / min(missing)}: listed in the manifest, but no file that can be copied")
    for number, file in enumerate(files, start=1):
        if (text := _text_of(raw / file)) is not None:
            names.collect("\n".join(_name_fields(text)) if _is_telemetry(file) else text)
        count(number, 2 * len(files))
    redacted = 0
    for number, file in enumerate(files, start=1):
        path = PurePosixPath(*(names.text(part) for part in file.parts))
        if (target / path).exists():
            raise UsageError(f"two files would be called {path}: give their hosts other names by --names")
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        text, before = _text_of(raw / file), names.redacted
        changed = text if text is None or file.name == "cell.json" else _rewritten(raw / file, file, text, names)
        if changed is None or changed == text:
            shutil.copyfile(raw / file, target / path)
        else:
            with open_raw(raw / file) as original:
                head = original.read(8)
            pack = next((pack for magic, pack in _PACKERS.items() if head.startswith(magic)), bytes)
            (target / path).write_bytes(pack(changed.encode("utf-8", "surrogateescape")))
        redacted += names.redacted > before
        count(len(files) + number, 2 * len(files))
    return len(files), redacted


def _text_of(path: Path) -> str | None:
    try:
        data = read_bytes(path, MAX_BYTES)
    except ParseError:
        return None
    return None if b"\0" in data[:65536] else data.decode("utf-8", "surrogateescape")


def _rewritten(path: Path, name: PurePosixPath, text: str, names: Names) -> str:
    if name == PurePosixPath("cluster.yaml"):
        return names.text(_cluster(path))
    if _is_telemetry(name):
        changed = {field: new for field in _name_fields(text) if (new := names.text(field)) != field}
        if not changed:
            return text
        return "\n".join(";".join(changed.get(field, field) for field in line.split(";")) for line in text.split("\n"))
    if name.suffix in (".json", ".jsonl") or text.startswith("{"):
        return names.strings(text)
    return names.text(text)


def _is_telemetry(name: PurePosixPath) -> bool:
    """Whether a file is what sadf wrote: most of a campaign's bytes, and numbers but for a few names."""
    return name.parent.name == "telemetry" and name.name.endswith(".csv.xz")


def _name_fields(text: str) -> list[str]:
    """What is between the semicolons of telemetry and no number: each once, in its order."""
    return [field for field in dict.fromkeys(text.replace("\n", ";").split(";")) if not is_number(field)]


def _cluster(path: Path) -> str:
    """The cluster file without the controller's paths, and without what the preparation of its hosts needed."""
    cluster = load_cluster(path)
    data: dict[str, Any] = cluster.model_dump(mode="json", exclude_none=True)
    data["ssh"].pop("config", None)
    data.pop("smallfile", None)
    if "testbed" in data:
        data["testbed"]["state"] = "testbed"
    for backing in data["backings"].values():
        for key in ("devices", "wipe"):
            backing.pop(key, None)
    return dump_yaml(type(cluster).model_validate(data))


def _require_same(raw: Path, copy: Path, names: Names, count: Count) -> int:
    """Judge every sample of both again: the same verdicts, the same numbers, and a copy that is intact."""
    why = next((f"{finding.path}: {finding.message}" for finding in verify(copy)), None)
    pairs = list(zip(RawStore(raw).samples(), RawStore(copy).samples(), strict=True))
    for number, (one, other) in enumerate(pairs, start=1):
        if why is None and _comparable(_judged(raw, one), names) != _comparable(_judged(copy, other), None):
            why = f"{one.cell_id} sample {one.sample} is measured otherwise there"
        count(number, len(pairs))
    if why is not None:
        raise RawStoreError(
            f"the copy would not say the same as the original: {why}; most likely the name of a host or user is a word"
            " that a tool prints: leave that one as it is by a line 'name: name' in a file for --names, or all hosts by"
            " --keep-host-names",
            path=copy,
        )
    return len(pairs)


def _judged(raw: Path, sample: Sample) -> Judgement:
    cell = RawStore(raw).cell(sample.cell_id)
    if sample.origin == "imported":
        return judge_imported(sample.path, cell)
    return judge_again(sample.path, cell, sample.servers, sample.clients)


def _comparable(judgement: Judgement, names: Names | None) -> Any:
    """Verdict, codes and every number of a judgement; workers in no order, as theirs is that of their names."""
    found: list[Any] = []
    if judgement.result is not None:
        found.append((judgement.result.record.operation, _numbers(judgement.result.record)))
        workers = ((worker.host or "", _numbers(worker)) for worker in judgement.result.workers)
        found += sorted((host if names is None else names.text(host), numbers) for host, numbers in workers)
    return judgement.status, sorted(reason.code for reason in judgement.reasons), found


def _numbers(record: Record) -> str:
    values = dataclasses.asdict(record)
    return repr({name: value for name, value in values.items() if isinstance(value, int | float) and name != "worker"})


def _left(copy: Path, names: Names, count: Count) -> list[Left]:
    """What is left in any file or path of a copy, each once per file."""
    found: set[Left] = set()
    files = sorted(copy.rglob("*"))
    for number, file in enumerate(files, start=1):
        path = file.relative_to(copy)
        found |= set(names.left(str(path), str(path)))
        if file.is_file():
            if (text := _text_of(file)) is None:
                why = "no text, or packed and damaged: what is in it cannot be seen"
                found.add(Left("unreadable", str(path), why))
            else:
                text = "\n".join(_name_fields(text)) if _is_telemetry(PurePosixPath(path)) else text
                found |= set(names.left(text, str(path)))
        count(number, len(files))
    return sorted(found, key=lambda left: (left.path, left.kind, left.found))


def _write_names(path: Path, names: Names, raw: Path) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(
            f"# What the copy of {raw.resolve().name} calls what. It leads back: do not give it away.\n"
            "# 'glusterlab publish --names' takes it: another campaign of these hosts then gets the same names.\n"
        )
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        yaml.width = 1000
        if names.mapping:
            yaml.dump(names.mapping, file)
