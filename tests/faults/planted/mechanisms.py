"""Faults of scores, selections and noisy answers: sensitivities, events, overflow bounds."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "mechanisms/selection.py",
        (
            "(times, sensitivity(group, Norm.L1, unit))",
            "(times, sensitivity(group, Norm.L1, PrivacyUnit(neighbours=unit.neighbours)))",
            "a person's rows are not counted in",
        ),
        (
            "(times, sensitivity(group, Norm.L1, unit))",
            "(times, sensitivity(group, Norm.L1, _ADDED))",
            "the 2 of replace is forgotten",
        ),
        (
            "(times, sensitivity(group, Norm.L1, unit))",
            "(times, sensitivity(group[:1], Norm.L1, unit))",
            "only the first block of a group is counted",
        ),
        (
            "(times, sensitivity(group, Norm.L1, unit))",
            "(times, sensitivity(group, Norm.LARGEST, unit))",
            "the largest answer in the place of their sum",
        ),
        ("(math.ceil(times * width) for", "(math.floor(times * width) for", "rounding is taken off the sensitivity"),
        ("(math.ceil(times * width) for", "(width for", "a multiplier is forgotten"),
        ("return max((math.ceil", "return min((math.ceil", "the smallest candidate's sensitivity serves for all"),
        ("times.numerator * (one - less)", "times.numerator * (one + less)", "what measuring would leave is added"),
        (
            "return records * sensitivity(group, Norm.L1, _ADDED)",
            "return records",
            "coefficients are forgotten in the overflow bound",
        ),
        ("+ expected + abs(penalty)", "+ expected", "a penalty is forgotten in the overflow bound"),
        ("refuse_beyond(max(score, error) + 1", "refuse_beyond(score + 1", "the error's own overflow is not looked at"),
        (
            "(max(block.weight for block in group), max(1, sensitivity(group, Norm.L1, unit)))",
            "(max(block.weight for block in group), 1)",
            "candidates do not compete by error per unit of sensitivity",
        ),
    ),
    *planted_in(
        "mechanisms/box_scores.py",
        ("self.blocks), unit) << self.bits", "self.blocks), unit)", "the finer grid is forgotten"),
        (
            "queries_sensitivity(self.blocks, (1,) * len(self.blocks), unit)",
            "queries_sensitivity(self.blocks, (1,) * len(self.blocks), PrivacyUnit())",
            "a person's rows are not counted in",
        ),
        (
            "(self.records << self.bits) + int",
            "self.records + int",
            "the finer grid is forgotten in the overflow bound",
        ),
        (
            "(counts.marginal(self.index.axes) << self.bits)",
            "counts.marginal(self.index.axes)",
            "counts and hypothesis are on two grids",
        ),
    ),
    *planted_in(
        "mechanisms/box_scores.py",
        ("return np.abs(tensors[:, 0])", "return tensors[:, 0]", "the bound of one cell has a sign"),
        ("np.maximum(rise, fall)", "rise", "a bound forgets negative boxes"),
        (
            "(np.abs(tensors).sum(axis=1) + np.abs(tensors.sum(axis=1))) // 2",
            "np.abs(tensors).sum(axis=1) // 2",
            "a bound lies below its boxes",
        ),
        (
            "running[parents, stops] - running[parents, starts]",
            "running[parents, stops]",
            "a child's sums begin at the first cell",
        ),
        (
            ".order[self._firsts[piece] + rank])",
            ".order[self._firsts[piece]])",
            "every member of a piece goes by the first one's number",
        ),
        ("families[self.known[pieces] > 0] = -1", "families[:] = -1", "bounds pass for scores"),
    ),
    *planted_in(
        "mechanisms/selection.py",
        (
            "epsilon / (2 * max(1, self.scores.sensitivity(self.unit)))",
            "epsilon / max(1, self.scores.sensitivity(self.unit))",
            "the 2 of a selection is forgotten",
        ),
        ("max(1, self.scores.sensitivity(self.unit))", "1", "the scores' sensitivity is forgotten"),
        (
            "ExponentialEvent(epsilon=self.epsilon)",
            "ExponentialEvent(epsilon=self.epsilon / 2)",
            "the event states half of what was drawn",
        ),
        (
            "search_exponential(self.scores.search(value), self.rate, noise)",
            "search_exponential(self.scores.search(value), 2 * self.rate, noise)",
            "a searched draw takes twice the rate",
        ),
    ),
    *planted_in(
        "mechanisms/block_errors.py",
        ("(1 if self.largest else len(group))", "1", "a sum moves like one error"),
        (
            "gaussian_event(self.law, sum(change * change for change in self.errors.changes))",
            "gaussian_event(self.law, max(self.errors.changes))",
            "squares",
        ),
        (" // np.array([error_unit", " // np.array([1 or error_unit", "an error moves by more than its unit"),
    ),
    *planted_in(
        "mechanisms/noisy_answers.py",
        ("CEILING = 2**62", "CEILING = 2**63", "differences of scores can overflow"),
        (
            "return records * block.largest_coefficient",
            "return records",
            "coefficients are forgotten in the overflow bound",
        ),
        ("if bound >= CEILING:", "if bound > CEILING:", "the ceiling itself is let in"),
        ("or parameter < smallest:", "and parameter < smallest:", "noise out of range is let in"),
    ),
    *planted_in(
        "mechanisms/noisy_answers.py",
        (
            "answers_sensitivity(self.blocks, Norm.L1, self.unit)",
            "answers_sensitivity(self.blocks, Norm.LARGEST, self.unit)",
            "the largest answer in the place of their sum",
        ),
        (
            "answers_sensitivity(self.blocks, Norm.L2_SQUARED, self.unit)",
            "answers_sensitivity(self.blocks, Norm.L1, self.unit)",
            "squares are forgotten",
        ),
        (
            "max(1, sensitivity(blocks, norm, unit))",
            "max(1, sensitivity(blocks, norm, PrivacyUnit(neighbours=unit.neighbours)))",
            "a person's rows are not counted in",
        ),
        (
            "max(1, sensitivity(blocks, norm, unit))",
            "max(1, sensitivity(blocks[:1], norm, unit))",
            "only the first block is counted",
        ),
        (
            "max(1, sensitivity(blocks, norm, unit))",
            "max(1, sensitivity(blocks, norm, PrivacyUnit(column=unit.column, rows=unit.rows)))",
            "the 2 of replace is forgotten",
        ),
        (
            "alone = sum(block.rows for block in self.blocks) == 1",
            "alone = len(self.blocks) == 1",
            "a block's rows are charged as one coordinate",
        ),
        (
            "draws = law.sample(sum(block.rows for block in blocks), noise)",
            "draws = np.repeat(law.sample(1, noise), sum(block.rows for block in blocks))",
            "one draw is shared by all answers",
        ),
        (
            "block.answer(counts) + piece for",
            "block.answer(counts) + np.resize(pieces[0], block.rows) for",
            "every block gets the first one's noise",
        ),
        ("block.answer(counts) + piece for", "block.answer(counts) + 0 * piece for", "answers are exact"),
        (
            "return DiscreteLaplace(self.scale)",
            "return DiscreteLaplace(self.scale * Fraction(9, 10))",
            "0.9 of the stated scale is drawn",
        ),
        (
            "else DiscreteGaussian(variance)",
            "else DiscreteGaussian(variance * Fraction(9, 10))",
            "0.9 of the stated variance is drawn",
        ),
    ),
    *planted_in(
        "mechanisms/selection.py",
        (
            "PermuteAndFlipEvent(epsilon=self.epsilon)",
            "PermuteAndFlipEvent(epsilon=self.epsilon / 2)",
            "the event states half of what was drawn",
        ),
        (
            "self.scores.sensitivity(self.unit)",
            "self.scores.sensitivity(PrivacyUnit())",
            "the unit is forgotten",
        ),
        (
            "search_permute_and_flip(self.scores.search(value), self.rate, noise)",
            "search_permute_and_flip(self.scores.search(value), 2 * self.rate, noise)",
            "a searched draw takes twice the rate",
        ),
    ),
    *planted_in(
        "mechanisms/selection.py",
        (
            "ratio * sensitivity((block,), Norm.LARGEST, unit) for",
            "ratio * sensitivity((block,), Norm.LARGEST, PrivacyUnit(neighbours=unit.neighbours)) for",
            "a person's rows are not counted in",
        ),
        (
            "ratio * sensitivity((block,), Norm.LARGEST, unit) for",
            "ratio * sensitivity((block,), Norm.LARGEST, PrivacyUnit(column=unit.column, rows=unit.rows)) for",
            "replace moves a score by no more than a record that comes",
        ),
        (
            "ratio * sensitivity((block,), Norm.LARGEST, unit) for",
            "sensitivity((block,), Norm.LARGEST, unit) for",
            "the common grid is forgotten",
        ),
        (
            "return max((ratio * sensitivity",
            "return min((ratio * sensitivity",
            "the smallest block's sensitivity serves for all",
        ),
        (
            "counts.cached(self.blocks, lambda",
            "counts.cached(len(self.blocks), lambda",
            "other blocks' answers are found in the cache",
        ),
        (
            "refuse_beyond(largest + int(np.abs(self.expected).max(initial=0)), name",
            "refuse_beyond(largest, name",
            "expected answers are forgotten in the overflow bound",
        ),
        (
            "reached = [ratio * largest_answer(block, records)",
            "reached = [largest_answer(block, records)",
            "the common grid is forgotten in the overflow bound",
        ),
        (
            "return tuple(max(1, round(RESOLUTION * share / most)) for share in shares)",
            "return tuple(max(1, round(share / most)) for share in shares)",
            "ratios of unlike blocks are all alike",
        ),
    ),
)
