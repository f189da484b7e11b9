"""The guide's topic `proofs`: every statement has its code, which names it, its test and its check."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from support.cases import in_one_test
from support.guide_pages import ROOT, topic

PAGE = topic("proofs").text
CHECKS = Path(__file__).parent


def statements() -> dict[str, str]:
    """The text of every statement by its number; several numbers may share one."""
    found = {}
    for part in re.split(r"^(?=#|- \*\*P\d+\.)", PAGE, flags=re.MULTILINE):
        named = re.match(r"### (P\d+(?:, P\d+)*)\. |- \*\*(P\d+)\.", part)
        for number in (named[1] or named[2]).split(", ") if named else ():
            assert number not in found, number
            found[number] = part
    return found


STATEMENTS = statements()


def docstring(code: str) -> str:
    """Of a definition `module:name`."""
    module, _, name = code.partition(":")
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    (found,) = (each for each in tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name == name)
    return ast.get_docstring(found) or ""


def test_the_numbers_run_from_one_on():
    assert {int(number[1:]) for number in STATEMENTS} == set(range(1, len(STATEMENTS) + 1))


@in_one_test("number", STATEMENTS)
def test_the_code_of_a_statement_names_it(number):
    codes = re.findall(r"`(dpqr[\w.]*:\w+)`", STATEMENTS[number])
    assert codes
    for code in codes:
        line = re.search(r"^ *Statements? (.*) of the guide's topic proofs\.$", docstring(code), re.MULTILINE)
        assert line is not None, code
        assert number in re.findall(r"P\d+", line[1]), code


def test_no_docstring_names_a_statement_that_does_not_name_it():
    named = {code for text in STATEMENTS.values() for code in re.findall(r"`(dpqr[\w.]*:\w+)`", text)}
    lines = re.compile(r"^ *Statements? P\d+.* of the guide's topic proofs\.$", re.MULTILINE)
    found = sum(len(lines.findall(path.read_text(encoding="utf-8"))) for path in (ROOT / "dpqr").rglob("*.py"))
    assert found == len(named)


@in_one_test("number", STATEMENTS)
def test_the_tests_of_a_statement_exist(number):
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", STATEMENTS[number])
    assert named
    for path, name in named:
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), (path, name)


@in_one_test("number", STATEMENTS)
def test_the_check_of_a_statement_checks_it(number):
    (path,) = set(re.findall(r"`(tests/proofs/\w+\.py)`", STATEMENTS[number]))
    names = re.findall(r"^def test_((?:p\d+_)+)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert number.lower() in {each for name in names for each in name.strip("_").split("_")}


def test_every_check_is_of_a_statement():
    texts = [path.read_text(encoding="utf-8") for path in CHECKS.glob("test_*.py")]
    names = [name for text in texts for name in re.findall(r"^def test_((?:p\d+_)+)", text, re.MULTILINE)]
    assert {each.upper() for name in names for each in name.strip("_").split("_")} == set(STATEMENTS)


def test_laws_are_written_from_the_statements_alone():
    """What the checks compute with takes nothing from the program."""
    assert "dpqr." not in (CHECKS / "exact.py").read_text(encoding="utf-8").partition('"""\n')[2]
