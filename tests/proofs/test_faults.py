"""A fault for each statement, a constant, a sign or a direction of rounding, and the statement's check that dies of it.

`faults.txt` names them: the number, the definition and the words of a fault that `tests/faults/planted` lists.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from faults.anchored import planted
from faults.runner import copy_of_the_project, put_into
from support.guide_pages import topic

LINES = [line.split(" | ") for line in (Path(__file__).parent / "faults.txt").read_text(encoding="utf-8").splitlines()]
OWN = {f"P{number}" for number in (*range(1, 21), 43, 44, 45)}
"""The statements of the project's own."""


def check_of(number: str) -> str:
    part = re.search(rf"^(?:### (?:P\d+, )?{number}[.,]|- \*\*{number}\.).*?`(tests/proofs/\w+\.py)`", PAGE, FLAGS)
    assert part is not None, number
    return part[1]


PAGE, FLAGS = topic("proofs").text, re.MULTILINE | re.DOTALL


def faults_of(where: str, words: str):
    return [each for each in planted() if (each.where, each.words) == (where, words)]


def test_every_statement_of_the_projects_own_has_a_fault_and_every_fault_is_listed():
    assert {number for number, _, _ in LINES} >= OWN
    for number, where, words in LINES:
        assert len(faults_of(where, words)) == 1, (number, where, words)


@pytest.fixture(scope="module")
def copy():
    with copy_of_the_project() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(("number", "where", "words"), LINES, ids=[line[0] for line in LINES])
def test_the_check_of_the_statement_dies_of_its_fault(copy, number, where, words):
    (fault,) = faults_of(where, words)
    with put_into(copy.path, fault.fault()):
        assert copy.fails([check_of(number)]) or copy.fails([check_of(number)], "slow")
