"""Forecast: the error that a release by a plan is expected to have, before any private data is opened.

Error of a block: the mean absolute error of its answers in one release, in records (or the summed column's unit).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.construction.draws import Draws
from dpqr.construction.forecasts.public_tables import PublicTable
from dpqr.construction.loop import iterative_construction, released
from dpqr.data.arrays import FloatArray
from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import prepare
from dpqr.noise.public import PublicNoise
from dpqr.privacy.sealed import Private
from dpqr.strategies.choice import guarded
from dpqr.strategies.plan import Plan
from dpqr.workload.sensitivity import Norm, sensitivity

_ROW = PrivacyUnit()
_HALF_NORMAL = math.sqrt(math.pi / 2 - 1)
"""Deviation over mean of the absolute value of normal noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """How much is simulated for one plan: the same everywhere, so that a forecast is."""

    single: int = 8  # runs where there is one table
    each: int = 1  # runs on each of several
    closed: int = 24  # runs on all tables together, where there is a closed form: they show the spread alone


TUNING = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The law of an error from release to release. mean, deviation: where tables were made up, over these too.

    >>> single = Expected(mean=0.798, deviation=0.603)  # |normal noise| of deviation 1
    >>> round(single.at_most(Fraction(95, 100)), 1)
    2.0
    """

    mean: float
    deviation: float

    def at_most(self, confidence: Fraction) -> float:
        """What it exceeds with probability 1 - confidence, if it follows a gamma law: exact for no deviation, within
        10% for |normal noise|, and upwards in its tail."""
        from scipy.special import gammaincinv

        if self.deviation <= 1e-9 * self.mean:
            return self.mean
        shape = (self.mean / self.deviation) ** 2
        return float(gammaincinv(shape, float(confidence)) * self.mean / shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockError:
    """One block. reach: the most that one record can change an answer; 1 for counts."""

    name: str
    answers: int
    reach: float
    error: Expected

    def over_n(self, records: int) -> float:
        """Its expected L1 error over `records` times the reach: what `dpqr evaluate` calls L1 / n."""
        return self.error.mean * self.answers / self.reach / records


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Of one plan. Every figure is an estimate, and public.

    records: n, as declared, assumed, or held by the public table. error: mean over the blocks of their errors, each
    over its reach, in records. over_n: mean over the blocks of their L1 errors over n.
    tables: names of the public tables that were simulated; empty: a closed form. runs: simulated releases, all tables
    together.
    """

    epsilon: Fraction
    schedule: str
    records: int
    blocks: tuple[BlockError, ...]
    error: Expected
    over_n: Expected
    tables: tuple[str, ...]
    runs: int
    closed: bool


def closed_form(plan: Plan) -> FloatArray | None:
    """Expected error of each block where the estimates are unbiased and the draws are fixed in advance, shape
    (blocks,). None: it has to be simulated."""
    errors = [block.error for block in plan.forecast]
    return None if not errors or None in errors else np.array(errors, dtype=np.float64)


def closed_mean(plan: Plan) -> float | None:
    """The mean over the blocks, each over its reach: the same figure as `Forecast.error`."""
    closed = closed_form(plan)
    return None if closed is None else float((closed / reaches(plan)).mean())


def forecast(plan: Plan, tables: Sequence[PublicTable], runs: int | None = None) -> Forecast:
    """Release every table several times by the plan, with public noise, and compare with its answers.

    Where there is a closed form, the means are its, and the runs show the spread alone. The same seeds serve every
    plan (common random numbers), so forecasts of several budgets differ by these budgets alone.

    Args:
        tables: at least one; the forecast is the geometric mean over them.
        runs: on each table; None: `planned_runs`.

    Privacy:
        Public: plan, tables and noise are. Nothing is charged to any budget.
    """
    each = runs or planned_runs(plan, len(tables))
    answers = np.array([block.rows for block in plan.problem.workload.blocks], dtype=np.float64)
    reach, records = reaches(plan), np.array([max(1, table.records) for table in tables], dtype=np.float64)
    errors = np.array(
        [
            [simulated_errors(plan, table, plan.problem.seed + place * each + run) for run in range(each)]
            for place, table in enumerate(tables)
        ]
    )
    closed = closed_form(plan)
    over_n = (errors * answers / reach).mean(axis=2) / records[:, None]
    n = round(float(records.mean()))
    means = _expected(errors, closed, _HALF_NORMAL / np.sqrt(answers))
    return Forecast(
        epsilon=plan.budget.epsilon,
        schedule=plan.schedule.name,
        records=n,
        blocks=tuple(
            BlockError(name=block.name, answers=block.rows, reach=float(most), error=one)
            for block, most, one in zip(plan.problem.workload.blocks, reach, means, strict=True)
        ),
        error=_expected((errors / reach).mean(axis=2)[..., None], _mean(closed, 1 / reach))[0],
        over_n=_expected(over_n[..., None], _mean(closed, answers / reach / n))[0],
        tables=tuple(table.name for table in tables),
        runs=each * len(tables),
        closed=closed is not None,
    )


def planned_runs(plan: Plan, tables: int) -> int:
    """On each table."""
    if closed_form(plan) is not None:
        return max(1, TUNING.closed // tables)
    return TUNING.single if tables == 1 else TUNING.each


def reaches(plan: Plan) -> FloatArray:
    """The most that one record can change an answer of each block, in its unit, shape (blocks,)."""
    blocks = plan.problem.workload.blocks
    return np.array([(sensitivity((block,), Norm.LARGEST, _ROW) or 1) * float(block.scale) for block in blocks])


class _Unwatched:
    def finished(self, rounds: int, planned: int) -> None:
        """Nothing."""

    def certified(self, stage: int, records: float) -> None:
        """Nothing."""


def simulated_errors(plan: Plan, table: PublicTable, seed: int) -> FloatArray:
    """The mean absolute error of each block's answers in one simulated release of the table, shape (blocks,)."""
    draws = Draws(data=Private(table.counts), accountant=guarded(plan), noise=PublicNoise(seed))
    shown, blocks = (
        released(plan, iterative_construction(draws, plan, _Unwatched())),
        plan.problem.workload.blocks,
    )
    prepare(shown, blocks)
    table.counts.prefetch([block.axes for block in blocks])
    distances = (
        np.abs(shown.answer(block) - block.answer(table.counts)).mean() * float(block.scale) for block in blocks
    )
    return np.fromiter(distances, dtype=np.float64, count=len(blocks))


def _expected(errors: FloatArray, closed: FloatArray | None, least: FloatArray | float = 0.0) -> list[Expected]:
    """Means and deviations.

    Args:
        errors: shape (tables, runs, figures). closed: known means, shape (figures,).
        least: a deviation is at least so many means: that of as many independent errors, which few runs may hide.
    """
    by_table = np.maximum(errors.mean(axis=1), 1e-12)
    means = np.exp(np.log(by_table).mean(axis=0)) if closed is None else closed
    runs = errors.reshape(-1, errors.shape[2])
    spread = runs.var(axis=0, ddof=1) if len(runs) > 1 else np.zeros(errors.shape[2])
    deviations = np.sqrt(np.maximum(spread, (least * means) ** 2))
    return [Expected(mean=float(mean), deviation=float(spread)) for mean, spread in zip(means, deviations, strict=True)]


def _mean(closed: FloatArray | None, weights: FloatArray) -> FloatArray | None:
    return None if closed is None else np.array([(closed * weights).mean()])
