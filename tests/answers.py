"""What commands answer, read as strictly as others will read it."""

import json
from typing import Any


def strict_json(text: str) -> dict[str, Any]:
    """The object that a command printed: without NaN and Infinity, which are no JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    return found
