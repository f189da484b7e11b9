"""Origins of releases: made by this process, or read back from their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dpqr.api.shown import Receipt
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.construction.release import Release as FinishedRun
    from dpqr.io.outputs.releases.read_release import ReleaseFiles
    from dpqr.report.page.reported import Reported


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
    def reported(self) -> Reported: ...


class Made:
    """A release of this process."""

    def __init__(self, finished: FinishedRun) -> None:
        self.finished = finished

    def directory(self) -> str | None:
        return None

    def answers(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import answers_frame
        from dpqr.io.outputs.releases.release_files import answers_table

        return answers_frame(answers_table(self.finished))

    def figures(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import plain_frame
        from dpqr.io.outputs.answer_tables.figures_table import figures_table

        return plain_frame(figures_table(self.finished))

    def cumulative(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import answers_frame
        from dpqr.io.outputs.answer_tables.cumulative_table import cumulative_table

        table = cumulative_table(self.finished)
        if table is None:
            raise UsageFault(NO_COUNTER)
        return answers_frame(table)

    def views(self, base: int) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import plain_frame
        from dpqr.io.outputs.answer_tables.views_table import release_views, views_table

        return plain_frame(views_table(release_views(self.finished, base)))

    def record(self) -> dict[str, Any]:
        from dpqr.io.outputs.records.release_document import release_document
        from dpqr.report.receipt import receipt

        return release_document(self.finished, receipt=receipt(self.finished))

    def receipt(self) -> Receipt:
        from dpqr.report.receipt import receipt
        from dpqr.report.wording import facts

        return Receipt.of(lambda: facts(receipt(self.finished)))

    def synthetic(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import synthetic_frame
        from dpqr.io.outputs.releases.synthetic import synthesise

        return synthetic_frame(synthesise(self.finished, "rows").table)

    def reported(self) -> Reported:
        from dpqr.app.report import reported_release

        return reported_release(self.finished, self.record())


class Kept:
    """A release on disk."""

    def __init__(self, files: ReleaseFiles) -> None:
        self.files = files

    def directory(self) -> str | None:
        return str(self.files.path)

    def answers(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import read_answers_frame

        return read_answers_frame(self.files)

    def figures(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import read_figures_frame

        return read_figures_frame(self.files)

    def cumulative(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import read_cumulative_frame

        if "counter" not in self.files.record["plan"]:
            raise UsageFault(NO_COUNTER)
        return read_cumulative_frame(self.files)

    def views(self, base: int) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import plain_frame
        from dpqr.io.outputs.answer_tables.views_table import views_table
        from dpqr.io.outputs.releases.kept_views import kept_views

        return plain_frame(views_table(kept_views(self.files, base)))

    def record(self) -> dict[str, Any]:
        return self.files.record

    def receipt(self) -> Receipt:
        from dpqr.app.show import kept_receipt
        from dpqr.report.wording import facts

        return Receipt.of(lambda: facts(kept_receipt(self.files.record, self.files.unverified)))

    def synthetic(self) -> pd.DataFrame:
        from dpqr.io.outputs.answer_tables.answer_frames import read_synthetic_frame

        return read_synthetic_frame(self.files)

    def reported(self) -> Reported:
        from dpqr.app.report import reported_files

        return reported_files(self.files)
