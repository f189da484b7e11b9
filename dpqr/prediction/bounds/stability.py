"""Stability: lambda, or the end of gradient descent, by a stated radius, and means of parts, as Rana 2019 has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.errors import UsageFault
from dpqr.prediction.bounds.added_loss import added_loss, mean_share
from dpqr.prediction.bounds.risk_bound import BALL, LARGEST, RiskBound
from dpqr.prediction.learners.averaged import Averaged, PartLearner
from dpqr.prediction.learners.descent import GradientDescent
from dpqr.prediction.learners.examples import Examples, Scale
from dpqr.prediction.learners.losses import Cornered, Loss
from dpqr.prediction.learners.stable import CLOSENESS, BatchLearner, StableLearner, square_distance

MOST_AVERAGED = 2**12
LENGTHS = tuple(10 ** (place / 20) for place in range(-60, 181))
"""Among which a penalty or a descent is chosen."""
SMALLEST_RADIUS, LARGEST_RADIUS = Fraction(1, 100), Fraction(1000)
LARGEST_DECAY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """What makes a learner of the whole table, or of parts of it, as stable as its noise deserves.

    Attributes:
        radius: R, norm of the functions that are competed with; lambda, or the end of descent, follows from it.
        parts: of the table, whose functions are averaged; None: there is one.
        decay: of the eigenvalues of the mean of x x^T (`RiskBound`), of least squares.

    Raises:
        UsageFault: a figure outside its range.

    >>> from dpqr.data.unit import PrivacyUnit
    >>> Stability(parts=4).of_part(Scale(unit=PrivacyUnit(), records=100)).records
    25
    """

    radius: Fraction | None = None
    parts: int | None = None
    decay: Fraction | None = None

    def __post_init__(self) -> None:
        if self.radius is not None and not SMALLEST_RADIUS <= self.radius <= LARGEST_RADIUS:
            raise UsageFault("--radius must lie between 0.01 and 1000, for example --radius 5")
        if self.parts is not None and not 1 <= self.parts <= MOST_AVERAGED:
            raise UsageFault(f"--parts must lie between 1 and {MOST_AVERAGED:,} for a learner whose parts are averaged")
        if self.decay is not None and not 1 < self.decay <= LARGEST_DECAY:
            raise UsageFault("--decay must lie above 1, and be 100 at most, for example --decay 2")

    def require(self, *, descends: bool, penalised: bool, tuned: bool, smooth: bool, ball: bool) -> None:
        """Check what else chooses lambda, or divides the table.

        Args:
            descends: whether the learner has no penalty, but stops early.
            penalised: whether lambda is stated.
            smooth: whether a smoothness is stated, which lambda follows from where no radius is stated.
            ball: whether the learner has a ball of its own.

        Raises:
            UsageFault: two do, or the radius is beyond the ball.
        """
        if descends and (penalised or tuned or smooth):
            raise UsageFault("--method descent has no lambda; leave --lambda, --smoothness and --tune out")
        if self.radius is not None and (penalised or tuned):
            raise UsageFault("--radius chooses lambda, and so do --lambda and --tune; leave one out")
        if self.radius is not None and self.radius > BALL and ball and not descends:
            raise UsageFault("--radius: least-squares has functions of norm 1 at most; state less, or --method descent")
        if self.decay is not None and (descends or not ball or not (self.radius or smooth)):
            raise UsageFault("--decay goes with --learner least-squares and --radius or --smoothness; add one of them")
        if self.parts is not None and tuned:
            raise UsageFault("--tune and --parts each divide the table; leave one out")

    def bound(
        self, loss: Loss | Cornered | None, reach: float, smoothness: Fraction | None, width: int, records: int
    ) -> RiskBound:
        """Of the regularised minimiser; reach: guess at the norm where no radius is stated. loss: None for squares."""
        return RiskBound(
            radius=reach if self.radius is None else float(self.radius),
            slope=None if loss is None else float(loss.lipschitz),
            records=records,
            width=width,
            smoothness=None if smoothness is None else float(smoothness),
            decay=None if self.decay is None else float(self.decay),
        )

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
        bound = RiskBound(
            radius=float(radius), slope=float(started.slope), records=part.records, width=examples.features.width
        )
        length = best_length(bound, loss, part, noise)
        horizon = Fraction(f"{length / 2:.1e}")
        return self.averaged(replace(started, horizon=horizon))

    def averaged(self, member: PartLearner) -> StableLearner:
        return member if self.parts is None else Averaged(learner=member, parts=self.parts)

    def penalised(self, member: BatchLearner) -> StableLearner:
        """A learner of parts, with the solver's tolerance of a mean."""
        return self.averaged(replace(member, closeness=CLOSENESS / (self.parts or 1)))


USUAL_STABILITY = Stability()


def best_length(bound: RiskBound, loss: Loss | Cornered | None, scale: Scale, spread: float) -> float:
    """The t = 1 / lambda, or twice the length of descent, for which the bound on the excess risk is least.

    With G the slope, one replaced record moves a prediction by G t / m, and the bound (`excess_risk`) is R^2 / t + G^2
    t / m + min(G e, smoothness d^2 / 2), d and e the deviation and mean absolute size of the noise, in proportion to t;
    of squares, whose own `RiskBound` has no slope, noise adds d^2. Where the noise counts by its mean, t = (R / G)
    sqrt(m / (1 + noise)): for one prediction of epsilon lambda = G / (R sqrt(m epsilon / (1 + epsilon))), half of what
    Rana 2019, Corollary 3, prints, and the bound is 2 R G / sqrt(m epsilon / (1 + epsilon)), where 4 is printed; and a
    descent of R sqrt(m) / (2 G) as in Corollary 4, where there is no noise.

    Args:
        loss: None for squares.
        spread: deviation of the noise over the learner's distance.
    """
    moved = 2 if scale.replaced else scale.steps

    def total(length: float) -> float:
        penalty = 1 / length
        return bound.fitted(penalty) + bound.sample(penalty) + noise(length)

    def noise(length: float) -> float:
        if loss is None or bound.slope is None:
            return (spread * length * float(square_distance(scale, BALL, Fraction(1)))) ** 2
        step = bound.slope * length / scale.records
        return added_loss(loss, bound.slope, spread * step * moved / 2, mean_share("laplace"))

    return min((length for length in LENGTHS if loss is not None or length >= 1 / LARGEST), key=total)
