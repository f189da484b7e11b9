"""Intakes: what a batch becomes, for rows and for persons."""

from fractions import Fraction

import numpy as np
import pyarrow as pa

from dpqr.domain.attribute import Attribute, Bins, Codes, Rule
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import Packing
from dpqr.kernel.noise.source import SeededNoise
from dpqr.tables.counting import PersonIntake, RowIntake
from dpqr.tables.encoders import RowEncoder, TableBatch
from dpqr.tables.persons import Splitter
from dpqr.tables.tallies import tally

DOMAIN = Domain(
    (
        Attribute(name="k", axis=Codes(4), rules={"outside": Rule.DROP, "null": Rule.FAIL}),
        Attribute(name="x", axis=Bins((Fraction(0), Fraction(1), Fraction(2)))),
    )
)
ROWS = RowEncoder.of(DOMAIN, count_cap=None)


def batch(*rows):
    person, k, x = zip(*rows, strict=True)
    return pa.record_batch({"k": pa.array(k, pa.int64()), "x": pa.array(x, pa.float64()), "pid": pa.array(person)})


def of_persons(most=1, groups=1):
    return PersonIntake(
        cells=tally(DOMAIN.shape, 2**20),
        packing=Packing(DOMAIN.shape),
        places=(2,),
        splitter=Splitter.draw(groups, SeededNoise(2)),
        most=most,
        memory=2**28,
        key=bytes(32),
    )


def run(intake, *batches):
    failed = set()
    for _ in range(intake.passes):
        for one in batches:
            failed |= intake.take(one if isinstance(one, TableBatch) else TableBatch(one), ROWS)
        intake.close()
    return failed, intake.cells.histogram().counts


TABLE = (
    batch(("a", 0, 0.5), ("a", 0, 1.5), (None, 3, 0.5), ("b", 9, 0.5)),
    batch(("a", 1, 0.5), ("b", 2, 0.5), ("", 3, 0.5), ("c", 3, 7.0), ("b", 9, 0.5)),
)


def test_rows_count_at_once() -> None:
    intake = RowIntake(cells=tally(DOMAIN.shape, 2**20))
    failed, cells = run(intake, *TABLE)
    assert (failed, int(cells.sum())) == (set(), 6)
    assert (intake.passes, intake.read, intake.units, intake.dropped) == (1, 9, 9, 3)


def test_persons_count_once_each_whatever_the_number_of_passes() -> None:
    for groups in (1, 2, 5):
        intake = of_persons(groups=groups)
        failed, cells = run(intake, *TABLE)
        assert failed == set()
        assert int(cells.sum()) == 2  # a and b: nobody's rows and c's do not count
        assert cells[2, 0] == 1  # b has one row that passes the rules, and that one is kept
        assert int(cells[0].sum() + cells[1].sum()) == 1
        assert intake.units == 3
        assert intake.dropped == 1 + 1 + 1  # at most one row each


def test_a_bound_that_nobody_reaches_keeps_all_rows_of_persons() -> None:
    intake = of_persons(most=9, groups=3)
    cells = run(intake, *TABLE)[1]
    assert cells.tolist() == [[1, 1], [1, 0], [1, 0], [0, 0]]
    assert intake.dropped == 3


def test_a_rule_that_fails_looks_at_persons_rows_only_and_every_pass_sees_its_own() -> None:
    broken = batch(("a", 0, 0.5), ("z", None, 0.5))
    assert run(of_persons(groups=4), broken)[0] == {"k"}
    assert run(of_persons(), batch(("a", 0, 0.5), (None, None, 0.5)))[0] == set()


def test_all_rows_are_read_in_every_pass() -> None:
    intake = of_persons(groups=2)
    intake.take(TableBatch(TABLE[1]), ROWS)
    assert intake.read == 5
    intake.close()
    assert intake.read == 0


def test_malformed_rows_are_records_that_are_left_out_and_belong_to_nobody() -> None:
    part = TableBatch(TABLE[0], np.array([0, 5]))
    intake = RowIntake(cells=tally(DOMAIN.shape, 2**20))
    run(intake, part)
    assert (intake.read, intake.units, intake.dropped, intake.malformed) == (6, 6, 3, True)
    persons = of_persons()
    run(persons, part, TABLE[1])
    assert (persons.units, persons.dropped, persons.malformed) == (3, 3, True)
    assert not of_persons().malformed


def test_a_table_without_rows() -> None:
    intake = of_persons()
    assert int(run(intake)[1].sum()) == 0
    empty = pa.record_batch({"k": pa.array([], pa.int64()), "x": pa.array([], pa.float64()), "pid": pa.array([])})
    assert int(run(of_persons(), empty)[1].sum()) == 0
    assert np.array_equal(run(of_persons(groups=3), empty)[1], np.zeros(DOMAIN.shape))
