"""Sweeps: the exact errors of many releases of a public table, as one tidy frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.api.checks import Figure, Path, whole
from dpqr.api.options import RunOptions, limits, plan_request, table_source
from dpqr.api.payer import ledger_paths
from dpqr.api.requests import Unwatched
from dpqr.api.withheld import withheld
from dpqr.errors import UsageFault

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.api.ledger import Ledger
    from dpqr.api.queries import Document
    from dpqr.app.evaluating.requests import SweepRequest
    from dpqr.app.evaluating.sweep import Trial
    from dpqr.io.tables.source import TableSource

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
    from dpqr.app.evaluating.requests import SweepRequest

    roles = product(*map(_several, (eps, schedule, update, accountant)))
    named = ((each, dict(zip(ROLES, chosen, strict=True))) for each, *chosen in roles)
    plans = tuple(plan_request(queries, each, domain, {**options, **chosen}) for each, chosen in named)
    files = ledger_paths(ledger, anchor)
    request = SweepRequest(
        source=_declared(public, rehearse, options),
        plans=plans,
        repeats=whole("repeats", repeats),
        limits=limits(options),
        dataset=dataset,
        **dict(zip(("ledger", "anchor"), files, strict=True)),
    )
    return _frame(row for trial in _tried(request) for row in _rows(trial))


def _declared(public: object, rehearse: bool, options: Mapping[str, object]) -> TableSource | None:
    """The table; None: rows of a rehearsal. UsageFault unless it is one of them."""
    if (public is None) is not rehearse:
        raise UsageFault(
            "sweep: its errors are exact, so say on what: public=TABLE for one that is public or made up, or "
            "rehearse=True for rows drawn from the public domain"
        )
    return None if rehearse else table_source(public, options)


def _tried(request: SweepRequest) -> list[Trial]:
    """All trials. UsageFault where none was made."""
    from dpqr.app.evaluating.sweep import sweep as trials

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
