"""Made-up and resampled public tables."""

from __future__ import annotations

import numpy as np
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain, PublicFacts, Region
from dpqr.domain.histogram import DenseHistogram, SparseHistogram
from dpqr.kernel.values import replace
from dpqr.releases.forecast import simulation as public_tables
from dpqr.releases.forecast.simulation import PublicTable, simulate_tables

DOMAIN = Domain(tuple(Attribute(name=name, axis=Codes(size)) for name, size in (("a", 3), ("b", 4))))


def test_made_up_tables_repeat_with_their_seed_and_differ_from_each_other():
    one, same, other = (simulate_tables(DOMAIN, 500, seed) for seed in (1, 1, 9))
    cells = [[table.counts.marginal((0, 1)).tolist() for table in tables] for tables in (one, same, other)]
    assert cells[0] == cells[1] != cells[2]
    assert len({str(each) for each in cells[0]}) == len(one) == public_tables.PUBLIC_TABLES.tables
    assert [table.records for table in one] == [500] * len(one)


def test_of_more_records_than_are_drawn_each_row_stands_for_several(monkeypatch):
    monkeypatch.setattr(public_tables, "PUBLIC_TABLES", replace(public_tables.PUBLIC_TABLES, rows=100))
    assert {int(table.counts.marginal(())) for table in simulate_tables(DOMAIN, 12_345, 0)} == {12_345}


def test_no_row_is_impossible():
    cells = np.zeros((3, 4), dtype=bool)
    cells[0] = cells[:, 1] = True
    facts = PublicFacts(impossible=(Region(text="a = 0 or b = 1", axes=(0, 1), cells=cells),))
    for table in simulate_tables(replace(DOMAIN, facts=facts), 400, 0):
        assert table.counts.marginal((0, 1))[cells].sum() == 0
        assert table.records == 400


@in_one_test(("records", "kept"), [(None, True), (600, False)])
def test_a_table_is_resampled_only_where_a_number_of_records_is_stated(records, kept):
    cells, counts = np.array([[0, 0], [2, 3]]), np.array([4, 2])
    table = PublicTable.resampled("public.csv", DOMAIN.shape, cells, counts, records, 0)
    found = table.counts.marginal((0, 1))
    assert (int(found.sum()), table.records) == (records or 6, records or 6)
    assert set(zip(*np.nonzero(found), strict=True)) == {(0, 0), (2, 3)}
    assert (found[0, 0] == 4) is np.bool_(kept)


def test_large_domains_are_kept_by_occupied_cell():
    codes = np.array([[0, 0], [1, 1]])
    assert isinstance(PublicTable.of("small", (3, 4), codes).counts, DenseHistogram)
    assert isinstance(PublicTable.of("large", (2**15, 2**15), codes).counts, SparseHistogram)
