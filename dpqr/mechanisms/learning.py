"""What a column holds, learned privately: its labels, the ends of its numbers, and cuts between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, final

import numpy as np

from dpqr.domain.histogram import Counts
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.events import LabelSelectionEvent
from dpqr.kernel.noise.keeping import KeepingLaw
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import Neighbours, PrivacyUnit


class CountedLabels(Protocol):
    """Labels, and how many units have each; each unit counts in at most m of them, once in each. Private."""

    @property
    def counts(self) -> IntArray:
        """By label, at least 0, shape (labels,)."""
        ...

    def texts(self, places: IntArray) -> tuple[str, ...]:
        """The labels at these places, in the order of their texts, whatever order they were counted in."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSelection:
    """The labels that are kept, each by an exact coin of its own count (`KeepingLaw`). Counts are not released.

    Attributes:
        epsilon, delta: of one label.
        labels: largest number of labels whose counts move between neighbours, each by 1.

    >>> whole = LabelSelection.within(Fraction(1), Fraction(1, 10**6), most=2, unit=PrivacyUnit())
    >>> whole.event
    LabelSelectionEvent(epsilon=Fraction(1, 2), delta=Fraction(1, 2000000), labels=2)

    Raises:
        InfeasiblePlan: epsilon is too small for the law to be written down.

    Privacy:
        *Add-remove:* one unit more adds 1 to at most m counts and changes no other, so labels = m. *Replace:* the unit
        that goes takes 1 from at most m counts, the one that comes adds 1 to at most m, so at most 2 m counts move, by
        1 each; a label that both have does not move. So labels = 2 m.

        Coins of different labels are independent given the counts, and each is (epsilon, delta)-DP in its count. A
        label that nobody has is kept with probability 0. So the set of kept labels has the law of one coin for every
        possible text, of which at most `labels` differ between neighbours: basic composition gives labels times both
        figures (`approximate_cost`). The order of the result is that of the texts, a function of the set.
    """

    epsilon: Fraction
    delta: Fraction
    labels: int

    def __post_init__(self) -> None:
        _ = self.law.certain  # refused before anything is paid

    @classmethod
    def within(cls, epsilon: Fraction, delta: Fraction, *, most: int, unit: PrivacyUnit) -> LabelSelection:
        """Return the selection that costs (epsilon, delta), where each unit counts in at most `most` labels."""
        moved = most * (2 if unit.neighbours is Neighbours.REPLACE else 1)
        return cls(epsilon=epsilon / moved, delta=delta / moved, labels=moved)

    @property
    def law(self) -> KeepingLaw:
        return KeepingLaw(self.epsilon, self.delta)

    @property
    def event(self) -> LabelSelectionEvent:
        return LabelSelectionEvent(epsilon=self.epsilon, delta=self.delta, labels=self.labels)

    def sample(self, value: CountedLabels, noise: NoiseSource) -> tuple[str, ...]:
        return value.texts(np.flatnonzero(self.law.sample(value.counts, noise)))


# Scores of bins, for a choice by the exponential mechanism (`ExponentialChoice`): in which bin a rank lies.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EndScores:
    """How far the `rank`-th largest record (smallest, if not `top`) is from each bin, in records, with a minus sign.

    axis: of the counts, whose first `bins` cells are the bins in rising order; records in other cells have no number
    and count for nothing. rank: public, at least 1.

    Score of bin c, where `beyond` records lie in bins beyond c and n in c: -max(0, beyond - (rank - 1),
    rank - (beyond + n)). It is 0 exactly where the record of that rank lies in c. Bins beyond all records score -rank.

    Privacy:
        A rank is a constant, not a share of a private number. One record more adds 1 or 0 to `beyond` and to
        `beyond + n`, one that moves adds 1, 0 or -1; a maximum of functions moves by no more than they do. So every
        score moves by at most 1 a record, K for a person of K records, under either relation.
        Statement P45 of the guide's topic proofs.

    >>> from dpqr.domain.histogram import DenseHistogram
    >>> EndScores(axis=0, bins=3, rank=2, top=True).evaluate(DenseHistogram(np.array([9, 5, 1, 7])))
    array([-5,  0, -1])
    """

    axis: int
    bins: int
    rank: int
    top: bool

    def __len__(self) -> int:
        return self.bins

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return unit.rows

    def evaluate(self, counts: Counts) -> IntArray:
        cells = counts.marginal((self.axis,))[: self.bins]
        reached = np.cumsum(cells[::-1])[::-1] if self.top else np.cumsum(cells)
        beyond = reached - cells
        away = np.maximum(beyond - (self.rank - 1), self.rank - reached)
        scores: IntArray = -np.maximum(away, 0)
        return scores


def end_rank(epsilon: Fraction, bins: int, unit: PrivacyUnit, beta: float) -> int:
    """Return the least rank at which a choice at `epsilon` lands beyond all records with probability at most beta.

    Each of fewer than `bins` bins there scores -rank, and one scores 0: exp(-epsilon rank / (2 K)) bins <= beta.
    """
    return max(1, math.ceil(2 * unit.rows / float(epsilon) * math.log(bins / beta)))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileScores:
    """How far the quantile `share` is from each of some bins, in records times the share's denominator, with a minus
    sign (Smith 2011, "Privacy-preserving statistical estimation with optimal convergence rates").

    axis, bins: as for `EndScores`. first, last: the bins to choose from, both included.

    With share = a / b, `below` records below bin c, n in it and T in all bins, the score is
    -max(0, b below - a T, a T - b (below + n)): 0 where the quantile lies in c.

    Privacy:
        *Add-remove:* one record more changes a T by a, and b below and b (below + n) by b or 0 each: the differences
        by b - a or -a. So scores move by at most max(a, b - a) a record. *Replace:* a record that stays in the bins
        leaves T as it is, and the differences move by at most b; one that leaves them or comes moves them as above, by
        less. So by b a record. A person of K records: K times that.
        Statement P45 of the guide's topic proofs.

    >>> from dpqr.domain.histogram import DenseHistogram
    >>> half = QuantileScores(axis=0, bins=3, share=Fraction(1, 2), first=0, last=2)
    >>> half.evaluate(DenseHistogram(np.array([1, 1, 4])))
    array([-4, -2,  0])
    """

    axis: int
    bins: int
    share: Fraction
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def sensitivity(self, unit: PrivacyUnit) -> int:
        part, whole = self.share.numerator, self.share.denominator
        replaced = unit.neighbours is Neighbours.REPLACE
        return unit.rows * (whole if replaced else max(part, whole - part))

    def evaluate(self, counts: Counts) -> IntArray:
        cells = counts.marginal((self.axis,))[: self.bins]
        reached = np.cumsum(cells)
        part, whole = self.share.numerator, self.share.denominator
        wanted = part * int(reached[-1])
        away = np.maximum(whole * (reached - cells) - wanted, wanted - whole * reached)
        scores: IntArray = -np.maximum(away, 0)
        return scores[self.first : self.last + 1]


PARTS = 4
"""Equal parts of each doubling of the grid: a bound is too wide by a fifth at most."""


def geometric_grid(step: Fraction, doublings: int) -> tuple[Fraction, ...]:
    """Return edges 0, +-step, +-2 step, +-4 step, ..., each doubling in PARTS equal parts, rising. All public.

    >>> [str(edge) for edge in geometric_grid(Fraction(1), 1)[12:]]
    ['1', '5/4', '3/2', '7/4', '2']
    """
    inner = [step * Fraction(part, PARTS) for part in range(1, PARTS)]
    outer = [step * 2**power * Fraction(PARTS + part, PARTS) for power in range(doublings) for part in range(PARTS)]
    positive: Sequence[Fraction] = [*inner, *outer, step * 2**doublings]
    return (*(-edge for edge in reversed(positive)), Fraction(0), *positive)
