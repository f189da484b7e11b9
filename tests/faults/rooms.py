"""The rooms of the house and the tests of each: the one place here that names paths of tests."""

import ast
from functools import cache
from pathlib import Path

from faults.fault import SOURCE

_JOURNAL = (
    "releases/test_claim.py",
    "releases/test_transcript_file.py",
    "releases/test_ledger_journal.py",
    "releases/test_fingerprints.py",
)
ROOMS: dict[str, tuple[str, ...]] = {
    "kernel": ("kernel", "ledger/test_ledger.py", "ledger/test_periods.py", "ledger/test_layers.py"),
    "queries": ("workload", "domain"),
    "tables": ("tables", "domain"),
    "mechanisms": ("mechanisms", "workload/test_sensitivity.py", "kernel/accountants/test_filters.py"),
    "strategies": ("strategies", "models"),
    "release": ("releases",),
    "ledger": (
        *("ledger", *_JOURNAL, "kernel/test_files.py", "kernel/test_*currency.py", "kernel/test_budget.py"),
        *("tables/test_policy.py", "releases/test_paid_run.py", "releases/test_paying_periods.py"),
    ),
    "sessions": (
        *("sessions", "prediction/test_disk_faults.py", "releases/test_online.py", "releases/test_replay.py"),
        *("releases/test_each_step.py", "releases/test_terms.py", "mechanisms/test_sparse_vector.py"),
        *_JOURNAL,
    ),
    "prediction": ("prediction", "mechanisms/test_every_draw.py"),
    "verify": ("published", "releases/test_approval.py", "releases/test_locked_plan.py", "releases/record"),
    "counters": (
        *("strategies/test_counter*.py", "kernel/test_counter*.py", "domain/test_periods.py"),
        *("releases/test_counters.py", "releases/test_person_counters.py", "releases/test_resumed_counters.py"),
        "releases/answers/test_answered.py",
        *("releases/test_answered_table.py", "report/test_series.py", "tables/test_person*.py"),
        *("tables/test_first_rows.py", "audit/cases/test_counters.py"),
    ),
    "layers": (
        *("ledger/test_layers.py", "ledger/test_layer_costs.py", "ledger/test_histories.py"),
        "releases/test_person_counters.py",
    ),
    "periods": (
        *("ledger/test_periods.py", "ledger/test_period_budgets.py", "ledger/test_histories.py"),
        *("releases/test_paying_periods.py", "releases/test_planning_periods.py", "domain/test_periods.py"),
        *("tables/test_p*.py", "audit/cases/test_counters.py"),
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
