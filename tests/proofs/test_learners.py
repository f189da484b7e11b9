"""P7 to P9 and P13 to P19: objective perturbation, solvers and stable learners."""

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest
from mpmath import exp, findroot, inf, linspace, log, mpf, pi, quad, sqrt
from proofs.exact import LEAST, gaussian_curve, real, renyi
from support.cases import in_one_test, thinned
from support.prediction_tables import Given

from dpqr.kernel.accountants.analytic import Analytic, smallest
from dpqr.kernel.accountants.losses import concentrated_rho, log_above, pure_epsilon
from dpqr.kernel.events import GaussianObjectiveEvent, PerturbedObjectiveEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learned_functions import FINENESS, weights_sensitivity
from dpqr.prediction.learners import corners
from dpqr.prediction.learners.corners import CornerSolver
from dpqr.prediction.learners.examples import LossScale, TrainingRows
from dpqr.prediction.learners.losses import ExactHinge, ExactPinball
from dpqr.prediction.learners.stable import opposed_pulls, square_distance
from dpqr.prediction.perturbation import GaussianPerturbedWeights

DELTA = Fraction(1, 10**5)


def objective(mu_squared, *, changes=1, curvature=Fraction(1), opposite=Fraction(0), tapered=False):
    """closing: of next to no price."""
    return GaussianObjectiveEvent(
        squared_sensitivity=1,
        variance=1 / mu_squared,
        changes=changes,
        curvature=curvature,
        closing=Fraction(1, 10**12),
        opposite=opposite,
        tapered=tapered,
    )


PLACES = np.linspace(0, 1, 401)
"""Of a slope between its ends."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def largest_ratio(z, mu, opposite, curvature):
    """The largest log(Q / P) of one record whose slope may be anywhere between its ends, at the places z of a standard
    normal pull."""
    moved = mu * (PLACES * (1 + opposite) - opposite)
    paid = np.log1p(4 * curvature * PLACES * (1 - PLACES)) + moved**2 / 2
    return (np.multiply.outer(z, moved) + paid).max(axis=-1)


def exact_delta(epsilon, mu, opposite, curvature):
    """The mean of (1 - e^(epsilon - log(Q / P)))_+, each place of the pull with the slope that is worst there. The
    ratio is convex in the place, so it exceeds epsilon on two tails, which are integrated up to 9 beyond their ends."""

    def tail(side):
        low, high = 0.0, 60.0
        if largest_ratio(0.0, mu, opposite, curvature) >= epsilon:
            raise AssertionError("the tails meet")
        if largest_ratio(side * high, mu, opposite, curvature) < epsilon:
            return 0.0
        while high - low > 1e-13:
            middle = (low + high) / 2
            inside = largest_ratio(side * middle, mu, opposite, curvature) >= epsilon
            low, high = (low, middle) if inside else (middle, high)
        return high

    total = 0.0
    for side in (1, -1):
        start = tail(side)
        if not start:
            continue
        for panel in range(18):
            z = side * (start + panel / 2 + (NODES + 1) / 4)
            kept = -np.expm1(np.minimum(0.0, epsilon - largest_ratio(z, mu, opposite, curvature)))
            total += float(WEIGHTS @ (np.exp(-(z**2) / 2) * kept)) / 4 / np.sqrt(2 * np.pi)
    return total


@pytest.mark.slow
@in_one_test("opposite", [Fraction(0), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize("curvature", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_p7_no_slopes_of_a_tapered_loss_lose_more_than_is_stated(opposite, curvature):
    for squared in (Fraction(1, 16), Fraction(1, 2)):
        event = objective(squared, curvature=curvature, opposite=opposite, tapered=True)
        stated = Analytic().epsilon(((event, 1),), DELTA)
        untapered = Analytic().epsilon(((objective(squared, curvature=curvature, opposite=opposite), 1),), DELTA)
        pull = smallest(squared / 2, DELTA, 1, opposite)
        true = exact_delta(float(stated), float(squared) ** 0.5, float(opposite), float(curvature))
        assert true <= float(DELTA) * (1 + 1e-7)
        assert pull <= stated <= untapered


def released_density(w, losses_slope, losses_curve, strength, deviation):
    """Of the minimiser w of sum L + strength w^2 / 2 + b w, b normal: that of b there times the Jacobian."""
    pull = -strength * w - losses_slope
    return exp(-((pull / deviation) ** 2) / 2) / (deviation * sqrt(2 * pi)) * (strength + losses_curve)


@pytest.mark.parametrize("held", thinned([0, 3], 2))
def test_p7_a_logistic_record_that_comes_to_others_loses_no_more_than_is_stated(held):
    """The law of the released weight itself, with and without one record of logistic loss, x = 1, beside `held`
    others of the opposite label."""
    strength, deviation = mpf(1) / 4, mpf(3)
    event = objective(Fraction(1, 9), curvature=Fraction(1), tapered=True)
    stated = real(Analytic().epsilon(((event, 1),), DELTA))

    def laws(w):
        share = 1 / (1 + exp(w))  # of the record's slope, -share, and of the others', 1 - share
        slope, curve = held * (1 - share), held * share * (1 - share)
        one = released_density(w, slope, curve, strength, deviation)
        more = released_density(w, slope - share, curve + share * (1 - share), strength, deviation)
        return one, more

    places = [mpf(step) / 8 for step in range(-560, 561)]
    pairs = [laws(w) for w in places]
    for side in (0, 1):
        lost = sum(max(0, pair[side] - exp(stated) * pair[1 - side]) for pair in pairs) / 8
        assert lost <= real(DELTA)


@pytest.mark.slow
@in_one_test("changes", [1, 2, 3])
@pytest.mark.parametrize("opposite", [Fraction(0), Fraction(1, 4), Fraction(1)])
def test_p14_the_curves_of_all_ends_of_k_records_are_added_up(changes, opposite):
    squared, curvature = Fraction(1, 25), Fraction(1, 20)
    event = objective(squared, changes=changes, curvature=curvature, opposite=opposite)
    stated = Analytic().epsilon(((event, 1),), DELTA)
    inner = real(stated) - changes * log(1 + real(curvature))
    mus = [
        sum(mpf(1) if end else real(opposite) for end in ends) * sqrt(real(squared))
        for ends in product((0, 1), repeat=changes)
    ]
    total = sum(gaussian_curve(mu, inner) for mu in mus if mu)
    assert total <= real(DELTA)
    # Slack: what log_above adds for each record, and the closing noise.
    cheaper = inner - changes * real(log_above(curvature) - Fraction(1, 10**6))
    assert sum(gaussian_curve(mu, cheaper) for mu in mus if mu) > real(DELTA)


@pytest.mark.parametrize("opposite", thinned([Fraction(0), Fraction(1, 2)], 2))
def test_p14_the_divergence_of_a_threshold_between_the_ends_is_within_rho(opposite):
    """More records against fewer and back, for slopes that go from one end to the other at a threshold in the pull,
    and a determinant that is paid in full at the threshold's places."""
    squared, curvature = Fraction(1, 4), Fraction(1, 5)
    mu, opp = sqrt(real(squared)), real(opposite)
    stated = real(concentrated_rho(objective(squared, curvature=curvature, opposite=opposite)))
    for threshold in (mpf(-2), mpf(0), mpf(1), mpf(3)):
        places = [mpf(step) / 25 for step in range(-250, 251)]
        found = []
        for u in places:
            moved = mu if u < threshold else -opp * mu
            found.append((exp(-(u**2) / 2), u * moved + moved**2 / 2))
        for order in (2, 4, 16):
            mean = sum(weight * exp((order - 1) * loss) for weight, loss in found) / sum(w for w, _ in found)
            worst = (log(mean) + (order - 1) * log(1 + real(curvature))) / (order - 1)
            assert worst <= order * stated
    assert stated == (real(squared) / 2) * (1 + opp**2) + real(curvature) + mpf(10) ** -24 / 2


@in_one_test("curvature", [Fraction(1, 100), Fraction(1), Fraction(30)])
def test_p13_the_pull_and_the_determinant_bound_every_ratio(curvature):
    """One record beside none in one dimension, x = 1, L'' up to its bound: exact densities on a grid."""
    scale, strength = mpf(4), mpf(1)
    event = PerturbedObjectiveEvent(
        sensitivity=1, scale=Fraction(4), coordinates=1, units=1, curvature=curvature, closing=Fraction(1, 100)
    )
    stated = real(pure_epsilon(event)) - mpf(1) / 100
    worst = mpf(0)
    for w in linspace(-3, 3, 61):
        # A loss whose slope goes from -1 to 1 about 0 with the largest second derivative, and constant ends.
        slope = max(mpf(-1), min(mpf(1), real(curvature) * strength * w))
        curve = real(curvature) * strength if abs(slope) < 1 else mpf(0)
        without, with_it = exp(-abs(strength * w) / scale), exp(-abs(strength * w + slope) / scale)
        ratio = log(with_it * (strength + curve) / (without * strength))
        worst = max(worst, abs(ratio))
    assert worst <= stated
    assert log(1 + real(curvature)) <= real(log_above(curvature)) <= log(1 + real(curvature)) * mpf("3.8")


def test_p13_the_closing_noise_covers_what_is_not_the_minimiser():
    class Learner:
        width, units, changes = 5, 1, 1
        gradient, strength, curvature = Fraction(1), Fraction(8), Fraction(1, 32)
        tolerance, opposite, tapered = Fraction(1, 2**13), Fraction(0), False

        def fit(self, counts, pull):
            raise AssertionError("nothing is learned")

    weights = GaussianPerturbedWeights(learner=Learner(), variance=Fraction(2**40), closing=Fraction(2**26))
    # The pull's rounding: half a step a coordinate, in L2, over the strength; the solver's tolerance; both ends.
    rounded = real(Learner.gradient) / FINENESS * sqrt(mpf(Learner.width)) / 2 / real(Learner.strength)
    wrong = real(Learner.tolerance) + rounded
    assert wrong <= real(weights.wrong)
    steps = 2 * wrong / mpf(weights.grid) + sqrt(mpf(Learner.width))
    assert steps <= real(weights.closing_epsilon * weights.closing) <= 2 * real(weights.wrong) / mpf(weights.grid) + 5
    assert weights_sensitivity(5) == FINENESS + isqrt(5) + 2


# P8: the path of barriers.


def test_p8_the_steps_of_a_width():
    """A step of length 1 / (1 + d) lowers the barrier by d - log(1 + d); a point of decrement 1/4 is 1/3 from the
    centre in its norm and 0.038 above it; the next width is at most so much above its own."""
    quarter = mpf(1) / 4
    falls = quarter - log(1 + quarter)
    above = -quarter - log(1 - quarter)
    assert above <= mpf("0.038")
    for heavier in (1, 2, 5, 10, 10**6):
        nu = mpf(2 * heavier)
        ratio = 1 + 1 / sqrt(nu)
        excess = above * ratio + nu * (ratio - 1 - log(ratio)) + (ratio - 1) * sqrt(nu) * quarter / (1 - quarter)
        assert excess / falls <= 34 <= corners.STEPS_EACH
        assert (nu + sqrt(nu) * quarter / (1 - quarter) + above) / nu <= mpf("2.26")  # F - F* over nu t v, centre's one
        assert 1 + (sqrt(nu) * quarter / (1 - quarter) + above) / nu <= mpf("1.26")
    assert corners.CENTRED == 0.25


def exact_minimiser(rows, penalty, tau):
    """Of lambda w^2 + sum weight (base u + max(0, u)) in one dimension, exactly. rows: x, y, weight. tau: None: hinge.

    The objective's derivative rises; it is linear between the corners and jumps there.
    """
    base = Fraction(0) if tau is None else tau - 1

    def derivatives(w):
        """From the left and from the right."""
        left = right = 2 * penalty * w
        for x, y, weight in rows:
            short, turn = (1 - y * x * w, -y * x) if tau is None else (y - x * w, -x)
            sides = (0, 1) if short == 0 else (int(short > 0),)
            ends = [weight * (base + side) * turn for side in sides]
            left, right = left + min(ends), right + max(ends)
        return left, right

    corners_at = {1 / (y * x) if tau is None else y / x for x, y, _ in rows if x}
    corner = next((at for at in sorted(corners_at) if derivatives(at)[1] >= 0), None)
    if corner is not None and derivatives(corner)[0] <= 0:
        return corner
    # Between corners: any place there has the derivative's constant, which a step of -derivative / (2 lambda) undoes.
    below = max((at for at in corners_at if corner is None or at < corner), default=None)
    place = (
        (below + corner) / 2
        if below is not None and corner is not None
        else below + 1
        if below is not None
        else corner - 1
        if corner is not None
        else Fraction(0)
    )
    return place - derivatives(place)[0] / (2 * penalty)


@pytest.mark.parametrize(
    "tau", thinned([None, Fraction(1, 2), Fraction(1, 5)], 3), ids=["hinge", "median", "low quantile"]
)
def test_p8_what_is_found_is_within_the_tolerance_of_the_exact_minimiser(tau):
    drawn = np.random.default_rng(8)
    loss = ExactHinge() if tau is None else ExactPinball(tau=tau)
    for penalty, spread in product((Fraction(1, 2), Fraction(1, 1000), Fraction(1, 10**5)), (1, 10**6)):
        for _ in range(4):
            rows = [
                (
                    Fraction(int(drawn.integers(-8, 9)), 8),
                    Fraction(int(drawn.choice([-1, 1]))) if tau is None else Fraction(int(drawn.integers(-8, 9)), 8),
                    Fraction(int(drawn.integers(1, 9)), 64 * int(drawn.choice([1, spread]))),
                )
                for _ in range(7)
            ]
            solver = CornerSolver(
                penalty=penalty, heaviest=Fraction(1), loss=loss, features=1, closeness=Fraction(1, 10**7)
            )
            vectors = np.array([[float(x)] for x, _, _ in rows])
            given = TrainingRows(
                features=Given(vectors),
                codes=np.arange(len(rows))[:, None],
                targets=np.array([float(y) for _, y, _ in rows]),
                weights=np.array([float(weight) for _, _, weight in rows]),
            )
            exact = exact_minimiser(rows, penalty, tau)
            assert abs(Fraction(float(solver.minimise(given)[0])) - exact) <= solver.tolerance


def test_p8_the_gap_of_any_pair_bounds_the_distance():
    """Exact: F(f) - D(a) >= lambda (f - f*)^2 for every point and all shares of a grid."""
    rows, penalty = (
        [(Fraction(1), Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(-1), Fraction(1, 3))],
        Fraction(1, 9),
    )
    best = exact_minimiser(rows, penalty, None)
    for point in (Fraction(step, 4) for step in range(-12, 13)):
        for shares in product((Fraction(0), Fraction(1, 3), Fraction(1)), repeat=2):
            pulled = -sum(w * a * (-y * x) for (x, y, w), a in zip(rows, shares, strict=True)) / (2 * penalty)
            shorts = [1 - y * x * point for x, y, _ in rows]
            gap = penalty * (point - pulled) ** 2 + sum(
                w * (max(Fraction(0), u) - a * u) for (_, _, w), a, u in zip(rows, shares, shorts, strict=True)
            )
            assert gap >= penalty * (point - best) ** 2


# P9: square pulls.


@in_one_test("radius", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7)])
def test_p9_no_two_records_pull_further_apart_than_is_stated(radius):
    """A grid of directions in three dimensions, with short rows and targets between; the stated figure is the largest
    over s of 2 sin s (1 + R cos s)."""
    norm, stated = real(radius), real(opposed_pulls(radius))
    best = max((2 * mpf(np.sin(float(s))) * (1 + norm * mpf(np.cos(float(s)))), s) for s in linspace(0, pi, 400))[1]
    peak = findroot(lambda s: mpf(1) * _derivative(s, norm), best) if radius else pi / 2
    from mpmath import cos, sin

    true = 2 * sin(peak) * (1 + norm * cos(peak))
    assert true <= stated <= true * (1 + mpf(2) ** -39)
    assert stated <= min(norm + 2, 2 * (norm + 1)) * (1 + mpf(2) ** -39)

    angles = np.linspace(0, np.pi, 25)
    turns = np.linspace(0, np.pi, 5)
    rows = np.array(
        [
            size * np.array([np.cos(a), np.sin(a) * np.cos(t), np.sin(a) * np.sin(t)])
            for a in angles
            for t in turns
            for size in (1.0, 0.6)
        ]
    )
    moved = []
    for sign in (1, -1):
        for target in (-1.0, 0.0, 1.0):
            moved.append(sign * (float(radius) * rows[:, :1] - target) * (sign * rows))
    pulls = np.concatenate(moved)
    squares = (pulls**2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * pulls @ pulls.T
    assert np.sqrt(apart.max()) <= float(stated) * (1 + 1e-12)
    assert np.sqrt(apart.max()) >= float(stated) * 0.97


def _derivative(s, norm):
    """Of sin s (1 + R cos s): cos s + R cos 2 s."""
    from mpmath import cos

    return cos(s) + norm * cos(2 * s)


# P15 to P17: how far minimisers move.


def test_p15_the_taper_bounds_what_one_more_record_changes():
    """Exact, for every number of records up to where nothing is learned any more."""
    records = 10
    scale = LossScale(unit=PrivacyUnit(), records=records)
    one, modulus = Fraction(1), Fraction(1, 7)

    def weight(m):
        return min(Fraction(1), max(Fraction(0), 1 - Fraction(1, 64) * (Fraction(m, records) - 1)))

    worst = max(weight(m + 1) + m * (weight(m) - weight(m + 1)) for m in range(records * 66))
    assert worst <= 1 + Fraction(1, 64)
    assert worst / (modulus * records) <= scale.distance(one, modulus) <= (1 + Fraction(1, 64)) / (modulus * records)
    assert max(m * weight(m) / records for m in range(records * 66)) <= scale.heaviest
    for m in (0, 5, 10, 100, 640, 660):
        assert abs(Fraction(scale.weight(m)) - weight(m) / records) <= Fraction(1, 2**50)


@in_one_test("relation", Neighbours)
def test_p16_no_two_tables_have_minimisers_further_apart(relation):
    """Exact minimisers of hinge and median in one dimension: all pairs of neighbours of small tables."""
    records, penalty = 3, Fraction(1, 8)
    unit = PrivacyUnit(neighbours=relation)
    scale = LossScale(unit=unit, records=records)
    cases = [(Fraction(1), Fraction(1)), (Fraction(1), Fraction(-1)), (Fraction(1, 2), Fraction(1))]
    for tau, lipschitz, start in ((None, 1, 1), (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))):
        stated = scale.distance(Fraction(lipschitz), 2 * penalty)
        largest = start + lipschitz * Fraction(lipschitz) / (2 * penalty)
        bounded = scale.bounded_distance(largest, 2 * penalty)
        worst = Fraction(0)
        sizes = (records,) if relation is Neighbours.REPLACE else (0, 1, 2)
        for size in sizes:
            for held in product(cases, repeat=size if relation is not Neighbours.REPLACE else size - 1):
                tables = (
                    [(*held, one) for one in cases]
                    if relation is Neighbours.REPLACE
                    else [held, *((*held, one) for one in cases)]
                )
                found = [
                    exact_minimiser([(x, y, Fraction(1, records)) for x, y in rows], penalty, tau) for rows in tables
                ]
                others = found if relation is Neighbours.REPLACE else found[:1]
                worst = max(worst, *(abs(one - other) for one in found for other in others))
        assert worst <= min(stated, bounded)
        assert worst >= stated / 2


def test_p17_least_squares_moves_by_opposed_pulls_and_less_than_any_bound_of_one_pull():
    """Exact minimisers in one dimension under replace; the distance states D(R) / (lambda m)."""
    records, penalty = 4, Fraction(1, 16)
    scale = LossScale(unit=PrivacyUnit(neighbours=Neighbours.REPLACE), records=records)
    radius = Fraction(2)  # 1 / (2 sqrt(lambda))
    stated = square_distance(scale, radius, penalty)
    cases = list(product((Fraction(1), Fraction(1, 2), Fraction(1, 8)), (Fraction(1), Fraction(-1))))

    def minimiser(rows):
        return sum(x * y for x, y in rows) / (sum(x * x for x, _ in rows) + penalty * records)

    worst = Fraction(0)
    for held in product(cases, repeat=records - 1):
        found = [minimiser((*held, one)) for one in cases]
        assert max(map(abs, found)) <= radius
        worst = max(worst, max(found) - min(found))
    assert worst <= stated
    assert stated == opposed_pulls(radius) / (penalty * records)


def test_renyi_of_this_folder_is_the_textbooks():
    """ln sum P^a Q^(1 - a) / (a - 1) of a coin of 3/4 against its opposite, order 2: ln(7 / 3)."""
    assert abs(renyi((mpf(3) / 4, mpf(1) / 4), (mpf(1) / 4, mpf(3) / 4), 2) - log(mpf(7) / 3)) <= LEAST
    assert quad(lambda z: exp(-(z**2) / 2) / sqrt(2 * pi), [-inf, inf]) - 1 <= LEAST
