"""Which tests are tried against a fault, and in which order: by names and folders, so that moves change nothing."""

import ast
from functools import cache
from pathlib import Path

from faults.anchored import ROOT, SOURCE, Fault

NOT_OF_THE_PRODUCT = ("test_quality.py", "test_readme.py")
"""Tests of the sources' form or of the guide's texts: what only they notice is not noticed."""
NEAREST = 16
"""How many files are near. What they do not notice is left to all tests."""


def all_tests() -> list[str]:
    """All tests of the product, as paths below the project."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file.relative_to(ROOT).as_posix() for file in files if file.name not in NOT_OF_THE_PRODUCT]


def nearest(fault: Fault, tests: list[str]) -> list[str]:
    """The tests that take names from dpqr which the faulty file gives, nearest first.

    That is: the definition's own name, the same name of the file, the same folder, then most names in common.
    """
    own, given, source = fault.where.partition(".")[0], _given(fault.file), Path(fault.file)

    def distance(test: str) -> tuple[bool, bool, bool, int]:
        path, taken = Path(test), _taken(ROOT / test)
        folder = path.parent.as_posix().removeprefix("tests/")
        return (
            own not in taken,
            path.stem != f"test_{source.stem}",
            not source.parent.as_posix().startswith(folder),
            -len(taken & given),
        )

    near = [test for test in tests if _taken(ROOT / test) & {own, *given} or Path(test).stem == f"test_{source.stem}"]
    return sorted(near, key=distance)[:NEAREST]


def of_the_room(fault: Fault, tests: list[str]) -> list[str]:
    """All tests of the room that the faulty file lies in."""
    return [test for test in tests if test.startswith(f"tests/{fault.room}/")]


@cache
def _given(file: str) -> frozenset[str]:
    """Public names at the top of a source file."""
    body = ast.parse((SOURCE / file).read_text()).body
    names = {each.name for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)}
    for each in body:
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(name for name in names if not name.startswith("_"))


@cache
def _taken(test: Path) -> frozenset[str]:
    """Names that a test file imports from dpqr."""
    imports = [each for each in ast.walk(ast.parse(test.read_text())) if isinstance(each, ast.ImportFrom)]
    of_dpqr = [each for each in imports if each.module and each.module.partition(".")[0] == "dpqr"]
    return frozenset(name.name for each in of_dpqr for name in each.names)
