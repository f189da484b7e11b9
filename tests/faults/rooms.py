"""The rooms of the house and the tests of each: the one place here that names paths of tests."""

import ast
from functools import cache
from pathlib import Path

from faults.fault import SOURCE

ROOMS: dict[str, tuple[str, ...]] = {
    "kernel": ("privacy", "noise"),
    "queries": ("workload", "data", "io/documents/entries"),
    "tables": ("io/tables", "io/engines", "data"),
    "mechanisms": (
        "mechanisms",
        "workload/test_sensitivity.py",
        "privacy/test_parallel.py",
    ),
    "strategies": ("strategies", "hypotheses"),
    "release": ("construction", "app/releasing", "app/planning", "io/outputs"),
    "ledger": (
        "io/ledger",
        "io/journal",
        "io/test_set_aside.py",
        "privacy/test_ledger.py",
        "privacy/test_reservation.py",
        "privacy/test_*currency.py",
        "privacy/test_budget.py",
        "privacy/test_policy.py",
        "app/paying",
    ),
    "sessions": (
        "app/sessions",
        "io/sessions",
        "app/predicting",
        "construction/questions",
        "mechanisms/test_sparse_vector.py",
        "mechanisms/test_every_comparison.py",
        "io/journal",
    ),
    "prediction": (
        "prediction",
        "mechanisms/test_perturbed_functions.py",
        "mechanisms/test_votes.py",
        "mechanisms/test_every_draw.py",
        "mechanisms/test_noisy_moments.py",
        "mechanisms/learned_functions",
    ),
    "verify": (
        "app/verifying",
        "app/releasing/test_approval.py",
        "app/releasing/test_locked_plan.py",
        "io/outputs/records",
    ),
    "counters": (
        "privacy/test_counter*.py",
        "data/test_period_tree.py",
        "app/planning/test_counters.py",
        "app/releasing/test_person_counters.py",
        "app/releasing/test_resumed_counters.py",
        "app/releasing/test_earlier_counts.py",
        "construction/answers/test_cumulative.py",
        "construction/answers/test_series.py",
        "io/outputs/answer_tables/test_cumulative_table.py",
        "app/test_series.py",
        "io/tables/persons",
        "audit/cases/test_counters.py",
    ),
    "layers": (
        "privacy/test_layer*.py",
        "io/ledger/test_layer_costs.py",
        "io/ledger/test_histories.py",
        "app/releasing/test_person_counters.py",
    ),
    "periods": (
        "privacy/test_periods.py",
        "io/ledger/test_period_budgets.py",
        "io/ledger/test_histories.py",
        "app/paying/test_periods.py",
        "app/planning/test_periods.py",
        "data/test_period.py",
        "io/tables/test_period_filter.py",
        "audit/cases/test_periods.py",
    ),
}
"""The tests of each room, below tests/: files, directories and globs. A fault of a room must be noticed by them."""

NOT_OF_THE_PRODUCT = ("test_quality.py", "test_readme.py")
"""Tests of the sources' form or of the guide's texts: what only they notice is not noticed."""


def room_tests(patterns: tuple[str, ...], root: Path) -> list[str]:
    """Test files below `root`/tests that the patterns name, each a file, a directory or a glob; in their order.

    ValueError for a pattern that names none.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        paths = sorted((root / "tests").glob(pattern))
        files = [file for path in paths for file in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])]
        if not files:
            raise ValueError(f"tests/{pattern} names no test")
        found.update(dict.fromkeys(file.relative_to(root).as_posix() for file in files))
    return list(found)


def other_tests(root: Path) -> list[str]:
    """All tests of the product."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return [file.relative_to(root).as_posix() for file in files if file.name not in NOT_OF_THE_PRODUCT]


def nearest(file: str, where: str, tests: list[str], root: Path) -> list[str]:
    """Those of the tests that take a name from dpqr which the faulty file gives, or which holds the faulty definition.

    By names and not by paths, so that moves of tests or modules change nothing. The definition's own name comes first.
    """
    own, given = where.partition(".")[0], _names(file)
    near = [(own not in taken, test) for test in tests if (taken := _taken(root / test)) & {own, *given}]
    return [test for _, test in sorted(near, key=lambda each: each[0])]


@cache
def _names(file: str) -> frozenset[str]:
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
