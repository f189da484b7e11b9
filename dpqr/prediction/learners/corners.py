"""Losses with a corner, minimised as they are: hinge and pinball, by a path of barriers, then by pivots if need be.

Such a loss is base u + max(0, u), u the shortfall of a prediction. The barrier of width t replaces max(0, u) by the
smallest p - t log p - t log q over p, q > 0 with p - q = u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray, FloatArray
from dpqr.kernel.budget import root_below
from dpqr.prediction.learners.examples import BLOCK, TrainingRows, pairwise_sum
from dpqr.prediction.learners.losses import Cornered
from dpqr.prediction.learners.solver import ULP, Objective, evaluation_error

CENTRED = 0.25
"""Newton decrement of a point that counts as the barrier's minimiser."""
STEPS_EACH = 40
"""Newton steps that a width is given; 34 are proved to do for the smallest factor between two widths."""
LARGEST_FACTOR = 64.0
WORSE = 2
"""Pairs in a row that show no smaller gap: rounding has overtaken the path."""
RUNS = 400
"""Widths that are tried; a path that is as slow as it is proved to be takes more where weights differ widely."""


class Barrier(Struct, frozen=True, kw_only=True):
    """A cornered loss whose corner is a logarithmic barrier.

    With p - q = u and p + q = 2 t + sqrt(4 t^2 + u^2) the slope of max(0, u) becomes t / q, in (0, 1), its curvature
    t / (p^2 + q^2).
    """

    loss: Cornered
    width: float

    def value(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        short = self.loss.shortfall(predicted, target)
        one, two = self._sides(short)
        return float(self.loss.base) * short + one - self.width * (np.log(one) + np.log(two))

    def slope(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        return (float(self.loss.base) + self.share(predicted, target)) * self.loss.direction(target)

    def curvature(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        one, two = self._sides(self.loss.shortfall(predicted, target))
        return self.width / (np.square(one) + np.square(two))

    def share(self, predicted: FloatArray, target: FloatArray) -> FloatArray:
        """The slope of the barrier in u, in (0, 1)."""
        return self.width / self._sides(self.loss.shortfall(predicted, target))[1]

    def _sides(self, short: FloatArray) -> tuple[FloatArray, FloatArray]:
        """p and q without cancellation: the smaller one is t (p + q) over the larger one."""
        total = 2 * self.width + np.hypot(2 * self.width, short)
        large = (total + np.abs(short)) / 2
        small = self.width * total / large
        return np.where(short >= 0, large, small), np.where(short >= 0, small, large)


class CornerSolver(Struct, frozen=True, kw_only=True):
    """Finds f within `tolerance` of the minimiser of sum_i weight_i L(f(x_i), y_i) + lambda ||f||^2, for every table.

    It follows the minimisers of the barriers F_t of falling widths t by Newton's method. After each width it looks at
    a pair: the point f of the last Newton step, and shares a_i in [0, 1], the barrier's slopes as that step predicts
    them, rounded to 0 or 1 away from the corner. For any pair, g = -(1 / (2 lambda)) sum_i weight_i (base + a_i) u_i'
    x_i minimises the Lagrangian of a, whose value D(a) there is at most F*, and F(f) - D(a) = sum_i weight_i (max(0,
    u_i) - a_i u_i) + lambda ||f - g||^2 = gap, u_i at f. F is 2 lambda-strongly convex, so ||f - f*||^2 <= gap /
    lambda: f is returned once that shows `aim`.

    *Steps.* Let v be the smallest weight, W their sum, nu = 2 W / v. F_t / (t v) is the infimum over all p of a convex
    quadratic over t v and a barrier that is self-concordant with parameter nu, so it is self-concordant (Nesterov and
    Nemirovskii 1994, Proposition 5.1.5). A Newton step of length 1 / (1 + d), d the decrement, lowers it by d - log(1
    + d), 0.0268 while d > 1/4 (Nesterov 2018, Theorem 5.2.2). Between widths of ratio 1 + 1 / sqrt(nu) its excess at a
    point of decrement 1/4 grows to 0.038 (1 + 1 / sqrt(nu)) + 1/3 + 1/2 at most (Boyd and Vandenberghe 2004, 11.5.3):
    34 steps at most. Larger ratios are tried first, each for as many steps; the ratio falls to its root where they do
    not do. At the width lambda aim^2 / (2.52 W) the barrier's own point is within `aim`, for there F(f) - F* <= 1.26
    nu t v.

    *Rounding.* Where weights or rows differ by many orders of magnitude, the slopes at narrow widths drown in rounding,
    and the path ends without a certificate (a tenth of the tables of `tests/support/hostile_fits.py`). Its last pairs
    say which rows can be near the corner, and pivots over these take over (`Corner`): in doubles, certified by the same
    gap, and where that does not do, in rational numbers, whose end needs no certificate. So whatever is returned was
    shown to be within the tolerance.

    Attributes:
        penalty: lambda.
        heaviest: W at most, for every table.
        loss: L.
        features: width of the rows.
        closeness: in norm, without rounding.

    Privacy:
        As `Solver`: the tolerance is public and holds for every table. `tolerance` adds to `aim` what rounding hides:
        e = (BLOCK + 68) ulp C_L W / (2 lambda) of g, and W times the error of a value (`evaluation_error`) of the sum,
        so sqrt(that / lambda) (`hidden`).
        Statement P8 of the guide's topic proofs.

    References:
        Nie and Wang 2017, J. Inequal. Appl., section 5, needs no derivative either.
    """

    penalty: Fraction
    heaviest: Fraction
    loss: Cornered
    features: int
    closeness: Fraction

    @property
    def norm(self) -> Fraction:
        """Twice that of a minimiser, at most: no point of a larger norm is certified."""
        by_value = 1 / root_below(self.penalty / (self.heaviest * self.loss.start))
        return 2 * min(by_value, self.heaviest * self.loss.lipschitz / (2 * self.penalty))

    @property
    def hidden(self) -> Fraction:
        """What the rounding of the gap's sum can hide, in norm."""
        values = self.heaviest * (evaluation_error(self.features, self.norm) + 4 * ULP)
        return 1 / root_below(self.penalty / values)

    @property
    def aim(self) -> Fraction:
        """What the computed gap has to show: nothing below `hidden`, where widths would be lost in rounding."""
        return max(self.closeness, self.hidden)

    @property
    def tolerance(self) -> Fraction:
        summed = ULP * (BLOCK + 68) * self.heaviest * self.loss.lipschitz / (2 * self.penalty)
        return self.aim + summed + self.hidden

    def minimise(self, rows: TrainingRows) -> FloatArray:
        """The minimiser, within the tolerance."""
        counted = rows.weights[rows.weights > 0]
        if not len(counted):
            return np.zeros(rows.width)
        weight, least, penalty = float(counted.sum()), float(counted.min()), float(self.penalty)
        needed, furthest = penalty * float(self.aim) ** 2 * (1 - 2**-20), float(self.norm)
        point, width, last = np.zeros(rows.width), 8 * weight**2 / (penalty * least), needed / (2.52 * weight)
        smallest = 1 + math.sqrt(least / (2 * weight))
        factor = largest = max(LARGEST_FACTOR, smallest)
        best, lowest, worse, runs = point, math.inf, 0, 0
        while width > last and worse < WORSE and runs < RUNS:
            tried = Centring(rows=rows, loss=Barrier(loss=self.loss, width=width / factor), penalty=penalty, unit=least)
            (moved, centred), runs = tried.run(point), runs + 1
            if not centred and factor > smallest:
                factor = max(smallest, math.sqrt(factor))
                continue
            point, width, factor = moved, width / factor, min(largest, factor**2)
            if width > 1:
                continue
            found, gap = tried.paired(point)
            if gap <= needed and np.linalg.norm(found) <= furthest:
                return found
            worse = 0 if gap < lowest else worse + 1
            if gap < lowest:
                best, lowest = found, gap
        return self._pivoted(rows, best, math.sqrt(min(lowest, weight) / penalty), needed)

    def _pivoted(self, rows: TrainingRows, point: FloatArray, radius: float, needed: float) -> FloatArray:
        """From a point at about this distance from the minimiser.

        Rows further than that from the corner keep their side. One that turns out to lie on the other side joins the
        pivots, which in the end all of them would. In doubles the gap certifies what was found, as on the path; in
        exact arithmetic pivots need no certificate: they end at the minimiser, for what the other rows pull together.
        """
        short, present = self._short(rows, point), rows.weights > 0
        side, near = short > 0, (np.abs(short) <= 2 * radius) & present
        for exact in (False, True):
            wrong = near
            while wrong.any() or exact:
                corner = self._corner(rows, side, near)
                found, shares, settled = (corner.exactly() if exact else corner).solved(side[near])
                every = side.astype(np.float64)
                every[near] = shares
                short = self._short(rows, found)
                wrong = ~near & present & ((short > 0) != side) & (short != 0)
                near = near | wrong
                if (
                    settled
                    and not wrong.any()
                    and (
                        exact
                        or (
                            self._gap(rows, found, every) <= needed and float(np.linalg.norm(found)) <= float(self.norm)
                        )
                    )
                ):
                    return found
        raise AssertionError("unreachable")

    def _short(self, rows: TrainingRows, point: FloatArray) -> FloatArray:
        """u, of every row."""
        return np.concatenate([self.loss.shortfall(block.vectors @ point, block.targets) for block in rows.blocks()])

    def _corner(self, rows: TrainingRows, side: AnyArray, near: AnyArray) -> Corner:
        """The rows `near` the corner, and what all others pull."""
        base, at = float(self.loss.base), 0
        pulls, parts = list[FloatArray](), list[tuple[FloatArray, ...]]()
        for block in rows.blocks():
            here = slice(at, at + len(block.weights))
            chosen, share = near[here], np.where(near[here], 0.0, side[here])
            pulls.append((block.weights * (base + share) * self.loss.direction(block.targets)) @ block.vectors)
            targets = block.targets[chosen]
            offsets = self.loss.shortfall(np.zeros(len(targets)), targets)
            parts.append((block.vectors[chosen], offsets, self.loss.direction(targets), block.weights[chosen]))
            at = here.stop
        vectors, offsets, directions, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
        others = -pairwise_sum(iter(pulls)) / (2 * float(self.penalty))
        return Corner(
            vectors=vectors,
            offsets=offsets,
            directions=directions,
            weights=weights,
            others=others,
            penalty=float(self.penalty),
        )

    def _gap(self, rows: TrainingRows, found: FloatArray, shares: FloatArray) -> float:
        """F(found) - D(shares)."""
        base, at, gap, pulls = float(self.loss.base), 0, 0.0, list[FloatArray]()
        for block in rows.blocks():
            share = shares[at : at + len(block.weights)]
            short = self.loss.shortfall(block.vectors @ found, block.targets)
            pulls.append((block.weights * (base + share) * self.loss.direction(block.targets)) @ block.vectors)
            gap += float(block.weights @ (np.maximum(short, 0.0) - share * short))
            at += len(block.weights)
        apart = found + pairwise_sum(iter(pulls)) / (2 * float(self.penalty))
        return gap + float(self.penalty) * float(apart @ apart)


class Centring(Struct, frozen=True, kw_only=True):
    """One width of the path.

    Attributes:
        unit: v, the smallest weight.
    """

    rows: TrainingRows
    loss: Barrier
    penalty: float
    unit: float

    def run(self, point: FloatArray) -> tuple[FloatArray, bool]:
        """A point of decrement CENTRED at most, and whether it is one."""
        objective = Objective(rows=self.rows, loss=self.loss, penalty=self.penalty)
        scale, value = self.loss.width * self.unit, objective.value(point)
        for _ in range(STEPS_EACH):
            gradient = objective.gradient(point)
            step = objective.newton_step(point, gradient)
            decrement = math.sqrt(max(0.0, float(gradient @ step)) / scale)
            if decrement <= CENTRED:
                return point, True
            length, needed = 1.0, (decrement - math.log1p(decrement)) * scale
            while length > 1 / (1 + decrement) and objective.value(point - length * step) > value - needed:
                length /= 2
            point = point - max(length, 1 / (1 + decrement)) * step
            value = objective.value(point)
        return point, False

    def paired(self, point: FloatArray) -> tuple[FloatArray, float]:
        """The point of one more Newton step, and its gap with the shares that this step predicts."""
        objective = Objective(rows=self.rows, loss=self.loss, penalty=self.penalty)
        found = point - objective.newton_step(point, objective.gradient(point))
        loss, pulls, gap = self.loss.loss, list[FloatArray](), 0.0
        for block in self.rows.blocks():
            before, after = block.vectors @ point, block.vectors @ found
            short = loss.shortfall(after, block.targets)
            moved = short - loss.shortfall(before, block.targets)
            share = self.loss.share(before, block.targets) + self.loss.curvature(before, block.targets) * moved
            share = np.where(np.square(short) > self.loss.width, short > 0, np.clip(share, 0.0, 1.0))
            pulls.append((block.weights * (float(loss.base) + share) * loss.direction(block.targets)) @ block.vectors)
            gap += float(block.weights @ (np.maximum(short, 0.0) - share * short))
        apart = found + pairwise_sum(iter(pulls)) / (2 * self.penalty)
        return found, gap + self.penalty * float(apart @ apart)


# Minimisers of losses with a corner by pivots: which rows stand at the corner, in doubles or in exact arithmetic.
#
# Where the path of barriers (`CornerSolver`) loses its certificate in rounding, most rows are known to lie on one
# side of the corner. The few others decide a small quadratic problem, which finitely many pivots solve.

TRIES = 8
"""Pivots in doubles, for each row and each feature, until exact ones take over."""
REFINEMENTS = 3
EPSILON = float(np.finfo(float).eps)


class Corner(Struct, frozen=True, kw_only=True):
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
