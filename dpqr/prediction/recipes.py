"""Recipes: stable learners as the user names them, before anything that scales them is known."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.prediction.forms import OBJECTIVES, Noise
from dpqr.prediction.learners.exact_kernel import ExactKernel
from dpqr.prediction.learners.examples import Examples, LossScale
from dpqr.prediction.learners.features import LINEAR, FeatureMap, Kernel
from dpqr.prediction.learners.gradient_steps import (
    USUAL_STEPS,
    Averaged,
    GradientDescent,
    OnlineLearner,
    PartLearner,
    Steps,
)
from dpqr.prediction.learners.losses import Cornered, Loss, Sided, Square, cornered_loss, errors, smooth_loss
from dpqr.prediction.learners.moments import MomentsFigures, MomentsLearner
from dpqr.prediction.learners.perturbed import EXTENDED, PerturbedLearner
from dpqr.prediction.learners.stable import (
    CLOSENESS,
    BatchLearner,
    LipschitzLearner,
    RidgeRegression,
    StableLearner,
    square_distance,
)
from dpqr.prediction.perturbation import MOST_FORECAST, Perturbation, round_corner, round_corner_logistic
from dpqr.prediction.problem import CLASSIFIERS, Method, PredictionProblem, require_method
from dpqr.prediction.risk_bounds import (
    BALL,
    LARGEST,
    NORM_GUESSES,
    PERTURBED_NORM_GUESSES,
    RiskBound,
    added_loss,
    balanced_penalty,
    mean_share,
    on_grid,
    require_penalty,
    theory_exponent,
)
from dpqr.prediction.third_party import ThirdParty

# Stability: lambda, or the end of gradient descent, by a stated radius, and means of parts, as Rana 2019 has them.

MOST_AVERAGED = 2**12
LENGTHS = tuple(10 ** (place / 20) for place in range(-60, 181))
"""Among which a penalty or a descent is chosen."""
SMALLEST_RADIUS, LARGEST_RADIUS = Fraction(1, 100), Fraction(1000)
LARGEST_DECAY = 100


class Stability(Struct, frozen=True, kw_only=True):
    """What makes a learner of the whole table, or of parts of it, as stable as its noise deserves.

    Attributes:
        radius: R, norm of the functions that are competed with; lambda, or the end of descent, follows from it.
        parts: of the table, whose functions are averaged; None: there is one.
        decay: of the eigenvalues of the mean of x x^T (`RiskBound`), of least squares.

    Raises:
        UsageFault: a figure outside its range.
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

    def of_part(self, scale: LossScale) -> LossScale:
        """The scale of a part's losses; the whole table's where it is not divided."""
        if self.parts is None:
            return scale
        return replace(scale, records=max(1, scale.records // self.parts), part=True)

    def descent(
        self, examples: Examples, loss: Loss, reach: Fraction, scale: LossScale, spread: float
    ) -> StableLearner:
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


def best_length(bound: RiskBound, loss: Loss | Cornered | None, scale: LossScale, spread: float) -> float:
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


MOST_RELEASES = 1000


class StableRecipe(Struct, frozen=True, kw_only=True, eq=False):
    """A stable learner by its name.

    Attributes:
        features: of the domain without the target, by the kernel.
        penalty: lambda; None: from `smoothness`, or from the guess `NORM_GUESSES`.
        smoothness: r for least squares (the target function lies in the range of L_K^r), beta for the others (the
            approximation error falls as lambda^beta).
        tau: of the quantile.
        steps, releases: of online, whose function is released this many times, after equal numbers of slots.
        method: of METHODS; None: the default.
        tuning: share of the budget that chooses lambda; None: nothing is paid for it.
        stability: a radius that lambda follows from, and parts whose functions are averaged.
        own: a third party's loss or learner of that name.
        slots: of online, axis of the domain whose cell is a row's slot; None: rows have slots in their order.

    Raises:
        UsageFault: a figure outside its range, or two that choose lambda.
    """

    name: str
    features: FeatureMap
    penalty: Fraction | None = None
    smoothness: Fraction | None = None
    tau: Fraction = Fraction(1, 2)
    kernel: Kernel = LINEAR
    steps: Steps = USUAL_STEPS
    releases: int = 1
    tuning: Fraction | None = None
    method: Method | None = None
    stability: Stability = USUAL_STABILITY
    slots: int | None = None
    own: ThirdParty | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.releases <= MOST_RELEASES:
            raise UsageFault(f"--releases must lie between 1 and {MOST_RELEASES:,}")
        require_penalty(self.penalty, self.smoothness, self.tuning, squares=self.loss is None)
        require_method(self.name, self.method, loss=self.own is not None and not self._foreign)
        if self._foreign and self._chooses:
            raise UsageFault(
                f"--learner {self.name} has no lambda; leave out --lambda, --smoothness, --tune, --radius and --parts"
            )
        self.stability.require(
            descends=self.descends,
            penalised=self.penalty is not None and not self.ordered,
            tuned=self.tuning is not None,
            smooth=self.smoothness is not None and not self.ordered,
            ball=self.name == "least-squares",
        )
        if not 0 < self.tau < 1:
            raise UsageFault("--tau must lie between 0 and 1, for example --tau 0.9")

    @property
    def classifies(self) -> bool:
        return self.name in CLASSIFIERS if self.own is None else self.own.classifies

    @property
    def reach(self) -> float:
        """Public guess at the norm of a good function."""
        return NORM_GUESSES.get(self.name, NORM_GUESSES["svm" if self.classifies else "quantile"])

    @property
    def descends(self) -> bool:
        """Whether it has no lambda, but stops early."""
        return self.method == "descent"

    @property
    def ordered(self) -> bool:
        """Whether it learns from one record after another, in the order of their slots."""
        return self.name == "online"

    @property
    def limit(self) -> int | None:
        """1 where predicted numbers are clipped to the target's bounds, on the scale of `Target`; None for scores of
        classes."""
        return None if self.classifies else 1

    @property
    def loss(self) -> Loss | Cornered | None:
        """None for the square, whose learner is `RidgeRegression`."""
        if self.own is not None:
            return self.own.loss
        if self.method == "exact":
            return cornered_loss(self.tau, classifies=self.classifies)
        return self._smooth_loss

    @property
    def _smooth_loss(self) -> Loss | None:
        if self.own is not None:
            return None if isinstance(self.own.loss, Cornered) else self.own.loss
        return smooth_loss(self.name, self.tau)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the plan must know of a third party's loss or learner."""
        return () if self.own is None else (self.own.note,)

    def rehearse(self) -> None:
        """Nothing: a stable learner needs no process of its own."""

    def require(self, problem: PredictionProblem) -> None:
        """Check that the learner goes with the problem.

        Raises:
            InfeasiblePlan: the target is of the wrong kind, or the order of records is not public.
            UsageFault: several releases of a function.
        """
        self._values(problem)
        if self.only_noise and problem.points is not None:
            raise UsageFault(f"--method {self.method} goes with --release function")
        if self.only_noise and self._chooses:
            raise UsageFault(
                f"--method {self.method} chooses its own lambda; leave out --lambda, --smoothness, --tune, --radius "
                "and --parts"
            )
        if self.method == "moments" and self.features.width > MOST_FORECAST:
            raise InfeasiblePlan(f"--method moments takes at most {MOST_FORECAST} features; use output")
        if self.ordered and self.slots is None and problem.unit.neighbours is not Neighbours.REPLACE:
            raise InfeasiblePlan(
                "--learner online: a record that comes or goes would move all later ones; name a column of public "
                "slots with --slots COLUMN, add --neighbours replace and --n N, or choose least-squares"
            )
        if self.releases > 1 and problem.points is None:
            raise UsageFault("--releases goes with --release predictions; a function is released once, at the end")

    def learner(
        self, problem: PredictionProblem, records: int, spread: float, release: int = 0, factor: Fraction = Fraction(1)
    ) -> StableLearner:
        """The learner for a public number of records.

        Args:
            spread: the noise, in units of the learner's bound; only the default lambda depends on it.
            release: which of `releases` it is for, from 0; the last has seen all records.
            factor: of a tuned lambda over the default.
        """
        if self.ordered:
            unit, column = problem.unit, self.slots
            steps = records * unit.rows if column is None else problem.domain.attributes[column].axis.size
            return OnlineLearner(
                examples=self._examples(problem),
                steps=self.steps,
                slots=max(1, steps * (release + 1) // self.releases),
                rows=unit.rows,
                column=column,
                added=unit.neighbours is not Neighbours.REPLACE,
            )
        scale = LossScale(unit=problem.unit, records=records)
        if self.own is not None and self.own.learner is not None:
            return self.own.made(self._examples(problem), scale)
        if self.descends:
            reach, loss = Fraction(self.reach), self._smooth_loss or Square()
            return self.stability.descent(self._examples(problem), loss, reach, scale, spread)
        penalty = self.chosen_penalty(scale, spread, factor)
        if self.stability.parts is not None:
            return self.stability.penalised(self.batch_learner(problem, self.stability.of_part(scale), penalty))
        if self.exact(problem):
            examples = replace(self._examples(problem), features=LINEAR.of(problem.features))
            return ExactKernel(
                examples=examples, kernel=self.kernel, loss=self._smooth_loss or Square(), penalty=penalty, scale=scale
            )
        return self.batch_learner(problem, scale, penalty)

    @property
    def only_noise(self) -> tuple[Noise, ...]:
        """Those that the method allows, of a function; empty: any."""
        only: dict[Method | None, tuple[Noise, ...]] = {"objective": OBJECTIVES, "moments": ("moments",)}
        return only.get(self.method, ())

    def perturbation(self, problem: PredictionProblem, budget: PrivacyBudget) -> Perturbation | None:
        """Of objective perturbation, in a run of this budget; None where it is not offered.

        It chooses its own strength, so it goes with no option that chooses lambda, and its solver needs EXTENDED.
        """
        loss = None if self.own is not None else smooth_loss(self.name, self.tau)
        if loss is None or self.method not in (None, "objective") or self._chooses or not EXTENDED:
            return None
        reach = PERTURBED_NORM_GUESSES.get(self.name, self.reach)
        rounded = round_corner_logistic if budget.delta and problem.unit.changes == 1 else round_corner
        loss = rounded(loss, reach, problem.records, budget.epsilon / problem.unit.changes)
        learner = self.perturbed(problem, loss, Fraction(1))
        return Perturbation.of(learner, reach, problem.features.shape, problem.records, budget.delta)

    def perturbed(self, problem: PredictionProblem, loss: Sided, strength: Fraction) -> PerturbedLearner:
        """The learner of a perturbed objective."""
        return PerturbedLearner(examples=self._examples(problem), loss=loss, strength=strength, unit=problem.unit)

    @property
    def _foreign(self) -> bool:
        """Whether a third party states the bound."""
        return self.own is not None and self.own.learner is not None

    @property
    def _chooses(self) -> bool:
        """Whether an option chooses lambda, or divides the table."""
        stated = (self.tuning, self.penalty, self.smoothness) != (None, None, None)
        return stated or self.stability != USUAL_STABILITY

    def moments(self, problem: PredictionProblem) -> MomentsFigures | None:
        """Of noisy moments; None where they are not offered."""
        if self.name != "least-squares" or self.method in ("output", "descent") or self._chooses:
            return None
        if self.features.width > MOST_FORECAST:
            return None
        return MomentsFigures.of(self.moments_learner(problem), problem.records, self.reach)

    def moments_learner(self, problem: PredictionProblem) -> MomentsLearner:
        """Integer moments of the rows."""
        return MomentsLearner(examples=self._examples(problem), unit=problem.unit)

    def exact(self, problem: PredictionProblem) -> bool:
        """Whether the kernel itself is used, without features; a loss with a corner is minimised on features only."""
        points, records = problem.points, problem.records
        plain = self.method != "exact" and not (self.descends or self._foreign or self.ordered)
        if not plain or self.stability.parts is not None or points is None or records is None:
            return False
        return problem.unit.rows_public and self.kernel.exact_for(self.features, records, points)

    def batch_learner(self, problem: PredictionProblem, scale: LossScale, penalty: Fraction) -> BatchLearner:
        """The regularised minimiser with this lambda."""
        examples = self._examples(problem)
        if self.loss is None:
            return RidgeRegression(examples=examples, penalty=penalty, scale=scale)
        return LipschitzLearner(examples=examples, loss=self.loss, penalty=penalty, scale=scale)

    def wrong(self, predicted: FloatArray, targets: FloatArray) -> FloatArray:
        """Error of each prediction (`errors`)."""
        return errors(self.loss, predicted, targets, classifies=self.classifies)

    def _examples(self, problem: PredictionProblem) -> Examples:
        values, columns = self._values(problem), len(problem.domain.attributes)
        return Examples(features=self.features, axis=problem.target.axis, values=values, columns=columns)

    def chosen_penalty(self, scale: LossScale, spread: float, factor: Fraction = Fraction(1)) -> Fraction:
        """lambda: stated, by the sources' theory, by a stated radius, or `factor` times what balances lambda REACH^2
        against the noise."""
        if self.penalty is not None:
            return self.penalty
        if self.stability.radius is not None:
            return on_grid(1 / best_length(self.risk_bound(scale.records), self.loss, scale, spread))
        if self.smoothness is not None:
            return on_grid(scale.records ** -theory_exponent(self.name, self.smoothness, self.stability.decay))
        return on_grid(float(factor) * balanced_penalty(self.reach, self.loss, scale, spread))

    def risk_bound(self, records: int) -> RiskBound:
        """Of the regularised minimiser."""
        return self.stability.bound(self.loss, self.reach, self.smoothness, self.features.width, records)

    def _values(self, problem: PredictionProblem) -> FloatArray:
        if not self.classifies:
            return problem.target.scaled()
        if problem.target.numeric:
            raise InfeasiblePlan(
                f"--target {problem.target.attribute.name!r} holds numbers, and --learner {self.name} predicts "
                "classes; choose least-squares, quantile or aggregate"
            )
        return problem.target.signs()
