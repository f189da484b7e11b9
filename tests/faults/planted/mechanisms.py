"""Faults of scores, selections and noisy answers: sensitivities, events, overflow bounds."""

from faults.anchored import Anchored, at

_ROOM = "mechanisms"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "scores_sensitivity",
        (
            "sensitivity(group, Norm.L1, unit)",
            "sensitivity(group, Norm.L1, PrivacyUnit(neighbours=unit.neighbours))",
            "a person's rows are not counted in",
        ),
        ("sensitivity(group, Norm.L1, unit)", "sensitivity(group, Norm.L1, _ADDED)", "the 2 of replace is forgotten"),
        (
            "sensitivity(group, Norm.L1, unit)",
            "sensitivity(group[:1], Norm.L1, unit)",
            "only the first block of a group is counted",
        ),
        ("Norm.L1", "Norm.LARGEST", "the largest answer in the place of their sum"),
        ("math.ceil", "math.floor", "rounding is taken off the sensitivity"),
        ("math.ceil(times * width)", "width", "a multiplier is forgotten"),
        (
            "max((math.ceil(times * width) for times, width in kinds), default=0)",
            "min((math.ceil(times * width) for times, width in kinds), default=0)",
            "the smallest candidate's sensitivity serves for all",
        ),
    ),
    *at(
        _ROOM,
        "BlockScores.evaluate",
        ("one - less", "one + less", "what measuring would leave is added"),
    ),
    *at(
        _ROOM,
        "largest_total",
        (
            "records * sensitivity(group, Norm.L1, _ADDED)",
            "records",
            "coefficients are forgotten in the overflow bound",
        ),
    ),
    *at(
        _ROOM,
        "refuse_large_score",
        (
            "largest_total(group, records) + expected + abs(penalty)",
            "largest_total(group, records) + expected",
            "a penalty is forgotten in the overflow bound",
        ),
        ("max(score, error)", "score", "the error's own overflow is not looked at"),
    ),
    *at(
        _ROOM,
        "fair_multipliers",
        (
            "max(1, sensitivity(group, Norm.L1, unit))",
            "1",
            "candidates do not compete by error per unit of sensitivity",
        ),
    ),
    *at(
        _ROOM,
        "BoxScores.sensitivity",
        (
            "queries_sensitivity(self.blocks, (1,) * len(self.blocks), unit) << self.bits",
            "queries_sensitivity(self.blocks, (1,) * len(self.blocks), unit)",
            "the finer grid is forgotten",
        ),
        (
            "queries_sensitivity(self.blocks, (1,) * len(self.blocks), unit)",
            "queries_sensitivity(self.blocks, (1,) * len(self.blocks), PrivacyUnit())",
            "a person's rows are not counted in",
        ),
    ),
    *at(
        _ROOM,
        "BoxScores.__post_init__",
        ("self.records << self.bits", "self.records", "the finer grid is forgotten in the overflow bound"),
    ),
    *at(
        _ROOM,
        "BoxScores.search",
        (
            "counts.marginal(self.index.axes) << self.bits",
            "counts.marginal(self.index.axes)",
            "counts and hypothesis are on two grids",
        ),
    ),
    *at(
        _ROOM,
        "box_bounds",
        ("np.abs(tensors[:, 0])", "tensors[:, 0]", "the bound of one cell has a sign"),
        ("np.maximum(rise, fall)", "rise", "a bound forgets negative boxes"),
        (
            "np.abs(tensors).sum(axis=1) + np.abs(tensors.sum(axis=1))",
            "np.abs(tensors).sum(axis=1)",
            "a bound lies below its boxes",
        ),
    ),
    *at(
        _ROOM,
        "_children",
        (
            "running[parents, stops] - running[parents, starts]",
            "running[parents, stops]",
            "a child's sums begin at the first cell",
        ),
    ),
    *at(
        _ROOM,
        "BoxSearch.candidate",
        ("self._firsts[piece] + rank", "self._firsts[piece]", "every member of a piece goes by the first one's number"),
    ),
    *at(
        _ROOM,
        "BoxSearch.score",
        ("families[self.known[pieces] > 0]", "families[:]", "bounds pass for scores"),
    ),
    *at(
        _ROOM,
        "SelectionMechanism.rate",
        (
            "2 * max(1, self.scores.sensitivity(self.unit))",
            "max(1, self.scores.sensitivity(self.unit))",
            "the 2 of a selection is forgotten",
        ),
        ("max(1, self.scores.sensitivity(self.unit))", "1", "the scores' sensitivity is forgotten"),
        ("self.unit", "PrivacyUnit()", "the unit is forgotten"),
    ),
    *at(
        _ROOM,
        "ExponentialChoice.event",
        ("self.epsilon", "self.epsilon / 2", "the event states half of what was drawn"),
    ),
    *at(
        _ROOM,
        "ExponentialChoice.sample",
        (
            "search_exponential(self.scores.search(value), self.rate, noise)",
            "search_exponential(self.scores.search(value), 2 * self.rate, noise)",
            "a searched draw takes twice the rate",
        ),
    ),
    *at(
        _ROOM,
        "GroupErrors.changes",
        ("1 if self.largest else len(group)", "1", "a sum moves like one error"),
    ),
    *at(
        _ROOM,
        "GaussianErrors.event",
        ("sum((change * change for change in self.errors.changes))", "max(self.errors.changes)", "squares"),
    ),
    *at(
        _ROOM,
        "GroupErrors.evaluate",
        ("error_unit(block, self.unit)", "1 or error_unit(block, self.unit)", "an error moves by more than its unit"),
    ),
    *at(
        _ROOM,
        "CEILING",
        ("2 ** 62", "2 ** 63", "differences of scores can overflow"),
    ),
    *at(
        _ROOM,
        "largest_answer",
        ("records * block.largest_coefficient", "records", "coefficients are forgotten in the overflow bound"),
    ),
    *at(
        _ROOM,
        "refuse_beyond",
        ("bound >= CEILING", "bound > CEILING", "the ceiling itself is let in"),
    ),
    *at(
        _ROOM,
        "refuse_noise",
        (
            "not 0 < parameter <= largest or parameter < smallest",
            "not 0 < parameter <= largest and parameter < smallest",
            "noise out of range is let in",
        ),
    ),
    *at(
        _ROOM,
        "LaplaceAnswers.event",
        ("Norm.L1", "Norm.LARGEST", "the largest answer in the place of their sum"),
    ),
    *at(
        _ROOM,
        "answers_sensitivity",
        (
            "sensitivity(blocks, norm, unit)",
            "sensitivity(blocks, norm, PrivacyUnit(neighbours=unit.neighbours))",
            "a person's rows are not counted in",
        ),
        ("sensitivity(blocks, norm, unit)", "sensitivity(blocks[:1], norm, unit)", "only the first block is counted"),
        (
            "sensitivity(blocks, norm, unit)",
            "sensitivity(blocks, norm, PrivacyUnit(column=unit.column, rows=unit.rows))",
            "the 2 of replace is forgotten",
        ),
    ),
    *at(
        _ROOM,
        "_measured",
        (
            "law.sample(sum((block.rows for block in blocks)), noise)",
            "np.repeat(law.sample(1, noise), sum((block.rows for block in blocks)))",
            "one draw is shared by all answers",
        ),
        (
            "block.answer(counts) + piece",
            "block.answer(counts) + np.resize(pieces[0], block.rows)",
            "every block gets the first one's noise",
        ),
        ("block.answer(counts) + piece", "block.answer(counts) + 0 * piece", "answers are exact"),
    ),
    *at(
        _ROOM,
        "LaplaceAnswers.law",
        ("self.scale", "self.scale * Fraction(9, 10)", "0.9 of the stated scale is drawn"),
    ),
    *at(
        _ROOM,
        "gaussian_law",
        (
            "DiscreteGaussian(variance)",
            "DiscreteGaussian(variance * Fraction(9, 10))",
            "0.9 of the stated variance is drawn",
        ),
    ),
    *at(
        _ROOM,
        "PermuteAndFlipChoice.event",
        ("self.epsilon", "self.epsilon / 2", "the event states half of what was drawn"),
    ),
    *at(
        _ROOM,
        "PermuteAndFlipChoice.sample",
        (
            "search_permute_and_flip(self.scores.search(value), self.rate, noise)",
            "search_permute_and_flip(self.scores.search(value), 2 * self.rate, noise)",
            "a searched draw takes twice the rate",
        ),
    ),
    *at(
        _ROOM,
        "queries_sensitivity",
        (
            "sensitivity((block,), Norm.LARGEST, unit)",
            "sensitivity((block,), Norm.LARGEST, PrivacyUnit(neighbours=unit.neighbours))",
            "a person's rows are not counted in",
        ),
        (
            "sensitivity((block,), Norm.LARGEST, unit)",
            "sensitivity((block,), Norm.LARGEST, PrivacyUnit(column=unit.column, rows=unit.rows))",
            "replace moves a score by no more than a record that comes",
        ),
        (
            "ratio * sensitivity((block,), Norm.LARGEST, unit)",
            "sensitivity((block,), Norm.LARGEST, unit)",
            "the common grid is forgotten",
        ),
        (
            "max((ratio * sensitivity((block,), Norm.LARGEST, unit) for block, ratio in pairs), default=0)",
            "min((ratio * sensitivity((block,), Norm.LARGEST, unit) for block, ratio in pairs), default=0)",
            "the smallest block's sensitivity serves for all",
        ),
    ),
    *at(
        _ROOM,
        "QueryScores.evaluate",
        (
            "counts.cached(self.blocks, answers)",
            "counts.cached(len(self.blocks), answers)",
            "other blocks' answers are found in the cache",
        ),
    ),
    *at(
        _ROOM,
        "QueryScores.__post_init__",
        (
            "largest + int(np.abs(self.expected).max(initial=0))",
            "largest",
            "expected answers are forgotten in the overflow bound",
        ),
    ),
    *at(
        _ROOM,
        "_largest",
        (
            "ratio * largest_answer(block, records)",
            "largest_answer(block, records)",
            "the common grid is forgotten in the overflow bound",
        ),
    ),
    *at(
        _ROOM,
        "fair_ratios",
        ("RESOLUTION * share", "share", "ratios of unlike blocks are all alike"),
    ),
)
