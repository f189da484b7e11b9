"""How many rows of each person a release uses, chosen by noisy counts of persons: `--learn-max-rows`.

What a release would add in noise is forecast for every number, before any row is read. The counts say how many rows
each number would leave out. The number is chosen of which both together are the least.

`dpqr domain` knows no queries whose noise it could forecast. It chooses the least number that uses most of the rows,
and says what each number would use; later runs may use fewer rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from msgspec import Struct, field

from dpqr.domain.attribute import Attribute
from dpqr.domain.domain import LearnedRows
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.learning import RowsOfPersons, person_counts, row_numbers
from dpqr.mechanisms.noisy_answers import LaplaceAnswers
from dpqr.releases.forecast.simulation import closed_form, left_out_reach, reaches
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.marginals.forecast import POSSIBLE_RECORDS

MOST_ROWS = 64
"""The largest number among which the bound is chosen, where nobody states another one."""
LARGEST_CHOICE = 4096
NORMAL = math.sqrt(2 / math.pi)
"""Mean absolute value of normal noise of deviation 1."""
LIKELY = 1.96
USED = 0.95
"""The share of the rows that a bound uses which is chosen without queries. A later run may state fewer rows of each
person than the domain file, and none more."""
_TYPICAL = 4
"""Place of the number of rows among POSSIBLE_RECORDS for which plans show the forecasts."""
CHOICE_NEEDS_UNIT = "--learn-max-rows: chooses how many rows of each person are used; add --unit COLUMN"


class ForecastErrors(Struct, frozen=True, kw_only=True):
    """What a release with some bound on the rows of each person is forecast to miss, by the number of used rows.

    noise: mean L1 error of a block, in units of the most that a record changes, at each of POSSIBLE_RECORDS. cut: how
    much of the same a row that is left out costs at most, the mean over the blocks: 1 for tables of counts.
    """

    noise: tuple[float, ...]
    cut: float

    @classmethod
    def of(cls, plan: Plan) -> ForecastErrors:
        """Of a plan: its closed form, or its own forecast, or else the noise of what it would measure."""
        blocks = plan.problem.workload.blocks
        reach, answers = reaches(plan), np.array([block.rows for block in blocks], dtype=np.float64)
        closed = closed_form(plan)
        if closed is None and len(plan.expected_at) == len(POSSIBLE_RECORDS):
            noise = [share * records for share, records in zip(plan.expected_at, POSSIBLE_RECORDS, strict=True)]
        else:
            each = [block.deviation * NORMAL for block in plan.forecast] if closed is None else closed
            noise = [float((np.array(each) * answers / reach).mean())] * len(POSSIBLE_RECORDS)
        return cls(noise=tuple(noise), cut=float(left_out_reach(plan).mean()))

    def at(self, records: float) -> float:
        """The noise where so many rows are used."""
        return float(np.interp(math.log(max(records, 1.0)), np.log(POSSIBLE_RECORDS), self.noise))


class RowChoice(Struct, frozen=True, kw_only=True):
    """The planned choice of a bound.

    epsilon: its price. unit: whose rows. numbers: those among which it is chosen, rising. counted: the columns by whose
    rules rows are counted. forecasts: of a release with each of the numbers; none: no release is planned yet.
    """

    epsilon: Fraction
    unit: PrivacyUnit
    numbers: tuple[int, ...]
    counted: tuple[Attribute, ...]
    forecasts: Mapping[int, ForecastErrors] = field(default_factory=dict)

    def draw(self, cells: int) -> LaplaceAnswers:
        """The one draw, from the table's persons. cells: of its first column."""
        return person_counts(cells, self.numbers, self.epsilon, self.unit)

    def rows(self, counts: IntArray) -> LearnedRows:
        """What is released: noisy counts of persons."""
        return LearnedRows(numbers=self.numbers, persons=tuple(counts.tolist()), scale=self._scale)

    def best(self, learned: LearnedRows) -> int:
        """The number of rows whose forecast error is the least; the smaller one of two. Without forecasts: the least
        number that uses so much of the rows (`USED`); the first one where the counts show no rows.

        The error of a block is that of its noise and what the rows that are left out are missed by, added up: at most
        so much in L1, by the triangle inequality.

        Privacy:
            Post-processing: a function of released counts and public forecasts.
        """
        rows, numbers = rows_of_persons(learned), self.numbers
        if not self.forecasts:
            return next((most for most in numbers if rows.share(most)[0] >= USED), numbers[0])
        used = {most: rows.used(most) for most in numbers}
        missed = {most: max(used[numbers[-1]] - used[most], 0.0) for most in numbers}

        def error(most: int) -> float:
            found = self.forecasts[most]
            return found.at(used[most]) + found.cut * missed[most]

        return min(numbers, key=error)

    @property
    def _scale(self) -> Fraction:
        return self.draw(1).scale

    @property
    def lines(self) -> Iterator[str]:
        """What is paid for it, and what each number would cost."""
        numbers = self.numbers
        yield (
            f"rows of each {self.unit.noun}: chosen among {numbers[0]} to {numbers[-1]} by counts of "
            f"{self.unit.noun}s with an error of {float(self._scale) * math.sqrt(2):.3g} each"
        )
        if not self.forecasts:
            yield f"the least number is chosen that uses {USED:.0%} of the rows, as far as these counts show"
            return
        shown = ", ".join(f"{most}: {self.forecasts[most].noise[_TYPICAL]:.3g}" for most in numbers)
        yield (
            f"of {POSSIBLE_RECORDS[_TYPICAL]:,.0f} rows, noise is forecast to count so many wrong in a query, by that "
            f"number: {shown}; those that are left out come to it"
        )


def choices(stated: int | None) -> tuple[int, ...]:
    """The numbers among which the bound is chosen. stated: the largest one. UsageFault where there is no choice."""
    most = MOST_ROWS if stated is None else stated
    if not 2 <= most <= LARGEST_CHOICE:
        raise UsageFault(
            f"--learn-max-rows: chooses among 1 to {most} rows, as --max-rows or the domain file states it; that may "
            f"be 2 to {LARGEST_CHOICE}"
        )
    return row_numbers(most)


def rows_of_persons(learned: LearnedRows) -> RowsOfPersons:
    """The estimates that follow from released counts."""
    counts = np.array(learned.persons, dtype=np.int64)
    return RowsOfPersons(numbers=learned.numbers, counts=counts, scale=float(learned.scale))


def chosen_words(learned: LearnedRows, most: int) -> str:
    """What share of the rows a bound uses, where it was chosen by these counts. Privacy: released values only."""
    share, deviation = rows_of_persons(learned).share(most)
    last = learned.numbers[-1]
    return (
        f"the bound of {most} was chosen among 1 to {last} rows by noisy counts: about {share:.0%} of the rows are "
        f"used (+-{LIKELY * deviation:.1%}, the noise of these counts), where a person has at most {last}"
    )


def used_words(learned: LearnedRows) -> str:
    """What share of the rows each bound would use, for choices of a later run: at doublings, and at the last number.
    Privacy: released values only."""
    rows, numbers = rows_of_persons(learned), learned.numbers
    shown = [most for most in numbers if most & (most - 1) == 0 or most == numbers[-1]]
    return f"rows used, by --max-rows: {', '.join(f'{most}: {rows.share(most)[0]:.0%}' for most in shown)}"
