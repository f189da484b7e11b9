"""Through the gate, each mechanism draws from the law that it was audited for, and 10% away is told apart.

Chi-square with fixed seeds; a right sampler fails one seed in 10^9.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from audits.choices import Claim, exponential_law
from scipy.stats import chisquare
from support.cases import in_one_test
from support.fakes import OpenFilter, Says

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import GaussianAnswers, LaplaceAnswers
from dpqr.mechanisms.selection import ExponentialChoice, PermuteAndFlipChoice
from dpqr.strategies.candidates import BlockCandidates
from dpqr.workload.block import Factor, QueryBlock

REPLACE = PrivacyUnit(neighbours=Neighbours.REPLACE)
ALARM = 1e-9
DRAWS = 8_000
CELLS = 3_000
Weight = Callable[[int], float]


def p_value(seen: np.ndarray, law: Sequence[float]) -> float:
    expected = np.array([float(weight) for weight in law]) * seen.sum()
    return float(chisquare(seen, expected * seen.sum() / expected.sum()).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("choice", [ExponentialChoice, PermuteAndFlipChoice])
def test_selections_draw_from_the_audited_law(choice) -> None:
    blocks = tuple(QueryBlock(name=str(axis), factors=(Factor.identity(axis, 2),)) for axis in range(4))
    counts = DenseHistogram(np.arange(16).reshape(2, 2, 2, 2))
    hypothesis = Says({str(axis): block.answer(counts) + 2 * axis for axis, block in enumerate(blocks)})
    scores = BlockCandidates(blocks=blocks, unit=REPLACE).scores(hypothesis)
    assert scores.evaluate(counts).tolist() == [0, 4, 8, 12]
    mechanism = choice(scores=scores, unit=REPLACE, epsilon=Fraction(7, 5))
    paid, noise = OpenFilter(), SeededNoise(20_240_101)
    drawn = [measure(Private(counts), mechanism, accountant=paid, noise=noise).value for _ in range(DRAWS)]
    assert paid.charged == [mechanism.event] * DRAWS
    assert all(type(index) is int for index in drawn[:10])
    seen = np.bincount(drawn, minlength=4)
    claim = Claim.of(mechanism)
    assert p_value(seen, claim.law([0, 4, 8, 12], claim.rate)) > ALARM
    assert p_value(seen, claim.law([0, 4, 8, 12], claim.rate * Fraction(11, 10))) < ALARM
    if choice is PermuteAndFlipChoice:
        assert p_value(seen, exponential_law([0, 4, 8, 12], claim.rate)) < ALARM


def laplace(scale: float) -> Weight:
    return lambda k: np.exp(-abs(k) / scale)


def gaussian(variance: float) -> Weight:
    return lambda k: np.exp(-(k**2) / (2 * variance))


@in_one_test(
    ("mechanism", "right", "wrong", "reach"),
    [
        (
            lambda blocks: LaplaceAnswers(blocks=blocks, unit=REPLACE, scale=Fraction(5, 2)),
            laplace(2.5),
            laplace(2.75),
            12,
        ),
        (
            lambda blocks: GaussianAnswers(blocks=blocks, unit=REPLACE, variance=Fraction(9)),
            gaussian(9),
            gaussian(9 * 1.21),
            9,
        ),
    ],
)
def test_answers_are_the_truth_plus_the_audited_law(mechanism, right, wrong, reach) -> None:
    counts = DenseHistogram(np.arange(2 * CELLS).reshape(2, CELLS))
    blocks = (
        QueryBlock(name="wide", factors=(Factor.identity(1, CELLS),)),
        QueryBlock(name="all", factors=(Factor.identity(0, 2), Factor.identity(1, CELLS))),
    )
    made = mechanism(blocks)
    paid, noise = OpenFilter(), SeededNoise(20_240_102)
    errors = []
    for _ in range(4):
        released = measure(Private(counts), made, accountant=paid, noise=noise).value
        assert released.blocks == blocks
        assert released.law == made.law
        for block, values in zip(blocks, released.values, strict=True):
            assert values.dtype == np.int64
            errors.append(values - block.answer(counts))
    assert paid.charged == [made.event] * 4
    noises = np.concatenate(errors)
    seen = np.bincount(np.clip(noises, -reach, reach) + reach, minlength=2 * reach + 1)
    assert p_value(seen, binned(right, reach)) > ALARM
    assert p_value(seen, binned(wrong, reach)) < ALARM
    for lag in (1, CELLS):  # entries are independent of each other and between blocks
        assert abs(np.corrcoef(noises[lag:], noises[:-lag])[0, 1]) < 6.2 / np.sqrt(len(noises) - lag)


def binned(weight: Weight, reach: int) -> list[float]:
    """Probabilities of -reach .. reach, the tails folded into the two ends."""
    inner = [weight(k) for k in range(1 - reach, reach)]
    tail = sum(weight(k) for k in range(reach, 40 * reach))
    return [tail, *inner, tail]
