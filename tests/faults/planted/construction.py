"""Faults of the loop, its draws, its certificate, and of what a release says of itself."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "construction/certificate.py",
        ("problem.beta / (2 * plan.rounds)", "problem.beta / plan.rounds", "each of two tails takes all of beta"),
        ("problem.beta / (2 * plan.rounds)", "problem.beta / 2", "tails of the last round alone"),
        (
            "(last.law.tail(float(gamma)) + 0.5) * float",
            "last.law.tail(float(gamma)) * float",
            "half a step of the query's grid is forgotten",
        ),
        ("* float(last.blocks[0].scale)", "", "the tail is in grid steps and not in records"),
        ("float(gap(last, outcome.hypothesis)) + tail", "tail", "the gap that was seen does not count"),
        ("(shortfall + 1) *", "shortfall *", "a step of the scores' grid is forgotten"),
        (
            " + (shortfall + 1) * float(candidates.grid)",
            " + float(candidates.grid)",
            "the selection is taken to be perfect",
        ),
        ("(shortfall + 1) * float(candidates.grid)", "(shortfall + 1)", "scores are taken to be in records"),
        ("        records=records,", "        records=float(problem.n or 0),", "every bound is the constant n"),
        ("not outcome.transcript.stopped or ", "", "a run that nothing stopped is certified"),
        ("measurements[-1]", "measurements[0]", "the first measurement stands for the one that stopped"),
        ("1 - Fraction(problem.beta)", "1 - Fraction(problem.beta) / 2", "more is promised than was planned"),
        ("candidates.sensitivity(problem.unit), select", "1, select", "all scores are taken to move by 1"),
        ("len(candidates), candidates", "1, candidates", "one candidate"),
    ),
    *planted_in(
        "construction/draws.py",
        ("charge = self.accountant.charge(mechanism.event)", "charge = 0", "a past draw is not charged"),
        ("        self.journal.begin(mechanism.event, blocks)\n", "", "a draw is not journalled before it is made"),
        ("        self.journal.record(encode(drawn.value))\n", "", "what was drawn is not journalled"),
        (
            "        self.journal.begin(mechanism.event, blocks)\n"
            "        drawn = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise)\n",
            "        drawn = measure(self.data, mechanism, accountant=self.accountant, noise=self.noise)\n"
            "        self.journal.begin(mechanism.event, blocks)\n",
            "a draw is journalled after it was made",
        ),
        (
            "if past is not None:",
            "if past is not None and past.value is not None:",
            "a draw that was lost in a crash is made again",
        ),
        (
            "on_left_out(mechanism, unit) if self.left_out else mechanism",
            "on_left_out(mechanism, unit)",
            "all draws are charged beside all others",
        ),
        (
            "on_left_out(mechanism, unit) if self.left_out else mechanism",
            "mechanism",
            "a left-out count is charged like any other, which is not what was planned",
        ),
        ("replace(self, data=data, left_out=True)", "replace(self, left_out=True)", "kept records are counted instead"),
        ("else candidates[drawn.value]", "else candidates[0]", "another candidate than the drawn one"),
        ("journal.past(mechanism.event, blocks)", "journal.past(mechanism.event, ())", "past blocks are not compared"),
        ("charges=(drawn.charge,))", "charges=())", "a selection is told to be free"),
    ),
    *planted_in(
        "construction/dropped.py",
        ('plan.price("left out")', 'plan.price("measurement")', "drawn at another price than paid"),
        ("return self.measurement.law.deviation", "return self.measurement.law.deviation / 2", "noise told too small"),
        ("int(self.measurement.values[0][0])", "max(0, int(self.measurement.values[0][0]))", "an estimate with a bias"),
        ("charge=drawn.charge", "charge=0", "another event is told to have paid"),
    ),
    *planted_in(
        "construction/loop.py",
        ("        if finished.stopped:\n            break\n", "", "the hypothesis is updated after the stop"),
        (
            "            hypothesis = started(rule, problem)\n        finished",
            "        finished",
            "no new start once the number of records is known",
        ),
        (
            "            problem = replace(problem, n=step.records)\n",
            "",
            "the update rule is not told the number of records",
        ),
        ("(*choice.charges, drawn.charge)", "(drawn.charge,)", "the selection is told to be free"),
        ("(*choice.charges, drawn.charge)", "choice.charges", "the measurement is told to be free"),
        (
            "measurement=None, charges=choice.charges)",
            "measurement=None, charges=())",
            "a lost choice is told to be free",
        ),
        (
            "step.threshold is not None and plan",
            "step.threshold is None and plan",
            "the stop test is not made",
        ),
        (
            "hypothesis=hypothesis, transcript=transcript, exhausted=True",
            "hypothesis=hypothesis, transcript=transcript",
            "a rule that ran out is not told",
        ),
        (
            "            return Outcome(hypothesis=hypothesis, transcript=transcript, exhausted=True)",
            "            continue",
            "a rule that ran out goes on",
        ),
        (
            "choice.candidate, step.measure)",
            "choice.candidate, step.select or step.measure)",
            "a measurement is made at the price of the selection",
        ),
    ),
    *planted_in(
        "construction/soundness.py",
        (
            "if not math.isfinite(hypothesis.total):",
            "if math.isinf(hypothesis.total):",
            "nan records pass",
        ),
        ("if not np.isfinite(answers).all():", "if not np.isfinite(answers).any():", "one finite answer is enough"),
        ("if positive and (answers", "if not positive and (answers", "distributions may have cells below 0"),
        ("SLACK = 1e-6", "SLACK = 1e-2", "cells may lie a hundredth below 0"),
        (
            "if not history or (lost and not rule.cumulative):",
            "if not history:",
            "a lost draw makes a step of the measurement before it",
        ),
        ("rule.name, history[-1].blocks)", "rule.name)", "an updated hypothesis' answers are not looked at"),
        ("if np.shape(answers) != (block.rows,):", "if np.ndim(answers) != 1:", "any number of answers passes"),
        ("if is_builtin(rule):", "if not is_builtin(rule):", "third parties' errors come through"),
        (
            "    found = _called(rule, rule.start, problem)\n    require_sound(found, rule.name)\n",
            "    found = _called(rule, rule.start, problem)\n",
            "a first hypothesis is not looked at",
        ),
        ("ended with {type(error).__name__}", "ended with {error}", "an error's text, which may show rows, is told"),
    ),
    *planted_in(
        "construction/noisy.py",
        ("widest = max((_relative", "widest = min((_relative", "the narrowest law serves for all"),
        (
            "np.where(again, np.nan, measured.law.tail(_BETA) * scale)",
            "measured.law.tail(_BETA) * scale",
            "an interval for a query that was measured twice",
        ),
        ("LEVEL = Fraction(95, 100)", "LEVEL = Fraction(90, 100)", "intervals miss twice as often"),
        ("measured.law.tail(_BETA)", "measured.law.tail(2 * _BETA)", "each side of an interval has all of beta"),
        ("law.weighted_tail(_BETA)", "law.tail(_BETA)", "the tail of one draw serves for sums of many"),
        ("measured.law.deviation * scale", "measured.law.deviation", "a deviation in grid steps"),
        (
            "np.where(parts == np.round(parts), bounds, np.nextafter(bounds, away))",
            "bounds",
            "bounds are not rounded outwards",
        ),
        (
            "finished.choice - (ends[position] - blocks[position].rows)",
            "finished.choice % blocks[position].rows",
            "a measured answer stands in another row",
        ),
        ("bisect_right(ends", "bisect_left(ends", "a measured answer stands in another block"),
        ("margin=scaled * widest", "margin=deviations * widest", "a margin in grid steps"),
    ),
    *planted_in(
        "construction/release.py",
        (
            "certified = outcome.transcript.stopped and not plan.problem.unit.rows_public",
            "certified = False",
            "answers that a certificate speaks of are moved",
        ),
        ("    if not private:", "    if private:", "noise that repeats is not told"),
        (
            "require_answers(shown, each.estimate / float(each.block.scale), plan.roles.update.name, each.block)\n",
            "pass\n",
            "final answers are not looked at",
        ),
        ('plan.stop.promise == "proved"', "plan.stop", "odds are told where nothing is proved"),
        (
            "dtype=np.float64) * float(block.scale)",
            "dtype=np.float64)",
            "estimates in grid steps",
        ),
    ),
    *planted_in(
        "construction/costs.py",
        ("if phase.events:", "if phase.events[1:]:", "a phase of one event is left out"),
        (
            "(*found.get(phase.noun, ()), *phase.events)",
            "phase.events",
            "the second phase of a noun replaces the first",
        ),
        ("plan.budget.delta)", "plan.budget.delta * 2)", "phases are priced at another delta"),
    ),
    *planted_in(
        "construction/sentences.py",
        ("upward_text(budget.epsilon)", 'f"{float(budget.epsilon):.12g}"', "epsilon is told below the real one"),
        ('    if budget.pure:\n        return f"Diff', '    if budget:\n        return f"Diff', "delta is not told"),
        ("{upward_text(budget.delta)}", "{float(budget.delta):.1g}", "delta is told below the real one"),
        ("if not release.private:", "if release.private is None:", "noise that repeats is called private"),
        ("math.ceil(bound)", "round(bound)", "a large bound is told too small"),
        ("upward_text(Fraction(bound), 6)", 'f"{bound:.6g}"', "a bound is told too small"),
        ("{upward_text(Fraction(certificate.fraction), 4)}", "{certificate.fraction:.4g}", "a share told too small"),
        ("if unit.apart else", "if unit else", "a count that has a price is called free"),
        ("law.tail(DOUBT)", "law.tail(1.0)", "noise alone makes a warning"),
        ("found.estimate <= FEW * total or ", "", "a few left-out records make a warning"),
    ),
)
