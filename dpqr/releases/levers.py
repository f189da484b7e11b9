"""Levers: what would make the answers of a plan better, each with what it would do to the noise. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpqr.domain.attribute import Bins, Codes
from dpqr.kernel.wording import amount
from dpqr.releases.forecast_error import PlanForecast, reaches
from dpqr.strategies.plan import Plan
from dpqr.workload.block import QueryBlock
from dpqr.workload.ordered_columns import decimal_text
from dpqr.workload.workload import named_axes


def levers(plan: Plan, found: PlanForecast) -> tuple[str, ...]:
    """A sentence each: the ranges of sums and means, and the bound on each person's rows."""
    unit = plan.problem.unit
    ranges = dict.fromkeys(words for _, words in range_levers(plan, found))
    bound = f"noise is proportional to --max-rows {unit.rows}; several, as --max-rows 1,{unit.rows}, compare them"
    return (*ranges, *([bound] if unit.column is not None and unit.rows > 1 else []))


def range_levers(plan: Plan, found: PlanForecast) -> Iterator[tuple[str, str]]:
    """The name of every sum and mean, and what its noise is proportional to, and would be with a bin less."""
    workload = plan.problem.workload
    figures = {name: one for one in workload.figures for name in one.blocks}
    errors = {one.name: one.error for one in found.blocks} | {one.name: one.error for one in found.figures}
    for block, reach in zip(workload.blocks, reaches(plan), strict=True):
        figure = figures.get(block.name)
        mean = figure is not None and figure.kind == "mean"
        summed = None if reach == 1.0 or (figure and not mean) else _summed(plan, block, reach, mean=mean)
        if summed is None:
            continue
        column, values, edge = summed
        name, least = figure.name if figure else block.name, values[0] if mean else Fraction(0)
        words = (
            f"{name}: noise is proportional to the range {decimal_text(least)}..{decimal_text(values[-1])} of {column}"
        )
        part, error = float((values[-2] - least) / (values[-1] - least)), errors[name]
        if error is None:
            yield name, words
            continue
        less = f"records from {decimal_text(edge)} on in the bin before, a bin less, make it {part:.2g} of that"
        fall = f"of a mean error of {amount(error.mean)}, what is noise would fall to {amount(error.mean * part)}"
        yield name, f"{words}; {less}: {fall}"


def _summed(
    plan: Plan, block: QueryBlock, reach: float, *, mean: bool
) -> tuple[str, tuple[Fraction, ...], Fraction] | None:
    """The name of the summed column, the midpoints of its bins, and where the last one begins; None: there is no such
    column of three bins or more whose largest value lies at the top."""
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
            return attribute.name, values, bins.bounds(bins.size - 1)[0]
    return None
