"""`dpqr predict`: private predictions, or a private function."""

from __future__ import annotations

from typing import Any

import click

from dpqr.cli import options
from dpqr.cli.number import Whole
from dpqr.errors import UsageFault

_learn, _what = options.under("Learner"), options.under("Prediction")
_pay, _out, _say = options.under("Budget for life"), options.under("Output"), options.under("Screen")
_modes = click.Choice(["auto", "json", "none"])
_count = Whole(min=1)
USUAL_PREDICTIONS = 100
"""What a plan is made for where nobody says how many."""


@click.command("predict", cls=options.Sectioned)
@click.argument("data", nargs=-1, metavar="[DATA]...", callback=options.named)
@_what("--target", metavar="COLUMN", help="The column to predict.")
@_what("--points", metavar="FILE", callback=options.named, help="Public rows to predict for.")
@_what(
    "--release",
    "form",
    type=click.Choice(["predictions", "function"]),
    default="predictions",
    show_default=True,
    help="Noise on every prediction, or once on the whole function, saved as a model.",
)
@_what("--model", metavar="FILE", callback=options.named, help="Apply a released function, free of charge.")
@_what("--domain", metavar="FILE", callback=options.named, help="Domain file, with the target's column.")
@_what("--predictions", metavar="COUNT", type=_count, help="With --dry-run, without points: how many. [default: 100]")
@options.guarantee
@_learn(
    "--learner",
    metavar="NAME",
    default="logistic",
    show_default=True,
    help="logistic, svm, least-squares, quantile, online or aggregate.",
)
@_learn("--positive", metavar="LABEL", help="The label that logistic and svm tell from the others. [of two: the last]")
@_learn("--lambda", "penalty", metavar="L", help="Regularisation. [default: by --n, noise and a public guess]")
@_learn("--smoothness", metavar="R", help="Regularisation by the theory: r (least-squares) or beta of the target.")
@_learn("--tune", metavar="SHARE", help="Choose lambda with this share of the budget, for example 0.1.")
@_learn("--tau", metavar="T", help="quantile: which. [default: 0.5]")
@_learn("--theta", metavar="T", help="online: steps of size (t + t0)^-T. [default: 0.75]")
@_learn("--t0", metavar="N", type=_count, help="online: see --theta. [default: the smallest allowed]")
@_learn("--releases", metavar="S", type=_count, help="online: predict S times on the way, each paid for. [default: 1]")
@_learn("--kernel", metavar="NAME", help="linear, gaussian or polynomial. [default: linear]")
@_learn("--bandwidth", metavar="B", help="gaussian: exp(-d^2 / 2 B^2), rows have norm 1 at most. [default: 1]")
@_learn("--degree", metavar="D", type=_count, help="polynomial. [default: 2]")
@_learn(
    "--features", metavar="COUNT", type=_count, help="Random features of a kernel. [default: exact if few, else 256]"
)
@_learn("--seed", metavar="N", type=Whole(min=0), default=0, help="Public seed of random features.")
@_learn("--base", metavar="SPEC", help="aggregate: least-squares, or sklearn.tree.DecisionTreeClassifier(max_depth=5).")
@_learn("--trust", metavar="NAME", multiple=True, help="Vouch for a base that is not on dpqr's list.")
@_learn("--parts", metavar="R", type=_count, help="aggregate: how many. [default: by epsilon and --target-error]")
@_learn("--target-error", metavar="A", help="aggregate: what the noise may add to the error. [default: 0.2]")
@_learn("--vote", metavar="NAME", help="aggregate, of two labels: exponential or randomised. [default: exponential]")
@_learn("--accountant", metavar="NAME", help="The composition theorem. [default: least noise]")
@options.table
@_pay("--dataset", metavar="NAME", help="Pay from the budget of this dataset (`dpqr budget init`).")
@_pay("--ledger", metavar="FILE", callback=options.named, help="The ledger. [DPQR_LEDGER, else this user's own]")
@_pay("--anchor", metavar="FILE", callback=options.named, help="What finds rollbacks of the ledger. [DPQR_ANCHOR]")
@_out("--out", metavar="FILE", help="Write predictions (.csv, .parquet, .json), or the model, into this new file.")
@_out("--dry-run", is_flag=True, help="Print the plan; the private table is not opened.")
@_say("--json", "as_json", is_flag=True, help="JSON on stdout.")
@_say("--progress", type=_modes, default="auto", show_default=True, help="On stderr; auto: if it is a terminal.")
@_say("--no-color", is_flag=True, help="No colours (as with NO_COLOR).")
def command(**given: Any) -> None:
    """Predict a column from the others by a private learner.

    DATA is the private table to learn from, as for `dpqr release`. --points are public.

    \b
    dpqr predict train.parquet --target income --points new.csv --domain domain.json --eps 1 --n 30000 --out p.csv
    dpqr predict train.csv --target income --release function --domain domain.json --eps 1 --delta 1e-6 --out model.json
    dpqr predict --model model.json --points new.csv --out p.csv
    dpqr predict --dry-run --target income --domain domain.json --eps 1 --n 30000 --predictions 100
    """
    from dpqr.cli.screen import Screen

    screen = Screen(color=not given["no_color"], as_json=given["as_json"], lines=given["progress"] == "json")
    if given["model"]:
        _apply(given, screen)
    elif given["dry_run"]:
        _plan(given, screen)
    else:
        _learned(given, screen)


def _apply(given: dict[str, Any], screen: Any) -> None:
    from dpqr.app.predict import apply_model

    idle = next((name for name in ("data", "target", "eps", "delta", "dataset", "dry_run") if given[name]), None)
    if idle:
        raise UsageFault(f"--model applies a released function, which costs nothing; leave {_spelt(idle)} out")
    points = _points(given)
    if points is None:
        raise UsageFault("--model says what to predict with; --points FILE says for which rows")
    screen.predictions(apply_model(given["model"], points, given["out"], options.limits(given)), given["out"])


def _plan(given: dict[str, Any], screen: Any) -> None:
    from dpqr.app.paid_run import ledger_request
    from dpqr.app.predict import planned_prediction

    if given["points"] is None and given["form"] == "predictions":
        given = given | {"predictions": given["predictions"] or USUAL_PREDICTIONS}
    request = _request(given)
    payer = ledger_request(given["dataset"], given["ledger"], given["anchor"], False) if given["dataset"] else None
    plan, outlook = planned_prediction(_desk(given), request, payer=payer)
    screen.prediction_plan(plan, outlook)


def _learned(given: dict[str, Any], screen: Any) -> None:
    from dpqr.app.paid_run import ledger_request
    from dpqr.app.predict import predict
    from dpqr.cli.progress import progress

    payer = ledger_request(given["dataset"], given["ledger"], given["anchor"], False)
    if given["predictions"] is not None:
        raise UsageFault("--predictions COUNT goes with --dry-run; --points FILE says what to predict")
    request, desk = _request(given), _desk(given)
    if given["form"] == "predictions" or given["as_json"]:
        screen.require_output(given["out"])
    with progress(given["progress"], color=not given["no_color"]) as observer:
        finished = predict(desk, request, observer, payer=payer)
    screen.prediction_release(finished, given["out"])


def _desk(given: dict[str, Any]) -> Any:
    """A plan alone needs no table: any stands for it then."""
    from dpqr.app.predict import Desk
    from dpqr.io.tables.source import STDIN, TableSource

    paths = given["data"] or ((STDIN,) if given["dry_run"] else ())
    table = TableSource(paths=paths, delimiter=given["delimiter"], count_column=given["counts"])
    return Desk(table=table, points=_points(given), out=given["out"], limits=options.limits(given))


def _points(given: dict[str, Any]) -> Any:
    from dpqr.io.tables.source import TableSource

    return TableSource(paths=(given["points"],), delimiter=given["delimiter"]) if given["points"] else None


def _request(given: dict[str, Any]) -> Any:
    from dpqr.app.predict_request import PredictRequest

    for needed in ("target", "eps"):
        if given[needed] is None:
            raise UsageFault(f"--{needed} is needed to learn; only --model FILE goes without it")
    same = ("target", "domain", "learner", "delta", "neighbours", "n", "unit", "max_rows", "counts", "form", "positive")
    more = ("penalty", "smoothness", "tau", "base", "parts", "target_error", "vote", "accountant", "predictions")
    kernel = ("kernel", "bandwidth", "degree", "features", "seed", "theta", "t0", "releases", "tune", "trust")
    return PredictRequest(epsilon=given["eps"], **{name: given[name] for name in (*same, *more, *kernel)})


def _spelt(name: str) -> str:
    return "DATA" if name == "data" else f"--{name.replace('_', '-')}"
