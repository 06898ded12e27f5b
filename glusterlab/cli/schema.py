"""JSON Schemas of the specification files, for editors that complete and check them."""

from typing import Any

from pydantic import BaseModel

from glusterlab.importing.mapping import Mapping
from glusterlab.spec.campaign import Campaign
from glusterlab.spec.claims import Claims
from glusterlab.spec.cluster import Cluster
from glusterlab.spec.fields import UNIT_KEY
from glusterlab.spec.prices import PriceList
from glusterlab.spec.studies import Study
from glusterlab.tools import volume_tools


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a specification file."""
    models: dict[str, type[BaseModel]] = {"cluster": Cluster, "campaign": Campaign, "import": Mapping}
    models |= {"prices": PriceList, "study": Study, "claims": Claims}
    schema = models[kind].model_json_schema()
    if kind == "campaign":
        _name_tools(schema["$defs"])
    _tell_units(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"glusterlab {kind}"}


def _name_tools(definitions: dict[str, Any]) -> None:
    tools = sorted(volume_tools())
    operations = sorted({name for tool in volume_tools().values() for name in tool.by_operation})
    for model in ("WorkloadSpec", "Where"):
        for key, names in (("tool", tools), ("operation", operations), ("operations", operations)):
            found = definitions[model]["properties"].get(key)
            for place in () if found is None else (found["anyOf"][0], found["anyOf"][1]["items"]):
                place.clear()
                place["enum"] = names


def _tell_units(node: Any) -> None:
    """Put the unit after what a field's own description says: pydantic keeps only one of the two."""
    if isinstance(node, dict):
        if (unit := node.pop(UNIT_KEY, None)) is not None:
            own = node.get("description")
            node["description"] = unit if own is None else f"{own}. {unit}"
        for inner in node.values():
            _tell_units(inner)
    elif isinstance(node, list):
        for inner in node:
            _tell_units(inner)
