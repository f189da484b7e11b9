"""Faults of normal pulls, of kernels' processes, and of third parties' losses and learners."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "kernel/accountants/analytic.py",
        ("alone = len(normal) == 1 and ", "alone = ", "a second draw beside an objective is free"),
        ("smallest(rho, delta, event.changes, ", "smallest(rho, delta, 1, ", "a replaced record counts as one"),
        ("event.changes * log_above(event.curvature)", "0 * log_above(event.curvature)", "a free determinant"),
        ("paid + event.closing\n", "paid\n", "closing noise is free"),
        ("event.tapered and event.changes == 1", "event.tapered", "a replaced record's determinant is free"),
        ("if event.tapered and", "if", "any corner's determinant is free"),
        ("curvature * (1 - free / curvature) ** 2 if", "0 * curvature if", "any curvature of a tapered loss is free"),
        ("* (epsilon - opposite * rho) / 4", "* epsilon / 2", "twice the curvature is free"),
        ("(comb(changes, full), full +", "(1, full +", "one of many sets is counted"),
        ("curve(size**2 * rho", "curve(size * rho", "a set's mu grows with the root of its size"),
        ("for full in range(changes + 1)", "for full in range(changes, changes + 1)", "smaller sets are forgotten"),
        ("(changes - full) * opposite", "(changes - full) * 0", "slopes of the other sign are free"),
    ),
    *planted_in(
        "kernel/accountants/losses.py",
        ("return event.changes**2 * one", "return event.changes * one", "rho of a group grows with its size"),
        ("+ event.opposite**2) + event.curvature", "+ event.opposite**2)", "a determinant has no rho"),
        ("pull * (1 + event.opposite**2)", "pull", "slopes of the other sign have no rho"),
    ),
    *planted_in(
        "kernel/accountants/accountant.py",
        ("draw if isinstance(draw, GaussianObjectiveEvent) else type(draw)", "type(draw)", "a cheaper rho passes"),
    ),
    *planted_in(
        "prediction/perturbed_functions.py",
        ("self.learner.gradient / self.learner.changes", "self.learner.gradient / self.learner.changes / 2", "half"),
        ("changes=self.learner.changes", "changes=1", "a replaced record, or a person, counts as one"),
        ("squared_sensitivity=SENSITIVITY**2", "squared_sensitivity=SENSITIVITY", "a norm is not squared"),
        (
            "RoundedGaussian(self.variance).sample(self.learner.width, noise)",
            "RoundedGaussian(self.variance).sample(1, noise)",
            "one normal draw is shared by all coordinates",
        ),
    ),
    *planted_in(
        "prediction/perturbation.py",
        ("(epsilon - closing - paid, self", "(epsilon - closing, self", "a normal pull too large"),
        (
            "(epsilon - closing - paid, self.delta, self.changes,",
            "(epsilon, self.delta, 1,",
            "a group is one",
        ),
    ),
    *planted_in(
        "prediction/learners/perturbed.py",
        ("return self.loss.opposite / self.loss.lipschitz\n", "return Fraction(0)\n", "one sign is forgotten"),
    ),
    *planted_in(
        "prediction/learners/losses.py",
        ("return min(self.tau, 1 - self.tau)", "return Fraction(0)", "a quantile loss slopes one way"),
    ),
    *planted_in(
        "prediction/plan.py",
        ("(axes / roots) @ axes.T", "(axes / roots**0.5) @ axes.T", "coordinates of another norm"),
        ("max(NUGGET, 2 *", "max(0 * NUGGET, 0 *", "no nugget"),
        ("learner.solver.tolerance + wrong", "wrong", "the solver is exact"),
        ("return np.rint(self._root @ noisy)", "return np.rint(self._whitening @ noisy)", "values do not come back"),
    ),
    *planted_in(
        "prediction/third_party.py",
        ("np.abs(slopes) > steepest", "np.abs(slopes) > 2 * steepest", "slopes of twice the constant pass"),
        ("rises > (sharpest * steps", "rises > (2 * sharpest * steps", "twice the smoothness passes"),
        ("rises < -SLACK * steepest", "rises < -steepest", "losses that are not convex pass"),
        ("(gains < below) | (gains > above)", "(gains < below) & (gains > above)", "slopes of another loss pass"),
    ),
    *planted_in(
        "prediction/third_party.py",
        ("trusted=name in trust", "trusted=True", "third parties need no trust"),
        ("    for fault in loss_faults(loss):\n", "    for fault in ():\n", "stated constants are not tried"),
    ),
)
