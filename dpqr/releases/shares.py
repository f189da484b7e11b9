"""Share of answers within a distance of the truth, as simulated releases tell it: what `dpqr plan --within` is about.

The truth is that of the rows used, in the domain's cells. A share is that of an answer taken at random from a release:
it is averaged over the noise, and over the made-up tables where there is no other. So it says how often answers lie
within the distance, and nothing of all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

FEW = 10
"""Answers outside that the simulated releases should show, for their share to be read off by counting: its standard
error is then at most about a third of it."""
COUNTS = "counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareInside:
    """Of one query's answers, or of several queries'.

    answers: of one release. seen: answers of all simulated releases, and inside: those within the distance, whose odds
    are `part` (the confidence). square: sum of the squares of their errors. counts: whether all are counts of records.

    >>> ShareInside(name="by sex", answers=2, seen=400, inside=390, square=400.0, most=2.0, counts=True).share(0.95)
    0.972...
    """

    name: str
    answers: int
    seen: int
    inside: int
    square: float
    most: float
    counts: bool

    def share(self, confidence: Fraction | float) -> float:
        """The probability that one more answer lies within the distance.

        Counted where the simulated releases would show `FEW` outside at this confidence: inside / (seen + 1), which is
        exact for answers that could change places (conformal prediction). Of fewer answers, that of Student's law with
        as many degrees: exact for normal errors around the truth, of which one more is drawn.

        References:
            Vovk, Gammerman and Shafer 2005, Algorithmic Learning in a Random World.
        """
        if not self.seen:
            return 1.0
        if self.seen * (1 - float(confidence)) >= FEW:
            return self.inside / (self.seen + 1)
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
            inside=sum(one.inside for one in shares),
            square=sum(one.square for one in shares),
            most=shares[0].most,
            counts=all(one.counts for one in shares),
        )


def runs_for_share(answers: int, tables: int, confidence: Fraction) -> int:
    """Simulated releases on each table that would show `FEW` answers outside."""
    return math.ceil(FEW / (1 - float(confidence)) / max(1, answers) / tables)
