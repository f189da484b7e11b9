"""Random bits to uniform numbers, coins and draws that are kept."""

from collections import Counter
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.noise.bits import (
    CELL_BITS,
    CHUNK,
    LARGEST_EXPONENT,
    LAST_CELL,
    LazyUniform,
    bernoulli_exp,
    bernoulli_fixed,
    cells_below,
    draw_by_rejection,
    exp_bracket,
    leading_bits,
    random_halves,
    random_integer,
    random_shorts,
    uniform_below,
    uniforms_below,
)
from dpqr.kernel.noise.source import SeededNoise, SystemNoise


@in_one_test("bits", [0, 1, 63, 64, 65, 100, 128])
def test_integers_are_the_leading_bits_of_the_words_in_order(bits, scripted):
    words = [0xFEDCBA9876543210, 0x8123456789ABCDEF]
    assert random_integer(bits, scripted(words)) == (words[0] << 64 | words[1]) >> (128 - bits)


def test_every_bit_of_a_word_is_used_once(scripted):
    words = [0x0123456789ABCDEF, 0xFEDCBA9876543210]
    joined = np.array(words, dtype=np.uint64)
    np.testing.assert_array_equal(random_shorts(8, scripted(words)), joined.view(np.uint16))
    np.testing.assert_array_equal(random_halves(4, scripted(words)), joined.view(np.uint32))


@in_one_test("count", [0, 1, 2, 3, 4, 5, 1001])
def test_any_count_comes(count):
    assert random_shorts(count, SystemNoise()).shape == (count,)
    assert random_halves(count, SystemNoise()).shape == (count,)


# Whole numbers below a bound.


@in_one_test("bound", [1, 2, 3, 5, 8, 13])
def test_every_leading_pattern_once_gives_every_integer_once(bound, scripted):
    """All first words that differ in their leading bits: those kept map one to one to 0 .. bound - 1."""
    bits = (bound - 1).bit_length()
    firsts = [pattern << (64 - bits) if bits else 0 for pattern in range(1 << bits)]
    seen = Counter()
    for first in firsts:
        noise = scripted([first], rest=0)
        drawn = uniform_below(bound, noise)
        again = uniforms_below(bound, 1, scripted([first], rest=0))[0]
        assert drawn == again
        seen[drawn if first >> (64 - bits) < bound or not bits else "redrawn"] += 1
    assert all(seen[value] == 1 for value in range(bound))
    assert seen["redrawn"] == (1 << bits) - bound


def test_only_failing_entries_are_drawn_again(scripted):
    top = 3 << 62
    drawn = uniforms_below(3, 4, scripted([0, top, 1 << 62, top, 2 << 62, top, 1 << 62]))
    np.testing.assert_array_equal(drawn, [0, 2, 1, 1])


@in_one_test("bound", [3, 6, 1000])
def test_is_uniform(bound, p_value):
    draws = uniforms_below(bound, 100_000, SeededNoise(1))
    assert p_value(np.bincount(draws, minlength=bound), np.full(bound, 1 / bound), len(draws)) > 1e-9
    biased = np.arange(bound) * 0.2 / bound + 0.9
    assert p_value(np.bincount(draws, minlength=bound), biased / biased.sum(), len(draws)) < 1e-9


@in_one_test("bound", [2**62, 2**62 + 1, 3 * 2**61, 2**63])
def test_large_bounds_stay_in_range_and_reach_high(bound):
    draws = uniforms_below(bound, 4000, SeededNoise(2))
    assert draws.min() >= 0
    assert int(draws.max()) < bound
    assert int(draws.max()) > bound - bound // 256


def test_scalars_of_any_size():
    bound = 3**300
    draws = [uniform_below(bound, SeededNoise(seed)) for seed in range(200)]
    assert max(draws) < bound
    assert max(draws) > bound - bound // 32
    assert min(draws) < bound // 32


@in_one_test("bound", [0, -4])
def test_refuses_an_empty_range(bound):
    with pytest.raises(ValueError, match="bound"):
        uniform_below(bound, SeededNoise(1))
    with pytest.raises(ValueError, match="bound"):
        uniforms_below(bound, 1, SeededNoise(1))
    with pytest.raises(ValueError, match="2\\^63"):
        uniforms_below(2**63 + 1, 1, SeededNoise(1))


# Uniform numbers whose bits are drawn as they are needed.


ONES = (1 << 64) - 1
THRESHOLD = partial(exp_bracket, Fraction(7, 5))


def test_a_prefix_never_changes():
    uniform = LazyUniform(SeededNoise(5), 0xABCD, 16)
    long = uniform.prefix(300)
    assert [uniform.prefix(bits) for bits in (8, 16, 64, 299)] == [long >> (300 - bits) for bits in (8, 16, 64, 299)]
    assert uniform.prefix(16) == 0xABCD
    assert uniform.prefix(400) >> 100 == long


@in_one_test("bits", [16, 32, 64])
def test_given_bits_beside_the_edge_decide_whatever_follows(bits, scripted):
    edge = leading_bits(THRESHOLD, bits)
    for rest in (0, ONES):
        assert LazyUniform(scripted([], rest), edge - 1, bits).below(THRESHOLD)
        assert not LazyUniform(scripted([], rest), edge + 1, bits).below(THRESHOLD)


@in_one_test("bits", [16, 32, 64])
def test_bits_on_the_edge_ask_for_more(bits, scripted):
    edge = leading_bits(THRESHOLD, bits)
    assert LazyUniform(scripted([], 0), edge, bits).below(THRESHOLD)
    assert not LazyUniform(scripted([], ONES), edge, bits).below(THRESHOLD)


@in_one_test("depth", [64, 128, 192, 256])
def test_agrees_with_the_threshold_to_any_depth(depth, scripted, exp_minus):
    digits = int(mpmath.floor(mpmath.ldexp(exp_minus(Fraction(7, 5)), depth)))
    for step, answer in ((-1, True), (1, False)):
        words = [(digits + step) >> (depth - 64 * k - 64) & ONES for k in range(depth // 64)]
        assert LazyUniform(scripted(words, 0)).below(THRESHOLD) is answer
        assert LazyUniform(scripted(words, ONES)).below(THRESHOLD) is answer


def test_zero_and_one_are_sure(scripted):
    assert LazyUniform(scripted([], ONES)).below(lambda bits: (1 << bits, 1 << bits))
    assert not LazyUniform(scripted([], 0)).below(lambda bits: (0, 0))


@in_one_test("bits", [1, 16, 32, 64, 200])
def test_leading_bits_are_the_floor(bits, exp_minus):
    assert leading_bits(THRESHOLD, bits) == int(mpmath.floor(mpmath.ldexp(exp_minus(Fraction(7, 5)), bits)))


# Coins.


SHORTS = np.arange(1 << 16, dtype=np.uint16)
EVERY_SHORT = SHORTS.view(np.uint64)
EXPONENTS = [Fraction(1, 10**7), Fraction(1, 3), Fraction(1), Fraction(777, 100), Fraction(45), Fraction(3**52, 2**80)]


def heads_for_every_short(exponent, slack, rest, scripted):
    cell = min(int(exponent * (1 << 14)), LAST_CELL)
    cells = np.full(1 << 16, max(0, cell - slack) if cell < LAST_CELL else cell)
    return bernoulli_exp(cells, lambda i: exponent, scripted(EVERY_SHORT, rest))


@in_one_test("slack", [0, 1])
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


@in_one_test("exponent", [Fraction(1, 2), Fraction(7, 5)])
def test_a_doubtful_coin_is_decided_by_its_own_bits_and_further_ones(exponent, scripted, exp_minus):
    """U lies just below and just above exp(-x), told from it by the last of 64 bits only; the first 16 are doubtful."""
    digits = int(mpmath.floor(mpmath.ldexp(exp_minus(exponent), 64)))
    leading, rest = digits >> 48, digits & ((1 << 48) - 1)
    cell = np.array([int(exponent * (1 << 14))])
    for tail, heads in ((rest - 1, True), (rest + 1, False)):
        words = [leading, tail << 16]
        assert bernoulli_exp(cell, lambda i: exponent, scripted(words)).tolist() == [heads]
        assert bernoulli_fixed(leading, partial(exp_bracket, exponent), 1, scripted(words)).tolist() == [heads]


# Draws that are kept from proposals, and the cells of exponents.


def test_proposals_are_drawn_until_enough_are_kept():
    asked = []

    def every_third(count):
        asked.append(count)
        return np.arange(count, dtype=np.int64)[::3]

    draws = draw_by_rejection(100, every_third)
    assert draws.dtype == np.int64
    assert draws.shape == (100,)
    assert asked[0] == 158
    assert draws[:53].tolist() == list(range(0, 158, 3))
    assert len(asked) > 1


def test_nothing_is_proposed_for_no_draws():
    draws = draw_by_rejection(0, None)
    assert draws.shape == (0,)
    assert draws.dtype == np.int64


def test_proposals_come_in_chunks_and_may_all_be_refused():
    asked = []

    def moody(count):
        asked.append(count)
        return np.zeros(count if len(asked) > 1 else 0, dtype=np.int64)

    assert len(draw_by_rejection(CHUNK, moody)) == CHUNK
    assert asked == [CHUNK, CHUNK]


def test_a_cell_is_below_its_exponent_and_within_two_of_it():
    exponents = np.random.default_rng(1).uniform(0, LARGEST_EXPONENT + 1, 10_000)
    cells = cells_below(exponents.copy())
    assert cells.dtype == np.int64
    for cell, exponent in zip(cells.tolist(), exponents.tolist(), strict=True):
        place = Fraction(exponent) * 2**CELL_BITS
        assert cell <= place
        assert place < cell + 2 or (cell == LAST_CELL and exponent >= LARGEST_EXPONENT)
    assert cells_below(np.array([0.0, 1e300])).tolist() == [0, LAST_CELL]


@in_one_test("error", [-0.49, 0.49])
def test_an_exponent_that_is_off_by_less_than_half_a_cell_has_a_cell_that_stands_for_it(error):
    """What is true lies `error` cells from what is given."""
    given = np.random.default_rng(2).uniform(0.001, LARGEST_EXPONENT - 1, 2_000)
    for cell, exponent in zip(cells_below(given.copy()).tolist(), given.tolist(), strict=True):
        place = Fraction(exponent) * 2**CELL_BITS + Fraction(error)
        assert cell <= place < cell + 2
