from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

from dpqr.kernel.noise.bits import LAST_CELL, bernoulli_exp, bernoulli_fixed, exp_bracket, leading_bits
from dpqr.kernel.noise.source import SeededNoise

ONES = (1 << 64) - 1
SHORTS = np.arange(1 << 16, dtype=np.uint16)
EVERY_SHORT = SHORTS.view(np.uint64)
EXPONENTS = [Fraction(1, 10**7), Fraction(1, 3), Fraction(1), Fraction(777, 100), Fraction(45), Fraction(3**52, 2**80)]


def heads_for_every_short(exponent, slack, rest, scripted):
    cell = min(int(exponent * (1 << 14)), LAST_CELL)
    cells = np.full(1 << 16, max(0, cell - slack) if cell < LAST_CELL else cell)
    return bernoulli_exp(cells, lambda i: exponent, scripted(EVERY_SHORT, rest))


@pytest.mark.parametrize("slack", [0, 1])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_law_by_enumeration_of_the_first_bits(exponent, slack, scripted, exp_minus):
    """Heads for 16 bits followed by zeros / by ones: one prefix of the line each, and exp(-x) lies between them."""
    most = heads_for_every_short(exponent, slack, 0, scripted)
    least = heads_for_every_short(exponent, slack, ONES, scripted)
    for heads in (most, least):
        assert not np.any(heads[1:] & ~heads[:-1])
    truth = mpmath.ldexp(exp_minus(exponent), 16)
    assert int(least.sum()) <= truth <= int(most.sum()) <= int(least.sum()) + 1


def test_enumeration_sees_an_exponent_that_is_slightly_wrong(scripted, exp_minus):
    most = heads_for_every_short(Fraction(1), 0, 0, scripted)
    assert not mpmath.ldexp(exp_minus(Fraction(10001, 10000)), 16) >= int(most.sum()) - 1


def test_probability_one_always_shows_heads(scripted):
    for rest in (0, ONES):
        assert heads_for_every_short(Fraction(0), 0, rest, scripted).all()


def test_beyond_the_last_cell_only_zero_bits_may_show_heads(scripted):
    assert not heads_for_every_short(Fraction(10**9), 0, ONES, scripted).any()
    assert heads_for_every_short(Fraction(46), 0, 0, scripted).sum() == 1


def test_cells_and_exact_exponents_decide_alike():
    """The same coins with sharp cells, and with cells so blunt that many more go through the exact comparison."""
    exponents = [Fraction(k, 1000) + Fraction(1, 16384) for k in range(2000)]
    sharp = np.array([int(x * 16384) for x in exponents])
    asked = []

    def exact(i):
        asked.append(i)
        return exponents[i]

    first = bernoulli_exp(sharp, exact, SeededNoise(3))
    uniform = SeededNoise(3).words(500).view(np.uint16) / 65536
    truth = np.exp(-np.array([float(x) for x in exponents]))
    clear = np.abs(uniform - truth) > 1e-4
    np.testing.assert_array_equal(first[clear], (uniform < truth)[clear])
    assert len(asked) <= 10


def test_a_fixed_probability_by_enumeration(scripted, exp_minus):
    threshold = partial(exp_bracket, Fraction(1, 2))
    leading = leading_bits(threshold, 16)
    most, least = (bernoulli_fixed(leading, threshold, 1 << 16, scripted(EVERY_SHORT, rest)) for rest in (0, ONES))
    assert int(least.sum()) <= mpmath.ldexp(exp_minus(Fraction(1, 2)), 16) <= int(most.sum()) <= int(least.sum()) + 1
    assert most[: most.sum()].all()


@pytest.mark.parametrize("exponent", [Fraction(1, 2), Fraction(7, 5)])
def test_a_doubtful_coin_is_decided_by_its_own_bits_and_further_ones(exponent, scripted, exp_minus):
    """U lies just below and just above exp(-x), told from it by the last of 64 bits only; the first 16 are doubtful."""
    digits = int(mpmath.floor(mpmath.ldexp(exp_minus(exponent), 64)))
    leading, rest = digits >> 48, digits & ((1 << 48) - 1)
    cell = np.array([int(exponent * (1 << 14))])
    for tail, heads in ((rest - 1, True), (rest + 1, False)):
        words = [leading, tail << 16]
        assert bernoulli_exp(cell, lambda i: exponent, scripted(words)).tolist() == [heads]
        assert bernoulli_fixed(leading, partial(exp_bracket, exponent), 1, scripted(words)).tolist() == [heads]
