"""The form of a plan's document, which release.json repeats, and the parts that both are made of."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="a SHA-256, in hexadecimal digits")]
Rational = Annotated[str, Meta(pattern="^[0-9]+(/[0-9]+)?$", description="exact: 3 or 1/10")]
Count = Annotated[int, Meta(ge=0)]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the record; what an older version did not write is UNSET."""


class Figure(Part, frozen=True, kw_only=True):
    """An exact figure, and the smallest float that is not below it."""

    exact: Rational
    rounded: float = msgspec.field(name="float")


class Event(Part, frozen=True, kw_only=True):
    """A draw by the parameters that accounting needs. event: of a draw from the records that were left out."""

    kind: str
    count: Count | UnsetType = UNSET
    event: Event | UnsetType = UNSET
    sensitivity: Count | UnsetType = UNSET
    squared_sensitivity: Count | UnsetType = UNSET
    coordinates: Count | UnsetType = UNSET
    scale: Rational | UnsetType = UNSET
    variance: Rational | UnsetType = UNSET
    epsilon: Rational | UnsetType = UNSET
    rho: Rational | UnsetType = UNSET
    squared_mu: Rational | UnsetType = UNSET


class Law(Part, frozen=True, kw_only=True):
    """A noise law in units of the grid. deviation: standard deviation of one draw."""

    kind: str
    deviation: float
    scale: Rational | UnsetType = UNSET
    variance: Rational | UnsetType = UNSET


class Budget(Part, frozen=True, kw_only=True):
    """What the guarantee states."""

    epsilon: Figure
    delta: Figure


class Column(Part, frozen=True, kw_only=True):
    """An attribute and its cells. own_cells: those for null and the like."""

    name: str
    kind: str
    cells: Count
    own_cells: tuple[str, ...]


class Domain(Part, frozen=True, kw_only=True):
    """cells: their number, of any size."""

    cells: int
    columns: tuple[Column, ...]
    facts: dict[str, Any] | UnsetType | None = UNSET


class Block(Part, frozen=True, kw_only=True):
    """A block of the workload."""

    name: str
    queries: Count
    columns: tuple[str, ...]
    weight: Rational
    grid: Rational


class Workload(Part, frozen=True, kw_only=True):
    """The blocks, in the order of the answers."""

    queries: Count
    blocks: tuple[Block, ...]


class Named(Part, frozen=True, kw_only=True):
    """A strategy; its options stand beside the name."""

    name: str


class Plan(Part, frozen=True, kw_only=True):
    """The run on paper. events: the worst that may be drawn; the guarantee is their price. request: documents, options
    and limits that it was made from. draws: fingerprint of all that the draws depend on. sha256: of all the rest."""

    dpqr: str
    version: str
    guarantee: str
    unit: dict[str, Any]
    n: Count | None
    budget: Budget
    schedule: Named
    distinguisher: Named
    check: Named
    update: Named
    accountant: str
    domain: Domain
    workload: Workload
    opening: tuple[tuple[str, ...], ...]
    rounds: Count
    price: dict[str, Any]
    events: tuple[Event, ...]
    proved_epsilon: Figure
    forecast: tuple[dict[str, Any], ...]
    bytes: Count
    seed: Count
    notes: tuple[str, ...]
    most: Count | UnsetType | None = UNSET
    persons: Count | UnsetType | None = UNSET
    asked: tuple[str, ...] | UnsetType = UNSET
    alpha: Figure | UnsetType | None = UNSET
    beta: Figure | UnsetType | None = UNSET
    level: Figure | UnsetType | None = UNSET
    threshold: Figure | UnsetType | None = UNSET
    stages: tuple[Figure, ...] | UnsetType = UNSET
    certain: Figure | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    promise: str | UnsetType | None = UNSET
    error_bars: bool | UnsetType = UNSET
    request: dict[str, Any] | UnsetType | None = UNSET
    draws: Digest | UnsetType = UNSET
    sha256: Digest | UnsetType = UNSET
