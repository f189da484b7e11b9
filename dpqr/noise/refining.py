"""Refining: which pieces of a search get closer bounds before a draw. No choice made here changes a law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpqr.noise.envelope import Envelope
from dpqr.noise.search import Search
from dpqr.noise.source import NoiseSource

REFINED, WIDER = 16, 4
"""Pieces refined at first, and how many times more each time after that."""


def settle_best(search: Search) -> bool:
    """Refine the pieces of largest bounds, more and more of them, until no bound exceeds the largest known score.

    False, here and below, where that would be more work than scoring all candidates.
    """
    most = REFINED
    while True:
        known = search.known > 0
        best = int(search.bounds[known].max(initial=-1))
        above = np.flatnonzero(~known & (search.bounds > best))
        if len(above) == 0:
            return True
        if not search.refine(above[np.argsort(-search.bounds[above], kind="stable")[:most]]):
            return False
        most *= WIDER


def tightened(search: Search, rate: Fraction, noise: NoiseSource) -> tuple[int, int] | None:
    """Refine the heaviest pieces, more and more of them, until some of a batch of trials succeeds; where the first did
    that ends in. None where there would be more work than scoring all candidates."""
    most = REFINED
    while True:
        envelope = Envelope.over(search, rate)
        found = envelope.attempt(search, noise)
        if found is not None:
            return found
        if not search.refine(envelope.heaviest(search, most)):
            return None
        most *= WIDER
