"""Problem: the public facts of a run. Footprint: the memory that it will need. PublicInputs: what it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct

from dpqr.domain.domain import Domain
from dpqr.domain.periods import PeriodRows
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.models.fit.evidence import EarlierTables
from dpqr.strategies.counter import CounterStep
from dpqr.workload.workload import Workload

Variant = Literal["printed", "sharp"]
"""Which constants an update rule uses: the book's, or sharper ones that are proved here."""


class Level(Struct, frozen=True, kw_only=True):
    """The level a at which an update rule runs under the schedule `theory`.

    Attributes:
        value: a, a fraction of the records (the loop's alpha / 2).
        variant: of the rule's constants.

    >>> Level(value=Fraction(1, 20)).variant
    'printed'
    """

    value: Fraction
    variant: Variant = "printed"


class Problem(Struct, frozen=True, kw_only=True):
    """Public facts of a run. Nothing here comes from the data.

    Attributes:
        n: number of counted records, if it is public: under `replace` of rows if the domain's rules leave none out;
            under `add-remove` a declared n0. None: it is private.
        most: a public upper bound of a private n: under `replace` the declared number of rows, or K rows for each of
            the declared persons.
        persons: the public number of persons, under `replace` of persons.
        alpha: target accuracy, a fraction of the records.
        beta: failure probability.
        level: of the update rule under the schedule `theory`; None under all other schedules.
        seed: public seed of hypotheses that sample.
        turn: which node of a counter is released; None: there is no counter.
        period: the rows to read; None: all rows.
        start: tables of an earlier release, which a fit uses as weak evidence; None: there are none.
        counted: a noisy count of the records less its deviation, in a plan that follows it; None: nothing was counted.

    >>> from dpqr.domain.attribute import Attribute, Codes
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
    turn: CounterStep | None = None
    period: PeriodRows | None = None
    start: EarlierTables | None = None
    counted: float | None = None

    @property
    def declared(self) -> int | None:
        """The public number of rows, or of persons, that the table must hold under `replace`, whatever the domain's
        rules keep of them. None under `add-remove`."""
        if self.unit.neighbours is Neighbours.ADD_REMOVE:
            return None
        return self.persons if self.unit.columns else self.most if self.n is None else self.n


class Footprint(Struct, frozen=True, kw_only=True):
    """Memory of a strategy. bytes: peak size of its own arrays. refusal: why it cannot run at all, or None.

    >>> Footprint(bytes=2**20).refusal is None
    True
    """

    bytes: int
    refusal: str | None = None


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
