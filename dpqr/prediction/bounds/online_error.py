"""Online error: a bound on the expected excess risk of the online learner, without its noise. Public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpqr.prediction.learners.online import Steps

EARLIEST = 10**4
"""Steps among which the suprema over all times are sought; later on every part of the bound falls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineError:
    """E ||f_t - f_rho||^2 in L2 after t steps, M = kappa = 1, for independent records and f_rho = L^r g.

    ||g|| <= R in L2, 0 < r <= 1; at r = 1/2 that is ||f_rho||_K <= R. A larger r helps no more than 1, and ||L|| <= 1.

    With lambda_t = (t + t0)^(theta - 1), L the kernel's integral operator, f_lambda = (L + lambda)^(-1) L f_rho and
    u_t = f_t - f_(lambda_t), one step is u_(t+1) = (1 - eta_t (L + lambda_t)) u_t + eta_t z_t + d_t, z_t a martingale
    difference with E ||z_t||^2 <= E (f_t(x) - y)^2 <= 1 + E ||f_t - f_rho||^2, and d_t = f_(lambda_t) -
    f_(lambda_(t+1)). The steps after i shrink every direction of eigenvalue s by (i + t0) / N exp(-s S_i),
    N = t - 1 + t0, S_i the sum of their sizes, at least (t - 1 - i) N^(-theta). In L2 (one factor s^(1/2)):

    - ||f_(lambda_t) - f_rho|| <= R max_s lambda_t s^r / (s + lambda_t) = R B lambda_t^r, B = r^r (1 - r)^(1 - r);
    - d_i in the direction of s is g times s^(r+1) (lambda_i - lambda_(i+1)) / ((s + lambda_i) (s + lambda_(i+1))), so
      ||d_i|| <= R D (lambda_i - lambda_(i+1)) lambda_(i+1)^(r-1), D = max_u u^(r+1) / (u + 1)^2, reached at
      u = (1 + r) / (1 - r): (1 + r)^(1+r) (1 - r)^(1-r) / 4. With q = r (1 - theta) all of them together, each times
      (i + t0) / N, are at most R D (1 - theta) (1 + 1 / t0)^((1 - theta) (1 - r)) / (1 - q) N^(-q), for
      lambda_i - lambda_(i+1) <= (1 - theta) (i + t0)^(theta - 2), and sum_(y <= N) y^(-q) <= N^(1 - q) / (1 - q);
    - u_0 = -f_(lambda_0), at most ||f_rho|| <= 1: (t0 - 1) / N;
    - the z_i have no correlation, s exp(-2 s S) <= 1 / (2 e S), and eta_i (i + t0) / N <= N^(-theta): the mean square
      of their sum is at most N^(-2 theta) sum_k min(1, N^theta / (2 e k)) times the largest of their mean squares. (Of
      steps before N / 2 less remains: `_squares` charges those of each halving with the error that was proved for it.)

    Fewer slots than steps: an empty slot has eta z = 0 and shrinks f to 0, so the bound is for streams without them.

    References:
        After Tarres and Yao 2014; Nie and Wang 2017, JCC, Theorem 2 has the order.

    >>> error = OnlineError(steps=Steps(), radius=0.5)
    >>> round(error.after(20_000), 3), error.after(10**6) < error.after(10**5)
    (0.013, True)
    >>> round(OnlineError(steps=Steps(), radius=0.5, smoothness=1.0).after(20_000), 4)
    0.0066
    """

    steps: Steps
    radius: float
    smoothness: float = 0.5

    def after(self, slots: int) -> float:
        """The bound after this many steps; at most 4, for predictions are clipped."""
        highest = self._highest()
        if highest is None:
            return 4.0
        last = slots - 1 + self.steps.start
        halvings = max(0, int(math.log2(last / (4 * self.steps.start))))
        found = [highest] * (halvings + 64)
        for place in range(halvings, -1, -1):
            squares = self._squares(last / 2**place, found[place + 2 :])
            tried = (self._bias(last / 2**place) + math.sqrt(squares)) ** 2
            if tried <= found[place + 1]:
                found[place] = tried
            else:  # no induction from here; what holds at any time starts another one
                found[place:] = [highest] * len(found[place:])
        return min(4.0, found[0])

    def _bias(self, last: float) -> float:
        """All but the martingale, at N = last; falls with N."""
        smooth, start, left = min(self.smoothness, 1.0), self.steps.start, 1 - float(self.steps.theta)
        rough, power = 1 - smooth, left * smooth
        bias = math.pow(smooth, smooth) * math.pow(rough, rough)
        drift = math.pow(1 + smooth, 1 + smooth) * math.pow(rough, rough) / 4
        drift *= left * math.pow(1 + 1 / start, left * rough) / (1 - power)
        return self.radius * (bias + drift) * math.pow(last, -power) + (start - 1) / last

    def _noise(self, last: float) -> float:
        """N^(-2 theta) sum_k min(1, N^theta / (2 e k)), over fewer than N steps."""
        theta = float(self.steps.theta)
        few = math.pow(last, theta) / (2 * math.e)
        return math.pow(last, -2 * theta) * (2 + few * (1 + max(0.0, math.log(last / few))))

    def _squares(self, last: float, earlier: list[float]) -> float:
        """Mean square of the martingale's sum, for any time from N = last to 2 N.

        The steps with i + t0 in (N / 2^(k + 1), N / 2^k], at most N / 2^(k + 1) + 1 of them, add at most
        (N / 2^k)^(2 - 2 theta) / N^2 N^(theta - 1) / e each for k >= 1, as S_i >= N^(1 - theta) / 2.

        Args:
            earlier: bounds on the error at the steps of k = 0, 1, ..., each no smaller than those before it.
        """
        theta = float(self.steps.theta)
        total = (1 + earlier[0]) * self._noise(last)
        for place, error in enumerate(earlier[1:], 1):
            each = math.pow(last / 2**place, 2 - 2 * theta) * math.pow(last, theta - 3) / math.e
            total += (1 + error) * (last / 2 ** (place + 1) + 1) * each
        return total

    def _highest(self) -> float | None:
        """The error at any time: the least x^2 with x >= bias + sqrt(noise (1 + x^2)), by induction over time.

        None: there is none.
        """
        times = range(self.steps.start, EARLIEST)
        bias, noise = max(map(self._bias, times)), max(map(self._noise, times))
        if noise >= 1:
            return None
        root = math.sqrt(max(0.0, bias**2 - (1 - noise) * (bias**2 - noise)))
        return max(1.0, (bias + root) / (1 - noise)) ** 2
