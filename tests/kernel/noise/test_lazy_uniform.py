from fractions import Fraction
from functools import partial

import mpmath
import pytest

from dpqr.kernel.noise.bits import LazyUniform, exp_bracket, leading_bits
from dpqr.kernel.noise.source import SeededNoise

ONES = (1 << 64) - 1
THRESHOLD = partial(exp_bracket, Fraction(7, 5))


def test_a_prefix_never_changes():
    uniform = LazyUniform(SeededNoise(5), 0xABCD, 16)
    long = uniform.prefix(300)
    assert [uniform.prefix(bits) for bits in (8, 16, 64, 299)] == [long >> (300 - bits) for bits in (8, 16, 64, 299)]
    assert uniform.prefix(16) == 0xABCD
    assert uniform.prefix(400) >> 100 == long


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_given_bits_beside_the_edge_decide_whatever_follows(bits, scripted):
    edge = leading_bits(THRESHOLD, bits)
    for rest in (0, ONES):
        assert LazyUniform(scripted([], rest), edge - 1, bits).below(THRESHOLD)
        assert not LazyUniform(scripted([], rest), edge + 1, bits).below(THRESHOLD)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_bits_on_the_edge_ask_for_more(bits, scripted):
    edge = leading_bits(THRESHOLD, bits)
    assert LazyUniform(scripted([], 0), edge, bits).below(THRESHOLD)
    assert not LazyUniform(scripted([], ONES), edge, bits).below(THRESHOLD)


@pytest.mark.parametrize("depth", [64, 128, 192, 256])
def test_agrees_with_the_threshold_to_any_depth(depth, scripted, exp_minus):
    digits = int(mpmath.floor(mpmath.ldexp(exp_minus(Fraction(7, 5)), depth)))
    for step, answer in ((-1, True), (1, False)):
        words = [(digits + step) >> (depth - 64 * k - 64) & ONES for k in range(depth // 64)]
        assert LazyUniform(scripted(words, 0)).below(THRESHOLD) is answer
        assert LazyUniform(scripted(words, ONES)).below(THRESHOLD) is answer


def test_zero_and_one_are_sure(scripted):
    assert LazyUniform(scripted([], ONES)).below(lambda bits: (1 << bits, 1 << bits))
    assert not LazyUniform(scripted([], 0)).below(lambda bits: (0, 0))


@pytest.mark.parametrize("bits", [1, 16, 32, 64, 200])
def test_leading_bits_are_the_floor(bits, exp_minus):
    assert leading_bits(THRESHOLD, bits) == int(mpmath.floor(mpmath.ldexp(exp_minus(Fraction(7, 5)), bits)))
