"""What a pool costs: a price list that the user owns (``prices.yaml``), and the cost of a server by it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from glusterlab.spec.fields import Label, Size, SpecModel, Text, describe, problem, suggest
from glusterlab.spec.yaml import validate

MAX_PRICE = 1_000_000_000

EXAMPLE_NOTICE = "example prices, not quotes: use a list of your own"

Group = Literal["disks", "server", "software", "network", "support"]
GROUPS: tuple[Group, ...] = ("disks", "server", "software", "network", "support")
"""What a server's cost is made of: data disks, all other parts, and the lines that every server has."""

_AMOUNT = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)(?:\s*([A-Za-z]{3}))?\s*$")


def _date(value: object) -> dt.date:
    if isinstance(value, dt.date):
        return value
    with suppress(ValueError):  # of a day that no calendar has
        if isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return dt.date.fromisoformat(value)
    raise ValueError(f"expected a date of the form 2017-03-31, found {describe(value)}")


Amount = Annotated[
    float,
    Field(strict=True, ge=0, le=MAX_PRICE, allow_inf_nan=False),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": MAX_PRICE},
                {"type": "string", "pattern": _AMOUNT.pattern},
            ],
            "examples": [1200, "1200.50 USD"],
        }
    ),
]
Date = Annotated[dt.date, BeforeValidator(_date), PlainSerializer(str, return_type=str, when_used="json")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
Part = Annotated[str, Field(pattern=r"^\S(.*\S)?$", max_length=80)]
Quantity = Annotated[int, Field(strict=True, ge=1, le=10_000)]
Source = Annotated[str, Field(min_length=1, max_length=4000)]


class _Line(SpecModel):
    """What lines of the list have in common: an amount, and where it comes from."""

    price: Amount = Field(description="of one piece, in the list's currency: 1200, or '1200 USD'")
    currency: Currency | None = Field(default=None, description="of this line; only the list's own is accepted")
    source: Source = Field(description="where the price comes from: an offer, a shop, an assumption")
    assumed: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="true where nobody offered this price"
    )

    @model_validator(mode="before")
    @classmethod
    def _split(cls, data: Any) -> Any:
        """Take an amount with its currency apart; what has another form is left, for the field's own message."""
        found = _AMOUNT.match(data["price"]) if isinstance(data, dict) and isinstance(data.get("price"), str) else None
        if found is None:
            return data
        named = {} if found[2] is None else {"currency": found[2].upper()}
        return {**data, "price": float(found[1]), **named}


class PartPrice(_Line):
    """The price of one part."""

    part: Part = Field(description="part number, as servers name it")
    description: Text = ""


class PerServerLine(_Line):
    """What every server of a pool costs besides its parts; a line that is not ``included`` does not count."""

    name: Label
    description: Text = ""
    category: Literal["software", "network", "support"]
    included: Annotated[bool, Field(strict=True)]


class DataDisks(SpecModel):
    """Which part of a server its bricks lie on."""

    part: Part
    capacity: Size = Field(description="of one disk, such as 8 TB")


class PricedServer(SpecModel):
    """A server as it is bought, with the quantity of each part."""

    model: Text
    source: Source = Field(description="where the parts come from, such as table 3 of a study")
    data_disks: DataDisks
    parts: dict[Part, Quantity] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_its_disks(self) -> PricedServer:
        if self.data_disks.part not in self.parts:
            hint = suggest(self.data_disks.part, list(self.parts))
            raise problem(f"this part is not among the server's parts{hint}", "data_disks", "part")
        return self

    @property
    def disks(self) -> int:
        """Data disks of the server."""
        return self.parts[self.data_disks.part]


class ServerCost(NamedTuple):
    """What one server costs, by group, in the list's currency."""

    groups: Mapping[Group, float]

    @property
    def total(self) -> float:
        """Sum of all groups."""
        return sum(self.groups.values())

    def with_factors(self, factors: Mapping[Group, float]) -> float:
        """The total where the prices of some groups are multiplied."""
        return sum(amount * factors.get(group, 1.0) for group, amount in self.groups.items())


class CostLine(NamedTuple):
    """One line of a server's cost."""

    group: Group
    part: str
    quantity: int
    description: str
    price: float
    source: str

    @property
    def amount(self) -> float:
        """Quantity times price."""
        return self.quantity * self.price


class PriceList(SpecModel):
    """Prices of one currency and date, and the servers that they are for (``prices.yaml``)."""

    schema_version: Literal[1]
    name: Label
    currency: Currency
    date: Date = Field(description="of the prices")
    example: Annotated[bool, Field(strict=True)] = Field(
        description="true where these are examples, and nobody's offer: everything that shows them says so"
    )
    notes: Text | None = None
    prices: tuple[PartPrice, ...] = Field(min_length=1)
    servers: dict[Label, PricedServer] = Field(
        min_length=1, description="by the names that server_models of cluster.yaml have"
    )
    per_server: tuple[PerServerLine, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> PriceList:
        seen: set[str] = set()
        lines: list[tuple[str, int, str, _Line]] = [
            *(("prices", n, line.part, line) for n, line in enumerate(self.prices)),
            *(("per_server", n, line.name, line) for n, line in enumerate(self.per_server)),
        ]
        for key, n, name, line in lines:
            if line.currency not in (None, self.currency):
                message = f"expected {self.currency}, the currency of this list, found {line.currency}: convert it"
                raise problem(message, key, n, "price")
            if name in seen:
                raise problem(f"expected one price for each line, found {name!r} twice", key, n)
            seen.add(name)
        known = [line.part for line in self.prices]
        for name, server in self.servers.items():
            for part in server.parts:
                if part not in known:
                    near = suggest(part, known, listed=False)
                    message = f"expected a price for each part, found none for {part!r}{near}"
                    raise problem(message, "servers", name, "parts", part)
            if not self.cost(name).total > 0:
                raise problem("expected a server that costs something, found a total of 0", "servers", name)
        return self

    def server_name(self, server_model: str, disks_per_server: float) -> str | None:
        """The server of this list that a measured one stands for; None where the list has no such server.

        Where no model is named the only server with as many disks is taken: `Block.guessed` keeps that.
        """
        if server_model:
            return server_model if server_model in self.servers else None
        fitting = [name for name, server in self.servers.items() if server.disks == disks_per_server]
        return fitting[0] if len(fitting) == 1 else None

    def lines(self, server: str) -> list[CostLine]:
        """Every line of a server's cost, in the order of the file."""
        priced = self.servers[server]
        prices = {line.part: line for line in self.prices}
        counted: list[tuple[Group, str, int, PartPrice | PerServerLine]] = [
            ("disks" if part == priced.data_disks.part else "server", part, quantity, prices[part])
            for part, quantity in priced.parts.items()
        ]
        counted += [(line.category, line.name, 1, line) for line in self.per_server if line.included]
        return [
            CostLine(group, part, quantity, line.description, line.price, line.source)
            for group, part, quantity, line in counted
        ]

    def cost(self, server: str) -> ServerCost:
        """What one server costs: the sum of quantity times price."""
        lines = self.lines(server)
        return ServerCost({group: sum((line.amount for line in lines if line.group == group), 0.0) for group in GROUPS})

    @property
    def sentence(self) -> str:
        """What is shown beside every figure of this list."""
        lines = [*self.prices, *(line for line in self.per_server if line.included)]
        assumed = sum(line.assumed for line in lines)
        parts = [f"Prices: {self.name}, {self.currency} of {self.date}"]
        parts += [f"{assumed} of {len(lines)} lines assumed"] * bool(assumed) + [EXAMPLE_NOTICE] * self.example
        return f"{'; '.join(parts)}."


def load_prices(path: str | Path) -> PriceList:
    """The price list in a ``prices.yaml``."""
    return validate(PriceList, path)
