"""Public inputs: all that was public before a run and decided it, for the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPlan:
    """A plan that was written to be reviewed. name: its file; document: its plain JSON, whose seal is sound.

    >>> LockedPlan(name="plan.json", document={"dpqr": "plan/1"}).name
    'plan.json'
    """

    name: str
    document: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicInputs:
    """What a plan was made from. It is kept and hashed, and steers nothing.

    Attributes:
        request: plain JSON values: documents, options, and how the table is read.
        files: of coefficients that the queries name, by the names that they have in the request.
        locked: the plan that was reviewed, which the run follows; None: it was planned for this run.

    >>> PublicInputs(request={"options": {"epsilon": "1"}}).locked is None
    True
    """

    request: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    locked: LockedPlan | None = None
