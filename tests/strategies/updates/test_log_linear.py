import numpy as np
import pytest
from universes import dense, marginal, measured

from dpqr.strategies.updates.evidence import gather
from dpqr.strategies.updates.log_linear import LogLinear
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (3, 2, 4)
FRAME = (1, 0, 2)


@pytest.fixture
def model():
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
    values = [rng.integers(-20, 100, block.rows) for block in blocks]
    evidence = gather([measured(blocks[:3], values[:3], 5.0), measured(blocks[3:], values[3:], 9.0)], SHAPE)
    base = rng.normal(size=[SHAPE[a] for a in FRAME])
    return LogLinear.of(evidence, FRAME, base, 150.0, [1.0, 1.0, 2.0, 3.0, 1.0])


def test_the_gradient_is_that_of_the_value(model):
    rng = np.random.default_rng(1)
    point = rng.normal(size=model.targets.size) * model.deviations
    _, gradient = model.objective(point)
    for index in range(point.size):
        move = np.zeros(point.size)
        move[index] = 1e-5 * model.deviations[index]
        slope = (model.objective(point + move)[0] - model.objective(point - move)[0]) / (2 * move[index])
        assert slope == pytest.approx(gradient[index], rel=1e-5, abs=1e-6 / model.deviations[index])


def test_the_value_is_the_dual_written_out(model):
    point = np.random.default_rng(2).normal(size=model.targets.size) * model.deviations
    eta = point / model.deviations
    logs = model.logs(point)
    expected = np.log(np.exp(logs).sum()) - eta @ model.targets + (model.ridge * eta**2).sum() / 2
    assert model.objective(point)[0] == pytest.approx(expected)


def test_potentials_survive_the_way_out_and_in(model):
    point = np.random.default_rng(3).normal(size=model.targets.size)
    parts = model.split(point)
    assert np.allclose(model.joined(parts), point)
    assert not model.joined([None] * 5).any()
    assert not model.joined([np.zeros(1)] * 5).any()


def test_huge_potentials_give_numbers(model):
    value, gradient = model.objective(np.full(model.targets.size, 1e30))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
