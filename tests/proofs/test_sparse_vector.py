"""P11: one epoch of comparisons, by the exact law of every path, in one direction and in both."""

from fractions import Fraction
from itertools import product

import pytest
from mpmath import exp, mpf
from proofs.exact import LEAST, geometric, losses, real, renyi
from support.cases import thinned

from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon, squared_mu
from dpqr.kernel.budget import Price, squared_mu_of_ranged
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.sparse_vector import AboveThreshold

REACH = 160
"""The threshold's noise is looked at so far; its tail beyond is below e^-80 for the scales here."""


def path_law(answers, threshold_scale, answer_scale):
    """Probabilities that the first pass is at each of the answers, and that none passes. Margins are in the answers:
    a comparison asks whether g + N >= Z."""
    decay = exp(-1 / real(answer_scale))
    found = [mpf(0)] * (len(answers) + 1)
    for z, share in geometric(threshold_scale, REACH).items():
        below = share
        for place, g in enumerate(answers):
            passes = decay ** max(0, z - g)
            found[place] += below * passes
            below *= 1 - passes
        found[-1] += below
    return found


def neighbours(length, most, directions):
    """Answers of both tables: each moves by 0 to `most`, all one way or either way."""
    starts = product((-12, -1, 0, 3), repeat=length)
    signs = (1,) if directions == 1 else (1, -1)
    moves = [
        tuple(m * s for m, s in zip(sizes, way, strict=True))
        for sizes in product((0, most), repeat=length)
        for way in product(signs, repeat=length)
    ]
    for start in starts:
        for move in set(moves):
            yield start, tuple(g + m for g, m in zip(start, move, strict=True))


UNITS = [
    PrivacyUnit(),
    PrivacyUnit(columns=("id",), rows=2),
    PrivacyUnit(neighbours=Neighbours.REPLACE),
]


@pytest.mark.parametrize("unit", thinned(UNITS, 3), ids=["rows", "persons", "replaced"])
@pytest.mark.parametrize(
    "price", thinned([Price(epsilon=Fraction(1)), Price(rho=Fraction(1, 8))], 2), ids=["epsilon", "rho"]
)
@pytest.mark.parametrize("length", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_p11_no_path_loses_more_than_the_epoch_costs(unit, price, length):
    epoch = AboveThreshold.at(price, unit, side=1)
    event, directions = epoch.event, 1 if unit.neighbours is Neighbours.ADD_REMOVE else 2
    a, b = unit.rows / epoch.threshold_scale, unit.rows / epoch.answer_scale
    low, high = (b, a + b) if directions == 1 else (a + 2 * b, a + 2 * b)
    least, most, rho = mpf(0), mpf(0), mpf(0)
    for one, other in neighbours(length, unit.rows, directions):
        laws = [path_law(answers, epoch.threshold_scale, epoch.answer_scale) for answers in (one, other)]
        below, above = losses(*laws)
        least, most = min(least, below), max(most, above)
        rho = max(rho, *(max(renyi(*laws, order), renyi(*laws[::-1], order)) / order for order in (2, 8)))
    assert -real(low) - LEAST <= least
    assert most <= real(high) + LEAST
    assert most >= real(a + b if length > 1 else max(a, b)) * mpf("0.9")
    stated = pure_epsilon(event)
    assert stated == high
    assert rho <= real(concentrated_rho(event)) + LEAST
    if price.epsilon is not None:
        assert stated <= price.epsilon
    else:
        assert concentrated_rho(event) <= price.rho


def test_p11_one_direction_costs_a_quarter_under_rho():
    """The range a + 2 b in place of the two-sided loss a + 2 b: an eighth of its square, where a half is due else."""
    epoch = AboveThreshold.at(Price(rho=Fraction(1, 8)), PrivacyUnit(), side=1)
    whole = 1 / epoch.threshold_scale + 2 / epoch.answer_scale
    both = AboveThreshold(
        unit=PrivacyUnit(neighbours=Neighbours.REPLACE),
        side=1,
        threshold_scale=epoch.threshold_scale,
        answer_scale=epoch.answer_scale,
    )
    assert concentrated_rho(epoch.event) == whole**2 / 8 == concentrated_rho(both.event) / 4
    assert squared_mu(epoch.event) == squared_mu_of_ranged(whole) <= squared_mu(both.event) / 3


def test_p11_an_epoch_is_a_function_of_one_draw():
    """Exact: with p / q = e^h and (1 - p) / (1 - q) = e^-l the two processes of the statement are laws on every path,
    and mixtures of them are the epoch on either table."""
    threshold, answer = Fraction(2), Fraction(3)
    for one, other in neighbours(1, 1, 1):
        laws = [path_law(answers, threshold, answer) for answers in (other, one)]
        rise, fall = exp(real(1 / threshold + 1 / answer)), exp(-real(1 / answer))
        q = (1 - fall) / (rise - fall)
        p = rise * q
        here = [((1 - q) * x - (1 - p) * y) / (p - q) for x, y in zip(*laws, strict=True)]
        there = [(p * y - q * x) / (p - q) for x, y in zip(*laws, strict=True)]
        if not all(fall - LEAST <= x / y <= rise + LEAST for x, y in zip(*laws, strict=True)):
            laws = laws[::-1]
            here = [((1 - q) * x - (1 - p) * y) / (p - q) for x, y in zip(*laws, strict=True)]
            there = [(p * y - q * x) / (p - q) for x, y in zip(*laws, strict=True)]
        assert min(*here, *there) >= -LEAST
        for law, share in zip(laws, (p, q), strict=True):
            mixed = [share * x + (1 - share) * y for x, y in zip(here, there, strict=True)]
            assert max(abs(x - y) for x, y in zip(mixed, law, strict=True)) <= LEAST
