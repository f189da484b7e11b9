"""EntropyFit: the distribution of largest entropy that explains noisy answers about as well as their noise allows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpqr.data.arrays import FloatArray, frozen
from dpqr.data.facts import PublicFacts
from dpqr.hypotheses.factored.distribution import FactoredDistribution
from dpqr.hypotheses.factored.junction_tree import JunctionTree
from dpqr.strategies.updates import leaning
from dpqr.strategies.updates.binding import barred, cleared, totals
from dpqr.strategies.updates.descent import Descent
from dpqr.strategies.updates.evidence import Evidence, lower_order
from dpqr.strategies.updates.level_chain import LevelChain
from dpqr.strategies.updates.local_fit import local_fit
from dpqr.strategies.updates.log_linear import LogLinear
from dpqr.strategies.updates.propagation import Propagation, Table

Potentials = Mapping[Hashable, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntropyFit:
    """Minimises, over distributions p on the cells and for a given number of records N,

        sum over entries j of (N (M p)_j - y_j)^2 / (2 w_j s_j N)  +  KL(p || base),

    s_j the noise deviation of the entry and w_j its leaning (below): squared error over 2 s^2 plus lambda KL with
    lambda = N / (w s). The dual is smooth and strictly convex, and is what is solved:

        min over eta of  log sum base exp(M^T eta) - eta y / N + sum w_j s_j eta_j^2 / (2N),

    and at its optimum y_j - N (M p)_j = w_j s_j eta_j: **a potential of size one costs w deviations of residual.**

    Why this strength and no tuned number: it needs no scale but the noise's. Too little (w -> 0) and the potentials
    of rare cells run after their noise; too much and the residual is more than noise explains. Log-odds between the
    cells of real tables are of order one, so a fit at the noise level leaves about one deviation in each.

    Leaning: see `leaning`; a table that departs from its base is drawn to it less.

    Base: effects of single attributes, then of pairs, then all that was measured. The measured marginals' own sums
    tell the lower orders more exactly than their cells, and an interaction is then pulled towards "no further
    interaction" and not towards the uniform distribution. (Adult, 6 columns, all 20 three-way marginals with Laplace
    noise of scale 20: mean L1 error 0.028 on the uniform base, 0.026 on this one at leaning 1, 0.023 with both.)

    Neighbours: where the counts of a single attribute show that cells hold what those beside them hold (`LevelChain`),
    its values are drawn to their neighbours beforehand, in every stage. (Adult, 91 pairs at epsilon 0.1: a mean L1
    error of 0.176, and of 0.196 without.)

    tolerance: the fit stops where it is the exact fit to answers that differ from the measured ones by at most this
    many deviations in every entry.
    steps: most descent steps a stage; a fit that is cut there is still a distribution.
    """

    tolerance: float = 0.2
    steps: int = 600
    chain: LevelChain = field(default_factory=LevelChain)

    def run(
        self,
        evidence: Sequence[Evidence],
        shape: tuple[int, ...],
        total: float,
        warm: Potentials,
        facts: PublicFacts | None = None,
    ) -> FactoredDistribution:
        """The fitted distribution at one record, with the potentials to start the next fit from.

        total: N, more than 0. Attributes that nobody measured are uniform and independent of all others.
        facts: what cannot be is 0 at every stage; known totals are evidence of the last one, within EXACT records.
        """
        known = facts or PublicFacts()
        evidence = (*cleared(evidence, known), *totals(known, shape))
        settled: list[Table] = barred(known)
        fitted = _base(shape, settled)
        found: dict[Hashable, FloatArray] = {}
        whole = None if settled else _holding_all(evidence)
        for stage, seen in enumerate(_neighbourly(_stages(evidence, whole), self.chain)):
            tree = JunctionTree.over(shape, [*(one.axes for one in seen), *(axes for axes, _ in settled)])
            leanings = leaning.by_cell(seen, fitted, total)
            model = LogLinear.of(seen, tree, settled, total, leanings)
            start = model.joined([warm.get((stage, one.key)) for one in seen])
            descent = Descent(tolerance=model.tolerances(self.tolerance), steps=self.steps)
            end = descent.run(model.objective, start, model.inverse)
            found.update({(stage, one.key): part for one, part in zip(seen, model.split(end), strict=True)})
            settled += model.tables(end)
            fitted = FactoredDistribution(tree=tree, beliefs=model.beliefs(end), total=1.0, potentials=found)
        return fitted if whole is None else _of_one_table(fitted, whole, total)


def _base(shape: tuple[int, ...], settled: Sequence[Table]) -> FactoredDistribution:
    """Uniform over what can be."""
    if not settled:
        return FactoredDistribution.uniform(shape, 1.0)
    tree = JunctionTree.over(shape, [axes for axes, _ in settled])
    return FactoredDistribution(tree=tree, beliefs=Propagation.of(tree, [], settled).beliefs([]), total=1.0)


def _stages(evidence: Sequence[Evidence], whole: Evidence | None) -> list[tuple[Evidence, ...]]:
    """Single attributes, pairs, all that was measured; a stage that would add nothing is left out.

    A table that holds all is fitted in closed form at the end. Where its noise is below one record, pairs add nothing
    to its base that its cells do not tell.
    """
    orders = [seen.order for seen in evidence if seen.block is None]
    fine = whole is not None and whole.deviation < 1.0
    lower = [lower_order(evidence, order) for order in ((1,) if fine else (1, 2)) if order < max(orders, default=0)]
    return [*lower, tuple(evidence)] if evidence and whole is None else lower


def _neighbourly(stages: Sequence[tuple[Evidence, ...]], chain: LevelChain) -> list[tuple[Evidence, ...]]:
    """The stages, with single attributes drawn to their neighbours where the first one, which holds all that is known
    of them, shows that this is right."""
    drawn = {}
    for seen in stages[0] if stages else ():
        if seen.order == 1 and seen.block is None:
            found = chain.run(seen.values, seen.deviation)
            if found is not None:
                drawn[seen.key] = replace(seen, values=found.values, deviation=found.deviation)
    return [tuple(drawn.get(seen.key, seen) for seen in stage) for stage in stages]


def _holding_all(evidence: Sequence[Evidence]) -> Evidence | None:
    """A measured marginal of several attributes, all that was measured being marginals of some of these; or None."""
    widest = max(evidence, key=lambda seen: seen.order, default=None)
    if widest is None or widest.order < 2 or any(seen.block is not None for seen in evidence):
        return None
    return widest if all(set(seen.axes) <= set(widest.axes) for seen in evidence) else None


def _of_one_table(fitted: FactoredDistribution, whole: Evidence, total: float) -> FactoredDistribution:
    """The distribution whose marginal is the local fit to `whole` on what the lower orders say."""
    base = fitted.marginal(whole.axes) * total
    cells = local_fit(base, whole.values, whole.deviation)
    cells /= total
    tree = JunctionTree.over(fitted.tree.shape, [whole.axes])
    tables = [fitted.marginal(clique.axes) for clique in tree.cliques]
    home = tree.home(whole.axes)
    if home is not None:
        axes = tree.cliques[home].axes
        tables[home] = cells.transpose([whole.axes.index(axis) for axis in axes])
    return replace(fitted, tree=tree, beliefs=tuple(frozen(np.array(table)) for table in tables), _kept={})
