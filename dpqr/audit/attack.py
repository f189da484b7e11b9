"""Attack: choose the event that tells two databases apart on one half of the runs, and test it on the other half.

The test is a pair of exact confidence limits of the event's probabilities. Where the law of the numbers is known, it is
compared with the claim itself, and the draws with the law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpqr.audit.case import Outcomes
from dpqr.audit.claim import Claim, epsilon_bounds, rho_bounds
from dpqr.audit.law import Laws, narrower
from dpqr.audit.own_figures import exact_share, own_share
from dpqr.audit.views import View, views
from dpqr.data.arrays import FloatArray, IntArray

OUTWARD = 1e-9
"""Relative widening: covers every rounding of the inverse beta function, and costs nothing."""


def lower_limits(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Lower Clopper-Pearson limits: each exceeds its event's true probability with probability at most `alpha`.

    hits: how often each event was seen in `runs` independent runs; shape (events,). Clopper and Pearson 1934: the
    limit p solves Pr[Binomial(runs, p) >= hits] = alpha, a quantile of a beta law; 0 without a hit.
    """
    from scipy.special import betaincinv

    counted = np.asarray(hits, dtype=np.float64)
    limits = betaincinv(np.maximum(counted, 1.0), runs - counted + 1.0, alpha)
    return np.where(counted > 0, limits * (1 - OUTWARD), 0.0)


def upper_limits(hits: IntArray, runs: int, alpha: float) -> FloatArray:
    """Upper Clopper-Pearson limits: each lies below the true probability with probability at most `alpha`.

    Args:
        hits: of `runs` independent runs, shape (events,).

    Returns:
        Probabilities, shape (events,).
    """
    from scipy.special import betainccinv

    counted = np.asarray(hits, dtype=np.float64)
    limits = betainccinv(counted + 1.0, np.maximum(runs - counted, 1.0), alpha)
    return np.where(counted < runs, np.minimum(limits * (1 + OUTWARD), 1.0), 1.0)


LIMITS_A_CASE = 4
"""Confidence limits that one attack relies on: two directions, and in each a lower and an upper one."""

LEVELS = np.concatenate([np.linspace(0, 1, 97), 1 - np.geomspace(1e-4, 0.2, 24)])
"""Quantiles of a view's scores that are tried as thresholds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The runs whose score reaches a threshold."""

    view: View
    threshold: float

    def hits(self, seen: Outcomes) -> int:
        return int((self.view(seen) >= self.threshold).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What the tested events prove, each figure too large with at most the probability that was asked for.

    epsilon: lower bound at the claim's delta. rho: likewise, for a claim in rho. share: the larger of the two as a
    share of what was claimed.
    stated: what the charged events themselves lose, as a share of the claim: their price by the audit's own lines,
    and the exact loss of the law that they state, where it is known. narrow: how far the draws speak against that law
    and for narrower noise; from 1 on they refute it. None: the law is not known.
    """

    epsilon: float
    rho: float | None
    share: float
    stated: float = 0.0
    narrow: float | None = None

    @property
    def breach(self) -> bool:
        return self.share > 1.0 or self.stated > 1.0 or (self.narrow or 0.0) >= 1.0


def attack(one: Outcomes, two: Outcomes, claim: Claim, alarm: float, laws: tuple[Laws, Laws] | None = None) -> Loss:
    """The largest loss that can be proved in either direction; with the laws of the numbers also what these prove.

    alarm: at most this is the probability of a breach if the claim holds; half of it is for events, half for the law.
    Why: on each side one event is chosen on the first half of the runs and tested on the second, independent half, so
    its two limits fail with at most alpha each, whatever was tried on the first half; all four hold with at least
    1 - alarm / 2.
    """
    alpha = alarm / 2 / LIMITS_A_CASE
    first, second = (seen.halves() for seen in (one, two))
    found = []
    for here, there in ((first, second), (second, first)):
        event = strongest(here[0], there[0], claim, alpha)
        found.append(proved_by(event, here[1], there[1], claim, alpha))
    proved = max(found, key=lambda loss: loss.share)
    priced = replace(proved, stated=own_share(claim))
    if laws is None:
        return priced
    narrow = max(narrower(seen.measured, law, alarm / 4) for seen, law in zip((one, two), laws, strict=True))
    return replace(priced, stated=max(priced.stated, exact_share(*laws, claim)), narrow=narrow)


def strongest(one: Outcomes, two: Outcomes, claim: Claim, alpha: float) -> Event:
    """The event that promises the largest share; views are learned on one half of these runs, compared on the other."""
    (learn, here), (against, there) = one.halves(), two.halves()
    runs = 2 * len(here)  # as many as will test the event: it is their limits that shall be far apart
    best = Event(view=lambda seen: np.zeros(len(seen)), threshold=0.0), -1.0
    for view in views(learn, against):
        scores = view(here), view(there)
        thresholds = np.unique(np.quantile(np.concatenate(scores), LEVELS, method="higher"))
        hits, misses = (_reached(np.sort(each), thresholds) for each in scores)
        shares = claim.shares(lower_limits(2 * hits, runs, alpha), upper_limits(2 * misses, runs, alpha))
        place = int(shares.argmax())
        if shares[place] > best[1]:
            best = Event(view=view, threshold=float(thresholds[place])), float(shares[place])
    return best[0]


def proved_by(event: Event, one: Outcomes, two: Outcomes, claim: Claim, alpha: float) -> Loss:
    """What one event, fixed before, proves on fresh runs.

    Args:
        one, two: outcomes on the two databases, of runs that did not choose the event.
        alpha: false-alarm probability of each limit.
    """
    low = lower_limits(np.array([event.hits(one)]), len(one), alpha)
    high = upper_limits(np.array([event.hits(two)]), len(two), alpha)
    return Loss(
        epsilon=float(epsilon_bounds(low, high, float(claim.delta))[0]),
        rho=None if claim.rho is None else float(rho_bounds(low, high)[0]),
        share=float(claim.shares(low, high)[0]),
    )


def _reached(ordered: FloatArray, thresholds: FloatArray) -> IntArray:
    return (len(ordered) - np.searchsorted(ordered, thresholds, side="left")).astype(np.int64)
