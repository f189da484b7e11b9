"""Worker for the peers' own environment: AIM and MST of dpmm, and MWEM with that package's graphical-model fit.

Arguments: aim, mst or mwem; folder, eps, delta, options as JSON (megabytes, iterations, rounds). It runs under the
peers' Python, with NumPy and dpmm alone.

dpmm draws each noisy cell by a call of its own, 0.2 ms apiece, which on large marginals would be most of its time.
The worker gives it one array draw of the same law instead, in its favour: figures are of the algorithms.
"""

from __future__ import annotations

import json
import sys
from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
from dpmm.models import aim as aim_module
from dpmm.models import mst as mst_module
from dpmm.models.base.mbi import Dataset, Domain, FactoredInference, GraphicalModel
from dpmm.models.base.mechanisms import cdp_rho
from dpmm.models.base.mechanisms import mechanism as mechanism_module
from gauge import Gauge

MEASURED = 0.9
"""Share of rho that measures, the rest selects, as in AIM."""


LAST = 2500
"""Iterations of AIM's last fit."""


def gaussian(sigma: float, size: object = None) -> np.ndarray:
    return np.random.normal(0.0, sigma, size)


aim_module.gaussian_noise = mechanism_module.gaussian_noise = gaussian


def main(method: str, folder: Path, eps: str, delta: str, options: str) -> None:
    gauge, chosen = Gauge(), {"aim": aim, "mst": mst, "mwem": mwem}[method]
    task = np.load(folder / "task.npz")
    names = [f"c{place}" for place in range(len(task["sizes"]))]
    sizes = {name: int(size) for name, size in zip(names, task["sizes"], strict=True)}
    asked = [tuple(names[axis] for axis in axes) for axes in json.loads(str(task["axes"]))]
    frame = pd.read_csv(folder / "table.csv", header=0, names=names)
    gauge.loaded()
    answers, rounds = chosen(frame, sizes, asked, float(eps), float(delta), json.loads(options))
    gauge.answered()
    np.savez(folder / "answers.npz", **{str(place): flat for place, flat in enumerate(answers)})
    print(gauge.report(rounds=rounds))


class Aim(aim_module.AIM):
    """Its last fit begins anew, and with as few iterations as those of the rounds it would end far from the measured
    values: at eps 0.1 on 91 marginals that alone makes the error 1.5 times larger. The published one takes LAST."""

    def _fit(self, *given: object, **stated: object) -> tuple:
        found = super()._fit(*given, **stated)
        self.n_iters = LAST
        return found


def aim(frame: pd.DataFrame, sizes: dict, asked: list, eps: float, delta: float, options: dict) -> tuple[list, int]:
    """The package's AIM on the asked workload; answers are its model's marginals."""
    mechanism = Aim(
        epsilon=eps,
        delta=delta,
        domain=sizes,
        max_model_size=options["megabytes"],
        n_iters=options["iterations"],
        n_jobs=1,
    )
    mechanism.fit(frame, W=[(names, 1.0) for names in asked])
    return told(mechanism.model, asked), len(mechanism.measures)


def mst(frame: pd.DataFrame, sizes: dict, asked: list, eps: float, delta: float, options: dict) -> tuple[list, int]:
    """The package's MST. Its model lives on merged cells, so answers are counted from its rows."""
    mechanism = mst_module.MST(epsilon=eps, delta=delta, domain=sizes, n_iters=options["mst_iterations"], n_jobs=1)
    mechanism.fit(frame)
    rows = Dataset(mechanism.generate()[list(sizes)], Domain(list(sizes), list(sizes.values())))
    return [rows.project(names).datavector() for names in asked], len(mechanism.measures)


def mwem(frame: pd.DataFrame, sizes: dict, asked: list, eps: float, delta: float, options: dict) -> tuple[list, int]:
    """MWEM (Hardt, Ligett and McSherry 2012) whose update is a fit of a graphical model to all measurements.

    Each round selects the marginal of largest L1 error less its number of cells by the exponential mechanism, and
    measures it: half of eps / T each and Laplace noise where delta is 0, else MEASURED of rho / T and Gaussian noise.
    Marginals that would make the model larger than its share of the limit are left out.
    """
    domain = Domain(list(sizes), list(sizes.values()))
    data, rounds = Dataset(frame, domain), options["rounds"]
    truth = {names: data.project(names).datavector() for names in asked}
    rho = cdp_rho(eps, delta) / rounds if delta else None
    selecting = eps / rounds / 2 if rho is None else sqrt(8 * (1 - MEASURED) * rho)
    scale = 2 * rounds / eps if rho is None else sqrt(1 / (2 * MEASURED * rho))
    noise = np.random.laplace if rho is None else np.random.normal
    spread = scale * sqrt(2) if rho is None else scale
    engine = FactoredInference(domain, iters=options["iterations"], warm_start=True)
    model, measured, taken = engine.estimate([unknown(domain)], total=1.0), [], []
    for turn in range(1, rounds + 1):
        limit = options["megabytes"] * turn / rounds
        fits = [one for one in asked if one in taken or model_size(domain, [*taken, one]) <= limit]
        errors = [np.abs(truth[one] - model.project(one).datavector()).sum() - domain.size(one) for one in fits]
        picked = fits[drawn(np.array(errors) * selecting / 2)]
        taken.append(picked)
        measured.append((None, truth[picked] + noise(0, scale, truth[picked].size), spread, picked))
        model = engine.estimate(list(measured))
    return told(model, asked), rounds


def unknown(domain: Domain) -> tuple:
    """A measurement that says nothing: the package fits no model to none at all."""
    first = domain.attrs[0]
    return None, np.zeros(domain.size([first])), 1e9, (first,)


def drawn(exponents: np.ndarray) -> int:
    weights = np.exp(exponents - exponents.max())
    return int(np.random.choice(len(weights), p=weights / weights.sum()))


def model_size(domain: Domain, cliques: list) -> float:
    """Megabytes of the model's tables."""
    return GraphicalModel(domain, cliques).size * 8 / 2**20


def told(model: GraphicalModel, asked: list) -> list[np.ndarray]:
    return [np.asarray(model.project(names).datavector()) for names in asked]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
