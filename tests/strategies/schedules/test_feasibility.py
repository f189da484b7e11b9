"""What an alpha needs, recomputed term by term: each is made the largest one in turn."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, problem

from dpqr.kernel.accountants.sums import Basic, ZeroConcentrated
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.theory import Feasibility
from dpqr.strategies.updates.median import Median
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.workload import Workload

SHAPE, N, BETA, ALPHA = (4,), 1000, Fraction(1, 20), Fraction(1, 2)
ROUNDS = math.floor(4 * math.log(4) / (1 / 4) ** 2)
"""T(alpha / 2) of multiplicative weights over four cells."""
COUNTS = marginal((0,), SHAPE, "counts")
SMALL = dense([[1, 0, 0, 0]], SHAPE, name="small", scale=Fraction(1, 4))
LARGE = dense([[1, 0, 3, 0], [0, 2, 0, 0]], SHAPE, name="large", scale=Fraction(1, 4))
REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
HIDDEN = PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True)


@dataclass(frozen=True)
class Sure(Exponential):
    """A distinguisher whose choice falls short by so much, and by no more."""

    short: float = 0.0

    def shortfall(self, candidates, sensitivity, price, gamma):
        return self.short


def case(blocks, *, epsilon=400, distinguisher=None, bought=False, update=None, accountant=None):
    given = problem(SHAPE)
    stated = Problem(
        domain=given.domain,
        workload=Workload(tuple(blocks)),
        unit=HIDDEN if bought else REPLACE,
        n=None if bought else N,
        most=N if bought else None,
        beta=BETA,
    )
    roles = Roles(
        distinguisher=distinguisher or Sure(),
        check=Laplace(),
        update=update or MultiplicativeWeights(),
        accountant=accountant or Basic(),
    )
    budget = PrivacyBudget(Fraction(epsilon), Fraction(0) if accountant is None else Fraction(1, 10**9))
    return Feasibility.of(stated, budget, roles, variant="printed", n=N)


def tail(moves, epsilon, beta):
    """Smallest k with 2 q^(k + 1) / (1 + q) <= beta, q = exp(-epsilon / moves)."""
    q = math.exp(-epsilon / moves)
    return next(k for k in range(10**6) if 2 * q ** (k + 1) / (1 + q) <= beta)


@in_one_test("bought", [False, True])
@pytest.mark.parametrize(
    ("blocks", "rows"),
    [
        ((COUNTS,), ((1, 1),)),
        ((SMALL, LARGE), ((1, 1 / 4), (3, 1 / 4))),
        ((LARGE, SMALL), ((1, 1 / 4), (3, 1 / 4))),
        ((SMALL, COUNTS), ((1, 1 / 4), (1, 1))),
        ((COUNTS, SMALL), ((1, 1 / 4), (1, 1))),
    ],
)
@pytest.mark.parametrize("epsilon", [1, 30, 400])
def test_the_widest_noise_of_any_query_counts_at_its_part_of_beta(blocks, rows, bought, epsilon):
    """A tail and half a step of the query's grid, at beta over two draws a round and the count."""
    draws = 2 * ROUNDS + bought
    each = epsilon / draws
    counted = [(1, 1)] if bought else []
    tails = [(tail(moves, each, float(BETA) / draws) + 0.5) * scale for moves, scale in (*rows, *counted)]
    found = case(blocks, epsilon=epsilon, bought=bought).needed(ALPHA)
    assert found == pytest.approx(8 * max(tails) / N)
    assert max(tails) > 1


@in_one_test(
    ("blocks", "short", "bought", "wanted"),
    [
        ((COUNTS,), 0.0, False, 1),  # one step of the grid on which scores are compared
        ((COUNTS,), 6.5, False, 7.5),
        ((LARGE,), 6.5, False, 7.5 / 4),
        ((LARGE,), 0.0, True, 1),  # a count that is clipped to 1
    ],
)
def test_a_choice_falls_short_by_its_figure_and_a_step_and_a_count_by_its_clipping(blocks, short, bought, wanted):
    """So much is paid that noise is nothing."""
    made = case(blocks, epsilon=100_000, distinguisher=Sure(short=short), bought=bought)
    assert made.needed(ALPHA) == pytest.approx(8 * wanted / N)


def test_a_choice_among_all_queries_by_the_distinguishers_own_bound():
    """Scores in quarters: a record of `counts` moves one by 4; 4 + 2 candidates; equal epsilons."""
    each, gamma = 400 / (2 * ROUNDS), float(BETA) / (2 * ROUNDS)
    short = 2 * 4 / each * math.log(6 / gamma)
    made = case((COUNTS, LARGE), distinguisher=Exponential())
    assert made.needed(ALPHA) == pytest.approx(8 * (short + 1) / 4 / N)


@in_one_test("bought", [False, True])
def test_all_draws_together_spend_the_budget(bought):
    select, measure = case((COUNTS,), bought=bought).prices(ROUNDS)
    assert select.pure == measure.pure
    assert ROUNDS * select.pure + (ROUNDS + bought) * measure.pure == 400
    select, measure = case((COUNTS,), bought=bought, accountant=ZeroConcentrated()).prices(ROUNDS)
    assert measure.rho == 4 * select.rho


def test_as_many_rounds_as_are_proved_and_one_at_least():
    made = case((COUNTS,))
    assert made.rounds(ALPHA) == ROUNDS
    assert made.promise(ALPHA) == "proved"
    whole = Feasibility.of(
        Problem(domain=problem((1,)).domain, workload=Workload((marginal((0,), (1,)),)), unit=REPLACE, n=N, beta=BETA),
        made.budget,
        made.roles,
        variant="printed",
        n=N,
    )
    assert whole.rounds(ALPHA) == 1


@dataclass(frozen=True, kw_only=True)
class Foreign(MultiplicativeWeights):
    """A third party's rule, by its module's name."""


def test_the_word_of_a_third_party_is_no_proof():
    made = case((COUNTS,), update=Foreign())
    assert made.rounds(ALPHA) == ROUNDS
    assert made.promise(ALPHA) == "stated"
    assert made.cautions(ALPHA) == ()


def test_an_alpha_that_a_sample_would_serve_is_refused_where_the_number_of_records_is_bought():
    """A sample of the polytope needs a public number of records."""
    made = case((COUNTS, LARGE), epsilon=10**7, bought=True, update=Median(members=10**4))
    assert made.promise(ALPHA) == "proved"
    with pytest.raises(InfeasiblePlan, match=r"--alpha 0\.02: --update median has no .* bound for so small an alpha"):
        made.rounds(Fraction(1, 50))


@in_one_test("epsilon", [3_000, 100_000])
def test_the_smallest_alpha_is_the_first_feasible_millionth(epsilon):
    made = case((COUNTS,), epsilon=epsilon, distinguisher=Exponential())
    found = made.chosen()
    assert (found * 10**6).denominator == 1
    assert made.needed(found) <= found
    assert made.needed(found - Fraction(1, 10**6)) > found - Fraction(1, 10**6)


def test_no_alpha_is_chosen_that_nothing_proves():
    made = case((COUNTS, LARGE), epsilon=10**7, distinguisher=Sure(), update=Median(members=200))
    found = made.chosen()
    assert made.promise(found) == "proved"
    lower = found - Fraction(1, 10**6)
    assert made.promise(lower) == "heuristic"
    assert made.feasible(lower)
    assert np.isfinite(made.needed(lower))
