"""Scores: how badly a hypothesis answers each candidate, as integers, for a private selection."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dpqr.data.arrays import IntArray
from dpqr.data.counts import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.noise.search import Search


class Scores(Protocol):
    """Integer scores of a fixed, public list of candidates on private counts."""

    def __len__(self) -> int: ...

    def sensitivity(self, unit: PrivacyUnit) -> int:
        """Largest change of any candidate's score between neighbours (one figure for all candidates)."""
        ...

    def evaluate(self, counts: Counts) -> IntArray:
        """One int64 score a candidate, larger is worse answered; private."""
        ...


@runtime_checkable
class SearchableScores(Scores, Protocol):
    """Scores of which a draw need not work out all."""

    def search(self, counts: Counts) -> Search:
        """The candidates in pieces, with bounds; private."""
        ...
