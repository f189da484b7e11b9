import numpy as np
import pytest

from dpqr.workload.matrix import Dense, Prefix


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_prefix_agrees_with_its_written_out_matrix(size: int, others: int) -> None:
    prefix = Prefix(size, others)
    written = Dense(np.stack([prefix.row(index) for index in range(size)]))
    assert written.coefficients[:, size:].sum() == 0
    counts = np.arange(2 * (size + others)).reshape(-1, 2) ** 2
    values = np.arange(3 * size).reshape(size, 3) + 1
    np.testing.assert_array_equal(prefix.apply(counts), written.apply(counts))
    np.testing.assert_array_equal(prefix.adjoint(values), written.adjoint(values))
    for power in (0, 1, 2):
        assert prefix.column_norm(power) == written.column_norm(power)
        assert prefix.column_distance(power) == written.column_distance(power)
