"""Faults of the composition theorems: prices off by a factor, filters that forget, searches that end unsafe."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "privacy/accountants/losses.py",
        (
            "return Fraction(event.sensitivity) / event.scale",
            "return 1 / event.scale",
            "the sensitivity of Laplace noise is forgotten",
        ),
        (
            'independent coordinates add up, each with its own square)."""\n    return Fraction(event.squared_sensitivity) / (2 * event.variance)',
            'independent coordinates add up, each with its own square)."""\n    return Fraction(event.squared_sensitivity) / (4 * event.variance)',
            "Gaussian noise costs half its rho",
        ),
        (
            'is rounding the sum, which is post-processing."""\n    return Fraction(event.squared_sensitivity) / (2 * event.variance)',
            'is rounding the sum, which is post-processing."""\n    return Fraction(1) / (2 * event.variance)',
            "the sensitivity of rounded Gaussian noise is forgotten",
        ),
        (
            "return Fraction(event.epsilon) ** 2 / 8",
            "return Fraction(event.epsilon) ** 2 / 16",
            "a selection's rho is halved",
        ),
        (
            "return _of_pure(_permute_and_flip_epsilon(event))",
            "return _permute_and_flip_epsilon(event) ** 2 / 8",
            "permute-and-flip counts as bounded range",
        ),
        (
            "return _of_pure(_pure_sum_epsilon(event))",
            "return event.epsilon**2 / 8",
            "a pure sum counts as bounded range",
        ),
        (
            "return _of_pure(_laplace_epsilon(event))",
            "return _laplace_epsilon(event) ** 2 / 8",
            "Laplace counts as bounded range",
        ),
        ("return epsilon**2 / 2", "return epsilon**2 / 4", "the rho of a pure draw is halved"),
        ("return max(known) if len(known)", "return min(known) if len(known)", "the smaller group is the price"),
        (
            "prices = [price(kept), *([price(left_out)] if left_out else [])]",
            "prices = [price(kept)]",
            "draws from left-out records are free",
        ),
        (
            "return max(known) if len(known) == len(prices) else None",
            "return max(known, default=None)",
            "a group without a price is free",
        ),
        (
            "return known if len(known) == len(losses) else None",
            "return known",
            "Gaussian noise is free in a sum of epsilons",
        ),
        (
            "    raise _unknown(event)\n\n\n@concentrated_rho.register",
            "    return Fraction(0)\n\n\n@concentrated_rho.register",
            "an unknown event costs no rho",
        ),
    ),
    *planted_in(
        "privacy/accountants/basic.py",
        ("sum((epsilon * count for", "sum((epsilon for", "repeated draws cost once"),
        (
            "return SumFilter(limit=budget.epsilon,",
            "return SumFilter(limit=2 * budget.epsilon,",
            "the filter admits twice the budget",
        ),
        ("        require_affordable(self, budget, planned)\n", "", "a plan beyond the budget is guarded"),
        (
            "Price(epsilon=budget.epsilon * portion.share / whole)",
            "Price(epsilon=budget.epsilon * portion.share)",
            "a cut forgets how many draws there are",
        ),
    ),
    *planted_in(
        "privacy/accountants/filters.py",
        ("if spent + asked > self.limit:", "if spent > self.limit:", "the last draw may pass the limit"),
        (
            "            self._spent = spent + asked\n",
            "            self._spent = asked\n",
            "the filter forgets what was spent",
        ),
        (
            "self._spent_on_left_out = spent + asked",
            "self._spent_on_left_out = asked",
            "the filter forgets what was spent on left-out records",
        ),
        (
            "self._spent_on_left_out if left_out else self._spent",
            "self._spent_on_left_out if left_out else self._spent_on_left_out",
            "kept draws are held against what was spent on left-out records",
        ),
        ("        left[costs[place]] -= 1\n", "        left[costs[place]] -= 0\n", "a planned draw is never used up"),
        ("place = bisect_left(costs, asked)", "place = 0", "a dear draw takes the cheapest place"),
        ("if self._dearest(kind) >= asked)", "if self._dearest(kind) > 0)", "a dearer draw than planned is admitted"),
        (
            "return ((type(draw), draw.sensitivity, left_out), general)",
            "return ((type(draw), 1, left_out), general)",
            "the plan's kinds forget the sensitivity",
        ),
        (
            "if isinstance(draw, DiscreteLaplaceEvent) and draw.coordinates == 1 and draw.sensitivity > 1:",
            "if isinstance(draw, DiscreteLaplaceEvent) and draw.sensitivity > 1:",
            "noise on several integers takes the places of noise on one",
        ),
        (
            "general = (type(draw), 0, left_out)",
            "general = (object, 0, left_out)",
            "the plan's kinds forget the mechanism",
        ),
        (
            "general = (type(draw), 0, left_out)",
            "general = (type(draw), 0, False)",
            "a draw from left-out records takes a kept one's place",
        ),
        (
            "return kept if covered else one_after_another(events)",
            "return kept",
            "left-out draws are free beside other runs, however dear",
        ),
        ("    if not left_out:\n        return events\n", "    return events\n", "left-out draws are merged over runs"),
        ("covered = count == 1 and not others and any(", "covered = not others and any(", "one kept draw covers many"),
        (
            "_kinds(event)[0] in _kinds(other) and cost(other) <= cost(event)",
            "_kinds(event)[0] in _kinds(other)",
            "a cheap kept draw covers a dear one",
        ),
        (
            "_kinds(event)[0] in _kinds(other) and cost(other) <= cost(event)",
            "cost(other) <= cost(event)",
            "a draw of another kind covers a left-out one",
        ),
    ),
    *planted_in(
        "privacy/accountants/zcdp.py",
        (
            "concentrated_rho(event) * count for event, count in group",
            "concentrated_rho(event) for event, count in group",
            "repeated draws cost their rho once",
        ),
        ("return max(\n        sum(", "return min(\n        sum(", "the smaller group is the price"),
        (
            "epsilon = (1 + excess) * decimal(rho) + (surprise - log_order) / excess + log_excess - log_order",
            "epsilon = excess * decimal(rho) + (surprise - log_order) / excess + log_excess - log_order",
            "the conversion takes rho for (a - 1) instead of a",
        ),
        (
            "converted(rho, budget.delta) <= budget.epsilon, budget.epsilon)",
            "converted(rho, budget.delta) <= 2 * budget.epsilon, budget.epsilon)",
            "a budget buys the rho of twice its epsilon",
        ),
        (
            "limit = max(largest_rho(budget), total_rho(planned))",
            "limit = largest_rho(budget) + total_rho(planned)",
            "the guard admits the plan twice",
        ),
        (
            "        return SumFilter(limit=largest_rho(budget), cost=concentrated_rho",
            "        return SumFilter(limit=budget.epsilon, cost=concentrated_rho",
            "the filter takes epsilon for rho",
        ),
        (
            "return tuple(Price(rho=rho * portion.share / whole)",
            "return tuple(Price(rho=rho * portion.share)",
            "a cut forgets how many draws there are",
        ),
    ),
    *planted_in(
        "privacy/accountants/advanced.py",
        ("(-2 * decimal(delta).ln() * squares)", "(-1 * decimal(delta).ln() * squares)", "the spread misses its 2"),
        ("count * step**2 for", "step**2 for", "repeated draws spread once"),
        ("upward(drift + spread)", "upward(spread)", "the drift is forgotten"),
        ("step * (growth - 1) / (growth + 1)", "step * (growth - 1) / (growth + 1) / 2", "the drift is halved"),
        ("return PlanFilter(planned=planned)", "return PlanFilter(planned=planned * 2)", "the plan may be drawn twice"),
    ),
    *planted_in(
        "privacy/accountants/analytic.py",
        ("decimal(2 * rho).sqrt()", "decimal(rho).sqrt()", "mu is too small by sqrt(2)"),
        ("+ MARGIN * here", "- MARGIN * here", "the margin is taken off instead of added"),
        ("return Fraction(max(delta, LEAST))", "return Fraction(delta)", "a delta below nothing is given away"),
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
            "if isinstance(each[0], RoundedGaussianEvent)))\n    if not rho",
            "if isinstance(each[0], RoundedGaussianEvent))[:1])\n    if not rho",
            "the first Gaussian draw stands for all",
        ),
    ),
    *planted_in(
        "privacy/accountants/normal.py",
        ("return 1 - upper_tail(-x)", "return upper_tail(-x)", "the left tail is taken for the right"),
        ("LEVELS = 120", "LEVELS = 20", "the fraction of the tail ends early"),
        ('NEGLIGIBLE = Decimal("1e-62")', 'NEGLIGIBLE = Decimal("1e-20")', "the series of the tail ends early"),
    ),
    *planted_in(
        "privacy/accountants/optimal.py",
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
            "composed(((step, draws),), budget.delta)",
            "composed(((step, 1),), budget.delta)",
            "very many draws are cut as one",
        ),
    ),
    *planted_in(
        "privacy/accountants/pairs.py",
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
    ),
    *planted_in(
        "privacy/accountants/loss_sum.py",
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
        "privacy/accountants/pld.py",
        (
            "            pairs[pair] += count\n",
            "            pairs[pair] = count\n",
            "draws of the same pair replace each other",
        ),
        (
            "pairs[_pair(portion, multiplier * portion.share)] += portion.count",
            "pairs[_pair(portion, multiplier * portion.share)] = portion.count",
            "equal portions replace each other in a cut",
        ),
        (
            "return fallback if curve is None else lowest(lambda epsilon: curve.delta(epsilon) <= delta,",
            "return fallback if curve is None else lowest(lambda epsilon: curve.delta(epsilon) <= 2 * delta,",
            "a price holds at twice the delta",
        ),
        ("curve.delta(budget.epsilon * ROOM)", "curve.delta(budget.epsilon * 2)", "a cut aims at twice the epsilon"),
        (
            "    if losses is None or not installed():",
            "    if not installed():",
            "Gaussian noise is left out of a price",
        ),
        (
            "delta = math.inf if curve is None else",
            "delta = 0.0 if curve is None else",
            "a schedule without a curve costs nothing",
        ),
    ),
    *planted_in(
        "privacy/accountants/portions.py",
        ("if price > budget.epsilon:", "if price > 2 * budget.epsilon:", "a plan may cost twice the budget"),
        ("portion.share * portion.count for", "portion.share for", "a cut forgets how many draws there are"),
        (
            "if accountant.homogeneous and len({portion.share for portion in portions}) > 1:",
            "if False:",
            "unequal shares of a theorem for equal draws",
        ),
        (
            "    if budget.pure:\n        return f",
            "    if False:\n        return f",
            "theorems that need a delta serve without one",
        ),
        ("    if price is None:", "    if False:", "a plan without a price passes"),
    ),
    *planted_in(
        "privacy/accountants/rounding.py",
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
        "privacy/accountants/search.py",
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
