"""Behind each command stands a public name of the Python interface, and both doors call the same function."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

from support.cases import in_one_test

import dpqr
from dpqr.cli import budget
from dpqr.cli.main import COMMANDS, SHARED

CLI = Path(dpqr.__file__).parent / "cli"
SAME = {
    "release": ("release", "dpqr.python.requests:release_request"),
    "plan": ("plan", "dpqr.python.requests:release_request"),
    "explain": ("forecast", "dpqr.python.forecast:forecast_request"),
    "show": ("read_release", "dpqr.releases.files.read_release:read_release"),
    "predict": ("predict", "dpqr.python.predict:prediction_request"),
    "interactive": ("open_session", "dpqr.sessions.interactive:open_session"),
    "budget": ("Ledger", "dpqr.python.ledger:Ledger"),
    "init": ("init", "dpqr.python.documents:init"),
    "check": ("check", "dpqr.releases.any_release:check_documents"),
    "domain": ("domain_file", "dpqr.python.documents:domain_file"),
    "schema": ("schema", "dpqr.python.documents:schema"),
    "strategies": ("list_strategies", "dpqr.releases.forecast.explain:explain"),
    "evaluate": ("evaluate", "dpqr.python.evaluate:evaluate"),
    "audit": ("run_audit", "dpqr.python.build:run_audit"),
    "guide": ("guide", "dpqr.report.guide:read_topic"),
    "verify": ("verify", "dpqr.python.verify:verify"),
    "reprice": ("reprice", "dpqr.published.checks:reprice"),
    "series": ("series", "dpqr.python.series:series"),
    "compare": ("compare", "dpqr.python.verify:compare"),
    "answer": ("answer", "dpqr.python.answer:answer"),
    "export": ("export", "dpqr.python.answer:export"),
    "report": ("write_report", "dpqr.python.reports:write_report"),
    "tutorial": ("tutorial", "dpqr.python.tutorial:tutorial"),
    "label": ("label", "dpqr.python.reports:label"),
}
"""By command: the public name, and the function that both doors call; that one is the public name itself, or makes the
request, or is the use case."""
SHELL = {"completion"}
"""Commands that are of use in a shell alone."""
LEDGER = {
    "init": "init",
    "policy": "policy",
    "approve": "approve",
    "show": "budgets",
    "history": "entries",
    "verify": "verify",
    "export": "export",
    "anchor": "renew_anchor",
    "move": "move",
    "grant": "grant",
    "revoke": "revoke",
    "checkpoint": "checkpoint",
    "reject": "reject",
}
"""Methods of the ledger, by the command that calls them."""
THROUGH = {"show": "dpqr.published.show", "budget": "dpqr.cli.budget"}
"""A command that reaches the shared function through another file."""


def imported(path: Path) -> set[str]:
    """What a file imports, as module:name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {f"{node.module}:{alias.name}" for node in nodes for alias in node.names}


def file_of(module: str) -> Path:
    return Path(inspect.getfile(importlib.import_module(module)))


@in_one_test("command", sorted(set(COMMANDS) - SHELL))
def test_a_public_name_stands_behind_each_command(command):
    name, same = SAME[command]
    assert name in dpqr.__all__
    home = getattr(dpqr, name).__module__
    module = file_of(THROUGH.get(command, f"dpqr.cli.{SHARED.get(command, command)}"))
    assert same in imported(module), f"give {command!r} its function of dpqr.python, and name it here"
    assert home == same.split(":")[0] or same in imported(file_of(home))


def test_no_command_is_forgotten():
    assert set(COMMANDS) - SHELL == set(SAME)
    assert set(budget.command.commands) == set(LEDGER)


@in_one_test(("command", "method"), LEDGER.items())
def test_budget_commands_call_the_ledger(command, method):
    source = inspect.getsource(budget.command.commands[command].callback.__wrapped__)
    assert f"opened(given).{method}(" in source


def test_no_command_makes_a_request_itself():
    """A request is made in dpqr.python, whoever asks."""
    made = {
        f"{path.name}: {node.func.id}"
        for path in CLI.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Request")
    }
    assert made == set()
