"""Faults of the theorems that look at a whole curve, and of the arithmetic and searches below them."""

from faults.anchored import Anchored, at

_ROOM = "kernel"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "curve",
        ("2 * rho", "rho", "mu is too small by sqrt(2)"),
        (
            "here - loss.exp() * upper_tail(far) + MARGIN * here",
            "here - loss.exp() * upper_tail(far) - MARGIN * here",
            "the margin is taken off instead of added",
        ),
        ("weight * (1 - pull)", "weight * (1 - pull) / 2", "the curve is halved"),
        (
            "math.ceil((draws - epsilon / step) / 2) - 1",
            "math.ceil((draws - epsilon / step) / 2) - 2",
            "the curve drops its last term",
        ),
        (
            "delta * (1 + RELATIVE_MARGIN) + ABSOLUTE_MARGIN",
            "delta * (1 + RELATIVE_MARGIN) - ABSOLUTE_MARGIN",
            "the margin is taken off",
        ),
        ("1 + RELATIVE_MARGIN", "1 - RELATIVE_MARGIN", "the curve is rounded down"),
    ),
    *at(
        _ROOM,
        "_together",
        (
            "total(losses) + smallest(rho, delta)",
            "max(total(losses), smallest(rho, delta))",
            "pure draws beside Gaussian noise are free",
        ),
        ("total_rho(normal)", "total_rho(normal[:1])", "the first Gaussian draw stands for all"),
    ),
    *at(
        _ROOM,
        "Analytic.cut",
        (
            "most_rho(together * unit, budget.delta) / together",
            "most_rho(together * unit, budget.delta)",
            "each Gaussian portion gets the rho of all",
        ),
    ),
    *at(
        _ROOM,
        "upper_tail",
        ("1 - upper_tail(-x)", "upper_tail(-x)", "the left tail is taken for the right"),
    ),
    *at(
        _ROOM,
        "LEVELS",
        ("120", "20", "the fraction of the tail ends early"),
    ),
    *at(
        _ROOM,
        "NEGLIGIBLE",
        ("'1e-62'", "'1e-20'", "the series of the tail ends early"),
    ),
    *at(
        _ROOM,
        "optimal_epsilon",
        (
            "max((epsilon for epsilon, count in losses if count))",
            "min((epsilon for epsilon, count in losses if count))",
            "unequal draws are priced as the cheapest",
        ),
        ("sum((count for epsilon, count in losses if epsilon))", "len(losses)", "repeated draws count once"),
    ),
    *at(
        _ROOM,
        "TRUNCATION",
        ("'1e-18'", "'1e-3'", "the curve is cut off early"),
    ),
    *at(
        _ROOM,
        "Optimal.cut.fits",
        ("(step, draws)", "(step, 1)", "very many draws are cut as one"),
    ),
    *at(
        _ROOM,
        "PurePair.losses",
        ("[honest, honest - loss[0]]", "[honest - loss[0], honest]", "a pair's losses change places"),
    ),
    *at(
        _ROOM,
        "_on_grid",
        (
            "np.clip(np.expm1(-above) / np.expm1(-step) + slack, 0.0, 1.0)",
            "np.zeros_like(above)",
            "losses are rounded down to the grid",
        ),
        (
            "np.expm1(-above) / np.expm1(-step) + slack",
            "np.expm1(-above) / np.expm1(-step) - slack",
            "a share is rounded down",
        ),
    ),
    *at(
        _ROOM,
        "_of_laplace",
        ("event.sensitivity / event.scale", "1 / event.scale", "the pair of Laplace noise forgets its sensitivity"),
        (
            "event.coordinates == 1 and 1 < event.sensitivity <= MOST_SHIFT",
            "1 < event.sensitivity <= MOST_SHIFT",
            "noise on several integers counts as noise on one",
        ),
    ),
    *at(
        _ROOM,
        "_of_exponential",
        ("event.epsilon", "event.epsilon / 2", "a selection counts half"),
    ),
    *at(
        _ROOM,
        "RangedPair.losses",
        ("math.ceil", "math.floor", "a range is rounded down to the grid"),
        ("[0, -1]", "[-1]", "the worst loss of a range is halved alone"),
        ("step / 2", "step", "the density of a range is another one"),
    ),
    *at(
        _ROOM,
        "GaussianPair.mu",
        ("self.squared_mu", "self.squared_mu / 2", "normal noise counts half"),
    ),
    *at(
        _ROOM,
        "GaussianPair.losses",
        ("np.expm1(-above) / np.expm1(-step)", "np.zeros_like(above)", "normal losses are rounded down to the grid"),
    ),
    *at(
        _ROOM,
        "AdaptiveChoices.__post_init__",
        ("range(self.count)", "range(1)", "choices after the first cost nothing"),
    ),
    *at(
        _ROOM,
        "AdaptiveChoices.delta",
        ("below - places * step", "below + places * step", "losses of normal noise are gains"),
        ("below - places * step", "below", "normal noise costs nothing beside choices"),
    ),
    *at(
        _ROOM,
        "_worst",
        ("np.maximum(best, found, out=best)", "np.copyto(best, found)", "the last range is taken for the worst one"),
        (
            "best + excess * (math.exp(steps * step) / whole / math.expm1(step))",
            "best",
            "ranges between points of the grid are left out",
        ),
    ),
    *at(
        _ROOM,
        "AdaptiveChoices._at",
        (
            "self._values[left] + np.clip(share, 0.0, 1.0) * (self._values[left + 1] - self._values[left])",
            ("self._values[left + 1] + 0 * np.clip(share, 0.0, 1.0) * (self._values[left + 1] - self._values[left])"),
            "the curve is rounded down to the grid",
        ),
    ),
    *at(
        _ROOM,
        "_convolved",
        ("law.lowest * count", "law.lowest", "sums of losses start too high or low"),
        ("log_mass * count", "log_mass", "repeated draws are tilted back once"),
        ("transforms + 2 * len(laws) * TRUNCATED", "transforms", "what was truncated is no error"),
    ),
    *at(
        _ROOM,
        "LossSum.delta",
        ("mass + self.error * math.exp(_log_peak(self.tilt))", "mass", "the error of the transform is left out"),
        ("self.tilted[first:] * -np.expm1(-above)", "self.tilted[first:] * -np.expm1(-above) / 2", "delta is halved"),
        (
            "math.ceil(below / self.step) - self.lowest",
            "math.ceil(below / self.step) - self.lowest + 9",
            "losses just above epsilon are left out",
        ),
    ),
    *at(
        _ROOM,
        "grid_step",
        ("not 0 < COARSEST * Fraction(step) <= smallest", "False", "a coarse grid is not noticed"),
    ),
    *at(
        _ROOM,
        "compose_losses",
        (
            "draws > MOST_DRAWS or 20 * spread + longest > MOST_CELLS",
            "20 * spread + longest > MOST_CELLS",
            "more draws than the error bound covers",
        ),
    ),
    *at(
        _ROOM,
        "TRANSFORM",
        ("2.0 ** (-45)", "2.0 ** (-65)", "the error of a transform is below a float's"),
    ),
    *at(
        _ROOM,
        "_smallest",
        ("pairs[pair] += count", "pairs[pair] = count", "draws of the same pair replace each other"),
        ("curve.delta(epsilon) <= delta", "curve.delta(epsilon) <= 2 * delta", "a price holds at twice the delta"),
        (
            ("if pair is None:\n    return None"),
            ("if pair is None:\n    continue"),
            "what has no pair is left out of a price",
        ),
    ),
    *at(
        _ROOM,
        "PrivacyLossDistribution.cut.level",
        (
            "pairs[_pair(portion, price.times(multiplier))] += portion.count",
            "pairs[_pair(portion, price.times(multiplier))] = portion.count",
            "equal portions replace each other in a cut",
        ),
        ("budget.epsilon * ROOM", "budget.epsilon * 2", "a cut aims at twice the epsilon"),
        ("math.inf", "0.0", "a schedule without a curve costs nothing"),
    ),
    *at(
        _ROOM,
        "_curve",
        (
            "(squared * count for squared, count in found)",
            "(squared for squared, _ in found)",
            "repeated Gaussian draws count once beside choices",
        ),
    ),
    *at(
        _ROOM,
        "upward",
        ("math.ceil(Fraction(value) * GRID) + 1", "math.floor(Fraction(value) * GRID)", "a figure is rounded down"),
        (
            "math.ceil(Fraction(value) * GRID) + 1",
            "math.ceil(Fraction(value) * GRID)",
            "a figure's own error has no room",
        ),
    ),
    *at(
        _ROOM,
        "log_factorial",
        (
            "1 / (12 * size) - 1 / (360 * size ** 3)",
            "1 / (12 * size) + 1 / (360 * size ** 3)",
            "a term of Stirling's series has the wrong sign",
        ),
    ),
    *at(
        _ROOM,
        "EXACT_FACTORIALS",
        ("256", "16", "Stirling's series is used where it is inexact"),
    ),
    *at(
        _ROOM,
        "largest",
        ("return low", "return high", "a search ends above what fits"),
        ("not fits(low)", "False", "a guess that does not fit is taken"),
    ),
    *at(
        _ROOM,
        "lowest",
        ("return high", "return low", "a price ends below what holds"),
    ),
    *at(
        _ROOM,
        "crossing",
        (
            "found if level(found) <= 0 else largest(lambda x: level(x) <= 0, low)",
            "found",
            "a place that was not tried is taken",
        ),
    ),
    *at(
        _ROOM,
        "ROOM",
        ("1 - Fraction(1, 2 ** 30)", "1 + Fraction(1, 2 ** 30)", "a cut aims above the budget"),
    ),
)
