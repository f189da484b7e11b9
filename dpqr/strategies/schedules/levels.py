"""Levels: the candidates of a search among marginals, searched one level after the other."""

from __future__ import annotations

from itertools import combinations

from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.stand_ins import marginal
from dpqr.workload.block import QueryBlock


def joint(problem: Problem) -> tuple[QueryBlock, ...]:
    """What one-way marginals do not tell."""
    return tuple(block for block in problem.workload.blocks if len(block.axes) > 1)


def candidate_levels(problem: Problem) -> tuple[tuple[QueryBlock, ...], ...]:
    """The candidates: pairs, and those below wider marginals even where nobody asks for them; then all wider blocks.

    Why pairs first: a pair has fewer cells, so it is told with a fraction of the noise, and many marginals share it.
    """
    blocks = joint(problem)
    asked = {tuple(sorted(block.axes)): block for block in blocks if block.is_marginal and len(block.axes) == 2}
    wide = tuple(block for block in blocks if len(block.axes) > 2)
    below = {pair for block in wide if block.is_marginal for pair in combinations(sorted(block.axes), 2)}
    pairs = tuple(marginal(problem, axes, "below") for axes in sorted(below.difference(asked)))
    narrow = tuple(block for block in blocks if len(block.axes) == 2)
    return tuple(level for level in ((*narrow, *pairs), wide) if level)
