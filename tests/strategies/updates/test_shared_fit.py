"""Tables drawn to several noisy tables of their parts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from dpqr.strategies.updates.local_fit import local_fit
from dpqr.strategies.updates.shared_fit import Told, shared_fit

RANDOM = np.random.default_rng(5)
BASE = RANDOM.uniform(1.0, 20.0, (2, 2, 3, 2))
FACES = ((0,), (1,), (2,))


def told(places, deviation, sizes=(2, 3, 2)):
    """Within a few records of the base's own sums."""
    others = tuple(place + 1 for place in range(3) if place not in places)
    values = BASE.sum(axis=others) + RANDOM.normal(0.0, 6.0, (2, *(sizes[place] for place in places)))
    return Told(places=places, values=values, deviations=np.full(2, deviation))


def test_nothing_told_leaves_the_base():
    assert shared_fit(BASE, FACES, [], 1e-9) == pytest.approx(BASE)


def test_one_noisy_table_of_all_attributes_is_a_local_fit():
    part = told((0, 1, 2), 3.0)
    found = shared_fit(BASE, [()], [part], 1e-9)
    moved = part.values + (BASE - part.values).mean(axis=(1, 2, 3), keepdims=True)
    expected = [local_fit(base, values, 3.0) for base, values in zip(BASE, moved, strict=True)]
    assert found == pytest.approx(np.array(expected), rel=1e-3, abs=1e-3)


HOLDINGS = {"faces": FACES, "a face and a pair": ((0,), (1, 2)), "overlapping pairs": ((0, 1), (1, 2))}


@pytest.mark.parametrize("held", HOLDINGS.values(), ids=HOLDINGS.keys())
def test_a_noisy_table_of_everything_needs_few_sweeps_and_comes_to_the_same(held, monkeypatch):
    """A part of one attribute with noise that tells nothing sends it the long way, where 4 sweeps are far too few."""
    part, nothing = told((0, 1, 2), 3.0), Told(places=(0,), values=BASE.sum(axis=(2, 3)), deviations=np.full(2, 1e9))
    exact = shared_fit(BASE, held, [part, nothing], 1e-12)
    monkeypatch.setattr("dpqr.strategies.updates.shared_fit.SWEEPS", 4)
    gaps = [np.abs(shared_fit(BASE, held, parts, 0.0) - exact).sum() for parts in ([part], [part, nothing])]
    assert gaps[0] < 0.1 < gaps[1]


def test_of_a_noisy_table_of_everything_impossible_cells_and_empty_faces_stay_so():
    base = BASE.copy()
    base[:, 0, 0, 0] = 0.0
    base[1, :, 1, :] = 0.0
    part = told((0, 1, 2), 0.5)
    found = shared_fit(base, FACES, [part], 1e-9)
    assert (found[base == 0.0] == 0.0).all()
    assert found.sum(axis=(1, 3)) == pytest.approx(base.sum(axis=(1, 3)))
    nothing = shared_fit(np.zeros_like(base), FACES, [part], 1e-9)
    assert not nothing.any()


def test_it_is_the_minimum():
    """A general minimiser of the stated function, without held parts, comes to the same tables."""
    parts = [told((0, 1), 4.0), told((1, 2), 2.0)]
    found = shared_fit(BASE, [], parts, 1e-10)
    for index in range(2):

        def cost(logs, index=index):
            cells = np.exp(logs).reshape(BASE[index].shape)
            gaps = [cells.sum(axis=2) - parts[0].values[index], cells.sum(axis=0) - parts[1].values[index]]
            kept = (cells * np.log(cells / BASE[index]) - cells).sum()
            return (
                sum((gap**2).sum() / (2 * part.deviations[index]) for gap, part in zip(gaps, parts, strict=True)) + kept
            )

        best = minimize(cost, np.log(BASE[index]).reshape(-1), method="BFGS", options={"gtol": 1e-8})
        assert found[index].reshape(-1) == pytest.approx(np.exp(best.x), rel=1e-3, abs=1e-3)


def test_what_is_held_stays():
    found = shared_fit(BASE, [(0,), (1, 2)], [told((0, 1), 0.5)], 1e-9)
    assert found.sum(axis=(2, 3)) == pytest.approx(BASE.sum(axis=(2, 3)), rel=1e-3)
    assert found.sum(axis=1) == pytest.approx(BASE.sum(axis=1), rel=1e-3)


def test_exact_parts_are_met_and_impossible_cells_stay_empty():
    base = BASE.copy()
    base[:, 0, 0, 0] = 0.0
    truth = base * RANDOM.uniform(0.5, 2.0, base.shape)
    parts = [Told(places=(0, 1), values=truth.sum(axis=3), deviations=np.full(2, 1e-3))]
    found = shared_fit(base, [], parts, 1e-9)
    assert found.sum(axis=3) == pytest.approx(truth.sum(axis=3), rel=1e-3)
    assert (found[:, 0, 0, 0] == 0.0).all()
