"""Whatever is wrong with a specification is one clear sentence with its file, line and key."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glusterlab.errors import SpecError
from glusterlab.run.plan import check_campaign
from glusterlab.spec import Campaign, Repeats, dump_yaml, load_campaign, load_cluster, load_yaml
from glusterlab.spec.campaign import most_of
from glusterlab.spec.fields import format_rate
from glusterlab.spec.yaml import MAX_BYTES
from tests.spec.conftest import CAMPAIGN, CLUSTER, Write


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("record_size: 512 KiB", "recrod_size: 512 KiB", "workloads.0.recrod_size", "did you mean 'record_size'?"),
        ("file_size: 20 MiB", "file_size: 20 Mib", "workloads.0.file_size", "expected a size in B, kB"),
        ("file_size: 20 MiB", "file_size: .inf", "workloads.0.file_size", "expected something like '20 MiB'"),
        ("file_size: 20 MiB", "file_size: [20 MiB, 20 MiB]", "workloads.0.file_size", "twice"),
        ("file_size: 20 MiB", "file_size: []", "workloads.0.file_size", "empty list"),
        ("file_size: 20 MiB", "file_size: [20 MiB, 40 MiB]", "workloads.0.stands_for", "each of the 2 file sizes"),
        ("stands_for: 4 GiB", "length: 0", "workloads.0.length", "expected more than 0"),
        ("stands_for: 4 GiB", "length: .nan", "workloads.0.length", "expected a finite number"),
        ("deadline: 20 min", "deadline: 20 mn", "deadline", "expected a duration in ms, s, min or h"),
        ("deadline: 20 min", "deadline:", "deadline", "found nothing"),
        ("repeats: 3", "repeats: three", "repeats", "expected a whole number, found 'three'"),
        ("repeats: 3", "repeats: 0", "repeats", "expected at least 1, found the number 0"),
        ("repeats: 3", "repeats: {max: 5}", "repeats.half_width", "this key is required"),
        ("repeats: 3", "repeats: {min: 6, max: 5, half_width: 5%}", "repeats.max", "at least 6 (min), found 5"),
        ("repeats: 3", "repeats: {min: 1, max: 2, half_width: 5%}", "repeats.max", "an interval needs as many"),
        ("repeats: 3", "repeats: {max: 5, half_width: 5}", "repeats.half_width", "expected a share such as 5% or 0.05"),
        ("seed: 2017", "seed: 2017\nwarmup: -1", "warmup", "expected at least 0"),
        ("seed: 2017", "seed: 2017\nnotebooks: []", "notebooks", "expected at least 1"),
        ("repeats: 3", "warm_cache: true", "warm_cache", "unknown key"),
        ("name: first-light", "name: 2017", "name", "put it in quotes"),
        ("name: first-light", f"name: {'x' * 300}", "name", "expected at most 60 characters, found 300"),
        ("seed: 2017\n", "", "seed", "this key is required"),
        ("workers: [2, 4]", "workers: [2, four]", "workers.1", "expected a whole number, found 'four'"),
        ("type: replicate", "type: replicated", "layouts.0.type", "did you mean 'replicate'?"),
        ("geometry: 3x2", "geometry: 3x(4+2)", "layouts.0.geometry", "such as '3x2' for replicate"),
        ("geometry: 12x(4+2)", "geometry: 12x(2+2)", "layouts.1.geometry", "more data than redundancy"),
        (
            "type: disperse, geometry: 12x(4+2)",
            "type: other, geometry: 1",
            "layouts.1.type",
            "only access 'existing' has",
        ),
        ("name: ec", "name: mirror", "layouts.1.name", "'mirror' twice"),
        ("[write, read]", "[wriet, read]", "workloads.0.operations", "did you mean 'write'?"),
        ("layout: ec", "layout: ce", "exclude.0.where.layout", "unknown layout 'ce': expected one of ec, mirror"),
        ("{layout: ec, tool: smallfile, workers: 4}", "{}", "exclude.0.where", "excludes everything"),
        ("seed: 2017", "seed: 2017\nseed: 2018", "seed", "stands here twice, first on line 4"),
        ("seed: 2017", "seed: !!python/object:os.system {}", "seed", "expected plain YAML, found the tag"),
        ("seed: 2017", "seed: 9" + "9" * 5000, "seed", "expected a number"),
        ("seed: 2017", "1: 2017", None, "put it in quotes"),
        ("seed: 2017", "<<: {seed: 1}", None, "no merge keys"),
        ("schema_version: 1", "schema_version: 2", "schema_version", "install a newer glusterlab"),
        ("schema_version: 1\n", "", "schema_version", "found no such key"),
        ("on}", '"o\\tn"}', "layouts.0.options.cluster.lookup-optimize", "expected a value"),
    ],
)
def test_what_is_wrong_in_a_campaign_is_named(write: Write, old: str, new: str, key: str | None, message: str) -> None:
    path = write("campaign.yaml", CAMPAIGN, {old: new})
    with pytest.raises(SpecError) as caught:
        load_campaign(path, check_campaign)
    assert message in caught.value.message
    assert caught.value.key == key
    assert str(caught.value).startswith(f"{path}:{caught.value.line}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ("disk_write: 205 MB/s", "disk_write: 205", "hardware.disk_write", None),
        ("disk_write: 205 MB/s", "disk_write: 205 MB", "hardware.disk_write", "expected a rate such as"),
        ("name: c2", "name: c1", "clients.1.name", "'c1' also in clients"),
        ("name: c2", "name: c2, address: 10.77.0.11", "clients.1.address", "found that of 's1'"),
        ("name: c2", "name: c2, devices: ['sda; rm -rf /']", "clients.1.devices.0", "of the form"),
        ("name: c2", "name: '-oProxyCommand=x'", "clients.1.name", "of the form"),
        ("/bricks/raid6/a01", "/", "backings.raid6.bricks.0", "below /"),
        ("/bricks/raid6/a01", "/bricks/../etc", "backings.raid6.bricks.0", "without '.' and '..'"),
        ("/bricks/raid6/a01", "bricks/raid6", "backings.raid6.bricks.0", "expected an absolute path on the hosts"),
        ("/bricks/raid6/a01", "/mnt/glusterlab/a", "backings.raid6.bricks.0", "bricks apart from mount_root"),
        ("/bricks/jbod/d02", "/bricks/jbod/d01/x", "backings.jbod.bricks.1", "file systems apart"),
        ("disks_per_brick: 12", "disks_per_brick: 3", "backings.raid6.disks_per_brick", "at least 4 disks in a RAID 6"),
        ("disks_per_brick: 12, kind", "kind", "backings.raid6", "a RAID 6 array, found 1"),
        ("kind: raid6", "kind: raid6, server_model: dense", "backings.raid6.server_model", "server_models (none)"),
        ("testbed:", "server_models: {dense: {model: A}}\ntestbed:", "server_models.dense.disks", "required"),
        ("testbed:", "mount_options: ['a=1,b']\ntestbed:", "mount_options.0", "of the form"),
        ("kind: raid6", "kind: raid6, devices: [sda]", "backings.raid6.devices.0", "expected an absolute path"),
        ("kind: raid6", "kind: raid6, devices: 3", "backings.raid6.devices", "expected a list, found the number 3"),
        ("testbed: {name: default, state: state}", "work_dir: /var/tmp/gl", "scale_models", "belong to a testbed"),
        ("testbed:", "telemetry: {interval: 500 ms}\ntestbed:", "telemetry.interval", "whole seconds"),
        ("scale: 200", "scale: 0.5", "scale_models.large-file.scale", "at least 1"),
        ("connect_timeout: 10 s", "check_host_keys: maybe", "ssh.check_host_keys", "expected true or false"),
        ("config: ssh_config", "config: 5", "ssh.config", "expected a path"),
    ],
)
def test_what_is_wrong_in_a_cluster_is_named(write: Write, old: str, new: str, key: str, message: str | None) -> None:
    path = write("cluster.yaml", CLUSTER, {old: new})
    if message is None:
        assert load_cluster(path).hardware.disk_write == 205
        return
    with pytest.raises(SpecError) as caught:
        load_cluster(path)
    assert message in caught.value.message
    assert caught.value.key == key
    assert "\n" not in str(caught.value)


def test_all_problems_are_named_in_the_order_of_the_file(write: Write) -> None:
    path = write("campaign.yaml", CAMPAIGN, {"seed: 2017\n": "", "deadline: 20 min": "deadline: x"})
    with pytest.raises(SpecError) as caught:
        load_campaign(path)
    places = [line.split(":")[1:3] for line in str(caught.value).splitlines()]
    assert places == [["1", " seed"], ["17", " deadline"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found an empty file"),
        (b"just text", "expected a mapping of keys, found 'just text'"),
        (b"\x7fELF\x00\x00", "found a binary file"),
        (b"schema_version: 1\nname: \xff\xfe\n", "expected text in UTF-8"),
        (b"name: a\x07b\n", "control character"),
        (b"a: 1\n\tb: 2\n", "found a tab"),
        (b"name: [a, b\n", "this is not YAML"),
        (b"%YAML 3.0\n---\na: 1\n", None),
        (b"? [a, b]\n: c\n", "expected a key that is text"),
        (b"a: " + b"[" * 100 + b"]" * 100, "nested too deeply"),
        (b"a: " + b"[" * 100_000, "nested too deeply"),
        (b"a: &x [*x]\n", "nested too deeply"),
        (b"a: " + b"x" * MAX_BYTES, "found a larger file"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_file_that_is_no_specification(tmp_path: Path, content: bytes, message: str | None) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        load_campaign(path)
    assert message is None or message in caught.value.message
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_aliases_cannot_expand_without_bound(tmp_path: Path) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    path = tmp_path / "campaign.yaml"
    path.write_text("\n".join(levels))
    with pytest.raises(SpecError, match="do aliases repeat each other"):
        load_campaign(path)


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="found no such file"):
        load_campaign(tmp_path / "none.yaml")
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    with pytest.raises(SpecError, match=r"found a directory: did you mean .*cluster.yaml\?"):
        load_cluster(tmp_path)


def test_yaml_1_2_keeps_words_and_dates_as_text_and_reads_a_plain_alias(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(
        b"\xef\xbb\xbfa: on\nb: no\nc: 2017-01-01\nd: 12:30\ne: true\nf: 0o17\ng: ~\nh: &h [1, 2]\ni: *h\n"
    )
    plain = {"a": "on", "b": "no", "c": "2017-01-01", "d": "12:30", "e": True, "f": 15, "g": None}
    assert load_yaml(path)[0] == plain | {"h": [1, 2], "i": [1, 2]}


@pytest.mark.parametrize(
    ("text", "value"), [("{a: fd00::1, b: 1}", "fd00::1"), ("{a: what?, b: 1}", "what?"), ("{a: &x-y.z 1}", 1)]
)
def test_what_libyaml_refuses_and_yaml_1_2_has_is_read(tmp_path: Path, text: str, value: object) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    assert load_yaml(path)[0]["a"] == value


def test_the_resolved_specifications_read_back_as_the_same(write: Write) -> None:
    cluster = load_cluster(write("cluster.yaml", CLUSTER))
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN))
    assert load_cluster(write("again.yaml", dump_yaml(cluster))) == cluster
    assert load_campaign(write("again.yaml", dump_yaml(campaign))) == campaign
    assert dump_yaml(load_campaign(write("again.yaml", dump_yaml(campaign)))) == dump_yaml(campaign)
    assert "cluster.lookup-optimize:\n    - on\n" in dump_yaml(campaign)


def test_paths_of_the_controller_are_relative_to_the_file(write: Write, tmp_path: Path) -> None:
    cluster = load_cluster(write("cluster.yaml", CLUSTER))
    assert cluster.ssh.config == tmp_path / "ssh_config"
    assert cluster.testbed is not None
    assert cluster.testbed.state == tmp_path / "state"


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(content)
    with pytest.raises(SpecError):
        load_campaign(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_a_damaged_campaign_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(CAMPAIGN)))
    end = data.draw(st.integers(start, min(len(CAMPAIGN), start + 12)))
    junk = data.draw(st.text("abx:-[]{}()*&!|>%@#'\",.0123456789 \n\t", max_size=6))
    path = tmp_path / "x.yaml"
    path.write_text(CAMPAIGN[:start] + junk + CAMPAIGN[end:])
    with contextlib.suppress(SpecError):
        load_campaign(path)


@given(st.floats(min_value=1e-3, max_value=1e15))
def test_rates_are_written_exactly(rate: float) -> None:
    from glusterlab.units import parse_rate

    assert parse_rate(format_rate(rate)) == rate


@pytest.mark.parametrize("text", ["5%", "5 %", "0.05"])
def test_bounds_of_repeats_read_back_as_they_were_written(write: Write, text: str) -> None:
    new = f"repeats: {{max: 10, half_width: {text}}}\nwarmup: 2\nnotebooks: [80-releases]"
    campaign = load_campaign(write("campaign.yaml", CAMPAIGN, {"repeats: 3": new}))
    assert campaign.repeats == Repeats(min=3, max=10, half_width=0.05)
    assert most_of(campaign.repeats) == 10
    assert campaign.notebooks == ("80-releases",)
    again = dump_yaml(campaign)
    assert "half_width: 5%\n" in again
    assert "\nwarmup: 2\n" in again
    assert load_campaign(write("again.yaml", again)) == campaign


def test_a_campaign_without_bounds_is_written_as_ever(campaign: Campaign) -> None:
    text = dump_yaml(campaign)
    assert "\nrepeats: 3\n" in text
    assert "warmup" not in text
    assert "notebooks" not in text
    assert (campaign.repeats, campaign.warmup) == (3, 0)
