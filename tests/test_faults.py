"""Planted faults: each stands once in the package and changes something; and what an anchor of them is."""

import re
from collections import Counter

import pytest
from faults.anchored import SOURCE, Anchored, anchored, definition_of, is_defined, planted, planted_of, subjects
from faults.drawn import EXPLAINED
from faults.nearest import all_tests, nearest, of_the_room

FAULTS = planted()


@pytest.mark.parametrize("subject", subjects())
def test_every_fault_stands_once_and_changes_something(subject):
    missing = []
    for fault in planted_of(subject):
        try:
            fault.match()
        except (ValueError, SyntaxError) as error:
            missing.append(f"{fault.words}: {error}")
    assert not missing, "\n".join(missing)


def test_no_two_faults_are_the_same():
    places = Counter((fault.where, fault.before, fault.after) for fault in FAULTS)
    assert [named for named, count in places.items() if count > 1] == []
    assert len(FAULTS) >= 1600


def test_every_explained_fault_lies_in_a_definition():
    assert [where for where, _ in EXPLAINED if not is_defined(where)] == []
    assert not is_defined("Counter.nowhere")


def fault(where, before, after, quoted=False):
    return Anchored(where=where, before=before, after=after, words="", quoted=quoted).fault()


@pytest.mark.parametrize(
    ("exchange", "before", "after", "quoted"),
    [
        ("2 * x => x", "2 * x", "x", False),
        ("check() =>", "check()", "", False),
        ("one()\ntwo()\n=>\ntwo()\none()", "one()\ntwo()", "two()\none()", False),
        ("one()\n=> two()", "one()", "two()", False),
        ("'a  b' ~> ' '", "a  b", " ", True),
        ("'a' ~>", "a", "", True),
    ],
)
def test_an_exchange_of_a_list(exchange, before, after, quoted):
    assert anchored("f", "words", exchange) == Anchored(
        where="f", before=before, after=after, words="words", quoted=quoted
    )


@pytest.mark.parametrize("exchange", ["x", "x => y => z", "x>=y"])
def test_an_exchange_has_one_arrow(exchange):
    with pytest.raises(ValueError, match="one arrow is wanted"):
        anchored("f", "words", exchange)


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
    assert definition_of(sound.file, wrong) == "Cost.__add__"


def test_the_nearest_tests_take_names_of_the_faulty_file():
    """That of the definition first; a test that takes none of them is not near."""
    wrong = fault("Cost.__add__", "self.delta + other.delta", "0")
    tests = [test for test in all_tests() if test.startswith(("tests/kernel/", "tests/models/", "tests/test_"))]
    near = nearest(wrong, tests)
    assert near[0] == "tests/kernel/test_budget.py"
    assert "tests/test_faults.py" not in near
    assert {*of_the_room(wrong, tests)} < {*tests}
    assert all(test.startswith("tests/kernel/") for test in of_the_room(wrong, tests))


@pytest.mark.parametrize(
    ("where", "before", "after", "words"),
    [
        ("is_free", "nowhere()", "1", "stands there 0 times"),
        ("NoSuchClass.at_all", "1", "2", "stands there 0 times"),
        ("is_free", "layer", "1", "times, not once"),
        ("is_free", "set(waiting)", "set( waiting )", "changes nothing"),
        ("is_free", "set(waiting)", "x = 1", "stands there 0 times"),
        ("free_layer", "read=rows.read", "rows.read", "no keyword argument"),
    ],
)
def test_what_is_no_anchor_is_said(where, before, after, words):
    with pytest.raises(ValueError, match=words):
        fault(where, before, after)
