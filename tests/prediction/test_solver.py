from fractions import Fraction

import numpy as np
import pytest
from tables_of_prediction import counts, examples

from dpqr.data.unit import PrivacyUnit
from dpqr.prediction.losses import Hinge, Logistic, Pinball
from dpqr.prediction.scale import Scale
from dpqr.prediction.stable import LipschitzLearner


def task(loss, penalty=Fraction(1, 50), rows=40, width=3, seed=0):
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(rows, width))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values = np.where(drawn.random(rows) < 0.5, -1.0, 1.0)
    learner = LipschitzLearner(
        examples=examples(vectors, values), loss=loss, penalty=penalty, scale=Scale(unit=PrivacyUnit(), records=rows)
    )
    return learner, counts([(row, row) for row in range(rows)])


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Pinball(tau=Fraction(1, 4))], ids=repr)
def test_both_ways_end_within_the_tolerance_of_each_other(loss, monkeypatch):
    learner, table = task(loss)
    newton = learner.fit(table)
    monkeypatch.setattr("dpqr.prediction.solver.Solver._newton", lambda *_: None)
    assert 0 < np.linalg.norm(learner.fit(table) - newton) <= 2 * float(learner.solver.tolerance)


def test_the_proved_number_of_steps_is_enough_without_any_certificate(monkeypatch):
    learner, table = task(Hinge(), penalty=Fraction(1, 5))
    exact = learner.fit(table)
    monkeypatch.setattr("dpqr.prediction.solver.Solver._newton", lambda *_: None)
    monkeypatch.setattr("dpqr.prediction.solver.Solver.certified", lambda *_: False)
    assert np.linalg.norm(learner.fit(table) - exact) <= float(learner.solver.tolerance)


def test_steps_are_public():
    one, _ = task(Logistic(), seed=0)
    two, _ = task(Logistic(), seed=1)
    assert one.solver == two.solver
    assert one.solver.steps == two.solver.steps > 10


def test_no_records_give_zero():
    learner, _ = task(Logistic())
    assert learner.fit(counts(np.zeros((0, 2), dtype=int))).tolist() == [0, 0, 0]
