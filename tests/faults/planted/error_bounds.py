"""Faults of what is bought of errors: sensitivities that forget a factor, bounds that hold too seldom."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "mechanisms/block_errors.py",
        (
            "return max(1, sensitivity((block,), Norm.L1, unit))",
            "return max(1, sensitivity((block,), Norm.LARGEST, unit))",
            "a block's error moves as its largest answer does",
        ),
        (
            "FINENESS * (1 if self.largest else len(group)) for group",
            "FINENESS for group",
            "a sum of errors moves as one of them does",
        ),
        (
            "FINENESS * (1 if self.largest else len(group)) for group",
            "(1 if self.largest else len(group)) for group",
            "the fineness of errors is no factor of their sensitivity",
        ),
        (
            "DiscreteLaplaceEvent(sensitivity=sum(self.errors.changes), scale",
            "DiscreteLaplaceEvent(sensitivity=max(self.errors.changes), scale",
            "one record moves the errors of one group alone",
        ),
        (
            "gaussian_event(self.law, sum(change * change for change in self.errors.changes))",
            "gaussian_event(self.law, sum(self.errors.changes))",
            "a squared sensitivity adds up what is not squared",
        ),
        (
            "scale=Fraction(sum(errors.changes)) / price.pure",
            "scale=Fraction(max(errors.changes)) / price.pure",
            "noise for one group serves all",
        ),
        (
            "variance = Fraction(squared) / (2 * price.concentrated)",
            "variance = Fraction(squared) / (4 * price.concentrated)",
            "half of the variance that a price buys",
        ),
        (
            " // np.array([error_unit(block, self.unit) for block in blocks], dtype=np.int64)\n",
            "\n",
            "errors are not divided by what one record moves",
        ),
        (
            "together = np.maximum if self.largest else np.add",
            "together = np.add",
            "the largest error of a group is a sum with the noise of one",
        ),
        ("        refuse_noise(self.scale, LARGEST_SCALE", "        (self.scale, LARGEST_SCALE", "any scale is drawn"),
    ),
    *planted_in(
        "releases/error_bounds.py",
        (
            "drawn.law.tail(beta / len(drawn.values))",
            "drawn.law.tail(beta)",
            "bounds of all blocks hold one at a time",
        ),
        ("most = max(0, int(value) + tail)", "most = max(0, int(value))", "a block's bound has no tail"),
        (" + apart[block.name]\n", "\n", "what rounding moved the answers is no error"),
        ("int(drawn.values.sum()) + spread)", "int(drawn.values.sum()))", "the mean's bound has no tail"),
        (
            "mean / problem.n if problem.n and problem.unit.rows_public else None",
            "mean / sum(map(float, estimates[errors.sums.errors.blocks[0].name]))",
            "a fraction of a number of records that nobody stated",
        ),
    ),
    *planted_in(
        "strategies/schedules/error_bars.py",
        (
            "count = 2 if price.epsilon is not None else 1",
            "count = 1 if price.epsilon is not None else 2",
            "two draws where one was planned, and one where two are drawn",
        ),
        (
            "groups = tuple((block,) for block in problem.workload.blocks)",
            "groups = tuple((block,) for block in problem.workload.blocks[:1])",
            "the errors of all blocks are planned as those of the first",
        ),
    ),
    *planted_in(
        "strategies/schedules/parts.py",
        ("    odds = share / (1 - share)\n", "    odds = share / 2\n", "a share is another part of the budget"),
    ),
)
