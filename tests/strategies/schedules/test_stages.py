"""Stages: their prices, their shares of beta, and what is certain, worked out apart."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from support.cases import in_one_test
from support.staged_runs import NET, REPLACE, N, planned, roles, stated

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.schedules.anytime import Stages
from dpqr.strategies.updates.perceptron import Perceptron


def stages(problem=None, *, epsilon=1, **who):
    asked = problem or stated()
    played = roles(**who)
    (whole,) = played.cut(PrivacyBudget(Fraction(epsilon)), [Portion(share=Fraction(1), count=1)])
    return Stages.of(asked, whole, played, asked.n or N)


def test_alphas_fall_by_a_fifth_from_a_half():
    alphas = stages().alphas
    assert alphas[:3] == (Fraction(1, 2), Fraction(2, 5), Fraction(8, 25))
    assert all(later == earlier * Fraction(4, 5) for earlier, later in pairwise(alphas))


@in_one_test(("asked", "last"), [(Fraction(9, 10), 1), (Fraction(2, 5), 2), (Fraction(3, 10), 4)])
def test_a_stated_alpha_is_the_last(asked, last):
    alphas = stages(stated(alpha=asked)).alphas
    assert (len(alphas), alphas[-1]) == (last, asked)


@in_one_test("problem", [stated(), stated(unit=PrivacyUnit(), n=None)])
def test_all_shares_of_beta_add_up_to_less_than_beta(problem):
    """Two draws in each of any number of rounds of every stage, and a bought count."""
    made = stages(problem)
    each = sum(2 * made.gamma(turn) for turn in range(1, 2**10))
    bought = 0 if problem.n else problem.beta / 20
    assert Fraction(9, 10) * problem.beta < len(made.alphas) * each + bought < problem.beta


def test_a_round_costs_the_least_that_keeps_both_tails_within_an_eighth_of_alpha():
    made, number, turn = stages(), 6, 5
    room, gamma = float(made.alphas[number]) * N / 8, float(made.gamma(turn))
    select, measure = map(float, made.prices(number, turn))
    assert select == pytest.approx(2 / (room - 1) * math.log(12 / gamma), rel=0.011)
    assert measure == pytest.approx(math.log(1 / gamma) / room, rel=0.02)
    assert 2 / select * math.log(12 / gamma) + 1 <= room


def test_prices_have_three_digits_and_rise_within_a_stage():
    made = stages()
    for turn in (1, 2, 300):
        for part in made.prices(3, turn):
            assert len(str(part.numerator).rstrip("0")) <= 6
            assert float(f"{float(part):.3g}") == pytest.approx(float(part), rel=1e-12)
    first, second, later = (sum(made.prices(3, turn)) for turn in (1, 2, 300))
    assert first < second < later
    assert made.prices(3, 2) == made.prices(3, 3)


@pytest.mark.slow
def test_the_level_is_the_gap_that_is_sure():
    exact, declared = stages(stated(unit=REPLACE)), stages(stated(unit=PrivacyUnit()))
    assert exact.stage(0).level.value == Fraction(5, 16)
    assert declared.stage(0).level.value == Fraction(1, 4)
    assert exact.stage(2).threshold == Fraction(3, 4) * exact.alphas[2] * N
    assert exact.stage(2).clear == Fraction(5, 8) * exact.alphas[2] * N
    assert exact.stage(2).finest == exact.level(exact.alphas[-1])


@pytest.mark.slow
@pytest.mark.parametrize("update", [None, Perceptron(), NET])
def test_certain_is_what_the_dearest_run_can_pay(update):
    """Any run: updates u_k with sum u_k / (T_k + 1) at most 1, and one round more a stage; here the dearest of those
    that put all updates into one stage, and of some that share them."""
    made = stages(epsilon=20, update=update)
    certain = made.alphas.index(made.certain())
    most = [made._most_updates(number) for number in range(certain + 1)]

    def cost(shares):
        rounds = [int(share * (bound + 1)) + 1 for share, bound in zip(shares, most, strict=True)]
        return sum(made._cost(number, count) for number, count in enumerate(rounds))

    alone = [[float(place == number) * 0.999 for place in range(certain + 1)] for number in range(certain + 1)]
    shared = [0.999 / (certain + 1)] * (certain + 1)
    assert max(map(cost, [*alone, shared])) <= 1
    assert made.certain() in planned(epsilon=20, update=update).stop.stages


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 20])
@pytest.mark.parametrize("update", [None, Perceptron(), NET])
def test_certain_pays_the_last_rounds_of_all_stages(update, epsilon):
    """max C_k + sum C_k / (T_k + 1) over the stages to the certain one fit the budget; with one more they do not."""
    made = stages(epsilon=epsilon, update=update)
    certain, costs, rounds = made.certain(), [], []
    for number, alpha in enumerate(made.alphas):
        most = made._most_updates(number)
        cost = None if most is None else made._cost(number, most + 1)
        if cost is None:
            break
        costs.append(cost)
        rounds.append(most + 1)
        fits = max(costs) + sum(map(Fraction.__truediv__, costs, map(Fraction, rounds))) <= made.spendable
        assert fits == (certain is not None and alpha >= certain)


class Bare:
    """A third party's rule, with a bound for one level."""

    name = "bare"

    def mistakes(self, problem, level):
        return 5


@pytest.mark.slow
def test_nothing_is_certain_of_a_rule_whose_bound_is_not_carried():
    assert stages(epsilon=20, update=Perceptron()).certain() is not None
    assert stages(epsilon=20, update=Bare()).certain() is None
