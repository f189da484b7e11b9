"""Origins of releases: made by this process, or read back from their files."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from dpqr.kernel.errors import UsageFault
from dpqr.releases.release_files import BASIS, FIGURES

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.releases.result import FinishedRun

from typing import TYPE_CHECKING, Protocol

from dpqr.python.shown import Receipt

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.releases.read_release import ReleaseFiles
    from dpqr.releases.result import FinishedRun
    from dpqr.report.page.parts import ReportInput


NO_COUNTER = "cumulative: this release is of no counter; its answers are those of its own rows"


class Origin(Protocol):
    """Where the parts of a release come from."""

    def directory(self) -> str | None: ...
    def answers(self) -> pd.DataFrame: ...
    def figures(self) -> pd.DataFrame: ...
    def cumulative(self) -> pd.DataFrame: ...
    def views(self, base: int) -> pd.DataFrame: ...
    def record(self) -> dict[str, Any]: ...
    def receipt(self) -> Receipt: ...
    def synthetic(self) -> pd.DataFrame: ...
    def reported(self) -> ReportInput: ...


class FromRun:
    """A release of this process."""

    def __init__(self, finished: FinishedRun) -> None:
        self.finished = finished

    def directory(self) -> str | None:
        return None

    def answers(self) -> pd.DataFrame:
        from dpqr.releases.answer_tables import answers_frame
        from dpqr.releases.release_files import answers_table

        return answers_frame(answers_table(self.finished))

    def figures(self) -> pd.DataFrame:
        from dpqr.releases.answer_tables import plain_frame
        from dpqr.releases.table_files import figures_table

        return plain_frame(figures_table(self.finished))

    def cumulative(self) -> pd.DataFrame:
        from dpqr.releases.answer_tables import answers_frame, cumulative_table

        table = cumulative_table(self.finished)
        if table is None:
            raise UsageFault(NO_COUNTER)
        return answers_frame(table)

    def views(self, base: int) -> pd.DataFrame:
        from dpqr.releases.answer_tables import plain_frame
        from dpqr.releases.views import release_views, views_table

        return plain_frame(views_table(release_views(self.finished, base)))

    def record(self) -> dict[str, Any]:
        from dpqr.releases.receipt import receipt
        from dpqr.releases.record.release_document import release_document

        return release_document(self.finished, receipt=receipt(self.finished))

    def receipt(self) -> Receipt:
        from dpqr.releases.receipt import receipt

        return Receipt.of_facts(receipt(self.finished))

    def synthetic(self) -> pd.DataFrame:
        from dpqr.releases.answer_tables import synthetic_frame
        from dpqr.releases.release_files import synthesise

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
        from dpqr.releases.answer_tables import read_answers_frame

        return read_answers_frame(self.files)

    def figures(self) -> pd.DataFrame:
        from dpqr.releases.answer_tables import read_figures_frame

        return read_figures_frame(self.files)

    def cumulative(self) -> pd.DataFrame:
        from dpqr.releases.answer_tables import read_cumulative_frame

        if "counter" not in self.files.record["plan"]:
            raise UsageFault(NO_COUNTER)
        return read_cumulative_frame(self.files)

    def views(self, base: int) -> pd.DataFrame:
        from dpqr.published.show import stored_views
        from dpqr.releases.answer_tables import plain_frame
        from dpqr.releases.views import views_table

        return plain_frame(views_table(stored_views(self.files, base)))

    def record(self) -> dict[str, Any]:
        return self.files.record

    def receipt(self) -> Receipt:
        from dpqr.published.show import stored_receipt

        return Receipt.of_facts(stored_receipt(self.files.record, self.files.unverified))

    def synthetic(self) -> pd.DataFrame:
        from dpqr.releases.answer_tables import read_synthetic_frame

        return read_synthetic_frame(self.files)

    def reported(self) -> ReportInput:
        from dpqr.report.reports import reported_files

        return reported_files(self.files)


def pivot(answers: pd.DataFrame, query: str, values: str = "estimate") -> pd.DataFrame:
    """The answers of `query`: of two columns and more the last one across, else one row an answer.

    Raises:
        UsageFault: no such query, or no such figure.
    """
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
        rows = rows.assign(detail=_ordered(rows["detail"]))
    if len(keys) < 2:
        held: pd.DataFrame = rows[[*keys, *FIGURES, BASIS]]
        return held.set_index(keys) if keys else held.reset_index(drop=True)
    table: pd.DataFrame = rows.pivot(index=keys[:-1] if len(keys) > 2 else keys[0], columns=keys[-1], values=values)
    return table


def _ordered(details: pd.Series) -> pd.Series:
    """Details sort as they come: "<= 9" before "<= 10"."""
    import pandas as pd

    return pd.Series(pd.Categorical(details, categories=details.unique(), ordered=True), index=details.index)
