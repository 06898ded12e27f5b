"""The testbed's loop devices on the way out: without root, with a kernel that only looks like one."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from glusterlab.testbed import disks


@pytest.mark.parametrize("known", [True, False])
def test_a_device_given_back_flushes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    """Before it is detached: then it is nobody's. A kernel without the file keeps no device."""
    cache = tmp_path / "sys" / "loop7" / "queue" / "write_cache"
    if known:
        cache.parent.mkdir(parents=True)
        cache.write_text("write through")
    attached = [{"name": "/dev/loop7", "back-file": f"{tmp_path}/disks/s1/d01.img"}]
    seen: list[str] = []

    def run(argv: Sequence[str | Path], **_: object) -> str:
        if "--list" in argv:
            return json.dumps({"loopdevices": attached})
        assert argv == ["losetup", "--detach", "/dev/loop7"]
        seen.append(cache.read_text() if known else "")
        attached.clear()
        return ""

    monkeypatch.setattr(disks, "_BLOCK", tmp_path / "sys")
    monkeypatch.setattr(disks, "run", run)
    disks.remove(tmp_path / "disks")
    assert (seen, attached) == (["write back" if known else ""], [])
