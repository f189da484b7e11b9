"""The maximum-entropy distribution that explains noisy answers about as well as their noise allows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpqr.data.arrays import FloatArray, frozen
from dpqr.data.facts import PublicFacts
from dpqr.fitting.constraints import known_totals, structural_zeros, without_impossible_cells
from dpqr.fitting.descent import Descent
from dpqr.fitting.evidence import Evidence, lower_order
from dpqr.fitting.local_fits import local_fit
from dpqr.fitting.log_linear import LogLinear
from dpqr.fitting.propagation import Propagation, Table
from dpqr.fitting.regularisation import strengths_by_cell
from dpqr.fitting.smoothing import HiddenMarkovSmoother
from dpqr.hypotheses.factored.distribution import FactoredDistribution
from dpqr.hypotheses.factored.junction_tree import JunctionTree

Potentials = Mapping[Hashable, FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumEntropyFit:
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

    Privacy:
        Post-processing: reads released answers and public facts.

    >>> from dpqr.fitting.evidence import Evidence
    >>> seen = Evidence(key=(0,), axes=(0,), values=np.array([75.0, 25.0]), deviation=0.1)
    >>> MaximumEntropyFit().run([seen], (2,), 100.0, {}).probabilities().round(2)
    array([0.75, 0.25])
    """

    tolerance: float = 0.2
    steps: int = 600
    smoother: HiddenMarkovSmoother = field(default_factory=HiddenMarkovSmoother)

    def run(
        self,
        evidence: Sequence[Evidence],
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
        known = facts or PublicFacts()
        evidence = (*without_impossible_cells(evidence, known), *known_totals(known, shape))
        settled: list[Table] = structural_zeros(known)
        fitted = _base(shape, settled)
        found: dict[Hashable, FloatArray] = {}
        whole = None if settled else _covering_marginal(evidence)
        for stage, seen in enumerate(_smoothed(_stages(evidence, whole), self.smoother)):
            tree = JunctionTree.over(shape, [*(one.axes for one in seen), *(axes for axes, _ in settled)])
            strengths = strengths_by_cell(seen, fitted, total)
            model = LogLinear.of(seen, tree, settled, total, strengths)
            start = model.joined([warm.get((stage, one.key)) for one in seen])
            descent = Descent(tolerance=model.tolerances(self.tolerance), steps=self.steps)
            end = descent.run(model.objective, start, model.inverse)
            found.update({(stage, one.key): part for one, part in zip(seen, model.split(end), strict=True)})
            settled += model.tables(end)
            fitted = FactoredDistribution(tree=tree, beliefs=model.beliefs(end), total=1.0, potentials=found)
        return fitted if whole is None else _of_one_marginal(fitted, whole, total)


def _base(shape: tuple[int, ...], settled: Sequence[Table]) -> FactoredDistribution:
    """Uniform over the cells that are possible."""
    if not settled:
        return FactoredDistribution.uniform(shape, 1.0)
    tree = JunctionTree.over(shape, [axes for axes, _ in settled])
    return FactoredDistribution(tree=tree, beliefs=Propagation.of(tree, [], settled).beliefs([]), total=1.0)


def _stages(evidence: Sequence[Evidence], whole: Evidence | None) -> list[tuple[Evidence, ...]]:
    """Single attributes, pairs, all measurements; a stage that adds nothing is left out.

    A marginal that covers all others is fitted in closed form at the end, on the base of the stages before it.
    """
    orders = [seen.order for seen in evidence if seen.block is None]
    lower = [lower_order(evidence, order) for order in (1, 2) if order < max(orders, default=0)]
    return [*lower, tuple(evidence)] if evidence and whole is None else lower


def _smoothed(stages: Sequence[tuple[Evidence, ...]], smoother: HiddenMarkovSmoother) -> list[tuple[Evidence, ...]]:
    """The stages, with one-way marginals smoothed where the first stage, which holds all of them, supports it."""
    smoothed = {}
    for seen in stages[0] if stages else ():
        if seen.order == 1 and seen.block is None:
            found = smoother.run(seen.values, seen.deviation)
            if found is not None:
                smoothed[seen.key] = replace(seen, values=found.values, deviation=found.deviation)
    return [tuple(smoothed.get(seen.key, seen) for seen in stage) for stage in stages]


def _covering_marginal(evidence: Sequence[Evidence]) -> Evidence | None:
    """The measured marginal, of two attributes or more, that all other evidence are marginals of; None without one."""
    widest = max(evidence, key=lambda seen: seen.order, default=None)
    if widest is None or widest.order < 2 or any(seen.block is not None for seen in evidence):
        return None
    return widest if all(set(seen.axes) <= set(widest.axes) for seen in evidence) else None


def _of_one_marginal(fitted: FactoredDistribution, whole: Evidence, total: float) -> FactoredDistribution:
    """The distribution whose marginal is the local fit to `whole` on the base of the lower orders."""
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
