"""Whether the audit finds a wrong trial of a case of predictions out."""

from dpqr.audit.attack import attack
from dpqr.audit.run import ALARM
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace

RUNS = 1200


def breach(case, trial, runs=RUNS, laws=None):
    found = replace(case, trial=trial)
    one, two = (found.outcomes(side, runs, SeededNoise(side + 1)) for side in (0, 1))
    return attack(one, two, trial.claim, float(ALARM), laws).breach
