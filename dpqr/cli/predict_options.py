"""The options of `dpqr predict` alone: what is predicted, and the learner, each reaching the command as one object."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import click

import dpqr
from dpqr.cli import options
from dpqr.cli.completion import DOCUMENTS
from dpqr.cli.options import Integer
from dpqr.cli.settings import say_settings
from dpqr.cli.streams import product, product_json, require_output, say

_count = Integer(min=1)
_option = options.under("Learner")
_LEARNER = (
    _option(
        "--learner",
        metavar="NAME",
        default="logistic",
        show_default=True,
        help="logistic, svm, least-squares, quantile, online, aggregate, or of a package (`dpqr guide extending`).",
    ),
    _option(
        "--positive",
        metavar="LABEL",
        help="The label that logistic and svm tell from the others. [of two: the last]",
    ),
    _option("--lambda", "penalty", metavar="L", help="Regularisation. [default: by --n, noise and a public guess]"),
    _option(
        "--smoothness",
        metavar="R",
        help="Lambda or theta by the theory: r (least-squares, online) or beta of the target.",
    ),
    _option(
        "--radius", metavar="R", help="Norm of the functions to compete with: lambda, or the end of descent, by it."
    ),
    _option(
        "--decay", metavar="P", help="least-squares: eigenvalues of the features' second moments fall as j^-P; a bound."
    ),
    _option(
        "--method",
        metavar="NAME",
        help="output (rounded, exact), objective, moments or descent: see the guide. [default: of least noise]",
    ),
    _option("--tune", metavar="SHARE", help="Choose lambda with this share of the budget, for example 0.1."),
    _option("--tau", metavar="T", help="quantile: which. [default: 0.5]"),
    _option("--slots", metavar="COLUMN", help="online: column whose cell is a row's step. [default: rows in order]"),
    _option("--theta", metavar="T", help="online: steps of size (t + t0)^-T. [default: 0.75]"),
    _option("--t0", metavar="N", type=_count, help="online: see --theta. [default: the smallest allowed]"),
    _option(
        "--releases",
        metavar="S",
        type=_count,
        help="online: predict S times on the way, each paid for. [default: 1]",
    ),
)
_KERNEL = (
    _option("--kernel", metavar="NAME", help="linear, gaussian or polynomial. [default: linear]"),
    _option("--bandwidth", metavar="B", help="gaussian: exp(-d^2 / 2 B^2), rows have norm 1 at most. [default: 1]"),
    _option("--degree", metavar="D", type=_count, help="polynomial. [default: 2]"),
    _option(
        "--features",
        metavar="COUNT",
        type=_count,
        help="Random features of a kernel. [default: exact if few, else 256]",
    ),
    _option("--seed", metavar="N", type=Integer(min=0), default=0, help="Public seed of random features."),
)
_AGGREGATE = (
    _option(
        "--base",
        metavar="SPEC",
        help="aggregate: least-squares, or sklearn.tree.DecisionTreeClassifier(max_depth=5).",
    ),
    _option("--trust", metavar="NAME", multiple=True, help="Vouch for a third party's base, loss or learner."),
    _option(
        "--parts",
        metavar="R",
        type=_count,
        help="Of the table: aggregate votes over them [default: by eps and --target-error], others average.",
    ),
    _option("--target-error", metavar="A", help="aggregate: what the noise may add to the error. [default: 0.2]"),
    _option(
        "--vote",
        metavar="NAME",
        help="aggregate of labels: exponential, permute-and-flip, or of two labels randomised. [default: by --delta]",
    ),
    _option("--accountant", metavar="NAME", help="The composition theorem. [default: least noise]"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What is predicted, and in which form it is released."""

    target: str | None
    points: str | None
    form: Literal["predictions", "function"]
    model: str | None
    domain: str | None
    predictions: int | None
    plan: str | None
    approved_by: str | None


def prediction(command: Callable[..., Any]) -> Callable[..., Any]:
    """Target, points and form, as `asked`."""
    option = options.under("Prediction")
    return options.list_options(
        options.gather_options(Prediction, "asked")(command),
        option("--target", metavar="COLUMN", help="The column to predict."),
        option("--points", metavar="FILE", callback=options.require_file_name, help="Public rows to predict for."),
        option(
            "--release",
            "form",
            type=click.Choice(["predictions", "function"]),
            default="predictions",
            show_default=True,
            help="Noise on every prediction, or once on the whole function, saved as a model.",
        ),
        option(
            "--model",
            metavar="FILE",
            callback=options.require_file_name,
            help="Apply a released function, free of charge.",
        ),
        option(
            "--domain",
            metavar="FILE",
            callback=options.require_file_name,
            help="Domain file, with the target's column.",
        ),
        option(
            "--predictions",
            metavar="COUNT",
            type=_count,
            help="With --dry-run, without points: how many. [default: 100]",
        ),
        *REVIEW,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What a session predicts, and for how many points."""

    target: str | None
    domain: str | None
    predictions: int | None
    plan: str | None
    approved_by: str | None


def session(command: Callable[..., Any]) -> Callable[..., Any]:
    """Target, domain and number of points of a session, as `asked`."""
    option = options.under("Prediction")
    return options.list_options(
        options.gather_options(SessionOptions, "asked")(command),
        option("--target", metavar="COLUMN", help="The column to predict."),
        option(
            "--domain",
            metavar="FILE",
            callback=options.require_file_name,
            help="Domain file, with the target's column.",
        ),
        option(
            "--predictions",
            metavar="COUNT",
            type=_count,
            help="Points that are paid for: each has an equal part of the budget. [default: 100]",
        ),
        *REVIEW,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """The learner by name, and its parameters."""

    learner: str
    positive: str | None
    penalty: str | None
    smoothness: str | None
    radius: str | None
    decay: str | None
    method: str | None
    tune: str | None
    tau: str | None
    slots: str | None
    theta: str | None
    t0: int | None
    releases: int | None
    kernel: str | None
    bandwidth: str | None
    degree: int | None
    features: int | None
    seed: int
    base: str | None
    trust: tuple[str, ...]
    parts: int | None
    target_error: str | None
    vote: str | None
    accountant: str | None


def learner(command: Callable[..., Any]) -> Callable[..., Any]:
    """The learner by name and its parameters, as `learner`."""
    return options.list_options(options.gather_options(Learner, "learner")(command), *_LEARNER, *_KERNEL, *_AGGREGATE)


# What commands of a session share: its plan, its name, its ledger, and how it is shown.

REVIEW = (
    options.under("Review")(
        "--plan",
        metavar="FILE",
        callback=options.require_file_name,
        shell_complete=DOCUMENTS,
        help="Follow this plan (--lock); refused where anything differs.",
    ),
    options.under("Review")(
        "--approved-by", metavar="NAME", help="Who approved: one line, kept in the ledger and the record."
    ),
)
"""Of a run or session that follows a plan of its own command."""

lock = options.under("Review")(
    "--lock", metavar="FILE", callback=options.require_file_name, help="As --dry-run; write the plan, to be reviewed."
)


def is_dry_run(dry_run: bool, lock: str | None, plan: str | None) -> bool:
    """Whether only a plan is wanted. UsageError for one that is followed and written."""
    if lock and plan:
        raise click.UsageError("--lock writes a plan and --plan follows one; give one of them")
    return dry_run or lock is not None


def of_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """NAME, --ledger, --anchor and --json."""
    return options.list_options(
        command,
        click.argument("name"),
        click.option("--ledger", metavar="FILE", help="The ledger. [DPQR_LEDGER, else this user's own]"),
        click.option("--anchor", metavar="FILE", help="What finds rollbacks of the ledger. [DPQR_ANCHOR]"),
        click.option("--json", "as_json", is_flag=True, help="JSON on stdout."),
    )


def last_commands(
    group: click.Group,
    kind: Literal["Session", "PredictionSession"],
    lines: Callable[[Any], Iterable[str]],
    *,
    empty: str,
    out: Callable[..., Any],
    written: str,
) -> None:
    """`status` and `close` of a kind of session.

    Args:
        kind: its public name. lines: how it stands. empty: what one that was of no use had done. out: the option
            --out. written: what became of its place.
    """

    @group.command("status")
    @of_session
    def status_command(name: str, *, ledger: str | None, anchor: str | None, as_json: bool) -> None:
        """Say how the session NAME stands; the table is not opened."""
        require_output()
        found = getattr(dpqr, kind)(name=name, ledger=ledger, anchor=anchor).status()
        show(found.document(), lines(found), as_json=as_json)

    @group.command("close")
    @out
    @of_session
    def close_command(name: str, *, out: str | None, ledger: str | None, anchor: str | None, as_json: bool) -> None:
        """End the session NAME; what was not drawn goes back to the budget."""
        from dpqr.kernel.wording import plain

        require_output()
        finished = getattr(dpqr, kind)(name=name, ledger=ledger, anchor=anchor).close(out)
        if finished is None:
            say(f"session {name!r} is closed; it had {empty} nothing")
            return
        show(finished.record, [str(finished.receipt).rstrip("\n")], as_json=as_json)
        if out is not None:
            say(written.format(plain(out)))


def show(document: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a document as JSON, or what it says as lines; on stderr, which settings were in use."""
    say_settings()
    if as_json:
        product_json(document)
    else:
        product("\n".join(lines))
