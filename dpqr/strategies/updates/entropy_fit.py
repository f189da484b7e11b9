"""EntropyFit: the distribution of largest entropy that explains noisy answers about as well as their noise allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.strategies.updates.descent import Descent
from dpqr.strategies.updates.evidence import Evidence, lower_order
from dpqr.strategies.updates.log_linear import LogLinear

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

    Leaning: an interaction of two attributes that m measured marginals contain can be shared among their potentials,
    and would cost only 1/m of what it costs where one contains it. So a marginal leans by the mean, over its pairs,
    of the number of measured marginals that contain the pair; single attributes and other blocks lean by 1.

    Base: effects of single attributes, then of pairs, then all that was measured. The measured marginals' own sums
    tell the lower orders more exactly than their cells, and an interaction is then pulled towards "no further
    interaction" and not towards the uniform distribution. (Adult, 6 columns, all 20 three-way marginals with Laplace
    noise of scale 20: mean L1 error 0.028 on the uniform base, 0.026 on this one at leaning 1, 0.023 with both.)

    tolerance: the fit stops where it is the exact fit to answers that differ from the measured ones by at most this
    many deviations in every entry.
    steps: most descent steps a stage; a fit that is cut there is still a distribution.
    """

    tolerance: float = 0.1
    steps: int = 600

    def run(
        self, evidence: Sequence[Evidence], shape: tuple[int, ...], total: float, warm: Potentials
    ) -> tuple[FloatArray, Potentials]:
        """Probabilities, shape = domain shape, and the potentials to start the next fit from.

        total: N, more than 0. Attributes that nobody measured are uniform and independent of all others.
        """
        touched = {axis for seen in evidence for axis in seen.axes}
        frame = tuple(sorted(touched, key=lambda axis: (shape[axis], axis)))
        logs = np.zeros([shape[axis] for axis in frame])
        found: dict[Hashable, FloatArray] = {}
        for stage, seen in enumerate(_stages(evidence)):
            model = LogLinear.of(seen, frame, logs, total, _leanings(seen))
            start = model.joined([warm.get((stage, one.key)) for one in seen])
            end = Descent(tolerance=self.tolerance, steps=self.steps).run(model.objective, start)
            found.update({(stage, one.key): part for one, part in zip(seen, model.split(end), strict=True)})
            logs = model.logs(end)
        return _on_domain(logs, frame, shape), found


def _stages(evidence: Sequence[Evidence]) -> list[tuple[Evidence, ...]]:
    """Single attributes, pairs, all that was measured; a stage that would add nothing is left out."""
    orders = [seen.order for seen in evidence if seen.block is None]
    lower = [lower_order(evidence, order) for order in (1, 2) if order < max(orders, default=0)]
    return [*lower, tuple(evidence)] if evidence else []


def _leanings(evidence: Sequence[Evidence]) -> list[float]:
    """w, one figure an evidence."""
    pairs = [list(combinations(sorted(seen.axes), 2)) if seen.block is None else [] for seen in evidence]
    shared = Counter(pair for own in pairs for pair in own)
    return [sum(shared[pair] for pair in own) / len(own) if own else 1.0 for own in pairs]


def _on_domain(logs: FloatArray, frame: Axes, shape: tuple[int, ...]) -> FloatArray:
    """Probabilities on all attributes from unnormalised logs on those of `frame`."""
    cells = np.exp(logs - logs.max())
    cells /= cells.sum()
    order = sorted(frame)
    cells = cells.transpose([frame.index(axis) for axis in order])
    others = tuple(axis for axis in range(len(shape)) if axis not in frame)
    cells = np.expand_dims(cells, others)
    share = float(np.prod([shape[axis] for axis in others], dtype=np.float64))
    whole = np.ascontiguousarray(np.broadcast_to(cells / share, shape))
    whole.flags.writeable = False
    return whole
