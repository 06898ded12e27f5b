"""init: a lab out of a checkout; tests/test_packaging.py has the same out of a wheel."""

from pathlib import Path

from glusterlab.cli.init import PARTS, source
from tests.cli.conftest import ROOT, answer, call

SOME = ("notebooks/00-scorecard.ipynb", "runbooks/testbed/demo.yaml", "raw/published/supermicro-2017/claims.yaml")


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_lab_has_all_parts_and_is_whole(tmp_path: Path) -> None:
    found = answer("init", tmp_path / "lab")
    assert (set(found["written"]), found["kept"]) == (names(tmp_path / "lab"), [])
    assert {name for name in found["written"] if not name.startswith(PARTS)} == set()
    for name in SOME:
        assert (tmp_path / "lab" / name).read_bytes() == (ROOT / name).read_bytes()
    assert source() == ROOT


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    mine, link = tmp_path / "notebooks" / "00-scorecard.ipynb", tmp_path / "runbooks" / "README.md"
    for path in (mine, link):
        path.parent.mkdir()
    mine.write_text("mine")
    link.symlink_to(tmp_path / "nowhere")
    found = answer("init", tmp_path)
    assert found["kept"] == ["notebooks/00-scorecard.ipynb", "runbooks/README.md"]
    assert (mine.read_text(), link.is_symlink(), (tmp_path / "nowhere").exists()) == ("mine", True, False)
    again = answer("init", tmp_path)
    assert (again["written"], len(again["kept"])) == ([], len(found["written"]) + 2)


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lab").write_text("mine")
    result = call("init", tmp_path / "lab")
    assert (result.exit_code, "expected a folder or nothing, found a file" in result.stderr) == (2, True)
