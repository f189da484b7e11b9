"""sample_data/publish.sh: fifteen steps in processes of their own, each command with the exit code that it states."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import publisher
from support.guide_pages import ROOT, topic

SCRIPT = ROOT / "sample_data" / "publish.sh"
STEPS = re.findall(r'^step "(\d+) ', SCRIPT.read_text(), re.MULTILINE)


def test_the_guide_lists_the_steps_each_of_which_states_its_exit_codes():
    assert [str(1 + n) for n in range(15)] == STEPS
    parts = re.split(r"^step .*$", SCRIPT.read_text(), flags=re.MULTILINE)[1:]
    assert all(re.search(r"^ *expect \d+ ", part, re.MULTILINE) for part in parts)
    listed = " ".join(topic("review").text.split())
    names = re.findall(r'^step "\d+ (\w+)', SCRIPT.read_text(), re.MULTILINE)
    assert [name for name in names if name not in listed] == []


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What the script prints, and its directory."""
    place = tmp_path_factory.mktemp("publish")
    command = place / "bin" / "dpqr"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{publisher.__file__}" "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["bash", str(SCRIPT), str(place / "survey")],
        env={"PATH": f"{command.parent}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(place)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout, place / "survey"


@pytest.mark.slow
@pytest.mark.xdist_group("publish")
def test_every_step_ends_as_documented(ran):
    printed, _ = ran
    assert re.findall(r"^== (\d+) ", printed, re.MULTILINE) == STEPS
    assert "Traceback" not in printed
    codes = re.findall(r"^exit code (\d+)$", printed, re.MULTILINE)
    assert codes == re.findall(r"^ *expect (\d+) ", SCRIPT.read_text(), re.MULTILINE)


def history(place: Path):
    command = [sys.executable, "-m", "dpqr", "budget", "history", "survey", "--json"]
    return json.loads(subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout)


@pytest.mark.slow
@pytest.mark.xdist_group("publish")
def test_plan_ledger_record_and_pages_agree(ran):
    """Each release was approved by one, asked for by another, paid once, and names what paid for it."""
    _, place = ran
    entries = history(place)
    for name in ("first", "second", "third"):
        record = json.loads((place / name / "release.json").read_text())
        plan = json.loads((place / f"{name}.json").read_text())
        assert record["plan"] == plan
        assert (record["by"], record["approved_by"]) == ("R. Jones", "M. Lee")
        paid = [one for one in entries if one["entry"] == "reserve" and one["plan"] == plan["sha256"]]
        assert [one["number"] for one in paid] == [record["ledger"]["entry"]]
    page = (place / "report.html").read_text()
    sealed = json.loads((place / "second.json").read_text())["sha256"]
    assert [word for word in ("M. Lee", "R. Jones", sealed) if word not in page] == []
