"""Private selection on integer scores by the exponential mechanism or by permute-and-flip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Protocol, final, runtime_checkable

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import RECORDS, Counts
from dpqr.kernel.arrays import AnyArray, IntArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.noise.selection import (
    PieceSearch,
    draw_exponential,
    draw_permute_and_flip,
    search_exponential,
    search_permute_and_flip,
)
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import largest_answer, refuse_beyond
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import all_answers, stack_blocks
from dpqr.workload.sensitivity import Norm, sensitivity


class SelectionMechanism(Struct, frozen=True, kw_only=True):
    """Base of both mechanisms: scores, neighbours, epsilon, and the rate that follows from them.

    Raises:
        InfeasiblePlan: epsilon is not positive, or there is no candidate; both are public.
    """

    scores: Scores
    unit: PrivacyUnit
    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InfeasiblePlan("a selection needs a positive epsilon; give the schedule a larger --eps")
        if len(self.scores) == 0:
            raise InfeasiblePlan("there is nothing to select from; plan fewer rounds than there are queries")

    @property
    def rate(self) -> Fraction:
        """Factor of a score in the log-probability: epsilon / (2 s); a sensitivity s of 0 is treated as 1."""
        return self.epsilon / (2 * max(1, self.scores.sensitivity(self.unit)))


@final
class ExponentialChoice(SelectionMechanism, frozen=True, kw_only=True):
    """Index of one candidate, Pr[i] proportional to exp(epsilon score_i / (2 s)), s the scores' sensitivity.

    >>> from dpqr.mechanisms.selection import BlockScores
    >>> from dpqr.workload.block import QueryBlock
    >>> scores = BlockScores(candidates=((QueryBlock(name="all"),),), expected=((),), multipliers=(1,), penalties=(0,))
    >>> choice = ExponentialChoice(scores=scores, unit=PrivacyUnit(), epsilon=Fraction(1))
    >>> choice.rate, choice.event
    (Fraction(1, 2), ExponentialEvent(epsilon=Fraction(1, 1)))

    Raises:
        InfeasiblePlan: epsilon is not positive, or there is no candidate.

    Privacy:
        Neighbours: those of `unit`; between them every score moves by at most s = `scores.sensitivity(unit)`, which
        each `Scores` proves for either relation (*add-remove:* by one column of its matrix, *replace:* by the
        difference of two). Scores such as |f(x) - f(D)| are not monotonic, one may rise while another falls, so the 2
        stays under both relations. epsilon-DP: McSherry and Talwar 2007; Dwork and Roth 2014, Theorem 3.10. Bounded
        range too: log(Pr[i | x] / Pr[i | x']) = rate (score_i - score_i') - log(Z / Z'), and over i the first term
        stays in an interval of length 2 s rate = epsilon, so it is epsilon^2 / 8-zCDP: Durfee and Rogers 2019; Cesar
        and Rogers 2021. Arithmetic: integer scores, exact sampler.
        Statement P26 of the guide's topic proofs.
    """

    @property
    def event(self) -> ExponentialEvent:
        return ExponentialEvent(epsilon=self.epsilon)

    def sample(self, value: Counts, noise: NoiseSource) -> int:
        if isinstance(self.scores, SearchableScores):
            return search_exponential(self.scores.search(value), self.rate, noise)
        return draw_exponential(self.scores.evaluate(value), self.rate, noise)


@final
class PermuteAndFlipChoice(SelectionMechanism, frozen=True, kw_only=True):
    """Index of the candidate whose coin, of heads-probability exp(epsilon (score_i - largest score) / (2 s)), is the
    first in random order to show heads.

    >>> from dpqr.mechanisms.selection import BlockScores
    >>> from dpqr.workload.block import QueryBlock
    >>> scores = BlockScores(candidates=((QueryBlock(name="all"),),), expected=((),), multipliers=(1,), penalties=(0,))
    >>> PermuteAndFlipChoice(scores=scores, unit=PrivacyUnit(), epsilon=Fraction(1)).event
    PermuteAndFlipEvent(epsilon=Fraction(1, 1))

    Raises:
        InfeasiblePlan: epsilon is not positive, or there is no candidate.

    Privacy:
        Neighbours: those of `unit`; between them every score moves by at most s = `scores.sensitivity(unit)`, which
        each `Scores` proves for either relation (*add-remove:* by one column of its matrix, *replace:* by the
        difference of two). epsilon-DP: McKenna and Sheldon 2020, Theorem 1. It is **not** epsilon-bounded range (two
        candidates whose gap goes from 0 to 2 s: one log-ratio is epsilon, the other log(1/(2 - exp(-epsilon))) on the
        other side), so only epsilon^2 / 2-zCDP may be claimed: its event is its own. Arithmetic: integer scores, exact
        sampler.
        Statement P27 of the guide's topic proofs.
    """

    @property
    def event(self) -> PermuteAndFlipEvent:
        return PermuteAndFlipEvent(epsilon=self.epsilon)

    def sample(self, value: Counts, noise: NoiseSource) -> int:
        if isinstance(self.scores, SearchableScores):
            return search_permute_and_flip(self.scores.search(value), self.rate, noise)
        return draw_permute_and_flip(self.scores.evaluate(value), self.rate, noise)


# Scores: the error of a hypothesis on each candidate, as integers, for a private selection.
#
# A candidate is a group of blocks (`BlockScores`) or a single query (`QueryScores`).


class Scores(Protocol):
    """Integer scores of a fixed, public list of candidates on private counts."""

    def __len__(self) -> int: ...

    def sensitivity(self, unit: PrivacyUnit) -> int:
        """Return the largest change of any candidate's score between neighbours."""
        ...

    def evaluate(self, counts: Counts) -> IntArray:
        """Return one int64 score per candidate, larger is worse answered; private."""
        ...


@runtime_checkable
class SearchableScores(Scores, Protocol):
    """Scores of which a draw need not compute all."""

    def search(self, counts: Counts) -> PieceSearch:
        """Return the candidates in pieces with bounds; private."""
        ...


RESOLUTION = 2**16
"""Largest sensitivity of scaled scores: the resolution at which blocks of different sensitivities compare."""

Group = tuple[QueryBlock, ...]
_ADDED = PrivacyUnit(neighbours=Neighbours.ADD_REMOVE)


@final
class BlockScores(Struct, frozen=True, kw_only=True, eq=False):
    """score_c = floor(multiplier_c (L1 error of candidate c - penalty_c)), an integer; larger is worse answered.

    candidates: groups of blocks that would be measured together; the L1 error sums |true - expected| over all their
    rows, each in its block's own grid. expected: the hypothesis' answers on that grid, integers, public.
    multipliers, penalties: public; see `fair_multipliers`. A penalty is the expected error of the measurement.
    keep: whether true answers are cached beside the counts, inside the seal, for later choices among the same blocks.

    Raises:
        InfeasiblePlan: a score could reach 2^62: sum |true| <= records times the largest column L1 norm (each record
            adds one column), sum |expected| is public, and the multiplier is applied in unbounded integers.

    Privacy:
        Expected answers, multipliers and penalties are public, so between neighbours the L1 error moves, by the
        triangle inequality, by at most the L1 change d_c of the group's true answers, and floor(m (e + d)) lies within
        ceil(m d) of floor(m e). Sensitivity: max over c of ceil(multiplier_c d_c). *Add-remove:* d_c is the largest
        column L1 norm (a marginal 1). *Replace:* the largest L1 distance of two columns, a dropped record's zeros among
        them (a marginal 2).

    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.workload.block import Factor
    >>> sex, one = QueryBlock(name="sex", factors=(Factor.identity(0, 2),)), (Fraction(1),)
    >>> scores = BlockScores(candidates=((sex,),), expected=((np.array([5, 5]),),), multipliers=one, penalties=(0,))
    >>> scores.evaluate(DenseHistogram(np.array([8, 2])))
    array([6])
    """

    candidates: tuple[Group, ...]
    expected: tuple[tuple[AnyArray, ...], ...]
    multipliers: tuple[Fraction, ...]
    penalties: tuple[int, ...]
    records: int = RECORDS
    keep: bool = False

    def __post_init__(self) -> None:
        for index, group in enumerate(self.candidates):
            total = sum(float(np.abs(answers).sum(dtype=np.float64)) for answers in self.expected[index])
            refuse_large_score(
                group, self.multipliers[index], self.penalties[index], expected=int(total * 1.001), records=self.records
            )

    def __len__(self) -> int:
        return len(self.candidates)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return scores_sensitivity(self.candidates, self.multipliers, unit)

    def evaluate(self, counts: Counts) -> IntArray:
        blocks = tuple(chain.from_iterable(self.candidates))

        def answers() -> IntArray:
            counts.prefetch([block.axes for block in blocks])
            return np.concatenate([block.answer(counts) for block in blocks])

        truths = counts.cached(blocks, answers) if self.keep else answers()
        ends = np.cumsum([sum(block.rows for block in group) for group in self.candidates])
        errors = np.abs(truths - np.concatenate([*chain.from_iterable(self.expected)]))
        summed = np.add.reduceat(errors, [0, *ends[:-1]])
        if all(times == 1 for times in set(self.multipliers)):
            return np.asarray(summed - np.array(self.penalties, dtype=np.int64))
        known = zip(self.multipliers, summed.tolist(), self.penalties, strict=True)
        return np.array([times.numerator * (one - less) // times.denominator for times, one, less in known], np.int64)


def scores_sensitivity(candidates: Sequence[Group], multipliers: Sequence[Fraction], unit: PrivacyUnit) -> int:
    """Return the maximum over candidates of ceil(multiplier times L1 sensitivity)."""
    pairs = zip(candidates, multipliers, strict=True)
    kinds = {(times, sensitivity(group, Norm.L1, unit)) for group, times in pairs}
    return max((math.ceil(times * width) for times, width in kinds), default=0)


def fair_multipliers(candidates: Sequence[Group], unit: PrivacyUnit) -> tuple[Fraction, ...]:
    """Return multipliers in the ratio weight / L1 sensitivity: candidates compete by error per unit of sensitivity.

    Without them the largest sensitivity would divide every score, and narrow blocks would be selected almost at random.
    Exact integer ratios within RESOLUTION are used as they are, free of common factors (marginals of equal weight:
    all 1). Otherwise the ratios are scaled to a sensitivity of RESOLUTION, and `floor` costs less than 1 / RESOLUTION
    of it. A group's weight is the largest of its blocks. Public: a function of the workload.
    """
    kinds = [(max(block.weight for block in group), max(1, sensitivity(group, Norm.L1, unit))) for group in candidates]
    ratios = {(weight, width): weight / width for weight, width in set(kinds)}
    denominator = math.lcm(*(ratio.denominator for ratio in ratios.values()))
    whole = {kind: int(ratio * denominator) for kind, ratio in ratios.items()}
    common = math.gcd(*whole.values()) or 1
    exact = {kind: Fraction(number // common) for kind, number in whole.items()}
    if max((times * width for (_, width), times in exact.items()), default=0) <= RESOLUTION:
        return tuple(exact[kind] for kind in kinds)
    heaviest = max(weight for weight, _ in kinds)
    scaled = {kind: RESOLUTION * ratio / heaviest for kind, ratio in ratios.items()}
    return tuple(scaled[kind] for kind in kinds)


@lru_cache(maxsize=2**16)
def largest_total(group: Group, records: int) -> int:
    """Return a bound on the sum of all |true answers|: every record adds one column."""
    return records * sensitivity(group, Norm.L1, _ADDED)


def refuse_large_score(group: Group, times: Fraction, penalty: int, *, expected: int, records: int) -> None:
    """InfeasiblePlan where the group's error or score could reach 2^62, given sum |expected|.

    Args:
        times, penalty: multiplier and penalty of the score.
        expected: sum |expected| of the hypothesis' answers.
        records: most that a table can hold.
    """
    error = largest_total(group, records) + expected + abs(penalty)
    score = error * times.numerator // times.denominator + 1
    refuse_beyond(max(score, error) + 1, group[0].name, records)


@final
class QueryScores(Struct, frozen=True, kw_only=True, eq=False):
    """Every row of every block is a candidate: score = |ratio true - expected|, all on one common public grid.

    ratios: one positive integer per block, its scale in units of the common grid. expected: the hypothesis' answers on
    the common grid, int64, shape (candidates,), public. Candidates are numbered block by block. Weights have no effect:
    the loop bounds the largest error, in which all queries are equal.

    Raises:
        InfeasiblePlan: a score could reach 2^62: |true| <= records times the largest coefficient, and |expected| is
            public.

    Privacy:
        Expected answers are public, so |ratio f(x) - g| moves by at most ratio |f(x) - f(x')|, and that is
        *add-remove:* the query's coefficient at the record that is added or removed, *replace:* the difference of two
        of its coefficients, or one of them where the other record is dropped by a rule. Sensitivity: the largest over
        all rows of all blocks, ratio times Norm.LARGEST; for queries with coefficients 0 and 1 on the grid of records
        it is 1 under both relations.

    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.workload.block import Factor
    >>> sex = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
    >>> scores = QueryScores(blocks=(sex,), ratios=(1,), expected=np.array([5, 5]))
    >>> scores.evaluate(DenseHistogram(np.array([8, 2])))
    array([3, 3])
    """

    blocks: tuple[QueryBlock, ...]
    ratios: tuple[int, ...]
    expected: IntArray
    records: int = RECORDS

    def __post_init__(self) -> None:
        largest, name = _largest(self.blocks, self.ratios, self.records)
        refuse_beyond(largest + int(np.abs(self.expected).max(initial=0)), name, self.records)

    def __len__(self) -> int:
        return len(self.expected)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return queries_sensitivity(self.blocks, self.ratios, unit)

    def evaluate(self, counts: Counts) -> IntArray:
        """Return all scores. The true answers are cached beside the counts, inside the seal, for later rounds."""

        def answers() -> IntArray:
            counts.prefetch([block.axes for block in stack_blocks(self.blocks).blocks])
            return all_answers(self.blocks, lambda block: block.answer(counts))

        truths = counts.cached(self.blocks, answers)
        scores = np.multiply(truths, row_by_row(self.blocks, self.ratios))
        scores -= self.expected
        return np.abs(scores, out=scores)


@lru_cache(maxsize=16)
def _largest(blocks: tuple[QueryBlock, ...], ratios: tuple[int, ...], records: int) -> tuple[int, str]:
    """Bound on the true answers on the common grid, and the name of the block that attains it."""
    reached = [ratio * largest_answer(block, records) for block, ratio in zip(blocks, ratios, strict=True)]
    largest = max(reached, default=0)
    return largest, blocks[reached.index(largest)].name if blocks else ""


@lru_cache(maxsize=16)
def row_by_row(blocks: tuple[QueryBlock, ...], figures: tuple[int, ...]) -> IntArray:
    """Repeat one figure per block for each of its queries, shape (queries,); (1,) if all are equal."""
    if len(set(figures)) <= 1:
        return freeze(np.array(figures[:1], dtype=np.int64))
    return freeze(np.repeat(np.array(figures, dtype=np.int64), [block.rows for block in blocks]))


@lru_cache(maxsize=16)
def queries_sensitivity(blocks: tuple[QueryBlock, ...], ratios: tuple[int, ...], unit: PrivacyUnit) -> int:
    """Return the largest change of any query's answer between neighbours, on the common grid.

    Args:
        ratios: of each block's grid to the common one.
    """
    pairs = zip(blocks, ratios, strict=True)
    return max((ratio * sensitivity((block,), Norm.LARGEST, unit) for block, ratio in pairs), default=0)


def fair_ratios(blocks: tuple[QueryBlock, ...], unit: PrivacyUnit) -> tuple[int, ...]:
    """Return positive integers nearly in the ratio weight / sensitivity of one query; exact if small ones are.

    Otherwise the largest sensitivity is about RESOLUTION, and the ratio is right within half a unit of it. Public: a
    function of the workload.
    """
    moves = [max(1, sensitivity((block,), Norm.LARGEST, unit)) for block in blocks]
    shares = [block.weight / move for block, move in zip(blocks, moves, strict=True)]
    denominator = math.lcm(*(share.denominator for share in set(shares)))
    common = math.gcd(*(int(share * denominator) for share in set(shares)))
    exact = [int(share * denominator) // common for share in shares]
    if max(ratio * move for ratio, move in zip(exact, moves, strict=True)) <= RESOLUTION:
        return tuple(exact)
    most = max(block.weight for block in blocks)
    return tuple(max(1, round(RESOLUTION * share / most)) for share in shares)


# SomeScores: a selection among the candidates that are left, with the scores of all.


@final
class SomeScores(Struct, frozen=True, kw_only=True, eq=False):
    """The scores of some candidates only: what was measured is no candidate any more.

    places: of these among all candidates.

    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> pair = tuple((QueryBlock(name=name, factors=(Factor.identity(0, 2),)),) for name in "ab")
    >>> every = BlockScores(candidates=pair, multipliers=(1, 3), penalties=(0, 0), expected=((0, 0), (0, 0)))
    >>> SomeScores(scores=every, places=(1,)).sensitivity(PrivacyUnit())
    3

    Privacy:
        Each score is that of `scores`, with its proof; the largest sensitivity is taken over these candidates alone.
    """

    scores: BlockScores
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        moves = _moves(self.scores.candidates, self.scores.multipliers, unit)
        return max((moves[place] for place in self.places), default=0)

    def evaluate(self, counts: Counts) -> IntArray:
        found: IntArray = self.scores.evaluate(counts)[list(self.places)]
        return found


@lru_cache(maxsize=4)
def _moves(candidates: tuple[Group, ...], multipliers: tuple[Fraction, ...], unit: PrivacyUnit) -> tuple[int, ...]:
    """The largest change of each score between neighbours; kept from batch to batch."""
    known = zip(multipliers, candidates, strict=True)
    return tuple(math.ceil(times * sensitivity(group, Norm.L1, unit)) for times, group in known)
