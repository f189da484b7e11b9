"""Selections on all neighbouring tiny databases; and the same audit against selections made wrong on purpose."""

from fractions import Fraction

import numpy as np
import pytest
from audits.choices import Claim, audit_choice, exponential_law, permute_and_flip_law
from audits.neighbours import Breach, databases, pairs
from support.cases import in_one_test
from support.fakes import Says

from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.selection import ExponentialChoice, PermuteAndFlipChoice
from dpqr.strategies.candidates import BlockCandidates, QueryCandidates
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (2, 2)
RECORDS = 3
EPSILON = Fraction(3, 2)
UNITS = {relation.value: PrivacyUnit(neighbours=relation) for relation in Neighbours}
CHOICES = {"exponential": ExponentialChoice, "permute-and-flip": PermuteAndFlipChoice}
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
every_choice = pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES.keys())


def query(name: str, axis: int, row: list[int], scale: str = "1") -> QueryBlock:
    factor = Factor(axes=(axis,), sizes=(len(row),), matrix=Dense(np.array([row])))
    return QueryBlock(name=name, factors=(factor,), scale=Fraction(scale))


def marginal(name: str, *axes: int, weight: str = "1") -> QueryBlock:
    return QueryBlock(name=name, factors=tuple(Factor.identity(axis, 2) for axis in axes), weight=Fraction(weight))


# Each case: candidates, and a hypothesis for which one score rises while a far larger one falls, so that a neighbour
# costs all that it may.
def single_queries(unit: PrivacyUnit):
    blocks = (query("rises", 0, [0, 1]), query("falls", 1, [0, 1]), query("both", 0, [1, 1]))
    return QueryCandidates(blocks=blocks), Says({"rises": 0, "falls": 120, "both": 2})


def queries_on_two_grids(unit: PrivacyUnit):
    """Answers in quarters and in halves; the finest grid has the largest sensitivity."""
    blocks = (query("quarters", 0, [0, 4], "1/4"), query("halves", 1, [0, 2], "1/2"), query("own", 0, [3, 0], "1/4"))
    return QueryCandidates(blocks=blocks), Says({"quarters": 0.3, "halves": 240.2, "own": 2})


def rows_of_one_block(unit: PrivacyUnit):
    block = QueryBlock(name="rows", factors=(Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[0, 1], [1, 0]]))),))
    return QueryCandidates(blocks=(block,)), Says({"rows": 0})


def marginals(unit: PrivacyUnit):
    blocks = (marginal("a", 0), marginal("b", 1), marginal("both", 0, 1))
    return BlockCandidates(blocks=blocks, unit=unit), Says({"a": [4, 0], "b": [0, 120], "both": 1})


def unlike_blocks(unit: PrivacyUnit):
    """Sensitivities 1 to 4, weights, penalties and a negative coefficient."""
    prefix = QueryBlock(name="prefix", factors=(Factor(axes=(0,), sizes=(2,), matrix=Prefix(2)),))
    blocks = (marginal("a", 1, weight="2/3"), query("sum", 0, [-1, 3]), prefix)
    candidates = BlockCandidates(blocks=blocks, unit=unit, penalties=(1, 5, 0))
    return candidates, Says({"a": [200, 0], "sum": 400, "prefix": [0.4, 3.6]})


CASES = [single_queries, queries_on_two_grids, rows_of_one_block, marginals, unlike_blocks]
TIGHT = [single_queries, queries_on_two_grids, marginals]
every_case = pytest.mark.parametrize("case", CASES)
tight_cases = pytest.mark.parametrize("case", TIGHT)


def made(case, unit: PrivacyUnit, choice):
    candidates, hypothesis = case(unit)
    return choice(scores=candidates.scores(hypothesis), unit=unit, epsilon=EPSILON)


def audit(claim: Claim, unit: PrivacyUnit):
    return audit_choice(claim, pairs(SHAPE, RECORDS, unit.neighbours))


@in_one_test()
@every_unit
@every_choice
@every_case
def test_no_selection_costs_more_than_its_event(case, choice, unit) -> None:
    losses = audit(Claim.of(made(case, unit, choice)), unit)
    assert losses.pure > 0.2


@pytest.mark.slow
@in_one_test()
@every_unit
@every_choice
@tight_cases
def test_ten_percent_less_noise_is_rejected(case, choice, unit) -> None:
    claim = Claim.of(made(case, unit, choice))
    with pytest.raises(Breach):
        audit(replace(claim, rate=claim.rate * Fraction(10, 9)), unit)


@every_choice
def test_the_sensitivity_of_the_other_relation_is_rejected(choice) -> None:
    """A marginal's L1 error moves by 1 where a record comes or goes, and by 2 where one is replaced."""
    candidates, hypothesis = marginals(UNITS["replace"])
    wrong = choice(scores=candidates.scores(hypothesis), unit=UNITS["add-remove"], epsilon=EPSILON)
    audit(Claim.of(wrong), UNITS["add-remove"])
    with pytest.raises(Breach):
        audit(Claim.of(wrong), UNITS["replace"])


@every_unit
def test_permute_and_flip_is_pure_but_not_bounded_in_range(unit) -> None:
    claim = Claim.of(made(single_queries, unit, PermuteAndFlipChoice))
    # two candidates whose scores are level on one side of a pair
    level = QueryCandidates(blocks=(query("one", 0, [0, 1]), query("two", 1, [0, 1])))
    level = replace(claim, scores=level.scores(Says({"one": 0, "two": 3})))
    assert audit(level, unit).pure <= 1
    assert audit(level, unit).spread > 1.1
    with pytest.raises(Breach, match="range"):
        audit(replace(level, event=ExponentialEvent(epsilon=EPSILON)), unit)


@every_unit
@tight_cases
def test_the_exponential_mechanism_passes_as_permute_and_flip(case, unit) -> None:
    """The control of the test above: bounded range is the stronger claim."""
    claim = Claim.of(made(case, unit, ExponentialChoice))
    audit(replace(claim, event=PermuteAndFlipEvent(epsilon=EPSILON)), unit)


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism() -> None:
    """McKenna and Sheldon 2020, Theorem 2, on every score vector of a small grid: no shortfall is more probable."""
    for scores in databases(4, 5):
        ordered = sorted(scores)
        flip, exponential = permute_and_flip_law(ordered, Fraction(1, 2)), exponential_law(ordered, Fraction(1, 2))
        assert abs(sum(flip) - 1) < 1e-14
        for below in range(1, 4):
            if ordered[below - 1] < ordered[below]:
                assert sum(flip[:below]) <= sum(exponential[:below]) + 1e-14


def test_the_neighbours_are_all_of_them() -> None:
    """Three cells, two records: 10 databases; each can gain any of 3 cells, or move a record to any of 2 others."""
    added = list(pairs((3,), 2, Neighbours.ADD_REMOVE))
    assert len(added) == 2 * 10 * 3
    replaced = list(pairs((3,), 2, Neighbours.REPLACE))
    occupied = sum(np.count_nonzero(counts) for counts in databases(3, 2))
    assert len(replaced) == 2 * 10 * 3 + 2 * occupied * 2
    for one, two in added:
        assert np.abs(one.counts - two.counts).sum() == 1
    for one, two in replaced:
        assert sorted((one.counts - two.counts).tolist()) in ([-1, 0, 0], [0, 0, 1], [-1, 0, 1])
