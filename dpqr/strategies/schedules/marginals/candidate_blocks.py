"""Candidate blocks of the search: surrogate marginals, the levels of the search, and coarser blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from dpqr.kernel.arrays import Axes, FloatArray
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Check
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.forecast import TUNING, ExpectedError
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.ranges import Ranges
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.workload import ColumnSets, Workload


def marginal(problem: Problem, axes: Axes, what: str, weight: Fraction = Fraction(1)) -> QueryBlock:
    """The marginal of these attributes, named after them and what it is for."""
    attributes = [problem.domain.attributes[axis] for axis in axes]
    name = f"{what}({', '.join(one.name for one in attributes)})"
    return _marginal(name, axes, tuple(one.size for one in attributes), weight)


@lru_cache(maxsize=1024)
def _marginal(name: str, axes: Axes, sizes: tuple[int, ...], weight: Fraction) -> QueryBlock:
    """Kept, so that all plans of a workload have the same blocks, and find what is kept by block."""
    return QueryBlock(name=name, factors=tuple(map(Factor.identity, axes, sizes)), weight=weight)


def with_surrogates(problem: Problem, check: Check) -> Problem:
    """The problem as the search sees it: surrogate marginals take the place of blocks that they answer with less noise.

    Blocks of the same columns whose answers together, in the shares of least noise, would get at least as much noise as
    all cells of these columns are replaced by their marginal; the fit to it answers them. Why: a record is counted in
    up to k of k prefixes, so these are measured with k times the noise (Gaussian: sqrt k). A function of the workload
    and of the noise's kind.
    """
    gone = _replaced(problem.workload.blocks, problem.unit, check.pure)
    if not gone:
        return problem
    kept = [block for block in problem.workload.blocks if block not in gone]
    there = {frozenset(block.axes) for block in kept if block.is_marginal}
    weights: dict[Axes, Fraction] = {}
    for block in problem.workload.blocks:
        if block in gone and frozenset(block.axes) not in there:
            axes = tuple(sorted(block.axes))
            weights[axes] = weights.get(axes, Fraction(0)) + block.weight
    surrogates = (marginal(problem, axes, "cells", weight) for axes, weight in weights.items())
    return replace(problem, workload=Workload((*kept, *surrogates)))


@lru_cache(maxsize=8)
def _replaced(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit, pure: bool) -> frozenset[QueryBlock]:
    """The blocks of which surrogates take the place; kept for all plans of a workload."""
    power = 2.0 if pure else 1.5
    groups: dict[frozenset[int], list[QueryBlock]] = {}
    for block in blocks:
        if not block.is_marginal:
            groups.setdefault(frozenset(block.axes), []).append(block)

    def noise(block: QueryBlock) -> float:
        """Of all answers together, each in units of the largest coefficient, up to a factor that all blocks share."""
        moved = sensitivity((block,), Norm.L1 if pure else Norm.L2_SQUARED, unit)
        deviation = float(moved) if pure else float(moved) ** 0.5
        return block.rows * deviation / max(block.largest_coefficient, 1)

    gone = set[QueryBlock]()
    for group in groups.values():
        columns = [column for factor in group[0].factors for column in zip(factor.axes, factor.sizes, strict=True)]
        cells = QueryBlock(name="cells", factors=tuple(Factor.identity(axis, size) for axis, size in columns))
        if math.fsum(noise(block) ** (1 / power) for block in group) ** power >= noise(cells):
            gone.update(group)
    return frozenset(gone)


def fitted_together(blocks: Sequence[QueryBlock], problem: Problem, roles: Roles) -> bool:
    """Whether the model has room for all of these blocks at once.

    Marginals need none: a marginal that is left out of the model still corrects its own answers (`Refinement`). A
    measurement of any other block that is left out is lost, with what was paid for it.
    """
    others = tuple(block for block in blocks if not block.is_marginal)
    return not others or roles.update.fits(problem, (), others)


def joint(problem: Problem) -> tuple[QueryBlock, ...]:
    """Blocks of two columns and more, which one-way marginals do not answer."""
    return tuple(block for block in problem.workload.blocks if len(block.axes) > 1)


def candidate_levels(problem: Problem) -> tuple[tuple[QueryBlock, ...], ...]:
    """The candidates: pairs, and those below wider marginals even where nobody asks for them; then all wider blocks.

    Pairs come first: a pair has fewer cells, so its total noise is a fraction, and many marginals share it.
    """
    blocks = joint(problem)
    own_pairs = {tuple(sorted(block.axes)): block for block in blocks if block.is_marginal and len(block.axes) == 2}
    wide = tuple(block for block in blocks if len(block.axes) > 2)
    below = {pair for block in wide if block.is_marginal for pair in combinations(sorted(block.axes), 2)}
    pairs = tuple(marginal(problem, axes, "below") for axes in sorted(below.difference(own_pairs)))
    narrow = tuple(block for block in blocks if len(block.axes) == 2)
    return tuple(level for level in ((*narrow, *pairs), wide) if level)


@lru_cache(maxsize=4)
def widest(blocks: tuple[QueryBlock, ...]) -> tuple[QueryBlock, ...]:
    """Those within a marginal that is measured too are left to it. Kept, for every plan of a workload asks again."""
    tables = ColumnSets.of(block.axes for block in blocks if block.is_marginal)
    return tuple(block for block in blocks if not tables.beyond(block.axes))


def coarsen(
    blocks: Sequence[QueryBlock],
    counts: Mapping[int, FloatArray],
    errors: ExpectedError,
    records: float,
    deviation: float,
) -> tuple[QueryBlock, ...]:
    """A coarser block for each block whose columns stand apart and whose expected error is large at this noise.

    Each attribute's cells are merged, in their order, into runs of about equal counts, equally many for every attribute
    of a block, so that an even coarse cell holds `TUNING.coarse_cell` deviations; an attribute of fewer cells keeps
    them. A function of what was released.

    Args:
        blocks: of those that join columns in one predicate, or go row by row, none is made coarser.
        counts: released one-way marginals by attribute, in records.
        errors: forecast errors of the blocks.
        records: n, estimated from the counts.
        deviation: of a measurement, in records.

    Privacy:
        Like any block it is scored and measured by its own sensitivity. Of a marginal it is a 0/1 matrix with one entry
        1 in every column: each record is counted in one coarse cell, and between neighbours it moves as the marginal.
    """
    found = []
    for block in blocks:
        apart = not block.rowwise and all(len(factor.axes) == 1 for factor in block.factors)
        if not apart or errors.at(block, deviation) <= TUNING.coarse_error * records:
            continue
        runs = max(2, int((records / (TUNING.coarse_cell * deviation)) ** (1.0 / len(block.axes))))
        factors = tuple(
            _merged(factor, counts[factor.axes[0]], runs) if factor.matrix.cells > runs else factor
            for factor in block.factors
        )
        if any(factor.matrix.rows < factor.matrix.cells for factor in factors):
            found.append(QueryBlock(name=f"coarse({block.name})", factors=factors, weight=block.weight))
    return tuple(found)


def _merged(factor: Factor, counts: FloatArray, runs: int) -> Factor:
    """Runs of the factor's cells: at least two, each of even share at most but for single cells."""
    shares = np.maximum(counts, 0.0)
    shares = shares / shares.sum() if shares.any() else np.full(counts.size, 1.0 / counts.size)
    # For every cell the number of its run, rising from 0.
    places, run, held = np.zeros(counts.size, dtype=np.int64), 0, 0.0
    for cell, share in enumerate(shares):
        if cell and held + share / 2 > 1.0 / runs:
            run, held = run + 1, 0.0
        places[cell], held = run, held + share
    if run == 0:
        places[-1] = 1
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    stops = np.append(starts[1:], counts.size)
    return Factor(axes=factor.axes, sizes=factor.sizes, matrix=Ranges(starts, stops, counts.size))
