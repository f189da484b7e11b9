from itertools import product

import numpy as np

from dpqr.domain.attribute import Attribute, Codes, Rule
from dpqr.domain.domain import Domain
from dpqr.domain.predicate_cells import evaluate
from dpqr.domain.predicates import And, columns, conjuncts, parse
from dpqr.domain.text.decoding import Location

PLACE = Location("q.json")
DOMAIN = Domain(tuple(Attribute(name=name, axis=Codes(2), rules={"null": Rule.CELL}) for name in ("a", "b", "c")))


def test_columns_are_all_that_are_named() -> None:
    assert columns(parse("a = 1 or not (b in (0, 1) and c is null)", PLACE)) == {"a", "b", "c"}


def test_conjuncts_go_through_de_morgan() -> None:
    def count(text: str) -> int:
        return len(conjuncts(parse(text, PLACE)))

    assert count("a = 1 and b = 1 and not (c = 1 or a = 0)") == 4
    assert count("not (a = 1 or not (b = 1 and c = 0))") == 3
    assert count("a = 1 or b = 1") == 1
    assert count("not (a = 1 and b = 1)") == 1


def test_the_conjunction_of_the_conjuncts_is_the_predicate_in_all_three_values() -> None:
    atoms = ("a = 1", "b = 0", "c is null")
    for nots, (left, right) in product(product(("", "not "), repeat=4), product(("and", "or"), repeat=2)):
        text = f"{nots[0]}({nots[1]}{atoms[0]} {left} {nots[2]}({atoms[1]} {right} {nots[3]}{atoms[2]}))"
        whole = evaluate(parse(text, PLACE), DOMAIN, (0, 1, 2), PLACE)
        parts = evaluate(And(tuple(conjuncts(parse(text, PLACE)))), DOMAIN, (0, 1, 2), PLACE)
        np.testing.assert_array_equal(*np.broadcast_arrays(whole.true, parts.true), err_msg=text)
