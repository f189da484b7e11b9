"""Scores of boxes: those of the queries on a finer grid, their sensitivity, and the law of both selections by them."""

from fractions import Fraction

import numpy as np
import pytest
from audits.neighbours import pairs
from persons import largest_move, person
from scipy.stats import chisquare
from workload.test_box_index import BLOCKS, SHAPE, boxes

from dpqr.data.histogram import DenseHistogram
from dpqr.data.marginals import dense_marginal
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.exponential_choice import ExponentialChoice
from dpqr.mechanisms.permute_and_flip_choice import PermuteAndFlipChoice
from dpqr.mechanisms.query_scores import QueryScores
from dpqr.noise import envelope
from dpqr.noise.source import SeededNoise
from dpqr.workload import box_index as index_module
from dpqr.workload.box_index import box_index

UNIT = PrivacyUnit()
COUNTS = DenseHistogram(np.random.default_rng(0).integers(0, 30, SHAPE))


def scores(bits=3, expected=None, blocks=BLOCKS, **more):
    table = np.full(SHAPE, 100) if expected is None else expected
    return BoxScores(blocks=blocks, index=box_index(blocks), expected=table, bits=bits, **more)


def test_a_score_is_the_error_of_the_box_on_the_finer_grid() -> None:
    expected = np.random.default_rng(1).integers(0, 30, SHAPE)
    plain = QueryScores(
        blocks=BLOCKS,
        ratios=(1,) * len(BLOCKS),
        expected=np.concatenate([block.answer(DenseHistogram(expected)) for block in BLOCKS]),
    )
    made = scores(5, expected << 5)
    assert len(made) == len(plain)
    np.testing.assert_array_equal(made.evaluate(COUNTS), plain.evaluate(COUNTS) << 5)
    for unit in (UNIT, PrivacyUnit(neighbours=Neighbours.REPLACE), PrivacyUnit(column="id", rows=3)):
        assert made.sensitivity(unit) == plain.sensitivity(unit) << 5


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_sensitivity_is_the_largest_move_of_any_score(relation) -> None:
    shape, blocks = (2, 2), (boxes((0, 1), 30, 1, shape=(2, 2)),)
    made = BoxScores(blocks=blocks, index=box_index(blocks), expected=np.full(shape, -1), bits=2)
    moves = [np.abs(made.evaluate(one) - made.evaluate(two)).max() for one, two in pairs(shape, 2, relation)]
    assert max(moves) == made.sensitivity(PrivacyUnit(neighbours=relation)) == 4


def test_scores_that_could_overflow_are_refused() -> None:
    scores(bits=20)
    for wrong in ({"bits": 26}, {"bits": 20, "records": 2**42}, {"expected": np.full(SHAPE, 2**58)}):
        with pytest.raises(InfeasiblePlan, match="2\\^62"):
            scores(**wrong)


def exponential_law(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def permute_and_flip_law(logits):
    """With a uniform time of arrival for each: the integral over t of p_i times prod over the others of 1 - t p_j."""
    heads = np.exp(logits - logits.max())
    points, weights = np.polynomial.legendre.leggauss(200)
    times = (points + 1) / 2
    with np.errstate(divide="ignore"):
        left = np.log1p(-np.outer(times, heads)).sum(axis=1)
    law = [(weights / 2 * p * np.exp(left - np.log1p(-times * p))).sum() for p in heads]
    return np.array(law)


@pytest.mark.parametrize(
    ("kind", "law"), [(ExponentialChoice, exponential_law), (PermuteAndFlipChoice, permute_and_flip_law)]
)
def test_a_searched_selection_has_the_law_of_one_that_scores_all(kind, law, monkeypatch) -> None:
    """Candidates in classes by their scores; another epsilon is the control."""
    monkeypatch.setattr(envelope, "TRIALS", 16)
    monkeypatch.setattr(index_module, "FIRST", 1)
    made = scores(bits=2)
    plain = made.evaluate(COUNTS)
    classes = np.searchsorted(np.quantile(plain, [0.4, 0.7, 0.9, 0.95]), plain)
    for epsilon in (Fraction(1, 40), Fraction(1, 15)):
        noise, choice = SeededNoise(1), kind(scores=made, unit=UNIT, epsilon=epsilon)
        chances = np.bincount(classes, law(float(choice.rate) * plain), minlength=5)
        seen = np.bincount([classes[choice.sample(COUNTS, noise)] for _ in range(150)], minlength=5)
        assert chances.sum() == pytest.approx(1, abs=1e-9)
        assert chisquare(seen, 150 * chances / chances.sum()).pvalue > 1e-9
        wrong = np.bincount(classes, law(float(choice.rate) / 4 * plain), minlength=5)
        assert chisquare(seen, 150 * wrong / wrong.sum()).pvalue < 1e-9


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_person_moves_a_score_by_all_of_their_rows(relation, rows) -> None:
    shape, blocks, unit = (2, 2), (boxes((0, 1), 30, 1, shape=(2, 2)),), person(relation, rows)
    made = BoxScores(blocks=blocks, index=box_index(blocks), expected=np.full(shape, -1), bits=2)
    assert made.sensitivity(unit) == largest_move(made.evaluate, shape, unit) == 4 * rows


def test_the_search_scores_what_the_queries_score() -> None:
    """The search's own table, cell by cell, on the finer grid."""
    expected = np.random.default_rng(2).integers(-90, 90, SHAPE)
    made = scores(3, expected)
    table = np.random.default_rng(0).integers(0, 30, SHAPE) * 8 - expected
    written = np.abs(np.concatenate([block.apply(dense_marginal(table, block.axes)) for block in BLOCKS]))
    np.testing.assert_array_equal(made.search(COUNTS).evaluate(), written)
