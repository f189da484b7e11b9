"""Exact errors of a release, for tables that are public or made up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dpqr.api.checks import Path, truth
from dpqr.api.options import document, table_source
from dpqr.api.payer import ledger_paths
from dpqr.api.release import Release
from dpqr.api.shown import Receipt
from dpqr.api.withheld import withheld
from dpqr.app.evaluating.requests import EvaluateRequest

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.api.ledger import Ledger
    from dpqr.api.queries import Document
    from dpqr.evaluation import Accuracy


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How far a release is from the truth, exactly. Not for release.

    accuracy: `records`, `mean_l1`, `mean_l2` and `largest`, all errors over n; and `blocks`, which `errors` shows.

    >>> import dpqr, pandas
    >>> table = pandas.DataFrame({"sex": ["f", "m", "f"]})
    >>> asked = dpqr.queries().marginal("sex")
    >>> domain = dpqr.domain_from({"sex": ["f", "m"]})
    >>> made = dpqr.release(table, queries=asked, domain=domain, eps=1)
    >>> found = dpqr.evaluate(table, made, queries=asked, domain=domain)
    >>> found.accuracy.records, list(found.errors.columns)[:3]
    (3, ['query', 'answers', 'l1'])
    """

    accuracy: Accuracy

    @property
    def errors(self) -> pd.DataFrame:
        """One row a query, the largest L1 error over n first; errors in records, and over n."""
        import pandas as pd

        found = self.accuracy
        rows = (
            {
                "query": block.name,
                "answers": block.queries,
                "l1": block.l1,
                "l2": block.l2,
                "largest": block.largest,
                "l1_over_n": block.l1 / block.reach / found.n,
                "largest_over_n": block.largest / block.reach / found.n,
                "missing": block.missing,
            }
            for block in found.blocks
        )
        return pd.DataFrame(rows)

    @property
    def record(self) -> dict[str, Any]:
        """As `dpqr evaluate --json` prints it."""
        from dpqr.app.evaluating.evaluate import document

        return document(self.accuracy, None)

    @property
    def text(self) -> Receipt:
        """As the command line shows it, all queries."""
        from dpqr.app.evaluating.evaluate import NOT_FOR_RELEASE
        from dpqr.report.evaluation_view import accuracy_view

        return Receipt.of(lambda: accuracy_view(self.accuracy, len(self.accuracy.blocks), NOT_FOR_RELEASE))

    def require(self, *, max_error: float | None = None, max_l1: float | None = None) -> None:
        """Goals for the largest error of any answer, and for the mean L1 error of a query, both over n.

        Raises:
            GoalMissed: an error is above its goal.
        """
        from dpqr.app.evaluating.evaluate import require_goals

        require_goals(self.accuracy, max_error, max_l1)

    def __repr__(self) -> str:
        return f"Evaluation(mean L1 {self.accuracy.mean_l1:.4g}, largest {self.accuracy.largest:.4g}, over n)"

    def _repr_html_(self) -> str:
        return self.text._repr_html_()


def evaluate(
    true: object,
    release: Release | Path,
    *,
    queries: Document,
    domain: Document | None = None,
    rows: bool = False,
    dataset: str | None = None,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    counts: str | None = None,
    html: Path | None = None,
) -> Evaluation:
    """Compare the answers of a release with those of the true table, exactly. Not for release.

    Args:
        true: a public or made-up table: in memory, a path, or a list of paths.
        release: a release, or its directory; with `rows`, also a table of synthetic rows.
        rows: judge synthetic rows.
        dataset: what the ledger calls the true table; refused if it is private there.
        html: a new file for the same as a page; with `rows` it also shows how much alike both tables are.

    Raises:
        BudgetRefused: a dataset is private by the ledger.
        UsageFault, DocumentError, DataError: what is asked, or a table, is faulty.

    Privacy:
        None: the errors are exact. Who may be evaluated is decided by the names of datasets alone.
    """
    from dpqr.app.evaluating.evaluate import evaluate as compared

    with _kept(release, truth("rows", rows)) as place:
        request = EvaluateRequest(
            truth=table_source(true, {"delimiter": delimiter, "encoding": encoding, "counts": counts}),
            release=place,
            queries=document("queries", queries),
            domain=None if domain is None else document("domain", domain),
            rows=rows,
            dataset=dataset,
            html=None if html is None else os.fspath(html),
            **dict(zip(("ledger", "anchor"), ledger_paths(ledger, anchor), strict=True)),
        )
        return Evaluation(withheld(lambda: compared(request)))


@contextmanager
def _kept(release: Release | Path, rows: bool) -> Iterator[str]:
    """Where the files of the release lie; of one that is in memory, for as long as they are read."""
    if not isinstance(release, Release):
        yield os.fspath(release)
    elif release.directory is not None:
        yield release.directory
    else:
        with TemporaryDirectory() as folder:
            place = os.path.join(folder, "release")
            release.save(place, format="parquet", synthetic="rows" if rows else None)
            yield place
