"""Faults of the composition theorems: prices off by a factor, filters that forget, searches that end unsafe."""

from faults.anchored import Anchored, at

_ROOM = "kernel"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "_laplace_epsilon",
        ("Fraction(event.sensitivity)", "1", "the sensitivity of Laplace noise is forgotten"),
    ),
    *at(
        _ROOM,
        "_spherical_epsilon",
        ("Fraction(event.sensitivity)", "1", "the sensitivity of spherical noise is forgotten"),
    ),
    *at(
        _ROOM,
        "_gaussian_rho",
        ("2 * event.variance", "4 * event.variance", "Gaussian noise costs half its rho"),
    ),
    *at(
        _ROOM,
        "_rounded_gaussian_rho",
        ("event.squared_sensitivity", "1", "the sensitivity of rounded Gaussian noise is forgotten"),
    ),
    *at(
        _ROOM,
        "_exponential_rho",
        ("Fraction(event.epsilon) ** 2 / 8", "Fraction(event.epsilon) ** 2 / 16", "a selection's rho is halved"),
    ),
    *at(
        _ROOM,
        "_permute_and_flip_rho",
        (
            "_of_pure(_permute_and_flip_epsilon(event))",
            "_permute_and_flip_epsilon(event) ** 2 / 8",
            "permute-and-flip counts as bounded range",
        ),
    ),
    *at(
        _ROOM,
        "_pure_sum_rho",
        ("_of_pure(_pure_sum_epsilon(event))", "event.epsilon ** 2 / 8", "a pure sum counts as bounded range"),
    ),
    *at(
        _ROOM,
        "_noise_rho",
        ("_of_pure(_finite(event))", "_finite(event) ** 2 / 8", "Laplace counts as bounded range"),
    ),
    *at(
        _ROOM,
        "_of_pure",
        ("epsilon ** 2 / 2", "epsilon ** 2 / 4", "the rho of a pure draw is halved"),
    ),
    *at(
        _ROOM,
        "concentrated_rho",
        ("raise _unknown(event)", "return Fraction(0)", "an unknown event costs no rho"),
    ),
    *at(
        _ROOM,
        "in_parallel",
        (
            "tuple(((event.event, count) for event, count in events if isinstance(event, LeftOutEvent)))",
            "()",
            "a run has no draws from left-out records",
        ),
    ),
    *at(
        _ROOM,
        "one_after_another",
        ("(*kept, *left_out)", "kept", "left-out records cost nothing beside other runs"),
    ),
    *at(
        _ROOM,
        "larger",
        ("max(known)", "min(known)", "the smaller group is the price"),
        (
            "[price(kept), *([price(left_out)] if left_out else [])]",
            "[price(kept)]",
            "draws from left-out records are free",
        ),
    ),
    *at(
        _ROOM,
        "pure_losses",
        ("known if len(known) == len(losses) else None", "known", "Gaussian noise is free in a sum of epsilons"),
    ),
    *at(
        _ROOM,
        "total",
        ("epsilon * count", "epsilon", "repeated draws cost once"),
    ),
    *at(
        _ROOM,
        "Basic.largest",
        ("budget.epsilon", "2 * budget.epsilon", "the filter admits twice the budget"),
    ),
    *at(
        _ROOM,
        "SumAccountant.cut",
        (
            "self.largest(budget) / whole",
            "self.largest(budget)",
            "a cut forgets how many draws there are",
        ),
    ),
    *at(
        _ROOM,
        "SumFilter.charge",
        ("spent + asked > self.limit", "spent > self.limit", "the last draw may pass the limit"),
        ("self._spent = spent + asked", "self._spent = asked", "the filter forgets what was spent"),
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
    ),
    *at(
        _ROOM,
        "PlanFilter.charge",
        ("left[costs[place]] -= 1", "left[costs[place]] -= 0", "a planned draw is never used up"),
        ("bisect_left(costs, asked)", "0", "a dear draw takes the cheapest place"),
        ("self._dearest(kind) >= asked", "self._dearest(kind) > 0", "a dearer draw than planned is admitted"),
    ),
    *at(
        _ROOM,
        "_kinds",
        (
            "(type(draw), draw.sensitivity, left_out)",
            "(type(draw), 1, left_out)",
            "the plan's kinds forget the sensitivity",
        ),
        (
            "isinstance(draw, DiscreteLaplaceEvent) and draw.coordinates == 1 and (draw.sensitivity > 1)",
            "isinstance(draw, DiscreteLaplaceEvent) and draw.sensitivity > 1",
            "noise on several integers takes the places of noise on one",
        ),
        (
            "draw if isinstance(draw, GaussianObjectiveEvent) else type(draw)",
            "draw if isinstance(draw, GaussianObjectiveEvent) else object",
            "the plan's kinds forget the mechanism",
        ),
        (
            "(draw if isinstance(draw, GaussianObjectiveEvent) else type(draw), 0, left_out)",
            "(draw if isinstance(draw, GaussianObjectiveEvent) else type(draw), 0, False)",
            "a draw from left-out records takes a kept one's place",
        ),
    ),
    *at(
        _ROOM,
        "bound_across_runs",
        (
            "kept if covered else one_after_another(events)",
            "kept",
            "left-out draws are free beside other runs, however dear",
        ),
        ("if not left_out: ...", "...", "left-out draws are merged over runs"),
        (
            "count == 1 and (not others) and any((number and _covers(event, draw) for event, number in kept))",
            "not others and any((number and _covers(event, draw) for event, number in kept))",
            "one kept draw covers many",
        ),
    ),
    *at(
        _ROOM,
        "_covers",
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
    *at(
        _ROOM,
        "total_rho",
        ("concentrated_rho(event) * count", "concentrated_rho(event)", "repeated draws cost their rho once"),
        (
            (
                "max((sum((concentrated_rho(event) * count for event, count in group), Fraction(0)) for group in "
                "in_parallel(events)))"
            ),
            (
                "min((sum((concentrated_rho(event) * count for event, count in group), Fraction(0)) for group in "
                "in_parallel(events)))"
            ),
            "the smaller group is the price",
        ),
    ),
    *at(
        _ROOM,
        "zcdp_to_epsilon",
        ("(1 + excess) * decimal(rho)", "excess * decimal(rho)", "the conversion takes rho for (a - 1) instead of a"),
    ),
    *at(
        _ROOM,
        "largest_rho",
        (
            "zcdp_to_epsilon(rho, budget.delta) <= budget.epsilon",
            "zcdp_to_epsilon(rho, budget.delta) <= 2 * budget.epsilon",
            "a budget buys the rho of twice its epsilon",
        ),
    ),
    *at(
        _ROOM,
        "SumAccountant.guard",
        ("require_affordable(self, budget, planned)", "", "a plan beyond the budget is guarded"),
        (
            "max(self.largest(budget), self.total(planned) or Fraction(0))",
            "self.largest(budget) + (self.total(planned) or Fraction(0))",
            "the guard admits the plan twice",
        ),
    ),
    *at(
        _ROOM,
        "ZeroConcentrated.largest",
        ("largest_rho(budget)", "budget.epsilon", "the filter takes epsilon for rho"),
    ),
    *at(
        _ROOM,
        "advanced_epsilon",
        ("-2 * decimal(delta).ln()", "-1 * decimal(delta).ln()", "the spread misses its 2"),
        ("count * step ** 2", "step ** 2", "repeated draws spread once"),
        ("drift + spread", "spread", "the drift is forgotten"),
    ),
    *at(
        _ROOM,
        "_mean_loss",
        ("step * (growth - 1) / (growth + 1)", "step * (growth - 1) / (growth + 1) / 2", "the drift is halved"),
    ),
    *at(
        _ROOM,
        "FixedSchedule.guard",
        ("planned=planned", "planned=planned * 2", "the plan may be drawn twice"),
        ("require_affordable(self, budget, planned)", "", "a plan beyond the budget is guarded"),
    ),
    *at(
        _ROOM,
        "require_affordable",
        ("price > budget.epsilon", "price > 2 * budget.epsilon", "a plan may cost twice the budget"),
        ("price is None", "False", "a plan without a price passes"),
    ),
    *at(
        _ROOM,
        "weigh",
        ("portion.share * portion.count", "portion.share", "a cut forgets how many draws there are"),
        (
            "accountant.homogeneous and len({portion.share for portion in portions}) > 1",
            "False",
            "unequal shares of a theorem for equal draws",
        ),
    ),
    *at(
        _ROOM,
        "needs_delta",
        ("budget.pure", "False", "theorems that need a delta serve without one"),
    ),
)
