"""Terms of a session of questions: what noise and margins follow from what is paid."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.releases.questions import SessionTerms, table_of_parts
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

RECORDS = QueryBlock(name="records")


def test_noise_is_laplace_where_epsilon_adds_up_and_gaussian_elsewhere():
    kinds = [
        type(terms.check.mechanism((RECORDS,), terms.unit, terms.answer))
        for terms in (
            SessionTerms.within(price, PrivacyUnit(), surprises=3, questions=10)
            for price in (Price(epsilon=Fraction(1)), Price(rho=Fraction(1)), Price(squared_mu=Fraction(1)))
        )
    ]
    assert kinds == [LaplaceAnswers, GaussianAnswers, GaussianAnswers]


def test_more_questions_widen_the_margin_and_more_surprises_the_noise():
    def terms(**asked):
        return SessionTerms.within(Price(rho=Fraction(1, 50)), PrivacyUnit(), **asked)

    assert terms(surprises=10, questions=100).margin < terms(surprises=10, questions=10_000).margin
    assert terms(surprises=10, questions=100).slack(0.05) < terms(surprises=40, questions=100).slack(0.05)
    assert terms(surprises=10, questions=1).margin >= 0


def test_replaced_records_double_the_noise_of_comparisons():
    one, two = (
        SessionTerms.within(Price(rho=Fraction(1, 50)), PrivacyUnit(neighbours=each), surprises=5, questions=50)
        for each in (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
    )
    assert two.epoch(1).answer_scale == pytest.approx(2 * one.epoch(1).answer_scale, rel=1e-6)


def conjunction(*rows, name="q"):
    factors = tuple(
        Factor(axes=(axis,), sizes=(len(row),), matrix=Dense(np.array([row]))) for axis, row in enumerate(rows)
    )
    return QueryBlock(name=name, factors=factors)


QUERIES = {
    "one part": conjunction([1, 0, 0]),
    "two parts": conjunction([1, 0, 0], [0, 1]),
    "three parts": conjunction([1, 0, 0], [0, 1], [1, 0]),
    "half always true": conjunction([1, 1, 1], [0, 1]),
    "always true": conjunction([1, 1, 1], [1, 1]),
    "never true": conjunction([0, 0, 0], [0, 1]),
    "weighted": conjunction([1, 2, 5], [0, 1]),
    "all records": RECORDS,
}
UNITS = {
    "add-remove": PrivacyUnit(),
    "replace": PrivacyUnit(neighbours=Neighbours.REPLACE),
    "add-remove, persons": PrivacyUnit(columns=("p",), rows=2),
    "replace, persons": PrivacyUnit(neighbours=Neighbours.REPLACE, columns=("p",), rows=2),
}
PRICES = {
    "epsilon": Price(epsilon=Fraction(6)),
    "rho": Price(rho=Fraction(1, 2)),
    "squared mu": Price(squared_mu=Fraction(1)),
}


def priced(price, unit, **more):
    return SessionTerms.within(PRICES[price], unit, surprises=3, questions=10, **more)


def changes(block, unit):
    """By how much the integer answers of a block move between neighbours: every pair, row by row, by hand.

    What a unit brings is a choice of up to K cells, or of no cell where a rule of the domain drops a row; a replaced
    unit leaves one such choice and brings another.
    """
    columns = [np.array(column, dtype=object) for column in zip(*block.coefficients(), strict=True)]
    columns.append(np.zeros(block.rows, dtype=object))
    brought = [sum(chosen) for chosen in combinations_with_replacement(columns, unit.rows)]
    if unit.neighbours is Neighbours.ADD_REMOVE:
        return brought
    return [one - two for one, two in product(brought, repeat=2)]


def largest_loss(law, block, unit, price):
    """Of the likelihood ratio of one noisy measurement, over all neighbours, exactly: of discrete Laplace noise in
    epsilon, over all outputs in a box around both answers; of Gaussian noise in rho."""
    moved = {tuple(each) for each in changes(block, unit)}
    if price.epsilon is None:
        return max(Fraction(sum(each**2 for each in change)) / (2 * law.variance) for change in moved)
    worst = Fraction(0)
    for change in moved:
        # noise of every entry is independent, so the largest ratio is the product of the largest ones
        spans = [range(-abs(each) - 1, abs(each) + 2) for each in change]
        losses = [max(abs(out - each) - abs(out) for out in span) for each, span in zip(change, spans, strict=True)]
        worst = max(worst, Fraction(sum(losses)) / law.scale)
    return worst


def priced_at(price):
    return price.epsilon if price.epsilon is not None else price.concentrated


@in_one_test("unit", UNITS)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("price", PRICES)
def test_a_surprise_loses_what_is_paid_for_it_and_no_more_between_all_neighbours(query, unit, price):
    """It has the noise of its query alone: so the guide promises, and the release of a closed session states."""
    terms, asked, unit = priced(price, UNITS[unit]), QUERIES[query], UNITS[unit]
    found = largest_loss(terms.law(asked), terms.measured(asked), unit, terms.answer)
    assert found <= priced_at(terms.answer)
    assert found == priced_at(terms.answer) or query == "never true"
    assert terms.law(asked) == terms.check.mechanism((terms.measured(asked),), unit, terms.answer).law
    assert terms.law(asked) == terms.check.law((asked,), unit, terms.answer) == terms.stated_law(asked)


@in_one_test("query", ["one part", "two parts", "three parts"])
def test_a_table_of_parts_is_measured_where_it_is_free_and_nowhere_else(query):
    asked = QUERIES[query]
    for name, unit in UNITS.items():
        measured = priced("epsilon", unit).measured(asked)
        assert (measured.rows == 2 ** len(asked.factors)) is (unit.neighbours is Neighbours.ADD_REMOVE), name
        assert (measured is asked) is (unit.neighbours is Neighbours.REPLACE), name


@in_one_test("unit", ["replace", "replace, persons"])
@pytest.mark.parametrize(("price", "times"), [("epsilon", 2), ("rho", 2), ("squared mu", 2)])
def test_the_noise_of_the_query_on_the_table_of_its_parts_loses_twice_what_is_paid(unit, price, times):
    """A broken build: it draws the table with the noise that 0.10.0 has stated."""
    terms, asked, unit = priced(price, UNITS[unit]), QUERIES["two parts"], UNITS[unit]
    table = table_of_parts(asked)
    assert largest_loss(terms.law(asked), table, unit, terms.answer) == times * priced_at(terms.answer)


@in_one_test("unit", UNITS)
def test_sessions_of_earlier_versions_keep_their_rule(unit):
    """They measure the table at the price of one answer; records of theirs state the noise of the query."""
    asked, unit = QUERIES["two parts"], UNITS[unit]
    old, written = (priced("epsilon", unit, rule=rule) for rule in ("table", ""))
    times = 2 if unit.neighbours is Neighbours.REPLACE else 1
    for terms in (old, written):
        assert terms.measured(asked).rows == 4
        assert terms.law(asked).scale == times * unit.rows / terms.answer.epsilon
        assert largest_loss(terms.law(asked), terms.measured(asked), unit, terms.answer) == terms.answer.epsilon
    assert old.stated_law(asked) == old.law(asked)
    assert written.stated_law(asked).scale == unit.rows / written.answer.epsilon
    assert replace(written, rule="no dearer").law(asked) == written.stated_law(asked)
