import numpy as np
import pytest

from dpqr.kernel.noise.bits import random_halves, random_integer, random_shorts
from dpqr.kernel.noise.source import SystemNoise


@pytest.mark.parametrize("bits", [0, 1, 63, 64, 65, 100, 128])
def test_integers_are_the_leading_bits_of_the_words_in_order(bits, scripted):
    words = [0xFEDCBA9876543210, 0x8123456789ABCDEF]
    assert random_integer(bits, scripted(words)) == (words[0] << 64 | words[1]) >> (128 - bits)


def test_every_bit_of_a_word_is_used_once(scripted):
    words = [0x0123456789ABCDEF, 0xFEDCBA9876543210]
    joined = np.array(words, dtype=np.uint64)
    np.testing.assert_array_equal(random_shorts(8, scripted(words)), joined.view(np.uint16))
    np.testing.assert_array_equal(random_halves(4, scripted(words)), joined.view(np.uint32))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 1001])
def test_any_count_comes(count):
    assert random_shorts(count, SystemNoise()).shape == (count,)
    assert random_halves(count, SystemNoise()).shape == (count,)
