"""Adult: accuracy and loss of private predictions on a held-out fifth, mean over releases, beside non-private figures.

python tests/benchmarks/predict.py --data adult-labels.csv [--runs 20] [--only function methods votes loss corners
    rates made few] [--peer PYTHON]

Income: function release at (eps, delta) with lambda chosen by the public default, and aggregation of 1,000 points under
one total; bars beside the figures. Hours per week: quantile and least squares at eps 1, as a ratio to the loss of the
same learner without noise and with little regularisation. --n, where it is declared, is the number of training rows of
a public research extract. CPU seconds are those of one run.
Methods: the same function by gradient descent and by means of parts. Rates: mean excess risk of the online learner on
made-up streams, its bound and its order. Made: functions of made-up tables, by the default method and by
output perturbation, at delta 1e-6. --data is not read for these two. Few: the same at 500 and 1,000 records, one
release of each of --runs tables, made up or drawn from Adult. Corners: the exact hinge and quantile losses. --peer: the
Python of an environment with diffprivlib, whose logistic regression gets the same features, and its best C by the test
file, which is not paid for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from dpqr.kernel.values import replace
from dpqr.releases.loop import SILENT

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.prediction_tables import online

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import read_domain
from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.forms import DIRECT
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.plan import PredictionPlan
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.predict import apply_model, predict
from dpqr.prediction.problem import PredictionProblem, Target, read_target, without
from dpqr.prediction.rates import OnlineError
from dpqr.prediction.recipes import StableRecipe
from dpqr.releases.requests import ModelRequest, PredictionPlanRequest, PredictionRequest
from dpqr.tables.limits import Limits
from dpqr.tables.points import read_points
from dpqr.tables.source import TableSource

BOUNDS = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}
EDGES = {
    "capital-gain": [0, 1, 3000, 5000, 7000, 10000, 20000, 100000],
    "capital-loss": [0, 1, 1500, 1800, 2000, 2500, 5000],
}
LEFT_OUT = ("fnlwgt",)
BARS = {"1": 0.834, "0.1": 0.818}
PURE_BARS = {"1": 0.83, "0.1": 0.785}
POINTS = 1000
VOTES_BAR = 0.82
PINBALL = ("0.5", "0.9")
CLASSES = (("logistic", None), ("logistic", "output"), ("svm", None), ("svm", "rounded"))


class Bench:
    """A train and a test file, and the domain file, in `folder`."""

    def __init__(self, table: pa.Table, folder: Path) -> None:
        order = np.random.default_rng(0).permutation(table.num_rows)
        cut = table.num_rows // 5
        self.folder, self.records, self.test = folder, table.num_rows - cut, table.take(order[:cut])
        pc.write_csv(table.take(order[cut:]), folder / "train.csv")
        pc.write_csv(self.test, folder / "test.csv")
        pc.write_csv(self.test.slice(0, POINTS), folder / "points.csv")
        (folder / "domain.json").write_text(json.dumps({"fields": [*fields(table)]}))

    def source(self, name: str) -> TableSource:
        return TableSource(paths=(str(self.folder / name),))

    def run(self, points: str | None, **asked: object) -> tuple[object, float]:
        """Predictions (of a function at the test file) and CPU seconds."""
        out = self.folder / "model.json"
        out.unlink(missing_ok=True)
        request = PredictionRequest(
            table=self.source("train.csv"),
            plan=PredictionPlanRequest(domain=str(self.folder / "domain.json"), **asked),  # type: ignore[arg-type]
            points=self.source(points) if points else None,
            out=None if points else str(out),
        )
        started = time.process_time()
        released = predict(request, SILENT)
        seconds = time.process_time() - started
        if points:
            return released.predictions, seconds
        return apply_model(ModelRequest(model=str(out), points=self.source("test.csv"))).predictions, seconds


def fields(table: pa.Table) -> Iterator[dict[str, object]]:
    for name in table.column_names:
        if name in LEFT_OUT:
            continue
        if pa.types.is_string(table[name].type):
            labels = sorted(set(table[name].to_pylist()))
            yield {"name": name, "type": "string", "constraints": {"enum": labels}, "dpqr": {"otherwise": "drop"}}
        elif name in EDGES:
            cut = {"edges": EDGES[name], "outside": "clip", "otherwise": "drop"}
            yield {"name": name, "type": "integer", "dpqr": cut}
        else:
            low, high = BOUNDS[name]
            cut = {"width": 1, "outside": "clip", "otherwise": "drop"}
            yield {"name": name, "type": "integer", "constraints": {"minimum": low, "maximum": high}, "dpqr": cut}


def function(bench: Bench, runs: int) -> None:
    truth = np.array(bench.test["income"].to_pylist())
    print(f"income, function release, delta 1e-6; majority class {np.mean(truth == '<=50K'):.4f}")
    asked = {"target": "income", "form": "function"}
    for learner, method in (("logistic", None), ("logistic", "output"), ("svm", None), ("svm", "rounded")):
        for delta, bars in (("1e-6", BARS), (None, PURE_BARS)):
            for eps in bars:
                for n in (bench.records, None):
                    given = {"learner": learner, "method": method, "epsilon": eps, "delta": delta, "n": n}
                    found = [bench.run(None, **asked, **given) for _ in range(runs)]
                    stated = "n declared" if n else "n private"
                    what = f"{learner} {method or ''} eps {eps} delta {delta or 0} {stated}"
                    told(found, truth, what, bars[eps])


def methods(bench: Bench, runs: int) -> None:
    truth = np.array(bench.test["income"].to_pylist())
    print("income, function release by method, delta 1e-6")
    for more in ({}, {"radius": "10"}, {"method": "descent"}, {"method": "descent", "radius": "10"}, {"parts": 8}):
        for eps in ("1", "0.1"):
            asked = {"target": "income", "learner": "logistic", "epsilon": eps, "delta": "1e-6", "form": "function"}
            found = [bench.run(None, n=bench.records, **asked, **more) for _ in range(runs)]
            told(found, truth, f"eps {eps} {more or ''}", eps)


def votes(bench: Bench, runs: int) -> None:
    truth = np.array(bench.test["income"].to_pylist())[:POINTS]
    print(f"income, {POINTS:,} predictions under one total eps 4, delta 1e-6")
    randomised = {"vote": "randomised"}
    ensembles = (("aggregate", {"parts": 100}), ("aggregate", {}), ("aggregate", randomised))
    for learner, more in (*ensembles, ("logistic", {"n": bench.records})):
        asked = {"target": "income", "learner": learner, "epsilon": "4", "delta": "1e-6", **more}
        found = [bench.run("points.csv", **asked) for _ in range(runs)]
        told(found, truth, f"{learner} {more or ''}", None if more == randomised else VOTES_BAR)


def told(found: list[tuple[object, float]], truth: np.ndarray, what: str, bar: float | None) -> None:
    shares = [float(np.mean(predicted == truth)) for predicted, _ in found]
    seconds = statistics.median(each for _, each in found)
    spread = statistics.stdev(shares) if len(shares) > 1 else float("nan")
    print(
        f"  {what:<44} accuracy {statistics.mean(shares):.4f} +-{spread:.4f} (bar {bar or '-'}) CPU {seconds:.2f} s",
        flush=True,
    )


def rates(_: Bench | None, runs: int) -> None:
    """f_rho of norm 1/2 on 1,000 rows of norm 1 in 8 dimensions; targets are -1 or 1."""
    drawn = np.random.default_rng(2)
    vectors = drawn.normal(size=(1000, 8)) * np.arange(1, 9) ** -0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    best = np.ones(8) / 8**0.5 / 2
    values, axes = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    print("online, mean excess risk over that of f_rho (norm 1/2), of [-1, 1] targets; R: of g, f_rho = L^r g")
    for theta in ("2/3", "3/4"):
        for slots in (1000, 10_000, 100_000):
            stable, squares = online(vectors, slots, theta), []
            for _ in range(runs):
                places = drawn.integers(1000, size=slots)
                labels = (drawn.random(slots) < (1 + vectors[places] @ best) / 2).astype(int)
                rows = np.stack([places, labels, np.arange(slots)], axis=1)
                weights = stable.fit(SparseHistogram((1000, 1000, slots), rows, np.ones(slots, dtype=np.int64)))
                squares.append(np.mean(np.square(vectors @ (weights - best))))
            left = 1 - float(Fraction(theta))
            for smooth in (0.5, 1.0):
                radius = float(np.sqrt((axes.T @ best) ** 2 @ values ** (1 - 2 * smooth)))
                bound = OnlineError(steps=stable.steps, radius=radius, smoothness=smooth).after(slots)
                order = slots ** -min(1 - left, 2 * smooth * left)
                print(
                    f"  theta {theta} n {slots:>7,} r {smooth:g} (R {radius:.2g}): {np.mean(squares):.5f}, "
                    f"bound {bound:.5f}, order {order:.5f}",
                    flush=True,
                )


@dataclass(frozen=True)
class Table:
    """Rows to learn two classes from, and vectors of others with their labels."""

    problem: PredictionProblem
    counts: SparseHistogram
    points: np.ndarray
    truth: np.ndarray

    def shares(self, plan: PredictionPlan, runs: int) -> list[float]:
        """Of right labels, in each of so many releases."""
        mechanism = plan.direct() if plan.noise in DIRECT else plan.weights(plan.learner(plan.problem.records))
        found = (mechanism.sample(self.counts, SystemNoise()).astype(float) for _ in range(runs))
        return [float(np.mean((self.points @ each > 0) == self.truth)) for each in found]


def class_plans(problem: PredictionProblem, eps: str) -> list[PredictionPlan]:
    """Of CLASSES, at delta 1e-6."""
    accountants = [one for name, one in PREDICTING.items() if name != "pld"]
    asked = {"problem": problem, "budget": PrivacyBudget.parse(eps, "1e-6"), "accountants": accountants}
    features = CellFeatures(domain=problem.features)
    recipes = [StableRecipe(name=learner, features=features, method=method) for learner, method in CLASSES]
    return [least_spread(PlannerInput(recipe=recipe, **asked)) for recipe in recipes]


def made_table(columns: int, size: int, drawn: np.random.Generator, records: int, held: int = 4000) -> Table:
    """Independent uniform columns; labels by a random linear score of deviation about 3."""
    names = [f"c{place}" for place in range(columns)]
    fields = (*(Attribute(name=name, axis=Codes(size)) for name in names), Attribute(name="y", axis=Codes(2)))
    target = Target(attribute=fields[-1], axis=columns, positive=1)
    problem = PredictionProblem(domain=Domain(fields), target=target, unit=PrivacyUnit(), records=records)
    weights = drawn.normal(size=(columns, size)) * 3 / columns**0.5
    rows = drawn.integers(size, size=(records + held, columns))
    scores = weights[np.arange(columns), rows].sum(axis=1)
    labels = (drawn.random(len(rows)) < 1 / (1 + np.exp(-scores))).astype(int)
    codes, times = np.unique(np.column_stack([rows, labels])[:records], axis=0, return_counts=True)
    counts = SparseHistogram(problem.domain.shape, codes, times)
    return Table(problem, counts, CellFeatures(domain=problem.features).of(rows[records:]), labels[records:] == 1)


def made(_: Bench | None, runs: int) -> None:
    drawn = np.random.default_rng(5)
    print("made-up tables: share of right labels, default and output perturbation, logistic and svm")
    for columns, size in ((3, 3), (8, 5), (20, 10)):
        for records in (500, 5000, 50_000):
            table = made_table(columns, size, drawn, records, 20_000)
            for eps in ("0.1", "1"):
                found = [(plan.noise, table.shares(plan, runs)) for plan in class_plans(table.problem, eps)]
                told = (f"{noise} {np.mean(right):.3f} +-{np.std(right):.3f}" for noise, right in found)
                print(f"  {columns:>2} x {size:<2} n {records:>6,} eps {eps:<3}: {', '.join(told)}", flush=True)


def few(bench: Bench, runs: int) -> None:
    """One release of each of `runs` tables, so that the mean is of tables and of noise."""
    print("few records: share of right labels +- standard error, default and output perturbation, logistic and svm")
    kinds = {f"{columns} x {size}": partial(made_table, columns, size) for columns, size in ((3, 3), (8, 5), (20, 10))}
    for name, drawn_table in {**kinds, "Adult": partial(income_rows, income(bench))}.items():
        for records in (500, 1000):
            for eps in ("0.1", "1"):
                rows = [drawn_table(np.random.default_rng(1000 + seed), records) for seed in range(runs)]
                plans = class_plans(rows[0].problem, eps)
                found = [(plan.noise, [table.shares(plan, 1)[0] for table in rows]) for plan in plans]
                told = (f"{noise} {np.mean(right):.3f} +-{np.std(right) / runs**0.5:.3f}" for noise, right in found)
                print(f"  {name:<7} n {records:>5,} eps {eps:<3}: {', '.join(told)}", flush=True)


Income = tuple[PredictionProblem, np.ndarray, np.ndarray, np.ndarray]


def income(bench: Bench) -> Income:
    """Who earns more, the codes of the rows to learn from, and the other rows' vectors and truth."""
    domain = read_domain(bench.folder / "domain.json")
    problem = PredictionProblem(domain=domain, target=read_target(domain, "income", ">50K"), unit=PrivacyUnit())
    train, test = (read_points(bench.source(f"{name}.csv"), domain, Limits()) for name in ("train", "test"))
    axis = problem.target.axis
    points = CellFeatures(domain=problem.features).of(np.delete(test, axis, axis=1))
    return problem, train, points, test[:, axis] == problem.target.positive


def income_rows(known: Income, drawn: np.random.Generator, records: int) -> Table:
    """So many of the rows."""
    problem, train, points, truth = known
    chosen = train[drawn.choice(len(train), records, replace=False)]
    counts = SparseHistogram(problem.domain.shape, chosen, np.ones(records, dtype=np.int64))
    return Table(replace(problem, records=records), counts, points, truth)


def peer(bench: Bench, python: str, runs: int) -> None:
    """diffprivlib on the same features, rows of norm 1."""
    domain = read_domain(bench.folder / "domain.json")
    target = read_target(domain, "income", None)
    columns, tables = without(domain, target), {}
    for name in ("train", "test"):
        rows = read_points(bench.source(f"{name}.csv"), domain, Limits())
        tables[f"{name}_labels"] = rows[:, target.axis]
        tables[name] = CellFeatures(domain=columns).of(read_points(bench.source(f"{name}.csv"), columns, Limits()))
    np.savez(bench.folder / "peer.npz", **tables)
    script = Path(__file__).with_name("predict_peer.py")
    subprocess.run([python, str(script), str(bench.folder / "peer.npz"), str(runs)], check=True)


def loss(bench: Bench, runs: int) -> None:
    quantiles = [("quantile", {"tau": tau, "method": method}) for method in (None, "rounded") for tau in PINBALL]
    hours(bench, runs, (*quantiles, ("least-squares", {})))


def corners(bench: Bench, runs: int) -> None:
    """Losses with their corners, beside the rounded ones."""
    truth = np.array(bench.test["income"].to_pylist())
    print("income, function release, eps 1, delta 1e-6, n declared")
    asked = {"target": "income", "learner": "svm", "epsilon": "1", "delta": "1e-6", "form": "function"}
    for method in ("exact", "rounded"):
        told([bench.run(None, n=bench.records, method=method, **asked) for _ in range(runs)], truth, method, None)
    hours(bench, runs, [("quantile", {"tau": tau, "method": "exact"}) for tau in PINBALL])


def hours(bench: Bench, runs: int, learners: Iterable[tuple[str, dict[str, str | None]]]) -> None:
    truth = np.array(bench.test["hours-per-week"].to_pylist(), dtype=float)
    print("hours per week, function release at eps 1, delta 1e-6: loss on the test file over that without noise")
    for learner, more in learners:
        score = partial(scored, truth, float(more.get("tau", 0)))
        asked = {"target": "hours-per-week", "learner": learner, "form": "function", "delta": "1e-6", **more}
        free = score(without_noise(bench, learner, more))
        found = [bench.run(None, n=bench.records, epsilon="1", **asked) for _ in range(runs)]
        ratios = [score(predicted) / free for predicted, _ in found]
        tau = float(more.get("tau", 0))
        best = score(np.full(len(truth), np.quantile(truth, tau) if tau else truth.mean()))
        print(
            f"  {learner} {more or ''}: ratio {statistics.mean(ratios):.4f} +-{np.std(ratios) / runs**0.5:.4f} "
            f"(bar {1.01 if tau else 1.04}); non-private loss {free:.3f}, "
            f"best constant {best:.3f}; CPU {statistics.median(each for _, each in found):.2f} s",
            flush=True,
        )


def scored(truth: np.ndarray, tau: float, predicted: object) -> float:
    """Mean square error, or the quantile loss at tau."""
    apart = truth - np.asarray(predicted, dtype=float)
    return float(np.mean(np.maximum(tau * apart, (tau - 1) * apart) if tau else apart**2))


def without_noise(bench: Bench, learner: str, more: dict[str, str]) -> np.ndarray:
    """The same learner with next to no regularisation and no noise. (The table is public.)"""
    domain = read_domain(bench.folder / "domain.json")
    target = read_target(domain, "hours-per-week", None)
    codes = read_points(bench.source("train.csv"), domain, Limits())
    counts = SparseHistogram(domain.shape, codes, np.ones(len(codes), dtype=np.int64))
    problem = PredictionProblem(domain=domain, target=target, unit=PrivacyUnit())
    features = CellFeatures(domain=without(domain, target))
    recipe = StableRecipe(
        name=learner,
        features=features,
        penalty=Fraction(1, 10**6),
        tau=Fraction(more.get("tau", "0.5")),
        method=more.get("method"),
    )
    weights = recipe.learner(problem, bench.records, 0.0).fit(counts)
    points = read_points(bench.source("test.csv"), without(domain, target), Limits())
    return target.unscaled(features.of(points) @ weights)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    free = {"rates": rates, "made": made}
    parts = {"function": function, "methods": methods, "votes": votes, "loss": loss, "corners": corners, "few": few}
    parser.add_argument("--peer", metavar="PYTHON")
    parser.add_argument("--only", nargs="+", choices=[*parts, *free], default=[*parts, *free])
    given = parser.parse_args()
    for name in given.only:
        if name in free:
            free[name](None, given.runs)
    if given.data is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(pc.read_csv(given.data), Path(folder))
        for name in given.only:
            if name in parts:
                parts[name](bench, given.runs)
        if given.peer:
            peer(bench, given.peer, given.runs)


if __name__ == "__main__":
    main()
