"""The digest of a plan: equal for equal inputs, another one for every label, edge and coefficient."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array
from support.cases import in_one_test
from support.handmade_release import make_plan
from support.ordered_releases import planned
from support.plan_phases import changed

from dpqr.domain.attribute import PLAIN, Attribute, Bins, Labels, Spelling
from dpqr.domain.domain import Domain
from dpqr.kernel.budget import Price
from dpqr.kernel.values import replace
from dpqr.releases import fingerprints as module
from dpqr.releases.fingerprints import blocks_digest, has_another_form, plan_digest, plan_form, release_note
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import Ranges
from dpqr.workload.strategy_matrices import PIdentity
from dpqr.workload.trees import Tree


def with_axis(plan, axis):
    attributes = (Attribute(name="x", axis=axis), *plan.problem.domain.attributes[1:])
    return replace(plan, problem=replace(plan.problem, domain=Domain(attributes)))


PINNED = {
    "rounds": (make_plan, "0d1796bd118358635c37cc1235eefa99476353b5614afe23ed91c78ca9999316"),
    "ordered": (planned, "3ea54944b24a455ee4b3f6389f2ac5cb0a3bd50a41cdaadcb809a1c84222805e"),
}
"""Digests of form 2. One that changes ends the continuation of runs that were begun before: if the change is meant,
raise FORM in dpqr/releases/fingerprints.py, pin the new digests here, and say in the changelog that releases which
were begun before cannot be resumed. A change of a sentence, a name or a module must not bring you here."""


@in_one_test("name", PINNED)
def test_the_digest_of_a_plan_is_that_of_its_form(name):
    made, digest = PINNED[name]
    assert module.FORM == 2
    assert plan_digest(made()) == digest


def test_names_of_classes_and_fields_do_not_count():
    renamed = type("Renamed", (Bins,), {})
    edges = (Fraction(0), Fraction(1), Fraction(2))
    plan = make_plan()
    assert plan_digest(with_axis(plan, Bins(edges))) == plan_digest(with_axis(plan, renamed(edges)))


def test_sentences_and_forecasts_do_not_count():
    plan = make_plan()
    reworded = replace(plan, notes=("other words",), forecast=(), bytes=1, epsilon=Fraction(1, 2))
    assert plan_digest(plan) == plan_digest(reworded)


def test_another_form_is_told_by_the_ledgers_note(monkeypatch):
    note = release_note()
    assert not has_another_form(note)
    assert has_another_form("release, plan " + "0" * 64)
    assert has_another_form(f"{note} " + "0" * 64), "as older versions wrote it, with the fingerprint of the draws"
    assert not has_another_form("predict, plan " + "0" * 64)
    monkeypatch.setattr(module, "__version__", "9.9.9")
    assert has_another_form(note)
    monkeypatch.undo()
    monkeypatch.setattr(module, "FORM", 3)
    assert has_another_form(note)
    assert release_note() != note


ROW = np.array([0, 1, 2, 3])
MATRICES = (
    Identity(4),
    Prefix(4),
    Prefix(3, 1),
    Dense(np.eye(4, dtype=np.int64)),
    Dense(np.eye(4, dtype=np.int64)[::-1]),
    Sparse(csr_array(np.eye(4, dtype=np.int64))),
    Ranges(ROW, ROW + 1, 4),
    Ranges(ROW, np.full(4, 4), 4),
    Tree(4, (1,), (1,)),
    Tree(4, (1,), (2,)),
    Tree(4, (2, 1), (1, 1)),
    PIdentity(widths=ROW[1:2], diagonal=ROW[1:2], sums=np.zeros((0, 1), dtype=np.int64)),
    PIdentity(widths=ROW[1:2], diagonal=ROW[2:3], sums=np.zeros((0, 1), dtype=np.int64)),
    BucketMatrix(Identity(4), ROW),
    BucketMatrix(Identity(4), ROW[::-1]),
)


def test_every_matrix_has_a_form_of_its_own():
    digests = {blocks_digest(factors(((0,), (matrix.cells,), matrix))) for matrix in MATRICES}
    assert len(digests) == len(MATRICES)


@dataclass(frozen=True)
class Foreign:
    """A third party's matrix or strategy."""

    coefficients: object
    _cache: object = None
    rows = 1


def test_matrices_of_third_parties_are_compared_by_class_and_fields():
    fields = [1, 1.0, "1", (1,), np.array([1]), np.array([[1]]), np.array([1.0]), Foreign(1), Fraction(1), object()]
    digests = [blocks_digest(factors(((0,), (4,), Foreign(each)))) for each in fields]
    assert len(set(digests)) == len(fields)
    assert blocks_digest(factors(((0,), (4,), Foreign(1, "cached")))) == digests[0]


def test_all_options_of_a_third_partys_strategy_count():
    plan = make_plan()
    one, two = (replace(plan, roles=replace(plan.roles, update=Foreign(each))) for each in ((1, 2), (1, 3)))
    assert plan_digest(one) != plan_digest(two)


def test_every_part_of_the_form_counts():
    """Plans that differ in one part have digests that differ; equal ones have equal ones."""
    plan = make_plan()
    problem, check, (first, *others) = plan.problem, plan.roles.distinguisher, plan.phases
    edges = (Fraction(0), Fraction(1), Fraction(2))
    axes = [
        *(Labels(values) for values in (("a", "b"), ("a", "c"), ("b", "a"), ("ab", "c"), ("a", "bc"))),
        Labels(("a", "b"), texts=(("a",), ("b", "B"))),
        *(Bins(edges), Bins((*edges[:2], Fraction(3))), Bins(edges, closed="right")),
    ]
    changed_plans = [
        *(with_axis(plan, axis) for axis in axes),
        replace(plan, budget=replace(plan.budget, epsilon=Fraction(7, 8))),
        replace(plan, phases=(replace(first, price=Price(epsilon=Fraction(9))), *others)),
        replace(plan, problem=replace(problem, unit=replace(problem.unit, drops=True))),
        replace(plan, problem=replace(problem, n=9)),
        replace(plan, problem=replace(problem, alpha=Fraction(1, 9))),
        replace(plan, problem=replace(problem, seed=8)),
        replace(plan, roles=replace(plan.roles, update=check)),
        replace(plan, schedule=replace(plan.schedule, opening=False)),
    ]
    assert len({plan_digest(each) for each in (plan, *changed_plans)}) == 1 + len(changed_plans)
    assert plan_digest(make_plan()) == plan_digest(plan)
    assert (len(plan_digest(plan)), plan_form(plan)["form"]) == (64, 2)


def factors(*each):
    return (QueryBlock(name="q", factors=tuple(Factor(axes=a, sizes=s, matrix=m) for a, s, m in each)),)


def test_sums_of_other_columns_sizes_or_coefficients_have_other_digests():
    ones, sparse = np.ones((1, 4), dtype=np.int64), ([[1, 0, 0, 1]], [[1, 0, 1, 0]])
    every = [
        factors(((0,), (4,), Dense(ones))),
        factors(((1,), (4,), Dense(ones))),
        factors(((0, 1), (2, 2), Dense(ones))),
        *(factors(((0,), (4,), Dense(each))) for each in (np.ones((2, 4), dtype=np.int64), 2 * ones)),
        *(factors(((0,), (4,), Sparse(csr_array(np.array(each))))) for each in sparse),
        (),
    ]
    assert len({blocks_digest(blocks) for blocks in every}) == len(every)


def test_how_the_run_opens_counts_though_the_names_are_the_same():
    ones = Dense(np.ones((1, 2), dtype=np.int64))
    opened = [
        changed(make_plan(), "opening", blocks=(factors(((0,), (2,), Dense(k * ones.coefficients))),)) for k in (1, 2)
    ]
    assert plan_digest(opened[0]) != plan_digest(opened[1])


def test_the_spelling_of_a_column_counts():
    plan, digests = make_plan(), set()
    first, *others = plan.problem.domain.attributes
    for spelling in (PLAIN, Spelling(trim=True), Spelling(pattern="%d/%m/%Y"), Spelling(decimal=",")):
        domain = Domain((replace(first, spelling=spelling), *others))
        digests.add(plan_digest(replace(plan, problem=replace(plan.problem, domain=domain))))
    assert plan_digest(plan) in digests
    assert len(digests) == 4
