"""Faults of prediction: a sensitivity of one relation, radius or loss alone, a price that is another draw's,
and noise that is not the one that was paid for."""

from faults.anchored import Anchored, at

_ROOM = "prediction"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "GradientDescent.slope",
        ("2 * (self.radius + 1)", "self.loss.lipschitz", "slopes of squares are those of a ball of radius 1"),
        ("2 * (self.radius + 1)", "2 * self.radius + 1", "the target's share of a square's slope is halved"),
    ),
    *at(
        _ROOM,
        "GradientDescent.distance",
        ("self.scale.replaced", "True", "squares that come or go are bounded as replaced ones"),
        (
            "2 * self.reached * opposed_pulls(self.radius) / self.scale.records",
            "2 * self.reached * opposed_pulls(Fraction(1)) / self.scale.records",
            "pulls of a ball of radius 1",
        ),
        (
            "2 * self.reached * opposed_pulls(self.radius) / self.scale.records",
            "self.reached * opposed_pulls(self.radius) / self.scale.records",
            "one of two pulls",
        ),
        ("1 / self.reached", "2 / self.reached", "half of the steps' reach"),
    ),
    *at(
        _ROOM,
        "GradientDescent._longest",
        ("max(Fraction(1), self.scale.heaviest / 2)", "Fraction(1)", "steps are too long for the heaviest table"),
    ),
    *at(
        _ROOM,
        "GradientDescent.bound",
        ("2 * wrong", "wrong", "rounding is charged at one of two ends"),
    ),
    *at(
        _ROOM,
        "GradientDescent.learn",
        (
            "float(self.reached / self.steps)",
            "float(self.horizon / self.steps)",
            "a descent that stops earlier takes longer steps",
        ),
        (
            "radius / max(float(np.linalg.norm(weights)), radius)",
            "radius / max(float(np.abs(weights).max()), radius)",
            "the ball is a box",
        ),
    ),
    *at(
        _ROOM,
        "LossScale.distance",
        (
            "(1 + TAPER) * gradient * self.steps",
            "(1 + TAPER) * gradient * self.unit.rows",
            "persons who are replaced count once",
        ),
        (
            "2 * gradient if self.replaced else (1 + TAPER) * gradient * self.steps",
            "2 * gradient if self.unit.rows_public else (1 + TAPER) * gradient * self.steps",
            "parts of replaced rows have a public number",
        ),
    ),
    *at(
        _ROOM,
        "LossScale.bounded_distance",
        ("1 if self.replaced else self.steps", "1", "a person of many rows counts as one row"),
        (
            "2 * largest if self.replaced else (1 + TAPER) * largest",
            "(1 + TAPER) * largest",
            "one of two replaced losses",
        ),
    ),
    *at(
        _ROOM,
        "LossScale.replaced",
        (
            "self.unit.rows_public and (not self.part)",
            "self.unit.rows_public",
            "how many drew a part is taken as public",
        ),
    ),
    *at(
        _ROOM,
        "square_distance",
        ("opposed_pulls(radius)", "opposed_pulls(min(radius, Fraction(1)))", "pulls of a ball of radius 1 at most"),
        ("2 * (radius + 1)", "2 * radius", "the target pulls nothing"),
        ("scale.replaced", "scale.unit.rows_public", "parts of replaced rows have a public number"),
    ),
    *at(
        _ROOM,
        "LipschitzLearner.distance",
        (
            "min(lipschitz, self.scale.bounded_distance(largest, 2 * self.penalty))",
            "min(lipschitz, self.scale.bounded_distance(self.loss.start, 2 * self.penalty))",
            "losses are bounded by those at 0",
        ),
        (
            "self.scale.distance(self.loss.lipschitz, 2 * self.penalty)",
            "self.scale.distance(self.loss.lipschitz, 4 * self.penalty)",
            "the printed half of the sensitivity",
        ),
    ),
    *at(
        _ROOM,
        "PerturbedLearner.tapered",
        ("isinstance(self.loss, Tapered)", "True", "every loss is taken to taper"),
        ("isinstance(self.loss, Tapered)", "self.loss.smoothness > 1", "rounded corners are taken to taper"),
    ),
    *at(
        _ROOM,
        "PerturbedLearner.gradient",
        (
            "self.loss.lipschitz * self.changes",
            "self.loss.lipschitz * self.units",
            "one of two gradients under replace",
        ),
        ("self.loss.lipschitz * self.changes", "self.loss.lipschitz", "a person of many rows has one gradient"),
    ),
    *at(
        _ROOM,
        "PerturbedLearner.curvature",
        (
            "self.loss.smoothness * FEATURE_NORM ** 2 / self.strength",
            "self.loss.smoothness * FEATURE_NORM ** 2 / (2 * self.strength)",
            "half of the curvature",
        ),
    ),
    *at(
        _ROOM,
        "PerturbedLearner.opposite",
        (
            "self.loss.opposite / self.loss.lipschitz",
            "self.loss.opposite * self.loss.lipschitz",
            "the opposite slope is no share of the largest",
        ),
        ("self.loss.opposite / self.loss.lipschitz", "Fraction(0)", "every loss slopes one way"),
    ),
    *at(
        _ROOM,
        "PerturbedLearner.units",
        ("self.unit.rows", "1", "the determinant of one row is paid for a person"),
    ),
    *at(
        _ROOM,
        "_Closed._released",
        (
            "SphericalLaplace(self.closing, self.learner.width).sample(noise)",
            "SphericalLaplace(self.closing, 1).sample(noise)",
            "one closing draw for all coordinates",
        ),
        ("weights + SphericalLaplace(self.closing, self.learner.width).sample(noise)", "weights", "no closing draw"),
        (
            "float(self.unit) / FINENESS",
            "float(self.learner.gradient) / FINENESS",
            "a normal pull is scaled by all records together",
        ),
    ),
    *at(
        _ROOM,
        "_Closed.wrong",
        ("self.learner.tolerance + self.shift", "self.learner.tolerance", "the rounding of the pull is not closed"),
    ),
    *at(
        _ROOM,
        "_Closed.grid",
        ("2 * self.wrong", "self.wrong", "closing noise covers one of two ends"),
    ),
    *at(
        _ROOM,
        "GaussianPerturbedWeights.event",
        ("changes=self.learner.changes", "changes=self.learner.units", "one of two records under replace"),
        ("opposite=self.learner.opposite", "opposite=Fraction(0)", "the slope of the other sign is not paid"),
        ("closing=self.closing_epsilon", "closing=Fraction(0)", "closing noise is not paid"),
    ),
    *at(
        _ROOM,
        "GaussianPerturbedWeights.sample",
        (
            "RoundedGaussian(self.variance).sample(self.learner.width, noise)",
            "RoundedGaussian(self.variance).sample(1, noise) * np.ones(self.learner.width, dtype=np.int64)",
            "one normal pull for all coordinates",
        ),
    ),
    *at(
        _ROOM,
        "Perturbation.tapers",
        (
            "self.changes == 1 and isinstance(self.loss, Tapered)",
            "isinstance(self.loss, Tapered)",
            "persons of several rows taper",
        ),
        (
            "self.changes == 1 and isinstance(self.loss, Tapered)",
            "self.changes == 1",
            "rounded corners are bought as tapered ones",
        ),
    ),
    *at(
        _ROOM,
        "Perturbation.gaussian_event",
        (
            "tapered=isinstance(self.loss, Tapered)",
            "tapered=True",
            "the event of a rounded corner claims that it tapers",
        ),
        ("self.changes * log_above(curvature)", "log_above(curvature)", "the determinant of one record is paid"),
    ),
    *at(
        _ROOM,
        "Perturbation.event",
        ("self.units * log_above(curvature)", "log_above(curvature)", "the determinant of one row is paid"),
        (
            "epsilon - closing - self.units * log_above(curvature)",
            "epsilon - self.units * log_above(curvature)",
            "closing noise is not paid",
        ),
    ),
    *at(
        _ROOM,
        "PermuteAndFlipVotes.drawn",
        ("self.rate", "2 * self.rate", "permute-and-flip draws at twice its rate"),
        (
            "draw_permute_and_flip(votes, self.rate, noise)",
            "draw_exponential(votes, 2 * self.rate, noise)",
            "another mechanism draws",
        ),
    ),
    *at(
        _ROOM,
        "ExponentialVotes.drawn",
        ("self.rate", "2 * self.rate", "labels are drawn at twice their rate"),
    ),
    *at(
        _ROOM,
        "selection_epsilon",
        (
            "price.bounded_range if noise == 'exponential' else price.pure",
            "price.bounded_range",
            "permute-and-flip is bought at twice its epsilon",
        ),
    ),
    *at(
        _ROOM,
        "make_selection",
        ("selection_epsilon(price, noise)", "price.bounded_range", "permute-and-flip is drawn at twice its epsilon"),
        (
            "PermuteAndFlipVotes if noise == 'permute-and-flip' else ExponentialVotes",
            "PermuteAndFlipVotes",
            "permute-and-flip at the price of bounded range",
        ),
    ),
    *at(
        _ROOM,
        "VotesForm.event",
        (
            "PermuteAndFlipEvent if noise == 'permute-and-flip' else ExponentialEvent",
            "ExponentialEvent",
            "permute-and-flip is charged as bounded range",
        ),
    ),
    *at(
        _ROOM,
        "RandomisedVotes.events",
        ("self.ensemble.touched", "1", "a unit in several parts moves one vote"),
        ("self.ensemble.predictions", "1", "one of many points is charged"),
    ),
    *at(
        _ROOM,
        "LaplaceAverages.sample",
        (
            "DiscreteLaplace(self.scale).sample(self.ensemble.predictions, noise)",
            "DiscreteLaplace(self.scale).sample(1, noise)",
            "one draw for all averages",
        ),
    ),
    *at(
        _ROOM,
        "RandomisedVotes.sample",
        (
            "DiscreteLaplace(self.scale).sample(points, noise)",
            "DiscreteLaplace(self.scale).sample(1, noise)",
            "one draw for the counts of all points",
        ),
    ),
    *at(
        _ROOM,
        "LaplacePredictions.sample",
        (
            "DiscreteLaplace(self.scale).sample(self.asked.count, noise)",
            "DiscreteLaplace(self.scale).sample(1, noise)",
            "one draw for all predictions",
        ),
    ),
    *at(
        _ROOM,
        "GaussianPredictions.events",
        ("self.asked.count", "1", "one of many predictions is charged"),
    ),
    *at(
        _ROOM,
        "GaussianPredictions.sample",
        (
            "RoundedGaussian(self.variance).sample(self.asked.count, noise)",
            "RoundedGaussian(self.variance).sample(1, noise)",
            "one normal draw for all predictions",
        ),
    ),
    *at(
        _ROOM,
        "LearnerAtPoints.bound",
        (
            "min(bound, Fraction(2 * self.limit))",
            "min(bound, Fraction(self.limit))",
            "clipped predictions move by one limit",
        ),
    ),
    *at(
        _ROOM,
        "LearnerAtPoints.predictions",
        (
            "np.clip(values, -self.limit, self.limit)",
            "np.clip(values, -2 * self.limit, 2 * self.limit)",
            "predictions are clipped at twice the limit",
        ),
    ),
    *at(
        _ROOM,
        "SphericalWeights.sample",
        ("self.law.sample(noise)", "SphericalLaplace(self.scale, 1).sample(noise)", "one draw for all weights"),
    ),
    *at(
        _ROOM,
        "weights_sensitivity",
        ("FINENESS + isqrt(width) + 2", "FINENESS + 2", "the rounding of many weights is that of one"),
    ),
    *at(
        _ROOM,
        "VotesForm.mechanism",
        (
            "make_selection(ensemble, price, noise)",
            "make_selection(ensemble, price, 'exponential')",
            "permute-and-flip is drawn as another selection",
        ),
    ),
    *at(
        _ROOM,
        "BoundedPlan.tuner",
        ("self.tuning", "self.price", "the choice of lambda is drawn at the predictions' price", 1),
    ),
    *at(
        _ROOM,
        "PointsPlan.predictions",
        ("self.recipe.limit", "None", "numbers are not clipped to the target's bounds"),
    ),
    *at(
        _ROOM,
        "_planned",
        (
            "1 - sum(shares.values(), Fraction(0))",
            "Fraction(1)",
            "the count of records is bought beside the whole budget",
        ),
        (
            "(*first, *chosen, (form.event(prices[0], noise), form.count))",
            "(*first, (form.event(prices[0], noise), form.count))",
            "the choice of lambda is not charged",
        ),
        (
            "(*first, *chosen, (form.event(prices[0], noise), form.count))",
            "(*chosen, (form.event(prices[0], noise), form.count))",
            "the count of records is not charged",
        ),
        (
            "(*first, *chosen, (form.event(prices[0], noise), form.count))",
            "(*first, *chosen, (form.event(prices[0], noise), 1))",
            "one of many points is charged",
        ),
    ),
    *at(
        _ROOM,
        "OnlineLearner.distance",
        ("1 if self.added else 2", "1", "a record that changes its slot counts once"),
        (
            "self.rows * Fraction(min(printed, sharp)) * ROUNDED_UP",
            "Fraction(min(printed, sharp)) * ROUNDED_UP",
            "a person of many slots counts as one",
        ),
        (
            "(1 if self.added else 2) * self.rows * Fraction(moved) * ROUNDED_UP",
            "(1 if self.added else 2) * Fraction(moved) * ROUNDED_UP",
            "a person of many rows counts as one, in a column of slots",
        ),
        ("min(printed, sharp)", "sharp / 2", "half of two pulls"),
    ),
    *at(
        _ROOM,
        "MomentsLearner.squared_sensitivity",
        ("self.unit.changes ** 2", "self.unit.changes", "k rows move by the root of what they do"),
        ("self.unit.changes ** 2", "self.unit.rows ** 2", "replaced rows count once"),
        (
            "math.ceil(2 * self.unit.changes ** 2 * STEPS ** 4 * FEATURE_NORM ** 4)",
            "math.ceil(self.unit.changes ** 2 * STEPS ** 4 * FEATURE_NORM ** 4)",
            "products with the target are forgotten",
        ),
    ),
    *at(
        _ROOM,
        "NoisyMoments.noisy",
        (
            "RoundedGaussian(self.variance).sample(len(sums), noise)",
            "RoundedGaussian(self.variance).sample(1, noise)",
            "one draw for all moments",
        ),
    ),
    *at(
        _ROOM,
        "ExactKernel.distance",
        ("2 * self.penalty", "4 * self.penalty", "half of the distance in the kernel's space"),
        (
            "opposed_pulls(1 / (2 * root_below(self.penalty)))",
            "opposed_pulls(Fraction(1))",
            "a kernel's squares pull as in a ball of radius 1",
        ),
    ),
    *at(
        _ROOM,
        "Averaged.bound",
        (
            "self.learner.bound - self.learner.distance",
            "(self.learner.bound - self.learner.distance) / self.parts",
            "one part's rounding is charged for all",
        ),
    ),
    *at(
        _ROOM,
        "Averaged.fit",
        ("total / self.parts", "total / max(1, len(ends))", "the sum is divided by fewer parts"),
    ),
    *at(
        _ROOM,
        "PartsEnsemble._numbers",
        (
            "np.clip(np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)",
            "np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=-1.0)",
            "a member's number is not clipped",
        ),
    ),
    *at(
        _ROOM,
        "PartsEnsemble._members",
        (
            "np.repeat(codes[:, -1], records)",
            "np.repeat(codes[:, 0], records)",
            "parts are drawn by a column of the table",
        ),
    ),
    *at(
        _ROOM,
        "OnePoint.touched",
        ("self.ensemble.touched", "1", "a unit in several parts counts once, point by point"),
    ),
    *at(
        _ROOM,
        "FitCache.of",
        ("self._table is not table", "self._table is None", "what was learned from another table is predicted"),
    ),
    *at(
        _ROOM,
        "one_by_one",
        ("limit=batch.asked.limit", "limit=None", "numbers are not clipped, point by point"),
        ("place=place", "place=0", "every point is the first", 1),
    ),
    *at(
        _ROOM,
        "StableRecipe.perturbation",
        (
            "round_corner_logistic if budget.delta and problem.unit.changes == 1 else round_corner",
            "round_corner_logistic if budget.delta else round_corner",
            "persons of several rows have a tapered loss",
        ),
        ("budget.epsilon / problem.unit.changes", "budget.epsilon", "a record's share of epsilon is the person's"),
    ),
    *at(
        _ROOM,
        "StableRecipe.learner",
        ("unit.neighbours is not Neighbours.REPLACE", "True", "replaced records only come"),
        ("rows=unit.rows", "rows=1", "a person of many rows fills one slot"),
    ),
    *at(
        _ROOM,
        "opposed_pulls",
        (
            "2 * reach / (1 + math.sqrt(1 + 8 * reach ** 2))",
            "2 * reach / (1 + math.sqrt(1 + 4 * reach ** 2))",
            "another angle than the worst one",
        ),
    ),
)
