"""Faults of normal pulls, of kernels' processes, and of third parties' losses and learners."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "kernel",
        "_together",
        (
            "len(normal) == 1 and objectives[0][1] == 1 and delta",
            "objectives[0][1] == 1 and delta",
            "a second draw beside an objective is free",
        ),
    ),
    *at(
        "kernel",
        "_of_objective",
        (
            "smallest(rho, delta, event.changes, event.opposite)",
            "smallest(rho, delta, 1, event.opposite)",
            "a replaced record counts as one",
        ),
        ("event.changes * log_above(event.curvature)", "0 * log_above(event.curvature)", "a free determinant"),
        ("pull + paid + event.closing", "pull + paid", "closing noise is free"),
        ("event.tapered and event.changes == 1", "event.tapered", "a replaced record's determinant is free"),
        ("event.tapered and event.changes == 1", "event.changes == 1", "any corner's determinant is free"),
    ),
    *at(
        "kernel",
        "tapered_price",
        ("curvature * (1 - free / curvature) ** 2", "0 * curvature", "any curvature of a tapered loss is free"),
    ),
    *at(
        "kernel",
        "free_curvature",
        (
            "(1 + opposite) * (epsilon - opposite * rho) / 4",
            "(1 + opposite) * epsilon / 2",
            "twice the curvature is free",
        ),
    ),
    *at(
        "kernel",
        "sum_curves",
        ("comb(changes, full)", "1", "one of many sets is counted"),
        ("size ** 2", "size", "a set's mu grows with the root of its size"),
        ("range(changes + 1)", "range(changes, changes + 1)", "smaller sets are forgotten"),
        ("(changes - full) * opposite", "(changes - full) * 0", "slopes of the other sign are free"),
    ),
    *at(
        "kernel",
        "_gaussian_objective_rho",
        ("event.changes ** 2", "event.changes", "rho of a group grows with its size"),
        (
            "pull * (1 + event.opposite ** 2) + event.curvature",
            "pull * (1 + event.opposite ** 2)",
            "a determinant has no rho",
        ),
        ("pull * (1 + event.opposite ** 2)", "pull", "slopes of the other sign have no rho"),
    ),
    *at(
        "kernel",
        "_kinds",
        ("draw if isinstance(draw, GaussianObjectiveEvent) else type(draw)", "type(draw)", "a cheaper rho passes"),
    ),
    *at(
        "mechanisms",
        "GaussianPerturbedWeights.unit",
        ("self.learner.gradient / self.learner.changes", "self.learner.gradient / self.learner.changes / 2", "half"),
    ),
    *at(
        "mechanisms",
        "GaussianPerturbedWeights.event",
        ("self.learner.changes", "1", "a replaced record, or a person, counts as one"),
        ("SENSITIVITY ** 2", "SENSITIVITY", "a norm is not squared"),
    ),
    *at(
        "mechanisms",
        "GaussianPerturbedWeights.sample",
        ("self.learner.width", "1", "one normal draw is shared by all coordinates"),
    ),
    *at(
        "prediction",
        "Perturbation.gaussian_event",
        (
            "most_rho(epsilon - closing - paid, self.delta, self.changes, opposite)",
            "most_rho(epsilon - closing, self.delta, self.changes, opposite)",
            "a normal pull too large",
        ),
        (
            "most_rho(epsilon - closing - paid, self.delta, self.changes, opposite)",
            "most_rho(epsilon, self.delta, 1, opposite)",
            "a group is one",
        ),
    ),
    *at(
        "prediction",
        "Pinball.opposite",
        ("min(self.tau, 1 - self.tau)", "Fraction(0)", "a quantile loss slopes one way"),
    ),
    *at(
        "prediction",
        "KernelProcess.__post_init__",
        ("axes / roots", "axes / roots ** 0.5", "coordinates of another norm"),
        (
            "max(NUGGET, 2 * (count * learner.entry + 8 * count ** 2 * ULP))",
            "max(0 * NUGGET, 0 * (count * learner.entry + 8 * count ** 2 * ULP))",
            "no nugget",
        ),
        ("learner.solver.tolerance + wrong", "wrong", "the solver is exact"),
    ),
    *at(
        "prediction",
        "_at",
        ("steepest * (1 + SLACK)", "2 * steepest * (1 + SLACK)", "slopes of twice the constant pass"),
        ("sharpest * steps", "2 * sharpest * steps", "twice the smoothness passes"),
        ("-SLACK * steepest", "-steepest", "losses that are not convex pass"),
        ("(gains < below) | (gains > above)", "(gains < below) & (gains > above)", "slopes of another loss pass"),
    ),
    *at(
        "prediction",
        "read_third_party",
        ("name in trust", "True", "third parties need no trust"),
    ),
    *at(
        "prediction",
        "read_third_party",
        ("loss_faults(made)", "()", "stated constants are not tried"),
    ),
)
