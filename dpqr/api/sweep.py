"""Sweeps: the exact errors of many releases of a public table, as one tidy frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.api.options import Figure, Path, RunOptions, ledger_paths, limits, plan_request, table_source, whole
from dpqr.api.release import Unwatched
from dpqr.api.withheld import withheld
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.api.ledger import Ledger
    from dpqr.api.queries import Document
    from dpqr.app.requests import SweepRequest
    from dpqr.app.sweep import Trial

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
    public: object,
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
    """Release a public table by every combination of the settings, and compare each release with the truth.

    Args:
        public: a table that is public or made up, as the caller declares by this name.
        eps, schedule, update, accountant: one value, or several to be combined; None: as `release` chooses.
        dataset: the table's name in `ledger`; refused if it is private there.
        options: every other option of a plan, the same for all.

    Returns:
        One row a query and release, errors in records and over n; of what cannot be planned one row, `refused`.

    Privacy:
        None: the errors are exact, and not for release.
    """
    from dpqr.app.requests import SweepRequest

    roles = product(*map(_several, (eps, schedule, update, accountant)))
    named = ((each, dict(zip(ROLES, chosen, strict=True))) for each, *chosen in roles)
    plans = tuple(plan_request(queries, each, domain, {**options, **chosen}) for each, chosen in named)
    path, outside = ledger_paths(ledger, anchor)
    request = SweepRequest(
        source=table_source(public, options),
        plans=plans,
        repeats=whole("repeats", repeats),
        limits=limits(options),
        dataset=dataset,
        ledger=path,
        anchor=outside,
    )
    return _frame(row for trial in _tried(request) for row in _rows(trial))


def _tried(request: SweepRequest) -> list[Trial]:
    """All trials. UsageFault where none was made."""
    from dpqr.app.sweep import sweep as trials

    if not request.plans:
        raise UsageFault("sweep: an empty list leaves nothing to try; give at least one value")
    found = withheld(lambda: list(trials(request, Unwatched())))
    if all(each.refusal is not None for each in found):
        raise UsageFault(f"sweep: nothing could be planned so; {found[0].refusal}")
    return found


def _several(given: Any) -> Sequence[Any]:
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]


def _rows(trial: Trial) -> Iterator[dict[str, Any]]:
    asked = trial.asked
    told: dict[str, Any] = {"eps": float(asked.epsilon), "repeat": trial.repeat}
    if trial.release is None or trial.accuracy is None:
        named = {"schedule": asked.schedule, "update": asked.update, "accountant": asked.accountant}
        yield told | named | {"refused": trial.refusal}
        return
    roles, plan = trial.release.plan.roles, trial.release.plan
    told |= {"schedule": plan.schedule.name, "update": roles.update.name, "accountant": roles.accountant.name}
    for block in trial.accuracy.blocks:
        n = block.reach * trial.accuracy.n
        errors = {"l1": block.l1, "l2": block.l2, "largest": block.largest}
        yield (
            told
            | errors
            | {
                "query": block.name,
                "answers": block.queries,
                "l1_over_n": block.l1 / n,
                "largest_over_n": block.largest / n,
            }
        )


def _frame(rows: Iterator[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"answers": "Int64"})
