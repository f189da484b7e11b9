"""Options of a budget's policy, as the Python interface takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from dpqr.api.checks import Check, Figure, figure, record_count, stated, text, truth, whole
from dpqr.data.period import EVERY, Every
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    from dpqr.app.requests import PeriodRequest


class PolicyOptions(TypedDict, total=False):
    """How every run that a budget pays for reads the table; None: not stated."""

    max_records: int | None
    max_bytes: int | None
    max_memory: int | None
    delimiter: str | None
    encoding: str | None
    require_approval: bool


class BudgetOptions(PolicyOptions, total=False):
    """The same, and how the budget is divided into periods."""

    period: Every | None
    period_column: str | None
    per_period: Figure | None
    first: str | None


_POLICY: Mapping[str, Check] = {
    "max_records": record_count,
    "max_bytes": whole,
    "max_memory": partial(whole, least=2**28),
    "delimiter": text,
    "encoding": text,
    "require_approval": truth,
}
_PERIODS: Mapping[str, Check] = {
    "period": partial(text, among=EVERY),
    "period_column": text,
    "per_period": figure,
    "first": text,
}


def policy_fields(given: Mapping[str, object]) -> dict[str, Any]:
    """The options of a policy by the names of its fields."""
    named = stated(given, _POLICY).items()
    return {name.removeprefix("max_").removeprefix("require_"): value for name, value in named}


def budget_fields(given: Mapping[str, object]) -> tuple[dict[str, Any], PeriodRequest | None]:
    """The options of a policy by the names of its fields; and how the budget is divided, where it is.

    Raises:
        UsageFault: some of what divides a budget is missing.
    """
    from dpqr.app.requests import PeriodRequest

    periods = stated({name: value for name, value in given.items() if name in _PERIODS}, _PERIODS)
    policy = policy_fields({name: value for name, value in given.items() if name not in _PERIODS})
    if not periods:
        return policy, None
    missing = [name for name in ("period", "period_column", "per_period") if name not in periods]
    if missing:
        option = missing[0].replace("_", "-")
        raise UsageFault(
            f"--{option}: is missing; a budget of periods states their kind, the date column and what each may spend\n"
            "for example --period month --period-column admitted --per-period 0.1"
        )
    return policy, PeriodRequest(
        every=periods["period"],
        column=periods["period_column"],
        epsilon=periods["per_period"],
        first=periods.get("first"),
    )
