"""Exact errors of a release, for tables that are public or made up."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import Document, Figure, Path, boolean, document, integer, run_sanitised
from dpqr.python.ledger import ledger_paths
from dpqr.python.options import RunOptions
from dpqr.python.release import Release
from dpqr.python.requests import limits, plan_request, table_source
from dpqr.python.shown import Receipt
from dpqr.releases.requests import EvaluateRequest

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.python.ledger import Ledger
    from dpqr.releases.forecast.exact_errors import Accuracy, BlockError
    from dpqr.report.evaluation import SweepTrial


class Evaluation(Struct, frozen=True, eq=False):
    """How far a release is from the truth, exactly. Not for release.

    accuracy: `records`, `mean_l1`, `mean_l2` and `largest`, all errors over n; and `blocks`, which `errors` shows.

    >>> import dpqr, pandas
    >>> table = pandas.DataFrame({"sex": ["f", "m", "f"]})
    >>> workload = dpqr.queries().marginal("sex")
    >>> domain = dpqr.domain_from({"sex": ["f", "m"]})
    >>> made = dpqr.release(table, queries=workload, domain=domain, eps=1)
    >>> found = dpqr.evaluate(table, made, queries=workload, domain=domain)
    >>> found.accuracy.records, list(found.errors.columns)[:3]
    (3, ['query', 'answers', 'l1'])
    """

    accuracy: Accuracy

    @property
    def errors(self) -> pd.DataFrame:
        """One row a query, the largest L1 error over n first; errors in records, and over n."""
        import pandas as pd

        n = self.accuracy.n
        return pd.DataFrame(_error_row(block, n) | {"missing": block.missing} for block in self.accuracy.blocks)

    @property
    def record(self) -> dict[str, Any]:
        """As `dpqr evaluate --json` prints it."""
        from dpqr.report.evaluation import document

        return document(self.accuracy, None)

    @property
    def text(self) -> Receipt:
        """As the command line shows it, all queries."""
        from dpqr.report.evaluation import accuracy_view

        return Receipt.of(lambda: accuracy_view(self.accuracy, len(self.accuracy.blocks)))

    def require(self, *, max_error: float | None = None, max_l1: float | None = None) -> None:
        """Goals for the largest error of any answer, and for the mean L1 error of a query, both over n.

        Raises:
            GoalMissed: an error is above its goal.
        """
        from dpqr.report.evaluation import require_goals

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
) -> Evaluation:
    """Compare the answers of a release with those of the true table, exactly. Not for release.

    Args:
        true: a public or made-up table: in memory, a path, or a list of paths.
        release: a release, or its directory; with `rows`, also a table of synthetic rows.
        rows: judge synthetic rows.
        dataset: what the ledger calls the true table; refused if it is private there.

    Raises:
        BudgetRefused: a dataset is private by the ledger.
        UsageFault, DocumentError, DataError: what is asked, or a table, is faulty.

    Privacy:
        None: the errors are exact. Who may be evaluated is decided by the names of datasets alone.
    """
    from dpqr.report.evaluation import evaluate as compared

    with _kept(release, boolean("rows", rows)) as place:
        request = EvaluateRequest(
            truth=table_source(true, {"delimiter": delimiter, "encoding": encoding, "counts": counts}),
            release=place,
            queries=document("queries", queries),
            domain=None if domain is None else document("domain", domain),
            rows=rows,
            dataset=dataset,
            **dict(zip(("ledger", "anchor"), ledger_paths(ledger, anchor), strict=True)),
        )
        return Evaluation(run_sanitised(lambda: compared(request)))


def _error_row(block: BlockError, n: int) -> dict[str, str | float]:
    """A query's errors in records, and over n."""
    return {
        "query": block.name,
        "answers": block.queries,
        "l1": block.l1,
        "l2": block.l2,
        "largest": block.largest,
        "l1_over_n": block.l1 / block.reach / n,
        "largest_over_n": block.largest / block.reach / n,
    }


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


# Sweeps: the exact errors of many releases of a public table, as one tidy frame.

Names = str | Sequence[str | None] | None
ROLES = ("schedule", "update", "accountant")
COLUMNS = (
    "eps",
    "schedule",
    "update",
    "accountant",
    "repeat",
    "query",
    "answers",
    "l1",
    "l2",
    "largest",
    "l1_over_n",
    "largest_over_n",
    "refused",
)


def sweep(
    *,
    public: object = None,
    rehearse: bool = False,
    queries: Document,
    eps: Figure | Sequence[Figure],
    domain: Document | None = None,
    schedule: Names = None,
    update: Names = None,
    accountant: Names = None,
    repeats: int = 1,
    dataset: str | None = None,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    **options: Unpack[RunOptions],
) -> pd.DataFrame:
    """Release a public table by every combination of settings, and compare each release with the truth.

    Args:
        public: a table that the caller declares public. rehearse: rows drawn from the public domain in its place.
        eps, schedule, update, accountant: one value, or several to be combined; None: as `release` chooses.
        dataset: the table's name in `ledger`; refused if it is private there.
        options: every other option of a plan, the same for all.

    Returns:
        One row a query and release, errors in records and over n; of what cannot be planned one row, `refused`.

    Privacy:
        None: the errors are exact, and not for release.
    """
    import pandas as pd

    from dpqr.releases.loop import SILENT
    from dpqr.releases.requests import SweepRequest
    from dpqr.report.evaluation import sweep as trials

    tried = (eps, schedule, update, accountant)
    roles = product(*(list(one) if isinstance(one, Sequence) and not isinstance(one, str) else [one] for one in tried))
    named = ((each, dict(zip(ROLES, chosen, strict=True))) for each, *chosen in roles)
    plans = tuple(plan_request(queries, each, domain, {**options, **chosen}) for each, chosen in named)
    files = ledger_paths(ledger, anchor)
    if (public is None) is not rehearse:
        raise UsageFault(
            "sweep: its errors are exact, so say on what: public=TABLE for one that is public or made up, or "
            "rehearse=True for rows drawn from the public domain"
        )
    request = SweepRequest(
        source=None if rehearse else table_source(public, options),
        plans=plans,
        repeats=integer("repeats", repeats),
        limits=limits(options),
        dataset=dataset,
        **dict(zip(("ledger", "anchor"), files, strict=True)),
    )
    if not request.plans:
        raise UsageFault("sweep: an empty list leaves nothing to try; give at least one value")
    found = run_sanitised(lambda: list(trials(request, SILENT)))
    if all(each.refusal is not None for each in found):
        raise UsageFault(f"sweep: nothing could be planned so; {found[0].refusal}")
    rows = (row for trial in found for row in _rows(trial))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"answers": "Int64"})


def _rows(trial: SweepTrial) -> Iterator[dict[str, Any]]:
    options = trial.options
    row: dict[str, Any] = {"eps": float(options.epsilon), "repeat": trial.repeat}
    if trial.release is None or trial.accuracy is None:
        named = {"schedule": options.schedule, "update": options.update, "accountant": options.accountant}
        yield row | named | {"refused": trial.refusal}
        return
    roles, plan = trial.release.plan.roles, trial.release.plan
    row |= {"schedule": plan.schedule.name, "update": roles.update.name, "accountant": roles.accountant.name}
    yield from (row | _error_row(block, trial.accuracy.n) for block in trial.accuracy.blocks)
