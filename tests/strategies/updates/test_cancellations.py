from itertools import combinations

import numpy as np
import pytest
from support.small_universes import dense, marginal, measured

from dpqr.strategies.updates.cancellations import Cancellations
from dpqr.strategies.updates.evidence import gather

SHAPE = (3, 2, 4, 5)
GROUPS = {
    "one table": [(1, 2)],
    "apart": [(0,), (1, 2)],
    "pairs and singles": [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)],
    "three and two": [(0, 1, 2), (1, 2, 3), (0, 3), (3,)],
}


def seen(groups, more=()):
    blocks = [*(marginal(group, SHAPE) for group in groups), *more]
    return gather([measured(blocks, [np.zeros(block.rows) for block in blocks], 1.0)], SHAPE)


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
            for value in range(SHAPE[axis]):
                column((slot, _face(one, axis, value)), (place, -_face(other, axis, value)))
    return np.array(columns).T


def _face(one, axis, value):
    table = np.zeros(one.values.shape)
    np.moveaxis(table, one.axes.index(axis), 0)[value] = 1.0
    return table


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_it_is_the_inverse_of_the_ridge_on_all_such_moves(groups):
    rng = np.random.default_rng(0)
    evidence = seen(groups)
    slots = slots_of(evidence)
    ridge = np.concatenate([np.full(one.values.size, rng.uniform(0.1, 9)) for one in evidence])
    basis = moves(evidence, slots)
    expected = basis @ np.linalg.pinv(basis.T @ (ridge[:, None] * basis), rcond=1e-10) @ basis.T
    found = Cancellations.of(evidence, ridge, slots)
    assert np.allclose([found.eased(unit) for unit in np.eye(ridge.size)], expected)


def test_an_uneven_ridge_is_taken_at_its_mean():
    """Still linear, symmetric and never negative, as a descent needs it."""
    evidence = seen(GROUPS["pairs and singles"])
    slots = slots_of(evidence)
    ridge = np.random.default_rng(1).uniform(0.1, 9, slots[-1].stop)
    even = np.concatenate([np.full(slot.stop - slot.start, ridge[slot].mean()) for slot in slots])
    vector = np.random.default_rng(2).normal(size=ridge.size)
    found = Cancellations.of(evidence, ridge, slots).eased(vector)
    assert np.allclose(found, Cancellations.of(evidence, even, slots).eased(vector))
    assert found @ vector > 0.0


def test_answers_that_are_no_marginals_stay_out_of_it():
    more = dense([[1, 2, 0], [0, 1, 1]], SHAPE, (0,))
    evidence = seen(GROUPS["apart"], [more])
    slots = slots_of(evidence)
    vector = np.arange(1.0, slots[-1].stop + 1)
    found = Cancellations.of(evidence, np.ones(vector.size), slots).eased(vector)
    alone = Cancellations.of(evidence[:2], np.ones(vector.size - 2), slots[:2]).eased(vector[:-2])
    assert np.array_equal(found, [*alone, 0, 0])
    nothing = Cancellations.of(evidence[2:], np.ones(2), [slice(0, 2)])
    assert not nothing.eased(np.ones(2)).any()
