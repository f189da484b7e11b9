"""Tuning of the schedule for ordered columns.

Set by `python tests/benchmarks/dense.py`, on the histograms of DPBench; figures: tests/benchmarks/RESULTS.md,
"Schedules".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """One constant a line, with what it sets."""

    count: Fraction = Fraction(1, 200)  # share of the budget of the noisy number of records
    recounts: tuple[Fraction, ...] = (Fraction(1, 40), Fraction(1, 10))  # shares of further counts, while unsure
    sure: int = 3  # times its noise a count must be, or records are counted again
    first_look: Fraction = Fraction(1, 25)  # share of the first counts of boxes, where records are many
    boxes: Fraction = Fraction(1, 4)  # part of the rest for the counts of boxes that choose the buckets
    grain: int = 1000  # parts of the budget that groups of attributes share
    fewest_cells: int = 8  # of fewer cells none are merged
    most_cells: int = 2**18  # of more cells no boxes are counted
    crowded: int = 5  # n eps / cells from which a first look decides whether cells are merged: one column
    crowded_pair: int = 1  # the same: two columns and more
    worth: float = 1.0  # part of the strategy's error that buckets must be expected to leave, at most
    first_boxes: int = 4  # times as many records in each box of the first look
    reach: int = 8  # boxes that are counted for every record that the noise of a single count leaves sure
    shallowest: int = 2  # levels of boxes that are counted, at least
    deepest: int = 10  # levels of boxes that are counted, at most
    finest: int = 10  # level below which a box's effect on the workload is extrapolated: half of its parent's
    work: int = 2**33  # multiplications for what the workload asks of all boxes of one level, at most


TUNING = Tuning()
