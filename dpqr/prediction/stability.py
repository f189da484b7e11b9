"""Stability: lambda, or the end of gradient descent, by a stated radius, and means of parts, as Rana 2019 has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.errors import UsageFault
from dpqr.prediction.averaged import Averaged, PartLearner
from dpqr.prediction.descent import GradientDescent
from dpqr.prediction.examples import Examples, Scale
from dpqr.prediction.forms import added_loss, mean_share
from dpqr.prediction.losses import Cornered, Loss
from dpqr.prediction.stable import CLOSENESS, BatchLearner, StableLearner

MOST_AVERAGED = 2**12
LENGTHS = tuple(10 ** (place / 20) for place in range(-60, 181))
"""Among which a penalty or a descent is chosen."""
SMALLEST_RADIUS, LARGEST_RADIUS = Fraction(1, 100), Fraction(1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """What makes a learner of the whole table, or of parts of it, as stable as its noise deserves.

    Attributes:
        radius: R, norm of the functions that are competed with; lambda, or the end of descent, follows from it.
        parts: of the table, whose functions are averaged; None: there is one.

    Raises:
        UsageFault: a figure outside its range.

    >>> from dpqr.data.unit import PrivacyUnit
    >>> Stability(parts=4).of_part(Scale(unit=PrivacyUnit(), records=100)).records
    25
    """

    radius: Fraction | None = None
    parts: int | None = None

    def __post_init__(self) -> None:
        if self.radius is not None and not SMALLEST_RADIUS <= self.radius <= LARGEST_RADIUS:
            raise UsageFault("--radius must lie between 0.01 and 1000, for example --radius 5")
        if self.parts is not None and not 1 <= self.parts <= MOST_AVERAGED:
            raise UsageFault(f"--parts must lie between 1 and {MOST_AVERAGED:,} for a learner whose parts are averaged")

    def require(self, *, descends: bool, penalised: bool, tuned: bool, ball: bool) -> None:
        """Check what else chooses lambda, or divides the table.

        Args:
            descends: whether the learner has no penalty, but stops early.
            penalised: whether lambda, or a smoothness that it follows from, is stated.
            ball: whether the learner has a ball of its own.

        Raises:
            UsageFault: two do.
        """
        if descends and (penalised or tuned):
            raise UsageFault("--method descent has no lambda; leave --lambda, --smoothness and --tune out")
        if self.radius is not None and (penalised or tuned):
            raise UsageFault("--radius chooses lambda, and so do --lambda, --smoothness and --tune; leave one out")
        if self.radius is not None and ball and not descends:
            raise UsageFault("--radius: least-squares has a ball of its own; add --method descent, or state --lambda")
        if self.parts is not None and tuned:
            raise UsageFault("--tune and --parts each divide the table; leave one out")

    def penalty(self, loss: Loss | Cornered | None, scale: Scale, spread: float) -> float | None:
        """lambda of a stated radius, 1 / `best_length`; None: none is stated."""
        if self.radius is None or loss is None:
            return None
        return 1 / best_length(radius=self.radius, slope=loss.lipschitz, loss=loss, scale=scale, spread=spread)

    def of_part(self, scale: Scale) -> Scale:
        """The scale of a part's losses; the whole table's where it is not divided."""
        if self.parts is None:
            return scale
        return replace(scale, records=max(1, scale.records // self.parts), part=True)

    def descent(self, examples: Examples, loss: Loss, reach: Fraction, scale: Scale, spread: float) -> StableLearner:
        """Gradient descent, in the ball of the stated radius or of `reach`."""
        radius, part = self.radius or reach, self.of_part(scale)
        started = GradientDescent(examples=examples, loss=loss, radius=radius, horizon=Fraction(1), scale=part)
        noise = spread / (self.parts or 1)
        length = best_length(radius=radius, slope=started.slope, loss=loss, scale=part, spread=noise)
        horizon = Fraction(f"{length / 2:.1e}")
        return self.averaged(replace(started, horizon=horizon))

    def averaged(self, member: PartLearner) -> StableLearner:
        return member if self.parts is None else Averaged(learner=member, parts=self.parts)

    def penalised(self, member: BatchLearner) -> StableLearner:
        """A learner of parts, with the solver's tolerance of a mean."""
        return self.averaged(replace(member, closeness=CLOSENESS / (self.parts or 1)))


USUAL_STABILITY = Stability()


def best_length(*, radius: Fraction, slope: Fraction, loss: Loss | Cornered, scale: Scale, spread: float) -> float:
    """The t = 1 / lambda, or twice the length of descent, for which the bound on the excess risk is least.

    With G the slope, one replaced record moves a prediction by G t / m, and the bound (`excess_risk`) is
    R^2 / t + G^2 t / m + min(G e, smoothness d^2 / 2), d and e the deviation and mean absolute size of the noise, in
    proportion to t. Where the noise counts by its mean, t = (R / G) sqrt(m / (1 + noise)): for one prediction of
    epsilon lambda = G / (R sqrt(m epsilon / (1 + epsilon))), half of what Rana 2019, Corollary 3, prints, and the bound
    is 2 R G / sqrt(m epsilon / (1 + epsilon)), where 4 is printed; and a descent of R sqrt(m) / (2 G) as in
    Corollary 4, where there is no noise.

    Args:
        spread: deviation of the noise over the learner's distance.
    """
    moved = 2 if scale.replaced else scale.steps

    def bound(length: float) -> float:
        step = float(slope) * length / scale.records
        noise = added_loss(loss, float(slope), spread * step * moved / 2, mean_share("laplace"))
        return float(radius) ** 2 / length + float(slope) * step + noise

    return min(LENGTHS, key=bound)
