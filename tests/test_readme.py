"""Every command that the README shows runs as printed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
LINES = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def test_the_first_command_releases_the_sample_and_the_second_runs_the_tests():
    assert LINES[0].startswith("python3 -m venv .venv && ")
    assert "dpqr release sample_data/" in LINES[0]
    assert LINES[1].startswith("python3 -m venv .venv && ")
    assert LINES[1].endswith("-m pytest -n auto")
    assert "pytest" in (ROOT / ".ci" / "run").read_text()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder that looks like a fresh clone to a command that reads sample_data."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "sample_data", folder / "sample_data")
    return folder


def commands():
    """The dpqr commands, the install part of a line left out."""
    return [line.split("&& ")[-1].removeprefix(".venv/bin/") for line in LINES if "dpqr " in line.split("&& ")[-1]]


@pytest.mark.parametrize("command", commands())
def test_command_runs(command, checkout):
    words = shlex.split(command)
    assert words[0] == "dpqr"
    finished = subprocess.run(
        [sys.executable, "-m", *words], cwd=checkout, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert finished.returncode == 0, finished.stderr


def test_json_examples_are_json():
    examples = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    assert examples
    for example in examples:
        json.loads(example)


def test_every_exit_code_of_the_family_is_documented():
    from dpqr import errors

    family = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.DpqrError)]
    for code in {each.exit_code for each in family}:
        assert f"| {code} |" in README


def test_every_command_and_option_has_help():
    from dpqr.cli.main import COMMANDS, main

    for name in COMMANDS:
        command = main.get_command(None, name)
        assert command.help
        for option in command.params:
            if option.param_type_name == "option":
                assert option.help or option.name in {"as_json", "answers", "progress", "update"}, (name, option.name)
