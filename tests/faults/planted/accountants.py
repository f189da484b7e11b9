"""Faults of the composition theorems: prices off by a factor, filters that forget, searches that end unsafe."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "kernel/accountants/losses.py",
        (
            'Roughgarden and Sundararajan 2009)."""\n    return Fraction(event.sensitivity) / event.scale',
            'Roughgarden and Sundararajan 2009)."""\n    return 1 / event.scale',
            "the sensitivity of Laplace noise is forgotten",
        ),
        (
            'is rounding the sum, which is post-processing."""\n    return Fraction(event.sensitivity) / event.scale',
            'is rounding the sum, which is post-processing."""\n    return 1 / event.scale',
            "the sensitivity of spherical noise is forgotten",
        ),
        (
            'independent coordinates add up, each with its own square)."""\n'
            "    return Fraction(event.squared_sensitivity) / (2 * event.variance)",
            'independent coordinates add up, each with its own square)."""\n'
            "    return Fraction(event.squared_sensitivity) / (4 * event.variance)",
            "Gaussian noise costs half its rho",
        ),
        (
            'is rounding the sum, which is post-processing."""\n'
            "    return Fraction(event.squared_sensitivity) / (2 * event.variance)",
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
            "return _of_pure(_finite(event))",
            "return _finite(event) ** 2 / 8",
            "Laplace counts as bounded range",
        ),
        ("return epsilon**2 / 2", "return epsilon**2 / 4", "the rho of a pure draw is halved"),
        (
            "    raise _unknown(event)\n\n\n@concentrated_rho.register",
            "    return Fraction(0)\n\n\n@concentrated_rho.register",
            "an unknown event costs no rho",
        ),
    ),
    *planted_in(
        "kernel/accountants/accountant.py",
        (
            "return kept, tuple((event.event, count) for event, count in events if isinstance(event, LeftOutEvent))",
            "return kept, ()",
            "a run has no draws from left-out records",
        ),
        (
            "for event, count in (*kept, *left_out):",
            "for event, count in kept:",
            "left-out records cost nothing beside other runs",
        ),
        ("total[event] += count", "total[event] = count", "the same draw in both groups counts once"),
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
    ),
    *planted_in(
        "kernel/accountants/sums.py",
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
        "kernel/accountants/accountant.py",
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
            "else type(draw), 0, left_out)",
            "else object, 0, left_out)",
            "the plan's kinds forget the mechanism",
        ),
        (
            "else type(draw), 0, left_out)",
            "else type(draw), 0, False)",
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
        "kernel/accountants/sums.py",
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
        "kernel/accountants/fixed_schedules.py",
        ("(-2 * decimal(delta).ln() * squares)", "(-1 * decimal(delta).ln() * squares)", "the spread misses its 2"),
        ("count * step**2 for", "step**2 for", "repeated draws spread once"),
        ("upward(drift + spread)", "upward(spread)", "the drift is forgotten"),
        ("step * (growth - 1) / (growth + 1)", "step * (growth - 1) / (growth + 1) / 2", "the drift is halved"),
    ),
    *planted_in(
        "kernel/accountants/accountant.py",
        ("return PlanFilter(planned=planned)", "return PlanFilter(planned=planned * 2)", "the plan may be drawn twice"),
        ("    require_affordable(accountant, budget, planned)\n", "", "a plan beyond the budget is guarded"),
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
)
