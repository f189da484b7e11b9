"""Scale: the weight of a loss, and how far a minimiser moves between neighbours."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.examples import TAPER, LossScale
from dpqr.prediction.learners.losses import Hinge

ROWS = PrivacyUnit()
REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)
PERSONS = PrivacyUnit(columns=("who",), rows=3)
SWAPPED = PrivacyUnit(neighbours=Neighbours.REPLACE, columns=("who",), rows=3)


@in_one_test("declared", [1, 2, 7, 20])
def test_one_record_moves_the_gradient_by_no_more_than_claimed_for_any_true_number(declared):
    scale = LossScale(unit=ROWS, records=declared)
    for m in range(70 * declared):
        now, then = scale.weight(m), scale.weight(m + 1)
        assert then + m * (now - then) <= float(1 + TAPER) / declared * (1 + 1e-12)
        assert m * now <= float(scale.heaviest) * (1 + 1e-12)


def test_the_taper_costs_nothing_up_to_the_declared_number_and_ends_at_zero():
    scale = LossScale(unit=ROWS, records=10)
    assert scale.weight(10) == scale.weight(0) == 0.1
    assert 0 < scale.weight(20) < 0.1
    assert scale.weight(10 * 65) == scale.weight(10**9) == 0


def test_under_replace_of_rows_the_number_is_used_as_it_is():
    assert LossScale(unit=REPLACED, records=4).weight(4) == 0.25
    assert LossScale(unit=REPLACED, records=4).heaviest == 1


def test_where_only_persons_are_public_the_number_of_rows_is_not():
    """Persons come in the place of others with more or fewer rows: m is private, and a taper holds the sum down."""
    assert not LossScale(unit=SWAPPED, records=4).replaced
    assert LossScale(unit=SWAPPED, records=4).weight(1000) == 0
    assert LossScale(unit=ROWS, records=4).heaviest == Fraction(65, 64) ** 2 * 16


@in_one_test("unit", [ROWS, PERSONS, SWAPPED])
def test_the_private_number_of_records_divides_nothing(unit):
    scale = LossScale(unit=unit, records=8)
    assert [scale.weight(m) for m in (1, 3, 8)] == [1 / 8] * 3
    assert scale.weight(16) == 63 / 64 / 8


@in_one_test("records", [0, 2**28 + 1])
def test_numbers_out_of_range_are_refused(records):
    with pytest.raises(InfeasiblePlan, match="--n"):
        LossScale(unit=ROWS, records=records)


REGULARISERS = {
    "elastic net": (lambda w: 2 * w, lambda w, step: np.sign(w) * np.maximum(np.abs(w) - step / 2, 0), 2),
    "one weight dearer": (lambda w: 2 * w * np.array([1, 3]), lambda w, step: w, 2),
}
"""Gradient of Omega's smooth part, the proximal map of the rest, and gamma."""


def regularised(omega, rows, weight, penalty):
    """argmin weight sum L + penalty Omega by proximal gradient steps, L the hinge with its corner rounded over 1/8."""
    (gradient, proximal, _), loss, w = REGULARISERS[omega], Hinge(), np.zeros(2)
    step = 1 / (4 * weight * len(rows) + 30 * penalty)
    vectors, targets = (np.array([row[place] for row in rows]) for place in range(2))
    for _ in range(400):
        pulls = weight * loss.slope(vectors @ w, targets) @ vectors if len(rows) else 0
        w = proximal(w - step * (pulls + penalty * gradient(w)), step * penalty)
    return w


@in_one_test("omega", REGULARISERS)
def test_other_regularisers_move_no_further_than_their_modulus_allows(omega):
    """One record that comes, to others drawn at random or to none; the last nearly fills it, but for the taper."""
    drawn, gamma = np.random.default_rng(4), REGULARISERS[omega][2]
    tables = [
        [(x / max(1, np.linalg.norm(x)), y) for x, y in zip(vectors, drawn.choice([-1.0, 1.0], size=6), strict=True)]
        for vectors in drawn.normal(size=(3, 6, 2))
    ]
    shares = []
    for rows in [*tables, [(np.array([1.0, 0.0]), 1.0)]]:
        scale, penalty = LossScale(unit=ROWS, records=len(rows)), Fraction(2) if len(rows) == 1 else Fraction(1, 5)
        one, two = (regularised(omega, table, 1 / len(rows), float(penalty)) for table in (rows, rows[:-1]))
        shares.append(np.linalg.norm(one - two) / float(scale.distance(Fraction(1), gamma * penalty)))
    assert max(shares) <= 1 + 1e-6
    assert shares[-1] >= (0.95 if omega == "one weight dearer" else 0)
