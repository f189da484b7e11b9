"""New questions on a release: the command line asks here too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpqr.api.checks import Path, text, texts
from dpqr.api.options import document
from dpqr.api.origins import Made
from dpqr.api.release import Release
from dpqr.api.withheld import withheld
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.api.queries import Document
    from dpqr.app.answer import Later as Answered
    from dpqr.construction.answers.answered import AnsweredBlock


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
        from dpqr.io.outputs.answer_tables.answer_frames import answers_frame
        from dpqr.io.outputs.answer_tables.answered_table import answered_table

        return answers_frame(answered_table(self.blocks))

    @cached_property
    def figures(self) -> pd.DataFrame:
        """One row a value of a figure (mean, quantile, ratio and the like), with the columns of `Release.figures`."""
        from dpqr.io.outputs.answer_tables.answer_frames import answers_frame
        from dpqr.io.outputs.answer_tables.answered_table import figures_of

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
        from dpqr.report.wording import counted

        figures = f" and {counted(len(self._found.figures), 'value')} of figures" if self._found.figures else ""
        return f"Later({counted(sum(block.rows for block in self.blocks), 'answer')}{figures})"

    def _repr_html_(self) -> str:
        shown: str = self.answers.to_html(max_rows=20, border=0)
        return shown


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
    from dpqr.app.answer import AnswerRequest
    from dpqr.app.answer import answer as answered
    from dpqr.io.outputs.answer_tables.answered_table import answers_file, figures_of

    request = AnswerRequest(release=_made(release), queries=_asked(queries, where, by))
    place = None if out is None else answers_file(os.fspath(out))
    found = withheld(lambda: answered(request))
    if place is not None:
        place.write(found.blocks, figures_of(found.figures))
    return Later(found)


def _asked(queries: object, where: str | None, by: str | Sequence[str]) -> str | dict[str, Any]:
    """A queries document. UsageFault: not one way of asking."""
    columns = list(texts("by", by))
    if (queries is None) == (where is None and not columns):
        raise UsageFault("answer: give one of --sql TEXT, --queries FILE, and --where PREDICATE with --by COLUMN")
    if queries is not None:
        return document("queries", queries)
    return {"queries": [{"marginal": columns} if where is None else {"where": text("where", where), "by": columns}]}


def _made(release: Release | Path) -> Any:
    """A release in memory, or the directory of one."""
    if not isinstance(release, Release):
        return os.fspath(release)
    origin = release._origin
    return origin.finished if isinstance(origin, Made) else str(release.directory)
