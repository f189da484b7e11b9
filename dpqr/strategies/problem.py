"""Problem: everything that a run may know for free, and the memory that it will need."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpqr.data.domain import Domain
from dpqr.data.period import PeriodRows
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.fitting.earlier_tables import EarlierTables
from dpqr.privacy.counter import CounterTurn
from dpqr.workload.workload import Workload

Variant = Literal["printed", "sharp"]
"""Whose constants an update rule uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The level a at which an update rule runs under `theory`, and whose constants it uses.

    value: a, a fraction of the records (the loop's alpha / 2).
    variant: `printed` takes the source's constants, `sharp` the proved sharper ones.

    >>> Level(value=Fraction(1, 20)).variant
    'printed'
    """

    value: Fraction
    variant: Variant = "printed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Public facts of a run. Nothing here comes from the data.

    n: number of records that a run counts: public under `replace` of rows where no rule may leave any out; under
    `add-remove` a declared n0 or None.
    most: what n is at most, where it is private and a bound is public: under `replace` the declared number of rows, of
    which rules may leave some out, or K rows for each of the declared persons.
    persons: their public number under `replace` of persons, whose number of rows (n) stays private.
    alpha: target accuracy, a fraction of the records; beta: failure probability.
    level: set by the `theory` schedule; None means the practical rounds.
    seed: public seed for hypotheses that sample.
    turn: of the counter whose node is released; None: no counter is.
    period: whose rows alone are read; None: all rows.
    start: tables of an earlier release, which a fit takes as weak evidence; None: there are none.
    counted: what a noisy count of the records was, less its deviation, in a plan that follows it; None: none was.

    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> domain = Domain((Attribute(name="sex", axis=Codes(2)),))
    >>> workload = Workload((QueryBlock(name="sex", factors=(Factor.identity(0, 2),)),))
    >>> Problem(domain=domain, workload=workload, unit=PrivacyUnit(neighbours=Neighbours.REPLACE), n=1000).declared
    1000
    """

    domain: Domain
    workload: Workload
    unit: PrivacyUnit
    n: int | None = None
    most: int | None = None
    persons: int | None = None
    alpha: Fraction | None = None
    beta: Fraction = Fraction(1, 20)
    level: Level | None = None
    seed: int = 0
    turn: CounterTurn | None = None
    period: PeriodRows | None = None
    start: EarlierTables | None = None
    counted: float | None = None

    @property
    def declared(self) -> int | None:
        """The public number of rows, or of persons, that the table must hold under `replace`: those included of which
        nothing is kept, for what a rule keeps is private. None under `add-remove`."""
        if self.unit.neighbours is Neighbours.ADD_REMOVE:
            return None
        return self.persons if self.unit.column is not None else self.most if self.n is None else self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """bytes: peak memory that the strategy's own arrays need. refusal: why it cannot run at all, or None.

    >>> Footprint(bytes=2**20).refusal is None
    True
    """

    bytes: int
    refusal: str | None = None
