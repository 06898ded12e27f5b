"""Takes guards of the library out, one at a time, and sees whether a test notices: ``python -m tests.mutants.run``.

Each mutation runs in a copy of the library and the tests. With words: only those in whose entry one of them stands.
Exit code 1: one was not noticed, or is not what it says.
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest
from ruamel.yaml import YAML

PROJECT = Path(__file__).resolve().parents[2]
GUARDS = Path(__file__).with_name("guards.yaml")
COPIED = ("glusterlab", "tests")
TIMEOUT_S = 900
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["pytest", "fabric", "pandas", "pyarrow.parquet", "pydantic", "scipy.stats", "typer.testing"]
)


def mutations() -> list[dict[str, str]]:
    loaded: list[dict[str, str]] = YAML(typ="safe").load(GUARDS)
    return loaded


def stale(mutation: dict[str, str], project: Path = PROJECT) -> str:
    """Why a mutation is no longer one of this source; empty where it is."""
    source = project / "glusterlab" / mutation["file"]
    count = source.read_text(encoding="utf-8").count(mutation["old"]) if source.is_file() else 0
    absent = [name for name in test_files(mutation) if not (project / name).is_file()]
    if count != 1:
        place = f"glusterlab/{mutation['file']}: expected the text {mutation['old']!r} once, found it {count} times"
        return f"{place}: mend tests/mutants/guards.yaml"
    return f"{absent[0]}: expected a file of tests, found none: mend tests/mutants/guards.yaml" if absent else ""


def test_files(mutation: dict[str, str]) -> list[str]:
    return [f"tests/{word}" for word in mutation["tests"].partition(" -k ")[0].split()]


def copy_of_project(folder: Path) -> Path:
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for entry in PROJECT.iterdir():
        if entry.name in COPIED:
            shutil.copytree(entry, folder / entry.name, ignore=ignored)
        elif not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    return folder


def run_tests(words: str, copy: Path) -> int:
    """The exit code of pytest on some tests of a copy; what waits forever has noticed something."""
    process = FORKS.Process(target=_run_pytest, args=(words, copy))
    process.start()
    process.join(TIMEOUT_S)
    if process.exitcode is None:
        process.kill()
    return process.exitcode if process.exitcode is not None else 1


def _run_pytest(words: str, copy: Path) -> None:
    # in a process which has all imported but the project
    names, _, chosen = words.partition(" -k ")
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)
    sys.path[:] = [str(copy), *(path for path in sys.path if path not in ("", str(PROJECT)))]
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.partition(".")[0] in COPIED]:
        del sys.modules[name]
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    command = [
        "-qx",
        *["-p", "no:cacheprovider", "-p", "no:nbval", "-p", "no:xdist"],
        *(f"tests/{name}" for name in names.split()),
    ]
    os._exit(pytest.main([*command, *(["-k", chosen] if chosen else [])]))


def together(words: Iterable[str]) -> list[str]:
    """The same tests, and some more, by as few runs as there can be."""
    parts = [each.partition(" -k ")[::2] for each in words]
    chosen = [(names, each) for names, each in parts if each]
    files = " ".join(sorted({name for names, _ in chosen for name in names.split()}))
    return [*(names for names, each in parts if not each), f"{files} -k {' or '.join(each for _, each in chosen)}"]


def outcome(mutation: dict[str, str], copies: "SimpleQueue[Path]") -> str:
    """``noticed``, ``survived``, or why it could not be tried."""
    if why := stale(mutation):
        return why
    copy = copies.get()
    source = copy / "glusterlab" / mutation["file"]
    text = source.read_text(encoding="utf-8")
    try:
        source.write_text(text.replace(mutation["old"], mutation["new"]), encoding="utf-8")
        code = run_tests(mutation["tests"], copy)
    finally:
        source.write_text(text, encoding="utf-8")
        copies.put(copy)
    return {0: "survived", 1: "noticed"}.get(code, f"pytest ended with {code}: the mutation breaks more than a guard")


def main() -> int:
    words = sys.argv[1:]
    found = [each for each in mutations() if not words or any(word in " ".join(each.values()) for word in words)]
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="glusterlab-mutants-") as folder, ThreadPoolExecutor(workers) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            copies.put(copy_of_project(Path(folder, str(number))))
        unmutated = together(sorted({each["tests"] for each in found}))
        codes = pool.map(lambda words: run_tests(words, Path(folder, "0")), unmutated)
        broken = [words for words, code in zip(unmutated, codes, strict=True) if code != 0]
        for words in broken:
            print(f"tests/{words} fail without any mutation: what they notice says nothing", flush=True)
        counts: Counter[str] = Counter()
        for mutation, how in zip(found, pool.map(lambda each: outcome(each, copies), found), strict=True):
            counts[how if how in ("noticed", "survived") else "not tried"] += 1
            if how != "noticed":
                print(f"{how}: glusterlab/{mutation['file']}: {mutation['old'].strip()!r}", flush=True)
    print(f"{len(found)} mutations: {', '.join(f'{number} {how}' for how, number in sorted(counts.items()))}")
    return int(bool(broken) or counts["noticed"] != len(found))


if __name__ == "__main__":
    sys.exit(main())
