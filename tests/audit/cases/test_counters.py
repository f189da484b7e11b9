"""Counters: sound ones pass, and those that forget levels, moves or rows are refuted."""

import pytest
from audit.wrong_builds import forgotten_factors
from support.slow_cases import slowly, thinned

from dpqr.audit.attack import attack
from dpqr.audit.cases.counters import TREE, counter_cases
from dpqr.kernel.noise.source import SeededNoise

CASES = {case.name: case for case in counter_cases()}
ALARM = 1e-6
WRONG = {wrong.name: wrong for wrong in forgotten_factors()}


def loss(name, runs):
    """The case is made where it is attacked, for a build that is wrong then makes it wrong."""
    case, noise = {case.name: case for case in counter_cases()}[name], SeededNoise(23)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.claim, ALARM, case.laws)


@pytest.mark.parametrize("name", thinned(CASES, 5))
def test_a_sound_counter_passes(name):
    assert not loss(name, 300).breach


@pytest.mark.slow
def test_the_claim_is_attained_by_the_law_of_the_draws():
    assert loss("counter-add-remove", 300).stated == pytest.approx(1)
    assert loss("counter-person", 300).stated == pytest.approx(1)


def test_a_node_holds_the_rows_of_its_periods():
    assert CASES["counter-add-remove"].trial.spans == ((0,), (0, 1), (2,))
    assert TREE.levels == 2


@pytest.mark.parametrize("name", ["counter-add-remove", *slowly("counter-rho-add-remove", "counter-person")])
def test_a_counter_that_pays_for_one_level_is_refuted(name):
    with WRONG["the levels of a counter"].made():
        assert loss(name, 300).breach


def test_a_counter_that_forgets_the_rows_of_a_person_is_refuted():
    with WRONG["K in noisy answers"].made():
        assert loss("counter-person", 300).breach
