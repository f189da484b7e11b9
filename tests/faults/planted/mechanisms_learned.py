"""Faults of what is released of learned functions: weights, predictions, votes."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "prediction/learned_functions.py",
        ("FINENESS + isqrt(width) + 2", "FINENESS + isqrt(width) + 1", "the division's rounding is not counted"),
        ("squared_sensitivity=sensitivity**2", "squared_sensitivity=sensitivity", "a norm is not squared"),
        ("FINENESS + isqrt(width) + 2", "FINENESS + 3", "every coordinate's rounding but one is forgotten"),
        (
            "return float(bound) / FINENESS",
            "return float(bound) / (FINENESS + FINENESS // 4)",
            "weights move by more steps than are stated",
        ),
        ("np.rint(values / grid)", "np.trunc(values / grid)", "rounding moves a value by a whole step"),
    ),
    *planted_in(
        "prediction/learned_functions.py",
        (
            "self.law.sample(self.width, noise)\n\n\n@final",
            "self.law.sample(1, noise)\n\n\n@final",
            "one normal draw is shared by all coordinates",
        ),
        (
            "return RoundedGaussian(self.variance)",
            "return RoundedGaussian(self.variance * Fraction(9, 10))",
            "0.9 of the stated variance is drawn",
        ),
        (
            "return SphericalLaplace(self.scale, self.width)",
            "return SphericalLaplace(self.scale * Fraction(4, 5), self.width)",
            "0.8 of the stated scale is drawn",
        ),
        (
            "sensitivity = weights_sensitivity(self.width)\n        return RoundedGaussianEvent",
            "sensitivity = weights_sensitivity(1)\n        return RoundedGaussianEvent",
            "a Gaussian event forgets the width",
        ),
        (
            "sensitivity = weights_sensitivity(self.width)\n        return SphericalLaplaceEvent",
            "sensitivity = weights_sensitivity(1)\n        return SphericalLaplaceEvent",
            "a spherical event forgets the width",
        ),
    ),
    *planted_in(
        "prediction/learned_functions.py",
        ("PREDICTION = FINENESS + 2", "PREDICTION = FINENESS + 1", "the arithmetic's rounding is not counted"),
        (
            "+ DiscreteLaplace(self.scale).sample(self.asked.count, noise)",
            "+ DiscreteLaplace(self.scale).sample(1, noise)",
            "one Laplace draw is shared by all points",
        ),
        (
            "+ RoundedGaussian(self.variance).sample(self.asked.count, noise)",
            "+ RoundedGaussian(self.variance).sample(1, noise)",
            "one normal draw is shared by all points",
        ),
        (
            "DiscreteLaplace(self.scale).sample",
            "DiscreteLaplace(self.scale * Fraction(4, 5)).sample",
            "0.8 of the stated scale is drawn",
        ),
        (
            "RoundedGaussian(self.variance).sample",
            "RoundedGaussian(self.variance * Fraction(9, 10)).sample",
            "0.9 of the stated variance is drawn",
        ),
        (
            "min(bound, Fraction(2 * self.limit))",
            "min(bound, Fraction(self.limit))",
            "clipped predictions move by half of what they can",
        ),
        (
            "values = np.clip(values, -self.limit, self.limit)",
            "values = np.clip(values, None, self.limit)",
            "predictions are clipped at one side",
        ),
        (
            "squared_sensitivity=PREDICTION**2, variance=self.variance)\n        return ((event, self.asked.count),)",
            "squared_sensitivity=PREDICTION**2, variance=self.variance)\n        return ((event, 1),)",
            "one normal draw is charged for all points",
        ),
        (
            "scale=self.scale, coordinates=1)\n        return ((event, self.asked.count),)",
            "scale=self.scale, coordinates=1)\n        return ((event, 1),)",
            "one Laplace draw is charged for all points",
        ),
        (
            "return self.own if self.points is None else len(self.points)",
            "return len(self.points) if self.points is not None else 1",
            "a learner's own points are charged as one",
        ),
    ),
    *planted_in(
        "prediction/votes.py",
        (
            "epsilon / (2 * ensemble.touched)",
            "epsilon / ensemble.touched",
            "the 2 of votes that move both ways is forgotten",
        ),
        ("epsilon / (2 * ensemble.touched)", "epsilon / 2", "a unit in many parts is charged as in one"),
        (
            "(ExponentialEvent(epsilon=self.epsilon), self.ensemble.predictions)",
            "(ExponentialEvent(epsilon=self.epsilon), 1)",
            "one label is charged for all points",
        ),
        (
            "(PermuteAndFlipEvent(epsilon=self.epsilon), self.ensemble.predictions)",
            "(PermuteAndFlipEvent(epsilon=self.epsilon), 1)",
            "one label is charged for all points (permute-and-flip)",
        ),
        (
            "((PermuteAndFlipEvent(epsilon=self.epsilon)",
            "((ExponentialEvent(epsilon=self.epsilon)",
            "permute-and-flip is priced as if it had bounded range",
        ),
        (
            "DiscreteLaplaceEvent(sensitivity=self.ensemble.touched, scale",
            "DiscreteLaplaceEvent(sensitivity=1, scale",
            "a unit in many parts is charged as in one (coins)",
        ),
        (
            "DiscreteLaplace(self.scale).sample(points, noise)",
            "DiscreteLaplace(self.scale).sample(1, noise)",
            "one draw is shared by all points (coins)",
        ),
        ("uniforms_below(parts, points, noise)", "uniforms_below(parts, 1, noise)", "one coin is shared by all points"),
        ("coins < np.clip(noisy, 0, parts)", "coins <= np.clip(noisy, 0, parts)", "a coin is likelier by one vote"),
        ("return 2 * FINENESS * touched", "return FINENESS * touched", "a member's range is halved"),
        (
            "return 2 * FINENESS * touched",
            "return 2 * FINENESS",
            "a unit in many parts is charged as in one (averages)",
        ),
        (
            "averages_sensitivity(self.ensemble.touched)",
            "averages_sensitivity(1)",
            "averages are charged as if a unit were in one part",
        ),
        (
            "self.ensemble.sums(value, noise) + DiscreteLaplace(self.scale).sample(self.ensemble.predictions, noise)",
            "self.ensemble.sums(value, noise) + DiscreteLaplace(self.scale).sample(1, noise)",
            "one draw is shared by all averages",
        ),
        (
            "self.ensemble.sums(value, noise) + DiscreteLaplace(self.scale)",
            "self.ensemble.sums(value, noise) + DiscreteLaplace(self.scale * Fraction(4, 5))",
            "0.8 of the stated scale is drawn",
        ),
    ),
)
