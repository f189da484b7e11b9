import click
import pytest
from click.testing import CliRunner
from support.cases import in_one_test

from dpqr.cli.main import main
from dpqr.cli.options import Integer, Positive, keywords, takes
from dpqr.kernel.errors import UsageFault
from dpqr.python.options import PayerOptions, ReadingOptions, rows

ODD = [
    "1\x0b",
    "1\n",
    "\x0c1",
    "1\xa0",
    "\u20031",
    "\ufeff1",
    "\u0661",
    "\uff11",
    "1_0",
    "0x1",
    "1.0",
    "1e3",
    "",
    "one",
    "9" * 41,
]


def commands(command=main, path=()):
    """Every command with its path, groups walked through."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))
    else:
        yield path, command


def test_every_number_of_an_option_is_plain_text():
    numbers = [
        option
        for _, command in commands()
        for option in command.params
        if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType | Integer | Positive)
    ]
    assert len(numbers) > 50
    assert all(isinstance(option.type, Integer | Positive) for option in numbers)


@pytest.mark.parametrize("words", [("release", "--n"), ("evaluate", "--max-l1"), ("budget", "init", "--max-records")])
def test_what_is_no_number_is_refused_by_the_name_of_its_option(words):
    done = CliRunner().invoke(main, [*words, "1\x0b"])
    assert done.exit_code == 2
    assert words[-1] in done.stderr
    assert "number" in done.stderr


@pytest.mark.parametrize("text", ["0", "1e-400", "1e309"])
def test_what_no_float_above_0_holds_is_refused(text):
    with pytest.raises(click.BadParameter, match=f"{text} is not above 0 and below 1e308"):
        Positive().convert(text, None, None)


@in_one_test("text", ODD)
def test_no_other_text_is_a_whole_number(text):
    with pytest.raises(click.BadParameter, match="is not a valid whole number"):
        Integer(min=0).convert(text, None, None)


@in_one_test(("text", "value"), [("7", 7), (" 7\t", 7), ("+7", 7), ("007", 7), (7, 7), ("-7", -7)])
def test_digits_are(text, value):
    assert Integer().convert(text, None, None) == value


def test_the_range_is_kept():
    for text in ("0", "-1", "11"):
        with pytest.raises(click.BadParameter, match="not in the range"):
            Integer(1, 10).convert(text, None, None)


@in_one_test("text", ["nan", "inf", "-1", "1_0", "0x1", "\u0661", "1\xa0", "1\x0b", ""])
def test_an_amount_is_a_plain_decimal(text):
    with pytest.raises(UsageFault, match="plain decimal"):
        Positive().convert(text, None, None)


def test_an_amount_is_above_zero():
    assert Positive().convert("2.5e-1", None, None) == 0.25
    with pytest.raises(click.BadParameter, match="above 0"):
        Positive().convert("0.0", None, None)


class TableCommand(ReadingOptions, PayerOptions, total=False):
    """A command's options, put together from groups."""


def test_a_command_is_handed_one_object():
    handed = {}

    @click.command()
    @takes(TableCommand, words={"dataset": "Another sentence."}, headings={"counts": "Sources"}, unset=("ledger",))
    def command(given):
        handed.update(given=given, keywords=keywords(given))

    shell = ["--max-cells", "12", "--delimiter", r"\t", "--encoding", "windows-1252", "--dataset", "survey"]
    CliRunner().invoke(command, shell, catch_exceptions=False)
    stated = {"delimiter": "\t", "encoding": "cp1252", "max_cells": 12, "dataset": "survey"}
    assert handed["given"] == handed["keywords"] == dict.fromkeys(rows(TableCommand)) | stated
    named = {option.name: option for option in command.params}
    assert (named["counts"].heading, named["dataset"].heading) == ("Sources", "Budget for life")
    assert (named["dataset"].setting, named["ledger"].setting) == (True, False)
    assert named["dataset"].help == "Another sentence."
