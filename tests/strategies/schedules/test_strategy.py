"""Strategy: the plan, its forecast and its answers, from one measurement of the strategy of least expected error."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binomtest
from support.cases import slow_but, thinned
from support.rounding_error import least_squares
from support.small_universes import dense, domain, marginal
from support.staged_runs import run

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.result import assemble
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules import strategy
from dpqr.strategies.schedules.drafts import least_squares_forecast
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.updates.least_squares import LeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.ranges import Ranges
from dpqr.workload.strategy_matrices import scale_strategy
from dpqr.workload.workload import Workload

SHAPE = (3, 40, 8)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(1,), sizes=(40,), matrix=Prefix(40)),))
PAIRS = np.array(list(itertools.combinations(range(9), 2)))
RANGES = QueryBlock(name="ranges", factors=(Factor(axes=(2,), sizes=(8,), matrix=Ranges(PAIRS[:, 0], PAIRS[:, 1], 8)),))
COUNTS = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 11
BY_SEX = QueryBlock(name="cdf by sex", factors=(Factor.identity(0, 3), *CDF.factors))


def planned(*blocks, epsilon="1", delta="0", accountant="basic", check=None, **more):
    settings = {"unit": PrivacyUnit()} | more
    problem = Problem(domain=domain(SHAPE), workload=Workload(blocks), **settings)
    roles = Roles(
        distinguisher=Exponential(), check=check or Laplace(), update=LeastSquares(), accountant=ACCOUNTANTS[accountant]
    )
    return Strategy().plan(problem, PrivacyBudget.parse(epsilon, delta), roles)


def released(plan, counts, seed=1):
    guard = plan.roles.accountant.guard(plan.budget, plan.events)
    return assemble(plan, run(plan, seed=seed, counts=counts, guard=guard), {}, private=False)


def test_one_measurement_takes_the_whole_budget() -> None:
    plan = planned(CDF, RANGES)
    assert (len(plan.opening), plan.rounds, plan.price("selection")) == (1, 0, None)
    assert plan.price("opening").pure == 1
    assert plan.epsilon == 1
    ((event, count),) = plan.events
    assert (event, count) == (plan.roles.check.event(plan.opening[0], plan.problem.unit, plan.price("opening")), 1)


def test_the_plan_says_which_strategy_and_what_the_others_would_come_to() -> None:
    plan = planned(CDF)
    assert len(plan.notes) == 1
    assert plan.notes[0].startswith("strategy for a1: p-identity, expected error ")
    assert "by identity" in plan.notes[0]
    assert "by hierarchy" in plan.notes[0]


def test_an_error_that_holds_without_the_other_groups_alone_says_so() -> None:
    """Two groups share the budget, so each answer carries more noise than its group would by itself."""
    apart, together = planned(CDF), planned(CDF, marginal((0, 2), SHAPE))
    alone = apart.notes[0].split(" (against")[0]
    assert any(note.startswith(f"{alone} were it measured alone (against ") for note in together.notes)
    assert sum(" were it measured alone" in note for note in together.notes) == 2


def test_cells_alone_are_measured_as_they_are() -> None:
    plan = planned(marginal((0, 2), SHAPE))
    assert all(isinstance(factor.matrix, Identity) for factor in plan.opening[0][0].factors)
    assert plan.notes == ("strategy for a0, a2: identity, expected error 1.357 a query",)
    assert plan.forecast[0].deviation == pytest.approx(
        plan.roles.check.law(plan.opening[0], plan.problem.unit, plan.price("opening")).deviation
    )


def over_cells(query, strategy):
    """The query's coefficients on the strategy's cells."""
    order = [axis for axis in strategy.axes if axis in query.axes]
    missing = tuple(place for place, axis in enumerate(strategy.axes) if axis not in order)
    rows = [query.adjoint(row).transpose([query.axes.index(axis) for axis in order]) for row in np.eye(query.rows)]
    shape = [SHAPE[axis] for axis in strategy.axes]
    return np.stack([np.broadcast_to(np.expand_dims(row, missing), shape).reshape(-1) for row in rows])


def beyond(law, size):
    """Probability of noise of that size or more, where it is many whole numbers wide."""
    if isinstance(law, DiscreteLaplace):
        rest = math.exp(-(2**0.5) / law.deviation)
        return 2 * rest**size / (1 + rest)
    return math.erfc((size - 0.5) / law.deviation / 2**0.5)


every_law = pytest.mark.parametrize(
    ("delta", "accountant", "check"), slow_but({0}, [("0", "basic", Laplace()), ("1e-9", "zcdp", Gaussian())])
)
every_relation = pytest.mark.parametrize("relation", thinned(Neighbours, 2))


def three_blocks(relation, delta, accountant, check):
    n = 5000 if relation is Neighbours.REPLACE else None
    more = {"accountant": accountant, "check": check, "unit": PrivacyUnit(neighbours=relation), "n": n}
    return planned(CDF, BY_SEX, RANGES, delta=delta, **more)


@every_relation
@every_law
def test_the_forecast_and_the_answers_are_those_of_the_pseudo_inverse(relation, delta, accountant, check) -> None:
    """Every answer is its query times the measured strategy's pseudo-inverse times what was measured, and the forecast
    the root mean square of those weights times the noise's deviation: with noise of that law it is its spread."""
    plan = three_blocks(relation, delta, accountant, check)
    release = released(plan, COUNTS)
    (measured,) = release.transcript.measurements
    for answers, told in zip(release.answers, plan.forecast, strict=True):
        (place,) = [k for k, one in enumerate(measured.blocks) if set(answers.block.axes) <= set(one.axes)]
        strategy, values = measured.blocks[place], measured.values[place].astype(float)
        table = np.stack(list(strategy.coefficients())).astype(float)
        asked = over_cells(answers.block, strategy)
        weights = asked @ np.linalg.pinv(table)
        rounding = least_squares(table, values) * np.linalg.norm(asked, axis=1).max()
        np.testing.assert_allclose(answers.estimate, weights @ values, atol=rounding)
        np.testing.assert_array_equal(answers.noisy.values, answers.estimate)
        spread = measured.law.deviation * (weights**2).sum(axis=1).mean() ** 0.5
        assert told.deviation == pytest.approx(spread, rel=1e-6)  # condition numbers below 1,000, squared


@every_relation
@every_law
def test_what_is_measured_has_noise_of_the_plans_law(relation, delta, accountant, check) -> None:
    """Of 60 releases, the draws at or beyond the law's deviation: a false alarm in 1e9. A fifth off is seen."""
    plan = three_blocks(relation, delta, accountant, check)
    table, noise = DenseHistogram(COUNTS), []
    for seed in range(60):
        (measured,) = released(plan, COUNTS, seed).transcript.measurements
        noise += [values - one.answer(table) for one, values in zip(measured.blocks, measured.values, strict=True)]
    drawn, size = np.abs(np.concatenate(noise)), int(measured.law.deviation)
    law = measured.law
    assert law == plan.roles.check.law(plan.opening[0], plan.problem.unit, plan.price("opening"))
    seen = int((drawn >= size).sum())
    assert binomtest(seen, drawn.size, beyond(law, size)).pvalue > 1e-9
    for factor in (0.8, 1.25):
        other = binomtest(int((drawn * factor >= size).sum()), drawn.size, beyond(law, size))
        assert other.pvalue < 1e-9


def test_every_answer_carries_its_own_deviation() -> None:
    release = released(planned(CDF), np.zeros(SHAPE, dtype=np.int64))
    (answers,) = release.answers
    forecast = release.plan.forecast[0].deviation
    assert np.sqrt((answers.noisy.deviation**2).mean()) == pytest.approx(forecast)
    assert answers.noisy.deviation.std() > 0


def test_attributes_that_no_query_joins_are_measured_together_with_the_best_shares() -> None:
    plan = planned(CDF, RANGES)
    (measured,) = plan.opening
    assert [block.axes for block in measured] == [(1,), (2,)]
    total = sum(block.rows * block.deviation**2 for block in plan.forecast)
    for index, times in itertools.product(range(2), (9, 11)):
        shifted = tuple(scale_strategy(block, times if index == place else 10) for place, block in enumerate(measured))
        other = least_squares_forecast(plan.problem, plan.roles, plan.price("opening"), shifted)
        assert sum(block.rows * block.deviation**2 for block in other) > 0.999 * total


@pytest.mark.slow
def test_a_block_within_anothers_attributes_joins_it() -> None:
    plan = planned(CDF, BY_SEX, QueryBlock(name="total"))
    assert [block.axes for block in plan.opening[0]] == [(0, 1)]


def test_the_measured_strategy_takes_no_querys_name() -> None:
    taken = QueryBlock(name="strategy(a1)", factors=CDF.factors)
    assert planned(taken).opening[0][0].name == "strategy(a1)'"


def test_a_total_alone_is_counted() -> None:
    plan = planned(QueryBlock(name="total"))
    assert plan.notes[0].startswith("strategy for the total: the count")
    assert released(plan, np.ones(SHAPE, dtype=np.int64)).answers[0].estimate.shape == (1,)


def test_the_plan_is_always_the_same() -> None:
    first, second = planned(CDF), planned(QueryBlock(name="cdf", factors=CDF.factors))
    np.testing.assert_array_equal(
        first.opening[0][0].factors[0].matrix.sums, second.opening[0][0].factors[0].matrix.sums
    )


def test_large_budgets_are_served_by_whole_records() -> None:
    """Noise of whole records falls exponentially in epsilon: at eps 16 the cells themselves are the best strategy."""
    assert all(isinstance(factor.matrix, Identity) for factor in planned(RANGES, epsilon="16").opening[0][0].factors)


def test_a_predicate_over_several_columns_is_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="several columns"):
        planned(dense(np.ones((1, 24), dtype=np.int64), SHAPE, (0, 2)))


def test_too_many_cells_together_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(strategy, "TUNING", replace(strategy.TUNING, group_cells=119))
    with pytest.raises(InfeasiblePlan, match="a0, a1 have 120 cells"):
        planned(BY_SEX)
    monkeypatch.setattr(strategy, "TUNING", replace(strategy.TUNING, group_cells=120))
    assert planned(BY_SEX).opening
