"""The wheel: what stands in it, and a release by it alone."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tomllib
from email import message_from_string
from importlib.resources import files

import pytest
import yaml
from support.guide_pages import README, ROOT, topic

from dpqr import __version__
from dpqr.report.guide import EVERY_TOPIC

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((files("dpqr") / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors", "version"} <= set(citation)
    assert citation["version"] == PROJECT["version"] == __version__
    assert [{"name": each["name"]} for each in citation["authors"]] == PROJECT["authors"]


def test_no_licence_is_claimed():
    assert "license" not in PROJECT
    assert not [each for each in PROJECT["classifiers"] if each.startswith("License")]
    assert "No licence is granted yet" in README.text


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The directory into which a wheel of this checkout was installed, without what it depends on."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    shutil.copytree(ROOT / "dpqr", source / "dpqr", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", place / "made", source]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (place / "made").glob("*.whl")
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--target", place / "site", wheel], check=True)
    return place / "site"


def ran(installed, tmp_path, *command):
    """What a command of the installed package prints."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-P", *command], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_has_the_guide_and_the_citation(installed, tmp_path):
    script = "from dpqr.report import guide as g; print(g.__file__)\n"
    script += "for name in g.EVERY_TOPIC: print(len(g.read_topic(name)))"
    place, *lengths = ran(installed, tmp_path, "-c", script).split()
    assert place.startswith(str(installed))
    assert [int(length) for length in lengths] == [len(topic(name).text) for name in EVERY_TOPIC]
    assert (installed / "dpqr" / "CITATION.cff").exists()
    (stated,) = installed.glob("dpqr-*.dist-info/METADATA")
    assert message_from_string(stated.read_text("utf-8"))["Author"] == "The dpqr authors"


@pytest.mark.slow
def test_a_wheel_alone_shows_its_help_and_makes_a_release(installed, tmp_path):
    assert "  release " in ran(installed, tmp_path, "-m", "dpqr", "--help")
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    documents = ("sample_data/survey.csv", "--queries", "sample_data/queries.json", "--eps", "1", "--out", "out")
    ran(installed, tmp_path, "-m", "dpqr", "release", *documents)
    with open(tmp_path / "out" / "answers.csv", newline="") as answers:
        assert len(list(csv.DictReader(answers))) == 355
