"""Groups of options: what a command is handed is typed as its options are."""

from dataclasses import fields
from functools import partial
from typing import get_args, get_type_hints

import click
import pytest
from click.testing import CliRunner

from dpqr.cli import budget as budget_options
from dpqr.cli import options as groups
from dpqr.cli import plan, predict_options, release, strategies
from dpqr.cli.options import Integer

GROUPS = [
    (groups.documents, groups.Documents, "documents"),
    (groups.guarantee, groups.Guarantee, "guarantee"),
    (partial(groups.guarantee, required=True), groups.Guarantee, "guarantee"),
    (groups.error_estimate_options, groups.ErrorEstimateOptions, "bought"),
    (groups.strategies, groups.Strategies, "strategies"),
    (groups.table, groups.TableOptions, "table"),
    (groups.payer, groups.Payer, "payer"),
    (groups.display, groups.Display, "display"),
    (release.output_options, release.Output, "output"),
    (predict_options.prediction, predict_options.Prediction, "asked"),
    (predict_options.learner, predict_options.Learner, "learner"),
    (plan.forecasting, plan.Forecasting, "wanted"),
    (strategies.explain_options, strategies.ExplainOptions, "asked"),
    (budget_options.files, budget_options.Files, "files"),
    (budget_options.amount, budget_options.Amount, "amount"),
    (budget_options.reading, budget_options.ReadingOptions, "reading"),
]
ALONE = {"eps"}
"""An option that stands in a group's help and reaches the command by itself."""


def options_of(decorate):
    return {param.name: param for param in click.command()(decorate(lambda **_: None)).params}


@pytest.mark.parametrize(("decorate", "kind", "name"), GROUPS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_fields_of_a_group_are_its_options(decorate, kind, name):
    names = [field.name for field in fields(kind)]
    assert names == [each for each in options_of(decorate) if each in names or each not in ALONE]


@pytest.mark.parametrize(("decorate", "kind", "name"), GROUPS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_types_of_a_group_are_those_of_its_options(decorate, kind, name):
    hints, found = get_type_hints(kind), options_of(decorate)
    required = [text for option in found.values() if option.required for text in (option.opts[0], "1")]
    plain = click.command()(decorate(lambda **_: None)).make_context("x", required).params
    for option in found.values():
        if option.name not in hints:
            continue
        kinds = get_args(hints[option.name]) or (hints[option.name],)
        if option.multiple:
            assert hints[option.name] == tuple[str, ...]
            continue
        wanted = bool if option.is_flag else int if isinstance(option.type, Integer) else str
        stated = {type(each) if isinstance(each, str) else each for each in kinds if each is not type(None)}
        assert all(each is wanted or set(map(type, get_args(each))) == {wanted} for each in stated), option.name
        assert (type(None) in kinds) == (plain[option.name] is None), option.name


def test_a_command_is_handed_one_object_for_each_group():
    found = {}

    @click.command()
    @groups.table
    @groups.payer
    def command(**given):
        found.update(given)

    CliRunner().invoke(
        command,
        ["--max-cells", "12", "--delimiter", r"\t", "--encoding", "windows-1252", "--dataset", "survey"],
        catch_exceptions=False,
    )
    assert found == {
        "table": groups.TableOptions(
            delimiter="\t",
            encoding="cp1252",
            counts=None,
            max_cells=12,
            max_records=None,
            max_columns=None,
            workers=None,
            max_bytes=None,
            max_memory=None,
        ),
        "payer": groups.Payer(dataset="survey", ledger=None, anchor=None),
    }
    asked = groups.keywords(found["table"], found["payer"])
    assert (asked["max_cells"], asked["delimiter"], asked["dataset"]) == (12, "\t", "survey")
