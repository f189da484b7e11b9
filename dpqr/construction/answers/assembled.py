"""Assembled: unbiased answers of pairs whose parts were measured apart, as sums of these parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.construction.answers.noisy import BETA, Noisy
from dpqr.data.arrays import FloatArray
from dpqr.noise.discrete_gaussian import DiscreteGaussian
from dpqr.noise.law import NoiseLaw
from dpqr.strategies.plan import Plan
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.contrasts import Contrasts, interaction_cells, is_interaction
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """What one draw adds to every cell. values: records. norms: of the draw's weights in a cell. law: None: public."""

    values: FloatArray
    norms: FloatArray
    law: NoiseLaw | None


def assembled_answers(plan: Plan, transcript: Transcript) -> dict[str, Noisy]:
    """By the block's name, for pairs whose interaction was measured last: its cells, those of both columns' contrasts
    and the total, each spread evenly over what it does not ask.

    Theorem. values +- margin misses the true answer with probability at most 1 - LEVEL, for every single query.
    Proof. The last measurements are a fixed list once the search has ended, so which draws are summed, with which
    weights c, is decided before their noise is drawn. Each draw's part is within |c|_2 times its law's bound on
    weighted sums. At the level BETA over their number, all parts are, and bounds add up. Discrete Gaussian parts have
    moment generating functions below those of normal ones, which multiply: then squares of the bounds add up, each at
    the level BETA.

    Privacy:
        Post-processing of the transcript.
    """
    drawn = [one.measurement for one in transcript.rounds if one.choice is None and one.measurement is not None]
    parts = {one.blocks[0].axes: one for one in drawn if _is_part(one.blocks[0])}
    found = {}
    for block in plan.problem.workload.blocks:
        if block.is_marginal and len(block.axes) == 2 and block.axes in parts:
            held = _parts(block, parts, plan.problem.n if plan.problem.unit.rows_public else None)
            if held is not None:
                found[block.name] = _summed(held)
    return found


def _is_part(block: QueryBlock) -> bool:
    return is_interaction(block) or not block.factors


def _parts(block: QueryBlock, parts: dict[tuple[int, ...], Measurement], records: int | None) -> list[_Part] | None:
    """Of one pair; None where one of them was lost."""
    first, second = block.axes
    rows, columns = (factor.matrix.cells for factor in block.factors)
    needed = [(first, second), (first,), (second,), *([()] if records is None else [])]
    if any(axes not in parts for axes in needed):
        return None
    both, one, other = (_part(parts[axes]) for axes in needed[:3])
    spread = [
        both,
        _Part(values=one.values[:, None] / columns, norms=one.norms[:, None] / columns, law=one.law),
        _Part(values=other.values / rows, norms=other.norms / rows, law=other.law),
    ]
    even = np.full((1, 1), 1.0 / (rows * columns))
    if records is not None:
        return [*spread, _Part(values=records * even, norms=0.0 * even, law=None)]
    total = parts[()]
    return [*spread, _Part(values=float(total.values[0][0]) * even, norms=even, law=total.law)]


def _part(measured: Measurement) -> _Part:
    """The cells of an interaction."""
    block, norms = measured.blocks[0], np.ones(())
    for factor in block.factors:
        assert isinstance(factor.matrix, Contrasts)
        weights = factor.matrix.coefficients / factor.matrix.squares[:, None]
        norms = np.multiply.outer(norms, np.sqrt((weights**2).sum(axis=0)))
    values = interaction_cells(block, measured.values[0].astype(np.float64))
    return _Part(values=values, norms=norms, law=measured.law)


def _summed(parts: Sequence[_Part]) -> Noisy:
    noisy = [(part.norms, part.law) for part in parts if part.law is not None]
    squares = sum((norms * law.deviation) ** 2 for norms, law in noisy)
    values = sum(part.values for part in parts)
    return Noisy(values=np.ravel(values), deviation=np.sqrt(np.ravel(squares)), margin=np.ravel(_margin(noisy)))


def _margin(noisy: Sequence[tuple[FloatArray, NoiseLaw]]) -> FloatArray:
    if all(isinstance(law, DiscreteGaussian) for _, law in noisy):
        return np.sqrt(sum((norms * law.weighted_tail(BETA)) ** 2 for norms, law in noisy))
    bounds = [norms * law.weighted_tail(BETA / len(noisy)) for norms, law in noisy]
    return np.asarray(sum(bounds))
