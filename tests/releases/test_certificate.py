"""The certificate against figures worked out apart from it, and against the largest error that it may not miss."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.fakes import OpenFilter, Says
from support.plan_phases import without

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.draws import Draws
from dpqr.releases.error_bounds import certified_bound, error_bounds, measured_errors
from dpqr.releases.error_bounds import certify as best_certificate
from dpqr.releases.loop import Outcome
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Phase, Plan, Roles, StopTest
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.theory import Theory
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement, Workload

ROUNDS, N, BETA = 60, 10_000, Fraction(1, 20)
CELLS = QueryBlock(name="cells", factors=(Factor.identity(0, 2),), scale=Fraction(2))
QUARTERS = QueryBlock(
    name="quarters",
    factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[1, 3]]))),),
    scale=Fraction(1, 4),
)
CANDIDATES = 3
STEPS = 24
"""By which a score moves, in quarters: three rows of a person, each counted twice in `cells`."""
GAMMA = float(BETA) / (2 * ROUNDS)
LAW = DiscreteLaplace(Fraction(7, 2))


def recomputed_tail(scale, beta):
    """Smallest k with Pr[|draw| > k] <= beta, summed from the law q^|k| (1 - q) / (1 + q)."""
    q = math.exp(-1 / float(scale))
    beyond, k = 1 - (1 - q) / (1 + q), 0
    while beyond > beta:
        k += 1
        beyond -= 2 * q**k * (1 - q) / (1 + q)
    return k


TAIL = recomputed_tail(LAW.scale, GAMMA)


def plan(epsilon=Fraction(1, 50), **more):
    domain = Domain((Attribute(name="cell", axis=Codes(2)),))
    problem = Problem(
        domain=domain,
        workload=Workload((CELLS, QUARTERS)),
        unit=PrivacyUnit(neighbours=Neighbours.REPLACE, columns=("person",), rows=3),
        **({"n": N, "alpha": Fraction(1, 4), "beta": BETA} | more),
    )
    roles = Roles(distinguisher=Exponential(), check=Laplace(), update=MultiplicativeWeights(), accountant=Basic())
    return Plan(
        problem=problem,
        budget=PrivacyBudget(Fraction(1)),
        roles=roles,
        schedule=Theory(),
        phases=(
            Phase(noun="selection", count=ROUNDS, price=Price(epsilon=epsilon), single=True),
            Phase(noun="measurement", count=ROUNDS, price=Price(epsilon=Fraction(1, 10))),
        ),
        stop=StopTest(threshold=Fraction(1_000), promise="proved"),
    )


def shortfall(epsilon):
    """(2 s / epsilon) log(candidates / gamma), in quarters of a record."""
    return 2 * STEPS / float(epsilon) * math.log(CANDIDATES / GAMMA)


def ended(value, told, *, stopped=True):
    """A loop whose last round measured the second cell, after a round of another query and noise."""
    first = Measurement(blocks=(QUARTERS,), values=(np.array([9_999]),), law=DiscreteLaplace(Fraction(99)))
    last = Measurement(blocks=(CELLS.row(1),), values=(np.array([value]),), law=LAW)
    transcript = Transcript()
    transcript.add(Round(choice=2, measurement=first, charges=(0, 1)))
    transcript.add(Round(choice=1, measurement=last, charges=(2, 3), stopped=stopped))
    hypothesis = Says({QUARTERS.name: 0.0, CELLS.row(1).name: told}, total=float(N))
    return Outcome(hypothesis=hypothesis, transcript=transcript)


def certify(made, outcome, answers=1, gamma=None):
    """The certificate of the last round's stop, as the loop makes it."""
    transcript, known = Transcript(), outcome.transcript
    for finished in known.rounds:
        if finished.stopped:
            measured, price = finished.measurement, made.price("measurement")
            step = Step(candidates=measured.blocks, select=made.price("selection"), measure=price, gamma=gamma)
            bound = certified_bound(made, step, measured, answers, outcome.hypothesis)
            finished = replace(finished, bound=bound)
        transcript.add(finished)
    return best_certificate(made, transcript)


def test_every_figure_as_it_is_worked_out_by_hand():
    """Gap 2 * 30, tail and half a step of 2 records each, shortfall and one step of quarters."""
    made = plan()
    found = certify(made, ended(1_030, 1_000.2))
    expected = 2 * 30 + 2 * (TAIL + 0.5) + (shortfall(made.price("selection").pure) + 1) / 4
    assert found.records == pytest.approx(expected, rel=1e-9)
    assert found.records >= expected * (1 - 1e-15)
    assert found.fraction == found.records / N
    assert found.confidence == 0.95


def test_the_tails_of_all_rounds_together_leave_beta():
    """Exactly: any of the planned draws may be the last one, so all of them are within their tail at once."""

    def any_beyond(k):
        q = math.exp(-1 / float(LAW.scale))
        return -math.expm1(ROUNDS * math.log1p(-2 * q ** (k + 1) / (1 + q)))

    assert any_beyond(TAIL) <= float(BETA) / 2 < any_beyond(recomputed_tail(LAW.scale, float(BETA) / 2))
    assert ROUNDS * CANDIDATES * math.exp(-shortfall(1) / (2 * STEPS)) == pytest.approx(float(BETA) / 2)


def test_the_worst_that_may_happen_is_covered_and_every_term_is_needed():
    """Noise at its tail, the selection at its shortfall, and the hypothesis rounded to the wrong side on both grids."""
    epsilon = Fraction(2 * STEPS * math.log(CANDIDATES / GAMMA) / 4_000.001)  # so the shortfall is a whole number
    made = plan(epsilon)
    lost = math.floor(shortfall(epsilon))
    value, guess = 1_030, 1_000
    told = guess - 0.4376  # a block step is eight quarters: told 8 is 3.5008 below guess 8, and rounds to 4 below
    truth = value + TAIL
    measured_score = abs(8 * truth - round(8 * told))
    error = (measured_score + lost + 0.4999) / 4  # of another query, whose own answer is rounded towards the truth
    found = certify(made, ended(value, told))
    assert abs(2 * truth - 2 * told) < error <= found.records
    terms = [2 * (value - guess), 2 * TAIL, 2 * 0.5, shortfall(epsilon) / 4, 1 / 4]
    assert found.records == pytest.approx(sum(terms))
    assert all(found.records - term < error for term in terms)


def test_a_loop_that_was_not_stopped_has_no_certificate_and_a_plan_without_bounds_none_of_them():
    assert certify(plan(), ended(1_030, 1_000.2, stopped=False)) is None
    assert certify(without(plan(), "selection"), ended(1_030, 1_000.2)) is None
    assert error_bounds(plan(), None, {}) is None


def test_what_is_promised_is_what_was_planned():
    """The fraction is of the declared number, where there is one."""
    for beta in (Fraction(1, 5), Fraction(1, 10**6)):
        assert certify(plan(beta=beta), ended(1_030, 1_000.2)).confidence == float(1 - beta)
    declared = certify(plan(n=None, most=500), ended(1_030, 1_000.2))
    assert declared.fraction == declared.records / 500
    assert certify(plan(n=None), ended(1_030, 1_000.2)).fraction is None


def test_a_stage_has_its_own_share_of_beta_and_its_answers_share_it():
    gamma = Fraction(1, 1000)
    made = plan()
    found = certify(made, ended(1_030, 1_000.2), answers=8, gamma=gamma)
    short = 2 * STEPS / float(made.price("selection").pure) * math.log(CANDIDATES / float(gamma))
    expected = 2 * 30 + 2 * (recomputed_tail(LAW.scale, float(gamma) / 8) + 0.5) + (short + 1) / 4
    assert found.records == pytest.approx(expected, rel=1e-9)


def test_the_best_of_several_stops_is_the_certificate():
    transcript = Transcript()
    for bound in (300.0, 70.0, None, 90.0):
        transcript.add(Round(choice=0, measurement=None, charges=(0,), bound=bound))
    assert best_certificate(plan(), transcript).records == 70.0


MARGINALS = tuple(QueryBlock(name=str(axis), factors=(Factor.identity(axis, 3),)) for axis in range(3))
SUMS = QueryBlock(
    name="sums", factors=(Factor(axes=(0,), sizes=(3,), matrix=Dense(np.array([[1, 3, 2]]))),), scale=Fraction(1, 4)
)
MIXED = (*MARGINALS[:2], SUMS)
TRUTH = DenseHistogram(np.arange(27, dtype=np.int64).reshape(3, 3, 3))


def bought(price, blocks=MARGINALS, unit=None, guess=100.3, **more):
    """A plan that buys bounds alone; the released answers; and a maker of draws."""
    made = plan(**({"n": None} | more))
    phase = Phase(noun="bounds", count=1, price=price)
    problem = replace(made.problem, workload=Workload(blocks), unit=unit or PrivacyUnit())
    made, released = replace(made, problem=problem, phases=(phase,)), Says({b.name: guess for b in blocks}, total=100.0)
    wrong = {b.name: float(b.scale) * float(np.abs(b.answer(TRUTH) - released.answer(b)).sum()) for b in blocks}

    def draw(noise):
        draws = Draws(data=Private(TRUTH), accountant=OpenFilter(), noise=noise)
        errors = measured_errors(draws, made, released, Transcript())
        return error_bounds(made, errors, {block.name: released.answer(block) for block in blocks})

    return draw, wrong


@pytest.mark.slow
@pytest.mark.parametrize("price", [Price(epsilon=Fraction(1, 20)), Price(rho=Fraction(1, 100))], ids=str)
def test_bounds_hold_as_often_as_they_say(price):
    """At confidence 0.8 of 400 releases; the noise is seeded, so no run differs."""
    draw, wrong = bought(price, beta=Fraction(1, 5))
    noise, runs = SeededNoise(11), 400
    mean = sum(wrong.values()) / len(wrong)
    found = [draw(noise) for _ in range(runs)]
    held = sum(one.mean >= mean and all(one.blocks[name] >= wrong[name] for name in wrong) for one in found)
    assert 0.8 <= held / runs < 1
    assert {one.confidence for one in found} == {0.8}


@in_one_test("price", [Price(epsilon=Fraction(10**5)), Price(rho=Fraction(10**9))])
@pytest.mark.parametrize("unit", [PrivacyUnit(), PrivacyUnit(neighbours=Neighbours.REPLACE)], ids=str)
@pytest.mark.parametrize("blocks", [MARGINALS, MIXED], ids=["alike", "unlike"])
def test_at_a_high_price_bounds_are_the_errors_with_what_rounding_may_hide(price, unit, blocks):
    draw, wrong = bought(price, blocks, unit, guess=1000.3)  # rounding brings all answers nearer to the truth
    found = draw(SeededNoise(1))
    rounding = {block.name: block.rows / 64 + 2 * 3 / 64 + 0.01 for block in blocks}
    for name, error in wrong.items():
        assert error <= found.blocks[name] <= error + rounding[name]
    assert found.fraction is None
    if blocks is MARGINALS:
        mean = sum(wrong.values()) / len(wrong)
        assert mean <= found.mean <= mean + max(rounding.values())


def test_a_public_number_of_records_makes_the_mean_a_fraction():
    replaced = PrivacyUnit(neighbours=Neighbours.REPLACE)
    found = bought(Price(rho=Fraction(1)), unit=replaced, n=351)[0](SeededNoise(1))
    assert found.fraction == found.mean / 351
    private = bought(Price(rho=Fraction(1)), unit=replace(replaced, drops=True), n=351)[0](SeededNoise(1))
    assert private.fraction is None


def test_answers_that_were_moved_after_the_draw_are_bounded_too():
    """What is released may differ in the last bits from what was compared."""
    draw, _ = bought(Price(rho=Fraction(10**9)), guess=100.25)
    exact, moved = draw(SeededNoise(1)), bought(Price(rho=Fraction(10**9)), guess=100.25 + 1 / 200)[0](SeededNoise(1))
    for name in exact.blocks:
        assert moved.blocks[name] == pytest.approx(exact.blocks[name] + 3 / 200, abs=1e-6)
