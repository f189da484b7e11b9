"""Tails of a round's two draws, and the blocks that are measured whole."""

from fractions import Fraction

from support.cases import in_one_test
from support.small_universes import dense, marginal
from support.staged_runs import REPLACE, roles

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.candidates import QueryCandidates
from dpqr.strategies.checks import Laplace
from dpqr.strategies.schedules.theory import TOTAL, Tails, answers_tail, measured_whole

SHAPE = (4,)
COUNTS = marginal((0,), SHAPE, "counts")
ROWS = dense([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], SHAPE, name="rows")
PRICE = Price(epsilon=Fraction(1, 10))


@in_one_test("unit", [PrivacyUnit(), REPLACE])
def test_marginals_are_measured_whole_and_overlapping_queries_one_by_one(unit):
    assert measured_whole((COUNTS, ROWS), unit) == {"counts"}


def test_the_rows_of_a_block_share_gamma():
    unit, gamma = PrivacyUnit(), Fraction(1, 1000)
    whole = answers_tail(roles(), unit, COUNTS, PRICE, gamma)
    assert whole == Laplace().law((COUNTS,), unit, PRICE).tail(0.001 / 4) + 0.5
    assert answers_tail(roles(), unit, TOTAL, PRICE, gamma) < whole


def test_the_widest_answer_counts():
    unit, gamma = REPLACE, Fraction(1, 1000)
    whole = measured_whole((COUNTS, ROWS), unit)
    made = Tails.of(roles(), unit, QueryCandidates(blocks=(COUNTS, ROWS), whole=whole), counted=True)
    assert made.noise(PRICE, gamma) == answers_tail(roles(), unit, COUNTS, PRICE, gamma)
    single = Tails.of(roles(), unit, QueryCandidates(blocks=(COUNTS, ROWS)), counted=True)
    assert single.noise(PRICE, gamma) == answers_tail(roles(), unit, TOTAL, PRICE, gamma)


def test_a_chosen_query_brings_its_whole_block():
    offered = QueryCandidates(blocks=(COUNTS, ROWS), whole=frozenset({"counts"}))
    assert len(offered) == 7
    assert offered[2] == (COUNTS,)
    assert offered[5][0].name == "rows[1]"
