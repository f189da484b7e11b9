"""Methods: who is compared, and one run of each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import csv
from task import Task

HERE = Path(__file__).parent
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
PEERS, PURE = ("aim", "mst", "mwem"), ("dpqr", "plain", "mwem")
"""Methods that live in the peers' environment; methods that can do delta 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """error: mean L1 over n. cpu: seconds after imports. memory: peak MB above that after imports; own: without pages
    of libraries; algorithm: the peak from the table in memory to the answers in memory; None: not told."""

    error: float
    cpu: float
    memory: float | None
    own: float | None
    algorithm: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What all methods share. peers: their Python, or None; more: options of the release; limits of the peers."""

    task: Task
    truth: list[np.ndarray]
    folder: Path
    peers: str | None
    more: tuple[str, ...]
    options: dict[str, Any]

    def refusal(self, method: str, delta: str) -> str | None:
        """Why there is nothing to run, in words."""
        if method not in PURE and float(delta) == 0:
            return "has no form for delta 0"
        if method in PEERS and self.peers is None:
            return "is not installed; give --peers PYTHON, an environment with `pip install dpmm`"
        if method in PEERS and not _imports(str(self.peers)):
            return f"is not installed in {self.peers} (`pip install dpmm`)"
        return None

    def run(self, method: str, eps: str, delta: str) -> Run:
        """One run. SystemExit with the worker's last lines where it fails."""
        python, script = (self.peers, "peers") if method in PEERS else (sys.executable, method)
        named = [method] if method in PEERS else []
        more = [json.dumps(self.options)] if method in PEERS else list(self.more)
        command = [str(python), str(HERE / f"worker_{script}.py"), *named, str(self.folder), eps, delta, *more]
        ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | dict.fromkeys(ONE_THREAD, "1"))
        if ended.returncode:
            raise SystemExit(f"{method} failed:\n{ended.stderr[-2000:]}")
        told = json.loads(ended.stdout.splitlines()[-1])
        answers = self._released() if method == "dpqr" else self._told()
        return Run(
            error=self.task.error(answers, self.truth),
            cpu=told["cpu"],
            memory=told["memory"],
            own=told["own"],
            algorithm=told["algorithm"],
        )

    def _told(self) -> list[np.ndarray]:
        found = np.load(self.folder / "answers.npz")
        return [found[str(place)] for place in range(len(self.truth))]

    def _released(self) -> list[np.ndarray]:
        """Estimates of a release: rows in workload order, cells in C order of each marginal's columns."""
        estimates = csv.read_csv(self.folder / "release" / "answers.csv")["estimate"].to_numpy()
        return np.split(estimates, np.cumsum([len(cells) for cells in self.truth])[:-1])


def _imports(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import dpmm"], capture_output=True).returncode == 0
    except OSError:
        return False
