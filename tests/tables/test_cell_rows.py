"""At most m rows of a person in one cell of a table: what each table counts, and how far neighbours' tables differ."""

from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import in_one_test, slow_but, slowly

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import SeparateTables
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.tables import counting
from dpqr.tables.counting import Counting
from dpqr.tables.engines.engine import add_counts, encode_counts
from dpqr.tables.frames import in_memory
from dpqr.tables.limits import Limits
from dpqr.tables.load import PartDraw, load_table
from dpqr.tables.source import TableSource
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity

DOMAIN = Domain((Attribute(name="sex", axis=Codes(2)), Attribute(name="k", axis=Codes(3))))
ASKED = ((0, 1), (1,), ())
ROWS = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 1), st.integers(0, 2)), max_size=25)


def ways(table, rows_each, most, **how):
    """The asked tables of (person, sex, k) rows, and what was left out: whole, in two parts, in parts as bytes."""
    unit = PrivacyUnit(columns=("who",), rows=rows_each, cell_rows=most)
    asked = Counting(domain=DOMAIN, column_sets=ASKED, unit=unit, key=bytes(32))

    def counted(some):
        who, sex, k = zip(*some, strict=True) if some else ([], [], [])
        held = pa.table({"sex": pa.array(sex, "int64"), "k": pa.array(k, "int64"), "who": pa.array(who, "string")})
        return asked.counted(lambda: held.to_batches(max_chunksize=4), **how)

    whole, *parts = map(
        counted, (table, [row for row in table if row[0] < "c"], [row for row in table if row[0] >= "c"])
    )
    assert isinstance(whole.counts, SeparateTables)
    carried = (encode_counts(lambda part=part: part) for part in parts)
    for found in (whole, asked.together(parts), add_counts(carried, asked)):
        yield {axes: found.counts.marginal(axes).tolist() for axes in ASKED}, (found.units, found.dropped)


@settings(max_examples=40)
@given(ROWS, st.integers(1, 3))
def test_each_table_counts_of_each_person_what_a_cell_may_hold(table, most) -> None:
    for found, _ in ways(table, 25, most):
        for axes in ASKED:
            expected = np.zeros([DOMAIN.shape[axis] for axis in axes], dtype=np.int64)
            for (_, *cell), rows in Counter((who, *((sex, k)[axis] for axis in axes)) for who, sex, k in table).items():
                expected[tuple(cell)] += min(rows, most) if axes else rows
            assert found[axes] == expected.tolist()


@settings(max_examples=15)
@given(ROWS, st.integers(1, 3))
def test_the_tables_are_the_same_in_passes_in_order_in_pieces_and_in_parts(table, most) -> None:
    expected, *found = ways(table, 3, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_UNPACKED", 2)
        found += ways(table, 3, most, groups=3)
        found += ways(sorted(table, key=lambda row: row[0]), 3, most, in_order=True)
    assert found == [expected] * 8


@in_one_test("given", [{}, {"column_sets": ASKED, "last": PartDraw(count=2, noise=SeededNoise(1))}])
def test_a_bound_that_nothing_can_keep_is_refused(given) -> None:
    asked = Counting(domain=DOMAIN, unit=PrivacyUnit(columns=("who",), rows=3, cell_rows=1), key=bytes(32), **given)
    with pytest.raises(InfeasiblePlan, match="--max-rows-per-cell"):
        asked.counted(lambda: ())
    with pytest.raises(InfeasiblePlan, match="--max-rows-per-cell"):
        asked.together([])


SMALL = Domain(tuple(Attribute(name=name, axis=Codes(2)) for name in ("sex", "k")))
SINGLES = tuple(QueryBlock(name="", factors=(Factor.identity(axis, 2),)) for axis in (0, 1))
PAIR = QueryBlock(name="", factors=(Factor.identity(1, 2), Factor.identity(0, 2)))
BLOCKS = (PAIR, *SINGLES, QueryBlock(name=""))
"""A table in another order of columns than the domain's, two that are no sums of it, and the number of rows."""


def loaded(table, unit):
    """The answers of each block, through the loader, with one key."""
    who, sex, k = zip(*table, strict=True) if table else ([], [], [])
    frame = pd.DataFrame({"who": pd.Series(who, dtype="str"), "sex": np.array(sex, int), "k": np.array(k, int)})
    asked = [block.axes for block in BLOCKS]
    source = TableSource(frame=in_memory(frame))
    found = load_table(source, SMALL, Limits(), unit=unit, noise=SeededNoise(1), column_sets=asked)
    counts = found.counts._unseal(SealKey())
    return [block.answer(counts) for block in BLOCKS]


@pytest.mark.parametrize(("rows_each", "most"), slow_but({0}, [(1, 1), (2, 1), (3, 1), (3, 2)]))
@pytest.mark.parametrize(
    "others", [*slowly([]), [("b", 0, 0)] * 4 + [("c", 1, 1), ("c", 0, 1)]], ids=["alone", "among others"]
)
def test_neighbours_differ_by_no_more_than_is_charged(rows_each, most, others) -> None:
    """Whatever one person has, cut to K or not: in every norm, each table by itself and all together."""
    unit = PrivacyUnit(columns=("who",), rows=rows_each, cell_rows=most)
    cells = [(sex, k) for sex in (0, 1) for k in (0, 1)]
    persons = [own for size in range(rows_each + 2) for own in combinations_with_replacement(cells, size)]
    answers = [loaded([*others, *(("a", *cell) for cell in own)], unit) for own in persons]
    for places in ((0,), (1,), (2,), (3,), (0, 1), (0, 1, 2, 3)):
        together = tuple(BLOCKS[place] for place in places)
        found = np.array([np.concatenate([each[place] for place in places]) for each in answers])
        changes = np.abs(found[:, None] - found)
        for norm in Norm:
            moved = (changes**norm.value).sum(axis=2) if norm.value else changes.max(axis=2)
            assert moved[0].max() <= sensitivity(together, norm, unit)
            replaced = PrivacyUnit(neighbours=Neighbours.REPLACE, columns=("who",), rows=rows_each, cell_rows=most)
            assert moved.max() <= sensitivity(together, norm, replaced)
        if places == (0,):
            assert (changes[0] ** 2).sum(axis=1).max() == unit.most_squared
