"""The goal in a user's words: a distance, and the share of answers within it. All noise is public and seeded."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.releases.forecast.by_epsilon import ForecastRequest, Goal, GoalRequest, forecast_releases
from dpqr.releases.forecast.shares import ShareInside
from dpqr.releases.forecast.simulation import PublicTable, forecast, simulate, simulate_tables
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource

FIELDS = [
    {"name": "ward", "type": "string", "constraints": {"enum": ["a", "b"]}},
    {"name": "cost", "type": "number", "dpqr": {"edges": [0, 100, 300, 1100]}},
]
FIGURES = [{"marginal": ["ward"]}, {"mean": "cost", "by": ["ward"]}, {"median": "cost"}, {"top": "cost", "k": 1}]


def share(inside, most=2.0, square=None, counts=True):
    inside = np.array(inside)
    seen = inside.size * 100
    square = float(seen) if square is None else square
    return ShareInside(name="one", answers=100, seen=seen, inside=inside, square=square, most=most, counts=counts)


def asked(goal=None, queries=FIGURES, fields=FIELDS, schedule="strategy", n=2000, **more):
    document = {"dpqr": "queries/1", "domain": {"fields": fields}, "queries": queries}
    plan = PlanRequest(queries=document, epsilon="1", schedule=schedule)
    release = ReleaseRequest(source=TableSource(paths=(STDIN,)), plan=plan)
    return forecast_releases(ForecastRequest(release=release, goal=goal, n=n, **more))


def test_many_answers_are_counted_less_one_standard_error_over_the_runs():
    assert share([[95, 95]]).share(0.95) == 190 / 201
    luck = np.sqrt(2 * np.var([90, 100], ddof=1)) / 200
    assert share([[90, 100]]).share(0.95) == pytest.approx(190 / 201 - luck)
    assert share([[90], [100]]).share(0.95) == 190 / 201  # tables differ, and no luck of the noise shows


def test_few_answers_follow_students_law():
    from scipy.special import stdtr

    few = ShareInside(name="x", answers=1, seen=8, inside=np.ones((8, 1)), square=8.0, most=2.0, counts=True)
    assert few.share(Fraction(95, 100)) == pytest.approx(2 * stdtr(8, 2.0) - 1)


def test_several_queries_are_one_population():
    both = ShareInside.together([share([[90, 90]]), share([[100, 100]])])
    assert (both.answers, both.seen, both.share(0.95)) == (200, 400, 380 / 401)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["0.8"])
def test_at_the_epsilon_that_is_found_as_many_counts_lie_within_the_distance_as_are_stated(part):
    outlook = asked(GoalRequest(within="20", confidence=part), [{"marginal": ["ward", "cost"]}])
    (point,) = outlook.points
    table = PublicTable.of("other", point.plan.problem.domain.shape, np.array([[0, 0], [1, 2]]))
    counts = np.flatnonzero([one.counts for one in point.forecast.blocks])
    found = [simulate(point.plan, table, 900 + seed, 20.0) for seed in range(100)]
    runs = [float(one.inside[counts].sum() / one.seen[counts].sum()) for one in found]
    # Four standard errors of what is measured, and what three percent of epsilon and the conservative error may add.
    error = 4 * np.std(runs) / 10
    assert float(part) - error - 0.01 <= np.mean(runs) <= float(part) + 0.06


@pytest.mark.slow
def test_a_figure_keeps_the_goal_in_its_own_unit():
    outlook = asked(GoalRequest(within="5", names=("mean(cost) by ward",)), FIGURES[:2])
    assert (
        outlook.goal.words == "95% of the answers of 'mean(cost) by ward' lie within 5 of the truth, in their own unit"
    )
    (point,) = outlook.points
    assert outlook.goal.kept(point.forecast)
    share = next(one for one in reversed(point.forecast.shares) if one.name == "mean(cost) by ward")
    assert (share.answers, share.counts) == (2, False)


@pytest.mark.slow
def test_only_counts_are_meant_and_without_any_a_name_is_asked_for():
    (point,) = asked(GoalRequest(within="20"), [FIGURES[0], FIGURES[3]]).points
    assert [one.name for one in point.forecast.shares if one.counts] == ["marginal(ward)", "top(cost)"]
    with pytest.raises(UsageFault, match="is of counts, and none is asked for; name the queries"):
        asked(GoalRequest(within="20"), FIGURES[1:2])


@pytest.mark.slow
def test_means_and_medians_are_forecast_in_their_own_units():
    (point,) = asked(epsilons=("1",)).points
    mean, median, top = point.forecast.figures
    assert (mean.kind, mean.values, median.values, top.values) == ("mean", 2, 1, 1)
    table = simulate_tables(point.plan.problem.domain, 2000, 0)
    by_hand = [
        simulate(point.plan, one, place * 3 + run).figures for place, one in enumerate(table) for run in range(3)
    ]
    means = np.array(by_hand)[:, 0].reshape(8, 3).mean(axis=1)
    assert mean.error.mean == pytest.approx(np.median(means))


@pytest.mark.slow
def test_the_goal_of_a_mean_error_says_how_many_single_counts_it_means():
    outlook = asked(GoalRequest(error="20"), FIGURES[:1])
    shares = [one for one in outlook.points[0].forecast.shares if one.counts]
    assert 0.5 < ShareInside.together(shares).share(0.95) < 1


@pytest.mark.slow
def test_more_budget_never_shows_a_larger_forecast_unless_the_plan_says_why():
    for schedule in ("strategy", "auto", "rounds"):
        outlook = asked(
            epsilons=("0.1", "0.3", "1", "3"),
            schedule=schedule,
            runs=1,
            queries=[{"marginal": ["ward", "cost"]}, {"prefix": "cost"}],
        )
        errors = [point.forecast.error.mean for point in outlook.points]
        if errors != sorted(errors, reverse=True):
            assert any(note.startswith("a larger error is forecast at epsilon") for note in outlook.notes)


@pytest.mark.slow
def test_ten_times_the_rows_never_ask_for_a_larger_epsilon_unless_the_plan_says_why():
    queries = [{"marginal": ["ward", "cost"]}]
    for schedule in ("strategy", "auto"):
        for goal in (GoalRequest(within="15"), GoalRequest(relative="2%")):
            few, many = (asked(goal, queries, schedule=schedule, n=n) for n in (2000, 20_000))
            larger = many.points[0].forecast.epsilon > few.points[0].forecast.epsilon
            assert not larger or any("more rows may ask for a larger epsilon" in note for note in many.notes)


def test_a_goal_within_a_distance_bounds_the_share_outside():
    goal = Goal(most=5.0, within=True)
    assert (goal.least, goal.of, goal.part) == (pytest.approx(0.05), "each answer", "95%")


def test_a_forecast_without_a_distance_has_no_shares():
    document = {"dpqr": "queries/1", "domain": {"a": 4}, "queries": [{"marginal": ["a"]}]}
    plan = plan_release(PlanRequest(queries=document, epsilon="1"))
    assert forecast(plan, simulate_tables(plan.problem.domain, 100, 0)[:1], 1).shares == ()
