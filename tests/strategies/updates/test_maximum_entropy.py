"""The fit of the practical schedules under the book's loop: certificates that hold, smaller ones, on any domain."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, measured, problem
from support.staged_runs import N, largest_error, planned, roles, run, stated

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.models.fit.descent import NewtonFit
from dpqr.strategies.problem import Level
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.updates import maximum_entropy as piecewise_weights
from dpqr.strategies.updates.maximum_entropy import TUNING, MaximumEntropy, PiecewiseWeights
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.ranges import Ranges

SIZES = (40, 30, 20, 30, 40)
"""28,800,000 cells: more than are kept one by one."""


@pytest.mark.slow
def test_its_certificates_hold_and_are_smaller_than_those_of_single_steps():
    bounds = []
    for update in (MaximumEntropy(), MultiplicativeWeights()):
        outcome = run(planned(update=update))
        assert largest_error(outcome.hypothesis) <= min(outcome.transcript.bounds)
        bounds.append(min(outcome.transcript.bounds))
    assert bounds[0] < bounds[1]


@pytest.mark.slow
@pytest.mark.parametrize("n", [N, None])
def test_a_domain_of_many_cells(n):
    cells = np.arange(200)[:, None] % np.array(SIZES)
    table = SparseHistogram(SIZES, cells, np.full(200, N // 200))
    pairs = ((0, 1), (1, 2), (3, 4))
    blocks = [marginal(pair, SIZES) for pair in pairs]
    plan = planned(problem(SIZES, blocks, n=n), update=MaximumEntropy(), epsilon=4)
    outcome = run(plan, counts=table)
    errors = [np.abs(outcome.hypothesis.answer(block) - block.answer(table)).max() for block in blocks]
    assert max(errors) <= min(outcome.transcript.bounds) < N / 10


def test_no_alpha_is_certain_a_fixed_plan_calls_its_own_heuristic_and_rounds_are_those_of_an_exact_projection():
    assert planned(update=MaximumEntropy()).stop.certain is None
    who = roles(update=MaximumEntropy())
    sharp = Theory(variant="sharp").plan(stated(alpha=Fraction(1, 4)), PrivacyBudget(Fraction(1)), who)
    assert sharp.stop.promise == "heuristic"
    with pytest.raises(InfeasiblePlan, match="state --alpha for a heuristic one"):
        Theory(variant="sharp").plan(stated(), PrivacyBudget(Fraction(1)), who)
    level = Level(value=Fraction(1, 8), variant="sharp")
    assert MaximumEntropy().expected_mistakes(stated(), level) == MultiplicativeWeights().mistakes(stated(), level)
    assert MaximumEntropy().mistakes(stated(), level) is None


# The fit on pieces: against the fit cell by cell, over any kind of query, and within its limits.

SHAPE = (100, 3)
RULE = PiecewiseWeights(fit=NewtonFit(tolerance=1e-9))


def ranged(*pairs, name="r", axis=0):
    starts, stops = np.array(pairs).T
    matrix = Ranges(starts, stops, SHAPE[axis])
    return QueryBlock(name=name, factors=(Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=matrix),))


FIRST, SECOND = ranged((10, 60)).row(0), ranged((40, 90)).row(0)
BOX = QueryBlock(name="box", factors=(*ranged((0, 30)).factors, *ranged((1, 3), axis=1).factors))
ODD = dense([[2, 0, 1]], SHAPE, axes=(1,), name="odd")
TIED = dense(np.arange(300) % 2, SHAPE, axes=(0, 1), name="tied")
PROBLEM = problem(SHAPE, [FIRST], n=1000, neighbours=Neighbours.REPLACE)
HISTORY = [measured([FIRST], [700], 5.0), measured([BOX, ODD], [[90], [900]], 3.0), measured([TIED], [[420]], 9.0)]


def cell_by_cell(history):
    """The same fit with every cell a piece."""
    pairs = [(one, *pair) for one in history for pair in zip(one.blocks, one.values, strict=True)]
    blocks = [(block, float(value[0]), one.law.deviation) for one, block, value in pairs]
    rows = []
    for block, _, _ in blocks:
        tensor = block.adjoint(np.ones(1))
        shaped = np.moveaxis(tensor.reshape(tensor.shape + (1,) * (2 - tensor.ndim)), 0, block.axes[0])
        rows.append(np.broadcast_to(shaped, SHAPE).reshape(-1) / block.largest_coefficient)
    tops = np.array([block.largest_coefficient for block, _, _ in blocks])
    answers, deviations = (np.array([one[k] for one in blocks]) / tops / 1000 for k in (1, 2))
    base = np.full(300, 1 / 300)
    return (
        RULE.fit.run(np.array(rows), base, answers, TUNING.regularisation * deviations, np.zeros(len(rows)))[1] * 1000
    )


@in_one_test("stepwise", [True, False])
def test_it_is_the_fit_of_all_cells(stepwise) -> None:
    hypothesis = RULE.start(PROBLEM)
    assert hypothesis.masses.shape == (1, 3)
    for done in range(1, len(HISTORY) + 1):
        if stepwise or done == len(HISTORY):
            hypothesis = RULE.update(PROBLEM, hypothesis, HISTORY[:done])
    np.testing.assert_allclose(hypothesis.weights().reshape(-1), cell_by_cell(HISTORY), rtol=1e-6)


def test_pieces_grow_with_the_queries_and_not_with_the_universe() -> None:
    history = [measured([FIRST], [700], 5.0), measured([SECOND], [200], 5.0)]
    hypothesis = RULE.update(PROBLEM, RULE.start(PROBLEM), history)
    assert [edges.tolist() for edges in hypothesis.edges] == [[0, 10, 40, 60, 90, 100], [0, 1, 2, 3]]
    np.testing.assert_allclose(hypothesis.answer(FIRST), 700, atol=5)
    before = hypothesis.masses.copy()
    RULE.update(PROBLEM, hypothesis, [*history, measured([FIRST], [0], 1.0)])
    np.testing.assert_array_equal(hypothesis.masses, before)


def test_the_number_of_records_is_what_was_measured() -> None:
    private = problem(SHAPE, [FIRST])
    history = [measured([QueryBlock(name="total")], [800], 2.0), measured([FIRST], [300], 2.0)]
    assert RULE.update(private, RULE.start(private), history).total == 800
    history[0] = measured([QueryBlock(name="total")], [-5], 2.0)
    assert RULE.update(private, RULE.start(private), history).total == 0


def test_what_there_is_no_room_for_is_left_out_as_fits_says(monkeypatch) -> None:
    monkeypatch.setattr(piecewise_weights, "TUNING", replace(TUNING, queries=2))
    wide = ranged((0, 50), (20, 30), (1, 2), name="wide")
    assert RULE.fits(PROBLEM, [FIRST], [SECOND])
    assert not RULE.fits(PROBLEM, [FIRST, SECOND], [BOX])
    assert not RULE.fits(PROBLEM, [], [wide])
    hypothesis = RULE.update(PROBLEM, RULE.start(PROBLEM), [measured([wide], [[1, 2, 3]])])
    assert hypothesis.masses.shape == (1, 3)
    monkeypatch.setattr(piecewise_weights, "TUNING", replace(TUNING, entries=10))
    assert not RULE.fits(PROBLEM, [FIRST], [SECOND])


def test_many_large_columns_are_refused_and_theory_gets_no_bound() -> None:
    wide = problem((1000, 1000, 1000))
    with pytest.raises(InfeasiblePlan, match="22188041 pieces"):
        RULE.start(wide)
    assert RULE.footprint(problem((10**6,))).refusal is None
    assert RULE.mistakes(wide, Level(value=1)) is None
    assert (RULE.cumulative, RULE.trust) == (True, ())
