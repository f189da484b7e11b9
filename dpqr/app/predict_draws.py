"""The draws of a prediction run: from sealed counts to what is released, each of them through the gate."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.data.counts import Counts
from dpqr.mechanisms.fitted import FINENESS, step
from dpqr.noise.source import NoiseSource
from dpqr.prediction.aggregate import Aggregate
from dpqr.prediction.forms import AveragesForm, FunctionForm
from dpqr.prediction.outcome import PredictionRelease
from dpqr.prediction.plan import PredictionPlan
from dpqr.prediction.stable import StableLearner
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
    """All draws of a plan. codes: of the points; None: a function is released. spent: to be told of the run."""
    if isinstance(plan.recipe, Aggregate):
        return _aggregated(plan, counts, plan.recipe.features.of(_asked(codes)), guard, noise, spent)
    counted = None
    if plan.counting is not None:
        found = measure(counts, plan.counter, accountant=guard, noise=noise)
        counted = int(found.value.values[0][0])
    records = plan.problem.records if counted is None else counted
    assert records is not None
    learner = plan.learner(records)
    numbers, grid = _stable(plan, learner, counts, codes, guard, noise)
    return PredictionRelease(
        plan=plan,
        numbers=numbers,
        step=grid,
        records=learner.scale.records,
        counted=counted,
        penalty=learner.penalty,
        bound=learner.bound,
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
    grid = 1 / (FINENESS * (plan.parts or 1)) if isinstance(plan.form, AveragesForm) else 1.0
    return PredictionRelease(plan=plan, numbers=numbers, step=grid, spent=spent, private=noise.private)


def _stable(
    plan: PredictionPlan,
    learner: StableLearner,
    counts: Private[Counts],
    codes: AnyArray | None,
    guard: PrivacyFilter,
    noise: NoiseSource,
) -> tuple[IntArray, float]:
    """Noisy weights or predictions, and the width of their grid."""
    if isinstance(plan.form, FunctionForm):
        return measure(counts, plan.weights(learner), accountant=guard, noise=noise).value, step(learner.bound)
    batch = plan.predictions(learner, learner.features.of(_asked(codes)))
    return measure_together(counts, batch, accountant=guard, noise=noise).value, batch.asked.step


def _asked(codes: AnyArray | None) -> AnyArray:
    assert codes is not None  # a plan for points is made of points
    return codes
