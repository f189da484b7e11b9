"""Which columns stand apart."""

import numpy as np
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain, PublicFacts
from dpqr.strategies.schedules.ordered import TUNING
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.related_blocks import CELLS, separable_columns
from dpqr.workload.workload import Workload

SIZES = (2, 3, 99, 7, 40)


def prefix(axis):
    return Factor(axes=(axis,), sizes=(SIZES[axis],), matrix=Prefix(SIZES[axis]))


def cells(axis):
    return Factor.identity(axis, SIZES[axis])


def predicate(axis):
    return Factor(axes=(axis,), sizes=(SIZES[axis],), matrix=Dense(np.ones((1, SIZES[axis]), dtype=np.int64)))


@in_one_test(
    ("blocks", "apart"),
    [
        ([[cells(0), cells(1)], [prefix(2)]], (2,)),
        ([[cells(0), cells(1)], [prefix(2)], [prefix(4)], [cells(2)]], (2, 4)),
        ([[cells(0), cells(1)], [prefix(2)], [predicate(2), cells(0)]], ()),
        ([[cells(0), cells(1)], [cells(2)]], ()),
        ([[cells(0), cells(1)], [predicate(2)]], ()),
        ([[cells(0), cells(1)], [prefix(3)]], ()),
        ([[prefix(2)], [prefix(4)]], ()),
        ([[prefix(2)], []], ()),
    ],
)
def test_ordered_columns_stand_apart_where_no_query_joins_them(blocks, apart):
    workload = Workload(tuple(QueryBlock(name=str(place), factors=tuple(one)) for place, one in enumerate(blocks)))
    attributes = tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(SIZES))
    assert separable_columns(workload, Domain(attributes)) == apart
    assert separable_columns(workload, Domain(attributes, facts=PublicFacts(least=5))) == ()


def test_they_are_the_columns_whose_cells_ordered_merges():
    assert range(TUNING.fewest_cells, TUNING.most_cells + 1) == CELLS
