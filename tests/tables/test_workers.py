"""Workers: any number of threads gives the same integers, and whatever one of them raises ends the pass."""

import numpy as np
import pyarrow as pa
import pytest
from support.cases import in_one_test, slowly, thinned

from dpqr.domain.attribute import Attribute, Codes, Rule
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DataError
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.counting import Counting, take_all
from dpqr.tables.encoders import TableBatch
from dpqr.tables.limits import Limits

DOMAIN = Domain(tuple(Attribute(name=f"c{place}", axis=Codes(40), rules={"null": Rule.FAIL}) for place in range(4)))
PAIRS = ((0, 1), (1, 2), (0, 3))


def batches(count=40, rows=50):
    chance = np.random.default_rng(1)
    for place in range(count):
        columns = {name: pa.array(chance.integers(0, 41, rows)) for name in DOMAIN.names}
        if place == count - 3:
            columns["c2"] = pa.array([None, *range(rows - 1)])
        yield pa.record_batch(columns | {"who": pa.array(chance.integers(0, 9, rows))})


def counted(workers, **how):
    asked = Counting(domain=DOMAIN, workers=workers, key=bytes(32), **how)
    return asked.counted(lambda: (batch.select(list(asked.columns)) for batch in batches()))


@pytest.mark.parametrize("how", thinned([{"column_sets": PAIRS}, {"limits": Limits(cells=2**10)}, {}], 2))
@pytest.mark.parametrize("workers", [2, *slowly(5)])
def test_the_same_integers_from_any_number_of_threads(workers, how) -> None:
    one, many = counted(1, **how), counted(workers, **how)
    assert (one.read, one.units, one.dropped, one.failed) == (many.read, many.units, many.dropped, many.failed)
    assert (one.read, one.failed) == (2000, {"c2"})
    assert type(one.counts) is type(many.counts)
    for axes in PAIRS:
        assert (one.counts.marginal(axes) == many.counts.marginal(axes)).all()


def test_persons_are_counted_by_one_thread() -> None:
    one, many = (counted(workers, unit=PrivacyUnit(columns=("who",), rows=3)) for workers in (1, 4))
    assert (one.counts.marginal((0,)) == many.counts.marginal((0,))).all()


class Failing:
    def __init__(self, at):
        self.read, self.at = 0, at

    def take(self, batch, rows):
        self.read += 1
        if self.read == self.at:
            raise DataError("as declared")
        return frozenset()


@in_one_test("intakes", [1, 3])
def test_what_a_thread_raises_ends_the_pass(intakes) -> None:
    seen = []
    walk = ((TableBatch(None), None) for _ in range(1000))
    with pytest.raises(DataError, match="as declared"):
        take_all(walk, [Failing(2) for _ in range(intakes)], seen.append)
    assert len(seen) <= 4 * intakes


def test_the_limit_on_records_ends_it_too() -> None:
    with pytest.raises(DataError, match="more records than the declared limit"):
        counted(3, limits=Limits(records=1999))
