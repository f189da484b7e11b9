"""KeepingLaw: whether a label is published, given how many units have it; drawn exactly.

The law of Desfontaines, Voss, Gipson and Mandayam 2022, "Differentially private partition selection", which keeps a
label of every count at least as often as any other (epsilon, delta)-DP rule. Theirs is noise of a truncated geometric
law with a threshold; here its probabilities are one list of integers over 2^BITS, and each label is one exact coin.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import IntArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.bits import FlagArray, LazyUniform, exp_bracket, random_bits
from dpqr.kernel.noise.source import NoiseSource

BITS = 192
"""Of a probability: 2^-192 is below 2^-90 of the smallest delta that a budget may state."""
LONGEST = 1 << 18
"""Most counts below certainty: more mean an epsilon that publishes nothing."""
_FIRST_BITS = 62


@final
class KeepingLaw(Struct, frozen=True):
    """A label that n units have is kept with probability `probability(n)`, independently of all other labels.

    epsilon: above 0, of one label. delta: of one label, in [2^-BITS, 1).

    >>> law = KeepingLaw(Fraction(1), Fraction(1, 10**6))
    >>> law.probability(0), round(float(law.probability(1) * 10**6), 6), law.certain
    (Fraction(0, 1), 1.0, 28)

    Raises:
        InfeasiblePlan: epsilon is so small that a label would need more than LONGEST units.

    Privacy:
        Let p_n be the probabilities. For counts n and n + 1 of one label the draw is (epsilon, delta)-DP:

            p_n <= p_(n+1) <= e^epsilon p_n + delta                                    (label kept)
            1 - p_(n+1) <= 1 - p_n <= e^epsilon (1 - p_(n+1)) + delta                  (label not kept)

        The two middle inequalities are the whole condition: an event is a set of the two outcomes. `keeping_table`
        takes the largest p_(n+1) that fulfils both, from p_0 = 0: a label that nobody has is never kept, so which
        labels are looked at reveals nothing. p_1 <= delta: a label of one unit alone is kept with probability delta at
        most, where a comparison that is wrong by one step would keep it with p_2 > 2 delta.

        The coin is U < p_n for a uniform integer U in [0, 2^BITS): exactly p_n 2^BITS of them are below, so `<=` would
        add 2^-BITS to every probability and keep labels that nobody has.
        Statement P44 of the guide's topic proofs.
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and Fraction(1, 1 << BITS) <= self.delta < 1):
            raise ValueError("a law of kept labels needs epsilon above 0 and delta in [2^-192, 1)")

    @property
    def certain(self) -> int:
        """The least count that is kept with certainty."""
        return len(keeping_table(self.epsilon, self.delta)) - 1

    def probability(self, count: int) -> Fraction:
        """Of keeping a label that `count` units have, exact."""
        table = keeping_table(self.epsilon, self.delta)
        return Fraction(table[min(count, len(table) - 1)], 1 << BITS)

    def sample(self, counts: IntArray, noise: NoiseSource) -> FlagArray:
        """Whether each label is kept; counts: int64, at least 0, shape (labels,).

        The first 62 bits of U differ from those of p_n in nearly every draw, and decide; else the rest is drawn.
        """
        table = keeping_table(self.epsilon, self.delta)
        places = np.minimum(counts, len(table) - 1)
        leading = _leading(self.epsilon, self.delta)[places]
        first = random_bits(_FIRST_BITS, len(counts), noise)
        kept: FlagArray = first < leading
        for label in np.flatnonzero(first == leading).tolist():
            uniform = LazyUniform(noise, int(first[label]), _FIRST_BITS)
            kept[label] = uniform.prefix(BITS) < table[int(places[label])]
        return kept


@lru_cache(maxsize=16)
def keeping_table(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return p_n 2^BITS for n = 0, 1, ..., up to the first that is certain.

    Proof that rounding stays on the safe side. Let q = high / 2^BITS, an upper bound of e^-epsilon (`exp_bracket`), and
    d = floor(delta 2^BITS). With P = p_n 2^BITS, both bounds are computed from the rounded P and rounded down:

        grown = floor(P / q) + d <= e^epsilon P + delta 2^BITS,
        lost  = 2^BITS - ceil((2^BITS - P - d) q), so 2^BITS - lost >= e^-epsilon (2^BITS - P - delta 2^BITS),

    which are the conditions of `KeepingLaw` for the P that is used. They rise: grown >= P + d, for q <= 1 (below), and
    lost >= P + d where 2^BITS - P - d >= 0, for then ceil((2^BITS - P - d) q) <= 2^BITS - P - d; else the label is
    certain. d >= 1, so the list ends. q <= 1: high / 2^BITS is cut at 1, which is an upper bound too.

    Raises:
        InfeasiblePlan: more than LONGEST entries.
    """
    whole = 1 << BITS
    ratio = min(exp_bracket(epsilon, BITS)[1], whole)
    added = delta.numerator * whole // delta.denominator
    table = [0]
    while table[-1] < whole:
        if len(table) > LONGEST:
            raise InfeasiblePlan(
                "epsilon is too small to learn a label of fewer than 262,144 units; give --eps more, or learn fewer "
                "columns"
            )
        before = table[-1]
        grown = before * whole // ratio + added
        rest = whole - before - added
        lost = whole - -(-rest * ratio // whole) if rest > 0 else whole
        table.append(min(grown, lost, whole))
    return tuple(table)


@lru_cache(maxsize=16)
def _leading(epsilon: Fraction, delta: Fraction) -> IntArray:
    """The first bits of every probability; of certainty 2^62, which no draw reaches."""
    return freeze(np.array([each >> (BITS - _FIRST_BITS) for each in keeping_table(epsilon, delta)], dtype=np.int64))
