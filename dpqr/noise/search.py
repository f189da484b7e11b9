"""Search: candidates in pieces, each with a bound on the scores of its members, of which few need to be worked out.

A selection from a million candidates need not score them all: an exact draw by bounds, corrected by exact coins, has
the law of the draw by scores (`search_exponential`, `search_permute_and_flip`).
"""

from __future__ import annotations

from typing import Protocol

from dpqr.data.arrays import IntArray


class Search(Protocol):
    """Pieces that hold every candidate exactly once. Private: bounds and scores both rest on the counts."""

    @property
    def bounds(self) -> IntArray:
        """At least the largest score of every piece, shape (pieces,)."""
        ...

    @property
    def counts(self) -> IntArray:
        """How many candidates every piece holds, at least 1, shape (pieces,)."""
        ...

    @property
    def known(self) -> IntArray:
        """Pieces all of whose members score exactly their bound: flags as 0 and 1, shape (pieces,)."""
        ...

    def score(self, pieces: IntArray, ranks: IntArray) -> IntArray:
        """Exact scores of single members, each given by its piece and its rank there."""
        ...

    def candidate(self, piece: int, rank: int) -> int:
        """The number of one member among all candidates."""
        ...

    def refine(self, pieces: IntArray) -> bool:
        """Put smaller pieces with closer bounds in the place of these; False, and nothing done, where that would be
        more work than scoring all candidates."""
        ...

    def evaluate(self) -> IntArray:
        """The scores of all candidates."""
        ...
