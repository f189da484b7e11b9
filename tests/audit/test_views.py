import numpy as np
import pytest

from dpqr.audit.attack import Joint, NaiveBayesView, views
from dpqr.audit.case import Outcomes

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
