"""Private selection on integer scores by the exponential mechanism or by permute-and-flip."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpqr.data.histogram import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.scores import Scores, SearchableScores
from dpqr.noise.search_selection import search_exponential, search_permute_and_flip
from dpqr.noise.selection import draw_exponential, draw_permute_and_flip
from dpqr.noise.source import NoiseSource
from dpqr.privacy.events import ExponentialEvent, PermuteAndFlipEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionMechanism:
    """Base of both mechanisms: scores, neighbours, epsilon, and the rate that follows from them.

    Raises:
        InfeasiblePlan: epsilon is not positive, or there is no candidate; both are public.
    """

    scores: Scores
    unit: PrivacyUnit
    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InfeasiblePlan("a selection needs a positive epsilon; give the schedule a larger --eps")
        if len(self.scores) == 0:
            raise InfeasiblePlan("there is nothing to select from; plan fewer rounds than there are queries")

    @property
    def rate(self) -> Fraction:
        """Factor of a score in the log-probability: epsilon / (2 s); a sensitivity s of 0 is treated as 1."""
        return self.epsilon / (2 * max(1, self.scores.sensitivity(self.unit)))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialChoice(SelectionMechanism):
    """Index of one candidate, Pr[i] proportional to exp(epsilon score_i / (2 s)), s the scores' sensitivity.

    >>> from dpqr.mechanisms.scores import BlockScores
    >>> from dpqr.workload.block import QueryBlock
    >>> scores = BlockScores(candidates=((QueryBlock(name="all"),),), expected=((),), multipliers=(1,), penalties=(0,))
    >>> choice = ExponentialChoice(scores=scores, unit=PrivacyUnit(), epsilon=Fraction(1))
    >>> choice.rate, choice.event
    (Fraction(1, 2), ExponentialEvent(epsilon=Fraction(1, 1)))

    Raises:
        InfeasiblePlan: epsilon is not positive, or there is no candidate.

    Privacy:
        Neighbours: those of `unit`; between them every score moves by at most s = `scores.sensitivity(unit)`, which
        each `Scores` proves for either relation (*add-remove:* by one column of its matrix, *replace:* by the
        difference of two). Scores such as |f(x) - f(D)| are not monotonic, one may rise while another falls, so the 2
        stays under both relations. epsilon-DP: McSherry and Talwar 2007; Dwork and Roth 2014, Theorem 3.10. Bounded
        range too: log(Pr[i | x] / Pr[i | x']) = rate (score_i - score_i') - log(Z / Z'), and over i the first term
        stays in an interval of length 2 s rate = epsilon, so it is epsilon^2 / 8-zCDP: Durfee and Rogers 2019; Cesar
        and Rogers 2021. Arithmetic: integer scores, exact sampler.
    """

    @property
    def event(self) -> ExponentialEvent:
        return ExponentialEvent(epsilon=self.epsilon)

    def sample(self, value: Counts, noise: NoiseSource) -> int:
        if isinstance(self.scores, SearchableScores):
            return search_exponential(self.scores.search(value), self.rate, noise)
        return draw_exponential(self.scores.evaluate(value), self.rate, noise)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlipChoice(SelectionMechanism):
    """Index of the candidate whose coin, of heads-probability exp(epsilon (score_i - largest score) / (2 s)), is the
    first in random order to show heads.

    >>> from dpqr.mechanisms.scores import BlockScores
    >>> from dpqr.workload.block import QueryBlock
    >>> scores = BlockScores(candidates=((QueryBlock(name="all"),),), expected=((),), multipliers=(1,), penalties=(0,))
    >>> PermuteAndFlipChoice(scores=scores, unit=PrivacyUnit(), epsilon=Fraction(1)).event
    PermuteAndFlipEvent(epsilon=Fraction(1, 1))

    Raises:
        InfeasiblePlan: epsilon is not positive, or there is no candidate.

    Privacy:
        Neighbours: those of `unit`; between them every score moves by at most s = `scores.sensitivity(unit)`, which
        each `Scores` proves for either relation (*add-remove:* by one column of its matrix, *replace:* by the
        difference of two). epsilon-DP: McKenna and Sheldon 2020, Theorem 1. It is **not** epsilon-bounded range (two
        candidates whose gap goes from 0 to 2 s: one log-ratio is epsilon, the other log(1/(2 - exp(-epsilon))) on the
        other side), so only epsilon^2 / 2-zCDP may be claimed: its event is its own. Arithmetic: integer scores, exact
        sampler.
    """

    @property
    def event(self) -> PermuteAndFlipEvent:
        return PermuteAndFlipEvent(epsilon=self.epsilon)

    def sample(self, value: Counts, noise: NoiseSource) -> int:
        if isinstance(self.scores, SearchableScores):
            return search_permute_and_flip(self.scores.search(value), self.rate, noise)
        return draw_permute_and_flip(self.scores.evaluate(value), self.rate, noise)
