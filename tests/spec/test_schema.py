"""The JSON Schemas for editors accept what the loader accepts, and say units."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from glusterlab.cli.schema import json_schema
from glusterlab.spec import Campaign, Cluster, dump_yaml, load_campaign, load_cluster, load_yaml
from tests.importing.test_campaign import MAP
from tests.spec.conftest import CAMPAIGN, CLUSTER, Write

BOUNDS = CAMPAIGN.replace("repeats: 3", "repeats: {min: 3, max: 10, half_width: 5%}\nwarmup: 1")
MODELS = CLUSTER.replace("testbed:", "server_models: {dense: {model: A, disks: 1, disk_capacity: 1 PB}}\ntestbed:")


@pytest.mark.parametrize(
    ("kind", "text"), [("cluster", CLUSTER), ("cluster", MODELS), ("campaign", CAMPAIGN), ("campaign", BOUNDS)]
)
def test_the_schema_accepts_the_example_and_its_resolved_form(kind: Any, text: str, write: Write) -> None:
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    model: Cluster | Campaign = {"cluster": load_cluster, "campaign": load_campaign}[kind](write("x.yaml", text))
    for found in (text, dump_yaml(model)):
        loaded, _ = load_yaml(write("x.yaml", found))
        assert [error.message for error in validator.iter_errors(loaded)] == []


PROJECT = Path(__file__).parents[2]
TEXTS = {
    "study": (PROJECT / "raw" / "published" / "supermicro-2017" / "study.yaml").read_text(encoding="utf-8"),
    "claims": (PROJECT / "raw" / "published" / "supermicro-2017" / "claims.yaml").read_text(encoding="utf-8"),
    "prices": (PROJECT / "runbooks" / "supermicro-2017" / "prices.yaml").read_text(encoding="utf-8"),
    "campaign": BOUNDS,
    "cluster": CLUSTER,
    "import": f"schema_version: 1\n{MAP}",
}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("study", "type: replicate", "type: replicated"),
        ("study", "outputs: {F: fig", "outputs: {F: Fig"),
        ("claims", "kind: fact", "kind: facts"),
        ("claims", "{divide: [24, 12]}", "{divide: [24]}"),
        ("prices", "price: 2600,", "price: -1,"),
        ("prices", "price: 2600,", "price: '1.000,50',"),
        ("prices", "currency: USD", "currency: dollars"),
        ("prices", "HDD: 12", "HDD: 0"),
        ("prices", "8 TB}\n    parts:\n      SSG-6028R-E1CR12H", "8 Tb}\n    parts:\n      SSG-6028R-E1CR12H"),
        ("prices", "example: true", "exmaple: true"),
        ("campaign", "record_size: 512 KiB", "recrod_size: 512 KiB"),
        ("campaign", "file_size: 20 MiB", "file_size: 20 Mib"),
        ("campaign", "type: replicate", "type: replicated"),
        ("campaign", "half_width: 5%", "half_width: 5"),
        ("campaign", "half_width", "halfwidth"),
        ("cluster", "disk_write: 205 MB/s", "disk_write: 205 MB"),
        ("cluster", "/bricks/raid6/a01", "bricks"),
        ("import", "patterns:", "pattern:"),
        ("import", "title:", "titel:"),
    ],
)
def test_the_schema_accepts_the_file_and_refuses_what_the_loader_refuses(
    write: Write, kind: Any, old: str, new: str
) -> None:
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    text = TEXTS[kind]
    assert old in text
    good = (text, text.replace("price: 2600,", "price: 2600.50 USD,"))
    for each, is_valid in (*((accepted, True) for accepted in good), (text.replace(old, new), False)):
        assert validator.is_valid(load_yaml(write("x.yaml", each))[0]) is is_valid


def test_units_stand_in_the_descriptions() -> None:
    campaign, cluster = json_schema("campaign"), json_schema("cluster")
    deadline = campaign["properties"]["deadline"]["description"]
    assert "ms, s, min or h" in deadline
    assert "workload command" in deadline
    assert "MB/s" in cluster["$defs"]["Hardware"]["properties"]["disk_write"]["description"]
    assert "KiB" in str(campaign["$defs"]["WorkloadSpec"]["properties"]["file_size"])
