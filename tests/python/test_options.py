"""Options are stated once: commands, keywords and requests have the names of the rows, and the same checks."""

from __future__ import annotations

import dataclasses
import inspect

import pytest
from support.cases import in_one_test

import dpqr
from dpqr.cli.main import COMMANDS, main
from dpqr.python import learning_options, options, owner_options, published_options
from dpqr.python.checks import document
from dpqr.python.options import ReleaseCommand, ReleaseOptions, rows
from dpqr.python.requests import release_request
from dpqr.releases.requests import PlanRequest, PredictionPlanRequest

SCREEN = {"as_json", "progress", "no_color", "dry_run", "lock"}
"""What is about the screen has no use in a program."""


def test_every_option_of_a_release_has_its_name_at_both_doors_and_in_the_request():
    """SQL is a document in a program (`dpqr.sql`)."""
    own = set(inspect.signature(dpqr.release).parameters) - {"table", "options"}
    assert rows(ReleaseCommand).keys() - SCREEN - {"sql"} == own | rows(ReleaseOptions).keys()
    fields = {each.name for each in dataclasses.fields(PlanRequest)}
    made = {"queries", "epsilon", "domain", "cells", "first", "surprises", "questions"}
    assert fields - made == fields & rows(options.PlanOptions).keys()


def test_every_option_of_predictions_has_its_name_at_both_doors_and_in_the_request():
    shown = SCREEN | {"rehearse"}
    assert rows(learning_options.PredictCommand).keys() - shown == rows(learning_options.PredictionRun).keys()
    fields = {*PredictionPlanRequest.__struct_fields__}
    assert fields - {"target", "epsilon", "domain", "session"} <= rows(learning_options.PredictionPlanOptions).keys()


def test_every_budget_option_of_the_command_is_one_of_the_ledger():
    files = rows(owner_options.ReadLedgerCommand).keys()
    assert rows(owner_options.InitCommand).keys() - files == rows(owner_options.BudgetOptions).keys() | {"eps"}
    assert rows(owner_options.PolicyCommand).keys() - files == rows(owner_options.PolicyOptions).keys() | {
        "fail",
        "learning",
    }


OWN = {
    dpqr.answer: (published_options.AnswerCommand, {"release"}),
    dpqr.export: (published_options.ExportCommand, {"release"}),
    dpqr.write_report: (published_options.ReportFiles, {"release", "human"}),
    dpqr.verify: (published_options.VerifyCommand, {"release", "usual"}),
    dpqr.reprice: (published_options.RepriceCommand, {"release"}),
    dpqr.compare: (published_options.CompareCommand, {"first", "second"}),
    dpqr.check: (owner_options.CheckCommand, set()),
    dpqr.evaluate: (published_options.EvaluateCommand, {"true", "release"}),
    dpqr.run_audit: (published_options.AuditCommand, {"done"}),
    dpqr.Ledger.budgets: (owner_options.ShowBudgetCommand, {"self", "dataset"}),
}
"""Parameters of a function, by the options of its command, that are arguments there or of use in a program alone."""
SHELL = SCREEN | {"sql", "top", "max_error", "max_l1", "listed"}


@in_one_test("function", OWN)
def test_the_options_of_a_command_are_keywords_of_its_function(function):
    command, own = OWN[function]
    files = {"ledger", "anchor"} if function is dpqr.Ledger.budgets else set()
    assert rows(command).keys() - SHELL - files == set(inspect.signature(function).parameters) - own


def test_a_flag_is_either_a_name_with_dashes_or_stated():
    """No two options of a command are written alike, and each has a sentence or is plain by its choices."""
    for name in COMMANDS:
        command = main.get_command(None, name)
        for each in getattr(command, "commands", {"": command}).values():
            flags = [flag for option in each.params for flag in (*option.opts, *option.secondary_opts)]
            assert len(flags) == len(set(flags))


@in_one_test(
    "options",
    [
        {"n": 1.5},
        {"n": True},
        {"rounds": 0},
        {"seed": -1},
        {"max_rows": 2**40},
        {"neighbours": "both"},
        {"schedule": ""},
        {"schedule": 7},
        {"opening": 1},
        {"trust": 7},
        {"delta": [1]},
        {"max_memory": 5},
    ],
)
def test_values_of_another_kind_are_refused(options):
    with pytest.raises(dpqr.UsageFault):
        dpqr.plan(queries=dpqr.queries().marginal("a"), domain={"a": 2}, eps=1, **options)


def test_names_that_are_no_option():
    with pytest.raises(TypeError, match="did you mean 'schedule'"):
        dpqr.plan(queries=dpqr.queries().marginal("a"), domain={"a": 2}, eps=1, scedule="rounds")


def test_documents():
    assert document("queries", dpqr.queries().marginal("a"))["queries"] == [{"marginal": ["a"]}]
    with pytest.raises(dpqr.UsageFault, match=r"list is no document.*dpqr\.domain_from\(\)"):
        document("domain", [1])
    with pytest.raises(dpqr.UsageFault, match=r"queries: is a statement and no path; .*dpqr\.sql"):
        document("queries", " select a, COUNT(*) FROM t GROUP BY a")
    with pytest.raises(dpqr.UsageFault, match=r"give queries and eps, .*; there is no option 'epsilon'"):
        dpqr.release("t.csv", queries={}, epsilon=1)


# One request, whether its options come from the command line or from Python.


def test_what_is_not_stated_keeps_its_default():
    made = release_request(("a.csv", "b.csv"), queries="q.json", eps=0.1, delta=None, max_cells=12, counts="n")
    assert (made.plan.epsilon, made.plan.delta, made.plan.neighbours) == ("0.1", None, "add-remove")
    assert (made.source.paths, made.source.count_column) == (("a.csv", "b.csv"), "n")
    assert (made.limits.cells, made.plan.cells) == (12, 12)
    assert made.payer is None


def test_a_plan_has_no_table():
    assert release_request(None, queries="q.json", eps=1).source.from_stdin


def test_what_has_no_effect_is_refused():
    with pytest.raises(dpqr.UsageFault, match="add --out DIR"):
        release_request("a.csv", queries="q.json", eps=1, synthetic="rows")
