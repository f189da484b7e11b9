"""What a release shows: which hypothesis, in which unit, and what a reader must know first."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.handmade_release import BLOCKS, WEIGHTS, TinyHypothesis, make_plan, make_theory_plan
from support.plan_phases import changed

from dpqr.kernel.errors import HypothesisFailed
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.releases.answers.errors import CERTIFIED
from dpqr.releases.loop import Outcome
from dpqr.releases.result import assemble
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.plan import StopTest
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.workload import Measurement


@dataclass(frozen=True)
class Moving(TinyHypothesis):
    """Its answers are moved to what its total could give: here, by a factor."""

    def clipped(self):
        return TinyHypothesis(self.tensor * 3)


def ended(hypothesis, *, stopped=False, lost=False, exhausted=False):
    law = DiscreteLaplace(Fraction(5))
    measured = Measurement(blocks=(BLOCKS[0].row(0),), values=(np.array([4]),), law=law)
    transcript = Transcript()
    transcript.add(
        Round(
            choice=0,
            measurement=None if lost else measured,
            charges=(0, 1),
            stopped=stopped,
            bound=9.0 if stopped else None,
        )
    )
    return Outcome(hypothesis=hypothesis, transcript=transcript, exhausted=exhausted)


def theory(unit):
    plan = make_theory_plan()
    roles = replace(plan.roles, check=Laplace(), distinguisher=Exponential())
    return changed(replace(plan, problem=replace(plan.problem, unit=unit), roles=roles), "selection", single=True)


@in_one_test(
    ("unit", "stopped", "moved"),
    [
        (PrivacyUnit(), True, False),
        (PrivacyUnit(), False, True),
        (PrivacyUnit(neighbours=Neighbours.REPLACE), True, True),
        (PrivacyUnit(neighbours=Neighbours.REPLACE, drops=True), True, False),
    ],
)
def test_what_a_certificate_speaks_of_is_shown_unmoved_where_the_total_is_not_public(unit, stopped, moved):
    """Its bound is on the hypothesis that was selected against; moving towards a total that is not the table's could
    take an answer away from the truth."""
    release = assemble(theory(unit), ended(Moving(WEIGHTS), stopped=stopped), {}, private=True)
    assert release.hypothesis.total == WEIGHTS.sum() * (3 if moved else 1)
    assert (release.certificate is not None) == stopped
    bases = {place for answers in release.answers for place in answers.intervals.basis.tolist()}
    assert (CERTIFIED in bases) == stopped


def test_estimates_are_in_records_and_not_in_grid_steps():
    release = assemble(make_plan(), ended(TinyHypothesis(WEIGHTS)), {}, private=True)
    years = next(each for each in release.answers if each.block.name == "years")
    ages = np.array([20.0, 60.0, 100.0]) / 2
    assert years.estimate == pytest.approx(WEIGHTS.sum(axis=2) @ ages)


@dataclass(frozen=True)
class Broken(TinyHypothesis):
    def answer(self, block):
        return super().answer(block) * np.nan


def test_an_answer_that_is_no_number_is_never_released():
    with pytest.raises(HypothesisFailed, match="not a finite number"):
        assemble(make_plan(), ended(Broken(WEIGHTS)), {}, private=True)


def test_noise_that_repeats_is_told_first_and_so_is_a_run_that_measured_nothing():
    def trust(private=True, **more):
        return assemble(make_plan(), ended(TinyHypothesis(WEIGHTS), **more), {}, private=private).trust

    assert [trust(private)[0].startswith("NOT PRIVATE") for private in (True, False)] == [False, True]
    assert any("1 of its rounds lost a draw" in sentence for sentence in trust(lost=True))
    assert any("nothing was measured" in sentence for sentence in trust(lost=True))


@in_one_test(("promise", "odds"), [("proved", True), ("stated", False), ("heuristic", False)])
def test_how_rarely_a_rule_runs_out_is_told_where_it_is_proved_alone(promise, odds):
    plan = replace(make_plan(), stop=StopTest(threshold=Fraction(1), promise=promise))
    trust = assemble(plan, ended(TinyHypothesis(WEIGHTS), exhausted=True), {}, private=True).trust
    (told,) = [sentence for sentence in trust if "ran out" in sentence]
    assert ("probability at most beta" in told) == odds
