"""`.ci/run` on a machine that lacks something, and the helpers that it calls, with stand-ins for what they call."""

import os
import subprocess
from pathlib import Path

import machines
import oldest
import pytest

ROOT = Path(__file__).parent.parent
SAID = '#!/bin/sh\necho "$(basename $0) $*" >> {log}\n'


@pytest.fixture
def ci(tmp_path):
    """A run of `.ci/run` among such commands: its exit code, what it said, and which commands it called."""

    def run(**commands):
        for name, script in commands.items():
            (tmp_path / name).write_text(SAID.format(log=tmp_path / "log") + script)
            (tmp_path / name).chmod(0o755)
        path = f"{tmp_path}:{os.environ['PATH']}"
        command = ["bash", str(ROOT / ".ci" / "run")]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PATH": path}, timeout=60)
        return done.returncode, done.stderr, (tmp_path / "log").read_text().splitlines()

    return run


def tools(**others):
    """Stand-ins: everything is there, and making an environment ends with 9, so that nothing is ever installed."""
    plain = dict.fromkeys(("apt-get", "initdb", "java", "sleep"), "exit 0")
    return plain | {"python3": 'case "$1" in -c) exit 0;; *) exit 9;; esac'} | others


def test_lists_that_cannot_be_read_end_the_run_at_once_and_say_what_is_missing(ci):
    code, said, called = ci(**tools(**{"apt-get": "exit 100", "python3": "exit 1"}))
    assert code == 1
    assert said == ".ci/run: apt-get update failed three times, and these packages are missing: python3-venv\n"
    assert [each.split()[:2] for each in called if each.startswith("apt-get")] == [["apt-get", "update"]] * 3
    assert not any("venv" in each and "-m" in each for each in called)


def test_lists_that_can_be_read_later_are_enough(ci, tmp_path):
    once = f"[ -e {tmp_path}/again ] || {{ touch {tmp_path}/again; exit 100; }}"
    missing = 'case "$1" in -c) exit 1;; *) exit 9;; esac'
    code, _, called = ci(**tools(**{"apt-get": once, "python3": missing}))
    found = [each for each in called if each.startswith("apt-get")]
    assert code == 9, "it went on to the environment"
    assert [each.split()[1] for each in found] == ["update", "update", "install"]
    assert found[-1].endswith(" python3-venv")


def test_a_machine_that_lacks_nothing_asks_for_nothing(ci):
    code, _, called = ci(**tools(**{"apt-get": "exit 100"}))
    assert code == 9
    assert not any(each.startswith("apt-get") for each in called)


def test_nothing_is_left_behind(ci, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    assert ci(**tools())[0] == 9
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "bad"),
    [
        ("def test_a():\n    pass\n", []),
        ("def test_a():\n    assert False\n", ["tests.test_one::test_a"]),
        ("", ["pytest itself: no test ran"]),
        ("import pytest\npytest.skip('not here', allow_module_level=True)\n", ["pytest itself: no test ran"]),
        ("import os\ndef test_a():\n    os._exit(7)\n", ["pytest itself"]),
    ],
    ids=["passes", "fails", "no test", "all skipped", "killed"],
)
def test_a_setting_passes_by_pytests_own_exit_status(body, bad, tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text(body)
    monkeypatch.setattr(machines, "ROOT", tmp_path)
    assert machines.run(machines.Setting(name="plain"), ["tests"])[1] == bad


def test_an_interpreter_that_is_no_setting_is_not_run():
    assert machines.run(machines.Setting(name="none", python=lambda: None), []) == ("none            not installed", [])


def test_every_requirement_has_one_lower_bound_and_all_extras_are_pinned():
    pins = dict(pin.split("==") for pin in oldest.lower_bounds())
    assert {"numpy", "pyarrow", "matplotlib", "opendp", "pyspark", "psycopg[binary]", "dp-accounting"} <= set(pins)
    assert len(pins) == len(oldest.lower_bounds())


@pytest.mark.parametrize("stated", [["a"], ["a<2"], ["a>=1", "a>=2"]])
def test_a_requirement_without_one_lower_bound_is_refused(stated, monkeypatch):
    project = {"dependencies": stated, "optional-dependencies": {"more": ["b>=3,<4"]}}
    monkeypatch.setattr(oldest, "_project", lambda: project)
    with pytest.raises(SystemExit, match=r"^a.*: (no|two) lower bounds?; state one in pyproject.toml$"):
        oldest.lower_bounds()
