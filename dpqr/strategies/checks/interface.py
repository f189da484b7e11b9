"""Check: measures what the distinguisher chose."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from dpqr.data.histogram import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.noise.law import NoiseLaw
from dpqr.privacy.budget import Price
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.gate import Mechanism
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


class Check(Protocol):
    """A recipe for one noisy measurement of blocks."""

    @property
    def name(self) -> str: ...

    @property
    def pure(self) -> bool:
        """Whether its draws are eps-DP (Laplace); otherwise they are concentrated only (Gaussian)."""
        ...

    def mechanism(
        self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price
    ) -> Mechanism[Counts, Measurement]:
        """One draw of all the blocks' answers that costs at most `price`."""
        ...

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> NoiseLaw:
        """The noise that the draw will add to every entry, in units of the blocks' grids."""
        ...

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> PrivacyEvent: ...

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        """The stop test on released values: whether the hypothesis' gap to the measurement is below `threshold`.

        Both in records. One query: |v - f(D)|; more: the sum of these. f(D) is rounded to the public grid first.
        """
        ...
