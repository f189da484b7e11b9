import numpy as np
import pytest

from dpqr.kernel.noise.public import PublicNoise, public_generator, public_normals


def test_the_seed_repeats_the_choices():
    first, second = (public_generator(7).integers(0, 1000, 50) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, public_generator(8).integers(0, 1000, 50))


def test_refuses_negative_seeds():
    with pytest.raises(ValueError, match="at least 0"):
        public_generator(-1)


@pytest.mark.parametrize("seed", [0, 7, 2**60])
def test_normal_draws_are_standard_normal(seed, follows_normal):
    """The seed is public and fixed, so this comes out the same every time."""
    draws = public_normals(seed, 100_000)
    follows_normal(draws)
    assert len(np.unique(draws)) == len(draws)


def test_public_noise_repeats_with_its_seed_and_is_not_private():
    words = PublicNoise(3).words(1000)
    assert words.dtype == np.uint64
    assert (words == PublicNoise(3).words(1000)).all()
    assert (words != PublicNoise(4).words(1000)).any()
    assert not PublicNoise(3).private
