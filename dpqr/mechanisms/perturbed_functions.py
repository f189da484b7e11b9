"""Objective perturbation: a learned function whose objective, not its minimiser, gets the noise.

>>> class Fixed:
...     width, units, gradient, strength = 1, 1, Fraction(1), Fraction(8)
...     curvature, tolerance = Fraction(1, 32), Fraction(1, 2**13)
...     def fit(self, counts, pull):
...         return -pull / 8
>>> weights = PerturbedWeights(learner=Fixed(), scale=Fraction(SENSITIVITY), closing=Fraction(2**26))
>>> weights.event.units, weights.penalty
(1, Fraction(4, 1))
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Protocol, final

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.histogram import Counts
from dpqr.mechanisms.learned_functions import FINENESS, rounded, step, weights_sensitivity
from dpqr.mechanisms.noisy_answers import refuse_noise
from dpqr.noise.source import NoiseSource
from dpqr.noise.spherical_laplace import LARGEST_SCALE, SphericalLaplace
from dpqr.privacy.events import PerturbedObjectiveEvent

SENSITIVITY = FINENESS + 1
"""Of a gradient, in grid steps; one more covers rows of norm 1 + 2^-40."""
LARGEST_PULL = 1 << 36
"""Largest scale of a pull: a norm beyond 2^51 steps has a probability below exp(-10,000) (`SphericalLaplace`)."""


class Perturbed(Protocol):
    """A learner of argmin sum_i L(f(x_i), y_i) + (strength / 2) ||f||^2 + <pull, f>, f(x) = <w, phi(x)>."""

    @property
    def width(self) -> int:
        """Number of weights."""
        ...

    @property
    def gradient(self) -> Fraction:
        """How far the gradient of the sum of losses moves in L2 between neighbours, at any point."""
        ...

    @property
    def units(self) -> int:
        """Losses that come, or are replaced, between neighbours."""
        ...

    @property
    def curvature(self) -> Fraction:
        """Largest second derivative of a loss on a row, over the strength."""
        ...

    @property
    def strength(self) -> Fraction: ...

    @property
    def tolerance(self) -> Fraction:
        """Largest distance of `fit` from the minimiser, for every table and every pull. Public."""
        ...

    def fit(self, counts: Counts, pull: FloatArray) -> FloatArray: ...


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PerturbedWeights:
    """The weights of a perturbed objective, on a grid, plus closing noise that covers solver and rounding.

    scale: of the pull, in grid steps of gradient / FINENESS. closing: of the closing noise, in steps of its own grid.

    Privacy:
        Let b be the pull before it is rounded to its grid, of density proportional to exp(-||b||_2 / s), and w(b) the
        exact minimiser. b = -strength w - sum_i grad L_i(w), so b and w determine each other, and the density of w is
        that of b there times det(strength + sum_i L_i'' x_i x_i^T) (the change of variables; L'' exists and is
        bounded). Add-remove of a row: b moves by a gradient at most, a factor of exp(gradient / s); the determinant
        gains a factor between 1 and 1 + curvature (the matrix determinant lemma). Replace: two gradients, and a factor
        within 1 + curvature either way, as one comes and one goes. k rows: k times each. So w(b) is
        (gradient / s + units log(1 + curvature))-DP. (Chaudhuri, Monteleoni and Sarwate 2011, Theorem 9; Kifer, Smith
        and Thakurta 2012, for sums over a private number of rows.)

        What is released is not w(b): b is rounded, by half a step a coordinate, which moves the minimiser by at most
        `shift` (strong convexity), and the solver ends within its tolerance. Given w(b), the computed weights are a
        function of the table within r = `wrong` of w(b), for each of two neighbours, hence within 2 r of each other:
        closing noise for that distance makes them (`closing`)-DP given w(b), and both draws compose (Dwork and Roth
        2014, Theorem 3.16). This is how approximate minima perturbation ends (Iyengar and others 2019).
    """

    learner: Perturbed
    scale: Fraction
    closing: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_PULL, "a scale of")
        refuse_noise(self.closing, LARGEST_SCALE, "a scale of")

    @property
    def event(self) -> PerturbedObjectiveEvent:
        width = self.learner.width
        return PerturbedObjectiveEvent(
            sensitivity=SENSITIVITY,
            scale=self.scale,
            coordinates=width,
            units=self.learner.units,
            curvature=self.learner.curvature,
            closing=Fraction(weights_sensitivity(width)) / self.closing,
        )

    @property
    def shift(self) -> Fraction:
        """How far the rounding of the pull moves the minimiser: half a step a coordinate, and half a step for its
        floating-point form, which is off by 2^-52 of its norm at most."""
        return self.learner.gradient * (isqrt(self.learner.width) + 2) / (2 * FINENESS * self.learner.strength)

    @property
    def wrong(self) -> Fraction:
        """r."""
        return self.learner.tolerance + self.shift

    @property
    def grid(self) -> float:
        """The step of the released weights."""
        return step(2 * self.wrong)

    @property
    def penalty(self) -> Fraction:
        """lambda, of the sum of losses."""
        return self.learner.strength / 2

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        width = self.learner.width
        pull = SphericalLaplace(self.scale, width).sample(noise) * (float(self.learner.gradient) / FINENESS)
        weights = rounded(self.learner.fit(value, np.asarray(pull, dtype=np.float64)), self.grid)
        return weights + SphericalLaplace(self.closing, width).sample(noise)
