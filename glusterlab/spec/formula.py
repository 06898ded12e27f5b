"""Arithmetic as data: the steps of a sum that a file states, so that checking it never evaluates code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from glusterlab.spec.fields import AxisSchema, SpecModel, describe, problem, suggest

Operator = Literal["add", "subtract", "multiply", "divide", "percent_more", "largest", "smallest"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)
"""What a formula may do: each is a list of numbers or further formulas."""

_FORMULA = f"a number or one of {', '.join(OPERATORS)} with a list, such as {{divide: [205, 226]}}"


class Operation(SpecModel):
    """A step of a formula: one of `OPERATORS` on at least two operands, in order."""

    operator: Operator
    operands: tuple[float | Operation, ...]

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        operands = {"type": "array", "minItems": 2, "items": {"type": ["number", "object"]}}
        keys = dict.fromkeys(OPERATORS, operands)
        return {"type": "object", "properties": keys, "additionalProperties": False, "minProperties": 1}

    def value(self) -> float:
        """What it comes to; may raise `ZeroDivisionError` or `OverflowError`."""
        numbers = [part.value() if isinstance(part, Operation) else part for part in self.operands]
        return _CALCULATIONS[self.operator](numbers)


_CALCULATIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "add": math.fsum,
    "subtract": lambda numbers: numbers[0] - numbers[1],
    "multiply": math.prod,
    "divide": lambda numbers: numbers[0] / numbers[1],
    "percent_more": lambda numbers: 100 * (numbers[0] / numbers[1] - 1),
    "largest": max,
    "smallest": min,
}


def read_formula(data: object, *at: str | int) -> float | Operation:
    """A formula from what a YAML file says."""
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if data != data or abs(data) > 1e18:
            raise problem(f"expected a number below 1e18, found {describe(data)}", *at)
        return float(data)
    if isinstance(data, Operation):
        return data
    if not isinstance(data, dict) or len(data) != 1:
        raise problem(f"expected {_FORMULA}, found {describe(data)}", *at)
    (operator, operands), *_ = data.items()
    if operator not in OPERATORS:
        raise problem(f"unknown operator{suggest(str(operator), list(OPERATORS))}", *at, operator)
    if not isinstance(operands, (list, tuple)) or len(operands) < 2:
        raise problem(f"expected a list of two or more, found {describe(operands)}", *at, operator)
    if operator in ("divide", "percent_more", "subtract") and len(operands) != 2:
        raise problem(f"expected a list of two, found {len(operands)}", *at, operator)
    read = tuple(read_formula(part, *at, operator, n) for n, part in enumerate(operands))
    return Operation(operator=operator, operands=read)


def _formulas(value: object) -> tuple[float | Operation, ...]:
    if not isinstance(value, (list, tuple)):
        return (read_formula(value),)
    if not value:
        raise ValueError("expected a formula or a list of formulas, found an empty list")
    return tuple(read_formula(part, n) for n, part in enumerate(value))


Formulas = Annotated[tuple[float | Operation, ...], BeforeValidator(_formulas), AxisSchema()]
"""One formula or a list of them."""
