"""Update rules: the book's "database update algorithm" U (Dwork and Roth 2014, Definitions 5.3 and 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.fit.log_linear import align_axes
from dpqr.models.hypothesis import DenseDistribution, Hypothesis
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

H = TypeVar("H", bound=Hypothesis)


class UpdateRule(Protocol[H]):
    """How a hypothesis is refitted to measurements.

    Privacy:
        Post-processing, as long as the rule reads its arguments alone: public facts and released values. It runs in the
        same process as everything else, so a malicious rule can reach private data. A third party's needs `--trust`.
    """

    @property
    def name(self) -> str: ...

    @property
    def trust(self) -> tuple[str, ...]:
        """Sentences that every release made with this rule states (heuristics, missing guarantees)."""
        ...

    @property
    def cumulative(self) -> bool:
        """Whether one update after several measurements gives the same hypothesis as an update after each."""
        ...

    def start(self, problem: Problem) -> H:
        """D^1, from public facts only.

        Raises:
            InfeasiblePlan: the rule cannot run on this problem (`footprint`).
        """
        ...

    def update(self, problem: Problem, hypothesis: H, history: Sequence[Measurement]) -> H | None:
        """The next hypothesis; `hypothesis` is left as it was.

        Args:
            history: all measurements so far. The book's rules read the last one; replay reads all.

        Returns:
            None if no hypothesis agrees with all answers, an event of probability at most beta. The loop then ends
            with the last one.
        """
        ...

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)), the longest possible database update sequence at level a; None: no bound is proved.

        The schedule `theory` relies on it. If the rule is a third party's, plan and record name whose claim it is.
        """
        ...

    def footprint(self, problem: Problem) -> Footprint:
        """Peak memory, or why the rule cannot run."""
        ...

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether a hypothesis fitted to `measured` has room for `candidate` too. A function of public sizes."""
        ...


@runtime_checkable
class ConstrainedRule(Protocol):
    """An update rule whose hypotheses can satisfy structural zeros and known totals."""

    def applies_constraints(self, problem: Problem) -> bool:
        """Whether they do in this run."""
        ...


@runtime_checkable
class StartedRule(Protocol):
    """An update rule that can take the tables of an earlier release as weak evidence."""

    def takes_start(self, problem: Problem) -> bool:
        """Whether it does in this run."""
        ...


@runtime_checkable
class AveragedRule(Protocol):
    """An update rule whose last hypothesis is averaged with other models of the same measurements, for the release."""

    def averaged(
        self, problem: Problem, hypothesis: Any, history: Sequence[Measurement], like: Hypothesis | None = None
    ) -> Hypothesis:
        """The hypothesis that is released, of `hypothesis` as the loop ended with it.

        Args:
            history: all measurements.
            like: what was released of other measurements of the same blocks; models and weights are then as there.

        Privacy:
            Post-processing, as an update is.
        """
        ...


@runtime_checkable
class HeuristicBound(Protocol):
    """An update rule that may run at levels for which it has no proved mistake bound."""

    def expected_mistakes(self, problem: Problem, level: Level) -> int | None:
        """A number of updates that is likely to suffice where none is proved; None: the rule cannot run there."""
        ...

    def caution(self, problem: Problem, level: Level) -> str:
        """A sentence for plan and release: why this number is not proved."""
        ...


@runtime_checkable
class TransferableBound(Protocol):
    """An update rule whose mistake bound follows from a potential that updates at any level lower. Its hypothesis may
    be carried from stage to stage of falling levels (`schedules.anytime`)."""

    def mistakes_carried(self, problem: Problem, level: Level, finest: Level) -> int | None:
        """floor(P / d); None: no bound is proved. Updates at several levels share one P.

        P is the potential of a hypothesis started for `finest`, d the least amount by which an update at `level` or
        above lowers it.
        """
        ...


@runtime_checkable
class DistinctRecordsBound(Protocol):
    """An update rule with a better mistake bound for tables without duplicate records."""

    def mistakes_distinct(self, problem: Problem, level: Level) -> int | None:
        """floor(T(a)) for such a table of problem.n records; None where n is not known, or above the cells."""
        ...


# What most update rules that keep every cell of the domain share, to be taken as methods.
#
# A rule writes `start, footprint = uniform_start, dense_footprint` into its class.

DENSE_LIMIT = 2**24
"""Cells up to which a hypothesis is kept cell by cell (128 MiB per array)."""

TENSORS = 4
"""Arrays of the domain's size that a step holds at once: cells and logs, before it and after."""

LOGS = "logs"
"""Potential of single steps: the log of every weight."""


def uniform_start(_rule: Any, problem: Problem) -> DenseDistribution:
    """The uniform distribution, over the public number of records (0 where it is private)."""
    return DenseDistribution.uniform(problem.domain.shape, float(problem.n or 0))


def dense_footprint(_rule: Any, problem: Problem) -> Footprint:
    """Memory of exponential steps; a refusal where the domain is too large to be listed."""
    size = problem.domain.size
    if size > DENSE_LIMIT:
        refusal = (
            f"the domain has {size} cells, and this update rule keeps at most {DENSE_LIMIT} cell by cell; leave "
            "columns out of the domain file, merge bins, or take --update multiplicative-weights"
        )
        return Footprint(bytes=0, refusal=refusal)
    return Footprint(bytes=8 * TENSORS * size)


def no_bound(_rule: Any, _problem: Problem, _level: Level) -> int | None:
    """No mistake bound is proved: the schedule `theory` refuses the rule."""
    return None


def any_block(_rule: Any, _problem: Problem, _measured: Sequence[QueryBlock], _candidate: Sequence[QueryBlock]) -> bool:
    """Every block fits: the hypothesis does not grow with what was measured."""
    return True


def exponential_step(distribution: DenseDistribution, block: QueryBlock, exponents: FloatArray) -> DenseDistribution:
    """Multiply every cell by the exponential of its sum over the block's queries, coefficient times exponent.

    Logs of the weights are kept: no weight vanishes for good by underflow.

    Args:
        exponents: shape (block.rows,), finite.

    Returns:
        A distribution of the same number of records.

    >>> from dpqr.workload.block import Factor
    >>> marginal = QueryBlock(name="m", factors=(Factor.identity(0, 2),))
    >>> start = DenseDistribution.uniform((2,), 10.0)
    >>> exponential_step(start, marginal, np.log([3.0, 1.0])).probabilities
    array([0.75, 0.25])
    """
    move = on_domain(block.adjoint(exponents), block.axes, len(distribution.shape))
    return of_logs(logs_of(distribution) + move, distribution.total)


def logs_of(distribution: DenseDistribution) -> FloatArray:
    """Logs of the weights, shape = domain shape: those kept by earlier steps, else those of the cells."""
    logs = distribution.potentials.get(LOGS)
    return np.log(np.maximum(distribution.probabilities, np.finfo(np.float64).tiny)) if logs is None else logs


def of_logs(logs: FloatArray, total: float) -> DenseDistribution:
    """The distribution whose weights have these logs."""
    logs = logs - logs.max()
    logs.flags.writeable = False
    cells = np.exp(logs)
    cells /= cells.sum()
    cells.flags.writeable = False
    return DenseDistribution(probabilities=cells, total=total, potentials={LOGS: logs})


# What the source's update rules share: one normalised query with its noisy answer, and exact mistake bounds.


class SingleQuery(Struct, frozen=True, kw_only=True, eq=False):
    """f : X -> [0, 1] and its noisy answer v, a fraction of the records.

    Attributes:
        coefficients: f, of a shape that broadcasts to the domain's.
    """

    coefficients: FloatArray
    value: float

    @classmethod
    def newest(cls, problem: Problem, history: Sequence[Measurement]) -> SingleQuery:
        """The last measurement over the public number of records.

        Raises:
            InfeasiblePlan: it has more than one query, or no number of records is stated.
        """
        block, value = cls.parts(history[-1])
        scale = float(block.scale)
        row = block.adjoint(np.full(1, scale))
        return cls(
            coefficients=on_domain(row, block.axes, len(problem.domain.attributes)),
            value=value * scale / records(problem),
        )

    @staticmethod
    def parts(measured: Measurement) -> tuple[QueryBlock, int]:
        """The one-row block and its answer as the released integer."""
        if len(measured.blocks) != 1 or measured.blocks[0].rows != 1:
            raise InfeasiblePlan("this rule takes one query a round; measure one-row blocks with it")
        return measured.blocks[0], int(measured.values[0][0])


def records(problem: Problem) -> int:
    """The public n (or the declared n0) that turns counts into fractions."""
    if not problem.n:
        raise InfeasiblePlan("the theory schedule asks for fractions of the records; state how many with --n")
    return problem.n


def on_domain(tensor: FloatArray, axes: Axes, ndim: int) -> FloatArray:
    """A tensor over `axes`, in that order, as one that broadcasts to a domain of `ndim` attributes.

    >>> on_domain(np.ones((2, 3)), (2, 0), 3).shape
    (3, 1, 2)
    """
    return align_axes(tensor, axes, tuple(range(ndim)))


def floor_of_log(size: int, factor: Fraction) -> int:
    """floor(factor * log(size)), exactly, for an integer size of at least 1 and a positive factor.

    Mistake bounds are integers, and one too many would be a false promise. The logarithm of an integer above 1 is
    irrational, so the product is never an integer and enough digits always decide; Decimal.ln is correctly rounded, so
    one unit in the last digit on either side brackets it.

    >>> floor_of_log(1024, Fraction(4))
    27
    """
    if size == 1:
        return 0
    digits = 40
    while True:
        with localcontext() as context:
            context.prec = digits
            logarithm = Fraction(Decimal(size).ln())
        error = logarithm / 10 ** (digits - 2)
        low, high = factor * (logarithm - error), factor * (logarithm + error)
        if low // 1 == high // 1:
            return int(low // 1)
        digits *= 2
