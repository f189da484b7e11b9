"""Methods: lambda and the end of descent by a stated radius, as Corollaries 3 and 4 have them; refusals."""

import math
from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.prediction_tables import UNITS, VALUES, examples

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.gradient_steps import Averaged
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball
from dpqr.prediction.learners.stable import square_distance
from dpqr.prediction.recipes import LENGTHS, Stability, best_length
from dpqr.prediction.risk_bounds import RiskBound

REPLACE = UNITS[Neighbours.REPLACE]
NEAR = 10 ** (1 / 40) - 1
"""Half a step of the lengths that are tried."""


def bound(radius, slope, records, **given):
    return RiskBound(radius=float(radius), slope=slope and float(slope), records=records, width=10, **given)


@in_one_test("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(
    "loss", [Hinge(width=Fraction(1, 10**6)), Pinball(tau=Fraction(9, 10), width=Fraction(1, 10**6))]
)
def test_lambda_is_half_of_what_corollary_3_prints_and_the_bound_half_of_it_too(loss, epsilon):
    """One prediction with Laplace noise of scale gamma / epsilon, a loss that is not smooth."""
    radius, records = Fraction(3), 10**6
    scale, slope = LossScale(unit=REPLACE, records=records), float(loss.lipschitz)
    length = best_length(bound(radius, slope, records), loss, scale, math.sqrt(2) / epsilon)
    useful = math.sqrt(records * epsilon / (1 + epsilon))
    assert 2 / length == pytest.approx(2 * slope / (float(radius) * useful), rel=NEAR)
    least = float(radius) ** 2 / length + slope**2 * length / records * (1 + 1 / epsilon)
    assert least == pytest.approx(2 * float(radius) * slope / useful, rel=0.01)


def test_without_noise_a_descent_is_as_long_as_corollary_4_prints():
    """R sqrt(n) / (2 G)."""
    scale = LossScale(unit=REPLACE, records=10**4)
    length = best_length(bound(2, 1, 10**4), Logistic(), scale, 0.0)
    assert length / 2 == pytest.approx(2 * 100 / 2, rel=NEAR)
    given = examples([[1.0]], VALUES)
    stable = Stability(radius=Fraction(2)).descent(given, Logistic(), Fraction(9), scale, 0.0)
    assert float(stable.distance) == pytest.approx(2 / math.sqrt(10**4), rel=0.07)
    assert stable.radius == 2
    assert Stability().descent(given, Logistic(), Fraction(9), scale, 0.0).radius == 9


def test_noise_on_a_smooth_loss_counts_by_its_square():
    """Small noise makes a logistic loss worse by d^2 / 8 only, so lambda is smaller than for a loss with a corner."""
    scale = LossScale(unit=REPLACE, records=10**6)
    lengths = [
        best_length(bound(3, 1, 10**6), loss, scale, 20.0) for loss in (Logistic(), Hinge(width=Fraction(1, 10**9)))
    ]
    assert lengths[0] > 2 * lengths[1]


def test_parts_have_their_share_of_the_records_and_one_needs_at_least_one():
    scale, stability = LossScale(unit=REPLACE, records=10), Stability(parts=4)
    assert stability.of_part(scale) == LossScale(unit=REPLACE, records=2, part=True)
    assert Stability(parts=40).of_part(scale).records == 1
    assert Stability().of_part(scale) is scale
    stable = stability.descent(examples([[1.0]], VALUES), Logistic(), Fraction(1), scale, 1.0)
    assert isinstance(stable, Averaged)


def test_what_cannot_be_is_refused():
    beyond = ({"parts": 0}, {"parts": 2**12 + 1}, {"decay": Fraction(1)})
    for wrong in ({"radius": Fraction(1, 1000)}, {"radius": Fraction(1001)}, *beyond):
        with pytest.raises(UsageFault, match=r"--radius|--parts|--decay"):
            Stability(**wrong)


@in_one_test(
    ("stability", "given", "said"),
    [
        (Stability(), {"descends": True, "penalised": True}, "no lambda"),
        (Stability(), {"descends": True, "tuned": True}, "no lambda"),
        (Stability(), {"descends": True, "smooth": True}, "no lambda"),
        (Stability(radius=Fraction(2)), {"penalised": True}, "--radius"),
        (Stability(radius=Fraction(2)), {"ball": True}, "--method descent"),
        (Stability(decay=Fraction(2)), {"ball": True}, "--decay goes with"),
        (Stability(decay=Fraction(2)), {"smooth": True}, "--decay goes with"),
        (Stability(decay=Fraction(2), radius=Fraction(1)), {"ball": True, "descends": True}, "--decay goes with"),
        (Stability(parts=4), {"tuned": True}, "each divide"),
    ],
)
def test_two_ways_to_choose_lambda_are_refused(stability, given, said):
    with pytest.raises(UsageFault, match=said):
        stability.require(**{**dict.fromkeys(("descends", "penalised", "tuned", "smooth", "ball"), False), **given})


def test_a_radius_and_a_smoothness_are_no_two_ways_nor_are_a_ball_and_a_radius_within_it():
    given = dict.fromkeys(("descends", "penalised", "tuned", "smooth", "ball"), False)
    Stability(radius=Fraction(2)).require(**{**given, "smooth": True})
    Stability(radius=Fraction(1), decay=Fraction(2)).require(**{**given, "ball": True})


@in_one_test("relation", Neighbours)
def test_lambda_of_least_squares_makes_the_bound_least(relation):
    """Beside every other length; and a fast decay, which is less to learn, asks for less of it."""
    scale = LossScale(unit=UNITS[relation], records=10**4)
    given = {"records": 10**4, "width": 500, "slope": None, "radius": 0.5}
    lengths = []
    for decay in (None, 2.0):
        stated = RiskBound(**given, decay=decay)
        lengths.append(best_length(stated, None, scale, 1.5))

        def total(length, stated=stated):
            noise = 1.5 * float(square_distance(scale, Fraction(1), Fraction(1 / length)))
            return stated.fitted(1 / length) + stated.sample(1 / length) + noise**2

        assert total(lengths[-1]) == min(total(length) for length in LENGTHS if length >= 4)
    assert lengths[0] < lengths[1]
