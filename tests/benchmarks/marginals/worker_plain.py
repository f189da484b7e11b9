"""Worker: every marginal with noise, the budget split equally, negative counts clipped. Laplace where delta is 0,
Gaussian (zero-concentrated) otherwise; continuous noise, as the peers have."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
from gauge import Gauge

from dpqr.kernel.accountants.sums import largest_rho
from dpqr.kernel.budget import PrivacyBudget


def main(folder: Path, eps: str, delta: str, *_: str) -> None:
    gauge, generator = Gauge(), np.random.default_rng()
    task = np.load(folder / "task.npz")
    codes, sizes, marginals = task["codes"], task["sizes"], json.loads(str(task["axes"]))
    gauge.loaded()
    rho = float(largest_rho(PrivacyBudget.parse(eps, delta))) if Fraction(delta) else None
    found = {}
    for place, axes in enumerate(marginals):
        shape = tuple(int(sizes[axis]) for axis in axes)
        cells = np.ravel_multi_index(tuple(codes[:, axis] for axis in axes), shape)
        counts = np.bincount(cells, minlength=int(np.prod(shape)))
        noise = (
            generator.laplace(0, len(marginals) / float(Fraction(eps)), counts.size)
            if rho is None
            else generator.normal(0, sqrt(len(marginals) / (2 * rho)), counts.size)
        )
        found[str(place)] = np.maximum(counts + noise, 0)
    gauge.answered()
    np.savez(folder / "answers.npz", **found)
    print(gauge.report())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
