"""Releases that are killed in one process and continued in another, whose floating point differs: on it goes, or it
says so, and the release waits for the machine where it was begun."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import slowly
from support.ledger_jobs import ledger_in

ELSEWHERE = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"}
"""Other kernels of linear algebra, and numpy's plain loops (a numpy that does not name these features passes over)."""
MOMENTS = {"strategy": 1, "ordered": 3}
"""The last draw that is recorded before the job is killed. The `ordered` one tunes what its draws ask for,
and some draws ask for nothing that is tuned: so the noise of these jobs is that of a seed."""

JOB = """
import json, sys
from dpqr.kernel.values import replace
from pathlib import Path
from support import paid_releases as releases
from dpqr.releases import release
from dpqr.kernel.errors import DpqrError
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.kernel.noise.source import SeededNoise
from dpqr.strategies.designs import kronecker as p_identity

release.SystemNoise = lambda: SeededNoise(1)

directory, schedule, drawn, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
if steps:
    p_identity.TUNING = replace(p_identity.TUNING, steps=int(steps))
resume = (directory / "q.json").exists()
if not resume:
    releases.lay(directory)
    (directory / "table.csv").write_text("v\\n" + "".join(f"{row * row % 60}\\n" for row in range(60)))
    asked = {"domain": {"v": 60}, "queries": [{"prefix": "v"}]}
    (directory / "q.json").write_text(json.dumps(asked))
    releases.arm(ChainedLedger, "record", drawn, True)
try:
    releases.run(directory, resume=resume, schedule=schedule, rounds=None)
except DpqrError as error:
    sys.stderr.write(str(error))
    sys.exit(error.exit_code)
"""


def job(directory, schedule, steps="", **variables):
    """The release of the desk in a process of its own, killed the first time; with so many steps of tuning."""
    tests = Path(__file__).parents[1]
    shown = os.environ | variables | {"PYTHONPATH": str(tests), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", JOB, directory, schedule, str(MOMENTS[schedule]), steps]
    return subprocess.run(command, env=shown, capture_output=True, text=True)


def waits(directory):
    """Paid, and neither given back nor paid again."""
    account = ledger_in(directory).account("survey")
    return account.spent == account.reservations == 1 and not (directory / "out").exists()


@pytest.mark.parametrize("schedule", slowly("strategy", "ordered"))
def test_other_arithmetic_goes_on_or_is_refused_and_the_release_waits(tmp_path, schedule):
    assert job(tmp_path, schedule).returncode == -signal.SIGKILL
    ended = job(tmp_path, schedule, **ELSEWHERE)
    if ended.returncode:
        assert (ended.returncode, waits(tmp_path)) == (2, True), ended.stderr
        assert "floating point" in ended.stderr
        assert job(tmp_path, schedule).returncode == 0
    assert (tmp_path / "out" / "release.json").exists()


@pytest.mark.parametrize("schedule", slowly("strategy", "ordered"))
def test_another_tuning_is_refused_whatever_this_machine_is(tmp_path, schedule):
    assert job(tmp_path, schedule).returncode == -signal.SIGKILL
    ended = job(tmp_path, schedule, steps="3")
    assert (ended.returncode, waits(tmp_path)) == (2, True), ended.stderr
    assert "floating point" in ended.stderr
    assert job(tmp_path, schedule).returncode == 0
