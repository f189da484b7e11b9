"""Options of predictions, in one run or in a session, and of sessions of questions; rows as in `options`."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, TypedDict

from dpqr.python.checks import Document, Figure, OneOf, Path, Whole, boolean, figure, text, texts
from dpqr.python.options import (
    ApprovalOptions,
    DisplayOptions,
    DryRunOptions,
    EpsilonOptions,
    GuaranteeOptions,
    JsonOptions,
    LockOptions,
    Option,
    PayerOptions,
    ReadingOptions,
    ReasonOptions,
    output,
    passed_on,
    review,
)

learner = partial(Option, section="Learner")
prediction = partial(Option, section="Prediction")
session = partial(Option, section="Questions")


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
    total=False,
):
    """All options of `dpqr.predict`, and of `dpqr.open_predictions`."""

    out: Annotated[
        Path | None,
        output(passed_on, "FILE", "Write predictions (.csv, .parquet, .json), or the model, into this new file."),
    ]


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


class SessionLedgerOptions(TypedDict, total=False):
    """The ledger of a session that is open."""

    ledger: Annotated[
        str | None, Option(passed_on, "FILE", "The ledger. [DPQR_LEDGER, else this user's own]", setting=True)
    ]
    anchor: Annotated[str | None, Option(passed_on, "FILE", "What finds rollbacks of the ledger. [DPQR_ANCHOR]")]


class OpenedOptions(SessionLedgerOptions, JsonOptions, total=False):
    """What all commands on an open session take."""


class QuestionAsked(TypedDict, total=False):
    """What a session of questions is asked. sql: of the command line alone."""

    where: Annotated[str | None, Option(text, "PREDICATE", "Count the records that fulfil it.")]
    queries: Annotated[Document | None, Option(passed_on, "FILE", "Queries file.", file=True, complete="documents")]
    sql: Annotated[str | None, Option(text, "TEXT", "SELECT statements.")]


class AskCommand(QuestionAsked, OpenedOptions, total=False):
    """All options of `dpqr interactive ask`."""


class PointsAsked(TypedDict, total=False):
    """What a session of predictions is asked."""

    points: Annotated[object, Option(passed_on, "FILE", "Public rows to predict for; - is stdin.", file=True)]


class AskPointsCommand(PointsAsked, OpenedOptions, total=False):
    """All options of `dpqr predict ask`."""


class ReleasePlace(TypedDict, total=False):
    """Where the answers of a session go."""

    out: Annotated[str | None, Option(passed_on, "DIR", "Write the answers as a release into this new directory.")]


class CloseCommand(ReleasePlace, OpenedOptions, total=False):
    """All options of `dpqr interactive close`."""


class PredictionsPlace(TypedDict, total=False):
    """Where the predictions of a session go."""

    out: Annotated[str | None, Option(passed_on, "FILE", "Write the points with their predictions there.", file=True)]


class ClosePredictionsCommand(PredictionsPlace, OpenedOptions, total=False):
    """All options of `dpqr predict close`."""
