"""Nothing that is committed or measured holds a key, a token or a password: a campaign can be given away as it is."""

import lzma
import time
import traceback
from pathlib import Path

import pytest
from typer.testing import CliRunner

from glusterlab.cli import app
from glusterlab.errors import UsageError
from glusterlab.hosts.pool import Pool
from glusterlab.hosts.transport import Outcome
from glusterlab.run import runner
from glusterlab.secrets import REDACTED, find, redact, redact_all, redact_words
from glusterlab.spec import Campaign, Cluster
from glusterlab.store import evidence
from glusterlab.store.files import local
from tests.fake_pool import FakeTransport
from tests.packed import make_plain
from tests.pools import campaign_data, pool_data

pytestmark = pytest.mark.security

PROJECT = Path(__file__).parents[1]
FOLDERS = [PROJECT / name for name in ("raw", "runbooks")]
FOUND = [path for folder in FOLDERS for path in folder.rglob("*") if ".partial/" not in path.as_posix()]
# what else is in figures/ is made anew of raw/, and is not committed
FILES = sorted(path for path in [*FOUND, *PROJECT.glob("figures/*/*.*")] if path.is_file())


def secrets(path: Path) -> list[str]:
    data = path.read_bytes()
    if path.name == evidence.ARCHIVE:
        # telemetry is packed once more, and in packed bytes no form is found
        members = (b"".join(content) for name, content in evidence.members(path) if not name.endswith(".xz"))
        data = b"\n".join(members)
    elif path.suffix == ".xz":
        data = lzma.decompress(data)
    return list(find(data.decode("utf-8", "replace")))


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
    '{"password": "correct horse battery"}': "battery",
    "{'passphrase': 'correct \\'horse battery'}": "battery",
    "--password 'correct horse battery' -t 1": "battery",
    '"--password", "correct horse"': "horse",
    '{\\"password\\": \\"correct horse\\"}': "horse",
    "<password>correct horse</password>": "horse",
    '"secret": "no way"': "way",
    "\npassword: correct horse battery\n": "battery",
    "\nldap_password = correct horse battery\n": "battery",
    "MYSQL_PWD=hunter2 mysql db": "hunter2",
    "DB_PASS=hunter2 SSHPASS=hunter2": "hunter2",
    "Server=a;Uid=me;Pwd=hunter2;": "hunter2",
    "bindpw hunter2=1 bindpw=hunter2": "=hunter2",
    "curl -u me:hunter2 https://example.org": "hunter2",
    "curl -sSu 'me:correct horse' https://example.org": "correct",
    '"curl", "--user", "me:hunter2"': "hunter2",
    "curl -su 'me:correct horse battery' https://example.org": "battery",
    "curl --cookie 'session=hunter2' -b session=hunter2 https://example.org": "hunter2",
    "curl --oauth2-bearer hunter2 https://example.org": "hunter2",
    "skopeo copy --src-creds me:hunter2 a b": "hunter2",
    "smbclient -U 'me%correct horse' //host/share": "horse",
    "mount -t cifs -o user=me,pass=hunter2 //host/share /mnt": "hunter2",
    "\nbindpw hunter2\n": "hunter2",
    "openssl rsa -passin pass:hunter2": "hunter2",
    "ftp://me:hunt/er2@host/x": "er2",
    "ftp://me:hun@ter2@host/x": "ter2",
    "aws_session_token = FwoGZXIvYXdzEXAMPLE": "FwoGZ",
    "X-Vault-Token: hunter2": "hunter2",
    "Cookie: session=hunter2; other=hunter2\n": "hunter2",
    "Authorization: Basic bWU6cHc=": "bWU6",
    "hf_ABCDEFGHIJabcdefghij": "ABCDEF",
    "sk_live_0123456789abcdefghij": "0123456789",
    "github_pat_0123456789abcdefghij": "0123456789",
    "glsa_0123456789abcdefghij": "0123456789",
    "xoxb-0123456789-abcdefghij": "0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl": "c2lnbm",
    "mysql -u root -phunter2 db": "hunter2",
    "mongodump -u me -p hunter2": "hunter2",
    "mysql -p'correct horse battery' db": "battery",
    "docker login -u me -p hunter2 host": "hunter2",
    "podman login -u me -phunter2 host": "hunter2",
    "ipmitool -H bmc -P hunter2 power": "hunter2",
    "ldapsearch -x -w hunter2 -b dc": "hunter2",
    "ldapsearch -D me -w 'correct horse' -b dc": "horse",
    "whsec_0123456789abcdefghij": "0123456789",
    "redis-cli -a hunter2 ping": "hunter2",
    "machine host login me password hunter2": "hunter2",
    "option auth.login.3f1e.password hunter2": "hunter2",
    "PASS=hunter2 USER=me": "hunter2",
    "PASS='correct horse' PASS=x;": "horse",
    "export PASS=correct": "correct",
    "GITHUB_TOKEN=hunter TOKEN=x": "hunter",
    "token=hunter2": "hunter2",
    '{"token": "a1b2c3"}': "a1b2c3",
    "{'token': 'hunter'}": "hunter",
    "--password 12345 --token=abc": "12345",
    "token: 4f5e6d7c": "4f5e6d7c",
    "kubeadm join --token hunter2 --port 17": "hunter2",
    '"--join-token", "correct"': "correct",
    "https://example.org/a?token=hunter&b=1": "hunter",
    "https://0123456789abcdef0123456789abcdef01234567@github.com/a/b": "0123456789",
    "git clone https://AbCdEfGhIjKlMnOpQrSt@example.org/a": "AbCdEf",
    "https://0123456789abcdefghij:x-oauth-basic@example.org/a": "0123456789",
    "https://0123456789abcdefghij:@example.org/a": "0123456789",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----": "lQOYBF",
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
        "http://127.0.0.1:8080/path me@host http://host:80/me@x http://[fe80::1]:80/a@b https://host/a:b@c",
        "git@github.com:fatiando/pooch.git",
        "the key of server01 is not in known_hosts",
        "awk '{ print $1$2 }' a-file-of-a-very-long-name-that-is-no-hash",
        "sshpass is not installed",
        "PWD=/root OLDPWD=/tmp",
        '{"cookie": "qdtk3vtwxqyzd2gyuqqsq5jf5nh2lfsezc4z"}',
        "docker run -p 80:80 -u 0:0 image",
        "mysql -P3306 -u root",
        "bash: pwd: command not found",
        "loops=4 pass=2 bypass=1 --bypass cache",
        '"password": "no", "secret": null',
        '{"prompt_tokens": 17, "key": "server01"}',
        "chown -u root:root /mnt",
        "Number of passes: 3",
        "auth.ssl-allow: server01, client.ssl: on",
        "curl -b cookies.txt -fsSL --user-agent a:b https://example.org",
        "the test passes: pass: 3",
        "PASS=3 FAIL=0 PASS: 3 TOKEN=17 COMPASS=north",
        "unexpected token: int32 near token=newline, token: EOF, token: 3000 ms, --token 17 --max-tokens 200",
        "ssh://git@github.com https://me@example.org sftp://backup2024@host:22/ https://firstname.lastname@host",
        "https://a-host-of-a-very-long-name-01.example.org/me@home https://0123456789abcdef0123.example.org/",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_the_search_takes_time_that_grows_with_the_text() -> None:
    old = ("password", "a", "-", "://a:", "<secret", "--password ", "token=", "eyJ")
    new = ("eyJ-", "password='", 'secret=\\"', "pwd=", "password:", "password=\t", "\npassword: ", "://a:b@", "SG.a")
    clients = ("mysql ", "curl ", "curl -u a", "docker login ", "sshpass -", "cookie:a", "login a ", "option a.")
    odd = ("-----BEGIN PRIVATE KEY-----", "_pass", "\\", "--password '\\", "ssh-rsa ", "$6$a", "Basic ", "hf_")
    for piece in (*old, *new, *clients, *odd):
        began = time.process_time()
        list(find(piece * (100_000 // len(piece)) + "password=x curl mysql cookie token"))
        assert time.process_time() - began < 5, piece


SHARED = PROJECT.parent / "shared" / "samples"
OUTPUTS = [path for folder in (PROJECT / "tests" / "data", SHARED) for path in folder.rglob("*") if path.is_file()]


def test_what_tools_print_stays_to_the_byte() -> None:
    assert OUTPUTS
    changed = {}
    for path in OUTPUTS:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        if (clean := redact(text)) != text:
            pairs = zip(text.splitlines(), clean.splitlines(), strict=False)
            changed[path] = next((one, other) for one, other in pairs if one != other)
    assert changed == {}


def test_words_and_values_by_name_are_without_their_secrets() -> None:
    words = ["iozone", "--password", "hunter2", "-t", "1"]
    assert redact_words(words) == ["iozone", "--password", REDACTED, "-t", "1"]
    assert redact_words(["--password='", "a", "b"])[1:] == ["a", "b"]
    found = redact_all({"argv": words, "db_password": "correct horse", "password": None, "hosts": ["a", "b"]})
    assert found == {"argv": redact_words(words), "db_password": REDACTED, "password": None, "hosts": ["a", "b"]}


def test_no_error_says_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = "ftp://me:hunter2@127.0.0.1:9/raw/night"
    for words in (["fetch", url], ["verify", url], [url], ["status", "raw", url], ["size", f"--{url}"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code != 0
        assert "hunter2" not in result.output
    with pytest.raises(UsageError) as raised:
        local(url)
    assert "me:[redacted]@127.0.0.1" in "".join(traceback.format_exception_only(raised.value))


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
