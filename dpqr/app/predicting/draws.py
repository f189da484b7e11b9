"""The draws of a prediction run: from sealed counts to released values, each one through the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpqr.construction.journal import Journal, Unkept
from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.data.histogram import Counts
from dpqr.mechanisms.learned_functions import FINENESS, Asked, step
from dpqr.noise.source import NoiseSource
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import DIRECT, AveragesForm, FunctionForm
from dpqr.prediction.kernel_process import ProcessForm
from dpqr.prediction.plan import COUNT, PredictionPlan, usable
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.release import PredictionRelease
from dpqr.prediction.tuning import FACTORS
from dpqr.privacy.accountant import PrivacyFilter
from dpqr.privacy.gate import measure, measure_together
from dpqr.privacy.sealed import Private

Spent = Mapping[str, Fraction | None]


def drawn(
    plan: PredictionPlan,
    counts: Private[Counts],
    codes: AnyArray | None,
    guard: PrivacyFilter,
    noise: NoiseSource,
    spent: Spent,
) -> PredictionRelease:
    """All draws of a plan. codes: of the points; None: a function is released. spent: epsilon by accountant."""
    if isinstance(plan.recipe, Aggregate):
        return _aggregated(plan, counts, plan.recipe.features.of(_asked(codes)), guard, noise, spent)
    if plan.noise in DIRECT:
        return _direct(plan, counts, guard, noise, spent)
    plan, counted = bought(plan, counts, guard, noise)
    records = _records(plan, counted)
    learner = plan.learner(records)
    numbers, steps = _stable(plan, records, counts, codes, guard, noise)
    return PredictionRelease(
        plan=plan,
        numbers=numbers,
        step=steps,
        records=usable(records),
        counted=counted,
        penalty=learner.penalty,
        bound=learner.bound,
        spent=spent,
        private=noise.private,
    )


def bought(
    plan: PredictionPlan,
    counts: Private[Counts],
    guard: PrivacyFilter,
    noise: NoiseSource,
    journal: Journal = Unkept(),  # noqa: B008 (frozen)
) -> tuple[PredictionPlan, int | None]:
    """What a plan buys before its predictions: the plan with the factor that was chosen, and the noisy count of
    records; None: it is declared, or nothing needs it."""
    counted = None
    if plan.counting is not None:
        journal.begin(plan.counter.event, (COUNT,))
        found = measure(counts, plan.counter, accountant=guard, noise=noise)
        counted = int(found.value.values[0][0])
        journal.record(counted)
    if plan.tuning is not None:
        tuner = plan.tuner(_records(plan, counted))
        ((event, _),) = tuner.events
        journal.begin(event, ())
        chosen = int(measure_together(counts, tuner, accountant=guard, noise=noise).value[0])
        journal.record(chosen)
        plan = replace(plan, factor=FACTORS[chosen])
    return plan, counted


def _records(plan: PredictionPlan, counted: int | None) -> int:
    """The number of records that the objective is divided by: measured, else declared."""
    records = plan.problem.records if counted is None else counted
    assert records is not None
    return records


def _direct(
    plan: PredictionPlan, counts: Private[Counts], guard: PrivacyFilter, noise: NoiseSource, spent: Spent
) -> PredictionRelease:
    """Weights by objective perturbation, or from noisy moments; lambda is that of the sum of losses."""
    mechanism = plan.direct()
    return PredictionRelease(
        plan=plan,
        numbers=measure(counts, mechanism, accountant=guard, noise=noise).value,
        step=mechanism.grid,
        penalty=mechanism.penalty,
        spent=spent,
        private=noise.private,
    )


def _aggregated(
    plan: PredictionPlan,
    counts: Private[Counts],
    points: FloatArray,
    guard: PrivacyFilter,
    noise: NoiseSource,
    spent: Spent,
) -> PredictionRelease:
    """Labels by votes, or averages."""
    numbers = measure_together(counts, plan.votes(points), accountant=guard, noise=noise).value
    return PredictionRelease(plan=plan, numbers=numbers, step=grid(plan, 1), spent=spent, private=noise.private)


def _stable(
    plan: PredictionPlan,
    records: int,
    counts: Private[Counts],
    codes: AnyArray | None,
    guard: PrivacyFilter,
    noise: NoiseSource,
) -> tuple[IntArray, float | FloatArray]:
    """Noisy weights, or predictions for each release, and the width of their grid, or of the grid of each."""
    if isinstance(plan.form, FunctionForm):
        learner = plan.learner(records)
        return measure(counts, plan.weights(learner), accountant=guard, noise=noise).value, step(learner.bound)
    if isinstance(plan.form, ProcessForm):
        process, mechanism = plan.process(plan.learner(records), _asked(codes))
        noisy = measure(counts, mechanism, accountant=guard, noise=noise).value
        return process.predictions(noisy), step(process.bound)
    numbers, grids = [], []
    for release in range(plan.releases):
        learner = plan.learner(records, release)
        batch = plan.predictions(learner, _asked(codes))
        numbers.append(measure_together(counts, batch, accountant=guard, noise=noise).value)
        grids.append(np.full(len(numbers[-1]), batch.asked.step))
    return np.concatenate(numbers), np.concatenate(grids)


def grid(plan: PredictionPlan, records: int) -> float:
    """Width of the grid of single predictions, on the scale of `Target`; 1 for labels."""
    if isinstance(plan.recipe, StableRecipe):
        return Asked(learner=plan.learner(records), points=None, limit=plan.recipe.limit).step
    return 1 / (FINENESS * (plan.parts or 1)) if isinstance(plan.form, AveragesForm) else 1.0


def _asked(codes: AnyArray | None) -> AnyArray:
    assert codes is not None  # a plan for points is made of points
    return codes
