"""Model files that nobody wrote: an error of the document family, or a model, and nothing else."""

import copy
import json
from contextlib import suppress
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from support.fakes import Told
from support.fakes import neighbouring_weights as neighbours

from dpqr.kernel.errors import DocumentError, InfeasiblePlan
from dpqr.kernel.events import RoundedGaussianEvent, SphericalLaplaceEvent
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.prediction.learned_functions import (
    FINENESS,
    GaussianWeights,
    SphericalWeights,
    round_to_grid,
    step,
    weights_sensitivity,
)
from dpqr.prediction.record import read_model

DOMAIN = {
    "fields": [
        {"name": "place", "type": "string", "constraints": {"enum": ["a", "b"]}, "dpqr": {"otherwise": "drop"}},
        {"name": "buys", "type": "string", "constraints": {"enum": ["no", "yes"]}, "dpqr": {"otherwise": "drop"}},
        {"name": "age", "type": "integer", "dpqr": {"edges": [0, 9, 99], "otherwise": "drop", "outside": "clip"}},
    ]
}
KERNEL = {"name": "linear", "bandwidth": "1", "degree": 2, "features": None, "seed": 0}
MODEL = {
    "dpqr": "model/1",
    "domain_file": json.dumps(DOMAIN),
    "plan": {
        "target": {"name": "buys", "positive": "yes"},
        "learner": {"name": "logistic", "kernel": KERNEL},
    },
    "step": 0.5,
    "weights": [2, -2, 0, 1],
}
ODD = (None, [], {}, "", "x", -1, 0, 2.5, 1e999, 10**400, True, "1/0", "nan", ["a"], {"a": 1})


def read(tmp_path, document):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    return read_model(path)


def test_a_model_is_read_back(tmp_path):
    model = read(tmp_path, MODEL)
    assert model.weights.tolist() == [1, -1, 0, 0.5]
    assert model.columns.names == ("place", "age")


def places(document, path=()):
    for name, value in document.items():
        yield (*path, name)
        if isinstance(value, dict):
            yield from places(value, (*path, name))


@pytest.mark.parametrize("path", list(places(MODEL)), ids="-".join)
def test_whatever_stands_in_a_field(tmp_path, path):
    for odd in ODD:
        changed = copy.deepcopy(MODEL)
        inner = changed
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = odd
        with suppress(DocumentError):
            read(tmp_path, changed)


@pytest.mark.parametrize(
    "change",
    [
        {"plan": MODEL["plan"] | {"target": {"name": "age", "positive": None}}},
        {"plan": MODEL["plan"] | {"learner": {"name": "quantile", "kernel": KERNEL}}},
        {"weights": [2, -2, 0]},
        {"step": float("inf")},
    ],
)
def test_parts_that_do_not_go_together_are_refused(tmp_path, change):
    with pytest.raises(DocumentError, match="no model file"):
        read(tmp_path, MODEL | change)


# The grid of a learner's weights, and how far they move on it.


@pytest.mark.parametrize("width", [1, 2, 7, 100])
def test_neighbouring_weights_stay_within_the_sensitivity_after_rounding(width):
    for one, two, grid in neighbours(width):
        moved = round_to_grid(one, grid) - round_to_grid(two, grid)
        assert int((moved.astype(object) ** 2).sum()) <= weights_sensitivity(width) ** 2


WIDTHS = [*range(1, 40), 99, 100, 101, 2**20 - 1, 2**20]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_sensitivity_holds_the_bound_every_coordinates_rounding_and_the_division(width):
    """Worked out anew: 2^20 steps, half a step a coordinate at either end, sqrt(width) together, rounded up to the next
    whole number above, and one step for the division in double precision."""
    root = next(r for r in range(isqrt(width), isqrt(width) + 2) if r * r > width)
    assert weights_sensitivity(width) == 2**20 + root + 1


def test_the_grid_has_as_many_steps_in_the_bound_as_the_sensitivity_counts():
    assert FINENESS == 2**20
    assert step(Fraction(3, 7)) * 2**20 == pytest.approx(3 / 7, rel=1e-15)


def test_rounding_is_to_the_nearest_multiple():
    values = np.array([0.24, 0.26, -0.24, -0.26, 1.1, -1.1, 7.0])
    assert round_to_grid(values, 0.5).tolist() == [0, 1, 0, -1, 2, -2, 14]
    fine = np.random.default_rng(2).normal(size=1000)
    assert float(np.abs(round_to_grid(fine, 2.0**-9) * 2.0**-9 - fine).max()) <= 2.0**-10


# Released weights: their event from the fields that set the noise, one draw a coordinate.

NOISE = SeededNoise(3)


def test_a_function_release_is_the_weights_on_a_grid_and_noise_of_its_events_law():
    gaussian = GaussianWeights(learner=Told([1.0, -2.0]), width=2, variance=Fraction(9))
    assert gaussian.event == RoundedGaussianEvent(squared_sensitivity=weights_sensitivity(2) ** 2, variance=Fraction(9))
    grid = step(Fraction(1, 8))
    assert gaussian.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=30 * grid)
    spherical = SphericalWeights(learner=Told([1.0, -2.0]), width=2, scale=Fraction(2))
    sensitivity = weights_sensitivity(2)
    assert spherical.event == SphericalLaplaceEvent(sensitivity=sensitivity, scale=Fraction(2), coordinates=2)
    assert spherical.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=90 * grid)


@pytest.mark.parametrize("width", [1, 2, 40])
def test_every_weight_has_the_next_draw_of_the_stated_law(width):
    """Noise is what the release adds to the weights on their grid: the law's own draws from the same bits."""
    told = Told(np.linspace(-3, 2, width))
    exact = round_to_grid(told.weights, step(told.bound))
    gaussian = GaussianWeights(learner=told, width=width, variance=Fraction(9)).sample(None, SeededNoise(5))
    np.testing.assert_array_equal(gaussian - exact, RoundedGaussian(Fraction(9)).sample(width, SeededNoise(5)))
    spherical = SphericalWeights(learner=told, width=width, scale=Fraction(70)).sample(None, SeededNoise(5))
    np.testing.assert_array_equal(spherical - exact, SphericalLaplace(Fraction(70), width).sample(SeededNoise(5)))
    event = GaussianWeights(learner=told, width=width, variance=Fraction(9)).event
    assert event.squared_sensitivity == weights_sensitivity(width) ** 2 >= (2**20 + width**0.5 + 1) ** 2


def test_noise_out_of_range_is_refused():
    for made in (
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(0)),
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(1, 65)),
        lambda: SphericalWeights(learner=Told([0]), width=1, scale=Fraction(2**60)),
    ):
        with pytest.raises(InfeasiblePlan):
            made()
