"""What noisy answers show of a finished fit's errors, and how the fit is moved by it."""

from __future__ import annotations

import numpy as np
import pytest
from support.small_universes import marginal, measured, problem

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.values import replace
from dpqr.models.compound import RefinedDistribution
from dpqr.models.fit import misfit
from dpqr.models.fit.evidence import LinearMeasurement
from dpqr.models.fit.local_fits import local_fit, ridge_by_cell
from dpqr.models.fit.misfit import MissedQueries, fit_with_sums
from dpqr.models.hypothesis import DenseDistribution
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

SIZES = (4, 5)


def query(axes, sizes, cells, name="asked"):
    """One that counts some cells of two columns."""
    row = np.zeros(sizes, dtype=np.int64)
    row[cells] = 1
    factor = Factor(axes=axes, sizes=sizes, matrix=Dense(row.reshape(1, -1)))
    return QueryBlock(name=name, factors=(factor,))


def answered(block, value, deviation):
    return LinearMeasurement(
        key=block, axes=block.axes, values=np.array([value], dtype=np.float64), deviation=deviation, block=block
    )


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def hidden(dependent):
    """Of 32 x 32 cells noise of 10 records hides every one; whether their sums differ from what is taken for the base.

    Returns:
        Truth, base and noisy answers.
    """
    side = np.linspace(-1.0, 1.0, 32)
    base = np.full((32, 32), 8.0)
    truth = base * (1.0 + 0.9 * np.outer(side, side)) if dependent else base
    return truth, base, truth + np.random.default_rng(5).normal(0.0, 10.0, truth.shape)


def test_what_sums_of_neighbours_show_moves_cells_that_noise_hides():
    truth, base, values = hidden(dependent=True)
    alone = local_fit(base, values, 10.0, ridge_by_cell(base, values, 10.0, hidden=False))
    together = fit_with_sums(base, values, 10.0, hidden=False)
    quarters = [each.reshape(2, 16, 2, 16).sum(axis=(1, 3)) for each in (truth, values, alone, together)]
    drawn, before, now = (rms(each - quarters[0]) for each in quarters[1:])
    assert before > 2.0 * drawn
    assert now < 1.2 * drawn
    assert rms(together - truth) < rms(alone - truth)
    assert together.sum() == pytest.approx(base.sum())
    assert together.min() >= 0.0


def test_a_fit_that_misses_nothing_stays_as_it_is():
    _, base, values = hidden(dependent=False)
    alone = local_fit(base, values, 10.0, ridge_by_cell(base, values, 10.0, hidden=False))
    assert (fit_with_sums(base, values, 10.0, hidden=False) == alone).all()
    model = DenseDistribution.uniform(SIZES, 200.0)
    seen = answered(query((0, 1), SIZES, (slice(2), slice(2))), 47.0, 10.0)  # 40 expected
    assert MissedQueries.of([seen], model, SIZES) is None
    assert MissedQueries.of([], model, SIZES) is None


def test_a_missed_query_is_met_and_other_questions_are_the_models():
    sizes = (*SIZES, 3)
    cells = np.ones(sizes)
    cells[3, 4] = 0.0
    model = DenseDistribution(probabilities=cells / cells.sum(), total=570.0)
    corner = query((0, 1), SIZES, (slice(2), slice(2)))
    missed = MissedQueries.of([answered(corner, 300.0, 5.0)], model, sizes)  # 120 expected
    assert missed is not None
    found = RefinedDistribution(model=model, tables=missed)
    assert found.answer(corner) == pytest.approx([300.0], abs=5.0)
    assert found.marginal((1, 2, 0)).sum() == pytest.approx(570.0)
    assert np.allclose(found.marginal((1, 2, 0)).sum(axis=1).T, found.marginal((0, 1)), rtol=1e-6)
    assert found.marginal((0, 1))[3, 4] == 0.0
    # What the query does not tell apart keeps the model's proportions.
    assert np.ptp(found.marginal((0, 1))[:2, :2]) == pytest.approx(0.0, abs=1e-6)
    for axes in ((0,), (1, 2), (2, 0), ()):
        assert (found.marginal(axes) == model.marginal(axes)).all()


def test_tables_too_large_to_move_are_the_models(monkeypatch):
    model = DenseDistribution.uniform((*SIZES, 3), 600.0)
    corner = query((0, 1), SIZES, (slice(2), slice(2)))
    seen = answered(corner, 300.0, 5.0)
    monkeypatch.setattr(misfit, "TUNING", replace(misfit.TUNING, cells=20))
    found = MissedQueries.of([seen], model, model.shape)
    assert found is not None
    assert found.touches((0, 1))
    assert not found.touches((0, 1, 2))
    monkeypatch.setattr(misfit, "TUNING", replace(misfit.TUNING, cells=19))
    assert MissedQueries.of([seen], model, model.shape) is None


def test_a_query_that_the_model_has_no_room_for_is_no_worse_than_its_draw():
    """Two columns are alike, and the model has room for what joins each of them to a third, and no more."""
    shape, half = (60, 60, 60), (slice(30), slice(30))
    counts, places = np.zeros(shape, dtype=np.int64), np.arange(60)
    counts[:, places, places] = 2
    blocks = [query(pair, (60, 60), half, str(pair)) for pair in ((0, 1), (0, 2), (1, 2))]
    asked, noise = [*(marginal((axis,), shape) for axis in range(3)), *blocks], np.random.default_rng(3)
    true = [block.answer(DenseHistogram(counts)) for block in asked]
    history = [measured(asked, [np.rint(each + noise.normal(0.0, 10.0, each.shape)) for each in true], 10.0)]
    given, rule = problem(shape, asked, n=7200), MultiplicativeWeights(model_size=8)
    last = rule.update(given, rule.start(given), history)
    mean = rule.averaged(given, last, history)
    again = rule.averaged(given, last, history, like=mean)
    # 3,600 records lie in both halves of columns that are alike, 1,800 of others. Noise of 10 is hardly ever 60.
    assert float(last.answer(blocks[2])[0]) < 2000.0, "the model alone"
    for found in (mean, again):
        assert [float(found.answer(block)[0]) for block in blocks] == pytest.approx([1800, 1800, 3600], abs=60.0)
    assert rule.counted(given, mean, history) == rule.counted(given, last, history)
