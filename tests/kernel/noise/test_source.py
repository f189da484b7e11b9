"""Every word comes from the system anew, and a stream that can be predicted says so."""

import os

import numpy as np

from dpqr.kernel.noise.source import SeededNoise, SystemNoise


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
