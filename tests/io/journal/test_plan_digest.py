"""The digest of a plan: equal for equal inputs, another one for every label, edge and coefficient."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from handmade import make_plan
from scipy.sparse import csr_array

from dpqr.data.attribute import Attribute, Bins, Labels
from dpqr.data.domain import Domain
from dpqr.io.journal.plan_digest import _parts, blocks_digest, plan_digest
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
