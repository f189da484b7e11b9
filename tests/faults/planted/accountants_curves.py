"""Faults of the theorems that look at a whole curve, and of the arithmetic and searches below them."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "kernel/accountants/analytic.py",
        ("decimal(2 * rho).sqrt()", "decimal(rho).sqrt()", "mu is too small by sqrt(2)"),
        ("+ MARGIN * here", "- MARGIN * here", "the margin is taken off instead of added"),
        (
            "return total(losses) + smallest(rho, delta) if delta else None",
            "return max(total(losses), smallest(rho, delta)) if delta else None",
            "pure draws beside Gaussian noise are free",
        ),
        (
            "budget.delta) / together if together",
            "budget.delta) if together",
            "each Gaussian portion gets the rho of all",
        ),
        (
            "    rho = total_rho(normal)\n",
            "    rho = total_rho(normal[:1])\n",
            "the first Gaussian draw stands for all",
        ),
    ),
    *planted_in(
        "kernel/accountants/numerics.py",
        ("return 1 - upper_tail(-x)", "return upper_tail(-x)", "the left tail is taken for the right"),
        ("LEVELS = 120", "LEVELS = 20", "the fraction of the tail ends early"),
        ('NEGLIGIBLE = Decimal("1e-62")', 'NEGLIGIBLE = Decimal("1e-20")', "the series of the tail ends early"),
    ),
    *planted_in(
        "kernel/accountants/fixed_schedules.py",
        (
            "max(epsilon for epsilon, count in losses if count)",
            "min(epsilon for epsilon, count in losses if count)",
            "unequal draws are priced as the cheapest",
        ),
        ("delta += weight * (1 - pull)", "delta += weight * (1 - pull) / 2", "the curve is halved"),
        (
            "last = math.ceil((draws - epsilon / step) / 2) - 1",
            "last = math.ceil((draws - epsilon / step) / 2) - 2",
            "the curve drops its last term",
        ),
        ('TRUNCATION = Decimal("1e-18")', 'TRUNCATION = Decimal("1e-3")', "the curve is cut off early"),
        ("+ ABSOLUTE_MARGIN)", "- ABSOLUTE_MARGIN)", "the margin is taken off"),
        ("delta * (1 + RELATIVE_MARGIN)", "delta * (1 - RELATIVE_MARGIN)", "the curve is rounded down"),
        (
            "draws = sum(count for epsilon, count in losses if epsilon)",
            "draws = len(losses)",
            "repeated draws count once",
        ),
        (
            "advanced_epsilon(((step, draws),), budget.delta)",
            "advanced_epsilon(((step, 1),), budget.delta)",
            "very many draws are cut as one",
        ),
    ),
    *planted_in(
        "kernel/accountants/loss_laws.py",
        (
            "np.array([honest, honest - loss[0]])",
            "np.array([honest - loss[0], honest])",
            "a pair's losses change places",
        ),
        (
            "share = np.clip(np.expm1(-above) / np.expm1(-step) + slack, 0.0, 1.0)",
            "share = np.zeros_like(above)",
            "losses are rounded down to the grid",
        ),
        ("+ slack, 0.0, 1.0)", "- slack, 0.0, 1.0)", "a share is rounded down"),
        (
            "return PurePair(epsilon=event.sensitivity / event.scale)",
            "return PurePair(epsilon=1 / event.scale)",
            "the pair of Laplace noise forgets its sensitivity",
        ),
        ("if event.coordinates == 1 and 1 <", "if 1 <", "noise on several integers counts as noise on one"),
        (
            "return RangedPair(epsilon=event.epsilon)",
            "return RangedPair(epsilon=event.epsilon / 2)",
            "a selection counts half",
        ),
        (
            "math.ceil(self.epsilon / Fraction(step))",
            "math.floor(self.epsilon / Fraction(step))",
            "a range is rounded down to the grid",
        ),
        ("logs[[0, -1]] -= math.log(2)", "logs[[-1]] -= math.log(2)", "the worst loss of a range is halved alone"),
        (
            "logs = (places - ends) * (step / 2) + scale",
            "logs = (places - ends) * step + scale",
            "the density of a range is another one",
        ),
        ("return math.sqrt(self.squared_mu) *", "return math.sqrt(self.squared_mu / 2) *", "normal noise counts half"),
        (
            "densities @ (np.expm1(-above) / np.expm1(-step))",
            "densities @ np.zeros_like(above)",
            "normal losses are rounded down to the grid",
        ),
    ),
    *planted_in(
        "kernel/accountants/loss_laws.py",
        ("for _ in range(self.count):", "for _ in range(1):", "choices after the first cost nothing"),
        ("self._at(below - places * step)", "self._at(below + places * step)", "losses of normal noise are gains"),
        ("self._at(below - places * step)", "self._at(below)", "normal noise costs nothing beside choices"),
        (
            "np.maximum(best, found, out=best)",
            "np.copyto(best, found)",
            "the last range is taken for the worst one",
        ),
        (
            "return best + excess * (math.exp(steps * step) / whole / math.expm1(step))",
            "return best",
            "ranges between points of the grid are left out",
        ),
        (
            "values[left] + np.clip(share, 0.0, 1.0)",
            "values[left + 1] + 0 * np.clip(share, 0.0, 1.0)",
            "the curve is rounded down to the grid",
        ),
    ),
    *planted_in(
        "kernel/accountants/loss_laws.py",
        (
            "lowest += law.lowest * count + int(start) + first",
            "lowest += law.lowest + int(start) + first",
            "sums of losses start too high or low",
        ),
        ("scale += log_mass * count", "scale += log_mass", "repeated draws are tilted back once"),
        (
            "whole = mass + self.error * math.exp(_log_peak(self.tilt))",
            "whole = mass",
            "the error of the transform is left out",
        ),
        ("-np.expm1(-above)", "-np.expm1(-above) / 2", "delta is halved"),
        (
            "first = max(0, math.ceil(below / self.step) - self.lowest)",
            "first = max(0, math.ceil(below / self.step) - self.lowest + 9)",
            "losses just above epsilon are left out",
        ),
        ("if not 0 < COARSEST * Fraction(step) <= smallest:", "if False:", "a coarse grid is not noticed"),
        ("if draws > MOST_DRAWS or 20 * spread", "if 20 * spread", "more draws than the error bound covers"),
        ("error = transforms + 2 * len(laws) * TRUNCATED", "error = transforms", "what was truncated is no error"),
        ("TRANSFORM = 2.0**-45", "TRANSFORM = 2.0**-65", "the error of a transform is below a float's"),
    ),
    *planted_in(
        "kernel/accountants/pld.py",
        (
            "        pairs[pair] += count\n",
            "        pairs[pair] = count\n",
            "draws of the same pair replace each other",
        ),
        (
            "pairs[_pair(portion, price.times(multiplier))] += portion.count",
            "pairs[_pair(portion, price.times(multiplier))] = portion.count",
            "equal portions replace each other in a cut",
        ),
        (
            "return fallback if curve is None else lowest(lambda epsilon: curve.delta(epsilon) <= delta,",
            "return fallback if curve is None else lowest(lambda epsilon: curve.delta(epsilon) <= 2 * delta,",
            "a price holds at twice the delta",
        ),
        ("curve.delta(budget.epsilon * ROOM)", "curve.delta(budget.epsilon * 2)", "a cut aims at twice the epsilon"),
        (
            "        if pair is None:\n            return None\n",
            "        if pair is None:\n            continue\n",
            "what has no pair is left out of a price",
        ),
        (
            "whole = sum((squared * count for squared, count in found), Fraction(0))",
            "whole = sum((squared for squared, _ in found), Fraction(0))",
            "repeated Gaussian draws count once beside choices",
        ),
        (
            "delta = math.inf if curve is None else",
            "delta = 0.0 if curve is None else",
            "a schedule without a curve costs nothing",
        ),
    ),
    *planted_in(
        "kernel/accountants/numerics.py",
        (
            "math.ceil(Fraction(value) * GRID) + 1, GRID",
            "math.floor(Fraction(value) * GRID), GRID",
            "a figure is rounded down",
        ),
        (
            "math.ceil(Fraction(value) * GRID) + 1, GRID",
            "math.ceil(Fraction(value) * GRID), GRID",
            "a figure's own error has no room",
        ),
        (
            "1 / (12 * size) - 1 / (360 * size**3)",
            "1 / (12 * size) + 1 / (360 * size**3)",
            "a term of Stirling's series has the wrong sign",
        ),
        ("EXACT_FACTORIALS = 256", "EXACT_FACTORIALS = 16", "Stirling's series is used where it is inexact"),
    ),
    *planted_in(
        "kernel/accountants/numerics.py",
        (
            "        low, high = (middle, high) if fits(middle) else (low, middle)\n    return low",
            "        low, high = (middle, high) if fits(middle) else (low, middle)\n    return high",
            "a search ends above what fits",
        ),
        ("    while not fits(low):\n        low /= 2\n", "", "a guess that does not fit is taken"),
        (
            "        low, high = (low, middle) if holds(middle) else (middle, high)\n    return high",
            "        low, high = (low, middle) if holds(middle) else (middle, high)\n    return low",
            "a price ends below what holds",
        ),
        (
            "return found if level(found) <= 0 else largest(lambda x: level(x) <= 0, low)",
            "return found",
            "a place that was not tried is taken",
        ),
        ("ROOM = 1 - Fraction(1, 2**30)", "ROOM = 1 + Fraction(1, 2**30)", "a cut aims above the budget"),
    ),
)
