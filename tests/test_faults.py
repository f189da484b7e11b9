"""Planted faults: each stands once in the package and changes something; and what an anchor of them is."""

import re
from collections import Counter
from pathlib import Path

import pytest
from faults.anchored import Anchored, definition_of, is_defined
from faults.explained import EXPLAINED
from faults.fault import SOURCE, Fault
from faults.joins import EQUIVALENT, joins
from faults.planted import planted
from faults.rooms import ROOMS, nearest, room_tests

ROOT = Path(__file__).resolve().parents[1]
FAULTS = [*planted(), *joins()]


@pytest.mark.parametrize("room", ROOMS)
def test_every_fault_stands_once_and_changes_something(room):
    of_room = [fault for fault in FAULTS if fault.room == room]
    assert len(of_room) >= 10
    missing = []
    for fault in of_room:
        try:
            fault.match()
        except (ValueError, SyntaxError) as error:
            missing.append(f"{fault.words}: {error}")
    assert not missing, "\n".join(missing)


def test_no_two_faults_are_the_same():
    places = Counter((fault.where, fault.before, fault.after, fault.place) for fault in FAULTS)
    assert [named for named, count in places.items() if count > 1] == []


def test_every_room_has_faults_and_tests():
    assert {fault.room for fault in FAULTS} == {*ROOMS}
    assert len(joins()) >= 150
    assert all(room_tests(patterns, ROOT) for patterns in ROOMS.values())
    assert {room for room, *_ in EQUIVALENT} <= {*ROOMS}


def test_every_explained_fault_lies_in_a_definition():
    assert [where for where, *_ in EXPLAINED if not is_defined(where)] == []
    assert not is_defined("Counter.nowhere")


def fault(where, before, after, place=None, quoted=False):
    return Anchored(
        room="layers", where=where, before=before, after=after, words="", place=place, quoted=quoted
    ).fault()


def test_an_anchor_is_a_definition_and_a_statement_however_they_are_written():
    """Whatever file it lies in, whatever quotes and blanks the source has; an argument by its name."""
    changed = fault("Cost.__add__", "Cost( self.amount+other.amount,self.delta + other.delta )", "self")
    assert "return self\n" in changed.text
    assert "first=rows.period.name" in fault("free_layer", "first=rows.first.name", "first=rows.period.name").text
    assert (
        "self.surprises" not in fault("Online._surprised", "self.surprises += 1", "").text.split("_surprised")[2][:200]
    )


def test_what_does_not_matter_is_an_ellipsis():
    """A body on both sides, the arguments of a call that is sought."""
    never = fault("Private.__eq__", "raise TypeError(...)", "return self is other").text
    assert "return self is other\n" in never
    assert "cannot be compared" not in never
    ended = fault("_file_digest", "while chunk := opened.read(CHUNK): ...", "if chunk := opened.read(CHUNK): ...").text
    assert re.search(r"if \(?chunk := opened.read\(CHUNK\)\)?:\n +found.update\(chunk\)\n", ended)


def test_several_statements_are_one_anchor_and_nothing_removes_them():
    text = fault("Private", "def __eq__(self, other: object) -> NoReturn: ...\n__hash__ = None", "").text
    assert "def __eq__" not in text
    assert "__hash__" not in text
    assert "def __bool__" in text


def test_a_part_of_a_text_is_an_anchor():
    text = fault("TAKE_LOCK", "IN EXCLUSIVE MODE", "IN SHARE MODE", quoted=True).text
    assert "LOCK TABLE {{0}}.ledger IN SHARE MODE;" in text


def test_a_line_of_another_tool_is_named_by_its_definition():
    sound = fault("Cost.__add__", "self.delta + other.delta", "0")
    source = (SOURCE / sound.file).read_text()
    wrong = source.replace("self.delta + other.delta", "self.delta")
    assert definition_of(Fault(file=sound.file, text=wrong, words="")) == "Cost.__add__"


def test_the_nearest_tests_take_names_of_the_faulty_file():
    """That of the definition first; a test that takes none of them is not near."""
    tests = ["tests/kernel/test_gate.py", "tests/kernel/test_budget.py", "tests/test_faults.py"]
    file = fault("Cost.__add__", "self.delta + other.delta", "0").file
    near = nearest(file, "Cost.__add__", tests, ROOT)
    assert near[0] == "tests/kernel/test_budget.py"
    assert "tests/test_faults.py" not in near


@pytest.mark.parametrize(
    ("where", "before", "after", "place", "words"),
    [
        ("is_free", "nowhere()", "1", None, "stands there 0 times"),
        ("NoSuchClass.at_all", "1", "2", None, "stands there 0 times"),
        ("is_free", "layer", "1", None, "times, not once"),
        ("is_free", "layer", "1", 99, "and not in 99"),
        ("is_free", "set(waiting)", "set( waiting )", None, "changes nothing"),
        ("is_free", "set(waiting)", "x = 1", None, "stands there 0 times"),
        ("free_layer", "read=rows.read", "rows.read", None, "no keyword argument"),
    ],
)
def test_what_is_no_anchor_is_said(where, before, after, place, words):
    with pytest.raises(ValueError, match=words):
        fault(where, before, after, place)


def test_patterns_that_name_no_test_are_said():
    with pytest.raises(ValueError, match="names no test"):
        room_tests(("privacy/test_nothing*.py",), ROOT)
