"""Fits of a table to noisy answers: the closed form of one table, and sweeps over several of its marginals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from support.cases import in_one_test, thinned

from dpqr.kernel.values import replace
from dpqr.models.fit.local_fits import TUNING, NoisyMarginals, fits_to_margins, local_fit, shared_fit, strength

BASE = np.array([[40.0, 10.0, 0.0], [20.0, 25.0, 5.0]])
NOISY = np.array([[55.0, -3.0, 4.0], [12.0, 30.0, 1.0]])


@in_one_test("deviation", [0.01, 0.5, 3.0, 100.0])
def test_it_is_the_optimum_of_squared_error_and_divergence(deviation):
    found = local_fit(BASE, NOISY, deviation)
    assert found.sum() == pytest.approx(BASE.sum(), rel=1e-3)
    inside = found > 1e-9  # exact answers below zero leave less than a double can tell
    assert (inside == (BASE > 0)).all() or deviation < 0.1
    slopes = (found - NOISY)[inside] / strength(deviation) + np.log(found[inside] / BASE[inside])
    assert np.ptp(slopes) == pytest.approx(0.0, abs=1e-6 * np.abs(slopes).max() + 1e-6)


def test_cells_may_be_shrunk_at_strengths_of_their_own():
    ridge = np.array([[9.0, 0.01, 4.0], [900.0, 0.5, 3.0]])
    found = local_fit(BASE, NOISY, 3.0, ridge)
    assert found.sum() == pytest.approx(BASE.sum(), rel=1e-6)
    assert not found[BASE == 0.0].any()
    inside = found > 0.0
    slopes = ((found - NOISY) / ridge)[inside] + np.log(found[inside] / BASE[inside])
    assert slopes == pytest.approx(np.full(slopes.size, slopes[0]), rel=1e-6)


def test_exact_answers_are_met_useless_ones_leave_the_base_and_impossible_cells_stay_empty():
    counts = np.array([0.0, 1.0, 7.0, 1000.0])
    assert local_fit(np.full(4, 252.0), counts, 0.01) == pytest.approx(counts, abs=0.01)
    assert local_fit(BASE, NOISY, 1e7) == pytest.approx(BASE, abs=0.01)
    assert local_fit(BASE, NOISY, 2.0)[0, 2] == 0.0
    assert strength(0.1) == pytest.approx(0.01)  # a prior in records for exact answers, and in deviations beyond
    assert strength(30.0) == 30.0


def test_margins_are_kept_table_by_table():
    base = np.stack([np.maximum(BASE, 0.1), np.zeros_like(BASE), np.maximum(BASE[:, ::-1], 0.1)])
    part = NoisyMarginals(places=(0, 1), values=np.stack([NOISY] * 3), deviations=np.array([5.0, 5.0, 0.5]))
    margins = [np.array([[60.0, 40.0]] * 3), np.array([[50.0, 40.0, 10.0]] * 3)]
    margins = [margin * np.array([[1.0], [0.0], [1.0]]) for margin in margins]
    found = fits_to_margins(base, part, margins)
    assert not found[1].any()
    for each in (0, 2):
        assert found[each].sum() == pytest.approx(base[each].sum())
        assert found[each].sum(axis=1) == pytest.approx(margins[0][each], rel=0.03)
        assert found[each].sum(axis=0) == pytest.approx(margins[1][each], rel=0.03)
        alone = NoisyMarginals(places=(0, 1), values=NOISY[None], deviations=part.deviations[[each]])
        some = [margin[[each]] for margin in margins]
        assert fits_to_margins(base[[each]], alone, some)[0] == pytest.approx(found[each])


RANDOM = np.random.default_rng(5)
TABLES = RANDOM.uniform(1.0, 20.0, (2, 2, 3, 2))
MARGINS = ((0,), (1,), (2,))


def noisy(places, deviation, sizes=(2, 3, 2)):
    """Within a few records of the base's own sums."""
    others = tuple(place + 1 for place in range(3) if place not in places)
    values = TABLES.sum(axis=others) + RANDOM.normal(0.0, 6.0, (2, *(sizes[place] for place in places)))
    return NoisyMarginals(places=places, values=values, deviations=np.full(2, deviation))


def test_one_noisy_table_of_all_attributes_is_a_local_fit_and_none_leaves_the_base():
    assert shared_fit(TABLES, MARGINS, [], 1e-9) == pytest.approx(TABLES)
    part = noisy((0, 1, 2), 3.0)
    found = shared_fit(TABLES, [()], [part], 1e-9)
    moved = part.values + (TABLES - part.values).mean(axis=(1, 2, 3), keepdims=True)
    expected = [local_fit(base, values, 3.0) for base, values in zip(TABLES, moved, strict=True)]
    assert found == pytest.approx(np.array(expected), rel=1e-3, abs=1e-3)


FIXED = {"margins": MARGINS, "a margin and a pair": ((0,), (1, 2)), "overlapping pairs": ((0, 1), (1, 2))}


@pytest.mark.parametrize("fixed", thinned(FIXED.values(), 3), ids=FIXED.keys())
def test_a_noisy_table_of_everything_needs_few_sweeps_and_comes_to_the_same(fixed, monkeypatch):
    """A part of one attribute with noise that hides everything sends it the long way, where 4 sweeps are far too
    few."""
    part, nothing = (
        noisy((0, 1, 2), 3.0),
        NoisyMarginals(places=(0,), values=TABLES.sum(axis=(2, 3)), deviations=np.full(2, 1e9)),
    )
    exact = shared_fit(TABLES, fixed, [part, nothing], 1e-12)
    monkeypatch.setattr("dpqr.models.fit.local_fits.TUNING", replace(TUNING, shared_sweeps=4))
    gaps = [np.abs(shared_fit(TABLES, fixed, parts, 0.0) - exact).sum() for parts in ([part], [part, nothing])]
    assert gaps[0] < 0.1 < gaps[1]


def test_of_a_noisy_table_of_everything_impossible_cells_and_empty_margins_stay_so():
    base = TABLES.copy()
    base[:, 0, 0, 0] = 0.0
    base[1, :, 1, :] = 0.0
    part = noisy((0, 1, 2), 0.5)
    found = shared_fit(base, MARGINS, [part], 1e-9)
    assert (found[base == 0.0] == 0.0).all()
    assert found.sum(axis=(1, 3)) == pytest.approx(base.sum(axis=(1, 3)))
    nothing = shared_fit(np.zeros_like(base), MARGINS, [part], 1e-9)
    assert not nothing.any()


def test_it_is_the_minimum():
    """A general minimiser of the stated function, without fixed parts, comes to the same tables."""
    parts = [noisy((0, 1), 4.0), noisy((1, 2), 2.0)]
    found = shared_fit(TABLES, [], parts, 1e-10)
    for index in range(2):

        def cost(logs, index=index):
            cells = np.exp(logs).reshape(TABLES[index].shape)
            gaps = [cells.sum(axis=2) - parts[0].values[index], cells.sum(axis=0) - parts[1].values[index]]
            squares = sum((gap**2).sum() / (2 * part.deviations[index]) for gap, part in zip(gaps, parts, strict=True))
            return squares + (cells * np.log(cells / TABLES[index]) - cells).sum()

        best = minimize(cost, np.log(TABLES[index]).reshape(-1), method="BFGS", options={"gtol": 1e-8})
        assert found[index].reshape(-1) == pytest.approx(np.exp(best.x), rel=1e-3, abs=1e-3)


def test_what_is_fixed_stays():
    found = shared_fit(TABLES, [(0,), (1, 2)], [noisy((0, 1), 0.5)], 1e-9)
    assert found.sum(axis=(2, 3)) == pytest.approx(TABLES.sum(axis=(2, 3)), rel=1e-3)
    assert found.sum(axis=1) == pytest.approx(TABLES.sum(axis=1), rel=1e-3)


def test_exact_parts_are_met_and_impossible_cells_stay_empty():
    base = TABLES.copy()
    base[:, 0, 0, 0] = 0.0
    truth = base * RANDOM.uniform(0.5, 2.0, base.shape)
    parts = [NoisyMarginals(places=(0, 1), values=truth.sum(axis=3), deviations=np.full(2, 1e-3))]
    found = shared_fit(base, [], parts, 1e-9)
    assert found.sum(axis=3) == pytest.approx(truth.sum(axis=3), rel=1e-3)
    assert (found[:, 0, 0, 0] == 0.0).all()


@pytest.mark.slow
def test_answers_that_all_but_empty_a_row_overflow_nothing():
    """Warnings are errors. Some of these rows hold less than 1e-300 records between two steps."""
    random = np.random.default_rng(1)
    for size in (2, 3, 4):
        cells, scales = (100, size, size), (100, 1, 1)
        base = random.uniform(0.0, 1.0, cells) ** random.integers(1, 60, scales) * 10.0 ** random.integers(0, 5, scales)
        deviations = 10.0 ** random.uniform(-2.0, 2.0, 100)
        values = random.normal(0.0, 10.0 ** random.uniform(1.0, 5.0, scales), cells)
        part = NoisyMarginals(places=(0, 1), values=values, deviations=deviations)
        assert np.isfinite(shared_fit(base, [(0,), (1,)], [part], 1e-6)).all()
