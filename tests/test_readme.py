"""Every command that README and the guide show runs as printed, and prints what they say it prints."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
from architecture import ROOMS
from support.cases import in_one_test
from support.guide_pages import GUIDE, PAGES, README, ROOT, TOPICS, screen_lines, topic

LINES = [line for block in README.all_of("sh") for line in block.replace("\\\n", " ").splitlines() if line.strip()]
PRELUDE = f'set -e\ndpqr() {{ "{sys.executable}" -m dpqr "$@"; }}\n'
OTHERS = {
    "--quiet",
    "--editable",
    "--only",
    "--strict",
    "--help",
    "--data",
    "--workload",
    "--slow",
    "--sample",
    "--near",
    "--room",
    "--network",
    "--no-cache-dir",
    "--rm",
}
"""Options of other programs."""
QUICK = {"domain", "queries"}


def test_the_first_command_releases_the_sample_and_the_second_runs_the_tests():
    assert LINES[0].startswith("python3 -m venv .venv && ")
    assert "dpqr release sample_data/" in LINES[0]
    assert LINES[1].startswith("python3 -m venv .venv && ")
    assert LINES[1].endswith("-m pytest -n auto")
    assert "pytest" in (ROOT / ".ci" / "run").read_text()


def test_readme_is_two_pages():
    assert len(README.text) <= 9_000


def timed(page):
    """Topics on documents run always; README and pages that release, predict or audit are slow ones."""
    return pytest.param(page, id=page.name, marks=() if page.name in QUICK else pytest.mark.slow)


def runnable(block):
    """The block without the making of an environment, and without the tests' own command."""
    lines = [line.split("&& ")[-1].removeprefix(".venv/bin/") for line in block.splitlines()]
    return "\n".join(line for line in lines if not line.startswith("python -m pytest"))


@pytest.mark.parametrize("page", [timed(page) for page in PAGES if page.all_of("sh")])
def test_commands_run_in_order_and_print_their_screens(page, tmp_path):
    """In a folder that looks like a fresh clone to a command that reads sample_data."""
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    printed = ""
    for language, content in page.blocks("sh", "screen"):
        if language == "screen":
            assert [line for line in screen_lines(content) if line not in printed] == []
            continue
        done = subprocess.run(
            ["bash", "-c", PRELUDE + runnable(content)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout
        printed = " ".join(done.stdout.split())


def test_json_examples_are_json():
    examples = [example for page in PAGES for example in page.all_of("json")]
    assert len(examples) >= 5
    for example in examples:
        json.loads(example)


def test_every_exit_code_of_the_family_is_documented():
    from dpqr.kernel import errors

    family = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.DpqrError)]
    for code in {each.exit_code for each in family}:
        assert f"| {code} |" in README.text
        assert f"| {code} |" in topic("ci").text


def every_command():
    from dpqr.cli.main import COMMANDS, main

    for name in COMMANDS:
        command = main.get_command(None, name)
        yield command
        yield from getattr(getattr(command, "below", command), "commands", {}).values()


def test_every_command_and_option_has_help():
    for command in every_command():
        assert command.help
        for option in command.params:
            if option.param_type_name == "option":
                expected = {"as_json", "answers", "progress", "update", "kind", "neighbours"}
                assert option.help or option.name in expected, (command.name, option.name)


@in_one_test("page", PAGES)
def test_every_option_that_is_named_exists(page):
    known = {name for command in every_command() for option in command.params for name in option.opts}
    known |= {name for command in every_command() for option in command.params for name in option.secondary_opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", page.text))
    assert named - known - OTHERS == set()


def test_every_option_is_named_by_readme_or_the_guide():
    """In one of its spellings."""
    named = {name for page in PAGES for name in re.findall(r"(?<![\w-])--[a-z0-9][a-z0-9-]*", page.text)}
    options = [each for command in every_command() for each in command.params if each.param_type_name == "option"]
    assert [each.opts for each in options if named.isdisjoint((*each.opts, *each.secondary_opts))] == []


@in_one_test("page", PAGES)
def test_every_topic_that_is_named_exists(page):
    named = re.findall(r"[Tt]opics? `(\w+)`", page.text)
    assert set(named) <= {each.name for each in TOPICS}


def test_readme_names_every_topic_of_the_guide():
    for each in GUIDE:
        assert f"`{each.name}`" in README.text


def test_every_strategy_of_the_house_is_in_the_guide():
    from dpqr.python.build import strategy_rows

    text = topic("strategies").text + topic("accountants").text
    for one in strategy_rows():
        if one["origin"] == "dpqr":
            assert one["name"] in text


def test_the_picture_of_the_tree_is_that_of_the_architecture():
    """Every room of the product, the last one first, as the architecture's test holds it to."""
    picture = next(block for block in README.all_of("text") if "kernel  " in block)
    shown = [name for names in re.findall(r"^(\w+(?:, \w+)*)  ", picture, re.MULTILINE) for name in names.split(", ")]
    assert shown == [*reversed(ROOMS)]
    modules = {path.stem for path in (ROOT / "dpqr").glob("*.py") if not path.stem.startswith("__")}
    assert {path.parent.name for path in (ROOT / "dpqr").glob("*/__init__.py")} == set(shown)
    assert all(name in picture for name in modules)
