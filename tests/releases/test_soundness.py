"""A hypothesis is looked at before the next round is paid for: finite, of the right shape, and no cell below 0."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, measured, problem

from dpqr.kernel.errors import HypothesisFailed, InfeasiblePlan
from dpqr.models.hypothesis import DenseDistribution, SignedVector
from dpqr.releases.consistent import apply_rule, require_answers, start_rule
from dpqr.strategies.transcript import Round, Transcript

SHAPE = (2, 2)
FACTS = problem(SHAPE)
BLOCK = marginal((0,), SHAPE)
TRANSCRIPT = Transcript(
    rounds=[Round(choice=None, measurement=measured([BLOCK], [[3, 4]]), charges=(0,))],
    measurements=[measured([BLOCK], [[3, 4]])],
)


def rule(*, start=None, update=None):
    return SimpleNamespace(name="odd", start=start, update=update)


def distribution(cells, total=10.0):
    return DenseDistribution(probabilities=np.asarray(cells, dtype=float).reshape(SHAPE), total=total)


def refitted(found):
    return apply_rule(rule(update=lambda *_: found), FACTS, None, TRANSCRIPT)


def test_what_is_sound_passes_as_it_is():
    for found in (
        distribution([1, 0, 0, 0]),
        distribution([1 + 1e-9, -1e-9, 0, 0]),
        SignedVector(cells=np.full(SHAPE, -1.0), total=5.0),
    ):
        assert refitted(found) is found
        assert start_rule(rule(start=lambda _, found=found: found), FACTS) is found
    assert refitted(None) is None
    block = dense([[1, 0, 0, -5]], SHAPE)
    last = distribution([0, 0, 0, 1])
    require_answers(last, last.answer(block), "odd", block)  # coefficients below 0 may give answers below 0


@in_one_test(
    ("found", "says"),
    [
        (distribution([np.nan, 1, 0, 0]), "not a finite number"),
        (distribution([np.inf, 1, 0, 0]), "not a finite number"),
        (SignedVector(cells=np.full(SHAPE, np.nan), total=5.0), "not a finite number"),
        (distribution([1, 0, 0, 0], total=np.nan), "a number of records that is not finite"),
        (distribution([1, 0, 0, 0], total=np.inf), "a number of records that is not finite"),
        (distribution([2, 0, -1, 0]), "a distribution with cells below 0"),
        (distribution([1 + 1e-5, 0, -1e-5, 0]), "a distribution with cells below 0"),
        (distribution([np.nan, 0.5, 1, 0]), "not a finite number"),
        (SimpleNamespace(total=1.0, answer=lambda block: np.zeros(3)), "does not give one answer a query"),
    ],
)
def test_what_no_table_could_answer_ends_the_run(found, says):
    with pytest.raises(
        HypothesisFailed, match=f"update rule 'odd': its hypothesis .*{says}.*\nfix the rule.* stays spent"
    ) as raised:
        refitted(found)
    assert raised.value.exit_code == 6


@in_one_test("total", [np.nan, np.inf, -np.inf])
def test_a_first_hypothesis_is_looked_at_too(total):
    with pytest.raises(HypothesisFailed, match="not finite"):
        start_rule(rule(start=lambda _: distribution([1, 0, 0, 0], total=total)), FACTS)


def test_a_rule_that_raises_ends_the_run_with_the_kind_of_its_error_alone():
    def raising(*_):
        raise KeyError("987654321")

    for call in (
        lambda: start_rule(rule(start=raising), FACTS),
        lambda: apply_rule(rule(update=raising), FACTS, None, TRANSCRIPT),
    ):
        with pytest.raises(HypothesisFailed, match="raising ended with KeyError") as raised:
            call()
        assert "987654321" not in str(raised.value)

    def refusing(*_):
        raise InfeasiblePlan("too many cells")

    with pytest.raises(InfeasiblePlan, match="too many cells"):  # the house's own errors keep their meaning
        start_rule(rule(start=refusing), FACTS)
