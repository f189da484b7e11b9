import numpy as np
import pytest

from dpqr.noise.public import public_generator


def test_the_seed_repeats_the_choices():
    first, second = (public_generator(7).integers(0, 1000, 50) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, public_generator(8).integers(0, 1000, 50))


def test_refuses_negative_seeds():
    with pytest.raises(ValueError, match="at least 0"):
        public_generator(-1)
