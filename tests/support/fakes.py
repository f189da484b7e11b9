"""Stand-ins for what a test does not mean to test."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpqr.domain.histogram import Counts
from dpqr.kernel.events import PrivacyEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.learned_functions import step
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@dataclass
class OpenFilter:
    """Admits every charge and remembers it."""

    charged: list[PrivacyEvent] = field(default_factory=list)

    def charge(self, event: PrivacyEvent) -> int:
        self.charged.append(event)
        return len(self.charged)


@dataclass
class Says:
    """A hypothesis that answers each block by its name, in the block's own grid."""

    answers: dict[str, object]
    total: float = 0.0

    def answer(self, block: QueryBlock) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.answers[block.name], dtype=np.float64), (block.rows,))


@dataclass
class Given:
    """Scores that are what they are."""

    values: tuple[int, ...]
    moves: int = 1

    def __len__(self) -> int:
        return len(self.values)

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return self.moves

    def evaluate(self, counts: Counts) -> np.ndarray:
        return np.array(self.values, dtype=np.int64)


def measured(*pairs) -> Measurement:
    """A measurement that came out as these (block, values) pairs."""
    return Measurement(
        blocks=tuple(block for block, _ in pairs),
        values=tuple(np.array(values, dtype=np.int64) for _, values in pairs),
        law=DiscreteLaplace(Fraction(1)),
    )


class Told:
    """A learner that was given its weights."""

    def __init__(self, weights, bound=Fraction(1, 8)):
        self.weights, self.bound = np.asarray(weights, dtype=float), bound

    def fit(self, counts):
        return self.weights


def neighbouring_weights(
    width: int, bound: Fraction = Fraction(3, 7)
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Weights that lie `bound` apart, and the width of their grid."""
    drawn = np.random.default_rng(0)
    for _ in range(200):
        one, apart = drawn.normal(size=width) * 10, drawn.normal(size=width)
        yield one, one + apart / np.linalg.norm(apart) * float(bound), step(bound)
