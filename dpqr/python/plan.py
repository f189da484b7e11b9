"""Plans: what a release would do, before any table is looked at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.python.checks import Document, Figure, Path, run_sanitised
from dpqr.python.options import PlanOptions
from dpqr.python.requests import release_request
from dpqr.python.shown import Readable, Receipt, release_plan

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.python.ledger import Ledger
    from dpqr.releases.forecast.resources import Resources
    from dpqr.strategies.plan import Plan as PlannedRun


class Plan(Readable):
    """The planned run. It is public: no table was looked at. resources: seconds, memory and files that it takes.

    >>> import dpqr
    >>> planned = dpqr.plan(queries={"queries": [{"marginal": ["age"]}]}, domain={"age": 4}, eps="0.5")
    >>> planned
    Plan(4 queries in 1 block, eps 0.5)
    >>> planned.forecast[["query", "answers"]].values.tolist()
    [['marginal(age)', 4]]
    """

    def __init__(self, planned: PlannedRun, taken: Resources) -> None:
        self._planned, self.resources = planned, taken

    @property
    def guarantee(self) -> str:
        """The promise, in one sentence."""
        from dpqr.releases.sentences import guarantee

        return guarantee(self._planned)

    @property
    def record(self) -> dict[str, Any]:
        """The whole plan as plain JSON values, as `dpqr release --dry-run --json` prints it."""
        document: dict[str, Any] = release_plan(self._planned, self.resources).document()
        return document

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know."""
        return self._planned.notes

    @property
    def forecast(self) -> pd.DataFrame:
        """One row a measured query: its answers, the standard deviation of the noise on each, and their expected mean
        absolute error where that has a closed form, in records; `dpqr.forecast` simulates the others. Tables of persons
        come last, in persons or the unit of a total."""
        import pandas as pd

        blocks = (*self._planned.forecast, *self._planned.person_forecast)
        rows = [(block.name, block.rows, block.deviation, block.error) for block in blocks]
        table = pd.DataFrame(rows, columns=["query", "answers", "noise_deviation", "error"])
        return table.astype({"error": "float64"})

    @property
    def text(self) -> Receipt:
        """The plan as the command line shows it."""
        return release_plan(self._planned, self.resources).text

    @property
    def sha256(self) -> str:
        """The hash by which ledger and record name the plan."""
        return str(self.record["sha256"])

    def save(self, path: Path) -> None:
        """Write the plan to be reviewed, for `dpqr.release(table, plan=path)`, as `dpqr plan --out` does.

        Raises:
            UsageFault: the file exists, or cannot be written.
        """
        from dpqr.releases.locked_plan import plan_file, save_plan

        run_sanitised(lambda: save_plan(self._planned, plan_file(os.fspath(path))))

    def __repr__(self) -> str:
        from dpqr.kernel.wording import count_words

        workload = self._planned.problem.workload
        queries = f"{count_words(workload.rows, 'query')} in {count_words(len(workload.blocks), 'block')}"
        return f"Plan({queries}, eps {float(self._planned.budget.epsilon):g})"


def plan(
    *,
    queries: Document,
    eps: Figure,
    domain: Document | None = None,
    source: str | None = None,
    dataset: str | None = None,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    **options: Unpack[PlanOptions],
) -> Plan:
    """Plan a release; no table is needed. The options are those of `release`.

    Args:
        source: the address of the engine's table that the release will read, which a plan names; it is not opened.

    Raises:
        DpqrError: UsageFault, DocumentError or InfeasiblePlan; BudgetRefused where the dataset's policy forbids it.
    """
    from dpqr.releases.release import dry_run

    request = release_request(
        source, queries=queries, eps=eps, domain=domain, dataset=dataset, ledger=ledger, anchor=anchor, **options
    )
    return Plan(*run_sanitised(lambda: dry_run(request)))
