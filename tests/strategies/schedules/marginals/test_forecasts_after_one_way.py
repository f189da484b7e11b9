"""What the ways to go on after the first one-way marginals are forecast to leave, and what follows."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from strategies.schedules.marginals.test_one_table import BUDGET, marginals, problem, roles
from support.cases import in_one_test

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.block_errors import FINENESS
from dpqr.strategies.guard import make_filter
from dpqr.strategies.schedules.marginals.decision import ContinuationForecaster
from dpqr.strategies.schedules.marginals.forecast import TUNING
from dpqr.strategies.schedules.marginals.schedule import Marginals, OneWayState
from dpqr.strategies.schedules.marginals.search import SearchState, start_search
from dpqr.strategies.transcript import ErrorSum, Round, Step, Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Measurement

SIZES, RECORDS = (4,) * 6, 12_000
PAIRS = marginals(2, SIZES)


def searching(blocks=PAIRS, sizes=SIZES, accountant="zcdp", budget=BUDGET):
    return Marginals(table=0).plan(problem(blocks, sizes), budget, roles(accountant))


def rounds(plan, records=RECORDS):
    """Of the first one-way marginals: even ones."""
    for (block,) in plan.opening:
        law = plan.roles.check.law((block,), plan.problem.unit, plan.price("opening"))
        even = np.full(block.cells, records // block.cells)
        measured = Measurement(blocks=(block,), values=(even,), law=law)
        yield Round(choice=None, measurement=measured, charges=(0,))


def foreseen(plan, records=RECORDS):
    return ContinuationForecaster.of(start_search(plan, [one.measurement for one in rounds(plan, records)]))


def asked(plan, records=RECORDS):
    """The state after the first one-way marginals, and a filter that has admitted them."""
    state, admits = OneWayState(plan=plan, foresees=True), make_filter(plan)
    for one in rounds(plan, records):
        step = state.step()
        admits.charge(plan.roles.check.event(step.only, plan.problem.unit, step.measure))
        state = state.after(one)
    return state, admits


def shown(step, mean):
    """A round that shows a mean error of so many records; None: it was lost."""
    law = DiscreteLaplace(Fraction(64))
    found = ErrorSum(value=round(FINENESS * len(step.only) * (mean or 0)), blocks=len(step.only), each=1, law=law)
    return Round(choice=None, measurement=None, charges=(9,), errors=None if mean is None else found)


def test_more_dependence_costs_those_that_measure_less_of_it():
    known = foreseen(searching(marginals(3, SIZES), accountant="basic"))
    few, many = (known.after(dependence, 0.0) for dependence in (0.005, 1.0))
    assert (few.best, many.best) == ("columns", "blocks")
    assert few.errors["columns"] < few.errors["pairs"] < few.errors["blocks"]
    assert many.errors["blocks"] < min(many.errors["pairs"], many.errors["search"])
    assert all(many.errors[course] > few.errors[course] for course in many.errors)


def test_errors_fall_with_the_records_and_rise_with_what_was_spent():
    plan = searching()
    few, many = (foreseen(plan, records).after(0.1, 0.0).errors for records in (RECORDS, 100 * RECORDS))
    less = foreseen(plan).after(0.1, 0.05).errors
    assert all(many[course] < few[course] < less[course] for course in few)


def test_under_rho_one_way_marginals_alone_are_no_course():
    assert "columns" not in foreseen(searching()).after(0.005, 0.0).errors


@in_one_test("over_noise", [0.0, 1.0, 1e3])
def test_all_pairs_leave_the_noise_of_their_parts(over_noise):
    """Where records are many. Nine of sixteen parts of a pair's table are its own; all five pairs that share a column
    show that column's three. Of a dependence the fit leaves what the best weight of its noise would."""
    plan, records = searching(), 10**9
    known = foreseen(plan, records)
    left, pairs, columns = 0.9, 15, 6
    own = known.known.budget.deviation_at(left / pairs)
    opening = known.known.budget.deviation_at(0.1 / columns)
    column = (5 / (4 * own**2) + 1 / opening**2) ** -0.5
    total = 0.8 * (15 / (16 * own**2) + 6 / (4 * opening**2)) ** -0.5
    noise = TUNING.kept * 16 * own * 0.75 / records
    dependence = over_noise * noise
    weighed = dependence * noise / np.hypot(noise, dependence)
    others = TUNING.kept**2 * (2 * (4 * column * 0.75**0.5) ** 2 + total**2) / records**2
    forecast = known.after(dependence, 0.0).errors["blocks"]
    assert forecast == pytest.approx((weighed**2 + others) ** 0.5, rel=0.01)


@in_one_test("accountant", ["basic", "zcdp"])
def test_pairs_that_noise_hides_leave_their_dependence_once(accountant):
    """Noise of any size leaves an error of all records, times `kept`, at most."""
    known = foreseen(searching(accountant=accountant))
    deviations = np.where([len(block.axes) > 1 for block in known.blocks], 1e7, 1.0)
    weighed = TUNING.kept * 0.3 / np.hypot(TUNING.kept, 0.3)
    assert known._error(deviations, 0.3) == pytest.approx(weighed, rel=0.01)


def test_blocks_that_are_no_marginals_are_forecast_by_what_they_hold():
    half = Dense(np.array([[1, 1, 0, 0]]))
    corner = QueryBlock(
        name="corner", factors=tuple(Factor(axes=(axis,), sizes=(4,), matrix=half) for axis in range(3))
    )
    with_it, without = (foreseen(searching(blocks)) for blocks in ((corner, *marginals(3, SIZES)), marginals(3, SIZES)))
    one, other = (known.after(0.3, 0.0).errors for known in (with_it, without))
    assert all(0.9 * other[course] < one[course] < other[course] for course in ("blocks", "search"))


def test_prefixes_are_forecast_as_they_are_asked_and_not_by_the_cells_that_are_measured_for_them():
    """Noise of k cells together is sqrt(k) times that of one, and is not cut as it is in each of them. So one-way
    marginals alone are better where all pairs would be for the cells."""
    sizes = (4, *(40,) * 3)
    prefixes = tuple(
        QueryBlock(
            name=f"by {axes}",
            factors=(
                Factor.identity(axes[0], sizes[axes[0]]),
                Factor(axes=axes[1:], sizes=(sizes[axes[1]],), matrix=Prefix(sizes[axes[1]])),
            ),
        )
        for axes in combinations(range(len(sizes)), 2)
    )
    of_prefixes, of_cells = (
        foreseen(searching(blocks, sizes, accountant="basic"), 2_000) for blocks in (prefixes, marginals(2, sizes))
    )
    assert {block.axes for block in of_prefixes.blocks} == {block.axes for block in of_cells.blocks}
    assert (of_prefixes.after(0.4, 0.0).best, of_cells.after(0.4, 0.0).best) == ("columns", "blocks")


def test_a_public_number_of_records_leaves_no_noise_of_the_total():
    known = foreseen(searching(accountant="basic"))
    public = replace(known, known=replace(known.known, unit=PrivacyUnit(neighbours=Neighbours.REPLACE)))
    deviations = np.where([len(block.axes) > 1 for block in known.blocks], math.inf, 100.0)
    assert public._error(deviations, 0.0) < known._error(deviations, 0.0)


def test_noise_in_the_opening_is_no_dependence():
    plan = searching()
    known = foreseen(plan)
    step = asked(plan)[0].step()
    quiet = known.dependence(shown(step, 0.1 * RECORDS).errors)
    loud = foreseen(searching(budget=replace(BUDGET, epsilon=BUDGET.epsilon / 4)))
    assert loud.dependence(shown(step, 0.1 * RECORDS).errors) < quiet < 0.1
    assert known.dependence(shown(step, -5.0).errors) == TUNING.least_dependence


@in_one_test("accountant", ["basic", "zcdp"])
def test_the_error_of_one_way_marginals_on_all_pairs_is_measured_where_it_decides(accountant):
    plan = searching(marginals(3, SIZES), accountant=accountant)
    step = asked(plan)[0].step()
    assert (step.errors, step.refit, step.select) == (True, False, None)
    assert [block.axes for block in step.only] == [block.axes for block in marginals(2, SIZES)]


@in_one_test(("mean", "widths"), [(0.0, {1}), (0.6, {3})])
def test_what_it_shows_decides_and_all_that_is_left_is_spent(mean, widths):
    plan = searching(marginals(3, SIZES), accountant="basic")
    state, admits = asked(plan)
    step = state.step()
    admits.charge(plan.roles.check.event(step.only[:1], plan.problem.unit, step.measure))
    state, found = state.after(shown(step, mean * RECORDS)), set()
    while step := state.step():
        admits.charge(plan.roles.check.event(step.only, plan.problem.unit, step.measure))
        found.add(len(step.only[0].axes))
        state = state.after(Round(choice=None, measurement=None, charges=(1,)))
    assert found == widths
    assert 0.999 * admits.limit <= admits._spent <= admits.limit


def test_an_error_that_a_crash_has_lost_leaves_a_search_with_what_is_left():
    state, _ = asked(searching())
    share = state.share
    after = state.after(shown(state.step(), None))
    assert after.step().select is not None
    assert after.state.left == pytest.approx(0.9 - share)


@in_one_test(("ways", "sizes", "records"), [(2, SIZES, 20), (2, (5, 5), RECORDS), (1, SIZES, RECORDS)])
def test_where_the_dependence_is_not_measured(ways, sizes, records):
    step = asked(searching(marginals(ways, sizes), sizes), records)[0].step()
    assert step is None or not step.errors


def test_noise_that_hides_the_dependence_leaves_one_way_marginals_alone():
    assert foreseen(searching(), 400).certain == "columns"


def test_pairs_of_too_many_cells_are_not_compared(monkeypatch):
    plan = searching()
    assert foreseen(plan).share
    monkeypatch.setattr("dpqr.strategies.schedules.marginals.search.TUNING", replace(TUNING, table=15 * 16 - 1))
    assert not foreseen(plan).share


def test_a_release_says_what_decided():
    plan = replace(searching(), schedule=Marginals())
    transcript = Transcript()
    for one in rounds(plan):
        transcript.add(one)
    assert plan.schedule.reasons(plan, transcript) == ()
    transcript.add(shown(asked(plan)[0].step(), 0.5 * RECORDS))
    (sentence,) = plan.schedule.reasons(plan, transcript)
    assert sentence.startswith("all blocks were measured once, without a search: one-way marginals leave about 0.5")
    assert transcript.lost == 0


def test_and_what_the_check_of_a_search_showed():
    plan = replace(searching(), schedule=Marginals())
    opening = [*rounds(plan)]
    transcript = Transcript()
    for one in (*opening, shown(asked(plan)[0].step(), 0.05 * RECORDS)):
        transcript.add(one)
    # Five pairs are chosen, ten are not.
    for pair in PAIRS[:5]:
        transcript.add(of_pair(opening[0], pair, choice=0))
    check = Step(candidates=PAIRS[5:], select=None, measure=plan.price("opening"), errors=True)
    transcript.add(shown(check, 0.04 * RECORDS))

    def followed(*later):
        grown = Transcript()
        for one in (*transcript.rounds, *later):
            grown.add(one)
        sentence, after = plan.schedule.reasons(plan, grown)[1].split(": ")
        assert sentence == (
            "the 10 blocks that the search had not measured had an error of about 0.04 (L1 over n), by a noisy sum"
        )
        return after

    assert followed() == "it ended"
    assert followed(*(of_pair(opening[0], pair) for pair in PAIRS[:5])) == "it ended"
    assert followed(*(of_pair(opening[0], pair) for pair in PAIRS)) == "so all blocks were measured"
    assert followed(of_pair(opening[0], PAIRS[7], choice=3), of_pair(opening[0], PAIRS[7])) == "it went on"


def of_pair(one, pair, choice=None):
    return replace(one, choice=choice, measurement=replace(one.measurement, blocks=(pair,)))


def corners(sizes, ways=3):
    """One cell of all sets of so many columns."""
    first = [Dense(np.eye(1, size, dtype=np.int64)) for size in sizes]
    return tuple(
        QueryBlock(
            name=f"corner{axes}",
            factors=tuple(Factor(axes=(axis,), sizes=(sizes[axis],), matrix=first[axis]) for axis in axes),
        )
        for axes in combinations(range(len(sizes)), ways)
    )


@in_one_test("accountant", ["basic", "zcdp"])
def test_blocks_that_the_model_would_lose_are_not_all_measured(accountant):
    """Six columns of 12 values: a model of all has 3 million cells, one of a triple 1,728."""
    sizes = (12,) * 6
    blocks = (*marginals(2, sizes), *corners(sizes))
    crowded = foreseen(searching(blocks, sizes, accountant=accountant), records=12**4)
    assert "blocks" not in crowded.after(0.3, 0.0).errors
    assert {"pairs", "search"} <= crowded.after(0.3, 0.0).errors.keys()
    assert crowded.known.check_share(SearchState(left=0.5, level=2), True) == 0.0


def test_marginals_that_the_model_leaves_out_may_all_be_measured():
    sizes = (12,) * 6
    known = foreseen(searching(marginals(2, sizes), sizes), records=12**4)
    assert known.known.full_sets["blocks"]
    assert "blocks" in known.after(0.3, 0.0).errors


def test_blocks_that_the_model_has_room_for_may_all_be_measured():
    known = foreseen(searching((*PAIRS, *corners(SIZES))))
    assert len(known.known.full_sets["blocks"]) == len(PAIRS) + len(corners(SIZES))
    assert "blocks" in known.after(0.3, 0.0).errors


def test_all_blocks_are_those_of_every_width_that_no_measured_marginal_holds():
    """So with many records none of them is left to a model of the others."""
    triple, *_ = marginals(3, SIZES)
    known = foreseen(searching((triple, *PAIRS)), records=10**9)
    outside = {pair.name for pair in PAIRS if not {*pair.axes} <= {*triple.axes}}
    assert {block.name for block in known.known.full_sets["blocks"]} == {triple.name, *outside}
    assert known.after(0.3, 0.0).errors["blocks"] < 1e-4
    explored = known.ended("blocks", 0.0).explored
    assert {block.name for block, _ in known.known.final(known.ended("blocks", 0.0))} >= {one.name for one in explored}
