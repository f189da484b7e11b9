"""PredictionProblem: everything that a prediction run may know for free."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.data.domain import Domain
from dpqr.data.unit import PrivacyUnit
from dpqr.prediction.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionProblem:
    """Public facts. Nothing here comes from the data.

    domain: of the table, target included. records: m under `replace`, persons where these are replaced, a declared n0
    under `add-remove`; None: it is bought. points: how many predictions are asked for; None: a function is.
    """

    domain: Domain
    target: Target
    unit: PrivacyUnit
    records: int | None = None
    points: int | None = None
    seed: int = 0

    @property
    def features(self) -> Domain:
        """The domain without its target."""
        return without(self.domain, self.target)


def without(domain: Domain, target: Target) -> Domain:
    """The other columns, in their order."""
    return domain.project(tuple(axis for axis in range(len(domain.attributes)) if axis != target.axis))
