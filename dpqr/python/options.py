"""Options, each stated once: an annotated row says what an option takes, where it stands in `--help`, and what it does.

A group of options is a TypedDict whose fields are such rows, in the order of the help; a command's options are groups
put together. From the rows are made click's options (`dpqr.cli.options.takes`), the checks of Python's keywords
(`checks`), the keys of dpqr.toml (`SETTINGS`) and what a shell completes. A group that no command of its own uses is
a part of an order: Python's functions name some options in their signature, and take the others by a TypedDict.

To add an option: its row here, the field of the request of the same name (`dpqr.releases.requests`), and its use.
Nothing heavy is imported, for `--help` reads this module.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, get_args

from dpqr.domain.periods import EVERY, MOST_PERIODS, Every
from dpqr.python.checks import (
    MOST_RECORDS,
    MOST_WORKERS,
    Check,
    Document,
    Figure,
    OneOf,
    Path,
    Whole,
    boolean,
    figure,
    line,
    remark,
    text,
    texts,
)

if TYPE_CHECKING:
    from dpqr.releases.requests import AnswerForm, BinForm, ExistingForm, SyntheticForm


class LedgerPlace:
    """Where a ledger and its anchor lie, as `Ledger` knows it.

    Attributes:
        path, anchor: None: as configured.
    """

    path: str | None
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Option:
    """All that is known of an option beside its name and its type in Python.

    Attributes:
        check: returns a value of Python's keyword as a request holds it; UsageFault for what no option may be.
        metavar: what stands for the value in the help; None: click's word for the kind of value, or a flag.
        help: its sentence there.
        section: the heading that it stands under; empty: of a command without headings.
        flags: how the command line writes it, where that is not its name with dashes.
        default: what counts where it is not stated; the help shows a text, and its sentence says all others.
        required: whether the command line must state it.
        multiple: whether it may be repeated.
        file: whether it names a file or directory: an empty name is a shell variable that was not set.
        complete: what a shell offers: a key of `dpqr.cli.options.COMPLETERS`.
        setting: whether dpqr.toml may state it for the commands that take it.
        parse: reads what a shell passes on; None: as it is.
    """

    check: Check
    metavar: str | None
    help: str
    section: str = ""
    flags: tuple[str, ...] = ()
    default: str | int | None = None
    required: bool = False
    multiple: bool = False
    file: bool = False
    complete: Literal["documents", "tables", "ledgers", "sql", "datasets", "strategies"] | None = None
    setting: bool = False
    parse: Callable[[str], str] | None = None


@cache
def rows(options: type) -> Mapping[str, Option]:
    """The options of a group, by name, in the order of the help."""
    return {name: hint.__metadata__[0] for name, hint in options.__annotations__.items()}


def checks(options: type) -> dict[str, Check]:
    """The checks of a group, by the names of Python's keywords."""
    return {name: row.check for name, row in rows(options).items()}


def passed_on(_: str, value: Any) -> Any:
    """The value as it is: whoever makes the request, or the use case, checks it."""
    return value


def path(_: str, value: Path) -> str:
    """The path as text."""
    return os.fspath(value)


def _tab(given: str) -> str:
    """A backslash and a t, as a shell passes them on, mean a tab."""
    return "\t" if given == r"\t" else given


def _encoding(given: str) -> str:
    """The one name of an encoding that has several."""
    from dpqr.tables.policy import known_encoding

    return known_encoding(given)


NEIGHBOURS = OneOf(("add-remove", "replace"))

# A row under each heading.
documents = partial(Option, section="Documents")
guarantee = partial(Option, section="Guarantee")
review = partial(Option, section="Review")
strategy = partial(Option, section="Strategies, listed by `dpqr strategies`")
table = partial(Option, section="Table")
life = partial(Option, section="Budget for life")
output = partial(Option, section="Output")
screen = partial(Option, section="Screen")
forecast = partial(Option, section="Forecast")
learner = partial(Option, section="Learner")
prediction = partial(Option, section="Prediction")
session = partial(Option, section="Questions")
explanation = partial(Option, section="Explanation")
sources = partial(Option, section="Sources")
card = partial(Option, section="Registry and card")

# Options that several commands share.


class DocumentOptions(TypedDict, total=False):
    """The public documents of a run; at most one of queries and sql is stated. sql: of the command line alone."""

    queries: Annotated[
        Document | None,
        documents(
            passed_on,
            "FILE",
            "Queries file (JSON), or .sql file of SELECT statements.",
            file=True,
            complete="documents",
            setting=True,
        ),
    ]
    sql: Annotated[str | None, documents(text, "TEXT", "SELECT statements, in place of --queries.")]
    domain: Annotated[
        Document | None,
        documents(
            passed_on,
            "FILE",
            "Domain file; needed unless the queries file holds or names it.",
            file=True,
            complete="documents",
            setting=True,
        ),
    ]


class StrictOptions(TypedDict, total=False):
    """Whether the domain is used exactly as written."""

    strict: Annotated[bool | None, documents(boolean, None, "Cut no bins and take no labels from the queries.")]


class EpsilonOptions(TypedDict, total=False):
    """Epsilon, which a locked plan may state itself."""

    eps: Annotated[Figure | None, guarantee(passed_on, "E", "Epsilon, for example 1.")]


class GuaranteeOptions(TypedDict, total=False):
    """Whom the guarantee protects, and its delta."""

    delta: Annotated[
        Figure | None, guarantee(figure, "D", "Delta, for example 1e-9. [default: 0, pure privacy]", setting=True)
    ]
    neighbours: Annotated[
        Literal["add-remove", "replace"] | None,
        guarantee(
            NEIGHBOURS,
            None,
            "Tables that must look alike: with one row more or less, or with one row replaced.",
            default="add-remove",
            setting=True,
        ),
    ]
    unit: Annotated[
        str | None, guarantee(text, "COLUMN", "Protect persons, not rows: COLUMN says whose row it is.", setting=True)
    ]
    max_rows: Annotated[
        int | None,
        guarantee(
            Whole(1, MOST_RECORDS),
            "K",
            "Rows of each person that are used, drawn at random where there are more.",
            setting=True,
        ),
    ]
    n: Annotated[
        int | None,
        guarantee(
            Whole(1, MOST_RECORDS),
            "N",
            "The public number of rows, or persons (replace); a declared one (theory, predict under add-remove).",
            setting=True,
        ),
    ]


class ErrorEstimateOptions(TypedDict, total=False):
    """What a share of the budget buys in addition to the answers: a count of rows left out, and the answers' errors."""

    count_dropped: Annotated[
        Figure | None,
        guarantee(
            figure,
            "SHARE",
            "Share of the budget for a noisy count of rows left out; for rows, add-remove: free. [default there: 0.1]",
        ),
    ]
    no_count_dropped: Annotated[bool | None, guarantee(boolean, None, "Do not count the rows that are left out.")]
    error_bars: Annotated[
        Figure | None,
        guarantee(
            figure,
            "SHARE|free|none",
            "Share of the budget for the errors of unmeasured blocks. [default: 0.01 of rho, 0.005 of epsilon]",
            setting=True,
        ),
    ]
    certify: Annotated[
        Figure | None,
        guarantee(figure, "SHARE", "Share of the budget for proved bounds on L1 errors, such as 0.05.", setting=True),
    ]


class ScheduleOptions(TypedDict, total=False):
    """The schedule by name."""

    schedule: Annotated[
        str | None, strategy(text, "NAME", "How the budget is cut.", default="auto", complete="strategies")
    ]


class SelectionOptions(TypedDict, total=False):
    """Distinguisher and check by name."""

    distinguisher: Annotated[
        str | None,
        strategy(text, "NAME", "How to choose what to measure. [default: least error]", complete="strategies"),
    ]
    check: Annotated[
        str | None, strategy(text, "NAME", "The noise of measurements. [default: least error]", complete="strategies")
    ]


class RuleOptions(TypedDict, total=False):
    """Update rule and accountant by name."""

    update: Annotated[
        str | None,
        strategy(
            text,
            "NAME",
            "How the hypothesis learns. [default: multiplicative-weights; strategy: least-squares]",
            complete="strategies",
        ),
    ]
    accountant: Annotated[
        str | None, strategy(text, "NAME", "The composition theorem. [default: least error]", complete="strategies")
    ]


class ParameterOptions(TypedDict, total=False):
    """Parameters of the strategies."""

    rounds: Annotated[int | None, strategy(Whole(), "N", "rounds: how many. [default: by epsilon and queries]")]
    opening: Annotated[
        bool | None,
        strategy(
            boolean, None, "rounds: first measure all one-way marginals, or not.", flags=("--opening/--no-opening",)
        ),
    ]
    alpha: Annotated[
        Figure | None, strategy(figure, "A", "theory: accuracy, a fraction of n. [default: smallest feasible]")
    ]
    beta: Annotated[Figure | None, strategy(figure, "B", "theory, --certify: failure probability. [default: 0.05]")]
    variant: Annotated[
        Literal["anytime", "printed", "sharp"] | None,
        strategy(OneOf(("anytime", "printed", "sharp")), "NAME", "theory: anytime, printed, sharp. [default: anytime]"),
    ]
    replay: Annotated[
        bool | None,
        strategy(
            boolean,
            None,
            "multiplicative-weights: refit all measurements, or step on the newest.",
            flags=("--replay/--no-replay",),
        ),
    ]
    max_model_size: Annotated[
        int | None, strategy(Whole(), "BYTES", "multiplicative-weights: of its tables. [default: 2^20]")
    ]
    trust: Annotated[
        Sequence[str] | None,
        strategy(
            texts, "NAME", "Vouch for a third party's strategy, by its name.", multiple=True, complete="strategies"
        ),
    ]
    seed: Annotated[int | None, strategy(Whole(0), "N", "Public seed of sampled hypotheses and rows.", default=0)]


class CsvOptions(TypedDict, total=False):
    """How CSV files are written."""

    delimiter: Annotated[
        str | None,
        table(
            text, "C", r"CSV delimiter, ; or \t (a tab) for example. [default: a tab in .tsv, else a comma]", parse=_tab
        ),
    ]
    encoding: Annotated[
        str | None,
        table(text, "NAME", "Encoding of CSV files, cp1252 or utf-16 for example. [default: utf-8]", parse=_encoding),
    ]


class ReadingOptions(CsvOptions, total=False):
    """How the private table is read, and the declared limits."""

    counts: Annotated[
        str | None, table(text, "COLUMN", "The table is a histogram: COLUMN holds the count of each row.")
    ]
    max_cells: Annotated[int | None, table(Whole(), "N", "Most cells of the universe kept one by one. [default: 2^24]")]
    max_records: Annotated[int | None, table(Whole(1, MOST_RECORDS), "N", "Most rows. [default, and at most: 2^36]")]
    max_columns: Annotated[
        int | None, table(Whole(), "N", "Most columns, with those that are not read. [default: 2^14]")
    ]
    max_bytes: Annotated[int | None, table(Whole(), "N", "Most bytes to read, and to unpack to. [default: 2^40]")]
    max_memory: Annotated[
        int | None, table(Whole(), "N", "Most bytes of memory to draw persons' rows in. [default: 2^32]")
    ]
    workers: Annotated[int | None, table(Whole(1, MOST_WORKERS), "N", "Threads that count; same result. [default: 1]")]


class PeriodOptions(TypedDict, total=False):
    """The period whose rows are read, and the earlier releases that a release goes on from."""

    period: Annotated[
        str | None,
        table(text, "PERIOD", "Read the rows of one period only: 2026-03, 2026-Q1, 2026, 2026-W05 or 2026-03-05."),
    ]
    cumulative: Annotated[
        int | None,
        table(
            Whole(1, MOST_PERIODS),
            "PERIODS",
            "Count all rows up to and including the period, over so many periods; --eps is for all of them.",
        ),
    ]
    after: Annotated[Path | None, table(path, "DIR", "The release of the period before.", file=True)]
    start: Annotated[Path | None, table(path, "DIR", "Start the fit from this earlier release, free.", file=True)]


class PayerOptions(TypedDict, total=False):
    """Whose budget pays: a dataset in a ledger, and what finds rollbacks of it."""

    dataset: Annotated[
        str | None,
        life(
            passed_on,
            "NAME",
            "Pay from the budget of this dataset (`dpqr budget init`).",
            complete="datasets",
            setting=True,
        ),
    ]
    ledger: Annotated[
        Path | LedgerPlace | None,
        life(
            passed_on,
            "FILE",
            "The ledger. [DPQR_LEDGER, else this user's own]",
            file=True,
            complete="ledgers",
            setting=True,
        ),
    ]
    anchor: Annotated[
        Path | None,
        life(passed_on, "FILE", "What finds rollbacks of the ledger. [DPQR_ANCHOR]", file=True, complete="ledgers"),
    ]


class ReasonOptions(TypedDict, total=False):
    """Why a budget is opened or charged, and who asks."""

    purpose: Annotated[
        str | None, life(remark, "TEXT", "Why: one line, kept in the ledger and the record.", setting=True)
    ]
    by: Annotated[str | None, life(remark, "NAME", "Who asks: one line, kept there too.", setting=True)]


class ApprovalOptions(TypedDict, total=False):
    """Who approved the plan that is followed."""

    approved_by: Annotated[
        str | None, review(remark, "NAME", "Who approved: one line, kept in the ledger and the record.")
    ]


class DryRunOptions(TypedDict, total=False):
    """Whether only a plan is wanted, of what reads a private table."""

    dry_run: Annotated[bool, output(boolean, None, "Print the plan; the private table is not opened.")]


class LockOptions(TypedDict, total=False):
    """Where the plan of a prediction run or of a session goes."""

    lock: Annotated[str | None, review(path, "FILE", "As --dry-run; write the plan, to be reviewed.", file=True)]


class DisplayOptions(TypedDict, total=False):
    """What stdout and stderr show of a run."""

    as_json: Annotated[bool, screen(boolean, None, "JSON on stdout.", flags=("--json", "as_json"))]
    progress: Annotated[
        Literal["auto", "json", "none"],
        screen(OneOf(("auto", "json", "none")), None, "On stderr; auto: if it is a terminal.", default="auto"),
    ]
    no_color: Annotated[bool, screen(boolean, None, "No colours (as with NO_COLOR).")]


# Releases and plans.


class RunOptions(
    StrictOptions,
    GuaranteeOptions,
    ErrorEstimateOptions,
    SelectionOptions,
    ParameterOptions,
    ReadingOptions,
    total=False,
):
    """What a release is planned from, and how its table is read; without the strategies that a sweep tries."""


class PlanOptions(
    StrictOptions,
    GuaranteeOptions,
    ErrorEstimateOptions,
    ScheduleOptions,
    SelectionOptions,
    RuleOptions,
    ParameterOptions,
    ReadingOptions,
    PeriodOptions,
    total=False,
):
    """What a release is planned from, and how its table is read; None: as if it were not stated."""


class FollowedOptions(TypedDict, total=False):
    """The plan that was reviewed."""

    plan: Annotated[
        Path | None,
        review(
            passed_on,
            "FILE",
            "Follow this plan (dpqr plan --out); refused where anything differs.",
            file=True,
            complete="documents",
        ),
    ]


class PublisherOptions(TypedDict, total=False):
    """Whose release it is."""

    publisher: Annotated[
        str | None, review(line, "NAME", "Whose release it is: one line, kept in the record.", setting=True)
    ]


class ResumeOptions(TypedDict, total=False):
    """Whether a killed run is continued."""

    resume: Annotated[bool, life(boolean, None, "Continue the killed release to --out; no draw is paid twice.")]


class PlaceOptions(TypedDict, total=False):
    """Where the release goes."""

    out: Annotated[Path | None, output(path, "DIR", "Write the release into this new directory.")]


class OutputOptions(TypedDict, total=False):
    """What a release holds beside the answers."""

    format: Annotated[
        "AnswerForm | None",
        output(OneOf(("csv", "parquet", "json")), None, "Form of the answers in DIR. [default: csv]"),
    ]
    synthetic: Annotated[
        "SyntheticForm | None", output(OneOf(("rows", "cells")), None, "Also write synthetic.parquet.")
    ]
    bins: Annotated[
        "BinForm | None",
        output(
            OneOf(("title", "midpoint", "sampled")),
            None,
            "How synthetic data shows a bin; sampled: by a value from it. [default: title]",
        ),
    ]
    views: Annotated[
        int | None, output(Whole(1, 10**6), "BASE", "Also write whole numbers, and multiples of BASE, that add up.")
    ]
    if_exists: Annotated[
        "ExistingForm | None",
        output(
            OneOf(("skip", "fail", "replace")), None, "Where DIR is there: skip a finished release. [default: fail]"
        ),
    ]


class RehearsalOptions(TypedDict, total=False):
    """Whether a release is rehearsed, or only planned."""

    rehearse: Annotated[
        bool, output(boolean, None, "Run on rows drawn from the domain: free, stamped; the data is not opened.")
    ]
    dry_run: Annotated[bool, output(boolean, None, "Print the plan; the data is not opened.")]


class ReleaseOptions(PlanOptions, ReasonOptions, ApprovalOptions, PublisherOptions, OutputOptions, total=False):
    """The options of a plan, what becomes of the release, and why it is made."""


class ReleaseCommand(
    DocumentOptions,
    StrictOptions,
    EpsilonOptions,
    GuaranteeOptions,
    FollowedOptions,
    ApprovalOptions,
    PublisherOptions,
    ErrorEstimateOptions,
    ScheduleOptions,
    SelectionOptions,
    RuleOptions,
    ParameterOptions,
    ReadingOptions,
    PeriodOptions,
    PayerOptions,
    ReasonOptions,
    ResumeOptions,
    PlaceOptions,
    OutputOptions,
    RehearsalOptions,
    DisplayOptions,
    total=False,
):
    """All options of `dpqr release`."""


class ForecastOptions(TypedDict, total=False):
    """What is forecast, and on which public tables."""

    error: Annotated[
        str | None, forecast(figure, "X", "Find the smallest epsilon: an answer's mean error is at most X records.")
    ]
    relative: Annotated[str | None, forecast(figure, "X", "The same for the L1 error over n, 0.02 or 2%.")]
    confidence: Annotated[
        str | None, forecast(figure, "P", "The part of the releases that keep the goal. [default: 0.95]")
    ]
    names: Annotated[
        tuple[str, ...],
        forecast(
            texts, "QUERY", "Queries that each keep the goal. [their mean]", flags=("--for", "names"), multiple=True
        ),
    ]
    proxy: Annotated[
        tuple[str, ...],
        forecast(
            texts, "FILE", "Simulate on this table. You declare it public.", multiple=True, file=True, complete="tables"
        ),
    ]
    like: Annotated[str | None, forecast(path, "DIR", "Simulate on an earlier release's synthetic rows.", file=True)]
    runs: Annotated[
        int | None, forecast(Whole(1, 10_000), "N", "Simulated releases on each table. [default: 8 on one]")
    ]
    top: Annotated[int, forecast(Whole(), "N", "Queries to show, worst first. [20]", default=20)]
    svg: Annotated[str | None, forecast(path, "FILE", "Write the plot into this new file.", file=True)]
    html: Annotated[
        str | None, forecast(path, "FILE", "Write a page: the plan, or error by epsilon (dpqr[report]).", file=True)
    ]


class PlanFileOptions(TypedDict, total=False):
    """Where the plan goes, and for which source it is."""

    out: Annotated[str | None, review(path, "FILE", "Write the plan, to be reviewed.", file=True)]
    source: Annotated[str | None, review(text, "ADDRESS", "The engine's table that the plan is for; not opened.")]


class PlanCommand(
    DocumentOptions,
    StrictOptions,
    EpsilonOptions,
    GuaranteeOptions,
    ForecastOptions,
    ErrorEstimateOptions,
    ScheduleOptions,
    SelectionOptions,
    RuleOptions,
    ParameterOptions,
    ReadingOptions,
    PeriodOptions,
    PayerOptions,
    DisplayOptions,
    PlanFileOptions,
    total=False,
):
    """All options of `dpqr plan`."""


# Predictions, in one run or in a session, and sessions of questions.


class TargetOptions(TypedDict, total=False):
    """What is predicted."""

    target: Annotated[str | None, prediction(passed_on, "COLUMN", "The column to predict.")]


class PointOptions(TypedDict, total=False):
    """For which points."""

    points: Annotated[object, prediction(passed_on, "FILE", "Public rows to predict for.", file=True)]


class FormOptions(TypedDict, total=False):
    """In which form it is released."""

    form: Annotated[
        Literal["predictions", "function"] | None,
        prediction(
            OneOf(("predictions", "function")),
            None,
            "Noise on every prediction, or once on the whole function, saved as a model.",
            flags=("--release", "form"),
            default="predictions",
        ),
    ]


class ModelOptions(TypedDict, total=False):
    """Which model is applied."""

    model: Annotated[
        Path | None, prediction(passed_on, "FILE", "Apply a released function, free of charge.", file=True)
    ]


class TargetDomainOptions(TypedDict, total=False):
    """The domain of points and target."""

    domain: Annotated[
        Document | None,
        prediction(passed_on, "FILE", "Domain file, with the target's column.", file=True, setting=True),
    ]


class PredictionCountOptions(TypedDict, total=False):
    """How many predictions a plan is made for."""

    predictions: Annotated[
        int | None, prediction(Whole(), "COUNT", "With --dry-run, without points: how many. [default: 100]")
    ]


class SessionCountOptions(TypedDict, total=False):
    """How many points a session pays for."""

    predictions: Annotated[
        int | None,
        prediction(Whole(), "COUNT", "Points that are paid for: each has an equal part of the budget. [default: 100]"),
    ]


class LockedOptions(TypedDict, total=False):
    """The plan that was reviewed, of a prediction run or of a session."""

    plan: Annotated[
        Path | None,
        review(
            passed_on,
            "FILE",
            "Follow this plan (--lock); refused where anything differs.",
            file=True,
            complete="documents",
        ),
    ]


class LearnerOptions(TypedDict, total=False):
    """The learner by name, and its parameters."""

    learner: Annotated[
        str | None,
        learner(
            text,
            "NAME",
            "logistic, svm, least-squares, quantile, online, aggregate, or of a package (`dpqr guide extending`).",
            default="logistic",
        ),
    ]
    positive: Annotated[
        str | None, learner(text, "LABEL", "The label that logistic and svm tell from the others. [of two: the last]")
    ]
    penalty: Annotated[
        Figure | None,
        learner(
            figure, "L", "Regularisation. [default: by --n, noise and a public guess]", flags=("--lambda", "penalty")
        ),
    ]
    smoothness: Annotated[
        Figure | None,
        learner(figure, "R", "Lambda or theta by the theory: r (least-squares, online) or beta of the target."),
    ]
    radius: Annotated[
        Figure | None,
        learner(figure, "R", "Norm of the functions to compete with: lambda, or the end of descent, by it."),
    ]
    decay: Annotated[
        Figure | None,
        learner(figure, "P", "least-squares: eigenvalues of the features' second moments fall as j^-P; a bound."),
    ]
    method: Annotated[
        str | None,
        learner(
            text,
            "NAME",
            "output (rounded, exact), objective, moments or descent: see the guide. [default: of least noise]",
        ),
    ]
    tune: Annotated[
        Figure | None, learner(figure, "SHARE", "Choose lambda with this share of the budget, for example 0.1.")
    ]
    tau: Annotated[Figure | None, learner(figure, "T", "quantile: which. [default: 0.5]")]
    slots: Annotated[
        str | None, learner(text, "COLUMN", "online: column whose cell is a row's step. [default: rows in order]")
    ]
    theta: Annotated[Figure | None, learner(figure, "T", "online: steps of size (t + t0)^-T. [default: 0.75]")]
    t0: Annotated[int | None, learner(Whole(), "N", "online: see --theta. [default: the smallest allowed]")]
    releases: Annotated[
        int | None, learner(Whole(), "S", "online: predict S times on the way, each paid for. [default: 1]")
    ]
    kernel: Annotated[str | None, learner(text, "NAME", "linear, gaussian or polynomial. [default: linear]")]
    bandwidth: Annotated[
        Figure | None, learner(figure, "B", "gaussian: exp(-d^2 / 2 B^2), rows have norm 1 at most. [default: 1]")
    ]
    degree: Annotated[int | None, learner(Whole(), "D", "polynomial. [default: 2]")]
    features: Annotated[
        int | None, learner(Whole(), "COUNT", "Random features of a kernel. [default: exact if few, else 256]")
    ]
    seed: Annotated[int | None, learner(Whole(0), "N", "Public seed of random features.", default=0)]
    base: Annotated[
        str | None,
        learner(text, "SPEC", "aggregate: least-squares, or sklearn.tree.DecisionTreeClassifier(max_depth=5)."),
    ]
    trust: Annotated[
        Sequence[str] | None, learner(texts, "NAME", "Vouch for a third party's base, loss or learner.", multiple=True)
    ]
    parts: Annotated[
        int | None,
        learner(
            Whole(),
            "R",
            "Of the table: aggregate votes over them [default: by eps and --target-error], others average.",
        ),
    ]
    target_error: Annotated[
        Figure | None, learner(figure, "A", "aggregate: what the noise may add to the error. [default: 0.2]")
    ]
    vote: Annotated[
        str | None,
        learner(
            text,
            "NAME",
            "aggregate of labels: exponential, permute-and-flip, or of two labels randomised. [default: by --delta]",
        ),
    ]
    accountant: Annotated[str | None, learner(text, "NAME", "The composition theorem. [default: least noise]")]


class PredictionFileOptions(TypedDict, total=False):
    """Where predictions or model go."""

    out: Annotated[
        Path | None,
        output(passed_on, "FILE", "Write predictions (.csv, .parquet, .json), or the model, into this new file."),
    ]


class LearningRehearsalOptions(TypedDict, total=False):
    """Whether learning is rehearsed."""

    rehearse: Annotated[
        bool, output(boolean, None, "Learn from rows drawn from the domain: free, stamped; the data is not opened.")
    ]


class PredictionPlanOptions(
    FormOptions,
    PredictionCountOptions,
    ApprovalOptions,
    GuaranteeOptions,
    LearnerOptions,
    ReadingOptions,
    ReasonOptions,
    total=False,
):
    """What a prediction run learns with, how its table is read, and why it is made; without what is predicted."""


class PredictionRun(
    TargetOptions,
    PointOptions,
    FormOptions,
    ModelOptions,
    TargetDomainOptions,
    PredictionCountOptions,
    LockedOptions,
    ApprovalOptions,
    EpsilonOptions,
    GuaranteeOptions,
    LearnerOptions,
    ReadingOptions,
    PayerOptions,
    ReasonOptions,
    PredictionFileOptions,
    total=False,
):
    """All options of `dpqr.predict`, and of `dpqr.open_predictions`."""


class PredictCommand(PredictionRun, LearningRehearsalOptions, DryRunOptions, LockOptions, DisplayOptions, total=False):
    """All options of `dpqr predict`."""


class OpenPredictionsCommand(
    TargetOptions,
    TargetDomainOptions,
    SessionCountOptions,
    LockedOptions,
    ApprovalOptions,
    EpsilonOptions,
    GuaranteeOptions,
    LearnerOptions,
    ReadingOptions,
    PayerOptions,
    ReasonOptions,
    DryRunOptions,
    LockOptions,
    DisplayOptions,
    total=False,
):
    """All options of `dpqr predict open`."""


class QuestionOptions(TypedDict, total=False):
    """What a session of questions is opened for."""

    domain: Annotated[
        Document | None,
        session(
            passed_on,
            "FILE",
            "Domain file; its columns are those that may be asked about.",
            file=True,
            complete="documents",
            setting=True,
        ),
    ]
    expect: Annotated[
        Document | None,
        session(
            passed_on,
            "FILE",
            "Queries that are expected: measured first, with half of the budget.",
            file=True,
            complete="documents",
        ),
    ]
    surprises: Annotated[int | None, session(Whole(), "N", "Paid for. [default: a twentieth of --questions]")]
    questions: Annotated[int | None, session(Whole(), "N", "How many are expected. [default: 1000]")]
    accountant: Annotated[
        str | None, session(text, "NAME", "basic, zcdp or gdp. [default: gdp with a delta, else basic]")
    ]
    seed: Annotated[int | None, session(Whole(0), "N", "Public seed of the listed rows.", default=0)]


class OpenSessionCommand(
    QuestionOptions,
    LockedOptions,
    ApprovalOptions,
    EpsilonOptions,
    GuaranteeOptions,
    ReadingOptions,
    PayerOptions,
    ReasonOptions,
    DryRunOptions,
    LockOptions,
    DisplayOptions,
    total=False,
):
    """All options of `dpqr interactive open`."""


class JsonOptions(TypedDict, total=False):
    """Whether stdout is JSON, of a command without headings."""

    as_json: Annotated[bool, Option(boolean, None, "JSON on stdout.", flags=("--json", "as_json"))]


class SessionLedgerOptions(TypedDict, total=False):
    """The ledger of a session that is open."""

    ledger: Annotated[
        str | None, Option(passed_on, "FILE", "The ledger. [DPQR_LEDGER, else this user's own]", setting=True)
    ]
    anchor: Annotated[str | None, Option(passed_on, "FILE", "What finds rollbacks of the ledger. [DPQR_ANCHOR]")]


class OpenedOptions(SessionLedgerOptions, JsonOptions, total=False):
    """What all commands on an open session take."""


# Budgets.


class AmountOptions(TypedDict, total=False):
    """What all releases of a dataset may spend together, and the largest of them; decimal texts."""

    eps: Annotated[Figure, Option(figure, "E", "Epsilon of all releases together.", required=True)]


class BudgetAmountOptions(TypedDict, total=False):
    """The rest of a budget's amount."""

    delta: Annotated[Figure | None, Option(figure, "D", "Delta of all releases together; 0 or none: pure privacy.")]
    accounting: Annotated[
        str | None,
        Option(
            passed_on,
            "NAME",
            "What adds up: basic (epsilon, or epsilon and delta) zcdp (rho) or gdp (mu^2). "
            "[zcdp with a delta, else basic]",
            flags=("--accounting", "--accountant", "accounting"),
        ),
    ]
    cap_eps: Annotated[Figure | None, Option(figure, "E", "Epsilon of the largest single release. [no cap]")]
    cap_delta: Annotated[Figure | None, Option(figure, "D", "Delta of the largest single release (basic). [no cap]")]


class BudgetUnitOptions(TypedDict, total=False):
    """Whom a budget protects."""

    neighbours: Annotated[
        Literal["add-remove", "replace"] | None, Option(NEIGHBOURS, None, "", default="add-remove", setting=True)
    ]
    unit: Annotated[
        str | None,
        Option(
            passed_on, "COLUMN", "Column that says whose row it is; the budget then protects persons.", setting=True
        ),
    ]
    counts: Annotated[
        str | None, Option(passed_on, "COLUMN", "The table is a histogram; COLUMN holds each row's count.")
    ]


class BudgetPeriodOptions(TypedDict, total=False):
    """How a budget is divided into periods; None: it is not."""

    period: Annotated[Every | None, Option(OneOf(EVERY), None, "Divide the budget: each period has its own. [none]")]
    period_column: Annotated[str | None, Option(text, "COLUMN", "Column of dates that says which period a row is in.")]
    per_period: Annotated[Figure | None, Option(figure, "E", "Epsilon of all releases of one period.")]
    first: Annotated[str | None, Option(text, "PERIOD", "The first period with a budget, 2026-01 for example. [any]")]


class PolicyLimitOptions(TypedDict, total=False):
    """The limits of every run that a budget pays for."""

    max_records: Annotated[int | None, Option(Whole(1, MOST_RECORDS), "N", "Most rows.")]
    max_bytes: Annotated[int | None, Option(Whole(), "N", "Most bytes to read, and to unpack to.")]
    max_memory: Annotated[int | None, Option(Whole(2**28), "N", "Most bytes of memory to draw persons' rows in.")]


class PolicySourceOptions(TypedDict, total=False):
    """Whether plans need approval, and what is read."""

    require_approval: Annotated[bool | None, Option(boolean, None, "Pay only for plans that somebody else approved.")]
    source: Annotated[str | None, Option(text, "ADDRESS", "The engine's table that every run reads; `files`: none.")]
    source_query: Annotated[Path | None, Option(path, "FILE", "A SELECT in the place of its table.", complete="sql")]


class PolicyOptions(PolicyLimitOptions, CsvOptions, PolicySourceOptions, total=False):
    """How every run that a budget pays for reads the table; None: not stated."""


class AllowFailOptions(TypedDict, total=False):
    """Whether a column's rule may be `fail`, of a new budget."""

    allow_fail: Annotated[bool | None, Option(boolean, None, "A column's rule may be `fail`. [refused]")]


class ChangeFailOptions(TypedDict, total=False):
    """The same of a budget that there is; None: as it was."""

    fail: Annotated[
        bool | None,
        Option(boolean, None, "Whether a column's rule may be `fail`.", flags=("--allow-fail/--forbid-fail", "fail")),
    ]


class KindOptions(TypedDict, total=False):
    """What kind of table a budget is for."""

    kind: Annotated[
        Literal["private", "public", "synthetic"] | None,
        Option(OneOf(("private", "public", "synthetic")), None, "", default="private"),
    ]


class LedgerFileOptions(TypedDict, total=False):
    """Where the ledger and its anchor lie; None: as configured."""

    ledger: Annotated[
        str | None,
        Option(passed_on, "FILE|URL", "The ledger, a file or postgresql://. [DPQR_LEDGER, else own]", setting=True),
    ]
    anchor: Annotated[
        str | None,
        Option(passed_on, "FILE", "File outside the ledger that finds rollbacks; none: without. [DPQR_ANCHOR]"),
    ]


class BudgetOptions(
    BudgetAmountOptions,
    BudgetUnitOptions,
    BudgetPeriodOptions,
    PolicyOptions,
    AllowFailOptions,
    ReasonOptions,
    KindOptions,
    total=False,
):
    """What a budget is opened with, beside its epsilon; None: not stated."""


class InitCommand(AmountOptions, BudgetOptions, LedgerFileOptions, JsonOptions, total=False):
    """All options of `dpqr budget init`."""


class PolicyCommand(PolicyOptions, ChangeFailOptions, LedgerFileOptions, JsonOptions, total=False):
    """All options of `dpqr budget policy`."""


class ApproveCommand(ReasonOptions, LedgerFileOptions, total=False):
    """All options of `dpqr budget approve`."""


class ReadLedgerCommand(LedgerFileOptions, JsonOptions, total=False):
    """The options of commands that print what a ledger holds."""


class ExplainOptions(TypedDict, total=False):
    """What strategies are explained for; nothing is stated without --explain."""

    queries: Annotated[str | None, explanation(passed_on, "FILE", "Queries file (JSON).", file=True)]
    domain: Annotated[str | None, explanation(passed_on, "FILE", "Domain file, as in `dpqr release`.", file=True)]
    eps: Annotated[str | None, explanation(passed_on, "E", "Epsilon, for example 1.")]
    delta: Annotated[str | None, explanation(figure, "D", "Delta, for example 1e-9. [default: 0, pure privacy]")]
    neighbours: Annotated[
        Literal["add-remove", "replace"] | None,
        explanation(NEIGHBOURS, None, "As in `dpqr release`. [default: add-remove]"),
    ]
    n: Annotated[int | None, explanation(Whole(1, MOST_RECORDS), "N", "The number of rows, or a guess at it.")]
    alpha: Annotated[
        str | None,
        explanation(figure, "A", "Accuracy to tell mistake bounds at. [default: the smallest that theory promises]"),
    ]


# Domain files.

CodebookForm = Literal["frictionless", "csvw", "smartnoise", "sizes", "ddl", "ddi", "arrow"]
WrittenForm = Literal["frictionless", "csvw", "smartnoise", "sizes", "ddl", "ddi"]


def _paths(_: str, value: Path | Sequence[Path]) -> tuple[str, ...]:
    return tuple(map(str, [value] if isinstance(value, str | os.PathLike) else value))


class ColumnOptions(TypedDict, total=False):
    """What says which columns a table has, beside the table itself; of codebooks and types the later ones win."""

    codebooks: Annotated[
        Path | Sequence[Path],
        sources(
            _paths,
            "FILE",
            "A codebook of the table's columns; may be repeated, later ones win.",
            flags=("--from", "codebooks"),
            multiple=True,
            file=True,
        ),
    ]
    form: Annotated[
        CodebookForm | None,
        sources(OneOf(get_args(CodebookForm)), None, "The codebooks' form. [default: by their content]"),
    ]
    name: Annotated[
        str | None,
        sources(text, "NAME", "Which table of a codebook that describes several.", flags=("--table", "name")),
    ]
    types: Annotated[
        str | Sequence[str],
        sources(
            texts,
            "COLUMN=TYPE...",
            "Columns: age=integer:0..99,pay=number:0..9e4:bins=9,sex=string:f|m for example; they win over codebooks.",
            multiple=True,
        ),
    ]
    unit: Annotated[str | None, sources(text, "COLUMN", "Protect persons, not rows: COLUMN says whose row it is.")]
    max_rows: Annotated[int | None, sources(Whole(1, MOST_RECORDS), "K", "Rows of each person that a run may use.")]


class ProjectSources(ColumnOptions, CsvOptions, total=False):
    """What the domain file of a new project is made from, beside a table."""


class ThresholdOptions(TypedDict, total=False):
    """A queries file."""

    queries: Annotated[
        Path | None,
        sources(path, "FILE", "Queries, whose thresholds and labels fill in what no codebook states.", file=True),
    ]


class DomainSources(ProjectSources, ThresholdOptions, total=False):
    """What a domain file is made from, beside a table."""


# Reports.


class HumanFields(TypedDict, total=False):
    """What only a person knows of a release, as registry and card ask for it."""

    title: Annotated[str | None, card(text, "TEXT", "Name of the data product.", setting=True)]
    curator: Annotated[
        str | None, card(text, "NAME", "Who publishes it. [default: the record's publisher]", setting=True)
    ]
    use: Annotated[
        str | None, card(text, "TEXT", "What it is meant for. [default: the record's purpose]", setting=True)
    ]
    region: Annotated[str | None, card(text, "TEXT", "The region that it describes.", setting=True)]
    about: Annotated[str | None, card(text, "TEXT", "What it is, in a sentence or two.", setting=True)]
    sector: Annotated[
        str | None,
        card(text, "NAME", "Technology, Healthcare, Education, Government, Energy or Finance.", setting=True),
    ]
    author: Annotated[
        str | None, card(text, "NAME", "Who fills in the record. [default: who asked for the release]", setting=True)
    ]
    date: Annotated[str | None, card(text, "YYYY-MM-DD", "Of publication. [default: the release's]")]
