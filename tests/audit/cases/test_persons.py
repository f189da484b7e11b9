"""Tables of persons: sound ones pass and attain their claim; a version where a person counts twice in a cell, and one
that forgets in how many cells a person may count, are refuted."""

import pytest
from audit.wrong_builds import forgotten_cells
from support.cases import thinned

from dpqr.audit.attack import attack
from dpqr.audit.cases.persons import person_cases
from dpqr.kernel.noise.source import SeededNoise

ALARM = 1e-6
CASES = {case.name: case for case in person_cases()}
WRONG = [(wrong, name) for wrong in forgotten_cells() for name in wrong.cases]


def loss(name, runs=300):
    case, noise = CASES[name], SeededNoise(23)
    one, two = case.outcomes(0, runs, noise), case.outcomes(1, runs, noise)
    return attack(one, two, case.claim, ALARM, case.laws)


@pytest.mark.parametrize("name", thinned(CASES, 3))
def test_sound_tables_pass(name) -> None:
    found = loss(name)
    assert not found.breach
    assert found.stated == (pytest.approx(1) if CASES[name].laws else 0)


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "name"), WRONG, ids=[f"{wrong.name}, {name}" for wrong, name in WRONG])
def test_what_is_forgotten_is_refuted(wrong, name) -> None:
    with wrong.made():
        assert loss(name, 1500).breach
