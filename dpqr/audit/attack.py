"""Attack: choose the event that tells two databases apart on one half of the runs, and test it on the other half.

The test is a pair of exact confidence limits of the event's probabilities. Where the law of the numbers is known, it is
compared with the claim itself, and the draws with the law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Claim, Outcomes, claimed_share, epsilon_bounds, exact_share, rho_bounds
from dpqr.audit.law import Laws, narrower
from dpqr.kernel.arrays import FloatArray, IntArray, WordArray
from dpqr.kernel.values import replace

OUTWARD = 1e-9
"""Relative widening: covers every rounding of the inverse beta function, and costs nothing."""


def lower_limits(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Lower Clopper-Pearson limits: each exceeds its event's true probability with probability at most `alpha`.

    hits: how often each event was seen in `runs` independent runs; shape (events,). Clopper and Pearson 1934: the
    limit p solves Pr[Binomial(runs, p) >= hits] = alpha, a quantile of a beta law; 0 without a hit.
    """
    from scipy.special import betaincinv

    counted = np.asarray(hits, dtype=np.float64)
    limits = betaincinv(np.maximum(counted, 1.0), runs - counted + 1.0, alpha)
    return np.where(counted > 0, limits * (1 - OUTWARD), 0.0)


def upper_limits(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Upper Clopper-Pearson limits: each lies below the true probability with probability at most `alpha`.

    Args:
        hits: of `runs` independent runs, shape (events,).

    Returns:
        Probabilities, shape (events,).
    """
    from scipy.special import betainccinv

    counted = np.asarray(hits, dtype=np.float64)
    limits = betainccinv(counted + 1.0, np.maximum(runs - counted, 1.0), alpha)
    return np.where(counted < runs, np.minimum(limits * (1 + OUTWARD), 1.0), 1.0)


LIMITS_A_CASE = 4
"""Confidence limits that one attack relies on: two directions, and in each a lower and an upper one."""

LEVELS = np.concatenate([np.linspace(0, 1, 97), 1 - np.geomspace(1e-4, 0.2, 24)])
"""Quantiles of a view's scores that are tried as thresholds."""


class ScoreEvent(Struct, frozen=True, kw_only=True):
    """The runs whose score reaches a threshold."""

    view: View
    threshold: float

    def hits(self, seen: Outcomes) -> int:
        return int((self.view(seen) >= self.threshold).sum())


class LossLowerBound(Struct, frozen=True, kw_only=True):
    """What the tested events prove, each figure too large with at most the probability that was asked for.

    Attributes:
        epsilon: lower bound at the claim's delta.
        rho: likewise, for a claim in rho.
        share: the larger of the two as a share of what was claimed.
        stated: what the charged events themselves lose, as a share of the claim: their price by the audit's own lines,
            and the exact loss of the law that they state, where it is known.
        narrow: how far the draws speak against that law and for narrower noise; from 1 on they refute it. None: the law
            is not known.
    """

    epsilon: float
    rho: float | None
    share: float
    stated: float = 0.0
    narrow: float | None = None

    @property
    def breach(self) -> bool:
        return self.share > 1.0 or self.stated > 1.0 or (self.narrow or 0.0) >= 1.0


def attack(
    one: Outcomes, two: Outcomes, claim: Claim, alarm: float, laws: tuple[Laws, Laws] | None = None
) -> LossLowerBound:
    """The largest loss that can be proved in either direction; with the laws of the numbers also what these prove.

    alarm: at most this is the probability of a breach if the claim holds; half of it is for events, half for the law.
    Why: on each side one event is chosen on the first half of the runs and tested on the second, independent half, so
    its two limits fail with at most alpha each, whatever was tried on the first half; all four hold with at least
    1 - alarm / 2.
    """
    alpha = alarm / 2 / LIMITS_A_CASE
    first, second = (seen.halves() for seen in (one, two))
    found = []
    for here, there in ((first, second), (second, first)):
        event = strongest(here[0], there[0], claim, alpha)
        found.append(proved_by(event, here[1], there[1], claim, alpha))
    proved = max(found, key=lambda loss: loss.share)
    priced = replace(proved, stated=claimed_share(claim))
    if laws is None:
        return priced
    narrow = max(narrower(seen.measured, law, alarm / 4) for seen, law in zip((one, two), laws, strict=True))
    return replace(priced, stated=max(priced.stated, exact_share(*laws, claim)), narrow=narrow)


def strongest(one: Outcomes, two: Outcomes, claim: Claim, alpha: float) -> ScoreEvent:
    """The event that promises the largest share; views are learned on one half of these runs, compared on the other."""
    (learn, here), (against, there) = one.halves(), two.halves()
    runs = 2 * len(here)  # as many as will test the event: it is their limits that shall be far apart
    best = ScoreEvent(view=lambda seen: np.zeros(len(seen)), threshold=0.0), -1.0
    for view in views(learn, against):
        scores = view(here), view(there)
        thresholds = np.unique(np.quantile(np.concatenate(scores), LEVELS, method="higher"))
        hits, misses = (len(each) - np.searchsorted(np.sort(each), thresholds) for each in scores)
        shares = claim.shares(lower_limits(2 * hits, runs, alpha), upper_limits(2 * misses, runs, alpha))
        place = int(shares.argmax())
        if shares[place] > best[1]:
            best = ScoreEvent(view=view, threshold=float(thresholds[place])), float(shares[place])
    return best[0]


def proved_by(event: ScoreEvent, one: Outcomes, two: Outcomes, claim: Claim, alpha: float) -> LossLowerBound:
    """What one event, fixed before, proves on fresh runs.

    Args:
        one, two: outcomes on the two databases, of runs that did not choose the event.
        alpha: false-alarm probability of each limit.
    """
    low = lower_limits(np.array([event.hits(one)]), len(one), alpha)
    high = upper_limits(np.array([event.hits(two)]), len(two), alpha)
    return LossLowerBound(
        epsilon=float(epsilon_bounds(low, high, float(claim.delta))[0]),
        rho=None if claim.rho is None else float(rho_bounds(low, high)[0]),
        share=float(claim.shares(low, high)[0]),
    )


# Views: ways of looking at an outcome that turn it into one number, larger where the first database is likelier.
#
# They are learned from runs that are then never used to test anything, so a bad view costs power and nothing else.

View = Callable[[Outcomes], FloatArray]
"""Scores of runs, shape (runs,)."""

FEW = 24
"""A column with no more distinct values is taken as it is; another is cut into BINS of equal weight."""
BINS = 16
WIDEST = 8
"""Columns of which all pairs are compared."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def views(one: Outcomes, two: Outcomes) -> Iterator[View]:
    """Every way of telling `one` from `two`: whole outcomes, a sum of evidence, single numbers, differences."""
    yield Joint.learned(one, two)
    yield NaiveBayesView.learned(one, two)
    # The columns that are not the same in every run.
    low, high = (
        end([end(np.concatenate([seen.measured, seen.derived], axis=1), axis=0) for seen in (one, two)], axis=0)
        for end in (np.min, np.max)
    )
    for column in np.flatnonzero(low < high).tolist():
        yield _oriented(Number(column=column), one, two)
    for left, right in combinations(range(min(one.measured.shape[1], WIDEST)), 2):
        yield _oriented(Difference(left=left, right=right), one, two)


class Number(Struct, frozen=True, kw_only=True):
    """One of the measured or derived numbers. It sees what is published beside the noise, such as an exact total."""

    column: int
    sign: int = 1

    def __call__(self, seen: Outcomes) -> FloatArray:
        width = seen.measured.shape[1]
        found = seen.measured[:, self.column] if self.column < width else seen.derived[:, self.column - width]
        return self.sign * found.astype(np.float64)


class Difference(Struct, frozen=True, kw_only=True):
    """One measured number minus another. It sees noise that was used twice: there it cancels."""

    left: int
    right: int
    sign: int = 1

    def __call__(self, seen: Outcomes) -> FloatArray:
        apart = seen.measured[:, self.left] - seen.measured[:, self.right]
        return self.sign * apart.astype(np.float64)


class LogRatioTable(Struct, frozen=True, kw_only=True, eq=False):
    """Log-ratios of how often each key was seen; 0 for one that was not. Counts are smoothed by one."""

    keys: WordArray
    ratios: FloatArray

    @classmethod
    def learned(cls, one: WordArray, two: WordArray) -> LogRatioTable:
        keys, places = np.unique(np.concatenate([one, two]), return_inverse=True)
        here = np.bincount(places[: len(one)], minlength=len(keys))
        there = np.bincount(places[len(one) :], minlength=len(keys))
        return cls(keys=keys, ratios=np.log(here + 1.0) - np.log(there + 1.0))

    def look(self, keys: WordArray) -> FloatArray:
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.ratios[places], 0.0)


class Joint(Struct, frozen=True, kw_only=True, eq=False):
    """The log-ratio of the whole outcome: exact where outcomes are few."""

    table: LogRatioTable

    @classmethod
    def learned(cls, one: Outcomes, two: Outcomes) -> Joint:
        return cls(table=LogRatioTable.learned(_whole(one), _whole(two)))

    def __call__(self, seen: Outcomes) -> FloatArray:
        return self.table.look(_whole(seen))


class NaiveBayesView(Struct, frozen=True, kw_only=True, eq=False):
    """The log-ratio of the context plus, for every measured number, that of the number given the context.

    The exact log-ratio where the numbers are independent given the context; many numbers do not thin it out.
    """

    context: LogRatioTable
    numbers: tuple[tuple[IntArray, LogRatioTable], ...]

    @classmethod
    def learned(cls, one: Outcomes, two: Outcomes) -> NaiveBayesView:
        here, there = _keys(one.context), _keys(two.context)
        found = []
        for left, right in zip(one.measured.T, two.measured.T, strict=True):
            both = np.concatenate([left, right])
            edges = np.unique(both)[1:]
            if len(edges) >= FEW:
                edges = np.unique(np.quantile(both, np.linspace(0, 1, BINS + 1)[1:-1], method="nearest"))
            found.append((edges, LogRatioTable.learned(_within(here, left, edges), _within(there, right, edges))))
        return cls(context=LogRatioTable.learned(here, there), numbers=tuple(found))

    def __call__(self, seen: Outcomes) -> FloatArray:
        keys = _keys(seen.context)
        prior = self.context.look(keys)
        score = prior.copy()
        for column, (edges, table) in zip(seen.measured.T, self.numbers, strict=True):
            score += table.look(_within(keys, column, edges)) - prior
        return score


def _oriented(view: Number | Difference, one: Outcomes, two: Outcomes) -> View:
    """The view or its mirror, so that the first database scores higher on average."""
    if view(one).mean() >= view(two).mean():
        return view
    if isinstance(view, Number):
        return Number(column=view.column, sign=-1)
    return Difference(left=view.left, right=view.right, sign=-1)


def _whole(seen: Outcomes) -> WordArray:
    return _keys(np.concatenate([seen.context, seen.measured], axis=1))


def _within(keys: WordArray, column: IntArray, edges: IntArray) -> WordArray:
    return _mixed(keys, np.searchsorted(edges, column, side="right"))


def _keys(rows: IntArray) -> WordArray:
    """One word a row. Two rows that happen to share one are merged, which can only weaken the view."""
    keys = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        keys = _mixed(keys, column)
    return keys


def _mixed(keys: WordArray, column: IntArray) -> WordArray:
    mixed = (keys ^ column.astype(np.uint64)) * _ODD
    return mixed ^ (mixed >> _SHIFT)
