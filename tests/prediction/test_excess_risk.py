"""The bound on the excess risk: by hand, against measured risks of a known population, and where there is none."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.prediction_tables import UNITS, counts, domain, online

from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.learners.gradient_steps import Steps
from dpqr.prediction.learners.losses import Logistic
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import PredictionProblem, Target, without
from dpqr.prediction.rates import OnlineError, excess_risk
from dpqr.prediction.recipes import Stability, StableRecipe

TABLE = domain(3, 2)
TARGET = Target(attribute=TABLE.attributes[1], axis=1, positive=1)
FEATURES = CellFeatures(domain=without(TABLE, TARGET))


def planned(recipe, relation=Neighbours.REPLACE, records=400):
    problem = PredictionProblem(domain=TABLE, target=TARGET, unit=UNITS[relation], records=records, points=1)
    budget = PrivacyBudget.parse("1")
    return least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[Basic()]))


def stable(name="svm", stability=None, **given):
    return StableRecipe(name=name, features=FEATURES, stability=stability or Stability(radius=Fraction(2)), **given)


def test_a_penaltys_parts_by_hand():
    """lambda R^2, G^2 / (lambda m), and Laplace noise of scale b = gamma / epsilon, which counts by b or 4 b^2."""
    plan = planned(stable())
    found, learner = excess_risk(plan, 400), plan.learner(400)
    penalty = float(learner.penalty)
    assert found.fitted == pytest.approx(4 * penalty)
    assert found.sample == pytest.approx(1 / (penalty * 400))
    scale = 1 / (penalty * 400)
    assert found.noise == pytest.approx(min(scale, 4 * scale**2), rel=0.03)
    assert found.total <= 2 * 2 / math.sqrt(400 / 2)  # 2 R G / sqrt(n eps / (1 + eps))
    assert (found.radius, found.assumed) == (2, False)


def test_a_descents_parts_by_hand():
    plan = planned(stable("logistic", Stability(), method="descent"))
    found, learner = excess_risk(plan, 400), plan.learner(400)
    reached, deviation = float(learner.reached), math.sqrt(2) * float(learner.bound)
    assert found.fitted == pytest.approx(20**2 / (2 * reached))
    assert found.sample == pytest.approx(2 * reached / 400)
    assert found.noise == pytest.approx(min(deviation / math.sqrt(2), deviation**2 / 8), rel=0.01)
    assert found.assumed


@pytest.mark.parametrize("relation", thinned(Neighbours, 2))
@pytest.mark.parametrize("parts", thinned([None, 5], 2))
@pytest.mark.parametrize("name", ["output", "descent"])
def test_measured_risks_stay_below_it(name, parts, relation):
    """A population of 3 x 2 cells; the mean over 40 samples of the risk, with the noise's own part added exactly."""
    drawn, shares = np.random.default_rng(6), np.array([[0.3, 0.1], [0.05, 0.25], [0.2, 0.1]])
    plan = planned(stable("logistic", Stability(radius=Fraction(3), parts=parts), method=name), relation)
    learner, loss, cells = plan.learner(400), Logistic(), FEATURES.of(np.arange(3)[:, None])

    def risk(weights):
        values = cells @ weights
        return sum(shares[:, label] @ loss.value(values, np.full(3, sign)) for label, sign in enumerate((-1.0, 1.0)))

    def sample():
        cell = drawn.multinomial(400, shares.ravel()).reshape(3, 2)
        if parts is None:
            return DenseHistogram(cell)
        return DenseHistogram(
            np.stack([drawn.multinomial(each, [1 / parts] * parts) for each in cell.ravel()]).reshape(3, 2, parts)
        )

    best = min(
        risk(weights) for weights in drawn.normal(size=(4000, FEATURES.width)) * 3 if np.linalg.norm(weights) <= 3
    )
    measured = np.mean([risk(learner.fit(sample())) for _ in range(40)]) - best
    found = excess_risk(plan, 400)
    assert measured <= found.fitted + found.sample
    assert found.total <= 2


def of_numbers(stability, relation=Neighbours.REPLACE, **given):
    numeric = replace(TARGET, attribute=Attribute(name="c1", axis=Bins(edges=(Fraction(0), Fraction(1), Fraction(2)))))
    problem = PredictionProblem(domain=TABLE, target=numeric, unit=UNITS[relation], records=4000, points=1)
    recipe = StableRecipe(name="least-squares", features=FEATURES, stability=stability, **given)
    budget = PrivacyBudget.parse("1")
    return least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[Basic()]))


@in_one_test("relation", Neighbours)
def test_the_parts_of_least_squares_by_hand(relation):
    """lambda R^2, 8 N(lambda) / m but for the largest leverage, and the noise's variance beside the solver's rest."""
    plan = of_numbers(Stability(radius=Fraction(1, 2)), relation)
    found, learner = excess_risk(plan, 4000), plan.learner(4000)
    penalty, width = float(learner.penalty), FEATURES.width
    assert found.fitted == pytest.approx(penalty / 4)
    assert found.sample == pytest.approx(8 * width / (1 + penalty * width) / 4000, rel=0.05)
    variance, rest = 2 * float(learner.bound) ** 2, 4 * float(learner.bound - learner.distance)
    assert found.noise == pytest.approx(variance + rest, rel=1e-3)
    assert found.least_epsilon == pytest.approx(math.sqrt(variance / (found.fitted + found.sample)), rel=1e-3)
    assert found.sign is None


def test_a_smoothness_has_its_constants_and_its_bound_is_above_the_least_loss_of_all():
    plan = of_numbers(Stability(decay=Fraction(2)), smoothness=Fraction(1, 4))
    found, penalty = excess_risk(plan, 4000), float(plan.learner(4000).penalty)
    assert penalty == pytest.approx(4000 ** -min(1, 2 / 2.5), rel=0.05)
    assert found.fitted == pytest.approx(0.25 * penalty**0.5 if penalty >= 0.5**4 else 0.25 * 0.25 + penalty)
    assert (found.radius, found.assumed, found.smoothness) == (Fraction(1, 2), True, Fraction(1, 4))


@in_one_test(("name", "power", "factor"), [("svm", 1, 8 / 7), ("logistic", 1 / 2, 2**0.5)])
def test_a_sign_errs_by_the_comparison_theorem(name, power, factor):
    found = excess_risk(planned(stable(name), records=10**5), 10**5)
    assert found.sign == pytest.approx(factor * found.total**power)


def test_there_is_none_for_ensembles_and_defaults():
    assert excess_risk(planned(Aggregate(features=FEATURES, base=RidgeBase(), parts=3)), 400) is None
    assert excess_risk(planned(stable(stability=Stability())), 400) is None
    assert excess_risk(planned(stable(stability=Stability(parts=4))), 400) is None


# The online learner's error: the bound against measured errors, its order, and the parts of its proof.

VECTORS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.8, 0.6]])
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
BEST = np.array([0.4, -0.3])
"""f_rho, of norm 1/2; targets are -1 or 1 with the mean that it has, so the noise is large."""


@pytest.mark.slow
@pytest.mark.parametrize("theta", ["3/5", "3/4", "9/10"])
@pytest.mark.parametrize("slots", [30, 300])
def test_measured_errors_stay_below_the_bound(theta, slots):
    drawn, stable = np.random.default_rng(8), online(VECTORS, slots, theta)
    squares = []
    for _ in range(12):
        places = drawn.choice(4, size=slots, p=SHARES)
        labels = (drawn.random(slots) < (1 + VECTORS[places] @ BEST) / 2).astype(int)
        weights = stable.fit(counts(np.stack([places, labels, np.arange(slots)], axis=1), (1000, 1000, 1000)))
        squares.append(SHARES @ np.square(VECTORS @ (weights - BEST)))
    for smoothness in (0.25, 0.5, 0.75, 1.0):
        error = OnlineError(steps=stable.steps, radius=norm(smoothness), smoothness=smoothness)
        assert np.mean(squares) <= error.after(slots)


def norm(smoothness):
    """Of g in L2, f_rho = L^r g: (b C^(1 - 2 r) b)^(1/2), C the mean of x x."""
    values, vectors = np.linalg.eigh(VECTORS.T @ (SHARES[:, None] * VECTORS))
    return float(np.sqrt((vectors.T @ BEST) ** 2 @ values ** (1 - 2 * smoothness)))


@pytest.mark.slow
@pytest.mark.parametrize(("theta", "smoothness"), [("3/5", 1.0), ("3/5", 0.25), ("3/4", 1.0), ("9/10", 0.25)])
def test_its_order_is_that_of_the_theory(theta, smoothness):
    """The exponent min(theta, 2 r (1 - theta)), but for the logarithm, between 10^9 and 10^12 records."""
    power = float(Fraction(theta))
    error = OnlineError(steps=Steps(theta=Fraction(theta)), radius=0.5, smoothness=smoothness)
    fallen = math.log(error.after(10**9) / error.after(10**12), 10) / 3
    assert fallen == pytest.approx(min(power, 2 * smoothness * (1 - power)), abs=0.09)
    times = [error.after(10**k) for k in range(1, 10)]
    assert times == sorted(times, reverse=True)


def test_few_steps_prove_little():
    assert OnlineError(steps=Steps(), radius=0.5).after(1) == 4
    assert OnlineError(steps=Steps(), radius=1000.0).after(10**5) == 4


@in_one_test("smoothness", [0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("theta", ["51/100", "3/4", "99/100"])
def test_the_path_of_penalties_moves_and_errs_no_more_than_is_proved(theta, smoothness):
    """All steps of it in each direction, as they are: s^r lambda / (s + lambda), and their sum of changes."""
    steps, slots, values = Steps(theta=Fraction(theta)), 3000, np.geomspace(1e-9, 1, 401)
    times = np.arange(slots + 1) + steps.start
    penalties = times ** (float(steps.theta) - 1)
    paths = values**smoothness * (penalties[:, None] / (values + penalties[:, None]))
    moved = np.abs(np.diff(paths, axis=0)).max(axis=1) * times[:-1]
    for last in (10, 300, 3000):
        real = paths[last].max() + moved[:last].sum() / times[last - 1]
        error = OnlineError(steps=steps, radius=1.0, smoothness=smoothness)
        assert real <= error._bias(times[last - 1]) * (1 + 1e-9)


def test_more_smoothness_than_one_is_as_good_as_one():
    smooth, most = (OnlineError(steps=Steps(), radius=0.5, smoothness=each) for each in (1.0, 3.0))
    assert smooth.after(1000) == most.after(1000)


@in_one_test("theta", ["51/100", "3/4", "99/100"])
def test_the_steps_noise_is_not_below_the_sum_that_it_bounds(theta):
    """sum_i eta_i^2 ((i + t0) / N)^2 min(1, 1 / (2 e S_i)), with the sums S_i as they are."""
    steps = Steps(theta=Fraction(theta))
    error, power = OnlineError(steps=steps, radius=0.5), float(Fraction(theta))
    for slots in (1, 2, 10, 1000):
        sizes = (np.arange(slots) + steps.start) ** -power
        later = np.append(np.cumsum(sizes[::-1])[::-1][1:], 0.0)
        kept = np.minimum(1.0, 1 / (2 * math.e * np.maximum(later, 1e-300)))
        last = slots - 1 + steps.start
        exact = np.sum(sizes**2 * ((np.arange(slots) + steps.start) / last) ** 2 * kept)
        assert exact <= error._noise(last)
