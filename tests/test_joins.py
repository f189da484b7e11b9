"""Faults at joins: each can be planted, once, in a room of its own tests; and what an anchor of them is."""

from collections import Counter
from pathlib import Path

import pytest
from faults.anchored import Anchored, room_tests
from faults.joins import EQUIVALENT, ROOMS, joins

ROOT = Path(__file__).resolve().parents[1]
FAULTS = joins()


def test_every_fault_is_planted_once_and_no_two_are_the_same():
    made = {(fault.room, *fault.change()) for fault in FAULTS}
    assert len(made) == len(FAULTS)


def test_every_room_has_faults_and_tests_of_its_own():
    of = Counter(fault.room for fault in FAULTS)
    assert {*of} == {*ROOMS}
    assert of.total() >= 150
    assert all(count >= 20 for room, count in of.items() if room != "mechanisms")
    for fault in FAULTS:
        assert {*room_tests(fault.tests, ROOT)} <= {*room_tests(ROOMS[fault.room], ROOT)}, fault.where
    assert {room for room, *_ in EQUIVALENT} <= {*ROOMS}


def fault(where, before, after, place=None):
    return Anchored(room="layers", where=where, before=before, after=after, words="", place=place).fault()


def test_an_anchor_is_a_definition_and_a_statement_however_they_are_written():
    """Whatever file it lies in, whatever quotes and blanks the source has; an argument by its name."""
    changed = fault("Cost.__add__", "Cost( self.amount+other.amount,self.delta + other.delta )", "self")
    assert changed.file == "kernel/budget.py"
    assert "return self\n" in changed.text
    assert "first=rows.period.name" in fault("free_layer", "first=rows.first.name", "first=rows.period.name").text
    assert (
        "self.surprises" not in fault("Online._surprised", "self.surprises += 1", "").text.split("_surprised")[2][:200]
    )


@pytest.mark.parametrize(
    ("where", "before", "after", "place", "words"),
    [
        ("is_free", "nowhere()", "1", None, "stands there 0 times"),
        ("NoSuchClass.at_all", "1", "2", None, "stands there 0 times"),
        ("is_free", "layer", "1", None, "times, not once"),
        ("is_free", "layer", "1", 99, "and not in 99"),
        ("is_free", "set(waiting)", "set( waiting )", None, "changes nothing"),
        ("is_free", "set(waiting)", "x = 1", None, "no expression"),
        ("free_layer", "read=rows.read", "rows.read", None, "no keyword argument"),
    ],
)
def test_what_is_no_anchor_is_said(where, before, after, place, words):
    with pytest.raises(ValueError, match=words):
        fault(where, before, after, place)


def test_patterns_that_name_no_test_are_said():
    with pytest.raises(ValueError, match="names no test"):
        room_tests(("privacy/test_nothing*.py",), ROOT)
