"""Terms of a session of questions: what noise and margins follow from what is paid."""

from fractions import Fraction

import pytest

from dpqr.construction.questions.terms import Terms
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.privacy.budget import Price
from dpqr.workload.block import QueryBlock

RECORDS = QueryBlock(name="records")


def test_noise_is_laplace_where_epsilon_adds_up_and_gaussian_elsewhere():
    kinds = [
        type(terms.check.mechanism((RECORDS,), terms.unit, terms.answer))
        for terms in (
            Terms.within(price, PrivacyUnit(), surprises=3, questions=10)
            for price in (Price(epsilon=Fraction(1)), Price(rho=Fraction(1)), Price(squared_mu=Fraction(1)))
        )
    ]
    assert kinds == [LaplaceAnswers, GaussianAnswers, GaussianAnswers]


def test_more_questions_widen_the_margin_and_more_surprises_the_noise():
    def terms(**asked):
        return Terms.within(Price(rho=Fraction(1, 50)), PrivacyUnit(), **asked)

    assert terms(surprises=10, questions=100).margin < terms(surprises=10, questions=10_000).margin
    assert terms(surprises=10, questions=100).slack(0.05) < terms(surprises=40, questions=100).slack(0.05)
    assert terms(surprises=10, questions=1).margin >= 0


def test_replaced_records_double_the_noise_of_comparisons():
    one, two = (
        Terms.within(Price(rho=Fraction(1, 50)), PrivacyUnit(neighbours=each), surprises=5, questions=50)
        for each in (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
    )
    assert two.epoch(1).answer_scale == pytest.approx(2 * one.epoch(1).answer_scale, rel=1e-6)
