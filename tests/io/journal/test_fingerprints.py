"""The digest of a plan: equal for equal inputs, another one for every label, edge and coefficient.

The mark of a table: the same for the same bytes under the same key, and of no use without the key.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.handmade_release import make_plan

from dpqr.data.attribute import Attribute, Bins, Labels
from dpqr.data.domain import Domain
from dpqr.errors import DataError
from dpqr.io.journal.fingerprints import _TAGS, CHUNK, _parts, blocks_digest, plan_digest, table_mark
from dpqr.io.tables.source import TableSource
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Sparse
from dpqr.workload.workload import Workload


def with_axis(plan, axis):
    attributes = (Attribute(name="x", axis=axis), *plan.problem.domain.attributes[1:])
    return replace(plan, problem=replace(plan.problem, domain=Domain(attributes)))


def with_matrix(plan, matrix):
    block = QueryBlock(name="q", factors=(Factor(axes=(0,), sizes=(2,), matrix=matrix),))
    return replace(plan, problem=replace(plan.problem, workload=Workload((block,))))


def test_equal_plans_have_equal_digests():
    assert plan_digest(make_plan()) == plan_digest(make_plan())
    assert len(plan_digest(make_plan())) == 64


@pytest.mark.parametrize(
    "axes",
    [
        (Labels(("a", "b")), Labels(("a", "c"))),
        (Labels(("a", "b")), Labels(("b", "a"))),
        (Labels(("ab", "c")), Labels(("a", "bc"))),
        (Bins((Fraction(0), Fraction(1), Fraction(2))), Bins((Fraction(0), Fraction(1), Fraction(3)))),
        (
            Bins((Fraction(0), Fraction(1), Fraction(2))),
            Bins((Fraction(0), Fraction(1), Fraction(2)), closed="right"),
        ),
    ],
    ids=str,
)
def test_labels_and_edges_count(axes):
    plan = make_plan()
    first, second = (with_axis(plan, axis) for axis in axes)
    assert plan_digest(first) != plan_digest(second)


@pytest.mark.parametrize(
    "matrices",
    [
        (Dense(np.array([[1, 0]])), Dense(np.array([[0, 1]]))),
        (Dense(np.array([[1, 0], [0, 1]])), Dense(np.array([[0, 1], [1, 0]]))),
        (Sparse(csr_array(np.array([[1, 0]]))), Sparse(csr_array(np.array([[0, 1]])))),
    ],
    ids=["dense", "rows", "sparse"],
)
def test_coefficients_count(matrices):
    first, second = (plan_digest(with_matrix(make_plan(), matrix)) for matrix in matrices)
    assert first != second


def test_the_budget_counts():
    plan = make_plan()
    assert plan_digest(plan) != plan_digest(replace(plan, budget=replace(plan.budget, epsilon=Fraction(7, 8))))


def test_values_of_different_types_are_told_apart():
    found = [
        tuple(_parts(value)) for value in (1, "1", Fraction(1), True, None, (1,), [1], {1: 1}, {1}, (), np.ones(1))
    ]
    assert len(set(found)) == len(found)
    assert tuple(_parts({"b", "a"})) == tuple(_parts({"a", "b"}))


def factors(*each):
    return (QueryBlock(name="q", factors=tuple(Factor(axes=a, sizes=s, matrix=m) for a, s, m in each)),)


def test_sums_of_other_columns_sizes_or_coefficients_have_other_digests():
    ones, sparse = Dense(np.ones((1, 4), dtype=np.int64)), csr_array(np.array([[1, 0, 0, 1]]))
    moved = csr_array(np.array([[1, 0, 1, 0]]))
    every = [
        factors(((0,), (4,), ones)),
        factors(((1,), (4,), ones)),
        factors(((0, 1), (2, 2), ones)),
        factors(((0,), (4,), Dense(np.ones((2, 4), dtype=np.int64)))),
        factors(((0,), (4,), Dense(2 * np.ones((1, 4), dtype=np.int64)))),
        factors(((0,), (4,), Sparse(sparse))),
        factors(((0,), (4,), Sparse(moved))),
        (),
    ]
    assert len({blocks_digest(blocks) for blocks in every}) == len(every)


def test_how_the_run_opens_counts_though_the_names_are_the_same():
    ones = Dense(np.ones((1, 2), dtype=np.int64))
    opened = [replace(make_plan(), opening=factors(((0,), (2,), Dense(k * ones.coefficients)))) for k in (1, 2)]
    assert plan_digest(opened[0]) != plan_digest(opened[1])


def test_the_version_of_the_package_does_not_count(monkeypatch):
    before = plan_digest(make_plan())
    monkeypatch.setattr("dpqr.io.outputs.release_document.__version__", "99")
    assert plan_digest(make_plan()) == before


@dataclass(frozen=True)
class Renamed:
    """`Labels` under another name, with other names of its fields."""

    words: tuple[str, ...]
    lowered: bool = False


def test_names_of_classes_and_fields_do_not_count(monkeypatch):
    assert tuple(_parts(Renamed(("a", "b")))) != tuple(_parts(Labels(("a", "b"))))
    monkeypatch.setitem(_TAGS, Renamed, _TAGS[Labels])
    assert tuple(_parts(Renamed(("a", "b")))) == tuple(_parts(Labels(("a", "b"))))
    assert tuple(_parts(Renamed(("a", "b"), lowered=True))) != tuple(_parts(Labels(("a", "b"))))


def test_every_type_has_a_tag_of_its_own():
    assert len(set(_TAGS.values())) == len(_TAGS)


KEY, OTHER = bytes(32), bytes([1]) * 32


@pytest.fixture
def source(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "b.csv").write_text("x\n2\n")
    return TableSource(paths=(str(tmp_path / "a.csv"), str(tmp_path / "b.csv")))


def test_the_same_table_has_the_same_mark(source):
    assert table_mark(source, KEY) == table_mark(source, KEY)
    assert len(table_mark(source, KEY)) == 64


def test_keys_tell_nothing_of_each_other(source):
    assert table_mark(source, KEY) != table_mark(source, OTHER)


def test_every_byte_counts_and_every_file(source, tmp_path):
    marks = {table_mark(source, KEY)}
    (tmp_path / "b.csv").write_text("x\n3\n")
    marks.add(table_mark(source, KEY))
    (tmp_path / "a.csv").write_text("x\n1\nx")
    (tmp_path / "b.csv").write_text("\n2\n")
    marks.add(table_mark(source, KEY))
    marks.add(table_mark(TableSource(paths=source.paths[:1]), KEY))
    assert len(marks) == 4


def test_how_it_is_read_counts(source):
    for more in ({"delimiter": ";"}, {"count_column": "x"}):
        assert table_mark(TableSource(paths=source.paths, **more), KEY) != table_mark(source, KEY)


def test_large_files_are_read_in_pieces(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n" + b"1\n" * 5000)
    source = TableSource(paths=(str(path),))
    whole = table_mark(source, KEY)
    monkeypatch.setattr("dpqr.io.journal.fingerprints.CHUNK", 7)
    assert table_mark(source, KEY) == whole


def test_standard_input_has_none():
    assert table_mark(TableSource(paths=("-",)), KEY) is None


def test_a_table_that_cannot_be_read(source, monkeypatch):
    def fail(path):
        raise OSError(5, "PRIVATEVALUE")

    monkeypatch.setattr("dpqr.io.journal.fingerprints._file_digest", fail)
    with pytest.raises(DataError, match="cannot be read") as caught:
        table_mark(source, KEY)
    assert "PRIVATEVALUE" not in str(caught.value)


def test_a_byte_beyond_the_first_piece_counts(tmp_path):
    path = tmp_path / "a.csv"
    marks = set()
    for last in (b"1", b"2"):
        path.write_bytes(b"x\n" + b"0" * CHUNK + last)
        marks.add(table_mark(TableSource(paths=(str(path),)), KEY))
    assert len(marks) == 2
