"""Learners: the largest change between neighbours, as a share of the certified bound (never above 1).

python tests/benchmarks/predict_sensitivity.py [--pairs 1000] [--seed 1]

Random and adversarial pairs (half of them all alike but for one record), and for each learner a pair that is built to
come near the bound (kernels: of degree 1). `pull`: the minimiser of a perturbed objective under one pull, over gradient
/ strength and the solver's tolerance.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.prediction_tables import (
    LOSSES,
    built_descent_share,
    built_kernel_share,
    built_pull_share,
    built_share,
    measured_descent_shares,
    measured_kernel_shares,
    measured_online_shares,
    measured_pull_shares,
    measured_shares,
)

from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.features import Kernel
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball, Square

SMOOTH = ("logistic", "hinge", "pinball")


def told(what: str, shares, built: float | None = None) -> None:
    started = time.process_time()
    found = list(shares)
    seconds, near = time.process_time() - started, "" if built is None else f", built pair {built:.4f}"
    print(f"  {what:<38} {len(found):>5} pairs: {max(found):.4f}{near} ({seconds:.0f} CPU s)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    def drawn() -> np.random.Generator:
        return np.random.default_rng(given.seed)

    for relation in Neighbours:
        print(relation.value)
        for name in LOSSES:
            built = built_share(name, relation) if name in ("logistic", "least squares") else None
            told(f"{name}, penalty", measured_shares(drawn(), name, relation, given.pairs), built)
            if not name.startswith("exact"):
                built = built_descent_share(relation) if name == "logistic" else None
                told(f"{name}, descent", measured_descent_shares(drawn(), name, relation, given.pairs), built)
        for name in SMOOTH:
            shares = measured_pull_shares(drawn(), name, relation, given.pairs)
            told(f"{name}, pull", shares, built_pull_share(name, relation))
    for theta in ("51/100", "3/4", "99/100"):
        told(f"online, theta {theta}", measured_online_shares(drawn(), theta, given.pairs))
    for loss in (Logistic(), Hinge(), Pinball(), Square()):
        built = built_kernel_share() if loss == Logistic() else None
        shares = measured_kernel_shares(drawn(), loss, Kernel(name="gaussian"), given.pairs)
        told(f"gaussian kernel, {loss}", shares, built)


if __name__ == "__main__":
    main()
