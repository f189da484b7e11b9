from __future__ import annotations

from pathlib import Path

from dpqr.kernel.errors import DocumentError, Fault, Fix
from dpqr.report.html import fault_lines, fix_line

FILE = Path("sub/q.json")
ONE = Fault(message="is wrong", document="q.json", path="$.a", file=FILE, line=3)
TWO = Fault(message="is too\nadd it", document="d", path="$", file=Path("d.json"), fix=Fix(path="$"), line=7)


def test_one_fault_is_a_sentence_and_a_place() -> None:
    assert fault_lines(DocumentError(str(ONE), (ONE,))) == ("q.json: $.a: is wrong", "see: sub/q.json:3")
    assert fault_lines(DocumentError("wrong\nadd it")) == ("wrong", "add it")
    assert fault_lines(DocumentError("wrong", (TWO,)))[-1] == "see: d.json:7; `dpqr check --fix` fixes it"


def test_several_have_a_line_each() -> None:
    assert fault_lines(DocumentError("2 faults in q.json and d\nand so on", (ONE, TWO))) == (
        "2 faults in q.json and d",
        "sub/q.json:3: $.a: is wrong",
        "d.json:7: $: is too add it",
        "see: `dpqr check --fix` fixes 1 of them",
    )


def test_a_file_that_is_no_json_is_corrected_by_hand() -> None:
    yaml = Fault(message="is wrong", document="d.yml", path="$", file=Path("d.yml"), fix=Fix(path="$"), line=7)
    assert fault_lines(DocumentError("wrong", (yaml,)))[-1] == (
        "see: d.yml:7; d.yml is corrected by hand (--fix writes JSON files only)"
    )


def test_fixes_are_shown() -> None:
    assert fix_line(FILE, 3, "$.a", '"0"', "0") == 'fixed sub/q.json:3: $.a: "0" -> 0'
    assert fix_line(FILE, 3, "$.a[1]", '"F"', "") == 'fixed sub/q.json:3: $.a[1]: "F" removed'
