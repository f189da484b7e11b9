"""Whole persons on all neighbouring tiny tables; and the same audit against bounding made wrong on purpose."""

from collections import defaultdict
from functools import lru_cache

import numpy as np
import pytest
from audits.neighbours import Breach
from audits.persons import CELLS, Claim, as_built, audit_persons, counted, law, neighbours
from support.cases import in_one_test, slowly

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

ROWS = 3
OTHERS = {"two rows": ((1, 0), (1, 1)), "a rule and two rows": ((1, None), (1, 0), (1, 1))}
"""Rows of a person whom both neighbours hold."""

MARGINAL = (QueryBlock(name="marginal", factors=(Factor.identity(0, CELLS),)),)
PREDICATE = (
    QueryBlock(name="one cell", factors=(Factor(axes=(0,), sizes=(CELLS,), matrix=Dense(np.array([[0, 1]]))),)),
)
every_relation = pytest.mark.parametrize("relation", Neighbours, ids=[each.value for each in Neighbours])
every_bound = pytest.mark.parametrize("most", [1, 2])


def unit(relation: Neighbours, most: int) -> PrivacyUnit:
    return PrivacyUnit(neighbours=relation, columns=("pid",), rows=most)


as_built_once = lru_cache(maxsize=None)(as_built)


def audit(claim: Claim, relation: Neighbours, others=OTHERS["two rows"]) -> float:
    return audit_persons(claim, neighbours(relation, others, ROWS))


@every_relation
@pytest.mark.parametrize("most", [1, *slowly(2)])
@pytest.mark.parametrize("others", [OTHERS["two rows"], *slowly(OTHERS["a rule and two rows"])], ids=OTHERS.keys())
@pytest.mark.parametrize("blocks", [MARGINAL, *slowly(PREDICATE)], ids=["marginal", "predicate"])
def test_no_person_loses_more_than_is_paid(relation, most, others, blocks) -> None:
    """A person of 2 K rows, half of them kept and half of them counted as left out, loses all of it."""
    share = audit(Claim.of(unit(relation, most), blocks, as_built_once), relation, others)
    if relation is Neighbours.ADD_REMOVE and most == 1:
        assert share > 1 - 1e-9


@pytest.mark.slow
@in_one_test("blocks", [MARGINAL, PREDICATE])
@every_relation
@every_bound
def test_the_price_of_answers_is_not_too_high_either(relation, most, blocks) -> None:
    claim = replace(Claim.of(unit(relation, most), blocks, as_built_once), dropped=None)
    assert audit(claim, relation) > 1 - 1e-9


@pytest.mark.slow
@every_relation
@pytest.mark.parametrize("blocks", [MARGINAL, PREDICATE], ids=["marginal", "predicate"])
def test_the_sensitivity_of_one_row_is_rejected_for_two(relation, blocks) -> None:
    claim = Claim.of(unit(relation, 1), blocks, as_built_once)
    for wrong in (replace(claim, most=2), replace(claim, most=2, dropped=None)):
        with pytest.raises(Breach):
            audit(wrong, relation)


@pytest.mark.parametrize("most", [1, *slowly(2)])
def test_the_sensitivity_of_the_other_relation_is_rejected(most) -> None:
    """A marginal under replace: two cells move, where an added person moves one."""
    added = Claim.of(unit(Neighbours.ADD_REMOVE, most), MARGINAL, as_built_once)
    with pytest.raises(Breach):
        audit(replace(added, dropped=None), Neighbours.REPLACE)


def by_place(table, most, order):
    """Mutant: a row's ticket is a function of its place in the table, as in a shuffle that is the same for all
    tables; so one person's row moves the others' tickets."""
    fixed = sorted(range(len(table)), key=lambda place: (place * 2 + 1) % 4)
    return as_built_once(table, most, tuple(fixed))


def counted_first(table, most, order):
    """Mutant: the bound comes after counting, so it no longer bounds what is counted."""
    return counted(row for _, row in table if row is not None), as_built_once(table, most, order)[1]


def unclipped(table, most, order):
    """Mutant: every row that is left out counts, however many one person has."""
    cells, _ = as_built_once(table, most, order)
    return cells, len(table) - sum(cells)


def drawn_then_ruled(table, most, order):
    """No mutant of privacy: rows are drawn before the rules drop some. It is as private, and keeps fewer rows."""
    drawn, lost = [], defaultdict(int)
    held = defaultdict(list)
    for place in order:
        held[table[place][0]].append(table[place][1])
    for person, rows in held.items():
        kept = [row for row in rows[:most] if row is not None]
        drawn += kept
        lost[person] = min(most, len(rows) - len(kept))
    return counted(drawn), sum(lost.values())


@every_relation
@pytest.mark.parametrize("mutant", [by_place, counted_first, unclipped])
def test_a_bound_made_wrong_is_rejected(relation, mutant) -> None:
    with pytest.raises(Breach):
        audit(Claim.of(unit(relation, 1), MARGINAL, mutant), relation)


@every_relation
def test_rules_may_come_before_or_after_and_keep_more_rows_before(relation) -> None:
    audit(Claim.of(unit(relation, 1), MARGINAL, drawn_then_ruled), relation)
    table = ((1, None), (1, 0))
    before, after = law(table, 1, as_built), law(table, 1, drawn_then_ruled)
    assert set(before) == {((1, 0), 1)}
    assert set(after) == {((1, 0), 1), ((0, 0), 1)}
