"""Engines: a table that something else counts, from the Python interface on."""

import json
from functools import partial

import pyarrow as pa
import pytest
from support.cases import in_one_test
from support.guide_rule import ENGINE

import dpqr
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import BudgetRefused, DataError, UsageFault
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.tables.counting import Counting
from dpqr.tables.engines.engine import add_counts, encode_counts, is_engine
from dpqr.tables.engines.known import OTHER_AFTER, OTHER_BEFORE
from dpqr.tables.frames import UNREADABLE, in_memory
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table
from dpqr.testing import check_engine

QUERIES = {
    "domain": {"fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}]},
    "queries": [{"marginals": {"ways": 1}}],
}
SECRET = "row of Bob"


class Lines:
    name, public, names = "lines", None, ("sex",)

    def kind(self, name):
        return pa.string()

    def count(self, asked):
        rows = pa.record_batch({"sex": ["f", "m", "f"]})
        return asked.counted(lambda: [rows.select(list(asked.columns))])


class Broken(Lines):
    error: type[Exception] = RuntimeError

    def count(self, asked):
        raise self.error(SECRET)


def loaded(engine, unit=PrivacyUnit()):  # noqa: B008 (frozen)
    domain = read_domain(json.loads(json.dumps(QUERIES["domain"])))
    return load_table(TableSource(engine=engine), domain, Limits(), unit=unit)


def test_an_engine_counts_also_the_one_that_the_guide_prints() -> None:
    space: dict = {}
    exec(compile(ENGINE, "extending.md", "exec"), space)
    assert not is_engine(pa.table({"sex": ["f"]}))
    for engine, expected in ((Lines(), [2, 1]), (space["Lines"](), [1, 1])):
        assert is_engine(engine)
        assert loaded(engine).counts._unseal(SealKey()).marginal((0,)).tolist() == expected
    assert len(dpqr.release(Lines(), queries=QUERIES, eps="20").answers) == 2


@in_one_test("error", [RuntimeError, MemoryError, DataError, UsageFault, BudgetRefused])
def test_what_an_engine_raises_is_not_shown(error) -> None:
    engine = Broken()
    engine.error = error
    with pytest.raises(DataError) as caught:
        loaded(engine)
    assert str(caught.value) == OTHER_AFTER
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in repr(caught.traceback)


@in_one_test("part", ["name", "names", "kind", "public"])
@pytest.mark.parametrize("error", [RuntimeError, DataError])
def test_whatever_an_engine_refuses_before_payment_has_one_sentence(part, error) -> None:
    def refuse(*_):
        raise error(SECRET)

    engine = type("Other", (Lines,), {part: refuse if part == "kind" else property(refuse)})()
    with pytest.raises(DataError) as caught:
        check_table(TableSource(engine=engine), read_domain(QUERIES["domain"]), Limits())
    assert str(caught.value) == OTHER_BEFORE
    assert caught.value.__context__ is None


def test_limits_that_the_core_meets_within_an_engine_keep_their_words() -> None:
    with pytest.raises(DataError, match="more records than the declared limit"):
        load_table(TableSource(engine=Lines()), read_domain(QUERIES["domain"]), Limits(records=1))


@in_one_test("error", [RuntimeError, DataError])
def test_what_a_table_in_memory_raises_is_not_shown(error) -> None:
    def batches():
        yield pa.record_batch({"sex": ["f"]})
        raise error(SECRET)

    reader = pa.RecordBatchReader.from_batches(pa.schema({"sex": pa.string()}), batches())
    with pytest.raises(DataError) as caught:
        load_table(TableSource(frame=in_memory(reader)), read_domain(QUERIES["domain"]), Limits())
    assert str(caught.value) == UNREADABLE


def test_a_missing_column_is_refused_before_anything_is_counted() -> None:
    class Other(Broken):
        names = ("age",)

    with pytest.raises(DataError, match="lines has no column 'sex'"):
        dpqr.release(Other(), queries=QUERIES, eps="1")


# Counts become values, are added up in any order and in several steps, and come back as the same counts.


class Carried:
    """An Arrow table whose parts are carried as values and added up in a tree."""

    name, public = "carried", None

    def __init__(self, table):
        self._table, self.names = table, tuple(table.schema.names)

    def kind(self, name):
        return self._table.schema.field(name).type

    def count(self, asked):
        batches = self._table.select(list(asked.columns)).to_batches(max_chunksize=30)
        parts = [batches] if asked.unit.columns else [[batch] for batch in batches]
        values = [encode_counts(partial(asked.counted, lambda part=part: part)) for part in parts]
        sums = [encode_counts(partial(add_counts, values[start::2], asked)) for start in range(2)]
        return add_counts(sums, asked)


@pytest.mark.slow
def test_what_is_carried_is_what_was_counted() -> None:
    check_engine(Carried, rows=100)


ASKED = Counting(domain=Domain((Attribute(name="k", axis=Codes(3)),)), limits=Limits(records=5))


def of(*codes):
    return encode_counts(lambda: ASKED.counted(lambda: [pa.record_batch({"k": pa.array(codes, pa.int32())})]))


def failing():
    raise ValueError(SECRET)


def test_a_part_that_failed_ends_in_constant_words_through_every_step() -> None:
    failed = encode_counts(failing)
    assert SECRET.encode() not in failed
    step = encode_counts(lambda: add_counts([of(1), failed, of(2)], ASKED))
    with pytest.raises(DataError, match="counting a part of the table failed"):
        add_counts([of(0), step], ASKED)


def test_the_limit_on_records_holds_for_the_sum() -> None:
    with pytest.raises(DataError, match="more records than the declared limit"):
        add_counts([of(0, 1, 2), of(0, 1, 2)], ASKED)
