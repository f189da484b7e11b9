"""Levers: what would make the answers of a plan better, each with what it would do to the noise.

Explanation: the noise, error and price of each query of a plan, and its levers. Public facts only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from dpqr.domain.attribute import Bins, Codes
from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import amount, count_words
from dpqr.releases.forecast.simulation import PlanForecast, reaches
from dpqr.strategies.plan import Plan
from dpqr.workload.block import QueryBlock
from dpqr.workload.ordered_columns import decimal_text
from dpqr.workload.workload import named_axes

GROUPED = ("mean", "median", "quantiles", "variance", "proportion", "ratio")
"""Figures whose error falls with the records of a group."""


class ExplainedQuery(Struct, frozen=True, kw_only=True):
    """One column of answers, or one figure.

    noise: standard deviation of an answer, should it be measured, in records or the sum's unit; of a figure, that of
    the answers that it is computed from, widest first. error: as forecast, in the figure's own unit. error_bound: what
    it stays below in 95% of the releases. better: sentences.
    """

    name: str
    answers: int
    kind: str
    noise: float
    error: float | None
    error_bound: float | None
    better: tuple[str, ...]


def explain_queries(plan: Plan, found: PlanForecast) -> tuple[ExplainedQuery, ...]:
    """Every query that was asked for, figures after blocks, tables of persons last: these are off by their noise."""
    noise = {one.name: one.deviation for one in plan.forecast}
    better: dict[str, list[str]] = {}
    for name, words in range_levers(plan, found):
        better.setdefault(name, []).append(words.removeprefix(f"{name}: "))
    answers = [
        (one.name, one.answers, "count" if one.counts else "sum", one.error) for one in found.blocks if one.by_itself
    ]
    figures = [(one.name, one.values, one.kind, one.error) for one in found.figures if one.kind != "top"]
    parts = {one.name: one.blocks for one in plan.problem.workload.figures}
    explained = []
    few = ("fewer groups leave more records in each, and the error falls with them",)
    for name, count, kind, error in (*answers, *figures):
        own = (name,) if kind in ("count", "sum") else parts[name]
        widest = max(noise.get(each, math.nan) for each in own)
        most = None if error is None else error.at_most(Fraction(95, 100))
        explained.append(
            ExplainedQuery(
                name=name,
                answers=count,
                kind=kind,
                noise=widest,
                error=None if error is None else error.mean,
                error_bound=most,
                better=(*better.get(name, ()), *(few if kind in GROUPED and count > 1 else ())),
            )
        )
    for block, known in zip(plan.persons, plan.person_forecast, strict=True):
        explained.append(
            ExplainedQuery(
                name=block.name,
                answers=block.rows,
                kind="sum" if block.sums_totals else "count",
                noise=known.deviation,
                error=None,
                error_bound=None,
                better=cell_levers(plan),
            )
        )
    return tuple(explained)


def price_of(plan: Plan) -> str:
    """What the answers cost: they share the budget."""
    whole = f"eps {upward_text(plan.budget.epsilon)}"
    count = len(plan.problem.workload.blocks) + len(plan.persons)
    if count == 1:
        return f"{whole} buys these answers"
    shared = f"{whole} buys all {count_words(count, 'block')} of answers together"
    return f"{shared}; a query less leaves more of it for the others, and none has a price of its own"


def levers(plan: Plan, found: PlanForecast) -> tuple[str, ...]:
    """A sentence each: the ranges of sums and means, and the bounds on each person's cells and rows."""
    ranges = dict.fromkeys(words for _, words in range_levers(plan, found))
    return (*ranges, *(f"tables of persons: {words}" for words in cell_levers(plan)), *row_levers(plan))


def cell_levers(plan: Plan) -> tuple[str, ...]:
    """What the bounds on each person's cells do to tables of persons, where one could be less."""
    bounds = [block.most_cells or 1 for block in plan.persons]
    if max(bounds, default=1) == 1 or any(block.sums_totals for block in plan.persons):
        return ()
    law = "" if plan.roles.check.pure else "the root of "
    counted = " + ".join(map(str, bounds))
    return (
        f'noise is in proportion to {law}{counted}, the cells in which a person counts; "max_cells" can state fewer',
    )


def row_levers(plan: Plan) -> tuple[str, ...]:
    """What the bound on each person's rows does, where persons are protected."""
    unit = plan.problem.unit
    if not unit.columns or unit.rows == 1:
        return ()
    several = f"several, as --max-rows 1,{unit.rows}, are compared"
    if unit.cell_rows is not None:
        return (f"noise of tables is that of {unit.most_squared**0.5:.3g} rows, of all else of {unit.rows}; {several}",)
    apart = f"; --max-rows-per-cell 1: noise of tables falls to {unit.rows**-0.5:.0%}"
    return (f"noise is proportional to --max-rows {unit.rows}; {several}{'' if plan.roles.check.pure else apart}",)


def range_levers(plan: Plan, found: PlanForecast) -> Iterator[tuple[str, str]]:
    """The name of every sum and mean, and what its noise is proportional to, and would be over half of that range."""
    workload = plan.problem.workload
    figures = {name: one for one in workload.figures for name in one.blocks}
    errors = {one.name: one.error for one in found.blocks} | {one.name: one.error for one in found.figures}
    for block, reach in zip(workload.blocks, reaches(plan), strict=True):
        figure = figures.get(block.name)
        mean = figure is not None and figure.kind == "mean"
        summed = None if reach == 1.0 or (figure and not mean) else _summed(plan, block, reach, mean=mean)
        if summed is None:
            continue
        column, bins, values = summed
        name, least = figure.name if figure else block.name, values[0] if mean else Fraction(0)
        words = (
            f"{name}: noise is proportional to the range {decimal_text(least)}..{decimal_text(values[-1])} of {column}"
        )
        error = errors[name]
        if error is None:
            yield name, words
            continue
        last = max([1, *(place for place, value in enumerate(values) if value - least <= (values[-1] - least) / 2)])
        part = float((values[last] - least) / (values[-1] - least))
        joined = f"if all from {decimal_text(bins.bounds(last)[1])} on counted in the bin before"
        fall = f"noise would be {part:.2g} of that, and an error of {amount(error.mean)} {amount(error.mean * part)}"
        yield name, f"{words}; {joined}, {fall}, where it is noise alone"


def _summed(
    plan: Plan, block: QueryBlock, reach: float, *, mean: bool
) -> tuple[str, Bins, tuple[Fraction, ...]] | None:
    """The name of the summed column, its bins and their midpoints; None: there is no such column of three bins or more
    whose largest value lies at the top."""
    named = named_axes(block)
    for axis in block.axes:
        attribute = plan.problem.domain.attributes[axis]
        held = attribute.axis
        bins = Bins(tuple(map(Fraction, range(held.size + 1))), integral=True) if isinstance(held, Codes) else held
        if axis in named or not isinstance(bins, Bins) or bins.size < 3:
            continue
        values = tuple(bins.midpoint(index) for index in range(bins.size))
        most = values[-1] - values[0] if mean else values[-1]
        if values[0] >= 0 and abs(float(most) - reach) <= 1e-6 * reach:
            return attribute.name, bins, values
    return None
