"""Releases: made from a table, or read back from their files."""

from __future__ import annotations

import os
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import Document, Figure, Path, run_sanitised
from dpqr.python.options import ReleaseOptions
from dpqr.python.requests import output, release_request
from dpqr.python.shown import Receipt
from dpqr.releases.files.release_files import BASIS
from dpqr.releases.files.tidy import FIGURES

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.python.ledger import Ledger
    from dpqr.releases.files.read_release import ReleaseFiles
    from dpqr.releases.requests import AnswerForm, BinForm, SyntheticForm
    from dpqr.releases.result import FinishedRun
    from dpqr.report.page.parts import ReportInput


class Release:
    """A release: its answers, guarantee and costs. All of it may be published.

    A data frame is made at its first use.

    >>> import dpqr, pandas
    >>> table = pandas.DataFrame({"sex": ["f", "m", "f"]})
    >>> domain = {"fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}]}
    >>> made = dpqr.release(table, queries=dpqr.queries().marginal("sex"), domain=domain, eps=1)
    >>> made
    Release(2 answers in 1 query, differentially private with epsilon = 1)
    >>> list(made.answers.columns)
    ['query', 'sex', 'detail', 'estimate', 'error', 'measured', 'noise_deviation', 'lower', 'upper', 'basis']
    """

    def __init__(self, origin: FromRun | FromFiles) -> None:
        self._origin = origin

    @cached_property
    def answers(self) -> pd.DataFrame:
        """One row an answer, in the order of the workload: `query`, a column for each attribute that some query keeps
        apart (nothing where the query sums over it), `detail` for what else describes it, and the figures, in records.
        Columns of cells are ordered categoricals, in the order of the domain; `dpqr guide results` explains figures."""
        return self._origin.answers()

    @cached_property
    def figures(self) -> pd.DataFrame:
        """One row for every value of every figure, such as a mean by group: its name and kind, a column for each
        attribute that makes groups, `detail` (the part of a quantile, a largest cell), `estimate`, `error`, `lower`,
        `upper`, `basis` and `flag`; `dpqr guide figures` explains them. Empty where none was asked for."""
        return self._origin.figures()

    @cached_property
    def cumulative(self) -> pd.DataFrame:
        """Of a counter, the counts up to and including the release's period: the columns of `answers`, and what earlier
        releases have counted (topic `series`).

        Raises:
            UsageFault: it is of no counter.
        """
        return self._origin.cumulative()

    def views(self, base: int = 5) -> pd.DataFrame:
        """The answers of all marginals in whole numbers, and in multiples of `base`, that add up; post-processing.

        Raises:
            InfeasiblePlan: there are no marginals, or too many cells overlap.
        """
        from dpqr.python.checks import integer

        return self._origin.views(integer("base", base))

    @property
    def measured(self) -> pd.DataFrame:
        """The answers that were measured, with their noise and intervals; without the model's estimates."""
        held = self.answers[self.answers["measured"].notna()]
        return held.drop(columns=["estimate", "error", "basis"]).reset_index(drop=True)

    @property
    def directory(self) -> str | None:
        """Where its files lie; None: in memory."""
        return self._origin.directory()

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in their order."""
        return tuple(self.answers["query"].cat.categories)

    def pivot(self, query: str, values: str = "estimate") -> pd.DataFrame:
        """One query as a table: a pair of columns against each other, one column as rows with all its figures.

        Args:
            query: its name, one of `queries`.
            values: the figure that fills a table of two columns and more.

        Raises:
            UsageFault: no such query, or no such figure.
        """
        return pivot(self.answers, query, values)

    @cached_property
    def record(self) -> dict[str, Any]:
        """What `release.json` says, as plain JSON values."""
        return self._origin.record()

    @property
    def guarantee(self) -> str:
        """The promise, in one sentence."""
        return str(self.record["guarantee"])

    @property
    def trust(self) -> tuple[str, ...]:
        """What a reader must know before relying on the figures."""
        return tuple(self.record["trust"])

    @cached_property
    def receipt(self) -> Receipt:
        """What was promised and paid, as the command line prints it."""
        return self._origin.receipt()

    @cached_property
    def synthetic(self) -> pd.DataFrame:
        """Synthetic rows, drawn from the release with its public seed when they are first asked for.

        Raises:
            InfeasiblePlan: the update rule ends with no distribution.
            DocumentError: the files hold no synthetic data.
        """
        return self._origin.synthetic()

    def save(
        self,
        directory: Path,
        *,
        format: AnswerForm | None = None,  # noqa: A002 (as --format)
        synthetic: SyntheticForm | None = None,
        bins: BinForm | None = None,
        if_exists: Literal["fail", "replace"] = "fail",
        views: int | None = None,
    ) -> None:
        """Write the files that `dpqr release --out` writes, whole or not at all.

        Raises:
            UsageFault: the directory cannot be written, or there is one and it shall not be replaced.
        """
        if not isinstance(self._origin, FromRun):
            raise UsageFault("save: this release was read from its directory; copy that")
        from dpqr.releases.release import save

        held = self._origin.finished
        stated = {"format": format, "synthetic": synthetic, "bins": bins, "if_exists": if_exists, "views": views}
        run_sanitised(lambda: save(held, output(directory, stated)))

    def report(self, html: Path) -> None:
        """Write the page of `dpqr report --html` to a new file.

        Raises:
            UsageFault: it cannot be written.
            AlreadyThere: it is there.
            DocumentError: the release's files are damaged.
        """
        from dpqr.python.reports import write_page

        write_page(self._origin.reported(), html)

    def __repr__(self) -> str:
        from dpqr.kernel.wording import count_words

        counts = f"{count_words(len(self.answers), 'answer')} in {count_words(len(self.queries), 'query')}"
        promise = self.guarantee.partition(" (")[0].partition(",")[0]
        return f"Release({counts}, {promise[:1].lower()}{promise[1:]})"

    def _repr_html_(self) -> str:
        """The answers, then one receipt."""
        shown: str = self.answers.to_html(max_rows=20, border=0)
        return shown + self.receipt._repr_html_()


def release(
    table: object = None,
    *,
    queries: Document | None = None,
    eps: Figure | None = None,
    domain: Document | None = None,
    plan: Path | None = None,
    dataset: str | None = None,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
    rehearse: bool = False,
    **options: Unpack[ReleaseOptions],
) -> Release:
    """Release private answers to the queries over a table.

    Args:
        table: a pandas DataFrame, anything with Arrow's C stream interface, a path, or a list of paths; only read.
            None: the source that the owner of the budget of `dataset` has registered.
        queries, domain: paths, dicts, or what `dpqr.queries()` and `dpqr.domain_from()` have built.
        plan: the file of a reviewed plan (`Plan.save`). It states what is not given, and nothing public may differ.
        dataset: whose budget pays, in `ledger`. out: a new directory; a killed run to it continues with `resume`.
        rehearse: on rows of the public domain, free; None will do as table. options: of `dpqr release`, with _ for -.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        (eps, delta) for the unit that the release names. No row is looked at before the budget pays; noise has no seed.
    """
    from dpqr.releases.loop import SILENT

    if table is None and dataset is None and not rehearse:
        raise UsageFault(
            "release: None is no table; give one, the dataset whose owner has registered one, or rehearse=True, which "
            "opens none"
        )
    request = release_request(
        table,
        queries=queries,
        eps=eps,
        domain=domain,
        plan=plan,
        dataset=dataset,
        ledger=ledger,
        anchor=anchor,
        out=out,
        resume=resume,
        rehearse=rehearse,
        **options,
    )
    from dpqr.releases.any_release import release as released
    from dpqr.releases.release import already_released

    if run_sanitised(lambda: already_released(request)):
        return read_release(request.output.directory or "")
    return Release(FromRun(run_sanitised(lambda: released(request, SILENT))))


def read_release(directory: Path) -> Release:
    """A release from the directory that `dpqr release --out` or `Release.save` has written.

    Raises:
        UsageFault: there is none.
        DocumentError: it is damaged.
    """
    from dpqr.releases.files.read_release import read_release as files_of

    return Release(FromFiles(files_of(os.fspath(directory))))


# Where the parts of a release come from: made by this process, or read back from their files.

NO_COUNTER = "cumulative: this release is of no counter; its answers are those of its own rows"


class FromRun:
    """A release of this process."""

    def __init__(self, finished: FinishedRun) -> None:
        self.finished = finished

    def directory(self) -> str | None:
        return None

    def answers(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import answers_frame
        from dpqr.releases.files.release_files import answers_table

        return answers_frame(answers_table(self.finished))

    def figures(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import plain_frame
        from dpqr.releases.files.release_files import figures_table

        return plain_frame(figures_table(self.finished))

    def cumulative(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import answers_frame, cumulative_table

        table = cumulative_table(self.finished)
        if table is None:
            raise UsageFault(NO_COUNTER)
        return answers_frame(table)

    def views(self, base: int) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import plain_frame
        from dpqr.releases.files.views import release_views, views_table

        return plain_frame(views_table(release_views(self.finished, base)))

    def record(self) -> dict[str, Any]:
        from dpqr.releases.receipt import receipt
        from dpqr.releases.record.release_document import release_document

        return release_document(self.finished, receipt=receipt(self.finished))

    def receipt(self) -> Receipt:
        from dpqr.releases.receipt import receipt

        return Receipt.of_facts(receipt(self.finished))

    def synthetic(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import synthetic_frame
        from dpqr.releases.files.release_files import synthesise

        return synthetic_frame(synthesise(self.finished, "rows").table)

    def reported(self) -> ReportInput:
        from dpqr.report.reports import reported_release

        return reported_release(self.finished, self.record())


class FromFiles:
    """A release on disk."""

    def __init__(self, files: ReleaseFiles) -> None:
        self.files = files

    def directory(self) -> str | None:
        return str(self.files.path)

    def answers(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import read_answers_frame

        return read_answers_frame(self.files)

    def figures(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import read_figures_frame

        return read_figures_frame(self.files)

    def cumulative(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import read_cumulative_frame

        if "counter" not in self.files.record["plan"]:
            raise UsageFault(NO_COUNTER)
        return read_cumulative_frame(self.files)

    def views(self, base: int) -> pd.DataFrame:
        from dpqr.published.show import stored_views
        from dpqr.releases.files.answer_tables import plain_frame
        from dpqr.releases.files.views import views_table

        return plain_frame(views_table(stored_views(self.files, base)))

    def record(self) -> dict[str, Any]:
        return self.files.record

    def receipt(self) -> Receipt:
        from dpqr.published.show import stored_receipt

        return Receipt.of_facts(stored_receipt(self.files.record, self.files.unverified))

    def synthetic(self) -> pd.DataFrame:
        from dpqr.releases.files.answer_tables import read_synthetic_frame

        return read_synthetic_frame(self.files)

    def reported(self) -> ReportInput:
        from dpqr.report.reports import reported_files

        return reported_files(self.files)


def pivot(answers: pd.DataFrame, query: str, values: str = "estimate") -> pd.DataFrame:
    """The answers of `query`: of two columns and more the last one across, else one row an answer.

    Raises:
        UsageFault: no such query, or no such figure.
    """
    import pandas as pd

    names = list(answers["query"].cat.categories)
    if query not in names:
        near = get_close_matches(str(query), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(map(repr, names[:20]))}"
        raise UsageFault(f"pivot: no query {query!r}; {hint}")
    if values not in FIGURES:
        raise UsageFault(f"pivot: no figure {values!r}; known: {', '.join(FIGURES)}")
    rows = answers[answers["query"] == query].drop(columns="query")
    keys = [name for name in rows.columns if name not in (*FIGURES, BASIS) and rows[name].notna().any()]
    if "detail" in keys:
        # Details sort as they come: "<= 9" before "<= 10".
        details = rows["detail"]
        ordered = pd.Categorical(details, categories=details.unique(), ordered=True)
        rows = rows.assign(detail=pd.Series(ordered, index=details.index))
    if len(keys) < 2:
        held: pd.DataFrame = rows[[*keys, *FIGURES, BASIS]]
        return held.set_index(keys) if keys else held.reset_index(drop=True)
    table: pd.DataFrame = rows.pivot(index=keys[:-1] if len(keys) > 2 else keys[0], columns=keys[-1], values=values)
    return table
