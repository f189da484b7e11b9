"""RESULTS names commands that are there, with options that they take."""

from __future__ import annotations

import re

from support.guide_pages import ROOT

RESULTS = " ".join((ROOT / "tests" / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8").split())


def test_commands_are_there_and_take_the_options_shown():
    commands = set(re.findall(r"`python (tests/benchmarks/[^`]+)`", RESULTS))
    assert len(commands) > 50
    for command in commands:
        script = ROOT / command.split()[0]
        files = [script] if script.is_file() else list(script.glob("*.py"))
        source = "".join(file.read_text(encoding="utf-8") for file in files)
        assert files, command
        assert [option for option in re.findall(r" (--[a-z-]+)", command) if f'"{option}"' not in source] == []
