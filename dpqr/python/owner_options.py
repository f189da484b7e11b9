"""Options of who owns a table: budgets, documents, projects, facts of cards; rows as in `dpqr.python.options`."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, TypedDict, get_args

from dpqr.domain.periods import EVERY, Every
from dpqr.python.checks import MOST_RECORDS, Figure, OneOf, Path, Whole, boolean, columns, figure, text, texts
from dpqr.python.options import (
    NEIGHBOURS,
    ApprovalOptions,
    CsvOptions,
    DocumentOptions,
    JsonFlag,
    JsonOptions,
    Option,
    PayerOptions,
    ReasonOptions,
    ScreenJson,
    StrictOptions,
    passed_on,
    path,
)

explanation = partial(Option, section="Explanation")
learned = partial(Option, section="Learned columns")
sources = partial(Option, section="Sources")
MOST_LABELS = 1000
card = partial(Option, section="Registry and card")


# Budgets.


class AmountOptions(TypedDict, total=False):
    """What all releases of a dataset may spend together, and the largest of them; decimal texts."""

    eps: Annotated[Figure, Option(figure, "E", "Epsilon of all releases together.", required=True)]


class BudgetTermsOptions(TypedDict, total=False):
    """The rest of a budget's amount, and whom it protects."""

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
    neighbours: Annotated[
        Literal["add-remove", "replace"] | None, Option(NEIGHBOURS, None, "", default="add-remove", setting=True)
    ]
    unit: Annotated[
        str | Sequence[str] | None,
        Option(
            columns,
            "COLUMN[,COLUMN]",
            "Columns that say whose row it is; the budget then protects persons.",
            setting=True,
        ),
    ]
    per: Annotated[
        Every | None,
        Option(
            OneOf(EVERY), None, "The last --unit column is a date; a person in one such period is a unit.", setting=True
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


class PolicyOptions(PolicyLimitOptions, CsvOptions, total=False):
    """How every run that a budget pays for reads the table; None: not stated."""

    require_approval: Annotated[bool | None, Option(boolean, None, "Pay only for plans that somebody else approved.")]
    source: Annotated[str | None, Option(text, "ADDRESS", "The engine's table that every run reads; `files`: none.")]
    source_query: Annotated[Path | None, Option(path, "FILE", "A SELECT in the place of its table.", complete="sql")]


class AllowFailOptions(TypedDict, total=False):
    """Whether a column's rule may be `fail`, and whether labels and bounds may be learned, of a new budget."""

    allow_fail: Annotated[bool | None, Option(boolean, None, "A column's rule may be `fail`. [refused]")]
    allow_learning: Annotated[bool | None, Option(boolean, None, "Labels and bounds may be learned. [refused]")]


class ChangeFailOptions(TypedDict, total=False):
    """The same of a budget that there is; None: as it was."""

    fail: Annotated[
        bool | None,
        Option(boolean, None, "Whether a column's rule may be `fail`.", flags=("--allow-fail/--forbid-fail", "fail")),
    ]
    learning: Annotated[
        bool | None,
        Option(
            boolean,
            None,
            "Whether labels and bounds may be learned.",
            flags=("--allow-learning/--forbid-learning", "learning"),
        ),
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
    BudgetTermsOptions,
    BudgetPeriodOptions,
    PolicyOptions,
    AllowFailOptions,
    ReasonOptions,
    total=False,
):
    """What a budget is opened with, beside its epsilon; None: not stated."""

    kind: Annotated[
        Literal["private", "public", "synthetic"] | None,
        Option(OneOf(("private", "public", "synthetic")), None, "", default="private"),
    ]


class InitCommand(AmountOptions, BudgetOptions, LedgerFileOptions, JsonOptions, total=False):
    """All options of `dpqr budget init`."""


class PolicyCommand(PolicyOptions, ChangeFailOptions, LedgerFileOptions, JsonOptions, total=False):
    """All options of `dpqr budget policy`."""


class ApproveCommand(ReasonOptions, LedgerFileOptions, total=False):
    """All options of `dpqr budget approve`."""


class PricedDelta(TypedDict, total=False):
    """Where a budget's history is priced."""

    delta: Annotated[Figure | None, Option(passed_on, "D", "Where the history is priced. [each budget's own]")]


class ReadLedgerCommand(LedgerFileOptions, JsonOptions, total=False):
    """The options of commands that print what a ledger holds."""


class ShowBudgetCommand(PricedDelta, ReadLedgerCommand, total=False):
    """All options of `dpqr budget show`."""


class StrategiesCommand(TypedDict, total=False):
    """All options of `dpqr strategies`: what strategies are explained for; nothing is stated without --explain."""

    explain: Annotated[bool, explanation(boolean, None, "Say which of them suit a workload, and why.")]
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
    as_json: ScreenJson


# Domain files, and the documents of a project.

CodebookForm = Literal["frictionless", "csvw", "smartnoise", "sizes", "ddl", "ddi", "arrow"]


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
    unit: Annotated[
        str | Sequence[str] | None,
        sources(columns, "COLUMN[,COLUMN]", "Protect persons, not rows: COLUMN says whose row it is."),
    ]
    per: Annotated[
        Every | None, sources(OneOf(EVERY), None, "The last --unit column is a date, and counts by this period.")
    ]
    max_rows: Annotated[int | None, sources(Whole(1, MOST_RECORDS), "K", "Rows of each person that a run may use.")]


class ProjectSources(ColumnOptions, CsvOptions, total=False):
    """What the domain file of a new project is made from, beside a table."""


class DomainSources(ProjectSources, total=False):
    """What a domain file is made from, beside a table."""

    queries: Annotated[
        Path | None,
        sources(path, "FILE", "Queries, whose thresholds and labels fill in what no codebook states.", file=True),
    ]


class LearnOptions(TypedDict, total=False):
    """Columns whose labels or bounds are learned from the table, how many rows of each person a run may use, where that
    is chosen, and what all of it may cost."""

    learn: Annotated[
        str | Sequence[str],
        learned(
            texts,
            "COLUMN,...",
            "Learn labels or bounds of these columns from the table, under differential privacy; it costs --eps.",
            multiple=True,
        ),
    ]
    learn_max_rows: Annotated[
        Figure | None,
        learned(
            figure,
            "SHARE",
            "Choose the rows of each person, at most --max-rows (default 64), by counts for this share of --eps, or 1.",
        ),
    ]
    eps: Annotated[Figure | None, learned(figure, "E", "Epsilon of all that is learned, together.")]
    delta: Annotated[Figure | None, learned(figure, "D", "Delta of all learned labels together, for example 1e-6.")]
    neighbours: Annotated[
        Literal["add-remove", "replace"] | None,
        learned(NEIGHBOURS, None, "Tables that must look alike, as in `dpqr release`. [default: add-remove]"),
    ]
    max_labels: Annotated[
        int | None,
        learned(Whole(1, MOST_LABELS), "M", "Labels of a column in which a person counts, at most. [default: 1]"),
    ]
    grid: Annotated[Figure | None, learned(figure, "STEP", "Smallest difference of numbers that matters. [default: 1]")]
    bins: Annotated[int | None, learned(Whole(1, 1000), "N", "Bins of a learned column of numbers. [default: 10]")]
    cuts: Annotated[
        Literal["equal", "quantiles"] | None,
        learned(
            OneOf(("equal", "quantiles")), None, "Bins of equal width, or learned ones of like size. [default: equal]"
        ),
    ]
    dry_run: Annotated[bool, learned(boolean, None, "Print what would be learned and paid; no row is read.")]
    lock: Annotated[
        Path | None, learned(path, "FILE", "As --dry-run; write the plan to be reviewed and approved.", file=True)
    ]
    plan: Annotated[
        Path | None,
        learned(
            path,
            "FILE",
            "Learn by this plan (--lock), which states all but the table; refused where anything differs.",
            file=True,
            complete="documents",
        ),
    ]


class LearnedSources(DomainSources, LearnOptions, ReasonOptions, ApprovalOptions, total=False):
    """What a domain file is made from, described or learned."""


class DomainCommand(LearnedSources, PayerOptions, total=False):
    """All options of `dpqr domain`."""

    out: Annotated[
        str | None, Option(path, "FILE", "Write to this new file instead of stdout.", section="Result", file=True)
    ]


class InitProject(TypedDict, total=False):
    """Where a new project lies, and what the ledger calls its table."""

    out: Annotated[Path, Option(path, "DIR", "Where. [default: here]", section="Project", file=True)]
    dataset: Annotated[
        str | None,
        Option(text, "NAME", "What the ledger calls the table; releases are paid from its budget.", section="Project"),
    ]


class InitProjectCommand(InitProject, ProjectSources, total=False):
    """All options of `dpqr init`."""


class CheckCommand(DocumentOptions, StrictOptions, total=False):
    """All options of `dpqr check`."""

    fix: Annotated[
        bool, Option(boolean, None, "Write obvious fixes, such as of a misspelt key, into the files; show each.")
    ]
    out: Annotated[Path | None, Option(path, "FILE", "Write the queries as a JSON document; see --sql.", file=True)]
    as_json: JsonFlag


# Cards.


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
