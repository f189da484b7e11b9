"""Counters: sound ones pass, and those that forget levels, moves or rows are refuted."""

import pytest
from audit.wrong_builds import forgotten_factors, forgotten_rows
from support.slow_cases import slowly, thinned

from dpqr.audit.attack import attack
from dpqr.audit.cases.counters import TREE, counter_cases, history_cases, period_cases
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


# Counters of persons from tables: sound ones pass, and bounds that are none of the whole life are refuted.

HISTORIES = [case.name for case in history_cases()]
WRONG_HISTORIES = {wrong.name: wrong for wrong in forgotten_rows()}
REFUTED = [
    ("rows of earlier releases", "counter-history-one-level"),
    ("rows of earlier periods of a node", "counter-history-person"),
    ("any bound on rows", "counter-history-person"),
]


def history_loss(name, runs):
    """The case is made, and its table read, where it is attacked: by a build that may be wrong."""
    case, noise = {case.name: case for case in history_cases()}[name], SeededNoise(23)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.claim, 1e-6, case.laws)


@pytest.mark.parametrize("name", thinned(HISTORIES, 5))
def test_a_sound_counter_of_persons_passes(name):
    assert not history_loss(name, 300).breach


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counter-history-person", "counter-history-one-level"])
def test_the_claim_is_attained_by_a_person_with_rows_in_every_period(name):
    assert history_loss(name, 300).stated == pytest.approx(1)


def test_every_wrong_bound_is_attacked():
    assert {wrong for wrong, _ in REFUTED} == set(WRONG_HISTORIES)


@pytest.mark.parametrize(("wrong", "name"), [pytest.param(*row, marks=pytest.mark.slow) for row in REFUTED])
def test_a_bound_that_is_none_of_the_life_is_refuted(wrong, name):
    with WRONG_HISTORIES[wrong].made():
        assert history_loss(name, 3000).breach


# Periods: releases of two cost a row the larger price; builds that let a row count in both are refuted.

PERIODS_ALARM = 1e-6
WRONG_PERIODS = {wrong.name: wrong for wrong in forgotten_factors()}


def period_loss(name, runs=300):
    """The case is made where it is attacked, for a build that is wrong then makes it wrong."""
    case, noise = {case.name: case for case in period_cases()}[name], SeededNoise(23)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.claim, PERIODS_ALARM, case.laws)


@pytest.mark.parametrize(("name", "claimed"), [("periods-add-remove", 1), ("periods-person", 2)])
def test_sound_releases_pass_and_attain_their_claim(name, claimed):
    found, (case,) = period_loss(name), (case for case in period_cases() if case.name == name)
    assert case.claim.epsilon == claimed
    assert not found.breach
    assert found.stated == pytest.approx(1)


def test_a_row_is_read_by_the_release_of_its_day_alone():
    case = {case.name: case for case in period_cases()}["periods-add-remove"]
    assert [drawn.parts for drawn in case.trial.draws] == [(0,), (1,)]


def test_a_row_that_counts_in_two_periods_is_refuted():
    with WRONG_PERIODS["the end of a period"].made():
        assert period_loss("periods-add-remove").breach


def test_persons_whose_periods_do_not_add_up_are_refuted():
    with WRONG_PERIODS["the periods of a person"].made():
        assert period_loss("periods-person").breach
