"""Options, each stated once: an annotated row says what an option takes, where it stands in `--help`, and what it does.

A group of options is a TypedDict whose fields are such rows, in the order of the help; a command's options are groups
put together. From the rows are made click's options (`dpqr.cli.options.takes`), the checks of Python's keywords
(`checks`), the keys of dpqr.toml (`dpqr.python.settings`) and what a shell completes. Groups are small where commands
list them in another order, or where Python's functions name some of their options in the signature. Options of
predictions and sessions are in `learning_options`, those of budgets, domain files and projects in `owner_options`,
those of whoever reads a release in `published_options`.

To add an option: its row here, the field of the request of the same name (`dpqr.releases.requests`), and its use.
Nothing heavy is imported, for `--help` reads this module.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from msgspec import Struct

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
    columns,
    figure,
    line,
    remark,
    text,
    texts,
)
from dpqr.releases.files.formats import FORMATS

if TYPE_CHECKING:
    from dpqr.releases.requests import AnswerForm, BinForm, ExistingForm, SyntheticForm


class LedgerPlace:
    """Where a ledger and its anchor lie, as `Ledger` knows it.

    Attributes:
        path, anchor: None: as configured.
    """

    path: str | None
    anchor: str | None


class Option(Struct, frozen=True):
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
        common: whether a help text that shows only what most people use shows it.
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
    complete: Literal["documents", "tables", "ledgers", "sql", "datasets", "strategies", "queries"] | None = None
    setting: bool = False
    common: bool = False
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

# Rows that several commands list among their own.
ScreenJson = Annotated[bool, screen(boolean, None, "JSON on stdout.", flags=("--json", "as_json"), common=True)]
JsonFlag = Annotated[bool, Option(boolean, None, "JSON on stdout.", flags=("--json", "as_json"))]
NoColor = Annotated[bool, screen(boolean, None, "No colours (as with NO_COLOR).")]

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
            common=True,
        ),
    ]
    sql: Annotated[str | None, documents(text, "TEXT", "SELECT statements, in place of --queries.", common=True)]
    domain: Annotated[
        Document | None,
        documents(
            passed_on,
            "FILE",
            "Domain file; needed unless the queries file holds or names it.",
            file=True,
            complete="documents",
            setting=True,
            common=True,
        ),
    ]


class StrictOptions(TypedDict, total=False):
    """Whether the domain is used exactly as written."""

    strict: Annotated[bool | None, documents(boolean, None, "Cut no bins and take no labels from the queries.")]


class EpsilonOptions(TypedDict, total=False):
    """Epsilon, which a locked plan may state itself."""

    eps: Annotated[Figure | None, guarantee(passed_on, "E", "Epsilon, for example 1.", common=True)]


class GuaranteeOptions(TypedDict, total=False):
    """Whom the guarantee protects, and its delta."""

    delta: Annotated[
        Figure | None,
        guarantee(figure, "D", "Delta, for example 1e-9. [default: 0, pure privacy]", setting=True, common=True),
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
        str | Sequence[str] | None,
        guarantee(
            columns,
            "COLUMN[,COLUMN]",
            "Protect persons, not rows: COLUMN says whose row it is; with several each combination is one unit.",
            setting=True,
            common=True,
        ),
    ]
    per: Annotated[
        Every | None,
        guarantee(
            OneOf(EVERY),
            None,
            "The last --unit column is a date: what one person has on one day, in one month ... is one unit.",
            setting=True,
        ),
    ]
    max_rows: Annotated[
        int | None,
        guarantee(
            Whole(1, MOST_RECORDS),
            "K",
            "Rows of each person that are used, drawn at random where there are more.",
            setting=True,
            common=True,
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


class CellBoundOptions(TypedDict, total=False):
    """The bound on each person's rows in one cell of a table."""

    max_rows_per_cell: Annotated[
        int | None,
        guarantee(
            Whole(1, MOST_RECORDS),
            "M",
            "Of these, how many a table counts in one of its cells. [default: as many as are used]",
            setting=True,
        ),
    ]


class LearnShareOptions(TypedDict, total=False):
    """What a share of the budget buys before the answers: labels and bounds that the domain leaves open."""

    learn_share: Annotated[
        Figure | None,
        guarantee(
            figure,
            "SHARE",
            'Share of the budget for labels and bounds that the domain leaves open ("learn"). [default: 0.2]',
        ),
    ]


class LearnRowsOptions(TypedDict, total=False):
    """What a share of the budget buys before all else: a choice of the rows of each person that are used."""

    learn_max_rows: Annotated[
        Figure | None,
        guarantee(
            figure,
            "SHARE",
            "Choose the rows of each person, at most --max-rows (default 64), by counts for this share, such as 0.05.",
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
            text,
            "C",
            r"CSV delimiter, ; or \t (a tab) for example. [default: a tab in .tsv, else a comma]",
            parse=_tab,
            common=True,
        ),
    ]
    encoding: Annotated[
        str | None,
        table(
            text,
            "NAME",
            "Encoding of CSV files, cp1252 or utf-16 for example. [default: utf-8]",
            parse=_encoding,
            common=True,
        ),
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
        table(
            text,
            "PERIOD",
            "Read the rows of one period only: 2026-03, 2026-Q1, 2026, 2026-W05 or 2026-03-05.",
            common=True,
        ),
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
            common=True,
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
            common=True,
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

    as_json: ScreenJson
    progress: Annotated[
        Literal["auto", "json", "none"],
        screen(OneOf(("auto", "json", "none")), None, "On stderr; auto: if it is a terminal.", default="auto"),
    ]
    no_color: NoColor


class JsonOptions(TypedDict, total=False):
    """Whether stdout is JSON, of a command without headings."""

    as_json: JsonFlag


# Releases and plans.


class RunOptions(
    StrictOptions,
    GuaranteeOptions,
    CellBoundOptions,
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
    CellBoundOptions,
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
            common=True,
        ),
    ]


class PublisherOptions(TypedDict, total=False):
    """Whose release it is."""

    publisher: Annotated[
        str | None, review(line, "NAME", "Whose release it is: one line, kept in the record.", setting=True)
    ]


class RunPlaceOptions(TypedDict, total=False):
    """Where the release goes, and whether a killed run to there is continued."""

    resume: Annotated[
        bool, life(boolean, None, "Continue the killed release to --out; no draw is paid twice.", common=True)
    ]
    out: Annotated[Path | None, output(path, "DIR", "Write the release into this new directory.", common=True)]


class OutputOptions(TypedDict, total=False):
    """What a release holds beside the answers."""

    format: Annotated[
        "AnswerForm | None",
        output(OneOf(tuple(FORMATS)), None, "Form of the answers in DIR. [default: csv]", common=True),
    ]
    synthetic: Annotated[
        "SyntheticForm | None", output(OneOf(("rows", "cells")), None, "Also write synthetic.parquet.", common=True)
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
            OneOf(("skip", "fail", "replace")),
            None,
            "Where DIR is there: skip a finished release. [default: fail]",
            common=True,
        ),
    ]


class RehearsalOptions(TypedDict, total=False):
    """Whether a release is rehearsed, or only planned."""

    rehearse: Annotated[
        bool,
        output(boolean, None, "Run on rows drawn from the domain: free, stamped; the data is not opened.", common=True),
    ]
    dry_run: Annotated[bool, output(boolean, None, "Print the plan; the data is not opened.", common=True)]


class ReleaseOptions(
    PlanOptions,
    LearnShareOptions,
    LearnRowsOptions,
    ReasonOptions,
    ApprovalOptions,
    PublisherOptions,
    OutputOptions,
    total=False,
):
    """The options of a plan, what becomes of the release, and why it is made."""


class ReleaseCommand(
    DocumentOptions,
    StrictOptions,
    EpsilonOptions,
    GuaranteeOptions,
    CellBoundOptions,
    FollowedOptions,
    ApprovalOptions,
    PublisherOptions,
    LearnShareOptions,
    LearnRowsOptions,
    ErrorEstimateOptions,
    ScheduleOptions,
    SelectionOptions,
    RuleOptions,
    ParameterOptions,
    ReadingOptions,
    PeriodOptions,
    PayerOptions,
    ReasonOptions,
    RunPlaceOptions,
    OutputOptions,
    RehearsalOptions,
    DisplayOptions,
    total=False,
):
    """All options of `dpqr release`."""


class GoalOptions(TypedDict, total=False):
    """What a release shall keep, in the place of an epsilon."""

    within: Annotated[
        str | None,
        forecast(figure, "W", "Find the smallest epsilon: the share P of the counts lie within W of the truth."),
    ]
    error: Annotated[
        str | None,
        forecast(
            figure,
            "X",
            "The same: the queries' mean error is at most X records; single answers are further off.",
            flags=("--mean-error", "--error", "error"),
        ),
    ]
    relative: Annotated[str | None, forecast(figure, "X", "The same for the L1 error over n, 0.02 or 2%.")]
    confidence: Annotated[
        str | None,
        forecast(figure, "P", "The share of answers within W; of releases that keep another goal. [default: 0.95]"),
    ]
    names: Annotated[
        tuple[str, ...],
        forecast(
            texts,
            "QUERY",
            "Queries that each keep the goal, in their own unit. [all counts, or the queries' mean]",
            flags=("--for", "names"),
            multiple=True,
        ),
    ]


class PublicTableOptions(TypedDict, total=False):
    """On which public tables a forecast is simulated."""

    proxy: Annotated[
        tuple[str, ...],
        forecast(
            texts, "FILE", "Simulate on this table. You declare it public.", multiple=True, file=True, complete="tables"
        ),
    ]
    like: Annotated[str | None, forecast(path, "DIR", "Simulate on an earlier release's synthetic rows.", file=True)]
    runs: Annotated[
        int | None,
        forecast(
            Whole(1, 10_000),
            "N",
            "Simulated releases on each table. [default: 8 on one, 24 where its errors are exact]",
        ),
    ]


class ForecastOptions(GoalOptions, PublicTableOptions, total=False):
    """What is forecast, on which public tables, and how it is shown."""

    top: Annotated[int, forecast(Whole(), "N", "Queries to show, worst first. [20]", default=20)]
    svg: Annotated[str | None, forecast(path, "FILE", "Write the plot into this new file.", file=True)]
    html: Annotated[
        str | None, forecast(path, "FILE", "Write the plan and its forecast as a page (dpqr[report]).", file=True)
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
    CellBoundOptions,
    LearnRowsOptions,
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


class ExplainCommand(
    DocumentOptions,
    StrictOptions,
    EpsilonOptions,
    GuaranteeOptions,
    PublicTableOptions,
    ScheduleOptions,
    ReadingOptions,
    DisplayOptions,
    total=False,
):
    """All options of `dpqr explain`."""
