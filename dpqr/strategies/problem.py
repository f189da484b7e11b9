"""Problem: everything that a run may know for free."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.workload.workload import Workload

Variant = Literal["printed", "sharp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The level a at which an update rule runs under `theory`, and whose constants it uses.

    value: a, a fraction of the records (the loop's alpha / 2).
    variant: `printed` takes the source's constants, `sharp` the proved sharper ones.
    """

    value: Fraction
    variant: Variant = "printed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Public facts of a run. Nothing here comes from the data.

    n: number of records: public under `replace` of rows; under `add-remove` a declared n0 or None.
    persons: their public number under `replace` of persons, whose number of rows (n) stays private.
    alpha: target accuracy, a fraction of the records; beta: failure probability.
    level: set by the `theory` schedule; None means the practical rounds.
    seed: public seed for hypotheses that sample.
    """

    domain: Domain
    workload: Workload
    unit: PrivacyUnit
    n: int | None = None
    persons: int | None = None
    alpha: Fraction | None = None
    beta: Fraction = Fraction(1, 20)
    level: Level | None = None
    seed: int = 0
