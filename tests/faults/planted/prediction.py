"""Faults of sensitivities: losses, scales, solvers, rounding."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "prediction",
        "Pinball.lipschitz",
        ("max(self.tau, 1 - self.tau)", "self.tau", "low quantiles have too small a slope"),
    ),
    *at(
        "prediction",
        "ExactPinball.lipschitz",
        ("max(self.tau, 1 - self.tau)", "self.tau", "low quantiles with a corner have too small a slope"),
    ),
    *at(
        "prediction",
        "Logistic.lipschitz",
        ("Fraction(1)", "Fraction(1, 2)", "the logistic loss is taken to have slopes of 1/2"),
    ),
    *at(
        "prediction",
        "Logistic.smoothness",
        ("Fraction(1, 4)", "Fraction(1, 8)", "the logistic loss is taken to be smoother"),
    ),
    *at(
        "prediction",
        "Hinge.smoothness",
        ("2 * self.width", "4 * self.width", "the hinge is taken to be smoother"),
    ),
    *at(
        "prediction",
        "Pinball.smoothness",
        ("2 * self.width", "4 * self.width", "the quantile loss is taken to be smoother"),
    ),
    *at(
        "prediction",
        "Logistic.start",
        ("Fraction(7, 10)", "Fraction(69, 100)", "log 2 is rounded down"),
    ),
    *at(
        "prediction",
        "Pinball.start",
        ("self.lipschitz + self.width", "self.tau", "low quantiles start too low"),
    ),
    *at(
        "prediction",
        "Square.lipschitz",
        ("Fraction(4)", "Fraction(2)", "the square is taken to have slopes of 2"),
    ),
    *at(
        "prediction",
        "Square.smoothness",
        ("Fraction(2)", "Fraction(1)", "the square is taken to be smoother"),
    ),
    *at(
        "prediction",
        "Square.start",
        ("Fraction(1)", "Fraction(1, 2)", "the square starts too low"),
    ),
    *at(
        "prediction",
        "Hinge.slope",
        (
            "np.clip((short + width) / (2 * width), 0.0, 1.0)",
            "np.clip((short + width) / (2 * width), 0.0, 2.0)",
            "the hinge's slope is not clipped",
        ),
    ),
    *at(
        "prediction",
        "Pinball.slope",
        (
            "np.clip(tau - 0.5 + apart / (2 * width), tau - 1, tau)",
            "np.clip(tau - 0.5 + apart / (2 * width), -1, 1)",
            "the quantile's slope is not clipped",
        ),
    ),
    *at(
        "prediction",
        "Square.slope",
        ("2 * (predicted - target)", "predicted - target", "half the square's slope"),
    ),
    *at(
        "prediction",
        "Examples.labelled",
        ("~np.isnan(self.values)[codes[:, self.axis]]", "codes[:, self.axis] >= 0", "rows without a target teach"),
    ),
    *at(
        "prediction",
        "LossScale.distance",
        ("(1 + TAPER) * gradient * self.steps", "(1 + TAPER) * gradient", "a person of many rows counts as one row"),
        ("2 * gradient", "gradient", "replace counts one of two gradients"),
        ("(1 + TAPER) * gradient", "gradient", "the taper is forgotten"),
        ("modulus * self.records", "2 * modulus * self.records", "half of it"),
    ),
    *at(
        "prediction",
        "LossScale.heaviest",
        ("(1 + TAPER) ** 2 / (4 * TAPER)", "1 + TAPER", "the sum of losses is taken to weigh less"),
    ),
    *at(
        "prediction",
        "LossScale.weight",
        ("max(Fraction(0), taper)", "taper", "losses of a huge table have weights below 0"),
        (
            "min(Fraction(1), max(Fraction(0), taper)) / self.records",
            "min(Fraction(1), max(Fraction(0), taper)) / max(records, 1)",
            "the private number of records divides",
        ),
        ("Fraction(1)", "Fraction(2)", "the taper begins above 1"),
    ),
    *at(
        "prediction",
        "LossScale.replaced",
        ("self.unit.rows_public", "self.unit.neighbours is Neighbours.REPLACE", "m is taken as public"),
    ),
    *at(
        "prediction",
        "Solver.__post_init__",
        ("float(self.modulus * self.tolerance) / 2", "float(self.modulus * self.tolerance) * 2", "four times looser"),
    ),
    *at(
        "prediction",
        "Solver.steps",
        ("self.tolerance / 2", "self.tolerance * 64", "steps for 128 times the tolerance"),
        ("math.log(2 * float(self.start) / gap)", "math.log(2 * float(self.start) / gap) / 2", "half of the steps"),
    ),
    *at(
        "prediction",
        "Solver.certified",
        ("self.needed", "64 * self.needed", "points are certified too early"),
    ),
    *at(
        "prediction",
        "Solver._newton",
        (
            "point if self.certified(objective.size(objective.gradient(point))) else None",
            "point",
            "Newton's last point is taken as it is",
        ),
    ),
    *at(
        "prediction",
        "Objective.gradient",
        ("2 * self.penalty", "self.penalty", "half of the penalty's gradient"),
    ),
    *at(
        "prediction",
        "Objective.size",
        ("np.linalg.norm(gradient)", "np.abs(gradient).max()", "a gradient's norm is told too small"),
    ),
    *at(
        "prediction",
        "gradient_error",
        (
            "2 / root_below(penalty / (heaviest * loss.start))",
            "1 / root_below(penalty / (heaviest * loss.start))",
            "points beyond the minimiser's norm are left out",
        ),
        ("BLOCK + 64", "64", "the sum of a block is taken to be exact"),
        (
            "loss.lipschitz * (BLOCK + 64) * heaviest + 4 * penalty * norm",
            "loss.lipschitz * (BLOCK + 64) * heaviest",
            "the penalty's rounding is forgotten",
        ),
        ("width * norm + 8", "8", "a prediction is taken to be exact"),
        (
            "ULP * (summed + heaviest * loss.smoothness * (width * norm + 8))",
            "ULP / 2 * (summed + heaviest * loss.smoothness * (width * norm + 8))",
            "half of the rounding",
        ),
    ),
    *at(
        "prediction",
        "UNIT",
        ("2 ** 53", "2 ** 54", "half of the unit roundoff"),
    ),
    *at(
        "prediction",
        "evaluation_error",
        ("width + 2", "2", "a sum of many terms rounds like one of two"),
        ("gamma(width + 2) * norm", "gamma(width + 2)", "weights have norm 1"),
        ("width + 2", "width", "the quotient's rounding and underflow are forgotten"),
    ),
    *at(
        "prediction",
        "FEATURE_NORM",
        ("1 + Fraction(1, 2 ** 40)", "Fraction(1)", "norms are taken to be exact"),
    ),
    *at(
        "prediction",
        "LipschitzLearner.__post_init__",
        ("2 * wrong", "wrong", "one end's error is charged, of two"),
        (
            "solver.tolerance + evaluation_error(self.features.width, self.norm + solver.tolerance)",
            "evaluation_error(self.features.width, self.norm + solver.tolerance)",
            "the solver's tolerance is not charged",
        ),
    ),
    *at(
        "prediction",
        "RidgeRegression.bound",
        ("2 * wrong", "wrong", "one end's error is charged, of two, for least squares"),
        (
            "self.tolerance + evaluation_error(self.features.width, self.norm + self.tolerance)",
            "evaluation_error(self.features.width, self.norm + self.tolerance)",
            "the eigenvalues' rounding is not charged",
        ),
    ),
    *at(
        "prediction",
        "square_distance",
        ("opposed_pulls(radius)", "radius", "targets are forgotten"),
        ("scale.replaced", "not scale.replaced", "replace's formula under add-remove"),
    ),
    *at(
        "prediction",
        "RidgeRegression.reach",
        ("2 * root_below(self.penalty)", "4 * root_below(self.penalty)", "half of the reach"),
    ),
    *at(
        "prediction",
        "RidgeRegression.learn",
        ("self.radius", "2 * self.reach", "the ball is not kept to"),
    ),
    *at(
        "prediction",
        "RidgeRegression.tolerance",
        (
            "self.closeness * self.distance + rounding / self.penalty",
            "self.closeness * self.distance",
            "the eigenvalues' rounding is forgotten",
        ),
    ),
    *at(
        "prediction",
        "LipschitzLearner._solver",
        ("closeness + 2 * rounding / modulus", "closeness", "the gradient's rounding"),
        ("heaviest * self.loss.smoothness", "self.loss.smoothness", "a table's weight is 1"),
        ("heaviest * self.loss.start", "self.loss.start", "an objective at 0 weighs one loss"),
    ),
    *at(
        "prediction",
        "LipschitzLearner.norm",
        ("2 * self.penalty", "4 * self.penalty", "half of the norm that a minimiser may have"),
    ),
    *at(
        "prediction",
        "_shift",
        ("range(200)", "range(8)", "the ball's multiplier is found roughly"),
    ),
    *at(
        "prediction",
        "ExactKernel.__post_init__",
        (
            "self.distance + 2 * solver.tolerance + 2 * wrong",
            "self.distance + 2 * solver.tolerance",
            "a value's rounding is forgotten",
        ),
        ("self.distance + 2 * solver.tolerance", "self.distance", "the solver's tolerance is not charged"),
    ),
    *at(
        "prediction",
        "KernelObjective.size",
        ("np.abs(gradient).sum()", "np.linalg.norm(gradient)", "a gradient's norm is told too small"),
    ),
    *at(
        "prediction",
        "ExactKernel.distance",
        ("2 * root_below(self.penalty)", "4 * root_below(self.penalty)", "half of the norm that a minimiser may have"),
    ),
    *at(
        "prediction",
        "KernelObjective.gradient",
        ("2 * self.penalty", "self.penalty", "half of the penalty's gradient"),
    ),
    *at(
        "prediction",
        "ExactKernel.wrong",
        ("ULP * self.scale.records + self.entry", "entry", "sums over records are taken to be exact"),
    ),
    *at(
        "prediction",
        "OnlineLearner.distance",
        ("4 * last ** (1 - 2 * theta)", "2 * last ** (1 - 2 * theta)", "half of the printed bound"),
        ("float(opposed_pulls(Fraction(norm)))", "norm", "targets are forgotten"),
        ("math.sqrt(2)", "2", "the norm before a step is taken to be smaller"),
        ("(1 - theta) / 2", "1 - theta", "the norm before a step is squared"),
        ("min(printed, sharp)", "min(printed, sharp) / 4", "a quarter of the bound"),
        (
            "self.rows * Fraction(min(printed, sharp)) * ROUNDED_UP",
            "self.rows * Fraction(min(printed, sharp))",
            "a power may fall short",
        ),
        ("norm + 1", "norm", "the target of a record that comes is forgotten"),
        ("(1 if self.added else 2) * self.rows", "self.rows", "a record that changes slots moves one of them"),
    ),
    *at(
        "prediction",
        "OnlineLearner.bound",
        (
            "2 * (rounding + evaluation_error(self.features.width, norm))",
            "rounding + evaluation_error(self.features.width, norm)",
            "one end's rounding, of two",
        ),
        (
            "ULP * self._last * (self.features.width + 16 + summed_rows)",
            "ULP * (16 + summed_rows)",
            "the rounding of one step stands for all",
        ),
    ),
    *at(
        "prediction",
        "OnlineLearner._last",
        ("self.slots - 1", "self.slots + 1", "more steps than there are"),
    ),
    *at(
        "prediction",
        "OnlineLearner.fit",
        ("block = block[block[:, -1] < self.slots]", "", "slots beyond the last count"),
    ),
    *at(
        "prediction",
        "Steps._far",
        ("offset >= 4", "offset >= 2", "steps that stretch distances"),
    ),
    *at(
        "prediction",
        "Steps.__post_init__",
        ("Fraction(1, 2)", "0", "steps outside the theorem"),
    ),
    *at(
        "prediction",
        "OnlineLearner._by_column",
        ("records[rows] / records[rows].sum()", "records[rows]", "rows of a slot take a step each"),
    ),
    *at(
        "prediction",
        "PartsEnsemble._numbers",
        (
            "np.clip(np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)",
            "np.clip(np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=-1.0), -2.0, 2.0)",
            "predictions are clipped to twice the range",
        ),
        ("Exception", "TypeError", "a regressor that fails ends the run"),
    ),
    *at(
        "prediction",
        "PartsEnsemble._members",
        ("rows[order]", "rows", "rows are learned from in other parts than drawn"),
    ),
    *at(
        "prediction",
        "PartsEnsemble.votes",
        ("votes[points, member] += 1", "votes[points, member] += len(counts.shape)", "a part has three votes"),
    ),
    *at(
        "prediction",
        "PartsEnsemble._classes",
        ("Exception", "TypeError", "a base that fails ends the run"),
    ),
    *at(
        "prediction",
        "_one_part",
        (
            (
                "child = os.fork()\n"
                "if not child:\n"
                "    _trained(work, source, sink)\n"
                "_, status = os.waitpid(child, 0)\n"
                "return not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == CLOSED)"
            ),
            (
                "part = _message(source)\n"
                "if part is None:\n"
                "    return False\n"
                "with contextlib.suppress(Exception):\n"
                "    _write(sink, FOUND + work.predicted(part))\n"
                "return True"
            ),
            "members share a process and its state",
        ),
    ),
    *at(
        "prediction",
        "Work.predicted",
        ("found.shape != (len(self.points),)", "found.ndim != 1", "any number of predictions is sent"),
    ),
    *at(
        "prediction",
        "FourierFeatures.of",
        ("self.width // 2", "self.width // 4", "features of norm above 1"),
    ),
    *at(
        "prediction",
        "RandomPolynomialFeatures.of",
        ("clip_to_unit_norm(product)", "product", "random features are not clipped"),
    ),
    *at(
        "prediction",
        "UniverseFeatures.__post_init__",
        (
            "clip_to_unit_norm(axes * np.sqrt(np.maximum(values, 0.0)) @ axes.T)",
            "2 * (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T",
            "a universe's features have norm 2",
        ),
    ),
    *at(
        "prediction",
        "CellFeatures.of",
        ("clip_to_unit_norm(vectors)", "vectors", "rows are not clipped"),
    ),
    *at(
        "prediction",
        "clip_to_unit_norm",
        ("np.maximum(norms, 1.0)", "np.maximum(norms / 2, 1.0)", "rows have norm 2"),
    ),
    *at(
        "prediction",
        "StableRecipe.learner",
        ("records * unit.rows", "records", "a person's slots are one"),
    ),
    *at(
        "prediction",
        "StableRecipe.require",
        (
            "self.ordered and self.slots is None and (problem.unit.neighbours is not Neighbours.REPLACE)",
            "False and problem.unit.neighbours is not Neighbours.REPLACE",
            "streams under add",
        ),
    ),
    *at(
        "prediction",
        "StableRecipe.exact",
        (
            "problem.unit.rows_public and self.kernel.exact_for(self.features, records, points)",
            "self.kernel.exact_for(self.features, records, points)",
            "the private number of records decides for an exact kernel",
        ),
    ),
    *at(
        "prediction",
        "_forms",
        ("problem.points * recipe.releases", "problem.points", "the first release is paid alone"),
    ),
    *at(
        "prediction",
        "least_spread",
        ("plan is not None and plan.epsilon <= wanted.budget.epsilon", "plan is not None", "plans above the budget"),
    ),
    *at(
        "prediction",
        "_extra_shares",
        ("1 - sum(counting.values(), Fraction(0))", "Fraction(2)", "tuning takes twice its share"),
    ),
    *at(
        "prediction",
        "_planned",
        (
            "VotesForm(count=1).event(tuning, better_selection(budget))",
            "VotesForm(count=1).event(tuning.times(Fraction(1, 2)), better_selection(budget))",
            "half of tuning is paid",
        ),
    ),
    *at(
        "prediction",
        "FunctionForm.weights_event",
        ("weights_sensitivity(self.width)", "weights_sensitivity(1)", "many weights move as one"),
        ("moved ** 2", "moved", "a norm is not squared"),
    ),
    *at(
        "prediction",
        "PointsForm.event",
        ("PREDICTION ** 2", "PREDICTION", "a sensitivity is not squared"),
        ("sensitivity=PREDICTION", "sensitivity=1", "a prediction moves by one step of its grid"),
    ),
    *at(
        "prediction",
        "AveragesForm.event",
        ("averages_sensitivity(self.touched)", "averages_sensitivity(self.touched) // 2", "half of it"),
    ),
    *at(
        "prediction",
        "RandomisedVotesForm.event",
        ("sensitivity=self.touched", "sensitivity=0", "a coin is free"),
    ),
    *at(
        "prediction",
        "BoundedPlan.tuner",
        (
            "make_selection(voters, self.tuning, better_selection(self.budget))",
            "make_selection(voters, self.tuning.times(Fraction(2)), better_selection(self.budget))",
            "tuning draws at twice its price",
        ),
    ),
    *at(
        "prediction",
        "VotesForm.mechanism",
        (
            "make_selection(ensemble, price, noise)",
            "make_selection(ensemble, price.times(Fraction(2)), noise)",
            "labels are drawn at twice their price",
        ),
    ),
    *at(
        "prediction",
        "RandomisedVotesForm.mechanism",
        ("self.event(price, noise).scale", "self.event(price, noise).scale / 2", "half of a coin's noise"),
    ),
    *at(
        "prediction",
        "AveragesForm.mechanism",
        ("self.event(price, noise).scale", "self.event(price, noise).scale / 2", "half of an average's noise"),
    ),
    *at(
        "prediction",
        "PointsPlan.predictions",
        ("event.variance", "event.variance / 2", "half of a prediction's noise"),
        ("own=len(codes)", "", "an exact kernel's points are not told apart"),
    ),
    *at(
        "prediction",
        "FunctionPlan.weights",
        ("event.scale", "event.scale / 2", "half of a weight's noise"),
    ),
    *at(
        "prediction",
        "usable",
        ("min(max(records, 1), MOST_RECORDS)", "max(records, 1)", "a bought number of records beyond its bounds"),
    ),
    *at(
        "prediction",
        "PredictionPlan.counter",
        (
            "count_check(self.counting).mechanism((COUNT,), self.problem.unit, self.counting)",
            "count_check(self.counting).mechanism((COUNT,), self.problem.unit, self.price)",
            "a count at another price",
        ),
    ),
    *at(
        "prediction",
        "TuningVotes.votes",
        ("codes[:, -1] == part", "codes[:, -1] >= part", "a row teaches many parts"),
    ),
    *at(
        "prediction",
        "TuningVotes.votes",
        ("mine.sum() >= 2", "True", "an empty part is an error"),
    ),
    *at(
        "prediction",
        "CornerSolver.tolerance",
        ("self.aim + summed + self.hidden", "self.aim", "what rounding hides is not charged"),
    ),
    *at(
        "prediction",
        "CornerSolver.minimise",
        ("gap <= needed", "gap <= 100 * needed", "a gap that shows a tenth of the tolerance is enough"),
    ),
    *at(
        "prediction",
        "Centring.paired",
        ("gap + self.penalty * float(apart @ apart)", "gap", "a pair that is no pair is certified"),
    ),
    *at(
        "prediction",
        "STEPS_EACH",
        ("40", "1", "a width is left before its minimiser is near"),
    ),
    *at(
        "prediction",
        "LossScale.bounded_distance",
        ("2 * largest", "largest", "one of two losses is forgotten"),
    ),
    *at(
        "prediction",
        "PerturbedLearner.changes",
        ("self.unit.changes", "self.unit.rows", "a replaced row is one gradient"),
    ),
    *at(
        "prediction",
        "Perturbation.event",
        ("self.units * log_above(curvature)", "0 * self.units * log_above(curvature)", "a free determinant"),
    ),
    *at(
        "prediction",
        "_exact_products",
        (
            "((left * digits[:, None]).T @ right).astype(np.int64) << place",
            "((left * digits[:, None]).T @ right).astype(np.int64) << 0",
            "counts of many rows lose their upper digits",
        ),
    ),
    *at(
        "mechanisms",
        "_Closed.closing_epsilon",
        ("weights_sensitivity(self.learner.width)", "1", "closing noise costs nothing"),
    ),
    *at(
        "mechanisms",
        "PerturbedWeights.event",
        ("self.learner.units", "1", "a person is one loss"),
    ),
    *at(
        "mechanisms",
        "_Closed.wrong",
        ("self.learner.tolerance + self.shift", "self.shift", "the solver is exact"),
    ),
    *at(
        "mechanisms",
        "integers",
        ("np.trunc", "np.rint", "rounding makes a row longer"),
    ),
)
