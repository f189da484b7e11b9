"""NewtonFit: the distribution of largest entropy that explains a few noisy answers, by Newton steps on its dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray

SUFFICIENT = 1e-4
SHORTEST = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class NewtonFit:
    """Minimises over the tilts t of p = base exp(t A) / Z the smooth, strictly convex

        log sum base exp(t A) - t y + sum r_j t_j^2 / 2,

    A the queries' coefficients, y their answers and r their noise deviations, all as fractions of the records: the
    dual of the fit that `EntropyFit` makes (see there why this strength), at whose optimum every residual is its tilt
    times its deviation. It is the state that multiplicative weights tends to when it replays its history for ever,
    but for that allowance.

    Why Newton: a hundred measured queries are a hundred unknowns, and five steps are exact where sweeps over the
    history need thirty.
    tolerance: in deviations of the answers. steps: at most so many; what is cut there is still a distribution.
    """

    tolerance: float = 0.05
    steps: int = 50

    def run(
        self, design: FloatArray, base: FloatArray, targets: FloatArray, ridge: FloatArray, start: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Tilts and probabilities.

        design: A, shape (queries, pieces). base: positive, sum 1. targets, ridge: y and r, shape (queries,), r > 0.
        """
        dual = _Dual(design=design, logs=np.log(base), targets=targets, ridge=ridge)
        tilts = start
        value, cells = dual.at(tilts)
        for _ in range(self.steps):
            told = design @ cells
            slope = told - targets + ridge * tilts
            if (np.abs(slope) <= self.tolerance * ridge).all():
                break
            bend = (design * cells) @ design.T - np.multiply.outer(told, told)
            bend[np.diag_indices_from(bend)] += ridge
            moved = dual.searched(tilts, value, slope, np.asarray(np.linalg.solve(bend, slope), dtype=np.float64))
            if moved is None:
                break
            tilts, value, cells = moved
        return tilts, cells


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dual:
    """The function that is minimised."""

    design: FloatArray
    logs: FloatArray
    targets: FloatArray
    ridge: FloatArray

    def at(self, tilts: FloatArray) -> tuple[float, FloatArray]:
        """Its value, and the probabilities that go with it."""
        exponents = self.logs + tilts @ self.design
        largest = float(exponents.max())
        cells = np.exp(exponents - largest)
        mass = float(cells.sum())
        cells /= mass
        return largest + float(np.log(mass)) + float(((0.5 * self.ridge * tilts - self.targets) * tilts).sum()), cells

    def searched(
        self, tilts: FloatArray, value: float, slope: FloatArray, step: FloatArray
    ) -> tuple[FloatArray, float, FloatArray] | None:
        """The first of the halved steps that lowers the value enough; None where rounding leaves none."""
        gain = float(slope @ step)
        length = 1.0
        while length >= SHORTEST and gain > 0.0:
            following = tilts - length * step
            reached, cells = self.at(following)
            if reached <= value - SUFFICIENT * length * gain:
                return following, reached, cells
            length /= 2
        return None
