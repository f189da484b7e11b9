"""The maximum-entropy distribution that explains noisy answers about as well as their noise allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct, field

from dpqr.domain.domain import PublicFacts
from dpqr.kernel.arrays import Axes, FloatArray, freeze
from dpqr.kernel.values import replace
from dpqr.models.factored import FactoredDistribution
from dpqr.models.fit.buckets import HiddenMarkovSmoother
from dpqr.models.fit.descent import MEMORY, Descent
from dpqr.models.fit.evidence import LinearMeasurement, lower_order
from dpqr.models.fit.local_fits import best_strengths
from dpqr.models.fit.log_linear import LOG_ZERO, LogLinear, Propagation, Table
from dpqr.models.fit.misfit import fit_with_sums
from dpqr.models.junction_tree import JunctionTree, within
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

Potentials = Mapping[Hashable, FloatArray]

TINY = 1e-300
"""Probabilities below it are nothing: no quotient of others overflows."""
MOST_PAST, REMEMBERED = 40, 2**20
"""Past steps that a descent remembers, and numbers in them beyond which it remembers 10 alone (16 MiB). Where a few
hundred answers of little noise overlap, 40 halve its steps; a larger fit takes hardly fewer."""


class MaximumEntropyFit(Struct, frozen=True, kw_only=True):
    """The regularised maximum-entropy fit to noisy answers.

    Minimises, over distributions p on the cells and for a given number of records N,

        sum over entries j of (N (M p)_j - y_j)^2 / (2 w_j s_j N)  +  KL(p || base),

    s_j the noise deviation of the entry and w_j its regularisation strength (`regularisation`). The dual is smooth and
    strictly convex, and is what is solved:

        min over eta of  log sum base exp(M^T eta) - eta y / N + sum w_j s_j eta_j^2 / (2N),

    and at its optimum y_j - N (M p)_j = w_j s_j eta_j: **a potential of size one costs w deviations of residual.**
    The strength has no scale but the noise's. With w near 0 the potentials of rare cells fit their noise; with a large
    w the residual is more than noise explains. Log-odds between the cells of real tables are of order one, so a fit at
    the noise level leaves about one deviation in each.

    Stages: single attributes, then pairs, then all measurements, each stage the base of the next. Sums of measured
    marginals estimate the lower orders more exactly than cells do, and interactions are then shrunk towards "no further
    interaction" rather than towards the uniform distribution.

    Smoothing: where the counts of a single attribute show that neighbouring cells are alike (`HiddenMarkovSmoother`),
    they are smoothed before every stage.

    Attributes:
        tolerance: in deviations. The fit stops where it is exact for answers that differ from the measured ones by at
            most this much in every entry.
        steps: most descent steps per stage; a fit that is cut there is still a distribution.
        smoother: of one-way marginals.
        shrinks_hidden: whether tables of several attributes are shrunk further towards their bases where noise hides
            their cells. Not for queries that sum many cells: noise may hide each cell and not the sum.

    Privacy:
        Post-processing: reads released answers and public facts.

    >>> from dpqr.models.fit.evidence import LinearMeasurement
    >>> seen = LinearMeasurement(key=(0,), axes=(0,), values=np.array([75.0, 25.0]), deviation=0.1)
    >>> MaximumEntropyFit().run([seen], (2,), 100.0, {}).probabilities().round(2)
    array([0.75, 0.25])
    """

    tolerance: float = 0.2
    steps: int = 600
    smoother: HiddenMarkovSmoother = field(default_factory=HiddenMarkovSmoother)
    shrinks_hidden: bool = False

    def run(
        self,
        evidence: Sequence[LinearMeasurement],
        shape: tuple[int, ...],
        total: float,
        warm: Potentials,
        facts: PublicFacts | None = None,
    ) -> FactoredDistribution:
        """The fitted distribution at one record.

        Args:
            evidence: the noisy answers. Attributes that nobody measured are uniform and independent of all others.
            shape: cells of each attribute.
            total: N, records, more than 0.
            warm: potentials of an earlier fit, to start from.
            facts: structural zeros hold at every stage; known totals are evidence of the last one.

        Returns:
            The distribution, with its potentials to warm-start the next fit.
        """
        facts = facts or PublicFacts()
        evidence = (*without_impossible_cells(evidence, facts), *known_totals(facts, shape))
        settled: list[Table] = structural_zeros(facts)
        # The base of the first stage: uniform over the cells that are possible.
        fitted = FactoredDistribution.uniform(shape, 1.0)
        if settled:
            tree = JunctionTree.over(shape, [axes for axes, _ in settled])
            beliefs = Propagation.of(tree, [], settled).beliefs([])
            fitted = FactoredDistribution(tree=tree, beliefs=beliefs, total=1.0)
        # Single attributes, pairs, all measurements; a stage that adds nothing is left out. A marginal that covers all
        # evidence of its columns is fitted in closed form at the end, on the base of the stages before it.
        groups = [(group, None if settled else _covering_marginal(group)) for group in _apart(evidence)]
        highest = max((one.order for one in evidence if one.block is None), default=0)
        stages = [
            lower_order([one for group, whole in groups if not whole or whole.order > order for one in group], order)
            for order in (1, 2)
            if order < highest
        ]
        left = tuple(one for group, whole in groups if whole is None for one in group)
        if any(one.order > 1 or one.block is not None for one in left) or (left and not stages):
            stages.append(left)
        # One-way marginals smoothed where the first stage, which holds all of them, supports it.
        smoothed = {}
        for one in stages[0] if stages else ():
            if one.order == 1 and one.block is None:
                smooth = self.smoother.run(one.values, one.deviation)
                if smooth is not None:
                    smoothed[one.key] = replace(one, values=smooth.values, deviation=smooth.deviation)
        potentials: dict[Hashable, FloatArray] = {}
        for stage, measured in enumerate(stages):
            seen = tuple(smoothed.get(one.key, one) for one in measured)
            tree = JunctionTree.over(shape, [*(one.axes for one in seen), *(axes for axes, _ in settled)])
            strengths = strengths_by_cell(seen, fitted, total, hidden=self.shrinks_hidden)
            model = LogLinear.of(seen, tree, settled, total, strengths)
            start = model.joined([warm.get((stage, one.key)) for one in seen])
            past = min(MOST_PAST, max(MEMORY, REMEMBERED // start.size))
            descent = Descent(tolerance=model.tolerances(self.tolerance), steps=self.steps, memory=past)
            end = descent.run(model.objective, start, model.inverse)
            potentials.update({(stage, one.key): part for one, part in zip(seen, model.split(end), strict=True)})
            settled += model.tables(end)
            fitted = FactoredDistribution(tree=tree, beliefs=model.beliefs(end), total=1.0, potentials=potentials)
        for whole in (whole for _, whole in groups if whole is not None):
            fitted = self._with_marginal(fitted, whole, total)
        return fitted

    def _with_marginal(
        self, fitted: FactoredDistribution, whole: LinearMeasurement, total: float
    ) -> FactoredDistribution:
        """The distribution whose marginal is the local fit to `whole` on the base of the lower orders. Its columns are
        independent of all others."""
        base = fitted.marginal(whole.axes) * total
        cells = fit_with_sums(base, whole.values, whole.deviation, hidden=self.shrinks_hidden)
        cells /= total
        others = (clique.axes for clique in fitted.tree.cliques if not set(clique.axes) <= set(whole.axes))
        tree = JunctionTree.over(fitted.tree.shape, [whole.axes, *others])
        tables = []
        for clique in tree.cliques:
            table = fitted.marginal(clique.axes)
            own = [axis for axis in clique.axes if axis in whole.axes]
            gone = tuple(place for place, axis in enumerate(whole.axes) if axis not in own)
            kept = [axis for axis in whole.axes if axis in own]
            now = cells.sum(axis=gone).transpose([kept.index(axis) for axis in own])
            if len(own) == len(clique.axes):
                table = now
            elif own:
                # Along the other axes of the clique nothing changes.
                before = fitted.marginal(tuple(own))
                ratio = np.divide(now, before, out=np.zeros_like(before), where=before > TINY)
                table = table * ratio.reshape(
                    [size if axis in own else 1 for axis, size in zip(clique.axes, table.shape, strict=True)]
                )
            tables.append(freeze(np.array(table)))
        return replace(fitted, tree=tree, beliefs=tuple(tables), _cache={})


def _apart(evidence: Sequence[LinearMeasurement]) -> list[list[LinearMeasurement]]:
    """The evidence in groups that share no column, as small as they can be, each in the order of the evidence."""
    joined: dict[int, set[int]] = {}  # by column all that it is joined with
    for one in evidence:
        known = [joined.get(axis) for axis in one.axes]
        if any(axes is None or axes is not known[0] for axes in known):
            axes = set(one.axes).union(*filter(None, known))
            joined |= dict.fromkeys(axes, axes)
    groups: dict[int, list[LinearMeasurement]] = {}
    for one in evidence:
        groups.setdefault(min(joined[one.axes[0]]) if one.axes else -1, []).append(one)
    return [*groups.values()]


def _covering_marginal(evidence: Sequence[LinearMeasurement]) -> LinearMeasurement | None:
    """The measured marginal, of two attributes or more, that all other evidence is a marginal of; None without one."""
    widest = max(evidence, key=lambda seen: seen.order, default=None)
    if widest is None or widest.order < 2 or any(seen.block is not None for seen in evidence):
        return None
    return widest if all(set(seen.axes) <= set(widest.axes) for seen in evidence) else None


# Regularisation strengths: how strongly a fit shrinks towards its base, in deviations of residual per potential.


# Set by `python tests/benchmarks/marginals`, the last two by `cells.py`; figures: RESULTS.md there, "Fitting".

SINGLES_STRENGTH = 0.1
"""Strength of single attributes on the uniform base, at least."""
LARGEST_CREDIT = 1.0
"""Variance of log-odds that a table is credited with, at most."""
LEAST_FACTOR = 0.1
"""Factor by which the cells of such a table lower their strength, at least."""


def strengths(evidence: Sequence[LinearMeasurement], total: float) -> list[float]:
    """w, one per evidence.

    Several measured marginals share an interaction of two attributes, which would then cost 1/m of what it costs in a
    single one. So a marginal has the mean, over its pairs, of the number of measured marginals that contain the pair;
    single attributes and other blocks have 1.

    In the first stage, single attributes on the uniform base, it is at least SINGLES_STRENGTH, for real columns have
    log-odds of five and more, and that of `best_strengths` where it is more.

    Args:
        total: N, records, more than 0.
    """
    if all(seen.order == 1 for seen in evidence):
        own = [1.0] * len(evidence)
        for place, seen in enumerate(evidence):
            if seen.block is None:
                even = np.full((1, seen.values.size), total / seen.values.size)
                best = best_strengths(even, seen.values[None], np.array([seen.deviation]))[0]
                own[place] = max(SINGLES_STRENGTH, float(best))
        return own
    pairs = [list(combinations(sorted(seen.axes), 2)) if seen.block is None else [] for seen in evidence]
    times = Counter(pair for own in pairs for pair in own)
    return [sum(times[pair] for pair in own) / len(own) if own else 1.0 for own in pairs]


def strengths_by_cell(
    evidence: Sequence[LinearMeasurement], base: FactoredDistribution, total: float, *, hidden: bool = False
) -> list[FloatArray]:
    """w, one array of shape (values,) per evidence: as `strengths`, higher where noise hides what a table of several
    attributes adds to its base (`best_strengths`), lower where the table departs from it.

    Log-odds of variance v around a cell of m records, observed with noise of deviation s, are best shrunk at
    w = s / (v m), where that is below 1. v is estimated from the table itself: its mean square contingency against the
    base, less the noise's, over the cells above the noise.

    Args:
        base: the fit to the lower orders, at one record.
        total: N, records, more than 0.
        hidden: whether strengths above those of `strengths` are taken.

    >>> from dpqr.models.fit.evidence import LinearMeasurement
    >>> base = FactoredDistribution.uniform((2, 2), 1.0)
    >>> for noise in (1.0, 100.0):
    ...     seen = LinearMeasurement(key=(0, 1), axes=(0, 1), values=np.full((2, 2), 25.0), deviation=noise)
    ...     strengths_by_cell([seen], base, 100.0, hidden=True)[0].round(1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    [5.4, 5.4, 5.4, 5.4]
    """
    by_cell = []
    for seen, strength in zip(evidence, strengths(evidence, total), strict=True):
        by_cell.append(np.full(seen.values.size, strength))
        if seen.block is not None or seen.order < 2:
            continue
        expected, values, noise = base.marginal(seen.axes) * total, seen.values, seen.deviation
        if hidden:
            by_cell[-1] *= max(1.0, best_strengths(expected[None], values[None], np.array([noise]))[0])
        large = expected >= noise
        if not large.any():
            continue
        # Pearson's mean square contingency of the cells expected above the noise, less the noise's share.
        squares = (values[large] - expected[large]) ** 2 - noise**2
        variance = min(LARGEST_CREDIT, float((squares / expected[large]).sum() / expected[large].sum()))
        if variance > 0.0:
            cells = np.maximum(np.maximum(expected, values), noise).reshape(-1)
            by_cell[-1] *= np.clip(noise / (variance * cells), LEAST_FACTOR, 1.0)
    return by_cell


# Constraints: structural zeros and known totals of the domain file, as a fit takes them.

KNOWN_DEVIATION = 0.05
"""Records: the standard deviation that a known total enters the fit with, about its tolerance."""


def structural_zeros(facts: PublicFacts) -> list[Table]:
    """Log potentials that are `LOG_ZERO` on impossible cells and 0 elsewhere.

    >>> from dpqr.domain.domain import Region
    >>> region = Region(axes=(0,), cells=np.array([True, False]), text="c0 = 0")
    >>> [(axes, table.tolist()) for axes, table in structural_zeros(PublicFacts(impossible=(region,)))]
    [((0,), [-1000000000000000.0, 0.0])]
    """
    return [(region.axes, np.where(region.cells, LOG_ZERO, 0.0)) for region in facts.impossible]


def possible(shape: tuple[int, ...], facts: PublicFacts, limit: int) -> bool | None:
    """Whether the structural zeros leave a cell for a record.

    Returns:
        None where the junction tree of all impossible regions has more than `limit` cells.
    """
    groups = frozenset(region.axes for region in facts.impossible)
    if not within(shape, groups, limit):
        return None
    tree = JunctionTree.over(shape, groups)
    mass, _ = Propagation.of(tree, [], structural_zeros(facts)).run([])
    return mass > LOG_ZERO / 2


def known_totals(facts: PublicFacts, shape: tuple[int, ...]) -> tuple[LinearMeasurement, ...]:
    """Known totals as evidence of deviation `KNOWN_DEVIATION`, those of the same attributes in one block.

    Args:
        shape: cells of each attribute of the domain.
    """
    by_axes: dict[Axes, list[tuple[FloatArray, float]]] = {}
    for total in facts.totals:
        by_axes.setdefault(total.region.axes, []).append((total.region.cells.reshape(-1), float(total.count)))
    totals = []
    for axes, rows in by_axes.items():
        matrix = Dense(np.array([cells for cells, _ in rows]).astype(np.int64))
        sizes = tuple(shape[axis] for axis in axes)
        block = QueryBlock(name="known totals", factors=(Factor(axes=axes, sizes=sizes, matrix=matrix),))
        ordered = tuple(sorted(axes, key=lambda axis: (shape[axis], axis)))
        counts = np.array([count for _, count in rows])
        totals.append(
            LinearMeasurement(key=("known", axes), axes=ordered, values=counts, deviation=KNOWN_DEVIATION, block=block)
        )
    return tuple(totals)


def without_impossible_cells(
    evidence: Sequence[LinearMeasurement], facts: PublicFacts
) -> tuple[LinearMeasurement, ...]:
    """The evidence with 0 in impossible cells of marginals: what was measured there is noise alone."""
    cleared = []
    for seen in evidence:
        inside = [] if seen.block is not None else [region.within(seen.axes) for region in facts.impossible]
        values = seen.values
        for region in filter(None, inside):
            # The region's cells, broadcast along the marginal's other axes.
            shape = [1] * values.ndim
            for place, size in zip(region.axes, region.cells.shape, strict=True):
                shape[place] = size
            values = np.where(region.cells.reshape(shape), 0.0, values)
        cleared.append(seen if values is seen.values else replace(seen, values=values))
    return tuple(cleared)
