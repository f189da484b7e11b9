"""MaximumEntropy: the fit of the practical schedules as an update rule of the book's loop in stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.multiplicative_weights import Distribution, MultiplicativeWeights
from dpqr.strategies.updates.single_query import floor_of_log
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumEntropy:
    """The maximum-entropy fit to all measurements, at every level; on a junction tree, so the domain may have any size.

    No mistake bound is proved, and a certificate rests on none (`theory.anytime`): so no alpha is certain beforehand.

    What an exact projection would have. Let C_t be the distributions whose answers are within the noise N of all
    measured ones, D_t the one in C_t of least KL(D || U), U uniform. On the good event x/n lies in every C_t, so
    KL(D_t || U) <= KL(x/n || U) <= log|X|. As C_(t+1) lies in C_t,
        KL(D_(t+1) || U) >= KL(D_t || U) + KL(D_(t+1) || D_t)                                       (Csiszar 1975),
    and where a round's answer was 6 N from D_t and is N from D_(t+1) at most, the last term is at least 2 (5 N / n)^2
    (Pinsker). So there are at most log|X| / (2 a^2) updates, a = 5 alpha / 8, as for `sharp` multiplicative weights.
    The fit weighs each residual by its noise instead, and ends at a tolerance: hence `expected_mistakes`, and no proof.

    References:
        Csiszar 1975 (I-divergence geometry of probability distributions); Hardt and Rothblum 2010.

    >>> MaximumEntropy().name
    'maximum-entropy'
    """

    name: ClassVar[str] = "maximum-entropy"
    cumulative: ClassVar[bool] = True

    fit: MultiplicativeWeights = field(default_factory=MultiplicativeWeights)

    @property
    def trust(self) -> tuple[str, ...]:
        return ()

    def start(self, problem: Problem) -> Distribution:
        """The uniform distribution, over the cells that the public facts allow."""
        return self.fit.start(_at_no_level(problem))

    def applies_constraints(self, problem: Problem) -> bool:
        return self.fit.applies_constraints(_at_no_level(problem))

    def update(self, problem: Problem, hypothesis: Distribution, history: Sequence[Measurement]) -> Distribution:
        """The fit to all measurements."""
        return self.fit.update(_at_no_level(problem), hypothesis, history)

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: no bound is proved."""
        return None

    def expected_mistakes(self, problem: Problem, level: Level) -> int | None:
        """That of an exact projection."""
        return floor_of_log(problem.domain.size, Fraction(1, 2) / level.value**2)

    def caution(self, problem: Problem, level: Level) -> str:
        return "the fit weighs residuals by their noise, and a mistake bound is proved of an exact projection only"

    def footprint(self, problem: Problem) -> Footprint:
        """That of the fit."""
        return self.fit.footprint(_at_no_level(problem))

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether the junction tree has room for the candidate too."""
        return self.fit.fits(_at_no_level(problem), measured, candidate)


def _at_no_level(problem: Problem) -> Problem:
    """Multiplicative weights refit all measurements where no level is set."""
    return replace(problem, level=None)
