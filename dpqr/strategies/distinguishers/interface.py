"""Distinguisher: the source's (F(eps), gamma)-private distinguisher (Dwork and Roth 2014, Definition 5.5)."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dpqr.data.histogram import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.mechanisms.scores import Scores
from dpqr.privacy.budget import Price
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.gate import Mechanism


class Distinguisher(Protocol):
    """A recipe for one private selection. It meets data through the mechanism it returns, and only there."""

    @property
    def name(self) -> str: ...

    def mechanism(self, scores: Scores, unit: PrivacyUnit, price: Price) -> Mechanism[Counts, int]:
        """A draw of a candidate's index that costs at most `price`."""
        ...

    def event(self, price: Price) -> PrivacyEvent:
        """What one draw at `price` will be recorded as: for plans."""
        ...

    def shortfall(self, candidates: int, sensitivity: int, price: Price, gamma: Fraction) -> float:
        """F: with probability 1 - gamma the drawn score is within F of the largest; in units of the scores."""
        ...
