"""The audit of selections: exact output probabilities on every neighbouring pair, against what the event claims."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import mpmath
from audits.neighbours import Breach, Pair

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.events import ExponentialEvent, PrivacyEvent
from dpqr.mechanisms.selection import ExponentialChoice, PermuteAndFlipChoice, Scores

DIGITS = 60
SLACK = mpmath.mpf(10) ** -40
Law = Callable[[Sequence[int], Fraction], list[mpmath.mpf]]


def exponential_law(scores: Sequence[int], rate: Fraction) -> list[mpmath.mpf]:
    """Closed form of the exponential mechanism."""
    weights = _heads(scores, rate)
    return [weight / mpmath.fsum(weights) for weight in weights]


def permute_and_flip_law(scores: Sequence[int], rate: Fraction) -> list[mpmath.mpf]:
    """All orders written out: candidate i comes out where it is heads and all before it were tails."""
    heads = _heads(scores, rate)
    law = [mpmath.mpf(0)] * len(heads)
    for order in itertools.permutations(range(len(heads))):
        reached = mpmath.mpf(1)
        for index in order:
            law[index] += reached * heads[index]
            reached *= 1 - heads[index]
    return [weight / math.factorial(len(heads)) for weight in law]


def _heads(scores: Sequence[int], rate: Fraction) -> list[mpmath.mpf]:
    best = max(map(int, scores))
    exponents = [rate * (int(score) - best) for score in scores]
    return [mpmath.exp(mpmath.mpf(e.numerator) / e.denominator) for e in exponents]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a selection does (its law at `rate` on its scores) and what it says that it costs."""

    scores: Scores
    rate: Fraction
    law: Law
    event: PrivacyEvent

    @classmethod
    def of(cls, mechanism: ExponentialChoice | PermuteAndFlipChoice) -> "Claim":
        law = exponential_law if isinstance(mechanism, ExponentialChoice) else permute_and_flip_law
        return cls(scores=mechanism.scores, rate=mechanism.rate, law=law, event=mechanism.event)

    def logs(self, counts: DenseHistogram) -> list[mpmath.mpf]:
        """Log-probability of every output on one database."""
        return [mpmath.log(weight) for weight in self.law(self.scores.evaluate(counts).tolist(), self.rate)]


@dataclass(frozen=True)
class Losses:
    """Largest log-ratio of any output, and largest spread of log-ratios over outputs, as shares of the claim."""

    pure: float
    spread: float


def audit_choice(claim: Claim, neighbours: Sequence[Pair]) -> Losses:
    """Breach unless every log-ratio is within epsilon, and for an exponential event every spread of them too."""
    pure = spread = mpmath.mpf(0)
    logs: dict[int, list[mpmath.mpf]] = {}
    with mpmath.workdps(DIGITS):
        for one, two in neighbours:
            here, there = (logs.get(id(x)) or logs.setdefault(id(x), claim.logs(x)) for x in (one, two))
            ratios = [p - q for p, q in zip(here, there, strict=True)]
            pure = max(pure, *ratios)
            spread = max(spread, max(ratios) - min(ratios))
        epsilon = mpmath.mpf(claim.event.epsilon.numerator) / claim.event.epsilon.denominator
        if pure > epsilon + SLACK:
            raise Breach(f"log-ratio {mpmath.nstr(pure)} beyond epsilon {mpmath.nstr(epsilon)}")
        if isinstance(claim.event, ExponentialEvent) and spread > epsilon + SLACK:
            raise Breach(f"range {mpmath.nstr(spread)} beyond epsilon {mpmath.nstr(epsilon)}")
        return Losses(float(pure / epsilon), float(spread / epsilon))
