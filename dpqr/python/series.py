"""Releases of the same queries at several points in time: the command line puts them in a series here too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import Path, run_sanitised, text
from dpqr.python.release import Release
from dpqr.python.shown import Readable, Receipt

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.releases.files.tidy import Tidy
    from dpqr.report.release import SeriesForm
    from dpqr.report.series import ReleaseSeries as Found


class Series(Readable):
    """Answers from point to point, with their errors and changes. All of it is post-processing.

    >>> import dpqr, pandas, tempfile
    >>> table, domain = pandas.DataFrame({"a": [0, 1, 1]}), {"a": 2}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name in ("first", "second"):
    ...         queries = dpqr.queries().marginal("a")
    ...         _ = dpqr.release(table, queries=queries, domain=domain, eps=1, out=f"{place}/{name}")
    ...     found = dpqr.series([f"{place}/first", f"{place}/second"])
    >>> found, list(found.frame.columns)
    (Series(2 points, 1 query), ['query', 'point', 'a', 'detail', 'estimate', 'error', 'lower', 'upper', 'change', \
'change_error'])
    """

    def __init__(self, found: Found) -> None:
        self._found = found

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row a point and answer, or value of a figure: `query`, `point`, a column for each attribute that some
        query keeps apart, `detail`, `estimate`, `error`, `lower`, `upper`, `change` from the point before, and
        `change_error`."""
        from dpqr.releases.files.answer_tables import answers_frame

        return answers_frame(self._table)

    @property
    def points(self) -> tuple[str, ...]:
        """The periods, or the releases, earliest first."""
        return self._found.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know, such as periods that are missing."""
        return self._found.notes

    def document(self) -> dict[str, Any]:
        """Plain JSON values, as the command prints them."""
        return {"points": list(self.points), "answers": self._table.records(), "notes": list(self.notes)}

    def view(self, form: SeriesForm = "table") -> Any:
        """What the command line shows, for a console of rich."""
        from dpqr.report.release import series_view

        return series_view(self._found.names, self._found.trends, form)

    def save(self, path: Path) -> None:
        """Write the frame to a new file; its ending says the form: .csv, .parquet or .json.

        Raises:
            UsageFault, AlreadyThere: it cannot be written.
        """
        from dpqr.releases.files.answer_tables import table_place

        place = table_place(os.fspath(path))
        place.write(self._table)

    @property
    def _table(self) -> Tidy:
        from dpqr.report.series import series_table

        return series_table(self._found.names, self._found.trends)

    @property
    def text(self) -> Receipt:
        return Receipt.of(self.view)

    def __repr__(self) -> str:
        from dpqr.kernel.wording import count_words

        return f"Series({count_words(len(self.points), 'point')}, {count_words(len(self._found.trends), 'query')})"


def series(releases: Sequence[Release | Path], *, query: str | None = None) -> Series:
    """Put releases of the same queries in a series.

    Args:
        releases: their directories. Releases of periods are put in their order; others stay as given.
        query: the only query that is wanted; None: all of them.

    Raises:
        UsageFault: fewer than two releases, one that is not on disk, two of one period, or no such query.
        DocumentError: a release is damaged, or answers other queries, or has another domain.

    Privacy:
        Post-processing of published files.
    """
    from dpqr.report.series import series as found

    if isinstance(releases, str | os.PathLike | Release):
        raise UsageFault("releases: is one release; give a list of them")
    places = []
    for release in releases:
        place = release.directory if isinstance(release, Release) else os.fspath(release)
        if place is None:
            raise UsageFault("releases: one of them is in memory alone; save it, and give its directory")
        places.append(place)
    wanted = None if query is None else text("query", query)
    return Series(run_sanitised(lambda: found(places, wanted)))
