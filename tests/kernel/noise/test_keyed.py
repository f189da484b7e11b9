"""The stream of a key: the same words however they are asked for, and others for every other key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpqr.kernel.noise import source
from dpqr.kernel.noise.source import KeyedNoise

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
