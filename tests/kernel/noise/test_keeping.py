"""The law by which labels are kept: optimal, on the safe side after rounding, and drawn exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.scripted_noise import ScriptedNoise

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.bits import exp_bracket
from dpqr.kernel.noise.keeping import BITS, KeepingLaw, keeping_table
from dpqr.kernel.noise.source import SeededNoise

BUDGETS = [
    ("1", "1e-6"),
    ("0.1", "1e-9"),
    ("0.001", "1e-5"),
    ("5", "1e-30"),
    ("0.5", "0.3"),
    ("30", "0.001"),
    ("300", "0.5"),
    ("1000", "1e-30"),
]


def law(epsilon, delta):
    return KeepingLaw(Fraction(epsilon), Fraction(delta))


@pytest.fixture(params=BUDGETS, ids=" ".join)
def budget(request):
    return tuple(map(Fraction, request.param))


def test_neighbouring_counts_fulfil_all_four_inequalities_exactly(budget):
    """e^epsilon is replaced by a lower bound of it, of 400 bits: what holds for that holds."""
    epsilon, delta = budget
    growth = Fraction(1 << 400, exp_bracket(epsilon, 400)[1])
    table = [Fraction(each, 1 << BITS) for each in keeping_table(epsilon, delta)]
    assert table[0] == 0
    assert table[-1] == 1
    for one, more in zip(table, [*table[1:], Fraction(1)], strict=True):
        assert one <= more <= growth * one + delta
        assert 1 - one <= growth * (1 - more) + delta


@in_one_test("texts", BUDGETS[:3] + BUDGETS[4:5])
def test_the_law_is_the_optimal_one_of_the_paper(texts):
    """Desfontaines and others 2022, Theorem 2: two closed forms that meet at n_1."""
    epsilon, delta = map(float, texts)
    first = 1 + math.floor(math.log((math.exp(epsilon) + 2 * delta - 1) / ((math.exp(epsilon) + 1) * delta)) / epsilon)
    at_first = math.expm1(first * epsilon) / math.expm1(epsilon) * delta
    second = first + math.floor(math.log1p(math.expm1(epsilon) / delta * (1 - at_first)) / epsilon)
    found = law(*texts)
    for count in {1, 2, 3, 5, 10, 50, first - 1, first, first + 1, second, second + 1, second + 2}:
        if count <= first:
            expected = math.expm1(count * epsilon) / math.expm1(epsilon) * delta
        elif count <= second:
            fall = math.exp(-(count - first) * epsilon)
            expected = 1 - fall * (1 - at_first) + delta * (1 - fall) / math.expm1(epsilon)
        else:
            expected = 1.0
        assert float(found.probability(count)) == pytest.approx(expected, rel=1e-6), count


def scripted(*uniforms):
    """Words from which these numbers of BITS bits are drawn: the first 62 bits of each, then the rest of those that
    are on an edge."""
    first = [value >> (BITS - 62) << 2 for value in uniforms]
    rest = [(value & ((1 << (BITS - 62)) - 1)) << (192 - (BITS - 62)) for value in uniforms]
    words = [part >> shift & (2**64 - 1) for part in rest for shift in (128, 64, 0)]
    return ScriptedNoise(np.array([*first, *words], dtype=np.uint64))


@in_one_test("count", [0, 1, 2, 7, 14, 27])
def test_a_label_is_kept_by_exactly_as_many_uniform_numbers_as_its_probability_says(count):
    found, edge = law("1", "1e-6"), keeping_table(Fraction(1), Fraction("1e-6"))[count]
    values = [max(0, edge - 1), edge, edge + 1]
    kept = found.sample(np.full(3, count), scripted(*values))
    assert kept.tolist() == [value < edge for value in values]


def test_certain_labels_are_always_kept_and_absent_ones_never():
    found = law("1", "1e-6")
    full = ScriptedNoise(np.full(4, 2**64 - 1, dtype=np.uint64))
    assert found.sample(np.array([found.certain, 2**40]), full).all()
    assert not found.sample(np.array([0]), ScriptedNoise(np.zeros(8, dtype=np.uint64))).any()


@in_one_test("count", [2, 5, 10, 12, 14, 50])
def test_recall_is_that_of_the_optimal_law(count):
    """Of 20,000 labels of each size; the false-alarm probability of a deviation of 6.2 is below 1e-9 (and Chernoff's
    bound covers the rare ones: at most 25 of 20,000 labels of probability 4e-6 or 9e-5)."""
    trials, found = 20_000, law("1", "1e-6")
    chance = float(found.probability(count))
    kept = int(found.sample(np.full(trials, count), SeededNoise(count)).sum())
    assert abs(kept - trials * chance) <= 6.2 * math.sqrt(trials * chance * (1 - chance)) + 25 * (chance < 1e-3)


@pytest.mark.slow
def test_an_epsilon_that_publishes_nothing_is_refused():
    with pytest.raises(InfeasiblePlan, match="too small to learn a label"):
        _ = law("1e-9", "1e-30").certain


@in_one_test(("epsilon", "delta"), [("0", "1e-6"), ("1", "0"), ("1", "1"), ("1", "1e-60")])
def test_a_law_without_a_proof_is_refused(epsilon, delta):
    with pytest.raises(ValueError, match="needs epsilon above 0"):
        law(epsilon, delta)
