"""Log-linear models: the dual, its gradient, and the preconditioner on redundant moves."""

from itertools import combinations

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal, measured

from dpqr.models.fit.evidence import gather
from dpqr.models.fit.log_linear import LogLinear, RedundancyPreconditioner
from dpqr.models.junction_tree import Clique, JunctionTree
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (3, 2, 4)
SINGLE = JunctionTree.over(SHAPE, [(0, 1, 2)])
LOOSE = JunctionTree(
    shape=SHAPE,
    cliques=(Clique(axes=(1, 0), parent=None, separator=()), Clique(axes=(1, 2), parent=0, separator=(1,))),
)


@pytest.fixture(params=["one clique", "two cliques"])
def model(request):
    """Marginals, a prefix, signed coefficients on two axes in reverse order, and row-by-row rectangles."""
    rng = np.random.default_rng(7)
    rows = Factor(axes=(0,), sizes=(3,), matrix=Dense(rng.integers(0, 2, (4, 3))))
    columns = Factor(axes=(2,), sizes=(4,), matrix=Dense(rng.integers(0, 2, (4, 4))))
    blocks = [
        marginal((0, 1), SHAPE),
        marginal((2,), SHAPE),
        QueryBlock(name="cdf", factors=(Factor(axes=(2,), sizes=(4,), matrix=Prefix(4)),)),
        dense(rng.integers(-3, 4, (2, 8)), SHAPE, (2, 1)),
        QueryBlock(name="rectangles", factors=(rows, columns), rowwise=True),
    ]
    loose = request.param == "two cliques"
    if loose:
        blocks.pop()
    values = [rng.integers(-20, 100, block.rows) for block in blocks]
    evidence = gather([measured(blocks[:3], values[:3], 5.0), measured(blocks[3:], values[3:], 9.0)], SHAPE)
    base = [((0, 1), rng.normal(size=(3, 2))), ((2,), rng.normal(size=4))]
    return LogLinear.of(evidence, LOOSE if loose else SINGLE, base, 150.0, [1.0, 1.0, 2.0, 3.0, 1.0][: len(blocks)])


def test_the_gradient_is_that_of_the_value(model):
    rng = np.random.default_rng(1)
    point = rng.normal(size=model.targets.size) / model.scales
    _, gradient = model.objective(point)
    for index in range(point.size):
        move = np.zeros(point.size)
        move[index] = 1e-5 / model.scales[index]
        slope = (model.objective(point + move)[0] - model.objective(point - move)[0]) / (2 * move[index])
        assert slope == pytest.approx(gradient[index], rel=1e-5, abs=1e-6 * model.scales[index])


def test_the_value_is_the_dual_written_out(model):
    point = np.random.default_rng(2).normal(size=model.targets.size) / model.scales
    eta = point * model.scales
    logs = np.zeros(SHAPE)
    tables = [(seen.axes, seen.adjoint(eta[slot])) for seen, slot in zip(model.evidence, model.slots, strict=True)]
    for axes, table in [*tables, *((site.clique.axes, site.base) for site in model.propagation.sites)]:
        order = sorted(axes)
        shape = [SHAPE[axis] if axis in axes else 1 for axis in range(3)]
        logs += table.transpose([axes.index(axis) for axis in order]).reshape(shape)
    expected = np.log(np.exp(logs).sum()) - eta @ model.targets + (model.ridge * eta**2).sum() / 2
    assert model.objective(point)[0] == pytest.approx(expected)


def test_potentials_survive_the_way_out_and_in(model):
    point = np.random.default_rng(3).normal(size=model.targets.size)
    parts = model.split(point)
    assert np.allclose(model.joined(parts), point)
    nothing = len(model.evidence)
    assert not model.joined([None] * nothing).any()
    assert not model.joined([np.zeros(1)] * nothing).any()


WIDE = (3, 2, 4, 5)
GROUPS = {
    "one table": [(1, 2)],
    "apart": [(0,), (1, 2)],
    "pairs and singles": [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)],
    "three and two": [(0, 1, 2), (1, 2, 3), (0, 3), (3,)],
}


def seen(groups, more=()):
    blocks = [*(marginal(group, WIDE) for group in groups), *more]
    return gather([measured(blocks, [np.zeros(block.rows) for block in blocks], 1.0)], WIDE)


def slots_of(evidence):
    ends = np.cumsum([one.values.size for one in evidence])
    return [slice(int(end) - one.values.size, int(end)) for one, end in zip(evidence, ends, strict=True)]


def moves(evidence, slots):
    """A basis of all that adds up to a constant: constants of tables, and single attributes' values moved from one
    table to the next."""
    columns, whole = [], slots[-1].stop

    def column(*parts):
        full = np.zeros(whole)
        for slot, table in parts:
            full[slot] += table.reshape(-1)
        columns.append(full)

    for one, slot in zip(evidence, slots, strict=True):
        column((slot, np.ones(one.values.shape)))
    for (one, slot), (other, place) in combinations(zip(evidence, slots, strict=True), 2):
        for axis in set(one.axes) & set(other.axes):
            for value in range(WIDE[axis]):
                column((slot, _slice(one, axis, value)), (place, -_slice(other, axis, value)))
    return np.array(columns).T


def _slice(one, axis, value):
    table = np.zeros(one.values.shape)
    np.moveaxis(table, one.axes.index(axis), 0)[value] = 1.0
    return table


@in_one_test("groups", GROUPS.values())
def test_it_is_the_inverse_of_the_ridge_on_all_such_moves(groups):
    rng = np.random.default_rng(0)
    evidence = seen(groups)
    slots = slots_of(evidence)
    ridge = np.concatenate([np.full(one.values.size, rng.uniform(0.1, 9)) for one in evidence])
    basis = moves(evidence, slots)
    expected = basis @ np.linalg.pinv(basis.T @ (ridge[:, None] * basis), rcond=1e-10) @ basis.T
    found = RedundancyPreconditioner.of(evidence, ridge, slots)
    assert np.allclose([found.apply(unit) for unit in np.eye(ridge.size)], expected)


def test_an_uneven_ridge_is_taken_at_its_mean():
    """Still linear, symmetric and never negative, as a descent needs it."""
    evidence = seen(GROUPS["pairs and singles"])
    slots = slots_of(evidence)
    ridge = np.random.default_rng(1).uniform(0.1, 9, slots[-1].stop)
    even = np.concatenate([np.full(slot.stop - slot.start, ridge[slot].mean()) for slot in slots])
    vector = np.random.default_rng(2).normal(size=ridge.size)
    found = RedundancyPreconditioner.of(evidence, ridge, slots).apply(vector)
    assert np.allclose(found, RedundancyPreconditioner.of(evidence, even, slots).apply(vector))
    assert found @ vector > 0.0


def test_answers_that_are_no_marginals_stay_out_of_it():
    more = dense([[1, 2, 0], [0, 1, 1]], WIDE, (0,))
    evidence = seen(GROUPS["apart"], [more])
    slots = slots_of(evidence)
    vector = np.arange(1.0, slots[-1].stop + 1)
    found = RedundancyPreconditioner.of(evidence, np.ones(vector.size), slots).apply(vector)
    alone = RedundancyPreconditioner.of(evidence[:2], np.ones(vector.size - 2), slots[:2]).apply(vector[:-2])
    assert np.array_equal(found, [*alone, 0, 0])
    nothing = RedundancyPreconditioner.of(evidence[2:], np.ones(2), [slice(0, 2)])
    assert not nothing.apply(np.ones(2)).any()
