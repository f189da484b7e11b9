"""Counters of persons from tables: sound ones pass, and bounds that are none of the whole life are refuted."""

import pytest
from audit.wrong_builds import forgotten_rows
from support.slow_cases import thinned

from dpqr.audit.attack import attack
from dpqr.audit.cases.counters import history_cases
from dpqr.kernel.noise.source import SeededNoise

CASES = [case.name for case in history_cases()]
WRONG = {wrong.name: wrong for wrong in forgotten_rows()}
REFUTED = [
    ("rows of earlier releases", "counter-history-one-level"),
    ("rows of earlier periods of a node", "counter-history-person"),
    ("any bound on rows", "counter-history-person"),
]


def loss(name, runs):
    """The case is made, and its table read, where it is attacked: by a build that may be wrong."""
    case, noise = {case.name: case for case in history_cases()}[name], SeededNoise(23)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.claim, 1e-6, case.laws)


@pytest.mark.parametrize("name", thinned(CASES, 5))
def test_a_sound_counter_passes(name):
    assert not loss(name, 300).breach


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counter-history-person", "counter-history-one-level"])
def test_the_claim_is_attained_by_a_person_with_rows_in_every_period(name):
    assert loss(name, 300).stated == pytest.approx(1)


def test_every_wrong_bound_is_attacked():
    assert {wrong for wrong, _ in REFUTED} == set(WRONG)


@pytest.mark.parametrize(("wrong", "name"), [pytest.param(*row, marks=pytest.mark.slow) for row in REFUTED])
def test_a_bound_that_is_none_of_the_life_is_refuted(wrong, name):
    with WRONG[wrong].made():
        assert loss(name, 3000).breach
