"""Options of a budget's policy, as the Python interface takes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypedDict

from dpqr.api.checks import Check, record_count, stated, text, truth, whole


class PolicyOptions(TypedDict, total=False):
    """How every run that a budget pays for reads the table; None: not stated."""

    max_records: int | None
    max_bytes: int | None
    max_memory: int | None
    delimiter: str | None
    encoding: str | None
    require_approval: bool


_POLICY: Mapping[str, Check] = {
    "max_records": record_count,
    "max_bytes": whole,
    "max_memory": partial(whole, least=2**28),
    "delimiter": text,
    "encoding": text,
    "require_approval": truth,
}


def policy_fields(given: Mapping[str, object]) -> dict[str, Any]:
    """The options of a policy by the names of its fields."""
    named = stated(given, _POLICY).items()
    return {name.removeprefix("max_").removeprefix("require_"): value for name, value in named}
