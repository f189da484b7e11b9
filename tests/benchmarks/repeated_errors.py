"""How far each answer's stated `error` is from its root mean square error over repeated releases of the sample.

python tests/benchmarks/repeated_errors.py [--eps .3 1 2] [--delta 1e-6] [--runs 12]

Releases of sample_data/queries.json and of all pairs. By size of the true answer: coverage of estimate +- 1.96 errors,
z (root mean square of (estimate - truth) / error), and the root mean square and the mean of log(error / true error) of
all answers and runs: a factor e^.3 is 1.35.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import dpqr

SAMPLE = Path(__file__).parent.parent.parent / "sample_data"
PAIRS = {"domain": str(SAMPLE / "domain.json"), "queries": [{"marginals": {"ways": 2}}]}
SIZES = {"<10": (-1.0, 10.0), "10-50": (10.0, 50.0), "50-500": (50.0, 500.0), ">500": (500.0, np.inf)}


def answers(queries: object, **budget: str) -> np.ndarray:
    """Estimates and errors of a release, shape (2, answers)."""
    found = dpqr.release(SAMPLE / "survey.csv", queries=queries, **budget).answers
    return np.stack([found["estimate"].to_numpy(), found["error"].to_numpy()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eps", nargs="+", default=[".3", "1", "2"])
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--runs", type=int, default=12)
    given = parser.parse_args()
    print(f"{'queries':<8} {'eps':>4} {'size':>7} {'answers':>8} {'cover':>6} {'z':>5} {'rms log':>8} {'mean log':>9}")
    for name, queries in {"sample": SAMPLE / "queries.json", "pairs": PAIRS}.items():
        truth = answers(queries, eps="1000")[0]
        for eps in given.eps:
            runs = np.stack([answers(queries, eps=eps, delta=given.delta) for _ in range(given.runs)])
            off, errors = runs[:, 0] - truth, runs[:, 1]
            real = np.sqrt(np.mean(off**2, axis=0))
            for size, (least, most) in SIZES.items():
                of_size = (least <= truth) & (truth < most) & (real > 0.0)
                z, logs = off[:, of_size] / errors[:, of_size], np.log(errors[:, of_size] / real[of_size])
                shown = f"{np.mean(np.abs(z) <= 1.96):>6.3f} {np.mean(z**2) ** 0.5:>5.2f}"
                shown += f" {np.mean(logs**2) ** 0.5:>8.3f} {logs.mean():>+9.2f}"
                print(f"{name:<8} {eps:>4} {size:>7} {of_size.sum():>8} {shown}", flush=True)


if __name__ == "__main__":
    main()
