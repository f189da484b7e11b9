"""Modules of checks with one check taken out at a time, for tests that show what each of them finds."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from dpqr.kernel.errors import GoalMissed


def removals(module: ModuleType, checks: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names of a module without one mismatch that it raises, or without one alternative of what it is raised for.

    Args:
        checks: functions whose mismatches are meant, those of the functions of the module that they call among them.

    Yields: what was taken out, in words, and the names that the module then defines.
    """
    tree = ast.parse(inspect.getsource(module))
    places = [node for node in ast.walk(tree) if isinstance(node, ast.If) and _raises(node)]
    meant = set(_reached(tree, checks))
    for place in places:
        if place not in meant:
            continue
        yield f"line {place.lineno}, whole", _names(module, tree, place, None)
        if isinstance(place.test, ast.BoolOp) and isinstance(place.test.op, ast.Or):
            for operand in range(len(place.test.values)):
                yield f"line {place.lineno}, alternative {operand}", _names(module, tree, place, operand)


def _reached(tree: ast.Module, checks: Iterable[str]) -> Iterator[ast.AST]:
    """All nodes of the functions of these names, and of those that they call."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    waiting, seen = [*checks], set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for node in ast.walk(functions[name]):
            yield node
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                waiting.append(node.func.id)


def _raises(node: ast.If) -> bool:
    """Whether a condition leads to a mismatch and to nothing else."""
    only = node.body[0]
    called = only.exc.func if isinstance(only, ast.Raise) and isinstance(only.exc, ast.Call) else None
    return len(node.body) == 1 and isinstance(called, ast.Name) and called.id == GoalMissed.__name__


def _names(module: ModuleType, tree: ast.Module, place: ast.If, operand: int | None) -> dict[str, Any]:
    """The names of the module without this check. The tree is afterwards as it was."""
    test, body = place.test, place.body
    if operand is None:
        place.body = [ast.copy_location(ast.Pass(), place.body[0])]
    else:
        assert isinstance(place.test, ast.BoolOp)
        left = [value for at, value in enumerate(place.test.values) if at != operand]
        place.test = ast.BoolOp(op=ast.Or(), values=left) if len(left) > 1 else left[0]
    names = dict(vars(module))
    exec(compile(ast.fix_missing_locations(tree), str(module.__file__), "exec"), names)
    place.test, place.body = test, body
    return names


def outcome(check: Any, evidence: Any) -> str:
    """What a check found, or what it raised."""
    try:
        return f"found {check(evidence)}"
    except Exception as error:
        return f"{type(error).__name__} {error}"
