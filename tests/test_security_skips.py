"""A security test that is skipped where it has to run is a failure, and only there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.security

TESTS = Path(__file__).parent

PROBE = """
import pytest

@pytest.mark.security
@pytest.mark.skipif(True, reason="no sshd here")
def test_marked(): ...

@pytest.mark.security
def test_inside():
    pytest.skip("no namespace here")

@pytest.mark.security
@pytest.mark.parametrize("none", [])
def test_of_nothing(none): ...

@pytest.mark.skipif(True, reason="no browser here")
def test_other(): ...
"""


@pytest.mark.parametrize(("required", "outcome"), [("1", "1 failed, 1 skipped, 2 errors"), ("", "4 skipped")])
def test_a_skip_of_a_security_test_fails_where_a_testbed_is_required(
    tmp_path: Path, required: str, outcome: str
) -> None:
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_probe.py").write_text(PROBE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "markers=security", tmp_path],
        cwd=tmp_path,
        env=os.environ | {"GLUSTERLAB_REQUIRE_TESTBED": required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in done.stdout
    assert ("no sshd here" in done.stdout) == bool(required)


GUARDS = sorted({*(TESTS / "hosts").glob("test_*.py"), *(TESTS / "publishing").glob("test_*.py")})


@pytest.mark.parametrize("path", GUARDS, ids=lambda path: path.stem)
def test_what_guards_a_host_is_not_skipped_in_silence(path: Path) -> None:
    """Tests of host keys, deletion, mounts, disks and locks need root here and there: all of such a file are marked."""
    text = path.read_text()
    if "skip" in text:
        head = text.partition("\ndef ")[0].partition("pytestmark = ")[2]
        assert "pytest.mark.security" in head.partition("\n\n")[0]
