"""Counters, releases of periods, bounded tables: sound ones pass and attain their claim; those that forget levels,
moves or rows, or let a row count in two periods, are refuted."""

import pytest
from audit.wrong_builds import forgotten_factors, forgotten_rows
from support.cases import thinned

from dpqr.audit.attack import attack
from dpqr.audit.cases.counters import TREE, counter_cases, history_cases, period_cases
from dpqr.audit.cases.persons import cell_cases
from dpqr.kernel.noise.source import SeededNoise

ALARM = 1e-6
WRONG = {wrong.name: wrong for wrong in (*forgotten_factors(), *forgotten_rows())}


CASES = {
    case.name: (case, made) for made in (counter_cases, history_cases, period_cases, cell_cases) for case in made()
}


def loss(name, runs=300):
    """The case is made again, and its table read, where it is attacked: by a build that may be wrong."""
    (case,), noise = (case for case in CASES[name][1]() if case.name == name), SeededNoise(23)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.claim, ALARM, case.laws)


@pytest.mark.parametrize("name", thinned(CASES, 15))
def test_a_sound_counter_passes(name):
    assert not loss(name).breach


ATTAINED = [
    "cells-spread-person",
    "counter-add-remove",
    "counter-person",
    "counter-history-person",
    "counter-history-one-level",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["periods-add-remove", "periods-person", *ATTAINED])
def test_the_claim_is_attained_by_the_law_of_the_draws(name):
    assert loss(name).stated == pytest.approx(1)


def test_a_node_holds_the_rows_of_its_periods_and_a_release_those_of_its_days():
    known = {name: case for name, (case, _) in CASES.items()}
    assert known["counter-add-remove"].trial.spans == ((0,), (0, 1), (2,))
    assert TREE.levels == 2
    assert [drawn.parts for drawn in known["periods-add-remove"].trial.draws] == [(0,), (1,)]
    assert [known[f"periods-{unit}"].claim.epsilon for unit in ("add-remove", "person")] == [1, 2]


REFUTED = [
    ("the levels of a counter", "counter-add-remove", 300),
    ("K in noisy answers", "counter-person", 300),
    ("the end of a period", "periods-add-remove", 300),
    ("the periods of a person", "periods-person", 300),
    ("the levels of a counter", "counter-rho-add-remove", 300),
    ("the levels of a counter", "counter-person", 300),
    ("rows of earlier releases", "counter-history-one-level", 3000),
    ("rows of earlier periods of a node", "counter-history-person", 3000),
    ("any bound on rows", "counter-history-person", 3000),
    ("the bound on rows in one cell", "cells-equal-person", 3000),
]


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "name", "runs"), REFUTED)
def test_what_is_forgotten_is_refuted(wrong, name, runs):
    with WRONG[wrong].made():
        assert loss(name, runs).breach


def test_every_wrong_bound_on_rows_is_attacked():
    assert {wrong.name for wrong in forgotten_rows()} <= {wrong for wrong, *_ in REFUTED}
