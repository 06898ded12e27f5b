"""Every script that a run sends is run here by a real bash, of a cluster whose paths are as hostile as they may be.

The bash finds no program at all: what it would start is recorded instead, word by word.
"""

import subprocess
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from glusterlab.hosts import transport
from glusterlab.hosts.pool import Pool
from glusterlab.run import runner
from glusterlab.run.plan import check_campaign
from glusterlab.run.validity import Judgement
from glusterlab.spec import Campaign, Cluster
from glusterlab.spec.cluster import Backing, Host, Ssh
from glusterlab.store.campaign import RawStore
from tests.hang import no_hang
from tests.hosts.conftest import Recorder
from tests.pools import pool_data
from tests.run.test_runner import CAMPAIGN as ORDINARY

pytestmark = pytest.mark.security

SANDBOX = r"""
command_not_found_handle() { record "$@"; }
record() {
    # at once, because what runs in the background records as well
    printf '%s\0' "$@" $'\1' >&7
}
# what waits for a process would wait for ever here
sleep() { naps=$((naps + 1)); [ "$naps" -lt 5 ] || builtin exit; }
exec() { "$@"; }
cd() { record cd "$@"; }
set() { :; }
exit() { :; }
for name in $NAMES; do eval "$name() { record $name \"\$@\"; }"; done
gl_part() { record gl_part "$@"; "${@:2}"; }
"""


def words_of(text: str, names: set[str], folder: Path) -> list[list[str]]:
    """What a script would start, without any program within reach."""
    output = folder / "words"
    output.write_bytes(b"")
    script = f'exec 7>>"{output}"\nNAMES="{" ".join(sorted(names))}"\nPATH=/nowhere\n{SANDBOX}\n{text}\n'
    subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, timeout=30, check=False)
    commands = output.read_bytes().decode("utf-8", "surrogateescape").split("\0\1\0")[:-1]
    found = [command.split("\0") for command in commands]
    # a script that is an argument is looked into, too, but for the one that reads what follows
    for words in list(found):
        for shell, option, inner in zip(words, words[1:], words[2:], strict=False):
            if shell in ("sh", "bash") and option == "-c" and "$(cat)" not in inner:
                found += words_of(inner, names, folder)
    return found


def hostile(canary: Path) -> str:
    """A path that does harm wherever it is not quoted; blanks are refused by the model."""
    touch = f"$(:>{canary})`:>{canary}`;:>{canary};&:>{canary}&|:>{canary}"
    return f"/srv/mark'{touch}'\"{touch}\"*?[a]~!{{a,b}}$HOME-ü--end"


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


def cluster_of(canary: Path, root: Path) -> Cluster:
    evil = hostile(canary)
    checkout = root / "smallfile"
    checkout.mkdir()
    (checkout / "smallfile_cli.py").write_text("print()")
    return Cluster.model_validate(
        pool_data(
            clients=[{"name": "c1"}, {"name": "c2", "address": "fe80::1%eth0"}],
            backings={"jbod": {"bricks": [f"{evil}/brick"], "kind": "jbod"}},
            work_dir=f"{evil}/work",
            mount_root=f"{evil}/mount",
            shared_dir=f"{evil}/shared",
            smallfile={"checkout": str(checkout)},
        )
    )


SIZES = {"iozone": {"record_size": "64 KiB"}, "smallfile": {"files_per_worker": 2}}
CAMPAIGN: dict[str, Any] = {
    **ORDINARY,
    "attempts": 1,
    "layouts": [{"name": "plain", "type": "distribute", "geometry": "2", "backing": "jbod"}],
    "workloads": [
        {"tool": tool, "operations": operations, "file_size": "1 MiB", "options": options, **SIZES[tool]}
        for tool, operations, options in (("iozone", ["write", "read"], ["-I"]), ("smallfile", ["create", "read"], []))
    ],
}


@pytest.fixture
def sent(tmp_path: Path, canary: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All scripts of a whole run, with volume options that are hostile, too."""
    layout = {**CAMPAIGN["layouts"][0], "options": {"auth.allow": f"*';:>{canary};$(:>{canary})"}}
    campaign = Campaign.model_validate({**CAMPAIGN, "layouts": [layout]})
    cluster = cluster_of(canary, tmp_path)
    transport = Recorder(cluster)
    monkeypatch.setattr("glusterlab.run.sample.judge", lambda *_: Judgement("valid", (), None))
    runner.run(campaign, cluster, tmp_path / "raw", pool=Pool(cluster.hosts, transport))
    assert len(RawStore(tmp_path / "raw" / "night").samples()) == 4
    return sorted({text for _, text in transport.calls if "\0" not in text} | set(transport.lines))


def test_nothing_is_executed_and_every_word_arrives_whole(sent: list[str], tmp_path: Path, canary: Path) -> None:
    evil = hostile(canary)
    names = {word for text in sent for word in text.replace("'", " ").split() if word.startswith("gl_")}
    folder = tmp_path / "bash"
    folder.mkdir()
    started: set[str] = set()
    whole = 0
    for text in sent:
        for words in words_of(text, names - {"gl_part"}, folder):
            started |= {words[0], *(word for word in words if word in ("iozone", "python3", "ssh"))}
            for word in words[1:]:
                # a script within a script is quoted once more, and has been run as well
                if "mark'" in word and words[0] not in ("sh", "bash") and "-c" not in words:
                    assert evil in word, (words[0], word)
                    whole += 1
        assert not canary.exists(), text
        assert not (folder / "canary").exists(), text
    assert {"iozone", "python3", "gl_take", "gl_mount", "gl_make_brick", "gl_gluster", "mkdir"} <= started | names
    assert whole > 50


def test_a_word_that_is_not_quoted_would_be_noticed(tmp_path: Path, canary: Path) -> None:
    words_of(f"mkdir {hostile(canary)}", set(), tmp_path)
    assert canary.exists()


@pytest.mark.parametrize(
    "name", ["", "-rf", "a/b", "a\0b", "a\nb", "ü", *(f"a{sign}b" for sign in " ;'\"\\|&"), "$(id)", "`id`", "*"]
)
def test_names_that_no_host_has_are_refused(name: str) -> None:
    keys = ("name", "address", "interface") if name else ("name",)
    for data in [*({"name": "s1", key: name} for key in keys), {"name": "s1", "devices": [name]}]:
        with pytest.raises(ValidationError):
            Host.model_validate(data)
    with pytest.raises(ValidationError):
        Ssh.model_validate({"user": name})


@pytest.mark.parametrize(
    "path",
    ["", "relative", "-rf", "/", "/a/../b", "/a/./b", "/a b", "/a\tb", "/a\nb", "/a\0b", "/a\\b", "/a#b", "/a\u2003b"],
)
def test_paths_that_cannot_be_carried_are_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        Backing.model_validate({"bricks": [path], "kind": "jbod"})


IOZONE = ("-f", "-f/dev/sda", "-fx", "-F", "/dev/sda", "-+m", "-b", "-I\n", "$(:>canary)")
SMALLFILE = ("--top", "--top=x", "--to", "--operation=cleanup", "--yaml-input-file")


@pytest.mark.parametrize(
    ("tool", "option"), [*(("iozone", option) for option in IOZONE), *(("smallfile", option) for option in SMALLFILE)]
)
def test_a_campaign_cannot_turn_a_tool_on_other_files(tool: str, option: str) -> None:
    workload = {"tool": tool, "operations": ["read"], "file_size": "1 MiB", **SIZES[tool], "options": [option]}
    with pytest.raises(PydanticCustomError, match="expected"):
        check_campaign(Campaign.model_validate({**CAMPAIGN, "workloads": [workload]}))
    for harmless in ("-I", "-+D") if tool == "iozone" else ("--record-size", "64", "--fsync", "Y"):
        assert Campaign.model_validate({**CAMPAIGN, "workloads": [{**workload, "options": [harmless]}]})


class Flood:
    """A channel on which both outputs never end."""

    closed = eof_received = False

    def recv_ready(self) -> bool:
        return True

    def recv(self, size: int) -> bytes:
        return bytes(size)

    def exit_status_ready(self) -> bool:
        return False

    recv_stderr_ready, recv_stderr = recv_ready, recv

    def settimeout(self, _: float) -> None: ...

    def shutdown_write(self) -> None: ...


def test_a_host_that_floods_its_channel_ends_at_the_deadline_or_when_it_is_too_much() -> None:
    with patch.object(transport, "MAX_RECEIVED", 1 << 40), no_hang(10):
        outcome = transport._converse(Flood(), b"", time.monotonic() + 0.01, transport.Stop())
    assert (outcome.exit_code, outcome.lost) == (None, False)
    with patch.object(transport, "MAX_RECEIVED", 1 << 20), no_hang(10):
        outcome = transport._converse(Flood(), b"", time.monotonic() + 1000, transport.Stop())
    assert outcome.stderr == b"expected at most 1,048,576 bytes of output, the host sent more: see what runs there"
    assert (outcome.exit_code, outcome.stdout) == (None, b"")
