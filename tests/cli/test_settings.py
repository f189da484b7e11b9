"""dpqr.toml gives options their values, and plan, record and refusals say so."""

from __future__ import annotations

import sys

import pytest
from support.command_desk import DOMAIN

from dpqr.cli.main import COMMANDS, main
from dpqr.cli.settings import settable
from dpqr.python.settings import FILE, settings_keys
from dpqr.report.guide import read_topic


@pytest.fixture
def project(desk):
    """A desk with settings, where q.json names no domain, and a budget."""
    desk.write(d__json=DOMAIN, q__json={"queries": [{"marginal": ["sex"]}]})
    desk.put(FILE, 'domain = "d.json"\nqueries = "q.json"\ndataset = "survey"\nledger = "l.sqlite"\n')
    assert desk.run("budget", "init", "survey", "--eps", "5").code == 0
    return desk


def test_a_job_is_one_short_line(project):
    ended = project.run("release", "table.csv", "--eps", "1", "--out", "out", "--json")
    assert ended.code == 0, ended.err
    said = "dpqr.toml states --queries q.json, --domain d.json, --dataset survey, --ledger l.sqlite"
    assert said in ended.json["plan"]["notes"]
    assert said in " ".join(ended.err.split())
    assert ended.json["ledger"]["dataset"] == "survey"
    assert project.run("check").code == 0
    assert project.run("budget", "show", "--json").json[0]["reservations"] == 1


@pytest.mark.parametrize("command", [["revoke", "team"], ["checkpoint"], ["reject"]], ids=" ".join)
def test_every_budget_command_takes_the_ledger_of_the_settings(project, command):
    """These are for a server; the refusal names the file of the settings, so that is the ledger that was opened."""
    typed = project.run("budget", *command, "--ledger", "l.sqlite")
    stated = project.run("budget", *command)
    assert stated.code == typed.code
    assert stated.err.startswith("dpqr.toml states --ledger l.sqlite\n" + typed.err.splitlines()[0])


def test_what_is_typed_comes_first_and_the_environment_before_the_file(project):
    assert project.run("budget", "init", "other", "--eps", "1", "--ledger", "m.sqlite").code == 0
    typed = ("--ledger", "m.sqlite", "--dataset", "other")
    ended = project.run("release", "table.csv", "--eps", "1", "--json", *typed)
    assert ended.json["ledger"]["dataset"] == "other"
    assert "dpqr.toml states --queries q.json, --domain d.json" in ended.json["plan"]["notes"]
    named = {"DPQR_LEDGER": "m.sqlite"}
    assert project.run("budget", "show", "--json", env=named).json[0]["dataset"] == "other"
    assert project.run("release", "table.csv", "--eps", "1", env=named).code == 2


def test_the_next_command_names_a_ledger_that_was_typed(project, monkeypatch):
    """On a terminal; a ledger of dpqr.toml needs no option there either."""
    monkeypatch.setattr("dpqr.cli.screen.is_terminal", lambda stream: stream is sys.stderr)
    wanted = "release", "table.csv", "--eps", "1", "--out"
    assert project.run(*wanted, "one").err.endswith("dpqr budget show survey\n")
    typed = "--ledger", "./l.sqlite", "--anchor", "none"
    assert project.run(*wanted, "two", *typed).err.endswith(
        "dpqr budget show survey --ledger ./l.sqlite --anchor none\n"
    )


def test_a_refusal_says_that_settings_are_in_use(project):
    ended = project.run("release", "table.csv", "--eps", "9", "--json")
    assert ended.code == 4
    hint = "defaults of dpqr.toml are in use; DPQR_SETTINGS=none does without them"
    assert ended.err.endswith(f"{hint}\n")
    assert ended.json["error"]["notes"] == [hint]
    without = project.run("release", "table.csv", "--eps", "1", env={"DPQR_SETTINGS": "none"})
    assert "missing option '--queries'" in without.err
    assert "dpqr.toml" not in without.err


def test_a_damaged_file_stops_commands_that_take_settings_and_no_others(desk):
    desk.put(FILE, "datset = 'survey'")
    for arguments in (("release", "table.csv"), ("budget", "show"), ("check",)):
        ended = desk.run(*arguments)
        assert (ended.code, ended.err) == (
            3,
            "dpqr: dpqr.toml: $: unknown key 'datset'; did you mean 'dataset'?\n",
        )
    for arguments in (("--help",), ("release", "--help"), ("guide",), ("schema", "domain")):
        assert desk.run(*arguments).code == 0


def test_a_model_is_applied_whatever_the_settings_say(desk):
    desk.put(FILE, 'dataset = "survey"\ndelta = "1e-9"\n')
    ended = desk.run("predict", "--model", "nowhere.json", "--points", "table.csv")
    assert "leave --dataset out" not in ended.err
    assert "leave --dataset out" in desk.run("predict", "--model", "m.json", "--dataset", "survey").err


@pytest.mark.parametrize(
    ("mistyped", "setting"),
    [(("--quries", "q.json"), False), (("--n", "many"), False), (("--eps", "1"), True)],
    ids=["option", "value", "setting"],
)
def test_settings_are_named_where_they_may_be_the_cause(desk, mistyped, setting):
    """A mistyped option or value is the command line's own; a value in the file is not."""
    desk.put(FILE, 'neighbours = "remove"\n' if setting else "n = 5\n")
    ended = desk.run("plan", *mistyped)
    assert ended.code in (2, 3)
    assert len(ended.err.splitlines()) == 2, ended.err
    assert ("DPQR_SETTINGS=none" in ended.err) == setting


def test_the_guide_says_which_commands_take_a_setting():
    """The table of topic `settings`, made of the options themselves."""
    takers = {key: [] for key in settings_keys()}
    for name in COMMANDS:
        command = main.get_command(None, name)
        for below, each in getattr(command, "commands", {"": command}).items():
            for key in settable(each):
                takers[key.replace("_", "-")].append(f"`{name} {below}`".replace(" `", "`"))
    alike = {}
    for key, commands in takers.items():
        alike.setdefault(", ".join(commands), []).append(f"`{key}`")
    table = [f"| {', '.join(keys)} | {commands} |" for commands, keys in alike.items()]
    assert [line for line in read_topic("settings").splitlines() if line.startswith("| `")] == table


@pytest.mark.slow
def test_verify_takes_the_ledger_and_does_not_hold_it_against_a_release_that_none_paid_for(project):
    assert project.run("release", "table.csv", "--eps", "1", "--out", "paid").code == 0
    found = project.run("verify", "paid")
    assert (found.code, "entry 2 paid" in found.out) == (0, True), found.out
    assert "dpqr.toml states --ledger l.sqlite" in found.err
    documents = "--queries", "q.json", "--domain", "d.json"
    free = project.run("release", "table.csv", *documents, "--eps", "1", "--out", "free", env={"DPQR_SETTINGS": "none"})
    assert free.code == 0
    assert project.run("verify", "free").code == 0
    assert project.run("verify", "free", "--ledger", "l.sqlite").code == 6


def test_a_session_is_opened_and_asked_with_the_settings(project):
    opened = project.run("interactive", "open", "desk", "table.csv", "--eps", "1", "--questions", "5")
    assert opened.code == 0, opened.err
    assert opened.err == "dpqr.toml states --domain d.json, --dataset survey, --ledger l.sqlite\n"
    assert project.run("interactive", "status", "desk").code == 0
