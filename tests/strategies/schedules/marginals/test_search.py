"""How long a search among pairs goes on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.kernel.budget import Price
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.schedules.marginals.forecast import BudgetAllocation, ExpectedError
from dpqr.strategies.schedules.marginals.search import (
    BatchEvidence,
    DependenceGraph,
    Gap,
    MarginalSearch,
    SearchState,
    left_of_gaps,
    spread_gaps,
)
from dpqr.strategies.transcript import Round
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.workload import Measurement

COLUMNS, VALUES, RECORDS = 12, 12, 100_000.0
EVEN = np.full((VALUES, VALUES), RECORDS / VALUES**2)
COPIES = RECORDS * (0.7 * np.eye(VALUES) / VALUES + 0.3 / VALUES**2)
"""One column copies 70 % of the other."""


@dataclass(frozen=True)
class Law:
    deviation: float


def block(*axes: int) -> QueryBlock:
    return QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, VALUES) for axis in axes))


HUB = tuple(block(0, axis) for axis in range(1, COLUMNS))
"""Pairs of a column with all that copy it."""

OTHERS = tuple(block(*axes) for axes in combinations(range(1, COLUMNS), 2))
SINGLES = tuple(block(axis) for axis in range(COLUMNS))
COUNTS = {axis: np.full(VALUES, RECORDS / VALUES) for axis in range(COLUMNS)}


def exploration(concentrated: bool, dearer: float = 1.0) -> MarginalSearch:
    """At about epsilon 1; dearer: times as much noise."""
    pairs = HUB + OTHERS
    deviation = dearer * (6.0 if concentrated else 2.0)
    budget = BudgetAllocation(
        whole=Price(rho=Fraction(1)) if concentrated else Price(epsilon=Fraction(1)), deviation=deviation
    )
    errors = ExpectedError.of((*pairs, *SINGLES), COUNTS)
    spent = (0.1 / COLUMNS,) * COLUMNS
    return MarginalSearch(
        levels=(pairs,),
        full_sets={"blocks": pairs},
        coarse=(),
        singles=SINGLES,
        queried=pairs,
        queries=pairs,
        errors=errors,
        budget=budget,
        unit=PrivacyUnit(),
        records=RECORDS,
        spent=spent,
    )


def searched(known: MarginalSearch, order: tuple[QueryBlock, ...], off: float, seed: int = 5) -> int:
    """How many pairs a search takes that finds pairs in this order: those of the hub as off as copies are, then others,
    expected wrongly by `off` of the records."""
    random, waiting, count = np.random.default_rng(seed), iter(order), 0
    state, batch = known.advanced(SearchState(left=0.9))
    while batch is not None:
        drawn = tuple(found(next(waiting), batch.deviation, off, random) for _ in range(batch.size))
        count += batch.size
        state, batch = known.advanced(known.after(state, batch, drawn))
    return count


def found(pair: QueryBlock, deviation: float, off: float, random: np.random.Generator) -> Round:
    truth, expected = (COPIES, EVEN) if pair in HUB else (EVEN, wrong(off, random))
    values = (truth + np.rint(random.normal(0.0, deviation, truth.shape))).astype(np.int64)
    measurement = Measurement(blocks=(pair,), values=(values.reshape(-1),), law=Law(deviation))
    return Round(choice=0, measurement=measurement, charges=(), expected=(expected.reshape(-1),))


def wrong(off: float, random: np.random.Generator) -> np.ndarray:
    noise = random.normal(0.0, 1.0, EVEN.shape)
    noise -= noise.mean(axis=0) + noise.mean(axis=1, keepdims=True) - noise.mean()
    return np.maximum(EVEN + noise * off * RECORDS / np.abs(noise).sum(), 0.0)


BUDGETS = pytest.mark.parametrize(("concentrated", "off"), [(True, 0.1), (False, 0.28)], ids=["rho", "epsilon"])
"""And by how far noise in what was measured coarsely puts further pairs off."""


@in_one_test(("pure", "louder"), [(True, VALUES**2), (False, VALUES)])
def test_sums_are_expected_to_keep_their_own_noise(pure, louder) -> None:
    """A record counts in up to 144 of 144 prefixes: 144 times the noise of a marginal, 12 times the Gaussian one."""
    known, prefix = exploration(not pure), Prefix(VALUES)
    sums = QueryBlock(
        name="sums", factors=tuple(Factor(axes=(axis,), sizes=(VALUES,), matrix=prefix) for axis in (0, 1))
    )
    errors = known.errors.joined(ExpectedError.of((sums,), COUNTS))
    known = replace(known, errors=errors, budget=replace(known.budget, pure=pure))
    found = known.expected_errors((sums, HUB[0]), 3.0)
    assert found == pytest.approx([known.errors.at(sums, 3.0 * louder), known.errors.at(HUB[0], 3.0)])


@BUDGETS
def test_a_search_ends_where_others_are_off_by_no_more_than_the_noise_of_strong_pairs(concentrated, off) -> None:
    assert len(HUB) < searched(exploration(concentrated), HUB + OTHERS, off) <= 2 * len(HUB)


@BUDGETS
def test_it_goes_on_where_no_measured_pair_explains_as_large_gaps(concentrated, off) -> None:
    assert searched(exploration(concentrated), OTHERS, off) > 2 * len(HUB)


@BUDGETS
def test_among_columns_that_tell_nothing_of_each_other_it_ends_soon(concentrated, off) -> None:
    assert searched(exploration(concentrated), OTHERS, off=0.0) <= len(HUB)


@in_one_test("concentrated", [True, False])
def test_where_noise_would_hide_the_largest_gaps_of_all_blocks_there_is_no_search(concentrated: bool) -> None:
    start = SearchState(left=0.9)
    assert exploration(concentrated, dearer=10.0).advanced(start)[1] is not None
    state, batch = exploration(concentrated, dearer=100.0).advanced(start)
    assert (state.level, batch) == (1, None)


def test_one_batch_that_finds_nothing_is_forgiven() -> None:
    known = exploration(True)
    for place in (0, 5):
        assert searched(known, HUB[:place] + OTHERS[:1] + HUB[place:] + OTHERS[1:], off=0.0) > len(HUB)


@in_one_test("gap", [0.6, 1.0])
def test_however_far_off_the_last_one_was_the_next_is_told_to_half_of_the_records(gap) -> None:
    """Though the cheapest that tells that much: here exactness is dear."""
    known = exploration(False, dearer=10.0)
    batch = known.batch(SearchState(left=0.9, gap=gap, explored=HUB[:1]))
    assert known.errors.at(HUB[1], batch.deviation) <= 0.51 * RECORDS


def test_the_dearer_measuring_gets_with_every_block_the_sooner_it_ends() -> None:
    """The same gaps; one, two and four times the noise for the same budget."""
    cheap, dear, dearest = (searched(exploration(False, dearer), OTHERS, off=0.25) for dearer in (1.0, 2.0, 4.0))
    assert cheap > dear > dearest


def test_a_search_whose_draws_were_lost_goes_on() -> None:
    known = exploration(True)
    lost = (Round(choice=0, measurement=None, charges=()),)
    state, batch = known.advanced(SearchState(left=0.9))
    for _ in range(4):
        assert batch is not None
        assert batch.size == 1
        state, batch = known.advanced(known.after(state, batch, lost))
    assert (state.unimproved, state.explored) == (0, ())
    assert batch is not None


# The check: whether all blocks are measured, by what the fit shows of those that were not explored.


def all_measured(
    error: float, *, top: float = 1.0, dependence: float | None = None, roots: float = 1.0, ended: bool = False
) -> bool:
    """Whether a check that shows this error, after the hub was explored, has all pairs measured.

    top: gap of the last batch over the error. dependence: of all pairs, before the search. roots: sum over the cells of
    each column of the roots of their shares.
    """
    known = replace(exploration(True), roots=dict.fromkeys(range(COLUMNS), roots), dependence=dependence)
    state = SearchState(left=0.8, explored=HUB, batches=((top * error,) * 2,))
    checked = known.checked(state, error, ended)
    assert checked.checked
    assert set(checked.explored) in ({*HUB}, {*HUB, *OTHERS})
    return len(checked.explored) > len(HUB)


def test_the_check_waits_until_blocks_join_all_columns_or_the_search_has_ended_and_is_made_once() -> None:
    known = exploration(True)
    early, joined = (SearchState(left=0.8, explored=HUB[:count]) for count in (len(HUB) - 1, len(HUB)))
    assert (known.check_share(early, False), known.check_share(replace(joined, checked=True), True)) == (0.0, 0.0)
    assert 0.0 < known.check_share(joined, False) == known.check_share(early, True) < 0.01
    crowded = replace(known, full_sets={})
    assert crowded.check_share(joined, False) == 0.0


def test_a_check_that_noise_would_hide_is_not_made() -> None:
    assert exploration(True, dearer=5000.0).check_share(SearchState(left=0.8, explored=HUB), False) == 0.0


@in_one_test("left", [0.8, 1e-2, 1e-4, 1e-9])
def test_a_check_costs_a_small_part_of_what_is_left(left: float) -> None:
    assert exploration(True).check_share(SearchState(left=left, explored=HUB), False) <= 0.05 * left


def test_pairs_below_an_explored_marginal_are_explored() -> None:
    known = exploration(True)
    assert known.unexplored(SearchState(left=0.8, explored=HUB)) == OTHERS
    wide = SearchState(left=0.8, explored=(*HUB, block(1, 2, 3)))
    assert len(known.unexplored(wide)) == len(OTHERS) - 3


def test_all_are_measured_where_all_are_as_far_off_as_the_last_that_was_found() -> None:
    assert all_measured(0.1)
    assert not all_measured(0.1, top=6.0)
    assert all_measured(0.1, top=6.0, ended=True)


def test_all_are_measured_where_best_weights_of_a_gap_and_its_noise_leave_less_than_the_gap() -> None:
    """The noise of all pairs is .06. They leave .04 of gaps of .05, and about .03 of gaps of .03."""
    assert not all_measured(0.03)
    assert [all_measured(gap, ended=True) for gap in (0.03, 0.05)] == [False, True]


def test_sampling_variation_of_the_records_is_no_reason_to_measure_all() -> None:
    """Of 100,000 records in 400 even cells: .8 of the root of 400 / 100,000 is .0506."""
    assert all_measured(0.06, roots=20**0.5, ended=True)
    assert not all_measured(0.05, roots=20**0.5, ended=True)


def test_noise_as_large_as_the_counts_weighs_no_sampling_variation() -> None:
    """Of a gap of .5 under noise of .1 best weights leave .098. Above .8 a cell's noise is more than its mean count."""
    gaps = np.array([0.5])
    found = {
        (noise, weighed): float(left_of_gaps(gaps, noise, 0.4, weighed=weighed)[0])
        for noise in (0.1, 0.9)
        for weighed in (False, True)
    }
    assert 0.098 < found[0.1, True] < found[0.1, False]
    assert found[0.9, True] == found[0.9, False] > 0.45, "best weights of all of it would leave .437"


def test_nor_are_gaps_that_further_blocks_would_explain() -> None:
    """The hub has explained nothing of what columns depended on, half or most of it.

    Half of it took all pairs of the hub, which had the largest gaps: as many more are not taken to explain half of the
    rest, by which a search would leave less than all pairs measured."""
    assert all_measured(0.1, dependence=0.1)
    assert all_measured(0.1, dependence=0.2)
    assert not all_measured(0.1, dependence=0.9)


@in_one_test(("largest", "spread"), [((0.1, 0.1), 1.0), ((0.3,), 3.0), ((0.39,), 3.9), ((9.0,), 4.0)])
def test_gaps_have_the_mean_that_was_measured_and_the_largest_that_were_found(largest, spread) -> None:
    gaps = spread_gaps(0.1, largest, 4)
    assert gaps.mean() == pytest.approx(0.1)
    assert gaps[: len(largest)].mean() == pytest.approx(0.1 * spread, rel=0.01)
    assert (np.diff(gaps) <= 0.0).all()


@in_one_test("concentrated", [True, False])
def test_a_selection_costs_no_more_than_the_measurement_that_it_leads_to(concentrated: bool) -> None:
    """Where noise is large the gap asks for a sharper selection than a block is worth."""
    known = exploration(concentrated)
    gaps = np.geomspace(1e-4, 1.0, 12)
    batches = [known.batch(SearchState(left=0.9, gap=float(gap))) for gap in gaps]
    assert all(batch is None or batch.selection <= batch.measurement for batch in batches)
    temperatures = [0.1 * gap * RECORDS for gap in gaps]
    sharp = [known.budget.selection(temperature) for temperature in temperatures]
    bound = [batch.selection < price for batch, price in zip(batches, sharp, strict=True) if batch is not None]
    assert any(bound)
    assert not all(bound)


# What a batch has shown, and when a search without improvement ends.


def gap(first: int, second: int, off: float, error: float = 0.01, cells: int = 12, chance: float = 0.0) -> Gap:
    factors = (Factor.identity(first, cells), Factor.identity(second, cells))
    moved = (off**2 + (0.8 * error) ** 2) ** 0.5
    return Gap(
        block=QueryBlock(name=f"{first} {second}", factors=factors), moved=moved, error=error, passed=1.0, chance=chance
    )


STAR = DependenceGraph().joined(
    [gap(0, 1, off=1.8, error=0.3), gap(0, 2, off=1.8, error=0.3), gap(0, 3, off=1.8, error=0.3)]
)
"""Three columns that follow column 0, measured coarsely."""


def test_what_carried_noise_explains_is_not_real() -> None:
    found = BatchEvidence.of([gap(1, 2, off=0.4)], STAR)
    assert found.least == pytest.approx(0.4, rel=0.05)
    assert found.real == 0.0


def test_what_goes_beyond_it_is_and_so_is_all_that_columns_without_links_show() -> None:
    assert 0.5 < BatchEvidence.of([gap(1, 2, off=0.7)], STAR).real < 0.7
    assert BatchEvidence.of([gap(4, 5, off=0.4)], STAR).real == pytest.approx(0.4)
    mixed = BatchEvidence.of([gap(1, 2, off=0.4), gap(4, 5, off=0.4)], STAR).real
    assert 0.0 < mixed < 0.4


def test_blocks_that_are_off_keep_the_search_going() -> None:
    assert BatchEvidence.of([gap(4, 5, off=0.4)], STAR).unimproved(1, reached=0.1, price=0.3) == 0


def test_batches_that_find_nothing_add_up() -> None:
    found = BatchEvidence.of([gap(1, 2, off=0.2), gap(2, 3, off=0.2)], STAR)
    assert [found.unimproved(before, reached=0.1, price=0.1) for before in (0, 1)] == [1, 2]


def test_blocks_that_are_off_by_less_than_another_takes_from_all_do_not() -> None:
    assert BatchEvidence.of([gap(4, 5, off=0.4)], STAR).unimproved(1, reached=0.1, price=0.5) == 2


def test_what_chance_makes_of_so_many_records_is_real_whatever_noise_would_explain() -> None:
    """But no more than was seen."""
    assert BatchEvidence.of([gap(1, 2, off=0.4, chance=0.1)], STAR).real == pytest.approx(0.1)
    assert BatchEvidence.of([gap(1, 2, off=0.05, chance=0.1)], STAR).real == pytest.approx(0.05)
    assert BatchEvidence.of([gap(4, 5, off=0.4, chance=0.1)], STAR).real == pytest.approx(0.4)


def test_a_batch_that_its_noise_blinds_is_passed_over() -> None:
    """It may hide more than measuring would leave."""
    blind = BatchEvidence.of([gap(4, 5, off=0.0, error=0.3, cells=2)], STAR)
    assert blind.real == 0.0
    assert [blind.unimproved(before, reached=0.01, price=0.01) for before in (0, 1)] == [0, 1]


def test_one_batch_that_its_noise_drowns_is_enough() -> None:
    drowned = BatchEvidence.of([gap(4, 5, off=0.0, error=0.9)], STAR)
    assert drowned.unimproved(0, reached=0.9, price=0.9) == 2
    assert BatchEvidence.of([gap(4, 5, off=1.5, error=0.9)], STAR).unimproved(0, reached=0.9, price=0.9) == 0


def test_many_blocks_tell_more_than_one() -> None:
    one, four = (BatchEvidence.of([gap(4, 5, off=0.0, error=0.3)] * size, STAR) for size in (1, 4))
    assert four.blur == pytest.approx(one.blur / 2**0.5)


# What measured pairs carry of their noise into others.


def graph_gap(*axes: int, off: float, error: float = 0.1, cells: int = 10) -> Gap:
    """Of a block that was off by so much, measured without noise in the way."""
    block = QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, cells) for axis in axes))
    noise = 0.8 * error
    return Gap(block=block, moved=(off**2 + noise**2) ** 0.5, error=error, passed=1.0, chance=0.0)


STRONGEST = 1.8
"""The gap between two columns of ten even values that name each other."""


def test_without_a_path_nothing_is_carried() -> None:
    graph = DependenceGraph().joined([graph_gap(0, 1, off=1.0), graph_gap(2, 3, off=1.0)])
    assert graph.propagated_error((0, 2)) == 0.0
    assert graph.propagated_error((4, 5)) == 0.0
    assert DependenceGraph().propagated_error((0, 1)) == 0.0


def test_a_measured_pair_carries_its_own_error() -> None:
    graph = DependenceGraph().joined([graph_gap(0, 1, off=0.3)])
    assert graph.propagated_error((0, 1)) == pytest.approx(0.1**2)
    assert graph.propagated_error((1, 0)) == graph.propagated_error((0, 1))


def test_columns_that_name_each_other_carry_all_of_both_errors() -> None:
    graph = DependenceGraph().joined(
        [graph_gap(0, 1, off=STRONGEST, error=0.1), graph_gap(1, 2, off=STRONGEST, error=0.2)]
    )
    assert graph.propagated_error((0, 2)) == pytest.approx(0.1**2 + 0.2**2)


def test_a_weak_link_carries_its_own_error_over_a_strong_one_and_hardly_any_of_the_other() -> None:
    graph = DependenceGraph().joined([graph_gap(0, 1, off=STRONGEST, error=0.1), graph_gap(1, 2, off=0.18, error=0.3)])
    assert graph.propagated_error((0, 2)) == pytest.approx((0.1 * 0.1) ** 2 + 0.3**2)


def test_the_strongest_path_counts() -> None:
    weak = [graph_gap(0, 3, off=0.2, error=0.5), graph_gap(3, 2, off=0.2, error=0.5)]
    strong = [graph_gap(0, 1, off=STRONGEST), graph_gap(1, 2, off=STRONGEST)]
    assert DependenceGraph().joined([*weak, *strong]).propagated_error((0, 2)) == pytest.approx(2 * 0.1**2)


def test_a_pair_that_was_not_off_at_all_carries_on_its_own_error_alone() -> None:
    graph = DependenceGraph().joined([graph_gap(0, 1, off=STRONGEST, error=0.3), graph_gap(1, 2, off=0.0, error=0.1)])
    assert graph.propagated_error((0, 2)) == pytest.approx(0.1**2, rel=0.01)


def test_wider_blocks_carry_what_their_pairs_carry_and_are_no_links() -> None:
    graph = DependenceGraph().joined([graph_gap(0, 1, off=0.3), graph_gap(1, 2, off=0.0), graph_gap(3, 4, 5, off=1.0)])
    assert graph.propagated_error((0, 1, 2)) == pytest.approx((2 + (0.3 / 1.8) ** 2) * 0.1**2, rel=0.01)
    assert graph.propagated_error((3, 4)) == 0.0


def test_a_pair_measured_again_is_replaced_and_other_links_stay_as_they_were() -> None:
    first = DependenceGraph().joined([graph_gap(0, 1, off=0.3)])
    second = first.joined([graph_gap(1, 0, off=0.3, error=0.02)])
    assert second.propagated_error((0, 1)) == pytest.approx(0.02**2)
    assert first.propagated_error((0, 1)) == pytest.approx(0.1**2)


def test_noise_in_a_pair_shrinks_on_its_way_as_forecast() -> None:
    """Column c copies 70 % of b: even values, ten of each."""
    random, copied = np.random.default_rng(4), 0.7
    told = copied * np.eye(10) + (1 - copied) / 10
    noise = random.normal(0.0, 1.0, (10, 10))
    noise -= noise.mean(axis=1, keepdims=True)
    shrunk = np.abs(noise @ told).sum() / np.abs(noise).sum()
    off = float(np.abs(told / 10 - 1 / 100).sum())
    graph = DependenceGraph().joined([graph_gap(0, 1, off=STRONGEST), graph_gap(1, 2, off=off, error=0.0)])
    assert graph.propagated_error((0, 2)) ** 0.5 / 0.1 == pytest.approx(shrunk, rel=0.01)
