"""Minimisers of losses with a corner by pivots: which rows stand at the corner, in doubles or in exact arithmetic.

Where the path of barriers (`CornerSolver`) loses its certificate in rounding, most rows are known to lie on one side of
the corner. The few others decide a small quadratic problem, which finitely many pivots solve.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray

TRIES = 8
"""Pivots in doubles, for each row and each feature, until exact ones take over."""
REFINEMENTS = 3
EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corner:
    """argmin lambda ||f - others||^2 + sum_i weight_i max(0, u_i), u_i = offset_i + direction_i <f, x_i>.

    Its dual is a concave quadratic in the shares a_i of the weights, 0 <= a_i <= 1, and f = others - (1 / (2 lambda))
    sum_i weight_i a_i direction_i x_i. f is the minimiser where every a_i is 1 if u_i > 0, and 0 if u_i < 0.

    *Pivots.* Let P be a set of rows with u_i = 0 whose x_i are linearly independent; all other shares are 0 or 1. A row
    i outside P that breaks the condition moves its share towards the other end, and the shares of P move along so that
    their u stay 0. It stops where u_i is 0 (i joins P; x_i is independent of the others, for else u_i would not move),
    where a_i reaches its end, or where a share of P does, which leaves P at its end while i goes on. None of these
    lowers the dual, and together they raise it: i leaves an end, and u_i is not 0. After each row the shares maximise
    the dual over the shares of P, all others fixed, so they follow from P and the ends of the others: in exact
    arithmetic no such state comes twice, and there are finitely many. Where no row breaks the condition, f is the
    minimiser.

    Attributes:
        vectors: x_i, shape (rows, width).
        offsets, directions, weights: one per row; directions 1 or -1.
        others: shape (width,).
        penalty: lambda.
    """

    vectors: AnyArray
    offsets: AnyArray
    directions: AnyArray
    weights: AnyArray
    others: AnyArray
    penalty: Any

    def exactly(self) -> Corner:
        """The same in rational numbers."""
        return Corner(
            vectors=_rational(self.vectors),
            offsets=_rational(self.offsets),
            directions=_rational(self.directions),
            weights=_rational(self.weights),
            others=_rational(self.others),
            penalty=Fraction(self.penalty),
        )

    def solved(self, ends: AnyArray) -> tuple[FloatArray, FloatArray, bool]:
        """f, the shares, and whether no row breaks the condition (in exact arithmetic: True).

        Args:
            ends: whether a share starts from 1, and not from 0.
        """
        found = Pivots(corner=self, shares=self.weights * 0)
        found.shares[ends] += 1
        settled = found.run(TRIES * (len(self.weights) + self.vectors.shape[1]))
        return _floats(found.function()), _floats(found.shares), settled


@dataclass(slots=True, kw_only=True)
class Pivots:
    """The state. inside: P, in the order of `inverse`, that of the products <x_i, x_j> over P. In doubles `refine`
    takes out what rounding has left in u over P."""

    corner: Corner
    shares: AnyArray
    inside: list[int] = field(init=False)
    inverse: AnyArray = field(init=False)

    def __post_init__(self) -> None:
        self.inside = []
        self.inverse = self.corner.vectors[:0, :0]

    @property
    def exact(self) -> bool:
        return self.corner.vectors.dtype == object

    def function(self) -> AnyArray:
        """f."""
        corner = self.corner
        pulls = corner.weights * self.shares * corner.directions
        found: AnyArray = corner.others - (pulls @ corner.vectors) / (2 * corner.penalty)
        return found

    def run(self, tries: int) -> bool:
        """Pivot until no row breaks the condition; in doubles `tries` times at most."""
        done = 0
        while len(self.shares) and (self.exact or done < tries):
            done += 1
            if not self.exact:
                self.refine()
            short = self.short()
            least = 0.0 if self.exact else 8 * EPSILON * (1 + float(np.linalg.norm(self.function())))
            breach = np.where(self.shares == 0, short, np.where(self.shares == 1, -short, 0 * short))
            breach[self.inside] = 0
            row = int(np.argmax(breach))
            if breach[row] <= least:
                return True
            self.enter(row, short[row])
        return not len(self.shares)

    def short(self) -> AnyArray:
        """u."""
        corner = self.corner
        found: AnyArray = corner.offsets + corner.directions * (corner.vectors @ self.function())
        return found

    def enter(self, row: int, short: Any) -> None:
        """Move the share of a row towards its other end, and those of P along."""
        corner, up = self.corner, short > 0
        sign = 1 if up else -1
        rate = corner.weights / (2 * corner.penalty)
        for _ in range(len(self.inside) + 1):
            along = (
                corner.vectors[self.inside]
                @ corner.vectors[row]
                * (corner.directions[self.inside] * corner.directions[row])
            )
            coupled = self.inverse @ along
            curved = corner.vectors[row] @ corner.vectors[row] - along @ coupled
            # steps in units of rate * share of the row: what its pull moves by
            moving = [*self.inside, row]
            speeds = np.array([*(-sign * coupled), sign * (1 + 0 * curved)], dtype=self.shares.dtype) / rate[moving]
            ends = [self._left(place, speed) for place, speed in zip(moving, speeds, strict=True)]
            small = 0 if self.exact else 1e-13 * float(corner.vectors[row] @ corner.vectors[row])
            needed = abs(short) / curved if curved > small else None
            first = min((end for end in ends if end is not None), default=None)
            joins = needed is not None and (first is None or needed <= first)
            step = needed if joins else first
            assert step is not None, "a share moves towards an end"
            self.shares[moving] = self.shares[moving] + step * speeds
            short = short - sign * step * curved
            if joins:
                self._join(row, coupled, curved)
                return
            hit = [place for place, end in zip(moving, ends, strict=True) if end is not None and end <= first]
            for place, speed in zip(moving, speeds, strict=True):
                if place in hit:
                    self.shares[place] = self.shares[place] * 0 + (1 if speed > 0 else 0)
            for place in [place for place in hit if place != row]:
                self._leave(place)
            if row in hit:
                return

    def _left(self, place: int, speed: Any) -> Any:
        """After which step a share is at the end that it moves towards; None: it does not move."""
        if speed == 0:
            return None
        way = (1 - self.shares[place]) / speed if speed > 0 else self.shares[place] / -speed
        return way if self.exact else max(way, 0.0)

    def _join(self, row: int, coupled: AnyArray, curved: Any) -> None:
        """The inverse of a bordered matrix."""
        size = len(self.inside)
        grown = np.empty((size + 1, size + 1), dtype=self.shares.dtype)
        grown[:size, :size] = self.inverse + np.multiply.outer(coupled, coupled) / curved
        grown[size, :size] = grown[:size, size] = -coupled / curved
        grown[size, size] = 1 / curved
        self.inside.append(row)
        self.inverse = grown

    def _leave(self, place: int) -> None:
        at = self.inside.index(place)
        kept = [each for each in range(len(self.inside)) if each != at]
        column = self.inverse[kept, at]
        self.inverse = self.inverse[np.ix_(kept, kept)] - np.multiply.outer(column, column) / self.inverse[at, at]
        del self.inside[at]

    def refine(self) -> None:
        """Newton steps over P, by predictions of f itself."""
        rate = self.corner.weights / (2 * self.corner.penalty)
        for _ in range(REFINEMENTS if self.inside else 0):
            short = self.short()[self.inside]
            moved = self.shares[self.inside] + (self.inverse @ short) / rate[self.inside]
            self.shares[self.inside] = np.clip(moved, 0.0, 1.0)


def _rational(values: AnyArray) -> AnyArray:
    """Exact, shape kept."""
    flat = np.array([Fraction(each) for each in values.reshape(-1).tolist()] + [None], dtype=object)[:-1]
    return flat.reshape(values.shape)


def _floats(values: AnyArray) -> FloatArray:
    return np.array([float(each) for each in values], dtype=np.float64)
