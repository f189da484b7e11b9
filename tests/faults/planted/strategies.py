"""Faults of the source's schedule, of checks and distinguishers, of mistake bounds, and of a count's price."""

from faults.anchored import Anchored, at

_ROOM = "strategies"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "Theory.plan",
        ("Fraction(3, 4)", "Fraction(7, 8)", "the stop test is looser than its proof"),
        ("problem.n is None", "problem.n", "a private count is not bought"),
        (
            "opening_phase(roles, problem.unit, counted, measure)",
            "opening_phase(roles, problem.unit, counted, select)",
            "a count at another price than planned",
        ),
        (
            (
                "(*opening_phase(roles, problem.unit, counted, measure), *round_phases(roles, problem.unit, "
                "dearest_row(problem), rounds, (select, measure), single=True))"
            ),
            "(*round_phases(roles, problem.unit, dearest_row(problem), rounds, (select, measure), single=True),)",
            "the count is not paid",
        ),
        ("case.promise(alpha)", "'proved'", "what is heuristic is called proved"),
    ),
    *at(
        _ROOM,
        "Theory.next",
        (
            "state.rounds >= len(plan.opening) + plan.rounds",
            "state.rounds > len(plan.opening) + plan.rounds",
            "a round too many",
        ),
        ("len(plan.opening) + plan.rounds", "plan.rounds", "the count takes a round's place"),
        ("opening and records is None", "False", "no count, and it goes on"),
        ("threshold=plan.stop.threshold if plan.stop else None", "", "no stop test"),
    ),
    *at(
        _ROOM,
        "_counted",
        ("max(int(counted.values[0][0]), 1)", "int(counted.values[0][0])", "m may be below 1"),
        (
            "min(max(int(counted.values[0][0]), 1), _declared(plan.problem))",
            "max(int(counted.values[0][0]), 1)",
            "m may be above the declared n",
        ),
    ),
    *at(
        _ROOM,
        "require_fractions",
        (
            "negative or block.largest_coefficient * block.scale > 1",
            "block.largest_coefficient * block.scale > 1",
            "coefficients below 0 pass",
        ),
        (
            "block.largest_coefficient * block.scale > 1",
            "block.largest_coefficient * block.scale > 2",
            "coefficients above 1 pass",
        ),
    ),
    *at(
        _ROOM,
        "answers_tail",
        ("gamma / block.rows", "gamma", "each answer of a block takes all of the block's part of beta"),
        (
            "law.tail(float(gamma / block.rows)) + 0.5",
            "law.tail(float(gamma / block.rows))",
            "half a step of the grid is forgotten",
        ),
    ),
    *at(
        _ROOM,
        "Tails.shortfall",
        ("short + 1", "short", "a step of the scores is forgotten"),
        ("(short + 1) * float(grid)", "short + 1", "scores are taken to be in records"),
    ),
    *at(
        _ROOM,
        "Tails.noise",
        (
            "max((answers_tail(self.roles, self.unit, block, measure, gamma) for block in self.measured))",
            "min((answers_tail(self.roles, self.unit, block, measure, gamma) for block in self.measured))",
            "the narrowest noise",
        ),
    ),
    *at(
        _ROOM,
        "_unlike",
        ("(TOTAL,) if counted else ()", "()", "a count's noise is left out"),
        ("known is None or known.rows < block.rows", "known is None", "the block of fewest answers stands for all"),
    ),
    *at(
        _ROOM,
        "Tails.of",
        ("block.name in candidates.whole", "not block.name", "a block is measured whole at a query's noise"),
    ),
    *at(
        _ROOM,
        "Stages.gamma",
        ("2 * len(self.alphas)", "len(self.alphas)", "each of two tails takes all of beta"),
        ("2 * len(self.alphas)", "2", "every stage takes all of beta"),
        (
            "2 * len(self.alphas) * (1 << doublings)",
            "2 * len(self.alphas)",
            "every round of a doubling takes all of its part",
        ),
    ),
    *at(
        _ROOM,
        "Stages.beta",
        ("self.problem.beta * self.spendable", "self.problem.beta", "a bought count has no part of beta"),
    ),
    *at(
        _ROOM,
        "Stages.level",
        ("self.exact", "self", "a declared n0 is given no part of the gap"),
    ),
    *at(
        _ROOM,
        "Stages.stage",
        ("alpha * self.records / 8", "alpha * self.records / 4", "a stop certifies more than alpha"),
    ),
    *at(
        _ROOM,
        "Stages.prices",
        (
            "self.alphas[number] * self.records / 8",
            "self.alphas[number] * self.records / 4",
            "noise of a quarter of alpha",
        ),
    ),
    *at(
        _ROOM,
        "Stages.certain",
        ("dearest + single", "dearest", "the last rounds of all stages are not paid"),
        ("self._cost(number, most + 1)", "self._cost(number, 1)", "one round stands for the dearest stage"),
    ),
    *at(
        _ROOM,
        "InStage.after",
        ("self.spent + sum(prices)", "sum(prices)", "only the last round is counted"),
        (
            "replace(self, number=following, turn=1, spent=spent)",
            "replace(self, number=following, turn=1, spent=Fraction(0))",
            "only the last stage is counted",
        ),
        (
            "replace(self, number=following, turn=1, spent=spent)",
            "replace(self, number=following, spent=spent)",
            "a stage begins at a later round's part of beta",
        ),
    ),
    *at(
        _ROOM,
        "BeforeCount.after",
        (
            "max(1, int(finished.measurement.values[0][0]))",
            "int(finished.measurement.values[0][0])",
            "m may be below 1",
        ),
        ("min(counted, problem.most or counted)", "counted", "m may be above the declared n"),
        ("finished.measurement is None", "False", "no count, and it goes on"),
    ),
    *at(
        _ROOM,
        "Anytime.plan",
        ("stages.certain() if known else None", "stages.alphas[-1]", "what is likely is called certain"),
        ("'proved' if is_builtin(roles.update) else 'stated'", "'proved'", "a third party's word is called proved"),
    ),
    *at(
        _ROOM,
        "dearest_row",
        (
            "max(problem.workload.blocks, key=lambda block: block.largest_coefficient)",
            "min(problem.workload.blocks, key=lambda block: block.largest_coefficient)",
            "the cheapest measurement is planned for",
        ),
    ),
    *at(
        _ROOM,
        "round_phases",
        ("events=((chosen, rounds),)", "", "selections are not paid"),
        ("((measured, rounds),)", "()", "measurements are not paid"),
    ),
    *at(
        _ROOM,
        "opening_phase",
        ("events=tuple(events.items())", "", "openings are not paid"),
    ),
    *at(
        _ROOM,
        "search_phases",
        ("((whole.event, 1),)", "()", "a search is not paid"),
    ),
    *at(
        _ROOM,
        "Feasibility.promise",
        ("'stated'", "'proved'", "a third party's word is called proved"),
    ),
    *at(
        _ROOM,
        "Feasibility.needed",
        (
            "8 * max(self.tails.shortfall(select, gamma), float(bought), self.tails.noise(measure, gamma))",
            "4 * max(self.tails.shortfall(select, gamma), float(bought), self.tails.noise(measure, gamma))",
            "half of the accuracy that is needed",
        ),
        ("2 * rounds", "rounds", "each of two tails takes all of beta"),
        ("2 * rounds + bought", "2", "tails of one round"),
        ("2 * rounds + bought", "2 * rounds", "the count has no part of beta"),
        (
            "max(self.tails.shortfall(select, gamma), float(bought), self.tails.noise(measure, gamma))",
            "max(self.tails.shortfall(select, gamma), self.tails.noise(measure, gamma))",
            "a count that is clipped to 1 is taken to be exact",
        ),
    ),
    *at(
        _ROOM,
        "level_share",
        ("Fraction(5, 8)", "Fraction(1)", "steps at level alpha"),
        ("variant == 'sharp' and known", "variant == 'sharp'", "a declared n0 is given no part of the gap"),
    ),
    *at(
        _ROOM,
        "Feasibility.rounds",
        ("max(bound, 1)", "max(bound - 1, 1)", "a round too few"),
    ),
    *at(
        _ROOM,
        "Feasibility._searched",
        (
            "self._proved(alpha) is not None and self.feasible(alpha)",
            "self.feasible(alpha)",
            "a heuristic alpha is chosen",
        ),
    ),
    *at(
        _ROOM,
        "Feasibility.prices",
        ("rounds + (self.problem.n is None)", "rounds", "the count is bought beside the budget"),
        ("Fraction(4)", "Fraction(1)", "selection and check have different epsilons"),
    ),
    *at(
        _ROOM,
        "Feasibility._smallest",
        ("Fraction(high, ALPHA_GRID)", "Fraction(low, ALPHA_GRID)", "an alpha below the feasible ones"),
    ),
    *at(
        _ROOM,
        "Feasibility.feasible",
        ("self.needed(alpha) <= alpha", "self.needed(alpha) <= 2 * alpha", "twice the alpha"),
    ),
    *at(
        _ROOM,
        "dropped_event",
        (
            "unit.apart and (not isinstance(event, LeftOutEvent))",
            "not isinstance(event, LeftOutEvent)",
            "every count is free",
        ),
    ),
    *at(
        _ROOM,
        "plan_split",
        ("not unit.apart", "not unit", "every count is planned as free"),
        (
            "[_counting(roles, unit, _reserved_price(plan, reserved))]",
            "()",
            "the count is not paid",
        ),
        ("(counting, *plan.phases)", "plan.phases", "the free count is not charged"),
        ("epsilon is not None", "True", "draws that a theorem does not know are planned"),
        ("whole.times(split.left_out or FREE_SHARE)", "whole", "all of the budget for the count"),
    ),
    *at(
        _ROOM,
        "_reserve",
        ("share / (1 - share)", "share", "the part gets less than its share"),
        ("roles.accountant.homogeneous", "roles.accountant is None", "unequal draws under equal ones' theorem"),
    ),
    *at(
        _ROOM,
        "Roles.cut",
        ("odds * together", "odds * together / 2", "half of what the part costs is set aside"),
    ),
    *at(
        _ROOM,
        "Roles.reserving",
        ("each * (1 + odds)", "each", "what was reserved first has no part in what is reserved later"),
    ),
    *at(
        _ROOM,
        "_reserved_price",
        (
            "phase.noun != 'search'",
            "phase.noun not in ('search', 'measurement')",
            "the part's price leaves measurements out",
        ),
        (
            "reduce(Price.plus, draws).times(reserved.reserved[0])",
            "reduce(Price.plus, draws)",
            "as much for the part as for all else",
        ),
        ("phase.noun != 'search'", "phase.noun not in ('search', 'stage')", "stages are left out of its share"),
        (
            "(phase.price.times(Fraction(phase.count)) for phase in plan.phases if phase.noun != 'search')",
            "(phase.price.times(Fraction(phase.count)) for phase in plan.phases)",
            "the sum of a search is counted beside its draws",
        ),
    ),
    *at(
        _ROOM,
        "_plan_with_errors",
        ("price.times(Fraction(1, count))", "price", "two draws at the price of one"),
        (
            "whole.stop is not None or not leaves_unmeasured(whole)",
            "not leaves_unmeasured(whole)",
            "a plan with a stop test buys errors unasked",
        ),
        ("((_errors_event(problem, each), count),)", "()", "errors are not paid"),
    ),
    *at(
        _ROOM,
        "unmeasured",
        ("any((axes.issuperset(block.axes) for axes in tables))", "False", "a wider table is forgotten"),
    ),
    *at(
        _ROOM,
        "_laplace_law",
        ("price.pure", "price.bounded_range", "rho buys twice the epsilon"),
    ),
    *at(
        _ROOM,
        "Laplace.law",
        ("Norm.L1", "Norm.LARGEST", "many answers move like one"),
    ),
    *at(
        _ROOM,
        "Laplace.satisfied",
        ("gap(measured, hypothesis) < threshold", "gap(measured, hypothesis) <= threshold", "a stop at the threshold"),
    ),
    *at(
        _ROOM,
        "Laplace.pure",
        ("return True", "return False", "pure noise is called concentrated"),
    ),
    *at(
        _ROOM,
        "_gaussian_law",
        ("2 * price.concentrated", "4 * price.concentrated", "half of the variance"),
    ),
    *at(
        _ROOM,
        "Gaussian.law",
        ("Norm.L2_SQUARED", "Norm.L1", "a sensitivity of another norm"),
    ),
    *at(
        _ROOM,
        "Gaussian.satisfied",
        ("gap(measured, hypothesis) < threshold", "gap(measured, hypothesis) <= threshold", "a stop at the threshold"),
    ),
    *at(
        _ROOM,
        "Gaussian.pure",
        ("return False", "return True", "concentrated noise is called pure"),
    ),
    *at(
        _ROOM,
        "gap",
        ("int(np.abs(apart).sum())", "abs(int(apart.sum()))", "gaps cancel"),
        ("block.scale * int(np.abs(apart).sum())", "int(np.abs(apart).sum())", "a gap in grid steps"),
        (
            "total += block.scale * int(np.abs(apart).sum())",
            "total = block.scale * int(np.abs(apart).sum())",
            "the last block's gap alone",
        ),
        (
            "round_answers(hypothesis.answer(block), LIMIT)",
            "np.floor(hypothesis.answer(block))",
            "answers are rounded down",
        ),
    ),
    *at(
        _ROOM,
        "Exponential.mechanism",
        ("price.bounded_range", "2 * price.bounded_range", "twice its price"),
    ),
    *at(
        _ROOM,
        "Exponential.event",
        ("price.bounded_range", "price.pure", "less is charged"),
    ),
    *at(
        _ROOM,
        "selection_shortfall",
        ("candidates * gamma.denominator", "gamma.denominator", "the union over candidates is forgotten"),
        ("2 * max(1, sensitivity)", "max(1, sensitivity)", "half of the shortfall"),
        ("2 * max(1, sensitivity)", "2", "scores are taken to move by 1"),
        ("max(1, sensitivity)", "sensitivity", "scores that do not move have no shortfall"),
    ),
    *at(
        _ROOM,
        "_ROUNDED_UP",
        ("1 + 2.0 ** (-40)", "1 - 2.0 ** (-40)", "a bound is rounded down"),
    ),
    *at(
        _ROOM,
        "PermuteAndFlip.mechanism",
        ("price.pure", "price.bounded_range", "rho buys twice the epsilon"),
    ),
    *at(
        _ROOM,
        "PermuteAndFlip.event",
        ("price.pure", "price.pure / 2", "half is charged"),
    ),
    *at(
        _ROOM,
        "PermuteAndFlip.shortfall",
        ("price.pure", "price.bounded_range", "half of the shortfall"),
        (
            "selection_shortfall(candidates, sensitivity, price.pure, gamma)",
            "selection_shortfall(candidates, 1, price.pure, gamma)",
            "scores move by 1",
        ),
    ),
    *at(
        _ROOM,
        "Perceptron.mistakes",
        ("Fraction(cells)", "Fraction(cells, 2)", "half of the printed bound"),
        ("Fraction(cells - 1, 4)", "Fraction(cells - 1, 8)", "half of the sharp bound"),
    ),
    *at(
        _ROOM,
        "Perceptron.mistakes_distinct",
        (
            "share if level.variant == 'printed' else (share - 1) / 4",
            "share / 2 if level.variant == 'printed' else (share - 1) / 4",
            "half of the bound for unlike records",
        ),
        ("records is None or records > cells", "records is None", "unlike records beyond the cells"),
    ),
    *at(
        _ROOM,
        "_step",
        ("sign * float(level.value)", "2 * sign * float(level.value)", "a step twice as long"),
        ("sign * 4.0", "sign * 8.0", "a sharp step twice as long"),
        ("row - row.mean()", "row", "a sharp step changes the sum"),
        (
            "-1.0 if query.value < float((row * cells).sum()) else 1.0",
            "1.0 if query.value < float((row * cells).sum()) else 1.0",
            "steps lead away",
        ),
        ("0.5 if level.variant == 'printed' else 4.0", "1.0 if level.variant == 'printed' else 4.0", "alpha as eta"),
        ("0.5 if level.variant == 'printed' else 4.0", "0.5 if level.variant == 'printed' else 8.0", "eta 8 a"),
        ("-1.0 if query.value < expected else 1.0", "1.0 if query.value < expected else 1.0", "steps lead away"),
    ),
    *at(
        _ROOM,
        "Perceptron.start",
        (
            "0.0 if printed else 1.0 / problem.domain.size",
            "0.0 if not printed else 1.0 / problem.domain.size",
            "another start than the proof's",
        ),
    ),
    *at(
        _ROOM,
        "Median.mistakes",
        ("members.bit_length() - 1", "members.bit_length() - 2", "a mistake too few"),
        (
            "members.bit_length() - 1 if members <= self.members else None",
            "members.bit_length() - 1",
            "a sample's bound is called proved",
        ),
    ),
    *at(
        _ROOM,
        "Median.expected_mistakes",
        (
            "net_members(problem, net_records(problem, level)).bit_length() - 1",
            "net_members(problem, net_records(problem, level)).bit_length() - 2",
            "a heuristic mistake too few",
        ),
    ),
    *at(
        _ROOM,
        "net_records",
        (
            "floor_of_log(2 * problem.workload.rows, Fraction(1, 2) / level.value ** 2) + 1",
            "floor_of_log(2 * problem.workload.rows, Fraction(1, 2) / level.value ** 2)",
            "a sample too small for a net",
        ),
        ("2 * problem.workload.rows", "problem.workload.rows", "one side of Hoeffding's bound"),
    ),
    *at(
        _ROOM,
        "net_members",
        ("size + problem.domain.size - 1", "problem.domain.size", "too few members"),
    ),
    *at(
        _ROOM,
        "_halved",
        ("answers < median", "answers <= median", "members that answer the median stay"),
        ("answers > median", "answers >= median", "members that answer the median stay, above"),
        (
            "value * net.size < int(median) * records(problem)",
            "value * net.size > int(median) * records(problem)",
            "wrong half",
        ),
        (
            "net.only(kept) if kept.any() else None",
            "net.only(kept) if kept.any() else net",
            "a net that is used up is kept",
        ),
    ),
    *at(
        _ROOM,
        "_cut",
        ("expected - a", "expected", "a cut at the hypothesis, and not a level away"),
        (
            "(query.value - a, query.value + a)",
            "(query.value - a / 2, query.value + a / 2)",
            "fair answers are cut away",
        ),
    ),
    *at(
        _ROOM,
        "MultiplicativeWeights.mistakes",
        ("Fraction(4)", "Fraction(2)", "half of the bound"),
        ("Fraction(1, 2)", "Fraction(1, 4)", "half of the sharp bound"),
        ("problem.domain.size", "len(problem.domain.attributes)", "few cells"),
    ),
    *at(
        _ROOM,
        "of_logs",
        ("cells /= cells.sum()", "", "weights are not normalised"),
    ),
    *at(
        _ROOM,
        "logs_of",
        ("distribution.potentials.get(LOGS)", "None", "weights that underflow are lost for good"),
    ),
    *at(
        _ROOM,
        "floor_of_log",
        ("int(low // 1)", "int(low // 1) + 1", "a mistake too many"),
        ("low // 1 == high // 1", "low", "a floor is told before enough digits decide"),
    ),
    *at(
        _ROOM,
        "SingleQuery.newest",
        ("value * scale", "value", "an answer in grid steps"),
        ("np.full(1, scale)", "np.full(1, 1.0)", "coefficients in grid steps"),
        ("history[-1]", "history[0]", "the first answer stands for the newest"),
    ),
    *at(
        _ROOM,
        "SingleQuery.parts",
        ("measured.blocks[0].rows != 1", "False", "one of many answers is read"),
    ),
)
