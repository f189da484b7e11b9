"""Share of answers within a distance of the truth, as simulated releases tell it: what `dpqr plan --within` is about.

The truth is that of the rows used, in the domain's cells. A share is that of an answer taken at random from a release:
it is averaged over the noise, and over the made-up tables where there is no other. So it says how often answers lie
within the distance, and nothing of all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import IntArray

FEW = 10
"""Answers outside that the simulated releases should show, for their share to be read off by counting: its standard
error is then at most about a third of it."""
COUNTS = "counts"


class ShareInside(Struct, frozen=True, kw_only=True, eq=False):
    """Of one query's answers, or of several queries'.

    answers: of one release. seen: answers of all simulated releases. inside: those within the distance `most` in each
    of them, shape (tables, runs). square: sum of the squares of all errors. counts: whether all are counts of records.

    >>> inside = np.array([[196, 194]])
    >>> one = ShareInside(name="ages", answers=200, seen=400, inside=inside, square=400.0, most=2.0, counts=True)
    >>> round(one.share(0.95), 3)
    0.968
    """

    name: str
    answers: int
    seen: int
    inside: IntArray
    square: float
    most: float
    counts: bool

    def share(self, confidence: Fraction | float) -> float:
        """The probability that one more answer lies within the distance.

        Counted where the simulated releases would show `FEW` outside at this confidence: inside / (seen + 1), which is
        exact for answers that could change places (conformal prediction); less one standard error over the noise of the
        runs, for the answers of a run err together, and a search takes the first epsilon that seems to do. Of fewer
        answers, that of Student's law with as many degrees: exact for normal errors around the truth, of which one more
        is drawn.

        References:
            Vovk, Gammerman and Shafer 2005, Algorithmic Learning in a Random World.
        """
        if not self.seen:
            return 1.0
        if self.seen * (1 - float(confidence)) >= FEW:
            runs = self.inside.shape[1]
            luck = math.sqrt(runs * self.inside.var(axis=1, ddof=1).sum()) / self.seen if runs > 1 else 0.0
            return max(0.0, float(self.inside.sum()) / (self.seen + 1) - luck)
        from scipy.special import stdtr

        typical = math.sqrt(self.square / self.seen)
        return 1.0 if typical <= 1e-9 * self.most else float(2 * stdtr(self.seen, self.most / typical) - 1)

    @classmethod
    def together(cls, shares: Sequence[ShareInside]) -> ShareInside:
        """Of all answers of these queries."""
        return cls(
            name=COUNTS,
            answers=sum(one.answers for one in shares),
            seen=sum(one.seen for one in shares),
            inside=np.sum([one.inside for one in shares], axis=0),
            square=sum(one.square for one in shares),
            most=shares[0].most,
            counts=all(one.counts for one in shares),
        )
