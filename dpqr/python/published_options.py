"""Options of whoever reads what was published, or tries this build; rows as in `dpqr.python.options`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, TypedDict

from dpqr.python.checks import Document, OneOf, Path, Whole, above_zero, boolean, figure, text, texts
from dpqr.python.options import (
    CsvOptions,
    DocumentOptions,
    JsonFlag,
    NoColor,
    Option,
    PayerOptions,
    ScreenJson,
    output,
    path,
    screen,
    table,
)
from dpqr.python.owner_options import HumanFields

if TYPE_CHECKING:
    from dpqr.releases.requests import ExistingForm
    from dpqr.report.label import LabelForm
    from dpqr.report.release import Form, SeriesForm

questions = partial(Option, section="Questions")
evaluation = partial(Option, section="Evaluation")
files = partial(Option, section="Files")
paid = partial(Option, section="Budget for life")
AnswerFile = Annotated[Path | None, output(path, "FILE", "Also write a new .csv, .parquet, .json.", file=True)]


class AnswerCommand(TypedDict, total=False):
    """All options of `dpqr answer`. sql: of the command line alone."""

    queries: Annotated[
        Document | None,
        questions(
            path, "FILE", "Queries file (JSON), or .sql file of SELECT statements.", file=True, complete="documents"
        ),
    ]
    sql: Annotated[str | None, questions(text, "TEXT", "SELECT statements, in place of --queries.")]
    where: Annotated[str | None, questions(text, "PREDICATE", "Count the records that fulfil it.")]
    by: Annotated[
        tuple[str, ...], questions(texts, "COLUMN", "For each cell of this column; may be repeated.", multiple=True)
    ]
    out: AnswerFile
    as_json: ScreenJson
    no_color: NoColor


class ExportCommand(TypedDict, total=False):
    """All options of `dpqr export`."""

    duckdb: Annotated[Path, Option(path, "FILE", "Write this new DuckDB file.", required=True, file=True)]
    if_exists: Annotated[
        "ExistingForm | None",
        Option(
            OneOf(("skip", "fail", "replace")),
            None,
            "Where FILE is there: skip an export of this release. [default: fail]",
        ),
    ]


class ShowCommand(TypedDict, total=False):
    """All options of `dpqr show`."""

    query: Annotated[
        str | None, screen(text, "NAME", "Its answers. [default: the receipt, and all names]", complete="queries")
    ]
    form: Annotated[
        "Form | None",
        screen(
            OneOf(("table", "bars", "heatmap", "curve")),
            None,
            "Form of the answers; heatmap: of two columns. [default: table]",
            flags=("--as", "form"),
        ),
    ]
    views: Annotated[int | None, screen(Whole(1, 10**6), "BASE", "Marginals in whole numbers and by BASE, adding up.")]
    rows: Annotated[int | None, screen(Whole(), "N", "How many answers to show. [default: all]")]
    as_json: ScreenJson
    no_color: NoColor


class SeriesCommand(TypedDict, total=False):
    """All options of `dpqr series`."""

    query: Annotated[str | None, screen(text, "NAME", "This query alone. [default: all]")]
    form: Annotated[
        "SeriesForm | None",
        screen(OneOf(("table", "curve")), None, "Form of the answers. [table]", flags=("--as", "form")),
    ]
    out: AnswerFile
    as_json: ScreenJson
    no_color: NoColor


class BudgetFiles(TypedDict, total=False):
    """Whose budget is shown beside a release."""

    ledger: Annotated[
        Path | None,
        paid(
            path,
            "FILE",
            "Show what the budget has paid for, and what is left.",
            file=True,
            complete="ledgers",
            setting=True,
        ),
    ]
    anchor: Annotated[Path | None, paid(path, "FILE", "What finds rollbacks of the ledger.", file=True)]


class ReportFiles(BudgetFiles, total=False):
    """What is written of a release, and whose budget the page shows."""

    html: Annotated[Path | None, files(path, "FILE", "A page that stands by itself.", file=True)]
    registry: Annotated[Path | None, files(path, "FILE", "A record for the deployments registry.", file=True)]
    croissant: Annotated[Path | None, files(path, "FILE", "A dataset card (Croissant 1.0, JSON-LD).", file=True)]


class ReportCommand(ReportFiles, HumanFields, total=False):
    """All options of `dpqr report`."""


class LabelCommand(BudgetFiles, total=False):
    """All options of `dpqr label`."""

    form: Annotated[
        "LabelForm | None",
        screen(
            OneOf(("text", "svg", "html")),
            None,
            "Form of the label. [default: by the name of FILE, else text]",
            flags=("--format", "form"),
        ),
    ]
    out: Annotated[
        Path | None,
        screen(path, "FILE", "Write it to this new file. [default: stdout]", file=True, flags=("--out", "-o")),
    ]
    no_color: NoColor


class VerifyCommand(TypedDict, total=False):
    """All options of `dpqr verify`."""

    ledger: Annotated[
        Path | None, Option(path, "FILE", "The ledger that paid, or its export.", file=True, setting=True)
    ]
    anchor: Annotated[Path | None, Option(path, "FILE", "The ledger's anchor, outside of it.", file=True)]
    plan: Annotated[Path | None, Option(path, "FILE", "The locked plan that was reviewed.", file=True)]
    tolerance: Annotated[bool, Option(boolean, None, "Accept what this machine cannot repeat bit for bit.")]
    independent: Annotated[bool, Option(boolean, None, "Check by one file that shares no code with dpqr.")]
    as_json: JsonFlag


class RepriceCommand(TypedDict, total=False):
    """All options of `dpqr reprice`."""

    delta: Annotated[str | None, Option(figure, "D", "Price at this delta. [default: the release's]")]
    as_json: JsonFlag


class CompareCommand(TypedDict, total=False):
    """All options of `dpqr compare`."""

    proxy: Annotated[Path | None, Option(path, "FILE", "A public table: the errors of both against it.", file=True)]
    as_json: JsonFlag


class BoundOptions(TypedDict, total=False):
    """Goals for the exact errors of a release, over n."""

    max_error: Annotated[
        float | None, evaluation(above_zero, "X", "Exit code 6 if an answer is off by more than X times n.")
    ]
    max_l1: Annotated[
        float | None, evaluation(above_zero, "X", "Exit code 6 if the blocks' mean L1 error is above X times n.")
    ]


class EvaluationOptions(TypedDict, total=False):
    """Which rows are judged."""

    rows: Annotated[bool, evaluation(boolean, None, "Judge synthetic rows: those of the release, or a table of them.")]


class TopOptions(TypedDict, total=False):
    """How many blocks are shown."""

    top: Annotated[int | None, evaluation(Whole(), "N", "How many blocks to show, worst first. [10; --json: all]")]


class EvaluateCommand(
    DocumentOptions, EvaluationOptions, BoundOptions, TopOptions, PayerOptions, CsvOptions, total=False
):
    """All options of `dpqr evaluate`."""

    counts: Annotated[str | None, table(text, "COLUMN", "TRUE is a histogram: COLUMN holds the count of each row.")]
    as_json: ScreenJson
    no_color: NoColor


class AuditCommand(TypedDict, total=False):
    """All options of `dpqr audit`."""

    runs: Annotated[int | None, Option(Whole(), "N", "Runs on each database of a case. [100000]")]
    short: Annotated[bool, Option(boolean, None, "1800 runs a case, or what a case states: a minute or so, for CI.")]
    cases: Annotated[
        tuple[str, ...],
        Option(texts, "NAME", "Only this case; * stands for anything.", flags=("--case", "cases"), multiple=True),
    ]
    listed: Annotated[bool, Option(boolean, None, "Name the cases; run nothing.", flags=("--list", "listed"))]
    as_json: JsonFlag
    no_color: NoColor
