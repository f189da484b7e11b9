"""PeriodTree: runs of neighbouring periods, few of which add up to any count from the first period on."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.errors import UsageFault

MOST_PERIODS = 1024
WIDEST = 33
"""The largest base of a tree of several levels: two levels over MOST_PERIODS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodTree:
    """The nodes of a counter over `periods` periods, numbered from 1. Node t is complete when period t ends.

    Node t holds the base^j periods up to t, where base^j is the largest power of `base` that divides t; j is its level.
    periods: fixed at the first release. base: 2 for the binary tree; above `periods`: every period is a node.

    Theorem. (1) Two nodes of one level share no period, so a period lies in at most `levels` nodes. (2) The nodes of
    `path(t)` are disjoint and hold the periods 1 to t; there are as many as the sum of the digits of t in that base.
    Proof. (1) Nodes of level j end at different multiples of base^j and hold base^j periods each. (2) Taking base^j off
    t takes 1 off its last digit that is not 0; `path` does so until nothing is left.

    >>> tree = PeriodTree(periods=12, base=2)
    >>> tree.levels, tree.span(12), tree.path(11)
    (4, range(9, 13), (8, 10, 11))

    Raises:
        UsageFault: no period, more than MOST_PERIODS, or a base below 2.

    References:
        Chan, Shi and Song 2011, Algorithm 2 (base 2); Dwork, Naor, Pitassi and Rothblum 2010, section 4.
    """

    periods: int
    base: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.periods <= MOST_PERIODS:
            raise UsageFault(f"--cumulative {self.periods}: a counter runs over 1 to {MOST_PERIODS:,} periods")
        if self.base < 2:
            raise UsageFault(f"a counter's tree has a base of at least 2, not {self.base}")

    @classmethod
    def best(cls, periods: int, power: int) -> PeriodTree:
        """Return the tree of least mean squared error over the life of the counter.

        Noise of equal variance in all nodes grows with levels^power: 2 where epsilons add up, 1 where rho or mu^2 do.

        >>> PeriodTree.best(24, 2).levels, PeriodTree.best(24, 1).base
        (1, 5)
        """
        bases = (*range(2, min(periods, WIDEST) + 1), max(periods, 1) + 1)
        found = (cls(periods=periods, base=base) for base in bases)
        return min(found, key=lambda tree: tree.levels**power * tree.summed)

    @property
    def levels(self) -> int:
        """The most nodes that one period lies in: the digits of `periods` in that base."""
        return len(_digits(self.periods, self.base))

    @property
    def summed(self) -> int:
        """The nodes of all paths together."""
        return sum(sum(_digits(period, self.base)) for period in range(1, self.periods + 1))

    def level(self, node: int) -> int:
        """Return j, from 0."""
        found = 0
        while self._known(node) % self.base ** (found + 1) == 0:
            found += 1
        return found

    def span(self, node: int) -> range:
        """Return the periods of a node."""
        return range(node - self.base ** self.level(node) + 1, node + 1)

    def path(self, period: int) -> tuple[int, ...]:
        """Return the nodes that add up to the periods from 1 to `period`, earliest first."""
        left, found = self._known(period), []
        while left:
            found.append(left)
            left -= len(self.span(left))
        return tuple(reversed(found))

    def _known(self, period: int) -> int:
        if not 1 <= period <= self.periods:
            raise UsageFault(f"period {period} is none of the {self.periods} of the counter (--cumulative)")
        return period


def _digits(number: int, base: int) -> list[int]:
    found = []
    while number:
        number, digit = divmod(number, base)
        found.append(digit)
    return found
