"""Periods: releases of two cost a row the larger price; builds that let a row count in both are refuted."""

import pytest
from audit.wrong_builds import forgotten_factors

from dpqr.audit.attack import attack
from dpqr.audit.cases.counters import period_cases
from dpqr.kernel.noise.source import SeededNoise

ALARM = 1e-6
WRONG = {wrong.name: wrong for wrong in forgotten_factors()}


def loss(name, runs=300):
    """The case is made where it is attacked, for a build that is wrong then makes it wrong."""
    case, noise = {case.name: case for case in period_cases()}[name], SeededNoise(23)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.claim, ALARM, case.laws)


@pytest.mark.parametrize(("name", "claimed"), [("periods-add-remove", 1), ("periods-person", 2)])
def test_sound_releases_pass_and_attain_their_claim(name, claimed):
    found, (case,) = loss(name), (case for case in period_cases() if case.name == name)
    assert case.claim.epsilon == claimed
    assert not found.breach
    assert found.stated == pytest.approx(1)


def test_a_row_is_read_by_the_release_of_its_day_alone():
    case = {case.name: case for case in period_cases()}["periods-add-remove"]
    assert [drawn.parts for drawn in case.trial.draws] == [(0,), (1,)]


def test_a_row_that_counts_in_two_periods_is_refuted():
    with WRONG["the end of a period"].made():
        assert loss("periods-add-remove").breach


def test_persons_whose_periods_do_not_add_up_are_refuted():
    with WRONG["the periods of a person"].made():
        assert loss("periods-person").breach
