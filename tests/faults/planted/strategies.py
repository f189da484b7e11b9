"""Faults of the source's schedule, of checks and distinguishers, of mistake bounds, and of a count's price."""

from faults.fault import planted_in

_STOP = {
    law: f"""{law.title()}Event:
        return self.mechanism(blocks, unit, price).event

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        return gap(measured, hypothesis) < threshold"""
    for law in ("laplace", "gaussian")
}

FAULTS = (
    *planted_in(
        "strategies/schedules/theory/schedule.py",
        ("Fraction(3, 4) * alpha * n", "Fraction(7, 8) * alpha * n", "the stop test is looser than its proof"),
        ("Level(value=alpha / 2, variant", "Level(value=alpha, variant", "steps at level alpha"),
        (
            "counted = ((TOTAL,),) if problem.n is None",
            "counted = ((TOTAL,),) if problem.n",
            "a private count is not bought",
        ),
        (
            "opening_phase(roles, problem.unit, counted, measure)",
            "opening_phase(roles, problem.unit, counted, select)",
            "a count at another price than planned",
        ),
        ("state.rounds >= len(plan.opening) +", "state.rounds > len(plan.opening) +", "a round too many"),
        (
            "state.rounds >= len(plan.opening) + plan.rounds",
            "state.rounds >= plan.rounds",
            "the count takes a round's place",
        ),
        ("        if opening and records is None:\n            return None\n", "", "no count, and it goes on"),
        ("threshold=plan.stop.threshold if plan.stop else None,\n            records", "records", "no stop test"),
        ("min(max(int(counted.values[0][0]), 1), _decl", "min(int(counted.values[0][0]), _decl", "m may be below 1"),
        (
            "return None if counted is None else min(max(int(counted.values[0][0]), 1), _declared(plan.problem))",
            "return None if counted is None else max(int(counted.values[0][0]), 1)",
            "m may be above the declared n",
        ),
        ("            *opening_phase(roles, problem.unit, counted, measure),\n", "", "the count is not paid"),
        ("if negative or block.largest_coefficient", "if block.largest_coefficient", "coefficients below 0 pass"),
        ("block.scale > 1:", "block.scale > 2:", "coefficients above 1 pass"),
        ("promise=case.promise(alpha)", 'promise="proved"', "what is heuristic is called proved"),
        ("notes=case.cautions(alpha) or _notes", "notes=_notes", "no caution where nothing is proved"),
        (
            "    if problem.unit.neighbours is Neighbours.REPLACE:\n        return ()\n    slack",
            "    if problem:\n        return ()\n    slack",
            "what a promise under add-remove rests on is not told",
        ),
    ),
    *planted_in(
        "strategies/schedules/drafts.py",
        ("return max(problem.workload", "return min(problem.workload", "the cheapest measurement is planned for"),
        ("events=((chosen, rounds),), ", "", "selections are not paid"),
        ("events=((measured, rounds),)", "events=()", "measurements are not paid"),
        ("events=tuple(events.items()), ", "", "openings are not paid"),
        ("events=((whole.event, 1),)", "events=()", "a search is not paid"),
    ),
    *planted_in(
        "strategies/schedules/theory/feasibility.py",
        ('else "stated"', 'else "proved"', "a third party's word is called proved"),
        ("return 8 * max((shortfall", "return 4 * max((shortfall", "half of the accuracy that is needed"),
        ("(2 * rounds + bought)", "(rounds + bought)", "each of two tails takes all of beta"),
        ("(2 * rounds + bought)", "2", "tails of one round"),
        ("(2 * rounds + bought)", "(2 * rounds)", "the count has no part of beta"),
        (".tail(float(gamma)) + 0.5) *", ".tail(float(gamma))) *", "half a step of the grid is forgotten"),
        ("max((shortfall + 1) * float(grid)", "max(shortfall * float(grid)", "a step of the scores is forgotten"),
        ("(shortfall + 1) * float(grid)", "(shortfall + 1)", "scores are taken to be in records"),
        ("float(bought), *tails", "*tails", "a count that is clipped to 1 is taken to be exact"),
        ("float(bought), *tails)", "float(bought), min(tails))", "the narrowest noise"),
        (
            "found.setdefault((sensitivity((row,), Norm.LARGEST, problem.unit), row.scale), row)",
            "found.setdefault((0, row.scale), row)",
            "noise rows are told apart by their grid alone",
        ),
        (
            "found.setdefault((sensitivity((row,), Norm.LARGEST, problem.unit), row.scale), row)",
            "found.setdefault((sensitivity((row,), Norm.LARGEST, problem.unit), Fraction(1)), row)",
            "noise rows are told apart by their sensitivity alone",
        ),
        ("return max(bound, 1)", "return max(bound - 1, 1)", "a round too few"),
        (
            "return self._proved(alpha) is not None and self.feasible(alpha)",
            "return self.feasible(alpha)",
            "a heuristic alpha is chosen",
        ),
        ("count=rounds + (self.problem.n is None)", "count=rounds", "the count is bought beside the budget"),
        ("measured = Fraction(4) if", "measured = Fraction(1) if", "selection and check have different epsilons"),
        ("return Fraction(high, TUNING.grid)", "return Fraction(low, TUNING.grid)", "an alpha below the feasible ones"),
        ("grid: int = 10**6", "grid: int = 10**3", "alphas are found roughly"),
        ("return self.needed(alpha) <= alpha", "return self.needed(alpha) <= 2 * alpha", "twice the alpha"),
    ),
    *planted_in(
        "strategies/schedules/dropped_count.py",
        ("if unit.apart and not isinstance", "if not isinstance", "every count is free"),
        ("if problem.unit.apart:", "if problem.unit:", "every count is planned as free"),
        ("(_counted(roles, problem.unit, price), *plan.phases))\n\n", "plan.phases)\n\n", "the count is not paid"),
        (
            "counting = replace(plan, phases=(_counted(roles, problem.unit, price), *plan.phases))",
            "counting = plan",
            "the free count is not charged",
        ),
        ("return whole.times(share)", "return whole", "all of the budget for the count"),
        (
            "        if epsilon is None:\n            return self._without(plan)\n",
            "",
            "draws that a theorem does not know are planned",
        ),
    ),
    *planted_in(
        "strategies/schedules/set_aside.py",
        ("odds = share / (1 - share)", "odds = share", "the part gets less than its share"),
        (
            "share=self.odds * asked, count=1)] if asked",
            "share=self.odds * asked / 2, count=1)] if asked",
            "half of what the part costs is set aside",
        ),
        (
            'if phase.noun != "search")',
            'if phase.noun not in ("search", "measurement"))',
            "the part's price leaves measurements out",
        ),
        ("reduce(Price.plus, draws).times(odds)", "reduce(Price.plus, draws)", "as much for the part as for all else"),
        ("    if accountant.homogeneous:", "    if accountant is None:", "unequal draws under equal ones' theorem"),
        ('if phase.noun != "search")', 'if phase.noun not in ("search", "stage"))', "stages are left out of its share"),
        ('if phase.noun != "search")', ")", "the sum of a search is counted beside its draws"),
    ),
    *planted_in(
        "strategies/schedules/error_bars.py",
        ("each = price.times(Fraction(1, count))", "each = price", "two draws at the price of one"),
        (
            "not (_named(block, names) or _inside(block, tables))",
            "not _named(block, names)",
            "a wider table is forgotten",
        ),
        ("whole.stop is not None or ", "", "a plan with a stop test buys errors unasked"),
        ("events=((_event(problem, price), 1),)", "events=()", "errors are not paid"),
    ),
    *planted_in(
        "strategies/checks.py",
        ("/ price.pure)", "/ price.bounded_range)", "rho buys twice the epsilon"),
        ("Norm.L1", "Norm.LARGEST", "many answers move like one"),
        (
            _STOP["laplace"],
            _STOP["laplace"].replace("<", "<="),
            "a stop at the threshold",
        ),
        ("return True", "return False", "pure noise is called concentrated"),
    ),
    *planted_in(
        "strategies/checks.py",
        ("squared / (2 * price.concentrated)", "squared / (4 * price.concentrated)", "half of the variance"),
        ("Norm.L2_SQUARED", "Norm.L1", "a sensitivity of another norm"),
        (
            _STOP["gaussian"],
            _STOP["gaussian"].replace("<", "<="),
            "a stop at the threshold",
        ),
        ("return False", "return True", "concentrated noise is called pure"),
    ),
    *planted_in(
        "strategies/checks.py",
        ("int(np.abs(apart).sum())", "abs(int(apart.sum()))", "gaps cancel"),
        ("total += block.scale *", "total +=", "a gap in grid steps"),
        (
            "total += block.scale * int(np.abs(apart).sum())",
            "total = block.scale * int(np.abs(apart).sum())",
            "the last block's gap alone",
        ),
        ("rounded(hypothesis.answer(block), _LIMIT)", "np.floor(hypothesis.answer(block))", "answers are rounded down"),
    ),
    *planted_in(
        "strategies/distinguishers.py",
        ("unit=unit, epsilon=price.bounded_range)", "unit=unit, epsilon=2 * price.bounded_range)", "twice its price"),
        ("ExponentialEvent(epsilon=price.bounded_range)", "ExponentialEvent(epsilon=price.pure)", "less is charged"),
        ("candidates * gamma.denominator", "gamma.denominator", "the union over candidates is forgotten"),
        ("float(2 * max(1, sensitivity) / epsilon)", "float(max(1, sensitivity) / epsilon)", "half of the shortfall"),
        ("float(2 * max(1, sensitivity) / epsilon)", "float(2 / epsilon)", "scores are taken to move by 1"),
        ("max(1, sensitivity)", "sensitivity", "scores that do not move have no shortfall"),
        ("_ROUNDED_UP = 1 + 2.0**-40", "_ROUNDED_UP = 1 - 2.0**-40", "a bound is rounded down"),
    ),
    *planted_in(
        "strategies/distinguishers.py",
        ("unit=unit, epsilon=price.pure)", "unit=unit, epsilon=price.bounded_range)", "rho buys twice the epsilon"),
        ("PermuteAndFlipEvent(epsilon=price.pure)", "PermuteAndFlipEvent(epsilon=price.pure / 2)", "half is charged"),
        ("sensitivity, price.pure, gamma)", "sensitivity, price.bounded_range, gamma)", "half of the shortfall"),
        (
            "selection_shortfall(candidates, sensitivity, price.pure",
            "selection_shortfall(candidates, 1, price.pure",
            "scores move by 1",
        ),
    ),
    *planted_in(
        "strategies/updates/perceptron.py",
        (
            'Fraction(cells) if level.variant == "printed" else Fraction(cells - 1, 4)',
            'Fraction(cells, 2) if level.variant == "printed" else Fraction(cells - 1, 4)',
            "half of the printed bound",
        ),
        (
            'Fraction(cells) if level.variant == "printed" else Fraction(cells - 1, 4)',
            'Fraction(cells) if level.variant == "printed" else Fraction(cells - 1, 8)',
            "half of the sharp bound",
        ),
        ("share if level.variant", "share / 2 if level.variant", "half of the bound for unlike records"),
        ("if records is None or records > cells:", "if records is None:", "unlike records beyond the cells"),
        (
            "sign * float(level.value) / cells.size",
            "2 * sign * float(level.value) / cells.size",
            "a step twice as long",
        ),
        ("sign * 4.0 *", "sign * 8.0 *", "a sharp step twice as long"),
        ("(row - row.mean())", "row", "a sharp step changes the sum"),
        ("-1.0 if query.value <", "1.0 if query.value <", "steps lead away"),
        ("fill = 0.0 if printed else", "fill = 0.0 if not printed else", "another start than the proof's"),
    ),
    *planted_in(
        "strategies/updates/median.py",
        ("members.bit_length() - 1 if", "members.bit_length() - 2 if", "a mistake too few"),
        (
            "members.bit_length() - 1 if members <= self.members else None",
            "members.bit_length() - 1",
            "a sample's bound is called proved",
        ),
        (
            "return net_members(problem, net_records(problem, level)).bit_length() - 1",
            "return net_members(problem, net_records(problem, level)).bit_length() - 2",
            "a heuristic mistake too few",
        ),
        ("Fraction(1, 2) / level.value**2) + 1", "Fraction(1, 2) / level.value**2)", "a sample too small for a net"),
        (
            "floor_of_log(2 * problem.workload.rows",
            "floor_of_log(problem.workload.rows",
            "one side of Hoeffding's bound",
        ),
        ("math.comb(size + problem.domain.size - 1, size)", "math.comb(problem.domain.size, size)", "too few members"),
        ("answers < median if", "answers <= median if", "members that answer the median stay"),
        ("else answers > median", "else answers >= median", "members that answer the median stay, above"),
        ("if value * net.size < int(median) * records", "if value * net.size > int(median) * records", "wrong half"),
        ("expected - a)) if", "expected)) if", "a cut at the hypothesis, and not a level away"),
        ("query.value - a, query.value + a", "query.value - a / 2, query.value + a / 2", "fair answers are cut away"),
        (
            "return net.only(kept) if kept.any() else None",
            "return net.only(kept) if kept.any() else net",
            "a net that is used up is kept",
        ),
    ),
    *planted_in(
        "strategies/updates/multiplicative_weights.py",
        ('Fraction(4) if level.variant == "printed"', 'Fraction(2) if level.variant == "printed"', "half of the bound"),
        (
            "else Fraction(1, 2)\n        return floor_of_log",
            "else Fraction(1, 4)\n        return floor_of_log",
            "half of the sharp bound",
        ),
        (
            "floor_of_log(problem.domain.size, factor",
            "floor_of_log(len(problem.domain.attributes), factor",
            "few cells",
        ),
        (
            '(0.5 if level.variant == "printed" else 4.0)',
            '(1.0 if level.variant == "printed" else 4.0)',
            "alpha as eta",
        ),
        ('(0.5 if level.variant == "printed" else 4.0)', '(0.5 if level.variant == "printed" else 8.0)', "eta 8 a"),
        ("sign = -1.0 if query.value < expected", "sign = 1.0 if query.value < expected", "steps lead away"),
        ("values - state.answer(block)", "state.answer(block) - values", "MWEM's steps lead away"),
        ("2.0 * state.total * max", "state.total * max", "MWEM's steps are twice as long"),
    ),
    *planted_in(
        "strategies/updates/dense_members.py",
        ("    cells /= cells.sum()\n", "", "weights are not normalised"),
        ("known = distribution.potentials.get(LOGS)", "known = None", "weights that underflow are lost for good"),
        ("if size > DENSE_LIMIT:", "if size > 2 * DENSE_LIMIT:", "domains too large to be listed pass"),
    ),
    *planted_in(
        "strategies/updates/single_query.py",
        ("return int(low // 1)\n", "return int(low // 1) + 1\n", "a mistake too many"),
        ("if low // 1 == high // 1:", "if low:", "a floor is told before enough digits decide"),
    ),
    *planted_in(
        "strategies/updates/single_query.py",
        ("value=value * scale / records(problem)", "value=value / records(problem)", "an answer in grid steps"),
        ("block.adjoint(np.full(1, scale))", "block.adjoint(np.full(1, 1.0))", "coefficients in grid steps"),
        ("cls.parts(history[-1])", "cls.parts(history[0])", "the first answer stands for the newest"),
        ("or measured.blocks[0].rows != 1:", "or False:", "one of many answers is read"),
    ),
)
