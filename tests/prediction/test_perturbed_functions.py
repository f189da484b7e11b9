"""Objective perturbation: the loss of privacy against densities worked out anew, and the event of what is drawn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from support.cases import in_one_test, slow_but, slowly, thinned
from support.prediction_tables import UNITS, counts, examples

from dpqr.kernel.accountants.analytic import Analytic, free_curvature, smallest
from dpqr.kernel.accountants.losses import concentrated_rho, log_above, pure_epsilon
from dpqr.kernel.events import GaussianObjectiveEvent
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.prediction.learned_functions import FINENESS, round_to_grid, weights_sensitivity
from dpqr.prediction.learners.losses import ExactHinge, ExactPinball, Hinge, Logistic, Pinball, Tapered, TaperedCorner
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.perturbation import SENSITIVITY, GaussianPerturbedWeights, PerturbedWeights, nearest

SIGNS = [-1.0, 1.0]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]
ROWS = [(0, 1), (1, 0), (2, 1), (2, 1)]


def learner(strength=1, relation=Neighbours.ADD_REMOVE, vectors=VECTORS, unit=None):
    return PerturbedLearner(
        examples=examples(vectors, SIGNS), loss=Logistic(), strength=Fraction(strength), unit=unit or UNITS[relation]
    )


def density(rows, strength, scale, point):
    """log density of the minimiser at a point: that of the pull which leads there, times the determinant."""
    gradient, curved = strength * point, strength * np.eye(2)
    for vector, sign in rows:
        x, y = np.array(VECTORS[vector]), SIGNS[sign]
        share = 1 / (1 + math.exp(y * (x @ point)))
        gradient = gradient - y * share * x
        curved = curved + share * (1 - share) * np.outer(x, x)
    return -np.linalg.norm(gradient) / scale + math.log(np.linalg.det(curved))


@pytest.mark.slow
@in_one_test(
    ("relation", "one", "two"),
    [
        (Neighbours.ADD_REMOVE, ROWS, ROWS[:-1]),
        (Neighbours.ADD_REMOVE, [(0, 1)], []),
        (Neighbours.REPLACE, [(0, 1)], [(0, 0)]),
        (Neighbours.REPLACE, [*ROWS, (0, 1)], [*ROWS, (1, 1)]),
    ],
)
@pytest.mark.parametrize("strength", [0.25, 2])
def test_no_density_ratio_exceeds_the_stated_loss(relation, one, two, strength):
    """Both directions, on a grid and far out; and the loss comes within 15% of it somewhere."""
    scale, drawn = 1.0, np.random.default_rng(0)
    given = learner(strength, relation)
    stated = float(given.gradient) / scale + given.units * math.log1p(0.25 / strength)
    assert stated <= float(given.gradient) / scale + given.units * float(log_above(given.curvature))
    worst = 0.0
    for size in (0.1, 1, 10, 100):
        for point in size * drawn.normal(size=(100, 2)):
            worst = max(worst, abs(density(one, strength, scale, point) - density(two, strength, scale, point)))
    assert worst <= stated


def test_the_loss_is_nearly_reached_by_one_row():
    """At 0 curvature is largest and the gradient half of its bound; far out the gradient is full: the pull's part."""
    far = np.array([-30.0, 0.0])
    moved = abs(density([(0, 1)], 2, 1.0, far) - density([], 2, 1.0, far))
    assert moved == pytest.approx(1, abs=1e-6)
    stated = 1 + math.log1p(1 / 8)
    assert moved >= 0.85 * stated


@in_one_test("rows", [1, 3])
@pytest.mark.parametrize("relation", Neighbours)
def test_the_event_is_what_is_drawn(relation, rows):
    unit = PrivacyUnit(neighbours=relation, **({"columns": ("p",), "rows": rows} if rows > 1 else {}))
    given = learner(2, unit=unit)
    weights = PerturbedWeights(learner=given, scale=Fraction(SENSITIVITY) * 3, closing=Fraction(2**20 * 100))
    gradients = rows * (2 if relation is Neighbours.REPLACE else 1)
    assert given.gradient == gradients
    assert (weights.event.units, weights.event.coordinates) == (rows, 2)
    assert float(weights.event.curvature) == pytest.approx(1 / 8)
    expected = 1 / 3 + rows * math.log1p(1 / 8) + (2**20 + 3) / (2**20 * 100)
    assert float(pure_epsilon(weights.event)) == pytest.approx(expected, rel=1e-3)
    assert float(pure_epsilon(weights.event)) >= expected
    half_a_step = gradients / FINENESS / 2 * math.sqrt(2) / 2
    assert float(weights.wrong) >= float(given.tolerance) + half_a_step
    assert weights.grid == pytest.approx(2 * float(weights.wrong) / FINENESS)


def logistic(target, points):
    """Slope and second derivative, worked out anew."""
    share = expit(-target * points)
    return -target * share, share * (1 - share)


def hinge(target, points):
    short = np.clip((1 + WIDTH - target * points) / (2 * WIDTH), 0, 1)
    return -target * short, (np.abs(1 - target * points) < WIDTH) / (2 * WIDTH)


def pinball(tau):
    def sides(target, points):
        below = np.clip((points - target + WIDTH) / (2 * WIDTH), 0, 1)
        return below - tau, (np.abs(target - points) < WIDTH) / (2 * WIDTH)

    return sides


def tapered(tau, classifies=False):
    """Of a quantile, or of the hinge."""

    def sides(target, points):
        sign = target if classifies else 1
        share = expit((1 - target * points if classifies else target - points) / WIDTH)
        return -sign * (share if classifies else tau - 1 + share), share * (1 - share) / WIDTH

    corner = ExactHinge() if classifies else ExactPinball(tau=Fraction(tau))
    return sides, TaperedCorner(corner=corner, width=Fraction(WIDTH))


WIDTH = 0.25
CORNERS = np.array([-2.0, -1, 0, 1, 2])
SIDED = {
    "logistic": (logistic, Logistic()),
    "hinge": (hinge, Hinge(width=Fraction(WIDTH))),
    "median": (pinball(0.5), Pinball(width=Fraction(WIDTH))),
    "quantile": (pinball(0.8), Pinball(tau=Fraction(4, 5), width=Fraction(WIDTH))),
    "tapered hinge": tapered(0, classifies=True),
    "tapered median": tapered(0.5),
    "tapered quantile": tapered(0.875),
}


def pulls(signs, strength, points, sides=logistic):
    """The pull whose minimiser is each point, for rows of one feature, 1, and these targets, and -its derivative."""
    targets, times = np.unique(signs, return_counts=True) if signs else ((), ())
    slopes, curved = float(strength) * points, np.full(len(points), float(strength))
    for sign, count in zip(targets, times, strict=True):
        slope, second = sides(sign, points)
        slopes, curved = slopes + count * slope, curved + count * second
    return -slopes, curved


def laws(one, two, strength, deviation, sides=logistic):
    """Log masses of the exact minimisers of two tables, on cells of which each has a two-hundredth of a deviation
    of one of their pulls at most; no corner of a slope lies within one."""
    far = (14 * deviation + max(len(one), len(two))) / float(strength)
    coarse = np.linspace(-far, far, 40_001)
    wanted = np.linspace(-12, 12, 4_801) * deviation
    found = [np.interp(-wanted, -pulls(table, strength, coarse, sides)[0], coarse) for table in (one, two)]
    ends = np.sort(np.concatenate([*found, CORNERS - WIDTH, CORNERS + WIDTH]))
    points, widths = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    points, widths = points[widths > 0], widths[widths > 0]
    for table in (one, two):
        pull, curved = pulls(table, strength, points, sides)
        yield norm.logpdf(pull, scale=deviation) + np.log(curved) + np.log(widths)


def event_of(strength, deviation, changes, loss=SIDED["logistic"][1]):
    return GaussianObjectiveEvent(
        squared_sensitivity=1,
        variance=(Fraction(deviation) / loss.lipschitz) ** 2,
        changes=changes,
        curvature=loss.smoothness / Fraction(strength),
        closing=Fraction(1, 10**9),
        opposite=loss.opposite / loss.lipschitz,
        tapered=isinstance(loss, Tapered),
    )


def delta_at(one, two, epsilon):
    return float(np.maximum(np.exp(one) - np.exp(epsilon + two), 0).sum())


def exact_delta(one, two, strength, deviation, epsilon, sides=logistic):
    """The larger of both directions, for the exact minimisers."""
    here, there = laws(one, two, strength, deviation, sides)
    return max(delta_at(here, there, epsilon), delta_at(there, here, epsilon))


PAIRS = [
    (1, [], [1]),
    (1, [1, -1, 1], [1, -1, 1, -1]),
    (1, [1] * 12, [1] * 13),
    (2, [1], [-1]),
    (2, [-1, 1], [-1, -1]),
    (3, [], [1, 1, 1]),
]


@pytest.mark.parametrize("name", thinned(SIDED, 7))
@pytest.mark.parametrize(("changes", "one", "two"), slow_but({0}, PAIRS))
@pytest.mark.parametrize(("strength", "deviation"), slow_but({0}, [(0.25, 1), (8, 2)]))
def test_no_exact_delta_of_a_normal_pull_exceeds_the_curve(name, changes, one, two, strength, deviation):
    """At the epsilon that is stated for each delta the exact one, by quadrature, is at most that."""
    sides, loss = SIDED[name]
    for delta in (Fraction(1, 10), Fraction(1, 10**6)):
        epsilon = Analytic().epsilon(((event_of(strength, deviation, changes, loss), 1),), delta)
        assert exact_delta(one, two, strength, deviation, float(epsilon), sides) <= float(delta) * (1 + 1e-5)


FREE = {name: SIDED[name] for name in ("logistic", "tapered hinge", "tapered median", "tapered quantile")}
TABLES = ([], [1] * 5, [-1] * 5, [-1, 1] * 50, [-1] * 3000)
ROUGHLY = 1 + 1e-3
"""Covers the quadrature."""


def shares(sides, loss, curvature, deviation, delta, claims):
    """The exact delta of each pair over the stated one, for a strength that makes the curvature this one."""
    strength = loss.smoothness / Fraction(curvature)
    event = replace(event_of(strength, deviation, 1, loss), tapered=claims)
    epsilon = float(Analytic().epsilon(((event, 1),), delta))
    for table in TABLES:
        for target in (-1, 1):
            yield exact_delta(table, [*table, target], strength, float(deviation), epsilon, sides) / float(delta)


@pytest.mark.parametrize("name", thinned(FREE, 4))
@pytest.mark.parametrize("deviation", [Fraction(1), *slowly(Fraction(1, 2), Fraction(2))])
@pytest.mark.parametrize("delta", thinned([Fraction(1, 10), Fraction(1, 10**6)], 2))
def test_a_tapered_loss_pays_nothing_for_the_largest_curvature_that_is_free(name, deviation, delta):
    sides, loss = FREE[name]
    opposite, rho = loss.opposite / loss.lipschitz, (loss.lipschitz / deviation) ** 2 / 2
    pull = smallest(rho, delta, 1, opposite)
    curvature = free_curvature(pull, rho, opposite)
    event = event_of(loss.smoothness / curvature, deviation, 1, loss)
    assert Analytic().epsilon(((event, 1),), delta) == pull + event.closing
    for many in (1, 2, 6):
        assert max(shares(sides, loss, curvature * many, deviation, delta, claims=True)) <= ROUGHLY


def test_a_corner_that_does_not_taper_pays_for_its_curvature():
    """As if it tapered it would have 17 times the stated delta."""
    delta, deviation, rho = Fraction(1, 10**6), Fraction(1), Fraction(1, 8)
    sides, loss = SIDED["median"]
    free = free_curvature(smallest(rho, delta, 1, Fraction(1)), rho, Fraction(1))
    assert max(shares(sides, loss, free, deviation, delta, claims=False)) <= ROUGHLY
    assert max(shares(sides, loss, free, deviation, delta, claims=True)) > 10


def test_a_tapered_loss_pays_for_more_curvature_than_is_free():
    """Without that an empty table and one of a record would have more than the stated delta."""
    delta, deviation = Fraction(1, 10), Fraction(2)
    sides, loss = SIDED["tapered hinge"]
    free = free_curvature(smallest(Fraction(1, 8), delta, 1), Fraction(1, 8), Fraction(0))
    events = [event_of(loss.smoothness / (free * many), deviation, 1, loss) for many in (1, 2, 50)]
    least, more, most = (Analytic().epsilon(((event, 1),), delta) for event in events)
    assert least < more < most
    laid = tuple(laws([], [1], loss.smoothness / (free * 50), float(deviation), sides))
    found = [max(delta_at(*laid, float(each)), delta_at(*laid[::-1], float(each))) for each in (least, most)]
    assert found[0] > 1.1 * float(delta)
    assert found[1] <= float(delta)


@in_one_test("sign", [-1, 1])
def test_both_ends_of_the_slope_of_a_median_are_nearly_reached(sign):
    """Strongly pulled from between two crowds, one record's slope is full on either side: forgetting the other one's
    curve, or half of the deviation, has more than the stated delta."""
    sides, loss = SIDED["median"]
    crowd, delta = [-1] * 20_000 + [1] * 20_000, Fraction(1, 10**6)
    stated = event_of(16, 2, 1, loss)

    def share(event, drawn):
        epsilon = Analytic().epsilon(((event, 1),), delta) - log_above(stated.curvature)
        return exact_delta(crowd, [*crowd, 0], 16, drawn, float(epsilon), sides) / float(delta)

    assert share(stated, 2) <= 1
    assert share(stated, 1) > 100
    assert share(stated, 2) > 0.9
    assert share(replace(stated, opposite=Fraction(0)), 2) > 1.8


def test_the_curve_of_one_record_is_nearly_reached_and_faults_are_refuted():
    """Many rows make the new one's slope full. A pull of half the deviation, and one whose curvature is forgotten, have
    more than the stated delta."""

    def share(one, two, strength, drawn, stated, spared=0):
        epsilon = Analytic().epsilon(((event_of(strength, stated, 1), 1),), Fraction(1, 1000))
        return 1000 * exact_delta(one, two, strength, drawn, float(epsilon - spared))

    crowd = [1] * 40_000
    assert 0.9 < share(crowd, [*crowd, -1], 16, 1, 1) <= 1
    assert share(crowd, [*crowd, -1], 16, 0.5, 1) > 9
    few = Fraction(3, 100)
    assert share([], [1], few, 3, 3) <= 1
    assert share([], [1], few, 3, 3, spared=log_above(event_of(few, 3, 1).curvature)) > 9


@pytest.mark.slow
@in_one_test("name", SIDED)
@pytest.mark.parametrize(("changes", "one", "two"), PAIRS)
@pytest.mark.parametrize(("strength", "deviation"), [(0.25, 1), (8, 2)])
def test_no_exact_divergence_of_a_normal_pull_exceeds_its_rho(name, changes, one, two, strength, deviation):
    sides, loss = SIDED[name]
    rho = float(concentrated_rho(event_of(strength, deviation, changes, loss)))
    one, two = laws(one, two, strength, deviation, sides)
    for here, there in ((one, two), (two, one)):
        for order in (1.001, 1.5, 2, 5):
            found = np.logaddexp.reduce(order * here + (1 - order) * there) / (order - 1)
            assert found <= order * rho + 1e-6


@pytest.mark.parametrize("rows", thinned([1, 3], 2))
@pytest.mark.parametrize("relation", thinned(Neighbours, 2))
def test_the_event_of_a_normal_pull_is_what_is_drawn(relation, rows):
    unit = PrivacyUnit(neighbours=relation, **({"columns": ("p",), "rows": rows} if rows > 1 else {}))
    given, variance = learner(2, unit=unit), Fraction(SENSITIVITY**2) * 9
    weights = GaussianPerturbedWeights(learner=given, variance=variance, closing=Fraction(2**20 * 100))
    changes = rows * (2 if relation is Neighbours.REPLACE else 1)
    assert weights.event.tapered
    assert (weights.event.changes, weights.event.variance, weights.unit) == (changes, variance, 1)
    assert weights.event.squared_sensitivity == SENSITIVITY**2
    assert float(weights.event.curvature) == pytest.approx(1 / 8)
    paid = changes * log_above(weights.event.curvature) if changes > 1 else 0
    stated = smallest(Fraction(1, 18), Fraction(1, 1000), changes) + paid
    found = Analytic().epsilon(((weights.event, 1),), Fraction(1, 1000))
    assert float(found) == pytest.approx(float(stated) + (2**20 + 3) / (2**20 * 100), rel=1e-9)
    assert weights.grid == pytest.approx(2 * float(weights.wrong) / FINENESS)
    one = Fraction(1, 18) + weights.event.curvature
    assert concentrated_rho(weights.event) == changes**2 * one + weights.event.closing**2 / 2


def test_the_normal_pull_has_its_variance():
    """Without rows the function is -pull / strength: 200 seeded weights."""
    weights = GaussianPerturbedWeights(
        learner=learner(2), variance=Fraction(SENSITIVITY**2) * 9, closing=Fraction(2**26)
    )
    source = SeededNoise(1)
    drawn = [weights.sample(counts([]), source) * weights.grid for _ in range(100)]
    assert np.std(drawn) == pytest.approx(3 / 2, rel=0.2)


def steps_apart(one, two):
    """In L2, squared; exact."""
    return sum((a - b) ** 2 for a, b in zip(one.tolist(), two.tolist(), strict=True))


def closed(width, epsilon, records_strength=1):
    """Weights of so many features, whose pull costs `epsilon`."""
    given = learner(records_strength, vectors=np.eye(1, width).tolist())
    return PerturbedWeights(learner=given, scale=Fraction(SENSITIVITY) / Fraction(epsilon), closing=Fraction(2**30))


def far_apart(weights, seed, far, rounds):
    """Weights of two neighbours as large as the pull makes them and 2 r apart: of 60 draws of each coordinate the one
    that this rounding moves furthest, in grid steps, beyond how far it is. The first coordinate takes what is left."""
    drawn, width, grid = np.random.default_rng(seed), weights.learner.width, weights.grid
    signs, sizes = drawn.choice([-1, 1], size=(60, width)), drawn.uniform(0.75, 1.2, size=(60, width))
    tried = signs * sizes * far / np.sqrt(width)
    other = tried + 2 * float(weights.wrong) / np.sqrt(width) * (1 - 2.0**-13)
    moved = (rounds(other.ravel(), grid) - rounds(tried.ravel(), grid)).reshape(tried.shape)
    best = (moved - (other - tried) / grid).argmax(axis=0), np.arange(width)
    one, two = tried[best], other[best]
    left = float((2 * weights.wrong) ** 2) - float(((two - one)[1:] ** 2).sum())
    two[0] = one[0] + np.sqrt(left) * (1 - 2.0**-10)
    return one, two


def distance_squared(one, two):
    return sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(one.tolist(), two.tolist(), strict=True))


WIDTHS = [(1, 1), (64, 1), (4096, 1), (4096, Fraction(1, 1000)), (4096, Fraction(1, 50_000))]


def usual_length(weights):
    """Of the minimiser, where the pull is what it is on average: width times its scale."""
    pull = float(weights.scale) * weights.learner.width * float(weights.unit) / FINENESS
    return pull / float(weights.learner.strength)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "epsilon"), WIDTHS)
@pytest.mark.parametrize("rounds", [nearest, round_to_grid], ids=["worst for it", "worst for doubles"])
def test_weights_within_the_stated_distance_are_within_the_sensitivity_on_their_grid(width, epsilon, rounds):
    weights = closed(width, epsilon)
    one, two = far_apart(weights, 0, usual_length(weights), rounds)
    assert distance_squared(one, two) <= (2 * weights.wrong) ** 2
    apart = steps_apart(nearest(one, weights.grid), nearest(two, weights.grid))
    assert apart <= weights_sensitivity(width) ** 2


def test_division_in_doubles_exceeds_the_sensitivity():
    """A broken build, which 0.10.0 was: the quotient's own rounding was in no bound."""
    weights = closed(4096, Fraction(1, 50_000))
    one, two = far_apart(weights, 0, usual_length(weights), round_to_grid)
    assert distance_squared(one, two) <= (2 * weights.wrong) ** 2
    assert (
        steps_apart(round_to_grid(one, weights.grid), round_to_grid(two, weights.grid)) > weights_sensitivity(4096) ** 2
    )


def test_the_nearest_multiple_is_exact_and_wraps_around_as_sums_do():
    drawn = np.random.default_rng(3)
    for size in (1.0, 2.0**40, 2.0**62):
        values, grid = drawn.normal(size=50) * size, float(drawn.uniform(0.5, 1))
        for value, found in zip(values.tolist(), nearest(values, grid).tolist(), strict=True):
            exact = Fraction(value) / Fraction(grid)
            off = (exact - found) % 2**64
            assert min(off, 2**64 - off) <= Fraction(1, 2)
    assert nearest(np.array([-0.5, 0.5, 1.5, -1.5]), 1.0).tolist() == [0, 1, 2, -1]
    assert nearest(np.array([2.0**63]), 1.0).tolist() == [-(2**63)]


def test_what_is_released_is_rounded_exactly(monkeypatch):
    """The mechanism itself, with no closing noise: the double weights of the fit, to their nearest multiples."""
    weights = closed(64, Fraction(1, 1000))
    fitted = np.linspace(-1, 1, 64) * 1e7
    monkeypatch.setattr(type(weights.learner), "fit", lambda learner, counts, pull: fitted)
    monkeypatch.setattr(SphericalLaplace, "sample", lambda law, noise: np.zeros(64, dtype=np.int64))
    exact = [Fraction(each) / Fraction(weights.grid) for each in fitted.tolist()]
    released = weights.sample(counts(ROWS), SeededNoise(1)).tolist()
    assert all(abs(Fraction(found) - each) <= Fraction(1, 2) for found, each in zip(released, exact, strict=True))
