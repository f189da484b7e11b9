"""Votes: private predictions by an ensemble whose members are trained on disjoint parts of the table.

>>> class Unanimous:
...     parts, touched, predictions = 10, 1, 2
...     def votes(self, counts, noise):
...         return np.array([[10, 0], [0, 10]])
>>> ExponentialVotes(ensemble=Unanimous(), epsilon=Fraction(1)).events
((ExponentialEvent(epsilon=Fraction(1, 1)), 2),)
>>> PermuteAndFlipVotes(ensemble=Unanimous(), epsilon=Fraction(1)).events
((PermuteAndFlipEvent(epsilon=Fraction(1, 1)), 2),)
>>> RandomisedVotes(ensemble=Unanimous(), scale=Fraction(2)).events
((DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(2, 1), coordinates=1), 2),)
>>> LaplaceAverages(ensemble=Unanimous(), scale=Fraction(2**22)).events
((DiscreteLaplaceEvent(sensitivity=2097152, scale=Fraction(4194304, 1), coordinates=1), 2),)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.events import Composition, DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent, PrivacyEvent
from dpqr.kernel.noise.bits import uniforms_below
from dpqr.kernel.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from dpqr.kernel.noise.selection import draw_exponential, draw_permute_and_flip
from dpqr.kernel.noise.source import NoiseSource
from dpqr.mechanisms.noisy_answers import refuse_noise
from dpqr.prediction.learned_functions import FINENESS


class Ensemble(Protocol):
    """Members, each trained on one part of the table.

    Each record's part is drawn independently, so one unit is in at most `touched` parts, whatever the other records
    are. The numbers of parts and of points are public.
    """

    @property
    def parts(self) -> int: ...

    @property
    def touched(self) -> int:
        """Parts that differ between neighbours, given equal draws of the parts of all other records."""
        ...

    @property
    def predictions(self) -> int:
        """Number of points."""
        ...

    def votes(self, counts: Counts, noise: NoiseSource) -> IntArray:
        """Return the votes for every label, shape (points, labels); each member gives one at each point. Private."""
        ...

    def sums(self, counts: Counts, noise: NoiseSource) -> IntArray:
        """Return sums over members of numbers in [-FINENESS, FINENESS], shape (points,). Private."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelectedLabels(ABC):
    """A label for every point, by a private selection whose scores are the votes. Its kinds hold the proofs.

    Statement P20 of the guide's topic proofs.

    Attributes:
        ensemble: gives the votes.
        epsilon: of each point.
    """

    ensemble: Ensemble
    epsilon: Fraction

    @property
    def rate(self) -> Fraction:
        """The factor of a vote in a log-probability."""
        return votes_rate(self.ensemble, self.epsilon)

    @property
    @abstractmethod
    def event(self) -> PrivacyEvent:
        """Of one label."""

    @property
    def events(self) -> Composition:
        return ((self.event, self.ensemble.predictions),)

    @abstractmethod
    def drawn(self, votes: IntArray, noise: NoiseSource) -> int:
        """The label of one point."""

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        votes = self.ensemble.votes(value, noise)
        return np.array([self.drawn(row, noise) for row in votes], dtype=np.int64)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExponentialVotes(SelectedLabels):
    """A label for every point, Pr[b] proportional to exp(epsilon c_b / (2 touched)), c_b the votes for b.

    Privacy:
        Neighbours: those of the ensemble. A unit changes the members of `touched` parts, and each of them can move one
        vote from one label to another at every point: every c_b moves by at most `touched`, some up and some down, so
        the 2 stays (the source's text drops it, its proof does not). epsilon-DP and bounded range epsilon for each
        point: McSherry and Talwar 2007; Dwork and Feldman 2018; Rana 2019, section 3.1. The parts are drawn once: given
        the draws of all other records the labels are that private, and so is the mixture over them.
    """

    @property
    def event(self) -> ExponentialEvent:
        return ExponentialEvent(epsilon=self.epsilon)

    def drawn(self, votes: IntArray, noise: NoiseSource) -> int:
        return draw_exponential(votes, self.rate, noise)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PermuteAndFlipVotes(SelectedLabels):
    """A label for every point: the first in random order whose coin shows heads, of probability
    exp(epsilon (c_b - largest) / (2 touched)), c_b the votes for b.

    Error: for every t, a label t votes or more below the largest is at most as likely as with `ExponentialVotes` at the
    same epsilon (McKenna and Sheldon 2020, Theorem 2). A label can only be drawn if it comes before the one of most
    votes, whose coin always shows heads: so label b is drawn with at most half of its coin's probability.

    Privacy:
        Neighbours and votes as for `ExponentialVotes`: every c_b moves by at most `touched`, some up and some down.
        epsilon-DP for each point: McKenna and Sheldon 2020, Theorem 1. It is not epsilon-bounded range, so its event is
        its own, of twice the price of `ExponentialVotes` in epsilon under zCDP: a pure budget only favours it.
    """

    @property
    def event(self) -> PermuteAndFlipEvent:
        return PermuteAndFlipEvent(epsilon=self.epsilon)

    def drawn(self, votes: IntArray, noise: NoiseSource) -> int:
        return draw_permute_and_flip(votes, self.rate, noise)


def votes_rate(ensemble: Ensemble, epsilon: Fraction) -> Fraction:
    """Return the factor of a vote in a log-probability: one label's votes rise where another's fall, hence the 2."""
    return epsilon / (2 * ensemble.touched)


@final
class RandomisedVotes(Struct, frozen=True, kw_only=True, eq=False):
    """One of two labels for every point: the second with probability p = clip((c_1 + noise) / parts, 0, 1), c_1 the
    votes for it, the noise discrete Laplace.

    scale: of the noise, in votes. Only the labels are released. p could be, at the same price, but it invites a
    threshold at 1/2, which may double the error of the random label.

    Error: clipping takes p no further from the mean vote, so a label is wrong with a probability of at most the share
    of members that are wrong there, plus E|noise| / parts <= scale / parts: Rana 2019, Corollary 1 (agnostic).

    Privacy:
        Neighbours: those of the ensemble. A unit changes the members of `touched` parts, each of which has one vote at
        a point, so c_1 moves by at most `touched`: the noisy count is (touched / scale)-DP for each point, and all of
        them are charged (Ghosh, Roughgarden and Sundararajan 2012; Dwork and Roth 2014, Theorem 3.6). The number of
        parts is public. Clipping, and the coin, whose own randomness makes it the second label with probability exactly
        k / parts for a clipped count k, are post-processing of that count (Dwork and Roth 2014, Proposition 2.1).
    """

    ensemble: Ensemble
    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_SCALE, "a scale of")

    @property
    def events(self) -> Composition:
        event = DiscreteLaplaceEvent(sensitivity=self.ensemble.touched, scale=self.scale, coordinates=1)
        return ((event, self.ensemble.predictions),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        points, parts = self.ensemble.predictions, self.ensemble.parts
        noisy = self.ensemble.votes(value, noise)[:, 1] + DiscreteLaplace(self.scale).sample(points, noise)
        coins = uniforms_below(parts, points, noise)
        return np.where(coins < np.clip(noisy, 0, parts), 1, 0)


@final
class LaplaceAverages(Struct, frozen=True, kw_only=True, eq=False):
    """The sum of the members' clipped predictions for every point, plus discrete Laplace noise.

    Privacy:
        Neighbours: those of the ensemble. A member's prediction lies in [-FINENESS, FINENESS], so the sum moves by at
        most 2 FINENESS touched, for each point: Rana 2019, section 3.2 (an average over r parts has gamma = 2 M / r).
    """

    ensemble: Ensemble
    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_SCALE, "a scale of")

    @property
    def events(self) -> Composition:
        moved = averages_sensitivity(self.ensemble.touched)
        return ((DiscreteLaplaceEvent(sensitivity=moved, scale=self.scale, coordinates=1), self.ensemble.predictions),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.ensemble.sums(value, noise) + DiscreteLaplace(self.scale).sample(self.ensemble.predictions, noise)


def averages_sensitivity(touched: int) -> int:
    """Return the sensitivity of one sum of members' predictions."""
    return 2 * FINENESS * touched
