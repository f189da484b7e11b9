"""Forecasts: the error that releases are expected to have, before there is a table."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from dpqr.kernel.errors import UsageFault
from dpqr.python.checks import MOST_RECORDS, Document, Figure, Path, figure, integer, run_sanitised
from dpqr.python.options import PlanOptions
from dpqr.python.requests import release_request, table_source
from dpqr.python.shown import Readable, Receipt, forecasts

if TYPE_CHECKING:
    import pandas as pd

    from dpqr.python.ledger import Ledger
    from dpqr.releases.forecast.by_epsilon import EpsilonForecasts, ForecastRequest, GoalRequest
    from dpqr.releases.requests import ReleaseRequest
    from dpqr.tables.source import TableSource


class Forecast(Readable):
    """Expected errors, by epsilon and query. All of it is public, and estimated.

    >>> import dpqr
    >>> found = dpqr.forecast(queries=dpqr.queries().prefix("age"), domain={"age": 4}, eps=1, schedule="strategy")
    >>> found
    Forecast(eps 1, 1 query)
    >>> found.frame[["eps", "query", "answers"]].values.tolist()
    [[1.0, 'prefix(age)', 4]]
    """

    def __init__(self, forecasts: EpsilonForecasts) -> None:
        self._forecasts = forecasts

    @property
    def epsilon(self) -> float:
        """The smallest epsilon that keeps the goal; without a goal the smallest one that was asked about."""
        return float(self._forecasts.points[0].forecast.epsilon)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row an epsilon and query: `error`, the expected mean absolute error of an answer, in records, its
        `deviation` from release to release, and `l1_over_n`. Tables of persons come last at each epsilon: in persons,
        or the unit of a total, without `l1_over_n`."""
        import pandas as pd

        rows: list[tuple[float, str, int, float, float, float]] = []
        for found in (point.forecast for point in self._forecasts.points):
            epsilon = float(found.epsilon)
            rows += [
                (epsilon, one.name, one.answers, one.error.mean, one.error.deviation, one.over_n(found.records))
                for one in found.blocks
            ]
            rows += [
                (epsilon, one.name, one.answers, one.error.mean, one.error.deviation, math.nan) for one in found.persons
            ]
        return pd.DataFrame(rows, columns=["eps", "query", "answers", "error", "deviation", "l1_over_n"])

    @property
    def record(self) -> dict[str, Any]:
        """The whole forecast as plain JSON values, as `dpqr plan --json` prints it."""
        document: dict[str, Any] = forecasts(self._forecasts).document()
        return document

    @property
    def notes(self) -> tuple[str, ...]:
        """What the figures rest on."""
        return self._forecasts.notes

    @property
    def svg(self) -> str:
        """The plot of error by epsilon, as an SVG file."""
        from dpqr.report.charts import forecast_svg

        return forecast_svg([point.forecast for point in self._forecasts.points])

    @property
    def text(self) -> Receipt:
        """The forecast as the command line shows it."""
        return forecasts(self._forecasts).text

    def __repr__(self) -> str:
        from dpqr.kernel.budget import upward_text
        from dpqr.kernel.wording import count_words

        epsilons = ", ".join(upward_text(point.forecast.epsilon) for point in self._forecasts.points)
        return f"Forecast(eps {epsilons}, {count_words(len(self._forecasts.points[0].forecast.blocks), 'query')})"


def forecast(
    *,
    queries: Document,
    domain: Document | None = None,
    eps: Figure | Sequence[Figure] | None = None,
    within: Figure | None = None,
    error: Figure | None = None,
    relative: Figure | None = None,
    confidence: Figure | None = None,
    goal_queries: Sequence[str] = (),
    proxy: object = None,
    like: Path | None = None,
    runs: int | None = None,
    row_bounds: Sequence[int] = (),
    learn_max_rows: Figure | None = None,
    dataset: str | None = None,
    ledger: Path | Ledger | None = None,
    anchor: Path | None = None,
    **options: Unpack[PlanOptions],
) -> Forecast:
    """Forecast the error of releases, or find the smallest epsilon that keeps a goal.

    Args:
        eps: one epsilon or several; in its place the goal: within, the distance from the truth within which an answer
            lies; error, the mean absolute error of an answer in records; or relative, the L1 error over n.
        confidence: of within, the share of the answers; of the others, the part of the releases; None: 0.95.
        goal_queries: each keeps it, in its own unit; none: all counts together, or the mean over all queries.
        proxy: a table that the caller declares public; its rows are looked at exactly. like: directory of an earlier
            release with synthetic rows. Neither: made-up tables. runs: simulated releases on each.
        row_bounds: numbers to compare in place of max_rows, a forecast for each. learn_max_rows: a share of epsilon by
            which a release chooses among them; a forecast of the rest for each doubling up to max_rows, or 64.
        options: those of `plan`; n: the number of records to forecast for.

    Raises:
        DpqrError: as `plan`; InfeasiblePlan where no epsilon keeps the goal.

    Privacy:
        Public: no private table is named, and nothing is charged.
    """
    from dpqr.releases.forecast.by_epsilon import forecast_releases

    planned = release_request(
        None,
        queries=queries,
        domain=domain,
        eps="1",
        dataset=dataset,
        ledger=ledger,
        anchor=anchor,
        learn_max_rows=learn_max_rows,
        **options,
    )
    goal = goal_request(goal_queries, within=within, error=error, relative=relative, confidence=confidence)
    table = proxy_table(proxy, options)
    request = forecast_request(planned, eps=eps, goal=goal, proxy=table, like=like, runs=runs, max_rows=row_bounds)
    return Forecast(run_sanitised(lambda: forecast_releases(request)))


def forecast_request(
    planned: ReleaseRequest,
    *,
    eps: Figure | Sequence[Figure] | None,
    goal: GoalRequest | None,
    proxy: TableSource | None,
    like: Path | None,
    runs: int | None,
    max_rows: Sequence[int] = (),
) -> ForecastRequest:
    """What `dpqr.forecast` and `dpqr plan` ask of the use case. planned: the release; the others as `forecast`."""
    from dpqr.releases.forecast.by_epsilon import ForecastRequest, epsilons

    several = eps if isinstance(eps, list | tuple) else () if eps is None else (eps,)
    return ForecastRequest(
        release=planned,
        epsilons=epsilons(",".join(figure("eps", each) for each in several)) if several else (),
        goal=goal,
        n=planned.plan.n,
        proxy=proxy,
        like=None if like is None else os.fspath(like),
        runs=None if runs is None else integer("runs", runs),
        max_rows=tuple(integer("max_rows", each, most=MOST_RECORDS) for each in max_rows),
    )


def proxy_table(proxy: object, reading: Mapping[str, object]) -> TableSource | None:
    """The table that the caller declares public; None: there is none."""
    none = proxy is None or (isinstance(proxy, tuple) and not proxy)
    return None if none else table_source(proxy, reading)


def goal_request(names: Sequence[str], **given: Figure | None) -> GoalRequest | None:
    """The goal in place of an epsilon; None: nothing is stated of it. given: the other fields of `GoalRequest`."""
    from dpqr.releases.forecast.by_epsilon import GoalRequest

    if isinstance(names, str):
        raise UsageFault("goal_queries: is a text; give a list of names")
    texts = {name: figure(name, value) for name, value in given.items() if value is not None}
    return GoalRequest(**texts, names=tuple(names)) if texts or names else None
