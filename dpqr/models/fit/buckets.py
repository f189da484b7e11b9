"""Noisy counts of buckets, shrunk towards an even spread as far as they do not show that neighbours differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.workload.partition import Bisection

VAGUE = 1e4
"""Prior variance of the total, over that of its noise: the total itself is not shrunk."""

LOST = 2.0**53
"""Largest prior variance over that of the noise, beyond which a sum of both in doubles keeps the prior alone."""

ROUNDS = 2
"""Times that counts of boxes are estimated, and their prior variances from these."""


class BisectionLevel(Struct, frozen=True, kw_only=True, eq=False):
    """The boxes of one level of a bisection that hold more than one bucket.

    Attributes:
        left, right: which share of each half's cells lies in every bucket, shape (boxes, buckets).
        cells: of the halves, shape (boxes, 2).
    """

    left: FloatArray
    right: FloatArray
    cells: FloatArray

    @property
    def moves(self) -> FloatArray:
        """What a difference of 1 between the halves adds to every bucket, shape (boxes, buckets)."""
        moves: FloatArray = (self.left - self.right) / 2
        return moves


def shrunk(shape: tuple[int, ...], buckets: IntArray, counts: FloatArray, covariance: FloatArray) -> FloatArray:
    """The linear posterior mean of bucket counts, under a prior for the halves of boxes that is learned from them.

    Args:
        shape: cells of each axis.
        buckets: of every cell in C order, shape (cells,). Every bucket has a cell.
        counts: unbiased noisy counts, shape (buckets,).
        covariance: of their noise, shape (buckets, buckets).

    Returns:
        The counts as they are where rounding would lose their noise next to the prior (LOST): their sum would be
        singular, and end a paid run, or nearly so, and its inverse would be noise.
    """
    bisection, sizes = Bisection(shape), np.bincount(buckets)
    even = sizes / sizes.sum()
    levels = []
    for level in range(bisection.depth):
        # Cells of every box, half and bucket; boxes of one bucket, or with an empty half, are left out.
        halves = bisection.places(level + 1)
        pairs = np.unique(halves * len(sizes) + buckets, return_counts=True)
        half, bucket = np.divmod(pairs[0], len(sizes))
        boxes, place = np.unique(half // 2, return_inverse=True)
        cells = np.zeros((len(boxes), 2, len(sizes)))
        cells[place, half % 2, bucket] = pairs[1]
        cells = cells[((cells.sum(axis=1) > 0).sum(axis=1) > 1) & (cells.sum(axis=2) > 0).all(axis=1)]
        if len(cells):
            of_halves = cells.sum(axis=2)
            shares = cells / of_halves[:, :, None]
            levels.append(BisectionLevel(left=shares[:, 0], right=shares[:, 1], cells=of_halves))
    if not levels:
        return counts
    moves = np.concatenate([level.moves for level in levels])
    whole, noise, estimate = counts.sum(), covariance.sum(), counts
    for _ in range(ROUNDS):
        # Prior variances of the differences of all halves, from what the buckets are taken to hold.
        imbalances, variances = Imbalances(weights=PRIOR), []
        for own in levels:
            signs = (own.left > 0).astype(np.float64) - (own.right > 0)
            inside = np.maximum(((own.left > 0) | (own.right > 0)) @ estimate, 0.0)
            unlike = signs @ counts - inside * (own.cells[:, 0] - own.cells[:, 1]) / own.cells.sum(axis=1)
            spread = np.einsum("ij,jk,ik->i", signs, covariance, signs, optimize=True)
            imbalances = imbalances.below().learned(unlike, inside, spread)
            variances.append(imbalances.posterior(unlike, inside, spread).own)
        prior = (moves.T * np.concatenate(variances)) @ moves + VAGUE * noise * np.multiply.outer(even, even)
        if prior.diagonal().max() > LOST * covariance.diagonal().min():
            return counts
        estimate = whole * even + prior @ np.linalg.solve(prior + covariance, counts - whole * even)
    return estimate


# How unlike the halves of boxes are: posterior moments from noisy counts, learned over all boxes of a level.


# Set by `python tests/benchmarks/ordered.py --half set`; figures: tests/benchmarks/RESULTS.md, "Fitting".

ALIKE = 0.98
"""Prior probability that a level's imbalances are near those of the level above."""
PRIOR_STRENGTH = 2.0
"""Boxes that the prior of a level counts as."""
HALVES_ROUNDS = 20
"""Steps of expectation maximisation per level."""

IMBALANCES = np.geomspace(1e-7, 1.0, 15)
"""Variance of the difference of two halves over the squared count of both: values that are alike likely beforehand."""

PRIOR = np.full(len(IMBALANCES), 1 / len(IMBALANCES))
"""How often each occurs, where nothing was observed."""

TINY = 1e-300
"""Stands for 0 where an empty box and noiseless counts would give 0 / 0."""


class Halves(Struct, frozen=True, kw_only=True, eq=False):
    """Moments of one level's differences of halves, besides what unequal numbers of cells make. Shapes: (boxes,).

    Attributes:
        means: posterior means.
        systematic: posterior variances from shares that differ.
        sampled: posterior variances from the records' own sampling.
        own: variances before the box's own noisy counts, at the imbalances that these make likely.
    """

    means: FloatArray
    systematic: FloatArray
    sampled: FloatArray
    own: FloatArray


class Imbalances(Struct, frozen=True, kw_only=True, eq=False):
    """How often each of `IMBALANCES` occurs among the boxes of a level, shape (imbalances,).

    A box of c records has halves that differ by N(0, v c^2 + c): shares that differ, and sampling; v is one of
    `IMBALANCES`.

    >>> even = Imbalances(weights=PRIOR).below().learned(np.zeros(50), np.full(50, 1e6), np.ones(50))
    >>> int(even.weights.argmax())
    0
    """

    weights: FloatArray

    def below(self) -> Imbalances:
        """Before the next level's boxes are seen: mostly near this level's, by up to one step."""
        padded = np.concatenate([self.weights[:1], self.weights, self.weights[-1:]])
        near = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
        return Imbalances(weights=ALIKE * near + (1 - ALIKE) * PRIOR)

    def learned(self, unlike: FloatArray, counts: FloatArray, variances: FloatArray) -> Imbalances:
        """After a level's boxes: expectation maximisation, with these weights as the prior (empirical Bayes).

        Args:
            unlike: noisy differences of halves, shape (boxes,).
            counts: records of the boxes.
            variances: of the noise on the differences.
        """
        likely, weights = _likelihoods(unlike, counts, variances), self.weights
        for _ in range(HALVES_ROUNDS):
            shares = _normed(weights, likely)
            weights = (PRIOR_STRENGTH * self.weights + shares.sum(axis=1)) / (PRIOR_STRENGTH + len(counts))
        return Imbalances(weights=weights)

    def posterior(self, unlike: FloatArray, counts: FloatArray, variances: FloatArray) -> Halves:
        """Of every box, over the imbalances and the noise. A variance may be infinite: nothing was observed."""
        shares = _normed(self.weights, _likelihoods(unlike, counts, variances))
        uneven = np.multiply.outer(IMBALANCES, counts**2)
        trust = (uneven + counts) / np.maximum(uneven + counts + variances, TINY)
        means = (shares * trust).sum(axis=0) * unlike
        between = (shares * trust**2).sum(axis=0) * unlike**2 - means**2
        largest = np.maximum(counts**2 - means**2, 0.0)
        systematic = np.minimum((shares * (1 - trust) * uneven).sum(axis=0) + between, largest)
        sampled = np.minimum((shares * (1 - trust)).sum(axis=0) * counts, largest - systematic)
        own = (shares * uneven).sum(axis=0) + counts
        return Halves(means=means, systematic=systematic, sampled=sampled, own=own)

    def drawn(
        self, unlike: FloatArray, counts: FloatArray, variances: FloatArray, uniforms: FloatArray, normals: FloatArray
    ) -> FloatArray:
        """One draw of every box's difference from the same posterior law, shape (boxes,).

        Args:
            uniforms: choose each box's imbalance, shape (boxes,).
            normals: the difference, given that, shape (boxes,).
        """
        shares = np.cumsum(_normed(self.weights, _likelihoods(unlike, counts, variances)), axis=0)
        chosen = np.minimum((shares <= uniforms * shares[-1]).sum(axis=0), len(IMBALANCES) - 1)
        spread = IMBALANCES[chosen] * counts**2 + counts
        trust = spread / np.maximum(spread + variances, TINY)
        differences: FloatArray = trust * unlike + np.sqrt((1.0 - trust) * spread) * normals
        return differences


def _likelihoods(unlike: FloatArray, counts: FloatArray, variances: FloatArray) -> FloatArray:
    """Of every imbalance and box, up to a factor of the box; shape (imbalances, boxes)."""
    spread = np.maximum(np.multiply.outer(IMBALANCES, counts**2) + counts + variances, TINY)
    logs = np.where(np.isinf(variances), 0.0, -(np.log(spread) + unlike**2 / spread) / 2)
    likely: FloatArray = np.exp(logs - logs.max(axis=0))
    return likely


def _normed(weights: FloatArray, likely: FloatArray) -> FloatArray:
    shares = weights[:, None] * likely
    normed: FloatArray = shares / np.maximum(shares.sum(axis=0), TINY)
    return normed


# Smoothing of noisy counts along an attribute whose neighbouring cells hold similar counts.


# Set by `python tests/benchmarks/marginals`; figures: tests/benchmarks/RESULTS.md, "Fitting".

SHORTEST = 8
"""Cells of an attribute that is smoothed, at least."""
LONGEST = 2**12
"""The same, at most."""
CLEAR = 40.0
"""Deviations above which a count is exact: neighbours add nothing, and the chain restarts."""
LOWEST_LEVEL = 0.02
"""The smallest level, in deviations."""
LEAST_GAIN = 6.0
"""Log likelihood ratio, chain against independent cells, from which counts are smoothed."""
PRIOR_ROUNDS = 30
"""EM steps of the prior."""
PRIOR_SHARE = 0.05
"""Weight that the initial prior keeps in each of them."""


class Smoothed(Struct, frozen=True, kw_only=True, eq=False):
    """Posterior counts.

    Attributes:
        values: expected counts given all noisy ones, shape (cells,).
        deviation: root mean square of their posterior deviations.
    """

    values: FloatArray
    deviation: float


@dataclass(frozen=True, kw_only=True)
class HiddenMarkovSmoother:
    """A hidden Markov chain along the cells of one attribute: each has a level, observed with Gaussian noise.

    From cell to cell the logarithm of the level makes normal steps of one of the sizes `steps`, or, with probability
    `jump`, restarts from the prior of levels. That prior is the non-parametric maximum likelihood estimate for
    independent cells (Kiefer and Wolfowitz 1956), by EM steps (Laird 1978), stopped early. The step size of the largest
    likelihood is taken, and each cell's posterior expected level, by forward and backward sums (Baum, Petrie, Soules
    and Weiss 1970) on a grid of levels.

    Codes of occupations or countries have no such order, so the counts must show it: they are smoothed only where they
    are e^gain times likelier under the chain than under independent levels of the same prior.

    Privacy:
        Post-processing: reads released counts alone.

    >>> noisy = np.array([1.0, -1.0] * 20) + np.linspace(0.0, 30.0, 40)
    >>> smoothed = HiddenMarkovSmoother().run(noisy, 2.0)
    >>> smoothed.deviation < 2.0
    True
    """

    steps: tuple[float, ...] = (0.03, 0.1, 0.3)
    jump: float = 0.05

    def run(self, counts: FloatArray, deviation: float) -> Smoothed | None:
        """The smoothed counts; None where the counts show no chain.

        Args:
            counts: noisy counts, shape (cells,).
            deviation: of their noise, in the same unit.
        """
        seen = counts / deviation
        exact = seen > CLEAR
        if not SHORTEST <= seen.size <= LONGEST or exact.all():
            return None
        # The likelihood of every level over the largest, shape (cells, levels).
        logs = -0.5 * (seen[:, None] - _grid()) ** 2
        logs -= logs.max(axis=1, keepdims=True)
        with np.errstate(under="ignore"):
            fits: FloatArray = np.exp(logs)
        # The prior of levels, estimated from independent cells.
        prior = self._initial_prior
        for _ in range(PRIOR_ROUNDS):
            shares = fits[~exact] * prior
            shares /= shares.sum(axis=1, keepdims=True)
            prior = (1.0 - PRIOR_SHARE) * shares.mean(axis=0) + PRIOR_SHARE * self._initial_prior
        moves = (1.0 - self.jump) * self._kernels + self.jump * prior
        forward, likelihoods = _forward(fits, exact, prior, moves)
        best = int(likelihoods.argmax())
        if likelihoods[best] - np.log(fits[~exact] @ prior).sum() < LEAST_GAIN:
            return None
        levels = _grid()
        odds = _posterior(forward[:, best], fits, exact, moves[best])
        means = odds @ levels
        spread = np.where(exact, 1.0, odds @ levels**2 - means**2)
        values: FloatArray = np.where(exact, seen, means) * deviation
        return Smoothed(values=values, deviation=float(np.sqrt(spread.mean())) * deviation)

    @cached_property
    def _initial_prior(self) -> FloatArray:
        """Uniform in logarithms."""
        weights: FloatArray = np.gradient(np.log(_grid()))
        weights /= weights.sum()
        return weights

    @cached_property
    def _kernels(self) -> FloatArray:
        """Transition probabilities by step size, shape (steps, levels, levels)."""
        logs = np.log(_grid())
        sizes = np.array(self.steps)[:, None, None]
        with np.errstate(under="ignore"):
            kernels: FloatArray = np.exp(-0.5 * ((logs[:, None] - logs) / sizes) ** 2) * self._initial_prior
        kernels /= kernels.sum(axis=2, keepdims=True)
        return kernels


@lru_cache(maxsize=1)
def _grid() -> FloatArray:
    """Levels in deviations: geometric below one, then steps of the larger of 0.5 and 4%."""
    levels = list(np.geomspace(LOWEST_LEVEL, 1.0, 15))
    while levels[-1] < CLEAR + 6.0:
        levels.append(levels[-1] + max(0.5, 0.04 * levels[-1]))
    return np.array(levels)


def _forward(
    fits: FloatArray, exact: np.ndarray, prior: FloatArray, moves: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Odds of the levels given the cells so far, shape (cells, steps, levels), and every step size's log likelihood."""
    odds = np.empty((len(fits), len(moves), prior.size))
    likelihoods = np.zeros(len(moves))
    ahead = restart = np.tile(prior, (len(moves), 1))
    for cell, fit in enumerate(fits):
        if exact[cell]:
            odds[cell] = ahead = restart
            continue
        joint = ahead * fit
        sums = joint.sum(axis=1)
        likelihoods += np.log(sums)
        odds[cell] = joint / sums[:, None]
        ahead = np.matmul(odds[cell][:, None, :], moves)[:, 0]
    return odds, likelihoods


def _posterior(forward: FloatArray, fits: FloatArray, exact: np.ndarray, moves: FloatArray) -> FloatArray:
    """Odds of the levels given all cells, shape (cells, levels)."""
    odds = np.empty_like(forward)
    behind = restart = np.ones(len(moves))
    for cell in range(len(fits) - 1, -1, -1):
        odds[cell] = forward[cell] * behind
        odds[cell] /= odds[cell].sum()
        behind = restart if exact[cell] else moves @ (fits[cell] * behind)
        behind = behind / behind.max()
    return odds


# Uneven cells: tables that may lie behind the noisy counts of buckets, drawn with public randomness.

WARY = (IMBALANCES > 0.01) / (IMBALANCES > 0.01).sum()
"""How often each imbalance occurs, where nothing was observed: cells are taken to be uneven until counts show that they
are not. Set by `python tests/benchmarks/ordered_bars.py`."""


class BucketCounts(Struct, frozen=True, kw_only=True, eq=False):
    """Unbiased noisy counts of buckets. Public.

    Attributes:
        places: every cell's bucket in C order, shape (cells,). Every bucket has a cell.
        counts: in records, shape (buckets,).
        covariance: of their noise, shape (buckets, buckets).
    """

    places: IntArray
    counts: FloatArray
    covariance: FloatArray


class BoxCounts(Struct, frozen=True, kw_only=True, eq=False):
    """Unbiased noisy counts of all boxes of one level of a bisection. Public.

    Attributes:
        counts: in records, shape (2^level,).
        variances: of the difference of a box's halves, one for each of the levels 0 .. level - 1.
        total, deviation: an estimate of all records from all that was released, and its noise.

    >>> bisection, counts = Bisection((2,)), np.array([3.0, 1.0])
    >>> BoxCounts(bisection=bisection, counts=counts, variances=np.ones(1), total=4.0, deviation=1.0).level
    1
    """

    bisection: Bisection
    counts: FloatArray
    variances: FloatArray
    total: float
    deviation: float

    @property
    def level(self) -> int:
        return len(self.variances)


SURE = 6.0
"""Deviations of its noise from which on a count of records is taken for their number."""

SIZES = 200
"""Numbers of records that are distinguished below that."""


def likely_records(count: float, noise: float) -> tuple[FloatArray, FloatArray]:
    """Numbers of records that a noisy count leaves likely, and their probabilities.

    Normal noise; beforehand every order of magnitude from 1 on is alike likely, so a count within its noise makes the
    records as few as they may be, rather than as many as the noise (Jeffreys 1946, the prior of a scale).

    >>> sizes, weights = likely_records(100.0, 1.0)
    >>> float(weights @ sizes)
    100.0
    >>> sizes, weights = likely_records(0.0, 100.0)
    >>> bool(10 < weights @ sizes < 50)
    True
    """
    if count >= SURE * noise:
        return np.array([max(count, 1.0)]), np.ones(1)
    sizes = np.geomspace(1.0, max(count, 0.0) + SURE * noise + 1.0, SIZES)
    logs = -(((sizes - count) / noise) ** 2) / 2
    weights = np.exp(logs - logs.max())
    return sizes, weights / weights.sum()


def uneven_cells(
    shape: tuple[int, ...], known: BucketCounts, boxes: BoxCounts | None, uniforms: FloatArray, normals: FloatArray
) -> FloatArray:
    """Records of single cells, drawn from what released counts say of them: whole numbers of at least 0.

    From the root down, the records of a box are divided between its halves by a draw from the posterior law that the
    choice of the buckets rests on (`Imbalances`): given the buckets' noisy counts, and within a bucket the boxes'.
    Below all boxes that were counted, imbalances are as likely as on the levels above.

    Args:
        shape: cells of each axis.
        boxes: noisy counts, from which the buckets were chosen; None: there are none.
        uniforms, normals: public draws, one of each for every box of the bisection, `draws_of(shape)` in all.

    Returns:
        Records, shape as `shape`.

    Privacy:
        Post-processing of released counts.

    >>> known = BucketCounts(places=np.array([0, 0, 1]), counts=np.array([8.0, 4.0]), covariance=1e-9 * np.eye(2))
    >>> uneven_cells((3,), known, None, np.full(draws_of((3,)), 0.5), np.zeros(draws_of((3,)))).tolist()
    [4.0, 4.0, 4.0]
    """
    bisection = Bisection(shape)
    imbalances, drawn = Imbalances(weights=WARY), np.maximum(np.round(known.counts.sum(keepdims=True)), 0.0)
    for level in range(bisection.depth):
        halves, count = bisection.places(level + 1), 2**level
        inside = np.bincount(halves, minlength=2 * count).reshape(count, 2)
        split = inside.min(axis=1) > 0
        even = drawn * (inside[:, 0] - inside[:, 1]) / np.maximum(inside.sum(axis=1), 1)
        differences, variances = _observed(known, boxes, halves, level)
        unlike, own = np.where(np.isinf(variances), 0.0, differences - even), np.where(split, drawn, 0.0)
        imbalances = imbalances.below().learned(unlike[split], own[split], variances[split])
        part = slice(count, 2 * count)
        moved = imbalances.drawn(unlike, own, variances, uniforms[part], normals[part])
        left = np.clip(np.round((drawn + even + moved) / 2), 0.0, drawn)
        drawn = np.stack([left, drawn - left], axis=1).reshape(-1)
    cells: FloatArray = drawn[bisection.places(bisection.depth)].reshape(shape)
    return cells


def draws_of(shape: tuple[int, ...]) -> int:
    """How many draws of either kind `uneven_cells` takes.

    >>> draws_of((3,))
    8
    """
    return int(2 ** (Bisection(shape).depth + 1))


def _observed(
    known: BucketCounts, boxes: BoxCounts | None, halves: IntArray, level: int
) -> tuple[FloatArray, FloatArray]:
    """Noisy differences of the halves of a level's boxes, and the variances of their noise; infinite: none is known.

    halves: the half of every cell, shape (cells,). Only boxes of several buckets have a row in the matrix of signs:
    at most as many as there are buckets.
    """
    count = 2**level
    differences, variances = np.zeros(count), np.full(count, np.inf)
    if boxes is not None and level < boxes.level:
        counts = boxes.counts.reshape(count, 2, -1).sum(axis=2)
        differences, variances = counts[:, 0] - counts[:, 1], np.full(count, boxes.variances[level])
    boxed = halves // 2
    # Whether cells of a box lie in several buckets, shape (boxes,).
    least, most = np.full(count, known.places.max() + 1), np.full(count, -1)
    np.minimum.at(least, boxed, known.places)
    np.maximum.at(most, boxed, known.places)
    several = least < most
    above, rows, cells = np.flatnonzero(several), np.cumsum(several) - 1, np.flatnonzero(several[boxed])
    signs = np.zeros((len(above), len(known.counts)))
    signs[rows[boxed[cells]], known.places[cells]] = 1 - 2 * (halves[cells] % 2)
    differences[above] = signs @ known.counts
    variances[above] = ((signs @ known.covariance) * signs).sum(axis=1)
    return differences, variances
