"""New questions on a release: the command line asks here too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import Document, Path, document, run_sanitised, text, texts
from dpqr.python.release import FromRun, Release
from dpqr.releases.requests import ExistingForm

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.published.export import ExportResult
    from dpqr.published.later import DerivedAnswers as Answered
    from dpqr.releases.answers.answered import AnsweredBlock


class Later:
    """Answers of a release to new questions.

    >>> import dpqr, pandas
    >>> table, domain = pandas.DataFrame({"a": [0, 1, 1]}), {"a": 2}
    >>> made = dpqr.release(table, queries=dpqr.queries().marginal("a"), domain=domain, eps=1)
    >>> found = dpqr.answer(made, where="a = 1")
    >>> found, list(found.answers["query"])
    (Later(1 answer), ['where(a = 1)'])
    """

    def __init__(self, found: Answered) -> None:
        self._found = found

    @cached_property
    def answers(self) -> pd.DataFrame:
        """One row an answer, with the columns of `Release.answers`."""
        from dpqr.releases.files.answer_tables import answered_table, answers_frame

        return answers_frame(answered_table(self.blocks))

    @cached_property
    def figures(self) -> pd.DataFrame:
        """One row a value of a figure (mean, quantile, ratio and the like), with the columns of `Release.figures`."""
        from dpqr.releases.files.answer_tables import answers_frame, figures_of

        return answers_frame(figures_of(self._found.figures))

    @property
    def blocks(self) -> tuple[AnsweredBlock, ...]:
        """The same question by question."""
        return self._found.blocks

    @property
    def released(self) -> frozenset[str]:
        """The names of the questions that the release had answered itself: their answers are its own."""
        return self._found.released

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know, such as columns that were never measured together."""
        return self._found.notes

    def document(self) -> dict[str, Any]:
        """Plain JSON values, as the command prints them."""
        return self._found.document()

    def __repr__(self) -> str:
        from dpqr.kernel.wording import count_words

        figures = f" and {count_words(len(self._found.figures), 'value')} of figures" if self._found.figures else ""
        return f"Later({count_words(sum(block.rows for block in self.blocks), 'answer')}{figures})"

    def _repr_html_(self) -> str:
        tables = [self.answers] if self.blocks else []
        tables += [self.figures] if self._found.figures else []
        return "".join(table.to_html(max_rows=20, border=0) for table in tables)


def answer(
    release: Release | Path,
    *,
    queries: Document | None = None,
    where: str | None = None,
    by: str | Sequence[str] = (),
    out: Path | None = None,
) -> Later:
    """Answer new questions from the model of a release. Nothing is paid, and no table is opened.

    Args:
        release: its directory, or what `dpqr.release` has returned.
        queries: a document, or `dpqr.sql(...)`. where, by: in place of it, records that fulfil a predicate, for every
            combination of cells of these columns.
        out: a new file for the answers; its ending says the form: .csv, .parquet or .json. Figures go into a file
            beside it, NAME.figures.csv.

    Raises:
        DpqrError: of the class whose `exit_code` the command would end with.

    Privacy:
        Post-processing of the release.
    """
    from dpqr.published.later import AnswerRequest
    from dpqr.published.later import answer as answered
    from dpqr.releases.files.answer_tables import answers_file, figures_of

    if not isinstance(release, Release):
        origin: Any = os.fspath(release)
    elif isinstance(release._origin, FromRun):
        origin = release._origin.finished
    else:
        origin = str(release.directory)
    columns = list(texts("by", by))
    if (queries is None) == (where is None and not columns):
        raise UsageFault("answer: give one of --sql TEXT, --queries FILE, and --where PREDICATE with --by COLUMN")
    question = {"marginal": columns} if where is None else {"where": text("where", where), "by": columns}
    entries = {"queries": [question]} if queries is None else document("queries", queries)
    request = AnswerRequest(release=origin, queries=entries)
    place = None if out is None else answers_file(os.fspath(out))
    found = run_sanitised(lambda: answered(request))
    if place is not None:
        place.write(found.blocks, figures_of(found.figures))
    return Later(found)


# A release as tables for other tools: the command line exports here too.


def export(release: Path, *, duckdb: Path, if_exists: ExistingForm = "fail") -> ExportResult:
    """Write a release as a DuckDB file with the tables answers, columns, cells, synthetic and facts.

    Args:
        release: its directory. duckdb: a new file. if_exists: as of `dpqr export`.

    Returns:
        `tables`, their rows by name, and `notes` on what is missing.

    Raises:
        UsageFault: there is no release, or the file cannot be written.
        AlreadyThere: something lies there that is not to be replaced.
        GoalMissed: the release's files were changed.
    """
    from dpqr.published.export import ExportRequest
    from dpqr.published.export import export as exported

    text("if_exists", if_exists, among=get_args(ExistingForm))
    request = ExportRequest(release=os.fspath(release), duckdb=os.fspath(duckdb), if_exists=if_exists)
    return run_sanitised(lambda: exported(request))
