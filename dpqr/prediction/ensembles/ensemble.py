"""Ensembles: one member for each disjoint part of the table, and what they predict together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import ClassVar, Literal, final, get_args

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts, occupied_cells
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.noise.source import NoiseSource
from dpqr.prediction.ensembles.bases import Base, Trainer, silence_output
from dpqr.prediction.forms import Noise
from dpqr.prediction.learned_functions import FINENESS
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.problem import PredictionProblem

MOST_PARTS = 2**20
TARGET_ERROR = Fraction(1, 5)
"""What noise may add to the error of the base, where nothing is stated."""
FIXED_LABEL = 0
"""The vote of an empty part, or of one whose base failed: the first label of the domain file."""
WORTH_THREADS = 8
"""Fewer members are trained faster one after the other."""

Vote = Literal["exponential", "permute-and-flip", "randomised"]
"""How labels are chosen: by a private selection, or by a coin with the noisy share of votes as probability."""


@final
class PartsEnsemble(Struct, frozen=True, kw_only=True, eq=False):
    """Members trained on the parts that the loader drew: the last axis of the counts is the part.

    Never an error: an empty part votes for the first label (predicts 0), a part of one class for that class, a part
    whose base raises, or predicts what is no label, as an empty one; what is no number counts as 0, others are clipped
    to [-1, 1].

    Attributes:
        features: of the columns without the target.
        base: trains the members.
        axis, labels: of the target, and its number of cells.
        values: the number of each cell, in [-1, 1], NaN for rows that are left out; None for labels.
        points: features of the points, shape (predictions, width).
        parts: number of parts.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.kernel.noise.source import SystemNoise
    >>> from dpqr.prediction.ensembles.bases import RidgeBase
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="smokes", axis=Codes(2)),)))
    >>> points = features.of(np.array([[0], [1]]))
    >>> ensemble = PartsEnsemble(
    ...     features=features, base=RidgeBase(), axis=1, labels=2, values=None, points=points, parts=2
    ... )
    >>> smokes_ill_part = DenseHistogram(np.array([[[9, 0], [0, 0]], [[0, 0], [9, 9]]]))
    >>> ensemble.votes(smokes_ill_part, SystemNoise()).tolist()
    [[1, 1], [0, 2]]
    """

    features: FeatureMap
    base: Base
    axis: int
    labels: int
    values: FloatArray | None
    points: FloatArray
    parts: int
    touched: ClassVar[int] = 1
    """One: a unit's records all lie in the part that it drew, whatever the relation and K."""

    @property
    def predictions(self) -> int:
        return len(self.points)

    def votes(self, counts: Counts, noise: NoiseSource) -> IntArray:
        votes = np.zeros((self.predictions, self.labels), dtype=np.int64)
        points = np.arange(self.predictions)
        for member in self._members(counts, self._classes):
            votes[points, member] += 1
        return votes

    def sums(self, counts: Counts, noise: NoiseSource) -> IntArray:
        sums = np.zeros(self.predictions, dtype=np.int64)
        for member in self._members(counts, self._numbers):
            sums += member
        return sums

    def _members(self, counts: Counts, trained: Callable[[Trainer, int, AnyArray], IntArray]) -> Iterator[IntArray]:
        """Predictions of each member; they are trained in parallel, from the codes of their rows, one per record."""
        # Codes of each part's rows, without the part.
        codes, records = occupied_cells(counts)
        rows = np.repeat(codes[:, :-1], records, axis=0)
        drawn = np.repeat(codes[:, -1], records)
        order = np.argsort(drawn, kind="stable")
        ends = np.cumsum(np.bincount(drawn.astype(np.int64), minlength=self.parts))[:-1]
        split = np.split(rows[order], ends)
        numbers = range(self.parts)
        workers = os.cpu_count() if self.parts >= WORTH_THREADS else 1
        # The trainer is closed before the pool is: whatever ends the run, nobody waits for parts under way.
        with silence_output(), ThreadPoolExecutor(workers) as pool, self.base.trainer(self.points) as trainer:
            yield from pool.map(partial(trained, trainer), numbers, split)

    def _classes(self, trainer: Trainer, part: int, rows: AnyArray) -> IntArray:
        fixed = np.full(self.predictions, FIXED_LABEL, dtype=np.int64)
        if not len(rows):
            return fixed
        cells = rows[:, self.axis].astype(np.int64)
        if (cells == cells[0]).all():
            return np.full(self.predictions, cells[0])
        try:
            return trainer.classes(part, self._vectors(rows), cells, self.labels)
        except Exception:
            return fixed

    def _numbers(self, trainer: Trainer, part: int, rows: AnyArray) -> IntArray:
        """On the grid of the mechanism."""
        nothing = np.zeros(self.predictions, dtype=np.int64)
        if self.values is None:
            return nothing
        rows = rows[~np.isnan(self.values)[rows[:, self.axis]]]
        if not len(rows):
            return nothing
        try:
            found = trainer.numbers(part, self._vectors(rows), self.values[rows[:, self.axis]])
            clipped = np.clip(np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)
            return np.rint(clipped * FINENESS).astype(np.int64)
        except Exception:
            return nothing

    def _vectors(self, rows: AnyArray) -> FloatArray:
        return self.features.of(np.delete(rows, self.axis, axis=1))


class Aggregate(Struct, frozen=True, kw_only=True, eq=False):
    """The recipe of an ensemble: any base learner on disjoint parts.

    Attributes:
        features: of the columns without the target.
        base: the learner of a part.
        parts: r; None: from `error`.
        error: what the noise may add to the base's error.
        vote: of labels; None: `better_selection`.

    Raises:
        UsageFault: a figure outside its range.
    """

    features: FeatureMap
    base: Base
    parts: int | None = None
    error: Fraction = TARGET_ERROR
    vote: Vote | None = None
    name: ClassVar[str] = "aggregate"
    releases: ClassVar[int] = 1
    """How often its predictions are released."""

    def __post_init__(self) -> None:
        if self.parts is not None and not 1 <= self.parts <= MOST_PARTS:
            raise UsageFault(f"--parts must lie between 1 and {MOST_PARTS:,}")
        if not 0 < self.error < 1:
            raise UsageFault("--target-error must lie between 0 and 1, for example 0.1")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the plan must know of the base."""
        if not self.base.trusted:
            return ()
        return (
            f"the base {self.base.name} is a third party's, vouched for by --trust; the plan was made without a look "
            "at it. Its code meets the rows of each part, in a process of its own: the guarantee holds only if it "
            "leaves nothing of them in files, on the network or with other processes",
        )

    def rehearse(self) -> None:
        """Start what the base needs, before anything is paid. Raises: UsageFault where it does not start."""
        self.base.rehearse()

    def require(self, problem: PredictionProblem) -> None:
        """Check that the target goes with base and vote.

        Raises:
            UsageFault: it does not.
        """
        name, labels = problem.target.attribute.name, problem.target.attribute.size
        wanted = "numbers" if problem.target.numeric else "labels"
        if self.base.predicts not in (None, wanted):
            other = "a regressor" if problem.target.numeric else "a classifier"
            raise UsageFault(
                f"--base {self.base.name}: it predicts {self.base.predicts}, and the target {name!r} holds {wanted}; "
                f"choose {other}, or least-squares"
            )
        if self.vote is not None and problem.target.numeric:
            raise UsageFault(f"--vote: the target {name!r} holds numbers, which are averaged; leave it out")
        if self.vote == "randomised" and labels != 2:
            raise UsageFault(
                f"--vote randomised tells two labels apart, and the target {name!r} has {labels}, cells for nulls and "
                "other faults included; leave it out, or choose --vote exponential"
            )

    def chosen_parts(self, problem: PredictionProblem, epsilon: Fraction, noise: Noise = "exponential") -> int:
        """r, from the epsilon of one prediction and the law of its draw.

        For labels 6 log(1 / e) / epsilon, where e gives error a in the realisable case from members of error a / 4: at
        most 3 a / 4 of all points have more than r / 3 wrong votes (Markov). At another one the right label leads each
        of the k - 1 others by g_b votes, and the sum of exp(-epsilon g_b / 2), convex in the votes, is largest where
        one of them has all r / 3: e + (k - 2) e^2. The exponential mechanism errs with at most this probability,
        permute-and-flip with half of it, and a / 4 remains for it. Two labels: 6 log(4 / a) / epsilon as printed, and
        6 log(2 / a) / epsilon.
        For randomised labels 1 / (a epsilon) (agnostic: error a above that of the members); for numbers
        2 / (a epsilon), where the noise of an average, gamma / epsilon = 2 M / (r epsilon), is then a M.

        Raises:
            InfeasiblePlan: more than MOST_PARTS would be needed.

        References:
            Rana 2019, Theorem 1 and Corollary 1.
        """
        if self.parts is not None:
            return self.parts
        # r epsilon.
        share = float(self.error)
        if problem.target.numeric:
            wanted = 2 / share
        elif self.vote == "randomised":
            wanted = 1 / share
        else:
            left = share / (2 if noise == "permute-and-flip" else 4)
            wanted = -6 * math.log(2 * left / (1 + math.sqrt(1 + 4 * _others(problem) * left)))
        parts = math.ceil(wanted / float(epsilon))
        if parts > MOST_PARTS:
            raise InfeasiblePlan(
                f"{parts:,} parts would be needed at epsilon {float(epsilon):.3g} a prediction; raise --eps, ask for "
                "fewer predictions, or state --parts"
            )
        return parts

    def added_error(
        self, problem: PredictionProblem, epsilon: Fraction, parts: int, noise: Noise = "exponential"
    ) -> float:
        """a with this many parts: for labels at most 1, for numbers the noise in units of M."""
        if problem.target.numeric:
            return 2 / (parts * float(epsilon))
        if self.vote == "randomised":
            return min(1.0, 1 / (parts * float(epsilon)))
        far, others = math.exp(-parts * float(epsilon) / 6), _others(problem)
        return min(1.0, (2 if noise == "permute-and-flip" else 4) * (far + others * far**2))

    def ensemble(self, problem: PredictionProblem, points: FloatArray, parts: int) -> PartsEnsemble:
        """What predicts at `points`.

        Args:
            points: features, shape (predictions, width).
        """
        target = problem.target
        return PartsEnsemble(
            features=self.features,
            base=self.base,
            axis=target.axis,
            labels=target.attribute.size,
            values=target.scaled() if target.numeric else None,
            points=points,
            parts=parts,
        )


def _others(problem: PredictionProblem) -> int:
    """Labels beside the right one and its strongest rival."""
    return max(0, problem.target.attribute.size - 2)


def read_vote(name: str | None) -> Vote | None:
    """The way to choose labels that is called `name`.

    Raises:
        UsageFault: an unknown name.

    >>> read_vote("randomised")
    'randomised'
    """
    if name is None:
        return None
    for known in get_args(Vote):
        if known == name:
            found: Vote = known
            return found
    raise UsageFault(f"--vote {name}: there is {', '.join(get_args(Vote))}")
