"""Nothing that is committed or measured holds a key, a token or a password: a campaign can be given away as it is."""

import lzma
from pathlib import Path

import pytest

from glusterlab.hosts.fake import FakeTransport
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import Outcome
from glusterlab.run import runner
from glusterlab.secrets import REDACTED, find, redact
from glusterlab.spec import Campaign, Cluster
from tests.packed import make_plain
from tests.pools import campaign_data, pool_data

pytestmark = pytest.mark.security

PROJECT = Path(__file__).parents[1]
FOLDERS = [PROJECT / name for name in ("raw", "runbooks", "figures")]
FOUND = [path for folder in FOLDERS for path in folder.rglob("*") if ".partial/" not in path.as_posix()]
FILES = sorted(path for path in FOUND if path.is_file())


def secrets(path: Path) -> list[str]:
    data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    return [secret.kind for secret in find(data.decode("utf-8", "replace"))]


@pytest.mark.skipif(not FILES, reason="nothing is measured yet")
def test_no_file_holds_a_secret() -> None:
    assert {str(path.relative_to(PROJECT)): found for path in FILES if (found := secrets(path))} == {}


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----"
SECRETS = {
    KEY: "b3BlbnNzaC1rZXktdjEA",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA": "AAAAC3",
    'password: "hunter2"': "hunter2",
    "DB_PASSWORD=hunter2 iozone": "hunter2",
    '{"api_key": "abc"}': '"abc"',
    '{\\"secret\\": \\"abcdef\\"}': "abcdef",
    "AWS_SECRET_ACCESS_KEY='wJalr/bPxRfiCY'": "wJalr",
    "<password>3f1e-22</password>": "3f1e",
    "mount --user me --password hunter2 /mnt": "hunter2",
    "token = 0123456789abcdef0123": "0123456789",
    "Authorization: Bearer abcdefgh12345678": "abcdefgh",
    "ghp_0123456789abcdefghij": "0123456789",
    "AKIAIOSFODNN7EXAMPLE": "IOSFODNN7",
    "https://admin:hunter2@pool.example.org/": "hunter2",
    "https://hooks.slack.com/services/T000/B000/XXXX": "B000",
    "https://chat.example.org/hooks/abcdefghijklmnopqrstuvwxyz": "abcdefghij",
    "https://s3.example.org/raw?X-Amz-Signature=0123456789abcdef": "0123456789",
    "sshpass -p hunter2 ssh server01": "hunter2",
    '"sshpass", "-p", "hunter2"': "hunter2",
    "root:$6$abcdefgh$ABCDEFGHIJKLMNOPQRSTUVWXYZ:19000": "GHIJKLMNOP",
    "$y$j9T$saltsaltsalt$0123456789abcdefghijABCD/.": "0123456789",
    "AIza0123456789abcdefghijABCDEFGHIJ-_012": "0123456789",
}


@pytest.mark.parametrize(("text", "value"), SECRETS.items())
def test_a_secret_is_found_and_taken_out_and_what_is_around_it_stays(tmp_path: Path, text: str, value: str) -> None:
    (tmp_path / "a.xz").write_bytes(lzma.compress(f"some\n{text}\nmore".encode()))
    assert secrets(tmp_path / "a.xz")
    clean = redact(f"before {text} after")
    assert value not in clean
    assert REDACTED in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert list(find(clean)) == []
    assert redact(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "ssh -o PasswordAuthentication=no -o BatchMode=yes s1",
        "PasswordAuthentication no",
        "token: 17",
        "sshd: no secret is written",
        "http://127.0.0.1:8080/path",
        "git@github.com:fatiando/pooch.git",
        "the key of server01 is not in known_hosts",
        "awk '{ print $1$2 }' a-file-of-a-very-long-name-that-is-no-hash",
        "sshpass is not installed",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_the_search_takes_time_that_grows_with_the_text() -> None:
    for piece in ("password", "a", "-", "://a:", "<secret", "--password ", "token=", "eyJ"):
        list(find(piece * (400_000 // len(piece))))


def test_what_hosts_say_reaches_raw_without_its_secrets(tmp_path: Path) -> None:
    cluster = Cluster.model_validate(pool_data(1))
    campaign = Campaign.model_validate(campaign_data({"operations": ["write"]}, attempts=1, workers=[1]))
    transport = FakeTransport(cluster)
    transport.facts = {"c1": {"tool ssh": "OpenSSH_9.2 password=hunter2", "os": "Debian token=hunter2hunter2hunter2"}}
    refused = Outcome(b"", b"cannot reach https://admin:hunter2@store.example.org/: refused", 1)
    transport.hooks.append(lambda _, text: refused if "gl_make_room" in text else None)
    raw = tmp_path / "raw"
    assert runner.run(campaign, cluster, raw, pool=Pool(cluster.hosts, transport)).failed == 1
    make_plain(raw / campaign.name)
    stored = {path: path.read_text() for path in raw.rglob("*") if path.is_file()}
    assert {path.name for path, text in stored.items() if REDACTED in text} >= {"sample.json", "environment.json"}
    assert [path for path, text in stored.items() if "hunter2" in text] == []
