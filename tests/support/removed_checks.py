"""Modules of checks with one check taken out at a time, for tests that show what each of them finds."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from dpqr.kernel.errors import GoalMissed


def removals(module: ModuleType) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of a module without one mismatch that it raises, or without one alternative of what it is raised for.

    Yields: what was taken out, in words, and the names that the module then defines.
    """
    tree = ast.parse(inspect.getsource(module))
    places = [node for node in ast.walk(tree) if isinstance(node, ast.If) and _raises(node)]
    for number, place in enumerate(places):
        yield f"line {place.lineno}, whole", _names(module, tree, number, None)
        if isinstance(place.test, ast.BoolOp) and isinstance(place.test.op, ast.Or):
            for operand in range(len(place.test.values)):
                yield f"line {place.lineno}, alternative {operand}", _names(module, tree, number, operand)


def _raises(node: ast.If) -> bool:
    """Whether a condition leads to a mismatch and to nothing else."""
    only = node.body[0]
    called = only.exc.func if isinstance(only, ast.Raise) and isinstance(only.exc, ast.Call) else None
    return len(node.body) == 1 and isinstance(called, ast.Name) and called.id == GoalMissed.__name__


def _names(module: ModuleType, tree: ast.Module, number: int, operand: int | None) -> dict[str, Any]:
    changed = copy.deepcopy(tree)
    place = [node for node in ast.walk(changed) if isinstance(node, ast.If) and _raises(node)][number]
    if operand is None:
        place.body = [ast.copy_location(ast.Pass(), place.body[0])]
    else:
        assert isinstance(place.test, ast.BoolOp)
        left = [value for at, value in enumerate(place.test.values) if at != operand]
        place.test = ast.BoolOp(op=ast.Or(), values=left) if len(left) > 1 else left[0]
    names = dict(vars(module))
    exec(compile(ast.fix_missing_locations(changed), str(module.__file__), "exec"), names)
    return names


def outcome(check: Any, evidence: Any) -> str:
    """What a check found, or what it raised."""
    try:
        return f"found {check(evidence)}"
    except Exception as error:
        return f"{type(error).__name__} {error}"
