"""Faults of what is released of learned functions: weights, predictions, votes."""

from faults.anchored import Anchored, at

_ROOM = "mechanisms"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "weights_sensitivity",
        ("FINENESS + isqrt(width) + 2", "FINENESS + isqrt(width) + 1", "the division's rounding is not counted"),
        ("FINENESS + isqrt(width) + 2", "FINENESS + 3", "every coordinate's rounding but one is forgotten"),
    ),
    *at(
        _ROOM,
        "GaussianWeights.event",
        ("sensitivity ** 2", "sensitivity", "a norm is not squared"),
        ("self.width", "1", "a Gaussian event forgets the width"),
    ),
    *at(
        _ROOM,
        "step",
        (
            "float(bound) / FINENESS",
            "float(bound) / (FINENESS + FINENESS // 4)",
            "weights move by more steps than are stated",
        ),
    ),
    *at(
        _ROOM,
        "round_to_grid",
        ("np.rint(values / grid)", "np.trunc(values / grid)", "rounding moves a value by a whole step"),
    ),
    *at(
        _ROOM,
        "GaussianWeights.sample",
        ("self.width", "1", "one normal draw is shared by all coordinates"),
    ),
    *at(
        _ROOM,
        "GaussianWeights.law",
        ("self.variance", "self.variance * Fraction(9, 10)", "0.9 of the stated variance is drawn"),
    ),
    *at(
        _ROOM,
        "SphericalWeights.law",
        ("self.scale", "self.scale * Fraction(4, 5)", "0.8 of the stated scale is drawn"),
    ),
    *at(
        _ROOM,
        "SphericalWeights.event",
        ("weights_sensitivity(self.width)", "weights_sensitivity(1)", "a spherical event forgets the width"),
    ),
    *at(
        _ROOM,
        "PREDICTION",
        ("FINENESS + 2", "FINENESS + 1", "the arithmetic's rounding is not counted"),
    ),
    *at(
        _ROOM,
        "LaplacePredictions.sample",
        ("self.scale", "self.scale * Fraction(4, 5)", "0.8 of the stated scale is drawn"),
    ),
    *at(
        _ROOM,
        "GaussianPredictions.sample",
        ("self.variance", "self.variance * Fraction(9, 10)", "0.9 of the stated variance is drawn"),
    ),
    *at(
        _ROOM,
        "LearnerAtPoints.predictions",
        ("-self.limit", "None", "predictions are clipped at one side"),
    ),
    *at(
        _ROOM,
        "LaplacePredictions.events",
        ("self.asked.count", "1", "one Laplace draw is charged for all points"),
    ),
    *at(
        _ROOM,
        "LearnerAtPoints.count",
        (
            "self.own if self.points is None else len(self.points)",
            "len(self.points) if self.points is not None else 1",
            "a learner's own points are charged as one",
        ),
    ),
    *at(
        _ROOM,
        "votes_rate",
        ("2 * ensemble.touched", "ensemble.touched", "the 2 of votes that move both ways is forgotten"),
        ("2 * ensemble.touched", "2", "a unit in many parts is charged as in one"),
    ),
    *at(
        _ROOM,
        "SelectedLabels.events",
        ("self.ensemble.predictions", "1", "one label is charged for all points"),
    ),
    *at(
        _ROOM,
        "PermuteAndFlipVotes.event",
        (
            "PermuteAndFlipEvent(epsilon=self.epsilon)",
            "ExponentialEvent(epsilon=self.epsilon)",
            "permute-and-flip is priced as if it had bounded range",
        ),
    ),
    *at(
        _ROOM,
        "RandomisedVotes.sample",
        ("uniforms_below(parts, points, noise)", "uniforms_below(parts, 1, noise)", "one coin is shared by all points"),
        ("coins < np.clip(noisy, 0, parts)", "coins <= np.clip(noisy, 0, parts)", "a coin is likelier by one vote"),
    ),
    *at(
        _ROOM,
        "averages_sensitivity",
        ("2 * FINENESS", "FINENESS", "a member's range is halved"),
        ("2 * FINENESS * touched", "2 * FINENESS", "a unit in many parts is charged as in one (averages)"),
    ),
    *at(
        _ROOM,
        "LaplaceAverages.events",
        ("self.ensemble.touched", "1", "averages are charged as if a unit were in one part"),
    ),
    *at(
        _ROOM,
        "LaplaceAverages.sample",
        ("self.scale", "self.scale * Fraction(4, 5)", "0.8 of the stated scale is drawn"),
    ),
)
