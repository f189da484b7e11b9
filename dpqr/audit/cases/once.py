"""Once: a mechanism whose one outcome is looked at, and the small databases of learners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Shown
from dpqr.audit.claim import Claim
from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.attribute import Attribute, Bins
from dpqr.data.domain import Domain
from dpqr.data.histogram import Counts
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountants.analytic import Analytic
from dpqr.privacy.accountants.filters import SumFilter, require_pure
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.accountants.zcdp import total_rho
from dpqr.privacy.gate import Batch, measure_together
from dpqr.privacy.sealed import Private

SHAPE = (2, 2)
"""Two places that a record may have, and two classes."""
PLACES = Domain((Attribute(name="place", axis=Bins(edges=(Fraction(0), Fraction(1), Fraction(2)))),))
Cells = dict[tuple[int, ...], int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Once:
    """A mechanism whose one outcome is a list of integers.

    events: of a batch. view: what an attacker makes of the outcome beside it, such as a function's values at points.
    joint: whether the numbers' noise is not independent, so that they are looked at together only.
    delta: of normal noise, whose exact curve is claimed there, and its rho beside it; 0: of pure draws.
    """

    batch: Batch[Counts, IntArray]
    view: FloatArray | None = None
    joint: bool = False
    delta: Fraction = Fraction(0)

    @property
    def claim(self) -> Claim:
        if not self.delta:
            return Claim.pure(self.batch.events)
        claim = Claim.proved(Analytic(), self.batch.events, self.delta)
        return replace(claim, rho=total_rho(self.batch.events))

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        cost = concentrated_rho if self.delta else require_pure
        limit = sum((cost(event) * count for event, count in self.batch.events), Fraction(0))
        guard = SumFilter(limit=limit, cost=cost, unit="rho" if self.delta else "epsilon")
        drawn = measure_together(database, self.batch, accountant=guard, noise=noise).value
        seen = () if self.view is None else tuple(np.rint(self.view @ drawn).astype(np.int64).tolist())
        numbers = tuple(drawn.tolist())
        return ((), (), (*numbers, *seen)) if self.joint else ((), numbers, seen)
