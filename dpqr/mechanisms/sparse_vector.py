"""Sparse vector technique: comparisons of answers with a noisy threshold, paid for once up to the first that passes it.

Questions come one at a time. Most are answered well by a public hypothesis, and to learn that costs nothing beyond the
price of the threshold. The threshold is a secret that lives from one question to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, final

from msgspec import Struct

from dpqr.domain.histogram import RECORDS, Counts
from dpqr.kernel.accountants.accountant import PrivacyFilter
from dpqr.kernel.budget import Price
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan, UsageFault
from dpqr.kernel.events import AboveThresholdEvent, PrivacyEvent
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.discrete_laplace import LARGEST_SCALE, Geometric
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.noisy_answers import answers_sensitivity, largest_answer, refuse_beyond, refuse_noise
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm

Side = Literal[1, -1]
"""Whether a threshold is passed by answers far above the expected ones, or by answers far below them."""
EVEN, UNEVEN = Fraction(1, 2), Fraction(2, 5)
"""Share of the threshold in a price, where the noise of the answers counts once and where it counts twice. Of Z and N
below, the variance of Z - N is least at 1/2 and at 1 / (1 + 2^(2/3)) = 0.39."""


@final
class AboveThreshold(Struct, frozen=True, kw_only=True):
    """One epoch: for questions g_1, g_2, ... the outcomes [g_i(x) + N_i >= T_i + Z], up to the first that is true.

    Z, N_1, N_2, ... are independent geometric draws (`Geometric`) of the two scales: one Z for the epoch, one N for
    each question. g_i(x) = side (f_i(x) - c_i) / s_i: how far the true answer lies above (side 1) or below (side -1)
    the expected one c_i, in units of the largest change s_i that one row makes to f_i. f_i, c_i and T_i are public and
    may depend on all that was released before.

    >>> epoch = AboveThreshold.at(Price(epsilon=Fraction(1, 2)), PrivacyUnit(), side=1)
    >>> epoch.event.directions, epoch.threshold_scale, epoch.answer_scale
    (1, Fraction(4, 1), Fraction(4, 1))

    Raises:
        InfeasiblePlan: a scale is out of the exact sampler's range.

    Privacy:
        Neighbours: those of `unit`, with K rows of a person (else K = 1). Sensitivity: one row moves f_i by s_i at
        most, so each g_i moves by at most K. Let a = K / threshold_scale, b = K / answer_scale,
        F_i(z) = Pr[g_i(x) + N_i < T_i + z], G_i = 1 - F_i, and F', G' the same for x'. A path that ends with a pass at
        k has P(k) = sum over z of Pr[Z = z] F_1(z) .. F_{k-1}(z) G_k(z); one without a pass has F_k at its end.
        As g_i moves by at most K, F_i(z) <= F'_i(z + K), and G_i(z) <= exp(2 b) G'_i(z + K), for a pass needs at most
        2 K more of N_i. And Pr[Z = z] = exp(a) Pr[Z = z + K] (`Geometric`). So P(k) <= exp(a + 2 b) P'(k): the epoch
        is (a + 2 b)-DP.

        *One direction.* Say that all g_i(x') >= g_i(x); this is so, in one order of the two or the other, under
        add-remove with coefficients that are not negative, and one `side` for the epoch. Then G_i(z) <= exp(b)
        G_i(z + K) <= exp(b) G'_i(z + K), so P(k) <= exp(a + b) P'(k); and F'_i <= F_i, G'_i <= exp(b) G_i, so
        P'(k) <= exp(b) P(k). The loss lies in [-b, a + b]: (a + b)-DP, and of bounded range a + 2 b, which gives
        (a + 2 b)^2 / 8-zCDP (Cesar and Rogers 2021) where any (a + 2 b)-DP draw costs four times as much.

        *As one draw, and beside others.* All of this holds for every beginning of every path, whatever questions are
        asked, so an epoch may go on while other draws are made and other epochs run. Proof: let e^-l <= P / P' <= e^h
        on all beginnings, and take p, q with p / q = e^h, (1 - p) / (1 - q) = e^-l. Then A = ((1 - q) P - (1 - p) P') /
        (p - q) and B = (p P' - q P) / (p - q) are not negative, are laws of an interactive process (they are linear in
        P and P', so they add up over the next outcome as these do), and P = p A + (1 - p) B, P' = q A + (1 - q) B. So
        on two neighbours the epoch is a function of one draw that is made when it is opened, of probability p or q,
        whose loss lies in [-l, h]. That draw is charged; every theorem on composition, and every filter, covers it.
        (Pure epsilon: Vadhan and Wang 2021, "Concurrent composition of differential privacy".)

        A pass ends the epoch: a further comparison needs a new Z, paid anew. What was compared is never released.
        Statement P11 of the guide's topic proofs.

    References:
        Dwork, Naor, Reingold, Rothblum and Vadhan 2009; Dwork and Roth 2014, Algorithm 1 and Theorem 3.23. Variants
        that are not private: Lyu, Su and Li 2017, "Understanding the sparse vector technique", Figure 1.
    """

    unit: PrivacyUnit
    side: Side
    threshold_scale: Fraction
    answer_scale: Fraction

    def __post_init__(self) -> None:
        for scale in (self.threshold_scale, self.answer_scale):
            refuse_noise(scale, LARGEST_SCALE, "a scale of")

    @classmethod
    def at(cls, price: Price, unit: PrivacyUnit, side: Side) -> AboveThreshold:
        """Return the epoch that costs at most `price`."""
        one_way = _directions(unit) == 1
        ranged = one_way and price.epsilon is None
        whole = price.bounded_range if ranged else price.pure
        times = 1 if one_way and not ranged else 2
        share = EVEN if times == 1 else UNEVEN
        return cls(
            unit=unit,
            side=side,
            threshold_scale=unit.rows / (share * whole),
            answer_scale=unit.rows * times / ((1 - share) * whole),
        )

    @property
    def event(self) -> AboveThresholdEvent:
        return AboveThresholdEvent(
            sensitivity=self.unit.rows,
            threshold_scale=self.threshold_scale,
            answer_scale=self.answer_scale,
            directions=_directions(self.unit),
        )


def _directions(unit: PrivacyUnit) -> int:
    """Under add-remove a record moves all counts up, or all down; a replaced one moves some up and others down."""
    return 1 if unit.neighbours is Neighbours.ADD_REMOVE else 2


@final
class Question(Struct, frozen=True, kw_only=True):
    """One linear query and what is publicly expected of it.

    block: one row, in whose coefficients none is negative. expected: c, in units of the block's grid. margin: T, in
    units of the largest change that one row makes.

    >>> Question(block=QueryBlock(name="records"), expected=40, margin=12).margin
    12

    Raises:
        UsageFault: more than one query, or a negative coefficient.
        InfeasiblePlan: a negative margin, or an answer could reach 2^62.
    """

    block: QueryBlock
    expected: int
    margin: int
    records: int = RECORDS

    def __post_init__(self) -> None:
        if self.block.rows != 1:
            raise UsageFault(f"query {self.block.name!r}: a question is one query; ask its rows one by one")
        if any(factor.matrix.smallest < 0 for factor in self.block.factors):
            raise UsageFault(
                f"query {self.block.name!r}: has a negative coefficient, and questions that come one at a time have "
                "none; ask for its positive and its negative part, and subtract"
            )
        if self.margin < 0:
            raise InfeasiblePlan("every answer would pass a negative margin; state one of at least 0 records")
        refuse_beyond(largest_answer(self.block, self.records), self.block.name, self.records)

    def step(self, unit: PrivacyUnit) -> int:
        """Return s, the largest change that one row makes, at least 1: `answers_sensitivity` counts K rows."""
        return answers_sensitivity((self.block,), Norm.L1, unit) // unit.rows


@dataclass(slots=True, kw_only=True)
class OpenThreshold:
    """The threshold of one paid epoch, which admits its comparisons until one passes.

    threshold: Z, a secret. charge_number: of the epoch's event in its run. ended: whether a comparison has passed.

    >>> epoch = AboveThreshold.at(Price(epsilon=Fraction(1)), PrivacyUnit(), side=1)
    >>> watch = OpenThreshold(epoch=epoch, threshold=3, charge_number=0)
    >>> watch.charge(epoch.event), watch.ended
    (0, False)
    """

    epoch: AboveThreshold
    threshold: int = field(repr=False)
    charge_number: int
    ended: bool = False

    def charge(self, event: PrivacyEvent) -> int:
        """Return the number of the epoch's charge, which covers this comparison; BudgetRefused after the epoch."""
        if self.ended or event != self.epoch.event:
            raise BudgetRefused("this threshold is passed or belongs to other comparisons; a new one is paid anew")
        return self.charge_number


def open_threshold(epoch: AboveThreshold, accountant: PrivacyFilter, noise: NoiseSource) -> OpenThreshold:
    """Pay for an epoch and draw its threshold.

    Raises:
        BudgetRefused: the filter refuses; nothing was drawn.
    """
    number = accountant.charge(epoch.event)
    drawn = int(Geometric(epoch.threshold_scale).sample(1, noise)[0])
    return OpenThreshold(epoch=epoch, threshold=drawn, charge_number=number)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdComparison:
    """Whether one answer passes the threshold of a watch: g(x) + N >= T + Z.

    Privacy:
        A step of `AboveThreshold`, whose event it has; that event is charged once, when the watch is opened.
        Arithmetic: whole numbers of any size, side (f(x) - c) + s N >= s (T + Z).
    """

    question: Question
    epoch: AboveThreshold
    threshold: int = field(repr=False)

    @property
    def event(self) -> AboveThresholdEvent:
        return self.epoch.event

    def sample(self, value: Counts, noise: NoiseSource) -> bool:
        question = self.question
        step = question.step(self.epoch.unit)
        above = self.epoch.side * (int(question.block.answer(value)[0]) - question.expected)
        drawn = int(Geometric(self.epoch.answer_scale).sample(1, noise)[0])
        return above + step * drawn >= step * (question.margin + self.threshold)


def is_above_threshold(data: Private[Counts], watch: OpenThreshold, question: Question, noise: NoiseSource) -> bool:
    """Compare one answer; a pass ends the watch.

    Raises:
        BudgetRefused: the watch has ended; nothing was opened.
    """
    comparison = ThresholdComparison(question=question, epoch=watch.epoch, threshold=watch.threshold)
    watch.ended = measure(data, comparison, accountant=watch, noise=noise).value
    return watch.ended
