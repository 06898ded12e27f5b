"""No command states a number of raw files that are not as the manifest has them."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from glusterlab.cli import COMMANDS
from glusterlab.errors import RawStoreError
from glusterlab.sections.campaign import open_campaign
from glusterlab.sections.section import open_section
from glusterlab.store import digests
from glusterlab.store.manifest import MANIFEST
from tests.cli import conftest
from tests.cli.conftest import ROOT, call

RELEASE = ROOT / "raw" / "gluster-10-3"
TAKES_NONE = {"init", "testbed", "prepare", "check", "plan", "run", "log", "import", "fetch", "parse", "schema"}
"""Commands that state no number of what a campaign has stored."""

READS: dict[str, Callable[[Path, Path], list[str | Path]]] = {
    "status": lambda raw, _: ["status", raw],
    "verify": lambda raw, _: ["verify", raw],
    "publish": lambda raw, other: ["publish", raw, "--output", other.parent / "copy"],
    "tables": lambda raw, _: ["tables", raw],
    "reproduce": lambda raw, _: ["reproduce", raw, "--check"],
    "site": lambda raw, other: ["site", raw, "--output", other.parent / "site"],
    "claims": lambda raw, _: ["claims", raw, "--study", "supermicro-2017"],
    "compare": lambda raw, other: ["compare", other, raw],
    "size": lambda raw, _: ["size", "--workload", "32kb-read", "--throughput", "100 files/s", "--raw", raw],
}


@pytest.fixture(scope="module")
def _pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two campaigns of three repeats each of two cells, and their tables."""
    if not RELEASE.is_dir():
        pytest.skip("raw/gluster-10-3 is not here")
    root = tmp_path_factory.mktemp("pair")
    (root / "notebooks").mkdir()
    for name in ("gluster-10-3", "gluster-10-3-again"):
        source, raw = RELEASE.with_name(name), root / "raw" / name
        cells = sorted((source / "cells").glob("smallfile-*-32kib-*-w12-*"))
        conftest.copy_part(source, raw, [cell / f"sample-{number:02d}" for cell in cells for number in (1, 2, 3)])
        assert call("tables", raw).exit_code == 0
    return root


@pytest.fixture
def pair(_pair: Path, tmp_path: Path) -> tuple[Path, Path]:
    root = Path(shutil.copytree(_pair, tmp_path / "pair"))
    return root / "raw" / "gluster-10-3", root / "raw" / "gluster-10-3-again"


def _outputs(raw: Path) -> list[Path]:
    return sorted(raw.glob("cells/*/sample-02/workload/stdout.txt"))


def _edit(raw: Path) -> str:
    """One digit of a result, with size and time as they were."""
    path = _outputs(raw)[0]
    state, data = path.stat(), path.read_bytes()
    at = next(n for n, byte in enumerate(data) if chr(byte).isdigit())
    path.write_bytes(data[:at] + bytes([(data[at] - 47) % 10 + 48]) + data[at + 1 :])
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert path.stat().st_size == state.st_size
    return "workload/stdout.txt"


def _lose(raw: Path) -> str:
    folder = _outputs(raw)[0].parents[1]
    shutil.rmtree(folder)
    return f"{folder.parent.name}/sample-02"


def _add(raw: Path) -> str:
    folder = _outputs(raw)[0].parents[1]
    shutil.copytree(folder, folder.with_name("sample-04"))
    record = folder.with_name("sample-04") / "sample.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "sample": 4, "repeat": 4}))
    return f"{folder.parent.name}/sample-04"


def test_every_command_is_held_to_it() -> None:
    # tests/sections/test_trace.py has trace, which reads a figure's CSV first
    assert READS.keys() | TAKES_NONE | {"trace"} == COMMANDS.keys()


@pytest.mark.parametrize("damage", [_edit, _lose, _add])
@pytest.mark.parametrize("command", READS)
def test_a_command_says_what_is_not_as_listed(
    pair: tuple[Path, Path], command: str, damage: Callable[[Path], str]
) -> None:
    raw, other = pair
    named = damage(raw)
    result = call(*READS[command](raw, other))
    # a copy that is not made is no answer
    assert result.exit_code == (3 if command == "publish" else 1), result.output
    text = " ".join(result.output.split())
    assert named in text.replace(" ", "") or named in text
    assert command in ("verify", "publish") or "restore them from a copy" in text


def test_a_command_that_is_told_to_hashes_every_byte(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    raw, _ = pair
    assert call("tables", raw).exit_code == 0
    hashed: list[Path] = []
    digest = digests.file_digest
    monkeypatch.setattr(digests, "file_digest", lambda path: (hashed.append(path), digest(path))[1])
    assert call("tables", raw).exit_code == 0
    assert [path for path in hashed if path.is_relative_to(raw)] == []
    assert call("tables", raw, "--verify").exit_code == 0
    assert {*_outputs(raw)} <= {*hashed}
    hashed.clear()
    assert call("tables", raw).exit_code == 0
    assert [path for path in hashed if path.is_relative_to(raw)] == []


def test_status_counts_what_is_lost_as_lost(pair: tuple[Path, Path]) -> None:
    raw, _ = pair
    lost = _lose(raw)
    # also when what is left was seen before
    for _ in range(2):
        result = call("status", raw, "--json")
        found = json.loads(result.stdout)
        assert (result.exit_code, found["missing"], found["complete"]) == (1, [f"cells/{lost}"], False)
    digests._examined.clear()
    assert call("tables", raw).exit_code == 1
    assert (found["total"]["valid"], found["total"]["wanted"] - found["total"]["left"]) == (5, 5)


def test_notebooks_open_no_campaign_that_was_edited(pair: tuple[Path, Path]) -> None:
    raw, _ = pair
    named = _edit(raw)
    for opened in (open_campaign, open_section):
        with pytest.raises(RawStoreError, match=f"{named} was changed"):
            opened(str(raw))


def test_a_copy_can_be_signed(pair: tuple[Path, Path], tmp_path: Path) -> None:
    key, signers, copy = tmp_path / "key", tmp_path / "signers", tmp_path / "copy"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers.write_text(f"ann@lab {key.with_suffix('.pub').read_text()}")
    publish = ("publish", pair[0], "--keep-host-names", "--output", copy)
    assert call(*publish, "--sign", tmp_path / "none").exit_code == 2
    assert call(*publish, "--sign", key).exit_code == 0
    # the pair has fewer repeats than the campaign wants, but no finding
    result = call("verify", copy)
    assert (result.exit_code, "MANIFEST.sha256.sig was not checked" in result.stderr) == (0, True)
    assert call("verify", copy, "--signature", signers).exit_code == 0
    with (copy / MANIFEST).open("a") as file:
        file.write("\n")
    result = call("verify", copy, "--signature", signers)
    assert (result.exit_code, "bad-signature" in result.stdout) == (1, True)
