"""Losses: the price of one event in pure epsilon, in rho and in squared mu, one small function per event type.

An event type without a function here has no price, and every accountant refuses it. `LeftOutEvent` has none by design:
its price depends on the other draws of the run, so `larger` (`parallel`) unwraps it before single draws are priced.
"""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

from dpqr.kernel.budget import Cost, squared_mu_of_pure, squared_mu_of_ranged
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import (
    AboveThresholdEvent,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    GaussianObjectiveEvent,
    LabelSelectionEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    PerturbedObjectiveEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)

ONLY_PAIRS = (
    "a selection of labels has a price in epsilon and delta alone; pay from a budget that counts both: "
    "--accounting basic with a delta"
)
"""Refusal of sums of rho and of mu^2, in which no selection of labels has a price."""


@singledispatch
def pure_epsilon(event: object) -> Fraction | None:
    """Return the smallest known epsilon for which one draw is (epsilon, 0)-DP, exact; None: there is no finite one.

    >>> pure_epsilon(DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(2)))
    Fraction(1, 2)

    Raises:
        BudgetRefused: an event type without a price.
    """
    raise _unknown(event)


@pure_epsilon.register
def _laplace_epsilon(event: DiscreteLaplaceEvent) -> Fraction:
    """Pr[y - a] / Pr[y - b] <= exp(|a - b|_1 / scale) by the triangle inequality (Dwork and Roth 2014, Theorem 3.6;
    on integers Ghosh, Roughgarden and Sundararajan 2009)."""
    return Fraction(event.sensitivity) / event.scale


@pure_epsilon.register
def _gaussian_epsilon(event: DiscreteGaussianEvent) -> None:
    """The ratio of two shifted Gaussians is unbounded."""


@pure_epsilon.register
def _rounded_gaussian_epsilon(event: RoundedGaussianEvent) -> None:
    """Nor does rounding bound it."""


@pure_epsilon.register
def _gaussian_objective_epsilon(event: GaussianObjectiveEvent) -> None:
    """Nor does a determinant."""


@pure_epsilon.register
def _spherical_epsilon(event: SphericalLaplaceEvent) -> Fraction:
    """exp(-||y - a||_2 / scale) / exp(-||y - b||_2 / scale) <= exp(||a - b||_2 / scale) (Chaudhuri, Monteleoni and
    Sarwate 2011, Theorem 6); rounding the noise on integers is rounding the sum, which is post-processing."""
    return Fraction(event.sensitivity) / event.scale


@pure_epsilon.register
def _objective_epsilon(event: PerturbedObjectiveEvent) -> Fraction:
    """The pull, the determinant of the change of variables, and the closing noise (Chaudhuri, Monteleoni and Sarwate
    2011, Theorem 9; the proof for a private number of rows is in `PerturbedWeights`)."""
    pull = Fraction(event.sensitivity) / event.scale
    return pull + event.units * log_above(event.curvature) + event.closing


def log_above(share: Fraction) -> Fraction:
    """Return x (6 + x) / (6 + 4 x) >= log(1 + x), x >= 0: equal at 0, and its derivative exceeds 1 / (1 + x) by
    4 x^3 / ((1 + x) (6 + 4 x)^2).

    >>> log_above(Fraction(0)), float(log_above(Fraction(1)))
    (Fraction(0, 1), 0.7)
    """
    return share * (6 + share) / (6 + 4 * share)


@pure_epsilon.register
def _exponential_epsilon(event: ExponentialEvent) -> Fraction:
    """McSherry and Talwar 2007, Theorem 6 (Dwork and Roth 2014, Theorem 3.10)."""
    return Fraction(event.epsilon)


@pure_epsilon.register
def _permute_and_flip_epsilon(event: PermuteAndFlipEvent) -> Fraction:
    """McKenna and Sheldon 2020, "Permute-and-flip"."""
    return Fraction(event.epsilon)


@pure_epsilon.register
def _above_threshold_epsilon(event: AboveThresholdEvent) -> Fraction:
    """The threshold's share once, and the passing answer's as often as answers may move against each other
    (`AboveThreshold`)."""
    return event.sensitivity * (1 / event.threshold_scale + event.directions / event.answer_scale)


@pure_epsilon.register
def _label_selection_epsilon(event: LabelSelectionEvent) -> None:
    """A label of one unit alone appears with probability delta, and without that unit never."""


@pure_epsilon.register
def _pure_sum_epsilon(event: PureSumEvent) -> Fraction:
    """On no path do the likelihood ratios multiply beyond the sum (Rogers, Roth, Ullman and Vadhan 2016)."""
    return event.epsilon


@pure_epsilon.register
def _rho_sum_epsilon(event: RhoSumEvent) -> None:
    """Any of the draws may be Gaussian."""


@pure_epsilon.register
def _mu_sum_epsilon(event: MuSumEvent) -> None:
    """Any of the draws may be Gaussian."""


def approximate_cost(event: object) -> Cost | None:
    """Return epsilon and delta for which one draw is (epsilon, delta)-DP, exact; None: the event states none.

    Of a selection of labels both are those of one label times the number of labels. *Proof.* Labels are kept
    independently, and between neighbours at most `labels` of them have another law, each (epsilon, delta)-DP; basic
    composition adds both figures up (Dwork and Roth 2014, Theorem 3.16). All other labels have one law on both tables.

    >>> approximate_cost(LabelSelectionEvent(epsilon=Fraction(1, 2), delta=Fraction(1, 100), labels=2))
    Cost(amount=Fraction(1, 1), delta=Fraction(1, 50))

    Raises:
        BudgetRefused: an event type without a price.
    """
    if isinstance(event, LabelSelectionEvent):
        return Cost(event.labels * event.epsilon, event.labels * event.delta)
    epsilon = pure_epsilon(event)
    return None if epsilon is None else Cost(epsilon)


@singledispatch
def concentrated_rho(event: object) -> Fraction:
    """Return the smallest known rho for which one draw is rho-zCDP, exact.

    >>> concentrated_rho(ExponentialEvent(epsilon=Fraction(2)))
    Fraction(1, 2)

    Raises:
        BudgetRefused: an event type without a price.
    """
    raise _unknown(event)


@concentrated_rho.register
def _noise_rho(event: DiscreteLaplaceEvent | SphericalLaplaceEvent | PerturbedObjectiveEvent) -> Fraction:
    return _of_pure(_finite(event))


@concentrated_rho.register
def _gaussian_rho(event: DiscreteGaussianEvent) -> Fraction:
    """Squared L2 sensitivity / (2 variance), as for the continuous law (Canonne, Kamath and Steinke 2020, Theorem 4;
    independent coordinates add up, each with its own square)."""
    return Fraction(event.squared_sensitivity) / (2 * event.variance)


@concentrated_rho.register
def _rounded_gaussian_rho(event: RoundedGaussianEvent) -> Fraction:
    """Squared L2 sensitivity / (2 variance) of the normal noise (Bun and Steinke 2016, Proposition 1.6); rounding the
    noise on integers is rounding the sum, which is post-processing."""
    return Fraction(event.squared_sensitivity) / (2 * event.variance)


@concentrated_rho.register
def _gaussian_objective_rho(event: GaussianObjectiveEvent) -> Fraction:
    """Of one record mu^2 / 2 at either end and the curvature (`GaussianPerturbedWeights`), of a path of k neighbours
    k^2 times that (Bun and Steinke 2016, Proposition 1.9); the closing noise is pure."""
    pull = Fraction(event.squared_sensitivity) / (2 * event.variance)
    one = pull * (1 + event.opposite**2) + event.curvature
    return event.changes**2 * one + _of_pure(event.closing)


@concentrated_rho.register
def _exponential_rho(event: ExponentialEvent) -> Fraction:
    """eps-bounded range (Durfee and Rogers 2019) makes the loss a variable on an interval of length eps, and
    Hoeffding's lemma gives eps^2 / 8 (Cesar and Rogers 2021, "Bounding, concentrating, and truncating"). The tight
    figure is less by eps^2 / 72 of itself, one in 70 at epsilon 1, and choices have smaller ones."""
    return Fraction(event.epsilon) ** 2 / 8


@concentrated_rho.register
def _permute_and_flip_rho(event: PermuteAndFlipEvent) -> Fraction:
    """No bounded range beyond 2 eps is known, so the loss is that of any eps-DP draw."""
    return _of_pure(_permute_and_flip_epsilon(event))


@concentrated_rho.register
def _above_threshold_rho(event: AboveThresholdEvent) -> Fraction:
    """Where all answers move in one direction, bounded range as for the exponential mechanism (`_threshold_range`);
    elsewhere the loss is that of any eps-DP draw."""
    if event.directions > 1:
        return _of_pure(_above_threshold_epsilon(event))
    return _threshold_range(event) ** 2 / 8


@concentrated_rho.register
def _label_selection_rho(_: LabelSelectionEvent) -> Fraction:
    """A Renyi divergence of such a draw is infinite."""
    raise BudgetRefused(ONLY_PAIRS)


@concentrated_rho.register
def _pure_sum_rho(event: PureSumEvent) -> Fraction:
    """However the run divides it, it is one eps-DP draw."""
    return _of_pure(_pure_sum_epsilon(event))


@concentrated_rho.register
def _rho_sum_rho(event: RhoSumEvent) -> Fraction:
    """Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers and Wu 2023."""
    return event.rho


@concentrated_rho.register
def _mu_sum_rho(event: MuSumEvent) -> Fraction:
    """The sum is mu-GDP (`GaussianDP`), so its Renyi divergences are at most those of N(mu, 1) against N(0, 1), a mu^2
    / 2 (Dong, Roth and Su 2019, Corollary B.6: a post-processing of these two)."""
    return event.squared_mu / 2


@singledispatch
def squared_mu(event: object) -> Fraction | None:
    """Return the smallest known mu^2 for which one draw is mu-GDP, exact or rounded up; None: no finite one is known.

    >>> squared_mu(RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(4)))
    Fraction(1, 4)

    Raises:
        BudgetRefused: an event type without a price.
    """
    raise _unknown(event)


@squared_mu.register
def _noise_mu(event: DiscreteLaplaceEvent | SphericalLaplaceEvent | PerturbedObjectiveEvent) -> Fraction:
    return squared_mu_of_pure(_finite(event))


@squared_mu.register
def _gaussian_mu(event: DiscreteGaussianEvent) -> None:
    """The tails of the discrete law are not those of the normal one, and zCDP implies no mu."""


@squared_mu.register
def _gaussian_objective_mu(event: GaussianObjectiveEvent) -> None:
    """A determinant's share is part of no normal curve."""


@squared_mu.register
def _rounded_gaussian_mu(event: RoundedGaussianEvent) -> Fraction:
    """Squared L2 sensitivity / variance of the normal noise (Dong, Roth and Su 2019, Theorem 2.7; by rotation all
    coordinates together are one, moved by the L2 distance). Rounding is post-processing, as for rho."""
    return Fraction(event.squared_sensitivity) / event.variance


@squared_mu.register
def _exponential_mu(event: ExponentialEvent) -> Fraction:
    return squared_mu_of_ranged(event.epsilon)


@squared_mu.register
def _permute_and_flip_mu(event: PermuteAndFlipEvent) -> Fraction:
    return squared_mu_of_pure(_permute_and_flip_epsilon(event))


@squared_mu.register
def _above_threshold_mu(event: AboveThresholdEvent) -> Fraction:
    if event.directions > 1:
        return squared_mu_of_pure(_above_threshold_epsilon(event))
    return squared_mu_of_ranged(_threshold_range(event))


@squared_mu.register
def _label_selection_mu(_: LabelSelectionEvent) -> None:
    """The trade-off curve of such a draw begins at 1 - delta, and that of mu-GDP at 1."""


@squared_mu.register
def _pure_sum_mu(event: PureSumEvent) -> Fraction:
    """However the run divides it, it is one eps-DP draw."""
    return squared_mu_of_pure(_pure_sum_epsilon(event))


@squared_mu.register
def _rho_sum_mu(event: RhoSumEvent) -> None:
    """Any of the draws may be a discrete Gaussian."""


@squared_mu.register
def _mu_sum_mu(event: MuSumEvent) -> Fraction:
    """Smith and Thakurta 2022; see `GaussianDP`."""
    return event.squared_mu


def _threshold_range(event: AboveThresholdEvent) -> Fraction:
    """Length of the interval of losses, where all answers move in one direction (`AboveThreshold`)."""
    return event.sensitivity * (1 / event.threshold_scale + 2 / event.answer_scale)


def _finite(event: object) -> Fraction:
    epsilon = pure_epsilon(event)
    assert epsilon is not None
    return epsilon


def _of_pure(epsilon: Fraction) -> Fraction:
    """eps-DP implies eps^2 / 2 zCDP (Bun and Steinke 2016, Proposition 1.4). The tight figure, eps tanh(eps / 2), is
    less by a relative eps^2 / 12: too little at the epsilons of single draws for another figure in every ledger."""
    return epsilon**2 / 2


def _unknown(event: object) -> BudgetRefused:
    return BudgetRefused(
        f"an event of type {type(event).__name__} has no price; the mechanism must report one of dpqr.kernel.events"
    )
