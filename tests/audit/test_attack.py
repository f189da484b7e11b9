"""The attack on mechanisms whose loss is known: never above it but for the stated alarm, and near it with many runs.

Limits against the equation that defines them, in 40 digits, and against how often they really hold.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import beta, binom
from support.cases import in_one_test, slow_but, thinned

from dpqr.audit.attack import Joint, NaiveBayesView, attack, lower_limits, proved_by, strongest, upper_limits, views
from dpqr.audit.case import Claim, Outcomes
from dpqr.kernel.values import replace

EPSILON = Fraction(1)
CLAIM = Claim(epsilon=EPSILON)
TRUTH = 1 / (1 + np.exp(-1.0))


def seen(column):
    empty = np.zeros((len(column), 0), dtype=np.int64)
    return Outcomes(context=empty, measured=np.asarray(column, dtype=np.int64)[:, None], derived=empty)


def responses(generator, runs):
    """Randomised response to a bit that is set, and to one that is not: the claim is attained in both directions."""
    one, two = generator.random((2, runs))
    return seen(one < TRUTH), seen(two >= TRUTH)


def test_the_bound_comes_near_the_truth_and_stays_below():
    loss = attack(*responses(np.random.default_rng(1), 200_000), CLAIM, 1e-6)
    assert 0.95 < loss.share <= 1.0
    assert loss.epsilon == pytest.approx(loss.share)
    assert not loss.breach
    assert loss.rho is None


def test_a_claim_that_is_too_small_is_refuted():
    loss = attack(*responses(np.random.default_rng(2), 20_000), Claim(epsilon=Fraction(4, 5)), 1e-6)
    assert loss.breach


@pytest.mark.slow
@pytest.mark.parametrize("alarm", [0.1, 0.5])
def test_false_alarms_are_no_more_frequent_than_they_may_be(alarm):
    """At loose alarms, where frequencies can be seen: in 400 attacks on a claim that is attained."""
    generator = np.random.default_rng(3)
    alarms = sum(attack(*responses(generator, 400), CLAIM, alarm).breach for _ in range(400))
    assert binom.sf(alarms - 1, 400, alarm) > 1e-9


@pytest.mark.slow
def test_nothing_is_found_between_equals_with_many_outcomes():
    """The runs that chose an event always seem to refute; fresh ones do not."""
    generator = np.random.default_rng(4)
    claim = Claim(epsilon=Fraction(1, 1000))
    fooled = 0
    for _ in range(100):
        one, two = (seen(generator.integers(0, 40, 400)) for _ in range(2))
        assert not attack(one, two, claim, 1e-3).breach
        event = strongest(*(each.halves()[0] for each in (one, two)), claim, 0.05)
        fooled += proved_by(event, *(each.halves()[0] for each in (one, two)), claim, 0.05).breach
    assert fooled > 10


def test_delta_is_granted_before_the_ratio_is_taken():
    """A mechanism that tells all with probability 1/20 and nothing otherwise is (0, 1/20)-DP."""
    generator = np.random.default_rng(5)
    told = generator.random((2, 50_000)) < 0.05
    one, two = seen(np.where(told[0], 1, 0)), seen(np.where(told[1], -1, 0))
    assert not attack(one, two, Claim(epsilon=Fraction(1, 100), delta=Fraction(1, 20)), 1e-6).breach
    assert attack(one, two, Claim(epsilon=Fraction(1, 100), delta=Fraction(1, 25)), 1e-6).breach


def test_a_rho_is_refuted_where_its_epsilon_at_delta_is_not():
    one, two = responses(np.random.default_rng(6), 40_000)
    loose = Claim(epsilon=Fraction(10), delta=Fraction(1, 100), rho=Fraction(1, 3))
    assert attack(one, two, loose, 1e-6).breach
    exact = replace(loose, rho=EPSILON**2 / 2)
    assert not attack(one, two, exact, 1e-6).breach


CASES = [(1, 10), (7, 10), (9, 10), (3, 1_500), (375, 1_500), (1_499, 1_500), (12, 50_000), (30_000, 50_000)]
ALPHAS = [1e-9, 1e-4, 0.05]


def tail(runs: int, hits: int, probability: float) -> mpmath.mpf:
    """Pr[Binomial(runs, probability) >= hits], summed from the side with fewer terms."""
    with mpmath.workdps(40):
        p = mpmath.mpf(float(probability))
        few = range(hits, runs + 1) if runs - hits < hits else range(hits)
        mass = mpmath.fsum(mpmath.binomial(runs, k) * p**k * (1 - p) ** (runs - k) for k in few)
        return mass if runs - hits < hits else 1 - mass


@pytest.mark.parametrize("alpha", thinned(ALPHAS, 3))
@pytest.mark.parametrize(("hits", "runs"), slow_but({0}, [case for case in CASES if case[1] <= 1_500]))
def test_the_limits_solve_their_equations(hits, runs, alpha):
    low, high = lower_limits(np.array([hits]), runs, alpha)[0], upper_limits(np.array([hits]), runs, alpha)[0]
    assert tail(runs, hits, low) <= alpha < tail(runs, hits, low * (1 + 1e-6))
    assert 1 - tail(runs, hits + 1, high) <= alpha < 1 - tail(runs, hits + 1, high * (1 - 1e-6))


@in_one_test("alpha", ALPHAS)
def test_the_limits_are_quantiles_of_beta_laws(alpha):
    hits, runs = np.array([hits for hits, _ in CASES[-2:]]), 50_000
    assert lower_limits(hits, runs, alpha) == pytest.approx(beta.ppf(alpha, hits, runs - hits + 1), rel=1e-7)
    assert upper_limits(hits, runs, alpha) == pytest.approx(beta.isf(alpha, hits + 1, runs - hits), rel=1e-7)


def test_nothing_and_everything():
    assert lower_limits(np.array([0]), 50, 0.01).tolist() == [0.0]
    assert upper_limits(np.array([50]), 50, 0.01).tolist() == [1.0]
    assert upper_limits(np.array([0]), 50, 0.01)[0] == pytest.approx(1 - 0.01 ** (1 / 50))
    assert lower_limits(np.array([50]), 50, 0.01)[0] == pytest.approx(0.01 ** (1 / 50))


@in_one_test("probability", [0.003, 0.2, 0.5, 0.97])
def test_each_limit_fails_no_more_often_than_it_says(probability):
    runs, alpha, hits = 300, 0.03, np.arange(301)
    weights = binom.pmf(hits, runs, probability)
    assert weights[lower_limits(hits, runs, alpha) > probability].sum() <= alpha
    assert weights[upper_limits(hits, runs, alpha) < probability].sum() <= alpha


RUNS = 4_000


def outcomes(context=None, measured=None, derived=None):
    parts = [part for part in (context, measured, derived) if part is not None]
    empty = np.zeros((len(parts[0]), 0), dtype=np.int64)
    context, measured, derived = (empty if part is None else part for part in (context, measured, derived))
    return Outcomes(context=context, measured=measured, derived=derived)


def separated(one, two):
    """The largest difference of probabilities that any view's scores show on runs that it was not learned from."""
    (learn, here), (against, there) = (outcomes(**part).halves() for part in (one, two))
    largest = 0.0
    for view in views(learn, against):
        scores = view(here), view(there)
        for threshold in np.unique(scores[0]):
            largest = max(largest, (scores[0] >= threshold).mean() - (scores[1] >= threshold).mean())
    return largest


@pytest.fixture
def fair():
    return np.random.default_rng(11)


def test_the_joint_view_is_the_log_ratio_of_whole_outcomes():
    one = outcomes(measured=np.array([[0, 1]] * 7 + [[1, 0]] * 2))
    two = outcomes(measured=np.array([[0, 1]] * 3 + [[1, 1]] * 6))
    scores = Joint.learned(one, two)(outcomes(measured=np.array([[0, 1], [1, 0], [1, 1], [5, 5]])))
    assert scores == pytest.approx([np.log(8 / 4), np.log(3 / 1), np.log(1 / 7), 0.0])


def test_evidence_adds_up_over_independent_numbers(fair):
    one = (fair.random((RUNS, 12)) < 0.6).astype(np.int64)
    two = (fair.random((RUNS, 12)) < 0.4).astype(np.int64)
    scores = NaiveBayesView.learned(outcomes(measured=one), outcomes(measured=two))(
        outcomes(measured=np.eye(12, dtype=int))
    )
    assert scores == pytest.approx(np.full(12, -10 * np.log(1.5)), abs=1.0)


def test_evidence_reads_numbers_in_their_context(fair):
    """The same number speaks for one database after one choice, and against it after the other."""
    choices = fair.integers(0, 2, (RUNS, 1))
    coins = (fair.random((RUNS, 1)) < 0.8).astype(np.int64)
    one = {"context": choices, "measured": coins ^ choices}
    two = {"context": choices, "measured": 1 - coins ^ choices}
    evidence = NaiveBayesView.learned(outcomes(**one), outcomes(**two))
    asked = outcomes(context=np.array([[0], [1]]), measured=np.array([[1], [1]]))
    assert np.sign(evidence(asked)).tolist() == [1, -1]


def test_noise_that_cancels_is_seen(fair):
    noise = fair.integers(-1000, 1000, (RUNS, 1))
    assert separated({"measured": np.add(noise, [1, 0])}, {"measured": np.add(noise[::-1], [0, 0])}) == 1.0


def test_a_total_that_stands_beside_the_noise_is_seen(fair):
    one, two = fair.integers(-50, 50, (2, RUNS, 1))
    here, there = np.full((RUNS, 1), 12), np.full((RUNS, 1), 13)
    assert separated({"measured": one, "derived": here}, {"measured": two, "derived": there}) == 1.0


def test_a_context_of_no_columns_and_a_column_of_many_values(fair):
    one, two = fair.integers(0, 10**6, (2, RUNS, 1))
    # Two empirical laws of 2,000 runs, each off by 0.075 with probability 2 exp(-2 x 2000 x 0.075^2) < 4e-10 (DKW)
    assert separated({"measured": one + 500_000}, {"measured": two}) == pytest.approx(0.5, abs=0.15)
