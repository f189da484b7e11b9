"""Tuning of the schedule for marginals.

Errors are L1 errors over n, shares are of the budget. Set by `python tests/benchmarks/marginals` and
`python tests/benchmarks/marginals/shapes.py`; figures: tests/benchmarks/RESULTS.md, "Schedules".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """One constant a line, with what it sets."""

    table: int = 2**22  # cells of the one table of all columns, at most (32 MiB)
    count: Fraction = Fraction(1, 50)  # share of the count of the records
    hidden_by_columns: float = 0.25  # part of the records that one-way marginals hide, for each further column
    hidden_by_pairs: float = 0.15  # part of them that pairs hide
    left: float = 0.625  # part of the noise of a measurement that a fit leaves in its answers, where that is small
    summed: float = 1.2  # noise of sums of cells of a wider marginal, over that of cells which a fit cuts as it does
    explored: float = 2.0  # blocks a column that a search is forecast to measure
    passed_over: float = 0.25  # part of what is hidden that a search leaves in the blocks that it passes over
    last_pure: float = 0.55  # share of the blocks in the forecast of a search, in epsilon
    last_rho: float = 0.9  # and in rho
    searched_pure: float = 1.3  # error of a search in epsilon over its forecast, where accountants are compared
    fine_dependence: float = 0.01  # deviation of the measured dependence, L1 error over n
    largest_dependence: float = 0.05  # share that this costs, at most
    dependence: float = 0.06  # deviation above which it is not measured
    least_dependence: float = 0.005  # of columns that noise shows as independent
    kept: float = 0.8  # part of its expected error that the noise of a measurement leaves after the fit
    hidden_below: float = 0.4  # part of what one-way marginals hide in a pair that pairs hide in each further column
    beside: float = 0.15  # share of one-way marginals beside the blocks that a search explores
    concentration: tuple[float, float] = (2.0, 3.0)  # of dependence on few pairs: what is usual, and the most
    started: float = 0.8  # forecast error of a search over its own, where tables of an earlier release spread the rest
    explored_pure: float = 0.4  # part of what is left that what a search explores is forecast to get, in epsilon
    explored_rho: float = 0.7  # and in rho
    opening: Fraction = Fraction(1, 10)  # share of the first one-way marginals
    opening_error: float = 0.15  # expected error of a block above which one-way marginals are measured again
    largest_opening: float = 0.5  # share of one-way marginals with their re-measurement, at most
    selection: Fraction = Fraction(1, 10)  # part of a round's price that its selection is forecast to take
    last: float = 0.5  # assumed share of the last measurements when coarser blocks are chosen
    coarse_error: float = 0.15  # expected error above which a coarser block is offered too
    coarse_cell: float = 2.0  # noise deviations that a coarse cell of even counts holds, at least
    first_gap: float = 0.5  # gap that is assumed before the first batch; caps the gap that sets a precision
    precision: float = 1.0  # target precision of a measurement, as a fraction of the largest gap observed so far
    fine_error: float = 0.1  # a measurement is at least this precise where that is cheap
    fine_part: float = 0.25  # cheap: at most this part of an even split of what is left over the candidates
    temperature: float = 0.1  # of a selection, as a fraction of the gap
    batch: int = 6  # one further choice between two fits for so many explored blocks
    batch_share: float = 0.1  # part of what is left that the measurements of one batch cost, at most
    patience: int = 2  # batches without improvement after which a level ends
    noisy_error: float = 0.8  # error of a measurement from which a batch without improvement counts twice
    resolved: float = 2.0  # a batch decides if what noise may hide is at most this many times the final error
    hopeless: float = 0.22  # no search where a batch's measurement expected more than this part of the largest gap
    wide_error: float = 0.12  # blocks wider than pairs are searched where measuring them all would leave less
    all_explored: float = 0.4  # part of the blocks after which it is asked whether all should be measured
    all_gap: float = 1.25  # all are measured where the gap is so many times the error that this would leave
    apart_singles: tuple[float, ...] = (
        0.05,
        0.1,
        0.15,
        0.2,
        0.3,
        0.45,
        0.6,
        0.75,
    )  # of the last measurements, for columns apart
    apart_totals: tuple[float, ...] = (0.01, 0.04)  # of these, for the total
    apart_worth: float = 0.9  # part of the tables' expected error that columns and pairs apart leave, at most
    apart_cells: int = 64  # of a column whose pairs are measured apart, at most
    apart_deviation: float = 0.7  # of tables; below it, noise on whole records is mostly zero, and tables are better
    work: int = 2**19  # scores of blocks that all choices compute together, at most
    weakest: float = 1e-3  # Dobrushin coefficient of a measured pair that showed no dependence
    least_passed: float = 0.2  # smallest part of a gap that a fit is assumed to show


TUNING = Tuning()
