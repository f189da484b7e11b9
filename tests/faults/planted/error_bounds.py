"""Faults of what is bought of errors: sensitivities that forget a factor, bounds that hold too seldom."""

from faults.anchored import Anchored, at

FAULTS: tuple[Anchored, ...] = (
    *at(
        "mechanisms",
        "error_unit",
        ("Norm.L1", "Norm.LARGEST", "a block's error moves as its largest answer does"),
    ),
    *at(
        "mechanisms",
        "GroupErrors.changes",
        ("FINENESS * (1 if self.largest else len(group))", "FINENESS", "a sum of errors moves as one of them does"),
        (
            "FINENESS * (1 if self.largest else len(group))",
            "1 if self.largest else len(group)",
            "the fineness of errors is no factor of their sensitivity",
        ),
    ),
    *at(
        "mechanisms",
        "LaplaceErrors.event",
        ("sum(self.errors.changes)", "max(self.errors.changes)", "one record moves the errors of one group alone"),
    ),
    *at(
        "mechanisms",
        "GaussianErrors.event",
        (
            "(change * change for change in self.errors.changes)",
            "self.errors.changes",
            "a squared sensitivity adds up what is not squared",
        ),
    ),
    *at(
        "mechanisms",
        "noisy_errors",
        ("sum(errors.changes)", "max(errors.changes)", "noise for one group serves all"),
        ("2 * price.concentrated", "4 * price.concentrated", "half of the variance that a price buys"),
    ),
    *at(
        "mechanisms",
        "GroupErrors.evaluate",
        (
            "self.by_block(apart) // np.array([error_unit(block, self.unit) for block in blocks], dtype=np.int64)",
            "self.by_block(apart)",
            "errors are not divided by what one record moves",
        ),
        (
            "np.maximum if self.largest else np.add",
            "np.add",
            "the largest error of a group is a sum with the noise of one",
        ),
    ),
    *at(
        "mechanisms",
        "LaplaceErrors.__post_init__",
        (
            "refuse_noise(self.scale, LARGEST_SCALE, 'a scale of')",
            "(self.scale, LARGEST_SCALE, 'a scale of')",
            "any scale is drawn",
        ),
    ),
    *at(
        "release",
        "_each",
        ("beta / len(drawn.values)", "beta", "bounds of all blocks hold one at a time"),
        ("int(value) + tail", "int(value)", "a block's bound has no tail"),
    ),
    *at(
        "release",
        "_mean",
        ("int(drawn.values.sum()) + spread", "int(drawn.values.sum())", "the mean's bound has no tail"),
    ),
    *at(
        "release",
        "error_bounds",
        (
            "mean / problem.n if problem.n and problem.unit.rows_public else None",
            "mean / sum(map(float, estimates[errors.sums.errors.blocks[0].name]))",
            "a fraction of a number of records that nobody stated",
        ),
    ),
    *at(
        "strategies",
        "_plan_with_errors",
        (
            "2 if split.bounds and price.epsilon is not None else 1",
            "1 if price.epsilon is not None else 2",
            "two draws where one was planned, and one where two are drawn",
        ),
    ),
    *at(
        "strategies",
        "_errors_event",
        (
            "problem.workload.blocks",
            "problem.workload.blocks[:1]",
            "the errors of all blocks are planned as those of the first",
        ),
    ),
    *at(
        "strategies",
        "_reserve",
        ("1 - share", "2", "a share is another part of the budget"),
    ),
)
