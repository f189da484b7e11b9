"""P18 to P20: learners that go step by step, and what is learned from parts of the table."""

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest
from mpmath import exp, log, mpf, sqrt
from proofs.exact import LEAST, exponential_law, permute_and_flip_law, real
from support.cases import in_one_test, thinned
from support.prediction_tables import UNITS, descent, examples, online

from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learned_functions import FINENESS, PREDICTION, step, weights_sensitivity
from dpqr.prediction.learners.gradient_steps import Averaged
from dpqr.prediction.learners.moments import MomentsLearner
from dpqr.prediction.plan import NUGGET
from dpqr.prediction.votes import ExponentialVotes, LaplaceAverages, PermuteAndFlipVotes, RandomisedVotes


class Parts:
    """What the votes need to know of an ensemble."""

    def __init__(self, parts, touched=1, predictions=1):
        self.parts, self.touched, self.predictions = parts, touched, predictions


def hinge_descent(rows, eta, steps, radius, share):
    """f_(t+1) = f_t - eta grad F, projected on |f| <= R, in one dimension with labels +-1 and a logistic loss."""
    f = mpf(0)
    for _ in range(steps):
        f -= eta * sum(-y * x / (1 + exp(y * x * f)) for x, y in rows) * share
        f = max(-radius, min(radius, f))
    return f


@in_one_test("relation", Neighbours)
def test_p18_no_neighbours_end_a_descent_further_apart_than_is_stated(relation):
    records, radius, horizon = 3, 2, Fraction(8)
    learner = descent(
        "logistic", [[1.0], [-1.0]], radius=radius, horizon=horizon, unit=UNITS[relation], records=records
    )
    eta, steps = learner.reached / learner.steps, learner.steps
    # No step is longer than 2 over the smoothness of the heaviest table: weights add up to `heaviest`, L'' <= 1/4.
    assert eta <= 2 / (learner.scale.heaviest / 4)
    cases, worst = [(mpf(1), 1), (mpf(1), -1), (mpf(1) / 2, 1)], mpf(0)
    sizes = (records,) if relation is Neighbours.REPLACE else (1, 2, 3)
    for size in sizes:
        for held in product(cases, repeat=size - 1):
            several = [hinge_descent((*held, one), real(eta), steps, radius, mpf(1) / records) for one in cases]
            without = [hinge_descent(held, real(eta), steps, radius, mpf(1) / records)]
            others = several if relation is Neighbours.REPLACE else without
            worst = max(worst, *(abs(one - other) for one in several for other in others))
    assert worst <= real(learner.distance)
    assert worst >= real(learner.distance) / 5


@in_one_test("relation", Neighbours)
def test_p18_slopes_that_stay_full_use_all_of_what_is_stated(relation):
    """One record of a hinge that no step satisfies: f ends at eta T either way; its label turns round, or it comes."""
    horizon = Fraction(4, 5)
    learner = descent("hinge", [[1.0]], radius=2, horizon=horizon, unit=UNITS[relation], records=1)
    assert learner.reached == horizon < 1 - Fraction(1, 8)  # the corner is rounded over a width of 1/8
    apart = 2 * horizon if relation is Neighbours.REPLACE else horizon
    assert apart <= learner.distance <= apart * (1 + Fraction(1, 64))


@pytest.mark.parametrize("theta", thinned(["3/5", "3/4", "9/10"], 3))
@pytest.mark.parametrize("slots", thinned([2, 12], 2))
def test_p19_a_change_at_any_position_moves_the_stream_by_less_than_is_stated(theta, slots):
    """The recursion in one dimension, x = +-1 or a half, y = +-1; every position, held values and both others."""
    learner = online([[1.0], [-1.0]], slots, theta)
    start, power, worst = learner.steps.start, real(Fraction(theta)), mpf(0)

    def after(stream):
        f = mpf(0)
        for t, (x, y) in enumerate(stream):
            eta, penalty = (t + start) ** -power, (t + start) ** (power - 1)
            f -= eta * ((f * x - y) * x + penalty * f)
        return f

    cases = [(mpf(1), 1), (mpf(1), -1), (mpf(1) / 2, 1)]
    for held in product(cases, repeat=2):
        stream = [held[t % 2] for t in range(slots)]
        for place in range(slots):
            ends = [after([*stream[:place], one, *stream[place + 1 :]]) for one in cases]
            worst = max(worst, max(ends) - min(ends))
    assert worst <= real(learner.distance)
    last = slots - 1 + start
    assert real(learner.distance) <= 4 * mpf(last) ** (1 - 2 * power) * (1 + mpf(2) ** -39)
    norm = mpf(last) ** ((1 - power) / 2) / sqrt(mpf(2))
    assert real(learner.distance) <= mpf(last) ** -power * (norm + 2) * (1 + mpf(2) ** -39)
    # Every step shrinks what an earlier one changed: the product of 1 - eta lambda is (i + t0) / N.
    shrunk = mpf(1)
    for t in range(1, slots):
        shrunk *= 1 - mpf(t + start) ** -1
    assert abs(shrunk - mpf(start) / last) <= LEAST


def test_p20_a_mean_over_parts_moves_by_a_parts_share():
    learner = descent(
        "logistic", [[1.0]], radius=1, horizon=Fraction(2), unit=UNITS[Neighbours.ADD_REMOVE], records=5, part=True
    )
    assert Averaged(learner=learner, parts=10).distance == learner.distance / 10


@in_one_test("epsilon", [Fraction(1, 2), Fraction(3)])
def test_p20_no_vote_that_changes_moves_a_label_by_more_than_epsilon(epsilon):
    """One member changes its vote: every way, with votes of three labels."""
    ensemble, worst, range_of_losses = Parts(5), mpf(0), mpf(0)
    for kind, law in ((ExponentialVotes, exponential_law), (PermuteAndFlipVotes, permute_and_flip_law)):
        rate = kind(ensemble=ensemble, epsilon=epsilon).rate
        for votes in ((a, b, 5 - a - b) for a in range(6) for b in range(6 - a)):
            for loses, wins in ((i, j) for i in range(3) for j in range(3) if i != j and votes[i]):
                moved = list(votes)
                moved[loses] -= 1
                moved[wins] += 1
                ratios = [log(p / q) for p, q in zip(law(votes, rate), law(moved, rate), strict=True)]
                worst = max(worst, *map(abs, ratios))
                if kind is ExponentialVotes:
                    range_of_losses = max(range_of_losses, max(ratios) - min(ratios))
    assert real(epsilon) * mpf("0.6") <= worst <= real(epsilon) + LEAST
    assert range_of_losses <= real(epsilon) + LEAST


def test_p20_sums_and_counts_of_members_move_by_what_their_events_say():
    ensemble = Parts(7, touched=2, predictions=3)
    ((counted, points),) = RandomisedVotes(ensemble=ensemble, scale=Fraction(4)).events
    # Two members change one vote each; or each goes from one end of [-F, F] to the other.
    assert (counted.sensitivity, points) == (2, 3)
    ((summed, points),) = LaplaceAverages(ensemble=ensemble, scale=Fraction(2**22)).events
    assert (summed.sensitivity, points) == (2 * (FINENESS - -FINENESS), 3)
    assert np.int64(summed.sensitivity) == summed.sensitivity


@in_one_test("width", [1, 3, 40])
def test_p40_weights_within_the_bound_are_within_the_sensitivity_on_their_grid(width):
    """Exact: pairs of rationals at the distance of the bound, rounded to halves of the grid that go apart."""
    bound, drawn = Fraction(1, 10), np.random.default_rng(4)
    grid = Fraction(step(bound))
    stated = weights_sensitivity(width)
    worst = 0
    for trial in range(60):
        start = [Fraction(int(n), 3 * 2**24) for n in drawn.integers(-(2**20), 2**20, width)]
        if trial % 2:
            start = [(one // grid + Fraction(1, 2)) * grid for one in start]
        size = Fraction(isqrt(2**40 // width), 2**20)  # at most 1 / sqrt(width)
        move = [size * bound * int(sign) for sign in drawn.choice([-1, 1], width)]
        ends = [
            [round(one / grid) for one in here] for here in (start, [a + b for a, b in zip(start, move, strict=True)])
        ]
        worst = max(worst, sum((a - b) ** 2 for a, b in zip(*ends, strict=True)))
    assert worst <= stated**2
    # No slack beyond the roundings: half a step a coordinate at either end, and one for the step.
    assert stated <= FINENESS + isqrt(width) + 2
    assert PREDICTION == FINENESS + 2


def test_p40_coordinates_of_a_kernels_values_move_by_no_more_than_the_function():
    """d^T (K + nugget)^(-1) d <= d^T K^(-1) d, for the values of random functions of norm 1 at close points."""
    drawn = np.random.default_rng(6)
    points = drawn.normal(size=(6, 2)) / 3
    gram = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 2)
    for _ in range(50):
        alphas = drawn.normal(size=6)
        alphas /= np.sqrt(alphas @ gram @ alphas)
        values = gram @ alphas
        moved = values @ np.linalg.solve(gram + float(NUGGET) * np.eye(6), values)
        assert moved <= 1 + 1e-9
    assert sqrt(1 / real(NUGGET)) == 32


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
def test_p41_no_rows_move_the_moments_further_than_is_stated(relation):
    """Rows of norm 1 in steps of 2^-12 towards 0; both ends of a replaced row in opposite directions."""
    steps, width = 2**12, 3
    learner = MomentsLearner(examples=examples([[1.0, 0.0, 0.0]], [-1.0, 1.0]), unit=UNITS[relation])
    angles = np.linspace(0, np.pi, 13)
    rows = [
        (np.cos(a), np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), y) for a in angles for b in angles for y in (-1, 1)
    ]

    def sums(row):
        whole = [int(np.trunc(one * steps)) for one in row[:width]]
        target = int(row[width]) * steps
        products = [whole[i] * whole[j] for i in range(width) for j in range(i, width)]
        return np.array([*products, *(one * target for one in whole)], dtype=object)

    found = [sums(row) for row in rows]
    others = found if relation is Neighbours.REPLACE else [0 * found[0]]
    worst = max(int(((one - other) ** 2).sum()) for one in found for other in others)
    assert worst <= learner.squared_sensitivity
    assert learner.squared_sensitivity <= 2 * (1 + Fraction(1, 2**36)) * (4 if others is found else 1) * steps**4
