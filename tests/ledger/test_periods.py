"""What periods cost together: by the rule itself, over all small histories."""

import itertools
from fractions import Fraction

import pytest
from support.cases import in_one_test

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import UsageFault
from dpqr.ledger.periods import ALL_PERIODS, PeriodBudgets

NAMES = (ALL_PERIODS, "2026-01", "2026-02", "2026-03")
SHARE = Cost(Fraction(1), Fraction(1, 10))


def spending():
    """Small costs of up to four kinds of releases."""
    amounts = [Cost(Fraction(a, 4), Fraction(d, 40)) for a, d in ((0, 0), (1, 2), (2, 1))]
    for costs in itertools.product([None, *amounts], repeat=len(NAMES)):
        yield {name: cost for name, cost in zip(NAMES, costs, strict=True) if cost is not None}


def paid_by(unit, spent):
    """What a unit with rows in these periods has paid: the releases that read any of its rows, added up."""
    read = [cost for name, cost in spent.items() if name == ALL_PERIODS or name in unit]
    return sum((cost.amount for cost in read), Fraction(0)), sum((cost.delta for cost in read), Fraction(0))


@in_one_test("parallel", [True, False])
def test_no_unit_pays_more_than_the_total_and_no_figure_of_it_is_in_vain(parallel):
    budgets = PeriodBudgets(column="day", every="month", share=SHARE, parallel=parallel)
    months = NAMES[1:]
    units = [(), *((month,) for month in months)] if parallel else [months]
    for spent in spending():
        total = budgets.total(spent)
        paid = [paid_by(unit, spent) for unit in units]
        assert (total.amount, total.delta) == (max(a for a, _ in paid), max(d for _, d in paid))
        for month in months:
            own = budgets.of(month, spent)
            assert (own.amount, own.delta) == paid_by((month,), spent)
        assert all(budgets.of(month, spent) <= budgets.of(ALL_PERIODS, spent) for month in months)


@in_one_test("parallel", [True, False])
def test_the_largest_request_fits_and_no_larger_one_does(parallel):
    budgets, life = (
        PeriodBudgets(column="day", every="month", share=SHARE, parallel=parallel),
        Cost(Fraction(3, 2), SHARE.delta),
    )
    for spent in spending():
        if not (budgets.total(spent) <= life and budgets.of(ALL_PERIODS, spent) <= SHARE):
            continue
        for name in NAMES:
            room = budgets.room(name, spent, life - budgets.total(spent))
            after = {**spent, name: spent.get(name, Cost()) + room}
            more = {**after, name: after[name] + Cost(Fraction(1, 1000))}
            assert budgets.total(after) <= life
            assert budgets.of(name, after) <= SHARE
            assert not (budgets.total(more) <= life and budgets.of(name, more) <= SHARE)


def test_a_release_of_several_periods_charges_each_of_them():
    held = PeriodBudgets(column="day", every="month", share=Cost(Fraction(1)))
    assert held.paying("2026-11/2027-01") == ("2026-11", "2026-12", "2027-01")
    assert held.paying("2026-11") == ("2026-11",)
    assert held.paying(ALL_PERIODS) == (ALL_PERIODS,)


@in_one_test("name", ["2026-02/2026-01", "2026-01/2026-01", "2026-01/", "2026-01/2026", "2026-W01/2026-W03"])
def test_other_names_of_several_periods_are_refused(name):
    with pytest.raises(UsageFault):
        PeriodBudgets(column="day", every="month", share=Cost(Fraction(1))).paying(name)
