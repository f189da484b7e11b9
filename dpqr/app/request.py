"""PlanRequest: what the user asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What the user asks for, as typed: every field is one option of the same name. None: not stated."""

    queries: str
    epsilon: str
    delta: str | None = None
    domain: str | None = None
    neighbours: str = "add-remove"
    n: int | None = None
    unit: str | None = None
    max_rows: int | None = None
    counts: str | None = None
    count_dropped: str | None = None
    no_count_dropped: bool = False
    schedule: str = "auto"
    distinguisher: str | None = None
    check: str | None = None
    update: str | None = None
    accountant: str | None = None
    rounds: int | None = None
    opening: bool | None = None
    alpha: str | None = None
    beta: str | None = None
    variant: str | None = None
    replay: bool | None = None
    max_model_size: int | None = None
    trust: tuple[str, ...] = ()
    seed: int = 0
    cells: int | None = None
