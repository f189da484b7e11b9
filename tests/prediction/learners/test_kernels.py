"""Feature maps of kernels, against the kernels themselves, and the choice among them."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import domain
from support.rounding_error import solved, summed

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.public import public_normals
from dpqr.prediction.learners.features import (
    EXACT_ROWS,
    FEATURES,
    CellFeatures,
    FourierFeatures,
    Kernel,
    PolynomialFeatures,
    RandomPolynomialFeatures,
    UniverseFeatures,
)

SMALL, LARGE = domain(3, 4), domain(30, 40, 50)
CODES = {
    2: np.array([[0, 0], [2, 3], [-1, 1], [1, -5], [2, 0]]),
    3: np.array([[0, 0, 0], [29, 1, 2], [29, 1, 7]]),
}
"""By the number of columns."""


def codes(table):
    return CODES[len(table.attributes)]


def kernel_matrix(kernel, table):
    vectors = kernel.of(table).of(codes(table))
    return vectors @ vectors.T


def gaussian(table, bandwidth):
    rows = CellFeatures(domain=table).of(codes(table))
    apart = ((rows[:, None] - rows) ** 2).sum(axis=2)
    return np.exp(-apart / (2 * bandwidth**2))


def test_a_small_universe_gets_the_gaussian_kernel_itself():
    kernel = Kernel(name="gaussian", bandwidth=Fraction(1, 2))
    assert isinstance(kernel.of(SMALL), UniverseFeatures)
    assert kernel.of(SMALL).width == 4 * 5 <= EXACT_ROWS
    # The root comes from eigenvectors, and its square differs by their backward error: of a matrix of norm at most 20.
    rounding = solved(20) * 20
    assert kernel_matrix(kernel, SMALL) == pytest.approx(gaussian(SMALL, 0.5), abs=rounding)


def test_a_large_one_gets_random_features_of_norm_one():
    kernel = Kernel(name="gaussian", features=4096, seed=3)
    assert isinstance(kernel.of(LARGE), FourierFeatures)
    assert kernel_matrix(kernel, LARGE) == pytest.approx(gaussian(LARGE, 1), abs=0.08)
    assert np.diag(kernel_matrix(kernel, LARGE)) == pytest.approx(1, abs=summed(4096))
    assert Kernel(name="gaussian").of(LARGE).width == FEATURES


@in_one_test("degree", [1, 2, 3])
def test_polynomials_are_exact_where_they_are_few_and_random_beyond(degree):
    rows = CellFeatures(domain=SMALL).of(codes(SMALL))
    wanted = (rows @ rows.T) ** degree
    exact, drawn = Kernel(name="polynomial", degree=degree), Kernel(name="polynomial", degree=degree, features=4096)
    assert isinstance(exact.of(SMALL), PolynomialFeatures)
    assert isinstance(drawn.of(SMALL), RandomPolynomialFeatures)
    # products of up to three features of a row, whose squares add up to 1, over all of their choices
    assert kernel_matrix(exact, SMALL) == pytest.approx(wanted, abs=summed(8 * exact.of(SMALL).width))
    assert kernel_matrix(drawn, SMALL) == pytest.approx(wanted, abs=0.15)
    assert isinstance(exact.of(LARGE), RandomPolynomialFeatures) == (degree > 1)


@in_one_test("name", ["linear", "gaussian", "polynomial"])
@pytest.mark.parametrize("table", [SMALL, LARGE], ids=["small", "large"])
def test_no_row_is_longer_than_one_and_kappa_is_one(name, table):
    for features in (None, 16):
        rows = Kernel(name=name, features=features).of(table).of(codes(table))
        assert np.linalg.norm(rows, axis=1).max() <= 1 + 2**-50


def test_features_are_those_of_the_seed():
    one, two = (Kernel(name="gaussian", seed=seed).of(LARGE).of(codes(LARGE)) for seed in (1, 2))
    assert not np.allclose(one, two)
    assert (Kernel(name="gaussian", seed=1).of(LARGE).of(codes(LARGE)) == one).all()
    # pinned: a model file is applied years later
    assert public_normals(7, 2) == pytest.approx([0.22508795544212326, 0.33095073950511766])


@in_one_test("wrong", [{"bandwidth": Fraction(0)}, {"degree": 0}, {"degree": 6}, {"features": 3}])
def test_what_no_kernel_has_is_refused(wrong):
    with pytest.raises(UsageFault):
        Kernel(name="gaussian", **wrong)


def test_public_normals_are_normal():
    drawn = public_normals(0, 20_000)
    assert abs(drawn.mean()) < 0.05
    assert abs(drawn.std() - 1) < 0.05
    assert abs((drawn**4).mean() - 3) < 0.3
