"""Averaging: how far each of several models is trusted, by how well it predicts noise that its fit has not seen.

A noisy answer y of variance s^2 is split by public normal noise z of the same variance into y + a z and y - z / a.
Their noises are uncorrelated, for s^2 - s^2 = 0; where the noise of y is normal, they are independent. Then the second
parts show the mean square error of whatever was fitted to the first parts without bias, up to a constant that all
models share, and which weighted mean of the models has the least. Other noise, and blocks that were chosen by what
earlier noise showed, make this an approximation. The models are then fitted to y itself and averaged with these
weights. A function of what was released and of public randomness: post-processing, and free.

References:
    Wolpert 1992 and Breiman 1996 (stacking); Oliveira, Lei and Tibshirani 2021 (splitting noise by noise).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from statistics import median

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, freeze
from dpqr.kernel.noise.public import public_normals
from dpqr.kernel.values import replace
from dpqr.models.compound import Joint, ModelAverage
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.hypothesis import Prefetching
from dpqr.models.junction_tree import by_size
from dpqr.models.latent_classes import LatentClasses, LatentClassFit

Evidence = tuple[LinearMeasurement, ...]


class AveragingTuning(Struct, frozen=True, kw_only=True):
    """Figures: `python tests/benchmarks/hidden_classes.py`."""

    part: float = 0.5  # a, by which the noise is split: the first parts have (1 + a^2) of the variance
    least: int = 4  # classes that are tried at least
    slight: float = 0.05  # of some classes, or of all: a smaller share moves no answer enough to pay for its fits
    optimism: float = 2.0  # squared residuals that a free share saves on the noise it was fitted to, beside new noise
    work: int = 2**25  # fitted cells times classes, at most: of larger tables the tree is released alone
    again: int = 10  # steps of a fit that starts from one to similar answers


TUNING = AveragingTuning()
SPLIT = 2**40
"""Added to a plan's seed for the noise that splits: apart from the seeds of refits."""


class Averaging(Struct, frozen=True, kw_only=True, eq=False):
    """What an average is made from, beside the noisy answers.

    Attributes:
        fit: the junction tree's fit to noisy answers.
        whole: what models are fitted to, from what was measured: interactions become marginals, earlier tables join.
        shape: cells of each attribute.
        total: records, more than 0.
        joined: groups of attributes that somebody asks about together.
        seed: public.

    >>> table = LinearMeasurement(key=(0, 1), axes=(0, 1), values=np.full((2, 3), 50.0), deviation=2.0)
    >>> from dpqr.models.hypothesis import DenseDistribution
    >>> tree = DenseDistribution(probabilities=np.array([[0.3, 0.1, 0.1], [0.1, 0.3, 0.1]]), total=300.0)
    >>> averaging = Averaging(
    ...     fit=lambda seen: tree, whole=tuple, shape=(2, 3), total=300.0, joined=[(0, 1)], seed=3
    ... )
    >>> averaging.average(tree, (table,)).marginal((0, 1)).round(-1).tolist()
    [[50.0, 50.0, 50.0], [50.0, 50.0, 50.0]]
    """

    fit: Callable[[Evidence], Joint]
    whole: Callable[[Evidence], Evidence]
    shape: tuple[int, ...]
    total: float
    joined: Collection[Axes]
    seed: int

    def average(self, tree: Joint, measured: Evidence) -> Joint | ModelAverage:
        """The tree and latent classes, averaged; the tree where these have a slight share at most.

        Classes are doubled as long as they predict better than half as many, or the average gains by them: far from
        the tree at first, they may come near it where there are many. They end where there are more parameters than
        fitted cells, or more work than `TUNING.work`.

        Args:
            tree: fitted to all that was measured.
            measured: as it was released.

        Privacy:
            Post-processing, with public randomness.
        """
        joined = frozenset(pair for axes in self.joined for pair in _pairs(axes))
        cells = sum(seen.values.size for seen in measured)
        cells += sum(self.shape[one] * self.shape[other] for one, other in joined)
        if cells * TUNING.least > TUNING.work:
            return tree
        found, shares = self._weighed(measured, joined, cells)
        if shares[1:].sum() < TUNING.slight:
            return tree
        shares = without_slight(shares)
        chosen = [place for place, share in enumerate(shares[1:]) if share > 0.0]
        fit = self._classes(tree, measured, joined)
        classes = tuple(fit.fitted(found[place].point) for place in chosen)
        kept = freeze(shares[[0, *(1 + place for place in chosen)]])
        return ModelAverage(tree=tree, classes=classes, shares=kept, joined=joined)

    def _weighed(
        self, measured: Evidence, joined: frozenset[Axes], cells: int
    ) -> tuple[Sequence[LatentClasses], FloatArray]:
        """Latent classes that were fitted to the first parts, 1, 2, 4, ... of them, and by the second parts the shares
        of the tree and of each. What is held out takes more memory than all that is released, and ends here.

        Args:
            cells: measured, and of the pairs that are joined.
        """
        first, second = split_noise(measured, TUNING.part, self.seed + SPLIT)
        fitted = self.fit(first)
        unseen = HeldOutAnswers.of(second)
        unseen.add(fitted)
        fit = self._classes(fitted, first, joined)
        found, start, losses = list[LatentClasses](), fit.first(), [unseen.best()[0]]
        # A point holds a number for each cell of a column, and one, for every class.
        most = min(sum(seen.values.size for seen in fit.evidence), TUNING.work // cells * start.size)
        while True:
            found.append(fit.fitted(start))
            unseen.add(found[-1])
            losses.append(unseen.best()[0])
            before, alone = np.diag(unseen.products)[-2:]
            gains = alone < before or losses[-2] - losses[-1] > TUNING.optimism
            ends = len(found[-1].shares) >= TUNING.least and not gains
            if ends or 2 * start.size > most:
                return found, self._cautious(unseen.best()[1], losses[0] - losses[-1])
            start = fit.split(found[-1].point)

    def _cautious(self, shares: FloatArray, saved: float) -> FloatArray:
        """Shares nearer to the tree alone, by the part of what they save that is chance (Mallows 1973, James and Stein
        1961): every share that is free saves 1 by fitting the noise, and costs 1 on other noise.

        Args:
            shares: of the tree and of the others.
            saved: by how much the squared residuals are less than the tree's.
        """
        free = int((shares[1:] > 0.0).sum())
        kept = max(0.0, 1.0 - TUNING.optimism * free / saved) if saved > 0.0 else 0.0
        cautious = kept * shares
        cautious[0] += 1.0 - kept
        return cautious

    def again(self, tree: Joint, measured: Evidence, like: ModelAverage) -> ModelAverage:
        """The same average of models fitted to similar answers, by short fits that start from its own."""
        fit = self._classes(tree, measured, like.joined)
        classes = tuple(fit.fitted(one.point, TUNING.again) for one in like.classes)
        return replace(like, tree=tree, classes=classes)

    def _classes(self, tree: Joint, measured: Evidence, joined: frozenset[Axes]) -> LatentClassFit:
        """A fit of classes to what was measured, and to the tree's tables of the pairs that were not.

        Nothing measured holds classes where no pair was: they would join columns at random. Nothing better is known
        there than the tree's answers. They count as if measured, with the median deviation of the pairs that were.
        """
        evidence = self.whole(measured)
        known = [seen for seen in evidence if seen.block is None]
        tables = {pair for seen in known for pair in _pairs(seen.axes)}
        missing = sorted(joined - tables)
        deviations = [seen.deviation for seen in known if seen.order > 1] or [seen.deviation for seen in evidence]
        deviation = median(deviations)
        if isinstance(tree, Prefetching):
            tree.prefetch(missing)
        added = []
        for pair in missing:
            axes = by_size(self.shape, pair)
            table = np.asarray(tree.marginal(axes))
            added.append(LinearMeasurement(key=axes, axes=axes, values=table, deviation=deviation))
        return LatentClassFit.of((*evidence, *added), self.shape, self.total)


def _pairs(axes: Axes) -> set[Axes]:
    return {(min(one, other), max(one, other)) for one in axes for other in axes if one != other}


def split_noise(evidence: Evidence, part: float, seed: int) -> tuple[Evidence, Evidence]:
    """Two versions of noisy answers with uncorrelated noise, of (1 + a^2) and (1 + 1 / a^2) of the variance.

    Args:
        part: a, more than 0.
        seed: public.

    >>> seen = LinearMeasurement(key=0, axes=(0,), values=np.array([3.0, 5.0]), deviation=1.0)
    >>> (first,), (second,) = split_noise((seen,), 0.5, 7)
    >>> ((first.values + 0.25 * second.values) / 1.25).round(9).tolist()
    [3.0, 5.0]
    >>> round(first.deviation**2, 9), round(second.deviation**2, 9)
    (1.25, 5.0)
    """
    sizes = [seen.values.size for seen in evidence]
    noise = np.split(public_normals(seed, sum(sizes)), np.cumsum(sizes)[:-1])
    first, second = [], []
    for seen, drawn in zip(evidence, noise, strict=True):
        moved = drawn.reshape(seen.values.shape) * seen.deviation
        louder = (1.0 + part**2) ** 0.5
        first.append(replace(seen, values=seen.values + part * moved, deviation=seen.deviation * louder))
        second.append(replace(seen, values=seen.values - moved / part, deviation=seen.deviation * louder / part))
    return tuple(first), tuple(second)


class HeldOutAnswers(Struct, kw_only=True, eq=False):
    """What models predict of noisy answers, all in deviations of their noise.

    evidence: the answers. values: of all of them, shape (answers,). gaps: of each model, how far it is from these, of
    the same shape. products: of each two gaps, shape (models, models).
    """

    evidence: Evidence
    values: FloatArray
    gaps: list[FloatArray]
    products: FloatArray

    @classmethod
    def of(cls, evidence: Evidence) -> HeldOutAnswers:
        values = np.concatenate([seen.values.reshape(-1) / seen.deviation for seen in evidence])
        return cls(evidence=evidence, values=values, gaps=[], products=np.zeros((0, 0)))

    def add(self, model: Joint | LatentClasses) -> None:
        """One more model, which was not fitted to these answers."""
        if isinstance(model, Prefetching):
            model.prefetch([seen.axes for seen in self.evidence])
        gap, start = -self.values, 0
        for seen in self.evidence:
            stop = start + seen.values.size
            gap[start:stop] += seen.apply(np.asarray(model.marginal(seen.axes))) / seen.deviation
            start = stop
        self.gaps.append(gap)
        self.products = np.pad(self.products, (0, 1))
        self.products[-1] = self.products[:, -1] = [np.einsum("i,i->", gap, self.gaps[-1]) for gap in self.gaps]

    def best(self) -> tuple[float, FloatArray]:
        """The least sum of squared residuals of a weighted mean of the models, and its shares, non-negative, sum 1."""
        shares = nearest_mean(self.products)
        return float(shares @ self.products @ shares), shares


def nearest_mean(products: FloatArray) -> FloatArray:
    """Shares of vectors, non-negative, sum 1, whose weighted mean is nearest to 0 in squares.

    Vectors join one at a time, the one along which the distance falls fastest, and leave where their share would turn
    negative, until none can join (Lawson and Hanson 1974, for shares that sum to 1).

    Args:
        products: inner products of each two of them, shape (vectors, vectors).

    >>> vectors = np.array([[-1.0, 3.0], [-5.0, -5.0]])
    >>> nearest_mean(vectors.T @ vectors).round(9).tolist()
    [0.75, 0.25]
    """
    count, size = len(products), float(np.trace(products)) or 1.0
    shares = np.zeros(count)
    shares[int(np.argmin(np.diag(products)))] = 1.0
    for _ in range(10 * count):
        # Of the shares that are there, those that are nearest whatever their sign: products @ shares is even on them.
        support = np.flatnonzero(shares > 0.0)
        while True:
            solved = np.linalg.lstsq(products[np.ix_(support, support)] + size, np.ones(len(support)), rcond=None)[0]
            wanted = solved / solved.sum()
            if (wanted > 0.0).all():
                break
            # As far on the way there as all shares stay non-negative; the first that gets to 0 leaves.
            falling = wanted <= 0.0
            way = (shares[support] / np.where(falling, shares[support] - wanted, 1.0))[falling].min()
            shares[support] += way * (wanted - shares[support])
            shares[support[falling & (shares[support] <= 1e-12)]] = 0.0
            support = np.flatnonzero(shares > 0.0)
        shares[support] = wanted
        slopes = products @ shares
        joining = int(np.argmin(slopes))
        if slopes[joining] >= float(shares @ slopes) - 1e-12 * size:
            break
        # A little of it, so that it is among those that are there.
        shares *= 1.0 - 1e-9
        shares[joining] += 1e-9
    return shares


def without_slight(shares: FloatArray) -> FloatArray:
    """Shares of the tree and of classes, where the largest of the latter has the slight ones too: each takes a fit, and
    another in every refit.

    >>> without_slight(np.array([0.5, 0.01, 0.39, 0.1])).round(9).tolist()
    [0.5, 0.0, 0.4, 0.1]
    >>> without_slight(np.array([0.91, 0.03, 0.04, 0.02])).round(9).tolist()
    [0.91, 0.0, 0.09, 0.0]
    """
    classes = shares[1:]
    kept = np.where(classes < TUNING.slight, 0.0, classes)
    kept[classes.argmax()] += classes.sum() - kept.sum()
    return np.append(shares[0], kept)
