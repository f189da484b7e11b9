"""Every word comes from the system anew, and a stream that can be predicted says so."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.kernel.noise import source
from dpqr.kernel.noise.public import PublicNoise, public_generator, public_normals
from dpqr.kernel.noise.source import KeyedNoise, SeededNoise, SystemNoise


def test_words_are_the_systems_bytes_each_used_once(monkeypatch) -> None:
    given = []

    def fresh(count):
        given.append(os.getrandom(count))
        return given[-1]

    monkeypatch.setattr(os, "urandom", fresh)
    for count in (0, 1, 5, 1000):
        words = SystemNoise().words(count)
        assert words.dtype == np.uint64
        assert words.astype("<u8").tobytes() == given.pop()
        assert words.shape == (count,)
        assert not given


def test_only_the_systems_generator_is_private() -> None:
    assert SystemNoise().private
    assert not SeededNoise(1).private


def test_a_seed_gives_one_stream_whose_words_are_used_once() -> None:
    first, second = SeededNoise(7), SeededNoise(7)
    words = first.words(1000)
    np.testing.assert_array_equal(words, second.words(1000))
    assert len(np.unique(np.concatenate([words, first.words(1000)]))) == 2000
    assert not np.array_equal(words, SeededNoise(8).words(1000))


# The stream of a key: the same words however they are asked for, and others for every other key.


KEY = bytes(range(32))


@given(pieces=st.lists(st.integers(0, 40), max_size=9), piece=st.sampled_from([8, 56, 2**16]))
def test_the_words_do_not_depend_on_how_they_are_asked_for(pieces, piece) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_PIECE", piece)
        stream = KeyedNoise(KEY)
        found = np.concatenate([np.zeros(0, dtype=np.uint64), *(stream.words(count) for count in pieces)])
        assert np.array_equal(found, KeyedNoise(KEY).words(sum(pieces)))
    assert found.dtype == np.uint64


def test_words_are_distinct_and_another_keys_are_others() -> None:
    """Of 30,000 words two are alike with probability 3e-11."""
    words = np.concatenate([KeyedNoise(KEY).words(20_000), KeyedNoise(KEY[::-1]).words(10_000)])
    assert len(np.unique(words)) == 30_000


def test_the_key_is_not_shown() -> None:
    stream = KeyedNoise(KEY)
    stream.words(3)
    assert repr(stream) == "KeyedNoise(_number=1)"
    assert stream.private


# Public noise, which repeats with its seed.


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
