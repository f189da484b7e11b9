"""List the strategies that options can name."""

from __future__ import annotations

import inspect

from dpqr.strategies.known import ROLES


def list_strategies() -> list[dict[str, str]]:
    """One entry a strategy: role, name, what (first line of its docstring), origin.

    Foreign code is not imported for a listing: its line says where it comes from instead.
    """
    listed = []
    for registry in ROLES:
        for entry in registry.entries():
            what = _summary(registry.load(entry.name)) if entry.origin == "dpqr" else entry.target
            listed.append({"role": registry.role, "name": entry.name, "what": what, "origin": entry.origin})
    return listed


def _summary(strategy: object) -> str:
    return (inspect.getdoc(strategy) or "").split("\n", 1)[0]
