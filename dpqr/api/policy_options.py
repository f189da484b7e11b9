"""Options of a budget's policy, as the Python interface takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from dpqr.api.checks import Check, Figure, Path, figure, record_count, stated, text, truth, whole
from dpqr.data.period import EVERY, Every
from dpqr.errors import DpqrError, UsageFault

if TYPE_CHECKING:
    from dpqr.app.paying.budget import PeriodRequest
    from dpqr.privacy.policy import Source

UNBOUND = "files"
"""What is stated in the place of an address where a budget shall read files by path again."""


class PolicyOptions(TypedDict, total=False):
    """How every run that a budget pays for reads the table; None: not stated."""

    max_records: int | None
    max_bytes: int | None
    max_memory: int | None
    delimiter: str | None
    encoding: str | None
    require_approval: bool
    source: str | None
    source_query: Path | None


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
    "source": text,
    "source_query": lambda _, given: os.fspath(given),
}
_PERIODS: Mapping[str, Check] = {
    "period": partial(text, among=EVERY),
    "period_column": text,
    "per_period": figure,
    "first": text,
}


def policy_fields(given: Mapping[str, object]) -> dict[str, Any]:
    """The options of a policy by the names of its fields. UsageFault for a source that no budget may be bound to."""
    named = stated(given, _POLICY)
    source = _source(named.pop("source", None), named.pop("source_query", None))
    fields = {name.removeprefix("max_").removeprefix("require_"): value for name, value in named.items()}
    return fields if source is None else {**fields, "source": source}


def _source(address: str | None, query: str | None) -> Source | None:
    """What the owner registers; None: nothing is stated."""
    from pathlib import Path as FilePath

    from dpqr.io.documents.text.json_text import read_regular_file
    from dpqr.io.engines.known import LONGEST, source_at
    from dpqr.privacy.policy import FILES

    if address is None:
        if query is not None:
            raise UsageFault("--source-query: says what is read of an engine; name that with --source ADDRESS")
        return None
    if address == UNBOUND:
        if query is not None:
            raise UsageFault("--source-query: files hold tables, and no query is asked of them; leave it out")
        return FILES
    if query is None:
        return source_at(address)
    try:
        content = read_regular_file(FilePath(query), LONGEST).decode("utf-8")
    except (OSError, DpqrError, UnicodeDecodeError):
        raise UsageFault(
            f"--source-query {query}: is no readable file of one SELECT, in UTF-8 and of at most {LONGEST:,} bytes"
        ) from None
    return source_at(address, content)


def budget_fields(given: Mapping[str, object]) -> tuple[dict[str, Any], PeriodRequest | None]:
    """The options of a policy by the names of its fields; and how the budget is divided, where it is.

    Raises:
        UsageFault: some of what divides a budget is missing.
    """
    from dpqr.app.paying.budget import PeriodRequest

    periods = stated({name: value for name, value in given.items() if name in _PERIODS}, _PERIODS)
    from dpqr.privacy.policy import FILES

    policy = policy_fields({name: value for name, value in given.items() if name not in _PERIODS})
    policy = {name: value for name, value in policy.items() if value != FILES}
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
