"""Releases in parts: the budget is split by public figures, each part follows its own schedule, and all is charged."""

from fractions import Fraction
from functools import cache, reduce

import numpy as np
import pytest

from dpqr.domain.histogram import SeparateTables, SparseHistogram
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.public import PublicNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.models.compound import ProductDistribution
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction, released_hypothesis
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.guard import make_filter
from dpqr.strategies.schedules import parts

SIZES = {"x": 512, "a": 3, "b": 4, "c": 3}
WIDE = [{"prefix": "x"}, {"ranges": "x", "random": 20, "seed": 1}]
SMALL = [{"marginals": {"ways": 2, "columns": ["a", "b", "c"]}}]
RECORDS = 2_000


BOTH = (*WIDE, *SMALL)


def plan(queries, schedule="auto", sizes=SIZES, epsilon="1", **wishes):
    document = {"domain": sizes, "queries": [*queries]}
    return plan_release(PlanRequest(queries=document, epsilon=epsilon, schedule=schedule, **wishes))


@cache
def in_parts(epsilon="1"):
    """The plan in parts that several tests look at."""
    return plan(BOTH, "parts", epsilon=epsilon, error_bars="none")


def run(made, seed=1, *, apart=False):
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.binomial(511, 0.2, RECORDS), *(generator.integers(3, size=(3, RECORDS)))], axis=1)
    table = SparseHistogram(made.problem.domain.shape, codes, np.ones(RECORDS, dtype=np.int64))
    tables = {tuple(sorted(axes)): table.marginal(tuple(sorted(axes))) for axes in made.column_sets}
    held = SeparateTables(table.shape, tables) if apart else table
    draws = Draws(data=Private(held), accountant=make_filter(made), noise=PublicNoise(seed))
    return table, iterative_construction(draws, made, SILENT)


@cache
def ran():
    """One run for all that looks at one: the plan, the table and the outcome."""
    made = plan(BOTH, "parts", error_bars="0.05")
    return (made, *run(made))


def spent(phases):
    """All prices together, but for sums that stand for draws."""
    return reduce(Price.plus, (each.price.times(Fraction(each.count)) for each in phases if each.noun != "search"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "wishes", [{"accountant": "gdp", "delta": "1e-9"}, {}, {"accountant": "zcdp", "delta": "1e-9"}]
)
def test_the_parts_share_the_budget(wishes):
    made = plan(BOTH, "parts", error_bars="none", no_count_dropped=True, **wishes)
    options = {"error_bars": "none", "no_count_dropped": True, "check": made.roles.check.name, **wishes}
    whole = plan(SMALL, "marginals", **options)
    own = {name: [each for each in made.phases if each.part == name] for name in ("marginals", "ordered")}
    assert len(own["marginals"]) + len(own["ordered"]) == len(made.phases)
    shares = {name: float(spent(phases).figure / spent(whole.phases).figure) for name, phases in own.items()}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert f"{shares['ordered']:.0%} for x" in made.notes[0]
    assert made.epsilon <= made.budget.epsilon
    assert [block.name for block in made.forecast] == [block.name for block in made.problem.workload.blocks]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "10"])
def test_no_neighbouring_split_is_forecast_to_leave_less(epsilon):
    """At epsilon 10 nearly all integer noise of the wide column is 0, so no power of a share tells its error."""
    made = in_parts(epsilon)
    asked, found = (
        parts._split_problem(made.problem),
        parts._least(parts._split_problem(made.problem), made.budget, made.roles),
    )
    assert made.expected == found.expected
    for step in (parts.STEP, 1 / parts.STEP):
        assert parts._Candidate.of(asked, made.budget, made.roles, found.odds * step).expected >= found.expected


@pytest.mark.slow
def test_records_may_be_replaced():
    stated = {"type": "integer", "dpqr": {"otherwise": "drop"}}
    fields = [
        {**stated, "name": name, "constraints": {"minimum": 0, "maximum": size - 1}} for name, size in SIZES.items()
    ]
    domain = {"malformed": "drop", "fields": fields}
    replaced = plan(BOTH, "parts", domain, neighbours="replace", n=RECORDS, error_bars="none")
    assert [phase.part for phase in replaced.phases if phase.part == "ordered"]
    assert replaced.epsilon == 1


def test_auto_takes_parts_where_they_are_forecast_to_leave_less():
    made = plan(BOTH)
    assert (made.schedule.name, made.roles.update.name) == ("parts", "product")
    assert made.notes[0].startswith("--schedule auto: parts")
    assert made.expected <= 0.9 * plan(BOTH, "marginals").expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "schedule"),
    [(SMALL, "marginals"), (WIDE, "ordered"), ([{"prefix": "x", "by": ["a"]}], "ordered")],
)
def test_other_workloads_are_planned_whole(queries, schedule):
    assert plan(queries).schedule.name == schedule
    with pytest.raises(InfeasiblePlan, match="no query joins with others"):
        plan(queries, "parts")


def test_an_update_rule_or_a_fixed_sum_that_is_named_keeps_the_whole():
    assert plan(BOTH, update="multiplicative-weights").schedule.name != "parts"
    with pytest.raises(InfeasiblePlan, match="leave --update out"):
        plan(BOTH, "parts", update="multiplicative-weights")
    assert plan(BOTH, accountant="advanced", delta="1e-9").schedule.name != "parts"


@pytest.mark.slow
def test_a_run_measures_one_part_after_the_other_and_joins_them():
    made, table, outcome = ran()
    shown = released_hypothesis(made, outcome)
    assert isinstance(shown, ProductDistribution)
    over = [{axis for block in one.blocks for axis in block.axes} for one in outcome.transcript.measurements]
    first = next(place for place, axes in enumerate(over) if axes == {0})
    assert all(axes <= {0} for axes in over[first:])
    assert all(0 not in axes for axes in over[:first])
    for block in made.problem.workload.blocks:
        error = np.abs(shown.answer(block) - block.answer(table)).mean()
        assert error < RECORDS / 10
    assert shown.rows(100, 1).shape == (100, 4)
    assert (np.diff(shown.answer(made.problem.workload.blocks[0])) >= 0.0).all()


@pytest.mark.slow
def test_reasons_are_those_of_both_parts():
    made, _, outcome = ran()
    reasons = " ".join(made.schedule.reasons(made, outcome.transcript))
    assert "x:" in reasons


def test_errors_are_bought_for_what_choices_may_pass_over():
    made, _, outcome = ran()
    assert not outcome.errors or not {"prefix(x)"} & set(outcome.errors.by_name)
    assert {block.axes for block in made.schedule.searched(made)} == {(1, 2), (1, 3), (2, 3)}


def test_the_plan_names_all_columns_that_both_parts_look_at():
    made, _, outcome = ran()
    again = run(made, apart=True)[1]
    found, expected = ([one.measurement for one in each.transcript.rounds] for each in (again, outcome))
    assert [each.values[0].tolist() for each in found] == [each.values[0].tolist() for each in expected]


def test_a_lost_draw_leaves_a_plan_to_its_end():
    """Every round is followed by another, or by the end, also where what it drew was lost."""
    made, _, outcome = ran()
    state, steps = made.schedule.start(made), 0
    for finished in outcome.transcript.rounds:
        state = made.schedule.after(state, replace(finished, measurement=None, errors=None))
        steps += 1
        if made.schedule.next(made, state) is None:
            break
    assert steps
