"""Faults of the loop, its draws, its certificate, and of what a release says of itself."""

from faults.anchored import Anchored, at

_ROOM = "release"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "certified_bound",
        ("2 * plan.rounds", "plan.rounds", "each of two tails takes all of beta"),
        ("2 * plan.rounds", "2", "tails of the last round alone"),
        (
            "tested.law.tail(float(gamma / answers)) + 0.5",
            "tested.law.tail(float(gamma / answers))",
            "half a step of the query's grid is forgotten",
        ),
        (
            "(tested.law.tail(float(gamma / answers)) + 0.5) * float(tested.blocks[0].scale)",
            "tested.law.tail(float(gamma / answers)) + 0.5",
            "the tail is in grid steps and not in records",
        ),
        ("float(gap(tested, hypothesis)) + tail", "tail", "the gap that was seen does not count"),
        ("shortfall + 1", "shortfall", "a step of the scores' grid is forgotten"),
        ("(shortfall + 1) * float(candidates.grid)", "float(candidates.grid)", "the selection is taken to be perfect"),
        ("(shortfall + 1) * float(candidates.grid)", "shortfall + 1", "scores are taken to be in records"),
        (
            "step.gamma or problem.beta / (2 * plan.rounds)",
            "problem.beta / (2 * plan.rounds)",
            "a stage's certificate at the tails of planned rounds",
        ),
        ("gamma / answers", "gamma", "each answer of a block takes all of the block's part of beta"),
        ("candidates.sensitivity(problem.unit)", "1", "all scores are taken to move by 1"),
        ("len(candidates)", "1", "one candidate"),
    ),
    *at(
        _ROOM,
        "certify",
        ("records=records", "records=float(problem.n or 0)", "every bound is the constant n"),
        ("min(transcript.bounds)", "max(transcript.bounds)", "the worst certificate is shown"),
        ("Fraction(plan.problem.beta)", "Fraction(plan.problem.beta) / 2", "more is promised than was planned"),
    ),
    *at(
        _ROOM,
        "restore_consistency",
        ("sure < stage.clear or done == MOST", "done == MOST", "what does not contradict updates"),
        ("gap(single, hypothesis) - noise", "gap(single, hypothesis)", "an answer's noise is not taken off"),
    ),
    *at(
        _ROOM,
        "Answers.after",
        (
            "{one.block.name: one for one in self.blocks} | {block.name: newest}",
            "{one.block.name: one for one in self.blocks}",
            "a newer answer of a block is left out",
        ),
    ),
    *at(
        _ROOM,
        "restore_consistency",
        ("stage.exact and problem.n", "problem.n", "a level above the gap that is sure"),
    ),
    *at(
        _ROOM,
        "furthest",
        ("apart.argmax", "apart.argmin", "the stop test looks at the nearest answer"),
    ),
    *at(
        _ROOM,
        "_single",
        ("one.measured.values[0][row:row + 1]", "one.measured.values[0][row - 1:row]", "another row's answer"),
    ),
    *at(
        _ROOM,
        "Draws._drawn",
        ("self.accountant.charge(mechanism.event)", "0", "a past draw is not charged"),
        ("self.journal.begin(mechanism.event, blocks)", "", "a draw is not journalled before it is made"),
        ("self.journal.record(encode(drawn.value))", "", "what was drawn is not journalled"),
        (
            (
                "self.journal.begin(mechanism.event, blocks)\n"
                "drawn = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise)"
            ),
            (
                "drawn = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise)\n"
                "self.journal.begin(mechanism.event, blocks)"
            ),
            "a draw is journalled after it was made",
        ),
        (
            "past is not None",
            "past is not None and past.value is not None",
            "a draw that was lost in a crash is made again",
        ),
        (
            "self.journal.past(mechanism.event, blocks)",
            "self.journal.past(mechanism.event, ())",
            "past blocks are not compared",
        ),
    ),
    *at(
        _ROOM,
        "Draws.measure",
        (
            "for_dropped_records(mechanism, unit) if self.left_out else mechanism",
            "for_dropped_records(mechanism, unit)",
            "all draws are charged beside all others",
        ),
        (
            "for_dropped_records(mechanism, unit) if self.left_out else mechanism",
            "mechanism",
            "a left-out count is charged like any other, which is not what was planned",
        ),
    ),
    *at(
        _ROOM,
        "Draws.of_left_out",
        ("data=data", "", "kept records are counted instead"),
    ),
    *at(
        _ROOM,
        "Draws.choose",
        ("candidates[drawn.value]", "candidates[0]", "another candidate than the drawn one"),
    ),
    *at(
        _ROOM,
        "count_dropped",
        ("'left out'", "'measurement'", "drawn at another price than paid"),
        ("drawn.charge", "0", "another event is told to have paid"),
    ),
    *at(
        _ROOM,
        "DroppedCount.deviation",
        ("self.measurement.law.deviation", "self.measurement.law.deviation / 2", "noise told too small"),
    ),
    *at(
        _ROOM,
        "DroppedCount.estimate",
        ("int(self.measurement.values[0][0])", "max(0, int(self.measurement.values[0][0]))", "an estimate with a bias"),
    ),
    *at(
        _ROOM,
        "_loop",
        ("finished.stopped", "False", "the hypothesis is updated after the stop"),
        ("hypothesis = start_rule(rule, problem)", "", "no new start once the number of records is known"),
        ("problem = replace(problem, n=step.records)", "", "the update rule is not told the number of records"),
        (
            "return Outcome(hypothesis=hypothesis, transcript=transcript, exhausted=True)",
            "continue",
            "a rule that ran out goes on",
        ),
    ),
    *at(
        _ROOM,
        "_round",
        (
            "certified_bound(plan, step, tested, drawn.value.blocks[0].rows, hypothesis) if stopped else None",
            "certified_bound(plan, step, tested, drawn.value.blocks[0].rows, hypothesis) if True else None",
            "what did not stop is certified",
        ),
        (
            "furthest(drawn.value, hypothesis) if step.stage else drawn.value",
            "drawn.value",
            "the sum of a block's errors is tested",
        ),
        ("step.threshold is not None", "step.threshold is None", "the stop test is not made"),
        ("step.measure", "step.select or step.measure", "a measurement is made at the price of the selection"),
    ),
    *at(
        _ROOM,
        "_in_stages",
        ("finished.bound == min(transcript.bounds)", "finished.bound != min(transcript.bounds)", "another D is kept"),
        (
            "Outcome(hypothesis=certified or hypothesis, transcript=transcript)",
            "Outcome(hypothesis=hypothesis, transcript=transcript)",
            "a hypothesis that no certificate speaks of is released",
        ),
    ),
    *at(
        _ROOM,
        "require_sound",
        ("not math.isfinite(hypothesis.total)", "math.isinf(hypothesis.total)", "nan records pass"),
    ),
    *at(
        _ROOM,
        "require_answers",
        ("np.isfinite(answers).all", "np.isfinite(answers).any", "one finite answer is enough"),
        (
            "positive and (answers < lowest).any()",
            "not positive and (answers < lowest).any()",
            "distributions may have cells below 0",
        ),
        ("np.shape(answers) != (block.rows,)", "np.ndim(answers) != 1", "any number of answers passes"),
    ),
    *at(
        _ROOM,
        "SLACK",
        ("1e-06", "0.01", "cells may lie a hundredth below 0"),
    ),
    *at(
        _ROOM,
        "apply_rule",
        (
            "not history or (lost and (not rule.cumulative))",
            "not history",
            "a lost draw makes a step of the measurement before it",
        ),
    ),
    *at(
        _ROOM,
        "apply_step",
        (
            "require_sound(found, rule.name, history[-1].blocks)",
            "require_sound(found, rule.name)",
            "an updated hypothesis' answers are not looked at",
        ),
    ),
    *at(
        _ROOM,
        "_called",
        ("is_builtin(rule)", "not is_builtin(rule)", "third parties' errors come through"),
        ("type(error).__name__", "error", "an error's text, which may show rows, is told"),
    ),
    *at(
        _ROOM,
        "start_rule",
        ("require_sound(found, rule.name)", "", "a first hypothesis is not looked at"),
    ),
    *at(
        _ROOM,
        "unbiased_answers",
        (
            "max(tails, default=np.nan)",
            "min(tails, default=np.nan)",
            "the narrowest law serves for all",
        ),
        ("scaled * widest", "deviations * widest", "a margin in grid steps"),
    ),
    *at(
        _ROOM,
        "LEVEL",
        ("Fraction(95, 100)", "Fraction(90, 100)", "intervals miss twice as often"),
    ),
    *at(
        _ROOM,
        "measured_answers",
        ("BETA * share", "2 * BETA * share", "each side of an interval has all of beta"),
        ("measured.law.deviation * scale", "measured.law.deviation", "a deviation in grid steps"),
    ),
    *at(
        _ROOM,
        "unbiased_answers",
        ("law.weighted_tail", "law.tail", "the tail of one draw serves for sums of many"),
    ),
    *at(
        _ROOM,
        "_outward",
        (
            "np.where(parts == np.round(parts), bounds, np.nextafter(bounds, away))",
            "bounds",
            "bounds are not rounded outwards",
        ),
    ),
    *at(
        _ROOM,
        "measured_answers",
        (
            "finished.choice - (ends[position] - blocks[position].rows)",
            "finished.choice % blocks[position].rows",
            "a measured answer stands in another row",
        ),
        (
            "bisect_right(ends, finished.choice)",
            "bisect_left(ends, finished.choice)",
            "a measured answer stands in another block",
        ),
    ),
    *at(
        _ROOM,
        "released_hypothesis",
        (
            "outcome.transcript.bounds and (not plan.problem.unit.rows_public)",
            "False",
            "answers that a certificate speaks of are moved",
        ),
    ),
    *at(
        _ROOM,
        "measured_errors",
        ("phase is None or (phase.noun == 'errors' and (not missed))", "phase is None", "errors of no block are drawn"),
        ("largest=True", "", "a bound from the sum of a group"),
    ),
    *at(
        _ROOM,
        "NoisyError.of",
        ("each * value", "value", "an error in parts of what a record moves"),
    ),
    *at(
        _ROOM,
        "_each",
        (
            "(unit * most + unit - 1) / FINENESS + apart[block.name]",
            "(unit * most + unit - 1) / FINENESS",
            "rounding is left out of a bound",
        ),
        ("unit * most + unit - 1", "most", "a bound in parts of what a record moves"),
    ),
    *at(
        _ROOM,
        "_mean",
        (
            "(1 - 1 / unit) / FINENESS + apart[name] / unit",
            "(1 - 1 / unit) / FINENESS",
            "rounding is left out of the mean",
        ),
    ),
    *at(
        _ROOM,
        "error_bounds",
        ("problem.n and problem.unit.rows_public", "problem.n", "a fraction of a private number"),
    ),
    *at(
        _ROOM,
        "_trust",
        ("not private", "private", "noise that repeats is not told"),
        ("plan.stop.promise == 'proved'", "plan.stop", "odds are told where nothing is proved"),
    ),
    *at(
        _ROOM,
        "sound_answers",
        (
            "require_answers(shown, each.estimate / float(each.block.scale), plan.roles.update.name, each.block)",
            "pass",
            "final answers are not looked at",
        ),
    ),
    *at(
        _ROOM,
        "_answers",
        (
            "np.asarray(hypothesis.answer(block), dtype=np.float64) * float(block.scale)",
            "np.asarray(hypothesis.answer(block), dtype=np.float64)",
            "estimates in grid steps",
        ),
    ),
    *at(
        _ROOM,
        "phases",
        (("if phase.events:\n    ..."), ("if phase.events[1:]:\n    ..."), "a phase of one event is left out"),
        (
            "(*found.get(phase.noun, ()), *phase.events)",
            "phase.events",
            "the second phase of a noun replaces the first",
        ),
    ),
    *at(
        _ROOM,
        "priced_phases",
        ("plan.budget.delta", "plan.budget.delta * 2", "phases are priced at another delta"),
    ),
    *at(
        _ROOM,
        "budget_words",
        ("upward_text(budget.epsilon)", "f'{float(budget.epsilon):.12g}'", "epsilon is told below the real one"),
        ("budget.pure", "budget", "delta is not told"),
        ("upward_text(budget.delta)", 'f"{float(budget.delta):.1g}"', "delta is told below the real one"),
    ),
    *at(
        _ROOM,
        "release_guarantee",
        ("not release.private", "release.private is None", "noise that repeats is called private"),
    ),
    *at(
        _ROOM,
        "parallel_words",
        ("unit.apart", "unit", "a count that has a price is called free"),
    ),
)
